//! The axis of time: the runs in columns one after the other, or all of them over wall time where they overlap; and the
//! width of a bucket.

use std::collections::HashMap;

use anyhow::Result;
use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::Run;
use crate::report::words;
use crate::selection::{self, By, Selection};

/// Widths of a bucket.
const WIDTHS_S: [i64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
    604_800,
];
/// So many buckets are drawn when nothing is said, and so many at most.
const USUAL_BUCKETS: f64 = 180.0;
const MOST_BUCKETS: f64 = 720.0;
/// So many columns are drawn: the latest runs.
pub(in crate::report) const MOST_COLUMNS: usize = 12;
/// Starts are known to the second: runs that overlap by less may follow each other.
const OVERLAP_S: f64 = 1.0;

/// The axis.
#[derive(Debug, Default)]
pub(in crate::report) struct Axis {
    pub bucket_s: i64,
    /// What `--bucket` asked for, where that would have been too many buckets.
    pub raised_from_s: Option<i64>,
    /// Whether it is of wall time, all runs together.
    pub is_wall: bool,
    pub columns: Vec<AxisColumn>,
    /// Runs that are not drawn: earlier ones, and those without a wall time on an axis of it.
    pub dropped: usize,
    /// What is drawn, a scope a bucket.
    pub selection: Selection,
    places: HashMap<String, usize>,
    /// For each run drawn, by its key: from, to, bucket.
    parts: HashMap<i64, Vec<(f64, f64, usize)>>,
}

/// A column.
#[derive(Debug, Clone)]
pub(in crate::report) struct AxisColumn {
    /// The run, by its place among the runs; none on an axis of wall time.
    pub run: Option<usize>,
    /// The number of its first bucket, from the run's zero or the epoch.
    pub first: i64,
    pub buckets: usize,
    /// The place of its first bucket among all.
    pub offset: usize,
    /// The wall time of bucket 0; none when it is unknown.
    pub zero_wall_s: Option<f64>,
    /// Its left edge and width, in percent.
    pub x: f64,
    pub width: f64,
}

impl Axis {
    /// How many buckets there are.
    pub(in crate::report) fn buckets(&self) -> usize {
        self.columns.last().map_or(0, |column| column.offset + column.buckets)
    }

    /// The place of a scope among the buckets.
    pub(in crate::report) fn place(&self, scope: &str) -> Option<usize> {
        self.places.get(scope).copied()
    }

    /// Which bucket a request of a run belongs to.
    pub(in crate::report) fn bucket_of(&self, run_id: i64, arrived: f64) -> Option<usize> {
        let parts = self.parts.get(&run_id)?;
        let at = parts.partition_point(|(from_s, ..)| *from_s <= arrived);
        let (_, to_s, bucket) = parts.get(at.checked_sub(1)?)?;
        (arrived < *to_s).then_some(*bucket)
    }

    /// Whether something of each bucket is selected: between two windows lie buckets of which nothing is.
    pub(in crate::report) fn selected(&self) -> Vec<bool> {
        let mut selected = vec![false; self.buckets()];
        for (.., bucket) in self.parts.values().flatten() {
            selected[*bucket] = true;
        }
        selected
    }

    /// The column and the place in percent of a moment of a run, in seconds from its zero; clipped to the column.
    pub(in crate::report) fn across(&self, run: &Run, number: usize, rel_s: f64) -> Option<(usize, f64)> {
        let (at, column, time_s) = if self.is_wall {
            (0, self.columns.first()?, run.first_s + run.wall_offset_s? + rel_s)
        } else {
            let at = self.columns.iter().position(|column| column.run == Some(number))?;
            (at, &self.columns[at], rel_s)
        };
        let buckets = time_s / self.bucket_s as f64 - column.first as f64;
        let share = (buckets / column.buckets as f64).clamp(0.0, 1.0);
        Some((at, column.x + column.width * share))
    }

    /// The column of a bucket, and its number in it.
    pub(in crate::report) fn column_of(&self, bucket: usize) -> (usize, usize) {
        let at = self.columns.partition_point(|column| column.offset <= bucket) - 1;
        (at, bucket - self.columns[at].offset)
    }

    /// Seconds from the run's zero (or the epoch) to the beginning of a bucket, and its wall time.
    pub(in crate::report) fn begin(&self, bucket: usize) -> (i64, Option<f64>) {
        let (at, number) = self.column_of(bucket);
        let column = &self.columns[at];
        let rel_s = (column.first + number as i64) * self.bucket_s;
        (rel_s, column.zero_wall_s.map(|zero_s| zero_s + rel_s as f64))
    }

    /// How the scopes are asked for on the command line.
    pub(in crate::report) fn by(&self) -> String {
        let width = crate::report::plot::number(self.bucket_s as f64, 0);
        if self.is_wall { format!("--by {width}s") } else { format!("--by run,{width}s") }
    }

