//! Which content was read, and how far.
//!
//! A source is a file's content. Every journal of one build begins with the same bytes, so the
//! start alone does not tell two of them apart: what stands just before the offset is checked too.
//! Until something other than build rows was read, content cannot decide, and the file's device
//! and inode do. Offsets only grow within one source.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use rusqlite::{Connection, Params, Result, params};
use xxhash_rust::xxh3::xxh3_64;

use crate::journal::files;
use crate::journal::lines::{FINGERPRINT_LEN, Position};

/// A row of `sources`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its key.
    pub source_id: i64,
    /// The name it was last read under, as [`files::to_text`] has it; `-` of standard input.
    pub path: String,
    /// The file it was read from.
    pub file: Option<FileId>,
    /// The byte after the last line read.
    pub offset: u64,
    /// Lines read.
    pub lines: u64,
    /// Terminals and events read, seen before or not.
    pub run_rows: u64,
    /// Runs met while its kept build rows differed.
    pub ambiguous_runs: u64,
    /// How far it was read again, while it is.
    pub reread: Option<Reread>,
    /// Whether its content tells it from every other journal of the same build.
    pub is_telling: bool,
    /// Whether it gave a build, a terminal or an event.
    pub has_rows: bool,
    pub(crate) head_hash: i64,
    pub(crate) tail_hash: i64,
}

/// How far a source was read again from its start. Its offset stays where it was meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reread {
    /// The byte after the last line read again, before the source's offset.
    pub offset: u64,
    /// Lines read again.
    pub lines: u64,
}

impl Reread {
    /// How many bytes tell of what stands before it.
    pub(crate) fn known_len(self) -> u64 {
        self.offset.min(FINGERPRINT_LEN as u64)
    }

    /// Its position after what ends with `tail`, in what begins with `head`.
    pub(crate) fn position(self, head: &[u8], tail: &[u8]) -> Position {
        let known = self.known_len() as usize;
        let (head, tail) = (head[..known].to_vec(), tail[tail.len() - known..].to_vec());
        Position { offset: self.offset, lines: self.lines, head, tail }
    }
}

impl Source {
    /// How many of its first bytes are compared.
    pub(crate) fn head_len(&self) -> usize {
        self.offset.min(FINGERPRINT_LEN as u64) as usize
    }

    /// Where reading goes on in a file that begins with `head`, if it still holds what was read of the
    /// source, as far as that is compared.
    pub(crate) fn position_in(&self, file: &File, head: &[u8]) -> io::Result<Option<Position>> {
        if !self.begins(head) {
            return Ok(None);
        }
        let head = &head[..self.head_len()];
        let tail = read_at_most(file, self.offset - head.len() as u64, head.len() as u64)?;
        let is_held = hash(&tail) == self.tail_hash;
        Ok(is_held.then(|| self.position(head.to_vec(), tail)))
    }

    /// Whether a file still holds what was read of the source.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_held_by(&self, file: &File) -> io::Result<bool> {
        let head = read_at_most(file, 0, FINGERPRINT_LEN as u64)?;
        Ok(self.position_in(file, &head)?.is_some())
    }

    /// Whether something was read of it, and a file that begins with `head` may hold that.
    pub fn may_begin(&self, head: &[u8]) -> bool {
        self.offset > 0 && self.begins(head)
    }

    /// Its position in what begins and ends with these.
    pub(crate) fn position(&self, head: Vec<u8>, tail: Vec<u8>) -> Position {
        Position { offset: self.offset, lines: self.lines, head, tail }
    }

    /// The name it was last read under, as the file system has it.
    pub fn file_path(&self) -> PathBuf {
        files::from_text(&self.path)
    }

    /// Whether it came by a way that is not there any more, standard input above all.
    pub fn is_stream(&self) -> bool {
        self.path == "-" || files::descriptor(&self.file_path()).is_some()
    }

    /// Whether the name it was last read under still leads to the file that it was read from.
    pub fn is_at_its_path(&self) -> bool {
        let there = std::fs::metadata(self.file_path());
        self.file.is_some() && there.is_ok_and(|metadata| self.file == Some(FileId::of(&metadata)))
    }

    /// Whether these may be its first bytes.
    pub(crate) fn begins(&self, head: &[u8]) -> bool {
        head.get(..self.head_len()).is_some_and(|head| hash(head) == self.head_hash)
    }
}

