//! Whether what was selected keeps what was asked of it, for scripts and alerts.

use anyhow::Result;
use rusqlite::Connection;

use super::answer::ask;
use super::compare::leg_failures;
use crate::selection::Selection;
use crate::text::{full, rounded};

/// What is asked of a scope. At least one is.
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

/// A limit held against a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The scope.
    pub scope: String,
    /// What came of it.
    pub held: Held,
    /// The figure, the limit and the counts behind it, in words.
    pub words: String,
}

/// A limit, and the side of it that holds.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn limit(self) -> f64 {
        match self {
            Self::AtLeast(limit) | Self::AtMost(limit) => limit,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
        }
    }

    fn in_words(self) -> String {
        let words = match self {
            Self::AtLeast(_) => "at least",
            Self::AtMost(_) => "at most",
        };
        format!("{words} {}", rounded(self.limit()))
    }

    /// A figure rounded for eyes, in full where rounding would make it look like the limit.
    fn shown(self, value: f64) -> String {
        let short = rounded(value);
        if short == rounded(self.limit()) && value != self.limit() { full(value) } else { short }
    }
}

/// Holds each scope of a selection against limits, and says what changes the meaning of the findings. `given` has
/// the parameters of the queries as on the command line.
///
/// # Errors
/// As the command line has them, and when the database cannot be read.
pub fn check(
    connection: &mut Connection,
    selection: &Selection,
    limits: &Limits,
    given: impl Fn(&str) -> Option<String> + Copy,
) -> Result<(Vec<Finding>, Vec<String>)> {
    let (mut findings, mut caveats) = (Vec::new(), Vec::new());
    let mut find = |scope: String, value: Option<f64>, bound: Bound, name: &str, of: String| {
        let (held, value) = match value {
            None => (Held::Unknown, "unknown".to_owned()),
            Some(value) => (if bound.holds(value) { Held::Yes } else { Held::No }, bound.shown(value)),
        };
        findings.push(Finding { scope, held, words: format!("{name} {value}, {} ({of})", bound.in_words()) });
    };
    if let Some(limit) = limits.min_attainment {
        let answer = ask(connection, "attainment", selection, given)?;
        caveats.extend_from_slice(&answer.caveats);
        for row in answer.rows() {
            let of = format!(
                "{} of {} scored met, {} excluded",
                row.int("met"),
                row.int("scored"),
                row.int("excluded")
            );
            find(row.text("scope"), row.real("attainment"), Bound::AtLeast(limit), "attainment", of);
        }
    }
    if let Some(limit) = limits.max_failure_rate {
        let answer = ask(connection, "engine-failures", selection, given)?;
        let mut scopes: Vec<&str> = selection.rows.iter().map(|row| row.scope.as_str()).collect();
        scopes.dedup();
        for scope in scopes {
            let (failed, legs) = leg_failures(&answer, scope, &["prefill", "decode"]);
            let rate = (legs > 0).then(|| failed as f64 / legs as f64);
            let of = format!("{failed} of {legs} legs failed");
            find(scope.to_owned(), rate, Bound::AtMost(limit), "failure_rate", of);
        }
    }
    if let Some(limit) = limits.max_p99_ttft {
        let answer = ask(connection, "latency", selection, given)?;
        for row in answer.rows().filter(|row| row.text("metric") == "ttft_s") {
            let of = format!("over {} completed requests", row.int("n"));
            find(row.text("scope"), row.real("p99"), Bound::AtMost(limit), "ttft_s p99", of);
        }
    }
    Ok((findings, caveats))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_just_beyond_its_limit_does_not_look_like_it() {
        let bound = Bound::AtLeast(0.99);
        assert_eq!((bound.holds(0.98999999), bound.shown(0.98999999).as_str()), (false, "0.98999999"));
        assert_eq!((bound.holds(0.99), bound.shown(0.99).as_str()), (true, "0.99"));
        assert!(Bound::AtMost(5.0).holds(5.0) && !Bound::AtMost(5.0).holds(5.1));
    }
}
