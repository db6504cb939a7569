//! The exit codes, and which failure gives which.

use std::fmt;

/// How the program ends. `--help` prints this table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; also when nothing was new or some lines were rejected.
    Done = 0,
    /// Failed; also when one of several files could not be read, not one line of a file was a
    /// journal row, or `redact --check` found something.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// `--strict` met a bad line.
    BadLine = 3,
    /// The database was busy for longer than `--busy-timeout`, or a lake is being written by another export.
    Busy = 4,
    /// The database, or a lake, was made by a newer version.
    Newer = 5,
    /// `check` found something that does not hold.
    NotHeld = 6,
    /// `check` cannot judge: no data, too few requests, too old, or undecided when that was asked for.
    Unjudged = 7,
    /// Interrupted; what was whole is committed.
    Interrupted = 130,
}

/// The table of [`Exit`] for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    done, also when nothing was new or some lines were rejected (said on stderr)
  1    failed, also when one of several files could not be read (the others are ingested),
       not one line of a file was a journal row, or redact --check found something
  2    wrong usage
  3    --strict met a bad line
  4    the database was busy for longer than --busy-timeout, or another export writes into the lake
  5    the database, or the lake, was made by a newer version
  6    check found something that does not hold
  7    check cannot judge: no data, too few requests, too old, or undecided with --confident
  130  interrupted; what was whole is committed (`ingest --follow` ends with 0 then)";

/// An error with an exit code of its own. Every other error is [`Exit::Failed`].
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// An error that ends the program with `exit`.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// An error of the user's making.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The exit code of an error. A closed pipe is none: what nobody reads is not written ([`crate::output::stdout`]),
/// and the code is the one that the whole answer has.
pub fn code_of(error: &anyhow::Error) -> Exit {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.exit;
        }
        if let Some(error) = cause.downcast_ref::<rusqlite::Error>() {
            if is_busy(error) {
                return Exit::Busy;
            }
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
                return Exit::Interrupted;
            }
        }
    }
    Exit::Failed
}

/// Whether SQLite gave up waiting for a lock.
pub fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}
