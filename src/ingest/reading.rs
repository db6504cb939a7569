//! One input on its way into the database: opened, recognised, its blocks stored in batches.
//!
//! A batch of whole lines and the source's new offset are one transaction.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};

use super::blocks::{Blocks, Next};
use super::notes::Note;
use super::open::{Opened, lost, open, resume, stored_name};
use super::taking::Taking;
use super::{Counters, FileReport, Options, Watcher, stdin};
use crate::journal::inputs::Input;
use crate::journal::lines::{Lines, Position};
use crate::store::sources::{self, FileId, Source};
use crate::store::write::Writer;

/// Lines per transaction, or a block more: so much an ingest that is killed reads again.
pub const BATCH_LINES: u64 = 50_000;

/// Between two batches the write lock is free for so long that whoever waits for it gets it.
const PAUSE: Duration = Duration::from_millis(3);

/// One input on its way into the database.
pub(super) struct Reading<'i, 'w, 'c> {
    options: &'i Options,
    stop: &'i AtomicBool,
    watcher: &'i mut dyn Watcher,
    writer: &'w mut Writer<'c>,
    notes: &'i mut BTreeMap<Note, u64>,
    input: &'i Input,
    handle: Option<&'i File>,
    /// How far the same file was read when it held other content.
    lost: Option<u64>,
    /// What was committed before another ingest moved the source, and where that began.
    counted: Counters,
    resumed_at: Option<u64>,
    /// Whether some line gave a row, stored or not.
    met_row: bool,
}

/// How far the reading of an input has come.
struct Progress {
    path: String,
    file: Option<FileId>,
    source_id: Option<i64>,
    /// Whether the source is known by a name that does not lead to it any more.
    is_renamed: bool,
    committed: Position,
    read: Position,
    /// Lines taken since the last commit.
    batch: u64,
    counters: Counters,
}

/// Bytes of an unfinished line, and why there is no more.
type End = (u64, Option<io::Error>);

/// A report, and why it ends early.
type Outcome = (FileReport, Option<anyhow::Error>);

impl<'i, 'w, 'c> Reading<'i, 'w, 'c> {
    /// A reading of what is new of an input.
    pub(super) fn new(
        input: &'i Input,
        options: &'i Options,
        stop: &'i AtomicBool,
        watcher: &'i mut dyn Watcher,
        writer: &'w mut Writer<'c>,
        notes: &'i mut BTreeMap<Note, u64>,
    ) -> Self {
        let counted = Counters::default();
        Self {
            options,
            stop,
            watcher,
            writer,
            notes,
            input,
            handle: None,
            lost: None,
            counted,
            resumed_at: None,
            met_row: false,
        }
    }

    /// Reads the file by this handle, whatever stands at its path now.
    pub(super) fn through(&mut self, handle: &'i File) -> &mut Self {
        self.handle = Some(handle);
        self
    }

    /// Reads to the end of the input.
    ///
    /// # Errors
    /// When the database cannot be written, or a strict ingest met a bad line. Why the input could not
    /// be read, or not to its end, is part of the outcome.
    pub(super) fn read(&mut self) -> Result<Outcome> {
        loop {
            // Opened under the lock: no other ingest can move the source in between.
            if matches!(self.input, Input::File(_)) {
                self.writer.begin()?;
            }
            let opened = match self.open() {
                Ok(opened) => opened,
                Err(error) if error.is::<rusqlite::Error>() => return Err(error),
                Err(error) => {
                    self.give_up_lock()?;
                    return Ok((self.report(0, Counters::default(), false), Some(error)));
                }
            };
            if let Some(outcome) = self.read_opened(opened)? {
                return Ok(outcome);
            }
        }
    }

