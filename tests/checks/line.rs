//! One line: its segments, its rows written and read again, and what serde_json says of it.

use std::collections::HashSet;
use std::fmt;

use narwhal_jq::journal::SCHEMA;
use narwhal_jq::journal::fault::{Fault, Repair};
use narwhal_jq::journal::json::{MAX_DEPTH, Reader};
use narwhal_jq::journal::row::Row;
use narwhal_jq::journal::segments::{Content, SegmentKind, read_line};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{canonical, naive_lines, written};

/// Checks each line of the bytes.
pub fn check(data: &[u8]) {
    for (_, line) in naive_lines(data) {
        check_line(line);
    }
}

fn check_line(line: &[u8]) {
    if let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf") {
        check_line(rest);
        // A mark says nothing; a second one does.
        if !rest.starts_with(b"\xef\xbb\xbf") {
            let places = |content, by| match content {
                Content::Segments(segments) => {
                    segments.iter().map(|segment| (segment.at + by, segment.len)).collect()
                }
                _ => Vec::new(),
            };
            assert_eq!(places(read_line(line), 0), places(read_line(rest), 3));
        }
        return;
    }
    let is_blank = line.iter().all(|byte| b" \t\r".contains(byte));
    let content = read_line(line);
    match &content {
        Content::Blank => assert!(is_blank, "not blank"),
        Content::Row(row) => {
            check_row(line, row);
            assert!(generic(text(line)).expect("a row").1.is_empty(), "what was mended must be said");
        }
        Content::Segments(segments) => {
            let mut end = 0;
            for (index, segment) in segments.iter().enumerate() {
                assert!(segment.len > 0, "an empty segment: {segments:?}");
                let before = index.checked_sub(1).map(|before| &segments[before]);
                match &segment.kind {
                    SegmentKind::Repaired(what) => {
                        assert!(!what.is_empty() && segment.at == end, "{segments:?}");
                        assert!(segment.at + segment.len <= line.len(), "{segments:?}");
                        let next = segments.get(index + 1).expect("a repair is followed by its row");
                        assert!(
                            next.at == segment.at && matches!(next.kind, SegmentKind::Row(_)),
                            "{segments:?}"
                        );
                        continue;
                    }
                    SegmentKind::Rejected(reason) => {
                        assert!(!reason.is_empty(), "{segments:?}");
                        let is_again =
                            before.is_some_and(|before| matches!(before.kind, SegmentKind::Rejected(_)));
                        assert!(!is_again, "two rejects side by side: {segments:?}");
                    }
                    SegmentKind::Row(row) => {
                        let bytes = &line[segment.at..][..segment.len];
                        check_row(bytes, row);
                        let is_mended = !generic(text(bytes)).expect("a row").1.is_empty();
                        let is_said =
                            before.is_some_and(|before| matches!(before.kind, SegmentKind::Repaired(_)));
                        assert!(is_said || !is_mended, "what was mended must be said: {segments:?}");
                    }
                }
                assert_eq!(segment.at, end, "every byte is in one segment: {segments:?}");
                end += segment.len;
            }
            assert_eq!(end, line.len(), "every byte is in one segment: {segments:?}");
            let is_one_row =
                matches!(&segments[..], [segment] if matches!(segment.kind, SegmentKind::Row(_)));
            assert!(!is_one_row, "a line that is one row is just that: {segments:?}");
        }
    }
    if let Ok(text) = std::str::from_utf8(line) {
        compare_with_serde(text);
        compare_kind(text, &content);
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a row is UTF-8")
}

/// The whole text as one JSON value, read without knowing rows, and what was mended.
fn generic(text: &str) -> Result<(Value, Vec<Repair>), Fault> {
    let mut reader = Reader::new(text, 0);
    let value = reader.value()?;
    match reader.position_after_blanks() {
        end if end == text.len() => Ok((value, reader.repairs)),
        end => Err(Fault::Syntax { at: end, why: "more behind the value".to_owned() }),
    }
}

