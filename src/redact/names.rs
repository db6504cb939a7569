//! What must be known before the first row is written: engines, hosts, and what pseudonyms may
//! not be.
//!
//! Grows with the number of names, not with the journal.

use std::collections::HashSet;

use super::detect::{Detected, any_detected_at, each_url_host, ipv4, next_place};
use super::fields::Role;
use super::strings::each_string;
use super::tokens::{is_name, is_word, word_end};
use super::wording::told_at;
use super::words::{is_common, is_user_everywhere};

/// How a pseudonym of an engine begins.
pub const PSEUDONYM: &str = "engine-";

/// The names that a journal, or several, holds.
#[derive(Debug, Clone, Default)]
pub struct Names {
    engines: Vec<String>,
    known: HashSet<String>,
    hosts: HashSet<String>,
    users: HashSet<String>,
    taken: HashSet<String>,
}

impl Names {
    /// Learns from a line of a journal, good or damaged.
    pub fn learn_line(&mut self, line: &[u8]) {
        each_string(line, |quoted| {
            let text = quoted.text();
            match quoted.role {
                Role::Engine => self.learn_engine(&text),
                Role::Host if text.chars().all(is_name) => self.learn_host(&text),
                Role::User if text.chars().all(is_name) => self.learn_user(&text),
                _ => {}
            }
            if has_text_to_learn(&text) {
                self.learn_text(&text);
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

    /// Learns the hosts and users in a text, and its words that look like pseudonyms.
    pub fn learn_text(&mut self, text: &str) {
        each_url_host(text, |host| {
            // A URL is sure, whatever its host is called.
            self.hosts.insert(host.to_lowercase());
            self.learn_host(host);
        });
        let mut at = 0;
        while at < text.len() {
            let Some((detected, end)) = any_detected_at(text, at) else {
                at = next_place(text, at);
                continue;
            };
            let found = &text[at..end];
            match detected {
                Detected::Host => self.learn_host(found),
                Detected::HostPort => {
                    let name = found.rsplit_once(':').map_or(found, |(name, _)| name);
                    // `status:503` looks so, too: its words are not to go everywhere.
                    let is_service = || found[name.len() + 1..].parse::<u16>().is_ok_and(|port| port >= 1024);
                    let is_machine = name.contains(|c: char| c.is_numeric() || matches!(c, '-' | '.'));
                    if is_machine || is_service() || told_at(text, at).is_some() {
                        self.learn_host(name);
                    }
                }
                Detected::User => match found.split_once('@').or_else(|| found.split_once("%40")) {
                    Some((user, host)) => {
                        let user = user.split([':', '%']).next().unwrap_or(user);
                        self.learn_user(user.trim_end_matches(['\'', '"', '`']));
                        let host = host.trim_start_matches(['\'', '"', '`', '[']);
                        self.learn_host(host.split([':', ']']).next().unwrap_or(host));
                    }
                    None => self.learn_user(found.rsplit('\\').next().unwrap_or(found)),
                },
                Detected::Url => {
                    let authority = found.split_once("//").map_or("", |(_, rest)| rest);
                    let authority = authority.split('/').next().unwrap_or(authority);
                    if let Some((user, _)) = authority.split_once('@') {
                        self.learn_user(user.split(':').next().unwrap_or(user));
                    }
                }
                Detected::Address => {}
            }
            at = end.max(at + 1);
        }
        for (at, _) in text.match_indices(PSEUDONYM) {
            self.taken.insert(text[at..word_end(text, at)].to_owned());
        }
    }

    /// Learns a host; of a name with dots its first part, too, if a machine can be called so.
    fn learn_host(&mut self, name: &str) {
        let name = name.trim_end_matches('.').to_lowercase();
        let names_one = |name: &str| {
            name.contains(char::is_alphabetic) && !is_common(name) && ipv4(name, 0) != Some(name.len())
        };
        if !names_one(&name) {
            return;
        }
        if let Some((first, _)) = name.split_once('.') {
            let is_machine = first.starts_with(char::is_alphabetic)
                && first.contains(|c: char| c.is_numeric() || c == '-')
                && first.chars().count() > 2;
            if is_machine && names_one(first) {
                self.hosts.insert(first.to_owned());
            }
        }
        self.hosts.insert(name);
    }

    /// Learns a user, unless every machine has one who is called so.
    fn learn_user(&mut self, name: &str) {
        let is_someone = name.contains(char::is_alphabetic) && name.chars().count() > 2;
        if is_someone && !is_common(&name.to_lowercase()) && !is_user_everywhere(name) {
            self.users.insert(name.to_lowercase());
        }
    }

    /// The engines, in the order they were learned.
    pub fn engines(&self) -> &[String] {
        &self.engines
    }

    /// The hosts, in lower case.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str)
    }

    /// The users, in lower case.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.users.iter().map(String::as_str)
    }

    /// Whether a word stands somewhere in the input and can be no pseudonym.
    pub fn is_taken(&self, word: &str) -> bool {
        self.taken.contains(word) || self.known.contains(word)
    }
}

/// Whether a text can hold a place or what looks like a pseudonym: fields, labels and numbers cannot.
fn has_text_to_learn(text: &str) -> bool {
    text.contains(|c: char| !is_word(c)) || text.contains(|c: char| c.is_numeric() || c == '-')
}
