//! `export lake`: Parquet for engines that read from many machines; `lake check`.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use anyhow::Result;

use super::guard::{Guard, refuse_input};
use super::{Teller, open_to_read, read_then_open, redactor, select};
use crate::cli::export::Export;
use crate::cli::lake::Lake;
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lake::check;
use crate::lake::export::{self, Exported};
use crate::lake::manifest::MANIFEST;
use crate::output::stdout::stdout;
use crate::store;
use crate::text::{PathText, counted, escaped};

/// What `export` calls it.
pub(super) const LAKE: &str = "lake";

impl Subcommand for Lake {
    fn execute(&self, global: &Global) -> Result<Exit> {
        match self {
            Self::Check { dir } => check_lake(global, dir),
        }
    }
}

/// Writes a lake.
pub(super) fn export(global: &Global, flags: &Export) -> Result<Exit> {
    let folder = check_flags(flags)?;
    if let Some(name) = flags.asked.parameters().next() {
        return Err(
            Failure::usage(format!("a lake holds rows, no answers: --{name} is no flag of it")).into()
        );
    }
    let teller = Teller::new(global);
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    Guard::of(&connection)?.refuse_journals_in(folder)?;
    refuse_input(Some(&folder.join(MANIFEST)), flags.privacy.key.as_deref(), "the key, too")?;
    // What is to be kept or handed on as a whole is cut by nobody but its reader.
    let selection = select(&mut connection, &flags.selection.only_given(), teller)?;
    if !selection.is_whole() {
        teller.note("a lake holds whole runs: those that are selected in part are taken in whole");
    }
    let redactor = redactor(&connection, &flags.privacy)?;
    let chosen: HashSet<i64> = selection.rows.iter().map(|row| row.run_id).collect();
    let is_chosen = |run_id: i64| selection.is_default || chosen.contains(&run_id);
    let report = export::export(&connection, folder, |run| is_chosen(run.run_id), redactor.as_ref())?;
    tell(&report, folder, teller);
    if let Some(why) = &selection.emptied_by {
        teller.note(&format!("nothing is selected: {why}"));
    }
    Ok(exit)
}

/// Says what an export did.
pub(super) fn tell(report: &Exported, folder: &Path, teller: Teller) {
    let shown = folder.as_text();
    for warning in &report.warnings {
        teller.warn(&format!("{shown}: {warning}"));
    }
    for day in &report.written {
        teller.note(&format!(
            "{shown}: {}: {}, {}",
            day.name,
            counted(day.rows, "row"),
            counted(day.bytes, "byte")
        ));
    }
    if report.unchanged > 0 {
        teller.note(&format!("{shown}: {} unchanged", counted(report.unchanged, "day")));
    }
}

/// Checks a lake.
fn check_lake(global: &Global, folder: &Path) -> Result<Exit> {
    let teller = Teller::new(global);
    let connection = if store::is_there(&global.db)? { Some(open_to_read(global)?) } else { None };
    let report = check::check(folder, connection.as_ref())?;
    let mut out = stdout();
    for wrong in &report.wrong {
        writeln!(out, "{}", escaped(wrong))?;
    }
    out.flush()?;
    for note in &report.notes {
        teller.note(note);
    }
    let shown = folder.as_text();
    if connection.is_none() {
        let database = global.db.as_text();
        teller.note(&format!("there is no database at {database}: the counts were not compared with one"));
    }
    if report.wrong.is_empty() {
        let check::Checked { runs, files, rows, bytes, .. } = &report;
        teller.note(&format!(
            "{shown}: {}, {}, {}, {}, all as they should be",
            counted(*runs, "run"),
            counted(*files, "file"),
            counted(*rows, "row"),
            counted(*bytes, "byte")
        ));
        return Ok(Exit::Done);
    }
    Ok(Exit::Failed)
}

/// The folder, when the flags fit a lake.
fn check_flags(flags: &Export) -> Result<&Path> {
    let wrong = if flags.names.len() > 1 || flags.all {
        Some("a lake is exported by itself: `narwhal-jq export lake --dir DIR`")
    } else if flags.raw || flags.excel || flags.delimiter != b',' {
        Some("--raw, --excel and --delimiter are about CSV, and a lake is Parquet")
    } else if flags.selection.by.is_some() {
        Some("a lake has no groups: --by is for questions")
    } else {
        None
    };
    match (wrong, &flags.dir) {
        (Some(wrong), _) => Err(Failure::usage(wrong).into()),
        (None, Some(folder)) => Ok(folder),
        (None, None) => Err(Failure::usage("a lake is a folder: name one with --dir DIR").into()),
    }
}
