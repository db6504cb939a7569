//! Attainment by offered rate of both sides.

use maud::{Markup, html};

use super::{BUCKET_S, PageInput, STROKES, Side, side_key};
use crate::query::answer::Answer;
use crate::query::compare::SCOPES;
use crate::report::parts::{Drawing, dense, details, source};
use crate::report::plot::{Anchor, Line, Linear, Scale, Svg, Tone, attainment_floor, number, percent};
use crate::report::words;
use crate::report::words::{count, goal, share};

const HEIGHT: f64 = 190.0;

/// Attainment by offered rate of both sides.
pub(super) fn curves(asked: &PageInput<'_>, sides: &[Side], band: f64) -> Markup {
    let title = "Attainment against offered rate";
    let bands: Vec<Vec<(f64, f64, i64, i64)>> = sides
        .iter()
        .map(|side| {
            let rows = side.goodput.iter().flat_map(Answer::rows);
            rows.filter_map(|row| {
                Some((row.real("rate_from")?, row.real("attainment")?, row.int("buckets"), row.int("scored")))
            })
            .collect()
        })
        .collect();
    let all = || bands.iter().flatten();
    if all().next().is_none() {
        return html! { h3 { (title) } p.note { "None: no minute is wholly selected and has a scored request." } };
    }
    let top = all().map(|(from, ..)| from + band).fold(0.0, f64::max);
    let floor = attainment_floor(all().map(|(_, attainment, ..)| *attainment).fold(1.0, f64::min));
    let (down, across) = (Linear::between(floor, 1.0), Linear::exactly_to(top));
    let y = |value: f64| down.down(value, HEIGHT);
    let x = |from: f64| 100.0 * (from + 0.5 * band) / top;
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, 0.0, HEIGHT, Tone::Plot);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in down.ticks() {
            let y = number(y(tick.value), 1);
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
    });
    for ((bands, (line, dashes)), name) in bands.iter().zip(STROKES).zip(SCOPES) {
        let points: Vec<String> = bands
            .iter()
            .map(|(from, attainment, ..)| {
                format!("{} {}", number(10.0 * x(*from), 1), number(y(*attainment), 1))
            })
            .collect();
        svg.nested((0.0, 100.0), (0.0, HEIGHT), (1000.0, HEIGHT), |svg| {
            if points.len() > 1 {
                let attributes = format!(
                    r#"{} stroke-width="1.6"{dashes} fill="none" vector-effect="non-scaling-stroke""#,
                    line.stroke()
                );
                svg.path(&format!("M{}", points.join("L")), &attributes, None);
            }
        });
        for (from, attainment, buckets, scored) in bands {
            let told = words::plain(&format!(
                "{name}: {} to {} requests/s: {} of {} scored met, in {} minutes",
                crate::text::rounded(*from),
                crate::text::rounded(from + band),
                share(*attainment),
                count(*scored),
                buckets
            ));
            let tone = if name == SCOPES[0] { Tone::Ok } else { Tone::Away };
            let radius = if *buckets >= 3 { 4.0 } else { 2.5 };
            svg.dot(x(*from), y(*attainment), radius, tone.fill(), Some(&told));
        }
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for tick in down.ticks() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &goal(tick.value));
        }
        for tick in across.ticks() {
            svg.text(
                &percent(100.0 * tick.at),
                HEIGHT + 14.0,
                Anchor::Middle,
                "",
                "",
                &crate::text::rounded(tick.value),
            );
        }
        svg.text("50%", HEIGHT + 28.0, Anchor::Middle, "ti", r##"fill="#16191d""##, "offered, requests/s");
    });
    let figure = Drawing {
        id: "good",
        title,
        key: side_key(asked),
        height: HEIGHT + 34.0,
        picture: svg.into_text(),
        caption: html! {
            "Bands of " (crate::text::rounded(band)) " requests/s over minutes from each run’s zero; small dots: fewer than three "
            "minutes. Asked of each side by itself. " (source(&[&format!("query goodput --by all --bucket {BUCKET_S} --band {}", crate::text::rounded(band))]))
        },
        above: false,
    };
    let heads = [
        ("Side", true),
        ("Requests/s from", false),
        ("Minutes", false),
        ("Scored", false),
        ("Attainment", false),
    ];
    let rows = bands.iter().zip(SCOPES).flat_map(|(bands, name)| {
        bands.iter().map(move |(from, attainment, buckets, scored)| {
            vec![
                name.to_owned(),
                crate::text::rounded(*from),
                count(*buckets),
                count(*scored),
                share(*attainment),
            ]
        })
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}
