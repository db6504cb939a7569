//! Events as rows of `events`, both ways.

use rusqlite::types::Value as Sql;
use rusqlite::{Result, Row as SqlRow};
use serde_json::Value;

use super::digest::digest;
use super::rows::{compact, load_object};
use crate::journal::event::{Clock, Event};

/// What a documented event field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventField {
    Text,
    Integer,
    Real,
    Flag,
    Array,
}

/// The columns of `events` that repeat a documented field.
pub(crate) const EVENT_FIELDS: &[(&str, EventField)] = &[
    ("action", EventField::Text),
    ("applied", EventField::Flag),
    ("by", EventField::Text),
    ("cause", EventField::Text),
    ("class", EventField::Text),
    ("consecutive", EventField::Integer),
    ("core_consecutive", EventField::Integer),
    ("decode", EventField::Integer),
    ("duration_s", EventField::Real),
    ("ejected", EventField::Array),
    ("engines", EventField::Array),
    ("error", EventField::Text),
    ("evidence", EventField::Text),
    ("held_s", EventField::Real),
    ("kind", EventField::Text),
    ("live_decode", EventField::Integer),
    ("live_prefill", EventField::Integer),
    ("min_decode", EventField::Integer),
    ("min_prefill", EventField::Integer),
    ("outcome", EventField::Text),
    ("prefill", EventField::Integer),
    ("quarantined", EventField::Array),
    ("reason", EventField::Text),
    ("result", EventField::Text),
    ("stage", EventField::Text),
    ("wave_id", EventField::Text),
];

/// The columns of `events` before [`EVENT_FIELDS`], in [`event_cells`]'s order.
pub(crate) const EVENT_COLUMNS: &[&str] = &["event", "at", "clock", "iid", "detail"];

/// The cells of an event: [`EVENT_COLUMNS`], then [`EVENT_FIELDS`].
pub(crate) fn event_cells(row: &Event) -> Vec<Sql> {
    let mut cells = vec![
        Sql::Text(row.event.clone()),
        row.at.map_or(Sql::Null, Sql::Real),
        Sql::Text(Clock::of_event(&row.event).name().to_owned()),
        row.iid.clone().map_or(Sql::Null, Sql::Text),
        Sql::Text(compact(&row.detail)),
    ];
    cells.extend(EVENT_FIELDS.iter().map(|(name, kind)| {
        row.detail.get(*name).and_then(|value| event_cell(value, *kind)).unwrap_or(Sql::Null)
    }));
    cells
}

/// Documented fields of a known event that hold another type than documented.
pub(crate) fn misfitting_event_fields(row: &Event) -> impl Iterator<Item = &str> {
    let known = Clock::of_event(&row.event) != Clock::Unknown;
    EVENT_FIELDS
        .iter()
        .filter(move |(name, kind)| {
            known && row.detail.get(*name).is_some_and(|value| event_cell(value, *kind).is_none())
        })
        .map(|(name, _)| *name)
        .chain(["at", "iid"].into_iter().filter(move |name| known && row.detail.contains_key(*name)))
}

fn event_cell(value: &Value, kind: EventField) -> Option<Sql> {
    Some(match (kind, value) {
        (EventField::Text, Value::String(text)) => Sql::Text(text.clone()),
        (EventField::Integer, Value::Number(number)) => Sql::Integer(number.as_i64()?),
        (EventField::Real, Value::Number(number)) => Sql::Real(number.as_f64()?),
        (EventField::Flag, Value::Bool(flag)) => Sql::Integer(i64::from(*flag)),
        (EventField::Array, Value::Array(_)) => Sql::Text(value.to_string()),
        _ => return None,
    })
}

/// Reads an event back: `run`, then [`EVENT_COLUMNS`] from `first`.
pub(crate) fn load_event(from: &SqlRow<'_>, first: usize) -> Result<Event> {
    Ok(Event {
        run: from.get(first)?,
        event: from.get(first + 1)?,
        at: from.get(first + 2)?,
        iid: from.get(first + 4)?,
        detail: load_object(from, first + 5)?,
    })
}

/// The identity of an event within its run: equal JSON values have equal digests.
pub(crate) fn event_digest(row: &Event) -> String {
    let mut whole = row.detail.clone();
    whole.insert("event".to_owned(), row.event.clone().into());
    if let Some(at) = row.at {
        whole.insert("at".to_owned(), at.into());
    }
    if let Some(iid) = &row.iid {
        whole.insert("iid".to_owned(), iid.clone().into());
    }
    digest(&Value::Object(whole))
}
