//! Counts kept beside the rows, so that the common questions need not read every row: how requests
//! ended, the legs of each engine, and the measured values of completed requests by bins (migration 2).
//!
//! They hold what is stored, nothing else: a row counts when it is new, in the transaction that
//! stores it.

use std::collections::BTreeMap;

use foldhash::HashMap;

use rusqlite::{Connection, Result, params};

use super::bins::Bins;
use super::rows::Attempts;
use crate::journal::terminal::{AttemptFailure, Terminal};

/// So many requests are counted in memory.
const MAX_REQUESTS: u64 = 100_000;

const COMPLETED: &str = "completed";

/// What is counted by bins: columns of `terminals`.
const METRICS: [&str; 6] =
    ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"];

/// Those of them that are counted by the engine of the leg, too, and the leg.
const ENGINE_METRICS: [(&str, Leg); 3] =
    [("ttft_s", Leg::Prefill), ("tpot_s", Leg::Decode), ("decode_tpot_s", Leg::Decode)];

/// Their places among [`METRICS`].
const ENGINE_METRIC_AT: [usize; ENGINE_METRICS.len()] = [0, 1, 3];

/// What an engine was asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leg {
    Prefill,
    Decode,
}

impl Leg {
    const ALL: [Self; 2] = [Self::Prefill, Self::Decode];

    fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// What rows of one run add to its counts.
#[derive(Debug, Default)]
pub(super) struct Kept {
    requests: u64,
    completed: i64,
    /// Requests that ended otherwise, by their terminal.
    others: HashMap<String, i64>,
    bins: [Bins; METRICS.len()],
    engines: Vec<Engine>,
    /// Their places by their names.
    engine_at: HashMap<String, usize>,
    /// Entries of attempt_failures that reached no engine.
    unattributed: i64,
}

/// What they add to the counts of an engine.
#[derive(Debug, Default)]
struct Engine {
    legs: [LegCounts; Leg::ALL.len()],
    bins: [Bins; ENGINE_METRICS.len()],
}

#[derive(Debug, Default)]
struct LegCounts {
    attempts: i64,
    failures: i64,
    retried: i64,
    output_started: i64,
}

impl LegCounts {
    fn count(&mut self, failure: Option<&AttemptFailure<'_>>) {
        self.attempts += 1;
        if let Some(failure) = failure {
            self.failures += 1;
            self.retried += i64::from(failure.retry_scheduled == Some(true));
            self.output_started += i64::from(failure.output_started == Some(true));
        }
    }
}

/// What is measured of a completed request, in the order of [`METRICS`].
type Measured = [Option<f64>; METRICS.len()];

impl Kept {
    /// Counts a terminal that was stored. Legs are those of the view `legs`.
    pub(super) fn count(&mut self, row: &Terminal<'_>, attempts: &Attempts) {
        let served = [row.prefill_iid.as_deref(), row.decode_iid.as_deref()];
        let served = served.map(|engine| engine.map(|name| self.engine_at(name)));
        let terminal = row.terminal.as_deref().unwrap_or_default();
        if terminal == COMPLETED {
            self.completed += 1;
            let measured = [
                row.ttft_s,
                row.tpot_s,
                row.first_byte_s,
                row.decode_tpot_s,
                row.queue_wait_s,
                row.duration_s,
            ];
            self.measure(measured, served);
        } else if let Some(requests) = self.others.get_mut(terminal) {
            *requests += 1;
        } else {
            self.others.insert(terminal.to_owned(), 1);
        }
        self.requests += 1;
        if row.attempts >= Some(1) && !attempts.last_recorded {
            let left = [true, row.decode_attempts > Some(attempts.recorded_decode_legs)];
            for ((leg, engine), left) in Leg::ALL.into_iter().zip(served).zip(left) {
                if let (Some(at), true) = (engine, left) {
                    self.engines[at].legs[leg as usize].count(None);
                }
            }
        }
        let entries = row.attempt_failures.as_deref().unwrap_or_default();
        for (entry, is_attributed) in entries.iter().zip(&attempts.attributed) {
            if *is_attributed {
                self.count_failed(entry);
            } else {
                self.unattributed += 1;
            }
        }
    }

    /// Whether so much is counted that it must be saved before the batch ends: one transaction can be a
    /// file of any size, and memory must not grow with it.
    pub(super) fn is_much(&self) -> bool {
        self.requests >= MAX_REQUESTS
    }

