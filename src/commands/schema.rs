//! `schema`: tables, views and columns, with what each means.

use std::io::Write;

use anyhow::Result;
use rusqlite::types::ValueRef;

use super::{open_target, open_to_read};
use crate::cli::schema::Schema;
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, screen, sink};
use crate::query::schema::{Table, tables};
use crate::text::wrapped;

impl Subcommand for Schema {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }
}

fn run(global: &Global, flags: &Schema) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let mut found = tables(&connection)?;
    if let Some(name) = &flags.table {
        let names: Vec<String> = found.iter().map(|table| table.name.clone()).collect();
        found.retain(|table| table.name == *name);
        if found.is_empty() {
            let message = format!("no table or view {name:?}: there is {}", names.join(", "));
            return Err(Failure::usage(message).into());
        }
    }
    let mut target = open_target(&connection, flags.output.output.as_deref())?;
    let is_terminal = target.is_terminal();
    if flags.output.format == Format::Table {
        let width = is_terminal.then(screen::width_of_stdout).flatten();
        write_text(target.writer(), &found, width)?;
    } else {
        let mut rows = sink(flags.output.format, target.writer(), is_terminal)?;
        rows.columns(&["table", "kind", "column", "type", "meaning"].map(str::to_owned))?;
        for table in &found {
            rows.row(&[
                text(&table.name),
                text(&table.kind),
                ValueRef::Null,
                ValueRef::Null,
                text(&table.meaning),
            ])?;
            for column in &table.columns {
                rows.row(&[
                    text(&table.name),
                    text(&table.kind),
                    text(&column.name),
                    text(&column.kind),
                    text(&column.meaning),
                ])?;
            }
        }
        rows.end()?;
    }
    target.finish()?;
    Ok(Exit::Done)
}

/// Text; null for none.
fn text(text: &str) -> ValueRef<'_> {
    if text.is_empty() { ValueRef::Null } else { ValueRef::Text(text.as_bytes()) }
}

fn write_text(out: &mut dyn Write, tables: &[Table], width: Option<usize>) -> Result<()> {
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{} ({})  {}", table.name, table.kind, table.meaning)?;
        let longest = |of: fn(&crate::query::schema::Column) -> &str| {
            table.columns.iter().map(|column| of(column).chars().count()).max().unwrap_or(0)
        };
        let (names, kinds) = (longest(|column| &column.name), longest(|column| &column.kind));
        for column in &table.columns {
            let line = format!("  {:names$}  {:kinds$}  {}", column.name, column.kind, column.meaning);
            let line = match width {
                Some(width) => wrapped(&line, width, names + kinds + 6),
                None => line,
            };
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}
