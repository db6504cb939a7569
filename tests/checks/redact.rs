//! A redacted journal: rows again, nothing that looks like a place, and no name of the input's rows.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;

use narwhal_jq::journal::compression::Compression;
use narwhal_jq::journal::inputs::Input;
use narwhal_jq::journal::json::Reader;
use narwhal_jq::journal::lines::Line;
use narwhal_jq::journal::segments::{Content, SegmentKind, read_line};
use narwhal_jq::redact::check::check_line;
use narwhal_jq::redact::detect::each_url_host;
use narwhal_jq::redact::fields::{Role, is_field_word, is_label, role_of};
use narwhal_jq::redact::tokens::is_word;
use narwhal_jq::redact::{Key, redact};
use serde_json::Value;

use super::{canonical_number, folder, knobs, naive_lines, written};

/// Checks the bytes behind the knobs as a journal.
pub fn check(data: &[u8]) {
    let (knobs, bytes) = knobs(data);
    let key = if knobs[0] & 1 == 0 { Key::Random([7; 32]) } else { Key::Kept([knobs[1]; 32]) };
    if !matches!(Compression::of(bytes), Ok(None)) {
        return;
    }
    let folder = folder();
    let journal = folder.path().join("j.jsonl");
    fs::write(&journal, bytes).expect("the folder can be written");
    let mut out = Vec::new();
    let report = redact(&[Input::File(journal)], key, &mut out, &AtomicBool::new(false))
        .unwrap_or_else(|error| panic!("{error:#}"));

    let (originals, repaired, left_out) = rows_of(bytes);
    let account = &report.accounts[0];
    assert_eq!(account.lines, naive_lines(bytes).len() as u64);
    assert_eq!(
        (account.rows, account.repaired, account.left_out),
        (originals.len() as u64, repaired, left_out)
    );
    assert_eq!(account.first_left_out.is_some(), left_out > 0);

    for (number, (offset, line)) in naive_lines(&out).into_iter().enumerate() {
        let shown = String::from_utf8_lossy(line);
        assert!(matches!(read_line(line), Content::Row(_)), "no row: {shown}");
        let line =
            Line { bytes: line, offset: offset as u64, number: number as u64 + 1, len: line.len() as u64 };
        let findings = check_line(&line);
        assert!(findings.is_empty(), "{findings:?} in {shown}");
    }
    let (redacted, ..) = rows_of(&out);
    assert_eq!(originals.len(), redacted.len());

    let mut engines = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for row in &originals {
        collect_engines(row, "", &mut engines);
        each_string(row, &mut |text| {
            each_url_host(text, |host| {
                hosts.insert(host.to_ascii_lowercase());
            })
        });
    }
    hosts.retain(|host| host.is_ascii());
    for (original, redacted) in originals.iter().zip(&redacted) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        each_number(original, &mut before);
        each_number(redacted, &mut after);
        before.sort();
        after.sort();
        assert_eq!(before, after, "numbers stay: {original} becomes {redacted}");
        let client = original["client_rid"].as_str().filter(|_| original.get("meta").is_none());
        each_open_text(redacted, "", &mut |text| {
            // Addresses go from inside of words, whose rest is no token.
            let text = text.replace("<address>", "x");
            let text = without_number(&text);
            let engines = engines.iter().map(String::as_str).chain(client);
            for secret in engines.filter(|secret| is_secret(secret)) {
                assert!(!holds(text, secret), "{secret:?} is in {text:?}: {original} becomes {redacted}");
            }
            let text = text.to_ascii_lowercase();
            for secret in hosts.iter().filter(|secret| is_secret(secret)) {
                assert!(!holds(&text, secret), "{secret:?} is in {text:?}: {original} becomes {redacted}");
            }
        });
    }
}

