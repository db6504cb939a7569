//! The flags of `export`.

use std::path::PathBuf;

use clap::Args;

use super::query::AskedQueries;
use super::{RedactFlags, SelectionFlags};

/// `export`.
#[derive(Debug, Args)]
pub struct Export {
    /// Tables and queries; `table:NAME` is a table that has a query's name, `journal` the stored rows as
    /// JSON Lines, `lake` the stored runs as Parquet, a folder a table and a day, for engines of many machines
    #[arg(value_name = "NAME|table:NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// Every table and every query
    #[arg(long)]
    pub all: bool,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// What is exported: it cuts queries and the tables terminals, attempt_failures, events and runs; the journal
    /// has whole runs
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Write a CSV each into this folder, made when missing, and export.json beside them; of a lake, its tables
    /// and manifest.json
    #[arg(long, value_name = "DIR", required_unless_present = "xlsx")]
    pub dir: Option<PathBuf>,
    /// Write one workbook, a sheet each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dir", "raw", "excel", "delimiter"])]
    pub xlsx: Option<PathBuf>,
    /// Leave text as it is that a spreadsheet would run as a formula
    #[arg(long)]
    pub raw: bool,
    /// Begin each CSV with a byte order mark, by which Excel knows UTF-8
    #[arg(long)]
    pub excel: bool,
    /// What stands between the cells of a CSV: a character, or `tab`
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = delimiter)]
    pub delimiter: u8,
    /// Whether names go
    #[command(flatten)]
    pub privacy: RedactFlags,
    /// The queries there are, and their parameters
    #[arg(skip)]
    pub asked: AskedQueries,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one character that can stand between cells, or `tab`")),
    }
}
