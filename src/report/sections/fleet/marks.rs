//! The marks of the fleet: intervals, decisions, lifecycle events, each with what it tells on hover.

use maud::html;

use super::{CONTROL_Y, FLOOR_Y, MONITORING_Y};
use crate::report::figures::fleet::{Interval, Mark, What};
use crate::report::figures::{Figures, Run};
use crate::report::plot::{Line, Svg, Tone, number, percent};
use crate::report::words;
use crate::report::words::{WallDetail, duration, plain};

/// The end of an interval that is shorter is not told beside its length.
const SHORT_S: f64 = 60.0;
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
        let y = if y == 0.0 { String::new() } else { format!(r#" y="{}""#, number(y, 1)) };
        svg.raw(&format!(
            r#"<svg x="{}"{y} overflow="visible"><path d="M0 0l6 {half}L0 {tip}z"/></svg>"#,
            percent(x + width)
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
    // The end of a short one is known by its length.
    let is_short = interval.length_s.is_some_and(|length_s| length_s < SHORT_S);
    let to = if interval.is_open {
        " to the run’s end".to_owned()
    } else if is_short {
        String::new()
    } else {
        format!(" to {}", moment_of(run, interval.to_s))
    };
    let length = interval.length_s.map_or_else(String::new, |length_s| format!(", {}", duration(length_s)));
    plain(&format!("{what}{cause}\n{from}{to}{length}"))
}

/// A moment of a run: wall time, in UTC as the heads of the columns say, else time into the run.
fn moment_of(run: &Run, rel_s: f64) -> String {
    run.wall_s(rel_s)
        .and_then(|wall_s| words::moment(wall_s, WallDetail::Second))
        .unwrap_or_else(|| format!("+{}", duration(rel_s)))
}

pub(super) fn router_marks(svg: &mut Svg, figures: &Figures, top: f64) {
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
        let mut before = 0;
        let ticks = places.iter().enumerate().map(|(number, place)| {
            let from = std::mem::replace(&mut before, *place);
            if number == 0 { format!("M{place} 0v9") } else { format!("m{}-9v9", place - from) }
        });
        let d: String = ticks.collect();
        svg.nested((column.x, column.width), (y, 9.0), (PLACES, 9.0), |svg| {
            let stroke =
                format!(r#"{} stroke-width="1" vector-effect="non-scaling-stroke""#, Line::Off.stroke());
            svg.path(&d, &stroke, None);
        });
    }
    svg.group(&format!(r#"{} transform="translate(0 {})""#, Tone::Ok.fill(), number(y, 1)), |svg| {
        for mark in figures.fleet.decisions.iter().filter(|mark| mark.is_applied).take(MOST_MARKS) {
            let Some((_, x)) = place(mark) else { continue };
            let when = moment_of(&figures.runs[mark.run], mark.rel_s);
            let title = plain(&format!("{}, {when}", words::outside_lines(&mark.words)));
            let mut inner = Svg::default();
            inner.path("M-5 0h10l-5 10z", "", Some(&title));
            svg.raw(&format!(r#"<svg x="{}" overflow="visible">{}</svg>"#, percent(x), inner.into_text()));
        }
    });
}

fn row_name(svg: &mut Svg, y: f64, name: &str) {
    svg.text("-6", y, crate::report::plot::Anchor::End, "t", r##"fill="#57606a""##, name);
}

pub(super) fn engine_marks(svg: &mut Svg, figures: &Figures, top: f64, row_px: f64, is_long: bool) {
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
    let rows = 0..fleet.engines.len();
    for (tone, y, height, is) in kinds {
        let marks = fleet.intervals.iter().filter(|interval| is(&interval.what)).take(MOST_MARKS);
        let marks: Vec<_> = marks.map(|interval| (row_of(&interval.engine), interval)).collect();
        svg.group(tone.fill(), |svg| {
            for row in rows.clone() {
                let of_row: Vec<_> = marks.iter().filter(|(of, _)| *of == Some(row)).collect();
                group_down(svg, y_of(row) + y, !of_row.is_empty(), |svg| {
                    for (_, interval) in of_row {
                        interval_mark(svg, figures, interval, 0.0, height);
                    }
                });
            }
        });
    }
    svg.group(Tone::Ink2.fill(), |svg| {
        for row in rows {
            let of_row: Vec<_> =
                fleet.lifecycle.iter().filter(|mark| row_of(&mark.engine) == Some(row)).collect();
            group_down(svg, y_of(row) + 1.0, !of_row.is_empty(), |svg| {
                for mark in of_row {
                    let Some((_, x)) = figures.axis.across(&figures.runs[mark.run], mark.run, mark.rel_s)
                    else {
                        continue;
                    };
                    let title = html! { (plain(&mark.words)) }.into_string();
                    svg.raw(&format!(
                        r#"<rect x="{}" width="1.5" height="15"><title>{title}</title></rect>"#,
                        percent(x)
                    ));
                }
            });
        }
    });
}

/// Marks so far down, whose own places count from there.
fn group_down(svg: &mut Svg, y: f64, is_any: bool, draw: impl FnOnce(&mut Svg)) {
    if is_any {
        svg.group(&format!(r#"transform="translate(0 {})""#, number(y, 1)), draw);
    }
}
