//! Event rows: what happened to the router.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::object::{Object, take_real, take_text};
use super::{SCHEMA, SCHEMA_VERSION};

/// Which clock an event's `at` was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The run's monotonic clock.
    Monotonic,
    /// Unix seconds.
    Wall,
    /// An event kind that this release does not know.
    Unknown,
}

impl Clock {
    /// The clock as the `events` table names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Wall => "wall",
            Self::Unknown => "unknown",
        }
    }

    /// The clock of an event kind.
    pub fn of_event(event: &str) -> Self {
        match event {
            "engine_lifecycle" => Self::Wall,
            "below_floor"
            | "below_floor_recovered"
            | "controller_decision"
            | "decode_floor_restored"
            | "monitoring_stage_failure"
            | "monitoring_degraded"
            | "monitoring_recovered"
            | "engine_ejected"
            | "engine_readmitted"
            | "engine_hold_started"
            | "engine_hold_ended"
            | "engine_probe" => Self::Monotonic,
            _ => Self::Unknown,
        }
    }
}

/// Something that happened to the router.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The router process.
    pub run: String,
    /// The kind of event.
    pub event: String,
    /// When, on the event's [`Clock`]; null when the row has none, or not a number.
    pub at: Option<f64>,
    /// The one engine the row names in `iid`.
    pub iid: Option<String>,
    /// Every other field, keys sorted.
    pub detail: Object,
}

/// The event of a row without its schema and its `event`.
///
/// # Errors
/// When it names no run.
pub(super) fn read_event(event: String, mut row: Object) -> Result<Event, String> {
    let run = match row.remove("run") {
        Some(Value::String(run)) => run,
        Some(_) => return Err("no identity: `run` is not text".to_owned()),
        None => return Err("no identity: `run` is absent or null".to_owned()),
    };
    let at = take_real(&mut row, "at");
    let iid = take_text(&mut row, "iid");
    Ok(Event { run, event, at, iid, detail: row })
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("event", &self.event)?;
        if let Some(at) = self.at {
            map.serialize_entry("at", &at)?;
        }
        if let Some(iid) = &self.iid {
            map.serialize_entry("iid", iid)?;
        }
        for (key, value) in &self.detail {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
