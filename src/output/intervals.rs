//! An answer with the 95 % intervals of its shares and percentiles: columns of their own for programs, beside the
//! value for eyes.

use anyhow::Result;
use rusqlite::types::{Value, ValueRef};

use super::Format;
use crate::query::intervals::Ends;
use crate::query::kind::ColumnKind;
use crate::query::run::Sink;
use crate::text::short;

/// How intervals are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `NAME_low` and `NAME_high` after `NAME`.
    Columns,
    /// As `0.923 (0.889-0.947)`.
    Beside,
}

impl Style {
    /// That of a format.
    pub fn of(format: Format) -> Self {
        if format.is_for_eyes() { Self::Beside } else { Self::Columns }
    }
}

/// An answer and its intervals.
#[derive(Debug, Clone, Copy)]
pub struct WithIntervals<'a> {
    /// The columns that have intervals.
    pub measured: &'a [&'a str],
    /// All columns.
    pub columns: &'a [String],
    /// What they hold.
    pub kinds: &'a [ColumnKind],
    /// The rows as the query gives them.
    pub rows: &'a [Vec<Value>],
    /// Of each row, the ends of the measured columns.
    pub ends: &'a [Vec<Ends>],
}

impl WithIntervals<'_> {
    /// Gives the answer to a sink; how many rows there were.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn write(&self, sink: &mut dyn Sink, style: Style) -> Result<u64> {
        let place = |name: &String| self.measured.iter().position(|known| known == name);
        let places: Vec<Option<usize>> = self.columns.iter().map(place).collect();
        let (mut names, mut kinds) = (Vec::new(), Vec::new());
        for (at, (name, place)) in self.columns.iter().zip(&places).enumerate() {
            let kind = self.kinds.get(at).copied().unwrap_or_default();
            names.push(name.clone());
            // With its ends beside it, it is text.
            kinds.push(if place.is_some() && style == Style::Beside { ColumnKind::Plain } else { kind });
            if place.is_some() && style == Style::Columns {
                names.extend([format!("{name}_low"), format!("{name}_high")]);
                kinds.extend([kind, kind]);
            }
        }
        sink.kinds(&kinds);
        sink.columns(&names)?;
        let real = |end: Option<f64>| end.map_or(Value::Null, Value::Real);
        for (row, ends) in self.rows.iter().zip(self.ends) {
            let mut cells = Vec::with_capacity(names.len());
            for (cell, place) in row.iter().zip(&places) {
                match (place.map(|at| ends[at]), style) {
                    (None, _) => cells.push(cell.clone()),
                    (Some((low, high)), Style::Columns) => {
                        cells.extend([cell.clone(), real(low), real(high)])
                    }
                    (Some(ends), Style::Beside) => cells.push(beside(cell, ends)),
                }
            }
            let cells: Vec<ValueRef<'_>> = cells.iter().map(ValueRef::from).collect();
            sink.row(&cells)?;
        }
        sink.end()?;
        Ok(self.rows.len() as u64)
    }
}

/// A value with its ends, for eyes; an end that is missing is left open, and of both `(-)` is left, so that no value
/// looks exact.
fn beside(cell: &Value, (low, high): Ends) -> Value {
    let value = match cell {
        Value::Real(real) => short(*real),
        Value::Integer(int) => int.to_string(),
        _ if low.is_none() && high.is_none() => return cell.clone(),
        _ => "-".to_owned(),
    };
    let end = |end: Option<f64>| end.map(short).unwrap_or_default();
    Value::Text(format!("{value} ({}-{})", end(low), end(high)))
}
