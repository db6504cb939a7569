//! Percentiles by metric and by run, and from prefill done to the first byte.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::survey::Measure;
use crate::report::parts::{Col, STARS, Table, dense, details, source, starred};
use crate::report::words::{count, maybe_duration};

/// What the metrics are called.
const METRIC_NAMES: [(&str, &str); 6] = [
    ("ttft_s", "TTFT"),
    ("tpot_s", "TPOT"),
    ("first_byte_s", "First byte"),
    ("decode_tpot_s", "TPOT from first byte"),
    ("queue_wait_s", "Waits in all"),
    ("duration_s", "Duration"),
];

fn metric_name(metric: &str) -> &str {
    METRIC_NAMES.iter().find(|(known, _)| *known == metric).map_or(metric, |(_, name)| name)
}

pub(super) fn percentiles(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Metric", ""),
        Col("n", "n s"),
        Col("p50", "n"),
        Col("p90", "n"),
        Col("p95", "n s"),
        Col("p99", "n"),
        Col("max", "n"),
    ]);
    let mut is_any_open = false;
    for (at, row) in figures.all.rows("latency").enumerate() {
        let mut cell = |percent: u32| {
            let is_open = figures.survey.is_open(Measure::Metric(at), percent);
            is_any_open |= is_open;
            starred(maybe_duration(row.real(&format!("p{percent}"))), is_open)
        };
        let cells = [50, 90, 95, 99].map(&mut cell);
        let [p50, p90, p95, p99] = cells;
        let n = html! { (count(row.int("n"))) };
        let max = html! { (maybe_duration(row.real("max"))) };
        table.row(vec![html! { (metric_name(&row.text("metric"))) }, n, p50, p90, p95, p99, max]);
    }
    html! {
        h3 id="h-ltab" { "Percentiles by metric" }
        (table.markup())
        p.note {
            "Completed requests" @if figures.runs.len() > 1 { " of all runs" } ". "
            @if is_any_open { (STARS) " " }
            (source(&["query latency --by all"]))
        }
        @if figures.runs.len() > 1 { (details("By run", by_run(figures, "latency", "metric", &["p50", "p90", "p95", "p99", "max"]))) }
    }
}

/// So many runs stand in a table of percentiles.
const MOST_RUNS: usize = 12;

/// A table of percentiles by run: of the latest runs.
pub(in crate::report::sections) fn by_run(
    figures: &Figures,
    query: &str,
    of: &str,
    columns: &[&str],
) -> Markup {
    let first = figures.runs.len().saturating_sub(MOST_RUNS);
    let title = if of == "metric" { "Metric" } else { "Stage" };
    let mut heads = vec![(title, true), ("Run", false), ("n", false)];
    heads.extend(columns.iter().map(|column| (*column, false)));
    let mut kinds: Vec<String> = Vec::new();
    for row in figures.each.rows(query) {
        let kind = row.text(of);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut rows = Vec::new();
    for kind in &kinds {
        for (at, run) in figures.runs.iter().enumerate().skip(first) {
            let row =
                figures.each.rows(query).find(|row| row.text("scope") == run.run && row.text(of) == *kind);
            let Some(row) = row else { continue };
            let mut cells = vec![metric_name(kind).to_owned(), (at + 1).to_string(), count(row.int("n"))];
            cells.extend(columns.iter().map(|column| maybe_duration(row.real(column))));
            rows.push(cells);
        }
    }
    let name = format!("query {query}");
    html! {
        (dense(&heads, rows.into_iter()))
        p.note {
            @if first > 0 { "The latest " (MOST_RUNS) " of " (figures.runs.len()) " runs. " }
            (source(&[&name]))
        }
    }
}

pub(super) fn handoff(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Decode on", ""),
        Col("n", "n s"),
        Col("p50", "n"),
        Col("p90", "n"),
        Col("p99", "n"),
        Col("max", "n s"),
    ]);
    for row in figures.all.rows("handoff") {
        let crossed = row.text("kind") == "crossed";
        let cell = |percent: u32| {
            let is_open = figures.survey.is_open(Measure::Handoff { crossed }, percent);
            starred(maybe_duration(row.real(&format!("p{percent}"))), is_open)
        };
        let name =
            if crossed { "another engine: transfer, decode queue" } else { "same engine: decode queue" };
        table.row(vec![
            html! { (name) },
            html! { (count(row.int("n"))) },
            cell(50),
            cell(90),
            cell(99),
            html! { (maybe_duration(row.real("max"))) },
        ]);
    }
    html! {
        h3 { "From prefill done to the first byte" }
        @if table.rows.is_empty() { p.note { "None: no request has both times. " (source(&["query handoff --by all"])) } }
        @else {
            (table.markup())
            p.note { (source(&["query handoff --by all"])) }
        }
    }
}
