//! Terminal rows: client requests with their attempt failures.
//!
//! Field names, units and meanings are those of the writer. Every value is optional: absent and
//! null mean the same. What a struct does not know is kept in its `extra`, so a row read and
//! written again is the same row.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::json::{Fault, Figure, Kind, Reader};
use super::object::{Object, drop_nulls};

/// The terminal values that the writer's releases up to 0.7.0 use.
pub const TERMINALS: [&str; 7] =
    ["completed", "failed", "refused", "rejected", "expired", "invalid", "cancelled"];

/// A value that a field can hold.
pub(super) trait Field<'a>: Sized {
    /// Reads the value; `None` for null.
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault>;
}

/// A row or a part of one, filled where it lies: a terminal is more than a kilobyte, and moving it costs.
pub(super) trait Fill<'a>: Default {
    /// Reads the object; `false` for null.
    fn fill(&mut self, reader: &mut Reader<'a>) -> Result<bool, Fault>;
}

impl<'a, T: Fill<'a>> Field<'a> for T {
    fn read(reader: &mut Reader<'a>) -> Result<Option<Self>, Fault> {
        let mut object = Self::default();
        Ok(object.fill(reader)?.then_some(object))
    }
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

        impl<'de $(: $life, $life: 'de)?> Fill<'de> for $name $(<$life>)? {
            fn fill(&mut self, reader: &mut Reader<'de>) -> Result<bool, Fault> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                if null_or(Kind::Object, reader)? {
                    return Ok(false);
                }
                reader.begin_object()?;
                // As a writer of this release or an older one has written it: every key that comes is
                // the next one, or a later one.
                let (mut seen, mut bit) = (0_u64, 1);
                $(
                    if reader.next_key_is(concat!(", \"", stringify!($field), "\": ")) {
                        self.$field = Field::read(reader)
                            .map_err(|fault| fault.in_field(stringify!($field)))?;
                        seen |= bit;
                    }
                    bit <<= 1;
                )*
                let _ = bit;
                // What is left, in any order.
                let mut next = 0;
                while let Some(key) = reader.next_key()? {
                    let Some(at) = find(FIELDS, next, &key) else {
                        let value = reader.value()?;
                        if self.extra.contains_key(key.as_ref()) {
                            return Err(reader.twice(&key));
                        }
                        self.extra.insert(key.into_owned(), value);
                        continue;
                    };
                    if seen & (1 << at) != 0 {
                        return Err(reader.twice(FIELDS[at]));
                    }
                    seen |= 1 << at;
                    next = at + 1;
                    let mut index = 0;
                    $(
                        if at == index {
                            self.$field = Field::read(reader)
                                .map_err(|fault| fault.in_field(stringify!($field)))?;
                            continue;
                        }
                        index += 1;
                    )*
                    let _ = index;
                }
                drop_nulls(&mut self.extra);
                Ok(true)
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
        /// Always [`super::SCHEMA`].
        schema: Cow<'a, str>,
        /// Always [`super::SCHEMA_VERSION`].
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
#[inline(always)]
fn null_or(wanted: Kind, reader: &mut Reader<'_>) -> Result<bool, Fault> {
    if reader.begins(wanted) {
        return Ok(false);
    }
    if reader.begins(Kind::Null) {
        return reader.null().map(|()| true);
    }
    null_or_not(wanted, reader)
}

/// As [`null_or`], for a value whose first byte does not tell, or tells that it does not fit.
#[cold]
fn null_or_not(wanted: Kind, reader: &mut Reader<'_>) -> Result<bool, Fault> {
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
        if null_or(Kind::Object, reader)? {
            return Ok(None);
        }
        let mut object = reader.object()?;
        drop_nulls(&mut object);
        Ok(Some(object))
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
        drop_nulls(&mut tokens);
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
