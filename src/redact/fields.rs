//! What the fields of a row hold, by their names: engines, clients, labels or text.
//!
//! Names decide, because unknown events and fields are data that must be redacted too.

use super::dotted::is_domain;

/// What a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An engine, or a list of engines.
    Engine,
    /// An object whose keys are engines.
    EngineKeys,
    /// What a caller named its request.
    Client,
    /// A host, or a list of hosts.
    Host,
    /// A user of the machines.
    User,
    /// A word of the router, as long as [`is_label`] holds; text otherwise.
    Label,
    /// Anything.
    Text,
}

/// What a field of this name holds.
pub fn role_of(key: &str) -> Role {
    match key {
        "cached_tokens" => Role::EngineKeys,
        "client_rid" => Role::Client,
        // `attempts` is a list of engines before the contract, and a number since.
        "ejected" | "quarantined" | "attempts" => Role::Engine,
        "terminal"
        | "event"
        | "phase"
        | "cancelled_phase"
        | "reason"
        | "retry_reason"
        | "refused_cause"
        | "error_type"
        | "error_code"
        | "token_accounting"
        | "kind"
        | "cause"
        | "evidence"
        | "outcome"
        | "action"
        | "result"
        | "by"
        | "stage"
        | "class"
        | "producer_class"
        | "decode_class"
        | "decision_basis"
        | "eligibility_rule"
        | "evidence_blocked_gate"
        | "risk_kind"
        | "mode"
        | "schema" => Role::Label,
        _ if is_engine_field(key) => Role::Engine,
        _ if is_last_part(key, &USERS) => Role::User,
        _ if is_last_part(key, &HOSTS) => Role::Host,
        _ => Role::Text,
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

/// The field names of one word, which an engine may be called, too. As keys they stay.
const FIELD_WORDS: [&str; 51] = [
    "action",
    "admission",
    "applied",
    "arrivals",
    "arrived",
    "at",
    "attempt",
    "attempts",
    "by",
    "cancelled",
    "cause",
    "class",
    "confirmations",
    "consecutive",
    "continuation",
    "crossed",
    "decode",
    "ejected",
    "engines",
    "error",
    "event",
    "evidence",
    "expired",
    "git",
    "iid",
    "kind",
    "margin",
    "meta",
    "mode",
    "objective",
    "outcome",
    "package",
    "phase",
    "prefill",
    "producer",
    "quarantined",
    "queue",
    "reason",
    "refused",
    "rejected",
    "result",
    "rid",
    "run",
    "schema",
    "source",
    "stage",
    "status",
    "tenant",
    "terminal",
    "transient",
    "version",
];

/// Whether a key is a field name of the contract and not, say, an engine.
pub fn is_field_word(key: &str) -> bool {
    FIELD_WORDS.binary_search(&key).is_ok()
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
    fn field_words_are_sorted() {
        assert!(FIELD_WORDS.is_sorted());
        assert!(is_field_word("decode") && !is_field_word("d0"));
    }
}
