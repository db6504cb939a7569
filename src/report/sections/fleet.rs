//! The fleet over time: what was out of service, what the router decided, where legs failed.

use maud::{Markup, html};

use super::time::{Grid, hits};
use crate::report::figures::fleet::{ENGINE_ROWS, Interval, Mark, What};
use crate::report::figures::series::Bucket;
use crate::report::figures::{Figures, Run};
use crate::report::parts::{Figure, dense, details, key, raw, source};
use crate::report::plot::{
    Curve, Line, Linear, Panel, Panels, Scale, Svg, Tone, area, number, percent, stepped,
};
use crate::report::words::{self, Moment, count, duration, many, plain};

/// The rows of the router: pixels from the upper edge of their panel.
const FLOOR_Y: f64 = 5.0;
const MONITORING_Y: f64 = 20.0;
const CONTROL_Y: f64 = 35.0;
const ROUTER_PX: f64 = 49.0;
const FAILED_PX: f64 = 64.0;
/// Ids so long stand above their row, which is higher then.
const LONG_ID: usize = 7;

pub(super) fn markup(figures: &Figures, grid: &Grid) -> Markup {
    let fleet = &figures.fleet;
    let is_long =
        fleet.engines.iter().any(|engine| words::outside(engine, words::ENGINE).chars().count() > LONG_ID);
    let row_px = if is_long { 28.0 } else { 17.0 };
    let mut panels = vec![router_panel()];
    if !fleet.engines.is_empty() {
        panels.push(engine_panel(figures, row_px));
    }
    panels.push(failed_panel(figures));
    let picture = Panels {
        columns: &grid.columns,
        ticks: &grid.ticks,
        panels,
        hits: hits(figures, told),
        lifetimes: grid.lifetimes.clone(),
    };
    let drawn = picture.draw(|svg, tops| {
        router_marks(svg, figures, tops[0]);
        if !fleet.engines.is_empty() {
            engine_marks(svg, figures, tops[1], row_px, is_long);
        }
    });
    let holds = fleet.number(|what| matches!(what, What::Timed | What::Inference | What::OtherHold(_)));
    let applied = fleet.decisions.iter().filter(|mark| mark.is_applied).count();
    html! {
        span id="fleet" {}
        (Figure {
            id: "outages",
            title: "Engines out of service, floor breaches and controller decisions",
            key: legend(),
            height: picture.height(),
            picture: drawn,
            caption: html! {
                (many(fleet.number(|what| *what == What::Ejected), "ejection", "ejections")) ", "
                (many(holds, "hold", "holds")) ", "
                (many(fleet.number(|what| matches!(what, What::Floor { .. })), "floor breach", "floor breaches")) ", "
                (many(fleet.decisions.len(), "controller decision", "controller decisions"))
                " (" (applied) " changed roles). Holds and ejections of an engine can overlap. "
                "Ejections and holds are recorded from release 0.6 on. "
                @if fleet.engines_left_out > 0 {
                    "Of " (count((fleet.engines_left_out + fleet.engines.len()) as i64))
                    " engines those with an outage have a row, " (ENGINE_ROWS) " at most, the longest outages; "
                    (count(fleet.engines_left_out as i64)) " are left out. "
                }
                @if fleet.lifecycle_left_out > 0 {
                    (count(fleet.lifecycle_left_out as i64)) " lifecycle events are not drawn. "
                }
                (source(&["query engine-downtime", "query floor-breaches", "query events"]))
                " Failed legs: recorded failures of attempts that reached the engine, by their own time."
            },
            above: false,
        }.markup())
        (intervals(figures))
    }
}

