//! The slowest requests and the latest failures, to be looked at one by one.

use maud::{Markup, html};

use crate::query::answer::Row;
use crate::report::figures::{Figures, WORST};
use crate::report::parts::{Col, Table, engine, id, section, source};
use crate::report::words::{self, WallDetail, count, duration, maybe_duration};

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "worst",
        "Worst requests",
        html! {
            p.lead {
                "An id, or its beginning, goes to " code { "narwhal-jq show ID" }
                ", which tells what happened to it and around it."
            }
            (slowest(figures, "By TTFT", "worst-ttft", "ttft_s"))
            (slowest(figures, "By TPOT", "worst-tpot", "tpot_s"))
            (failures(figures))
        },
    )
}

fn slowest(figures: &Figures, heading: &str, name: &str, order: &str) -> Markup {
    let query = format!("query requests --order {order} --limit {WORST}");
    let mut table = Table::new(&[
        Col("Request", ""),
        Col("Run", "n s"),
        Col("Ended", ""),
        Col("TTFT", "n"),
        Col("TPOT", "n"),
        Col("Duration", "n s"),
        Col("Tokens in → out", "n s"),
        Col("Prefill → decode", ""),
        Col("Attempts", "n s"),
    ]);
    for row in figures.all.rows(name) {
        let number = |column: &str| {
            row.real(column).map_or_else(|| words::NONE.to_owned(), |number| count(number as i64))
        };
        table.row(vec![
            id(&row.text("rid"), words::ID),
            html! { (number_of(figures, &row)) },
            html! { (words::outside(&row.text("terminal"), 32)) },
            html! { (maybe_duration(row.real("ttft_s"))) },
            html! { (maybe_duration(row.real("tpot_s"))) },
            html! { (maybe_duration(row.real("duration_s"))) },
            html! { (number("input_len")) " → " (number("output_len")) },
            engines(&row),
            html! { (number("attempts")) },
        ]);
    }
    html! {
        h3 { (heading) }
        @if table.rows.is_empty() { p.note { "None: no request has one. " (source(&[&query])) } }
        @else { (table.markup()) p.note { (source(&[&query])) } }
    }
}

fn number_of(figures: &Figures, row: &Row<'_>) -> String {
    figures
        .number_of(&row.text("run"))
        .map_or_else(|| words::NONE.to_owned(), |number| (number + 1).to_string())
}

fn engines(row: &Row<'_>) -> Markup {
    let name = |column: &str| match row.known_text(column) {
        Some(name) => engine(&name),
        None => html! { (words::NONE) },
    };
    html! { (name("prefill_iid")) " → " (name("decode_iid")) }
}

fn failures(figures: &Figures) -> Markup {
    let mut table = Table::new(&[
        Col("Request", ""),
        Col("Run", "n s"),
        Col("Ended, UTC", "s"),
        Col("Error", ""),
        Col("Prefill → decode", "s"),
        Col("Attempts", "n s"),
    ]);
    for row in figures.all.rows("latest-failures") {
        let wall = row.real("wall").and_then(|wall_s| words::moment(wall_s, WallDetail::DaySecond));
        let when = wall.unwrap_or_else(|| {
            row.real("rel_s").map_or_else(|| words::NONE.to_owned(), |rel_s| format!("+{}", duration(rel_s)))
        });
        let error =
            [row.known_text("error_type"), row.known_text("error")].into_iter().flatten().collect::<Vec<_>>();
        let error = if error.is_empty() { words::NONE.to_owned() } else { error.join(": ") };
        table.row(vec![
            id(&row.text("rid"), words::ID),
            html! { (number_of(figures, &row)) },
            html! { span.nw { (when) } },
            html! { (words::outside(&error, words::ERROR)) },
            engines(&row),
            html! { (row.real("attempts").map_or_else(|| words::NONE.to_owned(), |attempts| count(attempts as i64))) },
        ]);
    }
    html! {
        h3 { "Latest failures" }
        @if table.rows.is_empty() { p.note { "None: no request failed. " (source(&["query requests --terminal failed"])) } }
        @else {
            (table.markup())
            p.note { "Of the latest run that has any, the latest end first. " (source(&["query requests --terminal failed"])) }
        }
    }
}
