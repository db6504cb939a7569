//! The canned queries and their headers.
//!
//! A query file is plain SQL behind a header of comments, which people read and this module parses:
//!
//! ```text
//! -- name: what it answers
//! -- group: where the catalog lists it
//! -- caveat: a check of `caveats` that its answer needs (optional)
//! --
//! -- Parameters
//! --   name | type | default | meaning
//! --
//! -- Columns
//! --   name | unit | meaning
//! --
//! -- Reading it
//! --   free text
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;

use super::kind::ColumnKind;
use super::run;

use crate::text::PathText;

/// A parameter's type, which says what the command line accepts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Any text.
    Text,
    /// Seconds, a number that is not negative.
    Seconds,
    /// A latency target: seconds, more than 0.
    Target,
    /// Any other length of time: seconds, more than 0.
    PositiveSeconds,
    /// A number, more than 0.
    PositiveNumber,
    /// A share, 0 to 1.
    Share,
    /// 0 or 1.
    Flag,
    /// A whole number from 1.
    Count,
    /// One of these words.
    OneOf(Vec<String>),
}

impl Type {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "text" => Self::Text,
            "seconds" => Self::Seconds,
            "target" => Self::Target,
            "positive seconds" => Self::PositiveSeconds,
            "positive number" => Self::PositiveNumber,
            "share" => Self::Share,
            "flag" => Self::Flag,
            "count" => Self::Count,
            _ => match text.strip_prefix("one of ") {
                Some(words) => Self::OneOf(words.split_whitespace().map(str::to_owned).collect()),
                None => bail!("no parameter has the type {text:?}"),
            },
        })
    }

    /// What stands for a value in the usage line.
    pub fn value_name(&self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Seconds | Self::Target | Self::PositiveSeconds => "SECONDS",
            Self::PositiveNumber | Self::Count => "NUMBER",
            Self::Share => "SHARE",
            Self::Flag => "0|1",
            Self::OneOf(_) => "WORD",
        }
    }
}

/// The default that stands for "take the target from the saved SLO, and refuse without one".
pub const SAVED_SLO: &str = "saved SLO";

/// A parameter of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, without the colon it has in the SQL.
    pub name: String,
    /// What it accepts.
    pub kind: Type,
    /// What holds when it is not given, in words.
    pub default: String,
    /// What it does.
    pub meaning: String,
    /// The line of the header that declares it, from 1.
    pub line: usize,
}

/// A column of a query's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name.
    pub name: String,
    /// Its unit or type.
    pub unit: String,
    /// What it holds.
    pub meaning: String,
    /// The line of the header that declares it, from 1.
    pub line: usize,
}

impl Query {
    /// What its columns hold.
    pub fn kinds(&self) -> Vec<ColumnKind> {
        self.columns.iter().map(|column| ColumnKind::of_unit(&column.unit)).collect()
    }
}

/// A canned query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Its name, which is its file's.
    pub name: String,
    /// What it answers, in one line.
    pub purpose: String,
    /// Where the catalog lists it.
    pub group: String,
    /// The check of [`super::caveats`] that its answer needs.
    pub caveat: Option<String>,
    /// Its parameters, in the header's order.
    pub parameters: Vec<Parameter>,
    /// Its columns, in the answer's order.
    pub columns: Vec<AnswerColumn>,
    /// How to read a zero, a null or a missing row.
    pub reading: String,
    /// The whole file.
    pub sql: String,
    /// The user's file; none for a query that ships.
    pub file: Option<PathBuf>,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../queries/", $name, ".sql")))),*]
    };
}

/// The query files, in the order of the catalog. A test compares them with the folder.
const SHIPPED: &[(&str, &str)] = shipped![
    "selection",
    "runs",
    "rates",
    "events",
    "requests",
    "outcomes",
    "refusals",
    "cancellations",
    "failure-causes",
    "retries",
    "attainment",
    "attainment-misses",
    "attainment-over-time",
    "goodput",
    "slo-frontier",
    "latency",
    "handoff",
    "queue-waits",
    "admission-price",
    "prompt-sizes",
    "engine-failures",
    "engine-latency",
    "engine-downtime",
    "throughput",
    "wasted-work",
    "cache",
    "controller",
    "floor-breaches",
    "monitoring",
];

