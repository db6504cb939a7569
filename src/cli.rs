//! Arguments and help texts. The flags of `query NAME` are made from the query's header.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::exit;
use crate::output::Format;
use crate::query::catalog::{self, Faults, Parameter, Query, Type};

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
        value_parser = database)]
    pub db: PathBuf,
    /// When to color messages
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Print errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// How long to wait while another process writes to the database
    #[arg(long, global = true, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub busy_timeout: Duration,
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

fn database(text: &str) -> Result<PathBuf, String> {
    match text {
        // As if the variable were not set.
        "" => Ok(PathBuf::from("narwhal.db")),
        ":memory:" => Err("a database in memory would keep nothing: name a file".to_owned()),
        path => Ok(PathBuf::from(path)),
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
    /// Put two runs side by side
    Compare(Compare),
    /// Exit with 6 when a run does not keep what is asked of it
    Check(Check),
    /// Run a SELECT of your own; it can only read
    Sql(Sql),
    /// Write tables, queries or the journal to files: CSV, a workbook, JSON Lines
    Export(Export),
    /// Write a journal that can be published: no engine, client, host or address in it
    Redact(Redact),
    /// Save the latency targets that queries use when none are given
    #[command(subcommand)]
    Slo(Slo),
    /// What was read, how far, and what is in the database
    Status,
    /// Check the database: integrity, identities, offsets against the files
    Verify,
    /// Lines that could not be read as they stand, with their place and the reason
    Rejects(Rejects),
}

/// `ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Journals: files, folders with journals in them, or `-`
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The last line is whole even without a newline
    #[arg(long = "final")]
    pub is_final: bool,
    /// The first bad line ends it, and nothing of its file is kept (exit code 3)
    #[arg(long)]
    pub strict: bool,
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
    /// Read what is new in this journal first (may be repeated)
    #[arg(long, global = true, value_name = "PATH", help_heading = "Answer")]
    pub ingest: Vec<PathBuf>,
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
    /// The one run: its id, the beginning of it, or `last`
    #[arg(value_name = "RUN_A")]
    pub run_a: String,
    /// The other run
    #[arg(value_name = "RUN_B")]
    pub run_b: String,
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
#[command(group = clap::ArgGroup::new("limits").required(true).multiple(true))]
pub struct Check {
    /// The least attainment, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, group = "limits")]
    pub min_attainment: Option<f64>,
    /// The largest share of prefill and decode legs that failed, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, group = "limits")]
    pub max_failure_rate: Option<f64>,
    /// The largest 99th percentile of the TTFT of completed requests
    #[arg(long, value_name = "SECONDS", value_parser = target, group = "limits")]
    pub max_p99_ttft: Option<f64>,
    /// Only this run, or `last`; default: every run
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Only requests that arrived in so many seconds before the run's end
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub last: Option<f64>,
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
    #[arg(long, value_name = "WORD", value_parser = ["journal", "offers", "router"])]
    pub policy: Option<String>,
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
    /// How and where the answer is written
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `export`.
#[derive(Debug, Clone, Args)]
pub struct Export {
    /// Tables and queries; `table:NAME` is a table that has a query's name, `journal` the stored rows as
    /// JSON Lines
    #[arg(value_name = "NAME|table:NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// Every table and every query
    #[arg(long)]
    pub all: bool,
    /// Write a CSV each into this folder, made when missing, and export.json beside them
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

/// Stands before the name of a query's parameter in the identifiers of `export`, apart from its flags.
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
    /// Remove saved targets
    Clear {
        /// The name they were saved under
        #[arg(default_value = "default")]
        name: String,
    },
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
    /// `sql`
    Sql(Sql),
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
}

/// Reads the command line. Wrong usage, `--help` and `--version` end the program here.
///
/// # Errors
/// When the catalog cannot be read.
pub fn parse() -> Result<Wanted> {
    let mut catalog = catalog::shipped()?;
    let mut faults = Faults::new();
    if let Some(folder) = queries_folder(std::env::args_os().skip(1)) {
        let (own, unusable) = catalog::of_folder(&folder, &reserved_flags())?;
        catalog.extend(own);
        faults = unusable;
    }
    let matches = command(&catalog).try_get_matches().unwrap_or_else(|error| {
        if error.kind() == ErrorKind::InvalidSubcommand {
            for (path, fault) in &faults {
                // Nothing can be done when stderr is closed.
                let _ = writeln!(std::io::stderr(), "warning: {}: {fault:#}", path.display());
            }
        }
        error.exit()
    });
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let command = match cli.command {
        Command::Ingest(flags) => Subcommanded::Ingest(flags),
        Command::Query(flags) => {
            let (_, given) = matches.subcommand().expect("`query` was parsed");
            let asked = given.subcommand();
            let query = asked.and_then(|(name, _)| catalog.iter().find(|query| query.name == name)).cloned();
            let given = asked.map_or_else(ArgMatches::default, |(_, given)| given.clone());
            Subcommanded::Query(Box::new(Ask { flags, query, catalog, faults, given }))
        }
        Command::Show(flags) => Subcommanded::Show(flags),
        Command::Compare(flags) => Subcommanded::Compare(flags),
        Command::Check(flags) => Subcommanded::Check(flags),
        Command::Sql(flags) => Subcommanded::Sql(flags),
        Command::Export(flags) => {
            let (_, given) = matches.subcommand().expect("`export` was parsed");
            Subcommanded::Export(Box::new(ExportWanted { flags, catalog, given: given.clone() }))
        }
        Command::Redact(flags) => Subcommanded::Redact(flags),
        Command::Slo(action) => Subcommanded::Slo(action),
        Command::Status => Subcommanded::Status,
        Command::Verify => Subcommanded::Verify,
        Command::Rejects(flags) => Subcommanded::Rejects(flags),
    };
    Ok(Wanted { global: cli.global, command })
}

/// The folder of the user's queries. It must be known before the command line can be parsed,
/// because its files are subcommands.
fn queries_folder(arguments: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let arguments: Vec<OsString> = arguments.take_while(|argument| argument != "--").collect();
    if !arguments.iter().any(|argument| argument == "query" || argument == "export") {
        return None;
    }
    let given = arguments.iter().enumerate().find_map(|(at, argument)| match argument.to_str()? {
        "--queries" => arguments.get(at + 1).cloned(),
        text => text.strip_prefix("--queries=").map(OsString::from),
    });
    given
        .or_else(|| std::env::var_os("NARWHAL_JQ_QUERIES"))
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
}

/// The names of the flags that `query` and `export` have, which no parameter may have.
fn reserved_flags() -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let flags = ["query", "export"].map(|name| {
        let command = command.find_subcommand(name).expect("there is such a subcommand");
        command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned).collect::<Vec<_>>()
    });
    flags.concat()
}

