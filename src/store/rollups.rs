//! Counts kept beside the rows, so that the common questions need not read every row: how requests
//! ended, and the legs of each engine (migration 2).
//!
//! They hold what is stored, nothing else: a row counts when it is new, in the transaction that
//! stores it.

use foldhash::HashMap;

use rusqlite::{Connection, Result, params};

use super::attempts::Attempts;
use crate::journal::terminal::{AttemptFailure, Terminal};

/// So many requests are counted in memory.
const MAX_REQUESTS: u64 = 100_000;

const COMPLETED: &str = "completed";

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
pub(super) struct Rollups {
    requests: u64,
    completed: i64,
    /// Requests that ended otherwise, by their terminal.
    others: HashMap<String, i64>,
    engines: HashMap<String, Engine>,
    /// Entries of attempt_failures that reached no engine.
    unattributed: i64,
}

/// What they add to the counts of an engine, by leg.
type Engine = [LegCounts; Leg::ALL.len()];

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

impl Rollups {
    /// Counts a terminal that was stored. Legs are those of the view `legs`.
    pub(super) fn count(&mut self, row: &Terminal<'_>, attempts: &Attempts) {
        let terminal = row.terminal.as_deref().unwrap_or_default();
        if terminal == COMPLETED {
            self.completed += 1;
        } else if let Some(requests) = self.others.get_mut(terminal) {
            *requests += 1;
        } else {
            self.others.insert(terminal.to_owned(), 1);
        }
        self.requests += 1;
        if row.attempts >= Some(1) && !attempts.last_recorded {
            if let Some(name) = &row.prefill_iid {
                self.engine(name)[Leg::Prefill as usize].count(None);
            }
            if let Some(name) = &row.decode_iid
                && row.decode_attempts > Some(attempts.recorded_decode_legs)
            {
                self.engine(name)[Leg::Decode as usize].count(None);
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
            self.engine(name)[Leg::Prefill as usize].count(failure);
        }
        if let Some(name) = &record.decode_iid
            && phase == Some("decode")
        {
            self.engine(name)[Leg::Decode as usize].count(Some(record));
        }
    }

    fn engine(&mut self, name: &str) -> &mut Engine {
        // Looked up twice: the borrow checker does not let the found one be returned from here.
        if !self.engines.contains_key(name) {
            self.engines.insert(name.to_owned(), Engine::default());
        }
        self.engines.get_mut(name).expect("the engine was just put there")
    }

    /// Adds it to the counts of a run.
    pub(super) fn save(&self, connection: &Connection, run_id: i64) -> Result<()> {
        self.save_terminals(connection, run_id)?;
        self.save_legs(connection, run_id)
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
        for (name, legs) in &self.engines {
            for leg in Leg::ALL {
                let counts = &legs[leg as usize];
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
}