    /// Counts the legs of a failed attempt, by its record.
    fn count_failed(&mut self, record: &AttemptFailure<'_>) {
        let phase = record.phase.as_deref();
        if let Some(name) = &record.prefill_iid {
            let failure = (phase == Some("prefill")).then_some(record);
            let at = self.engine_at(name);
            self.engines[at].legs[Leg::Prefill as usize].count(failure);
        }
        if let Some(name) = &record.decode_iid
            && phase == Some("decode")
        {
            let at = self.engine_at(name);
            self.engines[at].legs[Leg::Decode as usize].count(Some(record));
        }
    }

    /// Counts what a completed request was measured at, and served by: for each leg, an engine's place.
    fn measure(&mut self, measured: Measured, served: [Option<usize>; Leg::ALL.len()]) {
        for (bins, value) in self.bins.iter_mut().zip(measured) {
            if let Some(value) = value {
                bins.add(value);
            }
        }
        for (at, (_, leg)) in ENGINE_METRICS.into_iter().enumerate() {
            if let (Some(engine), Some(value)) = (served[leg as usize], measured[ENGINE_METRIC_AT[at]]) {
                self.engines[engine].bins[at].add(value);
            }
        }
    }

    fn engine_at(&mut self, name: &str) -> usize {
        if let Some(at) = self.engine_at.get(name) {
            return *at;
        }
        self.engines.push(Engine::default());
        self.engine_at.insert(name.to_owned(), self.engines.len() - 1);
        self.engines.len() - 1
    }

    /// Adds it to the counts of a run.
    pub(super) fn save(&self, connection: &Connection, run_id: i64) -> Result<()> {
        self.save_terminals(connection, run_id)?;
        self.save_legs(connection, run_id)?;
        self.save_bins(connection, run_id)
    }

    fn save_terminals(&self, connection: &Connection, run_id: i64) -> Result<()> {
        let mut add = connection.prepare_cached(
            "insert into terminal_counts (run_id, terminal, requests) values (?1, ?2, ?3)
             on conflict (run_id, terminal) do update set requests = requests + excluded.requests",
        )?;
        if self.completed > 0 {
            add.execute(params![run_id, COMPLETED, self.completed])?;
        }
        for (terminal, requests) in &self.others {
            add.execute(params![run_id, terminal, requests])?;
        }
        Ok(())
    }

    fn save_legs(&self, connection: &Connection, run_id: i64) -> Result<()> {
        let mut add = connection.prepare_cached(
            "insert into leg_counts (run_id, leg, engine, attempts, failures, retried, output_started)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             on conflict (run_id, leg, engine) do update set
                 attempts = attempts + excluded.attempts,
                 failures = failures + excluded.failures,
                 retried = retried + excluded.retried,
                 output_started = output_started + excluded.output_started",
        )?;
        let mut add = |leg: &str, engine: &str, counts: &LegCounts| {
            let LegCounts { attempts, failures, retried, output_started } = counts;
            add.execute(params![run_id, leg, engine, attempts, failures, retried, output_started])
        };
        for (name, at) in &self.engine_at {
            for leg in Leg::ALL {
                let counts = &self.engines[*at].legs[leg as usize];
                if counts.attempts > 0 {
                    add(leg.name(), name, counts)?;
                }
            }
        }
        if self.unattributed > 0 {
            add("unattributed", "", &LegCounts { failures: self.unattributed, ..LegCounts::default() })?;
        }
        Ok(())
    }

    fn save_bins(&self, connection: &Connection, run_id: i64) -> Result<()> {
        let mut add = connection.prepare_cached(
            "insert into latency_bins (run_id, metric, low, requests) values (?1, ?2, ?3, ?4)
             on conflict (run_id, metric, low) do update set requests = requests + excluded.requests",
        )?;
        let mut add_engine = connection.prepare_cached(
            "insert into engine_latency_bins (run_id, metric, engine, low, requests)
             values (?1, ?2, ?3, ?4, ?5)
             on conflict (run_id, metric, engine, low) do update set requests = requests + excluded.requests",
        )?;
        self.each_series(|metric, engine, bins| {
            for (low, requests) in bins.counted() {
                match engine {
                    None => add.execute(params![run_id, metric, low, requests])?,
                    Some(engine) => add_engine.execute(params![run_id, metric, engine, low, requests])?,
                };
            }
            Ok(())
        })
    }

