//! The middle 95 % of a binomial distribution.

/// Probabilities below this, as a share of the greatest one, change no sum in double precision.
const NEGLIGIBLE: f64 = 1e-22;

/// The least k with P(Bin(n, percent / 100) <= k) >= 0.025, and the least with >= 0.975.
///
/// The probabilities come from ratios of neighbours, outward from the most likely k, divided by
/// their sum. That takes O(sqrt n) steps, and nothing overflows.
pub(super) fn middle(n: u64, percent: u32) -> (u64, u64) {
    let mode = ((u128::from(n) + 1) * u128::from(percent) / 100).min(u128::from(n)) as u64;
    around(n, mode, f64::from(percent), f64::from(100 - percent))
}

/// As [`middle`], of any share from 0 to 1.
pub(super) fn middle_of_share(n: u64, share: f64) -> (u64, u64) {
    let mode = (((n as f64 + 1.0) * share) as u64).min(n);
    around(n, mode, share, 1.0 - share)
}

/// `hit` to `miss` are the odds.
fn around(n: u64, mode: u64, hit: f64, miss: f64) -> (u64, u64) {
    let mut weights = vec![1.0];
    let mut first = mode;
    let mut weight = 1.0;
    while first > 0 && weight > NEGLIGIBLE {
        weight *= first as f64 * miss / ((n - first + 1) as f64 * hit);
        weights.push(weight);
        first -= 1;
    }
    weights.reverse();
    let mut last = mode;
    weight = 1.0;
    while last < n && weight > NEGLIGIBLE {
        weight *= (n - last) as f64 * hit / ((last + 1) as f64 * miss);
        weights.push(weight);
        last += 1;
    }

    let sum: f64 = weights.iter().sum();
    let least = |probability: f64| {
        let mut below = 0.0;
        let before = weights.iter().take_while(|weight| {
            below += **weight / sum;
            below < probability
        });
        first + before.count() as u64
    };
    (least(0.025), least(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by summing from zero, with each probability taken on its own.
    fn summed(n: u64, percent: u32, bound: f64) -> u64 {
        let q = f64::from(percent) / 100.0;
        let ln_choose = |k: u64| (1..=k).map(|i| (((n - k + i) as f64) / i as f64).ln()).sum::<f64>();
        let mut below = 0.0;
        (0..=n)
            .find(|k| {
                below += (ln_choose(*k) + *k as f64 * q.ln() + (n - k) as f64 * (1.0 - q).ln()).exp();
                below >= bound
            })
            .unwrap_or(n)
    }

    #[test]
    fn the_middle_is_that_of_a_plain_sum() {
        for n in (1..120).chain([333, 1000]) {
            for percent in [1, 10, 50, 90, 95, 99] {
                let expected = (summed(n, percent, 0.025), summed(n, percent, 0.975));
                assert_eq!(middle(n, percent), expected, "{n} {percent}");
            }
        }
    }

    #[test]
    fn a_million_lie_where_the_normal_distribution_says() {
        let (low, high) = middle(1_000_000, 50);
        assert!(low.abs_diff(499_020) <= 1 && high.abs_diff(500_980) <= 1, "{low} {high}");
    }

    #[test]
    fn a_share_is_as_its_per_cent() {
        for n in (1..50).chain([333, 1000]) {
            for percent in [0, 1, 10, 50, 90, 99, 100] {
                assert_eq!(
                    middle_of_share(n, f64::from(percent) / 100.0),
                    middle(n, percent),
                    "{n} {percent}"
                );
            }
        }
    }

    #[test]
    fn certain_outcomes_have_one_k() {
        assert_eq!(middle(5, 100), (5, 5));
        assert_eq!(middle(5, 0), (0, 0));
    }
}
