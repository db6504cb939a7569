//! What SQLite found wrong with a database, in words that say the way out. Opens and writes nothing.

use std::path::Path;

use rusqlite::ErrorCode;

use super::schema;
use crate::failure::{Failure, Kind};
use crate::journal::files;
use crate::text::PathText;

/// Says in words what SQLite found wrong with the database.
pub fn explain(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let shown = path.as_text();
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    let message = match code {
        _ if must_roll_back(&error) => format!(
            "the database {shown} was left in the middle of a write, by a kill or a crash: \
             `narwhal-jq ingest JOURNAL` puts it right"
        ),
        Some(ErrorCode::NotADatabase) => {
            format!("{shown} is not a database: `--db PATH` names another")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let message = format!(
                "the database {shown} is busy: another process is writing to it, or reading it for long; try \
                 again, or wait longer with --busy-timeout SECONDS"
            );
            return error.context(message);
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            format!(
                "the database {shown} is damaged: `narwhal-jq verify` says where as far as it can; make a new one from the journals"
            )
        }
        Some(ErrorCode::CannotOpen) if files::are_all_open() => format!(
            "cannot open the database {shown}, or a file beside it: too many files are open: {}",
            files::MORE_FILES
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => format!(
            "cannot open the database {shown}: the file or its folder cannot be written, which this \
             needs (also for reading, while an ingest has it open)"
        ),
        Some(ErrorCode::DiskFull) => match crate::temporary::trouble() {
            Some(trouble) => {
                format!("no space left for the database {shown}, or for temporary files: {trouble}")
            }
            // What filled the folder is gone when the statement is.
            None => {
                format!("no space left for the database {shown}, or for {}", crate::temporary::in_words())
            }
        },
        Some(ErrorCode::SystemIoFailure) if is_without_temporary_folder(&error) => {
            let trouble = crate::temporary::trouble().unwrap_or_else(|| "TMPDIR names one".to_owned());
            format!("there is no folder for temporary files of the database {shown}: {trouble}")
        }
        Some(ErrorCode::SystemIoFailure) => format!(
            "the database {shown} cannot be read or written: the disk fails, or a quota or a limit on the size \
             of files is reached"
        ),
        _ => return error,
    };
    error.context(message)
}

/// Whether SQLite found no folder for temporary files.
fn is_without_temporary_folder(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error);
    error.is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_GETTEMPPATH)
}

/// Says in words, wherever it was met, that the database cannot be read. Only once.
pub fn explain_damage(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    // Who only reads needs room for temporary files.
    let is_damage =
        matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::SystemIoFailure | ErrorCode::DiskFull));
    let is_said =
        error.chain().any(|cause| cause.to_string().contains(&format!("the database {}", path.as_text())));
    if is_damage && !is_said { explain(path, error) } else { error }
}

/// Whether a writer was killed while it made the database or changed its journal mode: only who
/// opens it for writing can undo that.
pub fn must_roll_back(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<rusqlite::Error>()
        .and_then(rusqlite::Error::sqlite_error)
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

/// The failure of a database that a newer narwhal-jq made.
pub(super) fn newer(version: i64) -> anyhow::Error {
    Failure::new(
        Kind::Newer,
        format!(
            "the database has schema {version}, made by a newer narwhal-jq; this one knows up to {}: \
             install the newer one, or name another database with --db",
            schema::LATEST
        ),
    )
    .into()
}
