//! Hosts and users that only the words around them tell: `host='gpu7'`, `connect to gpu7 port 80`.
//!
//! The wordings are those of the usual clients: Python's (aiohttp, httpx, requests, asyncio, grpc, redis,
//! psycopg, torch), curl, ssh, Go, Java and Node. A strong one makes a host of every word that is not
//! [common](super::words::is_common); a weak one only of what a machine can be called: letters with a digit among them.

use super::detect::ipv4;
use super::keys::{HARDLY_KEYS, LIST_KEYS, STRONG_KEYS, WEAK_KEYS};
use super::likely::is_likely;
use super::phrases::{AFTER, HAPPENS, HARDLY_PHRASES, QUOTED_PHRASES, STRONG_PHRASES, WEAK_PHRASES};
use super::tokens::{LONGEST_NAME, bounded_end, is_name, is_word};
use super::users;
use super::words::{
    is_called_machine, is_class_of_error, is_common, is_id, is_machine, is_numbered, is_time_zone,
    is_unknown, is_user_everywhere, is_word_with_number,
};

/// What the words around a name tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Host,
    User,
}

/// How sure a wording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sure {
    /// It may be anything.
    No,
    /// A machine stands so, if it is called like one that ends in a number, parted by a hyphen.
    Hardly,
    /// A machine stands so, if it is called like one.
    Weak,
    /// A host stands so, unless it is a common word.
    Strong,
}

/// So much before a name is looked at.
const BEFORE: usize = 96;

/// How many names of a list stand before one at most.
const LISTED: usize = 16;

