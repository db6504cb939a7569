//! A look at what the inputs hold for this call: an ingest that finds nothing new opens nothing for
//! writing.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::open::{Opened, stored_name};
use super::{Counters, FileReport, Options};
use crate::journal::files;
use crate::journal::inputs::Input;
use crate::journal::lines::Lines;
use crate::sources::file::{Recognised, read_archive};
use crate::store;
use crate::store::archives::Archive;
use crate::store::sources::{self, FileId, Source};

/// What an input holds for this call.
pub(super) enum Plan {
    /// At least one whole line to read.
    New,
    /// Nothing to read.
    Old(FileReport),
    /// Nothing to read of a file that was renamed since it was read.
    Renamed(FileReport, Renamed),
    /// Nothing to read of an archive, which is not known as such yet; and its source.
    OldArchive(FileReport, Archive, i64),
}

/// Where the source of a renamed file is, by the database and by what was found.
pub(super) struct Renamed {
    source_id: i64,
    from: String,
    to: String,
    file: FileId,
}

impl Renamed {
    /// Has it known by its new name, unless somebody else has moved it.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn remember(&self, connection: &Connection) -> rusqlite::Result<()> {
        sources::relocate_from(connection, self.source_id, &self.from, &self.to, self.file)
    }
}

/// Looks at each input, without opening anything for writing.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn plan_all(database: &Path, inputs: &[Input], options: &Options) -> Result<Vec<Result<Plan>>> {
    let connection = open_to_look(database, options)?;
    let known = match &connection {
        Some(connection) => {
            sources::load_all(connection).map_err(|error| store::explain(database, error.into()))?
        }
        None => Vec::new(),
    };
    let look = |input| match look_at(input, connection.as_ref(), &known, options) {
        // No other file can be looked at either.
        Err(error) if error.chain().any(|cause| cause.is::<rusqlite::Error>()) => {
            Err(store::explain(database, error))
        }
        look => Ok(look),
    };
    inputs.iter().map(look).collect()
}

/// Opens what there is. An older database is brought up to date by opening it for writing, and one
/// whose writer was killed is put back to its last commit: that comes first then.
fn open_to_look(database: &Path, options: &Options) -> Result<Option<Connection>> {
    if !store::is_there(database)? {
        return Ok(None);
    }
    let error = match store::open_to_read(database, options.busy_timeout) {
        Ok(connection) => return Ok(Some(connection)),
        Err(error) => error,
    };
    match error.downcast_ref() {
        Some(store::Unready::Empty) => return Ok(None),
        Some(store::Unready::Older(_)) => {}
        None if store::must_roll_back(&error) => {}
        None => return Err(error),
    }
    store::close(store::open_to_write(database, options.busy_timeout)?)?;
    store::open_to_read(database, options.busy_timeout).map(Some)
}

fn look_at(
    input: &Input,
    connection: Option<&Connection>,
    known: &[Source],
    options: &Options,
) -> Result<Plan> {
    let Input::File(path) = input else {
        return Ok(Plan::New);
    };
    let cannot = || format!("cannot read {}", input.label());
    let (file, metadata) = files::open(path).with_context(cannot)?;
    let report = |resumed_at, pending_bytes, is_no_journal| FileReport {
        path: input.label(),
        resumed_at,
        counters: Counters { pending_bytes, ..Counters::default() },
        is_no_journal,
        is_empty: metadata.len() == 0,
    };
    if let Some(connection) = connection
        && let Some(source) = read_archive(&file, connection, known).with_context(cannot)?
    {
        return Ok(Plan::Old(report(source.offset, 0, !source.has_rows)));
    }
    let recognised = Recognised::of(file, &metadata, known).with_context(cannot)?;
    let renamed = recognised.renamed().map(|source| Renamed {
        source_id: source.source_id,
        from: source.path.clone(),
        to: stored_name(input),
        file: recognised.file,
    });
    let opened = Opened::file(recognised, options.is_final);
    let offset = opened.resumption.as_ref().map_or(0, |from| from.position.offset);
    let mut rest = Lines::new(opened.bytes, opened.ending);
    if rest.next_line().with_context(cannot)?.is_some() {
        return Ok(Plan::New);
    }
    let source = opened.resumption.map(|from| from.source);
    let report = report(offset, rest.pending_bytes(), source.as_ref().is_some_and(|source| !source.has_rows));
    Ok(match (opened.archive, source, renamed) {
        (Some(archive), Some(source), _) => Plan::OldArchive(report, archive, source.source_id),
        (None, Some(_), Some(renamed)) => Plan::Renamed(report, renamed),
        _ => Plan::Old(report),
    })
}
