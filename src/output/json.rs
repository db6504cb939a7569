//! JSON: an array of objects, or an object a line. Nulls and number types are kept.

use std::io::{self, Write};

use anyhow::Result;
use rusqlite::types::ValueRef;
use serde::Serialize;

use crate::failure::Failure;
use crate::query::run::Sink;
use crate::text;

/// Writes a value as JSON for people and programs, with its newline. Nothing in it can drive a terminal.
///
/// # Errors
/// When it cannot be written.
pub fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    writeln!(out, "{}", text::json_escaped(&text))
}

pub(super) struct Json<'w> {
    out: &'w mut dyn Write,
    keys: Vec<String>,
    /// What stands before the first object, between two, and after the last.
    frame: [&'static str; 3],
    rows: u64,
}

impl<'w> Json<'w> {
    pub(super) fn array(out: &'w mut dyn Write) -> Self {
        Self { out, keys: Vec::new(), frame: ["[\n", ",\n", "\n]\n"], rows: 0 }
    }

    pub(super) fn lines(out: &'w mut dyn Write) -> Self {
        Self { out, keys: Vec::new(), frame: ["", "\n", "\n"], rows: 0 }
    }
}

impl Sink for Json<'_> {
    fn columns(&mut self, names: &[String]) -> Result<()> {
        // Of two members of one name every reader keeps one.
        if let Some((_, name)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            let message = format!(
                "two columns are called {name:?}, and an object of JSON keeps one of them: give one another name, \
                 `... as other`, or take --format csv or table"
            );
            return Err(Failure::usage(message).into());
        }
        self.keys = names.iter().map(|name| text::json_string(name)).collect();
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        let between = if self.rows == 0 { self.frame[0] } else { self.frame[1] };
        self.rows += 1;
        write!(self.out, "{between}{{")?;
        for (at, (key, cell)) in self.keys.iter().zip(cells).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(self.out, "{comma}{key}: ")?;
            match cell {
                ValueRef::Integer(int) => write!(self.out, "{int}")?,
                ValueRef::Real(real) if real.is_finite() => write!(self.out, "{}", text::full(*real))?,
                // JSON has no infinity.
                ValueRef::Null | ValueRef::Real(_) => write!(self.out, "null")?,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    write!(self.out, "{}", text::json_string(&text::from_bytes(bytes)))?;
                }
            }
        }
        Ok(write!(self.out, "}}")?)
    }

    fn end(&mut self) -> Result<()> {
        let [first, _, last] = self.frame;
        match (self.rows, first) {
            (0, "") => {}
            (0, _) => self.out.write_all(b"[]\n")?,
            _ => self.out.write_all(last.as_bytes())?,
        }
        Ok(self.out.flush()?)
    }
}
