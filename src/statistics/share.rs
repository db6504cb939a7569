//! A share with its interval: Wilson's, for as many independent rows as the rows count like.

use super::{Batches, Design, Measured, Z};

/// With fewer independent rows than this of the rarer outcome, a share is thin.
pub(super) const FEWEST_INDEPENDENT: f64 = 10.0;

/// Hits of rows, with the 95 % interval of their share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The number n of rows, 1 or more.
    pub rows: u64,
    /// The number k of hits.
    pub hits: u64,
    /// k / n.
    pub value: f64,
    /// The lower end, exactly 0 without a hit.
    pub low: f64,
    /// The upper end, exactly 1 when all rows are hits.
    pub high: f64,
    /// How many rows tell as much as one independent row.
    pub design: Design,
}

impl Share {
    /// The share of hits; none of no rows.
    pub fn of(batches: &Batches) -> Option<Self> {
        Self::with_design(batches.hits(), batches.rows(), batches.design())
    }

    /// The share of hits where the design effect is known from elsewhere; none of no rows.
    pub fn with_design(hits: u64, rows: u64, design: Design) -> Option<Self> {
        if rows == 0 {
            return None;
        }
        let value = hits as f64 / rows as f64;
        let a = Z * Z * design.effect / rows as f64;
        let half = (a * value * (1.0 - value) + a * a / 4.0).sqrt();
        let low = if hits == 0 { 0.0 } else { ((value + a / 2.0 - half) / (1.0 + a)).max(0.0) };
        let high = if hits == rows { 1.0 } else { ((value + a / 2.0 + half) / (1.0 + a)).min(1.0) };
        Some(Self { rows, hits, value, low, high, design })
    }

    /// The share of the other outcome of the same rows.
    pub fn of_the_rest(&self) -> Self {
        Self {
            hits: self.rows - self.hits,
            value: (self.rows - self.hits) as f64 / self.rows as f64,
            low: 1.0 - self.high,
            high: 1.0 - self.low,
            ..*self
        }
    }

    /// The number n_eff of independent rows that the rows count like, 0 to n.
    pub fn independent(&self) -> f64 {
        self.rows as f64 / self.design.effect
    }

    /// The number of independent hits that the hits count like.
    ///
    /// It is n_eff times the share, from the counts: ten hits of independent rows are exactly ten.
    pub fn independent_hits(&self) -> f64 {
        self.hits as f64 / self.design.effect
    }

    /// The number of independent rows that the rarer outcome counts like.
    pub fn rests_on(&self) -> f64 {
        self.independent_hits().min(self.of_the_rest().independent_hits())
    }

    /// Whether one burst more or less changes the share: it rests on fewer than ten independent rows.
    pub fn is_thin(&self) -> bool {
        self.rests_on() < FEWEST_INDEPENDENT
    }

    /// The share as a value with its ends.
    pub fn measured(&self) -> Measured {
        Measured { value: self.value, low: Some(self.low), high: Some(self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lies(share: &Share, low: f64, high: f64) {
        assert!((share.low - low).abs() < 1e-12 && (share.high - high).abs() < 1e-12, "{share:?}");
    }

    fn of(rows: u64, is_hit: impl Fn(u64) -> bool) -> Share {
        let mut batches = Batches::new();
        (0..rows).for_each(|i| batches.push(is_hit(i)));
        Share::of(&batches).expect("there are rows")
    }

    #[test]
    fn one_burst_of_misses_is_thin() {
        let share = of(1000, |i| !(400..500).contains(&i));
        assert!((share.independent() - 6.5292437674).abs() < 1e-10);
        lies(&share, 0.516695055658, 0.986973328384);
        assert!(share.is_thin());
        assert!((share.rests_on() - 0.652924376739).abs() < 1e-12);
    }

    #[test]
    fn ten_bursts_count_like_a_few_hundred_independent_rows() {
        let share = of(10_000, |i| if i % 1000 < 120 { i % 2 != 0 } else { i % 50 != 0 });
        assert_eq!(share.hits, 9230);
        assert!((share.design.v - 27.5217633793).abs() < 1e-10);
        assert_eq!(share.design.r, 0.0);
        assert!((share.design.effect - 29.8143262688).abs() < 1e-10);
        lies(&share, 0.889440358068, 0.946980076321);
        assert!(!share.is_thin());
    }

    #[test]
    fn rows_that_are_independent_count_nearly_in_full() {
        let mut x = 1_u64;
        let mut batches = Batches::new();
        for _ in 0..1000 {
            x = (1_103_515_245 * x + 12_345) % (1 << 31);
            batches.push(10 * x >= 1 << 31);
        }
        let share = Share::of(&batches).expect("there are rows");
        assert_eq!(share.hits, 909);
        assert!((share.design.v - 1.12981863745).abs() < 1e-11);
        assert!((share.design.r - 0.0822848053085).abs() < 1e-12);
        assert!((share.design.effect - 1.44341467543).abs() < 1e-11);
        lies(&share, 0.885268662066, 0.928220687516);
    }

    #[test]
    fn an_end_without_misses_or_hits_is_exact() {
        let none = of(300, |_| false);
        assert_eq!(none.low, 0.0);
        lies(&none, 0.0, 0.0126429712245);
        assert_eq!(of(300, |_| true).high, 1.0);
        assert_eq!(Share::of(&Batches::new()), None);
    }

    #[test]
    fn few_rows_and_a_given_design_effect() {
        lies(&of(29, |i| i < 20), 0.507698657669, 0.827243832555);
        let given = Share::with_design(52, 99, Design::INDEPENDENT).expect("there are rows");
        lies(&given, 0.427793082378, 0.620825442265);
    }

    #[test]
    fn ten_independent_hits_are_not_thin() {
        for rows in 30..2000 {
            let share = Share::with_design(10, rows, Design::INDEPENDENT).expect("there are rows");
            assert!(!share.is_thin(), "{share:?}");
        }
    }
}
