//! `status`: what was read, how far, and what is in the database.

use std::io::{BufWriter, Write};

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::open_to_read;
use crate::cli::status::Status;
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::output::stdout::stdout;
use crate::output::{Format, sink};
use crate::sources::state::{FileStanding, look};
use crate::store::{contents, schema, sources};
use crate::text::PathText;

impl Subcommand for Status {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global)
    }
}

fn run(global: &Global) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let mut out = BufWriter::new(stdout());
    let size = global.db.metadata().map_or(0, |metadata| metadata.len());
    writeln!(out, "database          {}", global.db.as_text())?;
    writeln!(out, "size_bytes        {size}")?;
    writeln!(out, "schema            {}", schema::LATEST)?;
    if contents::is_write_ahead(&connection)? {
        writeln!(out, "journal_mode      wal: being written, or left so by a process that died")?;
    }
    for (what, count) in contents::counts(&connection)? {
        writeln!(out, "{what:16}  {count}")?;
    }
    writeln!(out)?;
    list_sources(&connection, &mut out)?;
    out.flush()?;
    Ok(Exit::Done)
}

/// The sources in the order first read, with what waits in their files.
fn list_sources(connection: &Connection, out: &mut dyn Write) -> Result<()> {
    let mut known = sources::load_all(connection)?;
    known.sort_unstable_by_key(|source| source.source_id);
    let mut table = sink(Format::Table, out, false)?;
    table.columns(&["file", "offset_bytes", "lines", "lag_bytes", "state"].map(str::to_owned))?;
    for source in &known {
        let FileStanding { state, lag_bytes } = look(connection, source);
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
