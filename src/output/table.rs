//! The table for eyes: aligned, numbers to the right and rounded, null as `-`.

use std::io::Write;

use anyhow::Result;
use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, TableStyle};
use rusqlite::types::ValueRef;

use crate::query::run::Sink;
use crate::text;

/// Longer text is cut: an error message must not push the other columns out of sight.
const MAX_CELL: usize = 80;

pub(super) struct Table<'w> {
    out: &'w mut dyn Write,
    table: comfy_table::Table,
    is_markdown: bool,
    /// For each column, whether it has had only numbers.
    is_numeric: Vec<bool>,
}

impl<'w> Table<'w> {
    pub(super) fn aligned(out: &'w mut dyn Write) -> Self {
        Self::with_style(out, NOTHING, false)
    }

    pub(super) fn markdown(out: &'w mut dyn Write) -> Self {
        Self::with_style(out, ASCII_MARKDOWN, true)
    }

    fn with_style(out: &'w mut dyn Write, style: TableStyle, is_markdown: bool) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        Self { out, table, is_markdown, is_numeric: Vec::new() }
    }

    fn cell(&self, bytes: &[u8]) -> String {
        let text = text::from_bytes(bytes);
        let shown = text::escaped(&text);
        let shown = text::cut(&shown, MAX_CELL);
        if self.is_markdown { shown.replace('|', "\\|") } else { shown.into_owned() }
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
        for line in self.table.lines() {
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(self.out.flush()?)
    }
}
