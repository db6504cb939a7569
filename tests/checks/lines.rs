//! Bytes to lines: however they come, and wherever a reading stops and goes on.

use std::cell::Cell;
use std::io::{self, Read};

use narwhal_jq::journal::lines::{Ending, FINGERPRINT_LEN, Lines, MAX_LINE};

use super::{knobs, naive_lines};

/// An expanded input is at most so long.
const MOST: usize = 3 << 19;

/// Checks the bytes behind the knobs, as they stand or with some of them stretched.
pub fn check(data: &[u8]) {
    let (knobs, rest) = knobs(data);
    let bytes = if knobs[0] & 1 == 0 { rest.to_vec() } else { stretched(rest) };
    let ending = if knobs[0] & 2 == 0 { Ending::Open } else { Ending::Complete };
    let max_line =
        if knobs[0] & 4 == 0 { MAX_LINE } else { 2 * FINGERPRINT_LEN + usize::from(knobs[1]) * 16 };
    let lines = naive_lines(&bytes);
    let whole =
        lines.len() - usize::from(ending == Ending::Open && !bytes.is_empty() && !bytes.ends_with(b"\n"));
    let mut expected = Expected { bytes: &bytes, lines: &lines[..whole], max_line, next: 0 };

    // Up to some line, perhaps before more was there.
    let stop = usize::from(u16::from_le_bytes([knobs[2], knobs[3]])) % (whole + 1);
    let stop_at = lines.get(stop).map_or(bytes.len(), |(offset, _)| *offset);
    let seen = if knobs[0] & 8 == 0 { &bytes } else { &bytes[..stop_at] };
    let mut first = Lines::new(Pieces::of(seen, &knobs), ending).with_max_line(max_line);
    while expected.next < stop {
        expected.meets(&mut first);
    }
    let position = first.position();
    drop(first);

    // And on from there, as another process would.
    let mut rest = Lines::resumed(Pieces::of(&bytes[stop_at..], &knobs[4..]), ending, position);
    rest = rest.with_max_line(max_line);
    while expected.next < whole {
        expected.meets(&mut rest);
    }
    assert_eq!(rest.next_line().expect("memory can be read"), None);
    assert_eq!(rest.next_line().expect("memory can be read"), None);
    let read = lines[..whole].last().map_or(0, |(offset, line)| bytes.len().min(offset + line.len() + 1));
    assert_eq!(rest.pending_bytes(), (bytes.len() - read) as u64);
}

/// The lines as a naive split gives them.
struct Expected<'b> {
    bytes: &'b [u8],
    lines: &'b [(usize, &'b [u8])],
    max_line: usize,
    next: usize,
}

impl Expected<'_> {
    /// The next line and the position behind it are as they should be.
    fn meets(&mut self, lines: &mut Lines<Pieces<'_>>) {
        let (offset, bytes) = self.lines[self.next];
        self.next += 1;
        let has_line = lines.has_buffered_line();
        let reads_before = READS.get();
        let line = lines.next_line().expect("memory can be read").expect("there is a line");
        assert_eq!(
            (line.offset, line.number, line.len),
            (offset as u64, self.next as u64, bytes.len() as u64)
        );
        let is_long = bytes.len() > self.max_line;
        assert_eq!(line.is_oversized(), is_long, "{} bytes where {} may be", bytes.len(), self.max_line);
        let shown = if is_long { &bytes[..FINGERPRINT_LEN] } else { bytes };
        assert!(line.bytes == shown, "other bytes");
        assert!(!has_line || reads_before == READS.get(), "a line was there without reading");
        let end = self.bytes.len().min(offset + bytes.len() + 1);
        let position = lines.position();
        assert_eq!((position.offset, position.lines), (end as u64, self.next as u64));
        assert!(position.head == self.bytes[..end.min(FINGERPRINT_LEN)], "another head");
        assert!(position.tail == self.bytes[end - end.min(FINGERPRINT_LEN)..end], "another tail");
    }
}

thread_local! {
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Gives bytes in pieces of the sizes that the knobs say; an interruption where one is 0.
struct Pieces<'b> {
    bytes: &'b [u8],
    sizes: Vec<u8>,
    at: usize,
    interrupted: bool,
}

impl<'b> Pieces<'b> {
    fn of(bytes: &'b [u8], sizes: &[u8]) -> Self {
        Self { bytes, sizes: sizes.to_vec(), at: 0, interrupted: false }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        READS.set(READS.get() + 1);
        let size = usize::from(self.sizes[self.at % self.sizes.len()]);
        self.at += 1;
        if size == 0 && !std::mem::replace(&mut self.interrupted, true) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.interrupted = false;
        // Few bytes of a short input, up to 64 KiB of a long one.
        let size = (size + 1) * (1 + self.bytes.len() / 4096).min(256);
        let len = size.min(self.bytes.len()).min(buffer.len());
        buffer[..len].copy_from_slice(&self.bytes[..len]);
        self.bytes = &self.bytes[len..];
        Ok(len)
    }
}

/// Each byte from 0xF0 becomes some thousands of bytes, so that few bytes make long lines.
fn stretched(bytes: &[u8]) -> Vec<u8> {
    let mut long = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            0xF0.. if long.len() < MOST => {
                // No two of 23 neighbours are equal, so that bytes of another place are other bytes.
                let pattern = b"abcdefghijklmnopqrstuvw".repeat(180);
                for part in 0..=byte & 0xF {
                    long.extend_from_slice(&pattern[(at + usize::from(part)) % 23..]);
                }
            }
            _ => long.push(*byte),
        }
    }
    long
}
