//! Dotted names: which are hosts, and which are versions, files and Python's own names.
//!
//! Most dotted names in an error are hosts, so a name is one unless it looks like something else.

use super::parts::{DOMAINS, FILES, FILES_OR_DOMAINS, FUNCTIONS, NUMBERED, ROOTS};
use super::words::is_common;

/// Whether the dotted name is a host's. `before` is the text before it, `after` what follows.
pub(super) fn is_host(name: &str, before: &str, after: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) || is_version(name) {
        return false;
    }
    let lower = last.to_lowercase();
    let is_file = FILES.contains(&&*lower) || parts.len() == 2 && FILES_OR_DOMAINS.contains(&&*lower);
    if is_file || before.ends_with("No module named '") || before.ends_with("<class '") {
        return false;
    }
    let has_machine = parts.iter().any(|part| is_machine(part));
    if !is_top_level(last) {
        // `gpu7.rack-3`, and neither `torch.float16` nor `Qwen2.5-7B`.
        let is_label = last.starts_with(char::is_alphabetic) && !last.contains('_');
        return is_label
            && (is_machine(first) || is_numbered_place(&parts))
            && !is_root(first)
            && !name.contains('_')
            && !before.ends_with('/');
    }
    let is_domain = DOMAINS.contains(&&*lower);
    if is_root(first) || before.ends_with(['/', '\\']) && !before.ends_with("//") {
        let is_country = lower.len() == 2 && !matches!(&*lower, "fx" | "nn" | "op" | "os");
        return (is_domain || is_country) && (parts.len() > 2 || has_machine || !is_country);
    }
    if is_domain {
        return true;
    }
    // `ConnectError`, `StatusCode.UNAVAILABLE`, `EngineCore.step`.
    let is_mixed = |part: &str| part.contains(char::is_uppercase) && part.contains(char::is_lowercase);
    let is_humped = |part: &&str| is_mixed(part) && part.chars().skip(1).any(char::is_uppercase);
    let is_class = is_mixed(last)
        || parts.iter().any(is_humped)
        || !last.contains(char::is_lowercase) && last.contains(char::is_uppercase) && is_mixed(name);
    let is_function = parts.len() == 2 && FUNCTIONS.binary_search(last).is_ok() && !has_machine;
    let is_code =
        parts.iter().any(|part| part.contains('_')) || after.starts_with('(') || is_class || is_function;
    !is_code || (has_machine && !is_class && !name.contains('_'))
}

/// `mars.rack2`, `zeus.dc-1`: a plain word, and a place with a number.
fn is_numbered_place(parts: &[&str]) -> bool {
    let Some((last, first)) = parts.split_last() else { return false };
    let stem = last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-');
    let is_plain = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    first.iter().all(|part| is_plain(part) && part.len() > 1 && !is_common(part))
        && stem.len() > 1
        && stem.bytes().all(|byte| byte.is_ascii_lowercase())
        && NUMBERED.binary_search(&stem).is_err()
        && !FILES.contains(last)
        && !FILES.contains(&stem)
}

/// `scheduler.step:412`: a line within a function, and no port of a host.
pub(super) fn is_line_of_code(name: &str, number: &str) -> bool {
    let Some((first, last)) = name.split_once('.') else { return false };
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_'));
    let last = last.rsplit('.').next().unwrap_or(last);
    let is_function = FUNCTIONS.binary_search(&last).is_ok();
    // Where services listen below 1000.
    let is_service = matches!(number, "22" | "53" | "80" | "88" | "111" | "389" | "443" | "636" | "853");
    is_plain && !is_domain(name) && (is_function || (is_root(first) && number.len() < 4 && !is_service))
}

/// Whether the name ends as the names of hosts alone do.
pub(super) fn is_domain(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, last)| DOMAINS.contains(&&*last.to_lowercase()))
}

