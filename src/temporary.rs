//! Where SQLite puts what it cannot keep in memory: sorted rows, a copy while it makes a database smaller.
//!
//! In a container there may be no folder for that which can be written, or no room in it. SQLite tells neither
//! from a disk that fails. Then it keeps all in memory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::text::PathText;

/// With less room than this a folder is as good as full.
const ENOUGH: u64 = 32 << 20;

/// The folder that SQLite takes, by its own rules: the first that is one, and can be written.
fn folder() -> Option<PathBuf> {
    let named = ["SQLITE_TMPDIR", "TMPDIR"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let usual = ["/var/tmp", "/usr/tmp", "/tmp", "."].into_iter().map(PathBuf::from);
    let can_be_written = |folder: &PathBuf| {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        folder.is_dir() && rustix::fs::access(folder, access).is_ok()
    };
    named.chain(usual).find(can_be_written)
}

/// Why temporary files cannot be made now, naming the folder, if they cannot.
pub fn trouble() -> Option<String> {
    let way_out = "TMPDIR names another folder for temporary files";
    let Some(folder) = folder() else {
        return Some(format!("no folder for temporary files can be written: {way_out}"));
    };
    match is_usable(&folder) {
        Ok(true) => None,
        Ok(false) => {
            Some(format!("there is no room left in the temporary folder {}: {way_out}", folder.as_text()))
        }
        Err(error) => Some(format!(
            "the temporary folder {} cannot be written ({}): {way_out}",
            folder.as_text(),
            reason(&error)
        )),
    }
}

/// Where temporary files lie, and the way out when there is no room for them.
pub fn in_words() -> String {
    let folder = folder().map_or_else(|| "memory".to_owned(), |folder| folder.as_text().to_string());
    format!("temporary files in {folder}: TMPDIR names another folder for those")
}

/// Whether temporary files can be made in a folder, and have room.
pub fn has_room(folder: &Path) -> bool {
    is_usable(folder).unwrap_or(false)
}

/// Whether files in the folder can be made, and grow.
fn is_usable(folder: &Path) -> io::Result<bool> {
    let space = rustix::fs::statvfs(folder)?;
    if space.f_bavail.saturating_mul(space.f_frsize) < ENOUGH {
        return Ok(false);
    }
    // A quota is seen only by who writes.
    tempfile::tempfile_in(folder)?.write_all(&[0; 4096])?;
    Ok(true)
}

/// What is wrong, without the name of the temporary file that could not be made.
pub fn reason(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.source());
    inner.map_or_else(|| error.to_string(), ToString::to_string)
}