/// The canned queries that ship with narwhal-jq.
///
/// # Errors
/// When a header cannot be read, which a test rules out.
pub fn shipped() -> Result<Vec<Query>> {
    SHIPPED
        .iter()
        .map(|(name, sql)| parse(name, sql).with_context(|| format!("the query file {name}.sql")))
        .collect()
}

/// Query files that cannot be used, with the reason.
pub type Faults = Vec<(PathBuf, anyhow::Error)>;

/// The user's own queries: every `*.sql` of a folder whose header is sound, in the order of their names.
/// `reserved` are the names that no parameter may have. Whether the statement agrees with the header is known
/// when a database is opened, whose tables it may use: [`check`].
///
/// # Errors
/// When the folder cannot be read.
pub fn of_folder(folder: &Path, reserved: &[String]) -> Result<(Vec<Query>, Faults)> {
    let cannot = || format!("cannot read the queries in {}", folder.as_text());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let (mut queries, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        match read_file(&path, reserved) {
            Ok(query) => queries.push(query),
            Err(error) => faults.push((path, error)),
        }
    }
    Ok((queries, faults))
}

fn read_file(path: &Path, reserved: &[String]) -> Result<Query> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ensure!(
        name.bytes().all(is_word) && name.starts_with(|first: char| first.is_ascii_lowercase()),
        "a query's name is of a-z, 0-9 and dashes, and begins with a letter"
    );
    ensure!(
        SHIPPED.iter().all(|(shipped, _)| *shipped != name),
        "narwhal-jq has a query of that name: rename the file"
    );
    let bytes = fs::read(path).context("cannot be read")?;
    let sql = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("line {line}: not UTF-8")
    })?;
    let mut query = parse(name, &sql)?;
    if query.group.is_empty() {
        query.group = "your own".to_owned();
    }
    for parameter in &query.parameters {
        ensure!(
            !reserved.contains(&parameter.name),
            "line {}: --{} is a flag of the tool: give the parameter another name",
            parameter.line,
            parameter.name
        );
    }
    query.file = Some(path.to_owned());
    Ok(query)
}

/// Checks a query's header against its statement, on a database that has the tables; what the statement takes
/// and gives.
///
/// # Errors
/// When the statement is not one that only reads, or its parameters and columns are not those
/// declared; the message has the line.
pub fn check(query: &Query, tables: &mut Connection) -> Result<run::Signature> {
    let signature = run::signature(tables, &query.sql)?;
    for (at, parameter) in query.parameters.iter().enumerate() {
        ensure!(
            query.parameters[..at].iter().all(|earlier| earlier.name != parameter.name),
            "line {}: the parameter {} a second time",
            parameter.line,
            parameter.name
        );
        ensure!(
            signature.parameters.contains(&format!(":{}", parameter.name)),
            "line {}: the statement has no parameter :{}",
            parameter.line,
            parameter.name
        );
    }
    for found in &signature.parameters {
        ensure!(
            query.parameters.iter().any(|parameter| found[1..] == parameter.name && found.starts_with(':')),
            "the statement has a parameter {found} that the header does not declare"
        );
    }
    for (at, found) in signature.columns.iter().enumerate() {
        match query.columns.get(at) {
            Some(column) => ensure!(
                column.name == *found,
                "line {}: declares the column {}, and the statement gives {found} there",
                column.line,
                column.name
            ),
            None => bail!("the statement gives a column {found} that the header does not declare"),
        }
    }
    if let Some(column) = query.columns.get(signature.columns.len()) {
        bail!("line {}: declares the column {}, which the statement does not give", column.line, column.name);
    }
    Ok(signature)
}

