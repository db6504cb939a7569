//! The distributions of a metric on both sides.

use maud::{Markup, html};

use super::{Asked, HEIGHT, STROKES, Side, side_key};
use crate::query::compare::SCOPES;
use crate::report::figures::survey::OfEngine;
use crate::report::parts::{Figure, source};
use crate::report::plot::{Anchor, Line, Log, Scale, Svg, Tone, number, percent};
use crate::report::words::{goal, share, short_duration};

const TOP: f64 = 18.0;

fn sorted(values: &[OfEngine]) -> Vec<f32> {
    let mut values: Vec<f32> = values.iter().map(|(_, value)| *value).collect();
    values.sort_unstable_by(f32::total_cmp);
    values
}

pub(super) fn distribution(asked: &Asked<'_>, sides: &[Side], at: usize) -> Markup {
    let metric = ["TTFT", "TPOT"][at];
    let title = format!("{metric} of completed requests");
    let values: Vec<Vec<f32>> = sides
        .iter()
        .map(|side| sorted(if at == 0 { &side.survey.ttft } else { &side.survey.tpot }))
        .collect();
    let target_s = asked.targets.map(|slo| if at == 0 { slo.ttft_s } else { slo.tpot_s });
    let ends = values.iter().flat_map(|values| [values.get(values.len() / 1000), values.last()]).flatten();
    let Some(scale) = Log::of(ends.map(|value| f64::from(*value)).chain(target_s), 8) else {
        return html! { h3 { (title) } p.note { "None: no completed request has a " (metric) "." } };
    };
    let bottom = TOP + HEIGHT;
    let ticks = scale.ticks();
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, TOP, HEIGHT, Tone::Plot);
    let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, bottom - HEIGHT * part));
    svg.group(Line::Grid.stroke(), |svg| {
        for (_, y) in quarters {
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
        for tick in &ticks {
            let x = percent(100.0 * tick.at);
            svg.raw(&format!(r#"<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>"#));
        }
    });
    svg.nested((0.0, 100.0), (TOP, HEIGHT), (1000.0, HEIGHT), |svg| {
        for ((values, (line, dashes)), name) in values.iter().zip(STROKES).zip(SCOPES) {
            if values.is_empty() {
                continue;
            }
            let place = |step: i32| {
                let point = scale.value(f64::from(step) / 100.0) * (1.0 + 1e-7);
                let below = values.partition_point(|value| f64::from(*value) <= point);
                HEIGHT * (1.0 - below as f64 / values.len() as f64)
            };
            let points: Vec<String> =
                (0..=100).map(|step| format!("{} {}", step * 10, number(place(step), 1))).collect();
            let attributes = format!(
                r#"{} stroke-width="2.2"{dashes} fill="none" vector-effect="non-scaling-stroke""#,
                line.stroke()
            );
            svg.path(
                &format!("M{}", points.join("L")),
                &attributes,
                Some(&format!("{name}: {} values", values.len())),
            );
        }
    });
    if let Some(target_s) = target_s {
        let x = 100.0 * scale.at(target_s);
        svg.line((x, TOP), (x, bottom), Line::Slo, r#"stroke-width="1.4" stroke-dasharray="4 3""#);
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (part, y) in quarters {
            svg.text("-6", y + 3.8, Anchor::End, "", "", &goal(part));
        }
        for (at, tick) in ticks.iter().enumerate() {
            let class = if at % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(100.0 * tick.at),
                bottom + 14.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(tick.value),
            );
        }
        if let Some(target_s) = target_s {
            let x = 100.0 * scale.at(target_s);
            let anchor = if x > 50.0 { Anchor::End } else { Anchor::Start };
            let text = format!("SLO {}", short_duration(target_s));
            svg.text(&percent(x), 12.0, anchor, "ti", r##"fill="#16191d" font-weight="600""##, &text);
        }
    });
    let within = sides.iter().zip(&values).zip(SCOPES).filter(|((_, values), _)| !values.is_empty()).map(
        |((side, values), name)| {
            format!("{name}: {} within", share(side.survey.within[at] as f64 / values.len() as f64))
        },
    );
    let within = if target_s.is_some() { within.collect::<Vec<_>>().join(", ") } else { String::new() };
    Figure {
        id: ["cdf1", "cdf2"][at],
        title: &title,
        key: side_key(asked),
        height: bottom + 20.0,
        picture: svg.into_text(),
        caption: html! {
            "Share of requests at or below; log axis. "
            @if !within.is_empty() { "The SLO: " (within) ". " }
            "Asked of each side by itself. " (source(&["query latency --by all"]))
        },
        above: false,
    }
    .markup()
}
