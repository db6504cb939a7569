//! Which days are written, and of what: runs from the database, and from the lake those that stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::file::Writer;
use super::folder::{Folder, VIEWS, place};
use super::manifest::{Manifest, RunEntry, SourceEntry, TABLES, Unit};
use super::reader::Reader;
use super::views::views;
use crate::failure::Failure;
use crate::query::redacting::Redacting;
use crate::query::run::Sink;
use crate::redact::Redactor;
use crate::store::lake::{
    LakeColumn, StoredRun, Table, Take, behind, check_keys, columns, each_row, each_row_of, has_client,
    knows, run_key, runs, state,
};
use crate::text::PathText;

/// The day of runs whose start is not known.
const UNKNOWN: &str = "unknown";

/// What an export did.
#[derive(Debug, Default)]
pub struct Exported {
    /// The days that were written, each with its rows by table.
    pub written: Vec<Written>,
    /// How many of the days asked for were as they should be.
    pub unchanged: usize,
    /// What a reader should know, in words.
    pub warnings: Vec<String>,
}

/// A day that was written.
#[derive(Debug)]
pub struct Written {
    /// `day=2026-11-29`.
    pub name: String,
    /// Rows, of all three tables.
    pub rows: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Writes the runs that `is_chosen` takes into the lake in `folder`: each day that is not as it should be.
///
/// # Errors
/// When the folder is none to write into, or cannot be written; when the database cannot be read. Every day is then
/// as it was or as it should be.
pub fn export(
    connection: &Connection,
    folder: &Path,
    is_chosen: impl Fn(&StoredRun) -> bool,
    redactor: Option<&Redactor>,
) -> Result<Exported> {
    let source = Source::new(connection, redactor)?;
    let mut folder = source.take(folder)?;
    let mut chosen = runs(connection)?;
    chosen.retain(is_chosen);
    source.write(&mut folder, &chosen)
}

/// The database as a lake takes it.
pub(super) struct Source<'s> {
    connection: &'s Connection,
    redactor: Option<&'s Redactor>,
    /// Which names are replaced by what.
    names: String,
    columns: BTreeMap<&'static str, Vec<LakeColumn>>,
}

impl<'s> Source<'s> {
    pub(super) fn new(connection: &'s Connection, redactor: Option<&'s Redactor>) -> Result<Self> {
        check_keys(connection)?;
        let tables = Table::DAILY.into_iter().chain(Table::WHOLE);
        let columns =
            tables.map(|table| Ok((table.name(), columns(connection, table)?))).collect::<Result<_>>()?;
        let names = redactor.map(Redactor::fingerprint).unwrap_or_default();
        Ok(Self { connection, redactor, names, columns })
    }

    pub(super) fn columns(&self, table: Table) -> &[LakeColumn] {
        &self.columns[table.name()]
    }

    /// Takes the folder, if its lake is one of this database.
    pub(super) fn take(&self, path: &Path) -> Result<Folder> {
        let key = self.redactor.map(Redactor::key_fingerprint);
        let folder = Folder::take(path, key.as_deref())?;
        let shown = path.as_text();
        let refused = match (&folder.manifest.redaction, &key) {
            (there, key) if there == key => None,
            (None, _) => {
                Some(format!("{shown} holds a lake with the names in it: redact into another folder"))
            }
            (Some(_), None) => Some(format!(
                "the lake in {shown} is redacted: add to it with --redact --key FILE, or name another folder"
            )),
            (Some(_), Some(_)) => Some(format!(
                "the lake in {shown} was redacted with another key, or one that was not kept: give the same --key FILE \
                 from the first call on, or name another folder"
            )),
        };
        if let Some(refused) = refused {
            return Err(Failure::usage(refused).into());
        }
        for run in folder.manifest.runs() {
            if !knows(self.connection, &run.run)? {
                return Err(Failure::usage(format!(
                    "{shown} holds the lake of another database: this one does not know run {}; name another folder",
                    run.run
                ))
                .into());
            }
        }
        Ok(folder)
    }

