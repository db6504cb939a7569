//! What the misses of a window go with, as a page of 80 columns for people.

use std::io::{Result, Write};

use crate::query::explain::{Explanation, Named, Side, StretchPart, Value, WrittenEvent};
use crate::query::scoring::{Policy, Slo};
use crate::query::weight::{self, Outcomes};
use crate::statistics::SHOWN;
use crate::text::{self, SPEAKS_FOR, counted, cut, escaped, grouped, rounded, shell_word, wrapped};

/// What the page says beside the explanation.
#[derive(Debug)]
pub struct Beside<'a> {
    /// The targets.
    pub targets: &'a Slo,
    /// Who is counted.
    pub policy: Policy,
    /// What the baseline is, in words.
    pub against: &'a str,
}

const WIDTH: usize = 80;

/// A name can be of any length: `--format json` has it whole.
const MAX_NAME: usize = 40;

/// So many events are shown.
const MAX_EVENTS: usize = 8;

/// Writes the page. Text of callers and engines cannot drive a terminal.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, found: &Explanation, asked: &Beside<'_>) -> Result<()> {
    let mut page = Page { lines: Vec::new() };
    head(&mut page, found, asked);
    if found.is_shown() {
        accounts(&mut page, found);
        stretch(&mut page, found);
        typical(&mut page, found);
    }
    page.blank();
    page.text(0, SPEAKS_FOR);
    for line in &page.lines {
        writeln!(out, "{}", escaped(line))?;
    }
    out.flush()
}

/// Lines that are filled word by word.
struct Page {
    lines: Vec<String>,
}

impl Page {
    fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// A text, so many columns in; what does not fit goes on two columns further in.
    fn text(&mut self, indent: usize, text: &str) {
        self.hanging(indent, indent + 2, text);
    }

    /// A text with its name before it.
    fn labelled(&mut self, label: &str, text: &str) {
        self.hanging(0, 10, &format!("{label:9} {text}"));
    }

    fn hanging(&mut self, first: usize, others: usize, text: &str) {
        // Escaped first: a name that ends a line does not end one here.
        let text = format!("{:first$}{}", "", escaped(text));
        let lines = wrapped(&text, WIDTH, others);
        self.lines.extend(lines.lines().map(|line| line.trim_end().to_owned()));
    }
}

fn head(page: &mut Page, found: &Explanation, asked: &Beside<'_>) {
    let saved_as = match asked.targets.name.as_str() {
        "" => String::new(),
        name => format!(" (SLO {name:?})"),
    };
    let Slo { ttft_s, tpot_s, .. } = asked.targets;
    page.labelled(
        "targets",
        &format!(
            "TTFT {} s, TPOT {} s{saved_as}, policy {}",
            rounded(*ttft_s),
            rounded(*tpot_s),
            asked.policy.name()
        ),
    );
    page.labelled("window", &span(&found.window));
    page.labelled("", &share(&found.window));
    page.labelled("baseline", &format!("{}: {}", asked.against, span(&found.baseline)));
    page.labelled("", &share(&found.baseline));
    page.blank();
    let interval = text::interval(whole(found.low), whole(found.high));
    let counts = format!(
        "{} missed, about {} expected at the baseline's rate",
        grouped(found.misses),
        whole(found.expected)
    );
    if let Some(why) = &found.not_comparable {
        page.text(0, why);
    }
    if !found.is_shown() {
        nothing(page, found, &counts);
        return;
    }
    page.text(0, &format!("{} extra misses {interval}: {counts}", whole(found.extra)));
    if found.low <= 0.0 {
        page.text(
            0,
            "the interval, which takes bursts in, reaches 0: under the same conditions a burst more or less could \
             make all of that; what follows is what they go with in this window",
        );
    } else if found.too_few {
        page.text(
            0,
            "the two rest on few independent requests, too few for a verdict of `compare`: the interval is a rough one",
        );
    }
    let mut kinds: Vec<(&String, &f64)> = found.kinds.iter().collect();
    kinds.sort_unstable_by(|one, other| other.1.total_cmp(one.1).then(one.0.cmp(other.0)));
    let kinds: Vec<String> =
        kinds.iter().map(|(kind, extra)| format!("{} {}", name(kind), signed(**extra))).collect();
    page.text(0, &format!("of these by kind: {}", kinds.join(", ")));
}

