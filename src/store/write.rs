//! Writes rows: one prepared insert per table, duplicates, conflicts, rejects, and which build
//! wrote a run.
//!
//! Everything between [`Writer::begin`] and [`Writer::commit`] is one transaction, the source's
//! new position included. What the writer remembers between transactions is only what the
//! database says; it is forgotten when another process has written.

use std::collections::HashMap;

use chrono::DateTime;
use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Result, Statement, params, params_from_iter};

use super::rows::{self, BUILD_COLUMNS, EVENT_COLUMNS, EVENT_FIELDS, FAILURE_COLUMNS, TERMINAL_COLUMNS};
use super::sources::{self, FileId, Progress};
use crate::journal::record::{AttemptFailure, Build, Clock, Event, SCHEMA, SCHEMA_VERSION, Terminal};

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
    connection: &'c Connection,
    insert_terminal: Statement<'c>,
    insert_failure: Statement<'c>,
    insert_event: Statement<'c>,
    insert_build: Statement<'c>,
    insert_reject: Statement<'c>,
    runs: HashMap<String, Run>,
    source: CurrentSource,
    data_version: i64,
}

/// The source that is being read.
#[derive(Debug, Default)]
struct CurrentSource {
    source_id: i64,
    run_rows: u64,
    ambiguous_runs: u64,
    /// Build rows that no run has taken: key and digest, in the file's order.
    kept: Vec<(i64, Vec<u8>)>,
}

/// What is known of a run.
#[derive(Debug, Default)]
struct Run {
    run_id: i64,
    has_build: bool,
    /// The last source it was met in.
    met_in: i64,
    /// Times stored since the last commit: the smallest and the largest.
    times: Option<(f64, f64)>,
    wall: WallClock,
}

impl Run {
    fn cover(&mut self, time: f64) {
        let (first, last) = self.times.get_or_insert((time, time));
        *first = first.min(time);
        *last = last.max(time);
    }
}

/// Bounds of a run's wall clock minus its monotonic clock (SEMANTICS, "Time"): a lifecycle event of
/// wall time W between rows written at m1 and m2, in one source, gives `W - m2 <= offset <= W - m1`.
#[derive(Debug, Default)]
struct WallClock {
    /// When the last stored row of the current source was written.
    written_s: Option<f64>,
    /// The smallest and the largest wall time of the lifecycle events since.
    since: Option<(f64, f64)>,
    /// Bounds found since the last commit.
    bounds: Option<(f64, f64)>,
    /// Whether the first two changed since the last commit.
    moved: bool,
}

impl WallClock {
    /// A row was stored that was written at this monotonic time.
    fn wrote(&mut self, at: f64) {
        let before = self.written_s.replace(at);
        self.moved = true;
        if let (Some((smallest, largest)), Some(before)) = (self.since.take(), before) {
            let (low, high) = self.bounds.get_or_insert((f64::MIN, f64::MAX));
            *low = low.max(largest - at);
            *high = high.min(smallest - before);
        }
    }

    /// A lifecycle event of this wall time was stored.
    fn met(&mut self, wall: f64) {
        let (smallest, largest) = self.since.get_or_insert((wall, wall));
        *smallest = smallest.min(wall);
        *largest = largest.max(wall);
        self.moved = true;
    }
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
                "on conflict (source_id, byte_offset) do nothing",
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