/// The row says what the bytes say, and is the same when written and read again.
fn check_row(bytes: &[u8], row: &Row<'_>) {
    let line = written(row);
    let again = line.strip_suffix(b"\n").expect("a written line ends");
    assert!(again.iter().all(|byte| matches!(byte, b' '..=b'~')), "plain ASCII: {}", text(again));
    match read_line(again) {
        Content::Row(read) => {
            assert_eq!(&read, row, "another row after writing");
            assert_eq!(written(&read), line, "other bytes when written again");
        }
        other => panic!("no row after writing: {other:?}"),
    }
    let said = generic(text(bytes)).expect("a row is one JSON value").0;
    let kept = generic(text(again)).expect("a row is one JSON value").0;
    assert_eq!(canonical(said), canonical(kept), "something was lost or added");
}

/// serde_json and the journal's reader see the same value, or differ in what the journal's reader says.
fn compare_with_serde(text: &str) {
    let serde = serde_json::from_str::<Value>(text);
    match (generic(text), serde) {
        (Ok((value, repairs)), Ok(other)) => {
            assert!(repairs.is_empty(), "mended, but serde_json has nothing against it: {repairs:?}");
            assert!(same(&value, &other), "{value} is for serde_json {other}");
        }
        (Ok((_, repairs)), Err(error)) => {
            // It counts one level less.
            let is_deep = error.to_string().starts_with("recursion limit exceeded");
            assert!(is_deep || !repairs.is_empty(), "serde_json: {error}");
        }
        (Err(Fault::Syntax { why, .. }), Ok(other)) => {
            let has_reason = match &*why {
                why if why.ends_with("twice in one object") => {
                    serde_json::from_str::<Oddities>(text).expect("it was read before").twice
                }
                // Not in `other` alone, which has only the last member of a key that stands twice.
                "an integer beyond 64 bits signed" => {
                    serde_json::from_str::<Oddities>(text).expect("it was read before").large
                }
                why => why == format!("nested deeper than {MAX_DEPTH}") && depth(text) > MAX_DEPTH,
            };
            assert!(has_reason, "{why}, but serde_json reads {other}");
        }
        (Err(Fault::Shape { path, why }), _) => panic!("a value has no shape to have: {path} {why}"),
        (Err(_), Err(_)) => {}
    }
}

/// Equal, but for the notation of numbers (`-0`).
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one == other,
            _ => one.as_f64() == other.as_f64(),
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        (one, other) => one == other,
    }
}

/// How deep the objects and arrays of good JSON nest.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !is_text => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// What good JSON may hold and the journal's reader refuses.
#[derive(Default)]
struct Oddities {
    /// Whether a key stands twice in some object.
    twice: bool,
    /// Whether a number stands somewhere that 64 bits signed cannot hold.
    large: bool,
}

impl Oddities {
    fn add(&mut self, other: &Self) {
        self.twice |= other.twice;
        self.large |= other.large;
    }
}

