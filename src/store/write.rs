//! Writes rows in transactions: composed of what knows terminals (`terminals`), runs (`runs`) and the source that
//! is being read (`current`), none of which knows the writer.
//!
//! Everything between [`Writer::begin`] and the commit is one transaction, the source's
//! new position included. What the writer remembers between transactions is only what the
//! database says; it is forgotten when another process has written.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Result, Statement, params, params_from_iter};

use super::builds;
use super::cells::Insert;
use super::columns::{BUILD_COLUMNS, EVENT_FIELD_COLUMNS};
use super::current::CurrentSource;
pub use super::current::Stored;
use super::events::{self, EVENT_COLUMNS};
use super::places;
use super::runs::Runs;
use super::sources::{self, Reached};
use super::terminals::{Placed, Terminals};
use crate::journal::build::Build;
use crate::journal::declare::WriteValues;
use crate::journal::event::Event;
use crate::journal::text::PACKED;
use crate::journal::{SCHEMA, SCHEMA_VERSION};

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

/// So many bytes between packed lines are blank ones: a row is longer.
const BLANK: i64 = 32;

/// At most so many bytes of a rejected line are kept.
pub const MAX_RAW: usize = 64 << 10;

/// Writes into one database.
#[derive(Debug)]
pub struct Writer<'c> {
    connection: &'c Connection,
    terminals: Terminals<'c>,
    insert_event: Statement<'c>,
    insert_build: Insert<'c>,
    insert_reject: Statement<'c>,
    runs: Runs<'c>,
    source: CurrentSource,
    data_version: i64,
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
        let names =
            |columns: &'static [String]| -> Vec<&str> { columns.iter().map(String::as_str).collect() };
        Ok(Self {
            connection,
            terminals: Terminals::new(connection)?,
            insert_event: insert(
                "events",
                &[
                    &["run_id", "source_id", "byte_offset", "digest", "place_s"],
                    EVENT_COLUMNS,
                    &names(&EVENT_FIELD_COLUMNS),
                ],
                "on conflict (run_id, digest) do nothing",
            )?,
            insert_build: Insert::with_conflicts(
                connection,
                "into builds",
                &[
                    &["source_id", "byte_offset", "schema", "schema_version", "digest", "state"],
                    names(&BUILD_COLUMNS).as_slice(),
                    &["extra"],
                ]
                .concat(),
                1,
                "on conflict (source_id, byte_offset) do nothing",
            )?,
            insert_reject: insert(
                "rejects",
                &[&["source_id", "line_no", "byte_offset", "len_bytes", "kind", "reason", "raw"]],
                "on conflict (source_id, byte_offset, kind) do nothing",
            )?,
            runs: Runs::new(connection),
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
        self.source = CurrentSource::load(self.connection, source_id)?;
        Ok(())
    }

    /// As [`Writer::enter`], for rows that stand anywhere before the source's offset and could not be read
    /// when it was their turn. [`Writer::commit_late`] ends it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn enter_late(&mut self, source_id: i64) -> Result<()> {
        self.enter(source_id)?;
        self.source.is_late = true;
        Ok(())
    }

    /// Writes how far the current source was read, and what is only remembered. The transaction goes on, with
    /// another source perhaps.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn save(&mut self, read: &Reached<'_>) -> Result<Vec<String>> {
        let notices = self.runs.save(read.written_by_s)?;
        self.save_source()?;
        sources::advance(self.connection, self.source.source_id, read)?;
        Ok(notices)
    }

    /// Marks a place in the transaction, up to which everything is saved.
    ///
    /// # Errors
    /// When SQLite cannot.
    pub fn mark(&mut self) -> Result<()> {
        self.connection.execute_batch("savepoint mark")
    }

    /// Undoes what was written since the mark; the transaction goes on.
    ///
    /// # Errors
    /// When SQLite cannot undo it.
    pub fn roll_back_to_mark(&mut self) -> Result<()> {
        self.clear();
        self.connection.execute_batch("rollback to mark; release mark")
    }

    /// Commits rows that were read late, so many of them terminals and events. Builds of runs become what
    /// they would be, had those rows been read in their turn. What should be said of runs.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing since [`Writer::begin`] is kept.
    pub fn commit_late(&mut self, run_rows: u64) -> Result<Vec<String>> {
        self.source.run_rows += run_rows;
        // They stood in what was read.
        let sql = "select written_by_s from sources where source_id = ?1";
        let written_by_s = self.connection.query_row(sql, [self.source.source_id], |row| row.get(0))?;
        let notices = self.runs.save(written_by_s)?;
        self.source.infer_again(self.connection)?;
        self.save_source()?;
        self.connection.execute_batch("commit")?;
        self.clear();
        Ok(notices)
    }

    fn save_source(&self) -> Result<()> {
        let CurrentSource { source_id, run_rows, ambiguous_runs, .. } = self.source;
        sources::save_counts(self.connection, source_id, run_rows, ambiguous_runs)
    }

    /// Stores a build row of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn build(&mut self, row: &Build, byte_offset: u64) -> Result<Stored> {
        let digest = builds::build_digest(row);
        let source_id = self.source.source_id;
        let mut cells = self.insert_build.binder();
        cells.int(source_id)?;
        cells.int(byte_offset.cast_signed())?;
        cells.text(SCHEMA)?;
        cells.int(SCHEMA_VERSION)?;
        cells.text(&digest)?;
        cells.text("kept")?;
        builds::build_cells(row, &mut cells)?;
        if self.insert_build.execute()? == 0 {
            return Ok(Stored::Duplicate);
        }
        self.source.kept.push((self.connection.last_insert_rowid(), digest));
        Ok(Stored::New)
    }

    /// Stores terminals of the current source, with their attempt failures, in their order. What became
    /// of each.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn terminals(&mut self, rows: &[Placed<'_>]) -> Result<Vec<Stored>> {
        self.terminals.store(&mut self.runs, &mut self.source, rows)
    }

    /// Stores an event of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn event(&mut self, row: &Event, byte_offset: u64) -> Result<Stored> {
        self.source.count_row(byte_offset);
        let Some(run_id) = self.runs.meet(&mut self.source, &row.run, byte_offset)?.run_id else {
            return Ok(Stored::Forgotten);
        };
        let own_place = places::own_place(row);
        let place = [
            Sql::Integer(run_id),
            Sql::Integer(self.source.source_id),
            Sql::Integer(byte_offset.cast_signed()),
            Sql::Text(events::event_digest(row)),
            own_place.map_or(Sql::Null, Sql::Real),
        ];
        let cells = place.into_iter().chain(events::event_cells(row));
        if self.insert_event.execute(params_from_iter(cells))? == 0 {
            return Ok(Stored::Duplicate);
        }
        let event_id = self.connection.last_insert_rowid();
        match own_place {
            Some(at) => self.runs.happened(&self.source, &row.run, at, byte_offset)?,
            None => self.runs.note_gap(&self.source, &row.run, event_id, byte_offset)?,
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

    /// As [`Writer::reject`], of bytes that are no text: those of an archive within a journal are one entry, of
    /// which the first line is kept. Whether it is a new one.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn reject_packed(&mut self, reject: &Reject<'_>) -> Result<bool> {
        if self.extend_packed(reject)? {
            return Ok(false);
        }
        self.reject(reject)?;
        Ok(true)
    }

    /// Takes a reject into that of the packed bytes right before it; whether there are any.
    ///
    /// # Errors
    /// When SQLite fails.
    pub fn extend_packed(&mut self, reject: &Reject<'_>) -> Result<bool> {
        let mut extend = self.connection.prepare_cached(
            "update rejects set len_bytes = ?2 + ?3 - byte_offset
             where source_id = ?1 and kind = 'rejected' and reason glob ?4 || '*'
             and byte_offset + len_bytes between ?2 - ?5 and ?2
             and byte_offset = (select max(byte_offset) from rejects where source_id = ?1 and byte_offset < ?2)",
        )?;
        let (from, len) = (reject.byte_offset.cast_signed(), reject.len_bytes.cast_signed());
        Ok(extend.execute(params![self.source.source_id, from, len, PACKED, BLANK])? > 0)
    }
}