/// What the words around a name tell of it, and its end. The name's first word begins at `at`.
pub(super) fn told_at(text: &str, at: usize) -> Option<(Told, usize)> {
    let bytes = text.as_bytes();
    let first = text[at..].chars().next().filter(|c| is_word(*c) && *c != '-')?;
    let is_continued = at > 0 && (bytes[at - 1] == b'.' && at > 1 && is_name_byte(bytes[at - 2]));
    if is_continued || (first.is_numeric() && ipv4(text, at).is_some()) {
        return None;
    }
    let end = at + text[at..bounded_end(text, at, LONGEST_NAME, is_name)].trim_end_matches('.').len();
    let name = &text[at..end];
    if !name.contains(char::is_alphabetic) || is_id(name) {
        return None;
    }
    if at == 0 && end == text.len() {
        // Nothing stands around it: most strings are so.
        return is_called_machine(&name.to_lowercase()).then_some((Told::Host, end));
    }
    let before = &text[floor(text, at.saturating_sub(BEFORE))..at];
    let before = before.to_ascii_lowercase();
    let after = &text[end..floor(text, (end + 40).min(text.len()))];
    let lower = name.to_lowercase();
    let has_number = is_numbered(&lower) || is_word_with_number(&lower);
    let could_be = has_number || is_unknown(name);
    // A placeholder names nobody, and `Certificate for <gpu7>` is none.
    if at > 0 && bytes[at - 1] == b'<' && bytes.get(end) == Some(&b'>') {
        let is_of_certificate =
            ["certificate", "hostname", "host name"].iter().any(|what| before.contains(what));
        let is_told =
            is_of_certificate || ((could_be || is_called_machine(&lower)) && is_likely(&before, after));
        let is_host = is_told && !is_common(&lower) && !is_placeholder(&lower);
        return is_host.then_some((Told::Host, end));
    }
    if is_class_of_error(name) || (is_time_zone(name) && is_behind_time(&before)) {
        return None;
    }
    let is_tilde = before.ends_with('~') && after.starts_with('/');
    if (users::is_home(&before) || is_tilde) && lower.len() > 1 {
        return Some((Told::User, end));
    }
    let (head, is_quoted) = unquoted(&before);
    let is_quoted = is_quoted || (head.ends_with('[') && after.starts_with(']'));
    let is_common = is_common(&lower);
    let is_user = users::told(head, is_quoted, after) || users::listed(&before);
    if !is_common && !is_user_everywhere(name) && is_user {
        return Some((Told::User, if is_quoted { users::end_with_domain(text, end) } else { end }));
    }
    let mut sure = if before.is_empty() { Sure::No } else { sure(head, is_quoted) };
    // `peer mars refused`, and `host mars` alone.
    if sure == Sure::Weak && !head.ends_with(':') && !head.ends_with(": ") {
        let is_alone = after.is_empty() || after.starts_with([',', ';', ')', '.', '\n']);
        let is_host = is_alone && ends_with_any(head.trim_end(), &["host", "hostname"]).is_some();
        let lower = after.to_ascii_lowercase();
        let is_range =
            lower.strip_prefix('[').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_host || is_range || HAPPENS.iter().any(|what| lower.starts_with(what)) {
            sure = Sure::Strong;
        }
    }
    let sure = sure.max(sure_after(&lower, &before, after, is_quoted));
    let is_host = match sure {
        Sure::Strong => !is_common && name.len() > 1,
        Sure::Weak => is_machine(&lower) || could_be,
        Sure::Hardly => has_number || (is_likely(head, after) && is_machine(&lower)),
        Sure::No => false,
    };
    let is_host = is_host || (could_be && is_likely(head, after));
    (is_host || is_called_machine(&lower)).then_some((Told::Host, end))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The text before a name without the quotes and brackets that open before it.
fn unquoted(before: &str) -> (&str, bool) {
    let mut head = before.trim_end_matches(['\'', '"', '`', '\\', '\u{201c}', '\u{2018}']);
    for quote in ["%27", "%22", "&quot;", "&#39;", "&#x27;", "&apos;"] {
        head = head.strip_suffix(quote).unwrap_or(head);
    }
    let is_quoted = head.len() < before.len();
    // `b'gpu7'` and `u'gpu7'`.
    let bytes = if is_quoted { head.strip_suffix(['b', 'u', 'r']) } else { None };
    let head = bytes.filter(|head| head.ends_with(['=', ' ', '(', '[', ','])).unwrap_or(head);
    (head, is_quoted)
}

fn sure(head: &str, is_quoted: bool) -> Sure {
    // Of all names of a domain, `*.gpu7`.
    let head = head.strip_suffix("*.").unwrap_or(head);
    // `valid for 'a', 'b'`, `either of 'a', 'b'`, `valid for a, not b`.
    let mut rest = head;
    for _ in 0..LISTED {
        if is_list(rest) {
            return Sure::Strong;
        }
        let list = rest
            .strip_suffix(", ")
            .or_else(|| rest.strip_suffix(", not "))
            .or_else(|| rest.strip_suffix(','));
        let Some(list) = list else { break };
        let item = list.trim_end_matches(['\'', '"']);
        let start = item.trim_end_matches(|c| is_name(c) || matches!(c, '*' | ':'));
        let start = start.strip_suffix("dns:").unwrap_or(start).trim_end_matches(['\'', '"']);
        if ends_with_any(start.trim_end(), &["valid for", "either of"]).is_some() {
            return Sure::Strong;
        }
        rest = start;
    }
    let open = head.trim_end_matches(['(', '[', '{']);
    let is_spaced = open.ends_with(char::is_whitespace);
    let trimmed = open.trim_end();
    if let Some(key) = trimmed.strip_suffix(['=', ':']).or_else(|| trimmed.strip_suffix("->")) {
        let is_assigned = trimmed.ends_with('=');
        let key = key.trim_end_matches([' ', '\'', '"', '\\', '`', ')']);
        if ends_with_key(key, STRONG_KEYS)
            || (is_assigned && ends_with_key(key, &["name"]) && key.contains("dns"))
        {
            return Sure::Strong;
        }
        if ends_with_key(key, WEAK_KEYS) {
            return if is_quoted || is_assigned { Sure::Strong } else { Sure::Weak };
        }
        let is_behind_colon = is_spaced && trimmed.ends_with(':');
        return if is_behind_colon || trimmed.ends_with('>') || ends_with_any(key, HARDLY_KEYS).is_some() {
            Sure::Hardly
        } else {
            Sure::No
        };
    }
    // `--host gpu7`, `dial tcp (gpu7`: a phrase ends at a blank, a quote or a bracket.
    if !is_spaced && !is_quoted && open.len() == head.len() {
        return Sure::No;
    }
    let phrase = trimmed.trim_end_matches('(');
    if ends_with_any(phrase, STRONG_PHRASES).is_some()
        || (is_quoted && ends_with_any(phrase, QUOTED_PHRASES).is_some())
        || is_log_time(phrase)
        || is_behind_port(phrase)
        || is_flag_of_host(phrase)
    {
        Sure::Strong
    } else if ends_with_any(phrase, WEAK_PHRASES).is_some() {
        Sure::Weak
    } else if ends_with_any(phrase, HARDLY_PHRASES).is_some() {
        Sure::Hardly
    } else {
        Sure::No
    }
}

/// `--master-addr`, `--decode-host`.
fn is_flag_of_host(phrase: &str) -> bool {
    let word = &phrase[phrase.rfind(char::is_whitespace).map_or(0, |at| at + 1)..];
    word.starts_with("--")
        && (ends_with_key(word, STRONG_KEYS) || ends_with_key(word, &["endpoint", "server", "node"]))
}

/// Whether a list of hosts begins after a text: `servers: [`.
fn is_list(head: &str) -> bool {
    let open = head.trim_end_matches(['(', '[', '{', ' ', '\'', '"']);
    open.strip_suffix([':', '='])
        .is_some_and(|key| ends_with_key(key.trim_end_matches([' ', '\'', '"', '\\']), LIST_KEYS))
}

/// What follows a name, and sometimes what opens before it.
fn sure_after(name: &str, before: &str, after: &str, is_quoted: bool) -> Sure {
    let rest = after.trim_start_matches(['\'', '"', '`', '\\', ')']);
    let starts = |what: &str| {
        rest.as_bytes().get(..what.len()).is_some_and(|found| found.eq_ignore_ascii_case(what.as_bytes()))
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    // `('gpu7', 8000)`, `(gpu7, 8000)`, `{"gpu7",8000}`.
    let is_pair = rest.strip_prefix(',').is_some_and(|rest| {
        let rest = rest.strip_prefix(' ').unwrap_or(rest);
        let is_open = before.trim_end_matches(['\'', '"', '\\']).trim_end_matches('b').ends_with(['(', '{']);
        let port = digits(rest);
        is_open && (1..=5).contains(&port) && (is_quoted || (port > 1 && rest[port..].starts_with(')')))
    });
    // `\\\\gpu7\\share`.
    let is_share = before
        .strip_suffix("\\\\")
        .is_some_and(|start| start.is_empty() || start.ends_with([' ', '\'', '"']))
        && after.starts_with('\\');
    // `[gpu7]:8000`, `[gpu7:12345:0]`, `gpu7:12345:12399 [0] NCCL`.
    let is_bracketed = before.ends_with('[') && after.strip_prefix("]:").is_some_and(|rest| digits(rest) > 0);
    let process = after.strip_prefix(':').map(|rest| (digits(rest), rest)).filter(|(digits, _)| *digits > 0);
    let is_process = process.is_some_and(|(len, rest)| {
        let rest = &rest[len..];
        let thread = rest.strip_prefix(':').map_or("", |rest| &rest[digits(rest)..]);
        (before.ends_with('[') && rest.starts_with([':', ']'])) || thread.starts_with(" [")
    });
    // `gpu7/10.0.0.5`, `gpu7 (10.0.0.5)`.
    let address = after.strip_prefix('/').or_else(|| after.strip_prefix(" ("));
    let is_resolved = address.is_some_and(|rest| ipv4(rest, 0).is_some());
    // `peer gpu7<43211>` of NCCL, and not `array<1024>`.
    let is_peer = after.strip_prefix('<').is_some_and(|rest| {
        let port = digits(rest);
        (4..=5).contains(&port)
            && rest[port..].starts_with('>')
            && ["peer ", "remote ", "to ", "from ", "by ", "with "].iter().any(|word| before.ends_with(word))
    });
    // `gpu7:/export`, and not `file:/x`.
    let is_mount =
        after.strip_prefix(":/").is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()))
            && (before.is_empty() || before.ends_with(char::is_whitespace))
            && !is_before_path(name);
    if is_pair
        || is_peer
        || is_mount
        || ADDRESSES.iter().any(|start| before.ends_with(start))
        || is_kind_of_resource(before, after)
        || is_share
        || is_bracketed
        || is_process
        || is_resolved
        || AFTER.iter().any(|what| starts(what))
    {
        return Sure::Strong;
    }
    let is_port = [" port ", ", port ", ", port=", ", port: ", " port="]
        .iter()
        .any(|what| starts(what) && digits(&rest[what.len()..]) > 0);
    // `POST gpu7/v1/completions`, and no later part of a path.
    let is_path = after.starts_with("/v1/") && !before.ends_with('/');
    if is_port || is_path || starts(" unreachable") || starts(" is down") || starts(": connection refused") {
        return Sure::Weak;
    }
    Sure::No
}

