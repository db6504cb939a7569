//! The loop of an ingest: source -> lines -> rows -> write, in batches; and the account of it.
//!
//! A batch of whole lines and the source's new offset are one transaction. Nothing is opened for
//! writing before there is a whole line to write.

mod look;
mod notes;
mod stdin;
mod summary;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use look::{Look, look_at_all};
pub use notes::Note;
pub use summary::{Counters, FileReport, Summary};

use crate::exit::{Exit, Failure};
use crate::journal::inputs::Input;
use crate::journal::lines::{Ending, Line, Lines, MAX_LINE, Position};
use crate::journal::pieces::{Content, PieceKind, read_line};
use crate::journal::row::Row;
use crate::store;
use crate::store::sources::{self, FileId, Resumption};
use crate::store::write::{Reached, Reject, RejectKind, Stored, Writer};

/// Lines per transaction: so much an ingest that is killed reads again.
pub const BATCH_LINES: u64 = 50_000;

/// Between two batches the write lock is free for so long that whoever waits for it gets it.
const PAUSE: Duration = Duration::from_millis(3);

/// How to read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether the last line is whole even without a newline.
    pub is_final: bool,
    /// Whether the first bad line ends it.
    pub is_strict: bool,
    /// How long to wait for the write lock.
    pub busy_timeout: Duration,
}

/// Whoever watches an ingest.
pub trait Watcher {
    /// So many more bytes were read.
    fn advanced(&mut self, bytes: u64);
    /// So many bytes of a file were read before, or wait, and will not be read now.
    fn skipped(&mut self, bytes: u64);
    /// Something the user should know of now.
    fn warn(&mut self, message: &str);
}

/// Reads what is new of the inputs into the database.
///
/// # Errors
/// When the database cannot be written, or a strict ingest met a bad line. A file that cannot be
/// read does not stop the others: see [`Summary::failures`].
pub fn ingest(
    database: &Path,
    inputs: &[Input],
    options: &Options,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Summary> {
    let started = Instant::now();
    let mut summary = Summary {
        files: Vec::new(),
        total: Counters::default(),
        seconds: 0.0,
        notes: BTreeMap::new(),
        failures: Vec::new(),
        is_interrupted: false,
    };
    let looks: Vec<Result<Look>> = look_at_all(database, inputs, options)?;
    let must_write = looks.iter().any(|look| matches!(look, Ok(Look::New)));
    let connection = must_write.then(|| store::open_to_write(database, options.busy_timeout)).transpose()?;
    let mut writer = connection.as_ref().map(Writer::new).transpose()?;
    let mut outcome = Ok(());
    for (input, look) in inputs.iter().zip(looks) {
        if stop.load(Ordering::Relaxed) {
            summary.is_interrupted = true;
            break;
        }
        let report = match (look, &mut writer) {
            (Ok(Look::New), Some(writer)) => {
                let notes = &mut summary.notes;
                let mut reading = Reading {
                    options,
                    stop,
                    watcher,
                    writer,
                    notes,
                    input,
                    counted: Counters::default(),
                    resumed_at: None,
                    met_row: false,
                };
                reading.read()
            }
            (Ok(Look::Old(report)), _) => {
                watcher.skipped(report.resumed_at + report.counters.pending_bytes);
                Ok((report, None))
            }
            (Ok(Look::New), None) => unreachable!("a writer was opened for new lines"),
            (Err(failure), _) => {
                summary.failures.push(failure);
                continue;
            }
        };
        match report {
            Ok((report, failure)) => {
                summary.total.add(&report.counters);
                summary.files.push(report);
                summary.failures.extend(failure);
            }
            Err(error) => {
                outcome = Err(store::explain(database, error));
                break;
            }
        }
    }
    drop(writer);
    let closed = connection.map_or(Ok(()), |connection| {
        // What an error left in the middle of a batch is not wanted.
        if !connection.is_autocommit() {
            connection.execute_batch("rollback")?;
        }
        store::close(connection)
    });
    outcome?;
    closed.map_err(|error| {
        store::explain(database, error)
            .context("what was read is stored, but the database could not be closed well")
    })?;
    if !must_write {
        store::settle(database)?;
    }
    summary.is_interrupted |= stop.load(Ordering::Relaxed);
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

/// One input on its way into the database.
struct Reading<'i, 'w, 'c> {
    options: &'i Options,
    stop: &'i AtomicBool,
    watcher: &'i mut dyn Watcher,
    writer: &'w mut Writer<'c>,
    notes: &'i mut BTreeMap<Note, u64>,
    input: &'i Input,
    /// What was committed before another ingest moved the source, and where that began.
    counted: Counters,
    resumed_at: Option<u64>,
    /// Whether some line gave a row, stored or not.
    met_row: bool,
}

/// An opened input, and the source that it turned out to be.
struct Opened<'i> {
    bytes: Box<dyn Read + 'i>,
    file: Option<FileId>,
    ending: Ending,
    /// Of a stream: how many pieces of it can be read without waiting.
    stream: Option<Arc<AtomicUsize>>,
    resumption: Option<Resumption>,
    /// Said when the file does not hold any more what was read of it.
    lost: Option<String>,
}

