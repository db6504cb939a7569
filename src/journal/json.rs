//! A pull reader over the JSON of one line, and the few things it forgives.
//!
//! A general JSON library cannot read a journal as docs/journal.md describes it: the writer can emit `NaN` and
//! lone surrogates, a key may stand twice, an integer may not fit, and a line may hold a torn
//! record with a whole one after it. This reader says where a value ends, mends what may be
//! mended (and tells), and otherwise gives the byte and the reason. Text without escapes is
//! borrowed from the line. It knows JSON, not journals.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::fault::{Fault, Repair};
use super::object::Object;

/// Objects and arrays may nest this deep, the outermost one counted.
pub const MAX_DEPTH: usize = 128;

/// What kind of value comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`.
    Null,
    /// A string.
    Text,
    /// A number, or one of the tokens that Python writes for none.
    Number,
    /// `true` or `false`.
    Flag,
    /// An object.
    Object,
    /// An array.
    Array,
}

impl ValueKind {
    /// The kind as a message names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Text => "text",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

/// A JSON number as it was written: whole, or with a fraction or exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Numeral {
    /// Written without fraction and exponent.
    Int(i64),
    /// Written with a fraction or an exponent; always finite.
    Real(f64),
}

/// The reader. Its position only grows. Numbers are read in `number`, texts in `quoted`.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) pos: usize,
    depth: usize,
    /// Whether the innermost object or array has had no member yet.
    fresh: bool,
    /// What was mended so far, in order.
    pub repairs: Vec<Repair>,
}

pub(super) type Read<T> = Result<T, Fault>;

impl<'a> Reader<'a> {
    /// A reader of `text` that begins at byte `pos`, which must be a character's first byte.
    pub fn new(text: &'a str, pos: usize) -> Self {
        Self { text, bytes: text.as_bytes(), pos, depth: 0, fresh: false, repairs: Vec::new() }
    }

    /// The byte after what was read.
    pub fn position(&self) -> usize {
        self.pos
    }

    /// The byte after what was read and the blanks after it.
    pub fn position_after_blanks(&mut self) -> usize {
        self.skip_blanks();
        self.pos
    }

    /// The kind of the next value.
    ///
    /// # Errors
    /// When no value begins here.
    pub fn peek(&mut self) -> Read<ValueKind> {
        self.skip_blanks();
        match self.bytes.get(self.pos) {
            Some(b'"') => Ok(ValueKind::Text),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(ValueKind::Number),
            Some(b'n') => Ok(ValueKind::Null),
            Some(b't' | b'f') => Ok(ValueKind::Flag),
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            _ => Err(self.expected("a value")),
        }
    }

    /// Whether a value of this kind begins right here, as far as one byte tells: no blanks, no tokens for
    /// what has no number. It saves most values [`Reader::peek`].
    #[inline(always)]
    pub fn begins(&self, kind: ValueKind) -> bool {
        self.bytes.get(self.pos).is_some_and(|byte| match kind {
            ValueKind::Null => *byte == b'n',
            ValueKind::Text => *byte == b'"',
            ValueKind::Number => byte.is_ascii_digit(),
            ValueKind::Flag => matches!(byte, b't' | b'f'),
            ValueKind::Object => *byte == b'{',
            ValueKind::Array => *byte == b'[',
        })
    }

    /// Steps into an object.
    ///
    /// # Errors
    /// When none begins here, or it nests too deep.
    pub fn begin_object(&mut self) -> Read<()> {
        self.begin(b'{', "`{`")
    }

    /// Steps into an array.
    ///
    /// # Errors
    /// When none begins here, or it nests too deep.
    pub fn begin_array(&mut self) -> Read<()> {
        self.begin(b'[', "`[`")
    }

