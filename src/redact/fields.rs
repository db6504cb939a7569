//! What the fields of a row hold, by their names: engines, clients, labels or text.
//!
//! Declared fields have a role in [`crate::journal`]. Names decide for the others, because unknown events and
//! fields are data that must be redacted too.

use std::sync::LazyLock;

use foldhash::HashMap;

use super::dotted::is_domain;
use crate::journal::build;
pub use crate::journal::declare::Role;
use crate::journal::declare::{Declared, Field};
use crate::journal::event;
use crate::journal::terminal::Terminal;

/// What a field of this name holds, as far as its text is concerned: [`Role::Text`] of a number, too.
pub fn role_of(key: &str) -> Role {
    match key {
        // A list of engines before the contract, and a number since.
        "attempts" => Role::Engine,
        _ => match DECLARED.get(key) {
            Some(Role::Text) | None => role_by_name(key),
            Some(role) => *role,
        },
    }
}

/// The role of every declared name. One that stands in several places has its text's.
static DECLARED: LazyLock<HashMap<&'static str, Role>> = LazyLock::new(|| {
    fn learn(fields: &'static [Field], roles: &mut HashMap<&'static str, Role>) {
        for field in fields {
            learn(field.fields, roles);
            let role = match field.role {
                role @ (Role::Label
                | Role::Engine
                | Role::EngineKeys
                | Role::Client
                | Role::Host
                | Role::User) => role,
                Role::Schema => Role::Label,
                _ => Role::Text,
            };
            let known = roles.entry(field.name).or_insert(role);
            if *known == Role::Text {
                *known = role;
            }
        }
    }
    let mut roles = HashMap::default();
    for fields in [Terminal::FIELDS, build::FIELDS, event::COMMON_FIELDS, event::FIELDS, event::TAIL_FIELDS] {
        learn(fields, &mut roles);
    }
    roles
});

/// What a field that is not declared holds.
fn role_by_name(key: &str) -> Role {
    if is_engine_field(key) {
        Role::Engine
    } else if is_last_part(key, &USERS) {
        Role::User
    } else if is_last_part(key, &HOSTS) {
        Role::Host
    } else {
        Role::Text
    }
}

/// `iid`, `placed_iid`, `engines`, `recorded_producer` and what a later release may call so.
fn is_engine_field(key: &str) -> bool {
    let key = key.strip_suffix('s').unwrap_or(key);
    let key = key.strip_suffix("_id").unwrap_or(key);
    ["iid", "engine", "producer", "consumer"]
        .iter()
        .any(|noun| key.strip_suffix(noun).is_some_and(|before| before.is_empty() || before.ends_with('_')))
}

/// What fields of later releases may call a host, and a user.
const HOSTS: [&str; 16] = [
    "host",
    "hostname",
    "host_name",
    "node",
    "node_name",
    "nodename",
    "fqdn",
    "addr",
    "address",
    "machine",
    "peer",
    "pod",
    "pod_name",
    "server_name",
    "remote_ip",
    "local_ip",
];
const USERS: [&str; 3] = ["user", "username", "user_name"];

/// `remote_host`, `hosts`: whether a key ends with one of the nouns.
fn is_last_part(key: &str, nouns: &[&str]) -> bool {
    let one = key.strip_suffix("es").filter(|key| key.ends_with("ss")).or_else(|| key.strip_suffix('s'));
    [Some(key), one].into_iter().flatten().any(|key| {
        nouns.iter().any(|noun| {
            key.strip_suffix(noun).is_some_and(|before| before.is_empty() || before.ends_with('_'))
        })
    })
}

/// Whether a label field's value can only be a word of the router, or a class of Python, whatever
/// engines are called.
pub fn is_label(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.')) && !is_domain(value)
}

/// Field names of one word that rows before the contract have.
const EARLIER_WORDS: [&str; 3] = ["objective", "queue", "tenant"];

/// Whether a key is a field name of the contract, of one word, and not, say, an engine that is called so. As a
/// key it stays.
pub fn is_field_word(key: &str) -> bool {
    EARLIER_WORDS.contains(&key) || (!key.contains('_') && DECLARED.contains_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_name_engines_are_told_by_their_names() {
        for key in ["iid", "prefill_iid", "engines", "engine_ids", "failed_engine", "recorded_producer"] {
            assert_eq!(role_of(key), Role::Engine, "{key}");
        }
        for key in ["wave_id", "rid", "engineer", "miid", "consumed", "status"] {
            assert_eq!(role_of(key), Role::Text, "{key}");
        }
    }

    #[test]
    fn declared_fields_have_the_role_of_their_declaration() {
        for (key, role) in [
            ("cached_tokens", Role::EngineKeys),
            ("client_rid", Role::Client),
            ("quarantined", Role::Engine),
            ("refused_cause", Role::Label),
            ("risk_kind", Role::Label),
            ("schema", Role::Label),
            ("mode", Role::Label),
            ("error_message", Role::Text),
            ("ttft_s", Role::Text),
        ] {
            assert_eq!(role_of(key), role, "{key}");
        }
    }

    #[test]
    fn field_names_of_one_word_are_those_that_are_declared() {
        for key in ["decode", "margin", "crossed", "by", "tenant", "meta"] {
            assert!(is_field_word(key), "{key}");
        }
        for key in ["d0", "prefill_iid", "engine", "blue"] {
            assert!(!is_field_word(key), "{key}");
        }
    }
}