/// A file as its file system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    device: i64,
    inode: i64,
}

impl FileId {
    /// The file that the metadata is of.
    pub fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev().cast_signed(), inode: metadata.ino().cast_signed() }
    }
}

/// Every source, the one read furthest first.
///
/// # Errors
/// When the database cannot be read.
pub fn load_all(connection: &Connection) -> Result<Vec<Source>> {
    load(connection, &format!("{SELECT} order by s.offset_bytes desc, s.source_id"), [])
}

/// Brings sources that were loaded before up to date with what was read of some of them since.
///
/// # Errors
/// When the database cannot be read.
pub fn load_again(connection: &Connection, known: &mut Vec<Source>, moved: &[i64]) -> Result<()> {
    known.retain(|source| !moved.contains(&source.source_id));
    for source_id in moved {
        known.extend(load(connection, &format!("{SELECT} where s.source_id = ?1"), [source_id])?);
    }
    known.sort_unstable_by_key(|source| (std::cmp::Reverse(source.offset), source.source_id));
    Ok(())
}

const SELECT: &str = "select s.source_id, s.path, s.device, s.inode, s.offset_bytes, s.lines,
            s.run_rows, s.ambiguous_runs, s.head_hash, s.tail_hash,
            exists (select 1 from rejects as r where r.source_id = s.source_id),
            exists (select 1 from builds as b where b.source_id = s.source_id),
            a.offset_bytes, a.lines
        from sources as s
        left join rereads as a on a.source_id = s.source_id";

fn load(connection: &Connection, sql: &str, parameters: impl Params) -> Result<Vec<Source>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(parameters, |row| {
        let device: Option<i64> = row.get(2)?;
        let inode: Option<i64> = row.get(3)?;
        let run_rows: u64 = row.get(6)?;
        let reread = row.get::<_, Option<u64>>(12)?.zip(row.get(13)?);
        Ok(Source {
            source_id: row.get(0)?,
            path: row.get(1)?,
            file: device.zip(inode).map(|(device, inode)| FileId { device, inode }),
            offset: row.get(4)?,
            lines: row.get(5)?,
            run_rows,
            ambiguous_runs: row.get(7)?,
            reread: reread.map(|(offset, lines)| Reread { offset, lines }),
            head_hash: row.get(8)?,
            tail_hash: row.get(9)?,
            is_telling: run_rows > 0 || row.get(10)?,
            has_rows: run_rows > 0 || row.get(11)?,
        })
    })?;
    rows.collect()
}

/// The bytes of a file from `offset`, fewer at its end.
pub(crate) fn read_at_most(file: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

pub(crate) fn hash(bytes: &[u8]) -> i64 {
    xxh3_64(bytes).cast_signed()
}

/// Adds a source of which nothing was read yet; its key.
///
/// # Errors
/// When the database cannot be written.
pub fn insert(connection: &Connection, path: &str, file: Option<FileId>) -> Result<i64> {
    let nothing = hash(b"");
    connection.execute(
        "insert into sources (path, device, inode, offset_bytes, lines, run_rows, ambiguous_runs,
            head_hash, tail_hash)
         values (?1, ?2, ?3, 0, 0, 0, 0, ?4, ?4)",
        params![path, file.map(|id| id.device), file.map(|id| id.inode), nothing],
    )?;
    Ok(connection.last_insert_rowid())
}

/// Where the next reading of a source goes on.
///
/// # Errors
/// When the database cannot be read.
pub fn next_offset(connection: &Connection, source_id: i64) -> Result<u64> {
    connection
        .prepare_cached(
            "select coalesce((select offset_bytes from rereads where source_id = ?1), offset_bytes)
             from sources where source_id = ?1",
        )?
        .query_row([source_id], |row| row.get(0))
}

