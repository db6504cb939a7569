//! Arguments and help texts; no I/O. What is made from the catalog is in `parse`.

mod answer;
pub mod check;
mod command;
pub mod compare;
mod complete;
pub mod completions;
pub mod config;
pub mod explain;
pub mod export;
pub mod forget;
pub mod ingest;
pub mod lake;
mod limits;
pub mod man;
mod parse;
pub mod query;
pub mod redact;
pub mod rejects;
pub mod report;
pub mod schema;
mod selection;
mod settings;
pub mod show;
pub mod slo;
pub mod sql;
pub mod status;
mod targets;
mod values;
pub mod verify;

pub use answer::{OutputFlags, RedactFlags};
pub use command::{Command, Subcommand, Targets};
pub use complete::{Lookup, answer as complete, script as completion_script};
pub use limits::LimitFlags;
pub use parse::{Unparsed, parse, shipped_command};
pub use selection::SelectionFlags;
pub use settings::Origin;
pub use targets::TargetFlags;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, ValueEnum};

use crate::exit;
use crate::settings::Settings;

/// A command line.
#[derive(Debug)]
pub struct Invocation {
    /// Flags that stand anywhere.
    pub global: Global,
    /// The subcommand.
    pub command: Command,
}

/// Ask Narwhal router journals why requests were slow, refused or failing.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::HELP, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags that stand anywhere.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// The database
    #[arg(long, global = true, value_name = "PATH", env = "NARWHAL_JQ_DB", default_value = "narwhal.db",
        value_parser = OsStringValueParser::new().try_map(database))]
    pub db: PathBuf,
    /// When to color messages
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Print errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// How long to wait for a database that another process writes to, or reads for long
    #[arg(long, global = true, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub busy_timeout: Duration,
    /// The settings file [default: narwhal-jq/config.toml in XDG_CONFIG_HOME, or in ~/.config, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = crate::settings::VARIABLE,
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub config: Option<PathBuf>,
    /// Go without a settings file
    #[arg(long, global = true)]
    pub no_config: bool,
    /// What the settings file says
    #[arg(skip)]
    pub settings: Settings,
    /// Where the settings file was named
    #[arg(skip)]
    pub config_from: Origin,
    /// Where the database was named
    #[arg(skip)]
    pub db_from: Origin,
    /// Where it was said when to color
    #[arg(skip)]
    pub color_from: Origin,
}

/// When to color messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn database(path: OsString) -> Result<PathBuf, String> {
    match path.as_bytes() {
        // As if the variable were not set.
        b"" => Ok(PathBuf::from("narwhal.db")),
        b":memory:" => Err("a database in memory would keep nothing: name a file".to_owned()),
        _ => Ok(PathBuf::from(path)),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a number of seconds from 0");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}
