//! Whether a figure keeps a limit, for sure.

/// A limit that a figure is to keep, in the figure's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// The figure is to be this or more.
    AtLeast(f64),
    /// The figure is to be this or less.
    AtMost(f64),
}

/// What an interval says about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The whole interval keeps the limit.
    Holds,
    /// The whole interval breaks it.
    Broken,
    /// The interval reaches to both sides, or lacks the end that would tell.
    Undecided,
}

impl Limit {
    /// Whether a value itself keeps the limit: exact for the rows that it was taken from.
    pub fn is_kept_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    /// What the ends of a 95 % interval say. A missing end proves nothing.
    pub fn judge(self, low: Option<f64>, high: Option<f64>) -> Judgement {
        let (worst, best) = match self {
            Self::AtLeast(_) => (low, high),
            Self::AtMost(_) => (high, low),
        };
        if worst.is_some_and(|end| self.is_kept_by(end)) {
            Judgement::Holds
        } else if best.is_some_and(|end| !self.is_kept_by(end)) {
            Judgement::Broken
        } else {
            Judgement::Undecided
        }
    }
}

impl Judgement {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_breaks_or_leaves_open() {
        let (low, high) = (Some(0.885268662066), Some(0.928220687516));
        let words =
            |limit: fn(f64) -> Limit| [0.85, 0.90, 0.95].map(|bound| limit(bound).judge(low, high).as_str());
        assert_eq!(words(Limit::AtLeast), ["holds", "undecided", "broken"]);
        assert_eq!(words(Limit::AtMost), ["broken", "undecided", "holds"]);
    }

    #[test]
    fn an_end_at_the_limit_keeps_it() {
        assert_eq!(Limit::AtLeast(0.5).judge(Some(0.5), Some(0.6)), Judgement::Holds);
        assert_eq!(Limit::AtLeast(0.5).judge(Some(0.4), Some(0.5)), Judgement::Undecided);
        assert_eq!(Limit::AtMost(0.5).judge(Some(0.4), Some(0.5)), Judgement::Holds);
        assert_eq!(Limit::AtMost(0.5).judge(Some(0.5), Some(0.6)), Judgement::Undecided);
    }

    #[test]
    fn a_missing_end_proves_nothing() {
        assert_eq!(Limit::AtMost(3.0).judge(Some(2.7), None), Judgement::Undecided);
        assert_eq!(Limit::AtMost(2.0).judge(Some(2.7), None), Judgement::Broken);
        assert_eq!(Limit::AtLeast(2.0).judge(None, Some(2.7)), Judgement::Undecided);
        assert_eq!(Limit::AtLeast(3.0).judge(None, Some(2.7)), Judgement::Broken);
        assert_eq!(Limit::AtLeast(3.0).judge(None, None), Judgement::Undecided);
    }
}
