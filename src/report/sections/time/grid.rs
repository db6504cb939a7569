//! The columns that all figures over time share, and the words of their ticks.

use crate::report::figures::Figures;
use crate::report::figures::axis::MOST_COLUMNS;
use crate::report::plot::{Column, Head, Labels, Span, TimeTick, time_ticks};
use crate::report::words;
use crate::report::words::{WallDetail, short_duration};

/// The columns of all figures over time, and their ticks.
pub(in crate::report::sections) struct Grid {
    pub columns: Vec<Column>,
    pub ticks: Vec<TimeTick>,
    /// On an axis of wall time: from, to in percent, and which run.
    pub lifetimes: Vec<(f64, f64, String)>,
}

/// The words of ticks: wall time in UTC, else time into the run.
struct TickWords<'f> {
    figures: &'f Figures,
}

impl Labels for TickWords<'_> {
    fn label(&self, column: usize, time_s: f64, step_s: f64) -> String {
        let has_wall = self.figures.axis.columns[column].zero_wall_s.is_some();
        if !has_wall {
            return if time_s == 0.0 { "+0".to_owned() } else { format!("+{}", short_duration(time_s)) };
        }
        let how = if step_s >= 86_400.0 || time_s.rem_euclid(86_400.0) == 0.0 {
            WallDetail::Day
        } else if step_s < 60.0 {
            WallDetail::Second
        } else {
            WallDetail::Minute
        };
        words::moment(time_s, how).unwrap_or_default()
    }
}

pub(super) fn grid(figures: &Figures) -> Grid {
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
            let start = run.wall_s(0.0).and_then(|wall_s| words::moment(wall_s, WallDetail::YearMinute));
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
    Grid { columns, ticks: time_ticks(&spans, &TickWords { figures }), lifetimes: lifetimes(figures) }
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
