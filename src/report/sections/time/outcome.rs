//! Attainment, load and losses over time.

use maud::{Markup, html};

use super::buckets::{areas, bands, hits, lines};
use super::grid::Grid;
use crate::report::figures::Figures;
use crate::report::figures::series::Bucket;
use crate::report::parts::{Drawing, key, key_area, key_line, key_tone, source};
use crate::report::plot::{Curve, Line, Linear, Panel, Panels, Rule, Scale, Tone, attainment_floor};
use crate::report::words;
use crate::report::words::{goal, plain, rate, share};

const AWAY: [Tone; 4] = [Tone::Away, Tone::Away2, Tone::Away3, Tone::Away4];
const FAILED: [Tone; 3] = [Tone::Bad, Tone::Bad2, Tone::Bad3];

fn layer_tone(tones: &[Tone], at: usize, is_rest: bool) -> Tone {
    tones.get(at).copied().filter(|_| !is_rest).unwrap_or(Tone::Off2)
}

pub(super) fn figure(figures: &Figures, grid: &Grid) -> Markup {
    let mut panels = Vec::new();
    if figures.targets().is_some() {
        panels.push(attainment_panel(figures));
    }
    panels.push(rate_panel(figures));
    panels.push(stack_panel(figures));
    let picture = Panels {
        columns: &grid.columns,
        ticks: &grid.ticks,
        panels,
        hits: hits(figures, outcome_told),
        lifetimes: grid.lifetimes.clone(),
    };
    let mut keys = vec![];
    if figures.targets().is_some() {
        let mut entries = vec![
            key_line(Line::Ok, 2.0, "", "of scored requests"),
            key_area(Tone::Ok, 0.22, "its 95\u{a0}% interval"),
        ];
        entries.extend(
            figures.asked.goal.map(|of| key_line(Line::Slo, 1.3, "4 3", &format!("goal {}", goal(of)))),
        );
        entries.push(key_area(Tone::Hatch, 1.0, "no requests"));
        keys.push(key("Attainment", &entries));
    }
    keys.push(key("Rate", &[key_line(Line::Ink, 1.6, "", "offered"), key_area(Tone::Ok, 0.35, "completed")]));
    let layers = |layers: &[crate::report::figures::series::Layer], tones: &[Tone]| -> Vec<Markup> {
        let tone = |at: usize| layer_tone(tones, at, layers[at].is_rest);
        layers
            .iter()
            .enumerate()
            .map(|(at, layer)| key_tone(tone(at), &words::outside(&layer.name, 48)))
            .collect()
    };
    if !figures.series.away.is_empty() {
        keys.push(key("Turned away", &layers(&figures.series.away, &AWAY)));
    }
    if !figures.series.failed.is_empty() {
        keys.push(key("Failed", &layers(&figures.series.failed, &FAILED)));
    }
    let by = figures.axis.by();
    let width = figures.axis.bucket_s;
    let sources = if figures.axis.is_wall {
        vec![format!("query attainment {by}"), format!("query outcomes {by}"), format!("query refusals {by}")]
    } else {
        vec![
            format!("query attainment {by}"),
            format!("query throughput --bucket {width}"),
            format!("query outcomes {by}"),
            format!("query refusals {by}"),
        ]
    };
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    Drawing {
        id: "out",
        title: "Attainment, load and losses",
        key: html! { @for key in keys { (key) } },
        height: picture.height(),
        picture: picture.draw(|_, _| {}),
        caption: html! {
            "Hatched: no requests, so there is no attainment; that is not zero. "
            @if figures.axis.is_wall { "Offered and completed by arrival. " } @else { "Offered by arrival, completed by end. " }
            "The last bucket of a run is divided by its whole width. "
            (source(&sources)) " Where failed requests were: their last recorded attempt."
        },
        above: false,
    }
    .markup()
}

fn attainment_panel(figures: &Figures) -> Panel {
    const HEIGHT: f64 = 120.0;
    let scored = figures.series.buckets.iter().filter(|bucket| bucket.scored > 0);
    let lows = scored.filter_map(|bucket| bucket.interval.map(|(low, _)| low));
    let low = lows.chain(figures.asked.goal).fold(1.0, f64::min);
    let floor = attainment_floor(low);
    let scale = Linear::between(floor, 1.0);
    let down = |value: f64| scale.down(value, HEIGHT);
    let note = if floor > 0.0 {
        format!("share of scored requests, axis from {}", goal(floor))
    } else {
        "share of scored requests".to_owned()
    };
    Panel {
        title: "Attainment".to_owned(),
        note,
        height: HEIGHT,
        ticks: scale.ticks().iter().map(|tick| (down(tick.value), goal(tick.value))).collect(),
        curves: vec![
            Curve::area(
                Tone::Ok,
                0.22,
                areas(
                    figures,
                    |b| b.interval.map(|ends| down(ends.1)),
                    |b| b.interval.map(|ends| down(ends.0)),
                ),
            ),
            Curve::line(Line::Ok, 1.8, lines(figures, |bucket| bucket.attainment.map(down))),
        ],
        hatched: bands(figures, |bucket| bucket.attainment.is_none()),
        rules: figures
            .asked
            .goal
            .map(|of| Rule { y: down(of), line: Line::Slo, is_dashed: true })
            .into_iter()
            .collect(),
        names: figures.asked.goal.map(|of| (down(of), "goal".to_owned(), true)).into_iter().collect(),
        words: None,
    }
}

