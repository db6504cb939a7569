//! Errors that somebody acts on: which they are is a kind, what they say is for people. What the program ends with
//! because of one is the business of [`crate::exit`].

use std::fmt;

/// What kind of failure it is, as far as it matters to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The user asked for what cannot be.
    Usage,
    /// A strict ingest met a bad line.
    BadLine,
    /// Another process held the database for too long.
    Busy,
    /// A newer narwhal-jq made the database.
    Newer,
    /// It was asked to end.
    Interrupted,
}

/// An error with a kind.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    message: String,
}

impl Failure {
    /// An error of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// An error of the user's making.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The kind of an error, or of what caused it; none of one that is nothing special.
pub fn kind_of(error: &anyhow::Error) -> Option<Kind> {
    error.chain().find_map(|cause| {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return Some(failure.kind);
        }
        let error = cause.downcast_ref::<rusqlite::Error>()?;
        let is_interrupted = error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted);
        if is_busy(error) { Some(Kind::Busy) } else { is_interrupted.then_some(Kind::Interrupted) }
    })
}

/// Whether SQLite gave up waiting for a lock.
pub fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}
