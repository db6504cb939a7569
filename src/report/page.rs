//! The page: what a browser must know of it, its head, its sections in order.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::Figures;
use super::figures::findings::findings;
use super::lean::lean;
use super::sections;
use super::words::{self, WallDetail, count, many, maybe_share, short_duration};

/// The style sheet, as it stands in the page.
pub(super) const STYLE: &str = include_str!("style.css");

/// Its SHA-256, by which the page's own policy lets it in. A test compares.
pub(super) const STYLE_HASH: &str = "Bw6QSqUUYMQcGhLaVvA/hHs4rXuzi9XAx9fL8Q30BvY=";

const SECTIONS: [(&str, &str); 10] = [
    ("verdict", "Verdict"),
    ("time", "Over time"),
    ("losses", "Losses"),
    ("latency", "Latency"),
    ("load", "Load"),
    ("engines", "Engines"),
    ("router", "Router"),
    ("worst", "Worst requests"),
    ("provenance", "Provenance"),
    ("read", "How to read"),
];

/// The whole page.
pub(super) fn page(figures: &Figures) -> String {
    let title = words::outside(&figures.asked.title, words::TITLE);
    let attainment =
        figures.attainment().map(|share| format!("{} met the SLO – ", maybe_share(Some(share.value))));
    let is_empty = figures.offered() == 0;
    let head = format!("{}{title}", attainment.unwrap_or_default());
    let body = html! {
        header { h1 { (title) } p.meta { (meta(figures)) } }
        @if !is_empty {
            nav aria-label="Sections" { p { @for (id, name) in SECTIONS { a href=(format!("#{id}")) { (name) } " " } } }
        }
        main {
            @if is_empty {
                (nothing(figures))
                (sections::provenance::markup(figures))
            } @else {
                (sections::verdict::markup(figures, &findings(figures)))
                (sections::time::markup(figures))
                (sections::losses::markup(figures))
                (sections::latency::markup(figures))
                (sections::load::markup(figures))
                (sections::engines::markup(figures))
                (sections::router::markup(figures))
                (sections::worst::markup(figures))
                (sections::provenance::markup(figures))
                (sections::read::markup(figures))
            }
        }
        (footer(figures))
    };
    document(&head, body)
}

/// A document around a body, with the policy that nothing is fetched and nothing runs.
pub(super) fn document(title: &str, body: Markup) -> String {
    let policy =
        format!("default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'");
    let hatch = r##"<pattern id="none" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line y2="6" stroke-width="2" class="hh" stroke="#dfe4ea"/></pattern>"##;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="generator" content=(concat!("narwhal-jq ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                svg width="0" height="0" aria-hidden="true" { defs { (PreEscaped(hatch)) } }
                (body)
            }
        }
    };
    lean(&page.into_string())
}

/// What the report is of, in a line.
fn meta(figures: &Figures) -> String {
    let mut parts = Vec::new();
    let walls = figures.runs.iter().filter_map(|run| {
        let (from_s, to_s) = run.span()?;
        Some((run.wall_s(from_s - run.first_s)?, run.wall_s(to_s - run.first_s)?))
    });
    let ends =
        walls.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, wall| (ends.0.min(wall.0), ends.1.max(wall.1)));
    let from = words::moment(ends.0, WallDetail::YearMinute);
    if let Some((from, to)) = from.zip(words::moment(ends.1, WallDetail::YearMinute)) {
        parts.push(format!("{from} to {to}\u{a0}UTC"));
    }
    let length_s: f64 = figures.runs.iter().map(super::figures::Run::length_s).sum();
    let in_all = match figures.runs.len() {
        0 => "no run".to_owned(),
        1 => format!("1 run, {}", words::duration(length_s)),
        runs => format!("{runs} runs, {} in all", words::duration(length_s)),
    };
    parts.push(in_all);
    parts.push(format!(
        "{} {}",
        count(figures.offered()),
        if figures.offered() == 1 { "request" } else { "requests" }
    ));
    parts.push(match figures.targets() {
        Some(slo) => {
            let name = if slo.name.is_empty() {
                String::new()
            } else {
                format!(" “{}”", words::outside(&slo.name, 64))
            };
            format!("SLO{name}: TTFT ≤ {}, TPOT ≤ {}", short_duration(slo.ttft_s), short_duration(slo.tpot_s))
        }
        None => "no SLO".to_owned(),
    });
    parts.push(format!("policy {}", figures.asked.policy.name()));
    let flags = figures.by_run.flags.join(" ");
    if !flags.is_empty() && !figures.by_run.is_default {
        parts.push(format!(
            "selected by {}",
            words::outside(&super::sections::without_paths(&flags), words::MESSAGE)
        ));
    }
    parts.join(" · ")
}

/// What is said where no request is.
fn nothing(figures: &Figures) -> Markup {
    let why = match &figures.by_run.emptied_by {
        Some(why) if figures.runs.is_empty() => format!("Nothing was taken in: {why}."),
        _ if figures.runs.is_empty() => "There is no run in the database.".to_owned(),
        _ => {
            format!("No request arrived in what is selected of {}.", many(figures.runs.len(), "run", "runs"))
        }
    };
    super::parts::section("verdict", "Verdict", html! { p { (words::outside(&why, 400)) } })
}

fn footer(figures: &Figures) -> Markup {
    let when = words::moment(figures.asked.now.timestamp() as f64, WallDetail::Whole).unwrap_or_default();
    html! {
        footer {
            p {
                "Written " (when) "\u{a0}UTC by narwhal-jq " (env!("CARGO_PKG_VERSION")) " with "
                code { (words::outside(&figures.asked.command, 400)) } "."
            }
        }
    }
}
