//! Stores terminals with their attempt failures, many by one statement where many come together.

use rusqlite::{Connection, Result, params};

use super::attempts::{self, Attempts};
use super::cells::{Cells, Comparison, Insert};
use super::columns::{FAILURE_COLUMNS, TERMINAL_COLUMNS, listed};
use super::current::{CurrentSource, Stored};
use super::rows::extra;
use super::runs::Runs;
use crate::journal::declare::{Declared, WriteValues};
use crate::journal::terminal::{AttemptFailure, Terminal};

/// The columns of `terminals` that stand before and after those of the journal's row.
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
/// The columns of `attempt_failures` that stand before and after those of the journal's entry.
pub(crate) const FAILURE_PLACE: &[&str] = &["terminal_id", "position", "run_id"];
pub(crate) const FAILURE_DERIVED: &[&str] = &["extra", "attributed"];

/// So many terminals are stored by one statement: SQLite opens the tables and indexes once for it, and
/// finds the end of each where the row before has left it.
pub const TOGETHER: usize = 16;

/// A terminal, and the offset of its first byte in the current source.
pub type Placed<'r> = (&'r Terminal<'r>, u64);

/// Stores terminals.
#[derive(Debug)]
pub(super) struct Terminals<'c> {
    connection: &'c Connection,
    together: Insert<'c>,
    one: Insert<'c>,
    failure: Insert<'c>,
}

impl<'c> Terminals<'c> {
    /// Ready to store.
    ///
    /// # Errors
    /// When the tables are not what they should be.
    pub(super) fn new(connection: &'c Connection) -> Result<Self> {
        let names =
            |columns: &'static [String]| -> Vec<&str> { columns.iter().map(String::as_str).collect() };
        let terminal = [TERMINAL_PLACE, &names(&TERMINAL_COLUMNS), TERMINAL_DERIVED].concat();
        let failure = [FAILURE_PLACE, &names(&FAILURE_COLUMNS), FAILURE_DERIVED].concat();
        // `or ignore` and not `on conflict`, with which a load takes a sixth longer. It can only meet the
        // identity: no row comes here without what must not be null.
        Ok(Self {
            connection,
            together: Insert::new(connection, "or ignore into terminals", &terminal, TOGETHER)?,
            one: Insert::new(connection, "or ignore into terminals", &terminal, 1)?,
            failure: Insert::new(connection, "into attempt_failures", &failure, 1)?,
        })
    }
}

/// A terminal whose run is not forgotten.
struct Wanted<'r> {
    /// Its place among those that came together.
    at: usize,
    row: &'r Terminal<'r>,
    byte_offset: u64,
    run_id: i64,
    attempts: Attempts,
}