fn rate_panel(figures: &Figures) -> Panel {
    const HEIGHT: f64 = 84.0;
    let largest =
        figures.series.buckets.iter().flat_map(|bucket| [bucket.offered_per_s, bucket.completed_per_s]);
    let largest = largest.fold(0.0, f64::max);
    // Slow traffic is counted by the hour.
    let (unit, by) = if largest < 0.1 { ("requests/h", 3600.0) } else { ("requests/s", 1.0) };
    let scale = Linear::to(largest * by);
    let down = |per_s: f64| scale.down(per_s * by, HEIGHT);
    let which =
        if figures.axis.is_wall { "by arrival" } else { "by arrival (offered) and by end (completed)" };
    Panel {
        title: "Rate".to_owned(),
        note: format!("{unit}, {which}"),
        height: HEIGHT,
        ticks: scale
            .ticks()
            .iter()
            .map(|tick| (scale.down(tick.value, HEIGHT), crate::text::rounded(tick.value)))
            .collect(),
        curves: vec![
            Curve::area(Tone::Ok, 0.35, areas(figures, |b| Some(down(b.completed_per_s)), |_| Some(HEIGHT))),
            Curve::line(Line::Ink, 1.5, lines(figures, |bucket| Some(down(bucket.offered_per_s)))),
        ],
        ..Panel::default()
    }
}

/// Turned away upwards, failed downwards, on one scale.
fn stack_panel(figures: &Figures) -> Panel {
    const HEIGHT: f64 = 104.0;
    let sum = |counts: &[i64]| counts.iter().sum::<i64>() as f64;
    let most =
        |of: fn(&Bucket) -> &Vec<i64>| figures.series.buckets.iter().map(|b| sum(of(b))).fold(0.0, f64::max);
    let (up, down) = (most(|bucket| &bucket.away), most(|bucket| &bucket.failed));
    let title = "Turned away ▲ and failed ▼".to_owned();
    if up + down == 0.0 {
        let words = Some("none: no request was turned away, none failed".to_owned());
        return Panel { title, height: 24.0, words, ..Panel::default() };
    }
    let scale = Linear::counts_to(up.max(down));
    let fit = |most: f64| if most == 0.0 { 0.0 } else { 1.05 * most };
    let unit = HEIGHT / (fit(up) + fit(down));
    let base = fit(up) * unit;
    let mut ticks = vec![(base, "0".to_owned())];
    let step = scale.step();
    let last = |most: f64| (fit(most) / step).floor() as usize;
    let label = |number: usize| words::count((number as f64 * step) as i64);
    ticks.extend((1..=last(up)).map(|number| (base - number as f64 * step * unit, label(number))));
    ticks.extend((1..=last(down)).map(|number| (base + number as f64 * step * unit, label(number))));
    let mut curves = Vec::new();
    let reach = |counts: &[i64], layers: usize| sum(&counts[..layers.min(counts.len())]) * unit;
    let paths = |layers: usize, is_up: bool| {
        let place = move |bucket: &Bucket| {
            if is_up { base - reach(&bucket.away, layers) } else { base + reach(&bucket.failed, layers) }
        };
        areas(figures, move |bucket| Some(place(bucket)), |_| Some(base))
    };
    for at in (0..figures.series.away.len()).rev() {
        let tone = layer_tone(&AWAY, at, figures.series.away[at].is_rest);
        curves.push(Curve::area(tone, 1.0, paths(at + 1, true)));
    }
    if up > 0.0 {
        let top = |bucket: &Bucket| Some(reach(&bucket.away, usize::MAX)).filter(|reach| *reach > 0.0);
        curves.push(Curve::line(
            Line::Away,
            0.8,
            lines(figures, |bucket| top(bucket).map(|reach| base - reach)),
        ));
    }
    for at in (0..figures.series.failed.len()).rev() {
        let tone = layer_tone(&FAILED, at, figures.series.failed[at].is_rest);
        curves.push(Curve::area(tone, 1.0, paths(at + 1, false)));
    }
    if down > 0.0 {
        let low = |bucket: &Bucket| Some(reach(&bucket.failed, usize::MAX)).filter(|reach| *reach > 0.0);
        curves.push(Curve::line(
            Line::Bad,
            0.8,
            lines(figures, |bucket| low(bucket).map(|reach| base + reach)),
        ));
    }
    Panel {
        title,
        note: "requests in the bucket".to_owned(),
        height: HEIGHT,
        ticks,
        curves,
        rules: vec![Rule { y: base, line: Line::Axis, is_dashed: false }],
        ..Panel::default()
    }
}

fn outcome_told(figures: &Figures, bucket: &Bucket) -> String {
    let mut lines = Vec::new();
    if figures.targets().is_some() {
        lines.push(match (bucket.attainment, bucket.interval) {
            (Some(attainment), Some((low, high))) => format!(
                "{} met, {} of {} ({:.1} to {:.1})",
                share(attainment),
                bucket.met,
                bucket.scored,
                100.0 * low,
                100.0 * high
            ),
            _ => "nothing scored".to_owned(),
        });
    }
    lines.push(format!("offered {}, completed {}", rate(bucket.offered_per_s), rate(bucket.completed_per_s)));
    let listed = |counts: &[i64], layers: &[crate::report::figures::series::Layer]| -> String {
        let named = counts.iter().zip(layers).filter(|(count, _)| **count > 0);
        let short =
            |name: &str| words::outside(name.trim_start_matches("refused: ").trim_start_matches("in "), 32);
        named.map(|(count, layer)| format!("{} {count}", short(&layer.name))).collect::<Vec<_>>().join(", ")
    };
    for (name, counts, layers) in
        [("away", &bucket.away, &figures.series.away), ("failed", &bucket.failed, &figures.series.failed)]
    {
        let listed = listed(counts, layers);
        if !listed.is_empty() {
            lines.push(format!("{name}: {listed}"));
        }
    }
    plain(&lines.join("\n"))
}
