//! How one figure of one scope is held against its limit, and what is said of it.

use super::Found;
use super::asked::{LimitFinding, LimitVerdict, Terms};
use crate::query::ordered::Scope;
use crate::statistics::{self, Judgement, Measured};
use crate::text::{counted, full, rounded, short};

/// A scope that limits are held against.
pub(super) struct Judge<'a> {
    pub(super) scope: &'a Scope,
    pub(super) requests: u64,
    pub(super) age_s: Option<f64>,
    /// Whether the interval decides.
    pub(super) is_confident: bool,
    pub(super) asked: &'a Terms,
}

impl Judge<'_> {
    pub(super) fn finding(
        &self,
        limit: String,
        bound: statistics::Limit,
        Found { measured, n, words: what, of }: Found,
    ) -> LimitFinding {
        let (at, words) = in_words(bound);
        let sign = if let statistics::Limit::AtLeast(_) = bound { -1.0 } else { 1.0 };
        let (verdict, why) = self.verdict(bound, measured);
        let (value, at_text) = match measured {
            None => ("unknown".to_owned(), rounded(at)),
            Some(Measured { value, low, high }) => {
                let (value, at) = shown(value, at);
                let ends = match ends(low, high) {
                    Some(ends) => format!(" ({ends})"),
                    // What was counted has none, and needs none.
                    None if of.independent.is_some() => " (no interval)".to_owned(),
                    None => String::new(),
                };
                (format!("{value}{ends}"), at)
            }
        };
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        let words = format!("{limit} {value}, {words} {at_text} ({what}{why})");
        let beyond = measured.map_or(0.0, |measured| sign * (measured.value - at));
        let (scope, age_s) = (self.scope.name.clone(), self.age_s);
        LimitFinding { limit, scope, bound: at, measured, n, age_s, verdict, words, of, beyond }
    }

    /// What came of it, and why it was not judged.
    fn verdict(
        &self,
        bound: statistics::Limit,
        measured: Option<Measured>,
    ) -> (LimitVerdict, Option<String>) {
        let Some(measured) = measured else { return (LimitVerdict::NoData, None) };
        if self.requests < self.asked.min_requests {
            let why =
                format!("{}, {} are needed", counted(self.requests, "request"), self.asked.min_requests);
            return (LimitVerdict::TooFew, Some(why));
        }
        let found = if self.is_confident {
            bound.judge(measured.low, measured.high)
        } else if bound.is_kept_by(measured.value) {
            Judgement::Holds
        } else {
            Judgement::Broken
        };
        let verdict = match found {
            Judgement::Broken => {
                let is_old = |age_s: &f64| self.asked.max_age_s.is_some_and(|most_s| *age_s > most_s);
                return (LimitVerdict::Broken, self.age_s.filter(is_old).map(newest));
            }
            Judgement::Holds => LimitVerdict::Holds,
            Judgement::Undecided => LimitVerdict::Undecided,
        };
        match (self.asked.max_age_s, self.age_s) {
            (None, _) => (verdict, None),
            (Some(_), None) => {
                (LimitVerdict::Stale, Some("its age is unknown: it has no wall time".to_owned()))
            }
            (Some(most_s), Some(age_s)) if age_s > most_s => (LimitVerdict::Stale, Some(newest(age_s))),
            _ => (verdict, None),
        }
    }
}

fn newest(age_s: f64) -> String {
    format!("its newest row is {} old", age_in_words(age_s))
}

/// A figure and its bound, rounded for eyes: to more digits where fewer would make two that differ look alike, and to
/// the same ones where they are equal.
fn shown(value: f64, bound: f64) -> (String, String) {
    if value == bound {
        let text = if rounded(bound).parse() == Ok(bound) { rounded(bound) } else { full(bound) };
        return (text.clone(), text);
    }
    if short(value) != short(bound) {
        (short(value), rounded(bound))
    } else if rounded(value) != rounded(bound) {
        (rounded(value), rounded(bound))
    } else {
        (full(value), full(bound))
    }
}

fn ends(low: Option<f64>, high: Option<f64>) -> Option<String> {
    Some(match (low, high) {
        (Some(low), Some(high)) => format!("95 %: {} to {}", short(low), short(high)),
        (Some(low), None) => format!("95 %: at least {}, no upper end", short(low)),
        (None, Some(high)) => format!("95 %: at most {}, no lower end", short(high)),
        (None, None) => return None,
    })
}

/// An age for people.
pub fn age_in_words(age_s: f64) -> String {
    let whole = age_s.max(0.0);
    if whole < 120.0 {
        format!("{whole:.0} s")
    } else if whole < 2.0 * 3600.0 {
        format!("{:.0} min", whole / 60.0)
    } else if whole < 2.0 * 86400.0 {
        format!("{:.0} h", whole / 3600.0)
    } else {
        format!("{:.0} days", whole / 86400.0)
    }
}

/// The bound of a limit and on which side of it what is measured must lie.
pub(super) fn in_words(bound: statistics::Limit) -> (f64, &'static str) {
    match bound {
        statistics::Limit::AtLeast(at) => (at, "at least"),
        statistics::Limit::AtMost(at) => (at, "at most"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_just_beyond_its_limit_does_not_look_like_it() {
        for (value, bound, texts) in [
            (0.98999999, 0.99, ["0.98999999", "0.99"]),
            (0.9896, 0.99, ["0.9896", "0.99"]),
            (0.99, 0.99, ["0.99", "0.99"]),
            (5.1, 5.0, ["5.1", "5"]),
            (0.85, 0.99, ["0.85", "0.99"]),
            // Equal ones are told in the same digits.
            (3.398684, 3.398684, ["3.398684", "3.398684"]),
            (0.667063020214031, 0.667063020214031, ["0.667063020214031", "0.667063020214031"]),
            (0.667063020214031, 0.667_063_020_214_031_3, ["0.667063020214031", "0.6670630202140313"]),
            (2.0 / 3.0, 0.6666667, ["0.6666666666666666", "0.6666667"]),
        ] {
            let (shown, of_bound) = shown(value, bound);
            assert_eq!([shown.as_str(), &of_bound], texts);
        }
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        for (age_s, words) in
            [(0.4, "0 s"), (119.0, "119 s"), (600.0, "10 min"), (7300.0, "2 h"), (864_000.0, "10 days")]
        {
            assert_eq!(age_in_words(age_s), words);
        }
    }
}
