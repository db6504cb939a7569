//! Answers as text: one row stream, several formats, so that all formats of a query agree.

pub mod checked;
pub mod comparison;
pub mod csv;
pub mod diagnosis;
pub mod explanation;
pub mod intervals;
mod json;
mod table;
pub mod target;
pub mod workbook;

use std::io::{self, Write};

use clap::ValueEnum;

use crate::query::run::Sink;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, rounded, for eyes.
    Table,
    /// A header line, numbers in full precision, null empty.
    Csv,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A Markdown table, rounded like `table`.
    Markdown,
}

/// A sink that writes in `format`. With `is_terminal`, text in CSV cannot drive the terminal, and a table
/// that is too wide for it is turned.
///
/// # Errors
/// When nothing can be written.
pub fn sink<'w>(format: Format, out: &'w mut dyn Write, is_terminal: bool) -> io::Result<Box<dyn Sink + 'w>> {
    let style = csv::Style { is_escaped: is_terminal, ..csv::Style::PLAIN };
    Ok(match format {
        Format::Table => Box::new(table::Table::aligned(out, is_terminal)),
        Format::Markdown => Box::new(table::Table::markdown(out)),
        Format::Csv => Box::new(csv::Csv::new(out, style)?),
        Format::Json => Box::new(json::Json::array(out)),
        Format::Jsonl => Box::new(json::Json::lines(out)),
    })
}
