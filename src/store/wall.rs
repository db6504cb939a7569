//! From what bounds a run's wall clock minus its monotonic clock to an estimate of it (docs/semantics.md, "Time").
//!
//! Numbers only: where the bounds come from is known in `runs`.

/// An intersection so wide is no estimate by itself.
const LIFECYCLE_WIDTH_S: f64 = 10.0;

/// So far apart, start and file say nothing about each other.
const START_TO_FILE_S: f64 = 5.0;

/// What bounds wall clock minus monotonic clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bounds {
    /// From lifecycle events between two rows: it lies between these.
    pub lifecycle: Option<(f64, f64)>,
    /// The process started at or after the second in its id, and nothing of it is older: at least this.
    pub start: Option<f64>,
    /// What was read had been written: at most this.
    pub file: Option<f64>,
}

/// What an estimate rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Basis {
    Lifecycle,
    StartAndFile,
    Start,
}

impl Basis {
    /// The basis as `runs` names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lifecycle => "lifecycle",
            Self::StartAndFile => "start+file",
            Self::Start => "start",
        }
    }
}

/// The best guess.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Offset {
    pub offset_s: f64,
    /// Half the width of the bounds; none when the guess is their low end.
    pub error_s: Option<f64>,
    pub basis: Basis,
}

/// What bounds say together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Estimate {
    /// The intersection of those that count.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub offset: Option<Offset>,
    /// Bounds that do not count, because they contradict the others.
    pub drops_file: bool,
    pub drops_start: bool,
}

impl Bounds {
    fn low(&self) -> Option<f64> {
        let lifecycle = self.lifecycle.map(|(low, _)| low);
        lifecycle.into_iter().chain(self.start).reduce(f64::max)
    }

    fn high(&self) -> Option<f64> {
        let lifecycle = self.lifecycle.map(|(_, high)| high);
        lifecycle.into_iter().chain(self.file).reduce(f64::min)
    }

    fn cross(&self) -> bool {
        self.low().zip(self.high()).is_some_and(|(low, high)| low > high)
    }

    /// What they say together. Where they contradict each other, the file is believed least, then the start;
    /// lifecycle events that contradict each other (a stepped clock) leave nothing.
    pub(super) fn estimate(mut self) -> Estimate {
        if self.lifecycle.is_some_and(|(low, high)| low > high) {
            return Estimate::default();
        }
        let drops_file = self.cross() && self.file.take().is_some();
        let drops_start = self.cross() && self.start.take().is_some();
        let (low, high) = (self.low(), self.high());
        Estimate { low, high, offset: self.offset(), drops_file, drops_start }
    }

