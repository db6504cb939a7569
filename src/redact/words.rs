//! What a word tells by itself, whatever stands around it: that it is a common one, an id, or what a machine is called.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::dotted;

/// Words that stand where hosts do.
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("common_words.txt").split_whitespace().collect());

/// Words with a number that are no machines.
const KINDS: [&str; 40] = [
    "a100", "av1", "b200", "base64", "bf16", "c10d", "crc32", "cuda", "errno", "float16", "float32",
    "float64", "fp16", "fp32", "fp4", "fp8", "gb200", "gen", "h100", "h11", "h2", "h200", "http", "http2",
    "http3", "int32", "int4", "int64", "int8", "ipv4", "ipv6", "k8s", "l40", "latin1", "md5", "python3",
    "sha1", "sha256", "utf8", "x86",
];

/// Names that machines are called by, before their number.
const MACHINES: [&str; 15] = [
    "box", "compute", "dgx", "ec2", "hgx", "host", "ip", "machine", "nid", "node", "rack", "server", "srv",
    "vm", "worker",
];

/// Whether a word stands where hosts do, and names none.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word)
}

/// Ids of requests and runs, hashes: they stay.
pub(super) fn is_id(name: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<usize> = name.split('-').filter(|part| is_hex(part)).map(str::len).collect();
    let count = name.split('-').count();
    (count == 5 && parts == [8, 4, 4, 4, 12])
        || (count == 2 && parts.len() == 2 && parts[0] >= 9 && parts[1] == 8)
        || (name.len() >= 16 && is_hex(name))
        || name.starts_with("0x")
}

/// Letters first and a digit within, as machines are called.
pub(super) fn is_machine(lower: &str) -> bool {
    lower.starts_with(char::is_alphabetic)
        && lower.contains(char::is_numeric)
        && !is_kind(lower)
        && !dotted::is_file(lower)
        && lower.chars().count() > 2
}

/// A machine's name of parts with hyphens, one of them with a digit, and none a hash.
pub(super) fn is_numbered(lower: &str) -> bool {
    let is_hash = |part: &str| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lower.contains('-') && !lower.contains(['.', '_']) && is_machine(lower) && !lower.split('-').any(is_hash)
}

/// `fp8`, `sha256`, `utf-8`, `h100`, `v1`: words with a number that are no machines.
fn is_kind(lower: &str) -> bool {
    let plain: String = lower.chars().filter(|c| *c != '-').collect();
    let letters = plain.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let first = lower.split('-').next().unwrap_or(lower);
    KINDS.binary_search(&&*plain).is_ok()
        || KINDS.binary_search(&letters).is_ok()
        || matches!(
            letters,
            "v" | "x" | "n" | "top" | "step" | "token" | "attempt" | "leg" | "layer" | "sm" | "p"
        )
        || matches!(
            first,
            "wave" | "llama" | "gpt" | "qwen" | "top" | "sha" | "utf" | "iso" | "request" | "req"
        )
}

/// `node-12`, `gpu-node-12`, `dgx07`, `ip-10-0-0-5`: a machine whatever stands around it.
pub(super) fn is_called_machine(lower: &str) -> bool {
    if lower.contains(['_', '.']) {
        return false;
    }
    let mut is_after_stem = false;
    for part in lower.split('-') {
        let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let has_number = stem.len() < part.len();
        if has_number && (MACHINES.contains(&stem) || (is_after_stem && stem.is_empty())) {
            return true;
        }
        is_after_stem = MACHINES.contains(&part);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted() {
        assert!(KINDS.is_sorted());
    }
}
