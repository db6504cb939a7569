//! What was lost, and how: misses, ends, refusals, retries, and what failed attempts said.

use maud::{Markup, html};

use super::tone;
use crate::report::figures::Figures;
use crate::report::parts::{Col, Table, bar, raw, section, source};
use crate::report::plot::{Tone, swatch};
use crate::report::words::{self, count, many, maybe_share, share};

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "losses",
        "Losses",
        html! {
            div.grid {
                div { (misses(figures)) }
                div { (ends(figures)) }
            }
            div.grid {
                div { (refusals(figures)) }
                div { (retries(figures)) }
            }
            (messages(figures))
        },
    )
}

/// So many kinds of one thing stand in a table.
const MOST: usize = 12;

fn misses(figures: &Figures) -> Markup {
    let Some(attainment) = figures.all.row("attainment") else {
        return html! { h3 { "Misses by kind" } p.note { "No SLO, so nothing can miss it." } };
    };
    let scored = attainment.int("scored");
    let mut rows: Vec<(String, i64, Option<f64>)> = figures
        .all
        .rows("attainment-misses")
        .map(|row| (row.text("miss"), row.int("requests"), row.real("share")))
        .filter(|(_, requests, _)| *requests > 0)
        .collect();
    rows.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let all: i64 = rows.iter().map(|(_, requests, _)| requests).sum();
    if rows.is_empty() {
        let why = if scored == 0 {
            "Nothing was scored, so nothing missed."
        } else {
            "None: every scored request met the SLO."
        };
        return html! { h3 { "Misses by kind" } p.note { (why) } };
    }
    let most = rows[0].1 as f64;
    let mut table =
        Table::new(&[Col("Kind", ""), Col("Requests", "n"), Col("Of scored", "n"), Col("", "bar")]);
    for (miss, requests, part) in rows.iter().take(MOST) {
        table.row(vec![
            html! { (raw(swatch(tone(miss)))) " " (words::kind(miss)) },
            html! { (count(*requests)) },
            html! { (maybe_share(*part)) },
            bar(*requests as f64 / most, tone(miss), None),
        ]);
    }
    table.total(vec![
        html! { "All misses" },
        html! { (count(all)) },
        html! { (share(all as f64 / scored as f64)) },
        html! {},
    ]);
    html! {
        h3 { "Misses by kind" }
        div.keep { (table.markup()) }
        p.note {
            "A request counts once, under the first kind that applies. "
            @if rows.len() > MOST { "The " (MOST) " most frequent of " (rows.len()) " kinds. " }
            (source(&["query attainment-misses --by all"]))
        }
    }
}

fn ends(figures: &Figures) -> Markup {
    let mut table =
        Table::new(&[Col("Terminal", ""), Col("Requests", "n"), Col("Of offered", "n"), Col("", "bar")]);
    let mut rows: Vec<(String, i64, f64)> = figures
        .all
        .rows("outcomes")
        .map(|row| (row.text("terminal"), row.int("requests"), row.real("share").unwrap_or(0.0)))
        .collect();
    rows.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    for (terminal, requests, part) in rows.iter().take(MOST) {
        let is_known = KNOWN.contains(&terminal.as_str());
        table.row(vec![
            html! {
                span.nw[is_known] { (raw(swatch(tone(terminal)))) " " (words::outside(terminal, words::ID)) }
                @if !is_known { " " span.x { "(unknown to this version)" } }
            },
            html! { (count(*requests)) },
            html! { (share(*part)) },
            bar(*part, tone(terminal), None),
        ]);
    }
    html! {
        h3 { "How requests ended" }
        div.keep { (table.markup()) }
        p.note {
            @if rows.len() > MOST { "The " (MOST) " most frequent of " (rows.len()) ". " }
            (source(&["query outcomes --by all"]))
        }
    }
}

/// The ends that this release knows.
pub(in crate::report) const KNOWN: [&str; 7] =
    ["completed", "refused", "rejected", "expired", "failed", "invalid", "cancelled"];

fn refusals(figures: &Figures) -> Markup {
    let mut rows: Vec<_> = figures.all.rows("refusals").collect();
    rows.sort_by_key(|row| -row.int("requests"));
    if rows.is_empty() {
        return html! { h3 { "Refusals by cause" } p.note { "None: no request was refused. " (source(&["query refusals --by all"])) } };
    }
    let mut table = Table::new(&[
        Col("Cause", ""),
        Col("Requests", "n"),
        Col("Of refused", "n"),
        Col("Of offered", "n sp"),
        Col("", "bar"),
    ]);
    let most = rows[0].int("requests") as f64;
    for row in rows.iter().take(MOST) {
        let (cause, reason) = (row.text("cause"), row.known_text("reason"));
        table.row(vec![
            html! {
                (words::outside(&cause, words::ID))
                @if let Some(reason) = reason.filter(|reason| *reason != cause) { " " span.x { (words::outside(&reason, words::ID)) } }
            },
            html! { (count(row.int("requests"))) },
            html! { (maybe_share(row.real("share_of_refused"))) },
            html! { (maybe_share(row.real("share_of_offered"))) },
            bar(row.int("requests") as f64 / most, Tone::Away, None),
        ]);
    }
    html! {
        h3 { "Refusals by cause" }
        div.keep { (table.markup()) }
        p.note {
            @if rows.len() > MOST { "The " (MOST) " most frequent of " (rows.len()) ". " }
            (source(&["query refusals --by all"]))
        }
    }
}