/// Has a source read again from its start.
///
/// # Errors
/// When the database cannot be written.
pub fn read_again(connection: &Connection, source_id: i64) -> Result<()> {
    connection.execute(
        "insert into rereads (source_id, offset_bytes, lines)
         select source_id, 0, 0 from sources where source_id = ?1 and offset_bytes > 0
         on conflict (source_id) do update set offset_bytes = 0, lines = 0",
        [source_id],
    )?;
    Ok(())
}

/// Saves that a source lies somewhere else now.
///
/// # Errors
/// When the database cannot be written.
pub fn relocate(connection: &Connection, source_id: i64, path: &str, file: Option<FileId>) -> Result<()> {
    connection.execute(
        "update sources set path = ?2, device = ?3, inode = ?4 where source_id = ?1",
        params![source_id, path, file.map(|id| id.device), file.map(|id| id.inode)],
    )?;
    Ok(())
}

/// As [`relocate`], if it is still known by the name `from`.
///
/// # Errors
/// When the database cannot be written.
pub fn relocate_from(
    connection: &Connection,
    source_id: i64,
    from: &str,
    path: &str,
    file: FileId,
) -> Result<()> {
    connection.execute(
        "update sources set path = ?3, device = ?4, inode = ?5 where source_id = ?1 and path = ?2",
        params![source_id, from, path, file.device, file.inode],
    )?;
    Ok(())
}

/// How far a batch has brought a source.
#[derive(Debug)]
pub struct Reached<'p> {
    /// The name it is read under.
    pub path: &'p str,
    /// The file it is read from.
    pub file: Option<FileId>,
    /// The byte where the batch began.
    pub from: u64,
    /// The byte after the last line read.
    pub offset: u64,
    /// Lines read.
    pub lines: u64,
    /// Its first bytes.
    pub head: &'p [u8],
    /// The bytes before the offset.
    pub tail: &'p [u8],
    /// The Unix second by which all of it had been written, if that is known.
    pub written_by_s: Option<f64>,
}

/// Saves how far a source was read. Behind its offset that is a reading again.
///
/// # Errors
/// When the database cannot be written.
pub fn advance(connection: &Connection, source_id: i64, to: &Reached<'_>) -> Result<()> {
    connection.execute(
        "update sources
         set path = ?2, device = ?3, inode = ?4, offset_bytes = ?5, lines = ?6, head_hash = ?7, tail_hash = ?8,
             written_by_s = coalesce(?9, written_by_s)
         where source_id = ?1 and offset_bytes <= ?5",
        params![
            source_id,
            to.path,
            to.file.map(|id| id.device),
            to.file.map(|id| id.inode),
            to.offset,
            to.lines,
            hash(to.head),
            hash(to.tail),
            to.written_by_s,
        ],
    )?;
    // A stream that began before the source was to be read again goes on after, and leaves this.
    connection.execute(
        "update rereads set offset_bytes = ?3, lines = ?4 where source_id = ?1 and offset_bytes = ?2",
        params![source_id, to.from, to.offset, to.lines],
    )?;
    connection.execute(
        "delete from rereads
         where source_id = ?1 and offset_bytes >= (select offset_bytes from sources where source_id = ?1)",
        [source_id],
    )?;
    Ok(())
}

/// Saves what was met in a source: its terminals and events, and its ambiguous runs since the set of
/// kept build rows was last complete.
///
/// # Errors
/// When the database cannot be written.
pub fn save_counts(
    connection: &Connection,
    source_id: i64,
    run_rows: u64,
    ambiguous_runs: u64,
) -> Result<()> {
    connection.execute(
        "update sources set run_rows = ?2, ambiguous_runs = ?3 where source_id = ?1",
        params![source_id, run_rows, ambiguous_runs],
    )?;
    Ok(())
}
