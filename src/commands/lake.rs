//! `export lake`: Parquet for engines that read from many machines.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Result;

use super::guard::refuse_input;
use super::{Teller, read_then_open, redactor, select};
use crate::cli::{Export, ExportWanted, Global, PARAMETER};
use crate::exit::{Exit, Failure};
use crate::lake::export;
use crate::lake::manifest::MANIFEST;

/// What `export` calls it.
pub(super) const LAKE: &str = "lake";

/// Writes a lake.
pub(super) fn export(global: &Global, wanted: &ExportWanted) -> Result<Exit> {
    let ExportWanted { flags, given, .. } = wanted;
    let folder = check_flags(flags)?;
    if let Some(id) = given.ids().find(|id| {
        let value = given.try_get_one::<String>(id.as_str());
        id.as_str().starts_with(PARAMETER) && value.is_ok_and(|value| value.is_some())
    }) {
        let name = &id.as_str()[PARAMETER.len()..];
        return Err(
            Failure::usage(format!("a lake holds rows, no answers: --{name} is no flag of it")).into()
        );
    }
    let teller = Teller::new(global);
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
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
    for warning in &report.warnings {
        teller.warn(warning);
    }
    for day in &report.written {
        teller.note(&format!("{}: {}: {} rows, {} bytes", folder.display(), day.name, day.rows, day.bytes));
    }
    if report.unchanged > 0 {
        teller.note(&format!("{}: {} days unchanged", folder.display(), report.unchanged));
    }
    if let Some(why) = &selection.emptied_by {
        teller.note(&format!("nothing is selected: {why}"));
    }
    Ok(exit)
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
