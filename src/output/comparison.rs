//! A comparison for people: the verdict in a sentence, what differs, what could have been seen.

use std::io::{self, Write};

use crate::query::compare::{Comparison, Family, Pair};
use crate::query::figures::Figure;
use crate::statistics::Verdict;
use crate::text::{cut, escaped, short, wrapped};

/// So many figures stand on the first screen; the rest with `--all`.
const MAX_SHOWN: usize = 6;

/// The figures of which it is said what could have been seen, as far as they are not shown to differ.
const TELLING: [&str; 6] =
    ["attainment", "share completed", "failure_rate decode", "ttft_s p50", "ttft_s p99", "tpot_s p99"];

/// So wide is a screen.
const WIDTH: usize = 80;

/// Writes a comparison; all of its figures, or those of the first screen.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, comparison: &Comparison, names: [&str; 2], all: bool) -> io::Result<()> {
    for ((letter, name), requests) in ["a", "b"].into_iter().zip(names).zip(comparison.requests) {
        writeln!(out, "{letter}  {}: {} requests", cut(&escaped(name), 48), counted(requests))?;
    }
    writeln!(out)?;
    for line in wrapped(&sentence(comparison), WIDTH) {
        writeln!(out, "{line}")?;
    }
    let found = comparison.figures.found();
    let of_engines = comparison.engines.found();
    if all {
        block(out, &comparison.figures.pairs.iter().collect::<Vec<_>>(), true)?;
        block(out, &comparison.engines.pairs.iter().collect::<Vec<_>>(), true)?;
    } else {
        block(out, &found[..found.len().min(MAX_SHOWN)], false)?;
        more(out, found.len())?;
        if !comparison.engines.pairs.is_empty() && comparison.shared == 0 {
            writeln!(out)?;
            writeln!(out, "Engines: {}.", judged(&comparison.engines))?;
            block(out, &of_engines[..of_engines.len().min(MAX_SHOWN / 2)], false)?;
            if of_engines.len() > MAX_SHOWN / 2 {
                writeln!(out, "and {} more", of_engines.len() - MAX_SHOWN / 2)?;
            }
        }
    }
    writeln!(out)?;
    for text in closing(comparison, all) {
        for line in wrapped(&text, WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()
}

fn more(out: &mut dyn Write, found: usize) -> io::Result<()> {
    if found > MAX_SHOWN {
        writeln!(out, "and {} more", found - MAX_SHOWN)?;
    }
    Ok(())
}

/// "2 of 34 differ, judged together; 1 more may be chance".
fn judged(family: &Family) -> String {
    let (differ, of, maybe) = (family.differ(), family.judged(), family.maybe());
    let mut text = match differ {
        0 => format!("none of {of} is shown to differ, judged together"),
        1 => format!("1 of {of} differs, judged together"),
        many => format!("{many} of {of} differ, judged together"),
    };
    match (differ, maybe) {
        (_, 0) => {}
        (0, maybe) => text.push_str(&format!("; {maybe} may be chance")),
        (_, maybe) => text.push_str(&format!("; {maybe} more may be chance")),
    }
    text
}

fn sentence(comparison: &Comparison) -> String {
    if comparison.shared > 0 {
        return format!(
            "Not judged: the two overlap, {} requests are in both. Choose selections that share none.",
            counted(comparison.shared)
        );
    }
    let mut text = judged(&comparison.figures);
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{text}.")
}

/// Two lines a figure: the values and their difference, then the counts and the interval.
fn block(out: &mut dyn Write, pairs: &[&Pair], is_full: bool) -> io::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let width = pairs.iter().map(|pair| escaped(&pair.name).chars().count()).max().unwrap_or(0).clamp(6, 30);
    writeln!(out)?;
    writeln!(out, "{:width$}  {:>9}  {:>9}  {:>9}", "figure", "a", "b", "b - a")?;
    for pair in pairs {
        let name = escaped(&pair.name);
        let values = pair.sides.map(|side| {
            let measured = side.and_then(|figure| figure.measured());
            measured.map_or_else(|| "-".to_owned(), |measured| short(measured.value))
        });
        let difference = pair.difference.map_or_else(|| "-".to_owned(), |found| short(found.value));
        let name = cut(&name, width.saturating_sub(1).max(5));
        writeln!(
            out,
            "{name:width$}  {:>9}  {:>9}  {difference:>9}  {}",
            values[0],
            values[1],
            pair.verdict.as_str()
        )?;
        let counts = pair.sides.map(|side| counted(side.map_or(0, |figure| figure.n())));
        let (n, interval) = (of_what(pair), interval(pair, is_full));
        writeln!(out, "{:>width$}  {:>9}  {:>9}  {interval}", n, counts[0], counts[1])?;
    }
    Ok(())
}

fn of_what(pair: &Pair) -> &'static str {
    match pair.sides {
        [Some(Figure::Share(_)), _] | [_, Some(Figure::Share(_))] if pair.name.contains("failure_rate") => {
            "legs"
        }
        [Some(Figure::Share(_)), _] | [_, Some(Figure::Share(_))] => "requests",
        _ => "values",
    }
}

fn interval(pair: &Pair, is_full: bool) -> String {
    let Some(found) = pair.difference else { return String::new() };
    let mut text = match (found.low, found.high) {
        (Some(low), Some(high)) => format!("(95 %: {} to {})", short(low), short(high)),
        (Some(low), None) => format!("(at least {}; no upper end)", short(low)),
        (None, Some(high)) => format!("(at most {}; no lower end)", short(high)),
        (None, None) => "(no interval)".to_owned(),
    };
    if let Some(detectable) = found.detectable.filter(|_| is_full && pair.verdict == Verdict::NotShown) {
        text.push_str(&format!(" seen: {}", short(detectable)));
    }
    text
}

/// What could have been seen, what could not be judged, and what it all speaks for.
fn closing(comparison: &Comparison, all: bool) -> Vec<String> {
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
        pairs.iter().filter(|pair| pair.verdict == verdict).map(|pair| pair.name.as_str()).collect()
    };
    if comparison.shared == 0 {
        let seen = |name: &&str| {
            let pair = pairs.iter().find(|pair| pair.name == **name && pair.verdict == Verdict::NotShown)?;
            Some(format!("{name} {}", short(pair.difference?.detectable?)))
        };
        let seen: Vec<String> = TELLING.iter().filter_map(|name| seen(name)).collect();
        let not_shown = of(Verdict::NotShown).len();
        if !seen.is_empty() {
            texts.push(format!(
                "{not_shown} not shown to differ; about this much would have been seen: {}.",
                seen.join(", ")
            ));
        } else if not_shown > 0 {
            texts.push(format!("{not_shown} not shown to differ."));
        }
        let few = of(Verdict::TooFew);
        if !few.is_empty() {
            texts.push(format!("Too few to say, {}: {}.", few.len(), named(&few)));
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
        "This speaks for conditions as in these windows; a burst or outage that they did not contain is not in it."
            .to_owned(),
    );
    if !all {
        texts.push("Every figure: --all; as data: --format json.".to_owned());
    }
    texts
}

/// A count with its thousands apart.
fn counted(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
