//! Terminal rows: client requests with their attempt failures.
//!
//! Field names, units and meanings are those of the writer. Every value is optional: absent and
//! null mean the same. What a struct does not know is kept in its `extra`, so a row read and
//! written again is the same row.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::declare::{Declared, EachText, Field, ReadValues, Role, WriteValues};
use super::define::{Fill, Holdable, Readable, object};
use super::fault::Fault;
use super::json::{Reader, ValueKind};
use super::object::{Object, drop_nulls};
use super::values::{CachedTokens, find, null_or};

/// The terminal values that the writer's releases up to 0.7.0 use.
pub const TERMINALS: [&str; 7] =
    ["completed", "failed", "refused", "rejected", "expired", "invalid", "cancelled"];

object! {
    /// One client request: its outcome, timings, engines and failed attempts.
    ///
    /// Times are seconds; `arrived` is on the monotonic clock of the run, the others are spans.
    Terminal<'a> {
        /// Always [`super::SCHEMA`].
        schema: Cow<'a, str> = Schema,
        /// Always [`super::SCHEMA_VERSION`].
        schema_version: i64 = Schema,
        /// The router process: `<unix seconds of its start>-<8 hex digits>`.
        run: Cow<'a, str> = Run,
        /// The request, unique within its run.
        rid: Cow<'a, str> = Identity,
        /// What the caller named the request: any text, repeated freely.
        client_rid: Cow<'a, str> = Client,
        /// When the request arrived.
        arrived: f64 = Time,
        /// Prompt tokens.
        input_len: i64 = Count,
        /// Whether the prompt was sized before the request ended.
        input_sized: bool = Flag,
        /// Tokens the caller asked for; 0 for no limit.
        wanted_len: i64 = Count,
        /// Tokens returned; null where token accounting is unavailable.
        output_len: i64 = Count,
        /// Arrival to prefill completion.
        ttft_s: f64 = Time,
        /// Prefill completion to last token, per token after the first.
        tpot_s: f64 = Time,
        /// Arrival to the first visible output.
        first_byte_s: f64 = Time,
        /// First to last token, per token after the first.
        decode_tpot_s: f64 = Time,
        /// Time spent waiting, all stages.
        queue_wait_s: f64 = Time,
        /// Time spent waiting, by stage (0.6 and later).
        queue_waits: QueueWaits = Part,
        /// What admission expected (0.6 and later).
        admission_price: AdmissionPrice = Part,
        /// Arrival to the end.
        duration_s: f64 = Time,
        /// Prefill dispatches.
        attempts: i64 = Count,
        /// Decode dispatches.
        decode_attempts: i64 = Count,
        /// Failed attempts, in order; the position is their only key.
        attempt_failures: Vec<AttemptFailure<'a>> = Entries,
        /// Tokens that engines produced, over every attempt.
        decode_tokens_observed: i64 = Count,
        /// Engine time by leg, failed work included.
        upstream_seconds: UpstreamSeconds = Part,
        /// Prefill engine of the final attempt.
        prefill_iid: Cow<'a, str> = Engine,
        /// Decode engine of the final attempt.
        decode_iid: Cow<'a, str> = Engine,
        /// Whether the decode engine differs from the prefill engine.
        crossed: bool = Flag,
        /// Engine to tokens it had cached (0.4 and later).
        cached_tokens: CachedTokens = EngineKeys,
        /// The placement that the cache decided (0.4 and later).
        cache_placement: CachePlacement<'a> = Part,
        /// `token_ids` or `unavailable`.
        token_accounting: Cow<'a, str> = Label,
        /// Failure, refusal, rejection or expiry detail.
        error: Cow<'a, str> = Text,
        /// HTTP status that the client saw (0.6 and later).
        status: i64 = Count,
        /// Error type that the client saw (0.6 and later).
        error_type: Cow<'a, str> = Label,
        /// Error code that the client saw (0.6 and later).
        error_code: Cow<'a, str> = Label,
        /// Bounded label of the outcome's cause (0.6 and later).
        reason: Cow<'a, str> = Label,
        /// How the request ended: one of [`TERMINALS`], or what a later release says.
        terminal: Cow<'a, str> = Label,
        /// True on cancelled rows.
        cancelled: bool = Flag,
        /// Where a cancelled request was: admission, queue, backoff, prefill or decode.
        cancelled_phase: Cow<'a, str> = Label,
        /// True on refused rows.
        refused: bool = Flag,
        /// Why a refused request was refused.
        refused_cause: Cow<'a, str> = Label,
        /// True on rejected rows.
        rejected: bool = Flag,
        /// True on expired rows.
        expired: bool = Flag,
        /// Why the router was not ready (0.6 and later).
        readiness_reason: Cow<'a, str> = Text,
        /// Kept whole, on requests that opted in.
        continuation: Object = Members,
    }
}