/// The whole command line, the flags of each query among it.
fn command(catalog: &[Query]) -> clap::Command {
    Cli::command()
        .mut_subcommand("query", |command| {
            command
                .subcommands(catalog.iter().map(query_command))
                .subcommand_required(false)
                .arg_required_else_help(false)
                .disable_help_subcommand(true)
        })
        .mut_subcommand("export", |command| command.args(parameters_of_all(catalog)))
}

/// The parameters of every query, each once: `export` takes those of the queries it writes.
fn parameters_of_all(catalog: &[Query]) -> Vec<Arg> {
    let mut names: Vec<&str> = Vec::new();
    let mut arguments = Vec::new();
    for parameter in catalog.iter().flat_map(|query| &query.parameters) {
        if !names.contains(&parameter.name.as_str()) {
            names.push(&parameter.name);
            let argument = parameter_flag(parameter).help_heading("Parameters of queries");
            arguments.push(argument.id(format!("{PARAMETER}{}", parameter.name)));
        }
    }
    arguments
}

fn parameter_flag(parameter: &Parameter) -> Arg {
    Arg::new(parameter.name.clone())
        .long(parameter.name.clone())
        .value_name(parameter.kind.value_name())
        .help(match &parameter.kind {
            Type::OneOf(words) => {
                format!("{}: {} [default: {}]", parameter.meaning, words.join(", "), parameter.default)
            }
            _ => format!("{} [default: {}]", parameter.meaning, parameter.default),
        })
        .allow_negative_numbers(true)
}

fn query_command(query: &Query) -> clap::Command {
    clap::Command::new(query.name.clone())
        .about(query.purpose.clone())
        .args(query.parameters.iter().map(parameter_flag))
        .after_help(format!("Columns, how to read them, and the SQL: query {} --help", query.name))
        .after_long_help(manual(query))
}

/// The part of a query's help behind its flags.
fn manual(query: &Query) -> String {
    let width = query.columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    let mut text = "Columns:\n".to_owned();
    for column in &query.columns {
        text.push_str(&format!("  {:width$}  {} ({})\n", column.name, column.meaning, column.unit));
    }
    if !query.reading.is_empty() {
        text.push_str(&format!("\nReading it:\n  {}\n", query.reading));
    }
    let sql: Vec<&str> = query.sql.lines().skip_while(|line| line.starts_with("--")).collect();
    text.push_str(&format!("\nSQL:\n  {}\n", sql.join("\n  ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound_and_no_parameter_is_a_flag_of_the_tool() {
        let catalog = catalog::shipped().expect("the catalog can be read");
        command(&catalog).debug_assert();
        let reserved = reserved_flags();
        for flag in ["db", "format", "help", "ingest", "output", "queries", "quiet"] {
            assert!(reserved.contains(&flag.to_owned()), "{flag}");
        }
        for parameter in catalog.iter().flat_map(|query| &query.parameters) {
            assert!(!reserved.contains(&parameter.name), "{}", parameter.name);
        }
    }

    #[test]
    fn the_folder_of_queries_is_found_wherever_the_flag_stands() {
        for (arguments, folder) in [
            (&["query", "--queries", "q", "x"][..], Some("q")),
            (&["--queries=q", "query"], Some("q")),
            (&["ingest", "--queries", "q"], None),
            (&["query", "--", "--queries", "q"], None),
        ] {
            let found = queries_folder(arguments.iter().map(OsString::from));
            assert_eq!(found, folder.map(PathBuf::from), "{arguments:?}");
        }
    }
}
