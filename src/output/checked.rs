//! What `check` found: lines for people, metrics for Prometheus.

use std::io::{self, Write};

use crate::query::check::{Checked, LimitFinding, LimitVerdict, Outcome, age_in_words};
use crate::text::{escaped, wrapped};

/// A line a limit and scope, the worst where several scopes were judged, and the age of the newest row. Lines that are
/// longer than a screen is wide go on in the next, between words.
///
/// # Errors
/// When it cannot be written.
pub fn write_text(out: &mut dyn Write, checked: &Checked, width: Option<usize>) -> io::Result<()> {
    let mut writeln = |line: &str, indent: usize| match width {
        Some(width) => writeln!(out, "{}", wrapped(line, width, indent)),
        None => writeln!(out, "{line}"),
    };
    for finding in &checked.findings {
        let LimitFinding { scope, verdict, words, .. } = finding;
        writeln(&format!("{:9}  {}  {}", verdict.as_str(), escaped(scope), escaped(words)), 11)?;
    }
    for (broken, of, worst) in checked.worst() {
        let LimitFinding { limit, scope, .. } = worst;
        let which = if broken > 1 { "the worst is" } else { "it is" };
        writeln(&format!("{limit} is broken in {broken} of {of}: {which} {}", escaped(scope)), 2)?;
    }
    writeln(&escaped(&ages(checked)), 2)?;
    if checked.findings.iter().any(|finding| finding.measured.is_some()) {
        writeln(
            "the intervals speak for conditions as in this window; a burst or outage that it did not contain is not in \
             them, and with fewer than about 8 ups and downs in it they are too narrow",
            2,
        )?;
    }
    out.flush()
}

/// How old the newest row is, and of several scopes that of the one that was silent the longest.
fn ages(checked: &Checked) -> String {
    let known =
        || checked.findings.iter().filter_map(|finding| Some((finding.scope.as_str(), finding.age_s?)));
    let newest = known().min_by(|one, other| one.1.total_cmp(&other.1));
    let oldest = known().max_by(|one, other| one.1.total_cmp(&other.1));
    let (Some((newest, newest_s)), Some((oldest, oldest_s))) = (newest, oldest) else {
        return match checked.age_s {
            Some(age_s) => format!("the newest row is {} old", age_in_words(age_s)),
            None => "the age of the newest row is unknown".to_owned(),
        };
    };
    if newest == oldest || age_in_words(newest_s) == age_in_words(oldest_s) {
        return format!("the newest row is {} old", age_in_words(newest_s));
    }
    format!(
        "the newest row is {} old, of {newest}; that of {oldest} is {} old",
        age_in_words(newest_s),
        age_in_words(oldest_s)
    )
}

/// A way to write one metric of a finding; none where it has no such value.
type Value = fn(&LimitFinding) -> Option<f64>;

/// Gauges of each limit and scope, in the text format that Prometheus and a node exporter read.
///
/// # Errors
/// When it cannot be written.
pub fn write_metrics(out: &mut dyn Write, checked: &Checked) -> io::Result<()> {
    let is = |flag: bool| if flag { 1.0 } else { 0.0 };
    let gauges: [(&str, &str, Value); 7] = [
        ("narwhal_jq_check_value", "What was measured, in the unit of the limit.", |finding| {
            finding.measured.map(|measured| measured.value)
        }),
        ("narwhal_jq_check_low", "Lower end of its 95 % interval.", |finding| {
            finding.measured.and_then(|measured| measured.low)
        }),
        ("narwhal_jq_check_high", "Upper end of its 95 % interval.", |finding| {
            finding.measured.and_then(|measured| measured.high)
        }),
        ("narwhal_jq_check_bound", "The limit.", |finding| Some(finding.bound)),
        ("narwhal_jq_check_observations", "Requests, legs or values that it is of.", |finding| {
            Some(finding.n as f64)
        }),
        ("narwhal_jq_check_broken", "1 when the limit is broken, else 0.", |finding| {
            Some(f64::from(u8::from(finding.verdict == LimitVerdict::Broken)))
        }),
        ("narwhal_jq_check_unjudged", "1 when it cannot be judged, else 0.", |finding| {
            let is_judged = matches!(finding.verdict, LimitVerdict::Holds | LimitVerdict::Broken);
            Some(f64::from(u8::from(!is_judged)))
        }),
    ];
    for (name, help, value) in gauges {
        let rows: Vec<(&LimitFinding, f64)> =
            checked.findings.iter().filter_map(|finding| Some((finding, value(finding)?))).collect();
        if rows.is_empty() {
            continue;
        }
        head(out, name, help)?;
        for (finding, value) in rows {
            writeln!(
                out,
                "{name}{{limit=\"{}\",scope=\"{}\"}} {value}",
                label(&finding.limit),
                label(&finding.scope)
            )?;
        }
    }
    let engines: Vec<_> =
        checked.findings.iter().filter_map(|finding| Some((finding, finding.of.engine.as_ref()?))).collect();
    if !engines.is_empty() {
        let name = "narwhal_jq_check_worst_engine";
        head(out, name, "1 for the engine and the kind of leg that the value of the limit is of.")?;
        for (finding, (engine, leg)) in engines {
            let (limit, scope) = (label(&finding.limit), label(&finding.scope));
            let engine = label(engine);
            writeln!(
                out,
                "{name}{{limit=\"{limit}\",scope=\"{scope}\",engine=\"{engine}\",leg=\"{leg}\"}} 1"
            )?;
        }
    }
    let mut ages: Vec<(&str, f64)> = checked
        .findings
        .iter()
        .filter_map(|finding| Some((finding.scope.as_str(), finding.age_s?)))
        .collect();
    ages.sort_by(|one, other| one.0.cmp(other.0));
    ages.dedup_by(|next, kept| next.0 == kept.0);
    if !ages.is_empty() {
        let name = "narwhal_jq_check_scope_newest_row_age_seconds";
        head(out, name, "Age of the newest row of the scope.")?;
        for (scope, age_s) in ages {
            writeln!(out, "{name}{{scope=\"{}\"}} {age_s}", label(scope))?;
        }
    }
    let outcome = checked.outcome();
    let single = [
        (
            "narwhal_jq_check_any_broken",
            "1 when a limit is broken, else 0.",
            Some(is(outcome == Outcome::Broken)),
        ),
        (
            "narwhal_jq_check_any_unjudged",
            "1 when nothing is broken and something cannot be judged, else 0.",
            Some(is(outcome == Outcome::Unjudged)),
        ),
        (
            "narwhal_jq_check_newest_row_age_seconds",
            "Age of the newest row that was looked at.",
            // A dead router must not take it away.
            checked.newest_row_age_s(),
        ),
    ];
    for (name, help, value) in single {
        if let Some(value) = value {
            head(out, name, help)?;
            writeln!(out, "{name} {value}")?;
        }
    }
    out.flush()
}

fn head(out: &mut dyn Write, name: &str, help: &str) -> io::Result<()> {
    writeln!(out, "# HELP {name} {help}")?;
    writeln!(out, "# TYPE {name} gauge")
}

/// Text as the value of a label.
fn label(text: &str) -> String {
    escaped(text).replace('\\', "\\\\").replace('"', "\\\"")
}
