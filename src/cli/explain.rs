//! The flags of `explain`.

use std::path::PathBuf;

use clap::Args;

use super::show::ShowFormat;
use super::{SelectionFlags, TargetFlags};
use crate::query::scoring::Policy;

/// `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The window
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Hold the window against this selection, as in `compare`: a run, release:0.7, source:GLOB, FROM..TO in wall
    /// time (such as 3h..2h), or several joined by commas [default: all earlier requests of the same runs]
    #[arg(long, value_name = "EXPR")]
    pub against: Option<String>,
    /// What requests are held to
    #[command(flatten)]
    pub targets: TargetFlags,
    /// Who counts: journal, offers or router
    #[arg(long, value_name = "WORD", value_parser = Policy::NAMES, default_value = "journal")]
    pub policy: String,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// A page for people, or as data
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ShowFormat,
}
