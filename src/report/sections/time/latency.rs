//! Latency and waits over time.

use maud::{Markup, html};

use super::buckets::{areas, bands, hits, lines};
use super::grid::Grid;
use crate::report::figures::Figures;
use crate::report::figures::series::{Bucket, Percentiles};
use crate::report::parts::{Drawing, key, key_area, key_line, source};
use crate::report::plot::{Curve, Line, Log, Panel, Panels, Rule, Scale, Tone};
use crate::report::words::{duration, plain, short_duration};

pub(super) fn figure(figures: &Figures, grid: &Grid) -> Markup {
    let slo = figures.targets();
    let mut panels = vec![
        percentile_panel(figures, "TTFT", "log axis", 112.0, slo.map(|slo| slo.ttft_s), |bucket| bucket.ttft),
        percentile_panel(
            figures,
            "TPOT",
            "time per output token, log axis",
            92.0,
            slo.map(|slo| slo.tpot_s),
            |bucket| bucket.tpot,
        ),
    ];
    let is_recorded = figures.series.stages != ["total"];
    for (at, stage) in figures.series.stages.iter().enumerate() {
        let (name, note) = if is_recorded {
            (format!("Wait for {stage}"), "p50 and p99, log axis")
        } else {
            ("Wait in all".to_owned(), "p50 and p99, log axis; by stage from release 0.6 on")
        };
        panels.push(wait_panel(figures, &name, note, at));
    }
    let picture = Panels {
        columns: &grid.columns,
        ticks: &grid.ticks,
        panels,
        hits: hits(figures, latency_told),
        lifetimes: grid.lifetimes.clone(),
    };
    let by = figures.axis.by();
    let mut entries = vec![
        key_line(Line::Ok, 2.0, "", "p50"),
        key_area(Tone::Ok, 0.3, "to p90"),
        key_line(Line::Away, 1.4, "", "p99"),
    ];
    entries.extend(slo.map(|_| key_line(Line::Slo, 1.3, "4 3", "SLO")));
    entries.push(key_area(Tone::Hatch, 1.0, "none to measure"));
    Drawing {
        id: "lat",
        title: "Latency of completed requests, and waits of all",
        key: key("", &entries),
        height: picture.height(),
        picture: picture.draw(|_, _| {}),
        caption: html! {
            "Each bucket’s own percentiles, by arrival, nearest rank. p90 is drawn from 10 requests in a bucket on, p99 from "
            "100. A wait of zero lies on the lower edge. "
            (source(&[&format!("query latency {by}"), &format!("query queue-waits {by}")]))
        },
        above: false,
    }
    .markup()
}

fn percentile_panel(
    figures: &Figures,
    name: &str,
    note: &str,
    height: f64,
    target_s: Option<f64>,
    of: impl Fn(&Bucket) -> Percentiles,
) -> Panel {
    let values = || figures.series.buckets.iter().map(&of);
    let all = values().flat_map(|found| [found.p50, found.p90, found.p99]).flatten();
    let title = name.to_owned();
    let is_any = values().any(|found| found.n > 0);
    let Some(scale) = Log::of(all.chain(target_s.filter(|_| is_any)), 4).filter(|_| is_any) else {
        let words = Some(format!("none: no request has a {name}"));
        return Panel { title, height: 24.0, words, ..Panel::default() };
    };
    let down = |value: f64| scale.down(value, height);
    let place = |value: Option<f64>| value.map(down);
    let curves = vec![
        Curve::area(Tone::Ok, 0.28, areas(figures, |b| place(of(b).p90), |b| place(of(b).p50))),
        Curve::line(Line::Away, 1.4, lines(figures, |bucket| place(of(bucket).p99))),
        Curve::line(Line::Ok, 2.0, lines(figures, |bucket| place(of(bucket).p50))),
    ];
    let last = |read: fn(&Percentiles) -> Option<f64>| {
        figures.series.buckets.iter().rev().find_map(|bucket| read(&of(bucket)))
    };
    let mut names = Vec::new();
    for (name, value) in [("p50", last(|f| f.p50)), ("p90", last(|f| f.p90)), ("p99", last(|f| f.p99))] {
        names.extend(value.map(|value| (down(value), name.to_owned(), false)));
    }
    names.extend(target_s.map(|target_s| (down(target_s), "SLO".to_owned(), true)));
    Panel {
        title,
        note: note.to_owned(),
        height,
        ticks: scale.ticks().iter().map(|tick| (down(tick.value), short_duration(tick.value))).collect(),
        curves,
        hatched: bands(figures, |bucket| of(bucket).n == 0),
        rules: target_s
            .map(|target_s| Rule { y: down(target_s), line: Line::Slo, is_dashed: true })
            .into_iter()
            .collect(),
        names,
        words: None,
    }
}

