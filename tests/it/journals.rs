//! Small made-up journals of the real shape. The same numbers give the same bytes.

use std::time::{SystemTime, UNIX_EPOCH};

use super::harness::say;

/// Random numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice with `NARWHAL_JQ_SEED` or else a new seed, which is said.
    pub fn of(test: &str) -> (Self, u64) {
        let seed = match std::env::var("NARWHAL_JQ_SEED") {
            Ok(seed) => seed.parse().expect("NARWHAL_JQ_SEED is a whole number"),
            Err(_) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
                now.as_nanos() as u64 % 1_000_000_007
            }
        };
        say(&format!("{test}: NARWHAL_JQ_SEED={seed}"));
        (Self(seed), seed)
    }

    /// Dice with a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0, less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from 0, less than 1.
    pub fn share(&mut self) -> f64 {
        self.below(1 << 32) as f64 / (1_u64 << 32) as f64
    }
}

/// The name of a run.
pub fn run_name(number: u64) -> String {
    format!("{}-{:08x}", 1_795_977_782 + number, 0x3db9_7943 ^ number)
}

/// The id of a run's request.
pub fn rid(number: u64) -> String {
    format!("{number:08x}-1aab-4306-a998-3b0a64226387")
}

/// When a run's request arrived, as the journal writes it.
pub fn arrived(number: u64) -> String {
    format!("{}.{:03}125", 2443 + number / 100, number % 100 * 10)
}

/// A build row.
pub fn build(version: &str) -> String {
    format!(
        r#"{{"meta": {{"schema": "narwhal.journal", "schema_version": 1, "package": "narwhal-inference", "version": "{version}", "git": null, "source": "sha256:1a10b6f4dd653c6e", "token_accounting": "token_ids", "admission": {{"mode": "open", "margin": 0.0}}}}}}"#
    )
}

/// A terminal with every field of release 0.7.0.
pub fn terminal(run: &str, number: u64) -> String {
    full_terminal(run, number, "[]", 1)
}

/// A terminal whose first decode leg failed.
pub fn retried_terminal(run: &str, number: u64) -> String {
    let failures = format!(
        r#"[{{"at": {}, "attempt": 1, "phase": "decode", "reason": "engine_error", "prefill_iid": "p0", "decode_iid": "d1", "error_type": "EngineError", "error_message": "decode leg against http://127.0.0.1:19003 failed (503): {{\"error\": \"stub\"}}", "status": 503, "transient": true, "output_started": false, "retry_scheduled": true, "backoff_s": 0.017, "retry_reason": "allowed"}}]"#,
        arrived(number)
    );
    full_terminal(run, number, &failures, 2)
}

fn full_terminal(run: &str, number: u64, failures: &str, attempts: u64) -> String {
    format!(
        r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "{run}", "rid": "{}", "client_rid": "k\u00e9-{number}", "arrived": {}, "input_len": 70, "input_sized": true, "wanted_len": 3, "output_len": 3, "ttft_s": 0.009348115000193502, "tpot_s": 0.04824684250002065, "first_byte_s": 0.01480748299991319, "decode_tpot_s": 0.045517158500160804, "queue_wait_s": 0, "queue_waits": {{"admission": 3.131599987682421e-05, "prefill": null, "decode": null}}, "admission_price": {{"attempt": 1, "backlog_s": 0.0, "own_prefill_s": 0.075, "elapsed_s": 0.0022519170001942257, "handoff_s": 0.0, "price_s": 0.07725191700019424}}, "duration_s": 0.10610634400018171, "attempts": {attempts}, "decode_attempts": {attempts}, "attempt_failures": {failures}, "decode_tokens_observed": 3, "upstream_seconds": {{"prefill": 0.006928319000053307, "decode": 0.096514334999938}}, "prefill_iid": "p0", "decode_iid": "d0", "crossed": true, "cached_tokens": {{"p0": 16}}, "cache_placement": null, "token_accounting": "token_ids", "error": null, "status": 200, "error_type": null, "error_code": null, "reason": null, "terminal": "completed"}}"#,
        rid(number),
        arrived(number)
    )
}

/// A terminal with few fields.
pub fn short_terminal(run: &str, number: u64) -> String {
    format!(
        r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "{run}", "rid": "{}", "arrived": {}, "duration_s": 0.25, "terminal": "completed"}}"#,
        rid(number),
        arrived(number)
    )
}

/// An event on the monotonic clock.
pub fn event(run: &str, number: u64) -> String {
    format!(
        r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "{run}", "event": "engine_hold_started", "at": {}, "iid": "p0", "kind": "timed", "duration_s": 0.5}}"#,
        arrived(number)
    )
}

/// An event on the wall clock.
pub fn wall_event(run: &str, number: u64) -> String {
    format!(
        r#"{{"schema": "narwhal.journal", "schema_version": 1, "run": "{run}", "event": "engine_lifecycle", "action": "drain_started", "at": {}.5, "iid": "d1", "wave_id": ""}}"#,
        1_795_979_161 + number
    )
}

/// Lines as a file.
pub fn journal<S: AsRef<str>>(lines: &[S]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect::<String>().into_bytes()
}

/// A few KB with a bit of everything: two builds, a row in full with an attempt failure, events on
/// both clocks, an empty line, a torn row glued to the next process's build, and a NaN.
pub fn with_everything() -> Vec<u8> {
    let (first, second) = (run_name(1), run_name(2));
    let torn = &short_terminal(&first, 3)[..90];
    journal(&[
        build("0.6.0"),
        short_terminal(&first, 1),
        String::new(),
        retried_terminal(&first, 2),
        event(&first, 1),
        format!("{torn}{}", build("0.7.0")),
        short_terminal(&second, 1).replace("0.25", "NaN"),
        wall_event(&second, 1),
        short_terminal(&second, 2),
    ])
}
