//! The fleet over time: what was out of service, what the router decided, where legs failed.

mod intervals;
mod marks;

use maud::{Markup, html};

use super::time::{Grid, hits};
use crate::report::figures::Figures;
use crate::report::figures::fleet::{ENGINE_ROWS, What};
use crate::report::figures::series::Bucket;
use crate::report::parts::{Drawing, key, raw, source};
use crate::report::plot::{Curve, Line, Linear, Panel, Panels, Scale, Tone, area, stepped};
use crate::report::words;
use crate::report::words::{count, many};

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
        marks::router_marks(svg, figures, tops[0]);
        if !fleet.engines.is_empty() {
            marks::engine_marks(svg, figures, tops[1], row_px, is_long);
        }
    });
    let holds = fleet.number(|what| matches!(what, What::Timed | What::Inference | What::OtherHold(_)));
    let applied = fleet.decisions.iter().filter(|mark| mark.is_applied).count();
    html! {
        span id="fleet" {}
        (Drawing {
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
        (intervals::intervals(figures))
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
        let of = |column: &crate::report::figures::axis::AxisColumn| {
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
