//! A canned query as its file says it: what it answers, its parameters and columns, and whether its statement agrees. Knows
//! no folder and no list of queries.
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

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;

use super::kind::ColumnKind;
use super::run;

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

impl Query {
    /// What its columns hold.
    pub fn kinds(&self) -> Vec<ColumnKind> {
        self.columns.iter().map(|column| ColumnKind::of_unit(&column.unit)).collect()
    }
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
