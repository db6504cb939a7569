//! Many differences judged together: of those called different, one in twenty may be chance.

use super::{Difference, Z};

/// The share of chance among the differences that pass (Benjamini and Hochberg).
const FALSE_SHARE: f64 = 0.05;

/// What is said of a difference b − a.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// b is higher, also when all figures are judged together.
    Higher,
    /// b is lower, also when all figures are judged together.
    Lower,
    /// b looks higher, but among so many figures one may by chance.
    MaybeHigher,
    /// b looks lower, but among so many figures one may by chance.
    MaybeLower,
    /// The two are not shown to differ. They need not be equal.
    NotShown,
    /// Too little was seen to say anything.
    TooFew,
    /// Nobody judged: the windows overlap.
    NotJudged,
}

impl Verdict {
    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::MaybeHigher => "maybe higher",
            Self::MaybeLower => "maybe lower",
            Self::NotShown => "not shown",
            Self::TooFew => "too few",
            Self::NotJudged => "not judged",
        }
    }
}

/// How often chance alone would give such a difference, 0 to 1; 1 when too little was seen.
pub fn p_value(difference: &Difference) -> f64 {
    if difference.too_few { 1.0 } else { libm::erfc(Z * difference.t / std::f64::consts::SQRT_2) }
}

/// The verdict on each of a family: every figure that both sides have, in any order.
pub fn judge_together(family: &[Difference]) -> Vec<Verdict> {
    let mut ascending: Vec<f64> = family.iter().map(p_value).collect();
    ascending.sort_unstable_by(f64::total_cmp);
    let figures = ascending.len() as f64;
    let passing = |(place, p): (usize, &f64)| *p <= FALSE_SHARE * (place + 1) as f64 / figures;
    let line = (0..ascending.len()).rev().find(|at| passing((*at, &ascending[*at]))).map(|at| ascending[at]);
    let passes = |difference: &Difference| line.is_some_and(|line| p_value(difference) <= line);
    family.iter().map(|difference| verdict(difference, passes(difference))).collect()
}

fn verdict(difference: &Difference, passes: bool) -> Verdict {
    if difference.too_few {
        return Verdict::TooFew;
    }
    if difference.t <= 1.0 {
        return Verdict::NotShown;
    }
    match (difference.value > 0.0, passes) {
        (true, true) => Verdict::Higher,
        (true, false) => Verdict::MaybeHigher,
        (false, true) => Verdict::Lower,
        (false, false) => Verdict::MaybeLower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(value: f64, t: f64) -> Difference {
        Difference { value, low: None, high: None, t, detectable: None, too_few: false }
    }

    #[test]
    fn the_same_difference_among_few_and_among_many() {
        let found = apart(-0.042, 1.46956428493);
        assert!((p_value(&found) - 0.00397305662682).abs() < 1e-13);
        let among = |figures: usize| {
            let mut family = vec![apart(0.0, 0.0); figures];
            family[3] = found;
            judge_together(&family)[3]
        };
        assert_eq!(among(9).as_str(), "lower");
        assert_eq!(among(36).as_str(), "maybe lower");
    }

    #[test]
    fn too_few_is_said_whatever_t_is() {
        let few = Difference { too_few: true, ..apart(1.0, 5.0) };
        assert_eq!(p_value(&few), 1.0);
        assert_eq!(judge_together(&[few, apart(1.0, 5.0)]), [Verdict::TooFew, Verdict::Higher]);
    }

    #[test]
    fn a_weaker_difference_passes_in_strong_company() {
        let weak = apart(1.0, 1.05);
        let strong = apart(-1.0, 9.0);
        assert_eq!(judge_together(&[weak, strong]), [Verdict::Higher, Verdict::Lower]);
        assert_eq!(judge_together(&[weak, apart(0.0, 0.0)]), [Verdict::MaybeHigher, Verdict::NotShown]);
        assert_eq!(judge_together(&[apart(1.0, 1.0), strong])[0], Verdict::NotShown);
        assert_eq!(judge_together(&[apart(1.0, f64::INFINITY)]), [Verdict::Higher]);
        assert!(judge_together(&[]).is_empty());
    }
}
