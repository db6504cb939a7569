//! What happened when: attainment, load and losses; latency and waits; the fleet; and the numbers behind them.

use maud::{Markup, html};

use super::fleet;
use crate::report::figures::Figures;
use crate::report::figures::axis::MOST_COLUMNS;
use crate::report::figures::series::{Bucket, Percentiles};
use crate::report::parts::{Figure, dense, details, key, key_area, key_line, key_tone, section, source};
use crate::report::plot::{
    Band, Column, Curve, Head, Hit, Labels, Line, Linear, Log, Panel, Panels, Rule, Scale, Span, TimeTick,
    Tone, area, attainment_floor, stepped, time_ticks,
};
use crate::report::words::{self, Moment, duration, goal, many, plain, rate, share, short_duration};

/// The columns of all figures over time, and their ticks.
pub(super) struct Grid {
    pub columns: Vec<Column>,
    pub ticks: Vec<TimeTick>,
    /// On an axis of wall time: from, to in percent, and which run.
    pub lifetimes: Vec<(f64, f64, String)>,
}

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    if figures.axis.columns.is_empty() {
        let why =
            "No run of the selection says when anything happened, so there is nothing to draw over time.";
        return section("time", "Over time", html! { p.lead { (why) } });
    }
    let grid = grid(figures);
    section(
        "time",
        "Over time",
        html! {
            p.lead { (lead(figures)) }
            (outcome(figures, &grid))
            (latency(figures, &grid))
            (fleet::markup(figures, &grid))
            (table(figures))
        },
    )
}

fn lead(figures: &Figures) -> String {
    let axis = &figures.axis;
    let mut text = if axis.is_wall {
        format!("Buckets of {} of wall time, UTC, all runs together", axis.width())
    } else if axis.columns.len() == 1 {
        format!("Buckets of {} from the run’s zero", axis.width())
    } else {
        format!("Buckets of {} from each run’s zero, one column a run, all on one scale", axis.width())
    };
    text.push_str(". Point at a plot for the numbers of a bucket.");
    if let Some(asked_s) = axis.raised_from_s {
        text.push_str(&format!(" Buckets of {} would have been more than 720.", words::width(asked_s)));
    }
    if axis.dropped > 0 && axis.is_wall {
        let runs = many(axis.dropped, "run", "runs");
        text.push_str(&format!(
            " {runs} without a wall time cannot be laid beside the others and are in the totals only."
        ));
    } else if axis.dropped > 0 {
        let runs = many(axis.dropped, "earlier run", "earlier runs");
        text.push_str(&format!(" The latest {MOST_COLUMNS} runs are drawn; {runs} are in the totals only."));
    }
    text.push_str(&bases(figures));
    text
}

/// What the wall times rest on, where that is not sure.
fn bases(figures: &Figures) -> String {
    let of = |basis: &str| figures.runs.iter().filter(|run| run.wall_basis.as_deref() == Some(basis)).count();
    let unknown = figures.runs.iter().filter(|run| run.wall_offset_s.is_none()).count();
    let mut parts = Vec::new();
    for basis in ["start+file", "start"] {
        if of(basis) > 0 {
            parts.push(format!("basis {basis} of {}", many(of(basis), "run", "runs")));
        }
    }
    if unknown > 0 {
        parts.push(format!("unknown of {}", many(unknown, "run", "runs")));
    }
    if parts.is_empty() { String::new() } else { format!(" Wall times are estimates: {}.", parts.join(", ")) }
}

/// The words of ticks: wall time in UTC, else time into the run.
struct Clock<'f> {
    figures: &'f Figures,
}

impl Labels for Clock<'_> {
    fn label(&self, column: usize, time_s: f64, step_s: f64) -> String {
        let has_wall = self.figures.axis.columns[column].zero_wall_s.is_some();
        if !has_wall {
            return if time_s == 0.0 { "+0".to_owned() } else { format!("+{}", short_duration(time_s)) };
        }
        let how = if step_s >= 86_400.0 || time_s.rem_euclid(86_400.0) == 0.0 {
            Moment::Day
        } else if step_s < 60.0 {
            Moment::Second
        } else {
            Moment::Minute
        };
        words::moment(time_s, how).unwrap_or_default()
    }
}

fn grid(figures: &Figures) -> Grid {
    let axis = &figures.axis;
    let width_s = axis.bucket_s as f64;
    let spans: Vec<Span> = axis
        .columns
        .iter()
        .map(|column| Span {
            x: column.x,
            width: column.width,
            from_s: column.zero_wall_s.unwrap_or(0.0) + column.first as f64 * width_s,
            length_s: column.buckets as f64 * width_s,
        })
        .collect();
    let columns = axis.columns.iter().map(|column| {
        let head = column.run.map_or_else(Head::default, |at| {
            let run = &figures.runs[at];
            let start = run.wall_s(0.0).and_then(|wall_s| words::moment(wall_s, Moment::YearMinute));
            let rest = match start {
                Some(start) => {
                    vec![format!("{start}\u{a0}UTC"), format!("· {}", words::outside(run.short(), 16))]
                }
                None => vec![words::outside(&run.run, 32)],
            };
            Head { word: "Run ".to_owned(), number: (at + 1).to_string(), rest }
        });
        Column { x: column.x, width: column.width, buckets: column.buckets, head }
    });
    let columns = columns.collect();
    Grid { columns, ticks: time_ticks(&spans, &Clock { figures }), lifetimes: lifetimes(figures) }
}

