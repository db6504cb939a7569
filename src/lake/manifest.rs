//! `manifest.json`: what a lake holds, file by file, and what is behind it.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Kind};
use crate::store::lake::{Behind, RunTally};
use crate::text::PathText;

/// Its name in a lake.
pub const MANIFEST: &str = "manifest.json";

/// The layout that this release writes, from 1.
const FORMAT: u32 = 1;

const TOOL: &str = env!("CARGO_PKG_NAME");

/// All that a lake holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// What wrote it.
    tool: String,
    /// The layout.
    lake: u32,
    /// Of names that were replaced: which ones by what, told by a digest; none when names stand as they are.
    pub(super) redaction: Option<String>,
    /// The tables that are whole.
    pub(super) tables: Option<Unit>,
    /// The days, in order.
    pub(super) days: Vec<Unit>,
}

/// What is replaced at once: a day, or the tables that are whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// `day=2026-11-29`, or `tables`.
    pub name: String,
    /// What wrote it, and the schema of the database.
    pub version: String,
    pub schema: i64,
    /// The runs in it, by name.
    pub runs: Vec<RunEntry>,
    /// The sources that they were met in.
    pub sources: Vec<SourceEntry>,
    pub files: Vec<FileEntry>,
}

/// A run of a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunEntry {
    pub run: String,
    pub terminals: u64,
    pub attempt_failures: u64,
    pub events: u64,
    /// Tells whether the database has other rows of it now.
    pub state: String,
}

/// A source behind a day, as far as it was read then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SourceEntry {
    pub source_id: i64,
    pub path: String,
    pub offset_bytes: u64,
    pub lines: u64,
    pub rejects: u64,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    /// Where it is in the lake.
    pub path: String,
    pub table: String,
    pub rows: u64,
    pub bytes: u64,
    /// What `xxh128sum` gives of it.
    pub xxh128: String,
    /// The runs that its rows belong to, in the order of the rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRows>,
}

/// So many rows of a run, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunRows {
    pub run: String,
    pub rows: u64,
}

impl RunEntry {
    pub(super) fn of(run: &str, state: RunTally) -> Self {
        let RunTally { terminals, attempt_failures, events, digest } = state;
        Self { run: run.to_owned(), terminals, attempt_failures, events, state: digest }
    }
}

impl From<Behind> for SourceEntry {
    fn from(behind: Behind) -> Self {
        let Behind { source_id, path, offset_bytes, lines, rejects } = behind;
        Self { source_id, path, offset_bytes, lines, rejects }
    }
}

impl Unit {
    pub(super) fn new(
        name: &str,
        runs: Vec<RunEntry>,
        sources: Vec<SourceEntry>,
        files: Vec<FileEntry>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: crate::store::schema::LATEST,
            runs,
            sources,
            files,
        }
    }

    pub(super) fn run(&self, run: &str) -> Option<&RunEntry> {
        let at = self.runs.binary_search_by(|entry| entry.run.as_str().cmp(run));
        at.ok().map(|at| &self.runs[at])
    }

    pub(super) fn files_of<'u>(&'u self, table: &'u str) -> impl Iterator<Item = &'u FileEntry> {
        self.files.iter().filter(move |file| file.table == table)
    }
}

impl Manifest {
    /// That of a lake which holds nothing yet.
    pub(super) fn new(redaction: Option<String>) -> Self {
        Self { tool: TOOL.to_owned(), lake: FORMAT, redaction, tables: None, days: Vec::new() }
    }

    /// What the folder's manifest says, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, is not ours, or a newer version's.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.as_text()))?,
        };
        let said: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
        let ours = said.as_ref().filter(|said| said["tool"] == TOOL);
        match ours.and_then(|said| said["lake"].as_u64()) {
            Some(lake) if lake > u64::from(FORMAT) => Err(Failure::new(
                Kind::Newer,
                format!(
                    "the lake {} was written by a newer narwhal-jq (layout {lake}; this one knows up to {FORMAT}): \
                     install the newer one, or name another folder",
                    folder.as_text()
                ),
            )
            .into()),
            Some(_) => match serde_json::from_slice(&text) {
                Ok(manifest) => Ok(Some(manifest)),
                Err(error) => Err(not_ours(&path, &format!("is damaged ({error})"))),
            },
            None => Err(not_ours(&path, "is none of a lake that narwhal-jq wrote")),
        }
    }

    /// The manifest as text.
    pub(super) fn text(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self).map_err(io::Error::from)? + "\n")
    }

    pub(super) fn day(&self, name: &str) -> Option<&Unit> {
        self.days.iter().find(|day| day.name == name)
    }

    /// Takes in what replaced a unit.
    pub(super) fn put(&mut self, unit: Unit) {
        if unit.name == TABLES {
            self.tables = Some(unit);
            return;
        }
        match self.days.binary_search_by(|day| day.name.cmp(&unit.name)) {
            Ok(at) => self.days[at] = unit,
            Err(at) => self.days.insert(at, unit),
        }
    }

    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.days.iter().chain(&self.tables)
    }

    /// Every run in the lake.
    pub(super) fn runs(&self) -> impl Iterator<Item = &RunEntry> {
        self.days.iter().flat_map(|day| &day.runs)
    }
}

/// The unit of the tables that are whole.
pub(super) const TABLES: &str = "tables";

fn not_ours(path: &Path, what: &str) -> anyhow::Error {
    Failure::usage(format!("{} {what}: move it away, or name another folder", path.as_text())).into()
}
