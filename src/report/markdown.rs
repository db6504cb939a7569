//! Verdict, findings and the main tables as text for a pull request or a chat: less than 60 lines.

use super::figures::Figures;
use super::figures::findings::{Piece, findings};
use super::sections::verdict::judgement;
use super::words::{self, count, goal, many, maybe_duration, maybe_share, plain, share, short_duration};
use crate::statistics::Judgement;

/// So many rows stand in a table.
const MOST: usize = 8;

/// The text.
pub(super) fn markdown(figures: &Figures) -> String {
    let mut lines = vec![format!("# {}", outside(&figures.asked.title, words::TITLE)), String::new()];
    if figures.offered() == 0 {
        let why = figures.by_run.emptied_by.clone().unwrap_or_else(|| "there is no request".to_owned());
        lines.push(format!("Nothing to report: {}.", outside(&why, 400)));
        return finished(lines);
    }
    lines.push(verdict(figures));
    lines.push(String::new());
    let found = findings(figures);
    for finding in &found {
        let text: String = finding
            .sentence
            .iter()
            .map(|piece| match piece {
                Piece::Plain(text) => outside(text, 400),
                Piece::Strong(text) => format!("**{}**", outside(text, 400)),
            })
            .collect();
        lines.push(format!("- {}: {text}", finding.head));
    }
    if !found.is_empty() {
        lines.push(String::new());
    }
    latency(figures, &mut lines);
    misses(figures, &mut lines);
    runs(figures, &mut lines);
    for caveat in figures.caveats.iter().take(3) {
        lines.push(format!("Note: {}.", outside(caveat, 400)));
    }
    finished(lines)
}

fn finished(lines: Vec<String>) -> String {
    let mut text = plain(&lines.join("\n"));
    while text.ends_with('\n') {
        text.pop();
    }
    text.push('\n');
    text
}

/// Outside text that neither ends a line or a cell, nor marks anything up.
fn outside(text: &str, longest: usize) -> String {
    let mut safe = String::new();
    for c in words::outside(text, longest).chars() {
        if matches!(c, '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '~' | '!') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn verdict(figures: &Figures) -> String {
    let offered = usize::try_from(figures.offered()).unwrap_or_default();
    let requests =
        [many(offered, "request", "requests"), many(figures.runs.len(), "run", "runs")].join(" in ");
    let Some((slo, attainment)) = figures.targets().zip(figures.attainment()) else {
        return match figures.targets() {
            None => format!("No SLO, so nothing is scored; {requests}."),
            Some(_) => format!("Nothing was scored; {requests}."),
        };
    };
    let badge = match figures.asked.goal {
        None => String::new(),
        Some(of_goal) => match judgement(&attainment, of_goal) {
            Judgement::Holds => format!(" ✓ meets the goal of {}.", goal(of_goal)),
            Judgement::Broken => format!(" ✗ misses the goal of {}.", goal(of_goal)),
            Judgement::Undecided => format!(" ? cannot tell whether it meets the goal of {}.", goal(of_goal)),
        },
    };
    format!(
        "**{}** of {} scored requests met the SLO (TTFT ≤ {}, TPOT ≤ {}); 95 % interval {} to {}.{badge} {requests}.",
        share(attainment.value),
        count(attainment.rows as i64),
        short_duration(slo.ttft_s),
        short_duration(slo.tpot_s),
        share(attainment.low),
        share(attainment.high)
    )
}

fn table(lines: &mut Vec<String>, heads: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    lines.push(format!("| {} |", heads.join(" | ")));
    let ends = heads.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" });
    lines.push(format!("| {} |", ends.collect::<Vec<_>>().join(" | ")));
    lines.extend(rows.into_iter().map(|row| format!("| {} |", row.join(" | "))));
    lines.push(String::new());
}

fn latency(figures: &Figures, lines: &mut Vec<String>) {
    let rows = figures
        .all
        .rows("latency")
        .filter(|row| matches!(row.text("metric").as_str(), "ttft_s" | "tpot_s" | "duration_s"));
    let rows = rows.map(|row| {
        let name = match row.text("metric").as_str() {
            "ttft_s" => "TTFT",
            "tpot_s" => "TPOT",
            _ => "Duration",
        };
        let value = |column: &str| maybe_duration(row.real(column));
        vec![name.to_owned(), count(row.int("n")), value("p50"), value("p90"), value("p99"), value("max")]
    });
    table(lines, &["Completed", "n", "p50", "p90", "p99", "max"], rows.collect());
}

fn misses(figures: &Figures, lines: &mut Vec<String>) {
    let mut rows: Vec<(i64, Vec<String>)> = figures
        .all
        .rows("attainment-misses")
        .filter(|row| row.int("requests") > 0)
        .map(|row| {
            let cells = vec![
                outside(&words::kind(&row.text("miss")), 80),
                count(row.int("requests")),
                maybe_share(row.real("share")),
            ];
            (row.int("requests"), cells)
        })
        .collect();
    rows.sort_by_key(|(requests, _)| -requests);
    rows.truncate(MOST);
    table(lines, &["Miss", "Requests", "Of scored"], rows.into_iter().map(|(_, cells)| cells).collect());
}

fn runs(figures: &Figures, lines: &mut Vec<String>) {
    if figures.runs.len() < 2 || figures.targets().is_none() {
        return;
    }
    let mut all: Vec<_> = (0..figures.runs.len()).map(|run| (run, figures.attainment_of(run))).collect();
    all.sort_unstable_by(|one, other| {
        let value =
            |share: &Option<crate::statistics::Share>| share.map_or(f64::INFINITY, |share| share.value);
        value(&one.1).total_cmp(&value(&other.1)).then(one.0.cmp(&other.0))
    });
    all.truncate(MOST);
    let rows = all.into_iter().map(|(run, found)| {
        vec![
            outside(&figures.runs[run].run, words::ID),
            maybe_share(found.map(|share| share.value)),
            found.map_or_else(
                || words::NONE.to_owned(),
                |found| format!("{} to {}", share(found.low), share(found.high)),
            ),
        ]
    });
    let head = if figures.runs.len() > MOST { "Run, lowest first" } else { "Run" };
    table(lines, &[head, "Attainment", "95 % interval"], rows.collect());
}
