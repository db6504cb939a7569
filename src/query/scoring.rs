//! Who counts for the latency targets, and who meets them (docs/semantics.md, "SLO attainment"): the rules of
//! `attainment` and `attainment-misses`, for requests that are looked at one by one.

use rusqlite::Row;
use rusqlite::types::Type;

pub use crate::store::slos::Slo;

/// Who is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// Who completed or was turned away, and others that were not measured.
    #[default]
    Journal,
    /// Everyone.
    Offers,
    /// As the router itself counts.
    Router,
}

impl Policy {
    /// The names of [`Policy::named`].
    pub const NAMES: [&'static str; 3] = ["journal", "offers", "router"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Offers => "offers",
            Self::Router => "router",
        }
    }

    /// The policy of that name, as the command line takes it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "journal" => Some(Self::Journal),
            "offers" => Some(Self::Offers),
            "router" => Some(Self::Router),
            _ => None,
        }
    }
}

/// What is looked at of a request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// How it ended.
    pub terminal: &'r str,
    /// Whether the length of its output is known.
    pub has_output: bool,
    /// Arrival to prefill done.
    pub ttft_s: Option<f64>,
    /// Per output token after the first.
    pub tpot_s: Option<f64>,
}

impl<'r> Request<'r> {
    /// Of a row that has terminal, output_len, ttft_s and tpot_s from the column `first` on.
    ///
    /// # Errors
    /// When they are not there.
    pub fn of(row: &'r Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            terminal: row.get_ref(first)?.as_str()?,
            has_output: row.get_ref(first + 1)?.data_type() != Type::Null,
            ttft_s: row.get(first + 2)?,
            tpot_s: row.get(first + 3)?,
        })
    }

    /// Whether it is counted.
    pub fn is_scored(&self, policy: Policy) -> bool {
        match policy {
            Policy::Offers => true,
            Policy::Router => !matches!(self.terminal, "cancelled" | "rejected" | "invalid"),
            Policy::Journal => {
                matches!(self.terminal, "completed" | "invalid" | "rejected" | "expired" | "failed")
                    || !self.has_output
                    || self.ttft_s.is_none()
            }
        }
    }

    /// Why it misses any targets; none when it has all that meeting some needs.
    pub fn unfit(&self, policy: Policy) -> Option<&'r str> {
        if self.terminal != "completed" {
            Some(self.terminal)
        } else if policy != Policy::Router && !self.has_output {
            Some("output_unmeasured")
        } else if self.ttft_s.is_none() {
            Some("ttft_unmeasured")
        } else {
            None
        }
    }
}

/// What a scored request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score<'r> {
    /// It met the targets.
    Met,
    /// It missed them so: the `miss` of `attainment-misses`.
    Missed(&'r str),
}

/// Holds a request against targets; none when it is not scored.
pub fn score<'r>(request: Request<'r>, targets: &Slo, policy: Policy) -> Option<Score<'r>> {
    if !request.is_scored(policy) {
        return None;
    }
    if let Some(why) = request.unfit(policy) {
        return Some(Score::Missed(why));
    }
    let exceeds = |value: Option<f64>, target: f64| value.is_some_and(|value| value > target);
    Some(match (exceeds(request.ttft_s, targets.ttft_s), exceeds(request.tpot_s, targets.tpot_s)) {
        (false, false) => Score::Met,
        (true, true) => Score::Missed("ttft+tpot"),
        (true, false) => Score::Missed("ttft"),
        (false, true) => Score::Missed("tpot"),
    })
}