/// A report, and why it ends early.
type Outcome = (FileReport, Option<anyhow::Error>);

impl<'i> Reading<'i, '_, '_> {
    fn read(&mut self) -> Result<Outcome> {
        loop {
            // Opened under the lock: no other ingest can move the source in between.
            if matches!(self.input, Input::File(_)) {
                self.writer.begin()?;
            }
            let opened = match self.open() {
                Ok(opened) => opened,
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

    fn open(&self) -> Result<Opened<'i>> {
        let known = sources::load_all(self.writer.connection())?;
        match self.input {
            Input::Stdin => {
                let opened = stdin::open(&known, self.stop).context("cannot read standard input")?;
                Ok(Opened {
                    bytes: opened.bytes,
                    file: None,
                    ending: Ending::Complete,
                    stream: Some(opened.waiting),
                    resumption: opened.resumption,
                    lost: None,
                })
            }
            Input::File(path) => {
                let cannot = || format!("cannot read {}", path.display());
                let mut file = File::open(path).with_context(cannot)?;
                let id = FileId::of(&file.metadata().with_context(cannot)?);
                let resumption = sources::recognise(&known, &file, Some(id)).with_context(cannot)?;
                let offset = resumption.as_ref().map_or(0, |from| from.position.offset);
                file.seek(SeekFrom::Start(offset)).with_context(cannot)?;
                let before = known.iter().find(|source| {
                    resumption.is_none() && source.path == stored_path(path) && source.file == Some(id)
                });
                let lost = before.map(|source| {
                    format!(
                        "{}: does not hold any more what was read of it up to byte {} (truncated or \
                         rewritten): read from the start, as a new source",
                        path.display(),
                        source.offset
                    )
                });
                Ok(Opened {
                    bytes: Box::new(file),
                    file: Some(id),
                    ending: ending(self.options),
                    stream: None,
                    resumption,
                    lost,
                })
            }
        }
    }

    /// Reads to the end of the input. `None` when another ingest moved the source meanwhile: then
    /// it must be opened anew.
    fn read_opened(&mut self, opened: Opened<'i>) -> Result<Option<Outcome>> {
        let Opened { bytes, file, ending, stream, resumption, lost } = opened;
        if let Some(lost) = lost {
            self.watcher.warn(&lost);
        }
        let path = match self.input {
            Input::Stdin => "-".to_owned(),
            Input::File(path) => stored_path(path),
        };
        let mut had_rows = resumption.as_ref().is_some_and(|from| from.source.has_rows);
        let mut source_id = resumption.as_ref().map(|from| from.source.source_id);
        let position = resumption.map_or_else(Position::default, |from| from.position);
        let resumed_at = position.offset;
        let mut lines = Lines::resumed(bytes, ending, position);
        self.watcher.skipped(resumed_at);
        let first_resumed_at = *self.resumed_at.get_or_insert(resumed_at);
        let mut counters = std::mem::take(&mut self.counted);
        let mut committed_at = resumed_at;
        let mut batch = 0;
        let batch_lines = if self.options.is_strict { u64::MAX } else { BATCH_LINES };
        let mut failure = None;
        while !self.stop.load(Ordering::Relaxed) {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                // The wait for more of a stream was interrupted.
                Err(_) if self.stop.load(Ordering::Relaxed) => break,
                Err(error) => {
                    failure = Some(anyhow::Error::new(error).context(self.cannot_read()));
                    break;
                }
            };
            if self.writer.connection().is_autocommit() {
                self.writer.begin()?;
                let reached = source_id.map(|id| self.offset_of(id)).transpose()?.flatten();
                match reached {
                    Some(reached) if reached != line.offset && stream.is_none() => {
                        self.writer.roll_back()?;
                        counters.bytes += committed_at - resumed_at;
                        self.counted = counters;
                        return Ok(None);
                    }
                    // A stream cannot be opened anew, but what the other has read can be passed over.
                    Some(reached) if line.offset + line.len < reached => {
                        self.writer.roll_back()?;
                        continue;
                    }
                    _ => {}
                }
            }
            let source_id = match source_id {
                Some(source_id) => source_id,
                None => *source_id.insert(sources::insert(self.writer.connection(), &path, file)?),
            };
            self.writer.enter(source_id)?;
            self.take(&line, &mut counters)?;
            batch += 1;
            // Nothing whole is kept from others while a stream makes us wait; unless all of it is wanted
            // or nothing.
            let may_wait = stream.as_ref().is_some_and(|waiting| {
                !self.options.is_strict && waiting.load(Ordering::Relaxed) == 0 && !lines.has_buffered_line()
            });
            if batch >= batch_lines || may_wait {
                self.commit(&path, file, &lines)?;
                self.watcher.advanced(lines.offset() - committed_at);
                if batch >= batch_lines {
                    std::thread::sleep(PAUSE);
                }
                (committed_at, batch) = (lines.offset(), 0);
            }
        }
        if batch > 0 {
            self.commit(&path, file, &lines)?;
            self.watcher.advanced(lines.offset() - committed_at);
        } else {
            self.give_up_lock()?;
        }
        counters.bytes += lines.offset() - resumed_at;
        counters.pending_bytes = lines.pending_bytes();
        had_rows |= self.met_row;
        let is_no_journal = !had_rows && lines.line_count() > 0;
        let mut report = self.report(first_resumed_at, counters, is_no_journal);
        report.is_empty = lines.line_count() == 0 && lines.pending_bytes() == 0;
        Ok(Some((report, failure)))
    }

    fn cannot_read(&self) -> String {
        format!("cannot read {}", self.input.label())
    }

    fn report(&self, resumed_at: u64, counters: Counters, is_no_journal: bool) -> FileReport {
        FileReport { path: self.input.label(), resumed_at, counters, is_no_journal, is_empty: false }
    }

    fn offset_of(&self, source_id: i64) -> Result<Option<u64>> {
        let offset: i64 = self
            .writer
            .connection()
            .prepare_cached("select offset_bytes from sources where source_id = ?1")?
            .query_row([source_id], |row| row.get(0))?;
        Ok(u64::try_from(offset).ok())
    }

    fn commit(&mut self, path: &str, file: Option<FileId>, lines: &Lines<Box<dyn Read + '_>>) -> Result<()> {
        let reached = Reached {
            path,
            file,
            offset: lines.offset(),
            lines: lines.line_count(),
            head: lines.head(),
            tail: lines.tail(),
        };
        Ok(self.writer.commit(&reached)?)
    }

    /// Stores what a line holds.
    fn take(&mut self, line: &Line<'_>, counters: &mut Counters) -> Result<()> {
        counters.lines += 1;
        if line.is_oversized() {
            let reason = format!("longer than {} MiB", MAX_LINE >> 20);
            return self.reject(line, RejectKind::Rejected, 0, line.len, &reason, counters);
        }
        match read_line(line.bytes) {
            Content::Blank => Ok(()),
            Content::Row(row) => self.store(line, &row, 0, line.bytes.len(), counters),
            Content::Pieces(pieces) => {
                for piece in &pieces {
                    let (at, len) = (piece.at, piece.len as u64);
                    match &piece.kind {
                        PieceKind::Row(row) => self.store(line, row, at, piece.len, counters)?,
                        PieceKind::Rejected(reason) => {
                            self.reject(line, RejectKind::Rejected, at, len, reason, counters)?;
                        }
                        PieceKind::Repaired(what) => {
                            self.reject(line, RejectKind::Repaired, at, len, what, counters)?;
                        }
                    }
                }
                Ok(())
            }
        }
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
        self.met_row = true;
        notes::note(row, self.notes);
        let stored = match row {
            Row::Build(row) => self.writer.build(row, byte_offset)?,
            Row::Terminal(row) => self.writer.terminal(row, byte_offset)?,
            Row::Event(row) => self.writer.event(row, byte_offset)?,
        };
        match (stored, row) {
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
        if self.options.is_strict {
            self.writer.roll_back()?;
            let shown: String = String::from_utf8_lossy(raw).chars().take(200).collect();
            let message = format!(
                "{}:{}:{byte_offset}: {reason}; nothing of this file was kept: {shown:?}",
                self.input.label(),
                line.number
            );
            return Err(Failure::new(Exit::BadLine, message).into());
        }
        match kind {
            RejectKind::Rejected => counters.rejected += 1,
            RejectKind::Repaired => counters.repaired += 1,
        }
        let reject = Reject { kind, line_no: line.number, byte_offset, len_bytes: len, reason, raw };
        Ok(self.writer.reject(&reject)?)
    }
}

/// The name of a file as `sources` keeps it: absolute, links not followed.
fn stored_path(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

fn ending(options: &Options) -> Ending {
    if options.is_final { Ending::Complete } else { Ending::Open }
}
