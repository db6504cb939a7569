//! The arguments of `lake`.

use std::path::PathBuf;

use clap::Subcommand;

/// `lake`.
#[derive(Debug, Subcommand)]
pub enum Lake {
    /// Hold the files of a lake against its manifest, and their counts against the database: exit code 1 when
    /// something does not hold
    Check {
        /// The folder that `export lake` wrote
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}
