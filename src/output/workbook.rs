//! A workbook: a sheet per answer, cells with real types. An id stays text, and no text is a formula;
//! times are dates, in UTC, and ratios are shown as percent.
//!
//! Rows go to temporary files as they come, so memory does not grow with them.

use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use anyhow::{Context, Result, anyhow};
use rusqlite::types::ValueRef;
use rust_xlsxwriter::{Format, Workbook as Book, Worksheet, XlsxError};

use crate::query::kind::{ColumnKind, iso_time, unix_seconds};
use crate::query::run::Sink;
use crate::text;
use crate::text::PathText;

/// Rows that a sheet holds below its header.
pub const MAX_ROWS: u32 = 1_048_575;

/// Characters that a cell holds.
const MAX_TEXT: usize = 32_767;

/// Characters that a sheet's name holds.
const MAX_NAME: usize = 31;

/// A larger integer is no exact number in a spreadsheet: it goes as text.
const MAX_EXACT: u64 = 1 << 53;

thread_local! {
    /// Whether what panics on this thread is told as an error.
    static IS_TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Does something with the workbook, which panics when its temporary files cannot be written: an error.
fn told(act: impl FnOnce() -> Result<()>) -> Result<()> {
    static QUIETED: Once = Once::new();
    QUIETED.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_TOLD.get() {
                loud(panic);
            }
        }));
    });
    IS_TOLD.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(act));
    IS_TOLD.set(false);
    match outcome {
        Ok(Err(error)) => match error.downcast_ref() {
            Some(XlsxError::TempFileError(_, cause)) => Err(anyhow!("{}", temporary(&cause.to_string()))),
            _ => Err(error),
        },
        Ok(done) => done,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(anyhow!("{}", temporary(&cause_of(&text.unwrap_or_default()))))
        }
    }
}

/// Why the temporary files cannot be written: tried again, since a panic shows it for programmers only.
fn cause_of(panic: &str) -> String {
    let tried = tempfile::tempfile().and_then(|mut file| file.write_all(&[0; 1 << 16]));
    match tried {
        Err(error) => error.to_string(),
        Ok(()) => match panic.split_once("message: \"").and_then(|(_, rest)| rest.split_once('"')) {
            Some((message, _)) => message.to_owned(),
            None => "is there room for the whole workbook?".to_owned(),
        },
    }
}

fn temporary(cause: &str) -> String {
    let folder = std::env::temp_dir();
    format!("a workbook needs temporary files in {}: {cause}; TMPDIR names another folder", folder.as_text())
}

/// A workbook that is being filled.
pub struct Workbook {
    book: Book,
    header: Format,
    date: Format,
    percent: Format,
    max_rows: u32,
    sheets: usize,
    /// How many cells were cut because their text was too long.
    pub cut_cells: u64,
}

impl Default for Workbook {
    fn default() -> Self {
        let header = Format::new().set_bold();
        let date = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss.000");
        // Two decimals, and two more where there are any.
        let percent = Format::new().set_num_format("0.00##%");
        Self { book: Book::new(), header, date, percent, max_rows: MAX_ROWS, sheets: 0, cut_cells: 0 }
    }
}

impl Workbook {
    /// Keeps the rows in this folder until it is saved, not in the temporary one.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn keep_in(&mut self, folder: &Path) -> Result<()> {
        self.book.set_tempdir(folder).with_context(|| format!("cannot write into {}", folder.as_text()))?;
        Ok(())
    }

    /// A sink for the next sheet; what does not fit goes on in sheets named `NAME (2)` and so on.
    pub fn sheet(&mut self, name: &str) -> Sheet<'_> {
        Sheet {
            workbook: self,
            name: name.to_owned(),
            names: Vec::new(),
            kinds: Vec::new(),
            widths: Vec::new(),
            part: 0,
            row: 0,
        }
    }

    /// Writes the workbook.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(mut self, out: &mut (dyn Write + Send)) -> Result<()> {
        let mut out = Failing { out, failed: None };
        told(|| Ok(self.book.save_to_writer(&mut out)?))?;
        out.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Takes what is written behind a failure without a word, and keeps the failure: the archiver prints it by itself
/// when it is met again while an unfinished archive is dropped.
struct Failing<'w> {
    out: &'w mut (dyn Write + Send),
    failed: Option<io::Error>,
}

impl Failing<'_> {
    fn unless_failed<T>(
        &mut self,
        nothing: T,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failed.is_some() {
            return Ok(nothing);
        }
        match write(self.out) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(error);
                Ok(nothing)
            }
            written => written,
        }
    }
}

impl Write for Failing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_failed(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_failed((), |out| out.flush())
    }
}

/// A sink that fills a sheet.
pub struct Sheet<'b> {
    workbook: &'b mut Workbook,
    name: String,
    names: Vec<String>,
    kinds: Vec<ColumnKind>,
    /// The widest text of each column so far, in characters.
    widths: Vec<usize>,
    part: usize,
    /// Rows in the current part.
    row: u32,
}

