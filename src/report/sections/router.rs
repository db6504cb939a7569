//! What the router did: waits, controller, monitoring, cache.

use maud::{Markup, html};

use super::latency::by_run;
use crate::report::figures::survey::Measure;
use crate::report::figures::{Figures, STAGES};
use crate::report::parts::{Col, STARS, Table, bar, dense, details, section, source, starred};
use crate::report::plot::Tone;
use crate::report::words::{self, count, duration, many, maybe_duration};

/// So many causes and reasons stand in a table.
const MOST: usize = 12;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "router",
        "Router",
        html! {
            div.grid {
                div { (waits(figures)) }
                div { (controller(figures)) (monitoring(figures)) (cache(figures)) }
            }
        },
    )
}

fn waits(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Stage", ""),
        Col("n", "n s"),
        Col("p50", "n"),
        Col("p90", "n"),
        Col("p99", "n"),
        Col("max", "n"),
    ]);
    let mut is_any_open = false;
    for row in figures.all.rows("queue-waits") {
        let stage = row.text("stage");
        let measure = STAGES.iter().position(|known| *known == stage).map(Measure::Wait);
        let cells = [50, 90, 99].map(|percent| {
            let value = row.real(&format!("p{percent}"));
            let is_open =
                value.is_some() && measure.is_some_and(|measure| figures.survey.is_open(measure, percent));
            is_any_open |= is_open;
            starred(maybe_duration(value), is_open)
        });
        let [p50, p90, p99] = cells;
        let n = html! { (count(row.int("n"))) };
        table.row(vec![
            html! { (words::outside(&stage, 32)) },
            n,
            p50,
            p90,
            p99,
            html! { (maybe_duration(row.real("max"))) },
        ]);
    }
    let is_recorded = figures.all.rows("queue-waits").count() > 1;
    html! {
        h3 { "Waits by stage" }
        (table.markup())
        p.note {
            "All requests. "
            @if !is_recorded { "Waits by stage are recorded from release 0.6 on. " }
            @if is_any_open { (STARS) " " }
            (source(&["query queue-waits --by all"]))
        }
        @if figures.runs.len() > 1 { (details("By run", by_run(figures, "queue-waits", "stage", &["p50", "p90", "p99", "max"]))) }
    }
}

fn controller(figures: &Figures) -> Markup {
    let mut sums: Vec<(String, String, i64)> = Vec::new();
    for row in figures.all.rows("controller") {
        let (result, reason) = (row.text("result"), row.text("reason"));
        match sums.iter_mut().find(|(known, why, _)| *known == result && *why == reason) {
            Some((.., decisions)) => *decisions += row.int("decisions"),
            None => sums.push((result, reason, row.int("decisions"))),
        }
    }
    sums.sort_unstable_by(|one, other| {
        other.2.cmp(&one.2).then_with(|| (&one.0, &one.1).cmp(&(&other.0, &other.1)))
    });
    if sums.is_empty() {
        return html! { h3 { "Controller" } p.note { "No decision is in the journal. " (source(&["query controller --by all"])) } };
    }
    let most = sums[0].2 as f64;
    let mut table =
        Table::new(&[Col("Result", ""), Col("Reason", ""), Col("Decisions", "n"), Col("", "bar")]);
    for (result, reason, decisions) in sums.iter().take(MOST) {
        let tone = if result == "applied" { Tone::Ok } else { Tone::Off2 };
        table.row(vec![
            html! { (words::outside(result, 32)) },
            html! { (words::outside(reason, words::ERROR)) },
            html! { (count(*decisions)) },
            bar(*decisions as f64 / most, tone, None),
        ]);
    }
    html! {
        h3 { "Controller" }
        (table.markup())
        p.note {
            @if sums.len() > MOST { "The " (MOST) " most frequent of " (sums.len()) ". " }
            (source(&["query controller --by all"]))
        }
    }
}

fn monitoring(figures: &Figures) -> Markup {
    let mut rows: Vec<_> = figures.all.rows("monitoring").collect();
    if rows.is_empty() {
        return html! { p.note { "Monitoring: nothing failed or degraded. " (source(&["query monitoring --by all"])) } };
    }
    rows.sort_by(|one, other| {
        let lost = |row: &crate::query::answer::Row<'_>| row.real("degraded_s").unwrap_or(0.0);
        lost(other).total_cmp(&lost(one)).then(other.int("failures").cmp(&one.int("failures")))
    });
    let heads = [
        ("Stage", true),
        ("Class", true),
        ("Failures", false),
        ("Longest streak", false),
        ("Degraded", false),
        ("for", false),
    ];
    let cells = rows.iter().take(MOST).map(|row| {
        vec![
            words::outside(&row.text("stage"), words::ID),
            words::outside(&row.text("class"), words::ID),
            row.int("failures").to_string(),
            row.real("longest_streak").map_or_else(|| words::NONE.to_owned(), crate::text::rounded),
            row.int("degraded").to_string(),
            maybe_duration(row.real("degraded_s")),
        ]
    });
    let table = dense(&heads, cells);
    let summary = format!(
        "Monitoring: {} failed or degraded",
        many(rows.len(), "stage and class", "stages and classes")
    );
    details(
        &summary,
        html! {
            (table)
            p.note {
                @if rows.len() > MOST { (MOST) " of " (rows.len()) ". " }
                (source(&["query monitoring --by all"]))
            }
        },
    )
}

fn cache(figures: &Figures) -> Markup {
    let Some(cache) = figures.all.row("cache") else { return html! {} };
    let number = |column: &str| {
        cache.real(column).map_or_else(|| words::NONE.to_owned(), |tokens| count(tokens as i64))
    };
    let rows = vec![
        vec![
            "Requests with cached tokens".to_owned(),
            format!("{} of {}", number("with_cached"), number("requests")),
        ],
        vec!["Cached tokens found".to_owned(), number("cached_tokens")],
        vec!["Cached on the engine chosen".to_owned(), number("placed_cached")],
        vec![
            "Prefill saved, as predicted".to_owned(),
            cache.real("saved_prefill_s").map_or_else(|| words::NONE.to_owned(), duration),
        ],
    ];
    details(
        "Prompt cache",
        html! {
            (dense(&[("What", true), ("Value", false)], rows.into_iter()))
            p.note { (source(&["query cache --by all"])) }
        },
    )
}
