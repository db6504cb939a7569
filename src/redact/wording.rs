//! Hosts and users that only the words around them tell: `host='gpu7'`, `connect to gpu7 port 80`.
//!
//! The wordings are those of the usual clients: Python's (aiohttp, httpx, requests, asyncio, grpc, redis,
//! psycopg, torch), curl, ssh, Go, Java and Node. A strong one makes a host of every word that is not
//! [`COMMON`]; a weak one only of what a machine can be called: letters with a digit among them.

use super::dotted;
use super::shapes::{LONGEST_NAME, bounded_end, ipv4, is_name, is_word};

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

/// What ends before `=` or `:`, whole words, and makes a host of what stands after it.
const STRONG_KEYS: [&str; 44] = [
    "host",
    "hostname",
    "host name",
    "host_name",
    "server_name",
    "servername",
    "server name",
    "fqdn",
    "nodename",
    "node_name",
    "node name",
    "addr",
    "address",
    "pod_name",
    "podname",
    "machine",
    "peername",
    "peer_name",
    "not known",
    "no such host",
    "unknown host",
    "host not found",
    "unknownhostexception",
    "resolve host",
    "resolve proxy",
    "name resolution",
    "resolve hostname",
    "resolve",
    "dns",
    "cn",
    "commonname",
    "common name",
    "route to host",
    "getaddrinfo failed",
    "getaddrinfo",
    "lookup",
    "connect to",
    "connecting to",
    "broker",
    "subject name",
    "host address",
    "qtype=a name",
    "qtype=aaaa name",
    "qtype=srv name",
];

/// The same, of a machine if it is called like one; after `=`, or quoted, of every host.
const WEAK_KEYS: [&str; 24] = [
    "node",
    "server",
    "peer",
    "target",
    "endpoint",
    "remote",
    "upstream",
    "backend",
    "pod",
    "domain",
    "src",
    "dst",
    "worker",
    "ip",
    "instance",
    "agent",
    "origin",
    "proxy",
    "authority",
    "replica",
    "shard",
    "leader",
    "rank",
    "listener",
];

/// What stands before a list of hosts.
const LIST_KEYS: [&str; 15] = [
    "hosts",
    "hostnames",
    "servers",
    "endpoints",
    "nodes",
    "peers",
    "brokers",
    "addresses",
    "workers",
    "replicas",
    "members",
    "targets",
    "upstreams",
    "instances",
    "machines",
];

/// Machines are named before what failed, too: `srun: error: gpu-node-7: task 0`.
const HARDLY_KEYS: [&str; 6] = ["error", "refused", "timed out", "failed", "unreachable", "lost"];

/// What ends right before a host's name.
const STRONG_PHRASES: [&str; 92] = [
    "connect to",
    "connects to",
    "connecting to",
    "connected to",
    "connection to",
    "connections to",
    "connect to host",
    "connecting to host",
    "connection to host",
    "to host",
    "for host",
    "on host",
    "from host",
    "at host",
    "of host",
    "connect to server",
    "connecting to server",
    "server at",
    "resolve host",
    "resolve hostname",
    "resolve host name",
    "resolve host address",
    "resolving",
    "failed to resolve",
    "cannot resolve",
    "could not resolve",
    "unable to resolve",
    "couldn't resolve",
    "can't resolve",
    "not resolve",
    "errors resolving",
    "resolution failed for",
    "resolution of",
    "resolution error for",
    "name resolution",
    "name resolution for",
    "translate host name",
    "lookup",
    "lookup of",
    "lookup for",
    "lookup failed for",
    "look up",
    "dial tcp",
    "dial tcp4",
    "dial tcp6",
    "dial udp",
    "dial",
    "enotfound",
    "eai_again",
    "unknown host",
    "such host",
    "route to host",
    "route to",
    "getaddrinfo failed for",
    "getaddrinfo for",
    "getaddrinfo",
    "gethostbyname",
    "unable to reach",
    "cannot reach",
    "can't reach",
    "could not reach",
    "failed to reach",
    "unable to contact",
    "failed to contact",
    "could not contact",
    "target host name",
    "handshake with",
    "ssh",
    "service not known",
    "--host",
    "--hostname",
    "--addr",
    "--address",
    "--server",
    "--node",
    "--peer",
    "--endpoint",
    "leg against",
    "connect to proxy",
    "connect to upstream",
    "connect to node",
    "connect to peer",
    "connect to backend",
    "connect to remote",
    "connection to server",
    "connection to node",
    "connection to peer",
    "connection to upstream",
    "connection to proxy",
    "verification failed for",
    "server can't find",
    "wanted to match",
];

