//! A question written out: one statement with the selection and the parameters in it, which gives the same rows in
//! every program that reads SQLite, or in an engine that reads a lake of the same rows.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::engine::SqlEngine;
use super::header::Query;
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
    check_size(selection)?;
    let statement = with_literals(statement_of(&query.sql), bound, text);
    if selection.is_default {
        return Ok(statement);
    }
    Ok(with_selection(&statement, &values(&selection.rows)))
}

/// The definition in an engine's dialect, with its selection and parameters written into it. It reads the tables
/// and views of [`crate::lake::views`]. Runs are chosen by their names: their keys are others in a lake.
///
/// # Errors
/// When the selection has more rows than a statement takes, or the names of its runs cannot be read.
pub fn written_for(
    engine: SqlEngine,
    connection: &Connection,
    query: &Query,
    selection: &Selection,
    bound: &[Bound],
) -> Result<String> {
    check_size(selection)?;
    let translated = engine.translated(statement_of(&query.sql));
    let mut statement = with_literals(&translated, bound, |text| engine.text(text));
    if !selection.is_default {
        let chosen = chosen_by_name(engine, &names_of_runs(connection)?, &selection.rows)?;
        statement = with_selection(&statement, &chosen);
    }
    Ok(statement + engine.settings())
}

fn check_size(selection: &Selection) -> Result<()> {
    ensure!(
        selection.rows.len() <= MAX_ROWS,
        Failure::usage(format!(
            "the selection has {} rows, and a statement takes {MAX_ROWS}: choose less",
            selection.rows.len()
        ))
    );
    Ok(())
}

fn names_of_runs(connection: &Connection) -> Result<BTreeMap<i64, String>> {
    let mut find = connection.prepare("select run_id, run from runs")?;
    let names = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// A selection for an engine.
fn chosen_by_name(engine: SqlEngine, names: &BTreeMap<i64, String>, rows: &[Row]) -> Result<String> {
    if rows.is_empty() {
        return Ok(
            "    select run as scope, run_id, 0e0 as from_s, 0e0 as to_s from runs where 1 = 0".to_owned()
        );
    }
    let mut values = Vec::with_capacity(rows.len());
    for Row { scope, run_id, from_s, to_s } in rows {
        let run = names.get(run_id).context("a run that was chosen is no longer there")?;
        values.push(format!(
            "            ({}, {}, {from_s:e}, {to_s:e})",
            engine.text(scope),
            engine.text(run)
        ));
    }
    Ok(format!(
        "    with chosen(scope, run, from_s, to_s) as (
        values
{}
    )
    select c.scope as scope, r.run_id as run_id, c.from_s as from_s, c.to_s as to_s
    from chosen as c
    join runs as r on r.run = c.run",
        values.join(",\n")
    ))
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
            format!("        ({}, {run_id}, {from_s:e}, {to_s:e})", text(scope))
        })
        .collect();
    format!("    values\n{}", rows.join(",\n"))
}

/// A statement with each parameter's value in its place. A colon in a text or a comment is no parameter.
fn with_literals(statement: &str, bound: &[Bound], text: impl Fn(&str) -> String) -> String {
    each_parameter(statement, |name| {
        bound.iter().find(|(bound, _)| bound == name).map(|(_, value)| literal(value, &text))
    })
}

/// A statement with its parameters, `:name`, replaced where `replace` gives something.
pub fn each_parameter(statement: &str, replace: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::with_capacity(statement.len() + 256);
    for piece in pieces(statement) {
        match replace(piece).filter(|_| piece.len() > 1 && piece.starts_with(':')) {
            Some(replaced) => written.push_str(&replaced),
            None => written.push_str(piece),
        }
    }
    written
}

/// A statement cut into its texts (`'a'`), quoted names (`"a"`), comments, parameters (`:a`) and what is
/// between them; together they are the statement.
pub fn pieces(statement: &str) -> impl Iterator<Item = &str> {
    let mut rest = statement;
    std::iter::from_fn(move || {
        let end = match rest.as_bytes() {
            [] => return None,
            [b'-', b'-', ..] => rest.find('\n').unwrap_or(rest.len()),
            [quote @ (b'\'' | b'"'), inside @ ..] => {
                inside.iter().position(|byte| byte == quote).map_or(rest.len(), |end| end + 2)
            }
            [b':', after @ ..] => {
                1 + after.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count()
            }
            [b'-', ..] => 1,
            _ => rest.find([':', '\'', '"', '-']).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn literal(value: &Value, text_of: impl Fn(&str) -> String) -> String {
    match value {
        Value::Null | Value::Blob(_) => "null".to_owned(),
        Value::Integer(int) => int.to_string(),
        Value::Real(real) => format!("{real:e}"),
        Value::Text(text) => text_of(text),
    }
}

/// A text as SQLite reads it.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
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
            with_literals(sql, &bound, text),
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