    /// Writes the days of these runs, in the order of their names, and the other tables.
    pub(super) fn write(&self, folder: &mut Folder, chosen: &[StoredRun]) -> Result<Exported> {
        check_run_keys(&folder.manifest, chosen)?;
        let mut days: BTreeMap<String, Vec<&StoredRun>> = BTreeMap::new();
        for run in chosen {
            days.entry(day_name(run)).or_default().push(run);
        }
        // An engine finds no table where there is no file.
        if days.is_empty() && folder.manifest.days.is_empty() {
            days.insert(format!("day={UNKNOWN}"), Vec::new());
        }
        let mut report = Exported::default();
        self.write_tables(folder, chosen).context("cannot write the tables that are whole")?;
        for (name, chosen) in days {
            let written = self.write_day(folder, &name, &chosen, &mut report);
            written.with_context(|| format!("cannot write {name} into {}", folder.path().as_text()))?;
        }
        for view in views()? {
            folder.write_file(&Path::new(VIEWS).join(view.file), view.text.as_bytes())?;
        }
        Ok(report)
    }

    fn write_day(
        &self,
        folder: &mut Folder,
        name: &str,
        chosen: &[&StoredRun],
        report: &mut Exported,
    ) -> Result<()> {
        let before = folder.manifest.day(name).cloned();
        let is_there = before.as_ref().map(|day| folder.is_there(day)).transpose()?.unwrap_or(false);
        let mut entries = BTreeMap::new();
        for run in chosen {
            entries.insert(run.run.as_str(), self.entry(run)?);
        }
        let is_same = |entry: &RunEntry| before.as_ref().and_then(|day| day.run(&entry.run)) == Some(entry);
        if is_there && entries.values().all(is_same) {
            report.unchanged += 1;
            return Ok(());
        }
        if before.is_some() && !is_there {
            report.warnings.push(format!("{name}: files were missing or changed, so it was written anew"));
        }
        let kept: Vec<RunEntry> = before
            .iter()
            .flat_map(|day| &day.runs)
            .filter(|run| !entries.contains_key(run.run.as_str()))
            .cloned()
            .collect();
        if let Some(run) = kept.first().filter(|_| !is_there) {
            bail!(
                "its files are missing or changed, and run {} would be lost: put them back, or export all runs if the \
                 database still has it",
                run.run
            );
        }
        let stage = folder.stage(name)?;
        let mut files = Vec::new();
        let by_name: HashMap<&str, &StoredRun> = chosen.iter().map(|run| (run.run.as_str(), *run)).collect();
        let mut order: Vec<&str> =
            entries.keys().copied().chain(kept.iter().map(|run| run.run.as_str())).collect();
        order.sort_unstable();
        for table in Table::DAILY {
            let columns = self.columns(table);
            let mut writer = Writer::new(table, columns, &stage.folder(table), &place(name, table))?;
            let files_before = before.iter().flat_map(|day| day.files_of(table.name()));
            let mut reader = Reader::new(folder.path(), columns, files_before);
            for run in &order {
                let mut take = |row: &[ValueRef<'_>]| writer.row(Some(run), row);
                match by_name.get(run) {
                    Some(run) => self.each_row_of(table, run, &mut take)?,
                    None => reader.each_row_of(run, &mut take)?,
                }
            }
            files.extend(writer.finish()?);
        }
        let mut sources: BTreeMap<i64, SourceEntry> = BTreeMap::new();
        for source in before.iter().filter(|_| !kept.is_empty()).flat_map(|day| &day.sources) {
            sources.insert(source.source_id, source.clone());
        }
        for run in chosen {
            for source in behind(self.connection, run)? {
                let mut source = SourceEntry::from(source);
                if self.redactor.is_some() {
                    source.path = "<path>".to_owned();
                }
                sources.insert(source.source_id, source);
            }
        }
        let runs: BTreeMap<String, RunEntry> =
            entries.into_values().chain(kept).map(|entry| (entry.run.clone(), entry)).collect();
        let unit = Unit::new(name, runs.into_values().collect(), sources.into_values().collect(), files);
        let written = Written {
            name: name.to_owned(),
            rows: unit.files.iter().map(|file| file.rows).sum(),
            bytes: unit.files.iter().map(|file| file.bytes).sum(),
        };
        match folder.put(stage, unit)? {
            true => report.written.push(written),
            false => report.unchanged += 1,
        }
        Ok(())
    }

    /// Writes the tables that are whole. A run that was not chosen has the row that it had.
    fn write_tables(&self, folder: &mut Folder, chosen: &[StoredRun]) -> Result<()> {
        let before = folder.manifest.tables.clone();
        let stage = folder.stage(TABLES)?;
        let mut files = Vec::new();
        for table in Table::WHOLE {
            let columns = self.columns(table);
            let mut writer = Writer::new(table, columns, &stage.folder(table), &place(TABLES, table))?;
            if table == Table::Runs {
                let in_lake = folder.manifest.runs().map(|run| run.run.as_str());
                let by_name: HashMap<&str, &StoredRun> =
                    chosen.iter().map(|run| (run.run.as_str(), run)).collect();
                let order: BTreeSet<&str> = by_name.keys().copied().chain(in_lake).collect();
                let files_before = before.iter().flat_map(|tables| tables.files_of(table.name()));
                let mut reader = Reader::new(folder.path(), columns, files_before);
                for run in order {
                    let mut take = |row: &[ValueRef<'_>]| writer.row(Some(run), row);
                    match by_name.get(run) {
                        Some(run) => self.each_row_of(table, run, &mut take)?,
                        None => reader.each_row_of(run, &mut take)?,
                    }
                }
            } else {
                let mut take = |row: &[ValueRef<'_>]| writer.row(None, row);
                self.redacted(table, &mut take, |take| each_row(self.connection, table, columns, take))?;
            }
            files.extend(writer.finish()?);
        }
        folder.put(stage, Unit::new(TABLES, Vec::new(), Vec::new(), files))?;
        Ok(())
    }

    /// What the manifest says of a run that is as it is now.
    pub(super) fn entry(&self, run: &StoredRun) -> Result<RunEntry> {
        let mut state = state(self.connection, run)?;
        state.digest.push_str(&self.names);
        Ok(RunEntry::of(&run.run, state))
    }

    /// The rows of a run as the lake has them.
    pub(super) fn each_row_of(&self, table: Table, run: &StoredRun, take: Take<'_>) -> Result<()> {
        self.redacted(table, take, |take| each_row_of(self.connection, table, self.columns(table), run, take))
    }

    /// Gives rows without names to `take`, if there is a redactor.
    fn redacted(
        &self,
        table: Table,
        take: Take<'_>,
        give: impl FnOnce(Take<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(redactor) = self.redactor else { return give(take) };
        let mut names: Vec<String> = self.columns(table).iter().map(|column| column.name.clone()).collect();
        names.extend(has_client(table).then(|| "client_rid".to_owned()));
        let mut sink = Redacting::new(Taking(take), redactor);
        sink.columns(&names)?;
        give(&mut |row| sink.row(row))
    }
}

/// Rows that go on to somebody.
struct Taking<'t>(Take<'t>);

impl Sink for Taking<'_> {
    fn columns(&mut self, _names: &[String]) -> Result<()> {
        Ok(())
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        (self.0)(cells)
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The folder of a run's day.
pub(super) fn day_name(run: &StoredRun) -> String {
    format!("day={}", run.day.as_deref().unwrap_or(UNKNOWN))
}

/// Two runs of one key would be one to an engine.
fn check_run_keys(manifest: &Manifest, chosen: &[StoredRun]) -> Result<()> {
    let names: BTreeSet<&str> = chosen
        .iter()
        .map(|run| run.run.as_str())
        .chain(manifest.runs().map(|run| run.run.as_str()))
        .collect();
    let mut keys = BTreeMap::new();
    for run in names {
        if let Some(other) = keys.insert(run_key(run), run) {
            bail!(
                "runs {other} and {run} would have one key in a lake: export one of them into another folder"
            );
        }
    }
    Ok(())
}
