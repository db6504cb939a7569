//! Points in time as text, for formats that have no type for them.

use anyhow::Result;
use rusqlite::types::ValueRef;

use crate::query::kind::{ColumnKind, iso_time};
use crate::query::run::Sink;

/// A sink before another that writes Unix seconds in columns of times as ISO 8601, UTC, to the millisecond.
/// A number outside of the years 1 to 9999 stays one.
pub struct IsoTimes<S> {
    sink: S,
    /// Which columns hold times.
    times: Vec<bool>,
}

impl<S: Sink> IsoTimes<S> {
    /// A sink before `sink`.
    pub fn new(sink: S) -> Self {
        Self { sink, times: Vec::new() }
    }
}

impl<S: Sink> Sink for IsoTimes<S> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.times = kinds.iter().map(|kind| *kind == ColumnKind::Time).collect();
        self.sink.kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.sink.columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        if !self.times.contains(&true) {
            return self.sink.row(cells);
        }
        let time = |at: usize, cell: &ValueRef<'_>| match cell {
            _ if !self.times.get(at).copied().unwrap_or_default() => None,
            ValueRef::Real(unix_s) => iso_time(*unix_s),
            ValueRef::Integer(unix_s) => iso_time(*unix_s as f64),
            _ => None,
        };
        let times: Vec<Option<String>> = cells.iter().enumerate().map(|(at, cell)| time(at, cell)).collect();
        let cells: Vec<ValueRef<'_>> = cells
            .iter()
            .zip(&times)
            .map(|(cell, time)| time.as_ref().map_or(*cell, |time| ValueRef::Text(time.as_bytes())))
            .collect();
        self.sink.row(&cells)
    }

    fn end(&mut self) -> Result<()> {
        self.sink.end()
    }
}
