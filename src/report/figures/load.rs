//! Attainment by offered rate, and TTFT by the price that admission put on it.

use std::collections::BTreeMap;

use anyhow::Result;

use super::answers::Reader;
use super::axis::Axis;
use super::series::Series;
use super::{Run, with_counts};
use crate::query::nested::are_nested;
use crate::report::plot::step_for;
use crate::selection::Selection;
use crate::statistics::Batches;

/// A band of offered rate.
#[derive(Debug, Clone, Default)]
pub(in crate::report) struct Band {
    pub number: i64,
    pub from: f64,
    pub to: f64,
    pub buckets: i64,
    pub scored: i64,
    pub met: i64,
    pub attainment: Option<f64>,
}

/// The bands.
#[derive(Debug, Default)]
pub(in crate::report) struct Load {
    /// How wide a band is, in requests/s.
    pub width: f64,
    pub bands: Vec<Band>,
}

/// There are at most so many bands.
const MOST_BANDS: f64 = 16.0;

/// Asks for it: in the buckets of each run, or of all together on an axis of wall time.
pub(in crate::report) fn load(
    reader: &mut Reader<'_>,
    (whole, axis, runs): (&Selection, &Axis, &[Run]),
    given: &[(&str, String)],
    has_targets: bool,
    series: &Series,
) -> Result<Load> {
    let busiest = series.buckets.iter().map(|bucket| bucket.offered_per_s).fold(0.0, f64::max);
    if !has_targets || busiest <= 0.0 {
        return Ok(Load::default());
    }
    let mut width = step_for(busiest / MOST_BANDS);
    while busiest / width >= MOST_BANDS {
        width = step_for(width * 1.01);
    }
    let mut load = Load { width, bands: Vec::new() };
    // Where every bucket is drawn they are the buckets that `goodput` counts.
    if axis.is_wall || axis.dropped == 0 && are_nested(&axis.selection.rows) {
        load.of_buckets(series, |at| is_whole(axis, runs, at));
        return Ok(load);
    }
    let mut given = given.to_vec();
    given.extend([("bucket", axis.bucket_s.to_string()), ("band", width.to_string())]);
    for row in reader.ask("goodput", whole, &given)?.rows() {
        let from = row.real("rate_from").unwrap_or(0.0);
        load.bands.push(Band {
            number: (from / width).round() as i64,
            from,
            to: row.real("rate_to").unwrap_or(0.0),
            buckets: row.int("buckets"),
            scored: row.int("scored"),
            met: row.int("met"),
            attainment: row.real("attainment"),
        });
    }
    Ok(load)
}

/// Whether a bucket counts: it is wholly selected, is the last of its run, or is of wall time.
fn is_whole(axis: &Axis, runs: &[Run], at: usize) -> bool {
    let (column, _) = axis.column_of(at);
    let Some(run) = axis.columns[column].run.map(|run| &runs[run]) else { return true };
    let (rel_s, width_s) = (axis.begin(at).0, axis.bucket_s);
    let (begin_s, end_s) = (run.first_s + rel_s as f64, run.first_s + (rel_s + width_s) as f64);
    let is_last = run
        .last_s
        .is_some_and(|last_s| ((rel_s / width_s) + 1) as f64 > (last_s - run.first_s) / width_s as f64);
    let rows = axis.selection.rows.iter().filter(|row| row.run_id == run.run_id);
    let mut parts = rows.filter(|row| axis.place(&row.scope) == Some(at));
    is_last || parts.any(|part| part.from_s <= begin_s && part.to_s >= end_s)
}

impl Load {
    /// The bands of the buckets that count.
    fn of_buckets(&mut self, series: &Series, counts: impl Fn(usize) -> bool) {
        let mut bands: BTreeMap<i64, Band> = BTreeMap::new();
        let buckets = series.buckets.iter().enumerate();
        for (_, bucket) in buckets.filter(|(at, bucket)| bucket.offered > 0 && counts(*at)) {
            let number = (bucket.offered_per_s / self.width).floor() as i64;
            let band = bands.entry(number).or_default();
            band.buckets += 1;
            band.scored += bucket.scored;
            band.met += bucket.met;
        }
        let width = self.width;
        self.bands = bands
            .into_iter()
            .map(|(number, band)| Band {
                number,
                from: number as f64 * width,
                to: (number + 1) as f64 * width,
                attainment: (band.scored > 0).then(|| band.met as f64 / band.scored as f64),
                ..band
            })
            .collect();
    }

    /// The band that each bucket counts for: those wholly selected, and the last of a run.
    pub(in crate::report) fn bands_of(&self, axis: &Axis, runs: &[Run], series: &Series) -> Vec<Option<i64>> {
        if self.bands.is_empty() {
            return Vec::new();
        }
        let band = |(at, bucket): (usize, &super::series::Bucket)| {
            let number = (bucket.offered_per_s / self.width).floor() as i64;
            (bucket.offered > 0 && is_whole(axis, runs, at)).then_some(number)
        };
        series.buckets.iter().enumerate().map(band).collect()
    }
}

impl Band {
    /// How sure its attainment is.
    pub(in crate::report) fn interval(&self, seen: &BTreeMap<i64, Batches>) -> Option<(f64, f64)> {
        let share = with_counts(self.met, self.scored, seen.get(&self.number)?)?;
        Some((share.low, share.high))
    }
}