/// What ends right before a host's name in quotes.
const QUOTED_PHRASES: [&str; 31] = [
    "host",
    "hostname",
    "host name",
    "server",
    "node",
    "peer",
    "machine",
    "remote",
    "worker",
    "upstream",
    "backend",
    "proxy",
    "endpoint",
    "pod",
    "valid for",
    "match",
    "matches",
    "matching",
    "either of",
    "certificate for",
    "server on",
    "permanently added",
    "added",
    "domain",
    "address",
    "resolve",
    "pods",
    "connect",
    "connection",
    "tls for",
    "instance",
];

/// What ends right before a name that is a machine's if it is called like one.
const WEAK_PHRASES: [&str; 37] = [
    "host",
    "hostname",
    "server",
    "node",
    "nodes",
    "peer",
    "machine",
    "worker",
    "upstream",
    "backend",
    "proxy",
    "endpoint",
    "pod",
    "instance",
    "contact",
    "reach",
    "ping",
    "contacting",
    "reaching",
    "refused by",
    "reset by",
    "closed by",
    "rejected by",
    "terminated by",
    "talking to",
    "request to",
    "reply from",
    "response from",
    "read from",
    "write to",
    "reported by",
    "rank",
    "replica",
    "broker",
    "member",
    "leader",
    "remote",
];

/// What can end before a machine whose name ends in a number.
const HARDLY_PHRASES: [&str; 8] = ["to", "on", "at", "from", "for", "via", "against", "through"];

/// What begins right after a host's name, a quote between them or not.
const AFTER: [&str; 20] = [
    ": name or service not known",
    ": no such host",
    ": temporary failure in name resolution",
    ": nodename nor servname",
    ": no address associated",
    ": host not found",
    ": unknown host",
    ": name does not resolve",
    ": no route to host",
    " refused the connection",
    " refused connection",
    " could not be resolved",
    " did not resolve",
    " does not resolve",
    " is unreachable",
    " (port ",
    ": could not resolve",
    ": nxdomain",
    ".: nxdomain",
    ": servfail",
];

/// What happens to a host: behind a name behind one of [`WEAK_PHRASES`] it is sure.
const HAPPENS: [&str; 21] = [
    " is ",
    " unreachable",
    " not found",
    " not ready",
    " not responding",
    " not reachable",
    " refused",
    " timed out",
    ": timed out",
    " failed",
    " lost",
    " died",
    " does not",
    " did not",
    " went away",
    " returned ",
    " closed the connection",
    " reset the connection",
    " port ",
    ": connection refused",
    " has ",
];

/// What ends right before a user's name.
const USER_KEYS: [&str; 9] =
    ["user", "username", "user name", "user_name", "login", "logname", "owner", "uname", "userid"];
const USER_PHRASES: [&str; 5] = ["for user", "as user", "by user", "of user", "invalid user"];

/// What ends right before the name of a user's folder.
const HOMES: [&str; 6] = ["home", "homes", "users", "user", "scratch", "nethome"];