/// Why there is nothing to explain.
fn nothing(page: &mut Page, found: &Explanation, counts: &str) {
    page.text(0, &format!("nothing to explain: {counts}"));
    let z = found.z.unwrap_or_default();
    let interval = if found.extra < 0.0 {
        format!("{} {}", more(found.extra), text::interval(more(found.low), more(found.high)))
    } else {
        format!("{} extra misses {}", whole(found.extra), text::interval(whole(found.low), whole(found.high)))
    };
    let why = if found.low <= 0.0 && found.high >= 0.0 {
        let detectable = whole(1.5 * (found.high - found.low) / 2.0);
        format!(
            "not shown to differ, for the interval, which takes bursts in, reaches 0; about {detectable} would have been \
             seen"
        )
    } else if z <= -SHOWN {
        "the window fared better than the baseline".to_owned()
    } else {
        let z = z.abs();
        format!(
            "the interval only just leaves 0 out, too little to explain: {z:.2} standard deviations, {SHOWN} are asked for"
        )
    };
    page.text(0, &format!("{interval}: {why}"));
    // Calmer traffic may save more misses than a worse engine costs.
    page.blank();
    let offered = &found.offered_per_s;
    page.labelled(
        "offered",
        &format!(
            "{} requests/s in the window, {} in the baseline; {FIRST_TO_LAST}. Calmer traffic can hide an engine that got \
             worse: --against takes a baseline of like traffic",
            rate(offered.window),
            rate(offered.baseline)
        ),
    );
}

/// What a rate of requests is of: before its first and after its last request, a run may write events for hours.
const FIRST_TO_LAST: &str = "a run counts from its first request to its last";

fn rate(per_s: Option<f64>) -> String {
    per_s.map_or_else(|| "unknown".to_owned(), |per_s| format!("{per_s:.3}"))
}

/// From when to when, of how many runs.
fn span(side: &Side) -> String {
    let runs = counted(side.runs, "run");
    match (&side.from, &side.to) {
        (Some(from), Some(to)) => format!("~{from} to ~{to}, {runs}"),
        _ => format!("wall time unknown, {runs}"),
    }
}

fn share(side: &Side) -> String {
    let rests = side.rests_on.and_then(|rests_on| weight::rests_on(rests_on, side.attainment, Outcomes::MET));
    let rests = rests.map(|rests| format!("; {rests}"));
    format!(
        "attainment {} {}; {} requests that count like {} independent ones{}",
        thousandths(side.attainment),
        text::interval(thousandths(side.attainment_low), thousandths(side.attainment_high)),
        grouped(side.scored),
        whole(side.independent),
        rests.unwrap_or_default()
    )
}

fn accounts(page: &mut Page, found: &Explanation) {
    page.blank();
    if found.named.is_empty() {
        page.text(
            0,
            "no engine, prompt size, client or outage stands out; smaller ones may be there: a name needs 3 standard \
             deviations, 10 misses and a tenth of the extra ones; and what all requests of a time share, as an overload, \
             names nobody: look at what was offered",
        );
        page.text(2, &format!("all requests {}; traffic shift {}", more(found.rest), whole(found.mix)));
        return;
    }
    page.text(0, "goes with");
    for named in &found.named {
        account(page, named);
    }
    page.text(2, &format!("all others {}; traffic shift {}", more(found.rest), whole(found.mix)));
}

fn account(page: &mut Page, named: &Named) {
    let expected = named.misses as f64 - named.own;
    page.text(
        2,
        &format!(
            "{}: {} missed, about {} expected at its own baseline",
            value(named.attribute, &named.value),
            grouped(named.misses),
            whole(expected)
        ),
    );
    page.text(
        6,
        &format!(
            "{} of its {} requests, {} of {} in the baseline; {} beyond the others of the same time ({:.1} standard deviations)",
            grouped(named.misses),
            grouped(named.requests),
            grouped(named.baseline_misses),
            grouped(named.baseline_requests),
            whole(named.beyond),
            named.beyond / named.sd
        ),
    );
    for (words, others) in [("also seen as", &named.also), ("cannot be told apart from", &named.tied)] {
        if !others.is_empty() {
            let others: Vec<String> =
                others.iter().map(|Value { attribute, value: word }| value(attribute, word)).collect();
            page.text(6, &format!("{words} {}", others.join(", ")));
        }
    }
}

/// A value as people call it.
fn value(attribute: &str, word: &str) -> String {
    match (attribute, word) {
        ("retried", "yes") => "requests that were retried".to_owned(),
        ("retried", _) => "requests that were not retried".to_owned(),
        ("crossed", "yes") => "requests that crossed engines".to_owned(),
        ("crossed", _) => "requests that did not cross engines".to_owned(),
        ("prompt size", size) => format!("prompts of {} tokens", size.replace('-', " to ")),
        (attribute, word) => format!("{attribute} {}", name(word)),
    }
}

/// A name of the outside: one without anything in quotes.
fn name(word: &str) -> String {
    if word.is_empty() { "\"\"".to_owned() } else { cut(word, MAX_NAME).into_owned() }
}

