//! The price at admission against the TTFT that was observed.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::survey::{FEWEST_PRICED, PriceBand};
use crate::report::parts::{Drawing, dense, details, key, key_area, key_line, source};
use crate::report::plot::{Anchor, Line, Log, Scale, Svg, Tone, number, percent};
use crate::report::words::{count, duration, many, plain, short_duration};

const PRICE_PX: f64 = 230.0;

pub(super) fn price(figures: &Figures) -> Markup {
    let title = "Admission price against observed TTFT";
    let (priced, bands) = (figures.survey.priced, &figures.survey.price_bands);
    if priced == 0 {
        return html! {
            h3 { (title) }
            p.note { "Not recorded: no completed request has a price. Journals have it from release 0.6 on, where admission is priced." }
        };
    }
    let scale =
        Log::of(bands.iter().flat_map(|band| [band.from * 1.001, band.to * 0.999, band.p10, band.p90]), 8);
    let Some(scale) = scale else {
        return html! { h3 { (title) } p.note { (many(priced, "request", "requests")) " with a price are too few: a band needs " (FEWEST_PRICED) "." } };
    };
    let picture = price_picture(figures, bands, &scale);
    let left_out = priced - bands.iter().map(|band| band.n).sum::<usize>();
    let caption = html! {
        (count(priced as i64)) " completed requests with a price, in six bands a decade; bands under " (FEWEST_PRICED)
        " requests are left out" @if left_out > 0 { " (" (count(left_out as i64)) ")" } ". "
        (source(&["query admission-price --by all"])) " Bands and percentiles: of the requests themselves."
    };
    let mut entries = vec![
        key_line(Line::Ok, 2.0, "", "median TTFT"),
        key_area(Tone::Ok, 0.2, "p10 to p90"),
        key_line(Line::Ink, 1.2, "2 3", "as priced"),
    ];
    entries.extend(figures.targets().map(|_| key_line(Line::Slo, 1.3, "4 3", "SLO")));
    let figure = Drawing {
        id: "price",
        title,
        key: key("", &entries),
        height: PRICE_PX + 36.0,
        picture,
        caption,
        above: true,
    };
    let heads = [("Price", true), ("n", false), ("TTFT p10", false), ("p50", false), ("p90", false)];
    let rows = bands.iter().map(|band| {
        vec![
            format!("{} to {}", duration(band.from), duration(band.to)),
            count(band.n as i64),
            duration(band.p10),
            duration(band.p50),
            duration(band.p90),
        ]
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}

fn price_picture(figures: &Figures, bands: &[PriceBand], scale: &Log) -> String {
    let x = |value: f64| 100.0 * scale.at(value);
    let y = |value: f64| scale.down(value, PRICE_PX);
    let middle = |band: &PriceBand| x((band.from * band.to).sqrt());
    let ticks = scale.ticks();
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, 0.0, PRICE_PX, Tone::Plot.fill(), None);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in &ticks {
            let (x, y) = (percent(100.0 * tick.at), number(y(tick.value), 1));
            svg.raw(&format!(
                r#"<line x1="{x}" x2="{x}" y2="{PRICE_PX}"/><line x2="100%" y1="{y}" y2="{y}"/>"#
            ));
        }
    });
    let along = |read: fn(&PriceBand) -> f64| -> Vec<String> {
        bands
            .iter()
            .map(|band| format!("{} {}", number(10.0 * middle(band), 1), number(y(read(band)), 1)))
            .collect()
    };
    let (p10, p50, p90) = (along(|band| band.p10), along(|band| band.p50), along(|band| band.p90));
    svg.nested((0.0, 100.0), (0.0, PRICE_PX), (1000.0, PRICE_PX), |svg| {
        svg.raw(&format!(
            r#"<line x1="0" y1="{PRICE_PX}" x2="1000" y2="0" {} stroke-width="1.2" stroke-dasharray="2 3" vector-effect="non-scaling-stroke"/>"#,
            Line::Ink.stroke()
        ));
        let back: Vec<String> = p10.iter().rev().cloned().collect();
        let ground = format!(r#"{} fill-opacity=".2""#, Tone::Ok.fill());
        svg.path(&format!("M{}L{}z", p90.join("L"), back.join("L")), &ground, None);
        let line = format!(r#"{} stroke-width="2" fill="none" vector-effect="non-scaling-stroke""#, Line::Ok.stroke());
        svg.path(&format!("M{}", p50.join("L")), &line, None);
    });
    for band in bands {
        let told = plain(&format!(
            "priced {} to {}: TTFT p10 {}, p50 {}, p90 {}, n {}",
            duration(band.from),
            duration(band.to),
            duration(band.p10),
            duration(band.p50),
            duration(band.p90),
            count(band.n as i64)
        ));
        svg.dot(middle(band), y(band.p50), 3.0, Tone::Ok.fill(), Some(&told));
    }
    let (low, high) = scale.ends();
    let target_s = figures.targets().map(|slo| slo.ttft_s).filter(|target_s| (low..=high).contains(target_s));
    if let Some(target_s) = target_s {
        let y = y(target_s);
        svg.line((0.0, y), (100.0, y), Line::Slo, r#"stroke-width="1.3" stroke-dasharray="4 3""#);
    }
    let ink = r##"fill="#16191d""##;
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (number, tick) in ticks.iter().enumerate() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &short_duration(tick.value));
            let class = if number % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(100.0 * tick.at),
                PRICE_PX + 15.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(tick.value),
            );
        }
        if let Some(target_s) = target_s {
            svg.text("100%", y(target_s) + 3.8, Anchor::Start, "ti", r##"dx="5" fill="#16191d""##, "SLO");
        }
        svg.text(
            "98%",
            PRICE_PX - 8.0,
            Anchor::End,
            "ti halo m",
            ink,
            "below the dotted line: faster than priced",
        );
        svg.text("50%", PRICE_PX + 30.0, Anchor::Middle, "ti", ink, "price at admission, log axis");
        svg.text("-46", -8.0, Anchor::Start, "ti", ink, "TTFT, log axis");
    });
    svg.into_text()
}
