//! Arguments and help texts; no I/O. What is made from the catalog is in `parse`.

mod complete;
mod explain;
mod forget;
mod lake;
mod limits;
mod parse;
mod report;
mod selection;
mod settings;
mod shell;
mod slo;

pub use complete::{Lookup, answer as complete, script as completion_script};
pub use explain::Explain;
pub use forget::Forget;
pub use lake::Lake;
pub use limits::LimitFlags;
pub use parse::{parse, shipped_command};
pub use report::{Report, ReportFormat};
pub use selection::SelectionFlags;
pub use settings::Origin;
pub use shell::{Completions, Config, Man};
pub use slo::{Slo, Solve, SolveFormat, Try};

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};

use crate::exit;
use crate::output::Format;
use crate::query::catalog::{Faults, Query};
use crate::query::engine::Engine;
use crate::settings::Settings;

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

/// What to do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Load what is new in journals: files, folders, or `-` for standard input
    Ingest(Ingest),
    /// Ask a canned question; without a name, list them
    Query(QueryFlags),
    /// Diagnose one request: what happened to it, when and why
    Show(Show),
    /// Put two selections side by side
    Compare(Compare),
    /// Exit with 6 when something does not hold, 7 when that cannot be judged
    Check(Check),
    /// What the misses of a window come from, against an earlier one or another
    Explain(Explain),
    /// Write one page to read and to pass on, for a browser
    Report(Report),
    /// Run a SELECT of your own; it can only read
    Sql(Sql),
    /// Tables, views and columns of the database, with what each means
    Schema(Schema),
    /// Write tables, queries or the journal to files: CSV, a workbook, JSON Lines
    Export(Export),
    /// Write a journal that can be published: no engine, client, host or address in it
    Redact(Redact),
    /// Save the latency targets that queries use, or find out which could be promised
    #[command(subcommand)]
    Slo(Slo),
    /// What was read, how far, and what is in the database
    Status,
    /// Check the database: integrity, identities, offsets against the files
    Verify,
    /// Lines that could not be read as they stand, with their place and the reason
    Rejects(Rejects),
    /// Delete whole runs to keep the database small, or take that back
    Forget(Forget),
    /// Check Parquet that `export lake` wrote
    #[command(subcommand)]
    Lake(Lake),
    /// Print what makes a shell complete narwhal-jq
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Print the settings in force, and where each comes from
    Config(Config),
}

/// `ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Journals: files, folders with journals in them, names of the settings, or `-` [default: those of the settings;
    /// without any, journal.jsonl]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The last line is whole even without a newline
    #[arg(long = "final")]
    pub is_final: bool,
    /// The first bad line ends it, and nothing of its file is kept (exit code 3)
    #[arg(long)]
    pub strict: bool,
    /// Read the journals in folders inside folders, too
    #[arg(long)]
    pub recursive: bool,
    /// Keep reading as the journal grows, through rotation, until interrupted
    #[arg(long, conflicts_with_all = ["is_final", "strict"])]
    pub follow: bool,
    /// The summary: text goes to stderr, json to stdout
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: SummaryFormat,
}

/// How `ingest` tells what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// Lines for people, on stderr.
    Text,
    /// An object for programs, on stdout.
    Json,
}

/// The flags of `query` that do not belong to one query.
#[derive(Debug, Clone, Args)]
#[command(subcommand_value_name = "NAME", subcommand_help_heading = "Queries")]
pub struct QueryFlags {
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
    #[arg(long = "for", global = true, requires = "sql", value_name = "ENGINE", help_heading = "Answer")]
    pub engine: Option<Engine>,
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
}

/// What leaves the house, and how.
#[derive(Debug, Clone, Args)]
pub struct RedactFlags {
    /// Replace engines, client ids, hosts, URLs, addresses and paths
    #[arg(long, global = true, help_heading = "Answer")]
    pub redact: bool,
    /// With --redact: a secret of at least 16 bytes that keeps pseudonyms the same from call to call
    #[arg(long, global = true, value_name = "FILE", requires = "redact", help_heading = "Answer")]
    pub key: Option<PathBuf>,
}

/// How and where an answer is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Answer")]
pub struct OutputFlags {
    /// The form of the answer
    #[arg(long, global = true, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write the answer to a file, which appears when it is whole
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `query` with what was given for the query's own parameters.
#[derive(Debug)]
pub struct Ask {
    /// The flags that every query has.
    pub flags: QueryFlags,
    /// The query asked; `None` lists the catalog.
    pub query: Option<Query>,
    /// Every query there is, the user's own behind the shipped ones.
    pub catalog: Vec<Query>,
    /// The user's query files that cannot be used.
    pub faults: Faults,
    /// The matched arguments of the query.
    pub given: ArgMatches,
}

/// `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The request: its rid, its client id, or the beginning of one that is enough
    #[arg(value_name = "RID|CLIENT_RID", allow_hyphen_values = true)]
    pub id: String,
    /// The run it belongs to, when several have it
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// The diagnosis for people, or as data
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ShowFormat,
    /// Hold it against the targets saved under this name
    #[arg(long, value_name = "NAME")]
    pub slo: Option<String>,
    /// TTFT target, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub ttft: Option<f64>,
    /// TPOT target, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Option<f64>,
}

