//! The flags of `compare`.

use clap::Args;

use super::{OutputFlags, TargetFlags};

/// `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The one selection: a run (its id, the beginning of it, `last` or `current`), release:0.7, source:GLOB,
    /// FROM..TO in wall time (such as 2h..1h), or several joined by commas
    #[arg(value_name = "A")]
    pub a: String,
    /// The other selection
    #[arg(value_name = "B")]
    pub b: String,
    /// Every figure, not only what differs
    #[arg(long)]
    pub all: bool,
    /// What requests are held to
    #[command(flatten)]
    pub targets: TargetFlags,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}
