//! Whole lines with their place, out of anything that can be read.
//!
//! The buffer is reused, so memory does not grow with the input. A line without its newline stays
//! unread, unless the input is known to end there. The bytes just before the reading position are
//! kept, because they tell one journal from another (see [`crate::store::sources`]).

use std::io::{self, Read};

/// How many bytes of a source's start, and of what stands before the reading position, tell it
/// from other sources.
pub const FINGERPRINT_LEN: usize = 4096;

/// A line longer than this is passed over, except for its first part.
pub const MAX_LINE: usize = 16 << 20;

const CHUNK: usize = 1 << 20;

/// One line, newline excluded.
#[derive(Debug, PartialEq)]
pub struct Line<'b> {
    /// Its bytes; only the first [`FINGERPRINT_LEN`] of an oversized one.
    pub bytes: &'b [u8],
    /// The offset of its first byte in the source.
    pub offset: u64,
    /// Its number in the source, from 1.
    pub number: u64,
    /// Its length in the source, newline excluded.
    pub len: u64,
}

impl Line<'_> {
    /// Whether the line is longer than [`MAX_LINE`] and `bytes` holds only its first part.
    pub fn is_oversized(&self) -> bool {
        self.len > self.bytes.len() as u64
    }
}

/// How the end of the input is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The input may grow: an unfinished last line waits.
    Open,
    /// The input is complete: its last line is whole.
    Complete,
}

/// Whole lines of one source.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    ending: Ending,
    max_line: usize,
    buffer: Vec<u8>,
    /// Where unread bytes begin in the buffer.
    start: usize,
    /// Where they end.
    end: usize,
    /// How far the buffer was searched for a newline.
    searched: usize,
    /// Bytes of the current line that were dropped from the buffer because it is oversized.
    passed_over: u64,
    at_end: bool,
    offset: u64,
    number: u64,
    /// The first bytes of the source.
    head: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Lines of a source from its first byte.
    pub fn new(input: R, ending: Ending) -> Self {
        Self::resumed(input, ending, Position { offset: 0, lines: 0, head: Vec::new(), tail: Vec::new() })
    }

    /// Lines of a source from where an earlier reading stopped; `input` begins there.
    pub fn resumed(input: R, ending: Ending, from: Position) -> Self {
        let start = from.tail.len();
        Self {
            input,
            ending,
            max_line: MAX_LINE,
            buffer: from.tail,
            start,
            end: start,
            searched: start,
            passed_over: 0,
            at_end: false,
            offset: from.offset,
            number: from.lines,
            head: from.head,
        }
    }

    /// The same lines with another limit than [`MAX_LINE`], so that tests need no line of that size. At least
    /// twice [`FINGERPRINT_LEN`].
    #[must_use]
    pub fn with_max_line(self, max_line: usize) -> Self {
        Self { max_line: max_line.max(2 * FINGERPRINT_LEN), ..self }
    }

    /// The next whole line; `None` when there is none yet.
    ///
    /// # Errors
    /// When the input cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let newline = loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) {
                break Some(self.searched + at);
            }
            self.searched = self.end;
            if self.at_end {
                break None;
            }
            self.fill()?;
        };
        let (line_end, after) = match newline {
            Some(at) => (at, at + 1),
            None if self.ending == Ending::Complete && self.pending_bytes() > 0 => (self.end, self.end),
            None => return Ok(None),
        };
        let start = self.start;
        let consumed = self.passed_over + (after - start) as u64;
        let line = Line {
            bytes: &self.buffer[start..line_end],
            offset: self.offset,
            number: self.number + 1,
            len: self.passed_over + (line_end - start) as u64,
        };
        // An oversized line is one however the reads fell: its middle may have been dropped, or its newline
        // found before that.
        let line = match line.len > self.max_line as u64 {
            true => Line { bytes: &line.bytes[..FINGERPRINT_LEN], ..line },
            false => line,
        };
        if self.head.len() < FINGERPRINT_LEN {
            let wanted = FINGERPRINT_LEN - self.head.len();
            let bytes = &self.buffer[start..after];
            self.head.extend_from_slice(&bytes[..wanted.min(bytes.len())]);
        }
        self.offset += consumed;
        self.number += 1;
        self.start = after;
        self.searched = after;
        self.passed_over = 0;
        Ok(Some(line))
    }

    /// Whether the next line can be given without reading more.
    pub fn has_buffered_line(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer[self.searched..self.end]).is_some()
    }

    /// The offset after the last line given.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many lines the source has up to [`Lines::offset`].
    pub fn line_count(&self) -> u64 {
        self.number
    }

    /// Where a later reading may go on.
    pub fn position(&self) -> Position {
        Position {
            offset: self.offset,
            lines: self.number,
            head: self.head.clone(),
            tail: self.tail().to_vec(),
        }
    }

    /// Bytes read after the last whole line.
    pub fn pending_bytes(&self) -> u64 {
        self.passed_over + (self.end - self.start) as u64
    }

    /// The source's first bytes, at most [`FINGERPRINT_LEN`] and none unread.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The bytes just before [`Lines::offset`], at most [`FINGERPRINT_LEN`].
    pub fn tail(&self) -> &[u8] {
        &self.buffer[self.start - self.start.min(FINGERPRINT_LEN)..self.start]
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.end - self.start > self.max_line {
            self.pass_over();
        }
        let kept_from = self.start - self.start.min(FINGERPRINT_LEN);
        if kept_from > 0 && self.buffer.len() - self.end < CHUNK {
            self.buffer.copy_within(kept_from..self.end, 0);
            self.start -= kept_from;
            self.end -= kept_from;
            self.searched -= kept_from;
        }
        if self.buffer.len() - self.end < CHUNK {
            // Fresh from the allocator it is zero already: a small file costs no page of it.
            let mut larger = vec![0; self.end + CHUNK + (self.end - self.start)];
            larger[..self.end].copy_from_slice(&self.buffer[..self.end]);
            self.buffer = larger;
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.end += read;
        self.at_end = read == 0;
        Ok(())
    }

    /// Drops the middle of an oversized line: its first part stays, and its last bytes, for the
    /// fingerprint.
    fn pass_over(&mut self) {
        let first_end = self.start + FINGERPRINT_LEN;
        let last_from = self.end - FINGERPRINT_LEN;
        self.buffer.copy_within(last_from..self.end, first_end);
        self.passed_over += (last_from - first_end) as u64;
        self.end = first_end + FINGERPRINT_LEN;
        self.searched = self.end;
    }
}

