//! Event rows: what happened to the router.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::declare::{Field, Role, Shape, take_leaf};
use super::object::Object;
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
        KINDS.iter().find(|(kind, _)| *kind == event).map_or(Self::Unknown, |(_, clock)| *clock)
    }
}

/// The event kinds that the writer's releases up to 0.7.0 use, each with the clock of its `at`.
pub const KINDS: &[(&str, Clock)] = &[
    ("engine_lifecycle", Clock::Wall),
    ("below_floor", Clock::Monotonic),
    ("below_floor_recovered", Clock::Monotonic),
    ("controller_decision", Clock::Monotonic),
    ("decode_floor_restored", Clock::Monotonic),
    ("monitoring_stage_failure", Clock::Monotonic),
    ("monitoring_degraded", Clock::Monotonic),
    ("monitoring_recovered", Clock::Monotonic),
    ("engine_ejected", Clock::Monotonic),
    ("engine_readmitted", Clock::Monotonic),
    ("engine_hold_started", Clock::Monotonic),
    ("engine_hold_ended", Clock::Monotonic),
    ("engine_probe", Clock::Monotonic),
];

/// The fields of every event, beside its schema: members of [`Event`].
pub const COMMON_FIELDS: &[Field] = &[
    Field::new("run", Shape::Text, Role::Run),
    Field::new("event", Shape::Text, Role::Label),
    Field::new("at", Shape::Real, Role::Time),
    Field::new("iid", Shape::Text, Role::Engine),
];

/// The fields that the kinds have of their own: they stand in `detail`, and have a column beside it.
pub const FIELDS: &[Field] = &[
    Field::new("action", Shape::Text, Role::Label),
    Field::new("applied", Shape::Flag, Role::Flag),
    Field::new("by", Shape::Text, Role::Label),
    Field::new("cause", Shape::Text, Role::Label),
    Field::new("class", Shape::Text, Role::Label),
    Field::new("consecutive", Shape::Int, Role::Count),
    Field::new("core_consecutive", Shape::Int, Role::Count),
    Field::new("decode", Shape::Int, Role::Count),
    Field::new("duration_s", Shape::Real, Role::Time),
    Field::new("ejected", Shape::Array, Role::Engine),
    Field::new("engines", Shape::Array, Role::Engine),
    Field::new("error", Shape::Text, Role::Text),
    Field::new("evidence", Shape::Text, Role::Label),
    Field::new("held_s", Shape::Real, Role::Time),
    Field::new("kind", Shape::Text, Role::Label),
    Field::new("live_decode", Shape::Int, Role::Count),
    Field::new("live_prefill", Shape::Int, Role::Count),
    Field::new("min_decode", Shape::Int, Role::Count),
    Field::new("min_prefill", Shape::Int, Role::Count),
    Field::new("outcome", Shape::Text, Role::Label),
    Field::new("prefill", Shape::Int, Role::Count),
    Field::new("quarantined", Shape::Array, Role::Engine),
    Field::new("reason", Shape::Text, Role::Label),
    Field::new("result", Shape::Text, Role::Label),
    Field::new("stage", Shape::Text, Role::Label),
    Field::new("wave_id", Shape::Text, Role::Text),
];

/// Fields of their varying tails that are told apart for what they hold. They stand in `detail` only.
pub const TAIL_FIELDS: &[Field] = &[
    Field::new("arrivals", Shape::Int, Role::Count),
    Field::new("confirmations", Shape::Int, Role::Count),
    Field::new("decision_basis", Shape::Text, Role::Label),
    Field::new("decode_class", Shape::Text, Role::Label),
    Field::new("eligibility_rule", Shape::Text, Role::Label),
    Field::new("evidence_blocked_gate", Shape::Text, Role::Label),
    Field::new("producer", Shape::Text, Role::Engine),
    Field::new("producer_class", Shape::Text, Role::Label),
    Field::new("risk_kind", Shape::Text, Role::Label),
];

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
    let [_, _, at, iid] = COMMON_FIELDS else { unreachable!("the fields of every event are four") };
    let at = take_leaf(&mut row, &[], at).and_then(|at| at.as_f64());
    let iid = take_leaf(&mut row, &[], iid).and_then(|iid| iid.as_str().map(str::to_owned));
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
