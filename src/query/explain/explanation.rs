//! What an explanation says, in the fields that are written as data (docs/statistics.md, "As data"). Finds nothing itself.

use std::collections::BTreeMap;

use serde::Serialize;

use super::written::WrittenEvent;
use crate::statistics::SHOWN;

/// What the misses of a window go with. The fields that are written are those of docs/statistics.md, "As data".
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Misses beyond those expected at the baseline's miss rate.
    pub extra: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// `extra` in standard deviations; null when beyond all doubt. Below 1.96 there is nothing to explain.
    pub z: Option<f64>,
    /// Misses of the window.
    pub misses: u64,
    /// Misses expected in the window at the baseline's miss rate.
    pub expected: f64,
    /// The extra misses of each kind.
    pub kinds: BTreeMap<String, f64>,
    /// What they go with, most first.
    pub named: Vec<Named>,
    /// Extra misses of the requests that have no named value.
    pub rest: f64,
    /// Extra misses because requests moved between values.
    pub mix: f64,
    /// The neighbouring requests with the most extra misses.
    pub stretch: Stretch,
    /// What the router wrote then.
    pub events: Vec<WrittenEvent>,
    /// Typical missed requests of the first named value; without one, of the stretch.
    pub rids: Vec<String>,
    /// Requests offered a second.
    pub offered_per_s: Offered,
    /// The window.
    pub window: Side,
    /// What it is held against.
    pub baseline: Side,
    /// TTFT target, in seconds.
    pub ttft: f64,
    /// TPOT target, in seconds.
    pub tpot: f64,
    /// Who is scored.
    pub policy: &'static str,
    /// Whether the independent requests are too few to say whether the two differ, as in `compare`.
    pub too_few: bool,
    /// Why the two cannot be held against each other, when they cannot.
    pub not_comparable: Option<String>,
    /// What a reader must know of the order of the requests and of the hours that the windows lie at.
    pub notes: Vec<String>,
}

impl Explanation {
    /// Whether there are more extra misses than chance explains.
    pub fn is_shown(&self) -> bool {
        self.z.is_none_or(|z| z >= SHOWN)
    }
}

/// One of the two windows.
#[derive(Debug, Serialize)]
pub struct Side {
    /// Its first moment with a request, in estimated wall time.
    pub from: Option<String>,
    /// Its last.
    pub to: Option<String>,
    /// How many runs it takes in.
    pub runs: usize,
    /// Requests that the policy counts.
    pub scored: u64,
    /// Those that met the targets, as a share with its interval.
    pub attainment: f64,
    /// The lower end.
    pub attainment_low: f64,
    /// The upper end.
    pub attainment_high: f64,
    /// So many independent requests tell as much.
    pub independent: f64,
    /// So many independent misses, or met requests, the share rests on, when that is few.
    pub rests_on: Option<f64>,
}

/// A value that extra misses go with.
#[derive(Debug, Serialize)]
pub struct Named {
    /// What kind of value it is.
    pub attribute: &'static str,
    /// The value.
    pub value: String,
    /// Its requests in the window, without those of values named before it.
    pub requests: u64,
    /// Its misses in the window.
    pub misses: u64,
    /// Its requests in the baseline.
    pub baseline_requests: u64,
    /// Its misses in the baseline.
    pub baseline_misses: u64,
    /// Misses beyond those expected at its own baseline.
    pub own: f64,
    /// Misses beyond the other requests of the same time.
    pub beyond: f64,
    /// The standard deviation of `beyond`, if the value made no difference.
    pub sd: f64,
    /// Values that stand out only by requests that they share with this one.
    pub also: Vec<Value>,
    /// Values that cannot be told apart from it.
    pub tied: Vec<Value>,
}

/// A value of an attribute.
#[derive(Debug, Serialize)]
pub struct Value {
    /// What kind of value it is.
    pub attribute: &'static str,
    /// The value.
    pub value: String,
}

/// A part of the window.
#[derive(Debug, Serialize)]
pub struct Stretch {
    /// When its first request arrived, in estimated wall time; null when that is not known.
    pub from: Option<String>,
    /// When its last request arrived.
    pub to: Option<String>,
    /// Its extra misses.
    pub extra: f64,
    /// What the estimate of the wall time rests on, where its runs agree.
    pub basis: Option<String>,
    /// The parts of runs that it is made of.
    pub parts: Vec<StretchPart>,
}

/// A part of a run.
#[derive(Debug, Serialize)]
pub struct StretchPart {
    /// The run.
    pub run: String,
    /// From so many seconds into the run.
    pub from_s: f64,
    /// To so many.
    pub to_s: f64,
}

/// Requests offered a second; null where a span has no length.
#[derive(Debug, Serialize)]
pub struct Offered {
    /// In the stretch.
    pub stretch: Option<f64>,
    /// In the window.
    pub window: Option<f64>,
    /// In the baseline.
    pub baseline: Option<f64>,
}
