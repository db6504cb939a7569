//! Whether a lake is what its manifest says, and holds what the database has.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rusqlite::Connection;

use super::file::made;
use super::folder::{is_unfinished, unknown};
use super::manifest::{FileEntry, MANIFEST, Manifest, RunEntry, Unit};
use crate::failure::Failure;
use crate::store::lake::{Table, knows, runs, state};
use crate::text::{PathText, counted};

/// What was found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Files of the manifest.
    pub files: usize,
    /// Rows and bytes that they should have.
    pub rows: u64,
    /// Bytes that they should have.
    pub bytes: u64,
    /// Runs in the lake.
    pub runs: usize,
    /// What does not hold, a sentence each.
    pub wrong: Vec<String>,
    /// What is worth knowing and no fault.
    pub notes: Vec<String>,
}

/// Holds the files against the manifest, and the counts against a database if there is one.
///
/// # Errors
/// When there is no lake, it is a newer version's, or something cannot be read.
pub fn check(folder: &Path, connection: Option<&Connection>) -> Result<Checked> {
    let Some(manifest) = Manifest::read(folder)? else {
        return Err(Failure::usage(format!(
            "there is no lake in {}: it has no {MANIFEST}, which `narwhal-jq export lake --dir DIR` writes",
            folder.as_text()
        ))
        .into());
    };
    let mut report = Checked::default();
    if is_unfinished(folder)? {
        let shown = folder.as_text();
        report.wrong.push(format!(
            "an export is writing into it, or died: `narwhal-jq export lake --dir {shown}` finishes what one left"
        ));
    }
    for unit in manifest.units() {
        report.runs += unit.runs.len();
        for file in &unit.files {
            report.files += 1;
            report.rows += file.rows;
            report.bytes += file.bytes;
            report.wrong.extend(check_file(folder, file)?);
        }
        check_counts(unit, &mut report.wrong);
    }
    if let Some(path) = unknown(folder, &manifest)? {
        report.wrong.push(format!("{}: the manifest does not know it", path.as_text()));
    }
    if let Some(connection) = connection {
        check_database(connection, &manifest, &mut report)?;
    }
    Ok(report)
}

/// What is wrong with a file.
fn check_file(folder: &Path, file: &FileEntry) -> Result<Option<String>> {
    let path = folder.join(&file.path);
    if !fs::symlink_metadata(&path).is_ok_and(|there| there.is_file()) {
        return Ok(Some(format!("{}: not there", file.path)));
    }
    let made = made(&path)?;
    if made.bytes != file.bytes {
        return Ok(Some(format!(
            "{}: has {}, and had {}",
            file.path,
            counted(made.bytes, "byte"),
            file.bytes
        )));
    }
    if made.digest_text() != file.xxh128 {
        return Ok(Some(format!("{}: its bytes are other ones than were written", file.path)));
    }
    let opened = File::open(&path).with_context(|| format!("cannot read {}", path.as_text()))?;
    Ok(match SerializedFileReader::new(opened).map(|opened| opened.metadata().file_metadata().num_rows()) {
        Ok(rows) if rows.cast_unsigned() == file.rows => None,
        Ok(rows) => {
            Some(format!("{}: has {}, and the manifest says {}", file.path, counted(rows, "row"), file.rows))
        }
        Err(error) => Some(format!("{}: no Parquet: {error}", file.path)),
    })
}

/// The rows of a day's runs, added up from its files, are those that the runs have.
fn check_counts(unit: &Unit, wrong: &mut Vec<String>) {
    for table in Table::DAILY {
        let mut added: BTreeMap<&str, u64> = BTreeMap::new();
        for part in unit.files_of(table.name()).flat_map(|file| &file.runs) {
            *added.entry(part.run.as_str()).or_default() += part.rows;
        }
        for run in &unit.runs {
            let (said, there) = (rows_of(run, table), added.get(run.run.as_str()).copied().unwrap_or(0));
            if said != there {
                wrong.push(format!(
                    "run {}: {} of {}, and {there} in its files",
                    run.run,
                    counted(said, "row"),
                    table.name()
                ));
            }
        }
    }
}

fn rows_of(run: &RunEntry, table: Table) -> u64 {
    match table {
        Table::Terminals => run.terminals,
        Table::AttemptFailures => run.attempt_failures,
        _ => run.events,
    }
}

fn check_database(connection: &Connection, manifest: &Manifest, report: &mut Checked) -> Result<()> {
    let stored = runs(connection)?;
    let in_lake: BTreeMap<&str, &RunEntry> = manifest.runs().map(|run| (run.run.as_str(), run)).collect();
    let (mut behind, mut missing) = (0, 0);
    for run in &stored {
        let Some(entry) = in_lake.get(run.run.as_str()) else {
            missing += 1;
            continue;
        };
        let now = state(connection, run)?;
        let now = RunEntry::of(&run.run, now);
        let mut is_behind = false;
        for table in Table::DAILY {
            let (had, has) = (rows_of(entry, table), rows_of(&now, table));
            is_behind |= has > had;
            if has < had {
                report.wrong.push(format!(
                    "run {}: {had} rows of {} in the lake, and only {has} in the database",
                    run.run,
                    table.name()
                ));
            }
        }
        behind += usize::from(is_behind);
    }
    let mut moved = 0;
    for run in
        in_lake.keys().filter(|run| stored.binary_search_by(|stored| stored.run.as_str().cmp(run)).is_err())
    {
        if knows(connection, run)? {
            moved += 1;
        } else {
            report.wrong.push(format!("run {run}: the database does not know it: is it another one's lake?"));
        }
    }
    let notes = [
        (behind, ["has more rows in the database now", "have more rows in the database now"]),
        (missing, ["of the database is not in the lake", "of the database are not in the lake"]),
        (
            moved,
            [
                "stands in the lake alone: the database has forgotten it",
                "stand in the lake alone: the database has forgotten them",
            ],
        ),
    ];
    let found = notes.into_iter().filter(|(count, _)| *count > 0);
    report.notes.extend(
        found.map(|(count, what)| format!("{} {}", counted(count, "run"), what[usize::from(count > 1)])),
    );
    Ok(())
}
