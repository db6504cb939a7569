//! The stored rows as the journal they came from: JSON Lines in the order read.

use std::io::{self, Write};

use anyhow::{Context, Result};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::ser::Formatter;

use super::builds::{self, BUILD_COLUMNS};
use super::events::{self, EVENT_COLUMNS};
use super::rows::TerminalReader;

/// Writes every stored row, by source in the order first read, then by place. How many there were.
///
/// Rows are equal to those read as JSON values, where absent and null count as equal. Duplicates
/// and rejected parts of lines are not written.
///
/// # Errors
/// When the database cannot be read or the rows not written.
pub fn write_journal(connection: &Connection, out: &mut dyn Write) -> Result<u64> {
    let mut places = connection.prepare(
        "select source_id, byte_offset, 0 as kind, build_id as id from builds
         union all select source_id, byte_offset, 1, terminal_id from terminals
         union all select source_id, byte_offset, 2, event_id from events
         order by 1, 2",
    )?;
    let mut build_rows = connection
        .prepare(&format!("select {} from builds where build_id = ?1", BUILD_COLUMNS.join(", ")))?;
    let mut terminals = TerminalReader::new(connection)?;
    let mut event_rows = connection.prepare(&format!(
        "select run, {} from events join runs using (run_id) where event_id = ?1",
        EVENT_COLUMNS.join(", ")
    ))?;
    let mut count = 0;
    let mut rows = places.query([])?;
    while let Some(place) = rows.next()? {
        let (kind, id): (i64, i64) = (place.get(2)?, place.get(3)?);
        match kind {
            0 => write_line(out, &build_rows.query_row([id], |row| builds::load_build(row, 0))?.to_json())?,
            1 => write_line(out, &terminals.read(id)?)?,
            _ => write_line(out, &event_rows.query_row([id], |row| events::load_event(row, 0))?)?,
        }
        count += 1;
    }
    out.flush().context("cannot write the rest")?;
    Ok(count)
}

fn write_line(out: &mut dyn Write, row: &impl Serialize) -> Result<()> {
    row.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Spaced))?;
    Ok(out.write_all(b"\n")?)
}

/// Separators and escapes as the journal's writer has them, so that an exported row looks like
/// one and can be found again when a line is torn.
struct Spaced;

impl Formatter for Spaced {
    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        for c in fragment.chars() {
            if c.is_ascii() && c != '\u{7f}' {
                out.write_all(&[c as u8])?;
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
