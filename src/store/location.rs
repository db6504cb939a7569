//! Where a database lies that is open for long: whether it still is the one that stands there.
//!
//! SQLite writes on into a file that was removed or renamed, and is content.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rusqlite::Connection;

use super::sources::FileId;

/// Which file stood at the path of a database when it was opened.
#[derive(Debug)]
pub struct Location {
    path: PathBuf,
    id: FileId,
}

impl Location {
    /// The place of a database that was just opened.
    ///
    /// # Errors
    /// When nothing is there.
    pub fn of(path: &Path) -> Result<Self> {
        let shown = path.display();
        let metadata =
            path.metadata().with_context(|| format!("the database {shown} cannot be found any more"))?;
        Ok(Self { path: path.to_owned(), id: FileId::of(&metadata) })
    }

    /// Whether the same file is still there.
    ///
    /// # Errors
    /// When it is not, in words.
    pub fn check(&self) -> Result<()> {
        let shown = self.path.display();
        let lost = "what was read of the journals is not stored there: start again, which reads it";
        match self.path.metadata() {
            Ok(metadata) if FileId::of(&metadata) == self.id => Ok(()),
            Ok(_) => bail!("the database {shown} was replaced by another file while it was written: {lost}"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("the database {shown} was removed or renamed while it was written: {lost}")
            }
            Err(error) => {
                Err(error).with_context(|| format!("the database {shown} cannot be found any more"))
            }
        }
    }
}

/// Gives up a database that is not at its place any more. If it was renamed it gets what was committed, which
/// stood beside its old name; where the log would be taken for that of the file that stands there now.
pub fn abandon(connection: Connection) {
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("rollback");
    }
    // Nothing more can be done for what was removed. Whether it is whole is found by who opens it next.
    let _ = connection.execute_batch("pragma wal_checkpoint(truncate)");
    // SQLite leaves what is beside a name that is not its own any more.
    drop(connection);
}