impl Sheet<'_> {
    fn begin_part(&mut self) -> Result<()> {
        self.part += 1;
        self.row = 0;
        let ending = if self.part == 1 { String::new() } else { format!(" ({})", self.part) };
        let kept: String = self.name.chars().take(MAX_NAME - ending.len()).collect();
        let Workbook { book, header, .. } = &mut *self.workbook;
        let names = &self.names;
        told(|| {
            let sheet = book.add_worksheet_with_constant_memory()?;
            sheet
                .set_name(format!("{}{ending}", kept.trim_end()))
                .with_context(|| format!("the sheet {kept}"))?;
            sheet.set_freeze_panes(1, 0)?;
            for (column, name) in (0..).zip(names) {
                sheet.write_string_with_format(0, column, name, header)?;
            }
            Ok(())
        })?;
        self.workbook.sheets += 1;
        Ok(())
    }

    fn end_part(&mut self) -> Result<()> {
        let (row, widths) = (self.row, self.widths.clone());
        let sheet = self.current()?;
        if let Some(last) = widths.len().checked_sub(1) {
            sheet.autofilter(0, 0, row, u16::try_from(last)?)?;
        }
        for (column, width) in (0..).zip(widths) {
            sheet.set_column_width(column, width.clamp(6, 60) as f64 + 2.0)?;
        }
        Ok(())
    }

    fn current(&mut self) -> Result<&mut Worksheet> {
        Ok(self.workbook.book.worksheet_from_index(self.workbook.sheets - 1)?)
    }
}

impl Sink for Sheet<'_> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.kinds = kinds.to_vec();
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.names = names.to_vec();
        self.widths = names.iter().map(|name| name.chars().count() + 2).collect();
        self.begin_part()
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        if self.row == self.workbook.max_rows {
            told(|| self.end_part())?;
            self.begin_part()?;
        }
        self.row += 1;
        told(|| self.write_row(cells))
    }

    fn end(&mut self) -> Result<()> {
        told(|| self.end_part())
    }
}

impl Sheet<'_> {
    fn write_row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        let row = self.row;
        for (at, cell) in cells.iter().enumerate() {
            let column = u16::try_from(at)?;
            let kind = self.kinds.get(at).copied().unwrap_or_default();
            let width = match cell {
                ValueRef::Null => continue,
                ValueRef::Text(text) if kind == ColumnKind::Time => {
                    let text = text::from_bytes(text);
                    match unix_seconds(&text) {
                        Some(unix_s) => self.write_time(row, column, unix_s)?,
                        None => self.write_text(row, column, &text)?,
                    }
                }
                ValueRef::Integer(unix_s) if kind == ColumnKind::Time => {
                    self.write_time(row, column, *unix_s as f64)?
                }
                ValueRef::Real(unix_s) if kind == ColumnKind::Time => {
                    self.write_time(row, column, *unix_s)?
                }
                ValueRef::Real(real) if kind == ColumnKind::Ratio && real.is_finite() => {
                    let percent = self.workbook.percent.clone();
                    self.current()?.write_number_with_format(row, column, *real, &percent)?;
                    9
                }
                ValueRef::Integer(int) if kind == ColumnKind::Ratio && int.unsigned_abs() <= MAX_EXACT => {
                    let percent = self.workbook.percent.clone();
                    self.current()?.write_number_with_format(row, column, *int as f64, &percent)?;
                    9
                }
                ValueRef::Integer(int) if int.unsigned_abs() <= MAX_EXACT => {
                    self.current()?.write_number(row, column, *int as f64)?;
                    int.to_string().len()
                }
                ValueRef::Real(real) if real.is_finite() => {
                    self.current()?.write_number(row, column, *real)?;
                    12
                }
                ValueRef::Integer(int) => self.write_text(row, column, &int.to_string())?,
                ValueRef::Real(real) => self.write_text(row, column, &real.to_string())?,
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    self.write_text(row, column, &text::from_bytes(bytes))?
                }
            };
            self.widths[at] = self.widths[at].max(width);
        }
        Ok(())
    }

    /// A date to the millisecond, as days since 1899-12-30. Before 1900-03-01, where spreadsheets count
    /// days differently, it is text; outside of the years 1 to 9999 a number.
    fn write_time(&mut self, row: u32, column: u16, unix_s: f64) -> Result<usize> {
        const EPOCH: f64 = 25_569.0;
        const FIRST: f64 = 61.0;
        let Some(iso) = iso_time(unix_s) else { return self.write_text(row, column, &text::full(unix_s)) };
        let days = (unix_s * 1e3).round() / 86_400_000.0 + EPOCH;
        if days < FIRST {
            return self.write_text(row, column, &iso);
        }
        let date = self.workbook.date.clone();
        self.current()?.write_number_with_format(row, column, days, &date)?;
        Ok(iso.len())
    }

    fn write_text(&mut self, row: u32, column: u16, text: &str) -> Result<usize> {
        // A spreadsheet counts UTF-16 units.
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > MAX_TEXT
        });
        let kept = end.map_or(text, |(at, _)| &text[..at]);
        self.workbook.cut_cells += u64::from(end.is_some());
        self.current()?.write_string(row, column, kept)?;
        Ok(kept.chars().take(60).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_go_on_in_the_next_sheet() {
        let mut workbook = Workbook { max_rows: 2, ..Workbook::default() };
        let mut sheet = workbook.sheet("a name that is longer than a sheet's name may be");
        sheet.columns(&["n".to_owned()]).expect("a sheet can be made");
        for n in 0..5 {
            sheet.row(&[ValueRef::Integer(n)]).expect("a row can be written");
        }
        sheet.end().expect("the sheet can be ended");
        let names: Vec<String> = workbook.book.worksheets().iter().map(Worksheet::name).collect();
        let expected = [
            "a name that is longer than a sh",
            "a name that is longer than (2)",
            "a name that is longer than (3)",
        ];
        assert_eq!(names, expected);
    }
}
