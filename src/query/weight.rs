//! How much a share tells, in words: how many independent rows its rows count like, and on how few it may rest
//! (docs/statistics.md, "Words"). It does not know where the share comes from.

use crate::statistics::Share;

/// What the two outcomes of a row are called, one of them and several.
#[derive(Debug, Clone, Copy)]
pub struct Outcomes {
    hit: [&'static str; 2],
    other: [&'static str; 2],
}

impl Outcomes {
    /// A scored request met the targets, or missed them.
    pub const MET: Self = Self { hit: ["met request", "met requests"], other: ["miss", "misses"] };
    /// A leg failed, or did not.
    pub const FAILED: Self = Self {
        hit: ["failed leg", "failed legs"],
        other: ["leg that did not fail", "legs that did not fail"],
    };
    /// A request was refused, or was not.
    pub const REFUSED: Self = Self {
        hit: ["refused request", "refused requests"],
        other: ["request that was not refused", "requests that were not refused"],
    };
}

/// On how few independent rows a thin share rests; `value` tells which outcome is the rarer one. Nothing where that
/// outcome was not seen at all, or not the other.
pub fn rests_on(independent: f64, value: f64, outcomes: Outcomes) -> Option<String> {
    if independent == 0.0 {
        return None;
    }
    let names = if value > 0.5 { outcomes.other } else { outcomes.hit };
    let about = match independent.round() {
        0.0 => format!("less than 1 independent {}", names[0]),
        1.0 => format!("about 1 independent {}", names[0]),
        many => format!("about {many} independent {}", names[1]),
    };
    Some(format!("rests on {about}: one burst more or less changes it"))
}

/// What is to be said of how much a share tells, each part after a semicolon: nothing where all rows are independent
/// and enough.
pub fn in_words(share: &Share, outcomes: Outcomes) -> String {
    let mut words = String::new();
    if share.independent().round() as u64 != share.rows {
        words.push_str(&format!("; they count like {:.0} independent ones", share.independent()));
    }
    if share.is_thin()
        && let Some(rests) = rests_on(share.rests_on(), share.value, outcomes)
    {
        words.push_str(&format!("; {rests}"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Batches;

    #[test]
    fn the_rarer_outcome_is_named() {
        let share = |rows: u64, is_hit: fn(u64) -> bool| {
            let mut batches = Batches::new();
            (0..rows).for_each(|at| batches.push(is_hit(at)));
            Share::of(&batches).expect("there are rows")
        };
        // The worked example of one burst: n_eff 6.529, evidence 0.653.
        assert_eq!(
            in_words(&share(1000, |at| !(400..500).contains(&at)), Outcomes::MET),
            "; they count like 7 independent ones; rests on about 1 independent miss: one burst more or less changes it"
        );
        assert_eq!(
            in_words(&share(5, |at| at < 2), Outcomes::FAILED),
            "; rests on about 2 independent failed legs: one burst more or less changes it"
        );
        assert_eq!(in_words(&share(1000, |at| at % 10 == 0), Outcomes::REFUSED), "");
        for all_alike in [share(5, |_| true), share(5, |_| false)] {
            assert_eq!(in_words(&all_alike, Outcomes::MET), "");
        }
        assert_eq!(
            rests_on(0.2, 0.1, Outcomes::MET).as_deref(),
            Some("rests on less than 1 independent met request: one burst more or less changes it")
        );
    }
}
