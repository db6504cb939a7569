//! Which requests count for an SLO, and which of them miss it (docs/semantics.md, "SLO attainment"). The same as
//! `attainment` and `attainment-misses` say in SQL, for what goes through requests one by one.

use rusqlite::Row;

/// Who is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// Completed, invalid, rejected, expired, failed, and what ended unmeasured.
    #[default]
    Journal,
    /// Every request.
    Offers,
    /// What the router's own figure counts.
    Router,
}

impl Policy {
    /// The words of [`Policy::parse`].
    pub const WORDS: [&'static str; 3] = ["journal", "offers", "router"];

    /// Reads a word; none when it is not one of [`Policy::WORDS`].
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "journal" => Some(Self::Journal),
            "offers" => Some(Self::Offers),
            "router" => Some(Self::Router),
            _ => None,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Offers => "offers",
            Self::Router => "router",
        }
    }
}

/// What decides about a request.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'r> {
    /// How it ended.
    pub terminal: &'r str,
    /// Whether `output_len` is known.
    pub has_output: bool,
    /// Arrival to prefill done.
    pub ttft_s: Option<f64>,
    /// Per output token after the first.
    pub tpot_s: Option<f64>,
}

impl<'r> Measured<'r> {
    /// Of a row that has terminal, output_len, ttft_s and tpot_s from the column `first` on.
    ///
    /// # Errors
    /// When they are not there.
    pub fn of(row: &'r Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(Self {
            terminal: row.get_ref(first)?.as_str()?,
            has_output: row.get_ref(first + 1)?.data_type() != rusqlite::types::Type::Null,
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

    /// Whether it has all that meeting needs but the targets: what it has not is why it misses.
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

    /// Why it misses targets; none when it meets them.
    pub fn miss(&self, policy: Policy, ttft_s: f64, tpot_s: f64) -> Option<&'r str> {
        self.unfit(policy).or_else(|| {
            let is_above = |value: Option<f64>, target: f64| value.is_some_and(|value| value > target);
            match (is_above(self.ttft_s, ttft_s), is_above(self.tpot_s, tpot_s)) {
                (true, true) => Some("ttft+tpot"),
                (true, false) => Some("ttft"),
                (false, true) => Some("tpot"),
                (false, false) => None,
            }
        })
    }
}