object! {
    /// Seconds waited in each stage; null where the stage was not reached.
    QueueWaits {
        /// Before admission.
        admission: f64 = Time,
        /// For a prefill engine.
        prefill: f64 = Time,
        /// For a decode engine.
        decode: f64 = Time,
    }
}

object! {
    /// The time to first token that admission expected, and its parts, in seconds.
    AdmissionPrice {
        /// The attempt that was priced.
        attempt: i64 = Count,
        /// Work queued before it.
        backlog_s: f64 = Time,
        /// Its own prefill.
        own_prefill_s: f64 = Time,
        /// Time already gone.
        elapsed_s: f64 = Time,
        /// The handoff to decode (0.7 and later).
        handoff_s: f64 = Time,
        /// The whole price.
        price_s: f64 = Time,
    }
}

object! {
    /// Engine seconds by leg.
    UpstreamSeconds {
        /// Prefill legs.
        prefill: f64 = Time,
        /// Decode legs.
        decode: f64 = Time,
    }
}

object! {
    /// A placement that cached tokens decided.
    CachePlacement<'a> {
        /// The engine chosen.
        placed_iid: Cow<'a, str> = Engine,
        /// Tokens it had cached.
        placed_cached_tokens: i64 = Count,
        /// Sequence number of the evidence.
        evidence_sequence: i64 = Count,
        /// Seconds of prefill expected with the cache.
        predicted_prefill_s: f64 = Time,
        /// Seconds of prefill expected without.
        cold_prefill_s: f64 = Time,
        /// The engine that would have been chosen without.
        cold_choice_iid: Cow<'a, str> = Engine,
    }
}

object! {
    /// One entry of `attempt_failures`.
    AttemptFailure<'a> {
        /// When it failed, on the run's monotonic clock.
        at: f64 = Time,
        /// The attempt it counts on; two entries may carry the same.
        attempt: i64 = Count,
        /// Where it failed: admission, queue, prefill or decode.
        phase: Cow<'a, str> = Label,
        /// Bounded label of the cause (0.6 and later).
        reason: Cow<'a, str> = Label,
        /// Prefill engine, if one was chosen.
        prefill_iid: Cow<'a, str> = Engine,
        /// Decode engine, if one was chosen.
        decode_iid: Cow<'a, str> = Engine,
        /// The router's exception.
        error_type: Cow<'a, str> = Label,
        /// What it said, cut by the writer at 240 characters.
        error_message: Cow<'a, str> = Text,
        /// HTTP status of the engine, if it answered.
        status: i64 = Count,
        /// Whether the router holds it for passing.
        transient: bool = Flag,
        /// Whether output had reached the client.
        output_started: bool = Flag,
        /// Whether another attempt followed.
        retry_scheduled: bool = Flag,
        /// Seconds before that attempt.
        backoff_s: f64 = Time,
        /// Why another attempt did or did not follow.
        retry_reason: Cow<'a, str> = Label,
    }
}
