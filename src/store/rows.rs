//! Rows of `terminals` and `attempt_failures` read back as rows of a journal.

use rusqlite::{Connection, Result, Row as SqlRow, Statement};

use super::cells::{StoredCells, compact};
use super::columns::{FAILURE_COLUMNS, TERMINAL_COLUMNS, listed};
use crate::journal::declare::{Declared, ReadValues};
use crate::journal::terminal::{AttemptFailure, Terminal};
use crate::journal::{SCHEMA, SCHEMA_VERSION};

/// Reads terminals back, whole.
#[derive(Debug)]
pub struct TerminalReader<'c> {
    terminal: Statement<'c>,
    failures: Statement<'c>,
}

impl<'c> TerminalReader<'c> {
    /// A reader of one database.
    ///
    /// # Errors
    /// When the tables are not what they should be.
    pub fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            terminal: connection.prepare(&format!(
                "select {}, extra, run, attempt_failures
                 from terminals join runs using (run_id) where terminal_id = ?1",
                listed(&TERMINAL_COLUMNS)
            ))?,
            failures: connection.prepare(&format!(
                "select {}, extra from attempt_failures where terminal_id = ?1 order by position",
                listed(&FAILURE_COLUMNS)
            ))?,
        })
    }

    /// The terminal of that key, with its attempt failures.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read(&mut self, terminal_id: i64) -> Result<Terminal<'static>> {
        let (mut terminal, counted) = self.terminal.query_row([terminal_id], |row| {
            let mut terminal = load_terminal(row, 0)?;
            let behind = TERMINAL_COLUMNS.len() + 1;
            terminal.run = Some(row.get::<_, String>(behind)?.into());
            Ok((terminal, row.get::<_, Option<i64>>(behind + 1)?))
        })?;
        if counted.is_some() {
            let entries = self.failures.query_map([terminal_id], |row| load_failure(row, 0))?;
            terminal.attempt_failures = Some(entries.collect::<Result<_>>()?);
        }
        Ok(terminal)
    }
}

/// Reads a terminal back: its columns from `first`, then `extra`. Attempt failures come by
/// [`load_failure`].
fn load_terminal(from: &SqlRow<'_>, first: usize) -> Result<Terminal<'static>> {
    let mut cells = StoredCells::from(from, first);
    let mut row = Terminal::take(&mut cells)?;
    row.set_unknown(cells.object()?.unwrap_or_default());
    row.schema = Some(SCHEMA.into());
    row.schema_version = Some(SCHEMA_VERSION);
    Ok(row)
}

/// Reads an attempt failure back: its columns from `first`, then `extra`.
fn load_failure(from: &SqlRow<'_>, first: usize) -> Result<AttemptFailure<'static>> {
    let mut cells = StoredCells::from(from, first);
    let mut row = AttemptFailure::take(&mut cells)?;
    row.set_unknown(cells.object()?.unwrap_or_default());
    Ok(row)
}

/// `extra` of a row: what is not declared, in the row's own shape.
pub(super) fn extra(row: &impl Declared) -> Option<String> {
    row.unknown().map(|unknown| compact(&unknown))
}