impl Terminals<'_> {
    /// Stores terminals of a source, with their attempt failures, in their order. What became of each.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn store(
        &mut self,
        runs: &mut Runs<'_>,
        source: &mut CurrentSource,
        rows: &[Placed<'_>],
    ) -> Result<Vec<Stored>> {
        let mut stored = vec![Stored::Forgotten; rows.len()];
        let mut wanted = Vec::with_capacity(rows.len());
        for (at, (row, byte_offset)) in rows.iter().copied().enumerate() {
            source.count_row(byte_offset);
            if let Some(run_id) = runs.meet(source, run_of(row), byte_offset)?.run_id {
                wanted.push(Wanted { at, row, byte_offset, run_id, attempts: attempts::attribute(row) });
            }
        }
        let (together, rest) = wanted.as_chunks::<TOGETHER>();
        for rows in together.iter().map(<[_; TOGETHER]>::as_slice).chain(rest.chunks(1)) {
            self.store_together(runs, source, rows, &mut stored)?;
        }
        Ok(stored)
    }

    /// Stores as many terminals as one of the statements takes.
    fn store_together(
        &mut self,
        runs: &mut Runs<'_>,
        source: &CurrentSource,
        rows: &[Wanted<'_>],
        stored: &mut [Stored],
    ) -> Result<()> {
        let insert = if rows.len() == TOGETHER { &mut self.together } else { &mut self.one };
        let mut cells = insert.binder();
        for Wanted { row, byte_offset, run_id, attempts, .. } in rows {
            cells.int(*run_id)?;
            cells.int(source.source_id)?;
            cells.int(byte_offset.cast_signed())?;
            kept_cells(row, &mut cells)?;
            cells.int_or_null(row.cached_tokens.as_ref().and_then(|tokens| tokens.largest()))?;
            cells.int(attempts.recorded)?;
            cells.int(attempts.recorded_decode_legs)?;
            cells.int(i64::from(attempts.last_recorded))?;
            cells.int(i64::from(attempts.retried))?;
        }
        let count = insert.execute()?;
        // Numbers are given one after the other, to rows that are new.
        let before = self.connection.last_insert_rowid() - count as i64;
        let mut next = before;
        for row in rows {
            let became = if count == rows.len() {
                Stored::New
            } else {
                self.look(row, (count > 0).then_some(before))?
            };
            stored[row.at] = became;
            if became == Stored::New {
                next += 1;
                self.complete(runs, source, row, next)?;
            }
        }
        Ok(())
    }

    /// Stores what belongs to a new terminal, and notes what it says of its run.
    fn complete(
        &mut self,
        runs: &mut Runs<'_>,
        source: &CurrentSource,
        wanted: &Wanted<'_>,
        terminal_id: i64,
    ) -> Result<()> {
        let Wanted { row, byte_offset, run_id, attempts, .. } = wanted;
        let entries = row.attempt_failures.as_deref().unwrap_or_default();
        let insert = &mut self.failure;
        for (position, (entry, attributed)) in entries.iter().zip(&attempts.attributed).enumerate() {
            let mut cells = insert.binder();
            cells.int(terminal_id)?;
            cells.int(position as i64)?;
            cells.int(*run_id)?;
            entry.give(&mut cells)?;
            cells.text_or_null(extra(entry))?;
            cells.int(i64::from(*attributed))?;
            insert.execute()?;
        }
        runs.ended(source, row, attempts, *byte_offset)
    }

    /// Finds out what became of a terminal when not all that came with it were new. New ones have a
    /// number beyond `before`, if there are any.
    #[cold]
    fn look(&self, wanted: &Wanted<'_>, before: Option<i64>) -> Result<Stored> {
        let Wanted { row, byte_offset, run_id, .. } = wanted;
        let columns = listed(&TERMINAL_COLUMNS);
        let mut find = self.connection.prepare_cached(&format!(
            "select {columns}, extra, attempt_failures, terminal_id, byte_offset from terminals
             where run_id = ?1 and arrived = ?2 and rid = ?3"
        ))?;
        let key = params![run_id, row.arrived, row.rid.as_deref()];
        let count = TERMINAL_COLUMNS.len();
        let failures = row.attempt_failures.as_deref();
        let (same, terminal_id, is_new) = find.query_row(key, |stored| {
            let terminal_id = stored.get::<_, i64>(count + 2)?;
            let is_new = before.is_some_and(|before| terminal_id > before)
                && stored.get::<_, u64>(count + 3)? == *byte_offset;
            if is_new {
                return Ok((true, terminal_id, true));
            }
            let mut same = Comparison::new(stored);
            kept_cells(row, &mut same)?;
            Ok((same.holds, terminal_id, false))
        })?;
        if is_new {
            return Ok(Stored::New);
        }
        if same && self.has_failures(terminal_id, failures.unwrap_or_default())? {
            return Ok(Stored::Duplicate);
        }
        Ok(Stored::Conflict)
    }

    fn has_failures(&self, terminal_id: i64, entries: &[AttemptFailure<'_>]) -> Result<bool> {
        if entries.is_empty() {
            return Ok(true);
        }
        let columns = listed(&FAILURE_COLUMNS);
        let mut find = self.connection.prepare_cached(&format!(
            "select {columns}, extra from attempt_failures where terminal_id = ?1 order by position"
        ))?;
        let mut stored = find.query([terminal_id])?;
        for entry in entries {
            let Some(stored) = stored.next()? else {
                return Ok(false);
            };
            let mut same = Comparison::new(stored);
            entry.give(&mut same)?;
            same.text_or_null(extra(entry))?;
            if !same.holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn run_of<'r>(row: &'r Terminal<'_>) -> &'r str {
    row.run.as_deref().unwrap_or_default()
}

/// Gives the cells that hold all of a row but its entries: of [`TERMINAL_COLUMNS`], of `extra`, of
/// `attempt_failures`.
fn kept_cells(row: &Terminal<'_>, cells: &mut impl Cells) -> Result<()> {
    row.give(cells)?;
    cells.text_or_null(extra(row))?;
    cells.int_or_null(row.attempt_failures.as_ref().map(|entries| entries.len() as i64))
}
