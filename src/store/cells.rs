//! Cells of a row: on their way into a table, or beside what it holds.

use std::fmt;

use rusqlite::types::{FromSqlError, FromSqlResult, Null, ValueRef};
use rusqlite::{Connection, Result, Row as SqlRow, Statement};

use super::columns::listed;
use crate::journal::declare::{ReadValues, WriteValues};
use crate::journal::fault::Fault;
use crate::journal::json::Reader;
use crate::journal::object::Object;

/// Takes the cells of a row, one after the other.
pub(super) trait Cells: WriteValues<Error = rusqlite::Error> {
    fn int_or_null(&mut self, int: Option<i64>) -> Result<()> {
        if let Some(int) = int { self.int(int) } else { self.null() }
    }

    fn text_or_null(&mut self, text: Option<String>) -> Result<()> {
        if let Some(text) = text { self.text(&text) } else { self.null() }
    }
}

impl<W: WriteValues<Error = rusqlite::Error>> Cells for W {}

/// A prepared insert into a table of many columns.
#[derive(Debug)]
pub(super) struct Insert<'c> {
    statement: Statement<'c>,
    /// What each parameter is bound to.
    bound: Vec<Binding>,
}

/// What a parameter is bound to, as far as it is likely to come again.
#[derive(Debug, Clone, PartialEq)]
enum Binding {
    Null,
    Int(i64),
    /// A label, such as an engine or an outcome.
    Label(String),
    Other,
}

/// Text up to so many bytes is looked at before it is bound: longer ones are seldom the same.
const LABEL_LEN: usize = 24;

impl<'c> Insert<'c> {
    /// Inserts so many rows at once, whose cells come in the order of `columns`. `into` ends with the
    /// table's name.
    ///
    /// # Errors
    /// When the table is not what it should be.
    pub(super) fn new(connection: &'c Connection, into: &str, columns: &[&str], rows: usize) -> Result<Self> {
        Self::with_conflicts(connection, into, columns, rows, "")
    }

    /// As [`Insert::new`]; `conflicts` is what the statement ends with.
    ///
    /// # Errors
    /// When the table is not what it should be.
    pub(super) fn with_conflicts(
        connection: &'c Connection,
        into: &str,
        columns: &[&str],
        rows: usize,
        conflicts: &str,
    ) -> Result<Self> {
        let names = listed(columns);
        let marks = format!("({})", vec!["?"; columns.len()].join(", "));
        let marks = vec![marks; rows].join(", ");
        let statement = connection.prepare(&format!("insert {into} ({names}) values {marks} {conflicts}"))?;
        let bound = vec![Binding::Null; statement.parameter_count()];
        Ok(Self { statement, bound })
    }

    /// Takes the cells of all rows. They are inserted by [`Insert::execute`].
    pub(super) fn binder(&mut self) -> Binder<'_, 'c> {
        Binder { insert: self, at: 0 }
    }

    /// Inserts the rows; how many.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn execute(&mut self) -> Result<usize> {
        self.statement.raw_execute()
    }
}

/// Binds cells to the parameters of an insert, except where they are bound already: nulls, flags, small
/// numbers and labels come again and again, and to bind a text costs SQLite a piece of memory.
pub(super) struct Binder<'i, 'c> {
    insert: &'i mut Insert<'c>,
    at: usize,
}

impl Binder<'_, '_> {
    #[inline]
    fn next(&mut self) -> &mut Binding {
        self.at += 1;
        &mut self.insert.bound[self.at - 1]
    }
}

impl WriteValues for Binder<'_, '_> {
    type Error = rusqlite::Error;

    #[inline]
    fn null(&mut self) -> Result<()> {
        let bound = self.next();
        if *bound == Binding::Null {
            return Ok(());
        }
        *bound = Binding::Null;
        self.insert.statement.raw_bind_parameter(self.at, Null)
    }

    #[inline]
    fn int(&mut self, int: i64) -> Result<()> {
        let bound = self.next();
        if *bound == Binding::Int(int) {
            return Ok(());
        }
        *bound = Binding::Int(int);
        self.insert.statement.raw_bind_parameter(self.at, int)
    }

