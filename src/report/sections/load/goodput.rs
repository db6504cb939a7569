//! Attainment against the offered rate, and how many buckets had each rate.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::load::Band;
use crate::report::parts::{Drawing, dense, details, source};
use crate::report::plot::{Anchor, Line, Linear, Scale, Svg, Tone, attainment_floor, number, percent};
use crate::report::words;
use crate::report::words::{count, goal, many, maybe_share, plain, share};
use crate::text::rounded;

const HEIGHT: f64 = 170.0;
/// Where the histogram of buckets lies.
const BARS_TOP: f64 = 194.0;
const BARS_BOTTOM: f64 = 238.0;
/// A band of fewer buckets is hollow.
const FEW: i64 = 3;

pub(super) fn goodput(figures: &Figures) -> Markup {
    let title = "Attainment against offered rate";
    let bands: Vec<&Band> = figures.load.bands.iter().filter(|band| band.attainment.is_some()).collect();
    if bands.is_empty() {
        return html! { h3 { (title) } p.note { "None: no bucket is wholly selected and has a scored request." } };
    }
    let ends: Vec<Option<(f64, f64)>> =
        bands.iter().map(|band| band.interval(&figures.survey.by_band)).collect();
    let picture = goodput_picture(figures, &bands, &ends);
    let width = figures.axis.width();
    let by = figures.axis.by();
    let sources = if figures.axis.is_wall {
        vec![format!("query attainment {by}")]
    } else {
        vec![format!(
            "query goodput --by all --bucket {} --band {}",
            figures.axis.bucket_s,
            rounded(figures.load.width)
        )]
    };
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let caption = html! {
        "All " @if figures.axis.is_wall { "routers" } @else { "runs" } " together, bands of " (rounded(figures.load.width))
        " requests/s over buckets of " (width) ", with 95\u{a0}% intervals. Hollow: fewer than three buckets. "
        @if !figures.axis.is_wall { "A bucket that a run ends in counts with the rate left to it. " }
        (source(&sources))
    };
    let figure = Drawing { id: "good", title, key: html! {}, height: 272.0, picture, caption, above: false };
    let heads = [
        ("Requests/s", false),
        ("Buckets", false),
        ("Scored", false),
        ("Met", false),
        ("Attainment", false),
        ("95 % interval", false),
    ];
    let rows = bands.iter().zip(&ends).map(|(band, ends)| {
        vec![
            format!("{} to {}", rounded(band.from), rounded(band.to)),
            count(band.buckets),
            count(band.scored),
            count(band.met),
            maybe_share(band.attainment),
            ends.map_or_else(
                || words::NONE.to_owned(),
                |(low, high)| format!("{} to {}", share(low), share(high)),
            ),
        ]
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}

fn goodput_picture(figures: &Figures, bands: &[&Band], ends: &[Option<(f64, f64)>]) -> String {
    let lows = bands
        .iter()
        .zip(ends)
        .filter_map(|(band, ends)| Some(ends.as_ref().map_or(band.attainment?, |ends| ends.0)));
    let floor = attainment_floor(lows.chain(figures.asked.goal).fold(1.0, f64::min));
    let down = Linear::between(floor, 1.0);
    let y = |value: f64| down.down(value, HEIGHT);
    let top = bands.iter().map(|band| band.to).fold(0.0, f64::max);
    let rates = Linear::exactly_to(top);
    let x = |rate: f64| 100.0 * rate / top;
    let most = bands.iter().map(|band| band.buckets).max().unwrap_or(1).max(1) as f64;
    let bars_px = BARS_BOTTOM - BARS_TOP;
    let mut svg = Svg::default();
    svg.rect_with(0.0, 100.0, 0.0, HEIGHT, Tone::Plot.fill(), None);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in down.ticks() {
            let y = number(y(tick.value), 1);
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
    });
    if let Some(of_goal) = figures.asked.goal {
        let y = y(of_goal);
        svg.line((0.0, y), (100.0, y), Line::Slo, r#"stroke-width="1.3" stroke-dasharray="4 3""#);
    }
    let joined: Vec<String> = bands
        .iter()
        .filter(|band| band.buckets >= FEW)
        .filter_map(|band| Some((x(0.5 * (band.from + band.to)), y(band.attainment?))))
        .enumerate()
        .map(|(at, (x, y))| {
            format!("{}{} {}", if at == 0 { "M" } else { "L" }, number(10.0 * x, 1), number(y, 1))
        })
        .collect();
    svg.nested((0.0, 100.0), (0.0, HEIGHT), (1000.0, HEIGHT), |svg| {
        let line = format!(
            r#"{} stroke-width="1" stroke-opacity=".6" fill="none" vector-effect="non-scaling-stroke""#,
            Line::Ok.stroke()
        );
        svg.path(&joined.concat(), &line, None);
    });
    for (band, ends) in bands.iter().zip(ends) {
        let Some(attainment) = band.attainment else { continue };
        let told = plain(&format!(
            "{} to {} requests/s: {} of {} scored met, in {} of {}",
            rounded(band.from),
            rounded(band.to),
            share(attainment),
            count(band.scored),
            many(usize::try_from(band.buckets).unwrap_or(0), "bucket", "buckets"),
            figures.axis.width()
        ));
        let (left, width) = (x(band.from) + 0.3, x(band.to - band.from) - 0.6);
        let height = bars_px * band.buckets as f64 / most;
        svg.rect_with(left, width.max(0.3), BARS_BOTTOM - height, height, Tone::Off2.fill(), Some(&told));
        let middle = x(0.5 * (band.from + band.to));
        if let Some((low, high)) = ends {
            svg.line((middle, y(*low)), (middle, y(*high)), Line::Ok, r#"stroke-width="1.6""#);
        }
        let colour = if band.buckets >= FEW {
            Tone::Ok.fill().to_owned()
        } else {
            r##"class="pa lo" fill="#f6f8fa" stroke="#1f66b0" stroke-width="1.4""##.to_owned()
        };
        svg.dot(middle, y(attainment), 4.0, &colour, Some(&told));
    }
    let ticks = rates.ticks();
    for tick in &ticks {
        let x = 100.0 * tick.at;
        svg.line((x, BARS_BOTTOM), (x, BARS_BOTTOM + 4.0), Line::Axis, r#"stroke-width="1""#);
    }
    svg.line((0.0, BARS_BOTTOM), (100.0, BARS_BOTTOM), Line::Axis, r#"stroke-width="1""#);
    let ink = r##"fill="#16191d""##;
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for tick in down.ticks() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &goal(tick.value));
        }
        if let Some(of_goal) = figures.asked.goal {
            svg.text("100%", y(of_goal) + 3.8, Anchor::Start, "ti", r##"dx="5" fill="#16191d""##, "goal");
        }
        for tick in &ticks {
            svg.text(
                &percent(100.0 * tick.at),
                BARS_BOTTOM + 14.0,
                Anchor::Middle,
                "",
                "",
                &rounded(tick.value),
            );
        }
        svg.text("0", 189.0, Anchor::Start, "ti", ink, "Buckets with that rate");
        svg.text("-6", BARS_TOP + 4.0, Anchor::End, "", "", &count(most as i64));
        svg.text("-6", BARS_BOTTOM + 3.0, Anchor::End, "", "", "0");
        svg.text("50%", 267.0, Anchor::Middle, "ti", ink, "offered, requests/s");
    });
    svg.into_text()
}
