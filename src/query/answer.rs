//! Answers of shipped queries for the tool's own use, read by column name.

use anyhow::{Context, Result};
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::run::Sink;
use super::{catalog, caveats, faster, params, run};
use crate::selection::Selection;

/// A whole answer.
#[derive(Debug, Default)]
pub struct Answer {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    /// What changes the meaning of the answer, in words.
    pub caveats: Vec<String>,
}

/// One of its rows.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
}

/// Asks a shipped query of a selection, which is the connection's one afterwards; `given` has its parameters as on
/// the command line.
///
/// # Errors
/// As the command line has them, and when the database cannot be read.
pub fn ask(
    connection: &mut Connection,
    name: &str,
    selection: &Selection,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Answer> {
    let mut answer = Answer::default();
    answer.caveats = ask_into(connection, name, selection, given, &mut answer)?;
    Ok(answer)
}

/// As [`ask`], with the rows given to a sink; what changes the meaning of the answer, in words.
///
/// # Errors
/// As [`ask`], and what the sink fails with.
pub fn ask_into(
    connection: &mut Connection,
    name: &str,
    selection: &Selection,
    given: impl Fn(&str) -> Option<String>,
    sink: &mut dyn Sink,
) -> Result<Vec<String>> {
    selection.install(connection)?;
    let query = catalog::shipped()?
        .into_iter()
        .find(|query| query.name == name)
        .with_context(|| format!("no query {name} ships"))?;
    let bound = params::bind(connection, &query, given)?;
    let caveats = caveats::of(connection, &query, &bound)?;
    run::run(connection, faster::statement(&query, selection), &bound, sink)?;
    Ok(caveats)
}

/// Keeps what it is given.
impl Sink for Answer {
    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.columns = names.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        self.rows.push(cells.iter().copied().map(run::kept).collect());
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Answer {
    /// One without rows.
    pub(super) fn of(columns: Vec<String>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a row, a cell a column.
    pub(super) fn push(&mut self, cells: Vec<Value>) {
        self.rows.push(cells);
    }

    /// The rows in the query's order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }
}

impl Row<'_> {
    fn cell(&self, column: &str) -> &Value {
        let at = self.columns.iter().position(|name| name == column);
        &self.cells[at.expect("the shipped query has the column")]
    }

    /// A number; `None` for null.
    pub fn real(&self, column: &str) -> Option<f64> {
        match self.cell(column) {
            Value::Real(real) => Some(*real),
            Value::Integer(int) => Some(*int as f64),
            _ => None,
        }
    }

    /// A count; a null one is 0.
    pub fn int(&self, column: &str) -> i64 {
        match self.cell(column) {
            Value::Integer(int) => *int,
            _ => 0,
        }
    }

    /// Text; `-` for null, for people.
    pub fn text(&self, column: &str) -> String {
        self.known_text(column).unwrap_or_else(|| "-".to_owned())
    }

    /// Text; `None` for null.
    pub fn known_text(&self, column: &str) -> Option<String> {
        match self.cell(column) {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}
