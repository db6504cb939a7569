//! The account of an ingest.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Note;

/// What this call did with a file, or with all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Bytes read, up to the last whole line.
    pub bytes: u64,
    /// Lines read, blank ones too.
    pub lines: u64,
    /// Build rows stored.
    pub builds: u64,
    /// Terminals stored.
    pub terminals: u64,
    /// Attempt failures stored.
    pub attempt_failures: u64,
    /// Events stored.
    pub events: u64,
    /// Rows that were stored before.
    pub duplicates: u64,
    /// Lines, or parts of lines, that gave no row.
    pub rejected: u64,
    /// Lines, or parts of lines, that were mended.
    pub repaired: u64,
    /// Rows of forgotten runs.
    pub forgotten: u64,
    /// Bytes of an unfinished last line, which wait.
    pub pending_bytes: u64,
}

impl Counters {
    pub(super) fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.builds += other.builds;
        self.terminals += other.terminals;
        self.attempt_failures += other.attempt_failures;
        self.events += other.events;
        self.duplicates += other.duplicates;
        self.rejected += other.rejected;
        self.repaired += other.repaired;
        self.forgotten += other.forgotten;
        self.pending_bytes += other.pending_bytes;
    }
}

/// What this call did with one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The file as the user named it.
    pub path: String,
    /// Where reading went on.
    pub resumed_at: u64,
    /// The counts.
    #[serde(flatten)]
    pub counters: Counters,
    /// Whether not one line of it, now or before, was a journal row.
    #[serde(skip)]
    pub is_no_journal: bool,
    /// Whether there is not one byte in it.
    #[serde(skip)]
    pub is_empty: bool,
}

impl FileReport {
    /// Adds what a later reading of the file did.
    pub(super) fn add(&mut self, later: &Self) {
        self.counters.pending_bytes = 0;
        self.counters.add(&later.counters);
        self.is_no_journal = later.is_no_journal;
        self.is_empty = later.is_empty;
    }
}

/// What an ingest did.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Each file, in the order read.
    pub files: Vec<FileReport>,
    /// All files together.
    pub total: Counters,
    /// How long it took.
    pub seconds: f64,
    /// What was kept though this release does not know it, and how often.
    #[serde(skip)]
    pub notes: BTreeMap<Note, u64>,
    /// Files that could not be read, with the reason.
    #[serde(skip)]
    pub failures: Vec<anyhow::Error>,
    /// Whether it was interrupted.
    #[serde(skip)]
    pub is_interrupted: bool,
}

impl Summary {
    /// Adds what was done with a file, if anything was.
    pub(super) fn take(&mut self, report: Option<FileReport>) {
        let Some(report) = report else { return };
        self.total.add(&report.counters);
        self.files.push(report);
    }
}
