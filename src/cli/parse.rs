//! The command line as it is parsed: the flags of each query are made from its header.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches};

use super::query::AskedQueries;
use super::query::PARAMETER;
use super::settings::{fallback, named};
use super::{Cli, Invocation};
use crate::query::catalog::{self, Faults};
use crate::query::header::{Parameter, Query, Type};
use crate::settings;
use crate::text::{PathText, escaped, is_hostile};

/// Reads the command line.
///
/// # Errors
/// [`Unparsed`] when it is wrong, or asks for help or the version; when the catalog cannot be read.
pub fn parse() -> Result<Invocation> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // What is wrong with them is said when it is clear that something is to be done: help is had without.
    let settings = settings::load(&named(&arguments));
    let folder = settings.as_ref().ok().and_then(|settings| settings.queries.clone());
    let (catalog, faults) = whole_catalog(&arguments, folder)?;
    let mut command = command(&catalog);
    let matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(|error| {
        let is_unknown = error.kind() == ErrorKind::InvalidSubcommand;
        let told = faults.iter().filter(|_| is_unknown);
        Unparsed {
            faults: told.map(|(path, fault)| format!("{}: {fault:#}", path.as_text())).collect(),
            answer: in_own_words(error, asked(&mut command, &arguments)),
        }
    })?;
    let mut cli =
        Cli::from_arg_matches(&matches).map_err(|answer| Unparsed { faults: Vec::new(), answer })?;
    let settings = settings?;
    let fallback = fallback(&settings)?;
    cli.global.settle(settings, &matches)?;
    let subcommand = cli.command.get_mut();
    if let Some(asked) = subcommand.queries_mut() {
        let (_, given) = matches.subcommand().expect("a subcommand was parsed");
        *asked = AskedQueries { catalog, faults, matches: given.clone() };
    }
    if let Some(selection) = subcommand.selection_mut() {
        selection.fall_back_on(fallback);
    }
    Ok(Invocation { global: cli.global, command: cli.command })
}

/// The subcommand that the arguments ask for, as far as there is one.
fn asked<'c>(command: &'c mut clap::Command, arguments: &[OsString]) -> &'c mut clap::Command {
    arguments.iter().fold(command, |command, argument| {
        let is_there = command.find_subcommand(argument).is_some();
        if is_there { command.find_subcommand_mut(argument).expect("it was just found") } else { command }
    })
}

/// What the parser found wrong, where its own words mislead: to who asks, a query is no subcommand, and a flag that is
/// hardly like the one that was typed is no way out.
fn in_own_words(mut error: clap::Error, command: &mut clap::Command) -> clap::Error {
    let strings = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let first = |flag: &String| flag.trim_start_matches('-').chars().next();
    match error.kind() {
        ErrorKind::InvalidSubcommand if command.get_name() == "query" => {
            let typed = strings(ContextKind::InvalidSubcommand).concat();
            let alike = strings(ContextKind::SuggestedSubcommand);
            let similar = match alike.len() {
                0 => String::new(),
                _ => format!("\n\n  tip: like it is called: {}", alike.join(", ")),
            };
            let message = format!("no query is called '{typed}': `narwhal-jq query` lists them{similar}");
            command.error(ErrorKind::InvalidSubcommand, message)
        }
        ErrorKind::UnknownArgument
            if strings(ContextKind::SuggestedArg).first().and_then(first)
                != strings(ContextKind::InvalidArg).first().and_then(first) =>
        {
            error.remove(ContextKind::SuggestedArg);
            error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
            error
        }
        _ => error,
    }
}

/// A command line that says nothing to be done: what is to be told instead.
#[derive(Debug)]
pub struct Unparsed {
    /// What is wrong with the user's queries, one of which may be the one that is not known.
    pub faults: Vec<String>,
    answer: clap::Error,
}

impl Unparsed {
    /// Whether it was wrong, and did not ask for help or the version.
    pub fn is_wrong(&self) -> bool {
        self.answer.use_stderr()
    }

    /// What is to be told, in colors for a terminal.
    pub fn text(&self, is_colored: bool) -> String {
        let text = self.answer.render();
        // What was typed is part of it.
        let is_typed = |argument: OsString| argument.to_string_lossy().chars().any(is_hostile);
        if is_colored && !std::env::args_os().any(is_typed) {
            return text.ansi().to_string();
        }
        text.to_string().lines().map(|line| escaped(line) + "\n").collect()
    }
}

impl std::fmt::Display for Unparsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(false))
    }
}

impl std::error::Error for Unparsed {}

