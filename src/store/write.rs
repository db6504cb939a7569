//! Writes rows: one prepared insert per table, duplicates, conflicts, rejects. Runs are in `runs`.
//!
//! Everything between [`Writer::begin`] and [`Writer::commit`] is one transaction, the source's
//! new position included. What the writer remembers between transactions is only what the
//! database says; it is forgotten when another process has written.

use foldhash::HashMap;

use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, Result, Statement, params, params_from_iter};

use super::builds::{self, BUILD_COLUMNS};
use super::events::{self, EVENT_COLUMNS, EVENT_FIELDS};
use super::rows::{self, FAILURE_COLUMNS, TERMINAL_COLUMNS};
use super::runs::Run;
use super::sources::{self, Progress};
use crate::journal::build::Build;
use crate::journal::event::{Clock, Event};
use crate::journal::terminal::{AttemptFailure, Terminal};
use crate::journal::{SCHEMA, SCHEMA_VERSION};

/// The columns of `terminals` that stand before and behind those of the journal's row.
pub(crate) const TERMINAL_PLACE: &[&str] = &["run_id", "source_id", "byte_offset"];
pub(crate) const TERMINAL_DERIVED: &[&str] = &[
    "extra",
    "attempt_failures",
    "cached_tokens_max",
    "recorded_attempts",
    "recorded_decode_legs",
    "last_recorded",
    "retried",
];
/// The columns of `attempt_failures` that stand before and behind those of the journal's entry.
pub(crate) const FAILURE_PLACE: &[&str] = &["terminal_id", "position", "run_id"];
pub(crate) const FAILURE_DERIVED: &[&str] = &["extra", "attributed"];

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The same row was stored before.
    Duplicate,
    /// Another row of the same identity was stored before; that one stays.
    Conflict,
    /// Its run was forgotten, so it is not stored.
    Forgotten,
}

/// Why bytes stand in `rejects`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectKind {
    /// They gave no row.
    Rejected,
    /// They gave a row, which is not quite what they say.
    Repaired,
}

impl RejectKind {
    /// The kind as the table names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Repaired => "repaired",
        }
    }
}

/// Bytes for `rejects`, with their place in the current source.
#[derive(Debug)]
pub struct Reject<'r> {
    /// Whether they gave a row.
    pub kind: RejectKind,
    /// The line's number, from 1.
    pub line_no: u64,
    /// The offset of the first byte.
    pub byte_offset: u64,
    /// How many there are.
    pub len_bytes: u64,
    /// What is wrong with them.
    pub reason: &'r str,
    /// The bytes, or as many as were kept.
    pub raw: &'r [u8],
}

/// At most so many bytes of a rejected line are kept.
pub const MAX_RAW: usize = 64 << 10;

/// Writes into one database.
#[derive(Debug)]
pub struct Writer<'c> {
    pub(super) connection: &'c Connection,
    insert_terminal: Insert<'c>,
    insert_failure: Insert<'c>,
    insert_event: Statement<'c>,
    insert_build: Statement<'c>,
    insert_reject: Statement<'c>,
    pub(super) runs: HashMap<String, Run>,
    pub(super) source: CurrentSource,
    data_version: i64,
}

/// The source that is being read.
#[derive(Debug, Default)]
pub(super) struct CurrentSource {
    pub source_id: i64,
    /// The offset up to which it was read when it was entered: rows before it were counted then.
    pub offset: u64,
    /// Whether what follows is read late, out of its order.
    pub is_late: bool,
    pub run_rows: u64,
    pub ambiguous_runs: u64,
    /// Build rows that no run has taken: key and digest, in the file's order.
    pub kept: Vec<(i64, String)>,
}

