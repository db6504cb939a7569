//! `status`: what was read, how far, and what is in the database.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::open_to_read;
use crate::cli::Global;
use crate::exit::Exit;
use crate::output::{Format, sink};
use crate::store::sources::{self, FileId, Resumption, Source};
use crate::store::{forgotten, schema};

pub(super) fn run(global: &Global) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let mut out = BufWriter::new(io::stdout());
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
        let (lag, state) = look(source);
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

/// How many bytes the file has behind the offset, and whether it is still the same.
pub(super) fn look(source: &Source) -> (Option<u64>, &'static str) {
    if source.path == "-" {
        return (None, "standard input");
    }
    let path = Path::new(&source.path);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (None, "not there"),
        Err(_) => return (None, "cannot be read"),
    };
    let Ok(metadata) = file.metadata() else {
        return (None, "not there");
    };
    match sources::recognise(std::slice::from_ref(source), &file, Some(FileId::of(&metadata))) {
        Ok(Some(Resumption { position, source })) if source.reread.is_some() => {
            (Some(metadata.len().saturating_sub(position.offset)), "to be read again")
        }
        Ok(Some(_)) => match metadata.len().saturating_sub(source.offset) {
            0 => (Some(0), "read"),
            lag => (Some(lag), "behind"),
        },
        _ => (None, "other content now"),
    }
}
