//! All writing to SQLite, and how the database is opened. Connection settings live here only.

pub mod archives;
mod attempts;
mod builds;
mod cells;
mod clocks;
pub(crate) mod columns;
pub mod consistency;
pub mod contents;
mod current;
mod digest;
mod errors;
pub mod events;
pub mod export;
pub mod forgotten;
mod inference;
pub mod known;
pub mod lake;
pub mod location;
mod moved;
mod places;
pub mod rejects;
mod rollups;
pub mod rows;
mod runs;
pub mod schema;
pub mod slos;
pub mod sources;
mod temporary;
pub mod terminals;
mod wall;
pub mod write;

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OpenFlags};

pub use self::errors::{explain, explain_damage, must_roll_back};
use crate::failure::is_busy;
use crate::text::PathText;

/// A row takes about 310 bytes, its indexes 150. With half of this a load took 0.2 CPU s
/// more of 6.5 for a million rows, with twice as much 0.1 s less, and the least database was 800 KiB.
const PAGE_SIZE: u32 = 16384;

/// Page cache while writing, most of the memory that an ingest takes.
const CACHE_KIB: u32 = 32 * 1024;

/// Page cache while reading. Requests are read by arrival and lie by their end, a few megabytes away: with SQLite's usual 2 MiB
/// each of those pages is fetched again and again, a quarter of the time that reading the wide rows takes.
const READ_CACHE_KIB: u32 = 8 * 1024;

/// Changed pages of a batch stay in memory up to so much. Before it is committed they could be written only
/// while nobody reads, where there is no write-ahead log. A batch changes 25 MiB, one of many long rows more.
const SPILL_KIB: u32 = 64 * 1024;

/// Opens the database for reading.
///
/// # Errors
/// When there is none, it is not ours, it is of another version, or it cannot be read.
pub fn open_to_read(path: &Path, busy_timeout: Duration) -> Result<Connection> {
    let shown = path.as_text();
    if !is_there(path)? {
        if let Some(folder) = missing_folder(path) {
            bail!("no database at {shown}: there is no folder {}", folder.as_text());
        }
        if let Ok(target) = path.read_link() {
            bail!("no database at {shown}: it is a link to {}, which is not there", target.as_text());
        }
        bail!("no database at {shown}: `narwhal-jq ingest JOURNAL` makes one, `--db PATH` names another");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(as_file(path), flags).map_err(|error| explain(path, error.into()))?;
    wait_when_busy(&mut connection, busy_timeout)?;
    match schema::version(&connection).map_err(|error| explain(path, error))? {
        schema::Version::Ours(version) if version == schema::LATEST => {}
        schema::Version::Ours(version) => return Err(Unready::Older(version).into()),
        schema::Version::Empty => return Err(Unready::Empty.into()),
    }
    connection
        .pragma_update(None, "cache_size", -i64::from(READ_CACHE_KIB))
        .map_err(|error| explain(path, error.into()))?;
    temporary::avoid_for_reading(&connection).map_err(|error| explain(path, error.into()))?;
    // All that is asked of this connection is asked of one moment, also while an ingest commits.
    connection.execute_batch("begin")?;
    Ok(connection)
}

/// Whether there is a file that may be a database. SQLite has one message for whatever is wrong with it,
/// and waits for ever to read a pipe.
///
/// # Errors
/// When something else is there, or it cannot be read.
pub fn is_there(path: &Path) -> Result<bool> {
    let shown = path.as_text();
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            bail!("{shown} is a folder, not a database: `--db PATH` names a file")
        }
        Ok(metadata) if !metadata.is_file() => {
            bail!("{shown} is no regular file, which a database is: `--db PATH` names another")
        }
        Ok(_) => {
            // Not by opening it: whoever closes a file gives back every lock of the process on it.
            let access = rustix::fs::access(path, rustix::fs::Access::READ_OK);
            access.with_context(|| format!("cannot read the database {shown}"))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read the database {shown}")),
    }
}

/// The folder that a file would be in, if there is none.
fn missing_folder(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
}

/// A path that SQLite takes for nothing else: it reads `file:x` as a URI, and `:memory:` as no file.
fn as_file(path: &Path) -> PathBuf {
    Path::new(".").join(path)
}

/// The file of a database. [`Connection::path`] knows only names in UTF-8.
///
/// # Errors
/// When SQLite does not tell.
pub fn file_of(connection: &Connection) -> rusqlite::Result<PathBuf> {
    let sql = "select file from pragma_database_list where name = 'main'";
    connection.query_row(sql, [], |row| {
        let name = row.get_ref(0)?.as_bytes()?;
        Ok(PathBuf::from(OsStr::from_bytes(name)))
    })
}

/// A database that an ingest makes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unready {
    /// It has no table yet.
    Empty,
    /// An older narwhal-jq made it, with this schema.
    Older(i64),
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the database is empty: `narwhal-jq ingest JOURNAL` fills it"),
            Self::Older(version) => write!(
                f,
                "the database has schema {version}, this narwhal-jq reads {}: `narwhal-jq ingest JOURNAL` \
                 brings it up to date",
                schema::LATEST
            ),
        }
    }
}

