//! Typed journal rows: builds, terminals with their attempt failures, events.
//!
//! Field names, units and meanings are those of the writer. Every value is optional: absent and
//! null mean the same. What a struct does not know is kept in its `extra`, so a row read and
//! written again is the same row. Identity (`run`, `rid`, `arrived`) is checked here; whether a row
//! was seen before is not.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::json::{Fault, Figure, Kind, Reader};

/// The `schema` of every row of the contract.
pub const SCHEMA: &str = "narwhal.journal";

/// The `schema_version` this release reads.
pub const SCHEMA_VERSION: i64 = 1;

/// The terminal values that the writer's releases up to 0.7.0 use.
pub const TERMINALS: [&str; 7] =
    ["completed", "failed", "refused", "rejected", "expired", "invalid", "cancelled"];

/// A JSON object that is kept whole, keys sorted.
pub type Object = Map<String, Value>;

/// One row of a journal.
#[derive(Debug, Clone, PartialEq)]
pub enum Row<'a> {
    /// The row a process writes when it opens the file.
    Build(Build),
    /// A client request and how it ended.
    Terminal(Box<Terminal<'a>>),
    /// Something that happened to the router.
    Event(Event),
}

/// A value that a field can hold.
trait Field<'a>: Sized {
    /// Reads the value; `None` for null.
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault>;
}

/// Defines a row or a part of one: the struct, its reader and its JSON. The order of the fields is
/// the writer's, which the reader expects first.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name $(<$life>)? {
            $($(#[$field_doc])* pub $field: Option<$kind>,)*
            /// Fields without a place above, as they were read.
            pub extra: Object,
        }

        impl<'de $(: $life, $life: 'de)?> Field<'de> for $name $(<$life>)? {
            fn read(reader: &mut Reader<'de>) -> Result<Option<Self>, Fault> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                let mut object = Self::default();
                let (mut seen, mut next) = (0_u64, 0);
                if null_or(Kind::Object, reader)? {
                    return Ok(None);
                }
                reader.begin_object()?;
                while let Some(key) = reader.next_key()? {
                    let Some(at) = find(FIELDS, next, &key) else {
                        let value = reader.value()?;
                        if object.extra.contains_key(key.as_ref()) {
                            return Err(reader.twice(&key));
                        }
                        object.extra.insert(key.into_owned(), value);
                        continue;
                    };
                    if seen & (1 << at) != 0 {
                        return Err(reader.twice(&key));
                    }
                    seen |= 1 << at;
                    next = at + 1;
                    let mut index = 0;
                    $(
                        if at == index {
                            object.$field = Field::read(reader)
                                .map_err(|fault| fault.in_field(stringify!($field)))?;
                            continue;
                        }
                        index += 1;
                    )*
                    let _ = index;
                }
                Ok(Some(object))
            }
        }

        impl $(<$life>)? Serialize for $name $(<$life>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(
                    if let Some(value) = &self.$field {
                        map.serialize_entry(stringify!($field), value)?;
                    }
                )*
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    };
}

