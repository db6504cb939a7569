//! A percentile with its interval: two ranks, as far apart as the bursts make them.

use super::ordered::Ordered;
use super::{Batches, Measured, binomial};

/// A percentile by nearest rank, with its 95 % interval. Values are in the caller's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Which one, in per cent: 50 is the median.
    pub percent: u32,
    /// The number n of values, 1 or more.
    pub rows: u64,
    /// The value of the nearest rank, at least 1: the least value with `percent` of all at or below it.
    pub value: f64,
    /// The design effect D of being at or below the value.
    pub effect: f64,
    /// The number N of independent values that the values count like, rounded down.
    pub independent: u64,
    /// The rank of the lower end, from 1; none where the values are too few.
    pub low_rank: Option<u64>,
    /// The rank of the upper end, at most n; none where the values are too few.
    pub high_rank: Option<u64>,
    /// The value of the lower rank; none where it has no rank or is infinite.
    pub low: Option<f64>,
    /// The value of the upper rank; none where it has no rank or is infinite.
    pub high: Option<f64>,
}

impl Percentile {
    /// Several percentiles of the same values, which come in the order of their rows. No values have none.
    ///
    /// Values may be infinite (requests that were never served lie above all others), not NaN.
    ///
    /// # Panics
    /// When a percent is above 100.
    pub fn of(in_order: &[f64], percents: &[u32]) -> Vec<Self> {
        Self::find(in_order.to_vec(), percents, |value| Batches::of(in_order, |x| *x <= value))
    }

    /// As [`Percentile::of`], of many values that can be gone through again: of those, memory holds a single copy.
    ///
    /// # Panics
    /// As [`Percentile::of`].
    pub fn of_many(in_order: impl Iterator<Item = f64> + Clone, percents: &[u32]) -> Vec<Self> {
        Self::find(in_order.clone().collect(), percents, |value| {
            let mut below = Batches::new();
            in_order.clone().for_each(|x| below.push(x <= value));
            below
        })
    }

    /// The percentiles of values; `below` has for each, in their order, whether it is at or below another.
    fn find(values: Vec<f64>, percents: &[u32], below: impl Fn(f64) -> Batches) -> Vec<Self> {
        if values.is_empty() {
            return Vec::new();
        }
        let rows = values.len();
        let mut ordered = Ordered::new(values);
        // All percentiles come before their ends: each value found leaves fewer to look through.
        let values: Vec<f64> =
            percents.iter().map(|percent| ordered.at_rank(nearest_rank(*percent, rows))).collect();
        let around = |(percent, value): (&u32, f64)| {
            let middle = |independent| binomial::middle(independent, *percent);
            let Ends { effect, independent, low_rank, high_rank, low, high } =
                Ends::of(&below(value), &mut ordered, middle);
            let rows = rows as u64;
            Self { percent: *percent, rows, value, effect, independent, low_rank, high_rank, low, high }
        };
        percents.iter().zip(values).map(around).collect()
    }

    /// The fewest independent values that give an upper end: 6 for p50, 368 for p99. For 1 to 99.
    pub fn fewest_for_a_high(percent: u32) -> u64 {
        (0.025_f64.ln() / (f64::from(percent) / 100.0).ln()).ceil().max(1.0) as u64
    }

    /// The fewest that give a lower end: 6 for p50, 2 for p90. From below it is the percentile of the rest. For 1 to 99.
    pub fn fewest_for_a_low(percent: u32) -> u64 {
        Self::fewest_for_a_high(100 - percent)
    }

    /// The percentile as a value with its ends; none when it lies among infinite values.
    pub fn measured(&self) -> Option<Measured> {
        self.value.is_finite().then_some(Measured { value: self.value, low: self.low, high: self.high })
    }
}

/// The least value at or below which so large a share of all values lies, as a percentile of any share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Least {
    /// The value; infinite when it lies among such.
    pub value: f64,
    /// The number n of values.
    pub rows: u64,
    /// The number N of independent values that the values count like, rounded down.
    pub independent: u64,
    /// The lower end of its 95 % interval; none where the values are too few, or it is infinite.
    pub low: Option<f64>,
    /// The upper end, likewise.
    pub high: Option<f64>,
    /// The rank of the lower end, from 1; none where the values are too few.
    pub low_rank: Option<u64>,
    /// The rank of the upper end, at most n; none where the values are too few.
    pub high_rank: Option<u64>,
}

