//! Writes rows: one prepared insert per table, duplicates, conflicts, rejects. Runs are in `runs`.
//!
//! Everything between [`Writer::begin`] and [`Writer::commit`] is one transaction, the source's
//! new position included. What the writer remembers between transactions is only what the
//! database says; it is forgotten when another process has written.

use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, Result, Statement, params, params_from_iter};

use super::builds::{self, BUILD_COLUMNS};
use super::events::{self, EVENT_COLUMNS, EVENT_FIELDS};
use super::rows::{self, FAILURE_COLUMNS, TERMINAL_COLUMNS};
use super::runs::Run;
use super::sources::{self, FileId, Progress};
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
    insert_terminal: Statement<'c>,
    insert_failure: Statement<'c>,
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
            insert_terminal: insert(
                "terminals",
                &[TERMINAL_PLACE, TERMINAL_COLUMNS, TERMINAL_DERIVED],
                "on conflict (run_id, arrived, rid) do nothing",
            )?,
            insert_failure: insert(
                "attempt_failures",
                &[FAILURE_PLACE, FAILURE_COLUMNS, FAILURE_DERIVED],
                "",
            )?,
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
            runs: HashMap::new(),
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
            self.forget();
        }
        Ok(())
    }

    /// Gives back the lock and whatever was written since it was taken.
    ///
    /// # Errors
    /// When SQLite cannot undo it.
    pub fn roll_back(&mut self) -> Result<()> {
        self.forget();
        self.connection.execute_batch("rollback")
    }

    fn forget(&mut self) {
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
        let (run_rows, ambiguous_runs) = self.connection.query_row(
            "select run_rows, ambiguous_runs from sources where source_id = ?1",
            [source_id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut kept = self.connection.prepare_cached(
            "select build_id, digest from builds where source_id = ?1 and state = 'kept'
             order by byte_offset",
        )?;
        let kept = kept.query_map([source_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.source =
            CurrentSource { source_id, run_rows, ambiguous_runs, kept: kept.collect::<Result<_>>()? };
        Ok(())
    }

    /// Commits what was written, with how far the current source was read.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing since [`Writer::begin`] is kept.
    pub fn commit(&mut self, read: &Reached<'_>) -> Result<()> {
        self.save_runs()?;
        let progress = Progress {
            path: read.path,
            file: read.file,
            offset: read.offset,
            lines: read.lines,
            run_rows: self.source.run_rows,
            ambiguous_runs: self.source.ambiguous_runs,
            head: read.head,
            tail: read.tail,
        };
        sources::advance(self.connection, self.source.source_id, &progress)?;
        self.connection.execute_batch("commit")
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
        self.source.run_rows += 1;
        let run_id = self.meet(row.run.as_deref().unwrap_or_default())?.run_id;
        let attempts = rows::attribute(row);
        let failures = row.attempt_failures.as_deref().map(<[_]>::len);
        let extra = rows::terminal_extra(row);

        let insert = &mut self.insert_terminal;
        let mut bind = binder(insert);
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
        if insert.raw_execute()? == 0 {
            return self.compare(run_id, row);
        }

        let entries = row.attempt_failures.as_deref().unwrap_or_default();
        if !entries.is_empty() {
            let terminal_id = self.connection.last_insert_rowid();
            for (position, (entry, attributed)) in entries.iter().zip(&attempts.attributed).enumerate() {
                let insert = &mut self.insert_failure;
                let mut bind = binder(insert);
                bind(int(terminal_id))?;
                bind(int(position as i64))?;
                bind(int(run_id))?;
                rows::failure_cells(entry, &mut bind)?;
                bind(text(rows::failure_extra(entry)))?;
                bind(int(i64::from(*attributed)))?;
                drop(bind);
                insert.raw_execute()?;
            }
        }
        let arrived = row.arrived.unwrap_or_default();
        let run = self.meet(row.run.as_deref().unwrap_or_default())?;
        run.cover(arrived);
        if let Some(duration_s) = row.duration_s {
            // The end moves the run's end only, also when the duration is negative.
            run.cover(arrived.max(arrived + duration_s));
            run.wall.wrote(arrived + duration_s);
        }
        for at in entries.iter().filter_map(|entry| entry.at) {
            run.cover(at);
        }
        run.kept.count(row, &attempts);
        if run.kept.is_much() {
            let (kept, run_id) = (std::mem::take(&mut run.kept), run.run_id);
            kept.save(self.connection, run_id)?;
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
        self.source.run_rows += 1;
        let run_id = self.meet(&row.run)?.run_id;
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
        let run = self.meet(&row.run)?;
        match (Clock::of_event(&row.event), row.at) {
            (Clock::Monotonic, Some(at)) => {
                run.cover(at);
                run.wall.wrote(at);
            }
            (Clock::Wall, Some(at)) => run.wall.met(at),
            (Clock::Unknown, _) | (_, None) => {}
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

/// How far the current source was read.
#[derive(Debug)]
pub struct Reached<'p> {
    /// The name it is read under.
    pub path: &'p str,
    /// The file it is read from.
    pub file: Option<FileId>,
    /// The byte after the last line read.
    pub offset: u64,
    /// Lines read.
    pub lines: u64,
    /// Its first bytes.
    pub head: &'p [u8],
    /// The bytes before the offset.
    pub tail: &'p [u8],
}

fn int(int: i64) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(Sql::Integer(int))
}

fn text(text: Option<String>) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(text.map_or(Sql::Null, Sql::Text))
}

/// Binds one cell after the other. A null needs no binding: the statement begins with none.
fn binder<'s, 'c>(
    statement: &'s mut Statement<'c>,
) -> impl FnMut(ToSqlOutput<'_>) -> Result<()> + use<'s, 'c> {
    statement.clear_bindings();
    let mut at = 0;
    move |cell| {
        at += 1;
        match cell {
            ToSqlOutput::Owned(Sql::Null) => Ok(()),
            cell => statement.raw_bind_parameter(at, cell),
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