    /// The best guess by bounds that do not cross.
    fn offset(&self) -> Option<Offset> {
        let middle = |low: f64, high: f64, basis| Offset {
            // Halved first: the sum of two huge ones can be none that a float holds.
            offset_s: low / 2.0 + high / 2.0,
            error_s: Some(high / 2.0 - low / 2.0),
            basis,
        };
        let within = |low: f64, high: f64, width_s: f64| high - low <= width_s;
        match (self.low(), self.high()) {
            (Some(low), Some(high)) if self.lifecycle.is_some() && within(low, high, LIFECYCLE_WIDTH_S) => {
                Some(middle(low, high, Basis::Lifecycle))
            }
            (Some(low), Some(high)) => match (self.start, self.file) {
                (Some(start), Some(file)) if within(start, file, START_TO_FILE_S) => {
                    Some(middle(low, high, Basis::StartAndFile))
                }
                (Some(_), _) => Some(Offset { offset_s: low, error_s: None, basis: Basis::Start }),
                (None, _) => Some(middle(low, high, Basis::Lifecycle)),
            },
            (Some(low), None) => Some(Offset { offset_s: low, error_s: None, basis: Basis::Start }),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lifecycle: Option<(f64, f64)>, start: Option<f64>, file: Option<f64>) -> Estimate {
        Bounds { lifecycle, start, file }.estimate()
    }

    /// Offset, error and basis.
    fn guess(estimate: Estimate) -> Option<(f64, Option<f64>, &'static str)> {
        estimate.offset.map(|guess| (guess.offset_s, guess.error_s, guess.basis.name()))
    }

    #[test]
    fn each_kind_alone() {
        assert_eq!(of(None, None, None), Estimate::default());
        let start = of(None, Some(100.0), None);
        assert_eq!((start.low, start.high), (Some(100.0), None));
        assert_eq!(guess(start), Some((100.0, None, "start")));
        let file = of(None, None, Some(100.0));
        assert_eq!((file.low, file.high, guess(file)), (None, Some(100.0), None));
        assert_eq!(guess(of(Some((100.0, 101.0)), None, None)), Some((100.5, Some(0.5), "lifecycle")));
        assert_eq!(guess(of(Some((100.0, 140.0)), None, None)), Some((120.0, Some(20.0), "lifecycle")));
    }

    #[test]
    fn kinds_narrow_each_other() {
        let all = of(Some((99.0, 140.0)), Some(100.0), Some(103.0));
        assert_eq!((all.low, all.high), (Some(100.0), Some(103.0)));
        assert_eq!(guess(all), Some((101.5, Some(1.5), "lifecycle")));
        // Ten seconds are narrow enough, a bit more is not.
        assert_eq!(
            guess(of(Some((0.0, 200.0)), Some(100.0), Some(110.0))),
            Some((105.0, Some(5.0), "lifecycle"))
        );
        let wide = of(Some((0.0, 200.0)), Some(100.0), Some(110.5));
        assert_eq!((wide.low, wide.high), (Some(100.0), Some(110.5)));
        assert_eq!(guess(wide), Some((100.0, None, "start")));
        // The low end is that of the intersection.
        assert_eq!(guess(of(Some((120.0, 200.0)), Some(100.0), None)), Some((120.0, None, "start")));
        assert_eq!(guess(of(None, Some(100.0), Some(105.0))), Some((102.5, Some(2.5), "start+file")));
        assert_eq!(guess(of(None, Some(100.0), Some(105.5))), Some((100.0, None, "start")));
    }

    #[test]
    fn the_file_is_dropped_first_then_the_start() {
        let touched = of(None, Some(100.0), Some(99.0));
        assert_eq!((touched.drops_file, touched.drops_start), (true, false));
        assert_eq!((touched.high, guess(touched)), (None, Some((100.0, None, "start"))));
        let touched = of(Some((100.0, 101.0)), Some(100.25), Some(99.0));
        assert_eq!((touched.drops_file, touched.drops_start), (true, false));
        assert_eq!(guess(touched), Some((100.625, Some(0.375), "lifecycle")));
        let renamed = of(Some((100.0, 140.0)), Some(500.0), Some(101.0));
        assert_eq!((renamed.drops_file, renamed.drops_start), (true, true));
        assert_eq!((renamed.low, renamed.high), (Some(100.0), Some(140.0)));
        assert_eq!(guess(renamed), Some((120.0, Some(20.0), "lifecycle")));
        // What is not there is not dropped.
        let renamed = of(Some((100.0, 101.0)), Some(500.0), None);
        assert_eq!((renamed.drops_file, renamed.drops_start), (false, true));
    }

    #[test]
    fn a_stepped_clock_leaves_nothing() {
        assert_eq!(of(Some((101.0, 100.0)), Some(100.0), Some(102.0)), Estimate::default());
    }

    #[test]
    fn absurd_times_give_finite_numbers() {
        for bound in [f64::MAX, f64::MIN, 0.0, 1e308] {
            let estimate = of(Some((f64::MIN, f64::MAX)), Some(bound), Some(bound));
            let guess = estimate.offset.expect("there are bounds");
            assert!(guess.offset_s.is_finite() && guess.error_s.is_none_or(f64::is_finite), "{bound}");
        }
        let widest = of(Some((f64::MIN, f64::MAX)), None, None).offset.expect("there are bounds");
        assert_eq!((widest.offset_s, widest.error_s), (0.0, Some(f64::MAX)));
    }
}