object! {
    /// One client request: its outcome, timings, engines and failed attempts.
    ///
    /// Times are seconds; `arrived` is on the monotonic clock of the run, the others are spans.
    Terminal<'a> {
        /// Always [`SCHEMA`].
        schema: Cow<'a, str>,
        /// Always [`SCHEMA_VERSION`].
        schema_version: i64,
        /// The router process: `<unix seconds of its start>-<8 hex digits>`.
        run: Cow<'a, str>,
        /// The request, unique within its run.
        rid: Cow<'a, str>,
        /// What the caller named the request: any text, repeated freely.
        client_rid: Cow<'a, str>,
        /// When the request arrived.
        arrived: f64,
        /// Prompt tokens.
        input_len: i64,
        /// Whether the prompt was sized before the request ended.
        input_sized: bool,
        /// Tokens the caller asked for; 0 for no limit.
        wanted_len: i64,
        /// Tokens returned; null where token accounting is unavailable.
        output_len: i64,
        /// Arrival to prefill completion.
        ttft_s: f64,
        /// Prefill completion to last token, per token after the first.
        tpot_s: f64,
        /// Arrival to the first visible output.
        first_byte_s: f64,
        /// First to last token, per token after the first.
        decode_tpot_s: f64,
        /// Time spent waiting, all stages.
        queue_wait_s: f64,
        /// Time spent waiting, by stage (0.6 and later).
        queue_waits: QueueWaits,
        /// What admission expected (0.6 and later).
        admission_price: AdmissionPrice,
        /// Arrival to the end.
        duration_s: f64,
        /// Prefill dispatches.
        attempts: i64,
        /// Decode dispatches.
        decode_attempts: i64,
        /// Failed attempts, in order; the position is their only key.
        attempt_failures: Vec<AttemptFailure<'a>>,
        /// Tokens that engines produced, over every attempt.
        decode_tokens_observed: i64,
        /// Engine time by leg, failed work included.
        upstream_seconds: UpstreamSeconds,
        /// Prefill engine of the final attempt.
        prefill_iid: Cow<'a, str>,
        /// Decode engine of the final attempt.
        decode_iid: Cow<'a, str>,
        /// Whether the decode engine differs from the prefill engine.
        crossed: bool,
        /// Engine to tokens it had cached (0.4 and later).
        cached_tokens: CachedTokens,
        /// The placement that the cache decided (0.4 and later).
        cache_placement: CachePlacement<'a>,
        /// `token_ids` or `unavailable`.
        token_accounting: Cow<'a, str>,
        /// Failure, refusal, rejection or expiry detail.
        error: Cow<'a, str>,
        /// HTTP status that the client saw (0.6 and later).
        status: i64,
        /// Error type that the client saw (0.6 and later).
        error_type: Cow<'a, str>,
        /// Error code that the client saw (0.6 and later).
        error_code: Cow<'a, str>,
        /// Bounded label of the outcome's cause (0.6 and later).
        reason: Cow<'a, str>,
        /// How the request ended: one of [`TERMINALS`], or what a later release says.
        terminal: Cow<'a, str>,
        /// True on cancelled rows.
        cancelled: bool,
        /// Where a cancelled request was: admission, queue, backoff, prefill or decode.
        cancelled_phase: Cow<'a, str>,
        /// True on refused rows.
        refused: bool,
        /// Why a refused request was refused.
        refused_cause: Cow<'a, str>,
        /// True on rejected rows.
        rejected: bool,
        /// True on expired rows.
        expired: bool,
        /// Why the router was not ready (0.6 and later).
        readiness_reason: Cow<'a, str>,
        /// Kept whole, on requests that opted in.
        continuation: Object,
    }
}

object! {
    /// Seconds waited in each stage; null where the stage was not reached.
    QueueWaits {
        /// Before admission.
        admission: f64,
        /// For a prefill engine.
        prefill: f64,
        /// For a decode engine.
        decode: f64,
    }
}

object! {
    /// The time to first token that admission expected, and its parts, in seconds.
    AdmissionPrice {
        /// The attempt that was priced.
        attempt: i64,
        /// Work queued before it.
        backlog_s: f64,
        /// Its own prefill.
        own_prefill_s: f64,
        /// Time already gone.
        elapsed_s: f64,
        /// The handoff to decode (0.7 and later).
        handoff_s: f64,
        /// The whole price.
        price_s: f64,
    }
}

object! {
    /// Engine seconds by leg.
    UpstreamSeconds {
        /// Prefill legs.
        prefill: f64,
        /// Decode legs.
        decode: f64,
    }
}

object! {
    /// A placement that cached tokens decided.
    CachePlacement<'a> {
        /// The engine chosen.
        placed_iid: Cow<'a, str>,
        /// Tokens it had cached.
        placed_cached_tokens: i64,
        /// Sequence number of the evidence.
        evidence_sequence: i64,
        /// Seconds of prefill expected with the cache.
        predicted_prefill_s: f64,
        /// Seconds of prefill expected without.
        cold_prefill_s: f64,
        /// The engine that would have been chosen without.
        cold_choice_iid: Cow<'a, str>,
    }
}

object! {
    /// One entry of `attempt_failures`.
    AttemptFailure<'a> {
        /// When it failed, on the run's monotonic clock.
        at: f64,
        /// The attempt it counts on; two entries may carry the same.
        attempt: i64,
        /// Where it failed: admission, queue, prefill or decode.
        phase: Cow<'a, str>,
        /// Bounded label of the cause (0.6 and later).
        reason: Cow<'a, str>,
        /// Prefill engine, if one was chosen.
        prefill_iid: Cow<'a, str>,
        /// Decode engine, if one was chosen.
        decode_iid: Cow<'a, str>,
        /// The router's exception.
        error_type: Cow<'a, str>,
        /// What it said, cut by the writer at 240 characters.
        error_message: Cow<'a, str>,
        /// HTTP status of the engine, if it answered.
        status: i64,
        /// Whether the router holds it for passing.
        transient: bool,
        /// Whether output had reached the client.
        output_started: bool,
        /// Whether another attempt followed.
        retry_scheduled: bool,
        /// Seconds before that attempt.
        backoff_s: f64,
        /// Why another attempt did or did not follow.
        retry_reason: Cow<'a, str>,
    }
}

