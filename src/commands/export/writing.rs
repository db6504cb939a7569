//! What an export writes: a folder of files with `export.json`, or a workbook. What is exported, and with which parameters,
//! was settled before.

use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::cli::Global;
use crate::cli::export::Export;
use crate::commands::guard::{Guard, refuse_input};
use crate::commands::{Teller, open_target};
use crate::export::{Earlier, Item, SIDECAR, Sidecar, Written, write_rows};
use crate::journal::row::Row;
use crate::journal::write::write_row;
use crate::output::IsoTimes;
use crate::output::csv::{Csv, Style};
use crate::output::json::write_json;
use crate::output::workbook::{MAX_ROWS, Workbook};
use crate::query::kind::ColumnKind;
use crate::query::redacting::Redacting;
use crate::query::run::{Bound, Sink};
use crate::redact::Redactor;
use crate::selection::Selection;
use crate::store::export::{each_row, each_selected_row};
use crate::temporary;
use crate::text::{PathText, counted};

/// What is exported, and how.
pub(super) struct Exporting<'p> {
    pub(super) selection: &'p Selection,
    pub(super) items: &'p [Item],
    pub(super) bound: &'p [Vec<Bound>],
    pub(super) redactor: Option<&'p Redactor>,
    pub(super) teller: Teller,
}

