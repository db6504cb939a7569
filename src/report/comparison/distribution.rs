//! The distributions of a metric on both sides.

use maud::{Markup, html};

use super::{PageInput, STROKES, Side, side_key};
use crate::query::compare::SCOPES;
use crate::report::figures::survey::OfEngine;
use crate::report::parts::{Drawing, source};
use crate::report::plot::{Distribution, Log, Svg, number};
use crate::report::words::{goal, share, short_duration};

fn sorted(values: &[OfEngine]) -> Vec<f32> {
    let mut values: Vec<f32> = values.iter().map(|(_, value)| *value).collect();
    values.sort_unstable_by(f32::total_cmp);
    values
}

pub(super) fn distribution(asked: &PageInput<'_>, sides: &[Side], at: usize) -> Markup {
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
    let frame = Distribution {
        scale: &scale,
        target: target_s.map(|target_s| (target_s, format!("SLO {}", short_duration(target_s)))),
        share: goal,
        value: short_duration,
    };
    let mut svg = Svg::default();
    frame.draw(&mut svg, |svg| {
        for ((values, (line, dashes)), name) in values.iter().zip(STROKES).zip(SCOPES) {
            if values.is_empty() {
                continue;
            }
            let place = |step: i32| {
                let point = scale.value(f64::from(step) / 100.0) * (1.0 + 1e-7);
                let below = values.partition_point(|value| f64::from(*value) <= point);
                Distribution::down(below as f64 / values.len() as f64)
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
    frame.label(&mut svg, |_| {});
    let within = sides.iter().zip(&values).zip(SCOPES).filter(|((_, values), _)| !values.is_empty()).map(
        |((side, values), name)| {
            format!("{name}: {} within", share(side.survey.within[at] as f64 / values.len() as f64))
        },
    );
    let within = if target_s.is_some() { within.collect::<Vec<_>>().join(", ") } else { String::new() };
    Drawing {
        id: ["cdf1", "cdf2"][at],
        title: &title,
        key: side_key(asked),
        height: Distribution::PICTURE,
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
