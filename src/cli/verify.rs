//! `verify` has no flags of its own.

use clap::Args;

/// `verify`.
#[derive(Debug, Args)]
pub struct Verify {}