/// The lifetimes of runs on an axis of wall time.
fn lifetimes(figures: &Figures) -> Vec<(f64, f64, String)> {
    let axis = &figures.axis;
    if !axis.is_wall {
        return Vec::new();
    }
    let of = |(at, run): (usize, &crate::report::figures::Run)| {
        let (from_s, to_s) = run.span()?;
        let (_, from) = axis.across(run, at, from_s - run.first_s)?;
        let (_, to) = axis.across(run, at, to_s - run.first_s)?;
        Some((from, to, format!("run {}: {}", at + 1, words::outside(&run.run, words::ID))))
    };
    figures.runs.iter().enumerate().filter_map(of).take(MOST_COLUMNS).collect()
}

/// What is read off the buckets of each column.
fn by_column<T>(figures: &Figures, read: impl Fn(&Bucket) -> T) -> Vec<Vec<T>> {
    let of = |column: &crate::report::figures::axis::Column| {
        figures.series.buckets[column.offset..column.offset + column.buckets].iter().map(&read).collect()
    };
    figures.axis.columns.iter().map(of).collect()
}

/// Stretches of buckets of each column that something is true of.
fn bands(figures: &Figures, is: impl Fn(&Bucket) -> bool) -> Vec<Vec<Band>> {
    let stretches = |flags: Vec<bool>| {
        let mut bands: Vec<Band> = Vec::new();
        for (at, flag) in flags.into_iter().enumerate() {
            match bands.last_mut() {
                Some((from, len)) if flag && *from + *len == at => *len += 1,
                _ if flag => bands.push((at, 1)),
                _ => {}
            }
        }
        bands
    };
    by_column(figures, is).into_iter().map(stretches).collect()
}

/// Lines of steps in each column.
fn lines(figures: &Figures, place: impl Fn(&Bucket) -> Option<f64>) -> Vec<String> {
    by_column(figures, place).iter().map(|places| stepped(places)).collect()
}

/// Areas in each column.
fn areas(
    figures: &Figures,
    upper: impl Fn(&Bucket) -> Option<f64>,
    lower: impl Fn(&Bucket) -> Option<f64>,
) -> Vec<String> {
    let (upper, lower) = (by_column(figures, upper), by_column(figures, lower));
    upper.iter().zip(&lower).map(|(upper, lower)| area(upper, lower)).collect()
}

const AWAY: [Tone; 4] = [Tone::Away, Tone::Away2, Tone::Away3, Tone::Away4];
const FAILED: [Tone; 3] = [Tone::Bad, Tone::Bad2, Tone::Bad3];

fn layer_tone(tones: &[Tone], at: usize, is_rest: bool) -> Tone {
    tones.get(at).copied().filter(|_| !is_rest).unwrap_or(Tone::Off2)
}