/// Whether the name is a file's, and so no host although a number stands after it (`ssl.c:1129`).
pub(super) fn is_file(name: &str) -> bool {
    let Some((stem, last)) = name.rsplit_once('.') else { return false };
    let last = last.to_lowercase();
    let is_source = matches!(&*last, "py" | "rs" | "cc") && !stem.contains('.');
    is_source || matches!(&*last, "c" | "h" | "go") || FILES.contains(&&*last) && last != "py"
}

/// Whether a word can be a machine's: a letter first, and a digit or a hyphen within.
fn is_machine(part: &str) -> bool {
    part.starts_with(char::is_alphabetic)
        && part.contains(|c: char| c.is_numeric() || c == '-')
        && !part.contains('_')
}

fn is_root(part: &str) -> bool {
    ROOTS.binary_search(&&*part.trim_start_matches('_').to_lowercase()).is_ok()
}

/// Whether a name can end so: letters, at least two of them.
fn is_top_level(part: &str) -> bool {
    let is_encoded = part.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("xn--"));
    is_encoded || (part.chars().all(char::is_alphabetic) && part.chars().count() > 1)
}

/// `0.7.0`, `v1.2rc1`, `0.7.0.dev3`, `1.5.post2`, `2.1.0-cu121`, `3.5s`.
fn is_version(name: &str) -> bool {
    let digits = name.strip_prefix(['v', 'V', 'r']).unwrap_or(name);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let Some(rest) = digits.get(end..).filter(|_| end > 0) else { return false };
    if !rest.starts_with('.') {
        return false;
    }
    // Numbers, and words that versions have.
    rest.split(['.', '-']).skip(1).all(|part| {
        let word = part.trim_matches(|c: char| c.is_ascii_digit());
        word.len() < part.len()
            || matches!(
                word.to_lowercase().as_str(),
                "dev" | "post" | "rc" | "alpha" | "beta" | "x" | "final"
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(ROOTS.is_sorted());
        assert!(FUNCTIONS.is_sorted());
        assert!(NUMBERED.is_sorted());
    }

    #[test]
    fn hosts_are_told_from_versions_files_and_code() {
        for name in [
            "gpu-node-14.corp.example",
            "node-12.cluster.local",
            "gpu7.internal",
            "mars.prod",
            "zeus.lab",
            "db.acme.com",
            "decode-0.decode.default.svc",
            "GPU7.RACK.NET",
            "gpu7.rack-3",
            "torch.acme.com",
            "gpu_1.cluster.local",
            "router.xn--bcher-kva",
            "büro.firma.de",
            "n1.example.rs",
            "1and1.com",
            "queue-3.acme.eu",
            "3com.net",
            "mars.de",
        ] {
            assert!(is_host(name, "to ", ""), "{name}");
        }
        for name in [
            "0.7.0",
            "v1.2",
            "v0.7.0rc1",
            "0.7.0.dev3",
            "1.5.post2",
            "2.1.0-cu121",
            "3.5",
            "12.25s",
            "core.py",
            "aiohttp.client_exceptions",
            "aiohttp.client_exceptions.ClientConnectorError",
            "httpx.ConnectError",
            "asyncio.exceptions.TimeoutError",
            "torch.cuda",
            "urllib3.connection.HTTPSConnection",
            "torch.float16",
            "serving.max_response_bytes",
            "concurrent.futures",
            "socket.gaierror",
            "Qwen2.5-7B",
            "Llama-3.1",
            "libcudart.so.12",
            "journal.jsonl.gz",
            "_ssl.c",
            "e.g",
            "i.e",
            "socket.cpp",
            "tf.h",
            "python3.10",
            "self.host",
            "a.b",
            "StatusCode.UNAVAILABLE",
            "EngineCore.step",
            "HTTPStatus.OK",
            "main.rs",
            "model.safetensors",
            "os.path.join",
            "torch.to",
        ] {
            assert!(!is_host(name, "to ", ""), "{name}");
        }
        assert!(!is_host("foo.bar", "to ", "()"));
        assert!(!is_host("foo.bar", "No module named '", "'"));
        assert!(!is_host("model.final", "/data/", ""));
    }
}
