//! The flags of `man`.

use std::path::PathBuf;

use clap::Args;

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  narwhal-jq man --dir ~/.local/share/man/man1 && man narwhal-jq-query-attainment")]
pub struct Man {
    /// Write a page for the program, each subcommand and each query into this folder, made when missing
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
}
