//! Attainment by run, with its intervals.

use maud::{Markup, html};

use super::attainment::interval;
use crate::report::figures::Figures;
use crate::report::parts::{Col, Table, raw, source};
use crate::report::plot::{Line, Svg, Tone, attainment_floor};
use crate::report::words;
use crate::report::words::{WallDetail, count, goal, maybe_share};
use crate::statistics::Share;

/// So many runs stand in the table, and so many behind it.
const MOST_RUNS: usize = 12;
const MOST_MORE_RUNS: usize = 100;

pub(super) fn by_run(figures: &Figures) -> Markup {
    if figures.runs.len() < 2 || figures.targets().is_none() {
        return html! {};
    }
    let all: Vec<(usize, Option<Share>)> =
        (0..figures.runs.len()).map(|run| (run, figures.attainment_of(run))).collect();
    let mut shown = all.clone();
    let is_cut = all.len() > MOST_RUNS;
    if is_cut {
        let value = |share: &Option<Share>| share.map_or(f64::INFINITY, |share| share.value);
        shown.sort_unstable_by(|one, other| {
            value(&one.1).total_cmp(&value(&other.1)).then(one.0.cmp(&other.0))
        });
        shown.truncate(MOST_RUNS);
    }
    let is_scored = |run: usize| !figures.is_unaccounted(run);
    let lows =
        shown.iter().filter(|(run, _)| is_scored(*run)).filter_map(|(_, share)| share.map(|share| share.low));
    let overall = figures.attainment();
    let low = lows.chain(overall.map(|share| share.low)).chain(figures.asked.goal).fold(1.0, f64::min);
    let floor = attainment_floor(low);
    let head = match figures.asked.goal {
        Some(_) => format!("{} to 100\u{a0}%, dashed: goal", goal(floor)),
        None => format!("{} to 100\u{a0}%", goal(floor)),
    };
    let mut table = Table::new(&[
        Col("Run", ""),
        Col("Start, UTC", "s"),
        Col("Interval", "bar"),
        Col("Attainment", "n"),
        Col("95\u{a0}% interval", "n s"),
        Col("Met", "n s"),
        Col("Scored", "n s"),
        Col("Excluded", "n s"),
    ]);
    let dots =
        |share: Option<Share>| share.map_or_else(|| html! {}, |share| dot(&share, floor, figures.asked.goal));
    if let Some(row) = figures.all.row("attainment") {
        table.total(vec![
            html! { "All runs" },
            html! {},
            dots(overall),
            html! { (maybe_share(row.real("attainment"))) },
            html! { (overall.map_or_else(|| words::NONE.to_owned(), |share| interval(&share))) },
            html! { (count(row.int("met"))) },
            html! { (count(row.int("scored"))) },
            html! { (count(row.int("excluded"))) },
        ]);
    }
    for (run, share) in shown {
        table.row(row_of(figures, run, share, dots(share)));
    }
    html! {
        h3 id="h-runs" { "Attainment by run" }
        div.keep {
            (table.markup())
            p.note {
                "Dot: attainment; line: 95\u{a0}% interval, on a scale from " (head) ". "
                @if is_cut {
                    "The " (MOST_RUNS) " runs with the lowest attainment of " (count(all.len() as i64)) "; all of them are in the first row. "
                }
                (source(&["query attainment", "query attainment --by all"]))
            }
        }
        @if is_cut { (more_runs(figures, &all)) }
    }
}

fn row_of(figures: &Figures, run: usize, share: Option<Share>, dots: Markup) -> Vec<Markup> {
    let of = &figures.runs[run];
    let row = figures.each.find("attainment", "scope", &of.run);
    let int = |column: &str| row.map_or_else(|| words::NONE.to_owned(), |row| count(row.int(column)));
    let start = of.wall_s(0.0).and_then(|wall_s| words::moment(wall_s, WallDetail::DayMinute));
    vec![
        html! {
            span.nw { "Run " (run + 1) " " span.id.x.s { (words::outside(&of.run, words::ID)) } }
            @if figures.is_unaccounted(run) { " " span.x { "accounting unavailable" } }
        },
        html! { (start.unwrap_or_else(|| words::NONE.to_owned())) },
        dots,
        html! { (maybe_share(row.and_then(|row| row.real("attainment")))) },
        html! { (share.map_or_else(|| words::NONE.to_owned(), |share| interval(&share))) },
        html! { (int("met")) },
        html! { (int("scored")) },
        html! { (int("excluded")) },
    ]
}

fn more_runs(figures: &Figures, all: &[(usize, Option<Share>)]) -> Markup {
    let mut all = all.to_vec();
    let value = |share: &Option<Share>| share.map_or(f64::INFINITY, |share| share.value);
    all.sort_unstable_by(|one, other| value(&one.1).total_cmp(&value(&other.1)).then(one.0.cmp(&other.0)));
    let left_out = all.len().saturating_sub(MOST_MORE_RUNS);
    all.truncate(MOST_MORE_RUNS);
    all.sort_unstable_by_key(|(run, _)| *run);
    let rows = all.iter().map(|(run, share)| {
        let of = &figures.runs[*run];
        let row = figures.each.find("attainment", "scope", &of.run);
        let int = |column: &str| row.map_or(0, |row| row.int(column)).to_string();
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        vec![
            (run + 1).to_string(),
            words::outside(&of.run, words::ID),
            share.map_or_else(|| words::NONE.to_owned(), |share| percent(share.value)),
            share.map_or_else(
                || words::NONE.to_owned(),
                |share| format!("{} to {}", percent(share.low), percent(share.high)),
            ),
            int("met"),
            int("scored"),
            int("excluded"),
        ]
    });
    let heads = [
        ("Run", false),
        ("Id", true),
        ("Met, %", false),
        ("95 % interval", false),
        ("Met", false),
        ("Scored", false),
        ("Excluded", false),
    ];
    let table = crate::report::parts::dense(&heads, rows);
    let summary = match left_out {
        0 => format!("All {} runs", all.len()),
        _ => format!(
            "The {} runs with the lowest attainment; {} more are left out",
            all.len(),
            count(left_out as i64)
        ),
    };
    crate::report::parts::details(&summary, table)
}

/// An attainment and its interval on a scale from `floor` to 1.
fn dot(share: &Share, floor: f64, of_goal: Option<f64>) -> Markup {
    let at = |value: f64| 100.0 * ((value - floor) / (1.0 - floor)).clamp(0.0, 1.0);
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, 0.0, 18.0, Tone::Plot);
    if let Some(of_goal) = of_goal {
        svg.line(
            (at(of_goal), 0.0),
            (at(of_goal), 18.0),
            Line::Slo,
            r#"stroke-width="1.5" stroke-dasharray="3 2""#,
        );
    }
    svg.line((at(share.low), 9.0), (at(share.high), 9.0), Line::Ok, r#"stroke-width="2""#);
    svg.dot(at(share.value), 9.0, 4.5, Tone::Ok.fill(), None);
    html! { svg width="100%" height="18" aria-hidden="true" overflow="visible" { (raw(svg.into_text())) } }
}
