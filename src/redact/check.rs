//! What a file still gives away, as far as its looks tell.
//!
//! Knows shapes, wordings and field names, and no names: an engine that is called like a pseudonym is
//! taken for one, a host that no wording tells for a word.

use std::borrow::Cow;

use super::detect::{detected_at, next_place};
use super::fields::{Role, is_label};
use super::names::PSEUDONYM;
use super::redactor::CLIENT_PSEUDONYM;
use super::strings::each_string;
use crate::journal::lines::Line;
use crate::journal::segments::{Content, read_line};

/// Something that should not be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Its first byte in the line; of a text with escapes, the first byte of the text.
    pub at: usize,
    /// What it looks like.
    pub what: &'static str,
    /// The text found.
    pub text: String,
}

/// What a line gives away, in the order of the bytes.
pub fn check_line(line: &Line<'_>) -> Vec<Leak> {
    let mut findings = Vec::new();
    let is_row = matches!(read_line(line.bytes), Content::Row(_));
    each_string(line.bytes, |quoted| {
        let text = quoted.text();
        let name = match quoted.role {
            Role::Engine if !is_engine_pseudonym(&text) => Some("an engine id"),
            Role::Client if !is_client_pseudonym(&text) => Some("a client id"),
            Role::Host if may_name(&text) => Some("a host"),
            Role::User if may_name(&text) => Some("a user"),
            _ => None,
        };
        if let Some(what) = name {
            findings.push(Leak { at: quoted.at, what, text: text.into_owned() });
        } else if is_row && !(quoted.role == Role::Label && is_label(&text)) {
            let is_plain = text.len() == quoted.raw.len();
            each_detected(&text, |at, finding| {
                findings.push(Leak { at: quoted.at + if is_plain { at } else { 0 }, ..finding });
            });
        }
    });
    // What is no row is looked at as it stands: its strings cannot be told from the rest.
    if !is_row {
        each_detected(&as_ascii_or_utf8(line.bytes), |at, finding| findings.push(Leak { at, ..finding }));
        findings.sort_by_key(|finding| finding.at);
    }
    findings
}

/// The bytes as text of the same length.
fn as_ascii_or_utf8(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => bytes.iter().map(|byte| if byte.is_ascii() { *byte as char } else { '?' }).collect(),
    }
}

/// Calls `take` with what is detected in a text, and its place.
pub(super) fn each_detected(text: &str, mut take: impl FnMut(usize, Leak)) {
    let mut at = 0;
    while at < text.len() {
        match detected_at(text, at) {
            Some((detected, end)) => {
                take(at, Leak { at, what: detected.name(), text: text[at..end].to_owned() });
                at = end.max(at + 1);
            }
            None => at = next_place(text, at),
        }
    }
}

/// Whether a host's or a user's field names one: no number, and no placeholder.
pub(super) fn may_name(text: &str) -> bool {
    text.contains(char::is_alphabetic) && !text.contains('<') && !super::is_pseudonym(text)
}

/// Whether an engine's id can be a pseudonym, or names nothing.
pub(super) fn is_engine_pseudonym(id: &str) -> bool {
    id.is_empty() || id == "<engine>" || has_hex_behind(id, PSEUDONYM)
}

pub(super) fn is_client_pseudonym(id: &str) -> bool {
    id.is_empty() || (has_hex_behind(id, CLIENT_PSEUDONYM) && id.len() == CLIENT_PSEUDONYM.len() + 16)
}

fn has_hex_behind(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix)
        .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