/// Every query there is for this command line, the user's own after the shipped ones, and the files that cannot
/// be used.
///
/// # Errors
/// When the catalog or the folder of the user's queries cannot be read.
pub(super) fn whole_catalog(
    arguments: &[OsString],
    settled: Option<PathBuf>,
) -> Result<(Vec<Query>, Faults)> {
    let mut catalog = catalog::shipped()?;
    let Some(folder) = queries_folder(arguments, settled) else { return Ok((catalog, Faults::new())) };
    let (own, unusable) = catalog::of_folder(&folder, &reserved_flags())?;
    catalog.extend(own);
    Ok((catalog, unusable))
}

/// The folder of the user's queries, `settled` where the settings name one. It must be known before the command line can be parsed,
/// because its files are subcommands.
fn queries_folder(arguments: &[OsString], settled: Option<PathBuf>) -> Option<PathBuf> {
    let is_asked = |argument: &OsString| argument == "query" || argument == "export";
    if !arguments.iter().take_while(|argument| *argument != "--").any(is_asked) {
        return None;
    }
    let set = || std::env::var_os("NARWHAL_JQ_QUERIES").filter(|folder| !folder.is_empty());
    let given = value_of("--queries", arguments).or_else(set);
    given.map(PathBuf::from).or(settled).filter(|folder| !folder.as_os_str().is_empty())
}

/// The database of a command line that is not whole yet, `settled` where the settings name one.
pub(super) fn database_named(arguments: &[OsString], settled: Option<PathBuf>) -> PathBuf {
    let set = || std::env::var_os("NARWHAL_JQ_DB").filter(|path| !path.is_empty());
    let given = value_of("--db", arguments).or_else(set).map(PathBuf::from);
    given.or(settled).unwrap_or_else(|| PathBuf::from("narwhal.db"))
}

/// The value of a flag that must be known before the command line can be parsed.
pub(super) fn value_of(flag: &str, arguments: &[OsString]) -> Option<OsString> {
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if argument == flag {
            return arguments.next().cloned();
        }
        let value = argument.to_str().and_then(|text| text.strip_prefix(flag)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
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

/// The command line with the queries that ship.
///
/// # Errors
/// When the catalog cannot be read.
pub fn shipped_command() -> Result<clap::Command> {
    Ok(command(&catalog::shipped()?))
}

/// The whole command line, the flags of each query among it.
pub(super) fn command(catalog: &[Query]) -> clap::Command {
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
            arguments.push(parameter_flag(parameter).help_heading("Parameters of queries"));
        }
    }
    arguments
}

fn parameter_flag(parameter: &Parameter) -> Arg {
    Arg::new(format!("{PARAMETER}{}", parameter.name))
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
        .long_about(format!("{}\n\n{}", query.purpose, columns(query)))
        .args(query.parameters.iter().map(parameter_flag))
        .after_help(format!("Columns, how to read them, and the SQL: query {} --help", query.name))
        .after_long_help(statement(query))
}

/// What a query's help begins with: what stands in its answer.
fn columns(query: &Query) -> String {
    let width = query.columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    let mut text = "Columns:\n".to_owned();
    for column in &query.columns {
        text.push_str(&format!("  {:width$}  {} ({})\n", column.name, column.meaning, column.unit));
    }
    if !query.reading.is_empty() {
        text.push_str(&format!("\nReading it:\n  {}\n", query.reading));
    }
    text
}

/// The part of a query's help behind its flags.
fn statement(query: &Query) -> String {
    let sql: Vec<&str> = query.sql.lines().skip_while(|line| line.starts_with("--")).collect();
    format!("SQL:\n  {}\n", sql.join("\n  "))
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
    fn a_parameter_may_be_called_as_a_flag_is_inside() {
        let sql = "-- q: a\n-- Parameters\n--   busy_timeout | text | none | x\n-- Columns\n--   n | text | n\n\
                   select :busy_timeout as n";
        let catalog = [crate::query::header::parse("q", sql).expect("the header can be read")];
        command(&catalog).debug_assert();
        let arguments = ["narwhal-jq", "query", "q", "--busy_timeout", "x", "--busy-timeout", "5"];
        let matches = command(&catalog).try_get_matches_from(arguments).expect("both are flags");
        let cli = Cli::from_arg_matches(&matches).expect("both are flags");
        assert_eq!(cli.global.busy_timeout.as_secs(), 5);
        let given = matches.subcommand().and_then(|(_, given)| given.subcommand()).expect("`q` was asked").1;
        assert_eq!(given.get_one::<String>("parameter:busy_timeout").map(String::as_str), Some("x"));
    }

    #[test]
    fn the_folder_of_queries_is_found_wherever_the_flag_stands() {
        for (arguments, folder) in [
            (&["query", "--queries", "q", "x"][..], Some("q")),
            (&["--queries=q", "query"], Some("q")),
            (&["ingest", "--queries", "q"], None),
            (&["query", "--", "--queries", "q"], None),
        ] {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let found = queries_folder(&arguments, None);
            assert_eq!(found, folder.map(PathBuf::from), "{arguments:?}");
        }
    }
}
