//! What a subcommand is, and the list of them. Each is its flags, in a file here, and what it does with them, in a file
//! of `commands`.

use std::path::PathBuf;

use anyhow::Result;

use super::query::AskedQueries;
use super::{Global, SelectionFlags};
use crate::exit::Exit;

/// What a subcommand says of itself and does. It is implemented for its flags, in `commands`.
pub trait Subcommand {
    /// Does it.
    ///
    /// # Errors
    /// Whatever stopped it, in words.
    fn execute(&self, global: &Global) -> Result<Exit>;

    /// Whether it heeds signals itself, as what writes the database must. Otherwise a signal ends the program, with
    /// nothing left of an unfinished answer; what reads journals first is ended so once they are read.
    fn heeds_signals(&self) -> bool {
        false
    }

    /// What it is asked of, where that can be chosen by flags, and left to the settings.
    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        None
    }

    /// The journals that it reads into the database, which may be named as in the settings.
    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        None
    }

    /// Whether it cannot do without journals, and takes those of the settings when none are named.
    fn needs_journals(&self) -> bool {
        false
    }

    /// The targets that its flags give.
    fn targets(&self) -> Targets {
        Targets::default()
    }

    /// What the command line says of queries, where it has flags for that.
    fn queries_mut(&mut self) -> Option<&mut AskedQueries> {
        None
    }
}

/// Targets as flags give them, in seconds.
#[derive(Debug, Default)]
pub struct Targets {
    /// For TTFT.
    pub ttfts: Vec<f64>,
    /// For TPOT.
    pub tpots: Vec<f64>,
}

impl Targets {
    /// One of each, where it was given.
    pub fn new(ttft: Option<f64>, tpot: Option<f64>) -> Self {
        Self { ttfts: ttft.into_iter().collect(), tpots: tpot.into_iter().collect() }
    }
}

/// Makes of the list of subcommands, each with its file and its flags there, what is parsed, and the way from there to
/// what each does.
macro_rules! subcommands {
    ($($(#[$about:meta])* $name:ident($file:ident::$flags:ident),)+) => {
        /// What to do.
        #[derive(Debug, clap::Subcommand)]
        pub enum Command {
            $($(#[$about])* $name(super::$file::$flags),)+
        }

        impl Command {
            /// The subcommand.
            pub fn get(&self) -> &dyn Subcommand {
                match self {
                    $(Self::$name(flags) => flags,)+
                }
            }

            /// The subcommand, where its flags are filled in.
            pub fn get_mut(&mut self) -> &mut dyn Subcommand {
                match self {
                    $(Self::$name(flags) => flags,)+
                }
            }
        }
    };
}

subcommands! {
    /// Load what is new in journals: files, folders, or `-` for standard input
    Ingest(ingest::Ingest),
    /// Ask a canned question; without a name, list them
    Query(query::Ask),
    /// Diagnose one request: what happened to it, when and why
    Show(show::Show),
    /// Put two selections side by side
    Compare(compare::Compare),
    /// Exit with 6 when something does not hold, 7 when that cannot be judged
    Check(check::Check),
    /// What the misses of a window come from, against an earlier one or another
    Explain(explain::Explain),
    /// Write one page to read and to pass on, for a browser
    Report(report::Report),
    /// Run a SELECT of your own; it can only read
    Sql(sql::Sql),
    /// Tables, views and columns of the database, with what each means
    Schema(schema::Schema),
    /// Write tables, queries or the journal to files: CSV, a workbook, JSON Lines
    Export(export::Export),
    /// Write a journal that can be published: no engine, client, host or address in it
    Redact(redact::Redact),
    /// Save the latency targets that queries use, or find out which could be promised
    #[command(subcommand)]
    Slo(slo::Slo),
    /// What was read, how far, and what is in the database
    Status(status::Status),
    /// Check the database: integrity, identities, offsets against the files
    Verify(verify::Verify),
    /// Lines that could not be read as they stand, with their place and the reason
    Rejects(rejects::Rejects),
    /// Delete whole runs to keep the database small, or take that back
    Forget(forget::Forget),
    /// Check Parquet that `export lake` wrote
    #[command(subcommand)]
    Lake(lake::Lake),
    /// Print what makes a shell complete narwhal-jq
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),
    /// Print the settings in force, and where each comes from
    Config(config::Config),
}
