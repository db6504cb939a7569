//! Moving runs out of the database: they are exported, read back and compared, before anybody may forget them.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use xxhash_rust::xxh3::Xxh3;

use super::export::{Exported, Source, day_name};
use super::file::made;
use super::folder::Folder;
use super::manifest::{RunEntry, TABLES, Unit};
use super::reader::Reader;
use crate::store::lake::{StoredRun, Table, Take, runs};
use crate::text::PathText;

/// Runs that are in a lake as they are in the database. Nobody else writes into the lake while this lives.
pub struct Moved {
    /// What the export did.
    pub report: Exported,
    /// How many rows were read back, and found equal.
    pub rows: u64,
    entries: Vec<RunEntry>,
    _folder: Folder,
}

/// Exports runs into the lake in `folder`, reads their rows back and compares each with the database.
///
/// # Errors
/// As [`super::export::export`]; when a file is not what was written, or a row is not as the database has it.
pub fn move_out(connection: &Connection, folder: &Path, run_ids: &[i64]) -> Result<Moved> {
    let source = Source::new(connection, None)?;
    let mut folder = source.take(folder)?;
    let mut chosen = runs(connection)?;
    chosen.retain(|run| run_ids.contains(&run.run_id));
    let report = source.write(&mut folder, &chosen)?;
    let mut rows = 0;
    let mut entries = Vec::new();
    for day in days(&chosen) {
        let of_day: Vec<&StoredRun> = chosen.iter().filter(|run| day_name(run) == day).collect();
        let unit = folder.manifest.day(&day).with_context(|| format!("the lake has no {day}"))?;
        for table in Table::DAILY {
            rows += compare(&source, &folder, unit, table, &of_day)?;
        }
    }
    let all: Vec<&StoredRun> = chosen.iter().collect();
    let tables = folder.manifest.tables.as_ref().with_context(|| format!("the lake has no {TABLES}"))?;
    rows += compare(&source, &folder, tables, Table::Runs, &all)?;
    for run in &chosen {
        entries.push(source.entry(run)?);
    }
    Ok(Moved { report, rows, entries, _folder: folder })
}

impl Moved {
    /// Makes sure that these runs are what was read back, before they are forgotten in the same transaction.
    ///
    /// # Errors
    /// When one has other rows now, or was not among them.
    pub fn check(&self, connection: &Connection, run_ids: &[i64]) -> Result<()> {
        let source = Source::new(connection, None)?;
        for run in runs(connection)?.iter().filter(|run| run_ids.contains(&run.run_id)) {
            ensure!(
                self.entries.contains(&source.entry(run)?),
                "run {} got rows while it was moved: try again, when nobody writes it any more",
                run.run
            );
        }
        Ok(())
    }
}

fn days(runs: &[StoredRun]) -> Vec<String> {
    let mut days: Vec<String> = runs.iter().map(day_name).collect();
    days.sort_unstable();
    days.dedup();
    days
}

/// Compares the rows of runs in a table; how many there were.
fn compare(
    source: &Source<'_>,
    folder: &Folder,
    unit: &Unit,
    table: Table,
    runs: &[&StoredRun],
) -> Result<u64> {
    for file in unit.files_of(table.name()) {
        let made = made(&folder.path().join(&file.path))?;
        if made.bytes != file.bytes || made.digest_text() != file.xxh128 {
            bail!(
                "{} is not what was written: move the lake away, and export into an empty folder",
                folder.path().join(&file.path).as_text()
            );
        }
    }
    let columns = source.columns(table);
    let mut reader = Reader::new(folder.path(), columns, unit.files_of(table.name()));
    let mut rows = 0;
    for run in runs {
        let stored = digest(columns.len(), |take| source.each_row_of(table, run, take))?;
        let read = digest(columns.len(), |take| reader.each_row_of(&run.run, take))?;
        ensure!(
            stored == read,
            "run {}: the rows of {} that were read back from {} are not those of the database",
            run.run,
            table.name(),
            folder.path().as_text()
        );
        rows += read.rows;
    }
    Ok(rows)
}

/// So many rows, and a digest of every cell.
#[derive(Debug, PartialEq, Eq)]
struct Digest {
    rows: u64,
    cells: u128,
}

fn digest(columns: usize, give: impl FnOnce(Take<'_>) -> Result<()>) -> Result<Digest> {
    let mut hash = Xxh3::new();
    let mut rows = 0;
    give(&mut |row| {
        rows += 1;
        for cell in &row[..columns] {
            match cell {
                ValueRef::Null => hash.update(b"n"),
                ValueRef::Integer(int) => {
                    hash.update(b"i");
                    hash.update(&int.to_le_bytes());
                }
                ValueRef::Real(real) => {
                    hash.update(b"r");
                    hash.update(&real.to_bits().to_le_bytes());
                }
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    hash.update(b"t");
                    hash.update(&text.len().to_le_bytes());
                    hash.update(text);
                }
            }
        }
        Ok(())
    })?;
    Ok(Digest { rows, cells: hash.digest128() })
}
