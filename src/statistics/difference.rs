//! The difference of two figures of the same kind, with its interval.

use super::share::FEWEST_INDEPENDENT;
use super::{Measured, Share};

/// A true difference this many half intervals long is found in about 8 of 10 windows.
const FOUND: f64 = 1.5;

/// b − a, in the unit of both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// b − a itself, exact for the rows of both.
    pub value: f64,
    /// The lower end of its 95 % interval; none where an end that it needs is missing.
    pub low: Option<f64>,
    /// The upper end; none where an end that it needs is missing.
    pub high: Option<f64>,
    /// The difference over the reach of its interval toward zero: above 1, zero lies outside.
    pub t: f64,
    /// About the least true difference that would have been seen; none where an end is missing.
    pub detectable: Option<f64>,
    /// Whether too little was seen to say anything.
    pub too_few: bool,
}

impl Difference {
    /// Of two shares of independent windows: too few when the rarer outcome, on the side that has
    /// more of it, rests on fewer than ten independent rows.
    pub fn of_shares(a: &Share, b: &Share) -> Self {
        let too_few = evidence(a, b) < FEWEST_INDEPENDENT;
        Self { too_few, ..Self::between(&a.measured(), &b.measured()) }
    }

    /// Of two percentiles of independent windows: too few when the end toward zero is missing, and
    /// of equal ones when either end is.
    pub fn of_percentiles(a: &Measured, b: &Measured) -> Self {
        let difference = Self::between(a, b);
        let too_few = match difference.value {
            0.0 => difference.low.is_none() || difference.high.is_none(),
            _ => difference.near_end().is_none(),
        };
        Self { too_few, ..difference }
    }

    fn between(a: &Measured, b: &Measured) -> Self {
        let value = b.value - a.value;
        let low = b.low.zip(a.high).map(|(b_low, a_high)| value - (b.value - b_low).hypot(a_high - a.value));
        let high = b.high.zip(a.low).map(|(b_high, a_low)| value + (b_high - b.value).hypot(a.value - a_low));
        let detectable = low.zip(high).map(|(low, high)| FOUND * (high - low) / 2.0);
        let mut difference = Self { value, low, high, t: 0.0, detectable, too_few: false };
        if let Some(near) = difference.near_end().filter(|_| value != 0.0) {
            // Both intervals may be points: then any difference is beyond doubt, and t infinite.
            difference.t = value.abs() / (value - near).abs();
        }
        difference
    }

    /// The end on the side where zero lies.
    fn near_end(&self) -> Option<f64> {
        if self.value > 0.0 { self.low } else { self.high }
    }
}

/// The independent rows that the rarer outcome counts like, on the side with the larger share of it.
/// When both shares are equal, that of the side with more of them.
pub fn evidence(a: &Share, b: &Share) -> f64 {
    // Their mean is above one half, in whole numbers.
    let counts = [a.hits, a.rows, b.hits, b.rows].map(u128::from);
    let hits_are_rarer = counts[0] * counts[3] + counts[2] * counts[1] <= counts[1] * counts[3];
    let (a, b) = if hits_are_rarer { (*a, *b) } else { (a.of_the_rest(), b.of_the_rest()) };
    if a.value == b.value {
        a.independent_hits().max(b.independent_hits())
    } else if a.value > b.value {
        a.independent_hits()
    } else {
        b.independent_hits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Batches, Design};

    fn attained(is_miss: impl Fn(u64) -> bool) -> Share {
        let mut batches = Batches::new();
        (0..1000).for_each(|i| batches.push(!is_miss(i)));
        Share::of(&batches).expect("there are rows")
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-11, "{found} is not {expected}");
    }

    #[test]
    fn every_tenth_against_every_seventh() {
        let (a, b) = (attained(|i| i % 10 == 9), attained(|i| i % 7 == 6));
        let found = Difference::of_shares(&a, &b);
        near(found.value, -0.042);
        near(found.low.expect("an end"), -0.0706593673391);
        near(found.high.expect("an end"), -0.0134201002088);
        near(found.t, 1.46956428493);
        near(found.detectable.expect("both ends"), 0.0429294503477);
        assert!(!found.too_few);
    }

    #[test]
    fn a_single_burst_is_too_few_though_its_interval_leaves_zero_out() {
        let (a, b) = (attained(|i| i % 100 == 99), attained(|i| (400..500).contains(&i)));
        let found = Difference::of_shares(&a, &b);
        near(found.value, -0.09);
        near(found.low.expect("an end"), -0.473332058504);
        near(found.high.expect("an end"), -0.00263062823259);
        near(evidence(&a, &b), 0.652924376739);
        assert!(found.too_few && found.t > 1.0);
    }

    #[test]
    fn a_missing_end_stays_missing_and_counts_on_the_side_of_zero_only() {
        let open = Measured { value: 2.0, low: Some(1.5), high: None };
        let closed = Measured { value: 1.0, low: Some(0.9), high: Some(1.1) };
        let up = Difference::of_percentiles(&closed, &open);
        assert!(up.low.is_some() && up.high.is_none() && up.detectable.is_none());
        assert!(!up.too_few && up.t > 1.0);
        let larger = Measured { value: 3.0, low: Some(2.9), high: Some(3.1) };
        let from_open = Difference::of_percentiles(&open, &larger);
        assert!(from_open.low.is_none() && from_open.too_few && from_open.t == 0.0);
        assert!(Difference::of_percentiles(&open, &open).too_few);
    }

    #[test]
    fn the_end_toward_zero_counts_even_when_the_far_end_is_nearer_to_it() {
        let a = Measured { value: 1.0, low: Some(0.99), high: Some(6.0) };
        let b = Measured { value: 1.1, low: Some(1.05), high: Some(1.12) };
        let found = Difference::of_percentiles(&a, &b);
        assert!(found.t < 0.1 && found.low.is_some_and(|low| low < -4.0), "{found:?}");
    }

    #[test]
    fn points_that_differ_do_so_beyond_doubt() {
        let point = |value| Measured { value, low: Some(value), high: Some(value) };
        assert_eq!(Difference::of_percentiles(&point(1.0), &point(2.0)).t, f64::INFINITY);
        assert_eq!(Difference::of_percentiles(&point(1.0), &point(1.0)).t, 0.0);
    }

    #[test]
    fn equal_shares_rest_on_the_side_that_shows_more() {
        let share = |hits, rows| Share::with_design(hits, rows, Design::INDEPENDENT).expect("there are rows");
        assert_eq!(evidence(&share(5, 100), &share(50, 1000)), 50.0);
        assert_eq!(evidence(&share(99, 100), &share(990, 1000)), 10.0);
        assert_eq!(evidence(&share(3, 10), &share(700, 1000)), 700.0);
    }
}
