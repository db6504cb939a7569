//! `export`: tables, queries and the journal as files, or as one workbook.

use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::guard::{Guard, refuse_input};
use super::{Teller, lake, open_target, read_then_open, redactor, select, unread_selection};
use crate::cli::export::Export;
use crate::cli::query::AskedQueries;
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::export::{Earlier, Item, SIDECAR, Sidecar, Written, everything, resolve, write_rows};
use crate::failure::Failure;
use crate::journal::row::Row;
use crate::journal::write::write_row;
use crate::output::IsoTimes;
use crate::output::csv::{Csv, Style};
use crate::output::json::write_json;
use crate::output::workbook::{MAX_ROWS, Workbook};
use crate::query::kind::ColumnKind;
use crate::query::redacting::Redacting;
use crate::query::run::{Bound, Sink};
use crate::query::{catalog, caveats, params};
use crate::redact::Redactor;
use crate::selection::Selection;
use crate::store::export::{each_row, each_selected_row};
use crate::temporary;
use crate::text::{PathText, counted};

impl Subcommand for Export {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        Some(&mut self.selection)
    }

    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        Some(&mut self.ingest)
    }

    fn targets(&self) -> Targets {
        Targets::new(self.asked.target_s("ttft"), self.asked.target_s("tpot"))
    }

    fn queries_mut(&mut self) -> Option<&mut AskedQueries> {
        Some(&mut self.asked)
    }
}

fn run(global: &Global, flags: &Export) -> Result<Exit> {
    let catalog = &flags.asked.catalog;
    if flags.names.iter().any(|name| name == lake::LAKE) {
        return lake::export(global, flags);
    }
    let teller = Teller::new(global);
    let mut items = if flags.all { everything(catalog) } else { Vec::new() };
    for item in resolve(&flags.names, catalog)? {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    check_parameters(&items, &flags.asked)?;
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    check_own(&mut connection, &mut items, flags, teller)?;
    // What is to be kept or handed on as a whole is cut by nobody but its reader.
    let chosen = match items.iter().any(|item| matches!(item, Item::Journal)) {
        true => &flags.selection.only_given(),
        false => &flags.selection,
    };
    let selection = &select(&mut connection, chosen, teller)?;
    let mut bound = bind_all(&connection, &mut items, flags, teller)?;
    let redactor = redactor(&connection, &flags.privacy)?;
    if redactor.is_some() {
        leave_out_rejects(&mut items, &mut bound, flags, teller)?;
    }
    let redactor = redactor.as_ref();
    let plan = Plan { selection, items: &items, bound: &bound, redactor, teller };
    let written = match (&flags.dir, &flags.xlsx) {
        (Some(folder), _) => plan.to_folder(global, &mut connection, folder, flags)?,
        (None, Some(file)) => {
            refuse_input(Some(file), flags.privacy.key.as_deref(), "the key, too")?;
            plan.to_workbook(&mut connection, file)?
        }
        (None, None) => unreachable!("one of --dir and --xlsx is required"),
    };
    for (item, bound) in items.iter().zip(&bound) {
        if let Item::Query(query) = item {
            for caveat in caveats::of(&connection, query, bound)? {
                teller.note(&format!("{}: {caveat}", query.name));
            }
        }
    }
    for one in &written {
        let place = flags.dir.as_ref().map(|folder| folder.join(&one.place).as_text().to_string());
        teller.note(&format!("{}: {}", place.as_ref().unwrap_or(&one.place), counted(one.rows, "row")));
    }
    if let Some(why) = &selection.emptied_by {
        teller.note(&format!("nothing is selected: {why}"));
    }
    Ok(exit)
}

/// Checks the user's own queries against the database. With `--all`, one that cannot be asked is left out and named;
/// one that was named is a mistake.
fn check_own(
    connection: &mut Connection,
    items: &mut Vec<Item>,
    flags: &Export,
    teller: Teller,
) -> Result<()> {
    let mut kept = Vec::new();
    for item in items.drain(..) {
        let fault = match &item {
            Item::Query(query) if query.file.is_some() => match catalog::check(query, connection) {
                Ok(signature) if flags.selection.is_given() && !signature.reads_selection => {
                    Some(unread_selection(&format!("the query {}", query.name)).into())
                }
                Ok(_) => None,
                Err(fault) => Some(fault.context(format!("the query {}", query.name))),
            },
            _ => None,
        };
        match fault {
            None => kept.push(item),
            Some(fault) if flags.all && !flags.names.iter().any(|name| name == item.name()) => {
                teller.warn(&format!("left out: {fault:#}"));
            }
            Some(fault) => return Err(fault),
        }
    }
    *items = kept;
    Ok(())
}

/// A parameter that no exported query has is a mistake.
fn check_parameters(items: &[Item], asked: &AskedQueries) -> Result<()> {
    let is_known = |name: &str| {
        items.iter().any(|item| match item {
            Item::Query(query) => query.parameters.iter().any(|parameter| parameter.name == name),
            _ => false,
        })
    };
    match asked.parameters().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Failure::usage(format!("none of the exported queries has the parameter --{name}")).into())
        }
    }
}

/// Binds the parameters of every item. With `--all`, a query without targets is left out and named;
/// one that was named is a mistake.
fn bind_all(
    connection: &Connection,
    items: &mut Vec<Item>,
    flags: &Export,
    teller: Teller,
) -> Result<Vec<Vec<Bound>>> {
    let mut bound = Vec::new();
    let mut kept = Vec::new();
    for item in items.drain(..) {
        let Item::Query(query) = &item else {
            bound.push(Vec::new());
            kept.push(item);
            continue;
        };
        match params::bind(connection, query, |name| flags.asked.value(name).cloned()) {
            Ok(parameters) => {
                bound.push(parameters);
                kept.push(item);
            }
            Err(error) if flags.all && !flags.names.contains(&query.name) => {
                teller.warn(&format!("{}: left out: {error:#}", query.name));
            }
            Err(error) => return Err(error.context(format!("the query {}", query.name))),
        }
    }
    *items = kept;
    Ok(bound)
}

/// What is exported, and how.
struct Plan<'p> {
    selection: &'p Selection,
    items: &'p [Item],
    bound: &'p [Vec<Bound>],
    redactor: Option<&'p Redactor>,
    teller: Teller,
}

impl Plan<'_> {
    /// Writes a file each, and what they come from beside them.
    fn to_folder(
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

    fn to_workbook(&self, connection: &mut Connection, file: &Path) -> Result<Vec<Written>> {
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

/// What could not be read cannot be redacted.
fn leave_out_rejects(
    items: &mut Vec<Item>,
    bound: &mut Vec<Vec<Bound>>,
    flags: &Export,
    teller: Teller,
) -> Result<()> {
    let Some(at) = items.iter().position(|item| *item == Item::Table("rejects")) else { return Ok(()) };
    if !flags.all {
        return Err(Failure::usage("rejects cannot be redacted: they could not be read").into());
    }
    items.remove(at);
    bound.remove(at);
    teller.warn("rejects: left out: what could not be read cannot be redacted");
    Ok(())
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
