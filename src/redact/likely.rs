//! Wordings behind which a machine can stand as well as other things, in lower case: a word is taken for one that no
//! usual text knows.

use super::keys::HARDLY_KEYS;
use super::wording::ends_with_any;

/// Whether a machine can stand there as well as other things.
pub(super) fn is_likely(head: &str, after: &str) -> bool {
    let open = head.trim_end_matches(['(', '[', '<']);
    let phrase = open.trim_end();
    let lower = after.to_ascii_lowercase();
    let happens = lower.trim_start_matches([']', ')', '>', '"', '\'']);
    // `[mars] connection refused`, `ucx: mars unreachable`.
    let is_subject = (phrase.is_empty() || phrase.ends_with([':', ';', '.', ',']))
        && SUBJECT_HAPPENS.iter().any(|what| happens.starts_with(what));
    // `rank 3 (mars) failed`.
    let is_aside = open.len() < head.len() && phrase.len() < open.len() && lower.starts_with([')', ']', '>']);
    let is_going = phrase
        .strip_suffix(" to")
        .is_some_and(|verb| ends_with_any(verb, GOES_TO).is_some() || is_assigned_pod(verb));
    // `connection refused: mars`, and nothing more of it.
    let is_named_last = after.is_empty() || after.starts_with([',', ';', ')', '.', '\n', '"', '\'']);
    let is_named_last = is_named_last
        && phrase
            .strip_suffix(':')
            .is_some_and(|what| ends_with_any(what, LIKELY_KEYS).is_some() || is_network_error(what));
    let is_assigned = head.strip_suffix('=').is_some_and(|key| ends_with_any(key, HARDLY_KEYS).is_some());
    is_subject
        || is_aside
        || is_named_last
        || is_assigned
        || (phrase.len() < head.len() && (is_going || ends_with_any(phrase, LIKELY_PHRASES).is_some()))
}

/// `httpx.ConnectTimeout`, `asyncio.TimeoutError`: a class of an error that a peer makes.
fn is_network_error(phrase: &str) -> bool {
    let class = &phrase[phrase.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1)..];
    ["error", "exception", "timeout", "disconnected"].iter().any(|end| class.ends_with(end))
        && ["connect", "timeout", "dns", "http", "socket", "gai", "host", "protocol", "retry"]
            .iter()
            .any(|what| class.contains(what))
}

/// `Successfully assigned default/decode-0`, as Kubernetes says it.
fn is_assigned_pod(phrase: &str) -> bool {
    let start = phrase.rsplit_once(' ').filter(|(_, pod)| pod.contains('/')).map_or("", |(start, _)| start);
    ends_with_any(start, &["assigned", "assign", "bind", "bound"]).is_some()
}

/// What can end before any word, and before a machine's name: one that no text knows is taken for that.
const LIKELY_PHRASES: &[&str] = &[
    "from",
    "at",
    "on",
    "via",
    "against",
    "through",
    "waiting for",
    "data for",
    "record for",
    "up a for",
    "aaaa for",
    "certificate for",
    "certificate of",
    "certificate cn",
    "belongs to",
    "check of",
    "probe of",
    "url of",
    "address of",
    "dns name",
    "such domain",
    "up (",
    "gateway",
    "hosts",
    "domain",
    "sentinel",
    "ssh",
    "scp",
    "rsync",
    "dialing",
    "econnrefused",
    "econnreset",
    "etimedout",
    "ehostunreach",
    "enetunreach",
    "eai_noname",
    "only for",
    "connection with",
    "handshake with",
    "session with",
    "in sync with",
    "addresses for",
    "nxdomain",
    "nxdomain for",
    "servfail for",
    "probe for",
    "heartbeat of",
    "handshake failed with",
    "requesting",
    "connecting",
    "failed over to",
    "mismatch with",
    "timeout with",
    "remote engine",
    "pool for",
    "opened for",
    "cancelled for",
    "valid for",
    "host key for",
    "lease for",
    "suspect",
];

/// What ends before a colon and a machine's name, after which there is no more.
const LIKELY_KEYS: &[&str] = &[
    "connection refused",
    "connection reset",
    "connection timed out",
    "connection lost",
    "connection attempts failed",
    "disconnected",
    "unreachable",
    "timed out",
    "timeout",
    "for connection",
    "hostname mismatch",
    "bad gateway",
    "connect error",
    "dns error",
    "breaker open",
];

/// What goes to a machine: `send to`, and not `unable to`.
const GOES_TO: &[&str] = &[
    "access",
    "assigned",
    "attach",
    "bind",
    "bound",
    "call",
    "close",
    "connect",
    "connected",
    "connecting",
    "connection",
    "copy",
    "dial",
    "dispatch",
    "dispatched",
    "failover",
    "forward",
    "handoff",
    "join",
    "leg",
    "link",
    "migrate",
    "move",
    "moved",
    "path",
    "proxy",
    "push",
    "pushed",
    "reply",
    "request",
    "retried",
    "route",
    "routed",
    "send",
    "sending",
    "sent",
    "socket",
    "stream",
    "switch",
    "talk",
    "talking",
    "transfer",
    "transferring",
    "upload",
    "write",
    "writing",
    "endpoint",
    "handshake",
    "lost",
    "rerouted",
    "switched",
    "ucp_ep_create",
    "connect()",
    "heartbeat",
    "notif",
    "scheduled",
];

/// What happens to a machine that a text begins with.
const SUBJECT_HAPPENS: &[&str] = &[
    " timed out",
    " refused",
    " is not responding",
    " not responding",
    " is not reachable",
    " not reachable",
    " is dead",
    " died",
    " crashed",
    " went away",
    " unreachable",
    " not connected",
    " is down",
    " rebooted",
    ": connection refused",
    ": connection reset",
    ": connection timed out",
    ": timed out",
    ": network is unreachable",
    ": host is down",
    ": no route",
    " - connection refused",
    " connection refused",
    ": broken pipe",
    " did not answer",
    " did not respond",
    " does not answer",
    " does not respond",
    " stopped answering",
    " stopped responding",
    " failed to respond",
    " responded with",
    " returned 4",
    " returned 5",
    " answered 4",
    " answered 5",
    " closed the connection",
    " reset the connection",
    " dropped the connection",
    ": out of memory",
    ": cuda error",
    " cuda error",
    ": exited",
    " | unreachable",
    " | failed",
    " (rank ",
    " mlx5_",
];
