//! The cumulative distribution of a metric, with a line for each engine.

use maud::{Markup, html};

use super::{METRICS, NAMES};
use crate::report::figures::Figures;
use crate::report::figures::fleet::natural;
use crate::report::figures::survey::OfEngine;
use crate::report::parts::{Drawing, dense, details, key, key_line, source};
use crate::report::plot::{Anchor, Distribution, Line, Log, Scale, Svg, number, percent};
use crate::report::words;
use crate::report::words::{count, duration, maybe_duration, plain, share, short_duration};

/// Engines with fewer values have no line, and so many have one.
const FEWEST: usize = 100;
const MOST_LINES: usize = 24;

/// The cumulative distribution of a metric, with a line for each engine.
pub(super) fn distribution(figures: &Figures, at: usize) -> Markup {
    let values = if at == 0 { &figures.survey.ttft } else { &figures.survey.tpot };
    let title = format!("{} of completed requests", NAMES[at]);
    let id = ["cdf1", "cdf2"][at];
    let mut sorted: Vec<f32> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let low = sorted.get(sorted.len() / 1000).copied().map(f64::from);
    let high = sorted.last().copied().map(f64::from);
    let target_s = figures.targets().map(|slo| if at == 0 { slo.ttft_s } else { slo.tpot_s });
    let scale = low.zip(high).and_then(|(low, high)| Log::of([low, high].into_iter().chain(target_s), 8));
    let Some(scale) = scale else {
        return html! { h3 { (title) } p.note { "None: no completed request has a " (NAMES[at]) "." } };
    };
    let points = points(&scale);
    let all = counts(&sorted, &points);
    let lines = engine_lines(figures, at, values, &points);
    let picture = picture(figures, at, &scale, (&all, sorted.len()), &lines, target_s);
    let role = ["prefill", "decode"][at];
    let mut entries = vec![key_line(Line::Ok, 2.4, "", "all")];
    if lines.iter().any(|line| !line.is_worst) {
        entries.push(key_line(Line::Off, 1.0, "", &format!("each {role} engine")));
    }
    if let Some(worst) = lines.iter().find(|line| line.is_worst) {
        let name = format!("{}, the largest p99", words::outside(&worst.name, words::ENGINE));
        entries.push(key_line(Line::Away, 1.8, "5 2", &name));
    }
    let left_out = engines_with_values(figures, at).saturating_sub(lines.len());
    let figure = Drawing {
        id,
        title: &title,
        key: key("", &entries),
        height: Distribution::PICTURE,
        picture,
        caption: html! {
            "Share of " (count(sorted.len() as i64)) " requests at or below; log axis. Engines with " (FEWEST)
            " requests or more have a line"
            @if left_out > 0 { ", " (MOST_LINES) " at most; " (left_out) " have none" }
            ". " (source(&["query latency --by all", "query engine-latency --by all"]))
        },
        above: false,
    };
    html! { (figure.markup()) (details("Percentiles behind this plot", behind(figures, at))) }
}

/// 101 points even in the logarithm.
fn points(scale: &Log) -> Vec<f64> {
    (0..=100).map(|step| scale.value(f64::from(step) / 100.0)).collect()
}

/// How many of sorted values lie at or below each point.
fn counts(sorted: &[f32], points: &[f64]) -> Vec<usize> {
    points
        .iter()
        .map(|point| sorted.partition_point(|value| f64::from(*value) <= point * (1.0 + 1e-7)))
        .collect()
}

/// The line of an engine.
struct EngineLine {
    name: String,
    n: usize,
    p50: Option<f64>,
    p99: Option<f64>,
    counts: Vec<usize>,
    is_worst: bool,
}

fn engines_with_values(figures: &Figures, at: usize) -> usize {
    figures.engines.roles[at].iter().filter(|engine| engine.n > 0).count()
}

fn engine_lines(figures: &Figures, at: usize, values: &[OfEngine], points: &[f64]) -> Vec<EngineLine> {
    let mut of_engine = vec![Vec::new(); figures.survey.engines.len()];
    for (engine, value) in values {
        if let Some(values) = of_engine.get_mut(*engine as usize) {
            values.push(*value);
        }
    }
    let mut order: Vec<usize> =
        (0..of_engine.len()).filter(|engine| of_engine[*engine].len() >= FEWEST).collect();
    order.sort_by_key(|engine| std::cmp::Reverse(of_engine[*engine].len()));
    order.truncate(MOST_LINES);
    let mut lines: Vec<EngineLine> = order
        .into_iter()
        .filter_map(|engine| {
            let name = figures.names.get(engine)?.clone();
            let known = figures.engines.roles[at].iter().find(|known| known.name == name)?;
            let mut sorted = std::mem::take(&mut of_engine[engine]);
            sorted.sort_unstable_by(f32::total_cmp);
            let counts = counts(&sorted, points);
            Some(EngineLine {
                name,
                n: sorted.len(),
                p50: known.p50,
                p99: known.p99,
                counts,
                is_worst: false,
            })
        })
        .collect();
    if lines.len() > 1 {
        let worst = lines.iter_mut().max_by(|one, other| {
            one.p99
                .unwrap_or(0.0)
                .total_cmp(&other.p99.unwrap_or(0.0))
                .then_with(|| natural(&other.name, &one.name))
        });
        if let Some(worst) = worst {
            worst.is_worst = true;
        }
    }
    // The worst one lies over the others.
    lines.sort_by_key(|line| line.is_worst);
    lines
}