/// Where a reading of a source stopped, and what tells the source from others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The byte after the last line read.
    pub offset: u64,
    /// Lines read.
    pub lines: u64,
    /// The source's first bytes, [`FINGERPRINT_LEN`] or up to the offset.
    pub head: Vec<u8>,
    /// The bytes before the offset, [`FINGERPRINT_LEN`] or from the start.
    pub tail: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8], ending: Ending) -> Vec<(Vec<u8>, u64, u64)> {
        let mut lines = Lines::new(input, ending);
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().expect("memory can be read") {
            found.push((line.bytes.to_vec(), line.offset, line.number));
        }
        found
    }

    #[test]
    fn an_unfinished_last_line_waits_unless_the_input_is_complete() {
        let input = b"one\n\ntwo";
        let whole = vec![(b"one".to_vec(), 0, 1), (b"".to_vec(), 4, 2)];
        assert_eq!(all(input, Ending::Open), whole);
        let mut complete = whole;
        complete.push((b"two".to_vec(), 5, 3));
        assert_eq!(all(input, Ending::Complete), complete);
    }

    #[test]
    fn lines_longer_than_the_buffer_are_given_whole_and_the_tail_stands_before_the_offset() {
        let mut input = Vec::new();
        for len in [10, 3 * CHUNK, 5, CHUNK - 1, CHUNK, 7] {
            input.extend(std::iter::repeat_n(b'a' + (len % 26) as u8, len));
            input.push(b'\n');
        }
        let mut lines = Lines::new(&input[..], Ending::Open);
        let mut count = 0;
        while let Some(line) = lines.next_line().expect("memory can be read") {
            let from = line.offset as usize;
            assert_eq!(line.bytes, &input[from..from + line.len as usize]);
            let offset = lines.offset() as usize;
            assert_eq!(lines.tail(), &input[offset.saturating_sub(FINGERPRINT_LEN)..offset]);
            assert_eq!(lines.head(), &input[..offset.min(FINGERPRINT_LEN)]);
            count += 1;
        }
        assert_eq!(count, 6);
    }

    #[test]
    fn an_oversized_line_is_passed_over_with_its_place_its_length_and_its_first_part() {
        let mut input = b"first\n".to_vec();
        let long: Vec<u8> = (0..5 * CHUNK).map(|i| b'a' + (i % 23) as u8).collect();
        input.extend(&long);
        input.extend(b"\nlast\n");
        let mut lines = Lines::new(&input[..], Ending::Open).with_max_line(CHUNK);
        assert_eq!(lines.next_line().expect("read").expect("a line").bytes, b"first");
        let line = lines.next_line().expect("read").expect("a line");
        assert!(line.is_oversized());
        assert_eq!((line.offset, line.number, line.len), (6, 2, long.len() as u64));
        assert_eq!(line.bytes, &long[..FINGERPRINT_LEN]);
        let offset = lines.offset() as usize;
        assert_eq!(lines.tail(), &input[offset - FINGERPRINT_LEN..offset]);
        let line = lines.next_line().expect("read").expect("a line");
        assert_eq!((line.bytes, line.offset), (&b"last"[..], offset as u64));
    }

    #[test]
    fn a_line_is_oversized_whether_or_not_its_newline_came_with_the_same_read() {
        for (len, is_oversized) in [(CHUNK, false), (CHUNK + 1, true)] {
            for before in [0, 1, CHUNK / 2, CHUNK - 2] {
                let mut input = vec![b'x'; before];
                input.push(b'\n');
                input.extend(std::iter::repeat_n(b'y', len));
                input.extend(b"\nlast\n");
                let mut lines = Lines::new(&input[..], Ending::Open).with_max_line(CHUNK);
                lines.next_line().expect("read").expect("a line");
                let line = lines.next_line().expect("read").expect("a line");
                assert_eq!(
                    (line.is_oversized(), line.len),
                    (is_oversized, len as u64),
                    "behind {before} bytes"
                );
            }
        }
    }
}
