//! Which runs and files the numbers are from, and what of them was not read.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::parts::{Col, Table, dense, details, id, section, source};
use crate::report::words::{self, WallDetail, count, duration, many, share};

/// So many runs and files stand in the tables, and reasons: the first ones there, the others behind them.
const RUNS: usize = 60;
const FILES: usize = 40;
const REASONS: usize = 8;
const MOST_REASONS: usize = 40;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "provenance",
        "Provenance",
        html! {
            (runs(figures))
            (files(figures))
            (not_read(figures))
            (unknown(figures))
        },
    )
}

fn runs(figures: &Figures) -> Markup {
    if figures.runs.is_empty() {
        return html! { h3 { "Runs and builds" } p.note { "No run. " (source(&["query runs"])) } };
    }
    let mut table = Table::new(&[
        Col("Run", "n"),
        Col("Id", ""),
        Col("Started, UTC", "s"),
        Col("Release", ""),
        Col("Git", "sp"),
        Col("Source", "s"),
        Col("Build", ""),
        Col("Accounting", "s"),
        Col("Admission", "s"),
        Col("Requests", "n"),
        Col("Events", "n sp"),
        Col("Span", "n s"),
        Col("Wall clock", "n s"),
    ]);
    let first = figures.runs.len().saturating_sub(RUNS);
    for (at, run) in figures.runs.iter().enumerate().skip(first) {
        let Some(row) = figures.each.find("runs", "run", &run.run) else { continue };
        let text = |column: &str, most: usize| {
            row.known_text(column).map_or_else(|| words::NONE.to_owned(), |text| words::outside(&text, most))
        };
        let start = run.wall_s(0.0).and_then(|wall_s| words::moment(wall_s, WallDetail::Whole));
        let short = |column: &str| {
            let text = row.known_text(column).unwrap_or_else(|| words::NONE.to_owned());
            let text = text.strip_prefix("sha256:").unwrap_or(&text).to_owned();
            text.chars().take(10).collect::<String>()
        };
        let clock = match (run.wall_basis.as_deref(), row.real("wall_error_s")) {
            (Some(basis), Some(error_s)) => format!("{basis}, ± {}", duration(error_s)),
            (Some(basis), None) => format!("{basis}, or later"),
            (None, _) => "unknown".to_owned(),
        };
        table.row(vec![
            html! { (at + 1) },
            id(&run.run, words::ID),
            html! { (start.unwrap_or_else(|| words::NONE.to_owned())) },
            html! { (text("version", 32)) },
            html! { (words::outside(&short("git"), 12)) },
            html! { code.id { (words::outside(&short("source"), 12)) } },
            html! { (text("build_certainty", 32)) },
            html! { (text("token_accounting", 32)) },
            html! { (text("admission_mode", 32)) },
            html! { (count(row.int("terminals"))) },
            html! { (count(row.int("events"))) },
            html! { (row.real("span_s").map_or_else(|| words::NONE.to_owned(), duration)) },
            html! { (clock) },
        ]);
    }
    html! {
        h3 { "Runs and builds" }
        (table.markup())
        p.note {
            "Counts are of the whole run. "
            @if first > 0 { "The latest " (RUNS) " of " (count(figures.runs.len() as i64)) " runs. " }
            (source(&["query runs"]))
        }
    }
}

/// The name of a file, without its folders.
fn file_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    words::outside(if path == "-" { "standard input" } else { name }, words::ID)
}

fn files(figures: &Figures) -> Markup {
    let all: Vec<_> = figures.all.rows("sources").collect();
    if all.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&[Col("File", ""), Col("Lines", "n"), Col("Bytes", "n s")]);
    for row in all.iter().take(FILES) {
        table.row(vec![
            html! { code.id { (file_name(&row.text("path"))) } },
            html! { (count(row.int("lines"))) },
            html! { (count(row.int("offset_bytes"))) },
        ]);
    }
    html! {
        h3 { "Files" }
        (table.markup())
        p.note {
            "Everything that the database was read from, by name; compressed ones as unpacked. "
            @if all.len() > FILES { "The first " (FILES) " of " (count(all.len() as i64)) ". " }
            (source(&["status"]))
        }
    }
}

fn not_read(figures: &Figures) -> Markup {
    let rows: Vec<Vec<String>> = figures
        .all
        .rows("read")
        .map(|row| {
            let place = format!("{}, line {}", file_name(&row.text("path")), count(row.int("line_no")));
            let kind = if row.text("kind") == "repaired" { "mended" } else { "not read" };
            vec![
                words::outside(&row.text("reason"), words::ERROR),
                kind.to_owned(),
                count(row.int("places")),
                place,
            ]
        })
        .collect();
    if rows.is_empty() {
        return html! { h3 id="notread" { "What was not read" } p.note { "Nothing: every line gave a row. " (source(&["rejects"])) } };
    }
    let heads = [("Reason", true), ("What became of it", true), ("Lines", false), ("First place", true)];
    let lines: i64 = figures.all.rows("sources").map(|row| row.int("lines")).sum();
    let rejected: i64 = figures
        .all
        .rows("read")
        .filter(|row| row.text("kind") == "rejected")
        .map(|row| row.int("places"))
        .sum();
    let more = rows.len().saturating_sub(REASONS);
    let rest = rows.iter().skip(REASONS).take(MOST_REASONS - REASONS).cloned();
    html! {
        h3 id="notread" { "What was not read" }
        (dense(&heads, rows.iter().take(REASONS).cloned()))
        p.note {
            (count(rejected)) " of " (count(lines)) " lines of all files gave no row"
            @if lines > 0 { " (" (share(rejected as f64 / lines as f64)) ")" } ". " (source(&["rejects"]))
        }
        @if more > 0 {
            (details(&many(more, "more reason", "more reasons"), html! {
                (dense(&heads, rest))
                @if rows.len() > MOST_REASONS { p.note { "The first " (MOST_REASONS) " of " (rows.len()) " reasons." } }
            }))
        }
    }
}

/// Ends that this release does not know.
fn unknown(figures: &Figures) -> Markup {
    let unknown: Vec<String> = figures
        .all
        .rows("outcomes")
        .filter(|row| !super::losses::KNOWN.contains(&row.text("terminal").as_str()))
        .take(12)
        .map(|row| {
            format!("{} ({})", words::outside(&row.text("terminal"), words::ID), count(row.int("requests")))
        })
        .collect();
    html! {
        @if !unknown.is_empty() { p.note { "Terminals unknown to this version: " (unknown.join(", ")) "." } }
    }
}