/// Whether a text ends with one of the phrases, and with whole words.
pub(super) fn ends_with_any<'p>(text: &str, phrases: &[&'p str]) -> Option<&'p str> {
    phrases.iter().copied().find(|phrase| {
        text.strip_suffix(phrase).is_some_and(|before| !before.ends_with(|c: char| is_word(c) && c != '-'))
    })
}

/// As [`ends_with_any`], also as the last part of a key of several: `remote_host`, `node.host`.
pub(super) fn ends_with_key(text: &str, keys: &[&str]) -> bool {
    keys.iter().any(|key| {
        text.strip_suffix(key).is_some_and(|before| {
            let is_long = key.len() > 3 && before.ends_with(|c: char| c.is_ascii_lowercase());
            // `remoteHost`, and not `ghost`.
            let is_part = is_long
                && ["remote", "server", "local", "peer", "target", "node", "db", "ip"]
                    .iter()
                    .any(|part| before.ends_with(part));
            is_part || !before.ends_with(|c: char| c.is_alphanumeric())
        })
    })
}

/// What stands for something in angle brackets, a redacted text's own included.
fn is_placeholder(lower: &str) -> bool {
    matches!(
        lower,
        "url" | "cut" | "user" | "unresolved" | "stderr" | "stdout" | "domain" | "ip" | "hostname"
    )
}

