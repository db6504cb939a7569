//! How the numbers of a column are rounded for eyes: all alike, so that they can be compared at a glance.

use crate::text;

/// Significant digits of the largest number of a column.
const DIGITS: i32 = 4;

/// No number shows more decimals.
const MAX_DECIMALS: i32 = 12;

/// Columns that tell when something was. What counts is the time between two of them, not from zero.
const MOMENTS: [&str; 7] = ["at", "arrived", "rel_s", "first_s", "last_s", "from_s", "to_s"];

/// How many decimals the numbers of a column have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Rounding {
    decimals: usize,
}

impl Rounding {
    /// Four digits of the largest number, and one more when a small one would be left with less than three; no more
    /// than all of
    /// them need, when they are all that come.
    pub(super) fn of(name: &str, reals: impl Iterator<Item = f64> + Clone, is_whole: bool) -> Self {
        let sizes = reals.clone().map(f64::abs).filter(|size| size.is_finite() && *size > 0.0);
        let Some(largest) = sizes.clone().reduce(f64::max) else {
            // Nothing but zeros so far.
            return Self { decimals: if is_whole { 0 } else { 3 } };
        };
        let smallest = sizes.reduce(f64::min).unwrap_or(largest);
        let place = |size: f64| size.log10().floor() as i32;
        let decimals = (DIGITS - 1 - place(largest)).clamp(0, MAX_DECIMALS);
        let wanted = (DIGITS - 2 - place(smallest)).clamp(0, MAX_DECIMALS);
        let mut decimals = decimals.max(wanted.min(decimals + 1));
        if MOMENTS.contains(&name) || name.ends_with("at_s") {
            decimals = decimals.max(3);
        }
        let mut rounding = Self { decimals: usize::try_from(decimals).unwrap_or(0) };
        let ends_in_zero = |rounding: &Self| reals.clone().all(|real| rounding.plain(real).ends_with('0'));
        while is_whole && rounding.decimals > 0 && ends_in_zero(&rounding) {
            rounding.decimals -= 1;
        }
        rounding
    }

    /// With so many decimals less, one at least where there was one.
    pub(super) fn coarser(self, by: usize) -> Self {
        Self { decimals: self.decimals.saturating_sub(by).max(self.decimals.min(1)) }
    }

    fn plain(&self, real: f64) -> String {
        format!("{real:.0$}", self.decimals)
    }

    /// A number in this column. What is not zero does not read like it.
    pub(super) fn shown(&self, real: f64) -> String {
        if !real.is_finite() || real.abs() >= 1e15 {
            return text::full(real);
        }
        let shown = self.plain(real);
        if real == 0.0 || shown.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
            return shown;
        }
        let least = self.plain(0.1_f64.powi(i32::try_from(self.decimals).unwrap_or(0)));
        if real > 0.0 { format!("<{least}") } else { format!(">-{least}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_column_have_three_to_four_digits_and_one_unit() {
        for (name, reals, shown) in [
            ("ttft_s", &[0.187_345, 1.523_444, 0.000_788][..], &["0.1873", "1.5234", "0.0008"][..]),
            ("share", &[1.0, 0.525_252_5, 0.0], &["1.000", "0.525", "0.000"]),
            ("share", &[0.742_187_5, 0.109_375], &["0.7422", "0.1094"]),
            ("ttft_s", &[0.8, 2.0], &["0.8", "2.0"]),
            ("wait_s", &[0.000_002_5, 0.000_018], &["0.0000025", "0.0000180"]),
            ("wait_s", &[120.5, 0.000_018], &["120.5", "<0.1"]),
            ("error_s", &[-120.25, -0.000_018], &["-120.25", ">-0.01"]),
            ("duration_s", &[3_734.172_542, 12.5], &["3734.2", "12.5"]),
            ("rel_s", &[3_734.172_542, 12.5], &["3734.173", "12.500"]),
            ("n", &[5.0, 7.0], &["5", "7"]),
            ("n", &[0.0], &["0"]),
            ("n", &[1e300, f64::INFINITY], &["1e+300", "inf"]),
        ] {
            let rounding = Rounding::of(name, reals.iter().copied(), true);
            let found: Vec<String> = reals.iter().map(|real| rounding.shown(*real)).collect();
            assert_eq!(found, shown, "{reals:?}");
        }
    }
}
