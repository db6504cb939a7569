//! `status`: what was read, how far, and what is in the database.

use std::io::{BufWriter, Write};

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::open_to_read;
use crate::cli::Global;
use crate::exit::Exit;
use crate::output::stdout::stdout;
use crate::output::{Format, sink};
use crate::sources::state::{Standing, look};
use crate::store::{forgotten, schema, sources};

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
        let Standing { state, lag_bytes } = look(connection, source);
        let state = state.to_string();
        let int = |number: u64| ValueRef::Integer(number.cast_signed());
        table.row(&[
            ValueRef::Text(source.path.as_bytes()),
            int(source.offset),
            int(source.lines),
            lag_bytes.map_or(ValueRef::Null, int),
            ValueRef::Text(state.as_bytes()),
        ])?;
    }
    table.end()
}
