//! What the router wrote while something went on: outages of engines, floor breaches, controller decisions.

use anyhow::Result;
use rusqlite::Connection;
use serde::Serialize;

use crate::query::answer::{Row, ask};
use crate::query::around::outage_name;
use crate::selection::Selection;
use crate::text::{micros, wall_time};

/// Something that the router wrote.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct WrittenEvent {
    /// `ejected`, `timed hold`, `inference hold`, `floor breach` or `controller decision`.
    pub event: String,
    /// The engine, when it concerns one.
    pub engine: Option<String>,
    /// The run; none for decisions, which are counted over all.
    pub run: Option<String>,
    /// When it began, in estimated wall time; null when that is not known. Of decisions the first.
    pub from: Option<String>,
    /// When it ended. Of decisions the last.
    pub to: Option<String>,
    /// When it began in seconds into the run; null when that is not known.
    pub from_s: Option<f64>,
    /// When it ended in seconds into the run.
    pub to_s: Option<f64>,
    /// How many, where several are counted.
    pub count: Option<i64>,
    /// What else it says, in words.
    pub detail: String,
}

/// What the router wrote that touches a selection, which is the connection's one afterwards.
pub(super) fn find(connection: &mut Connection, selection: &Selection) -> Result<Vec<WrittenEvent>> {
    let mut found: Vec<(f64, WrittenEvent)> = Vec::new();
    let wall = |row: &Row<'_>, column: &str| row.real(column).and_then(wall_time);
    let began = |row: &Row<'_>| row.real("wall_from").or(row.real("wall_to")).unwrap_or(f64::MAX);
    for row in ask(connection, "engine-downtime", selection, |_| None)?.rows() {
        let event = outage_name(&row.text("kind"));
        let ended = (row.int("open") == 1).then(|| "open at the run's end".to_owned());
        let said: Vec<String> = row.known_text("cause").into_iter().chain(ended).collect();
        found.push((
            began(&row),
            WrittenEvent {
                event,
                engine: row.known_text("engine"),
                run: row.known_text("run"),
                from: wall(&row, "wall_from"),
                to: wall(&row, "wall_to"),
                from_s: row.real("from_s"),
                to_s: row.real("to_s"),
                count: None,
                detail: said.join("; "),
            },
        ));
    }
    for row in ask(connection, "floor-breaches", selection, |_| None)?.rows() {
        let number = |column: &str| row.real(column).map_or_else(|| "unknown".to_owned(), micros);
        found.push((
            began(&row),
            WrittenEvent {
                event: "floor breach".to_owned(),
                engine: None,
                run: row.known_text("run"),
                from: wall(&row, "wall_from"),
                to: wall(&row, "wall_to"),
                from_s: row.real("from_s"),
                to_s: row.real("to_s"),
                count: None,
                detail: format!(
                    "{} prefill engines live, {} needed",
                    number("live_prefill"),
                    number("min_prefill")
                ),
            },
        ));
    }
    for row in ask(connection, "controller", selection, |_| None)?.rows() {
        found.push((
            began(&row),
            WrittenEvent {
                event: "controller decision".to_owned(),
                engine: None,
                run: None,
                from: wall(&row, "wall_from"),
                to: wall(&row, "wall_to"),
                from_s: None,
                to_s: None,
                count: Some(row.int("decisions")),
                detail: format!("{} by {}: {}", row.text("result"), row.text("by"), row.text("reason")),
            },
        ));
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(found.into_iter().map(|(_, event)| event).collect())
}
