//! One input on its way into the database: opened, recognised, its blocks stored in batches.
//!
//! A batch of whole lines and the source's new offset are one transaction, which goes on after the end of the
//! input: small files share it. Whoever reads input after input ends it, see [`Sharing`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::blocks::{Block, Blocks, Next};
use super::loader::Loader;
use super::notes::Note;
use super::open::{Opened, lost, stored_name};
use super::sharing::{PAUSE, Sharing};
use super::{Counters, FileReport, Options, Watcher, stdin, times};
use crate::failure::{Kind, kind_of};
use crate::journal::compression::Rest;
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
struct ReadSoFar {
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

/// Where what is wanted of a block begins.
enum Beginning {
    /// At this byte.
    At(u64),
    /// After it.
    Later,
    /// Nobody knows: another ingest moved the source.
    Moved,
}

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
        *self.sharing = Sharing::begun_now();
        Ok(())
    }

    fn open(&mut self) -> Result<Opened<'i>> {
        let known = self.sharing.known(self.writer)?;
        let opened = self.open_among(&known);
        self.sharing.keep(known);
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
        let mut progress = ReadSoFar {
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
        let ReadSoFar { path, source_id, read, mut counters, .. } = progress;
        if let (Some(archive), Some(source_id), None) = (archive, source_id, &failure)
            && !self.is_stopped()
        {
            archive.remember(self.writer.connection(), source_id, &path)?;
        }
        self.sharing.moves(source_id);
        if let Some(rest) = trailing.rest() {
            let message = format!("{}: {}", self.input.label(), rest.said());
            match rest {
                Rest::Zeros => self.watcher.note(&message),
                Rest::Unread => self.watcher.warn(&message),
            }
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
        progress: &mut ReadSoFar,
    ) -> Result<Option<End>> {
        let mut end = (0, None);
        let mut is_marked = false;
        while !self.is_stopped() {
            let block = match blocks.next() {
                Next::Block(block) => block,
                Next::End { pending_bytes, failure } => {
                    // A wait for more of a stream that was interrupted has not failed.
                    end = (pending_bytes, failure.filter(|_| !self.is_stopped()));
                    break;
                }
            };
            let from = match self.beginning(&block, stream.is_some(), progress)? {
                Beginning::At(from) => from,
                Beginning::Later => continue,
                Beginning::Moved => return Ok(None),
            };
            if self.options.is_strict && !is_marked && self.sharing.lines > 0 {
                self.writer.mark()?;
                is_marked = true;
            }
            self.store(&block, from, is_marked, progress)?;
            // Nothing whole is kept from others while a stream makes us wait; unless all of it is wanted
            // or nothing.
            let may_wait = stream.is_some_and(|waiting| {
                !self.options.is_strict && waiting.load(Ordering::Relaxed) == 0 && !block.more_is_buffered()
            });
            blocks.give_back(block);
            self.commit_when_due(may_wait, progress)?;
        }
        self.finish(is_marked, progress)?;
        Ok(Some(end))
    }

    /// From which byte on a block is wanted. Between two transactions another ingest may have read of the source.
    fn beginning(&mut self, block: &Block, is_stream: bool, progress: &ReadSoFar) -> Result<Beginning> {
        let from = block.offset();
        if !self.writer.connection().is_autocommit() {
            return Ok(Beginning::At(from));
        }
        self.begin()?;
        let Some(source_id) = progress.source_id else { return Ok(Beginning::At(from)) };
        let reached = self.offset_of(source_id)?;
        if reached != from && !is_stream {
            self.writer.roll_back()?;
            return Ok(Beginning::Moved);
        }
        // A stream cannot be opened anew, but what the other has read can be passed over.
        if block.after().offset <= reached {
            self.writer.roll_back()?;
            return Ok(Beginning::Later);
        }
        Ok(Beginning::At(from.max(reached)))
    }

    /// Stores the lines of a block that end after this byte.
    fn store(&mut self, block: &Block, from: u64, is_marked: bool, progress: &mut ReadSoFar) -> Result<()> {
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
        let mut loader = Loader::new(self.writer, self.notes, self.refuses_bad_lines_of());
        // A line of which the other has read the beginning is taken whole.
        let lines = block.lines().filter(|(line, _)| line.offset + line.len >= from);
        let taken = loader.take(lines, &mut progress.counters);
        self.met_row |= loader.met_row;
        if let Err(error) = taken {
            // Nothing of a file with a bad line is kept, files before it are.
            if kind_of(&error) == Some(Kind::BadLine) {
                if is_marked { self.writer.roll_back_to_mark() } else { self.writer.roll_back() }?;
            }
            return Err(error);
        }
        progress.batch += block.len();
        progress.read.clone_from(block.after());
        Ok(())
    }

    /// Commits a full batch, and what is whole before the next bytes of a stream may let us wait.
    fn commit_when_due(&mut self, may_wait: bool, progress: &mut ReadSoFar) -> Result<()> {
        // All of a strict ingest is wanted or nothing.
        let is_full = !self.options.is_strict && self.sharing.lines + progress.batch >= BATCH_LINES;
        if is_full || may_wait {
            let bytes = self.save(progress)?;
            self.sharing.end(self.writer)?;
            self.watcher.advanced(bytes);
            if is_full {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Saves what was read last of an input, and where it is known by now.
    fn finish(&mut self, is_marked: bool, progress: &mut ReadSoFar) -> Result<()> {
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
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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
    fn save(&mut self, progress: &mut ReadSoFar) -> Result<u64> {
        let reached = sources::Reached {
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
