//! A connection does without temporary files where none can be made.

use std::path::Path;

use rusqlite::Connection;

use crate::temporary::{has_room, trouble};

/// Has a connection that reads do without temporary files where none can be made.
///
/// # Errors
/// When SQLite refuses.
pub(super) fn avoid_for_reading(connection: &Connection) -> rusqlite::Result<()> {
    if trouble().is_some() {
        connection.pragma_update(None, "temp_store", "memory")?;
    }
    Ok(())
}

/// As [`avoid_for_reading`], for one that writes: its folder has room for more than memory has.
///
/// # Errors
/// When SQLite refuses.
pub(super) fn avoid_for_writing(connection: &Connection) -> rusqlite::Result<()> {
    if trouble().is_none() {
        return Ok(());
    }
    let file = super::file_of(connection)?;
    let folder = file.parent().filter(|folder| has_room(folder)).and_then(Path::to_str);
    match folder {
        // Of all connections, which are in the same trouble.
        Some(folder) => connection.pragma_update(None, "temp_store_directory", folder),
        None => connection.pragma_update(None, "temp_store", "memory"),
    }
}