impl<'c> Writer<'c> {
    /// A writer into a database opened for writing.
    ///
    /// # Errors
    /// When the tables are not what they should be.
    pub fn new(connection: &'c Connection) -> Result<Self> {
        let insert = |table: &str, columns: &[&[&str]], or: &str| {
            let columns: Vec<String> =
                columns.concat().iter().map(|column| format!("\"{column}\"")).collect();
            let marks = vec!["?"; columns.len()].join(", ");
            let columns = columns.join(", ");
            connection.prepare(&format!("insert into {table} ({columns}) values ({marks}) {or}"))
        };
        let event_fields: Vec<&str> = EVENT_FIELDS.iter().map(|(name, _)| *name).collect();
        Ok(Self {
            connection,
            insert_terminal: Insert::new(insert(
                "terminals",
                &[TERMINAL_PLACE, TERMINAL_COLUMNS, TERMINAL_DERIVED],
                "on conflict (run_id, arrived, rid) do nothing",
            )?),
            insert_failure: Insert::new(insert(
                "attempt_failures",
                &[FAILURE_PLACE, FAILURE_COLUMNS, FAILURE_DERIVED],
                "",
            )?),
            insert_event: insert(
                "events",
                &[&["run_id", "source_id", "byte_offset", "digest"], EVENT_COLUMNS, &event_fields],
                "on conflict (run_id, digest) do nothing",
            )?,
            insert_build: insert(
                "builds",
                &[
                    &["source_id", "byte_offset", "schema", "schema_version", "digest", "state"],
                    BUILD_COLUMNS,
                ],
                "on conflict (source_id, byte_offset) do nothing",
            )?,
            insert_reject: insert(
                "rejects",
                &[&["source_id", "line_no", "byte_offset", "len_bytes", "kind", "reason", "raw"]],
                "on conflict (source_id, byte_offset, kind) do nothing",
            )?,
            runs: HashMap::default(),
            source: CurrentSource::default(),
            data_version: -1,
        })
    }

    /// The database, for reading within the transaction.
    pub fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Takes the write lock.
    ///
    /// # Errors
    /// When another process holds it for too long.
    pub fn begin(&mut self) -> Result<()> {
        self.connection.execute_batch("begin immediate")?;
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if version != self.data_version {
            self.data_version = version;
            self.clear();
        }
        Ok(())
    }

    /// Gives back the lock and whatever was written since it was taken.
    ///
    /// # Errors
    /// When SQLite cannot undo it.
    pub fn roll_back(&mut self) -> Result<()> {
        self.clear();
        self.connection.execute_batch("rollback")
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.source = CurrentSource::default();
    }

    /// Makes a source the current one: what follows was read from it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn enter(&mut self, source_id: i64) -> Result<()> {
        if self.source.source_id == source_id {
            return Ok(());
        }
        let mut source = self.connection.query_row(
            "select offset_bytes, run_rows, ambiguous_runs from sources where source_id = ?1",
            [source_id],
            |row| {
                let (offset, run_rows, ambiguous_runs) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(CurrentSource { source_id, offset, run_rows, ambiguous_runs, ..CurrentSource::default() })
            },
        )?;
        let mut kept = self.connection.prepare_cached(
            "select build_id, digest from builds where source_id = ?1 and state = 'kept'
             order by byte_offset",
        )?;
        let kept = kept.query_map([source_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        source.kept = kept.collect::<Result<_>>()?;
        self.source = source;
        Ok(())
    }

    /// As [`Writer::enter`], for rows that stand anywhere before the source's offset and could not be read
    /// when it was their turn. They do not bound the wall clock of their run, which takes rows in order.
    /// [`Writer::commit_late`] ends it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn enter_late(&mut self, source_id: i64) -> Result<()> {
        self.enter(source_id)?;
        self.source.is_late = true;
        Ok(())
    }

    /// Commits what was written, with how far the current source was read.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing since [`Writer::begin`] is kept.
    pub fn commit(&mut self, read: &Progress<'_>) -> Result<()> {
        self.save_runs()?;
        self.save_source()?;
        sources::advance(self.connection, self.source.source_id, read)?;
        self.connection.execute_batch("commit")
    }

