//! The loop of an ingest: source -> lines -> rows -> write, in batches; and the account of it.
//!
//! A batch of whole lines and the source's new offset are one transaction, or part of one that small files
//! share. Nothing is opened for
//! writing before there is a whole line to write.

mod blocks;
mod follow;
mod followed;
mod loader;
mod notes;
mod open;
mod plan;
mod reading;
mod retry;
mod sharing;
mod stdin;
mod summary;
mod times;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;

pub use follow::follow;
pub use notes::Note;
use plan::{Plan, Renamed, plan_all};
pub use reading::BATCH_LINES;
use reading::Reading;
pub use retry::{Retried, Unreadable, retry};
use sharing::Sharing;
pub use summary::{Counters, FileReport, Summary};

use crate::failure::{Kind, kind_of};
use crate::journal::inputs::Input;
use crate::store;
use crate::store::archives::Archive;
use crate::store::location::{self, Location};
use crate::store::write::Writer;

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

/// How it stands with what is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowStanding {
    /// Files that are followed.
    pub files: u64,
    /// Terminals stored since it began.
    pub requests: u64,
    /// Bytes in the files that were not read, those of unfinished lines among them.
    pub behind_bytes: u64,
    /// Complaints that were made and still hold.
    pub waits_for: u64,
}

/// Whoever watches an ingest.
pub trait Watcher {
    /// So many more bytes were read.
    fn advanced(&mut self, bytes: u64);
    /// So many bytes of a file were read before, or wait, and will not be read now.
    fn skipped(&mut self, bytes: u64);
    /// Something the user should know of now.
    fn warn(&mut self, message: &str);
    /// Something worth knowing.
    fn note(&mut self, _message: &str) {}
    /// How it stands with what is followed, at each look.
    fn stands(&mut self, _standing: &FollowStanding) {}
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
    let mut summary = Summary::default();
    let plans: Vec<Result<Plan>> = plan_all(database, inputs, options)?;
    let must_write = plans.iter().any(|plan| matches!(plan, Ok(Plan::New)));
    let connection = must_write.then(|| store::open_to_write(database, options.busy_timeout)).transpose()?;
    let location = connection.as_ref().map(|_| Location::of(database)).transpose()?;
    let mut writer = connection.as_ref().map(Writer::new).transpose()?;
    let mut outcome = Ok(());
    let (mut archives, mut renamed) = (Vec::new(), Vec::new());
    let mut sharing = Sharing::default();
    for (input, look) in inputs.iter().zip(plans) {
        if stop.load(Ordering::Relaxed) {
            summary.is_interrupted = true;
            break;
        }
        let report = match (look, &mut writer) {
            // A file that was renamed is known by its new name from now on.
            (Ok(Plan::New | Plan::Renamed(..)), Some(writer)) => {
                let notes = &mut summary.notes;
                sharing.end_before(input, writer).and_then(|()| {
                    Reading::new(input, options, stop, watcher, writer, notes, &mut sharing).read()
                })
            }
            (Ok(Plan::OldArchive(report, archive, source_id)), _) => {
                archives.push((archive, source_id, open::stored_name(input)));
                Ok((report, None))
            }
            (Ok(Plan::Renamed(report, to)), None) => {
                renamed.push(to);
                watcher.skipped(report.resumed_at + report.counters.pending_bytes);
                Ok((report, None))
            }
            (Ok(Plan::Old(report)), _) => {
                watcher.skipped(report.resumed_at + report.counters.pending_bytes);
                Ok((report, None))
            }
            (Ok(Plan::New), None) => unreachable!("a writer was opened for new lines"),
            (Err(failure), _) => {
                summary.failures.push(failure);
                continue;
            }
        };
        match report {
            Ok((report, failure)) => {
                summary.take(Some(report));
                summary.failures.extend(failure);
            }
            Err(error) => {
                outcome = Err(store::explain(database, error));
                break;
            }
        }
    }
    if let Some(writer) = &writer {
        // Files before the one with a bad line are kept.
        let is_whole = outcome.as_ref().err().is_none_or(|error| kind_of(error) == Some(Kind::BadLine));
        if is_whole && let Err(error) = sharing.end(writer) {
            outcome = Err(store::explain(database, error));
        }
    }
    drop(writer);
    match connection.zip(location) {
        Some((connection, location)) => {
            if let Err(error) = location.check() {
                location::abandon(connection);
                return Err(error);
            }
            close(database, connection, outcome)?;
            location.check()?;
        }
        None => outcome?,
    }
    if !must_write {
        store::leave_wal(database)?;
    }
    if !archives.is_empty() || !renamed.is_empty() {
        remember(database, &archives, &renamed, options);
    }
    summary.is_interrupted |= stop.load(Ordering::Relaxed);
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

/// Ends the writing into a database, with what became of it.
fn close(database: &Path, connection: Connection, outcome: Result<()>) -> Result<()> {
    // What an error left in the middle of a batch is not wanted.
    let undone = if connection.is_autocommit() { Ok(()) } else { connection.execute_batch("rollback") };
    let closed = undone.map_err(anyhow::Error::from).and_then(|()| store::close(connection));
    outcome?;
    closed.map_err(|error| {
        store::explain(database, error)
            .context("what was read is stored, but the database could not be closed well")
    })
}

/// Remembers archives of which nothing was new, and the names of files that were only renamed. Nothing is lost when
/// the database cannot be written: that is found again next time.
fn remember(database: &Path, archives: &[(Archive, i64, String)], renamed: &[Renamed], options: &Options) {
    let Ok(connection) = store::open_to_write(database, options.busy_timeout) else { return };
    let archives = archives.iter().map(|(archive, id, path)| archive.remember(&connection, *id, path));
    let renamed = renamed.iter().map(|renamed| renamed.remember(&connection));
    // The first failure is the last try: each waits for a lock.
    let _ = archives.chain(renamed).collect::<rusqlite::Result<()>>();
    let _ = store::close(connection);
}
