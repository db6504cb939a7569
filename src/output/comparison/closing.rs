//! What stands under the figures of a comparison: what could have been seen, what could not be judged, and what it all
//! speaks for.

use super::{ATTAINMENT, counts_like};
use crate::query::compare::{Comparison, Pair};
use crate::query::figures::Figure;
use crate::statistics::{Verdict, evidence};
use crate::text::{escaped, short};

/// The figures of which it is said what could have been seen, as far as they are not shown to differ.
const TELLING: [&str; 5] =
    ["share completed", "failure_rate decode", "ttft_s p50", "ttft_s p99", "tpot_s p99"];

/// What could have been seen, what could not be judged, and what it all speaks for.
pub(super) fn closing(comparison: &Comparison, all: bool) -> Vec<String> {
    let mut texts = Vec::new();
    let pairs = &comparison.figures.pairs;
    let named = |names: &[&str]| {
        let shown: Vec<&str> = names.iter().take(4).copied().collect();
        let more = if names.len() > shown.len() {
            format!(" and {} more", names.len() - shown.len())
        } else {
            String::new()
        };
        format!("{}{more}", escaped(&shown.join(", ")))
    };
    let of = |verdict: Verdict| -> Vec<&str> {
        let are_so = |pair: &&Pair| pair.verdict == verdict && !pair.lacks_accounting;
        pairs.iter().filter(are_so).map(|pair| pair.name.as_str()).collect()
    };
    if comparison.shared == 0 {
        let seen = |name: &&str| -> Option<String> {
            let pair = pairs.iter().find(|pair| pair.name == **name && pair.verdict == Verdict::NotShown)?;
            Some(format!("{name} {}", short(pair.difference?.detectable?)))
        };
        let seen: Vec<String> = TELLING.iter().filter_map(seen).collect();
        let not_shown = of(Verdict::NotShown).len();
        if !seen.is_empty() {
            texts.push(format!(
                "{not_shown} not shown to differ; a difference of about this much would have been seen: {}.",
                seen.join(", ")
            ));
        } else if not_shown > 0 {
            texts.push(format!("{not_shown} not shown to differ."));
        }
        let few = of(Verdict::TooFew);
        if !few.is_empty() {
            // One of them as an example, of shares if there is one: attainment has its counts beside it.
            let is_example = |pair: &&Pair| few.contains(&pair.name.as_str()) && pair.name != ATTAINMENT;
            let is_share = |pair: &&Pair| matches!(pair.sides[0], Some(Figure::Share(_)));
            let mut examples = pairs.iter().filter(is_example);
            let example = pairs.iter().filter(is_example).find(is_share).or_else(|| examples.next());
            let example = example
                .map(|pair| {
                    let needed = match &pair.sides {
                        [Some(Figure::Share(a)), Some(Figure::Share(b))] => {
                            format!(", about {:.1} of the rarer outcome, where 10 are needed", evidence(a, b))
                        }
                        _ => String::new(),
                    };
                    format!("; of {}, {} independent ones{needed}", escaped(&pair.name), counts_like(pair))
                })
                .unwrap_or_default();
            texts.push(format!("Too few to say, {}: {}{example}.", few.len(), named(&few)));
        }
        let lacking: Vec<&str> = pairs
            .iter()
            .filter(|pair| pair.lacks_accounting && pair.difference.is_some())
            .map(|pair| pair.name.as_str())
            .collect();
        if !lacking.is_empty() {
            texts.push(format!(
                "Not to be held against each other, for one side did not count its output, {}: {}.",
                lacking.len(),
                named(&lacking)
            ));
        }
    }
    for (letter, other) in [(0, 1), (1, 0)] {
        let only: Vec<&str> = pairs
            .iter()
            .filter(|pair| pair.sides[letter].is_some() && pair.sides[other].is_none())
            .map(|pair| pair.name.as_str())
            .collect();
        let letters = ["a", "b"];
        if !only.is_empty() {
            texts.push(format!("Only {} has, {}: {}.", letters[letter], only.len(), named(&only)));
        }
        let engines: Vec<&str> = comparison.lone_engines[letter].iter().map(String::as_str).collect();
        if !engines.is_empty() {
            texts.push(format!("Engines that only {} has: {}.", letters[letter], named(&engines)));
        }
    }
    texts.push(
        "This speaks for conditions as in these windows; a burst or outage that they did not contain is not in it, and \
         with fewer than about 8 ups and downs in them the intervals are too narrow."
            .to_owned(),
    );
    if all || !comparison.figures.found().is_empty() || !comparison.engines.found().is_empty() {
        texts.push(
            "Under each figure: of how many, and the 95 % interval of b - a. A difference of `seen from` would have been \
             seen in about 8 of 10 such pairs."
                .to_owned(),
        );
    }
    if !all {
        texts.push("Every figure: --all; as data: --format json.".to_owned());
    }
    texts
}
