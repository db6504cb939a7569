//! A question written out: one statement with the selection and the parameters in it, which gives the same rows in
//! every program that reads SQLite.

use anyhow::{Result, ensure};
use rusqlite::types::Value;

use super::catalog::Query;
use super::run::Bound;
use crate::failure::Failure;
use crate::selection::{Row, Selection};

/// SQLite takes so many rows of values in one statement.
const MAX_ROWS: usize = 20_000;

/// The definition with its selection and parameters written into it.
///
/// # Errors
/// When the selection has more rows than a statement takes.
pub fn written(query: &Query, selection: &Selection, bound: &[Bound]) -> Result<String> {
    ensure!(
        selection.rows.len() <= MAX_ROWS,
        Failure::usage(format!(
            "the selection has {} rows, and a statement takes {MAX_ROWS}: choose less",
            selection.rows.len()
        ))
    );
    let statement = with_literals(statement_of(&query.sql), bound);
    if selection.is_default {
        return Ok(statement);
    }
    Ok(with_selection(&statement, &values(&selection.rows)))
}

/// The statement of a file without the comment of its header.
pub fn statement_of(sql: &str) -> &str {
    let mut rest = sql;
    while rest.starts_with("--") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest.trim_end().trim_end_matches(';')
}

/// A statement that reads the rows of `body`, a select or values, as its `selection`.
pub fn with_selection(statement: &str, body: &str) -> String {
    let selection = format!("selection(scope, run_id, from_s, to_s) as (\n{body}\n)");
    // Comments may stand before the first word.
    let mut at = 0;
    loop {
        let rest = &statement[at..];
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        if !statement[at..].starts_with("--") {
            break;
        }
        at += statement[at..].find('\n').map_or(statement.len() - at, |end| end + 1);
    }
    let (before, rest) = statement.split_at(at);
    let word = |text: &str, word: &str| -> Option<usize> {
        let is_it = text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            && !text[word.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        is_it.then_some(word.len())
    };
    let Some(with) = word(rest, "with") else {
        return format!("{before}with {selection}\n{rest}");
    };
    let after_with = rest[with..].trim_start();
    match word(after_with, "recursive") {
        Some(recursive) => format!("{before}with recursive {selection},{}", &after_with[recursive..]),
        None => format!("{before}with {selection},{}", &rest[with..]),
    }
}

fn values(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "    select null as scope, null as run_id, null as from_s, null as to_s where 1 = 0"
            .to_owned();
    }
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            let Row { scope, run_id, from_s, to_s } = row;
            format!("        ({}, {run_id}, {from_s:e}, {to_s:e})", literal(&Value::Text(scope.clone())))
        })
        .collect();
    format!("    values\n{}", rows.join(",\n"))
}

/// A statement with each parameter's value in its place. A colon in a text or a comment is no parameter.
fn with_literals(statement: &str, bound: &[Bound]) -> String {
    each_parameter(statement, |name| {
        bound.iter().find(|(bound, _)| bound == name).map(|(_, value)| literal(value))
    })
}

/// A statement with its parameters, `:name`, replaced where `replace` gives something.
pub fn each_parameter(statement: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::with_capacity(statement.len() + 256);
    let mut rest = statement;
    while let Some(at) = rest.find([':', '\'', '"', '-']) {
        let (before, from) = rest.split_at(at);
        written.push_str(before);
        let end = match from.as_bytes() {
            [b'-', b'-', ..] => from.find('\n').unwrap_or(from.len()),
            [quote @ (b'\'' | b'"'), inside @ ..] => {
                inside.iter().position(|byte| byte == quote).map_or(from.len(), |end| end + 2)
            }
            [b':', after @ ..] => {
                1 + after.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            _ => 1,
        };
        let (found, after) = from.split_at(end);
        match replace(found).filter(|_| found.len() > 1 && found.starts_with(':')) {
            Some(replaced) => written.push_str(&replaced),
            None => written.push_str(found),
        }
        rest = after;
    }
    written.push_str(rest);
    written
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null | Value::Blob(_) => "null".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Real(real) => format!("{real:e}"),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_parameters_were_and_nowhere_else() {
        let bound = [
            (":x".to_owned(), Value::Real(0.5)),
            (":who".to_owned(), Value::Text("o'neil".to_owned())),
            (":no".to_owned(), Value::Null),
        ];
        let sql = "select ':x', \":who\", :x - :who -- :no\n, :no, :other, 'a''b:x'";
        assert_eq!(
            with_literals(sql, &bound),
            "select ':x', \":who\", 5e-1 - 'o''neil' -- :no\n, null, :other, 'a''b:x'"
        );
    }

    #[test]
    fn the_selection_is_the_first_of_the_named_tables() {
        let body = "values (1)";
        let selection = "selection(scope, run_id, from_s, to_s) as (\nvalues (1)\n)";
        for (statement, expected) in [
            ("select 1", format!("with {selection}\nselect 1")),
            ("with a as (select 1) select 2", format!("with {selection}, a as (select 1) select 2")),
            ("WITH RECURSIVE a as (select 1)", format!("with recursive {selection}, a as (select 1)")),
            ("-- why\nwith\n-- what\na as (1)", format!("-- why\nwith {selection},\n-- what\na as (1)")),
            ("without", format!("with {selection}\nwithout")),
        ] {
            assert_eq!(with_selection(statement, body), expected);
        }
    }

    #[test]
    fn a_header_is_no_part_of_the_statement() {
        assert_eq!(
            statement_of("-- q: a\n--\n-- Columns\nwith\n-- why\na as (1);\n"),
            "with\n-- why\na as (1)"
        );
    }
}
