//! Rows in memory, column by column, as Parquet takes and gives them: values without the nulls between them.

use anyhow::{Result, bail};
use rusqlite::types::ValueRef;

use crate::store::lake::{ColumnType, LakeColumn};

/// Rows of a table.
#[derive(Debug)]
pub(super) struct Batch {
    pub columns: Vec<Cells>,
    pub rows: usize,
}

/// The cells of a column.
#[derive(Debug)]
pub(super) struct Cells {
    /// Whether the row has a value, a row each.
    pub present: Vec<bool>,
    pub values: Values,
}

/// The values of those that have one.
#[derive(Debug)]
pub(super) enum Values {
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(Texts),
}

/// Texts one after the other.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }
}

impl Cells {
    fn of(kind: ColumnType) -> Self {
        let values = match kind {
            ColumnType::Int | ColumnType::Wall => Values::Int(Vec::new()),
            ColumnType::Real => Values::Real(Vec::new()),
            ColumnType::Text => Values::Text(Texts::default()),
        };
        Self { present: Vec::new(), values }
    }

    /// Takes a cell; its bytes, or none when it is of another kind.
    fn push(&mut self, cell: ValueRef<'_>) -> Option<usize> {
        let bytes = match (&mut self.values, cell) {
            (_, ValueRef::Null) => 0,
            (Values::Int(ints), ValueRef::Integer(int)) => {
                ints.push(int);
                8
            }
            (Values::Real(reals), ValueRef::Real(real)) => {
                reals.push(real);
                8
            }
            (Values::Text(texts), ValueRef::Text(text)) => {
                std::str::from_utf8(text).ok()?;
                texts.push(text);
                8 + text.len()
            }
            _ => return None,
        };
        self.present.push(cell != ValueRef::Null);
        Some(bytes + 1)
    }

    /// The value after so many others.
    fn get(&self, at: usize) -> ValueRef<'_> {
        match &self.values {
            Values::Int(ints) => ValueRef::Integer(ints[at]),
            Values::Real(reals) => ValueRef::Real(reals[at]),
            Values::Text(texts) => ValueRef::Text(texts.get(at)),
        }
    }

    fn clear(&mut self) {
        self.present.clear();
        match &mut self.values {
            Values::Int(ints) => ints.clear(),
            Values::Real(reals) => reals.clear(),
            Values::Text(texts) => {
                texts.bytes.clear();
                texts.ends.clear();
            }
        }
    }
}

impl Batch {
    /// One without rows.
    pub(super) fn new(columns: &[LakeColumn]) -> Self {
        Self { columns: columns.iter().map(|column| Cells::of(column.kind)).collect(), rows: 0 }
    }

    /// Takes a row, a cell a column; roughly its bytes.
    ///
    /// # Errors
    /// When a cell is not of its column's kind.
    pub(super) fn push(&mut self, columns: &[LakeColumn], row: &[ValueRef<'_>]) -> Result<usize> {
        let mut bytes = 0;
        for ((cells, column), cell) in self.columns.iter_mut().zip(columns).zip(row) {
            match cells.push(*cell) {
                Some(more) if *cell != ValueRef::Null || column.is_nullable => bytes += more,
                _ => bail!("a {} stands in the column {}", cell.data_type(), column.name),
            }
        }
        self.rows += 1;
        Ok(bytes)
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Cells::clear);
        self.rows = 0;
    }

    /// Gives the rows one after the other.
    ///
    /// # Errors
    /// What `take` gives.
    pub(super) fn each_row(&self, take: &mut dyn FnMut(&[ValueRef<'_>]) -> Result<()>) -> Result<()> {
        let mut given = vec![0; self.columns.len()];
        for row in 0..self.rows {
            let cells = self.columns.iter().zip(&mut given).map(|(cells, given)| {
                if !cells.present[row] {
                    return ValueRef::Null;
                }
                *given += 1;
                cells.get(*given - 1)
            });
            take(&cells.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}