    fn begin(&mut self, open: u8, name: &str) -> Read<()> {
        self.skip_blanks();
        if self.bytes.get(self.pos) != Some(&open) {
            return Err(self.expected(name));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(format!("nested deeper than {MAX_DEPTH}")));
        }
        self.pos += 1;
        self.fresh = true;
        Ok(())
    }

    /// The next key of the object, its colon read; `None` steps out of the object.
    ///
    /// # Errors
    /// When the text is not an object's next member or end.
    #[inline]
    pub fn next_key(&mut self) -> Read<Option<Cow<'a, str>>> {
        if !self.next_member(b'}', "`,` or `}`")? {
            return Ok(None);
        }
        if self.bytes.get(self.pos) != Some(&b'"') {
            return Err(self.expected("a key"));
        }
        let key = self.string()?;
        self.skip_blanks();
        if self.bytes.get(self.pos) != Some(&b':') {
            return Err(self.expected("`:`"));
        }
        self.pos += 1;
        Ok(Some(key))
    }

    /// Whether the object's next key is this one, in the writer's own spacing; then it is read. It saves
    /// most of the work of [`Reader::next_key`] on rows that come in the writer's order. `key` is given as
    /// it stands after another member: `, "key": `.
    #[inline(always)]
    pub fn next_key_is(&mut self, key: &'static str) -> bool {
        if self.fresh {
            return self.first_key_is(&key[2..]);
        }
        let is_next = self.bytes[self.pos..].starts_with(key.as_bytes());
        if is_next {
            self.pos += key.len();
        }
        is_next
    }

    fn first_key_is(&mut self, key: &'static str) -> bool {
        let is_next = self.bytes[self.pos..].starts_with(key.as_bytes());
        if is_next {
            self.pos += key.len();
            self.fresh = false;
        }
        is_next
    }

    /// Whether the array has a next element; `false` steps out of it.
    ///
    /// # Errors
    /// When the text is not an array's next element or end.
    pub fn next_element(&mut self) -> Read<bool> {
        self.next_member(b']', "`,` or `]`")
    }

    #[inline]
    fn next_member(&mut self, close: u8, name: &str) -> Read<bool> {
        self.skip_blanks();
        let fresh = std::mem::replace(&mut self.fresh, false);
        match self.bytes.get(self.pos) {
            Some(byte) if *byte == close => {
                self.pos += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !fresh => {
                self.pos += 1;
                self.skip_blanks();
                Ok(true)
            }
            Some(_) if fresh => Ok(true),
            _ => Err(self.expected(name)),
        }
    }

    /// Reads `null`.
    ///
    /// # Errors
    /// When the text is not `null`.
    #[inline]
    pub fn null(&mut self) -> Read<()> {
        self.word("null")
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// When the text is neither.
    #[inline]
    pub fn flag(&mut self) -> Read<bool> {
        if self.bytes.get(self.pos) == Some(&b't') {
            self.word("true").map(|()| true)
        } else {
            self.word("false").map(|()| false)
        }
    }

    #[inline(always)]
    fn word(&mut self, word: &'static str) -> Read<()> {
        if !self.bytes[self.pos..].starts_with(word.as_bytes()) {
            return Err(self.expected("a value"));
        }
        self.pos += word.len();
        Ok(())
    }

    /// Reads any value. What has no number (`NaN`) comes as null.
    ///
    /// # Errors
    /// As the other readers; also a key that stands twice in one object.
    pub fn value(&mut self) -> Read<Value> {
        Ok(match self.peek()? {
            ValueKind::Null => {
                self.null()?;
                Value::Null
            }
            ValueKind::Flag => Value::Bool(self.flag()?),
            ValueKind::Text => Value::String(self.string()?.into_owned()),
            ValueKind::Number => match self.number()? {
                None => Value::Null,
                Some(Numeral::Int(int)) => Value::from(int),
                Some(Numeral::Real(real)) => Number::from_f64(real).map_or(Value::Null, Value::Number),
            },
            ValueKind::Array => {
                let mut items = Vec::new();
                self.begin_array()?;
                while self.next_element()? {
                    items.push(self.value()?);
                }
                Value::Array(items)
            }
            ValueKind::Object => Value::Object(self.object()?),
        })
    }

    /// Reads an object whole.
    ///
    /// # Errors
    /// As [`Reader::value`].
    pub fn object(&mut self) -> Read<Object> {
        let mut object = Object::new();
        self.begin_object()?;
        while let Some(key) = self.next_key()? {
            let value = self.value()?;
            if object.contains_key(key.as_ref()) {
                return Err(self.twice(&key));
            }
            object.insert(key.into_owned(), value);
        }
        Ok(object)
    }

    /// The fault of a key that stands twice in one object.
    pub fn twice(&self, key: &str) -> Fault {
        let shown: String = key.chars().take(80).collect();
        self.fault(format!("the key {shown:?} twice in one object"))
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.pos), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    #[cold]
    pub(super) fn expected(&self, what: &str) -> Fault {
        self.fault(match self.text[self.pos.min(self.text.len())..].chars().next() {
            None => format!("not JSON: ends where {what} should stand"),
            Some('\0') => "a NUL byte".to_owned(),
            Some(found) => format!("not JSON: {found:?} where {what} should stand"),
        })
    }

    pub(super) fn fault(&self, why: String) -> Fault {
        Fault::Syntax { at: self.pos, why }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Read<(Value, usize, usize)> {
        let mut reader = Reader::new(text, 0);
        let value = reader.value()?;
        Ok((value, reader.position(), reader.repairs.len()))
    }

    #[test]
    fn values_are_read_to_their_end_and_no_further() {
        for (text, value, end) in [
            ("null", Value::Null, 4),
            (" true ,", json!(true), 5),
            ("\"a\\u00e9\\n\"x", json!("a\u{e9}\n"), 11),
            ("\"\\ud83d\\ude00\"", json!("\u{1f600}"), 14),
            ("[1, [], {\"a\": -2.5e1}] {", json!([1, [], {"a": -25.0}]), 22),
            ("{\"a\":1}{\"b\":2}", json!({"a": 1}), 7),
        ] {
            assert_eq!(read(text), Ok((value, end, 0)), "{text}");
        }
    }

    #[test]
    fn what_the_writer_can_emit_and_json_has_not_is_mended_and_told() {
        for (text, value) in [
            ("NaN", Value::Null),
            ("[Infinity, -Infinity]", json!([null, null])),
            ("\"\\ud83d\"", json!("\u{fffd}")),
            ("\"\\ud83dx\"", json!("\u{fffd}x")),
            ("\"\\ud83d\\u0041\"", json!("\u{fffd}A")),
        ] {
            let (found, _, repairs) = read(text).expect("it can be mended");
            assert!(repairs > 0, "{text}");
            assert_eq!(found, value, "{text}");
        }
    }

    #[test]
    fn what_is_no_value_says_where_and_why() {
        for (text, at, why) in [
            ("", 0, "not JSON: ends where a value should stand"),
            ("{\"a\" 1}", 5, "not JSON: '1' where `:` should stand"),
            ("{\"a\": 1,}", 8, "not JSON: '}' where a key should stand"),
            ("[1 2]", 3, "not JSON: '2' where `,` or `]` should stand"),
            ("\"a", 2, "not JSON: ends where the end of the text (`\"`) should stand"),
            ("\"a\tb\"", 2, "not JSON: a control character (0x09) inside text"),
            ("\"\\x\"", 1, "not JSON: an escape that there is not"),
            ("\"\\u12g4\"", 1, "not JSON: a \\u escape without four hex digits"),
            ("nul", 0, "not JSON: 'n' where a value should stand"),
            ("{\"a\": 1, \"a\": 2}", 15, "the key \"a\" twice in one object"),
            ("\0", 0, "a NUL byte"),
        ] {
            let fault = Fault::Syntax { at, why: why.to_owned() };
            assert_eq!(read(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&deep(MAX_DEPTH)).is_ok());
        let Err(Fault::Syntax { at, why }) = read(&deep(MAX_DEPTH + 1)) else { panic!("it nests too deep") };
        assert_eq!((at, why.as_str()), (MAX_DEPTH, "nested deeper than 128"));
    }

    #[test]
    fn a_key_in_the_writer_s_spacing_is_read_and_any_other_is_left() {
        let mut reader = Reader::new("{\"a\": 1, \"b\": 2,\"c\": 3}", 0);
        reader.begin_object().expect("it is one");
        assert!(!reader.next_key_is(", \"b\": "));
        assert!(reader.next_key_is(", \"a\": "));
        assert_eq!(reader.number(), Ok(Some(Numeral::Int(1))));
        assert!(reader.next_key_is(", \"b\": "));
        assert_eq!(reader.number(), Ok(Some(Numeral::Int(2))));
        assert!(!reader.next_key_is(", \"c\": "), "it is spaced otherwise");
        assert_eq!(reader.next_key().expect("there is one").as_deref(), Some("c"));
    }
}