    /// The width of a bucket in words.
    pub(in crate::report) fn width(&self) -> String {
        words::width(self.bucket_s)
    }
}

/// Lays out the runs; they come in the order of their start.
pub(in crate::report) fn axis(
    connection: &Connection,
    asked: &selection::Choice,
    runs: &[Run],
    bucket_s: Option<i64>,
    now: DateTime<Utc>,
) -> Result<Axis> {
    let timed: Vec<usize> = (0..runs.len()).filter(|at| runs[*at].span().is_some()).collect();
    if timed.is_empty() {
        return Ok(Axis { bucket_s: bucket_s.unwrap_or(60), ..Axis::default() });
    }
    let is_wall = overlap(runs);
    let drawn: Vec<usize> = if is_wall {
        timed.iter().copied().filter(|at| runs[*at].wall_offset_s.is_some()).collect()
    } else {
        timed[timed.len().saturating_sub(MOST_COLUMNS)..].to_vec()
    };
    let spans: Vec<(f64, f64)> = spans(runs, &drawn, is_wall);
    let (bucket_s, raised_from_s) = width(&spans, bucket_s);
    let by = if is_wall { By::Wall(bucket_s) } else { By::RunTime(bucket_s) };
    let asked = selection::Choice { by, ..asked.clone() };
    let mut selection = selection::choose(connection, &asked, now)?;
    let keys: Vec<i64> = drawn.iter().map(|at| runs[*at].run_id).collect();
    selection.rows.retain(|row| keys.contains(&row.run_id));
    selection.is_default = false;
    let mut axis =
        Axis { bucket_s, raised_from_s, is_wall, dropped: runs.len() - drawn.len(), ..Axis::default() };
    if is_wall {
        axis.lay_wall(&selection);
    } else {
        axis.lay_runs(runs, &drawn, &selection);
    }
    for row in &selection.rows {
        if let Some(bucket) = axis.places.get(&row.scope) {
            axis.parts.entry(row.run_id).or_default().push((row.from_s, row.to_s, *bucket));
        }
    }
    for parts in axis.parts.values_mut() {
        parts.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    axis.selection = selection;
    Ok(axis)
}

/// Whether two runs were up at one time.
fn overlap(runs: &[Run]) -> bool {
    let mut spans: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|run| run.span().zip(run.wall_offset_s))
        .map(|((from_s, to_s), offset_s)| (from_s + offset_s, to_s + offset_s))
        .collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut until = f64::NEG_INFINITY;
    spans.into_iter().any(|(from_s, to_s)| {
        let overlaps = from_s + OVERLAP_S < until;
        until = until.max(to_s);
        overlaps
    })
}

/// What is drawn of each run, in seconds from its zero; of all in wall time, one.
fn spans(runs: &[Run], drawn: &[usize], is_wall: bool) -> Vec<(f64, f64)> {
    let spans = drawn.iter().filter_map(|at| {
        let run = &runs[*at];
        let (from_s, to_s) = run.span()?;
        let zero_s = if is_wall { -run.wall_offset_s? } else { run.first_s };
        Some((from_s - zero_s, to_s - zero_s))
    });
    if !is_wall {
        return spans.collect();
    }
    let ends =
        spans.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, span| (ends.0.min(span.0), ends.1.max(span.1)));
    vec![ends]
}

/// The width of a bucket: the smallest that gives few enough.
fn width(spans: &[(f64, f64)], asked_s: Option<i64>) -> (i64, Option<i64>) {
    let buckets = |width_s: i64| -> f64 {
        let width_s = width_s as f64;
        spans.iter().map(|(from_s, to_s)| (to_s / width_s).floor() - (from_s / width_s).floor() + 1.0).sum()
    };
    let wider = (0..50).map(|power| 604_800_i64 << power.min(30));
    let all = || WIDTHS_S.into_iter().chain(wider.clone());
    match asked_s {
        Some(asked_s) if buckets(asked_s) <= MOST_BUCKETS => (asked_s, None),
        Some(asked_s) => {
            let found = all().find(|width_s| *width_s > asked_s && buckets(*width_s) <= MOST_BUCKETS);
            (found.unwrap_or(i64::MAX >> 2), Some(asked_s))
        }
        None => (all().find(|width_s| buckets(*width_s) <= USUAL_BUCKETS).unwrap_or(i64::MAX >> 2), None),
    }
}

