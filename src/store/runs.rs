//! What rows say of their run as they come, and what of that is saved. Its clocks are estimated in `clocks`, and which build
//! wrote it is inferred in `inference`.

use foldhash::HashMap;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::attempts::Attempts;
use super::clocks;
use super::current::CurrentSource;
use super::forgotten;
use super::inference::Home;
use super::places::{LateGaps, RunIn, Writing};
use super::rollups::Rollups;
use crate::journal::terminal::Terminal;

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Its key; none while it is forgotten.
    pub run_id: Option<i64>,
    /// The last source it was met in.
    pub met_in: i64,
    /// Where its first row stands there, and whether that changed since the last commit.
    pub first_offset: u64,
    pub is_earlier: bool,
    /// Times stored since the last commit: the smallest and the largest.
    pub times: Option<(f64, f64)>,
    /// Its rows in that source, as events need to know them.
    pub writing: Writing,
    /// What the rows since the last commit add to its counts.
    pub rollups: Rollups,
}

impl Run {
    pub(super) fn cover(&mut self, time: f64) {
        // The sum of two huge spans can be none that a float holds.
        if !time.is_finite() {
            return;
        }
        let (first, last) = self.times.get_or_insert((time, time));
        *first = first.min(time);
        *last = last.max(time);
    }
}

/// Finds where the first stored row of each run stands. Terminals and events have numbers of their own: of
/// the first of both, the one in the source that was read first.
pub(super) fn fill_sources(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "update runs set source_id = first.source_id
         from (
             select f.run_id, min(f.source_id) as source_id
             from (
                 select t.run_id, t.source_id from terminals as t
                 where t.terminal_id in (select min(terminal_id) from terminals group by run_id)
                 union all
                 select e.run_id, e.source_id from events as e
                 where e.event_id in (select min(event_id) from events group by run_id)
             ) as f
             group by f.run_id
         ) as first
         where runs.run_id = first.run_id",
    )
}

/// The runs that rows were met of since they were last forgotten: what the database says of them, and what it does
/// not say yet.
#[derive(Debug)]
pub(super) struct Runs<'c> {
    connection: &'c Connection,
    by_name: HashMap<String, Run>,
    late_gaps: LateGaps,
}

