//! The flags of `ingest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Journals: files, folders with journals in them, names of the settings, or `-` [default: those of the settings;
    /// without any, journal.jsonl]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The last line is whole even without a newline
    #[arg(long = "final")]
    pub is_final: bool,
    /// The first bad line ends it, and nothing of its file is kept (exit code 3)
    #[arg(long)]
    pub strict: bool,
    /// Read the journals in folders inside folders, too
    #[arg(long)]
    pub recursive: bool,
    /// Keep reading as the journal grows, through rotation, until interrupted
    #[arg(long, conflicts_with_all = ["is_final", "strict"])]
    pub follow: bool,
    /// The summary: text goes to stderr, json to stdout
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: SummaryFormat,
}

/// How `ingest` tells what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// Lines for people, on stderr.
    Text,
    /// An object for programs, on stdout.
    Json,
}
