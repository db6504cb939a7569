//! The flags of commands that write an answer: its form, its place, whether names are in it.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

/// What leaves the house, and how.
#[derive(Debug, Clone, Args)]
pub struct RedactFlags {
    /// Replace engines, client ids, hosts, URLs, addresses and paths
    #[arg(long, global = true, help_heading = "Answer")]
    pub redact: bool,
    /// With --redact: a secret of at least 16 bytes that keeps pseudonyms the same from call to call
    #[arg(long, global = true, value_name = "FILE", requires = "redact", help_heading = "Answer")]
    pub key: Option<PathBuf>,
}

/// How and where an answer is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Answer")]
pub struct OutputFlags {
    /// The form of the answer
    #[arg(long, global = true, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write the answer to a file, which appears when it is whole
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
