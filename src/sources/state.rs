//! How a source stands beside the file that it was last read from.

use std::fmt;
use std::io;

use rusqlite::Connection;

use super::recognition::recognise;
use crate::journal::compression::unpacked;
use crate::journal::files;
use crate::store::archives::Archive;
use crate::store::sources::{FileId, Source};

/// What has become of the file of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It came by standard input, or a way that is not there any more.
    Stream,
    /// All of it was read.
    Read,
    /// There is more in it.
    Behind,
    /// A forgotten run was taken back: it is read once more from its start.
    ToBeReadAgain,
    /// An archive of which it is not known whether there is more in it.
    Compressed,
    /// It was truncated or rewritten, or another file has its name.
    OtherContent,
    /// Nothing has its name.
    Missing,
    /// It is there and cannot be read.
    Unreadable,
}

impl State {
    /// Whether what was read of the source cannot be read there again.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::OtherContent | Self::Missing | Self::Unreadable)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "standard input",
            Self::Read => "read",
            Self::Behind => "behind",
            Self::ToBeReadAgain => "to be read again",
            Self::Compressed => "compressed, not read to its end",
            Self::OtherContent => "other content now",
            Self::Missing => "not there",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// A state, and how many bytes were not read: nothing where that cannot be said without unpacking them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStanding {
    /// What has become of the file.
    pub state: State,
    /// Bytes after the offset.
    pub lag_bytes: Option<u64>,
}

/// Looks at the file of a source.
pub fn look(connection: &Connection, source: &Source) -> FileStanding {
    if source.is_stream() {
        return State::Stream.into();
    }
    look_into(connection, source).unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => State::Missing.into(),
        _ => State::Unreadable.into(),
    })
}

fn look_into(connection: &Connection, source: &Source) -> io::Result<FileStanding> {
    let (file, metadata) = files::open(&source.file_path())?;
    if unpacked(&file)?.compression.is_some() {
        let read = Archive::of(&file)?.source_id(connection).map_err(io::Error::other)?;
        return Ok(match read {
            Some(source_id) if source_id != source.source_id => State::Compressed.into(),
            None => State::Compressed.into(),
            Some(_) if source.reread.is_some() => State::ToBeReadAgain.into(),
            Some(_) => FileStanding { state: State::Read, lag_bytes: Some(0) },
        });
    }
    let known = std::slice::from_ref(source);
    let Some(found) = recognise(known, &file, Some(FileId::of(&metadata)))? else {
        return Ok(State::OtherContent.into());
    };
    let lag = metadata.len().saturating_sub(found.position.offset);
    let state = match lag {
        _ if source.reread.is_some() => State::ToBeReadAgain,
        0 => State::Read,
        _ => State::Behind,
    };
    Ok(FileStanding { state, lag_bytes: Some(lag) })
}

impl From<State> for FileStanding {
    fn from(state: State) -> Self {
        Self { state, lag_bytes: None }
    }
}
