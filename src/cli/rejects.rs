//! The flags of `rejects`.

use clap::{Args, Subcommand};

use super::OutputFlags;

/// `rejects`.
#[derive(Debug, Args)]
pub struct Rejects {
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
    /// What to do
    #[command(subcommand)]
    pub action: Option<RejectsAction>,
}

/// What to do with rejects.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum RejectsAction {
    /// List them (what happens without a word, too)
    List,
    /// Read what was rejected again: a newer narwhal-jq may be able to. The summary is text on stderr,
    /// with `--format json` an object on stdout
    Retry,
}