/// What stands before a path and a colon, and is no host.
fn is_before_path(lower: &str) -> bool {
    matches!(
        lower,
        "file" | "path" | "jar" | "unix" | "zipfs" | "dir" | "folder" | "classpath" | "at" | "in" | "from"
    ) || is_common(lower)
}

/// How libp2p writes the names of hosts.
const ADDRESSES: [&str; 4] = ["/dns/", "/dns4/", "/dns6/", "/dnsaddr/"];

/// `pod/decode-mars`, `node/mars`, as Kubernetes writes them, and no part of a longer path.
fn is_kind_of_resource(before: &str, after: &str) -> bool {
    let kinds = ["pod/", "pods/", "node/", "nodes/", "service/", "svc/", "endpoints/"];
    let is_part = |start: &str| start.ends_with(|c: char| is_name(c) || matches!(c, '/' | '\\'));
    !after.starts_with(['/', '.'])
        && kinds.iter().any(|kind| before.strip_suffix(kind).is_some_and(|start| !is_part(start)))
}

/// `port 22 on`, also with an address and `or` after it.
fn is_behind_port(phrase: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let phrase =
        phrase.strip_suffix(" or").map_or(phrase, |phrase| phrase.trim_end_matches(is_number).trim_end());
    phrase.strip_suffix(" on").is_some_and(|phrase| {
        let port = phrase.trim_end_matches(|c: char| c.is_ascii_digit());
        port.len() < phrase.len() && port.ends_with("port ")
    }) || is_job_on(phrase)
}

/// `JOB 1234 ON`, `STEP 1234.0 ON`, as Slurm writes them.
fn is_job_on(phrase: &str) -> bool {
    phrase.strip_suffix(" on").is_some_and(|phrase| {
        let what = phrase.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        what.len() < phrase.len() && (what.ends_with("job ") || what.ends_with("step "))
    })
}

/// Whether a time of day ends before: `09:30:01 `, `18:43 `.
fn is_behind_time(before: &str) -> bool {
    let time = before.trim_end();
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.');
    let digits = &time[time.trim_end_matches(is_time).len()..];
    digits.len() >= 5 && digits.contains(':')
}

/// `Nov 30 09:30:01`, after which syslog names the host.
fn is_log_time(head: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let Some(from) = head.len().checked_sub(15).filter(|from| head.is_char_boundary(*from)) else {
        return false;
    };
    let bytes = head.as_bytes();
    let time = &bytes[bytes.len() - 8..];
    MONTHS.iter().any(|month| head[from..].starts_with(month))
        && time[2] == b':'
        && time[5] == b':'
        && time.iter().filter(|byte| byte.is_ascii_digit()).count() == 6
}
