//! Opens a file where the reading of its content stopped, compressed or not.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::Options;
use super::blocks::Bytes;
use crate::journal::compression::{Trailing, unpacked};
use crate::journal::files;
use crate::journal::inputs::Input;
use crate::journal::lines::Ending;
use crate::store::archives::Archive;
use crate::store::recognition::{Resumption, recognise, recognise_unpacked};
use crate::store::sources::{FileId, Source};

/// An opened input, and the source that it turned out to be.
pub(super) struct Opened<'i> {
    /// What was not read before.
    pub bytes: Bytes<'i>,
    pub file: Option<FileId>,
    pub ending: Ending,
    /// Of a stream: how many pieces of it can be read without waiting.
    pub stream: Option<Arc<AtomicUsize>>,
    pub resumption: Option<Resumption>,
    /// Of a compressed file: what tells it from others.
    pub archive: Option<Archive>,
    /// Of a compressed file: whether something else stands behind the archive.
    pub trailing: Trailing,
}

impl Opened<'_> {
    /// The byte at which reading goes on.
    pub(super) fn offset(&self) -> u64 {
        self.resumption.as_ref().map_or(0, |from| from.position.offset)
    }
}

/// Recognises what a file holds, and goes to where its reading stopped.
pub(super) fn resume(
    file: File,
    metadata: &Metadata,
    known: &[Source],
    options: &Options,
) -> io::Result<Opened<'static>> {
    let id = FileId::of(metadata);
    let from_start = || -> io::Result<_> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        unpacked(file)
    };
    if from_start()?.compression.is_some() {
        let (unpacked, resumption) = recognise_unpacked(known, &from_start)?;
        return Ok(Opened {
            bytes: unpacked.bytes,
            trailing: unpacked.trailing,
            file: Some(id),
            ending: Ending::Complete,
            stream: None,
            resumption,
            archive: Some(Archive::of(&file)?),
        });
    }
    let resumption = recognise(known, &file, Some(id))?;
    let mut bytes = file;
    bytes.seek(SeekFrom::Start(resumption.as_ref().map_or(0, |from| from.position.offset)))?;
    let ending = if options.is_final { Ending::Complete } else { Ending::Open };
    Ok(Opened {
        bytes: Box::new(bytes),
        file: Some(id),
        ending,
        stream: None,
        resumption,
        archive: None,
        trailing: Trailing::default(),
    })
}

/// What is said of a file that does not hold any more what was read of it up to byte `offset`.
pub(super) fn lost(input: &Input, offset: u64, resumed_at: u64) -> String {
    let what_now = match resumed_at {
        0 => "read from the start, as a new source".to_owned(),
        _ => format!("read from byte {resumed_at}, up to which it is known from a copy"),
    };
    format!(
        "{}: does not hold any more what was read of it up to byte {offset} (truncated or rewritten): {what_now}; \
         what stood behind that byte is lost, unless a copy of it is read",
        input.label()
    )
}

/// The name of an input as `sources` keeps it: `-`, or an absolute path as text, links not followed.
pub(super) fn stored_name(input: &Input) -> String {
    match input {
        Input::Stdin | Input::Stream(_) => "-".to_owned(),
        Input::File(path) => files::to_text(&std::path::absolute(path).unwrap_or_else(|_| path.clone())),
    }
}
