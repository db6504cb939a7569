//! Answers as text: one row stream, several formats, so that all formats of a query agree.

mod cell;
pub mod checked;
pub mod comparison;
pub mod csv;
pub mod diagnosis;
pub mod explanation;
mod idle;
pub mod intervals;
pub mod json;
mod layout;
pub mod made;
mod moments;
mod numbers;
pub mod place;
pub mod screen;
pub mod stdout;
mod table;
pub mod target;
mod times;
pub mod workbook;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clap::ValueEnum;
use rusqlite::types::ValueRef;

pub use times::IsoTimes;

use crate::query::kind::ColumnKind;
use crate::query::run::Sink;

/// A sink that ends an answer when nobody reads it any more: with [`NobodyReads`], at the next row.
pub struct WhileRead<S> {
    sink: S,
    unread: Arc<AtomicBool>,
}

impl<S> WhileRead<S> {
    /// A sink before one that writes where `unread` tells.
    pub fn new(sink: S, unread: Arc<AtomicBool>) -> Self {
        Self { sink, unread }
    }
}

impl<S: Sink> Sink for WhileRead<S> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.sink.kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.sink.columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        if self.unread.load(Ordering::Relaxed) {
            return Err(NobodyReads.into());
        }
        self.sink.row(cells)
    }

    fn end(&mut self) -> Result<()> {
        self.sink.end()
    }
}

/// Nobody reads an answer any more: no failure.
#[derive(Debug)]
pub struct NobodyReads;

impl fmt::Display for NobodyReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the answer any more")
    }
}

impl std::error::Error for NobodyReads {}

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

impl Format {
    /// Whether it is for eyes, which numbers are rounded for, and not for programs.
    pub const fn is_for_eyes(self) -> bool {
        match self {
            Self::Table | Self::Markdown => true,
            Self::Csv | Self::Json | Self::Jsonl => false,
        }
    }
}

/// A sink that writes in `format`. With `is_terminal`, text in CSV cannot drive the terminal, and a table
/// that is too wide for it is turned.
///
/// # Errors
/// When nothing can be written.
pub fn sink<'w>(format: Format, out: &'w mut dyn Write, is_terminal: bool) -> io::Result<Box<dyn Sink + 'w>> {
    let style = csv::Style { is_escaped: is_terminal, ..csv::Style::PLAIN };
    let sink: Box<dyn Sink + 'w> = match format {
        Format::Table => Box::new(table::Table::aligned(out, is_terminal)),
        Format::Markdown => Box::new(table::Table::markdown(out)),
        Format::Csv => Box::new(csv::Csv::new(out, style)?),
        Format::Json => Box::new(json::Json::array(out)),
        Format::Jsonl => Box::new(json::Json::lines(out)),
    };
    Ok(Box::new(IsoTimes::new(sink)))
}