/// Words that stand where hosts do.
const COMMON: &[&str] = &[
    "a",
    "abort",
    "aborted",
    "accept",
    "accepted",
    "across",
    "added",
    "address",
    "addresses",
    "after",
    "again",
    "all",
    "allocate",
    "already",
    "also",
    "an",
    "and",
    "answer",
    "any",
    "api",
    "are",
    "as",
    "at",
    "attempt",
    "attempts",
    "auth",
    "available",
    "backend",
    "bad",
    "bandwidth",
    "batch",
    "be",
    "because",
    "been",
    "before",
    "being",
    "block",
    "blocks",
    "both",
    "broken",
    "broker",
    "budget",
    "buffer",
    "busy",
    "but",
    "by",
    "byte",
    "bytes",
    "cache",
    "cached",
    "cancel",
    "cancelled",
    "cannot",
    "capacity",
    "certificate",
    "change",
    "changed",
    "changes",
    "char",
    "check",
    "checks",
    "client",
    "close",
    "closed",
    "code",
    "col",
    "column",
    "complete",
    "completed",
    "config",
    "conflict",
    "connect",
    "connected",
    "connecting",
    "connection",
    "copy",
    "could",
    "count",
    "cpu",
    "crash",
    "crashed",
    "cuda",
    "database",
    "deadline",
    "decode",
    "default",
    "dependencies",
    "dependency",
    "dest",
    "destination",
    "device",
    "did",
    "died",
    "different",
    "disconnect",
    "disconnected",
    "dns",
    "does",
    "domain",
    "done",
    "down",
    "dropped",
    "due",
    "during",
    "each",
    "eai_again",
    "econnrefused",
    "econnreset",
    "ehostunreach",
    "either",
    "election",
    "empty",
    "endpoint",
    "engine",
    "engines",
    "enodata",
    "enotfound",
    "epoch",
    "errno",
    "error",
    "errors",
    "established",
    "etcd",
    "etimedout",
    "even",
    "event",
    "ever",
    "exceeded",
    "exception",
    "expired",
    "fail",
    "failed",
    "failure",
    "fatal",
    "few",
    "file",
    "first",
    "following",
    "for",
    "from",
    "full",
    "gateway",
    "gid",
    "given",
    "gone",
    "gpu",
    "group",
    "had",
    "handshake",
    "has",
    "have",
    "header",
    "health",
    "healthy",
    "hop",
    "hops",
    "host",
    "hostname",
    "hosts",
    "http",
    "https",
    "hung",
    "id",
    "idle",
    "if",
    "in",
    "inactive",
    "index",
    "info",
    "interface",
    "internal",
    "internet",
    "interrupted",
    "into",
    "invalid",
    "ip",
    "ipv4",
    "ipv6",
    "is",
    "issue",
    "it",
    "its",
    "just",
    "kafka",
    "kernel",
    "key",
    "kv",
    "lag",
    "last",
    "layer",
    "leader",
    "least",
    "leg",
    "len",
    "length",
    "less",
    "limit",
    "line",
    "lines",
    "link",
    "list",
    "listen",
    "listening",
    "load",
    "loads",
    "lookup",
    "loop",
    "lost",
    "machine",
    "many",
    "memory",
    "metadata",
    "mismatch",
    "missing",
    "model",
    "more",
    "most",
    "ms",
    "much",
    "multiple",
    "must",
    "name",
    "names",
    "neither",
    "network",
    "never",
    "new",
    "next",
    "nginx",
    "no",
    "node",
    "nodes",
    "non",
    "none",
    "not",
    "now",
    "null",
    "of",
    "off",
    "offline",
    "offset",
    "on",
    "once",
    "one",
    "only",
    "open",
    "opened",
    "or",
    "other",
    "out",
    "outage",
    "over",
    "overload",
    "overloaded",
    "p50",
    "p95",
    "p99",
    "page",
    "parse",
    "password",
    "path",
    "peer",
    "peers",
    "pending",
    "permission",
    "pid",
    "ping",
    "pong",
    "pool",
    "pools",
    "port",
    "prefill",
    "primary",
    "probe",
    "process",
    "processes",
    "proxy",
    "queue",
    "ram",
    "rank",
    "rate",
    "ratio",
    "reach",
    "read",
    "ready",
    "really",
    "received",
    "redis",
    "refused",
    "rejected",
    "remote",
    "replica",
    "replied",
    "reply",
    "reported",
    "reports",
    "request",
    "requested",
    "requests",
    "reset",
    "resolve",
    "resolved",
    "resolver",
    "respond",
    "responded",
    "response",
    "responses",
    "restart",
    "restarted",
    "result",
    "retry",
    "returned",
    "route",
    "router",
    "same",
    "says",
    "secondary",
    "selection",
    "selector",
    "self",
    "sent",
    "seq",
    "server",
    "servers",
    "service",
    "set",
    "several",
    "shard",
    "shut",
    "side",
    "sides",
    "since",
    "size",
    "slot",
    "slow",
    "socket",
    "some",
    "specific",
    "ssl",
    "stage",
    "standby",
    "start",
    "started",
    "starting",
    "state",
    "status",
    "step",
    "still",
    "stop",
    "stopped",
    "stopping",
    "stream",
    "subject",
    "such",
    "table",
    "take",
    "target",
    "tcp",
    "temporarily",
    "terminated",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "thread",
    "threads",
    "through",
    "tid",
    "time",
    "timed",
    "timeout",
    "timer",
    "tls",
    "to",
    "token",
    "tokens",
    "too",
    "took",
    "total",
    "transfer",
    "true",
    "try",
    "two",
    "type",
    "udp",
    "uid",
    "unable",
    "unavailable",
    "undefined",
    "unexpected",
    "unix",
    "unknown",
    "unreachable",
    "until",
    "up",
    "upstream",
    "uri",
    "url",
    "urls",
    "us",
    "user",
    "username",
    "using",
    "valid",
    "value",
    "verification",
    "version",
    "via",
    "wait",
    "waiting",
    "was",
    "websocket",
    "went",
    "were",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "within",
    "without",
    "worker",
    "workers",
    "would",
    "write",
    "wrong",
    "yet",
    "you",
    "your",
];

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
    COMMON.binary_search(&word).is_ok()
}

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
    // A placeholder names nobody.
    if at > 0 && bytes[at - 1] == b'<' && bytes.get(end) == Some(&b'>') {
        return None;
    }
    let before = &text[floor(text, at.saturating_sub(BEFORE))..at];
    let before = before.to_ascii_lowercase();
    let after = &text[end..floor(text, (end + 40).min(text.len()))];
    let lower = name.to_lowercase();
    let is_tilde = before.ends_with('~') && after.starts_with('/');
    if (is_home(&before) || is_tilde) && lower.len() > 1 {
        return Some((Told::User, end));
    }
    let (head, is_quoted) = unquoted(&before);
    let is_common = is_common(&lower);
    if !is_common && tells_user(head, is_quoted) {
        return Some((Told::User, end));
    }
    let mut sure = if before.is_empty() { Sure::No } else { sure(head, is_quoted) };
    // `peer mars refused`, and `host mars` alone.
    if sure == Sure::Weak && !head.ends_with(':') && !head.ends_with(": ") {
        let is_alone = after.is_empty() || after.starts_with([',', ';', ')', '.', '\n']);
        let is_host = is_alone && ends_with_any(head.trim_end(), &["host", "hostname"]).is_some();
        let lower = after.to_ascii_lowercase();
        if is_host || HAPPENS.iter().any(|what| lower.starts_with(what)) {
            sure = Sure::Strong;
        }
    }
    let sure = sure.max(sure_after(&before, after, is_quoted));
    let is_host = match sure {
        Sure::Strong => !is_common && name.len() > 1,
        Sure::Weak => is_machine(&lower),
        Sure::Hardly => is_numbered(&lower),
        Sure::No => false,
    };
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
        if ends_with_key(key, &STRONG_KEYS)
            || (is_assigned && ends_with_key(key, &["name"]) && key.contains("dns"))
        {
            return Sure::Strong;
        }
        if ends_with_key(key, &WEAK_KEYS) {
            return if is_quoted || is_assigned { Sure::Strong } else { Sure::Weak };
        }
        return if ends_with_any(key, &HARDLY_KEYS).is_some() { Sure::Hardly } else { Sure::No };
    }
    // `--host gpu7`, `dial tcp (gpu7`: a phrase ends at a blank, a quote or a bracket.
    if !is_spaced && !is_quoted && open.len() == head.len() {
        return Sure::No;
    }
    let phrase = trimmed.trim_end_matches('(');
    if ends_with_any(phrase, &STRONG_PHRASES).is_some()
        || (is_quoted && ends_with_any(phrase, &QUOTED_PHRASES).is_some())
        || is_log_time(phrase)
    {
        Sure::Strong
    } else if ends_with_any(phrase, &WEAK_PHRASES).is_some() {
        Sure::Weak
    } else if ends_with_any(phrase, &HARDLY_PHRASES).is_some() {
        Sure::Hardly
    } else {
        Sure::No
    }
}

