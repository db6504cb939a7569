//! Reads journals as they grow, until interrupted: through rotation and truncation, and before they are
//! there.
//!
//! Each file is looked at a few times a second, which costs a system call. What is new of it is read as
//! an ingest reads it, so a batch is committed at each look and the write lock is free in between. A
//! file that was rotated away is read on by its handle, whatever its name is now, until it has been
//! quiet for a while.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;

use super::open::open;
use super::reading::Reading;
use super::{FileReport, Options, Summary, Watcher};
use crate::exit::{Exit, code_of};
use crate::journal::inputs::{self, Input};
use crate::store;
use crate::store::archives::Archive;
use crate::store::sources::FileId;
use crate::store::write::Writer;

/// Between two looks.
const TICK: Duration = Duration::from_millis(200);

/// A file that lost its name is read on until nothing came for so long: its writer opens the new one only
/// when it is told to.
const QUIET: Duration = Duration::from_secs(30);

/// Reads what is new of the files and folders, and goes on with it until `stop`. In a folder each file
/// is followed that comes.
///
/// # Errors
/// When the database cannot be written. Another process that holds the write lock for too long is waited
/// for; a file that cannot be read is said and tried again.
pub fn follow(
    database: &Path,
    paths: &[PathBuf],
    options: &Options,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Summary> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let connection = store::open_to_write(database, options.busy_timeout)?;
    store::let_others_read(database, &connection, options.busy_timeout)?;
    let mut writer = Writer::new(&connection)?;
    let mut files = Files::default();
    let mut outcome = Ok(());
    while outcome.is_ok() && !stop.load(Ordering::Relaxed) {
        let looked = Instant::now();
        for path in paths {
            files.find(path, watcher);
        }
        for file in files.changed() {
            if file.report.is_none() && is_read_archive(&file.handle, &connection) {
                continue;
            }
            let mut reading =
                Reading::new(&file.input, options, stop, watcher, &mut writer, &mut summary.notes);
            match reading.through(&file.handle).read() {
                Ok((report, failure)) => {
                    file.tell(failure, watcher);
                    file.add(report);
                }
                Err(error) if code_of(&error) == Exit::Busy => {
                    // Nothing of it is lost, it is read at the next look.
                    file.seen = None;
                    file.tell(Some(store::explain(database, error)), watcher);
                }
                Err(error) => {
                    outcome = Err(store::explain(database, error));
                    break;
                }
            }
        }
        files.let_go(watcher, &mut summary);
        while looked.elapsed() < TICK && outcome.is_ok() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK / 10);
        }
    }
    drop(writer);
    super::close(database, connection, outcome)?;
    for file in files.followed {
        summary.take(file.report);
    }
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

/// Whether it is an archive that was read to its end: it is not unpacked again, with the write lock in
/// hand.
fn is_read_archive(file: &File, connection: &Connection) -> bool {
    let source_id = Archive::of(file).map(|archive| archive.source_id(connection));
    matches!(source_id, Ok(Ok(Some(_))))
}

/// What changes about a file when it is written: its length, and when that was.
type Stamp = (u64, i64, i64);

/// A file that is followed.
struct Followed {
    input: Input,
    handle: File,
    id: FileId,
    /// As it was when it was last read; none when it must be read.
    seen: Option<Stamp>,
    changed_at: Instant,
    /// Whether a followed name still leads to it.
    is_named: bool,
    report: Option<FileReport>,
    /// What was last said to be wrong with it.
    told: Option<String>,
}

impl Followed {
    /// Whether it was written since it was last read.
    fn is_changed(&mut self) -> bool {
        let Ok(metadata) = self.handle.metadata() else { return false };
        let stamp = Some((metadata.len(), metadata.mtime(), metadata.mtime_nsec()));
        let is_changed = self.seen != stamp;
        if is_changed {
            self.seen = stamp;
            self.changed_at = Instant::now();
        }
        is_changed
    }

    /// Whether a name leads to it.
    fn is_at(&self, input: &Input) -> bool {
        let Input::File(name) = input else { return false };
        name.metadata().is_ok_and(|metadata| FileId::of(&metadata) == self.id)
    }

