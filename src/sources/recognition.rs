//! Which source a file or an archive goes on from, by what it begins with and what stands before the offset.

use std::fs::File;
use std::io::{self, Read};

use crate::journal::lines::{FINGERPRINT_LEN, Position};
use crate::journal::segments::next_beginning;
use crate::store::sources::{FileId, Source, hash, read_at_most};

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

/// So many bytes after an offset tell whether a line ended there.
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

/// Finds the source that the unpacked bytes of an archive go on from, if any, and gives what is after.
/// They can only be read from their start; `open` does that.
///
/// # Errors
/// When they cannot be read.
pub fn recognise_unpacked<R: Read>(
    known: &[Source],
    open: &dyn Fn() -> io::Result<R>,
) -> io::Result<(R, Option<Resumption>)> {
    let mut bytes = open()?;
    let head = read_head(&mut bytes)?;
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
                // Either way the bytes are after every offset found so far.
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
        // That any bytes can come after a whole line needs no look at them.
        if can_go_on(tail, b"?") {
            break found;
        }
        // What is opened again may be the same file, moved: `bytes` are nowhere then.
        offset = u64::MAX;
        if can_go_on(tail, &next_unpacked(open()?, found.position.offset)) {
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

/// The first bytes of what is read once: as many as are compared.
///
/// # Errors
/// When not one can be read. Of an archive that is cut off, what comes before the cut is read: it says so again
/// there.
pub fn read_head(bytes: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    match bytes.take(FINGERPRINT_LEN as u64).read_to_end(&mut head) {
        Err(error) if head.is_empty() => Err(error),
        _ => Ok(head),
    }
}

/// The first bytes after an offset, as far as they can be read.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::store::sources::hash;

    /// A file whose handles have one place together, as those of `try_clone`.
    struct Handle<'a> {
        bytes: &'a [u8],
        at: &'a Cell<usize>,
    }

    impl Read for Handle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = (&self.bytes[self.at.get()..]).read(buffer)?;
            self.at.set(self.at.get() + read);
            Ok(read)
        }
    }

    #[test]
    fn a_look_ahead_does_not_move_what_is_read_on() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| b'a' + (n % 23) as u8).chain(*b"\nnext\n").collect();
        let (head, tail) = (&bytes[..FINGERPRINT_LEN], &bytes[20_000 - FINGERPRINT_LEN..20_000]);
        let known = [Source {
            source_id: 1,
            path: String::new(),
            file: None,
            offset: 20_000,
            lines: 1,
            has_rows: true,
            is_telling: true,
            run_rows: 1,
            ambiguous_runs: 0,
            head_hash: hash(head),
            tail_hash: hash(tail),
            reread: None,
        }];
        let at = Cell::new(0);
        let open = || {
            at.set(0);
            Ok(Handle { bytes: &bytes, at: &at })
        };
        let (mut rest, found) = recognise_unpacked(&known, &open).expect("it can be read");
        assert_eq!(found.map(|found| found.position.offset), Some(20_000));
        let mut text = String::new();
        rest.read_to_string(&mut text).expect("it can be read");
        assert_eq!(text, "\nnext\n");
    }
}