/// Whether a list of hosts begins behind a text: `servers: [`.
fn is_list(head: &str) -> bool {
    let open = head.trim_end_matches(['(', '[', '{', ' ', '\'', '"']);
    open.strip_suffix([':', '='])
        .is_some_and(|key| ends_with_key(key.trim_end_matches([' ', '\'', '"', '\\']), &LIST_KEYS))
}

/// What follows a name, and sometimes what opens before it.
fn sure_after(before: &str, after: &str, is_quoted: bool) -> Sure {
    let rest = after.trim_start_matches(['\'', '"', '`', '\\', ')']);
    let starts = |what: &str| {
        rest.as_bytes().get(..what.len()).is_some_and(|found| found.eq_ignore_ascii_case(what.as_bytes()))
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    // `('gpu7', 8000)`, `(gpu7, 8000)`.
    let is_pair = rest.strip_prefix(", ").is_some_and(|rest| {
        let is_open = before.trim_end_matches(['\'', '"', '\\']).trim_end_matches('b').ends_with('(');
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
    if is_pair
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
    if is_port || starts(" unreachable") || starts(" is down") || starts(": connection refused") {
        return Sure::Weak;
    }
    Sure::No
}

/// Whether a text ends with one of the phrases, and with whole words.
fn ends_with_any<'p>(text: &str, phrases: &[&'p str]) -> Option<&'p str> {
    phrases.iter().copied().find(|phrase| {
        text.strip_suffix(phrase).is_some_and(|before| !before.ends_with(|c: char| is_word(c) && c != '-'))
    })
}

