//! What a line holds on its way into the tables: rows are stored, the rest is kept as rejects, and all of
//! it is counted. Where the line came from is not known here.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Counters;
use super::notes::{self, Note};
use crate::failure::{Failure, Kind};
use crate::journal::lines::{Line, MAX_LINE};
use crate::journal::row::Row;
use crate::journal::segments::{Content, SegmentKind};
use crate::journal::terminal::Terminal;
use crate::journal::text;
use crate::store::terminals::TOGETHER;
use crate::store::write::{Reject, RejectKind, Stored, Writer};

/// Takes lines of the writer's current source.
pub(super) struct Loader<'t, 'c> {
    writer: &'t mut Writer<'c>,
    notes: &'t mut BTreeMap<Note, u64>,
    /// Of a strict ingest: the name of the input whose first bad line ends it.
    strict: Option<String>,
    /// Whether some line gave a row, stored or not.
    pub met_row: bool,
}

impl<'t, 'c> Loader<'t, 'c> {
    /// Rows go to the writer, what is unknown in them to the notes.
    pub(super) fn new(
        writer: &'t mut Writer<'c>,
        notes: &'t mut BTreeMap<Note, u64>,
        strict: Option<String>,
    ) -> Self {
        Self { writer, notes, strict, met_row: false }
    }

    /// Stores what lines hold, in their order.
    ///
    /// # Errors
    /// When the database cannot be written, or a strict ingest met a bad line.
    pub(super) fn take<'l>(
        &mut self,
        lines: impl Iterator<Item = (Line<'l>, &'l Content<'l>)>,
        counters: &mut Counters,
    ) -> Result<()> {
        // Terminals that came one after the other.
        let mut together = Vec::with_capacity(TOGETHER);
        for (line, content) in lines {
            counters.lines += 1;
            match content {
                Content::Row(row @ Row::Terminal(terminal)) if !line.is_oversized() => {
                    together.push((line, row, &**terminal));
                }
                _ => {
                    self.take_terminals(&mut together, counters)?;
                    self.take_line(&line, content, counters)?;
                }
            }
            if together.len() == TOGETHER {
                self.take_terminals(&mut together, counters)?;
            }
        }
        self.take_terminals(&mut together, counters)
    }

    fn take_line(&mut self, line: &Line<'_>, content: &Content<'_>, counters: &mut Counters) -> Result<()> {
        if line.is_oversized() {
            let reason = format!("longer than {} MiB", MAX_LINE >> 20);
            return self.reject(line, RejectKind::Rejected, 0, line.len, &reason, counters);
        }
        match content {
            Content::Blank => Ok(()),
            Content::Row(row) => self.store(line, row, 0, line.bytes.len(), counters),
            Content::Segments(segments) => {
                for segment in segments {
                    let (at, len) = (segment.at, segment.len as u64);
                    match &segment.kind {
                        SegmentKind::Row(row) => self.store(line, row, at, segment.len, counters)?,
                        SegmentKind::Rejected(reason) => {
                            self.reject(line, RejectKind::Rejected, at, len, reason, counters)?;
                        }
                        SegmentKind::Repaired(what) => {
                            self.reject(line, RejectKind::Repaired, at, len, what, counters)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn take_terminals<'l>(
        &mut self,
        together: &mut Vec<(Line<'l>, &'l Row<'l>, &'l Terminal<'l>)>,
        counters: &mut Counters,
    ) -> Result<()> {
        let placed: Vec<_> = together.iter().map(|(line, _, terminal)| (*terminal, line.offset)).collect();
        let stored = self.writer.terminals(&placed)?;
        for ((line, row, _), stored) in together.drain(..).zip(stored) {
            self.count(&line, row, 0, line.bytes.len(), stored, counters)?;
        }
        Ok(())
    }

    fn store(
        &mut self,
        line: &Line<'_>,
        row: &Row<'_>,
        at: usize,
        len: usize,
        counters: &mut Counters,
    ) -> Result<()> {
        let byte_offset = line.offset + at as u64;
        let stored = match row {
            Row::Build(row) => self.writer.build(row, byte_offset)?,
            Row::Terminal(row) => self.writer.terminals(&[(row, byte_offset)])?[0],
            Row::Event(row) => self.writer.event(row, byte_offset)?,
        };
        self.count(line, row, at, len, stored, counters)
    }

    /// Counts a row by what became of it.
    fn count(
        &mut self,
        line: &Line<'_>,
        row: &Row<'_>,
        at: usize,
        len: usize,
        stored: Stored,
        counters: &mut Counters,
    ) -> Result<()> {
        self.met_row = true;
        match (stored, row) {
            (Stored::Forgotten, _) => {
                counters.forgotten += 1;
                return Ok(());
            }
            (Stored::Duplicate, _) => counters.duplicates += 1,
            (Stored::Conflict, _) => {
                let reason = "conflict: another row of the same run, rid and arrived was stored before, \
                              and stays";
                self.reject(line, RejectKind::Rejected, at, len as u64, reason, counters)?;
            }
            (Stored::New, Row::Build(_)) => counters.builds += 1,
            (Stored::New, Row::Terminal(row)) => {
                counters.terminals += 1;
                counters.attempt_failures +=
                    row.attempt_failures.as_ref().map_or(0, |entries| entries.len() as u64);
            }
            (Stored::New, Row::Event(_)) => counters.events += 1,
        }
        notes::note(row, self.notes);
        Ok(())
    }

    fn reject(
        &mut self,
        line: &Line<'_>,
        kind: RejectKind,
        at: usize,
        len: u64,
        reason: &str,
        counters: &mut Counters,
    ) -> Result<()> {
        let byte_offset = line.offset + at as u64;
        let raw = &line.bytes[at..line.bytes.len().min(at + len as usize)];
        if let Some(input) = &self.strict {
            let shown: String = String::from_utf8_lossy(raw).chars().take(200).collect();
            let message = format!(
                "{input}:{}:{byte_offset}: {reason}; nothing of this file was kept: {shown:?}",
                line.number
            );
            return Err(Failure::new(Kind::BadLine, message).into());
        }
        let reject = Reject { kind, line_no: line.number, byte_offset, len_bytes: len, reason, raw };
        if kind == RejectKind::Rejected
            && let Some(reason) = text::why_packed(raw, byte_offset)
        {
            counters.rejected += u64::from(self.writer.reject_packed(&Reject { reason: &reason, ..reject })?);
            return Ok(());
        }
        if kind == RejectKind::Rejected
            && text::may_stand_among_packed(raw)
            && self.writer.extend_packed(&reject)?
        {
            return Ok(());
        }
        match kind {
            RejectKind::Rejected => counters.rejected += 1,
            RejectKind::Repaired => counters.repaired += 1,
        }
        Ok(self.writer.reject(&reject)?)
    }
}
