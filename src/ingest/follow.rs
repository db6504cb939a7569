//! Reads journals as they grow, until interrupted: through rotation and truncation, and before they are
//! there.
//!
//! Each file is looked at a few times a second, which costs a system call. What is new of it is read as
//! an ingest reads it, so a batch is committed at each look and the write lock is free in between. Which files
//! there are is the business of [`Files`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::followed::Files;
use super::reading::Reading;
use super::sharing::Sharing;
use super::{Options, Summary, Watcher};
use crate::failure::{Kind, kind_of};
use crate::journal::files;
use crate::journal::inputs::Depth;
use crate::sources::file::is_read_archive;
use crate::store;
use crate::store::location::{Location, SinceLeft};
use crate::store::write::Writer;

/// Between two looks.
const TICK: Duration = Duration::from_millis(200);

/// Reads what is new of the files and folders, and goes on with it until `stop`. In a folder each file
/// is followed that comes.
///
/// # Errors
/// When the database cannot be written, or is not at its place any more. Another process that holds the write
/// lock for too long is waited for; a file that cannot be read is said and tried again.
pub fn follow(
    database: &Path,
    (paths, depth): (&[PathBuf], Depth),
    options: &Options,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Summary> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let connection = store::open_to_write(database, options.busy_timeout)?;
    store::let_others_read(database, &connection, options.busy_timeout)?;
    let mut location = Location::of(database)?;
    location.leave(&connection).map_err(|error| store::explain(database, error))?;
    let mut writer = Writer::new(&connection)?;
    let mut files = Files::new();
    let mut outcome = Ok(());
    while outcome.is_ok() && !stop.load(Ordering::Relaxed) {
        let looked = Instant::now();
        outcome = location.check();
        let written = location.look(&connection);
        if outcome.is_ok() && written == SinceLeft::Over {
            break;
        }
        files.find(paths, depth, watcher);
        if outcome.is_ok() && written == SinceLeft::AsLeft {
            let how = (database, options, stop);
            outcome = read_changed(&mut files, &mut writer, how, watcher, &mut summary)
                .and_then(|()| location.leave(&connection).map_err(|error| store::explain(database, error)));
        }
        files.let_go(watcher, &mut summary);
        watcher.stands(&files.standing(&summary));
        while looked.elapsed() < TICK && outcome.is_ok() && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(TICK / 10);
        }
    }
    drop(writer);
    if location.check().is_ok() && location.is_overwritten(&connection) {
        return Err(location.overwritten(connection));
    }
    if let Err(error) = location.check() {
        store::location::abandon(connection);
        return Err(error);
    }
    super::close(database, connection, outcome)?;
    location.check()?;
    for file in files.followed {
        summary.take(file.report);
    }
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(summary)
}

/// Reads what was written since the last look, a small file and the next in one transaction.
///
/// # Errors
/// As [`follow`].
fn read_changed(
    files: &mut Files,
    writer: &mut Writer<'_>,
    (database, options, stop): (&Path, &Options, &AtomicBool),
    watcher: &mut dyn Watcher,
    summary: &mut Summary,
) -> Result<()> {
    let mut sharing = Sharing::default();
    for at in files.changed() {
        if stop.load(Ordering::Relaxed) {
            // What is left is read next time.
            break;
        }
        let opened = files.followed[at].open();
        files.close_quiet();
        let file = &mut files.followed[at];
        let input = file.input();
        let handle = match opened {
            Ok(Some(handle)) => handle,
            // Another file is at its name: the next look finds it.
            Ok(None) => {
                file.miss();
                continue;
            }
            Err(error) => {
                file.miss();
                file.tell(Some(format!("cannot read {}: {error}: waiting for it", input.label())), watcher);
                continue;
            }
        };
        // It is not unpacked again, with the write lock in hand.
        if file.report.is_none() && is_read_archive(&handle, writer.connection()) {
            continue;
        }
        let notes = &mut summary.notes;
        let read = sharing.end_before(&input, writer).and_then(|()| {
            Reading::new(&input, options, stop, watcher, writer, notes, &mut sharing).through(&handle).read()
        });
        match read {
            Ok((report, failure)) => {
                file.tell(failure.map(|error| files::in_words(&error)), watcher);
                file.add(report);
            }
            Err(error) if kind_of(&error) == Some(Kind::Busy) => {
                // Nothing of it is lost, it is read at the next look.
                file.miss();
                file.tell(Some(format!("{:#}", store::explain(database, error))), watcher);
            }
            Err(error) => return Err(store::explain(database, error)),
        }
    }
    sharing.end(writer).map_err(|error| store::explain(database, error))?;
    Ok(())
}