fn retries(figures: &Figures) -> Markup {
    let mut table = Table::new(&[Col("What", ""), Col("Count", "n"), Col("Share", "")]);
    let mut row = |what: &str, number: String, of: String| {
        table.row(vec![html! { (what) }, html! { (number) }, html! { (of) }]);
    };
    if let Some(retries) = figures.all.row("retries") {
        let int = |column: &str| retries.int(column);
        let part = |part: i64, whole: i64, of: &str| match whole {
            0 => words::NONE.to_owned(),
            _ => format!("{}{of}", share(part as f64 / whole as f64)),
        };
        row("Retried requests", count(int("retried")), maybe_share(retries.real("retry_rate")));
        row(
            "Served after a retry",
            count(int("served_after_retry")),
            part(int("served_after_retry"), int("retried"), " of retried"),
        );
        row(
            "Attempts that failed",
            count(int("wasted_attempts")),
            part(int("wasted_attempts"), int("attempts"), " of attempts"),
        );
    }
    if let Some(waste) = figures.all.row("wasted-work") {
        let tokens = waste
            .real("tokens_discarded")
            .map_or_else(|| words::NONE.to_owned(), |tokens| count(tokens as i64));
        let of = waste
            .real("discarded_share")
            .map_or_else(|| "not known".to_owned(), |part| format!("{} of observed", share(part)));
        row("Output tokens nobody received", tokens, of);
    }
    let cancelled: i64 = figures.all.rows("cancellations").map(|row| row.int("requests")).sum();
    let with_output: i64 = figures.all.rows("cancellations").map(|row| row.int("with_output")).sum();
    let most = figures.all.rows("cancellations").max_by_key(|row| row.int("requests"));
    let of = most.map_or_else(
        || "none".to_owned(),
        |most| {
            format!("most in {}, {} with output", words::outside(&most.text("phase"), 32), count(with_output))
        },
    );
    row("Cancelled by clients", count(cancelled), of);
    html! {
        h3 { "Retries and cancellations" }
        div.keep { (table.markup()) }
        p.note { (source(&["query retries --by all", "query wasted-work --by all", "query cancellations --by all"])) }
    }
}

fn messages(figures: &Figures) -> Markup {
    let all = &figures.messages;
    if all.messages.is_empty() {
        return html! { h3 id="h-msg" { "What failed attempts said" } p.note { "Nothing: no attempt has a recorded failure." } };
    }
    let mut table = Table::new(&[
        Col("Message, numbers as # and addresses as URL", ""),
        Col("Type", "s"),
        Col("Phase", "s"),
        Col("Failures", "n"),
        Col("Share", "n s"),
        Col("", "bar sp"),
        Col("Retried", "n s"),
        Col("For example", ""),
    ]);
    let most = all.messages[0].failures as f64;
    let text = |text: &Option<String>| {
        text.as_deref().map_or_else(|| words::NONE.to_owned(), |text| words::outside(text, words::ID))
    };
    for message in &all.messages {
        table.row(vec![
            html! { (message.pattern) },
            html! { (text(&message.error_type)) },
            html! { (text(&message.phase)) },
            html! { (count(message.failures)) },
            html! { (share(message.failures as f64 / all.failures as f64)) },
            bar(message.failures as f64 / most, Tone::Bad, None),
            html! { (share(message.retried as f64 / message.failures as f64)) },
            html! { code.id { (message.example.chars().take(8).collect::<String>()) } },
        ]);
    }
    html! {
        h3 id="h-msg" { "What failed attempts said" }
        div.keep { (table.markup()) }
        p.note {
            @if all.patterns > all.messages.len() {
                "The " (all.messages.len()) " most frequent of " (count(all.patterns as i64)) " patterns, over "
            } @else { "Over " }
            (many(usize::try_from(all.failures).unwrap_or(0), "failure", "failures")) ". An example goes to "
            code { "narwhal-jq show" } ". " (source(&["query failure-causes --by all"]))
            " It counts by type; the messages are those of the failed attempts."
        }
    }
}
