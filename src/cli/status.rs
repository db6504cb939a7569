//! `status` has no flags of its own.

use clap::Args;

/// `status`.
#[derive(Debug, Args)]
pub struct Status {}