impl Least {
    /// The fewest independent values that give an upper end for a share: 6 for a half; none for all of them.
    pub fn fewest_for_a_high(wanted: f64) -> Option<u64> {
        let fewest = (0.025_f64.ln() / wanted.ln()).ceil();
        (wanted < 1.0 && fewest.is_finite()).then(|| fewest.max(1.0) as u64)
    }

    /// The fewest that give a lower end.
    pub fn fewest_for_a_low(wanted: f64) -> Option<u64> {
        Self::fewest_for_a_high(1.0 - wanted)
    }

    /// Of values in the order of their rows, for a share above 0 to 1; none of no values.
    ///
    /// Values may be infinite, not NaN.
    pub fn of(in_order: &[f64], wanted: f64) -> Option<Self> {
        let rows = in_order.len();
        if rows == 0 {
            return None;
        }
        let is_enough = |rank: usize| rank as f64 / rows as f64 >= wanted;
        // The product may be off by its rounding.
        let mut rank = ((wanted * rows as f64) as usize).clamp(1, rows);
        while rank > 1 && is_enough(rank - 1) {
            rank -= 1;
        }
        while rank < rows && !is_enough(rank) {
            rank += 1;
        }
        let mut ordered = Ordered::new(in_order.to_vec());
        let value = ordered.at_rank(rank);
        let middle = |independent| binomial::middle_of_share(independent, wanted);
        let Ends { independent, low, high, low_rank, high_rank, .. } =
            Ends::of(&Batches::of(in_order, |x| *x <= value), &mut ordered, middle);
        Some(Self { value, rows: rows as u64, independent, low, high, low_rank, high_rank })
    }
}

/// The interval around a value.
struct Ends {
    effect: f64,
    independent: u64,
    low_rank: Option<u64>,
    high_rank: Option<u64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Ends {
    /// Around the value that so many are at or below.
    fn of(below: &Batches, ordered: &mut Ordered, middle: impl FnOnce(u64) -> (u64, u64)) -> Self {
        let rows = below.rows();
        let effect = below.design().effect;
        let independent = (rows as f64 / effect) as u64;
        let (a, b) = middle(independent);
        let (low_rank, high_rank) = ranks(a, b + 1, independent, rows);
        let mut end = |rank: Option<u64>| {
            let value = ordered.at_rank(usize::try_from(rank?).expect("a rank is at most the rows"));
            value.is_finite().then_some(value)
        };
        let (low, high) = (end(low_rank), end(high_rank));
        Self { effect, independent, low_rank, high_rank, low, high }
    }
}

/// The nearest rank of a percentile among so many values.
fn nearest_rank(percent: u32, values: usize) -> usize {
    assert!(percent <= 100, "a percentile is at most 100, not {percent}");
    (values as u128 * u128::from(percent)).div_ceil(100).max(1) as usize
}

/// The ranks a and b of the independent values as ranks of all values.
fn ranks(a: u64, b: u64, independent: u64, rows: u64) -> (Option<u64>, Option<u64>) {
    let (a, b) = (u128::from(a), u128::from(b));
    let (independent, rows) = (u128::from(independent), u128::from(rows));
    let low = (a > 0).then(|| ((a - 1) * rows / independent + 1) as u64);
    let high = (b <= independent).then(|| (b * rows).div_ceil(independent) as u64);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENTS: [u32; 4] = [50, 90, 95, 99];

    fn spread() -> Vec<f64> {
        (0..1000).map(|i| f64::from(7919 * i % 1009) / 1000.0).collect()
    }

    #[track_caller]
    fn is(found: &Percentile, ranks: (Option<u64>, Option<u64>), ends: (Option<f64>, Option<f64>)) {
        let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (a, b) => a == b,
        };
        assert_eq!((found.low_rank, found.high_rank), ranks, "{found:?}");
        assert!(near(found.low, ends.0) && near(found.high, ends.1), "{found:?}");
    }

    #[test]
    fn independent_values() {
        let found = Percentile::of(&spread(), &PERCENTS);
        assert!(found.iter().all(|percentile| percentile.effect == 1.0));
        is(&found[0], (Some(469), Some(532)), (Some(0.474), Some(0.537)));
        is(&found[1], (Some(881), Some(919)), (Some(0.888), Some(0.927)));
        is(&found[2], (Some(936), Some(964)), (Some(0.944), Some(0.972)));
        is(&found[3], (Some(983), Some(997)), (Some(0.991), Some(1.005)));
    }

