//! One input on its way into the database: opened, recognised, its blocks stored in batches.
//!
//! A batch of whole lines and the source's new offset are one transaction, which goes on after the end of the
//! input: small files share it. Whoever reads input after input ends it, see [`Sharing`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::blocks::{Blocks, Next};
use super::notes::Note;
use super::open::{Opened, lost, stored_name};
use super::taking::Taking;
use super::{Counters, FileReport, Options, Watcher, stdin, times};
use crate::failure::{Kind, kind_of};
use crate::journal::files;
use crate::journal::inputs::Input;
use crate::journal::lines::{Lines, Position};
use crate::sources::file::Recognised;
use crate::stdio;
use crate::store;
use crate::store::sources::{self, FileId, Source};
use crate::store::write::Writer;

/// Lines per transaction, or a block more: so much an ingest that is killed reads again.
pub const BATCH_LINES: u64 = 50_000;

/// Between two batches the write lock is free for so long that whoever waits for it gets it.
const PAUSE: Duration = Duration::from_millis(3);

/// Only files of at most so many bytes are read in a transaction with others before them.
const SMALL: u64 = 1 << 20;

/// And only for so long: others wait for the write lock meanwhile.
const SHARED_FOR: Duration = Duration::from_millis(100);

/// The transaction that small files share: each costs a wait for the disk otherwise, which is most of the time
/// that it takes to read a thousand of them.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// When it was begun, and how many lines were taken in it.
    begun: Option<Instant>,
    lines: u64,
    /// The sources as they were when it was begun, and those that were read in it since: to look them all up
    /// for each of many files takes longer than to read those.
    known: Option<Vec<Source>>,
    moved: Vec<i64>,
}

impl Sharing {
    /// The sources, as the transaction has them.
    fn known(&mut self, writer: &Writer<'_>) -> rusqlite::Result<Vec<Source>> {
        let moved = std::mem::take(&mut self.moved);
        match self.known.take() {
            // Outside of a transaction anybody may have moved them.
            Some(mut known) if !writer.connection().is_autocommit() => {
                sources::load_again(writer.connection(), &mut known, &moved)?;
                Ok(known)
            }
            _ => sources::load_all(writer.connection()),
        }
    }