    /// Commits rows that were read late, so many of them terminals and events. Builds of runs become what
    /// they would be, had those rows been read in their turn.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn commit_late(&mut self, run_rows: u64) -> Result<()> {
        self.source.run_rows += run_rows;
        self.save_runs()?;
        self.infer_again()?;
        self.save_source()?;
        self.connection.execute_batch("commit")?;
        self.clear();
        Ok(())
    }

    fn save_source(&self) -> Result<()> {
        let CurrentSource { source_id, run_rows, ambiguous_runs, .. } = self.source;
        sources::save_counts(self.connection, source_id, run_rows, ambiguous_runs)
    }

    /// Counts a terminal or an event of the current source, unless it is read again or late.
    fn count_row(&mut self, byte_offset: u64) {
        if byte_offset >= self.source.offset {
            self.source.run_rows += 1;
        }
    }

    /// Stores a build row of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn build(&mut self, row: &Build, byte_offset: u64) -> Result<Stored> {
        let digest = builds::build_digest(row);
        let source_id = self.source.source_id;
        let place = [
            Sql::Integer(source_id),
            Sql::Integer(byte_offset.cast_signed()),
            Sql::Text(SCHEMA.to_owned()),
            Sql::Integer(SCHEMA_VERSION),
            Sql::Text(digest.clone()),
            Sql::Text("kept".to_owned()),
        ];
        let cells = place.into_iter().chain(builds::build_cells(row));
        if self.insert_build.execute(params_from_iter(cells))? == 0 {
            return Ok(Stored::Duplicate);
        }
        self.source.kept.push((self.connection.last_insert_rowid(), digest));
        Ok(Stored::New)
    }

    /// Stores a terminal of the current source, with its attempt failures.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn terminal(&mut self, row: &Terminal<'_>, byte_offset: u64) -> Result<Stored> {
        self.count_row(byte_offset);
        let Some(run_id) = self.meet(row.run.as_deref().unwrap_or_default(), byte_offset)?.run_id else {
            return Ok(Stored::Forgotten);
        };
        let attempts = rows::attribute(row);
        let failures = row.attempt_failures.as_deref().map(<[_]>::len);
        let extra = rows::terminal_extra(row);

        let mut bind = self.insert_terminal.binder();
        bind(int(run_id))?;
        bind(int(self.source.source_id))?;
        bind(int(byte_offset.cast_signed()))?;
        rows::terminal_cells(row, &mut bind)?;
        bind(text(extra))?;
        bind(failures.map_or(rows::NULL, |count| int(count as i64)))?;
        let largest = row.cached_tokens.as_ref().and_then(|tokens| tokens.largest());
        bind(largest.map_or(rows::NULL, int))?;
        bind(int(attempts.recorded))?;
        bind(int(attempts.recorded_decode_legs))?;
        bind(int(i64::from(attempts.last_recorded)))?;
        bind(int(i64::from(attempts.retried)))?;
        drop(bind);
        if self.insert_terminal.statement.raw_execute()? == 0 {
            return self.compare(run_id, row);
        }

        let entries = row.attempt_failures.as_deref().unwrap_or_default();
        if !entries.is_empty() {
            let terminal_id = self.connection.last_insert_rowid();
            for (position, (entry, attributed)) in entries.iter().zip(&attempts.attributed).enumerate() {
                let mut bind = self.insert_failure.binder();
                bind(int(terminal_id))?;
                bind(int(position as i64))?;
                bind(int(run_id))?;
                rows::failure_cells(entry, &mut bind)?;
                bind(text(rows::failure_extra(entry)))?;
                bind(int(i64::from(*attributed)))?;
                drop(bind);
                self.insert_failure.statement.raw_execute()?;
            }
        }
        let arrived = row.arrived.unwrap_or_default();
        let is_late = self.source.is_late;
        let run = self.runs.get_mut(row.run.as_deref().unwrap_or_default()).expect("it was just met");
        run.cover(arrived);
        if let Some(duration_s) = row.duration_s {
            // The end moves the run's end only, also when the duration is negative.
            run.cover(arrived.max(arrived + duration_s));
            if !is_late {
                run.wall.wrote(arrived + duration_s);
            }
        }
        for at in entries.iter().filter_map(|entry| entry.at) {
            run.cover(at);
        }
        run.kept.count(row, &attempts);
        if run.kept.is_much() {
            std::mem::take(&mut run.kept).save(self.connection, run_id)?;
        }
        Ok(Stored::New)
    }

    /// Whether the stored terminal of the row's identity is the same row.
    #[cold]
    fn compare(&self, run_id: i64, row: &Terminal<'_>) -> Result<Stored> {
        let columns = TERMINAL_COLUMNS.join(", ");
        let mut find = self.connection.prepare_cached(&format!(
            "select {columns}, extra, attempt_failures, terminal_id from terminals
             where run_id = ?1 and arrived = ?2 and rid = ?3"
        ))?;
        let key = params![run_id, row.arrived, row.rid.as_deref()];
        let count = TERMINAL_COLUMNS.len();
        let failures = row.attempt_failures.as_deref();
        let (same, terminal_id) = find.query_row(key, |stored| {
            let mut same = Comparison::new(stored);
            rows::terminal_cells(row, &mut |cell| same.next(&cell))?;
            same.next(&text(rows::terminal_extra(row)))?;
            same.next(&failures.map_or(rows::NULL, |entries| int(entries.len() as i64)))?;
            Ok((same.holds, stored.get::<_, i64>(count + 2)?))
        })?;
        if same && self.has_failures(terminal_id, failures.unwrap_or_default())? {
            return Ok(Stored::Duplicate);
        }
        Ok(Stored::Conflict)
    }

    fn has_failures(&self, terminal_id: i64, entries: &[AttemptFailure<'_>]) -> Result<bool> {
        if entries.is_empty() {
            return Ok(true);
        }
        let columns = FAILURE_COLUMNS.join(", ");
        let mut find = self.connection.prepare_cached(&format!(
            "select {columns}, extra from attempt_failures where terminal_id = ?1 order by position"
        ))?;
        let mut stored = find.query([terminal_id])?;
        for entry in entries {
            let Some(stored) = stored.next()? else {
                return Ok(false);
            };
            let mut same = Comparison::new(stored);
            rows::failure_cells(entry, &mut |cell| same.next(&cell))?;
            same.next(&text(rows::failure_extra(entry)))?;
            if !same.holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stores an event of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn event(&mut self, row: &Event, byte_offset: u64) -> Result<Stored> {
        self.count_row(byte_offset);
        let Some(run_id) = self.meet(&row.run, byte_offset)?.run_id else {
            return Ok(Stored::Forgotten);
        };
        let place = [
            Sql::Integer(run_id),
            Sql::Integer(self.source.source_id),
            Sql::Integer(byte_offset.cast_signed()),
            Sql::Text(events::event_digest(row)),
        ];
        let cells = place.into_iter().chain(events::event_cells(row));
        if self.insert_event.execute(params_from_iter(cells))? == 0 {
            return Ok(Stored::Duplicate);
        }
        let is_late = self.source.is_late;
        let run = self.meet(&row.run, byte_offset)?;
        match (Clock::of_event(&row.event), row.at) {
            (Clock::Monotonic, Some(at)) => {
                run.cover(at);
                if !is_late {
                    run.wall.wrote(at);
                }
            }
            (Clock::Wall, Some(at)) if !is_late => run.wall.met(at),
            _ => {}
        }
        Ok(Stored::New)
    }

    /// Keeps bytes of the current source that were not read as they stand.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn reject(&mut self, reject: &Reject<'_>) -> Result<()> {
        self.insert_reject.execute(params![
            self.source.source_id,
            reject.line_no.cast_signed(),
            reject.byte_offset.cast_signed(),
            reject.len_bytes.cast_signed(),
            reject.kind.name(),
            reject.reason,
            &reject.raw[..reject.raw.len().min(MAX_RAW)],
        ])?;
        Ok(())
    }
}

fn int(int: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(Sql::Integer(int))
}

fn text(text: Option<String>) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(text.map_or(Sql::Null, Sql::Text))
}

