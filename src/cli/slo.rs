//! The flags of `slo`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::values::{share, target};
use super::{OutputFlags, SelectionFlags};
use crate::query::scoring::Policy;

/// `slo`.
#[derive(Debug, Subcommand)]
pub enum Slo {
    /// Save targets
    Set {
        /// The name to save them under
        #[arg(default_value = "default", value_parser = NonEmptyStringValueParser::new())]
        name: String,
        /// TTFT target: arrival to prefill done
        #[arg(long, value_name = "SECONDS", value_parser = target)]
        ttft: f64,
        /// TPOT target: per output token after the first
        #[arg(long, value_name = "SECONDS", value_parser = target)]
        tpot: f64,
    },
    /// Show the saved targets
    Show,
    /// Find the least target that would have held, with how sure that is
    Solve(Solve),
    /// Hold several pairs of targets against the same requests, side by side
    Try(Try),
    /// Remove saved targets
    Clear {
        /// The name they were saved under
        #[arg(default_value = "default")]
        name: String,
    },
}

/// `slo solve`.
#[derive(Debug, Args)]
pub struct Solve {
    /// The attainment wanted, above 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0.99", value_parser = wanted)]
    pub wanted: f64,
    /// Take this TTFT target as given and find the least TPOT
    #[arg(long, value_name = "SECONDS", value_parser = target, conflicts_with = "tpot")]
    pub ttft: Option<f64>,
    /// Take this TPOT target as given, instead of the saved one, and find the least TTFT
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Option<f64>,
    /// Take the TPOT target saved under this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["ttft", "tpot"])]
    pub slo: Option<String>,
    /// Who counts: journal, offers or router
    #[arg(long, value_name = "WORD", value_parser = Policy::NAMES, default_value = "journal")]
    pub policy: String,
    /// Of which requests
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// In words, or as data
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: SolveFormat,
}

fn wanted(text: &str) -> Result<f64, String> {
    match share(text) {
        Ok(wanted) if wanted > 0.0 => Ok(wanted),
        _ => Err(format!("{text:?} is not a share above 0, up to 1")),
    }
}

/// How `slo solve` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolveFormat {
    /// Sentences for people.
    Text,
    /// A header line, numbers in full precision.
    Csv,
    /// One array of objects.
    Json,
}

/// `slo try`.
#[derive(Debug, Args)]
pub struct Try {
    /// TTFT target of a pair; the first belongs to the first --tpot, and so on [default: the saved one]
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub ttft: Vec<f64>,
    /// TPOT target of a pair [default: the saved one]
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Vec<f64>,
    /// Take targets that are not given from those saved under this name
    #[arg(long, value_name = "NAME")]
    pub slo: Option<String>,
    /// Who counts: journal, offers or router
    #[arg(long, value_name = "WORD", value_parser = Policy::NAMES, default_value = "journal")]
    pub policy: String,
    /// Of which requests
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}