    fn add(&mut self, report: FileReport) {
        match &mut self.report {
            Some(sum) => sum.add(&report),
            None => self.report = Some(report),
        }
    }

    /// Says what is wrong with it, once.
    fn tell(&mut self, failure: Option<anyhow::Error>, watcher: &mut dyn Watcher) {
        let failure = failure.map(|error| format!("{error:#}"));
        if let Some(message) = &failure
            && self.told != failure
        {
            watcher.warn(message);
        }
        self.told = failure;
    }
}

/// The files that are followed.
#[derive(Default)]
struct Files {
    followed: Vec<Followed>,
    /// Paths at which nothing can be read now, which was said.
    missing: Vec<PathBuf>,
}

impl Files {
    /// Looks what is at a path now.
    fn find(&mut self, path: &Path, watcher: &mut dyn Watcher) {
        let named = match inputs::find(path) {
            Ok(found) => found.inputs,
            Err(error) => return self.miss(path, &error, watcher),
        };
        for input in &named {
            let Input::File(name) = input else { continue };
            let is_known = |id| self.followed.iter().any(|file| file.id == id && file.input == *input);
            // Most looks find what was there before: that need not be opened.
            match name.metadata().map(|metadata| FileId::of(&metadata)) {
                Ok(id) if is_known(id) => self.meet(input, id, None),
                _ => match open(name) {
                    Ok((handle, metadata)) => self.meet(input, FileId::of(&metadata), Some(handle)),
                    Err(error) => self.miss(name, &error.into(), watcher),
                },
            }
            self.missing.retain(|missing| missing != name);
        }
        self.missing.retain(|missing| missing != path);
        // A name leads to one file: what it led to before is read to its end by its handle.
        for file in &mut self.followed {
            let Input::File(name) = &file.input else { continue };
            if name == path || name.parent() == Some(path) {
                file.is_named = named.contains(&file.input) && file.is_named;
            }
        }
    }

    /// What stands at a name now; with a handle when it may be new.
    fn meet(&mut self, input: &Input, id: FileId, handle: Option<File>) {
        for file in &mut self.followed {
            if file.input == *input {
                file.is_named = file.id == id;
            }
        }
        if let Some(known) = self.followed.iter_mut().find(|file| file.id == id) {
            if known.input != *input && !known.is_at(&known.input) {
                // It is read once under its new name, to be known by that.
                known.seen = None;
            }
            known.input = input.clone();
            known.is_named = true;
            return;
        }
        let Some(handle) = handle else { return };
        let changed_at = Instant::now();
        self.followed.push(Followed {
            input: input.clone(),
            handle,
            id,
            seen: None,
            changed_at,
            is_named: true,
            report: None,
            told: None,
        });
    }

    /// Says once that a path is waited for.
    fn miss(&mut self, path: &Path, error: &anyhow::Error, watcher: &mut dyn Watcher) {
        for file in &mut self.followed {
            file.is_named &= file.input != Input::File(path.to_owned());
        }
        if !self.missing.iter().any(|missing| missing == path) {
            self.missing.push(path.to_owned());
            watcher.warn(&format!("{error:#}: waiting for it"));
        }
    }

    fn changed(&mut self) -> impl Iterator<Item = &mut Followed> {
        self.followed.iter_mut().filter_map(|file| file.is_changed().then_some(file))
    }

    /// Lets go of files that lost their name and are quiet.
    fn let_go(&mut self, watcher: &mut dyn Watcher, summary: &mut Summary) {
        let is_over = |file: &mut Followed| !file.is_named && file.changed_at.elapsed() > QUIET;
        for file in self.followed.extract_if(.., is_over) {
            if let Some(report) = &file.report
                && report.counters.pending_bytes > 0
            {
                watcher.warn(&format!(
                    "{}: was rotated away with an unfinished line of {} bytes, which was not read",
                    report.path, report.counters.pending_bytes
                ));
            }
            summary.take(file.report);
        }
    }
}
