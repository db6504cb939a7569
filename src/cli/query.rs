//! The flags of `query` that do not belong to one query, and what was asked of the queries.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{ArgMatches, Args, ValueEnum};

use super::{OutputFlags, RedactFlags, SelectionFlags};
use crate::query::catalog::Faults;
use crate::query::engine::SqlEngine;
use crate::query::header::Query;

/// `query`.
#[derive(Debug, Args)]
#[command(subcommand_value_name = "NAME", subcommand_help_heading = "Queries")]
pub struct Ask {
    /// What the question is asked of
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, global = true, value_name = "PATH", help_heading = "Answer")]
    pub ingest: Vec<PathBuf>,
    /// Print the statement instead of its answer, with selection and parameters written into it: any program
    /// that reads SQLite gives the same rows
    #[arg(long, global = true, conflicts_with_all = ["redact", "output"], help_heading = "Answer")]
    pub sql: bool,
    /// With --sql: print it for an engine that reads a lake (`export lake`, docs/asking-a-lake.md)
    #[arg(long = "for", global = true, value_name = "ENGINE", help_heading = "Answer")]
    pub engine: Option<SqlEngine>,
    /// Work out so many scopes of a large answer at once [default: as many as there are processors, 4 at most]
    #[arg(long, global = true, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=64), help_heading = "Answer")]
    pub jobs: Option<u8>,
    /// Add the 95 % interval of each share of requests or legs, and of percentiles
    #[arg(long, global = true, conflicts_with = "sql", help_heading = "Answer")]
    pub intervals: bool,
    /// Print the catalog as a metadata file of Datasette
    #[arg(long)]
    pub datasette: bool,
    /// Add the queries of this folder, *.sql files with a header like the shipped ones
    #[arg(long, global = true, value_name = "DIR", env = "NARWHAL_JQ_QUERIES", help_heading = "Answer")]
    pub queries: Option<PathBuf>,
    /// Whether names go
    #[command(flatten)]
    pub privacy: RedactFlags,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
    /// The query, and what was given for its parameters
    #[arg(skip)]
    pub asked: AskedQueries,
}

/// The queries there are, and what the command line says of them. Their flags are made from their headers, so nothing
/// of this can be derived.
#[derive(Debug, Default)]
pub struct AskedQueries {
    /// Every query there is, the user's own after the shipped ones.
    pub catalog: Vec<Query>,
    /// The user's query files that cannot be used.
    pub faults: Faults,
    /// The matched arguments of the subcommand.
    pub(super) matches: ArgMatches,
}

impl AskedQueries {
    /// The query that was named.
    pub fn query(&self) -> Option<&Query> {
        let name = self.matches.subcommand_name()?;
        self.catalog.iter().find(|query| query.name == name)
    }

    /// What was given for a parameter.
    pub fn value(&self, parameter: &str) -> Option<&String> {
        self.given().try_get_one(&format!("{PARAMETER}{parameter}")).ok().flatten()
    }

    /// A target that was given, in seconds, if it can be read.
    pub(crate) fn target_s(&self, parameter: &str) -> Option<f64> {
        self.value(parameter)?.parse().ok()
    }

    /// The parameters that something was given for.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let names = self.given().ids().filter_map(|id| id.as_str().strip_prefix(PARAMETER));
        names.filter(|name| self.value(name).is_some())
    }

    fn given(&self) -> &ArgMatches {
        self.matches.subcommand().map_or(&self.matches, |(_, given)| given)
    }
}

/// Stands before the name of a query's parameter in the identifiers of arguments, apart from the tool's flags:
/// theirs are spelled otherwise than they are (`busy_timeout`).
pub(super) const PARAMETER: &str = "parameter:";

impl ValueEnum for SqlEngine {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.says()))
    }
}
