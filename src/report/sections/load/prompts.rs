//! Attainment and TTFT by the size of the prompt.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::survey::Measure;
use crate::report::parts::{Col, STARS, Table, bar, details, source, starred};
use crate::report::plot::Tone;
use crate::report::words::{count, many, maybe_duration, maybe_share};

/// Bands of prompts at either end with less than this part of all requests stand in details.
const SMALL: f64 = 0.01;

pub(super) fn prompts(figures: &Figures) -> Markup {
    let rows: Vec<_> = figures.all.rows("prompt-sizes").collect();
    let all: i64 = rows.iter().map(|row| row.int("offered")).sum();
    if rows.is_empty() {
        return html! { h3 id="h-prompt" { "By prompt size" } p.note { "None: no request has the length of its prompt. " (source(&["query prompt-sizes --by all"])) } };
    }
    let is_small = |at: usize| (rows[at].int("offered") as f64) < SMALL * all as f64;
    let first = (0..rows.len()).find(|at| !is_small(*at)).unwrap_or(0);
    let last = (0..rows.len()).rev().find(|at| !is_small(*at)).unwrap_or(rows.len() - 1);
    let largest = rows.iter().map(|row| row.int("offered")).max().unwrap_or(1) as f64;
    let mut is_any_open = false;
    let mut row_of = |at: usize| -> Vec<Markup> {
        let row = &rows[at];
        let from = row.int("input_from");
        let mut cell = |column: &str, percent: u32| {
            let is_open = figures.survey.is_open(Measure::Prompt(from), percent);
            is_any_open |= is_open && row.real(column).is_some();
            starred(maybe_duration(row.real(column)), is_open && row.real(column).is_some())
        };
        let (p50, p99) = (cell("ttft_p50", 50), cell("ttft_p99", 99));
        let attainment = row.real("attainment");
        vec![
            html! { (count(from)) " to " (count(row.int("input_to") - 1)) },
            html! { (count(row.int("offered"))) },
            bar(row.int("offered") as f64 / largest, Tone::Off2, None),
            html! { (maybe_share(attainment)) },
            attainment.map_or_else(|| html! {}, |attainment| bar(attainment, Tone::Ok, figures.asked.goal)),
            p50,
            p99,
        ]
    };
    let mark = if figures.asked.goal.is_some() { "dashed: goal" } else { "" };
    let columns = [
        Col("Prompt tokens", ""),
        Col("Requests", "n"),
        Col("", "bar s"),
        Col("Attainment", "n"),
        Col(mark, "bar"),
        Col("TTFT p50", "n s"),
        Col("p99", "n s"),
    ];
    let (mut table, mut rest) = (Table::new(&columns), Table::new(&columns));
    for at in 0..rows.len() {
        let row = row_of(at);
        if (first..=last).contains(&at) { table.row(row) } else { rest.row(row) }
    }
    let small = rest.rows.len();
    html! {
        h3 id="h-prompt" { "By prompt size" }
        (table.markup())
        p.note {
            "Bands double. Requests whose body ended before it was sized are left out. "
            @if is_any_open { (STARS) " " }
            (source(&["query prompt-sizes --by all"]))
        }
        @if small > 0 { (details(&format!("{}, each under 1 % of the requests", many(small, "shorter or longer band", "shorter and longer bands")), rest.markup())) }
    }
}
