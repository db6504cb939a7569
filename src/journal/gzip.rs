//! gzip: members one after the other, and what may stand after the last.
//!
//! As `zcat` does: zero bytes after the last member, which tapes and block copies leave, are no matter;
//! other bytes there are named, and what came before them is good.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::compression::{Rest, Trailing};

/// What the members hold, one after the other.
pub(super) struct Members<R> {
    /// `None` after the last one.
    member: Option<GzDecoder<Pushed<R>>>,
    trailing: Trailing,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(input: R, trailing: Trailing) -> Self {
        Self { member: Some(GzDecoder::new(Pushed { pushed: 0, bytes: *MAGIC, input })), trailing }
    }
}

const MAGIC: &[u8; 2] = b"\x1f\x8b";

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(buffer)? {
                0 if !buffer.is_empty() => {}
                read => return Ok(read),
            }
            let ended = self.member.take().map(GzDecoder::into_inner);
            let Some(Pushed { mut input, .. }) = ended else { break };
            // The next member begins with two bytes that are read apart.
            let mut next = [0; 2];
            match read_both(&mut input, &mut next)? {
                2 if next == *MAGIC => {
                    self.member = Some(GzDecoder::new(Pushed { pushed: 2, bytes: next, input }));
                }
                len => {
                    let is_zero =
                        next[..len].iter().all(|byte| *byte == 0) && is_zero_to_its_end(&mut input)?;
                    if len > 0 {
                        self.trailing.found(if is_zero { Rest::Zeros } else { Rest::Unread });
                    }
                }
            }
        }
        Ok(0)
    }
}

fn read_both(input: &mut impl Read, bytes: &mut [u8; 2]) -> io::Result<usize> {
    let mut len = 0;
    while len < 2 {
        match input.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

fn is_zero_to_its_end(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let len = bytes.len();
        input.consume(len);
    }
}

/// An input before which some bytes stand again.
struct Pushed<R> {
    bytes: [u8; 2],
    /// How many of their last ones.
    pushed: usize,
    input: R,
}

impl<R: BufRead> BufRead for Pushed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.pushed {
            0 => self.input.fill_buf(),
            pushed => Ok(&self.bytes[2 - pushed..]),
        }
    }

    fn consume(&mut self, len: usize) {
        match self.pushed {
            0 => self.input.consume(len),
            pushed => self.pushed = pushed.saturating_sub(len),
        }
    }
}

impl<R: BufRead> Read for Pushed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(buffer)?;
        self.consume(len);
        Ok(len)
    }
}
