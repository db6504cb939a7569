//! What is drawn over time: the answers of canned queries for each bucket.

use std::collections::HashMap;

use anyhow::Result;

use super::answers::{Answers, Reader};
use super::axis::{Axis, AxisColumn};
use super::survey::Survey;
use super::{Run, STAGES, with_counts};
use crate::query::answer::Row;

/// Percentiles of a bucket.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::report) struct Percentiles {
    pub n: i64,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
}

impl Percentiles {
    /// p90 says nothing of fewer values than 10, p99 of fewer than 100.
    fn of(row: &Row<'_>) -> Self {
        let n = row.int("n");
        Self {
            n,
            p50: row.real("p50"),
            p90: row.real("p90").filter(|_| n >= 10),
            p99: row.real("p99").filter(|_| n >= 100),
        }
    }
}

/// A bucket.
#[derive(Debug, Clone, Default)]
pub(in crate::report) struct Bucket {
    pub offered: i64,
    pub offered_per_s: f64,
    pub completed: i64,
    pub completed_per_s: f64,
    pub scored: i64,
    pub met: i64,
    pub attainment: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// By layer of [`Series::away`] and [`Series::failed`].
    pub away: Vec<i64>,
    pub failed: Vec<i64>,
    pub ttft: Percentiles,
    pub tpot: Percentiles,
    /// By stage of [`Series::stages`].
    pub waits: Vec<Percentiles>,
    /// Prefill, decode; by the time of the failure.
    pub failed_legs: [i64; 2],
    /// Whether a run ends in it.
    pub is_end: bool,
}

impl Bucket {
    /// Whether nothing was asked and nothing happened.
    pub(in crate::report) fn is_idle(&self) -> bool {
        self.offered == 0 && self.completed == 0 && self.failed_legs == [0, 0]
    }
}

/// The series.
#[derive(Debug, Default)]
pub(in crate::report) struct Series {
    pub buckets: Vec<Bucket>,
    /// What turned requests away, the most frequent first, and where failed ones were.
    pub away: Vec<Layer>,
    pub failed: Vec<Layer>,
    /// Stages that are drawn; `total` alone where none is recorded.
    pub stages: Vec<&'static str>,
}

/// A layer of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Layer {
    pub name: String,
    pub requests: i64,
    /// Of several kinds, the rarer ones.
    pub is_rest: bool,
}

/// So many layers are told apart.
const LAYERS: usize = 4;

/// Asks for the series.
pub(in crate::report) fn series(
    reader: &mut Reader<'_>,
    axis: &Axis,
    runs: &[Run],
    given: &[(&str, String)],
    has_targets: bool,
    percentiles: &Answers,
) -> Result<Series> {
    let mut series = Series { buckets: vec![Bucket::default(); axis.buckets()], ..Series::default() };
    if series.buckets.is_empty() {
        return Ok(series);
    }
    let mut away = Kinds::default();
    let mut failed = Kinds::default();
    for row in reader.ask("outcomes", &axis.selection, &[])?.rows() {
        let Some(at) = axis.place(&row.text("scope")) else { continue };
        let (terminal, requests) = (row.text("terminal"), row.int("requests"));
        series.buckets[at].offered += requests;
        if axis.is_wall && terminal == "completed" {
            series.buckets[at].completed = requests;
        }
        if matches!(terminal.as_str(), "rejected" | "expired") {
            away.add(at, &terminal, requests);
        }
    }
    for row in reader.ask("refusals", &axis.selection, &[])?.rows() {
        if let Some(at) = axis.place(&row.text("scope")) {
            let cause = row.known_text("cause").unwrap_or_else(|| "cause unknown".to_owned());
            away.add(at, &format!("refused: {cause}"), row.int("requests"));
        }
    }
    let phases = reader.own(include_str!("../../../queries/report/failed-phases.sql"), &axis.selection)?;
    for row in phases.rows() {
        if let Some(at) = axis.place(&row.text("scope")) {
            failed.add(at, &phase_in_words(row.known_text("phase").as_deref()), row.int("requests"));
        }
    }
    series.away = away.layers(LAYERS, "other reasons", &mut series.buckets, |bucket| &mut bucket.away);
    series.failed = failed.layers(LAYERS - 1, "elsewhere", &mut series.buckets, |bucket| &mut bucket.failed);
    if has_targets {
        for row in reader.ask("attainment", &axis.selection, given)?.rows() {
            if let Some(at) = axis.place(&row.text("scope")) {
                let bucket = &mut series.buckets[at];
                (bucket.scored, bucket.met) = (row.int("scored"), row.int("met"));
                bucket.attainment = row.real("attainment");
            }
        }
    }
    series.rates(reader, axis, runs)?;
    series.latency(axis, percentiles);
    for (number, run) in runs.iter().enumerate() {
        if let Some((from_s, to_s)) = run.span() {
            let is_drawn = axis.is_wall || axis.columns.iter().any(|column| column.run == Some(number));
            if let Some(at) = axis.bucket_of(run.run_id, to_s.max(from_s)).filter(|_| is_drawn) {
                series.buckets[at].is_end = true;
            }
        }
    }
    Ok(series)
}