/// Reads the header of a query file.
///
/// # Errors
/// When the header is not of the form above; the message has the line.
pub fn parse(name: &str, sql: &str) -> Result<Query> {
    let mut query = Query {
        name: name.to_owned(),
        purpose: String::new(),
        group: String::new(),
        caveat: None,
        parameters: Vec::new(),
        columns: Vec::new(),
        reading: String::new(),
        sql: sql.to_owned(),
        file: None,
    };
    let mut section = "";
    for (line, text) in (1..).zip(sql.lines().take_while(|line| line.starts_with("--"))) {
        let text = text[2..].trim();
        let entry = || text.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        match (section, text) {
            (_, "") => {}
            (_, "Parameters" | "Columns" | "Reading it") => section = text,
            ("Parameters", _) => match <[String; 4]>::try_from(entry()) {
                Ok([name, kind, default, meaning]) => {
                    let kind = Type::parse(&kind).with_context(|| format!("line {line}"))?;
                    query.parameters.push(Parameter { name, kind, default, meaning, line });
                }
                Err(_) => bail!("line {line}: a parameter is `name | type | default | meaning`"),
            },
            ("Columns", _) => match <[String; 3]>::try_from(entry()) {
                Ok([name, unit, meaning]) => query.columns.push(AnswerColumn { name, unit, meaning, line }),
                Err(_) => bail!("line {line}: a column is `name | unit | meaning`"),
            },
            ("Reading it", _) => {
                if !query.reading.is_empty() {
                    query.reading.push(' ');
                }
                query.reading.push_str(text);
            }
            _ => match text.split_once(": ") {
                Some(("group", group)) => query.group = group.to_owned(),
                Some(("caveat", caveat)) => query.caveat = Some(caveat.to_owned()),
                Some((named, purpose)) if named == name => query.purpose = purpose.to_owned(),
                _ => bail!("line {line}: the header begins with `{name}: what it answers`"),
            },
        }
    }
    ensure!(!query.purpose.is_empty(), "line 1: the header begins with `{name}: what it answers`");
    ensure!(!query.columns.is_empty(), "the header has no `Columns`");
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn every_file_of_the_folder_ships_and_its_header_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("text"))
            .filter(|name| name.ends_with(".sql"))
            .collect();
        let mut names: Vec<String> = shipped()
            .expect("every header can be read")
            .into_iter()
            .map(|query| format!("{}.sql", query.name))
            .collect();
        files.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, files);
    }

    #[test]
    fn every_header_agrees_with_its_statement() {
        let mut tables = Connection::open_in_memory().expect("SQLite works");
        schema::migrate(&mut tables).expect("the migrations run");
        for query in shipped().expect("every header can be read") {
            check(&query, &mut tables).unwrap_or_else(|error| panic!("{}: {error:#}", query.name));
            assert!(!query.group.is_empty(), "{}", query.name);
        }
    }

    #[test]
    fn a_header_that_does_not_agree_with_its_statement_is_named_with_its_line() {
        let mut tables = Connection::open_in_memory().expect("SQLite works");
        for (sql, message) in [
            (
                "-- q: a\n-- Columns\n--   n | count | n\nselect :x as n",
                "the statement has a parameter :x that the header",
            ),
            (
                "-- q: a\n-- Columns\n--   n | count | n\nselect ?1 as n",
                "the statement has a parameter ?1 that the header",
            ),
            (
                "-- q: a\n-- Parameters\n--   x | text | none | x\n-- Columns\n--   n | count | n\nselect 1 as n",
                "line 3: the statement has no parameter :x",
            ),
            (
                "-- q: a\n-- Columns\n--   n | count | n\nselect 1 as m",
                "line 3: declares the column n, and the statement gives m",
            ),
            (
                "-- q: a\n-- Columns\n--   n | count | n\nselect 1 as n, 2 as m",
                "the statement gives a column m that",
            ),
            (
                "-- q: a\n-- Columns\n--   n | count | n\n--   m | count | m\nselect 1 as n",
                "line 4: declares the column m, which the statement does not give",
            ),
            ("-- q: a\n-- Columns\n--   n | count | n\ncreate table t (n)", "this SQL does more than read"),
            ("-- q: a\n-- Columns\n--   n | count | n\nselect 1 as n; select 2", "more than one statement"),
        ] {
            let query = parse("q", sql).expect("the header can be read");
            let error = format!("{:#}", check(&query, &mut tables).expect_err(sql));
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_is_named_with_its_line() {
        for (sql, message) in [
            ("select 1", "line 1: the header begins with `q: what it answers`"),
            ("-- q: a\n-- Parameters\n--   x | int\n", "line 3: a parameter is"),
            ("-- q: a\n-- Parameters\n--   x | int | 1 | an x\n", "line 3"),
            ("-- q: a\n-- Columns\n--   x\n", "line 3: a column is"),
            ("-- q: a\nselect 1", "the header has no `Columns`"),
        ] {
            let error = format!("{:#}", parse("q", sql).expect_err(sql));
            assert!(error.starts_with(message), "{error}");
        }
    }
}