/// Engine id to cached tokens, keys sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CachedTokens(pub Object);

impl CachedTokens {
    /// The largest entry, in tokens; `None` when there is none.
    pub fn largest(&self) -> Option<i64> {
        self.0.values().filter_map(Value::as_i64).max()
    }
}

impl Serialize for CachedTokens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Consumes a null; otherwise the next value must be of `wanted` kind.
#[inline]
fn null_or(wanted: Kind, reader: &mut Reader<'_>) -> Result<bool, Fault> {
    match reader.peek()? {
        Kind::Null => reader.null().map(|()| true),
        kind if kind == wanted => Ok(false),
        kind => Err(holds(kind, wanted.name())),
    }
}

fn holds(found: Kind, wanted: &str) -> Fault {
    misfit(format!("holds {}, not {wanted}", found.name()))
}

fn misfit(why: String) -> Fault {
    Fault::Shape { path: String::new(), why }
}

/// The index of `key`, tried first where the writer's order puts it.
#[inline]
fn find(fields: &[&str], next: usize, key: &str) -> Option<usize> {
    let (before, after) = fields.split_at(next);
    after
        .iter()
        .position(|field| *field == key)
        .map(|at| next + at)
        .or_else(|| before.iter().position(|field| *field == key))
}

impl<'a> Field<'a> for Cow<'a, str> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Text, reader)? { Ok(None) } else { reader.string().map(Some) }
    }
}

impl<'a> Field<'a> for bool {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Flag, reader)? { Ok(None) } else { reader.flag().map(Some) }
    }
}

impl<'a> Field<'a> for f64 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Number, reader)? {
            return Ok(None);
        }
        match reader.number()? {
            None => Ok(None),
            Some(Figure::Real(real)) => Ok(Some(real)),
            Some(Figure::Int(int)) => {
                let real = int as f64;
                // A whole number that a float cannot hold would come back as another one.
                if real as i128 == i128::from(int) {
                    Ok(Some(real))
                } else {
                    Err(misfit(format!("holds {int}, which no float equals")))
                }
            }
        }
    }
}

impl<'a> Field<'a> for i64 {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Number, reader)? {
            return Ok(None);
        }
        match reader.number()? {
            None => Ok(None),
            Some(Figure::Int(int)) => Ok(Some(int)),
            Some(Figure::Real(real)) => whole(real)
                .map(Some)
                .ok_or_else(|| misfit(format!("holds {real}, not an integer of 64 bits signed"))),
        }
    }
}

/// The integer that a float equals, if any.
fn whole(real: f64) -> Option<i64> {
    (real.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&real)).then_some(real as i64)
}

impl<'a> Field<'a> for Object {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Object, reader)? { Ok(None) } else { reader.object().map(Some) }
    }
}

impl<'a> Field<'a> for CachedTokens {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Object, reader)? {
            return Ok(None);
        }
        let mut tokens = Object::new();
        reader.begin_object()?;
        while let Some(engine) = reader.next_key()? {
            let count = <Option<i64>>::read_in(reader, &engine)?;
            if tokens.contains_key(engine.as_ref()) {
                return Err(reader.twice(&engine));
            }
            tokens.insert(engine.into_owned(), count.map_or(Value::Null, Value::from));
        }
        Ok(Some(Self(tokens)))
    }
}

/// Reads the value of a member whose key is data.
trait ReadIn<'a>: Sized {
    fn read_in(reader: &mut Reader<'a>, key: &str) -> Result<Self, Fault>;
}

impl<'a> ReadIn<'a> for Option<i64> {
    fn read_in(reader: &mut Reader<'a>, key: &str) -> Result<Self, Fault> {
        i64::read(reader).map_err(|fault| fault.in_field(&format!("[{key:?}]")))
    }
}

impl<'a> Field<'a> for Vec<AttemptFailure<'a>> {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        if null_or(Kind::Array, reader)? {
            return Ok(None);
        }
        let mut entries = Vec::new();
        reader.begin_array()?;
        while reader.next_element()? {
            let entry = AttemptFailure::read(reader)
                .and_then(|entry| entry.ok_or_else(|| holds(Kind::Null, "an object")));
            entries.push(entry.map_err(|fault| fault.in_field(&format!("[{}]", entries.len())))?);
        }
        Ok(Some(entries))
    }
}

