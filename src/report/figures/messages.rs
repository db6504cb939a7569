//! What failed attempts said, with what differs from one to the next left out.

use std::collections::HashMap;

use anyhow::Result;

use super::answers::Reader;
use crate::report::words;
use crate::selection::Selection;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Message {
    pub pattern: String,
    pub error_type: Option<String>,
    pub phase: Option<String>,
    pub failures: i64,
    pub retried: i64,
    /// A request that was told so.
    pub example: String,
}

/// The most frequent ones.
#[derive(Debug, Default)]
pub(in crate::report) struct Messages {
    pub messages: Vec<Message>,
    pub patterns: usize,
    pub failures: i64,
}

/// So many are shown.
const MOST: usize = 10;
/// So many different ones are told apart; what comes then counts as one.
const MOST_PATTERNS: usize = 20_000;

/// Reads what failed attempts said.
pub(in crate::report) fn messages(reader: &mut Reader<'_>, whole: &Selection) -> Result<Messages> {
    type Key = (String, Option<String>, Option<String>);
    let mut found: HashMap<Key, Message> = HashMap::new();
    let mut failures = 0;
    reader.each(include_str!("../../../queries/report/messages.sql"), whole, |cells| {
        let text = |at: usize| cells[at].as_str_or_null().ok().flatten();
        let pattern =
            text(0).filter(|text| !text.is_empty()).map_or_else(|| "(no message)".to_owned(), pattern_of);
        let mut key = (pattern, text(1).map(str::to_owned), text(2).map(str::to_owned));
        if found.len() >= MOST_PATTERNS && !found.contains_key(&key) {
            key = ("(other messages)".to_owned(), None, None);
        }
        let retried = i64::from(cells[3].as_i64_or_null().ok().flatten() == Some(1));
        let message = found.entry(key).or_insert_with_key(|(pattern, error_type, phase)| Message {
            pattern: pattern.clone(),
            error_type: error_type.clone(),
            phase: phase.clone(),
            failures: 0,
            retried: 0,
            example: text(4).unwrap_or_default().to_owned(),
        });
        message.failures += 1;
        message.retried += retried;
        failures += 1;
    })?;
    let patterns = found.len();
    let mut messages: Vec<Message> = found.into_values().collect();
    messages.sort_unstable_by(|one, other| {
        let names =
            |message: &Message| (message.pattern.clone(), message.error_type.clone(), message.phase.clone());
        other.failures.cmp(&one.failures).then_with(|| names(one).cmp(&names(other)))
    });
    messages.truncate(MOST);
    Ok(Messages { messages, patterns, failures })
}

/// A message with numbers as `#` and addresses as `URL`, cut to what is shown.
fn pattern_of(message: &str) -> String {
    let mut pattern = String::new();
    let mut rest = message;
    while let Some(c) = rest.chars().next() {
        if pattern.len() > 4 * words::MESSAGE {
            pattern.push('…');
            break;
        }
        if let Some(len) = url_len(rest) {
            pattern.push_str("URL");
            rest = &rest[len..];
        } else if c.is_ascii_digit() {
            pattern.push('#');
            rest = &rest[number_len(rest)..];
        } else {
            pattern.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    words::outside(&pattern, words::MESSAGE)
}

/// The length of an address that a text begins with.
fn url_len(text: &str) -> Option<usize> {
    let scheme =
        ["http://", "https://", "tcp://", "grpc://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | ')' | ',' | ';');
    let len = text.find(end).unwrap_or(text.len());
    // A full stop or colon ends the sentence, not the address.
    let len = text[..len].trim_end_matches(['.', ':']).len();
    (len > scheme.len()).then_some(len)
}

/// The length of a number: digits with points between them.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut len = 0;
    while len < bytes.len() {
        let is_inner_point =
            bytes[len] == b'.' && len > 0 && bytes.get(len + 1).is_some_and(u8::is_ascii_digit);
        if !bytes[len].is_ascii_digit() && !is_inner_point {
            break;
        }
        len += 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_left_out() {
        for (message, pattern) in [
            (
                "decode leg against http://node6:8000 failed (503): no",
                "decode leg against URL failed (#): no",
            ),
            ("prices TTFT at 12.75s.", "prices TTFT at #s."),
            ("see https://a.b/c?d=1. Then", "see URL. Then"),
            ("http://", "http://"),
            ("a\u{1b}b", "a\\u{1b}b"),
        ] {
            assert_eq!(pattern_of(message), pattern);
        }
    }
}