/// A path through the shares at each point, thinned where it hardly bends. In steps of tenths of a pixel, which are half as
/// long to write as places: a page has dozens of these.
fn path(counts: &[usize], n: usize) -> String {
    let tenths = |at: usize| (10.0 * Distribution::down(counts[at] as f64 / n.max(1) as f64)).round() as i64;
    let pixels = |tenths: i64| number(tenths as f64 / 10.0, 1);
    let mut drawn = (0, tenths(0));
    let mut d = format!("M0 {}", pixels(drawn.1));
    for at in 1..counts.len() {
        let (across, down) = (10 * (at - drawn.0), tenths(at) - drawn.1);
        if down.abs() >= 4 || at + 1 == counts.len() {
            let before = if drawn.0 == 0 { "l" } else { " " };
            let between = if down < 0 { "" } else { " " };
            d.push_str(&format!("{before}{across}{between}{}", pixels(down)));
            drawn = (at, tenths(at));
        }
    }
    d
}

fn picture(
    figures: &Figures,
    at: usize,
    scale: &Log,
    (all, n): (&[usize], usize),
    lines: &[EngineLine],
    target_s: Option<f64>,
) -> String {
    let target = target_s.map(|target_s| {
        let within = figures.survey.within[at] as f64 / n.max(1) as f64;
        (target_s, format!("SLO {}: {} within", short_duration(target_s), share(within)))
    });
    let frame = Distribution { scale, target, share: words::goal, value: short_duration };
    let mut svg = Svg::default();
    frame.draw(&mut svg, |svg| {
        let line = |line: Line, more: &str| {
            format!(r#"{} {more} fill="none" vector-effect="non-scaling-stroke""#, line.stroke())
        };
        for engine in lines {
            let attributes = if engine.is_worst {
                line(Line::Away, r#"stroke-width="1.8" stroke-dasharray="5 2""#)
            } else {
                line(Line::Off, r#"stroke-width="1" stroke-opacity=".55""#)
            };
            let title = format!(
                "{}: n {}, p50 {}, p99 {}",
                words::outside(&engine.name, words::ID),
                count(engine.n as i64),
                maybe_duration(engine.p50),
                maybe_duration(engine.p99)
            );
            svg.path(&path(&engine.counts, engine.n), &attributes, Some(&plain(&title)));
        }
        svg.path(&path(all, n), &line(Line::Ok, r#"stroke-width="2.4""#), Some("all engines"));
    });
    let row = figures.all.find("latency", "metric", METRICS[at]);
    let marks = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)]
        .into_iter()
        .filter_map(|(name, part)| Some((name, part, row.and_then(|row| row.real(name))?)))
        .collect::<Vec<_>>();
    for (_, part, value) in &marks {
        let dot = r##"class="f-ok lbg" fill="#1f66b0" stroke="#fff""##;
        svg.dot(100.0 * scale.at(*value), Distribution::y(*part), 3.5, dot, None);
    }
    frame.label(&mut svg, |svg| {
        let mut last_y = f64::NEG_INFINITY;
        for (name, part, value) in marks.iter().rev() {
            let x = 100.0 * scale.at(*value);
            let y = (Distribution::y(*part) + 14.0).max(last_y + 12.0);
            last_y = y;
            let (anchor, dx) = if x > 75.0 { (Anchor::End, "-8") } else { (Anchor::Start, "7") };
            let more = format!(r##"dx="{dx}" fill="#16191d""##);
            svg.text(&percent(x), y, anchor, "ti halo", &more, &format!("{name} {}", duration(*value)));
        }
    });
    svg.into_text()
}

/// The numbers of a distribution.
fn behind(figures: &Figures, at: usize) -> Markup {
    let heads = [("Of", true), ("n", false), ("p50", false), ("p90", false), ("p99", false), ("max", false)];
    let mut rows = Vec::new();
    if let Some(row) = figures.all.find("latency", "metric", METRICS[at]) {
        let value = |column: &str| maybe_duration(row.real(column));
        rows.push(vec![
            "all".to_owned(),
            count(row.int("n")),
            value("p50"),
            value("p90"),
            value("p99"),
            value("max"),
        ]);
    }
    let engines = figures.all.rows("engine-latency").filter(|row| row.text("metric") == METRICS[at]);
    for row in engines.take(crate::report::figures::fleet::ENGINE_ROWS) {
        let value = |column: &str| maybe_duration(row.real(column));
        let name = words::outside(&row.text("engine"), words::ENGINE);
        rows.push(vec![name, count(row.int("n")), value("p50"), value("p90"), value("p99"), value("max")]);
    }
    dense(&heads, rows.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_path_end_at_its_places() {
        let counts = [0, 0, 1, 1, 3, 7, 7, 8];
        let d = path(&counts, 8);
        let (from, steps) = d.split_once('l').expect("a path with steps");
        let mut place = from.strip_prefix("M0 ").and_then(|y| y.parse::<f64>().ok()).expect("a place");
        let mut x = 0;
        assert!((place - Distribution::down(0.0)).abs() < 0.05);
        for step in steps.split(' ') {
            let (across, up) = step.split_once('-').expect("a curve that only rises");
            x += across.parse::<usize>().expect("a width");
            place -= up.parse::<f64>().expect("a height");
            assert!((place - Distribution::down(counts[x / 10] as f64 / 8.0)).abs() < 0.06, "{d} at {x}");
        }
        assert_eq!(x, 70);
    }
}