/// What a process says of itself when it opens the file. It names no run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Build {
    /// The package that wrote the journal.
    pub package: Option<String>,
    /// Its release.
    pub version: Option<String>,
    /// Its commit; null from a wheel.
    pub git: Option<String>,
    /// Digest of its source (`sha256:...`).
    pub source: Option<String>,
    /// `token_ids` or `unavailable`.
    pub token_accounting: Option<String>,
    /// Admission mode (0.6 and later).
    pub admission_mode: Option<String>,
    /// Admission margin, a share of the TTFT target (0.6 and later).
    pub admission_margin: Option<f64>,
    /// The rest of the row, in the row's own shape.
    pub extra: Object,
}

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

/// What stands at a place of a line.
#[derive(Debug)]
pub struct Reading<'a> {
    /// The row, or why the value there is none.
    pub row: Result<Row<'a>, String>,
    /// The byte after the value and the blanks behind it.
    pub end: usize,
    /// What was mended in it.
    pub repairs: Vec<super::json::Repair>,
}

/// Reads the row that begins at byte `pos` of `text`.
///
/// # Errors
/// When no whole JSON value begins there. A whole value that is no row is not an error but a
/// [`Reading`] with a reason.
pub fn read_row(text: &str, pos: usize) -> Result<Reading<'_>, Fault> {
    let mut reader = Reader::new(text, pos);
    let mut misfit = None;
    if !text[pos..].starts_with("{\"meta\"") && reader.peek()? == Kind::Object {
        match Terminal::read(&mut reader) {
            Ok(Some(terminal)) if terminal.terminal.is_some() => {
                let row = check_terminal(terminal);
                let end = reader.position_after_blanks();
                return Ok(Reading { row, end, repairs: reader.repairs });
            }
            Ok(_) => {}
            Err(Fault::Shape { path, why }) => misfit = Some(format!("{path} {why}")),
            Err(syntax) => return Err(syntax),
        }
        reader = Reader::new(text, pos);
    }
    let value = reader.value()?;
    let row = match value {
        Value::Object(row) => read_untyped(row, misfit),
        _ => Err("not a JSON object".to_owned()),
    };
    Ok(Reading { row, end: reader.position_after_blanks(), repairs: reader.repairs })
}

/// Builds and events, and the reason of what is no row. `misfit` says why the object could not be
/// read as a terminal, if it was one.
fn read_untyped<'a>(mut row: Object, misfit: Option<String>) -> Result<Row<'a>, String> {
    row.retain(|_, value| !value.is_null());
    let has = |key: &str| row.contains_key(key);
    let is_build = has("meta") && !has("terminal") && !has("event");
    if is_build {
        let Some(Value::Object(mut meta)) = row.remove("meta") else {
            return Err("`meta` is not an object".to_owned());
        };
        meta.retain(|_, value| !value.is_null());
        check_schema(&mut meta, "a build row")?;
        return Ok(Row::Build(read_build(meta, row)));
    }
    check_schema(&mut row, "a row")?;
    if row.contains_key("terminal") {
        return Err(misfit.unwrap_or_else(|| "`terminal` is not text".to_owned()));
    }
    match row.remove("event") {
        Some(Value::String(event)) => read_event(event, row).map(Row::Event),
        Some(_) => Err("`event` is not text".to_owned()),
        None => Err("neither a build, a terminal nor an event".to_owned()),
    }
}

fn check_schema(row: &mut Object, what: &str) -> Result<(), String> {
    match row.remove("schema") {
        None => {
            return Err(format!("no schema: {what} of a release before 0.2, or of no journal"));
        }
        Some(Value::String(schema)) if schema == SCHEMA => {}
        Some(other) => return Err(format!("foreign schema {}", shown(&other))),
    }
    match row.remove("schema_version") {
        Some(Value::Number(version)) if version.as_f64() == Some(SCHEMA_VERSION as f64) => Ok(()),
        Some(other) => Err(format!("unknown schema_version {}", shown(&other))),
        None => Err("no schema_version".to_owned()),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("...".chars()).collect() }
}

