//! A comparison for people: the verdict in a sentence, what differs, what could have been seen.

mod closing;

use std::io::{self, Write};

use self::closing::closing;
use crate::query::compare::{Comparison, Family, Pair};
use crate::query::figures::Figure;
use crate::statistics::Verdict;
use crate::text::{self, escaped, grouped, many, short, wrapped};

/// So many figures stand on the first screen, if it has room for them; the rest with `--all`.
const MAX_SHOWN: usize = 12;

/// A screen of no known height has so many lines.
const LINES: usize = 24;

/// So many of them are the line that was typed and the next prompt.
const TAKEN: usize = 2;

/// Longer names of figures stand on a line of their own.
const MAX_NAME: usize = 25;

/// The figure that is told even when it is not shown to differ.
const ATTAINMENT: &str = "attainment";

/// So wide is a screen.
const WIDTH: usize = 80;

/// Writes a comparison; all of its figures, or those of the first screen, which has so many lines where that is known.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    out: &mut dyn Write,
    comparison: &Comparison,
    names: [&str; 2],
    all: bool,
    height: Option<usize>,
) -> io::Result<()> {
    let max_lines = height.unwrap_or(LINES).max(LINES) - TAKEN;
    let mut text = Vec::new();
    for max_shown in (1..=MAX_SHOWN).rev() {
        text.clear();
        write_with(&mut text, comparison, names, (!all).then_some(max_shown))?;
        if all || text.iter().filter(|byte| **byte == b'\n').count() <= max_lines {
            break;
        }
    }
    out.write_all(&text)?;
    out.flush()
}

/// Writes it with so many figures, or all.
fn write_with(
    out: &mut dyn Write,
    comparison: &Comparison,
    names: [&str; 2],
    max_shown: Option<usize>,
) -> io::Result<()> {
    for ((letter, name), requests) in ["a", "b"].into_iter().zip(names).zip(comparison.requests) {
        let side = format!("{letter}  {}: {}", escaped(name), many(requests as usize, "request", "requests"));
        writeln!(out, "{}", wrapped(&side, WIDTH, 3))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", wrapped(&sentence(comparison), WIDTH, 0))?;
    let mut found = comparison.figures.found();
    if max_shown.is_some() {
        // They are named below, and say nothing.
        found.retain(|pair| !pair.lacks_accounting);
    }
    if let Some(text) = attainment(comparison, &found[..found.len().min(max_shown.unwrap_or(MAX_SHOWN))]) {
        writeln!(out, "{}", wrapped(&text, WIDTH, 0))?;
    }
    let of_engines = comparison.engines.found();
    if let Some(max_shown) = max_shown {
        first(out, &found, max_shown)?;
        if !comparison.engines.pairs.is_empty() && comparison.shared == 0 {
            writeln!(out)?;
            let of_engines_told = format!("Engines: {}.", judged(&comparison.engines));
            writeln!(out, "{}", wrapped(&of_engines_told, WIDTH, 0))?;
            first(out, &of_engines, max_shown.div_ceil(2))?;
        }
    } else {
        block(out, &comparison.figures.pairs.iter().collect::<Vec<_>>())?;
        block(out, &comparison.engines.pairs.iter().collect::<Vec<_>>())?;
    }
    writeln!(out)?;
    for text in closing(comparison, max_shown.is_none()) {
        writeln!(out, "{}", wrapped(&text, WIDTH, 0))?;
    }
    Ok(())
}

/// Writes the first of what was found, and how much more there is.
fn first(out: &mut dyn Write, found: &[&Pair], max_shown: usize) -> io::Result<()> {
    block(out, &found[..found.len().min(max_shown)])?;
    if found.len() > max_shown {
        writeln!(out, "and {} more", found.len() - max_shown)?;
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
        (0, maybe) => text.push_str(&format!("; {maybe} would, taken alone, which may be chance")),
        (_, maybe) => text.push_str(&format!("; {maybe} more may be chance")),
    }
    let lacking = family.pairs.iter().filter(|pair| pair.lacks_accounting && pair.differs()).count();
    if lacking > 0 {
        text.push_str(&format!(
            "; {lacking} of them cannot be held against each other, for one side did not count its output"
        ));
    }
    text
}

fn sentence(comparison: &Comparison) -> String {
    if comparison.shared > 0 {
        return format!(
            "Not judged: the two overlap, {} requests are in both. Choose selections that share none.",
            grouped(comparison.shared)
        );
    }
    let mut text = judged(&comparison.figures);
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{text}.")
}

/// What is asked first, when it is not among what differs: attainment, where there are targets.
fn attainment(comparison: &Comparison, shown: &[&Pair]) -> Option<String> {
    if shown.iter().any(|pair| pair.name == ATTAINMENT) {
        return None;
    }
    let pair = comparison.figures.pairs.iter().find(|pair| pair.name == ATTAINMENT)?;
    let side = |at: usize| {
        let measured = pair.sides[at].and_then(|figure| figure.measured());
        measured.map_or_else(
            || "unknown".to_owned(),
            |found| {
                format!("{} {}", short(found.value), text::interval(number(found.low), number(found.high)))
            },
        )
    };
    let detectable = pair.difference.and_then(|difference| difference.detectable).map(short);
    let verdict = match (pair.verdict, detectable) {
        _ if pair.lacks_accounting => {
            "not to be held against each other, for one side did not count its output".to_owned()
        }
        (Verdict::NotShown, Some(size)) => {
            format!("not shown to differ; about {size} would have been seen")
        }
        (Verdict::NotShown, None) => "not shown to differ".to_owned(),
        (Verdict::TooFew, _) => {
            format!("too few independent requests to say whether they differ ({})", counts_like(pair))
        }
        (Verdict::NotJudged, _) => "not judged".to_owned(),
        (verdict, _) => format!("b is {}", verdict.as_str()),
    };
    Some(format!("Attainment: a {}, b {}: {verdict}.", side(0), side(1)))
}

/// "a: 6,000 count like 8, b: 6,000 like 9", of sides that are there.
fn counts_like(pair: &Pair) -> String {
    let mut texts = Vec::new();
    for (letter, figure) in ["a", "b"].into_iter().zip(&pair.sides) {
        let Some(figure) = figure else { continue };
        let verb = if texts.is_empty() { "count like" } else { "like" };
        texts.push(format!("{letter}: {} {verb} {}", grouped(figure.n()), like(figure)));
    }
    texts.join(", ")
}

fn like(figure: &Figure) -> String {
    grouped(figure.independent().round() as u64)
}

/// Two lines a figure, three when its name is long: the values and their difference, then the counts and the interval.
/// Where they are too few, one more says how many independent ones they count like.
fn block(out: &mut dyn Write, pairs: &[&Pair]) -> io::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let width =
        pairs.iter().map(|pair| escaped(&pair.name).chars().count()).max().unwrap_or(0).clamp(8, MAX_NAME);
    writeln!(out)?;
    writeln!(out, "{:width$} {:>9} {:>9} {:>9} {:>9}", "figure", "a", "b", "b - a", "seen from")?;
    for pair in pairs {
        let name = escaped(&pair.name);
        let name = if name.chars().count() <= width {
            name
        } else {
            writeln!(out, "{name}")?;
            "".into()
        };
        let values =
            pair.sides.map(|side| number(side.and_then(|figure| figure.measured()).map(|found| found.value)));
        let difference = number(pair.difference.map(|found| found.value));
        let detectable = number(pair.difference.and_then(|found| found.detectable));
        let [a, b] = values;
        writeln!(
            out,
            "{name:width$} {a:>9} {b:>9} {difference:>9} {detectable:>9} {}",
            pair.verdict.as_str()
        )?;
        let [a, b] = pair.sides.map(|side| grouped(side.map_or(0, |figure| figure.n())));
        writeln!(out, "{:>width$} {a:>9} {b:>9} {}", of_what(pair), interval(pair))?;
        if pair.verdict == Verdict::TooFew {
            let [a, b] = pair.sides.map(|side| side.as_ref().map_or_else(|| "-".to_owned(), like));
            writeln!(out, "{:>width$} {a:>9} {b:>9} independent ones", "like")?;
        }
    }
    Ok(())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), short)
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