    /// Commits what is whole, unless the transaction can go on with the next input.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn end_before(&mut self, next: &Input, writer: &Writer<'_>) -> Result<()> {
        let is_small = match next {
            Input::File(path) => path.metadata().is_ok_and(|metadata| metadata.len() <= SMALL),
            // It may make us wait.
            Input::Stdin | Input::Stream(_) => false,
        };
        let is_over = self.begun.is_some_and(|begun| begun.elapsed() > SHARED_FOR);
        if !is_small || is_over || self.lines >= BATCH_LINES {
            let is_committed = self.end(writer)?;
            if is_committed && is_over {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Commits what is whole; whether there was anything to commit.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn end(&mut self, writer: &Writer<'_>) -> Result<bool> {
        *self = Self::default();
        let is_open = !writer.connection().is_autocommit();
        if is_open {
            writer.connection().execute_batch("commit")?;
        }
        Ok(is_open)
    }
}

/// One input on its way into the database.
pub(super) struct Reading<'i, 'w, 'c> {
    options: &'i Options,
    stop: &'i AtomicBool,
    watcher: &'i mut dyn Watcher,
    writer: &'w mut Writer<'c>,
    notes: &'i mut BTreeMap<Note, u64>,
    sharing: &'i mut Sharing,
    input: &'i Input,
    handle: Option<&'i File>,
    /// What is read; none of standard input.
    opened: Option<File>,
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
        sharing: &'i mut Sharing,
    ) -> Self {
        let counted = Counters::default();
        Self {
            options,
            stop,
            watcher,
            writer,
            notes,
            sharing,
            input,
            handle: None,
            opened: None,
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

    /// Reads to the end of the input. What was read last of it is committed by whoever reads the next.
    ///
    /// # Errors
    /// When the database cannot be written, or a strict ingest met a bad line. Why the input could not
    /// be read, or not to its end, is part of the outcome.
    pub(super) fn read(&mut self) -> Result<Outcome> {
        loop {
            // Opened under the lock: no other ingest can move the source in between.
            if matches!(self.input, Input::File(_)) && self.writer.connection().is_autocommit() {
                self.begin()?;
            }
            let opened = match self.open() {
                Ok(opened) => opened,
                Err(error) if error.is::<rusqlite::Error>() => return Err(error),
                Err(error) => {
                    return Ok((self.report(0, Counters::default(), false), Some(error)));
                }
            };
            if let Some(outcome) = self.read_opened(opened)? {
                return Ok(outcome);
            }
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.writer.begin()?;
        *self.sharing = Sharing { begun: Some(Instant::now()), ..Sharing::default() };
        Ok(())
    }

    fn open(&mut self) -> Result<Opened<'i>> {
        let known = self.sharing.known(self.writer)?;
        let opened = self.open_among(&known);
        self.sharing.known = Some(known);
        opened
    }

    fn open_among(&mut self, known: &[Source]) -> Result<Opened<'i>> {
        match self.input {
            Input::Stdin => stdin::open(stdio::stdin(), known, self.stop, self.folder())
                .context("cannot read standard input"),
            Input::Stream(path) => File::open(path)
                .map_err(anyhow::Error::from)
                .and_then(|stream| stdin::open(stream, known, self.stop, self.folder()))
                .with_context(|| self.cannot_read()),
            Input::File(path) => {
                let cannot = || self.cannot_read();
                let (file, metadata) = match self.handle {
                    Some(handle) => handle.try_clone().and_then(|file| Ok((file, handle.metadata()?))),
                    None => files::open(path),
                }
                .with_context(cannot)?;
                let same_file = file.try_clone().with_context(cannot)?;
                let recognised = Recognised::of(file, &metadata, known).with_context(cannot)?;
                let path = stored_name(self.input);
                self.lost = recognised.rewritten(&same_file, &path, known).with_context(cannot)?;
                self.opened = Some(same_file);
                Ok(Opened::file(recognised, self.options.is_final))
            }
        }
    }

    /// Reads to the end of the input. `None` when another ingest moved the source meanwhile: then
    /// it must be opened anew.
    fn read_opened(&mut self, opened: Opened<'i>) -> Result<Option<Outcome>> {
        let Opened { bytes, file, ending, stream, resumption, archive, trailing, is_renamed } = opened;
        let path = stored_name(self.input);
        let had_rows = resumption.as_ref().is_some_and(|from| from.source.has_rows);
        let source_id = resumption.as_ref().map(|from| from.source.source_id);
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
        self.sharing.moved.extend(source_id);
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
        let mut is_marked = false;
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
                self.begin()?;
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
            if self.options.is_strict && !is_marked && self.sharing.lines > 0 {
                self.writer.mark()?;
                is_marked = true;
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
            let taken = taking.take(lines, &mut progress.counters);
            self.met_row |= taking.met_row;
            if let Err(error) = taken {
                // Nothing of a file with a bad line is kept, files before it are.
                if kind_of(&error) == Some(Kind::BadLine) {
                    if is_marked { self.writer.roll_back_to_mark() } else { self.writer.roll_back() }?;
                }
                return Err(error);
            }
            progress.batch += block.len();
            progress.read.clone_from(block.after());
            // Nothing whole is kept from others while a stream makes us wait; unless all of it is wanted
            // or nothing.
            let may_wait = stream.is_some_and(|waiting| {
                !self.options.is_strict && waiting.load(Ordering::Relaxed) == 0 && !block.more_is_buffered()
            });
            blocks.give_back(block);
            let is_full = self.sharing.lines + progress.batch >= batch_lines;
            if is_full || may_wait {
                let bytes = self.save(progress)?;
                self.sharing.end(self.writer)?;
                self.watcher.advanced(bytes);
                if is_full {
                    std::thread::sleep(PAUSE);
                }
            }
        }
        if progress.batch > 0 {
            let bytes = self.save(progress)?;
            self.watcher.advanced(bytes);
        } else if let Some(source_id) = progress.source_id
            && progress.is_renamed
            && !self.writer.connection().is_autocommit()
        {
            // Or else a new file that is given its number and has its old name would seem to be it, cut off.
            sources::relocate(self.writer.connection(), source_id, &progress.path, progress.file)?;
        }
        if is_marked {
            self.writer.connection().execute_batch("release mark")?;
        }
        Ok(Some(end))
    }

    /// The folder of the database, which has room for what is read.
    fn folder(&self) -> Option<PathBuf> {
        store::file_of(self.writer.connection()).ok()?.parent().map(Path::to_owned)
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

    /// Saves what was read since the last commit; so many bytes.
    fn save(&mut self, progress: &mut Progress) -> Result<u64> {
        let reached = sources::Progress {
            path: &progress.path,
            file: progress.file,
            from: progress.committed.offset,
            offset: progress.read.offset,
            lines: progress.read.lines,
            head: &progress.read.head,
            tail: &progress.read.tail,
            written_by_s: times::written_by_s(self.opened.as_ref()),
        };
        for notice in self.writer.save(&reached)? {
            self.watcher.warn(&notice);
        }
        self.sharing.lines += progress.batch;
        let bytes = progress.read.offset - progress.committed.offset;
        progress.committed.clone_from(&progress.read);
        progress.batch = 0;
        Ok(bytes)
    }
}