/// As [`ends_with_any`], also as the last part of a key of several: `remote_host`, `node.host`.
fn ends_with_key(text: &str, keys: &[&str]) -> bool {
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

fn tells_user(head: &str, is_quoted: bool) -> bool {
    let trimmed = head.trim_end_matches(['(', '[', '{']).trim_end();
    match trimmed.strip_suffix(['=', ':']) {
        Some(key) => ends_with_key(key.trim_end_matches([' ', '\'', '"', '\\', '`']), &USER_KEYS),
        None => {
            let is_spaced = trimmed.len() < head.len();
            (is_quoted && is_spaced && ends_with_any(trimmed, &USER_KEYS).is_some())
                || (is_spaced && ends_with_any(trimmed, &USER_PHRASES).is_some())
        }
    }
}

/// Whether a text ends with the folder of the users' folders: `/home/`, `C:\Users\`, with escapes.
fn is_home(before: &str) -> bool {
    let folder = before.trim_end_matches(['/', '\\']);
    folder.len() < before.len()
        && HOMES.iter().any(|home| folder.strip_suffix(home).is_some_and(|rest| rest.ends_with(['/', '\\'])))
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

/// Ids of requests and runs, hashes: they stay.
fn is_id(name: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<usize> = name.split('-').filter(|part| is_hex(part)).map(str::len).collect();
    let count = name.split('-').count();
    (count == 5 && parts == [8, 4, 4, 4, 12])
        || (count == 2 && parts.len() == 2 && parts[0] >= 9 && parts[1] == 8)
        || (name.len() >= 16 && is_hex(name))
        || name.starts_with("0x")
}

/// Letters first and a digit within, as machines are called.
fn is_machine(lower: &str) -> bool {
    lower.starts_with(char::is_alphabetic)
        && lower.contains(char::is_numeric)
        && !is_kind(lower)
        && !dotted::is_file(lower)
        && lower.chars().count() > 2
}

/// A machine's name of parts with hyphens, one of them with a digit, and none a hash.
fn is_numbered(lower: &str) -> bool {
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
fn is_called_machine(lower: &str) -> bool {
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
        assert!(COMMON.is_sorted() && KINDS.is_sorted());
    }
}
