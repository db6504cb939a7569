//! The flags of `sql`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputFlags, SelectionFlags};

/// `sql`.
#[derive(Debug, Args)]
pub struct Sql {
    /// The statement, or `-` to read it from standard input
    #[arg(required_unless_present = "file", value_name = "SELECT", allow_hyphen_values = true)]
    pub statement: Option<String>,
    /// Read the statement from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "statement")]
    pub file: Option<PathBuf>,
    /// The rows of `selection`, which the statement must read then
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}
