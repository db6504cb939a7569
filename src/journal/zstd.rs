//! Zstandard: frames one after the other, those to be skipped before, between and after them. Zero bytes after the
//! last are no matter, as with gzip.
//!
//! A frame's window is the memory that unpacking it takes: up to 128 MiB it is given, as `zstd -d` does
//! unasked; a larger one is named with the way out.

use std::io::{self, Read};

use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, get_error_name};

use super::compression::{Compression, Rest, Trailing};

const MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";

/// The largest window that is given, as a power of two.
const MAX_WINDOW_LOG: u32 = 27;

/// The largest one that `zstd --long` takes.
const MAX_LONG: u32 = 31;

/// A frame's header has at most so many bytes.
const MAX_HEADER: usize = 18;

const BUFFER: usize = 128 << 10;

/// Whether a frame begins with these bytes, or one that is to be skipped.
pub(super) fn is_frame(head: &[u8]) -> bool {
    head.starts_with(&MAGIC) || is_skippable(head)
}

fn is_skippable(head: &[u8]) -> bool {
    head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == *b"\x2a\x4d\x18"
}

/// What the frames hold, one after the other.
pub(super) struct Frames<R> {
    input: R,
    context: DCtx<'static>,
    buffer: Vec<u8>,
    /// Where unread bytes begin in the buffer, and end.
    start: usize,
    end: usize,
    at_end: bool,
    /// Where the buffer's first unread byte stands in the archive.
    at: u64,
    is_inside: bool,
    trailing: Trailing,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(input: R, trailing: Trailing) -> io::Result<Self> {
        let mut context = DCtx::create();
        context.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(damaged)?;
        let buffer = vec![0; BUFFER];
        Ok(Self {
            input,
            context,
            buffer,
            start: 0,
            end: 0,
            at_end: false,
            at: 0,
            is_inside: false,
            trailing,
        })
    }

    /// Reads until so many bytes are in the buffer, or there are no more.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.buffer.len() - self.start < wanted {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while self.end - self.start < wanted && !self.at_end {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Passes over zero bytes; whether there are no others.
    fn is_zero_to_its_end(&mut self) -> io::Result<bool> {
        loop {
            self.fill(1)?;
            let bytes = &self.buffer[self.start..self.end];
            if bytes.is_empty() {
                return Ok(true);
            }
            if bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            self.at += bytes.len() as u64;
            self.start = self.end;
        }
    }

    /// Whether another frame begins here.
    fn begin(&mut self) -> io::Result<bool> {
        self.fill(MAX_HEADER)?;
        let head = &self.buffer[self.start..self.end];
        if head.is_empty() {
            return Ok(false);
        }
        let at = self.at;
        if head.iter().all(|byte| *byte == 0) && self.is_zero_to_its_end()? {
            self.trailing.found(Rest::Zeros);
            return Ok(false);
        }
        let head = &self.buffer[self.start..self.end];
        if head.len() < 4 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a frame's first bytes are missing"));
        }
        if !is_frame(head) {
            // Skippable frames stand before those of lz4, too.
            if let Err(error) = Compression::of(head) {
                return Err(io::Error::new(io::ErrorKind::Unsupported, error));
            }
            let what = format!("what stands at byte {at} after a frame is not one");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if let Some(window) = window(head).filter(|window| *window > 1 << MAX_WINDOW_LOG) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, too_large(window)));
        }
        if let Some(id) = dictionary(head) {
            let why = format!(
                "the archive was made with a dictionary, number {id}: \
                 `zstd -D DICTIONARY -dc FILE | narwhal-jq ingest -` reads it"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        self.is_inside = true;
        Ok(true)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            let mut input = InBuffer::around(&self.buffer[self.start..self.end]);
            let mut output = OutBuffer::around(&mut *buffer);
            let hint = self.context.decompress_stream(&mut output, &mut input).map_err(damaged)?;
            let (read, written) = (input.pos(), output.pos());
            self.start += read;
            self.at += read as u64;
            self.is_inside = hint != 0;
            if written > 0 {
                return Ok(written);
            }
            if self.is_inside && self.start == self.end {
                self.fill(1)?;
                if self.start == self.end {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a frame is not whole"));
                }
            }
        }
    }
}

fn damaged(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, get_error_name(code))
}

/// The number of the dictionary that a frame needs, from its header (RFC 8878, 3.1.1.1.3).
fn dictionary(head: &[u8]) -> Option<u64> {
    let descriptor = *head.strip_prefix(&MAGIC)?.first()?;
    let from = if descriptor & 0x20 == 0 { 6 } else { 5 };
    let number = le(head.get(from..)?, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
    (number != 0).then_some(number)
}

/// The number that so many bytes say, the last ones the highest.
fn le(bytes: &[u8], len: usize) -> Option<u64> {
    let bytes = bytes.get(..len)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The window of a frame, in bytes, from its header (RFC 8878, 3.1.1.1).
fn window(head: &[u8]) -> Option<u64> {
    if !head.starts_with(&MAGIC) {
        return None;
    }
    let descriptor = *head.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    if !is_single {
        let (exponent, mantissa) = (head.get(5)? >> 3, head.get(5)? & 7);
        let base = 1_u64 << (10 + u32::from(exponent));
        return Some(base + base / 8 * u64::from(mantissa));
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = head.get(5 + dictionary..)?;
    match descriptor >> 6 {
        0 => le(size, 1),
        1 => le(size, 2).map(|size| size + 256),
        2 => le(size, 4),
        _ => le(size, 8),
    }
}

/// Says how large a window is, and how it is unpacked.
fn too_large(window: u64) -> String {
    let log = 64 - (window - 1).leading_zeros();
    let size =
        format!("its window of {} MiB takes more memory than the 128 MiB that are given", window >> 20);
    match log {
        ..=MAX_LONG => format!(
            "the archive was made with `zstd --long={log}`: {size}; \
             `zstd -d --long={log} -c FILE | narwhal-jq ingest -` reads it"
        ),
        _ => format!("{size}, and more than `zstd --long={MAX_LONG}` does: no zstd unpacks it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_read_from_the_header() {
        for (rest, expected) in [
            (&[0x00, 0x58][..], Some(1 << 21)),
            (&[0x04, 0x88], Some(1 << 27)),
            (&[0x04, 0x89], Some((1 << 27) + (1 << 24))),
            (&[0x20, 200], Some(200)),
            (&[0x60, 0x10, 0x01], Some(0x110 + 256)),
            (&[0xa1, 9, 0, 0, 0, 0x20], Some(1 << 29)),
            (&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0], Some(1 << 32)),
            (&[0x00], None),
            (&[0xe0, 0], None),
        ] {
            assert_eq!(window(&[&MAGIC[..], rest].concat()), expected, "{rest:?}");
        }
        assert!(too_large((1 << 27) + 1).contains("--long=28"));
        assert!(too_large(1 << 31).contains("--long=31 -c"));
        assert!(too_large(1 << 33).contains("no zstd"));
    }
}
