//! What was rejected is read once more: a newer parser may find rows in it.
//!
//! The bytes are those kept with the entry or, of a huge one, those of the source's file if it still has
//! the same content. Entries of one source are taken in batches, each a transaction.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use rusqlite::Connection;
use serde::Serialize;

use super::loader::Loader;
use super::{Counters, Note};
use crate::journal::lines::{Line, MAX_LINE};
use crate::journal::segments::{Content, SegmentKind, is_of_a_part, read_line};
use crate::journal::text::is_of_packed_bytes;
use crate::sources::original::Original;
use crate::store::rejects::{self, Rejected};
use crate::store::sources::{self, Source};
use crate::store::write::{Reject, RejectKind, Writer};

/// Entries per transaction: with the bytes that are kept of each, few enough to stay in memory.
const BATCH: u64 = 200;

/// What a retry did.
#[derive(Debug, Default, Serialize)]
pub struct Retried {
    /// Rejected entries that there were.
    pub retried: u64,
    /// Builds stored.
    pub builds: u64,
    /// Terminals stored.
    pub terminals: u64,
    /// Attempt failures stored.
    pub attempt_failures: u64,
    /// Events stored.
    pub events: u64,
    /// Rows that were stored before.
    pub duplicates: u64,
    /// What was mended in rows.
    pub repaired: u64,
    /// Rows of forgotten runs; their entries stay.
    pub forgotten: u64,
    /// Entries, or what is left of them, that still give no row.
    pub rejected: u64,
    /// Entries that could not be read again.
    pub unreadable: Vec<Unreadable>,
    /// What was kept though this release does not know it, and how often.
    #[serde(skip)]
    pub notes: BTreeMap<Note, u64>,
    /// What should be said of runs.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Whether it was interrupted.
    #[serde(skip)]
    pub is_interrupted: bool,
}

/// An entry that could not be read again.
#[derive(Debug, Serialize)]
pub struct Unreadable {
    /// `path:line:byte`
    pub place: String,
    /// Why not.
    pub reason: String,
}

/// Reads every rejected entry again. What gives rows now is stored and is no reject any more.
///
/// # Errors
/// When the database cannot be written.
pub fn retry(connection: &Connection, stop: &AtomicBool) -> Result<Retried> {
    let mut writer = Writer::new(connection)?;
    let mut retried = Retried::default();
    let mut known = sources::load_all(connection)?;
    known.sort_unstable_by_key(|source| source.source_id);
    for source in &known {
        let mut retry = Retry { source, original: None, retried: &mut retried };
        let mut from = Some(0);
        while let Some(offset) = from {
            if stop.load(Ordering::Relaxed) {
                retry.retried.is_interrupted = true;
                return Ok(retried);
            }
            from = retry.batch(&mut writer, offset)?;
        }
    }
    Ok(retried)
}

/// The entries of one source.
struct Retry<'r> {
    source: &'r Source,
    /// Its file once it was asked for, or why there is none.
    original: Option<std::result::Result<Original, String>>,
    retried: &'r mut Retried,
}

