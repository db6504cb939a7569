//! Cells of a row: on their way into a table, or beside what it holds.

use rusqlite::types::{Null, ValueRef};
use rusqlite::{Connection, Result, Row as SqlRow, Statement};

/// Takes the cells of a row, one after the other.
pub(super) trait Cells {
    fn null(&mut self) -> Result<()>;
    fn int(&mut self, int: i64) -> Result<()>;
    fn real(&mut self, real: f64) -> Result<()>;
    fn text(&mut self, text: &str) -> Result<()>;

    fn int_or_null(&mut self, int: Option<i64>) -> Result<()> {
        if let Some(int) = int { self.int(int) } else { self.null() }
    }

    fn text_or_null(&mut self, text: Option<String>) -> Result<()> {
        if let Some(text) = text { self.text(&text) } else { self.null() }
    }
}

/// A prepared insert into a table of many columns.
#[derive(Debug)]
pub(super) struct Insert<'c> {
    statement: Statement<'c>,
    /// What each parameter is bound to.
    bound: Vec<Bound>,
}

/// What a parameter is bound to, as far as it is likely to come again.
#[derive(Debug, Clone, PartialEq)]
enum Bound {
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
        let names = columns.join("\", \"");
        let marks = format!("({})", vec!["?"; columns.len()].join(", "));
        let marks = vec![marks; rows].join(", ");
        let statement = connection.prepare(&format!("insert {into} (\"{names}\") values {marks}"))?;
        let bound = vec![Bound::Null; statement.parameter_count()];
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
    fn next(&mut self) -> &mut Bound {
        self.at += 1;
        &mut self.insert.bound[self.at - 1]
    }
}

impl Cells for Binder<'_, '_> {
    #[inline]
    fn null(&mut self) -> Result<()> {
        let bound = self.next();
        if *bound == Bound::Null {
            return Ok(());
        }
        *bound = Bound::Null;
        self.insert.statement.raw_bind_parameter(self.at, Null)
    }

    #[inline]
    fn int(&mut self, int: i64) -> Result<()> {
        let bound = self.next();
        if *bound == Bound::Int(int) {
            return Ok(());
        }
        *bound = Bound::Int(int);
        self.insert.statement.raw_bind_parameter(self.at, int)
    }

    #[inline]
    fn real(&mut self, real: f64) -> Result<()> {
        *self.next() = Bound::Other;
        self.insert.statement.raw_bind_parameter(self.at, real)
    }

    #[inline]
    fn text(&mut self, text: &str) -> Result<()> {
        match self.next() {
            Bound::Label(label) if label == text => return Ok(()),
            Bound::Label(label) if text.len() <= LABEL_LEN => {
                label.clear();
                label.push_str(text);
            }
            bound if text.len() <= LABEL_LEN => *bound = Bound::Label(text.to_owned()),
            bound => *bound = Bound::Other,
        }
        self.insert.statement.raw_bind_parameter(self.at, text)
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

impl Cells for Comparison<'_, '_> {
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
}