impl Axis {
    /// One column of wall time, from the first bucket to the last.
    fn lay_wall(&mut self, selection: &Selection) {
        let mut starts: Vec<(i64, String)> = Vec::new();
        for row in &selection.rows {
            if let Some(unix_s) = unix_s(&row.scope) {
                starts.push((unix_s, row.scope.clone()));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        let Some((first_s, _)) = starts.first().cloned() else { return };
        let last_s = starts.last().map_or(first_s, |last| last.0);
        for (unix_s, scope) in starts {
            self.places.insert(scope, ((unix_s - first_s) / self.bucket_s) as usize);
        }
        self.columns.push(AxisColumn {
            run: None,
            first: first_s / self.bucket_s,
            buckets: ((last_s - first_s) / self.bucket_s) as usize + 1,
            offset: 0,
            zero_wall_s: Some(0.0),
            x: 0.0,
            width: 100.0,
        });
    }

    /// A column a run, as wide as it is long, none too narrow.
    fn lay_runs(&mut self, runs: &[Run], drawn: &[usize], selection: &Selection) {
        let mut offset = 0;
        for at in drawn {
            let run = &runs[*at];
            let of_run = selection.rows.iter().filter(|row| row.run_id == run.run_id);
            let numbers: Vec<i64> =
                of_run.filter_map(|row| Some(rel_s(&row.scope)? / self.bucket_s)).collect();
            let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) else { continue };
            for number in *first..=*last {
                let rel_s = number * self.bucket_s;
                self.places.insert(format!("{} +{rel_s:09}s", run.run), offset + (number - first) as usize);
            }
            let buckets = (last - first + 1) as usize;
            self.columns.push(AxisColumn {
                run: Some(*at),
                first: *first,
                buckets,
                offset,
                zero_wall_s: run.wall_offset_s.map(|offset_s| run.first_s + offset_s),
                x: 0.0,
                width: 0.0,
            });
            offset += buckets;
        }
        let widths = shares(&self.columns.iter().map(|column| column.buckets as f64).collect::<Vec<_>>());
        let gap = gap(widths.len());
        let mut x = 0.0;
        for (column, width) in self.columns.iter_mut().zip(widths) {
            (column.x, column.width) = (x, width);
            x += width + gap;
        }
    }
}

/// What lies between two columns, in percent.
fn gap(columns: usize) -> f64 {
    if columns > 6 { 0.8 } else { 1.4 }
}

/// The narrowest column, in percent.
const NARROWEST: f64 = 4.0;

/// Widths of columns in proportion, but none too narrow, with their gaps a whole.
fn shares(sizes: &[f64]) -> Vec<f64> {
    let room = 100.0 - gap(sizes.len()) * (sizes.len().max(1) - 1) as f64;
    let mut is_narrow = vec![false; sizes.len()];
    loop {
        let narrow = is_narrow.iter().filter(|narrow| **narrow).count();
        let left = room - NARROWEST * narrow as f64;
        let total: f64 =
            sizes.iter().zip(&is_narrow).filter(|(_, narrow)| !**narrow).map(|(size, _)| size).sum();
        let width = |size: f64| left * size / total;
        let found = (0..sizes.len()).find(|at| !is_narrow[*at] && width(sizes[*at]) < NARROWEST);
        match found {
            Some(at) => is_narrow[at] = true,
            None => {
                let widths = sizes.iter().zip(&is_narrow);
                return widths.map(|(size, narrow)| if *narrow { NARROWEST } else { width(*size) }).collect();
            }
        }
    }
}

/// Seconds from its run's zero to a bucket, by its name.
fn rel_s(scope: &str) -> Option<i64> {
    scope.rsplit_once(" +")?.1.strip_suffix('s')?.parse().ok()
}

/// The start of a bucket of wall time, by its name.
fn unix_s(scope: &str) -> Option<i64> {
    let time = DateTime::parse_from_rfc3339(scope).ok().map(|time| time.timestamp());
    time.or_else(|| scope.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_the_smallest_round_width_that_gives_few() {
        assert_eq!(width(&[(0.0, 3480.0)], None), (30, None));
        assert_eq!(width(&[(0.0, 3480.0); 3], None), (60, None));
        assert_eq!(width(&[(0.0, 0.0)], None), (1, None));
        assert_eq!(width(&[(0.0, 30.0 * 86_400.0)], None), (21_600, None));
        assert_eq!(width(&[(0.0, 700.0)], Some(1)), (1, None));
        assert_eq!(width(&[(0.0, 7000.0)], Some(1)), (10, Some(1)));
    }

    #[test]
    fn columns_are_in_proportion_and_none_is_too_narrow() {
        let widths = shares(&[1.0, 100.0, 99.0]);
        assert_eq!(widths[0], 4.0);
        assert!((widths.iter().sum::<f64>() + 2.8 - 100.0).abs() < 1e-9, "{widths:?}");
        assert_eq!(shares(&[7.0]), [100.0]);
    }
}
