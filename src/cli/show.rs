//! The flags of `show`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::TargetFlags;

/// `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The request: its rid, its client id, or the beginning of one that is enough
    #[arg(value_name = "RID|CLIENT_RID", allow_hyphen_values = true)]
    pub id: String,
    /// The run it belongs to, when several have it
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// The diagnosis for people, or as data
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ShowFormat,
    /// What requests are held to
    #[command(flatten)]
    pub targets: TargetFlags,
}

/// How `show` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// Lines for people.
    Text,
    /// An object for programs.
    Json,
}
