//! A look at what the inputs hold for this call: an ingest that finds nothing new opens nothing for
//! writing.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

use super::reading::ending;
use super::{Counters, FileReport, Options};
use crate::journal::inputs::Input;
use crate::journal::lines::Lines;
use crate::store;
use crate::store::sources::{self, FileId};

/// What is said of a compressed journal, and the way out.
pub(super) const COMPRESSED: &str =
    "compressed journals are not read yet; use `zcat` or `zstdcat` and `narwhal-jq ingest -`";

/// What a file holds for this call.
pub(super) enum Look {
    /// At least one whole line to read.
    New,
    /// Nothing to read.
    Old(FileReport),
}

/// Looks at each input, without opening anything for writing.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn look_at_all(database: &Path, inputs: &[Input], options: &Options) -> Result<Vec<Result<Look>>> {
    let known = match open_to_look(database, options)? {
        Some(connection) => {
            sources::load_all(&connection).map_err(|error| store::explain(database, error.into()))?
        }
        None => Vec::new(),
    };
    Ok(inputs.iter().map(|input| look_at(input, &known, options)).collect())
}

/// Opens what there is. An older database is brought up to date by opening it for writing, and one
/// whose writer was killed is put back to its last commit: that comes first then.
fn open_to_look(database: &Path, options: &Options) -> Result<Option<Connection>> {
    if !database.exists() {
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

fn look_at(input: &Input, known: &[sources::Source], options: &Options) -> Result<Look> {
    let Input::File(path) = input else {
        return Ok(Look::New);
    };
    let cannot = || format!("cannot read {}", path.display());
    let kind = fs::metadata(path).with_context(cannot)?.file_type();
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() && path != Path::new("/dev/null") {
        anyhow::bail!(
            "cannot read {}: it is no regular file; give its content to `narwhal-jq ingest -` on standard input",
            path.display()
        );
    }
    let mut file = File::open(path).with_context(cannot)?;
    let metadata = file.metadata().with_context(cannot)?;
    let has_ending = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
    let mut head = Vec::new();
    file.by_ref().take(4).read_to_end(&mut head).with_context(cannot)?;
    if has_ending || is_compressed(&head) {
        anyhow::bail!("cannot read {}: {COMPRESSED}", path.display());
    }
    let resumption = sources::recognise(known, &file, Some(FileId::of(&metadata))).with_context(cannot)?;
    let offset = resumption.as_ref().map_or(0, |resumption| resumption.position.offset);
    file.seek(SeekFrom::Start(offset)).with_context(cannot)?;
    let mut rest = Lines::new(&mut file, ending(options));
    if rest.next_line().with_context(cannot)?.is_some() {
        return Ok(Look::New);
    }
    let pending_bytes = rest.pending_bytes();
    Ok(Look::Old(FileReport {
        path: input.label(),
        resumed_at: offset,
        counters: Counters { pending_bytes, ..Counters::default() },
        is_no_journal: resumption.is_some_and(|resumption| !resumption.source.has_rows),
        is_empty: metadata.len() == 0,
    }))
}

/// Whether these are the first bytes of a gzip or zstd file.
pub(super) fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(b"\x1f\x8b") || head.starts_with(b"\x28\xb5\x2f\xfd")
}
