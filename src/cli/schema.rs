//! The flags of `schema`.

use clap::Args;

use super::OutputFlags;

/// `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Only this table or view
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}