    #[test]
    fn values_in_bursts_have_wider_intervals_and_may_lack_an_end() {
        let values: Vec<f64> =
            spread().iter().enumerate().map(|(i, x)| if i % 250 < 50 { 3.0 * x } else { *x }).collect();
        let found = Percentile::of(&values, &PERCENTS);
        let about = |x: f64, y: f64| (x - y).abs() < 1e-10;
        assert!(about(found[0].value, 0.573) && about(found[0].effect, 4.6434775757), "{found:?}");
        assert_eq!(found[0].independent, 215);
        is(&found[0], (Some(428), Some(573)), (Some(0.497), Some(0.659)));
        assert!(about(found[1].value, 1.554) && found[1].independent == 31);
        is(&found[1], (Some(742), None), (Some(0.861), None));
        assert!(about(found[2].value, 2.292) && found[2].independent == 82);
        is(&found[2], (Some(891), Some(1000)), (Some(1.452), Some(3.024)));
        assert!(about(found[3].value, 2.922) && about(found[3].effect, 1.72179195985), "{found:?}");
        assert_eq!(found[3].independent, 580);
        is(&found[3], (Some(980), Some(999)), (Some(2.745), Some(3.021)));
    }

    #[test]
    fn the_fewest_values_for_an_upper_end() {
        for (percent, fewest) in [(50, 6), (90, 36), (95, 72), (99, 368)] {
            assert_eq!(Percentile::fewest_for_a_high(percent), fewest);
            let high =
                |independent| ranks(1, binomial::middle(independent, percent).1 + 1, independent, 1000).1;
            assert!(high(fewest).is_some() && high(fewest - 1).is_none(), "{percent}");
        }
    }

    #[test]
    fn the_fewest_values_for_the_ends_of_any_share() {
        for share in [0.02, 0.5, 0.9, 0.99, 0.999] {
            let ends = |independent| {
                let (a, b) = binomial::middle_of_share(independent, share);
                ranks(a, b + 1, independent, 10_000)
            };
            let fewest = Least::fewest_for_a_high(share).expect("there is one");
            assert!(ends(fewest).1.is_some() && (fewest == 1 || ends(fewest - 1).1.is_none()), "{share}");
            let fewest = Least::fewest_for_a_low(share).expect("there is one");
            assert!(ends(fewest).0.is_some() && (fewest == 1 || ends(fewest - 1).0.is_none()), "{share}");
        }
        assert_eq!((Least::fewest_for_a_high(1.0), Least::fewest_for_a_low(1.0)), (None, Some(1)));
    }

    #[test]
    fn infinite_values_lie_above_all_and_are_no_end() {
        let served = |x: &f64| if *x < 0.993 { *x } else { f64::INFINITY };
        let values: Vec<f64> = spread().iter().map(served).collect();
        let found = Percentile::of(&values, &[50, 99, 100]);
        assert!(found[0].measured().is_some_and(|p50| p50.high.is_some()));
        assert!(found[1].high_rank.is_some() && found[1].high.is_none(), "{found:?}");
        assert_eq!(found[2].measured(), None);
    }

    #[test]
    fn the_least_value_of_a_share_is_the_percentile_of_it() {
        let bursts: Vec<f64> =
            spread().iter().enumerate().map(|(i, x)| if i % 250 < 50 { 3.0 * x } else { *x }).collect();
        for values in [spread(), bursts] {
            for found in Percentile::of(&values, &PERCENTS) {
                let least = Least::of(&values, f64::from(found.percent) / 100.0).expect("there are values");
                assert_eq!((least.value, least.low, least.high), (found.value, found.low, found.high));
                assert_eq!(least.independent, found.independent);
            }
        }
        let least = Least::of(&spread(), 0.999).expect("there are values");
        assert_eq!((least.value, least.high), (1.007, None));
        assert_eq!(Least::of(&[3.0, f64::INFINITY], 0.51).map(|least| least.value), Some(f64::INFINITY));
        assert_eq!(Least::of(&[3.0, f64::INFINITY], 0.5).map(|least| least.value), Some(3.0));
        assert_eq!(Least::of(&[], 0.5), None);
    }

    #[test]
    fn no_values_have_no_percentile_and_one_value_is_each() {
        assert!(Percentile::of(&[], &PERCENTS).is_empty());
        for found in Percentile::of(&[0.25], &[0, 1, 50, 99, 100]) {
            assert_eq!(found.value, 0.25);
        }
    }
}
