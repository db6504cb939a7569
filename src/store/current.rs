//! The source that is being read, and what can become of a row of it.

use rusqlite::{Connection, Result};

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

/// The source that is being read.
#[derive(Debug, Default)]
pub(super) struct CurrentSource {
    pub source_id: i64,
    /// The offset up to which it was read when it was entered: rows before it were counted then.
    offset: u64,
    /// Whether what follows is read late, out of its order.
    pub is_late: bool,
    pub run_rows: u64,
    pub ambiguous_runs: u64,
    /// Build rows that no run has taken: key and digest, in the file's order.
    pub kept: Vec<(i64, String)>,
}

impl CurrentSource {
    /// A source as it was left.
    pub(super) fn load(connection: &Connection, source_id: i64) -> Result<Self> {
        let mut source = connection.query_row(
            "select offset_bytes, run_rows, ambiguous_runs from sources where source_id = ?1",
            [source_id],
            |row| {
                let (offset, run_rows, ambiguous_runs) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(Self { source_id, offset, run_rows, ambiguous_runs, ..Self::default() })
            },
        )?;
        let mut kept = connection.prepare_cached(
            "select build_id, digest from builds where source_id = ?1 and state = 'kept'
             order by byte_offset",
        )?;
        let kept = kept.query_map([source_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        source.kept = kept.collect::<Result<_>>()?;
        Ok(source)
    }

    /// Counts a terminal or an event, unless it is read again or late.
    pub(super) fn count_row(&mut self, byte_offset: u64) {
        if byte_offset >= self.offset {
            self.run_rows += 1;
        }
    }
}
