//! Where the scored requests went: one bar of all of them.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::parts::{key, raw, source};
use crate::report::plot::{Anchor, Line, Svg, swatch};
use crate::report::sections::tone;
use crate::report::words;
use crate::report::words::{count, share};

/// A part of the bar has its number on it from this share on.
const LABELLED: f64 = 0.07;
/// On a narrow page, from this one on.
const NARROW: f64 = 0.13;

pub(super) fn where_they_went(figures: &Figures) -> Markup {
    let Some(row) = figures.all.row("attainment") else { return html! {} };
    let (scored, met) = (row.int("scored"), row.int("met"));
    if scored == 0 {
        return html! {};
    }
    let mut parts = vec![("met".to_owned(), "met the SLO".to_owned(), met)];
    let mut misses: Vec<(String, i64)> =
        figures.all.rows("attainment-misses").map(|row| (row.text("miss"), row.int("requests"))).collect();
    misses.sort_by_key(|(miss, _)| ORDER.iter().position(|known| known == miss).unwrap_or(ORDER.len()));
    parts.extend(misses.into_iter().map(|(miss, requests)| (miss.clone(), words::kind(&miss), requests)));
    parts.retain(|(_, _, requests)| *requests > 0);
    let mut svg = Svg::default();
    let (mut x, mut texts) = (0.0, Svg::default());
    svg.group(Line::Page.stroke(), |svg| {
        for (kind, name, requests) in &parts {
            let part = *requests as f64 / scored as f64;
            let title = format!("{name}: {} requests, {}", count(*requests), words::plain(&share(part)));
            svg.rect_with(x, 100.0 * part, 0.0, 30.0, tone(kind).fill(), Some(&title));
            if part >= LABELLED {
                let text = if kind == "met" { format!("{} met", share(part)) } else { share(part) };
                let middle = crate::report::plot::percent(x + 50.0 * part);
                let (class, fill) =
                    if tone(kind).is_pale() { ("t-pale", "#16191d") } else { ("t-on", "#fff") };
                let class = if part < NARROW { format!("{class} s") } else { class.to_owned() };
                texts.text(
                    &middle,
                    19.0,
                    Anchor::Middle,
                    &class,
                    &format!(r#"fill="{fill}" font-weight="600""#),
                    &text,
                );
            }
            x += 100.0 * part;
        }
    });
    svg.raw(&texts.into_text());
    let entries: Vec<Markup> = parts
        .iter()
        .map(|(kind, name, requests)| {
            let part = *requests as f64 / scored as f64;
            html! { (raw(swatch(tone(kind)))) " " (name) " " span.x { (share(part)) } }
        })
        .collect();
    html! {
        h3 id="h-where" { "Where the scored requests went" }
        figure {
            svg width="100%" height="30" role="img" aria-labelledby="h-where" aria-describedby="c-where"
                font-family="system-ui,sans-serif" font-size="11" { (raw(svg.into_text())) }
            (key("", &entries))
            figcaption id="c-where" {
                "A request counts once, under the first kind that applies. "
                (source(&["query attainment --by all", "query attainment-misses --by all"]))
            }
        }
    }
}

/// Misses in the order in which their colours lie beside each other.
const ORDER: [&str; 11] = [
    "ttft+tpot",
    "tpot",
    "ttft",
    "refused",
    "rejected",
    "expired",
    "failed",
    "cancelled",
    "invalid",
    "output_unmeasured",
    "ttft_unmeasured",
];
