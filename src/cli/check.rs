//! The flags of `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{LimitFlags, SelectionFlags, TargetFlags};

/// `check`.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("limits").required(true).multiple(true),
    override_usage = "narwhal-jq check LIMIT... [SELECTION] [OPTIONS]"
)]
pub struct Check {
    /// What must hold
    #[command(flatten)]
    pub limits: LimitFlags,
    /// A scope whose newest row is older than this is broken when its figure is, else not judged: exit code 7
    #[arg(long, value_name = "LENGTH", value_parser = crate::selection::time::length)]
    pub max_age: Option<f64>,
    /// Not judged, and so exit code 7: scopes with fewer requests
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    pub min_requests: u64,
    /// The 95 % interval decides and not the measured value; undecided is exit code 7
    #[arg(long)]
    pub confident: bool,
    /// How it is told: lines, an object, or metrics for the textfile collector of a node exporter
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CheckFormat,
    /// Write that to a file, which appears when it is whole
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is judged
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// What requests are held to
    #[command(flatten)]
    pub targets: TargetFlags,
    /// Who counts for the attainment: journal, offers or router [default: journal]
    #[arg(long, value_name = "WORD", value_parser = crate::query::scoring::Policy::NAMES)]
    pub policy: Option<String>,
}

/// How `check` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// A line a limit and scope.
    Text,
    /// An object for programs.
    Json,
    /// Metrics for Prometheus.
    Openmetrics,
}