fn legend() -> Markup {
    let field = |marks: String, width: u32, name: &str| {
        html! { svg width=(width) height="11" aria-hidden="true" { (raw(marks)) } " " (name) }
    };
    let bar = |y: u32, height: u32, tone: Tone, name: &str| {
        field(format!(r#"<rect width="18" y="{y}" height="{height}" {}/>"#, tone.fill()), 18, name)
    };
    let tick = |tone: Tone, name: &str| {
        field(format!(r#"<rect width="1.5" height="11" {}/>"#, tone.fill()), 6, name)
    };
    let shape =
        |d: &str, tone: Tone, name: &str| field(format!(r#"<path d="{d}" {}/>"#, tone.fill()), 12, name);
    key(
        "",
        &[
            bar(0, 11, Tone::Bad, "ejected"),
            bar(0, 5, Tone::Away2, "timed hold"),
            bar(6, 5, Tone::Slow, "inference hold"),
            bar(2, 7, Tone::Bad2, "below the prefill floor"),
            bar(2, 7, Tone::Off, "monitoring degraded"),
            shape("M0 2h10l-5 8z", Tone::Ok, "roles changed"),
            tick(Tone::Off, "decision without a change"),
            tick(Tone::Ink2, "lifecycle event"),
            shape("M0 0l6 5.5-6 5.5z", Tone::Bad, "still open at the run’s end"),
        ],
    )
}

fn router_panel() -> Panel {
    Panel { height: ROUTER_PX, names: Vec::new(), ticks: Vec::new(), ..Panel::default() }
}

fn engine_panel(figures: &Figures, row_px: f64) -> Panel {
    let rows = figures.fleet.engines.len();
    Panel {
        height: 4.0 + row_px * rows as f64,
        ticks: (1..rows).map(|row| (2.0 + row_px * row as f64, String::new())).collect(),
        ..Panel::default()
    }
}

/// Failed legs by time of failure: decode from the base line up, prefill on top.
fn failed_panel(figures: &Figures) -> Panel {
    let title = "Failed legs".to_owned();
    let all = |bucket: &Bucket| bucket.failed_legs.iter().sum::<i64>() as f64;
    let most = figures.series.buckets.iter().map(all).fold(0.0, f64::max);
    if most == 0.0 {
        let words = Some("none: no leg has a recorded failure".to_owned());
        return Panel { title, height: 24.0, words, ..Panel::default() };
    }
    let scale = Linear::counts_to(most);
    let down = |value: f64| scale.down(value, FAILED_PX);
    let columns = |read: &dyn Fn(&Bucket) -> f64| -> Vec<Vec<Option<f64>>> {
        let of = |column: &crate::report::figures::axis::Column| {
            let buckets = &figures.series.buckets[column.offset..column.offset + column.buckets];
            buckets.iter().map(|bucket| Some(down(read(bucket)))).collect()
        };
        figures.axis.columns.iter().map(of).collect()
    };
    let base = |places: &Vec<Option<f64>>| vec![Some(FAILED_PX); places.len()];
    let fill = |places: Vec<Vec<Option<f64>>>| -> Vec<String> {
        places.iter().map(|places| area(places, &base(places))).collect()
    };
    let edge = columns(&all).into_iter().map(|places| {
        let places: Vec<Option<f64>> =
            places.into_iter().map(|place| place.filter(|y| *y < FAILED_PX)).collect();
        stepped(&places)
    });
    Panel {
        title,
        note: "in the bucket, by time of failure: decode ■, prefill □ on top".to_owned(),
        height: FAILED_PX,
        ticks: scale.ticks().iter().map(|tick| (down(tick.value), count(tick.value as i64))).collect(),
        curves: vec![
            Curve::area(Tone::Bad3, 1.0, fill(columns(&all))),
            Curve::line(Line::Bad, 0.8, edge.collect()),
            Curve::area(Tone::Bad, 1.0, fill(columns(&|bucket| bucket.failed_legs[1] as f64))),
        ],
        ..Panel::default()
    }
}

fn told(_: &Figures, bucket: &Bucket) -> String {
    let [prefill, decode] = bucket.failed_legs;
    if prefill + decode == 0 {
        "no failed legs".to_owned()
    } else {
        format!("failed legs: decode {decode}, prefill {prefill}")
    }
}

/// The least width of a mark, in percent.
const LEAST: f64 = 0.12;

/// Draws an interval; `y` and `height` are its place down.
fn interval_mark(svg: &mut Svg, figures: &Figures, interval: &Interval, y: f64, height: f64) {
    let run = &figures.runs[interval.run];
    let from_s =
        interval.from_s.unwrap_or_else(|| run.span().map_or(0.0, |(from_s, _)| from_s - run.first_s));
    let Some((column, from)) = figures.axis.across(run, interval.run, from_s) else { return };
    let Some((_, to)) = figures.axis.across(run, interval.run, interval.to_s) else { return };
    let column = &figures.axis.columns[column];
    let width = (to - from).max(LEAST);
    let x = from.min(column.x + column.width - width);
    svg.rect_with(x, width, y, height, "", Some(&told_interval(figures, interval)));
    if interval.is_open {
        let (half, tip) = (number(height / 2.0, 1), number(height, 1));
        svg.raw(&format!(
            r#"<svg x="{}" y="{}" overflow="visible"><path d="M0 0l6 {half}L0 {tip}z"/></svg>"#,
            percent(x + width),
            number(y, 1)
        ));
    }
}

fn told_interval(figures: &Figures, interval: &Interval) -> String {
    let run = &figures.runs[interval.run];
    let engine =
        interval.engine.as_deref().map(|engine| words::outside(engine, words::ID)).unwrap_or_default();
    let what = match &interval.what {
        What::Ejected => format!("{engine} ejected"),
        What::Timed => format!("{engine} timed hold"),
        What::Inference => format!("{engine} inference hold"),
        What::OtherHold(kind) => format!("{engine} {} hold", words::outside(kind, 32)),
        What::Floor { live, least } => format!("below the prefill floor: {live} live, {least} needed"),
        What::Degraded(words) => format!("monitoring degraded: {}", words::outside(words, words::ID)),
    };
    let cause = interval
        .cause
        .as_deref()
        .map_or_else(String::new, |cause| format!(": {}", words::outside(cause, words::ID)));
    let from = interval.from_s.map_or_else(|| "an unknown start".to_owned(), |from_s| moment_of(run, from_s));
    let to = if interval.is_open { "the run’s end".to_owned() } else { moment_of(run, interval.to_s) };
    let length = interval.length_s.map_or_else(String::new, |length_s| format!(", {}", duration(length_s)));
    plain(&format!("{what}{cause}\n{from} to {to}{length}"))
}

/// A moment of a run: wall time, else time into the run.
fn moment_of(run: &Run, rel_s: f64) -> String {
    run.wall_s(rel_s)
        .and_then(|wall_s| words::moment(wall_s, Moment::Second))
        .map_or_else(|| format!("+{}", duration(rel_s)), |wall| format!("{wall} UTC"))
}

fn router_marks(svg: &mut Svg, figures: &Figures, top: f64) {
    let fleet = &figures.fleet;
    for (y, name) in [(FLOOR_Y, "floor"), (MONITORING_Y, "monit."), (CONTROL_Y, "control")] {
        row_name(svg, top + y + 8.0, name);
    }
    type Is = fn(&What) -> bool;
    let rows: [(Tone, f64, Is); 2] = [
        (Tone::Bad2, FLOOR_Y, |what| matches!(what, What::Floor { .. })),
        (Tone::Off, MONITORING_Y, |what| matches!(what, What::Degraded(_))),
    ];
    for (tone, y, is) in rows {
        svg.group(tone.fill(), |svg| {
            for interval in fleet.intervals.iter().filter(|interval| is(&interval.what)).take(MOST_MARKS) {
                interval_mark(svg, figures, interval, top + y, 9.0);
            }
        });
    }
    decisions(svg, figures, top + CONTROL_Y);
}

/// So many intervals of one kind are drawn, and so many triangles: a page is no database.
const MOST_MARKS: usize = 500;
/// Ticks of decisions lie on so many places of a column.
const PLACES: f64 = 4000.0;

fn decisions(svg: &mut Svg, figures: &Figures, y: f64) {
    let place = |mark: &Mark| figures.axis.across(&figures.runs[mark.run], mark.run, mark.rel_s);
    for (at, column) in figures.axis.columns.iter().enumerate() {
        let mut places: Vec<i64> = figures
            .fleet
            .decisions
            .iter()
            .filter(|mark| !mark.is_applied)
            .filter_map(place)
            .filter(|(own, _)| *own == at)
            .map(|(_, x)| ((x - column.x) / column.width * PLACES / 4.0).round() as i64 * 4)
            .collect();
        places.sort_unstable();
        places.dedup();
        let d: String = places.iter().map(|place| format!("M{place} 0v9")).collect();
        svg.nested((column.x, column.width), (y, 9.0), (PLACES, 9.0), |svg| {
            let stroke =
                format!(r#"{} stroke-width="1" vector-effect="non-scaling-stroke""#, Line::Off.stroke());
            svg.path(&d, &stroke, None);
        });
    }
    for mark in figures.fleet.decisions.iter().filter(|mark| mark.is_applied).take(MOST_MARKS) {
        let Some((_, x)) = place(mark) else { continue };
        let when = moment_of(&figures.runs[mark.run], mark.rel_s);
        let mut inner = Svg::default();
        let title = plain(&format!("{}, {when}", words::outside_lines(&mark.words)));
        inner.path("M-5 0h10l-5 10z", Tone::Ok.fill(), Some(&title));
        svg.raw(&format!(
            r#"<svg x="{}" y="{}" overflow="visible" width="10" height="10">{}</svg>"#,
            percent(x),
            number(y, 1),
            inner.into_text()
        ));
    }
}

fn row_name(svg: &mut Svg, y: f64, name: &str) {
    svg.text("-6", y, crate::report::plot::Anchor::End, "t", r##"fill="#57606a""##, name);
}

fn engine_marks(svg: &mut Svg, figures: &Figures, top: f64, row_px: f64, is_long: bool) {
    let fleet = &figures.fleet;
    let row_of = |engine: &Option<String>| {
        let engine = engine.as_deref()?;
        fleet.engines.iter().position(|known| known == engine)
    };
    // Where the marks of a row begin: under the id, if that stands above them.
    let lead = if is_long { 11.0 } else { 0.0 };
    let y_of = |row: usize| top + 2.0 + row_px * row as f64 + lead;
    for (row, engine) in fleet.engines.iter().enumerate() {
        let name = words::outside(engine, words::ENGINE);
        if is_long {
            let y = y_of(row) - 1.0;
            svg.text("0", y, crate::report::plot::Anchor::Start, "t", r##"fill="#57606a""##, &name);
        } else {
            row_name(svg, y_of(row) + 13.0, &name);
        }
    }
    type Is = fn(&What) -> bool;
    let kinds: [(Tone, f64, f64, Is); 4] = [
        (Tone::Bad, 2.0, 13.0, |what| *what == What::Ejected),
        (Tone::Away2, 2.0, 5.5, |what| *what == What::Timed),
        (Tone::Off, 2.0, 5.5, |what| matches!(what, What::OtherHold(_))),
        (Tone::Slow, 9.5, 5.5, |what| *what == What::Inference),
    ];
    for (tone, y, height, is) in kinds {
        svg.group(tone.fill(), |svg| {
            for interval in fleet.intervals.iter().filter(|interval| is(&interval.what)).take(MOST_MARKS) {
                if let Some(row) = row_of(&interval.engine) {
                    interval_mark(svg, figures, interval, y_of(row) + y, height);
                }
            }
        });
    }
    svg.group(Tone::Ink2.fill(), |svg| {
        for mark in &fleet.lifecycle {
            let Some(row) = row_of(&mark.engine) else { continue };
            if let Some((_, x)) = figures.axis.across(&figures.runs[mark.run], mark.run, mark.rel_s) {
                let mut inner = Svg::default();
                inner.raw(&format!(
                    r#"<rect x="{}" y="{}" width="1.5" height="15"><title>"#,
                    percent(x),
                    number(y_of(row) + 1.0, 1)
                ));
                inner.raw(&html! { (plain(&mark.words)) }.into_string());
                inner.raw("</title></rect>");
                svg.raw(&inner.into_text());
            }
        }
    });
}

/// So many intervals stand in the table behind the figure.
const MOST_ROWS: usize = 500;

fn intervals(figures: &Figures) -> Markup {
    let all = &figures.fleet.intervals;
    if all.is_empty() {
        return html! {};
    }
    let heads = [
        ("Run", false),
        ("What", true),
        ("Engine", true),
        ("Cause", true),
        ("From", true),
        ("Into the run, s", false),
        ("Length", false),
        ("Open", true),
    ];
    let rows = all.iter().take(MOST_ROWS).map(|interval| {
        let run = &figures.runs[interval.run];
        let none = || words::NONE.to_owned();
        let what = match &interval.what {
            What::Ejected => "ejected".to_owned(),
            What::Timed => "timed hold".to_owned(),
            What::Inference => "inference hold".to_owned(),
            What::OtherHold(kind) => format!("{} hold", words::outside(kind, 32)),
            What::Floor { live, least } => format!("floor: {live} live, {least} needed"),
            What::Degraded(words) => format!("monitoring: {}", words::outside(words, words::ID)),
        };
        let outside = |text: &Option<String>, most: usize| {
            text.as_deref().map_or_else(none, |text| words::outside(text, most))
        };
        let wall = interval.from_s.and_then(|from_s| words::moment(run.wall_s(from_s)?, Moment::DaySecond));
        vec![
            (interval.run + 1).to_string(),
            what,
            outside(&interval.engine, words::ENGINE),
            outside(&interval.cause, words::ID),
            wall.unwrap_or_else(none),
            interval.from_s.map_or_else(none, |from_s| format!("{from_s:.1}")),
            interval.length_s.map_or_else(none, duration),
            if interval.is_open { "open".to_owned() } else { String::new() },
        ]
    });
    let summary = match all.len() {
        len if len > MOST_ROWS => {
            format!("Intervals behind this plot (the first {MOST_ROWS} of {})", count(len as i64))
        }
        len => format!("Intervals behind this plot ({len})"),
    };
    details(&summary, dense(&heads, rows))
}
