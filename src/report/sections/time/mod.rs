//! What happened when: attainment, load and losses; latency and waits; the fleet; and the numbers behind them.

mod buckets;
mod grid;
mod latency;
mod outcome;
mod table;

use maud::{Markup, html};

pub(super) use self::buckets::hits;
pub(super) use self::grid::Grid;
use super::fleet;
use crate::report::figures::Figures;
use crate::report::figures::axis::MOST_COLUMNS;
use crate::report::parts::section;
use crate::report::words;
use crate::report::words::many;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    if figures.axis.columns.is_empty() {
        let why =
            "No run of the selection says when anything happened, so there is nothing to draw over time.";
        return section("time", "Over time", html! { p.lead { (why) } });
    }
    let grid = grid::grid(figures);
    section(
        "time",
        "Over time",
        html! {
            p.lead { (lead(figures)) }
            (outcome::figure(figures, &grid))
            (latency::figure(figures, &grid))
            (fleet::markup(figures, &grid))
            (table::table(figures))
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
    let mut text = String::new();
    if !parts.is_empty() {
        text = format!(" Wall times are estimates: {}.", parts.join(", "));
    }
    if unknown > 0 {
        text.push_str(&format!(" The wall time of {} is unknown.", many(unknown, "run", "runs")));
    }
    text
}