    /// Saves what the rows since the last commit say of their runs.
    fn save_runs(&mut self) -> Result<()> {
        let mut span = self.connection.prepare_cached(
            "update runs
             set first_s = min(coalesce(first_s, ?2), ?2), last_s = max(coalesce(last_s, ?3), ?3)
             where run_id = ?1",
        )?;
        let mut written = self.connection.prepare_cached(
            "update run_sources set written_s = ?3, wall_since_low_s = ?4, wall_since_high_s = ?5
             where source_id = ?1 and run_id = ?2",
        )?;
        let mut bounds = self.connection.prepare_cached(
            "update runs
             set wall_low_s = max(coalesce(wall_low_s, ?2), ?2), wall_high_s = min(coalesce(wall_high_s, ?3), ?3)
             where run_id = ?1",
        )?;
        let mut middle = self.connection.prepare_cached(
            "update runs
             set wall_offset_s = case when wall_low_s <= wall_high_s then (wall_low_s + wall_high_s) / 2 end,
                 wall_error_s = case when wall_low_s <= wall_high_s then (wall_high_s - wall_low_s) / 2 end
             where run_id = ?1",
        )?;
        for run in self.runs.values_mut() {
            if let Some((first, last)) = run.times.take() {
                span.execute(params![run.run_id, first, last])?;
            }
            let wall = &mut run.wall;
            if std::mem::take(&mut wall.moved) {
                let (smallest, largest) = wall.since.unzip();
                written.execute(params![run.met_in, run.run_id, wall.written_s, smallest, largest])?;
            }
            if let Some((low, high)) = wall.bounds.take() {
                bounds.execute(params![run.run_id, low, high])?;
                middle.execute([run.run_id])?;
            }
        }
        Ok(())
    }

    /// Stores a build row of the current source.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn build(&mut self, row: &Build, byte_offset: u64) -> Result<Stored> {
        let digest = rows::build_digest(row);
        let source_id = self.source.source_id;
        let place = [
            Sql::Integer(source_id),
            Sql::Integer(byte_offset.cast_signed()),
            Sql::Text(SCHEMA.to_owned()),
            Sql::Integer(SCHEMA_VERSION),
            Sql::Blob(digest.to_vec()),
            Sql::Text("kept".to_owned()),
        ];
        let cells = place.into_iter().chain(rows::build_cells(row));
        if self.insert_build.execute(params_from_iter(cells))? == 0 {
            return Ok(Stored::Duplicate);
        }
        self.source.kept.push((self.connection.last_insert_rowid(), digest.to_vec()));
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
            for (position, (entry, attributed)) in entries.iter().zip(attempts.attributed).enumerate() {
                let insert = &mut self.insert_failure;
                let mut bind = binder(insert);
                bind(int(terminal_id))?;
                bind(int(position as i64))?;
                bind(int(run_id))?;
                rows::failure_cells(entry, &mut bind)?;
                bind(text(rows::failure_extra(entry)))?;
                bind(int(i64::from(attributed)))?;
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
            Sql::Blob(rows::event_digest(row).to_vec()),
        ];
        let cells = place.into_iter().chain(rows::event_cells(row));
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

    /// The run of that name, met in the current source.
    fn meet(&mut self, name: &str) -> Result<&mut Run> {
        let source_id = self.source.source_id;
        // Looked up twice: the borrow checker does not let the found one be returned from here.
        if self.runs.get(name).is_none_or(|run| run.met_in != source_id) {
            let run = self.meet_anew(name)?;
            self.runs.insert(name.to_owned(), run);
        }
        Ok(self.runs.get_mut(name).expect("the run was just put there"))
    }

