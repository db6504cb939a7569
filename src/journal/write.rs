//! Rows as lines of a journal, in the form that the journal's writer gives them, so that a row
//! written here looks like one of its own and can be found again when a line is torn.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use super::row::Row;

/// Writes a row of any kind and its newline.
///
/// # Errors
/// When it cannot be written.
pub fn write_row<W: Write + ?Sized>(out: &mut W, row: &Row<'_>) -> io::Result<()> {
    match row {
        Row::Build(row) => write_line(out, &row.to_json()),
        Row::Terminal(row) => write_line(out, row.as_ref()),
        Row::Event(row) => write_line(out, row),
    }
}

/// Writes what serializes to a row, and its newline.
///
/// # Errors
/// When it cannot be written.
pub fn write_line<W: Write + ?Sized>(out: &mut W, row: &impl Serialize) -> io::Result<()> {
    row.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Spaced))?;
    out.write_all(b"\n")
}

/// Separators and escapes as the journal's writer has them.
struct Spaced;

impl Formatter for Spaced {
    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let is_plain = |c: char| c.is_ascii() && c != '\u{7f}';
        if fragment.chars().all(is_plain) {
            return out.write_all(fragment.as_bytes());
        }
        for c in fragment.chars() {
            if is_plain(c) {
                out.write_all(&[c as u8])?;
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