fn interval(pair: &Pair) -> String {
    let Some(found) = pair.difference else { return String::new() };
    let found = text::interval_or_bound(found.low.map(short), found.high.map(short));
    found.unwrap_or_else(|| "(no interval)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Difference, Measured};

    fn pair(verdict: Verdict) -> Pair {
        let measured = Measured { value: 1.0, low: Some(0.9), high: Some(1.1) };
        Pair {
            name: "ttft_s p50".to_owned(),
            sides: [None, None],
            difference: Some(Difference::of_percentiles(&measured, &measured)),
            verdict,
            lacks_accounting: false,
        }
    }

    #[test]
    fn a_taller_screen_has_more_of_what_differs() {
        let comparison = Comparison {
            requests: [9, 9],
            shared: 0,
            figures: Family { pairs: (0..30).map(|_| pair(Verdict::Higher)).collect() },
            engines: Family::default(),
            lone_engines: Default::default(),
            targets: None,
            notes: Vec::new(),
        };
        let screen = |height: Option<usize>| {
            let mut text = Vec::new();
            write(&mut text, &comparison, ["a", "b"], false, height).expect("memory takes all");
            String::from_utf8(text).expect("it is text")
        };
        let figures = |text: &str| text.matches("ttft_s p50").count();
        for unknown_or_small in [None, Some(10), Some(24)] {
            let text = screen(unknown_or_small);
            assert!((1..=6).contains(&figures(&text)) && text.lines().count() <= 22, "{text}");
        }
        let tall = screen(Some(60));
        assert!(figures(&tall) == MAX_SHOWN && tall.lines().count() <= 58, "{tall}");
        assert!(tall.contains("and 18 more"), "{tall}");
    }

    #[test]
    fn what_one_side_did_not_count_is_never_said_to_be_alike() {
        let attained =
            Pair { name: ATTAINMENT.to_owned(), lacks_accounting: true, ..pair(Verdict::NotShown) };
        let comparison = Comparison {
            requests: [9, 9],
            shared: 0,
            figures: Family { pairs: vec![attained] },
            engines: Family::default(),
            lone_engines: Default::default(),
            targets: None,
            notes: Vec::new(),
        };
        let told = attainment(&comparison, &[]).expect("it is there");
        assert!(
            told.ends_with("not to be held against each other, for one side did not count its output."),
            "{told}"
        );
    }

    #[test]
    fn what_may_be_chance_is_said_of_figures() {
        let told =
            |verdicts: &[Verdict]| judged(&Family { pairs: verdicts.iter().map(|it| pair(*it)).collect() });
        assert_eq!(
            told(&[Verdict::NotShown, Verdict::MaybeHigher, Verdict::MaybeLower]),
            "none of 3 is shown to differ, judged together; 2 would, taken alone, which may be chance"
        );
        assert_eq!(
            told(&[Verdict::Lower, Verdict::Higher, Verdict::MaybeLower]),
            "2 of 3 differ, judged together; 1 more may be chance"
        );
    }
}
