//! Answers and tables without what should not leave the house: a [`Sink`] before another.
//!
//! Columns are told apart by their names, as the fields of a row are ([`crate::redact::fields`]).

mod order;

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use self::order::{Row, Term};
use crate::query::kind::ColumnKind;
use crate::query::run::{Sink, kept};
use crate::redact::fields::{Role, is_label, role_of};
use crate::redact::{Key, Names, Redactor};
use crate::store::export::write_journal;

/// What stands for the path of a journal, which can name a host or a user.
const PATH: &str = "<path>";

/// What stands for bytes of a line that could not be read, and so not be redacted.
const BYTES: &str = "<bytes>";

/// A redactor of everything that a database holds.
///
/// # Errors
/// When the database cannot be read.
pub fn redactor_of(connection: &Connection, key: Key) -> Result<Redactor> {
    let mut learner = Learner { names: Names::default(), line: Vec::new() };
    write_journal(connection, &mut learner)?;
    Ok(Redactor::new(&learner.names, key))
}

/// Learns names from the lines that are written to it.
struct Learner {
    names: Names,
    line: Vec<u8>,
}

impl Write for Learner {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.line.extend_from_slice(&rest[..end]);
            self.names.learn_line(&self.line);
            self.line.clear();
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnRole {
    /// The tool's own words and the router's random ids.
    Kept,
    Path,
    /// A scope, which can be a journal or a folder.
    Scope,
    /// A field, or a JSON object or array of fields.
    Field(Role),
}

fn column_of(name: &str) -> ColumnRole {
    match name {
        "run" | "rid" | "started_at" | "saved_at" | "wall" | "wall_basis" | "digest" => ColumnRole::Kept,
        "leg" | "metric" | "policy" | "miss" | "clock" | "state" | "build_certainty" | "admission_mode" => {
            ColumnRole::Field(Role::Label)
        }
        "path" | "place" => ColumnRole::Path,
        "scope" => ColumnRole::Scope,
        name => ColumnRole::Field(role_of(name)),
    }
}

/// Redacts what goes to another sink.
pub struct Redacting<'r, S> {
    sink: S,
    redactor: &'r Redactor,
    columns: Vec<ColumnRole>,
    names: Vec<String>,
    client: Option<usize>,
    /// The statement whose rows come sorted by what they do not show.
    sql: Option<String>,
    terms: Vec<Term>,
    /// The rows that wait to be sorted.
    rows: Vec<Row>,
}

impl<'r, S: Sink> Redacting<'r, S> {
    /// A sink before `sink`.
    pub fn new(sink: S, redactor: &'r Redactor) -> Self {
        Self {
            sink,
            redactor,
            columns: Vec::new(),
            names: Vec::new(),
            client: None,
            sql: None,
            terms: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Has the rows, which come in the order of this statement, sorted by what is shown. They are kept for
    /// that when a column that is redacted decides on their order.
    pub fn sorted_as(&mut self, sql: &str) {
        self.sql = Some(sql.to_owned());
    }

    /// Whether a column's text is another when it is shown.
    fn is_redacted(&self, at: usize) -> bool {
        !matches!(self.columns[at], ColumnRole::Kept | ColumnRole::Field(Role::Label))
    }

    fn text(&self, at: usize, text: &str, client: Option<&str>) -> String {
        match self.columns[at] {
            ColumnRole::Kept => text.to_owned(),
            ColumnRole::Path => PATH.to_owned(),
            ColumnRole::Scope if text.starts_with('/') => self.redactor.path(text),
            ColumnRole::Scope => self.redactor.text_of_client(text, client).into_owned(),
            ColumnRole::Field(Role::Client) => self.redactor.client(text),
            ColumnRole::Field(Role::Label) if is_label(text) => text.to_owned(),
            ColumnRole::Field(role) => match serde_json::from_str::<serde_json::Value>(text) {
                Ok(mut json) if json.is_object() || json.is_array() => {
                    self.redactor.field(&self.names[at], &mut json, client);
                    json.to_string()
                }
                _ if matches!(role, Role::Host | Role::User) => {
                    let mut name = serde_json::Value::from(text);
                    self.redactor.field(&self.names[at], &mut name, client);
                    name.as_str().unwrap_or_default().to_owned()
                }
                _ if role == Role::Engine => self.redactor.engine(text).to_owned(),
                _ => self.redactor.text_of_client(text, client).into_owned(),
            },
        }
    }
}

impl<S: Sink> Sink for Redacting<'_, S> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.sink.kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.columns = names.iter().map(|name| column_of(name)).collect();
        self.client = names.iter().position(|name| name == "client_rid");
        self.names = names.to_vec();
        let terms = self.sql.as_deref().map(|sql| order::terms(sql, names)).unwrap_or_default();
        let decides = terms.iter().any(|term| self.is_redacted(term.column));
        self.terms = if decides { terms } else { Vec::new() };
        self.sink.columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        let client = self.client.and_then(|at| cells[at].as_str().ok());
        let redacted: Vec<Option<Cow<'_, str>>> = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| match cell {
                ValueRef::Text(bytes) => {
                    Some(Cow::Owned(self.text(at, &String::from_utf8_lossy(bytes), client)))
                }
                ValueRef::Blob(_) => Some(Cow::Borrowed(BYTES)),
                _ => None,
            })
            .collect();
        let cells: Vec<ValueRef<'_>> = cells
            .iter()
            .zip(&redacted)
            .map(|(cell, redacted)| redacted.as_ref().map_or(*cell, |text| ValueRef::Text(text.as_bytes())))
            .collect();
        if self.terms.is_empty() {
            return self.sink.row(&cells);
        }
        self.rows.push(cells.iter().copied().map(kept).collect());
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let is_redacted: Vec<bool> = (0..self.columns.len()).map(|at| self.is_redacted(at)).collect();
        order::sort(&mut self.rows, &self.terms, &is_redacted);
        for row in std::mem::take(&mut self.rows) {
            self.sink.row(&row.iter().map(ValueRef::from).collect::<Vec<_>>())?;
        }
        self.sink.end()
    }
}
