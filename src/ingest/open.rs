//! An input, opened where the reading of its content stopped.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::blocks::Bytes;
use crate::journal::compression::Trailing;
use crate::journal::files;
use crate::journal::inputs::Input;
use crate::journal::lines::Ending;
use crate::sources::file::Recognised;
use crate::sources::recognition::Resumption;
use crate::store::archives::Archive;
use crate::store::sources::FileId;

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
    /// Of a compressed file: whether something else stands after the archive.
    pub trailing: Trailing,
    /// Whether its source is known by a name that does not lead to it any more.
    pub is_renamed: bool,
}

impl Opened<'static> {
    /// A file as an input. The last line of one that is still written may be unfinished.
    pub(super) fn file(recognised: Recognised, is_final: bool) -> Self {
        let is_renamed = recognised.renamed().is_some();
        let Recognised { bytes, file, resumption, archive, trailing } = recognised;
        let is_whole = is_final || archive.is_some();
        let ending = if is_whole { Ending::Complete } else { Ending::Open };
        Self { bytes, file: Some(file), ending, stream: None, resumption, archive, trailing, is_renamed }
    }
}

/// What is said of a file that does not hold any more what was read of it up to byte `offset`.
pub(super) fn lost(input: &Input, offset: u64, resumed_at: u64) -> String {
    let what_now = match resumed_at {
        0 => "read from the start, as a new source".to_owned(),
        _ => format!("read from byte {resumed_at}, up to which it is known from a copy"),
    };
    format!(
        "{}: does not hold any more what was read of it up to byte {offset} (truncated or rewritten): {what_now}; \
         what stood after that byte is lost, unless a copy of it is read",
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
