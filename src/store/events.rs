//! Events as rows of `events`, both ways.

use rusqlite::types::Value as Sql;
use rusqlite::{Result, Row as SqlRow};
use serde_json::Value;

use super::cells::{StoredCells, compact};
use super::digest::digest;
use crate::journal::declare::{ReadValues, Shape};
use crate::journal::event::{Clock, Event, FIELDS};

/// The columns of `events` before those that repeat a field of `detail`, in [`event_cells`]'s order.
pub(crate) const EVENT_COLUMNS: &[&str] = &["event", "at", "clock", "iid", "detail"];

/// The cells of an event: [`EVENT_COLUMNS`], then those of [`FIELDS`].
pub(crate) fn event_cells(row: &Event) -> Vec<Sql> {
    let mut cells = vec![
        Sql::Text(row.event.clone()),
        row.at.map_or(Sql::Null, Sql::Real),
        Sql::Text(Clock::of_event(&row.event).name().to_owned()),
        row.iid.clone().map_or(Sql::Null, Sql::Text),
        Sql::Text(compact(&row.detail)),
    ];
    cells.extend(FIELDS.iter().map(|field| {
        row.detail.get(field.name).and_then(|value| event_cell(value, field.shape)).unwrap_or(Sql::Null)
    }));
    cells
}

/// Documented fields of a known event that hold another type than documented.
pub(crate) fn misfitting_event_fields(row: &Event) -> impl Iterator<Item = &str> {
    let known = Clock::of_event(&row.event) != Clock::Unknown;
    FIELDS
        .iter()
        .filter(move |field| {
            known && row.detail.get(field.name).is_some_and(|value| event_cell(value, field.shape).is_none())
        })
        .map(|field| field.name)
        .chain(["at", "iid"].into_iter().filter(move |name| known && row.detail.contains_key(*name)))
}

/// The cell that repeats a field, if it holds what it should.
pub(super) fn event_cell(value: &Value, shape: Shape) -> Option<Sql> {
    Some(match (shape, value) {
        (Shape::Text, Value::String(text)) => Sql::Text(text.clone()),
        (Shape::Int, Value::Number(number)) => Sql::Integer(number.as_i64()?),
        (Shape::Real, Value::Number(number)) => Sql::Real(number.as_f64()?),
        (Shape::Flag, Value::Bool(flag)) => Sql::Integer(i64::from(*flag)),
        (Shape::Array, Value::Array(_)) => Sql::Text(value.to_string()),
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
        detail: StoredCells::from(from, first + 5).object()?.unwrap_or_default(),
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
