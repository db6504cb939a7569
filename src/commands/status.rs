//! `status`: what was read, how far, and what is in the database.

use std::io::{self, BufWriter, Write};

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::open_to_read;
use crate::cli::Global;
use crate::exit::Exit;
use crate::journal::compression::unpacked;
use crate::journal::files;
use crate::output::stdout::stdout;
use crate::output::{Format, sink};
use crate::store::archives::Archive;
use crate::store::recognition::{Resumption, recognise};
use crate::store::sources::{self, FileId, Source};
use crate::store::{forgotten, schema};

pub(super) fn run(global: &Global) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let mut out = BufWriter::new(stdout());
    let size = global.db.metadata().map_or(0, |metadata| metadata.len());
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    writeln!(out, "database          {}", global.db.display())?;
    writeln!(out, "size_bytes        {size}")?;
    writeln!(out, "schema            {}", schema::LATEST)?;
    if mode == "wal" {
        writeln!(out, "journal_mode      wal: being written, or left so by a process that died")?;
    }
    for table in ["runs", "builds", "terminals", "attempt_failures", "events"] {
        writeln!(out, "{table:16}  {}", count(&connection, &format!("select count(*) from {table}"))?)?;
    }
    writeln!(out, "{:16}  {}", "forgotten_runs", forgotten::count(&connection)?)?;
    for kind in ["rejected", "repaired"] {
        let sql = format!("select count(*) from rejects where kind = '{kind}'");
        writeln!(out, "{kind:16}  {}", count(&connection, &sql)?)?;
    }
    writeln!(out)?;
    list_sources(&connection, &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}

fn count(connection: &Connection, sql: &str) -> Result<i64> {
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// The sources in the order first read, with what waits in their files.
fn list_sources(connection: &Connection, out: &mut dyn Write) -> Result<()> {
    let mut known = sources::load_all(connection)?;
    known.sort_by_key(|source| source.source_id);
    let mut table = sink(Format::Table, out, false)?;
    table.columns(&["file", "offset_bytes", "lines", "lag_bytes", "state"].map(str::to_owned))?;
    for source in &known {
        let (lag, state) = look(connection, source);
        let int = |number: u64| ValueRef::Integer(number.cast_signed());
        table.row(&[
            ValueRef::Text(source.path.as_bytes()),
            int(source.offset),
            int(source.lines),
            lag.map_or(ValueRef::Null, int),
            ValueRef::Text(state.as_bytes()),
        ])?;
    }
    table.end()
}

/// How many bytes the file has behind the offset, where that can be said without unpacking it, and
/// whether it is still the same.
pub(super) fn look(connection: &Connection, source: &Source) -> (Option<u64>, &'static str) {
    if source.is_stream() {
        return (None, "standard input");
    }
    match look_into(connection, source) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, "not there"),
        Err(_) => (None, "cannot be read"),
    }
}

fn look_into(connection: &Connection, source: &Source) -> io::Result<(Option<u64>, &'static str)> {
    let (file, metadata) = files::open(&source.file_path())?;
    let compression = unpacked(&file)?.compression;
    if compression.is_some() {
        let read = Archive::of(&file)?.source_id(connection).map_err(io::Error::other)?;
        return Ok(match read {
            Some(source_id) if source_id == source.source_id => match source.reread {
                Some(_) => (None, "to be read again"),
                None => (Some(0), "read"),
            },
            _ => (None, "compressed, not read to its end"),
        });
    }
    let known = std::slice::from_ref(source);
    Ok(match recognise(known, &file, Some(FileId::of(&metadata)))? {
        Some(Resumption { position, .. }) if source.reread.is_some() => {
            (Some(metadata.len().saturating_sub(position.offset)), "to be read again")
        }
        Some(_) => match metadata.len().saturating_sub(source.offset) {
            0 => (Some(0), "read"),
            lag => (Some(lag), "behind"),
        },
        None => (None, "other content now"),
    })
}
