//! Which content was read, and how far.
//!
//! A source is a file's content. Every journal of one build begins with the same bytes, so the
//! start alone does not tell two of them apart: what stands just before the offset is checked too.
//! Until something other than build rows was read, content cannot decide, and the file's device
//! and inode do. Offsets only grow within one source.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use rusqlite::{Connection, Params, Result, params};
use xxhash_rust::xxh3::xxh3_64;

use crate::journal::files;
use crate::journal::lines::{FINGERPRINT_LEN, Position};
use crate::journal::pieces::next_beginning;

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
    head_hash: i64,
    tail_hash: i64,
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
    fn known_len(self) -> u64 {
        self.offset.min(FINGERPRINT_LEN as u64)
    }

    /// Its position behind what ends with `tail`, in what begins with `head`.
    fn position(self, head: &[u8], tail: &[u8]) -> Position {
        let known = self.known_len() as usize;
        let (head, tail) = (head[..known].to_vec(), tail[tail.len() - known..].to_vec());
        Position { offset: self.offset, lines: self.lines, head, tail }
    }
}

impl Source {
    /// How many of its first bytes are compared.
    fn head_len(&self) -> usize {
        self.offset.min(FINGERPRINT_LEN as u64) as usize
    }

    /// Where reading goes on in a file that begins with `head`, if it still holds what was read of the
    /// source, as far as that is compared.
    fn position_in(&self, file: &File, head: &[u8]) -> io::Result<Option<Position>> {
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

    fn position(&self, head: Vec<u8>, tail: Vec<u8>) -> Position {
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
    fn begins(&self, head: &[u8]) -> bool {
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
    known.sort_by_key(|source| (std::cmp::Reverse(source.offset), source.source_id));
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

/// Where in a source a reading may go on.
#[derive(Debug, Clone)]
pub struct Resumption {
    /// The source.
    pub source: Source,
    /// Its position, as the reader wants it.
    pub position: Position,
}

/// Finds the source whose content a file goes on from, if any; the one read furthest.
///
/// # Errors
/// When the file cannot be read.
pub fn recognise(known: &[Source], file: &File, id: Option<FileId>) -> io::Result<Option<Resumption>> {
    let len = file.metadata()?.len();
    let head = read_at_most(file, 0, FINGERPRINT_LEN as u64)?;
    for source in known {
        if source.offset > len || !(source.is_telling || (id.is_some() && source.file == id)) {
            continue;
        }
        let Some(position) = source.position_in(file, &head)? else { continue };
        let next = read_at_most(file, source.offset, NEXT_LEN)?;
        if !can_go_on(&position.tail, &next) {
            continue;
        }
        let position = match source.reread {
            None => position,
            Some(reread) => {
                let known = reread.known_len();
                reread.position(&head, &read_at_most(file, reread.offset - known, known)?)
            }
        };
        return Ok(Some(Resumption { source: source.clone(), position }));
    }
    Ok(None)
}

/// So many bytes behind an offset tell whether a line ended there.
pub const NEXT_LEN: u64 = 16;

/// Whether what comes `next` can be read without what stands before.
///
/// The end of an archive or of standard input ends a line, whatever was missing of it: the file that it
/// was taken from may hold the rest. Read from the offset on, neither part would be a row.
fn can_go_on(tail: &[u8], next: &[u8]) -> bool {
    tail.last().is_none_or(|last| *last == b'\n')
        || next.first().is_none_or(|first| *first == b'\n')
        || next_beginning(next, 0) == Some(0)
}

/// Finds the source that the unpacked bytes of an archive go on from, if any, and gives what is behind.
/// They can only be read from their start; `open` does that.
///
/// # Errors
/// When they cannot be read.
pub fn recognise_unpacked<R: Read>(
    known: &[Source],
    open: &dyn Fn() -> io::Result<R>,
) -> io::Result<(R, Option<Resumption>)> {
    let mut bytes = open()?;
    let mut head = Vec::new();
    // Of an archive that is cut off, what comes before the cut is read: it says so again there.
    if let Err(error) = read_up_to(&mut bytes, FINGERPRINT_LEN as u64, &mut head)
        && head.is_empty()
    {
        return Err(error);
    }
    let mut candidates: Vec<&Source> = known.iter().filter(|source| source.begins(&head)).collect();
    candidates.sort_by_key(|source| source.offset);
    let mut all_found = Vec::new();
    // The last bytes before the offset that was reached.
    let (mut offset, mut window) = (head.len() as u64, head.clone());
    for source in candidates {
        let tail = match source.offset.checked_sub(offset) {
            None => &head[..source.offset as usize],
            Some(missing) => {
                let read = read_up_to(&mut bytes, missing, &mut window);
                // Either way the bytes are behind every offset found so far.
                offset = source.offset;
                // One that ends before, or is cut off, does not go on from there.
                if !read.is_ok_and(|read| read == missing) {
                    break;
                }
                &window[..]
            }
        };
        let tail = &tail[tail.len() - tail.len().min(FINGERPRINT_LEN)..];
        if hash(tail) == source.tail_hash {
            let position = source.position(head[..source.head_len()].to_vec(), tail.to_vec());
            all_found.push(Resumption { source: source.clone(), position });
        }
    }
    let found = loop {
        let Some(found) = all_found.pop() else { return Ok((open()?, None)) };
        let tail = &found.position.tail;
        // That any bytes can come behind a whole line needs no look at them.
        if can_go_on(tail, b"?") || can_go_on(tail, &next_unpacked(open()?, found.position.offset)) {
            break found;
        }
    };
    if let Some(reread) = found.source.reread {
        bytes = open()?;
        let mut tail = Vec::new();
        read_up_to(&mut bytes, reread.offset, &mut tail)?;
        let position = reread.position(&head, &tail);
        return Ok((bytes, Some(Resumption { position, ..found })));
    }
    if offset != found.position.offset {
        bytes = open()?;
        read_up_to(&mut bytes, found.position.offset, &mut Vec::new())?;
    }
    if found.source.is_telling {
        return Ok((bytes, Some(found)));
    }
    // As many build rows as were read, and nothing else: nothing is lost when it is another's.
    match read_up_to(&mut bytes, 1, &mut Vec::new())? {
        0 => Ok((bytes, Some(found))),
        _ => Ok((open()?, None)),
    }
}

/// The first bytes behind an offset, as far as they can be read.
fn next_unpacked(mut bytes: impl Read, offset: u64) -> Vec<u8> {
    let mut next = Vec::new();
    if read_up_to(&mut bytes, offset, &mut next).is_ok_and(|read| read == offset) {
        next.clear();
        let _ = bytes.take(NEXT_LEN).read_to_end(&mut next);
    }
    next
}

/// Reads so many bytes, fewer at the end, and keeps the last of them in the window.
fn read_up_to(bytes: &mut impl Read, len: u64, window: &mut Vec<u8>) -> io::Result<u64> {
    let mut missing = len;
    while missing > 0 {
        let kept = window.len() - window.len().min(FINGERPRINT_LEN);
        window.drain(..kept);
        let read = bytes.by_ref().take(missing.min(64 << 10)).read_to_end(window)? as u64;
        if read == 0 {
            break;
        }
        missing -= read;
    }
    Ok(len - missing)
}

/// Whether some source may begin with these bytes, and the offset of the one read furthest.
pub fn furthest_with_head(known: &[Source], head: &[u8]) -> Option<u64> {
    known.iter().filter(|source| source.begins(head)).map(|source| source.offset).max()
}

/// The bytes of a file from `offset`, fewer at its end.
pub(super) fn read_at_most(file: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
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

pub(super) fn hash(bytes: &[u8]) -> i64 {
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

/// How far a batch has brought a source.
#[derive(Debug)]
pub struct Progress<'p> {
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
pub fn advance(connection: &Connection, source_id: i64, to: &Progress<'_>) -> Result<()> {
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
    // A stream that began before the source was to be read again goes on behind, and leaves this.
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
