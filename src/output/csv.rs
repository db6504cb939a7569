//! CSV: a header always, null empty, numbers in full precision.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use csv::{Writer, WriterBuilder};
use rusqlite::types::ValueRef;

use crate::query::run::Sink;
use crate::text;

/// How CSV is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// What stands between cells.
    pub delimiter: u8,
    /// Whether text that a spreadsheet would run as a formula gets a leading apostrophe.
    pub is_guarded: bool,
    /// Whether a byte order mark stands first, by which a spreadsheet knows UTF-8.
    pub has_mark: bool,
    /// Whether text is escaped so that it cannot drive a terminal.
    pub is_escaped: bool,
}

impl Style {
    /// Cells as they are, for programs.
    pub const PLAIN: Self = Self { delimiter: b',', is_guarded: false, has_mark: false, is_escaped: false };
}

/// A sink that writes CSV.
pub struct Csv<'w> {
    writer: Writer<&'w mut dyn Write>,
    style: Style,
}

impl<'w> Csv<'w> {
    /// A sink into `out`.
    ///
    /// # Errors
    /// When the byte order mark cannot be written.
    pub fn new(out: &'w mut dyn Write, style: Style) -> std::io::Result<Self> {
        if style.has_mark {
            out.write_all("\u{FEFF}".as_bytes())?;
        }
        let writer = WriterBuilder::new().delimiter(style.delimiter).from_writer(out);
        Ok(Self { writer, style })
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
                    let mut cell = text::from_bytes(bytes);
                    if self.style.is_escaped {
                        cell = Cow::Owned(text::escaped(&cell).into_owned());
                    }
                    if self.style.is_guarded && text::is_formula(&cell) {
                        cell.to_mut().insert(0, '\'');
                    }
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
