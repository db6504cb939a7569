//! CSV: a header always, null empty, numbers in full precision.

use std::io::Write;

use anyhow::Result;
use csv::Writer;
use rusqlite::types::ValueRef;

use crate::query::run::Sink;
use crate::text;

pub(super) struct Csv<'w> {
    writer: Writer<&'w mut dyn Write>,
    is_terminal: bool,
}

impl<'w> Csv<'w> {
    pub(super) fn new(out: &'w mut dyn Write, is_terminal: bool) -> Self {
        Self { writer: Writer::from_writer(out), is_terminal }
    }
}

impl Sink for Csv<'_> {
    fn columns(&mut self, names: &[String]) -> Result<()> {
        Ok(self.writer.write_record(names)?)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        for cell in cells {
            match cell {
                ValueRef::Null => self.writer.write_field("")?,
                ValueRef::Integer(int) => self.writer.write_field(int.to_string())?,
                ValueRef::Real(real) => self.writer.write_field(text::full(*real))?,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    let cell = text::from_bytes(bytes);
                    let cell = if self.is_terminal { text::escaped(&cell) } else { cell.as_ref().into() };
                    self.writer.write_field(cell.as_bytes())?;
                }
            }
        }
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    fn end(&mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }
}