fn check_terminal(terminal: Terminal<'_>) -> Result<Row<'_>, String> {
    match terminal.schema.as_deref() {
        Some(SCHEMA) => {}
        None => return Err("no schema: a row of a release before 0.2, or of no journal".to_owned()),
        Some(other) => return Err(format!("foreign schema {}", shown(&other.into()))),
    }
    match terminal.schema_version {
        Some(SCHEMA_VERSION) => {}
        Some(other) => return Err(format!("unknown schema_version {other}")),
        None => return Err("no schema_version".to_owned()),
    }
    for (name, absent) in [
        ("run", terminal.run.is_none()),
        ("rid", terminal.rid.is_none()),
        ("arrived", terminal.arrived.is_none()),
    ] {
        if absent {
            return Err(format!("no identity: `{name}` is absent, null or not finite"));
        }
    }
    Ok(Row::Terminal(Box::new(terminal)))
}

fn read_event(event: String, mut row: Object) -> Result<Event, String> {
    let run = match row.remove("run") {
        Some(Value::String(run)) => run,
        Some(_) => return Err("no identity: `run` is not text".to_owned()),
        None => return Err("no identity: `run` is absent or null".to_owned()),
    };
    let at = take(&mut row, "at", |value| value.as_f64().ok_or(value));
    let iid = take_text(&mut row, "iid");
    Ok(Event { run, event, at, iid, detail: row })
}

fn read_build(mut meta: Object, mut rest: Object) -> Build {
    let mut admission = take(&mut meta, "admission", |value| match value {
        Value::Object(admission) => Ok(admission),
        other => Err(other),
    });
    let build = Build {
        package: take_text(&mut meta, "package"),
        version: take_text(&mut meta, "version"),
        git: take_text(&mut meta, "git"),
        source: take_text(&mut meta, "source"),
        token_accounting: take_text(&mut meta, "token_accounting"),
        admission_mode: admission.as_mut().and_then(|object| take_text(object, "mode")),
        admission_margin: admission
            .as_mut()
            .and_then(|object| take(object, "margin", |value| value.as_f64().ok_or(value))),
        extra: Object::new(),
    };
    if let Some(admission) = admission {
        let emptied = build.admission_mode.is_some() || build.admission_margin.is_some();
        if !admission.is_empty() || !emptied {
            meta.insert("admission".to_owned(), Value::Object(admission));
        }
    }
    if !meta.is_empty() {
        rest.insert("meta".to_owned(), Value::Object(meta));
    }
    Build { extra: rest, ..build }
}

/// Takes a member out of the object when it converts; one of another type stays.
fn take<T>(object: &mut Object, key: &str, convert: impl Fn(Value) -> Result<T, Value>) -> Option<T> {
    match convert(object.remove(key)?) {
        Ok(taken) => Some(taken),
        Err(value) => {
            object.insert(key.to_owned(), value);
            None
        }
    }
}

fn take_text(object: &mut Object, key: &str) -> Option<String> {
    take(object, key, |value| match value {
        Value::String(text) => Ok(text),
        other => Err(other),
    })
}

impl Build {
    /// The row as JSON, in the writer's order.
    pub fn to_json(&self) -> BuildJson<'_> {
        BuildJson(self)
    }
}

/// Serializes a [`Build`] as its row. See [`Build::to_json`].
#[derive(Debug)]
pub struct BuildJson<'b>(&'b Build);

impl Serialize for BuildJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Meta<'b>(&'b Build, Option<&'b Object>);
        impl Serialize for Meta<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self(build, unknown) = self;
                let mut unknown = unknown.cloned().unwrap_or_default();
                let mut admission = match unknown.remove("admission") {
                    Some(Value::Object(object)) => Some(object),
                    Some(other) => {
                        unknown.insert("admission".to_owned(), other);
                        None
                    }
                    None => None,
                };
                for (key, value) in [
                    ("mode", build.admission_mode.clone().map(Value::from)),
                    ("margin", build.admission_margin.map(Value::from)),
                ] {
                    if let Some(value) = value {
                        admission.get_or_insert_default().insert(key.to_owned(), value);
                    }
                }
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("schema", SCHEMA)?;
                map.serialize_entry("schema_version", &SCHEMA_VERSION)?;
                for (key, value) in [
                    ("package", &build.package),
                    ("version", &build.version),
                    ("git", &build.git),
                    ("source", &build.source),
                    ("token_accounting", &build.token_accounting),
                ] {
                    map.serialize_entry(key, value)?;
                }
                if let Some(admission) = admission {
                    map.serialize_entry("admission", &admission)?;
                }
                for (key, value) in &unknown {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
        let unknown = self.0.extra.get("meta").and_then(Value::as_object);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("meta", &Meta(self.0, unknown))?;
        for (key, value) in self.0.extra.iter().filter(|(key, _)| *key != "meta") {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
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
