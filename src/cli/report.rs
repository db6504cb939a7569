//! The flags of `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::share;
use super::{RedactFlags, SelectionFlags, TargetFlags};
use crate::query::scoring::Policy;

/// `report`.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// The file to write, which appears when it is whole; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "open")]
    pub output: Option<PathBuf>,
    /// What is reported on; the page shows it by run and over time
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// The heading
    #[arg(long, value_name = "TEXT", default_value = "Narwhal request report")]
    pub title: String,
    /// The goal: at least this share of scored requests meets the SLO
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub min_attainment: Option<f64>,
    /// What requests are held to
    #[command(flatten)]
    pub targets: TargetFlags,
    /// Who counts: journal, offers or router
    #[arg(long, value_name = "WORD", value_parser = Policy::NAMES, default_value = "journal")]
    pub policy: String,
    /// The width of a bucket of time: whole seconds, or 5m, 1h [default: the smallest round one with at most 180]
    #[arg(long, value_name = "LENGTH", value_parser = bucket)]
    pub bucket: Option<i64>,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// A page for a browser, or the main points as text for a pull request or a chat
    #[arg(long, value_name = "FORMAT", default_value = "html")]
    pub format: ReportFormat,
    /// Show it in the browser
    #[arg(long)]
    pub open: bool,
    /// Whether names go
    #[command(flatten)]
    pub privacy: RedactFlags,
}

/// How `report` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page, complete in itself.
    Html,
    /// The main points, less than 60 lines.
    Markdown,
}

fn bucket(text: &str) -> Result<i64, String> {
    match crate::selection::time::length(text) {
        Ok(length_s) if length_s >= 1.0 && length_s.fract() == 0.0 && length_s <= 1e9 => Ok(length_s as i64),
        _ => Err(format!("{text:?} is no width of a bucket: whole seconds from 1, or 5m, 1h")),
    }
}