impl Retry<'_> {
    /// Takes the next entries from an offset; where to go on.
    fn batch(&mut self, writer: &mut Writer<'_>, from: u64) -> Result<Option<u64>> {
        let source_id = self.source.source_id;
        writer.begin()?;
        let entries = rejects::load_from(writer.connection(), source_id, from, BATCH)?;
        writer.enter_late(source_id)?;
        let mut counters = Counters::default();
        let mut has_changed = false;
        for entry in &entries {
            has_changed |= self.take(writer, entry, &mut counters)?;
        }
        if has_changed {
            let rows = counters.terminals + counters.events + counters.duplicates;
            self.retried.warnings.extend(writer.commit_late(rows)?);
        } else {
            writer.roll_back()?;
        }
        let retried = &mut *self.retried;
        retried.retried += entries.len() as u64;
        retried.builds += counters.builds;
        retried.terminals += counters.terminals;
        retried.attempt_failures += counters.attempt_failures;
        retried.events += counters.events;
        retried.duplicates += counters.duplicates;
        retried.repaired += counters.repaired;
        retried.forgotten += counters.forgotten;
        retried.rejected += counters.rejected;
        Ok(entries.last().map(|entry| entry.byte_offset + 1))
    }

    /// Reads one entry again; whether that changed anything.
    fn take(&mut self, writer: &mut Writer<'_>, entry: &Rejected, counters: &mut Counters) -> Result<bool> {
        let source_id = self.source.source_id;
        if entry.len_bytes > MAX_LINE as u64 {
            counters.rejected += 1;
            return Ok(false);
        }
        let bytes = match self.bytes_of(entry) {
            Ok(bytes) => bytes,
            Err(reason) => {
                let place = format!("{}:{}:{}", self.source.path, entry.line_no, entry.byte_offset);
                self.retried.unreadable.push(Unreadable { place, reason });
                return Ok(false);
            }
        };
        let content = read_line(&bytes);
        let line =
            Line { bytes: &bytes, offset: entry.byte_offset, number: entry.line_no, len: entry.len_bytes };
        if let Some(reason) = reason_without_rows(&content) {
            counters.rejected += 1;
            let is_new =
                reason != entry.reason && !is_of_a_part(&entry.reason) && !is_of_packed_bytes(&entry.reason);
            if is_new {
                rejects::set_reason(writer.connection(), source_id, entry.byte_offset, reason)?;
            }
            return Ok(is_new);
        }
        rejects::remove(writer.connection(), source_id, entry.byte_offset)?;
        let forgotten = counters.forgotten;
        Loader::new(writer, &mut self.retried.notes, None).take([(line, &content)].into_iter(), counters)?;
        if counters.forgotten > forgotten {
            writer.reject(&Reject {
                kind: RejectKind::Rejected,
                line_no: entry.line_no,
                byte_offset: entry.byte_offset,
                len_bytes: entry.len_bytes,
                reason: &entry.reason,
                raw: &entry.raw,
            })?;
        }
        Ok(true)
    }

    /// The bytes of an entry, or why they cannot be read.
    fn bytes_of<'e>(&mut self, entry: &'e Rejected) -> std::result::Result<Cow<'e, [u8]>, String> {
        if entry.raw.len() as u64 == entry.len_bytes {
            return Ok(Cow::Borrowed(&entry.raw));
        }
        let missing = |why: &str| format!("only its first part was kept, and {why}");
        let original = match self.original.get_or_insert_with(|| open(self.source)) {
            Ok(original) => original,
            Err(why) => return Err(missing(why)),
        };
        match original.read(entry.byte_offset, entry.len_bytes) {
            Ok(bytes) if bytes.starts_with(&entry.raw) => Ok(Cow::Owned(bytes)),
            _ => Err(missing("the file holds something else there now")),
        }
    }
}

/// Opens the file of a source, or says why not.
fn open(source: &Source) -> std::result::Result<Original, String> {
    if source.is_stream() {
        return Err("it came from standard input".to_owned());
    }
    match Original::open(source) {
        Ok(Some(original)) => Ok(original),
        Ok(None) => Err("the file holds other content now".to_owned()),
        Err(error) => Err(format!("the file cannot be read: {error}")),
    }
}

/// Why a content gives no row, if it gives none.
fn reason_without_rows<'c>(content: &'c Content<'_>) -> Option<&'c str> {
    let Content::Segments(segments) = content else {
        return matches!(content, Content::Blank).then_some("blank");
    };
    if segments.iter().any(|segment| matches!(segment.kind, SegmentKind::Row(_))) {
        return None;
    }
    segments.iter().find_map(|segment| match &segment.kind {
        SegmentKind::Rejected(reason) => Some(reason.as_str()),
        _ => None,
    })
}