impl<'c> Runs<'c> {
    /// None yet.
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, by_name: HashMap::default(), late_gaps: LateGaps::default() }
    }

    /// Forgets all: the database says something else.
    pub(super) fn clear(&mut self) {
        self.by_name.clear();
        self.late_gaps = LateGaps::default();
    }

    /// The run of that name, of which a row stands at this offset of the source.
    pub(super) fn meet(
        &mut self,
        source: &mut CurrentSource,
        name: &str,
        byte_offset: u64,
    ) -> Result<&mut Run> {
        // Looked up twice: the borrow checker does not let the found one be returned from here.
        if self.by_name.get(name).is_none_or(|run| run.met_in != source.source_id) {
            let run = self.meet_anew(source, name, byte_offset)?;
            self.by_name.insert(name.to_owned(), run);
        }
        let run = self.by_name.get_mut(name).expect("the run was just put there");
        if byte_offset < run.first_offset {
            run.first_offset = byte_offset;
            run.is_earlier = true;
        }
        Ok(run)
    }

    /// Finds or adds a run at the first of its rows that the current source gives, or gives again
    /// after another source was read, and infers its build (docs/semantics.md, "Which build wrote a run").
    #[cold]
    fn meet_anew(&self, source: &mut CurrentSource, name: &str, byte_offset: u64) -> Result<Run> {
        let source_id = source.source_id;
        if forgotten::meet(self.connection, source, name, byte_offset)? {
            return Ok(Run { met_in: source_id, ..Run::default() });
        }
        let run_id = self.find_or_add(name, source_id)?;
        let mut met_before = self.connection.prepare_cached(
            "select coalesce(first_offset, 0) from run_sources where source_id = ?1 and run_id = ?2",
        )?;
        let met_before = met_before.query_row(params![source_id, run_id], |row| row.get(0)).optional()?;
        if let Some(first_offset) = met_before {
            let writing = Writing::load(self.connection, source_id, run_id)?;
            return Ok(Run {
                run_id: Some(run_id),
                met_in: source_id,
                first_offset,
                writing,
                ..Run::default()
            });
        }
        let certainty = source.take_build(self.connection, Home::Runs, run_id)?;
        self.connection
            .prepare_cached(
                "insert into run_sources (source_id, run_id, build_certainty, first_offset)
                 values (?1, ?2, ?3, ?4)",
            )?
            .execute(params![source_id, run_id, certainty, byte_offset])?;
        Ok(Run { run_id: Some(run_id), met_in: source_id, first_offset: byte_offset, ..Run::default() })
    }

    fn find_or_add(&self, name: &str, source_id: i64) -> Result<i64> {
        let mut find = self.connection.prepare_cached("select run_id from runs where run = ?1")?;
        if let Some(run_id) = find.query_row([name], |row| row.get(0)).optional()? {
            return Ok(run_id);
        }
        self.connection
            .prepare_cached(
                "insert into runs (run, started_at, build_certainty, source_id) values (?1, ?2, 'missing', ?3)",
            )?
            .execute(params![name, clocks::started_at(name), source_id])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// A run that a row of the source was just met of; and what else is remembered.
    fn just_met(&mut self, source: &CurrentSource, name: &str) -> (&mut Run, RunIn<'c>, &mut LateGaps) {
        let run = self.by_name.get_mut(name).expect("it was just met");
        let run_id = run.run_id.expect("rows of forgotten runs are not stored");
        let CurrentSource { source_id, is_late, .. } = *source;
        let run_in = RunIn { connection: self.connection, run_id, source_id, is_late };
        (run, run_in, &mut self.late_gaps)
    }

    /// Notes what a terminal that was just stored says of its run.
    pub(super) fn ended(
        &mut self,
        source: &CurrentSource,
        row: &Terminal<'_>,
        attempts: &Attempts,
        byte_offset: u64,
    ) -> Result<()> {
        let connection = self.connection;
        let (run, run_in, _) = self.just_met(source, row.run.as_deref().unwrap_or_default());
        let arrived = row.arrived.unwrap_or_default();
        run.cover(arrived);
        if let Some(duration_s) = row.duration_s {
            // The end moves the run's end only, also when the duration is negative.
            run.cover(arrived.max(arrived + duration_s));
            run.writing.wrote(run_in, arrived + duration_s, byte_offset)?;
        }
        for at in row.attempt_failures.iter().flatten().filter_map(|entry| entry.at) {
            run.cover(at);
        }
        run.rollups.count(row, attempts);
        if run.rollups.is_much() {
            std::mem::take(&mut run.rollups).save(connection, run_in.run_id)?;
        }
        Ok(())
    }

    /// Notes an event of a run that was just stored and says when it happened.
    pub(super) fn happened(
        &mut self,
        source: &CurrentSource,
        name: &str,
        at: f64,
        byte_offset: u64,
    ) -> Result<()> {
        let (run, run_in, _) = self.just_met(source, name);
        run.cover(at);
        run.writing.wrote(run_in, at, byte_offset)
    }

    /// Notes one that does not say it.
    pub(super) fn note_gap(
        &mut self,
        source: &CurrentSource,
        name: &str,
        event_id: i64,
        byte_offset: u64,
    ) -> Result<()> {
        let (run, run_in, late_gaps) = self.just_met(source, name);
        late_gaps.note(run_in, &mut run.writing, event_id, byte_offset)
    }

    /// Saves what the rows since the last commit say of their runs; they were read from a file that had
    /// been written by the Unix second `written_by_s`, if that is known. What should be said of runs.
    pub(super) fn save(&mut self, written_by_s: Option<f64>) -> Result<Vec<String>> {
        self.late_gaps.save(self.connection)?;
        let mut notices = Vec::new();
        let mut written = self.connection.prepare_cached(
            "update run_sources set written_s = ?3, written_offset = ?4 where source_id = ?1 and run_id = ?2",
        )?;
        let mut first = self.connection.prepare_cached(
            "update run_sources set first_offset = ?3 where source_id = ?1 and run_id = ?2",
        )?;
        for run in self.by_name.values_mut() {
            let Some(run_id) = run.run_id else { continue };
            if std::mem::take(&mut run.is_earlier) {
                first.execute(params![run.met_in, run_id, run.first_offset])?;
            }
            let writing = &mut run.writing;
            if let Some((at, offset)) = writing.last
                && std::mem::take(&mut writing.moved)
            {
                written.execute(params![run.met_in, run_id, at, offset])?;
            }
            let file = writing.latest_s.take().zip(written_by_s).map(|(latest, by)| by - latest);
            let times = run.times.take();
            let changed = writing.take_changed(run.met_in);
            if times.is_some() || file.is_some() || changed.is_some() {
                let dropped = clocks::save(self.connection, run_id, times, file, changed)?;
                notices.extend(dropped);
            }
            std::mem::take(&mut run.rollups).save(self.connection, run_id)?;
        }
        Ok(notices)
    }
}