impl Exporting<'_> {
    /// Writes a file each, and what they come from beside them.
    pub(super) fn to_folder(
        &self,
        global: &Global,
        connection: &mut Connection,
        folder: &Path,
        flags: &Export,
    ) -> Result<Vec<Written>> {
        // Nothing is written when some of it may not be.
        let guard = Guard::of(connection)?;
        for file in self.items.iter().map(Item::file).chain([SIDECAR.to_owned()]) {
            let path = folder.join(file);
            guard.place(&path)?;
            refuse_input(Some(&path), flags.privacy.key.as_deref(), "the key, too")?;
        }
        make_folder(folder)?;
        // Two calls at once, each with what the other one said. Where there are no locks, they come one by one.
        let lock = File::open(folder);
        if let Ok(lock) = &lock {
            let _ = rustix::fs::flock(lock, rustix::fs::FlockOperation::LockExclusive);
        }
        let earlier = Earlier::read(folder)?;
        let mut written = Vec::new();
        let mut outcome = Ok(());
        for (item, bound) in self.items.iter().zip(self.bound) {
            match self.write_file(connection, folder, flags, item, bound) {
                Ok(one) => written.push(one),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        // Also of what was written before something failed.
        if !written.is_empty() {
            let database = global.db.as_text().to_string();
            let mut sidecar = Sidecar::new(connection, self.selection, database, &written, earlier)?;
            if self.redactor.is_some() {
                sidecar.hide_paths();
            }
            let mut target = open_target(connection, Some(&folder.join(SIDECAR)))?;
            let sided = write_json(target.writer(), &sidecar).map_err(anyhow::Error::from);
            let sided = sided.and_then(|()| target.finish().map(drop));
            outcome = outcome
                .and(sided.with_context(|| format!("cannot say where {} comes from", folder.as_text())));
        }
        outcome.map(|()| written)
    }

    fn write_file(
        &self,
        connection: &mut Connection,
        folder: &Path,
        flags: &Export,
        item: &Item,
        bound: &[Bound],
    ) -> Result<Written> {
        let style = Style {
            delimiter: flags.delimiter,
            is_guarded: !flags.raw,
            has_mark: flags.excel,
            is_escaped: false,
        };
        let path = folder.join(item.file());
        make_folder(path.parent().unwrap_or(folder))?;
        let mut target = open_target(connection, Some(&path))?;
        let rows = match item {
            Item::Journal => {
                let mut write = |mut row: Row<'_>| {
                    if let Some(redactor) = self.redactor {
                        redactor.row(&mut row);
                    }
                    Ok(write_row(target.writer(), &row)?)
                };
                if self.selection.is_default {
                    each_row(connection, &mut write)
                } else {
                    each_selected_row(connection, &mut write)
                }
            }
            _ => {
                let csv = Csv::new(target.writer(), style);
                csv.map_err(anyhow::Error::from)
                    .and_then(|csv| self.write_item(connection, item, bound, IsoTimes::new(csv)))
            }
        };
        let rows = rows.with_context(|| format!("cannot write {}", path.as_text()))?;
        let made = match item {
            Item::Journal => target.finish()?,
            _ => target.finish()?,
        };
        if rows > u64::from(MAX_ROWS) && *item != Item::Journal {
            self.teller.warn(&format!(
                "{}: {rows} rows, and spreadsheets open only the first {MAX_ROWS}: all were written; --xlsx goes \
                 on in further sheets",
                path.as_text()
            ));
        }
        Ok(self.account(item, item.file(), rows, bound).as_made(made))
    }

    fn account(&self, item: &Item, place: String, rows: u64, bound: &[Bound]) -> Written {
        let written = Written::new(item, self.selection, place, rows, bound);
        match self.redactor {
            Some(redactor) => written.redacted(redactor),
            None => written,
        }
    }

    pub(super) fn to_workbook(&self, connection: &mut Connection, file: &Path) -> Result<Vec<Written>> {
        let cannot = || format!("cannot write {}", file.as_text());
        let mut target = open_target(connection, Some(file))?;
        let mut workbook = Workbook::default();
        if !temporary::has_room(&std::env::temp_dir()) {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            workbook.keep_in(folder.unwrap_or(Path::new(".")))?;
        }
        let mut written = Vec::new();
        for (item, bound) in self.items.iter().zip(self.bound) {
            let sheet = workbook.sheet(&item.sheet());
            let rows = self.write_item(connection, item, bound, sheet).with_context(cannot)?;
            written.push(self.account(item, item.sheet(), rows, bound));
        }
        if workbook.cut_cells > 0 {
            self.teller.warn(&format!(
                "text longer than a spreadsheet's cell can hold was cut in {}; --dir writes it whole",
                counted(workbook.cut_cells, "cell")
            ));
        }
        workbook.save(target.writer()).with_context(cannot)?;
        target.finish()?;
        Ok(written)
    }

    /// Gives an item's rows to a sink, without names when there is a redactor.
    fn write_item(
        &self,
        connection: &mut Connection,
        item: &Item,
        bound: &[Bound],
        sink: impl Sink,
    ) -> Result<u64> {
        let mut sink = Progressing::new(sink, item, self.teller);
        match self.redactor {
            None => write_rows(connection, self.selection, item, bound, &mut sink),
            Some(redactor) => {
                let mut sink = Redacting::new(sink, redactor);
                if let Item::Query(query) = item {
                    sink.sorted_as(&query.sql);
                }
                write_rows(connection, self.selection, item, bound, &mut sink)
            }
        }
    }
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.as_text()))
}

/// A sink that shows how far a long export is, when a terminal shows it.
struct Progressing<S> {
    sink: S,
    bar: ProgressBar,
    rows: u64,
}

impl<S: Sink> Progressing<S> {
    fn new(sink: S, item: &Item, teller: Teller) -> Self {
        let bar = if teller.is_quiet || !io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{spinner} {msg}: {human_pos} rows, {per_sec}");
            let style = style.expect("the template is well formed");
            ProgressBar::new_spinner().with_style(style).with_message(item.name().to_owned())
        };
        Self { sink, bar, rows: 0 }
    }
}

impl<S: Sink> Sink for Progressing<S> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.sink.kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        self.sink.columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        self.rows += 1;
        if self.rows.is_multiple_of(10_000) {
            self.bar.set_position(self.rows);
        }
        self.sink.row(cells)
    }

    fn end(&mut self) -> Result<()> {
        self.bar.finish_and_clear();
        self.sink.end()
    }
}
