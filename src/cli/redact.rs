//! The flags of `redact`.

use std::path::PathBuf;

use clap::Args;

/// `redact`.
#[derive(Debug, Args)]
pub struct Redact {
    /// Journals: files, folders with journals in them, or `-`
    #[arg(required_unless_present = "check", value_name = "JOURNAL")]
    pub journals: Vec<PathBuf>,
    /// The file to write, which appears when it is whole
    #[arg(short, long, required_unless_present = "check", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A secret of at least 16 bytes: with the same one, the same names get the same pseudonyms in
    /// every call
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Report what a file still gives away, as FILE:LINE:BYTE, and exit with 1 if there is any
    #[arg(long, value_name = "FILE", conflicts_with_all = ["journals", "output", "key"])]
    pub check: Option<PathBuf>,
}
