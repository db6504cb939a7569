//! What must be known before the first row is written: engines, hosts, and what pseudonyms may
//! not be.
//!
//! Grows with the number of names, not with the journal.

use std::collections::HashSet;

use memchr::memmem;

use super::fields::Role;
use super::shapes::{each_url_host, word_end};
use super::strings::each_string;

/// How a pseudonym of an engine begins.
pub const PSEUDONYM: &str = "engine-";

/// The names that a journal, or several, holds.
#[derive(Debug, Clone, Default)]
pub struct Names {
    engines: Vec<String>,
    known: HashSet<String>,
    hosts: HashSet<String>,
    taken: HashSet<String>,
}

impl Names {
    /// Learns from a line of a journal, good or damaged.
    pub fn learn_line(&mut self, line: &[u8]) {
        let has_text = has_text_to_learn(line);
        each_string(line, |quoted| {
            if quoted.role == Role::Engine {
                self.learn_engine(&quoted.text());
            }
            if has_text {
                self.learn_text(&quoted.text());
            }
        });
    }

    /// Learns an engine's id.
    pub fn learn_engine(&mut self, id: &str) {
        if !id.is_empty() && !self.known.contains(id) {
            self.known.insert(id.to_owned());
            self.engines.push(id.to_owned());
        }
    }

    /// Learns the hosts of the URLs in a text, and its words that look like pseudonyms.
    pub fn learn_text(&mut self, text: &str) {
        each_url_host(text, |host| {
            self.hosts.insert(host.to_lowercase());
        });
        for (at, _) in text.match_indices(PSEUDONYM) {
            self.taken.insert(text[at..word_end(text, at)].to_owned());
        }
    }

    /// The engines, in the order they were learned.
    pub fn engines(&self) -> &[String] {
        &self.engines
    }

    /// The hosts of URLs, in lower case.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str)
    }

    /// Whether a word stands somewhere in the input and can be no pseudonym.
    pub fn is_taken(&self, word: &str) -> bool {
        self.taken.contains(word) || self.known.contains(word)
    }
}

/// Whether a line can hold a URL or what looks like a pseudonym. Most rows cannot.
fn has_text_to_learn(line: &[u8]) -> bool {
    memchr::memchr2(b'\\', b'%', line).is_some()
        || memmem::find(line, b"//").is_some()
        || memmem::find(line, PSEUDONYM.as_bytes()).is_some()
}
