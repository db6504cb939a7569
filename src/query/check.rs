//! Whether runs keep what was asked of them, for scripts and alerts.

use anyhow::Result;
use rusqlite::Connection;

use super::answer::ask;
use super::compare::leg_failures;
use crate::text::rounded;

/// What is asked of a run. At least one is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The least attainment.
    pub min_attainment: Option<f64>,
    /// The largest share of legs, prefill and decode of all engines, that failed.
    pub max_failure_rate: Option<f64>,
    /// The largest 99th percentile of `ttft_s` of completed requests, in seconds.
    pub max_p99_ttft: Option<f64>,
}

/// What came of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// Nothing was measured that it could be held against.
    Unknown,
}

/// A limit held against a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The run.
    pub run: String,
    /// What came of it.
    pub held: Held,
    /// The figure, the limit and the counts behind it, in words.
    pub words: String,
}

/// Holds runs against limits, and says what changes the meaning of the findings. `given` has the parameters of the queries as on the command line.
///
/// # Errors
/// As the command line has them, and when the database cannot be read.
pub fn check(
    connection: &mut Connection,
    limits: &Limits,
    given: impl Fn(&str) -> Option<String> + Copy,
) -> Result<(Vec<Finding>, Vec<String>)> {
    let (mut findings, mut caveats) = (Vec::new(), Vec::new());
    let mut find = |run: String, value: Option<f64>, limit: f64, is_least: bool, name: &str, of: String| {
        let (held, value) = match value {
            None => (Held::Unknown, "unknown".to_owned()),
            Some(value) if (is_least && value >= limit) || (!is_least && value <= limit) => {
                (Held::Yes, rounded(value))
            }
            Some(value) => (Held::No, rounded(value)),
        };
        let bound = if is_least { "at least" } else { "at most" };
        findings.push(Finding {
            run,
            held,
            words: format!("{name} {value}, {bound} {} ({of})", rounded(limit)),
        });
    };
    if let Some(limit) = limits.min_attainment {
        let answer = ask(connection, "attainment", given)?;
        caveats.extend_from_slice(&answer.caveats);
        for row in answer.rows() {
            let of = format!(
                "{} of {} scored met, {} excluded",
                row.int("met"),
                row.int("scored"),
                row.int("excluded")
            );
            find(row.text("run"), row.real("attainment"), limit, true, "attainment", of);
        }
    }
    if let Some(limit) = limits.max_failure_rate {
        for run in ask(connection, "runs", given)?.rows() {
            let name = run.text("run");
            let of_run =
                |parameter: &str| if parameter == "run" { Some(name.clone()) } else { given(parameter) };
            let answer = ask(connection, "engine-failures", of_run)?;
            let (failed, legs) = leg_failures(&answer, &["prefill", "decode"]);
            let rate = (legs > 0).then(|| failed as f64 / legs as f64);
            find(name, rate, limit, false, "failure_rate", format!("{failed} of {legs} legs failed"));
        }
    }
    if let Some(limit) = limits.max_p99_ttft {
        for row in ask(connection, "latency", given)?.rows().filter(|row| row.text("metric") == "ttft_s") {
            let of = format!("over {} completed requests", row.int("n"));
            find(row.text("run"), row.real("p99"), limit, false, "ttft_s p99", of);
        }
    }
    Ok((findings, caveats))
}
