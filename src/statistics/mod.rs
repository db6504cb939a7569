//! How sure a number is: intervals, differences, verdicts, and where extra misses come from.
//!
//! Every function is pure: values in, values out, in one pass over rows in their order. Nothing
//! here knows SQL, files or the rest of the crate. `docs/statistics.md` defines each number; a
//! second implementation in `tests/reference/statistics_reference.py` must agree.
//!
//! Requests come in bursts. What makes these intervals honest is the order of the rows: batches of
//! neighbours show how much less the rows tell than as many independent ones would.

mod batches;
mod beyond;
mod binomial;
mod difference;
mod explain;
mod family;
mod limit;
mod ordered;
mod percentile;
mod share;
mod window;

pub use batches::{Batch, Batches, Design};
pub use difference::{Difference, evidence};
pub use explain::{Attribution, FEWEST_REQUESTS, NamedAccount, SHOWN, WorstStretch, explain};
pub use family::{Verdict, judge_together, p_value};
pub use limit::{Judgement, Limit};
pub use percentile::{Least, Percentile};
pub use share::Share;
pub use window::{Account, Profile, Profiles, Window};

/// The 97.5 % point of the normal distribution: every interval is a 95 % one.
pub const Z: f64 = 1.959963984540054;

/// A value with the ends of its 95 % interval, in the value's own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The value itself, exact for the rows that it was taken from.
    pub value: f64,
    /// The lower end; none where the rows are too few to give one.
    pub low: Option<f64>,
    /// The upper end; none where the rows are too few to give one.
    pub high: Option<f64>,
}
