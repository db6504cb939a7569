//! The table for eyes: aligned, numbers to the right and rounded, null as `-`.

use std::io::Write;

use anyhow::Result;
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Row, TableStyle};
use rusqlite::types::ValueRef;

use crate::query::run::Sink;
use crate::text;

/// Longer text is cut: an error message must not push the other columns out of sight.
const MAX_CELL: usize = 80;

pub(super) struct Table<'w> {
    out: &'w mut dyn Write,
    table: comfy_table::Table,
    is_markdown: bool,
    /// The columns that the terminal has, when one shows the table.
    width: Option<u16>,
    /// For each column, whether it has had only numbers.
    is_numeric: Vec<bool>,
}

impl<'w> Table<'w> {
    pub(super) fn aligned(out: &'w mut dyn Write, is_terminal: bool) -> Self {
        let mut table = Self::with_style(out, NOTHING, false);
        table.width = table.table.width().filter(|_| is_terminal);
        table
    }

    pub(super) fn markdown(out: &'w mut dyn Write) -> Self {
        Self::with_style(out, ASCII_MARKDOWN, true)
    }

    fn with_style(out: &'w mut dyn Write, style: TableStyle, is_markdown: bool) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        Self { out, table, is_markdown, width: None, is_numeric: Vec::new() }
    }

    fn cell(&self, bytes: &[u8]) -> String {
        let text = text::from_bytes(bytes);
        let shown = text::escaped(&text);
        let shown = text::cut(&shown, MAX_CELL);
        if self.is_markdown { shown.replace('|', "\\|") } else { shown.into_owned() }
    }
}

impl Table<'_> {
    /// Writes each row as lines of a name and a value: for tables that a terminal would break.
    fn write_turned(&mut self) -> Result<()> {
        let names: Vec<String> =
            self.table.header().into_iter().flat_map(Row::cell_iter).map(Cell::content).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (at, row) in self.table.row_iter().enumerate() {
            if at > 0 {
                writeln!(self.out)?;
            }
            for (name, cell) in names.iter().zip(row.cell_iter()) {
                writeln!(self.out, "{name:width$}  {}", cell.content())?;
            }
        }
        Ok(())
    }
}

impl Sink for Table<'_> {
    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.is_numeric = vec![true; names.len()];
        let names: Vec<String> = names.iter().map(|name| self.cell(name.as_bytes())).collect();
        self.table.set_header(names);
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        let mut row = Vec::with_capacity(cells.len());
        for (at, cell) in cells.iter().enumerate() {
            row.push(match cell {
                ValueRef::Null => "-".to_owned(),
                ValueRef::Integer(int) => int.to_string(),
                ValueRef::Real(real) => text::rounded(*real),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    self.is_numeric[at] = false;
                    self.cell(bytes)
                }
            });
        }
        self.table.add_row(row);
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        for (column, is_numeric) in self.table.column_iter_mut().zip(&self.is_numeric) {
            if *is_numeric {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if !self.is_markdown {
                column.set_padding((0, 2));
            }
        }
        // A column is as wide as its widest cell and the padding.
        let widths = self.table.column_max_content_widths();
        let width: usize = widths.iter().map(|width| usize::from(*width) + 2).sum();
        let is_too_wide = self.width.is_some_and(|terminal| usize::from(terminal) + 2 < width);
        if is_too_wide && self.table.row_count() > 0 {
            self.write_turned()?;
        } else {
            for line in self.table.lines() {
                writeln!(self.out, "{}", line.trim_end())?;
            }
        }
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: Option<u16>, rows: &[[ValueRef<'_>; 2]]) -> String {
        let mut out = Vec::new();
        let mut table = Table::aligned(&mut out, false);
        table.width = width;
        let mut write = || {
            table.columns(&["engine".to_owned(), "ttft_s".to_owned()])?;
            rows.iter().try_for_each(|row| table.row(row))?;
            table.end()
        };
        write().expect("memory can be written");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn a_table_wider_than_the_terminal_is_turned() {
        let rows = [[ValueRef::Text(b"p0"), ValueRef::Real(0.25)], [ValueRef::Text(b"p1"), ValueRef::Null]];
        let straight = "engine  ttft_s\np0        0.25\np1           -\n";
        assert_eq!(shown(None, &rows), straight);
        assert_eq!(shown(Some(14), &rows), straight);
        assert_eq!(shown(Some(13), &rows), "engine  p0\nttft_s  0.25\n\nengine  p1\nttft_s  -\n");
        assert_eq!(shown(Some(1), &[]), "engine  ttft_s\n");
    }
}
