//! Texts of a line: borrowed where nothing in them is escaped, lone surrogates mended.

use std::borrow::Cow;

use super::fault::Repair;
use super::json::{Read, Reader};
use super::scan::plain_len;

impl<'a> Reader<'a> {
    /// Reads a string.
    ///
    /// # Errors
    /// When none begins here, or it is not well formed.
    #[inline]
    pub fn string(&mut self) -> Read<Cow<'a, str>> {
        if self.bytes.get(self.pos) != Some(&b'"') {
            return Err(self.expected("text"));
        }
        let start = self.pos + 1;
        self.pos = start;
        match self.plain_run()? {
            b'"' => {
                let text = &self.text[start..self.pos];
                self.pos += 1;
                Ok(Cow::Borrowed(text))
            }
            _ => self.escaped_string(start).map(Cow::Owned),
        }
    }

    /// Moves to the next `"` or `\`, which it returns.
    #[inline]
    fn plain_run(&mut self) -> Read<u8> {
        let rest = &self.bytes[self.pos..];
        let len = plain_len(rest);
        self.pos += len;
        match rest.get(len) {
            Some(stop @ (b'"' | b'\\')) => Ok(*stop),
            Some(0) => Err(self.fault("a NUL byte".to_owned())),
            Some(control) => {
                Err(self.fault(format!("not JSON: a control character (0x{control:02x}) inside text")))
            }
            None => Err(self.expected("the end of the text (`\"`)")),
        }
    }

    #[cold]
    fn escaped_string(&mut self, start: usize) -> Read<String> {
        let mut text = self.text[start..self.pos].to_owned();
        loop {
            let run = self.pos;
            let stop = self.plain_run()?;
            text.push_str(&self.text[run..self.pos]);
            if stop == b'"' {
                self.pos += 1;
                return Ok(text);
            }
            text.push(self.escape()?);
        }
    }

    /// Reads one escape, `\` included. A surrogate without its other half gives U+FFFD.
    fn escape(&mut self) -> Read<char> {
        let start = self.pos;
        let letter = self.bytes.get(start + 1).copied();
        self.pos += 2;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = self.hex4(start)?;
                if let Some(plain) = char::from_u32(unit) {
                    return Ok(plain);
                }
                if unit < 0xDC00 && self.bytes[self.pos..].starts_with(b"\\u") {
                    let after_high = self.pos;
                    self.pos += 2;
                    let low = self.hex4(after_high)?;
                    if (0xDC00..0xE000).contains(&low) {
                        let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                        return Ok(char::from_u32(code).expect("a surrogate pair is a character"));
                    }
                    self.pos = after_high;
                }
                self.repairs.push(Repair { at: start, what: "a lone surrogate read as U+FFFD" });
                '\u{FFFD}'
            }
            _ => {
                self.pos = start;
                return Err(self.fault("not JSON: an escape that there is not".to_owned()));
            }
        })
    }

    fn hex4(&mut self, escape: usize) -> Read<u32> {
        let digits = self.bytes.get(self.pos..self.pos + 4);
        match digits.and_then(|d| d.iter().try_fold(0, |n, b| Some(n * 16 + (*b as char).to_digit(16)?))) {
            Some(unit) => {
                self.pos += 4;
                Ok(unit)
            }
            None => {
                self.pos = escape;
                Err(self.fault("not JSON: a \\u escape without four hex digits".to_owned()))
            }
        }
    }
}
