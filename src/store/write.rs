//! Writes rows in transactions: builds, events, rejects. Terminals are in `terminals`, runs in `runs`.
//!
//! Everything between [`Writer::begin`] and the commit is one transaction, the source's
//! new position included. What the writer remembers between transactions is only what the
//! database says; it is forgotten when another process has written.

use foldhash::HashMap;

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Result, Statement, params, params_from_iter};

use super::builds::{self, BUILD_COLUMNS};
use super::events::{self, EVENT_COLUMNS, EVENT_FIELDS};
use super::places::{self, Gap, RunIn};
use super::runs::Run;
use super::sources::{self, Progress};
use super::terminals::Inserts;
use crate::journal::build::Build;
use crate::journal::event::Event;
use crate::journal::text::PACKED;
use crate::journal::{SCHEMA, SCHEMA_VERSION};

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

/// So many bytes between packed lines are blank ones: a row is longer.
const BLANK: i64 = 32;

/// At most so many bytes of a rejected line are kept.
pub const MAX_RAW: usize = 64 << 10;

/// Writes into one database.
#[derive(Debug)]
pub struct Writer<'c> {
    pub(super) connection: &'c Connection,
    pub(super) inserts: Inserts<'c>,
    insert_event: Statement<'c>,
    insert_build: Statement<'c>,
    insert_reject: Statement<'c>,
    pub(super) runs: HashMap<String, Run>,
    pub(super) source: CurrentSource,
    /// Events that came out of their order and do not say when they happened, since the last commit.
    pub(super) late_gaps: Vec<Gap>,
    /// What should be said of runs, since the last commit.
    pub(super) notices: Vec<String>,
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
            inserts: Inserts::new(connection)?,
            insert_event: insert(
                "events",
                &[&["run_id", "source_id", "byte_offset", "digest", "place_s"], EVENT_COLUMNS, &event_fields],
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
            late_gaps: Vec::new(),
            notices: Vec::new(),
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
        self.late_gaps.clear();
        self.notices.clear();
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
    pub fn save(&mut self, read: &Progress<'_>) -> Result<Vec<String>> {
        self.save_runs(read.written_by_s)?;
        self.save_source()?;
        sources::advance(self.connection, self.source.source_id, read)?;
        Ok(std::mem::take(&mut self.notices))
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
        self.save_runs(written_by_s)?;
        self.infer_again()?;
        self.save_source()?;
        self.connection.execute_batch("commit")?;
        let notices = std::mem::take(&mut self.notices);
        self.clear();
        Ok(notices)
    }

    fn save_source(&self) -> Result<()> {
        let CurrentSource { source_id, run_rows, ambiguous_runs, .. } = self.source;
        sources::save_counts(self.connection, source_id, run_rows, ambiguous_runs)
    }

    /// Counts a terminal or an event of the current source, unless it is read again or late.
    pub(super) fn count_row(&mut self, byte_offset: u64) {
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

    /// Stores an event of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn event(&mut self, row: &Event, byte_offset: u64) -> Result<Stored> {
        self.count_row(byte_offset);
        let Some(run_id) = self.meet(&row.run, byte_offset)?.run_id else {
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
        let run_in = self.run_in(run_id);
        match own_place {
            Some(at) => {
                let run = self.runs.get_mut(&*row.run).expect("it was just met");
                run.cover(at);
                run.writing.wrote(run_in, at, byte_offset)?;
            }
            None => self.note_gap(run_id, &row.run, event_id, byte_offset)?,
        }
        Ok(Stored::New)
    }

    /// A run in the current source.
    pub(super) fn run_in(&self, run_id: i64) -> RunIn<'c> {
        let CurrentSource { source_id, is_late, .. } = self.source;
        RunIn { connection: self.connection, run_id, source_id, is_late }
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
        let mut extend = self.connection.prepare_cached(
            "update rejects set len_bytes = ?2 + ?3 - byte_offset
             where source_id = ?1 and kind = 'rejected' and reason glob ?4 || '*'
             and byte_offset + len_bytes between ?2 - ?5 and ?2
             and byte_offset = (select max(byte_offset) from rejects where source_id = ?1 and byte_offset < ?2)",
        )?;
        let (from, len) = (reject.byte_offset.cast_signed(), reject.len_bytes.cast_signed());
        if extend.execute(params![self.source.source_id, from, len, PACKED, BLANK])? > 0 {
            return Ok(false);
        }
        self.reject(reject)?;
        Ok(true)
    }
}
