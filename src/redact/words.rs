//! What a word tells by itself, whatever stands around it: that it is a common one, an id, or what a machine is called.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::dotted;
use super::parts::NUMBERED;

/// Words that stand where hosts do.
static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("common_words.txt").split_whitespace().collect());

/// Words that stand in many texts of programs and their manuals, besides those: what is none of them, and stands where
/// machines do, may be one's name.
static VOCABULARY: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("vocabulary.txt").split_whitespace().collect());

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

/// How words with a number begin that are no machines: network and other devices, models, types, hashes.
const NO_MACHINES: [&str; 34] = [
    "bond", "crc", "deepseek", "docker", "enp", "ens", "eth", "float", "gemma", "glm", "gpt", "gqa", "hfi",
    "http", "ib", "int", "llama", "lo", "md", "mistral", "mlx", "mxfp", "nf", "nvfp", "nvme", "phi", "py",
    "qwen", "roce", "sda", "sha", "uint", "utf", "veth",
];

/// What is counted or numbered: `layer:12` is no host with a port.
const COUNTED: [&str; 137] = [
    "attempt",
    "attempts",
    "avg",
    "batch",
    "bin",
    "block",
    "bucket",
    "byte",
    "bytes",
    "char",
    "chunk",
    "code",
    "col",
    "column",
    "count",
    "cp",
    "cpu",
    "cuda",
    "day",
    "days",
    "decode",
    "depth",
    "device",
    "dim",
    "dp",
    "e2e",
    "ep",
    "epoch",
    "errno",
    "error",
    "errors",
    "exit",
    "expert",
    "failures",
    "frame",
    "gpu",
    "group",
    "head",
    "height",
    "hour",
    "hours",
    "id",
    "idx",
    "index",
    "iter",
    "iteration",
    "itl",
    "k",
    "lane",
    "layer",
    "layers",
    "leg",
    "len",
    "length",
    "level",
    "limit",
    "line",
    "lines",
    "max",
    "max_tokens",
    "mean",
    "median",
    "min",
    "minute",
    "minutes",
    "n",
    "nr",
    "num",
    "number",
    "offset",
    "oom",
    "order",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "page",
    "part",
    "pass",
    "pci",
    "phase",
    "pid",
    "port",
    "ports",
    "pos",
    "position",
    "pp",
    "prefill",
    "protocol",
    "rank",
    "rc",
    "req",
    "request",
    "requests",
    "retries",
    "retry",
    "round",
    "row",
    "s",
    "second",
    "seconds",
    "seed",
    "seq",
    "signal",
    "size",
    "slot",
    "stage",
    "status",
    "std",
    "step",
    "steps",
    "sum",
    "temperature",
    "tid",
    "time",
    "timeout",
    "token",
    "tokens",
    "top_k",
    "top_p",
    "total",
    "tp",
    "tpot",
    "try",
    "ttft",
    "ttl",
    "version",
    "wave",
    "width",
    "world",
    "world_size",
    "x",
    "xid",
    "y",
    "year",
    "z",
];

/// Users that every machine has.
const EVERYWHERE: [&str; 8] = ["admin", "daemon", "git", "nobody", "postgres", "root", "service", "ubuntu"];

/// Whether a number after the word and a colon is no port.
pub(super) fn is_counted(word: &str) -> bool {
    COUNTED.binary_search(&&*word.to_lowercase()).is_ok()
}

/// Whether a user is called so everywhere, and so is nobody.
pub(super) fn is_user_everywhere(name: &str) -> bool {
    EVERYWHERE.contains(&name)
}

/// `NoRouteToHostException`, `OSError`: what a language calls an error.
pub(super) fn is_class_of_error(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_error = ["Exception", "Error", "Failure"].iter().any(|end| last.ends_with(end));
    last.starts_with(char::is_uppercase) && is_error
}

/// `UTC`, `CEST`: letters after a time of day.
pub(super) fn is_time_zone(name: &str) -> bool {
    let is_upper = name.bytes().all(|byte| byte.is_ascii_uppercase());
    matches!(name, "UTC" | "GMT" | "Z") || ((3..=5).contains(&name.len()) && is_upper && name.ends_with('T'))
}

/// Whether a word is written as hosts are, in small letters, and is none of any text's.
pub(super) fn is_unknown(name: &str) -> bool {
    let is_small = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_small && name.len() > 2 && name.split('-').any(|part| part.len() > 2 && !is_known(part))
}

/// Whether a word, or what it is a form of, stands in many texts.
fn is_known(word: &str) -> bool {
    let is_listed = |word: &str| VOCABULARY.contains(word) || is_common(word);
    let endings = ["s", "es", "d", "ed", "ing", "ly", "er", "r", "or", "able", "ally", "ment", "ness", "ion"];
    let stems = endings.iter().filter_map(|ending| word.strip_suffix(ending)).filter(|stem| stem.len() > 2);
    is_listed(word)
        || ["s", "d", "r", "ing"].iter().any(|ending| is_listed(&format!("{word}{ending}")))
        || stems.into_iter().any(|stem| is_listed(stem) || is_listed(&format!("{stem}e")))
        || ["un", "re", "de", "dis", "non", "pre", "sub", "mis", "in"]
            .iter()
            .any(|start| word.strip_prefix(start).is_some_and(|rest| rest.len() > 2 && is_listed(rest)))
}

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

/// `gpunode12`, `prefill7`, `n12`: a machine's name of one word with a number, where machines stand.
pub(super) fn is_word_with_number(lower: &str) -> bool {
    let start = &lower[..lower.find(|c: char| !c.is_alphabetic()).unwrap_or(lower.len())];
    let rest = &lower[start.len()..];
    let is_count = rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_machine = is_machine(lower) || (start == "n" && is_count && !rest.is_empty());
    let is_hash = lower.len() >= 8 && lower.bytes().all(|byte| byte.is_ascii_hexdigit());
    // One letter begins what models and accelerators are called: `e4m3`, `w8a8`, `l40`.
    let is_one_letter = start.chars().count() < 2 && start != "n";
    // Engines are called by their role, and machines so, too.
    let is_role = matches!(start, "gpu" | "prefill" | "decode" | "n");
    is_machine
        && lower.chars().all(char::is_alphanumeric)
        && !is_hash
        && !is_one_letter
        && !(is_count && !is_role && (is_counted(start) || NUMBERED.contains(&start)))
        && !NO_MACHINES.contains(&start)
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
    fn lists_are_sorted() {
        assert!(KINDS.is_sorted());
        assert!(COUNTED.is_sorted());
    }
}