    /// Finds or adds a run at the first of its rows that the current source gives, or gives again
    /// after another source was read, and infers its build (SEMANTICS, "Which build wrote a run").
    #[cold]
    fn meet_anew(&mut self, name: &str) -> Result<Run> {
        let source_id = self.source.source_id;
        let stored = self
            .connection
            .prepare_cached("select run_id, build_certainty from runs where run = ?1")?
            .query_row([name], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        let mut run = Run {
            run_id: stored.as_ref().map_or(0, |(run_id, _)| *run_id),
            has_build: stored.as_ref().is_some_and(|(_, certainty)| certainty == "exact"),
            met_in: source_id,
            ..Run::default()
        };
        let mut met_before = self.connection.prepare_cached(
            "select written_s, wall_since_low_s, wall_since_high_s from run_sources
             where source_id = ?1 and run_id = ?2",
        )?;
        let met_before = met_before.query_row(params![source_id, run.run_id], |row| {
            let (smallest, largest) = (row.get::<_, Option<f64>>(1)?, row.get(2)?);
            let written_s = row.get(0)?;
            Ok(WallClock { written_s, since: smallest.zip(largest), ..WallClock::default() })
        });
        if let Some(wall) = met_before.optional()? {
            run.wall = wall;
            return Ok(run);
        }
        let (certainty, build_id) = if run.has_build { ("exact", None) } else { self.infer_build()? };
        match stored {
            None => {
                self.connection
                    .prepare_cached(
                        "insert into runs (run, started_at, build_id, build_certainty)
                         values (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![name, started_at(name), build_id, certainty])?;
                run.run_id = self.connection.last_insert_rowid();
            }
            Some((_, before)) if before == "missing" || build_id.is_some() => {
                if !run.has_build {
                    self.connection
                        .prepare_cached(
                            "update runs set build_id = ?2, build_certainty = ?3 where run_id = ?1",
                        )?
                        .execute(params![run.run_id, build_id, certainty])?;
                }
            }
            Some(_) => {}
        }
        run.has_build |= build_id.is_some();
        self.connection
            .prepare_cached(
                "insert into run_sources (source_id, run_id, build_certainty) values (?1, ?2, ?3)",
            )?
            .execute(params![source_id, run.run_id, certainty])?;
        Ok(run)
    }

    /// The certainty, and the build when it is exact, of a run that is met first now.
    ///
    /// While kept build rows differ nothing is taken, but each ambiguous run has used up one of
    /// them: when as many were met as the set has members, the set is of no further use. A build row
    /// that comes meanwhile joins the set, and those runs still count.
    fn infer_build(&mut self) -> Result<(&'static str, Option<i64>)> {
        let source = &mut self.source;
        let Some((first, rest)) = source.kept.split_first() else {
            return Ok(("missing", None));
        };
        let mut set_state =
            self.connection.prepare_cached("update builds set state = ?2 where build_id = ?1")?;
        if rest.iter().all(|(_, digest)| *digest == first.1) {
            let (build_id, _) = source.kept.remove(0);
            set_state.execute(params![build_id, "taken"])?;
            if source.kept.is_empty() {
                source.ambiguous_runs = 0;
            }
            return Ok(("exact", Some(build_id)));
        }
        source.ambiguous_runs += 1;
        if source.ambiguous_runs >= source.kept.len() as u64 {
            for (build_id, _) in source.kept.drain(..) {
                set_state.execute(params![build_id, "dropped"])?;
            }
            source.ambiguous_runs = 0;
        }
        Ok(("ambiguous", None))
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

/// Binds one cell after the other.
fn binder<'s, 'c>(
    statement: &'s mut Statement<'c>,
) -> impl FnMut(ToSqlOutput<'_>) -> Result<()> + use<'s, 'c> {
    let mut at = 0;
    move |cell| {
        at += 1;
        statement.raw_bind_parameter(at, cell)
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

/// When a run began, from its name `<unix seconds>-<8 hex digits>`, as `YYYY-MM-DDTHH:MM:SSZ`.
fn started_at(run: &str) -> Option<String> {
    let (seconds, _) = run.split_once('-')?;
    if !seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = DateTime::from_timestamp(seconds.parse().ok()?, 0)?;
    let text = time.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    // A year of five digits would sort before one of four.
    (text.len() == 20).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_when_its_name_says() {
        // `date -u -d @1795977936 +%FT%TZ`
        assert_eq!(started_at("1795977936-56e568d1").as_deref(), Some("2026-11-29T18:45:36Z"));
        for name in ["", "run", "-1-aa", "12345", "99999999999999-aa", "1e3-aa", "253402300800-aa"] {
            assert_eq!(started_at(name), None, "{name}");
        }
    }
}
