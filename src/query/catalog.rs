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

use anyhow::{Context, Result, bail, ensure};

/// A parameter's type, which says what the command line accepts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A run id, or `last`.
    Run,
    /// Any text.
    Text,
    /// Seconds, a number that is not negative.
    Seconds,
    /// A latency target: seconds, more than 0.
    Target,
    /// One of these words.
    OneOf(Vec<String>),
}

impl Type {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "run" => Self::Run,
            "text" => Self::Text,
            "seconds" => Self::Seconds,
            "target" => Self::Target,
            _ => match text.strip_prefix("one of ") {
                Some(words) => Self::OneOf(words.split_whitespace().map(str::to_owned).collect()),
                None => bail!("no parameter has the type {text:?}"),
            },
        })
    }

    /// What stands for a value in the usage line.
    pub fn value_name(&self) -> &'static str {
        match self {
            Self::Run => "RUN",
            Self::Text => "TEXT",
            Self::Seconds | Self::Target => "SECONDS",
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
}

/// A column of a query's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit or type.
    pub unit: String,
    /// What it holds.
    pub meaning: String,
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
    pub columns: Vec<Column>,
    /// How to read a zero, a null or a missing row.
    pub reading: String,
    /// The whole file.
    pub sql: String,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../queries/", $name, ".sql")))),*]
    };
}

/// The query files, in the order of the catalog. A test compares them with the folder.
const SHIPPED: &[(&str, &str)] = shipped!["runs", "outcomes", "refusals", "engine-failures", "attainment"];

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
    };
    let mut section = "";
    for (number, line) in (1..).zip(sql.lines().take_while(|line| line.starts_with("--"))) {
        let text = line[2..].trim();
        let entry = || text.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        match (section, text) {
            (_, "") => {}
            (_, "Parameters" | "Columns" | "Reading it") => section = text,
            ("Parameters", _) => match <[String; 4]>::try_from(entry()) {
                Ok([name, kind, default, meaning]) => {
                    let kind = Type::parse(&kind).with_context(|| format!("line {number}"))?;
                    query.parameters.push(Parameter { name, kind, default, meaning });
                }
                Err(_) => bail!("line {number}: a parameter is `name | type | default | meaning`"),
            },
            ("Columns", _) => match <[String; 3]>::try_from(entry()) {
                Ok([name, unit, meaning]) => query.columns.push(Column { name, unit, meaning }),
                Err(_) => bail!("line {number}: a column is `name | unit | meaning`"),
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
                _ => bail!("line {number}: the header begins with `{name}: what it answers`"),
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

    #[test]
    fn every_file_of_the_folder_ships_and_its_header_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("text"))
            .collect();
        let mut names: Vec<String> = shipped()
            .expect("every header can be read")
            .into_iter()
            .map(|query| format!("{}.sql", query.name))
            .collect();
        files.sort();
        names.sort();
        assert_eq!(names, files);
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