/// The rows of a journal as JSON, and how many repairs and rejects there are.
fn rows_of(bytes: &[u8]) -> (Vec<Value>, u64, u64) {
    let (mut rows, mut repaired, mut left_out) = (Vec::new(), 0, 0);
    let value = |line: Vec<u8>| {
        let line = String::from_utf8(line).expect("a row is UTF-8");
        Reader::new(&line, 0).value().expect("a row is JSON")
    };
    for (_, line) in naive_lines(bytes) {
        match read_line(line) {
            Content::Blank => {}
            Content::Row(row) => rows.push(value(written(&row))),
            Content::Segments(segments) => {
                for segment in segments {
                    match segment.kind {
                        SegmentKind::Row(row) => rows.push(value(written(&row))),
                        SegmentKind::Repaired(_) => repaired += 1,
                        SegmentKind::Rejected(_) => left_out += 1,
                    }
                }
            }
        }
    }
    (rows, repaired, left_out)
}

/// The engines that the contract's fields name.
fn collect_engines(value: &Value, key: &str, engines: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, member) in object {
                if key == "cached_tokens" {
                    engines.insert(name.clone());
                }
                collect_engines(member, name, engines);
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(id) if ["engines", "ejected", "quarantined"].contains(&key) => {
                        engines.insert(id.clone());
                    }
                    Value::String(_) => {}
                    item => collect_engines(item, "", engines),
                }
            }
        }
        Value::String(id) => {
            const FIELDS: [&str; 7] = [
                "iid",
                "prefill_iid",
                "decode_iid",
                "placed_iid",
                "cold_choice_iid",
                "producer",
                "recorded_producer",
            ];
            if FIELDS.contains(&key) {
                engines.insert(id.clone());
            }
        }
        _ => {}
    }
}

/// Whether a name can be told from what redaction puts in its place.
fn is_secret(name: &str) -> bool {
    let is_placeholder = ["", "url", "address", "host", "cut", "engine"].contains(&name);
    !is_placeholder && !name.contains(['<', '>'])
}

/// Whether a text holds another as a whole token.
fn holds(text: &str, token: &str) -> bool {
    text.match_indices(token)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + token.len()..].starts_with(is_word))
}

/// The text without the number that tells it from another key that became the same.
fn without_number(text: &str) -> &str {
    let number = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    match number {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => text,
    }
}

fn each_string(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, take)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            take(key);
            each_string(value, take);
        }),
        _ => {}
    }
}

fn each_number(value: &Value, numbers: &mut Vec<String>) {
    match value {
        Value::Number(number) => numbers.push(canonical_number(number).to_string()),
        Value::Array(items) => items.iter().for_each(|item| each_number(item, numbers)),
        Value::Object(object) => object.values().for_each(|value| each_number(value, numbers)),
        _ => {}
    }
}

/// Every text of a redacted row that is no field name, no label and no id of the router.
fn each_open_text(value: &Value, key: &str, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => {
            let is_id = ["run", "rid"].contains(&key) && text.chars().all(is_word);
            let is_closed = key == "schema" || is_id || (role_of(key) == Role::Label && is_label(text));
            if !is_closed {
                take(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_open_text(item, "", take)),
        Value::Object(object) => {
            for (name, member) in object {
                if !is_field_word(name) && !FIELDS.contains(&name.as_str()) {
                    take(name);
                }
                each_open_text(member, name, take);
            }
        }
        _ => {}
    }
}

/// The field names of several words that the contract's rows have whatever engines are called.
const FIELDS: [&str; 44] = [
    "schema_version",
    "client_rid",
    "input_len",
    "input_sized",
    "wanted_len",
    "output_len",
    "ttft_s",
    "tpot_s",
    "first_byte_s",
    "decode_tpot_s",
    "queue_wait_s",
    "queue_waits",
    "admission_price",
    "duration_s",
    "decode_attempts",
    "attempt_failures",
    "decode_tokens_observed",
    "upstream_seconds",
    "prefill_iid",
    "decode_iid",
    "cached_tokens",
    "cache_placement",
    "token_accounting",
    "error_type",
    "error_code",
    "cancelled_phase",
    "refused_cause",
    "readiness_reason",
    "backlog_s",
    "own_prefill_s",
    "elapsed_s",
    "handoff_s",
    "price_s",
    "placed_iid",
    "placed_cached_tokens",
    "evidence_sequence",
    "predicted_prefill_s",
    "cold_prefill_s",
    "cold_choice_iid",
    "error_message",
    "output_started",
    "retry_scheduled",
    "backoff_s",
    "retry_reason",
];