    /// Gives the bins that hold a value, by metric, and by engine where they are counted so.
    fn each_series(&self, mut take: impl FnMut(&str, Option<&str>, &Bins) -> Result<()>) -> Result<()> {
        for (metric, bins) in METRICS.iter().zip(&self.bins).filter(|(_, bins)| !bins.is_empty()) {
            take(metric, None, bins)?;
        }
        for (name, at) in &self.engine_at {
            let counted = ENGINE_METRICS.iter().zip(&self.engines[*at].bins);
            for ((metric, _), bins) in counted.filter(|(_, bins)| !bins.is_empty()) {
                take(metric, Some(name), bins)?;
            }
        }
        Ok(())
    }
}

/// Counts the stored values by bins and gives what it counted, run by run, a large one in parts. Nothing
/// else: legs are counted by the view of that name.
fn recount_bins(connection: &Connection, mut take: impl FnMut(i64, &Kept) -> Result<()>) -> Result<()> {
    let mut stored = connection.prepare(&format!(
        "select run_id, prefill_iid, decode_iid, {} from terminals where terminal = 'completed' order by run_id",
        METRICS.join(", ")
    ))?;
    let mut rows = stored.query([])?;
    let mut current: Option<(i64, Kept)> = None;
    while let Some(row) = rows.next()? {
        let run_id = row.get(0)?;
        if let Some((before, kept)) = current.take_if(|(of, kept)| *of != run_id || kept.is_much()) {
            take(before, &kept)?;
        }
        let (_, kept) = current.get_or_insert_with(|| (run_id, Kept::default()));
        let mut served = [None; Leg::ALL.len()];
        for (at, engine) in served.iter_mut().enumerate() {
            *engine = row.get_ref(1 + at)?.as_str_or_null()?.map(|name| kept.engine_at(name));
        }
        let mut measured = Measured::default();
        for (at, value) in measured.iter_mut().enumerate() {
            *value = row.get(3 + at)?;
        }
        kept.measure(measured, served);
        kept.requests += 1;
    }
    current.map_or(Ok(()), |(run_id, kept)| take(run_id, &kept))
}

/// Compares the counts by bins with the rows: a sentence for whatever differs.
///
/// # Errors
/// When the database cannot be read.
pub fn wrong_bins(connection: &Connection) -> Result<Vec<String>> {
    // Of each bin, by the bits of its lower end: how many requests more it counts than there are.
    let mut excess: BTreeMap<Series, BTreeMap<u64, i64>> = BTreeMap::new();
    let mut stored = connection.prepare(
        "select run_id, metric, null, low, requests from latency_bins
         union all
         select run_id, metric, engine, low, requests from engine_latency_bins",
    )?;
    let mut rows = stored.query([])?;
    while let Some(row) = rows.next()? {
        let (low, requests): (f64, i64) = (row.get(3)?, row.get(4)?);
        let bins = excess.entry((row.get(0)?, row.get(1)?, row.get(2)?)).or_default();
        *bins.entry(low.to_bits()).or_default() += requests;
    }
    recount_bins(connection, |run_id, kept| {
        kept.each_series(|metric, engine, counted| {
            let bins = excess.entry((run_id, metric.to_owned(), engine.map(str::to_owned))).or_default();
            for (low, requests) in counted.counted() {
                *bins.entry(low.to_bits()).or_default() -= requests;
            }
            Ok(())
        })
    })?;
    let wrong = excess.into_iter().filter(|(_, bins)| bins.values().any(|requests| *requests != 0));
    let mut name = connection.prepare("select coalesce(max(run), ?1) from runs where run_id = ?1")?;
    wrong
        .map(|((run_id, metric, engine), _)| {
            let run: String = name.query_row([run_id], |row| row.get(0))?;
            let of = engine.map(|engine| format!(" of engine {engine}")).unwrap_or_default();
            Ok(format!("run {run}: {metric}{of} is not counted by bins as it is stored"))
        })
        .collect()
}

/// A run, a metric, and an engine where it is counted by engine.
type Series = (i64, String, Option<String>);

/// Counts by bins what an older release stored.
pub(super) fn fill_bins(connection: &Connection) -> Result<()> {
    recount_bins(connection, |run_id, kept| kept.save_bins(connection, run_id))
}