fn stretch(page: &mut Page, found: &Explanation) {
    page.blank();
    let worst = &found.stretch;
    let basis = worst.basis.as_ref().map(|basis| format!(" (basis {basis})")).unwrap_or_default();
    let when = match (&worst.from, &worst.to) {
        (Some(from), Some(to)) => format!("~{from} to ~{to}{basis}"),
        _ => worst.parts.iter().map(part).collect::<Vec<_>>().join(", "),
    };
    page.labelled("worst", &format!("{when}: {} extra misses", whole(worst.extra)));
    let offered = &found.offered_per_s;
    page.labelled(
        "offered",
        &format!(
            "{} requests/s then, {} in the whole window, {} in the baseline; {FIRST_TO_LAST}",
            rate(offered.stretch),
            rate(offered.window),
            rate(offered.baseline)
        ),
    );
    if found.events.is_empty() {
        page.labelled("router", "wrote of no hold, ejection, floor breach or controller decision then");
        return;
    }
    page.labelled("router", "wrote then");
    for event in found.events.iter().take(MAX_EVENTS) {
        page.text(2, &happened(event));
    }
    if found.events.len() > MAX_EVENTS {
        page.text(2, &format!("and {} more, which --format json lists", found.events.len() - MAX_EVENTS));
    }
}

fn part(part: &StretchPart) -> String {
    format!("{} s to {} s of run {}", rounded(part.from_s), rounded(part.to_s), part.run)
}

fn happened(event: &WrittenEvent) -> String {
    let run = event.run.as_ref().map(|run| format!("run {run} ")).unwrap_or_default();
    let since = |from_s: f64| format!("{run}{} s", rounded(from_s));
    let from = match (&event.from, event.from_s) {
        (Some(wall), _) => format!("~{wall}"),
        (None, Some(from_s)) => since(from_s),
        (None, None) => "?".to_owned(),
    };
    let to = match (&event.to, event.to_s) {
        (Some(wall), _) if Some(wall) != event.from.as_ref() => format!(" to ~{wall}"),
        (None, Some(to_s)) => format!(" to {} s", rounded(to_s)),
        _ => String::new(),
    };
    let engine = event.engine.as_ref().map(|engine| format!("{} ", name(engine))).unwrap_or_default();
    let what = match event.count {
        Some(1) => format!("1 {}", event.event),
        Some(count) => format!("{count} {}s", event.event),
        None => event.event.clone(),
    };
    let detail = cut(&event.detail, MAX_NAME * 2);
    let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
    format!("{from}{to}  {engine}{what}{detail}")
}

fn typical(page: &mut Page, found: &Explanation) {
    if found.rids.is_empty() {
        return;
    }
    page.blank();
    let of = found.named.first().map(|named| format!(" of {}", value(named.attribute, &named.value)));
    page.text(0, &format!("typical missed requests{}", of.unwrap_or_default()));
    for rid in &found.rids {
        // Never broken: it is there to be copied.
        page.lines.push(format!("  narwhal-jq show {}", shell_word(rid)));
    }
}

/// A number of requests, which need not be whole, rounded to a whole one.
fn whole(real: f64) -> String {
    let rounded = real.abs().round();
    let sign = if real < 0.0 && rounded > 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(rounded as u64))
}

/// "3 more", "2 fewer".
fn more(real: f64) -> String {
    match whole(real).strip_prefix('-') {
        Some(fewer) => format!("{fewer} fewer"),
        None => format!("{} more", whole(real)),
    }
}

/// The same with its sign.
fn signed(real: f64) -> String {
    let whole = whole(real);
    if whole == "0" || whole.starts_with('-') { whole } else { format!("+{whole}") }
}

fn thousandths(share: f64) -> String {
    let text = format!("{share:.3}");
    // What is not all or none must not look like it.
    match text.as_str() {
        "1.000" if share < 1.0 => rounded(share),
        "0.000" if share > 0.0 => rounded(share),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_people_write_them() {
        assert_eq!(whole(-0.2), "0");
        assert_eq!(whole(-1234.6), "-1,235");
        assert_eq!(
            (more(-2.4), more(-0.2), more(3.0)),
            ("2 fewer".to_owned(), "0 more".to_owned(), "3 more".to_owned())
        );
        assert_eq!(
            (thousandths(0.9234), thousandths(1.0), thousandths(0.99999)),
            ("0.923".to_owned(), "1.000".to_owned(), "0.99999".to_owned())
        );
    }

    #[test]
    fn lines_are_filled_to_80_columns() {
        let mut page = Page { lines: Vec::new() };
        page.text(2, &"word ".repeat(40));
        assert!(
            page.lines.len() == 3 && page.lines.iter().all(|line| line.len() <= WIDTH),
            "{:?}",
            page.lines
        );
        assert!(page.lines[1].starts_with("    word"));
    }
}
