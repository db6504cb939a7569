//! The stored rows as the journal they came from: JSON Lines in the order read.

use std::io::Write;

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::builds;
use super::columns::{BUILD_COLUMNS, listed};
use super::events::{self, EVENT_COLUMNS};
use super::rows::TerminalReader;
use crate::journal::row::Row;
use crate::journal::write::write_row;

/// Writes every stored row, by source in the order first read, then by place. How many there were.
///
/// Rows are equal to those read as JSON values, where absent and null count as equal. Duplicates
/// and rejected parts of lines are not written.
///
/// # Errors
/// When the database cannot be read or the rows not written.
pub fn write_journal(connection: &Connection, out: &mut dyn Write) -> Result<u64> {
    let count = each_row(connection, |row| Ok(write_row(out, &row)?))?;
    out.flush().context("cannot write the rest")?;
    Ok(count)
}

/// Gives every stored row, in the order of [`write_journal`]. How many there were.
///
/// # Errors
/// When the database cannot be read or the row not taken.
pub fn each_row(connection: &Connection, take: impl FnMut(Row<'_>) -> Result<()>) -> Result<u64> {
    each_at(
        connection,
        "select source_id, byte_offset, 0 as kind, build_id as id from builds
         union all select source_id, byte_offset, 1, terminal_id from terminals
         union all select source_id, byte_offset, 2, event_id from events
         order by 1, 2",
        take,
    )
}

/// As [`each_row`], of the runs in the connection's selection only, whole, with their build rows: where it is
/// ambiguous which one a run has, those that it may have.
///
/// # Errors
/// As [`each_row`].
pub fn each_selected_row(connection: &Connection, take: impl FnMut(Row<'_>) -> Result<()>) -> Result<u64> {
    each_at(
        connection,
        "with chosen as (select distinct run_id from selection)
         select source_id, byte_offset, 0 as kind, build_id as id from builds
         where build_id in (select r.build_id from chosen as c join runs as r on r.run_id = c.run_id)
             or (state <> 'taken' and source_id in (
                 select m.source_id from chosen as c join run_sources as m on m.run_id = c.run_id
                 where m.build_certainty = 'ambiguous'
             ))
         union all select source_id, byte_offset, 1, terminal_id from terminals
             where run_id in (select run_id from chosen)
         union all select source_id, byte_offset, 2, event_id from events
             where run_id in (select run_id from chosen)
         order by 1, 2",
        take,
    )
}

/// Gives the rows at the places that a statement finds.
fn each_at(
    connection: &Connection,
    places: &str,
    mut take: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<u64> {
    let mut places = connection.prepare(places)?;
    let mut build_rows = connection
        .prepare(&format!("select {}, extra from builds where build_id = ?1", listed(&BUILD_COLUMNS)))?;
    let mut terminals = TerminalReader::new(connection)?;
    let mut event_rows = connection.prepare(&format!(
        "select run, {} from events join runs using (run_id) where event_id = ?1",
        listed(EVENT_COLUMNS)
    ))?;
    let mut count = 0;
    let mut rows = places.query([])?;
    while let Some(place) = rows.next()? {
        let (kind, id): (i64, i64) = (place.get(2)?, place.get(3)?);
        let row = match kind {
            0 => Row::Build(build_rows.query_row([id], |row| builds::load_build(row, 0))?),
            1 => Row::Terminal(Box::new(terminals.read(id)?)),
            _ => Row::Event(event_rows.query_row([id], |row| events::load_event(row, 0))?),
        };
        take(row)?;
        count += 1;
    }
    Ok(count)
}