impl<'de> Deserialize<'de> for Oddities {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Oddities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_unit<E>(self) -> Result<Oddities, E> {
                Ok(Oddities::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Oddities, E> {
                Ok(Oddities::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Oddities, E> {
                Ok(Oddities::default())
            }

            fn visit_u64<E>(self, int: u64) -> Result<Oddities, E> {
                Ok(Oddities { large: i64::try_from(int).is_err(), ..Oddities::default() })
            }

            fn visit_f64<E>(self, real: f64) -> Result<Oddities, E> {
                Ok(Oddities { large: real.abs() >= 9.2e18, ..Oddities::default() })
            }

            fn visit_str<E>(self, _: &str) -> Result<Oddities, E> {
                Ok(Oddities::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Oddities, A::Error> {
                let mut found = Oddities::default();
                while let Some(item) = items.next_element()? {
                    found.add(&item);
                }
                Ok(found)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Oddities, A::Error> {
                let (mut found, mut keys) = (Oddities::default(), HashSet::new());
                while let Some((key, member)) = members.next_entry::<String, Oddities>()? {
                    found.twice |= !keys.insert(key);
                    found.add(&member);
                }
                Ok(found)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A line that is one JSON value is the row that its members make it, or none with a reason that is so.
fn compare_kind(text: &str, content: &Content<'_>) {
    let Ok((value, repairs)) = generic(text) else { return };
    let row = match content {
        Content::Row(row) => Ok(row),
        Content::Segments(segments) => match &segments[..] {
            [segment] => match &segment.kind {
                SegmentKind::Rejected(reason) => Err(reason.as_str()),
                other => panic!("one JSON value is no row or one reject, not {other:?}"),
            },
            [note, segment] => match (&note.kind, &segment.kind) {
                (SegmentKind::Repaired(_), SegmentKind::Row(row)) if !repairs.is_empty() => Ok(row),
                other => panic!("one JSON value is one row, perhaps mended, not {other:?}"),
            },
            more => panic!("one JSON value is one row, not {more:?}"),
        },
        Content::Blank => panic!("a value is not blank"),
    };
    let has = |key: &str| value.get(key).is_some_and(|member| !member.is_null());
    let is_text = |key: &str| value.get(key).is_some_and(Value::is_string);
    let is_ours = |object: &Value| {
        object["schema"] == SCHEMA && object["schema_version"].as_f64().is_some_and(|version| version == 1.0)
    };
    let kind = if is_text("terminal") {
        let is_sound = is_ours(&value) && is_text("run") && is_text("rid") && value["arrived"].is_number();
        if let (Err(reason), true) = (row, is_sound) {
            return assert_misfit(&value, !repairs.is_empty(), reason);
        }
        is_sound.then_some("terminal")
    } else if has("meta") && !has("terminal") && !has("event") {
        (value["meta"].is_object() && is_ours(&value["meta"])).then_some("build")
    } else {
        (!has("terminal") && is_text("event") && is_text("run") && is_ours(&value)).then_some("event")
    };
    let found = match row {
        Ok(Row::Build(_)) => Some("build"),
        Ok(Row::Terminal(_)) => Some("terminal"),
        Ok(Row::Event(_)) => Some("event"),
        Err(_) => None,
    };
    assert_eq!(found, kind, "{:?}", row.err());
}

/// A terminal that is none because of a field's type: the field does hold what is said of it.
/// What has no number (`NaN`) is a number of the wrong type there, although the value has a null for it.
fn assert_misfit(row: &Value, is_mended: bool, reason: &str) {
    let (path, why) = reason.split_once(" holds ").unwrap_or_else(|| panic!("no reason: {reason}"));
    // A path into keys that are data ends where they begin.
    let mut held = row;
    for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
        held = match (held, step.parse::<usize>()) {
            (Value::Array(items), Ok(at)) => &items[at],
            (Value::Object(object), _) if object.contains_key(step) => &object[step],
            _ => break,
        };
    }
    if path.starts_with("cached_tokens[") {
        return assert!(held.is_object(), "{reason}");
    }
    let (found, wanted) = why.split_once([',', ' ']).unwrap_or((why, ""));
    let is_so = match (held, found) {
        (Value::Null, "null") | (Value::String(_), "text") | (Value::Bool(_), "true") => true,
        (Value::Object(_) | Value::Array(_), "an") => true,
        (Value::Number(_), "a") => !wanted.ends_with("a number"),
        (Value::Null, "a") => is_mended && !wanted.ends_with("a number"),
        // An integer that no float equals, or a fraction where an integer should stand.
        (Value::Number(number), _) => {
            number.to_string().starts_with(found) || number.as_f64() == found.parse().ok()
        }
        _ => false,
    };
    assert!(is_so, "{reason}: it holds {held}");
}