/// How `show` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// Lines for people.
    Text,
    /// An object for programs.
    Json,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The one selection: a run (its id, the beginning of it, `last` or `current`), release:0.7, source:GLOB,
    /// FROM..TO in wall time (such as 2h..1h), or several joined by commas
    #[arg(value_name = "A")]
    pub a: String,
    /// The other selection
    #[arg(value_name = "B")]
    pub b: String,
    /// Every figure, not only what differs
    #[arg(long)]
    pub all: bool,
    /// Take the targets saved under this name
    #[arg(long, value_name = "NAME")]
    pub slo: Option<String>,
    /// TTFT target, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub ttft: Option<f64>,
    /// TPOT target, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Option<f64>,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}

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
    /// Not judged, and so exit code 7: scopes whose newest row is older than this
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
    /// TTFT target of the attainment, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub ttft: Option<f64>,
    /// TPOT target of the attainment, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Option<f64>,
    /// Take the targets saved under this name
    #[arg(long, value_name = "NAME")]
    pub slo: Option<String>,
    /// Who counts for the attainment: journal, offers or router
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

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("{text:?} is not a share from 0 to 1")),
    }
}

/// `sql`.
#[derive(Debug, Args)]
pub struct Sql {
    /// The statement, or `-` to read it from standard input
    #[arg(required_unless_present = "file", value_name = "SELECT", allow_hyphen_values = true)]
    pub statement: Option<String>,
    /// Read the statement from a file
    #[arg(short, long, value_name = "FILE", conflicts_with = "statement")]
    pub file: Option<PathBuf>,
    /// The rows of `selection`, which the statement must read then
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Only this table or view
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `export`.
#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Tables and queries; `table:NAME` is a table that has a query's name, `journal` the stored rows as
    /// JSON Lines, `lake` the stored runs as Parquet, a folder a table and a day, for engines of many machines
    #[arg(value_name = "NAME|table:NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// Every table and every query
    #[arg(long)]
    pub all: bool,
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub ingest: Vec<PathBuf>,
    /// What is exported: it cuts queries and the tables terminals, attempt_failures, events and runs; the journal
    /// has whole runs
    #[command(flatten)]
    pub selection: SelectionFlags,
    /// Write a CSV each into this folder, made when missing, and export.json beside them; of a lake, its tables
    /// and manifest.json
    #[arg(long, value_name = "DIR", required_unless_present = "xlsx")]
    pub dir: Option<PathBuf>,
    /// Write one workbook, a sheet each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dir", "raw", "excel", "delimiter"])]
    pub xlsx: Option<PathBuf>,
    /// Leave text as it is that a spreadsheet would run as a formula
    #[arg(long)]
    pub raw: bool,
    /// Begin each CSV with a byte order mark, by which Excel knows UTF-8
    #[arg(long)]
    pub excel: bool,
    /// What stands between the cells of a CSV: a character, or `tab`
    #[arg(long, value_name = "CHAR", default_value = ",", value_parser = delimiter)]
    pub delimiter: u8,
    /// Whether names go
    #[command(flatten)]
    pub privacy: RedactFlags,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        _ => Err(format!("{text:?} is not one character that can stand between cells, or `tab`")),
    }
}

/// Stands before the name of a query's parameter in the identifiers of arguments, apart from the tool's flags:
/// theirs are spelled otherwise than they are (`busy_timeout`).
pub const PARAMETER: &str = "parameter:";

/// `export` with what was given for the parameters of the queries.
#[derive(Debug)]
pub struct ExportWanted {
    /// The flags that are not a query's.
    pub flags: Export,
    /// Every query there is.
    pub catalog: Vec<Query>,
    /// The matched arguments.
    pub given: ArgMatches,
}

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

fn target(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err(format!("{text:?} is not a number of seconds above 0")),
    }
}

/// `rejects`.
#[derive(Debug, Args)]
pub struct Rejects {
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
    /// What to do
    #[command(subcommand)]
    pub action: Option<RejectsAction>,
}

/// What to do with rejects.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum RejectsAction {
    /// List them (what happens without a word, too)
    List,
    /// Read what was rejected again: a newer narwhal-jq may be able to. The summary is text on stderr,
    /// with `--format json` an object on stdout
    Retry,
}

impl ValueEnum for Engine {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.says()))
    }
}

/// What the user wants.
#[derive(Debug)]
pub struct Wanted {
    /// Flags that stand anywhere.
    pub global: Global,
    /// The subcommand.
    pub command: Subcommanded,
}

/// A subcommand with its arguments.
#[derive(Debug)]
pub enum Subcommanded {
    /// `ingest`
    Ingest(Ingest),
    /// `query`
    Query(Box<Ask>),
    /// `show`
    Show(Show),
    /// `compare`
    Compare(Compare),
    /// `check`
    Check(Check),
    /// `explain`
    Explain(Explain),
    /// `report`
    Report(Report),
    /// `sql`
    Sql(Sql),
    /// `schema`
    Schema(Schema),
    /// `export`
    Export(Box<ExportWanted>),
    /// `redact`
    Redact(Redact),
    /// `slo`
    Slo(Slo),
    /// `status`
    Status,
    /// `verify`
    Verify,
    /// `rejects`
    Rejects(Rejects),
    /// `forget`
    Forget(Forget),
    /// `lake`
    Lake(Lake),
    /// `completions`
    Completions(Completions),
    /// `man`
    Man(Man),
    /// `config`
    Config(Config),
}