    #[inline]
    fn real(&mut self, real: f64) -> Result<()> {
        *self.next() = Binding::Other;
        self.insert.statement.raw_bind_parameter(self.at, real)
    }

    #[inline]
    fn text(&mut self, text: &str) -> Result<()> {
        match self.next() {
            Binding::Label(label) if label == text => return Ok(()),
            Binding::Label(label) if text.len() <= LABEL_LEN => {
                label.clear();
                label.push_str(text);
            }
            bound if text.len() <= LABEL_LEN => *bound = Binding::Label(text.to_owned()),
            bound => *bound = Binding::Other,
        }
        self.insert.statement.raw_bind_parameter(self.at, text)
    }

    fn object(&mut self, object: &Object) -> Result<()> {
        self.text(&compact(object))
    }
}

/// Compares cells with those of a stored row.
pub(super) struct Comparison<'s, 'r> {
    stored: &'s SqlRow<'r>,
    at: usize,
    /// Whether all cells so far are the same.
    pub(super) holds: bool,
}

impl<'s, 'r> Comparison<'s, 'r> {
    /// Compares with the row's cells from the first one.
    pub(super) fn new(stored: &'s SqlRow<'r>) -> Self {
        Self { stored, at: 0, holds: true }
    }

    fn next(&mut self, cell: ValueRef<'_>) -> Result<()> {
        self.holds &= cell == self.stored.get_ref(self.at)?;
        self.at += 1;
        Ok(())
    }
}

impl WriteValues for Comparison<'_, '_> {
    type Error = rusqlite::Error;

    fn null(&mut self) -> Result<()> {
        self.next(ValueRef::Null)
    }

    fn int(&mut self, int: i64) -> Result<()> {
        self.next(ValueRef::Integer(int))
    }

    fn real(&mut self, real: f64) -> Result<()> {
        self.next(ValueRef::Real(real))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.next(ValueRef::Text(text.as_bytes()))
    }

    fn object(&mut self, object: &Object) -> Result<()> {
        self.text(&compact(object))
    }
}

/// Gives the cells of a stored row, one after the other.
pub(super) struct StoredCells<'s, 'r> {
    stored: &'s SqlRow<'r>,
    at: usize,
}

impl<'s, 'r> StoredCells<'s, 'r> {
    /// Begins with this cell.
    pub(super) fn from(stored: &'s SqlRow<'r>, first: usize) -> Self {
        Self { stored, at: first }
    }

    fn next<T>(&mut self, read: impl FnOnce(ValueRef<'s>) -> FromSqlResult<T>) -> Result<Option<T>> {
        let at = self.at;
        self.at += 1;
        match self.stored.get_ref(at)? {
            ValueRef::Null => Ok(None),
            cell => read(cell).map(Some).map_err(|error| {
                let column = self.stored.as_ref().column_name(at).unwrap_or("?");
                let why = format!("the column {column} does not hold what was stored: {error}");
                rusqlite::Error::FromSqlConversionFailure(at, cell.data_type(), why.into())
            }),
        }
    }
}

impl ReadValues for StoredCells<'_, '_> {
    type Error = rusqlite::Error;

    fn int(&mut self) -> Result<Option<i64>> {
        self.next(|cell| cell.as_i64())
    }

    fn real(&mut self) -> Result<Option<f64>> {
        self.next(|cell| cell.as_f64())
    }

    fn text(&mut self) -> Result<Option<String>> {
        self.next(|cell| cell.as_str().map(str::to_owned))
    }

    fn object(&mut self) -> Result<Option<Object>> {
        // Not a general JSON reader: it must take what was stored, however deep it nests.
        self.next(|cell| {
            Reader::new(cell.as_str()?, 0).object().map_err(|fault| FromSqlError::other(Unreadable(fault)))
        })
    }
}

/// A stored JSON object that is none any more.
#[derive(Debug)]
struct Unreadable(Fault);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Syntax { at, why } => write!(f, "{why} (byte {at})"),
            Fault::Shape { path, why } => write!(f, "{path} {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

/// A JSON object as the tables keep it: compact, keys sorted.
pub(super) fn compact(object: &Object) -> String {
    if object.is_empty() {
        return "{}".to_owned();
    }
    serde_json::to_string(object).expect("a JSON object of text keys has a text form")
}