impl std::error::Error for Unready {}

thread_local! {
    /// How long to wait for a lock, in milliseconds. SQLite's handler is a plain function, so it is told
    /// here; a thread has one such wish.
    static PATIENCE_MS: Cell<u64> = const { Cell::new(0) };
}

/// Whether the program was asked to end.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// From now on nobody waits for a lock any more: the program was asked to end.
pub fn stop_waiting() {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// Waits for a lock by asking every millisecond. SQLite's own waiting asks ten times a second once it
/// has waited a while, and never meets the short pause between two batches of another ingest.
///
/// Who has waited in vain does not wait again: SQLite goes on when it cannot make room in its cache because
/// somebody reads, and would wait as long for each page. The commit fails then.
fn wait_when_busy(connection: &mut Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    PATIENCE_MS.set(u64::try_from(busy_timeout.as_millis()).unwrap_or(u64::MAX));
    connection.busy_handler(Some(|asked| {
        let is_patient = u64::try_from(asked).is_ok_and(|asked| asked < PATIENCE_MS.get());
        let waits = is_patient && !IS_ENDING.load(Ordering::Relaxed);
        if waits {
            std::thread::sleep(Duration::from_millis(1));
        } else {
            PATIENCE_MS.set(0);
        }
        waits
    }))
}

/// Opens the database for writing, made and brought up to date where needed: in write-ahead mode, so
/// that readers are not blocked. One that is new has no readers yet, and is filled without: each page
/// is written once then, and whoever reads meanwhile waits while a batch is committed.
///
/// # Errors
/// As [`open_to_read`], but for a missing or an older database.
pub fn open_to_write(path: &Path, busy_timeout: Duration) -> Result<Connection> {
    if !is_there(path)?
        && let Some(folder) = missing_folder(path)
    {
        bail!("cannot make the database {}: there is no folder {}", path.as_text(), folder.as_text());
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(as_file(path), flags).map_err(|error| explain(path, error.into()))?;
    wait_when_busy(&mut connection, busy_timeout)?;
    let version = schema::version(&connection).map_err(|error| explain(path, error))?;
    let opened = (|| {
        if version == schema::Version::Empty {
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
        }
        temporary::avoid_for_writing(&connection)?;
        let is_new = schema::migrate(&mut connection)?;
        // Foreign keys are not enforced while loading: the writer takes every key from the row it
        // refers to, and `verify` checks them. The bundled SQLite would.
        connection.pragma_update(None, "foreign_keys", false)?;
        connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
        connection.pragma_update(None, "cache_spill", SPILL_KIB * 1024 / PAGE_SIZE)?;
        if !is_new {
            switch_to_wal(&connection, busy_timeout)?;
        }
        // In write-ahead mode a crash of the machine can lose the last commits, never part of one,
        // and what is lost is read again: rows and position are one commit.
        connection.pragma_update(None, "synchronous", "normal")
    })();
    opened.map_err(|error| explain(path, error.into()))?;
    Ok(connection)
}

/// Puts a database that was opened for writing into write-ahead mode, also a new one: so that readers
/// are not blocked for as long as it stays open.
///
/// # Errors
/// When another process holds its lock for too long.
pub fn let_others_read(path: &Path, connection: &Connection, busy_timeout: Duration) -> Result<()> {
    switch_to_wal(connection, busy_timeout).map_err(|error| explain(path, error.into()))
}

/// SQLite does not wait by itself here: the switch turns a read lock into a write lock, and two that
/// wait with a read lock in hand would wait for each other.
fn switch_to_wal(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if is_busy(&error)
                    && started.elapsed() < busy_timeout
                    && !IS_ENDING.load(Ordering::Relaxed) =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            switched => return switched,
        }
    }
}

/// Closes a database that was written: back to one plain file, which can be read from a read-only
/// folder. While another process has it open it stays in write-ahead mode, and the last one out
/// does this.
///
/// # Errors
/// When SQLite cannot write what is left.
pub fn close(connection: Connection) -> Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    // Two that end at the same moment are in each other's way for as long as one takes to close.
    for _ in 0..20 {
        let mode =
            connection.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode != "wal" => break,
            Err(error) if !is_busy(&error) => return Err(error.into()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    connection.close().map_err(|(_, error)| error.into())
}

/// Returns a database that a reader kept in write-ahead mode, or a crash left there, to one plain
/// file, if nobody has it open now.
///
/// # Errors
/// When SQLite cannot write what is left.
pub fn leave_wal(path: &Path) -> Result<()> {
    let mut header = [0; 20];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    // Bytes 18 and 19 of the file format: 2 is write-ahead mode.
    if !is_read || header[18..] != [2, 2] {
        return Ok(());
    }
    match Connection::open_with_flags(
        as_file(path),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    ) {
        Ok(connection) => close(connection).map_err(|error| explain(path, error)),
        // A folder that cannot be written is no fault of who only looks.
        Err(_) => Ok(()),
    }
}