/// Where a failed request was.
fn phase_in_words(phase: Option<&str>) -> String {
    match phase {
        Some("decode") => "in decode".to_owned(),
        Some("prefill") => "in prefill".to_owned(),
        Some("queue") => "waiting for an engine".to_owned(),
        Some(phase) => format!("in {phase}"),
        None => "no record of it".to_owned(),
    }
}

impl Series {
    /// Offered by arrival; completed by end where each run has its own buckets, by arrival on an axis of wall time.
    fn rates(&mut self, reader: &mut Reader<'_>, axis: &Axis, runs: &[Run]) -> Result<()> {
        let width_s = axis.bucket_s as f64;
        for bucket in &mut self.buckets {
            bucket.offered_per_s = bucket.offered as f64 / width_s;
        }
        if axis.is_wall {
            // By the whole bucket: by the time that a run was up in it, a run that touches one would have any rate.
            for bucket in &mut self.buckets {
                bucket.completed_per_s = bucket.completed as f64 / width_s;
            }
            return Ok(());
        }
        // As `throughput` counts them, which reads the wide rows for its tokens.
        let columns: HashMap<i64, &AxisColumn> =
            axis.columns.iter().filter_map(|column| Some((runs[column.run?].run_id, column))).collect();
        let is_asked = axis.selected();
        reader.each(include_str!("../../../queries/report/ends.sql"), &axis.selection, |cells| {
            let (Ok(run_id), Ok(rel_s)) = (cells[0].as_i64(), cells[1].as_f64()) else { return };
            let Some(column) = columns.get(&run_id) else { return };
            let number = (rel_s / width_s) as i64 - column.first;
            if (0..column.buckets as i64).contains(&number) {
                let at = column.offset + number as usize;
                self.buckets[at].completed += i64::from(is_asked[at]);
            }
        })?;
        for bucket in &mut self.buckets {
            bucket.completed_per_s = bucket.completed as f64 / width_s;
        }
        Ok(())
    }

    /// From the answers about each bucket.
    fn latency(&mut self, axis: &Axis, percentiles: &Answers) {
        for row in percentiles.rows("latency") {
            let Some(at) = axis.place(&row.text("scope")) else { continue };
            match row.text("metric").as_str() {
                "ttft_s" => self.buckets[at].ttft = Percentiles::of(&row),
                "tpot_s" => self.buckets[at].tpot = Percentiles::of(&row),
                _ => {}
            }
        }
        let waits = || percentiles.rows("queue-waits");
        let is_met = |stage: &&str| waits().any(|row| row.text("stage") == **stage && row.int("n") > 0);
        self.stages = STAGES[..3].iter().copied().filter(|stage| is_met(stage)).collect();
        if self.stages.is_empty() {
            self.stages = vec![STAGES[3]];
        }
        for bucket in &mut self.buckets {
            bucket.waits = vec![Percentiles::default(); self.stages.len()];
        }
        for row in waits() {
            let stage = self.stages.iter().position(|stage| *stage == row.text("stage"));
            if let Some((at, stage)) = axis.place(&row.text("scope")).zip(stage) {
                self.buckets[at].waits[stage] = Percentiles::of(&row);
            }
        }
    }

    /// Adds how sure the attainment of each bucket is.
    pub(super) fn add_intervals(&mut self, survey: &Survey) {
        for (bucket, seen) in self.buckets.iter_mut().zip(&survey.by_bucket) {
            bucket.interval =
                with_counts(bucket.met, bucket.scored, seen).map(|share| (share.low, share.high));
        }
    }
}

/// Counts by bucket and kind.
#[derive(Default)]
struct Kinds {
    totals: HashMap<String, i64>,
    counts: Vec<(usize, String, i64)>,
}

impl Kinds {
    fn add(&mut self, bucket: usize, kind: &str, requests: i64) {
        *self.totals.entry(kind.to_owned()).or_default() += requests;
        self.counts.push((bucket, kind.to_owned(), requests));
    }

    /// The most frequent kinds, and the others as one; their counts go to the buckets.
    fn layers(
        self,
        most: usize,
        rest: &str,
        buckets: &mut [Bucket],
        of: impl Fn(&mut Bucket) -> &mut Vec<i64>,
    ) -> Vec<Layer> {
        let mut totals: Vec<(String, i64)> = self.totals.into_iter().collect();
        totals.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let others: i64 = totals.iter().skip(most).map(|(_, requests)| requests).sum();
        let mut layers: Vec<Layer> = totals
            .iter()
            .take(most)
            .map(|(name, requests)| Layer { name: name.clone(), requests: *requests, is_rest: false })
            .collect();
        if totals.len() == most + 1 {
            let (name, requests) = &totals[most];
            layers.push(Layer { name: name.clone(), requests: *requests, is_rest: true });
        } else if others > 0 {
            layers.push(Layer { name: rest.to_owned(), requests: others, is_rest: true });
        }
        for bucket in buckets.iter_mut() {
            *of(bucket) = vec![0; layers.len()];
        }
        for (bucket, kind, requests) in self.counts {
            let at = layers.iter().position(|layer| layer.name == kind).unwrap_or(layers.len() - 1);
            of(&mut buckets[bucket])[at] += requests;
        }
        layers
    }
}
