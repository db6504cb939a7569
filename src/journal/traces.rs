//! Whether a row of a journal stands anywhere among bytes, in whatever its words are wrapped: quoted as a cell or as
//! text within JSON, escaped, in base64. Such bytes are not read as a journal, but may be the only copy of one.

use std::io::{self, Read};

use memchr::memmem;

use super::SCHEMA;

/// The key of it stands so close before it, with what a wrapping writes in place of quotes.
const REACH: usize = 64;

/// Its name in base64, by where it begins among three bytes.
const ENCODED: [&[u8]; 3] = [b"bmFyd2hhbC5qb3VybmFs", b"5hcndoYWwuam91cm5hb", b"uYXJ3aGFsLmpvdXJuYW"];

/// What is looked at together.
const BUFFER: usize = 256 << 10;

/// And again with what comes after it: longer than a row's first words with every letter of them escaped.
const OVERLAP: usize = 1 << 10;

/// What was found of a row, and why there was no more to look at, if that failed.
pub fn hold_row(mut bytes: impl Read) -> (bool, io::Result<()>) {
    let mut buffer = Vec::with_capacity(BUFFER + OVERLAP);
    loop {
        let read = bytes.by_ref().take(BUFFER as u64).read_to_end(&mut buffer);
        if is_trace(&buffer) || is_trace(&unescaped(&buffer)) {
            return (true, Ok(()));
        }
        match read {
            Ok(BUFFER) => {}
            read => return (false, read.map(|_| ())),
        }
        buffer.drain(..buffer.len().saturating_sub(OVERLAP));
    }
}

fn is_trace(bytes: &[u8]) -> bool {
    let is_keyed = |at: usize| memmem::find(&bytes[at.saturating_sub(REACH)..at], b"schema").is_some();
    memmem::find_iter(bytes, SCHEMA).any(is_keyed)
        || ENCODED.iter().any(|encoded| memmem::find(bytes, encoded).is_some())
}

/// With what `\u006e` and `\x6e` stand for, without other backslashes and the zero bytes between wide letters.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr2(b'\\', 0, rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = match rest.first() {
            Some(b'u') => rest.get(1..5),
            Some(b'x') => rest.get(1..3),
            _ => None,
        };
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some((code, digits)) = code.zip(digits) {
            plain.push(code);
            rest = &rest[1 + digits.len()..];
        }
    }
    plain.extend_from_slice(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_in_whatever_its_words_are_wrapped_and_where_a_buffer_ends() {
        // The last three by `base64` of coreutils, with 0, 1 and 2 bytes before.
        for row in [
            r#"{"schema": "narwhal.journal", "#,
            r#""{""schema"": ""narwhal.journal"", ""#,
            r#"{"log":"{\"schema\": \"narwhal.journal\""#,
            r#"{"a":"{\"log\":\"{\\\"schema\\\": \\\"narwhal.journal\\\""#,
            r#"{"schema": "\u006earwhal\u002ejournal", "#,
            r#"\x22schema\x22: \x22narwhal.journal\x22"#,
            "&quot;schema&quot;: &quot;narwhal.journal&quot;",
            "%7B%22schema%22%3A%20%22narwhal.journal%22",
            "{'schema': 'narwhal.journal', ",
            "{\0\"\0s\0c\0h\0e\0m\0a\0\"\0:\0 \0\"\0n\0a\0r\0w\0h\0a\0l\0.\0j\0o\0u\0r\0n\0a\0l\0",
            "bmFyd2hhbC5qb3VybmFs",
            "eG5hcndoYWwuam91cm5hbA==",
            "eHhuYXJ3aGFsLmpvdXJuYWw=",
        ] {
            for before in [0, 100, BUFFER - row.len() / 2, BUFFER, BUFFER + OVERLAP + 1, 3 * BUFFER - 3] {
                let bytes = ["x".repeat(before).as_bytes(), row.as_bytes(), b" and so on"].concat();
                assert!(hold_row(&bytes[..]).0, "{row} after {before} bytes");
            }
        }
    }

    #[test]
    fn other_text_holds_no_row() {
        for text in ["", "narwhal.journal", r#"[{"schema": "mine"}]"#, "schema\\", "\\u", "\\u00", "\\x6"] {
            assert!(!hold_row(text.as_bytes()).0, "{text}");
        }
    }
}