fn outcome(figures: &Figures, grid: &Grid) -> Markup {
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
    Figure {
        id: "out",
        title: "Attainment, load and losses",
        key: html! { @for key in keys { (key) } },
        height: picture.height(),
        picture: picture.draw(|_, _| {}),
        caption: html! {
            "Hatched: no requests, so there is no attainment; that is not zero. "
            @if figures.axis.is_wall { "Offered and completed by arrival. " }
            @else { "Offered by arrival, completed by end. The last bucket of a run is divided by its whole width. " }
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

/// When a bucket begins, and of which run it is.
pub(super) fn when(figures: &Figures, bucket: usize) -> String {
    let (rel_s, wall_s) = figures.axis.begin(bucket);
    let (column, _) = figures.axis.column_of(bucket);
    let run = figures.axis.columns[column].run;
    let how = if figures.axis.bucket_s < 60 { Moment::Second } else { Moment::Minute };
    let how = if figures.axis.bucket_s >= 3600 || figures.axis.is_wall { Moment::DayMinute } else { how };
    let wall = wall_s.and_then(|wall_s| words::moment(wall_s, how));
    let end = if figures.series.buckets[bucket].is_end {
        if figures.axis.is_wall { " (a run’s end)" } else { " (its end)" }
    } else {
        ""
    };
    let text = match (wall, run) {
        (Some(wall), Some(run)) => format!("{wall}, run {} +{rel_s} s{end}", run + 1),
        (Some(wall), None) => format!("{wall} UTC{end}"),
        (None, Some(run)) => format!("run {} +{rel_s} s{end}", run + 1),
        (None, None) => format!("+{rel_s} s{end}"),
    };
    plain(&text)
}

/// What is told of each bucket; idle stretches as one.
pub(super) fn hits(figures: &Figures, told: impl Fn(&Figures, &Bucket) -> String) -> Vec<Vec<Hit>> {
    let of = |column: &crate::report::figures::axis::Column| {
        let mut hits: Vec<Hit> = Vec::new();
        let mut idle_from = None;
        for number in 0..column.buckets {
            let at = column.offset + number;
            let bucket = &figures.series.buckets[at];
            if bucket.is_idle() {
                let from = *idle_from.get_or_insert(number);
                let next_is_idle = number + 1 < column.buckets && figures.series.buckets[at + 1].is_idle();
                if !next_is_idle {
                    let title = match number - from {
                        0 => format!("{}\nno requests", when(figures, at)),
                        more => {
                            format!("{} and {more} more\nno requests", when(figures, column.offset + from))
                        }
                    };
                    hits.push(Hit { from, buckets: number - from + 1, title });
                    idle_from = None;
                }
                continue;
            }
            hits.push(Hit {
                from: number,
                buckets: 1,
                title: format!("{}\n{}", when(figures, at), told(figures, bucket)),
            });
        }
        hits
    };
    figures.axis.columns.iter().map(of).collect()
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

fn latency(figures: &Figures, grid: &Grid) -> Markup {
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
    Figure {
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

/// The numbers behind all figures over time.
fn table(figures: &Figures) -> Markup {
    let is_wall = figures.axis.is_wall;
    let mut heads: Vec<(String, bool)> = Vec::new();
    let mut head = |name: &str| heads.push((name.to_owned(), false));
    if !is_wall {
        head("Run");
    }
    head("Time");
    if !is_wall {
        head("+ s");
    }
    for name in [
        "Offered",
        "/s",
        "Completed",
        "Scored",
        "Met",
        "Met, %",
        "Away",
        "Failed",
        "TTFT p50, s",
        "p90",
        "p99",
    ] {
        head(name);
    }
    for name in ["TPOT p50, ms", "p90", "p99"] {
        head(name);
    }
    for stage in &figures.series.stages {
        head(&format!("Wait: {stage} p99, ms"));
    }
    for name in ["Failed legs: prefill", "decode"] {
        head(name);
    }
    let heads_as: Vec<(&str, bool)> =
        heads.iter().map(|(name, is_words)| (name.as_str(), *is_words)).collect();
    let rows = rows(figures, heads.len());
    let summary = format!(
        "Numbers behind the plots over time, {}",
        many(figures.series.buckets.len(), "bucket", "buckets")
    );
    details(&summary, dense(&heads_as, rows.into_iter()))
}

fn rows(figures: &Figures, width: usize) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for column in &figures.axis.columns {
        let mut number = 0;
        while number < column.buckets {
            let at = column.offset + number;
            let idle = (number..column.buckets)
                .take_while(|number| figures.series.buckets[column.offset + number].is_idle())
                .count();
            let mut row = lead_cells(figures, column.run, at);
            if idle > 0 {
                row.push(if idle == 1 { "no requests".to_owned() } else { format!("no requests in {idle}") });
                row.resize(width, String::new());
                rows.push(row);
                number += idle;
                continue;
            }
            row.extend(cells(figures, &figures.series.buckets[at]));
            rows.push(row);
            number += 1;
        }
    }
    rows
}

fn lead_cells(figures: &Figures, run: Option<usize>, bucket: usize) -> Vec<String> {
    let (rel_s, wall_s) = figures.axis.begin(bucket);
    let long = figures.axis.is_wall || figures.axis.bucket_s >= 3600;
    let how = if long {
        Moment::DayMinute
    } else if figures.axis.bucket_s < 60 {
        Moment::Second
    } else {
        Moment::Minute
    };
    let wall = wall_s.and_then(|wall_s| words::moment(wall_s, how)).unwrap_or_else(|| words::NONE.to_owned());
    match run {
        None => vec![wall],
        Some(run) => vec![(run + 1).to_string(), wall, rel_s.to_string()],
    }
}

fn cells(figures: &Figures, bucket: &Bucket) -> Vec<String> {
    let none = || words::NONE.to_owned();
    let sum = |counts: &[i64]| counts.iter().sum::<i64>().to_string();
    let scaled =
        |value: Option<f64>, by: f64| value.map_or_else(none, |value| crate::text::short(value * by));
    let is_scored = figures.targets().is_some();
    let scored = |count: i64| if is_scored { count.to_string() } else { none() };
    let mut cells = vec![
        bucket.offered.to_string(),
        format!("{:.1}", bucket.offered_per_s),
        bucket.completed.to_string(),
        scored(bucket.scored),
        scored(bucket.met),
        bucket.attainment.map_or_else(none, |attainment| format!("{:.1}", 100.0 * attainment)),
        sum(&bucket.away),
        sum(&bucket.failed),
    ];
    cells.extend([bucket.ttft.p50, bucket.ttft.p90, bucket.ttft.p99].map(|value| scaled(value, 1.0)));
    cells.extend([bucket.tpot.p50, bucket.tpot.p90, bucket.tpot.p99].map(|value| scaled(value, 1e3)));
    cells.extend(bucket.waits.iter().map(|found| scaled(found.p99, 1e3)));
    cells.extend(bucket.failed_legs.map(|legs| legs.to_string()));
    cells
}
