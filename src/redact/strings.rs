//! The strings of a line, good or damaged, each with what its field holds.
//!
//! More lenient than the journal's reader: names that only a damaged line holds as names must be
//! known, too, because another line may hold them as text.

use std::borrow::Cow;

use super::fields::{Role, role_of};
use crate::journal::json::Reader;
use crate::journal::segments::{Content, SegmentKind, next_beginning, read_line};

/// One string of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'l> {
    /// Its first byte in the line, after the quote.
    pub at: usize,
    /// Its bytes as they stand, between the quotes.
    pub raw: &'l [u8],
    /// What it is: [`Role::Text`] for keys that are no engines.
    pub role: Role,
}

impl<'l> Quoted<'l> {
    /// The text that the bytes say.
    pub fn text(&self) -> Cow<'l, str> {
        if !self.raw.contains(&b'\\') {
            return String::from_utf8_lossy(self.raw);
        }
        let quoted = format!("\"{}\"", String::from_utf8_lossy(self.raw));
        match Reader::new(&quoted, 0).string() {
            Ok(text) => Cow::Owned(text.into_owned()),
            Err(_) => String::from_utf8_lossy(self.raw),
        }
    }
}

/// Calls `take` with every whole string of a line, in order.
pub fn each_string<'l>(line: &'l [u8], mut take: impl FnMut(Quoted<'l>)) {
    let mut each = |from: usize, to: usize| {
        let strings =
            Strings { line: &line[from..to], pos: 0, depth: 0, role: Role::Text, named: Vec::new() };
        for quoted in strings {
            take(Quoted { at: from + quoted.at, ..quoted });
        }
    };
    // Few lines hold what may be the beginning of a second row.
    let content = line.get(1..).and_then(|_| next_beginning(line, 1)).map(|_| read_line(line));
    let Some(Content::Segments(segments)) = content else { return each(0, line.len()) };
    for segment in segments {
        let (mut from, end) = (segment.at, segment.at + segment.len);
        match segment.kind {
            SegmentKind::Row(_) => each(from, end),
            SegmentKind::Repaired(_) => {}
            SegmentKind::Rejected(_) => {
                // A torn row leaves the quotes of the row glued to it out of step.
                while from < end {
                    let to = next_beginning(&line[..end], from + 1).unwrap_or(end);
                    each(from, to);
                    from = to;
                }
            }
        }
    }
}

/// The strings of a row, or of a segment of one.
struct Strings<'l> {
    line: &'l [u8],
    pos: usize,
    depth: usize,
    /// The role of the value that comes next.
    role: Role,
    /// The depths at which strings are names, and of what: engines as keys, engines, hosts and users as elements.
    named: Vec<(usize, Role)>,
}

impl<'l> Iterator for Strings<'l> {
    type Item = Quoted<'l>;

    fn next(&mut self) -> Option<Quoted<'l>> {
        loop {
            let byte = *self.line.get(self.pos)?;
            self.pos += 1;
            match byte {
                b'"' => return self.string(),
                b'[' => self.open(&[Role::Engine, Role::Host, Role::User]),
                b'{' => self.open(&[Role::EngineKeys]),
                b']' | b'}' => self.close(),
                _ => {}
            }
        }
    }
}

impl<'l> Strings<'l> {
    fn open(&mut self, named: &[Role]) {
        self.depth += 1;
        let role = std::mem::replace(&mut self.role, Role::Text);
        if named.contains(&role) {
            self.named.push((self.depth, role));
        }
    }

    fn close(&mut self) {
        self.named.pop_if(|(depth, _)| *depth == self.depth);
        self.depth = self.depth.saturating_sub(1);
    }

    fn string(&mut self) -> Option<Quoted<'l>> {
        let at = self.pos;
        let end = loop {
            let found = self.pos + memchr::memchr2(b'"', b'\\', self.line.get(self.pos..)?)?;
            if self.line[found] == b'"' {
                break found;
            }
            self.pos = found + 2;
        };
        self.pos = end + 1;
        let raw = &self.line[at..end];
        let is_key = self.line[self.pos..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        let here = self.named.last().filter(|(depth, _)| *depth == self.depth).map(|(_, role)| *role);
        let own = std::mem::replace(&mut self.role, Role::Text);
        if !is_key {
            let role = here.filter(|role| *role != Role::EngineKeys).unwrap_or(own);
            let role = if role == Role::EngineKeys { Role::Text } else { role };
            return Some(Quoted { at, raw, role });
        }
        let is_engine = here == Some(Role::EngineKeys);
        let key = Quoted { at, raw, role: if is_engine { Role::Engine } else { Role::Text } };
        self.role = role_of(&key.text());
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(line: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_string(line.as_bytes(), |quoted| {
            if quoted.role == Role::Engine {
                found.push(quoted.text().into_owned());
            }
        });
        found
    }

    #[test]
    fn engines_are_found_in_values_lists_and_keys_and_nowhere_else() {
        let line = r#"{"iid": "a", "x": "no", "engines": ["b", {"iid": "c", "y": "no"}, "d"],
            "cached_tokens": {"e\"": 5, "f": {"no": "no"}}, "attempts": 3, "z": "no", "producer": null, "w": "no"}"#;
        assert_eq!(engines(line), ["a", "b", "c", "d", "e\"", "f"]);
    }

    #[test]
    fn engines_are_found_behind_lists_and_objects_in_their_list_and_under_keys_with_escapes() {
        for (line, found) in [
            (r#"{"engines": ["a", ["no"], {"engines": ["b"], "x": "no"}, "c"], "y": "no"}"#, "abc"),
            (r#"{"cached_tokens": {"a": {"cached_tokens": {"b": 1}, "no": 2}, "c": 3}, "no": 4}"#, "abc"),
            (r#"{"\u0069id": "a", "e\u006egines": ["b"]}"#, "ab"),
        ] {
            assert_eq!(engines(line).concat(), found, "{line}");
        }
        let row = r#"{"schema": "narwhal.journal", "schema_version": 1, "run": "r", "event": "e", "engines": [{"schema": 1}, {"meta": 2}, "a"]}"#;
        assert_eq!(engines(row), ["a"]);
        assert_eq!(engines(&format!("{row}{row}{}", &row[..row.len() - 2])), ["a", "a"]);
    }

    #[test]
    fn lines_without_a_string_have_none() {
        for line in ["", "{", " ", "{\""] {
            assert_eq!(engines(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_torn_row_does_not_hide_the_names_of_the_one_glued_to_it() {
        let line =
            r#"{"prefill_iid": "a", "error": "cut of{"schema": "s", "prefill_iid": "b", "decode_iid": "tor"#;
        assert_eq!(engines(line), ["a", "b"]);
    }
}
