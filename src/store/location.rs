//! Where a database lies that is open for long: whether it still is the one that stands there.
//!
//! SQLite writes on into a file that was removed or renamed, and is content. One that somebody wrote over in place
//! (`cp other.db narwhal.db`) it reads on, page by page the one or the other. A file in write-ahead mode changes only when
//! the log is copied into it: where that was not done by us, nor by another who committed, it is looked at anew.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OpenFlags};

use super::as_file;
use super::sources::FileId;
use crate::failure::is_busy;
use crate::text::PathText;

/// Which file stood at the path of a database when it was opened, and how it was left.
#[derive(Debug)]
pub struct Location {
    path: PathBuf,
    id: FileId,
    left: Option<Left>,
    /// What was found in it that is not ours, and since when.
    doubt: Option<(Stamp, Instant)>,
}

/// What became of a file since we left it.
#[derive(Debug, PartialEq, Eq)]
pub enum SinceLeft {
    /// Nothing, or what SQLite does.
    AsLeft,
    /// What stands there is none of ours, but perhaps another only copies the log into it at this moment: nothing may
    /// be committed now.
    Unclear,
    /// Somebody wrote over it.
    Over,
}

/// What is copied from the log changes the file meanwhile. One that stands still for so long is as somebody wanted it.
const COPIED: Duration = Duration::from_secs(1);

/// How we left the file.
#[derive(Debug)]
struct Left {
    stamp: Stamp,
    /// SQLite's count of what others committed, and ours of what we did.
    commits: (i64, u64),
    /// What may stand in the file: what did, and what was committed since.
    contents: Vec<Contents>,
}

/// What changes about a file when it is written: its length, and when that was.
type Stamp = (u64, i64, i64);

/// What tells one of our databases from another, and from an earlier copy of it.
type Contents = String;

impl Location {
    /// The place of a database that was just opened.
    ///
    /// # Errors
    /// When nothing is there.
    pub fn of(path: &Path) -> Result<Self> {
        let shown = path.as_text();
        let metadata =
            path.metadata().with_context(|| format!("the database {shown} cannot be found any more"))?;
        Ok(Self { path: path.to_owned(), id: FileId::of(&metadata), left: None, doubt: None })
    }

    /// Whether the same file is still there.
    ///
    /// # Errors
    /// When it is not, in words.
    pub fn check(&self) -> Result<()> {
        let shown = self.path.as_text();
        match self.path.metadata() {
            Ok(metadata) if FileId::of(&metadata) == self.id => Ok(()),
            Ok(_) => bail!("the database {shown} was replaced by another file while it was written: {LOST}"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("the database {shown} was removed or renamed while it was written: {LOST}")
            }
            Err(error) => {
                Err(error).with_context(|| format!("the database {shown} cannot be found any more"))
            }
        }
    }

    /// Remembers how the file is left, after what we committed.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn leave(&mut self, connection: &Connection) -> Result<()> {
        let Ok(metadata) = self.path.metadata() else { return Ok(()) };
        let (stamp, commits) = (stamp(&metadata), commits(connection)?);
        let mut possible = Vec::new();
        match self.left.take() {
            Some(left) if left.commits == commits && left.stamp == stamp => {
                self.left = Some(left);
                return Ok(());
            }
            // The log was not copied into the file since.
            Some(left) if left.stamp == stamp => possible = left.contents,
            _ => possible.extend(self.look_at_file()),
        }
        possible.push(contents(connection)?);
        self.left = Some(Left { stamp, commits, contents: possible });
        Ok(())
    }

    /// Whether somebody wrote over the file since it was left. What others committed is no matter.
    pub fn look(&mut self, connection: &Connection) -> SinceLeft {
        let (Some(left), Ok(metadata)) = (&self.left, self.path.metadata()) else { return SinceLeft::AsLeft };
        let now = stamp(&metadata);
        if now == left.stamp {
            return SinceLeft::AsLeft;
        }
        if metadata.len() == 0 {
            return SinceLeft::Over;
        }
        let is_other = match commits(connection) {
            Ok(commits) if commits != left.commits => false,
            // Somebody copies the log into it, or wrote over it.
            Ok(_) => self.look_at_file().is_none_or(|contents| !left.contents.contains(&contents)),
            Err(error) => !is_busy(&error),
        };
        if !is_other {
            self.doubt = None;
            return SinceLeft::AsLeft;
        }
        let (of, since) = *self.doubt.get_or_insert((now, Instant::now()));
        if of != now {
            self.doubt = Some((now, Instant::now()));
        }
        if of == now && since.elapsed() > COPIED { SinceLeft::Over } else { SinceLeft::Unclear }
    }

    /// Whether somebody wrote over it, when that is clear.
    pub fn is_overwritten(&mut self, connection: &Connection) -> bool {
        loop {
            match self.look(connection) {
                SinceLeft::AsLeft => return false,
                SinceLeft::Over => return true,
                SinceLeft::Unclear => std::thread::sleep(COPIED / 10),
            }
        }
    }

    /// What the file by itself holds, without the log beside it and what our connection has in memory; none when that
    /// is no database of ours.
    fn look_at_file(&self) -> Option<Contents> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let mut uri = "file:".to_owned();
        for byte in as_file(&self.path).as_os_str().as_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
                byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
                byte => uri.push_str(&format!("%{byte:02x}")),
            }
        }
        // SQLite closes it together with ours: whoever closes a file gives back every lock of the process on it.
        let connection = Connection::open_with_flags(uri + "?immutable=1", flags).ok()?;
        contents(&connection).ok()
    }

    /// Gives up a database that somebody wrote over: nothing of ours may reach what stands there now.
    pub fn overwritten(&self, connection: Connection) -> anyhow::Error {
        let config = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let is_kept_apart = connection.set_db_config(config, true).is_ok();
        for beside in ["-wal", "-shm"] {
            let mut path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone()).into_os_string();
            path.push(beside);
            // Who opens the file next would take the log for that of what stands there now.
            let _ = std::fs::remove_file(path);
        }
        if is_kept_apart {
            drop(connection);
        } else {
            std::mem::forget(connection);
        }
        anyhow::anyhow!(
            "the database {} was overwritten in place while it was written: {LOST}",
            self.path.as_text()
        )
    }
}

const LOST: &str = "what was read of the journals is not stored there: start again, which reads it";

fn stamp(metadata: &std::fs::Metadata) -> Stamp {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn commits(connection: &Connection) -> rusqlite::Result<(i64, u64)> {
    let others = connection.query_row("pragma data_version", [], |row| row.get(0))?;
    Ok((others, connection.total_changes()))
}

fn contents(connection: &Connection) -> rusqlite::Result<Contents> {
    let sql = "select count(*) || ' ' || coalesce(sum(offset_bytes + lines), 0)
                   || ' ' || coalesce(sum(tail_hash >> 24), 0) || ' ' || coalesce(sum(head_hash >> 24), 0)
                   || ' ' || coalesce(sum(length(path)), 0)
                   || ' ' || coalesce((select max(terminal_id) from terminals), 0)
                   || ' ' || coalesce((select max(run) from runs), '')
               from sources";
    connection.query_row(sql, [], |row| row.get(0))
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