/// A prepared insert into a table of many columns, most of them null in most rows.
#[derive(Debug)]
struct Insert<'c> {
    statement: Statement<'c>,
    /// Of each column, whether the row before gave it a value.
    bound: Vec<bool>,
}

impl<'c> Insert<'c> {
    fn new(statement: Statement<'c>) -> Self {
        let bound = vec![false; statement.parameter_count()];
        Self { statement, bound }
    }

    /// Binds one cell after the other. A null is bound only over a value.
    fn binder(&mut self) -> impl FnMut(ToSqlOutput<'_>) -> Result<()> + use<'_, 'c> {
        let mut at = 0;
        move |cell| {
            let is_value = !matches!(cell, ToSqlOutput::Owned(Sql::Null));
            let was_value = std::mem::replace(&mut self.bound[at], is_value);
            at += 1;
            if is_value || was_value { self.statement.raw_bind_parameter(at, cell) } else { Ok(()) }
        }
    }
}

/// Compares cells with a stored row's, column by column.
struct Comparison<'s, 'r> {
    stored: &'s rusqlite::Row<'r>,
    at: usize,
    holds: bool,
}

impl<'s, 'r> Comparison<'s, 'r> {
    fn new(stored: &'s rusqlite::Row<'r>) -> Self {
        Self { stored, at: 0, holds: true }
    }

    fn next(&mut self, cell: &ToSqlOutput<'_>) -> Result<()> {
        let stored = self.stored.get_ref(self.at)?;
        self.at += 1;
        let cell = match cell {
            ToSqlOutput::Borrowed(cell) => *cell,
            ToSqlOutput::Owned(cell) => ValueRef::from(cell),
            _ => return Ok(()),
        };
        self.holds &= cell == stored;
        Ok(())
    }
}