    fn give_up_lock(&mut self) -> Result<()> {
        if !self.writer.connection().is_autocommit() {
            self.writer.roll_back()?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<Opened<'i>> {
        let known = sources::load_all(self.writer.connection())?;
        match self.input {
            Input::Stdin => stdin::open(&known, self.stop).context("cannot read standard input"),
            Input::File(path) => {
                let cannot = || self.cannot_read();
                let (file, metadata) = match self.handle {
                    Some(handle) => handle.try_clone().and_then(|file| Ok((file, handle.metadata()?))),
                    None => open(path),
                }
                .with_context(cannot)?;
                let same_file = file.try_clone().with_context(cannot)?;
                let opened = resume(file, &metadata, &known, self.options).with_context(cannot)?;
                self.lost = match &opened.resumption {
                    // It goes on as this file did.
                    Some(from) if from.source.file == opened.file => None,
                    // What it holds may be known from another, a copy, and yet not be what it held.
                    _ => self.read_before(&known, &same_file, opened.file).with_context(cannot)?,
                };
                Ok(opened)
            }
        }
    }

    /// How far the file was read when it held what it does not hold any more.
    fn read_before(&self, known: &[Source], file: &File, id: Option<FileId>) -> io::Result<Option<u64>> {
        let path = stored_name(self.input);
        // The number of a file that was removed is given to a new one; one with another name, that does
        // not lead to it, is that.
        let is_same =
            |source: &&Source| source.file == id && (source.path == path || source.is_at_its_path());
        let before = known.iter().filter(is_same).max_by_key(|source| source.source_id);
        let Some(before) = before else { return Ok(None) };
        Ok(if before.is_held_by(file)? { None } else { Some(before.offset) })
    }

    /// Reads to the end of the input. `None` when another ingest moved the source meanwhile: then
    /// it must be opened anew.
    fn read_opened(&mut self, opened: Opened<'i>) -> Result<Option<Outcome>> {
        let Opened { bytes, file, ending, stream, resumption, archive, trailing } = opened;
        let path = stored_name(self.input);
        let had_rows = resumption.as_ref().is_some_and(|from| from.source.has_rows);
        let source_id = resumption.as_ref().map(|from| from.source.source_id);
        let is_renamed =
            stream.is_none() && resumption.as_ref().is_some_and(|from| !from.source.is_at_its_path());
        let from = resumption.map_or_else(Position::default, |from| from.position);
        self.watcher.skipped(from.offset);
        let resumed_at = *self.resumed_at.get_or_insert(from.offset);
        let mut progress = Progress {
            path,
            file,
            source_id,
            is_renamed,
            committed: from.clone(),
            read: from.clone(),
            batch: 0,
            counters: std::mem::take(&mut self.counted),
        };
        let lines = Lines::resumed(bytes, ending, from.clone());
        let end = std::thread::scope(|scope| {
            let mut blocks = match &stream {
                Some(_) => Blocks::here(lines),
                None => Blocks::ahead(lines, scope),
            };
            self.read_blocks(&mut blocks, stream.as_deref(), &mut progress)
        })?;
        let Some((pending_bytes, failure)) = end else {
            progress.counters.bytes += progress.committed.offset - from.offset;
            self.counted = progress.counters;
            return Ok(None);
        };
        let Progress { path, source_id, read, mut counters, .. } = progress;
        if let (Some(archive), Some(source_id), None) = (archive, source_id, &failure)
            && !self.stop.load(Ordering::Relaxed)
        {
            archive.remember(self.writer.connection(), source_id, &path)?;
        }
        if let Some(warning) = trailing.warning() {
            self.watcher.warn(&format!("{}: {warning}", self.input.label()));
        }
        counters.bytes += read.offset - from.offset;
        counters.pending_bytes = pending_bytes;
        let is_no_journal = !had_rows && !self.met_row && read.lines > 0;
        let mut report = self.report(resumed_at, counters, is_no_journal);
        report.is_empty = read.lines == 0 && pending_bytes == 0;
        let failure = failure.map(|error| anyhow::Error::new(error).context(self.cannot_read()));
        Ok(Some((report, failure)))
    }

    /// Stores block after block, until the end or an interruption: then the bytes of an unfinished line,
    /// and why there is no more. `None` when another ingest moved the source.
    fn read_blocks(
        &mut self,
        blocks: &mut Blocks<'_>,
        stream: Option<&AtomicUsize>,
        progress: &mut Progress,
    ) -> Result<Option<End>> {
        // All of a strict ingest is wanted or nothing.
        let batch_lines = if self.options.is_strict { u64::MAX } else { BATCH_LINES };
        let mut end = (0, None);
        while !self.stop.load(Ordering::Relaxed) {
            let block = match blocks.next() {
                Next::Block(block) => block,
                // The wait for more of a stream was interrupted.
                Next::End { pending_bytes, failure: Some(_) } if self.stop.load(Ordering::Relaxed) => {
                    end = (pending_bytes, None);
                    break;
                }
                Next::End { pending_bytes, failure } => {
                    end = (pending_bytes, failure);
                    break;
                }
            };
            let mut from = block.offset();
            if self.writer.connection().is_autocommit() {
                self.writer.begin()?;
                let reached = progress.source_id.map(|id| self.offset_of(id)).transpose()?;
                match reached {
                    Some(reached) if reached != from && stream.is_none() => {
                        self.writer.roll_back()?;
                        return Ok(None);
                    }
                    // A stream cannot be opened anew, but what the other has read can be passed over.
                    Some(reached) if block.after().offset <= reached => {
                        self.writer.roll_back()?;
                        continue;
                    }
                    Some(reached) => from = from.max(reached),
                    None => {}
                }
            }
            if let Some(offset) = self.lost.take() {
                self.watcher.warn(&lost(self.input, offset, progress.committed.offset));
            }
            let source_id = match progress.source_id {
                Some(source_id) => source_id,
                None => {
                    let new = sources::insert(self.writer.connection(), &progress.path, progress.file)?;
                    *progress.source_id.insert(new)
                }
            };
            self.writer.enter(source_id)?;
            let mut taking = Taking::new(self.writer, self.notes, self.refuses_bad_lines_of());
            // A line of which the other has read the beginning is taken whole.
            let lines = block.lines().filter(|(line, _)| line.offset + line.len >= from);
            taking.take(lines, &mut progress.counters)?;
            self.met_row |= taking.met_row;
            progress.batch += block.len();
            progress.read.clone_from(block.after());
            // Nothing whole is kept from others while a stream makes us wait; unless all of it is wanted
            // or nothing.
            let may_wait = stream.is_some_and(|waiting| {
                !self.options.is_strict && waiting.load(Ordering::Relaxed) == 0 && !block.more_is_buffered()
            });
            blocks.give_back(block);
            if progress.batch >= batch_lines || may_wait {
                let is_full = progress.batch >= batch_lines;
                self.commit(progress)?;
                if is_full {
                    std::thread::sleep(PAUSE);
                }
            }
        }
        if progress.batch > 0 {
            self.commit(progress)?;
        } else if let Some(source_id) = progress.source_id
            && progress.is_renamed
            && !self.writer.connection().is_autocommit()
        {
            // Or else a new file that is given its number and has its old name would seem to be it, cut off.
            sources::relocate(self.writer.connection(), source_id, &progress.path, progress.file)?;
            self.writer.connection().execute_batch("commit")?;
        } else {
            self.give_up_lock()?;
        }
        Ok(Some(end))
    }

    fn refuses_bad_lines_of(&self) -> Option<String> {
        self.options.is_strict.then(|| self.input.label())
    }

    fn cannot_read(&self) -> String {
        format!("cannot read {}", self.input.label())
    }

    fn report(&self, resumed_at: u64, counters: Counters, is_no_journal: bool) -> FileReport {
        FileReport { path: self.input.label(), resumed_at, counters, is_no_journal, is_empty: false }
    }

    fn offset_of(&self, source_id: i64) -> Result<u64> {
        Ok(sources::next_offset(self.writer.connection(), source_id)?)
    }

    fn commit(&mut self, progress: &mut Progress) -> Result<()> {
        let reached = sources::Progress {
            path: &progress.path,
            file: progress.file,
            from: progress.committed.offset,
            offset: progress.read.offset,
            lines: progress.read.lines,
            head: &progress.read.head,
            tail: &progress.read.tail,
        };
        self.writer.commit(&reached)?;
        self.watcher.advanced(progress.read.offset - progress.committed.offset);
        progress.committed.clone_from(&progress.read);
        progress.batch = 0;
        Ok(())
    }
}