fn wait_panel(figures: &Figures, name: &str, note: &str, stage: usize) -> Panel {
    const HEIGHT: f64 = 46.0;
    let of = |bucket: &Bucket| bucket.waits.get(stage).copied().unwrap_or_default();
    let all = figures.series.buckets.iter().flat_map(|bucket| [of(bucket).p50, of(bucket).p99]).flatten();
    let title = name.to_owned();
    let is_any = figures.series.buckets.iter().any(|bucket| of(bucket).n > 0);
    // Where every wait was 0 there is a line on the lower edge, on any scale.
    let scale = Log::of(all, 3).or_else(|| Log::of([1e-3, 1.0].into_iter(), 3));
    let Some(scale) = scale.filter(|_| is_any) else {
        return Panel { title, height: 24.0, words: Some("none recorded".to_owned()), ..Panel::default() };
    };
    let down = |value: f64| scale.down(value, HEIGHT);
    let last = |read: fn(&Percentiles) -> Option<f64>| {
        figures.series.buckets.iter().rev().find_map(|bucket| read(&of(bucket)))
    };
    let names = [("p50", last(|found| found.p50)), ("p99", last(|found| found.p99))];
    Panel {
        title,
        note: note.to_owned(),
        height: HEIGHT,
        ticks: scale.ticks().iter().map(|tick| (down(tick.value), short_duration(tick.value))).collect(),
        curves: vec![
            Curve::line(Line::Away, 1.4, lines(figures, |bucket| of(bucket).p99.map(down))),
            Curve::line(Line::Ok, 2.0, lines(figures, |bucket| of(bucket).p50.map(down))),
        ],
        hatched: bands(figures, |bucket| of(bucket).n == 0),
        names: names
            .into_iter()
            .filter_map(|(name, value)| Some((down(value?), name.to_owned(), false)))
            .collect(),
        ..Panel::default()
    }
}

fn latency_told(figures: &Figures, bucket: &Bucket) -> String {
    let mut lines = Vec::new();
    for (name, found) in [("TTFT", &bucket.ttft), ("TPOT", &bucket.tpot)] {
        let Some(p50) = found.p50 else {
            lines.push(format!("no {name}"));
            continue;
        };
        let p90 = found.p90.map_or_else(String::new, |p90| format!(", p90 {}", duration(p90)));
        let p99 = found.p99.map_or_else(String::new, |p99| format!(", p99 {}", duration(p99)));
        lines.push(format!("{name} p50 {}{p90}{p99} (n {})", duration(p50), found.n));
    }
    let waits = figures.series.stages.iter().zip(&bucket.waits);
    let waits: Vec<String> = waits
        .filter_map(|(stage, found)| Some(format!("{stage} {}", duration(found.p99.or(found.p50)?))))
        .collect();
    if !waits.is_empty() {
        let which = if bucket.waits.iter().any(|found| found.p99.is_some()) { "p99" } else { "p50" };
        lines.push(format!("waits {which}: {}", waits.join(", ")));
    }
    plain(&lines.join("\n"))
}
