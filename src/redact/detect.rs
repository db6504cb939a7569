//! What looks like a URL, an address, a host or a user, whatever it is called.
//!
//! When in doubt it does: `status:503` goes as `host:port`, and no text that is lost so changes a
//! number. Names with dots are judged by `dotted`, others by the words around them
//! (`wording`).

use std::net::Ipv6Addr;

use super::tokens::{LONGEST_NAME, bounded_end, is_name, is_word, run_end, word_end};
use super::wording::{Told, told_at};
use super::words::is_counted;
use super::{dotted, is_pseudonym};

/// What a part of a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// Anything with `://`, to the next blank or double quote.
    Url,
    /// An IPv4 or IPv6 address, its port included.
    Address,
    /// A name and a port.
    HostPort,
    /// A name with dots, or one that the words around it tell.
    Host,
    /// A user, a host after `@` included.
    User,
}

impl Detected {
    /// What stands for it in a redacted text.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Url => "<url>",
            Self::Address => "<address>",
            Self::HostPort | Self::Host => "<host>",
            Self::User => "<user>",
        }
    }

    /// As a message names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "a URL",
            Self::Address => "an address",
            Self::HostPort => "a host with a port",
            Self::Host => "a host",
            Self::User => "a user",
        }
    }
}

/// `://` as it stands in plain text, in JSON with escaped slashes, and percent-encoded.
const SCHEME_ENDS: [&str; 3] = ["://", ":\\/\\/", "%3A%2F%2F"];

/// An IPv6 address has at most 45 bytes, and a port after it.
const LONGEST_ADDRESS: usize = 64;

/// Where to look next after `at`, where nothing was found: after the punctuation or the word
/// there, at an address inside the word, or after an escape that the word begins with (`\nd0`,
/// `%2Fd0`).
pub fn next_place(text: &str, at: usize) -> usize {
    let end = word_end(text, at);
    if end == at {
        return at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    let bytes = text.as_bytes();
    let escaped = match at.checked_sub(1).map(|before| bytes[before]) {
        Some(b'\\') if b"nrtbf".contains(&bytes[at]) => at + 1,
        Some(b'%') if end - at >= 2 && bytes[at..at + 2].iter().all(u8::is_ascii_hexdigit) => at + 2,
        _ => end,
    };
    let address = (at + 1..end).find(|at| {
        bytes[*at].is_ascii_digit() && !bytes[at - 1].is_ascii_digit() && ipv4(text, *at).is_some()
    });
    escaped.min(address.unwrap_or(end))
}

/// What begins at `at`, and its end. A word must begin there, or something else than a
/// word, or see [`next_place`]. What can be a pseudonym is none.
pub fn detected_at(text: &str, at: usize) -> Option<(Detected, usize)> {
    any_detected_at(text, at)
        .filter(|(detected, end)| *detected != Detected::Host || !is_pseudonym(&text[at..*end]))
}

/// As [`detected_at`], also of what a pseudonym is called like.
pub(super) fn any_detected_at(text: &str, at: usize) -> Option<(Detected, usize)> {
    if let Some(end) = url(text, at) {
        return Some((Detected::Url, end));
    }
    if let Some(end) = ipv6_in_brackets(text, at).or_else(|| ipv6(text, at)).or_else(|| ipv4(text, at)) {
        return Some((Detected::Address, port(text, end).unwrap_or(end)));
    }
    if let Some(end) = user_at_host(text, at) {
        return Some((Detected::User, end));
    }
    if let Some(end) = host_port(text, at) {
        return Some((Detected::HostPort, end));
    }
    let told = told_at(text, at);
    match (dotted_host(text, at), told) {
        (Some(end), _) => Some((Detected::Host, end)),
        (None, Some((Told::Host, end))) => Some((Detected::Host, end)),
        (None, Some((Told::User, end))) => Some((Detected::User, end)),
        (None, None) => None,
    }
}

/// Calls `take` with the host of everything that looks like a URL, unless it is an address.
pub fn each_url_host<'t>(text: &'t str, mut take: impl FnMut(&'t str)) {
    for (colon, _) in text.match_indices([':', '%']) {
        let Some(end) = scheme_end(text, colon) else { continue };
        let is_encoded = text.as_bytes()[colon] == b'%';
        let stops = |c: char| {
            c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\\' | '"') || (is_encoded && c == '%')
        };
        let rest = &text[end..];
        let authority = &rest[..rest.find(stops).unwrap_or(rest.len())];
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = host[..run_end(host, 0, is_name)].trim_end_matches('.');
        // `dns:///gpu7:8000`: a resolver has no authority.
        let host = match text[..colon].ends_with("dns") && host.is_empty() {
            true => {
                let path = rest.trim_start_matches('/');
                path[..run_end(path, 0, is_name)].trim_end_matches('.')
            }
            false => host,
        };
        if !host.is_empty() && ipv4(host, 0) != Some(host.len()) {
            take(host);
        }
    }
}

fn scheme_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    SCHEME_ENDS
        .iter()
        .find(|end| rest.get(..end.len()).is_some_and(|found| found.eq_ignore_ascii_case(end.as_bytes())))
        .map(|end| at + end.len())
}

fn url(text: &str, at: usize) -> Option<usize> {
    let scheme = bounded_end(text, at, LONGEST_NAME, |c| is_name(c) || c == '+');
    let body = scheme_end(text, scheme)?;
    let bytes = text.as_bytes();
    let mut end = body;
    loop {
        end = run_end(text, end, |c| {
            !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '<' | '>' | '`' | '\\')
        });
        match bytes.get(end..end + 2) {
            Some(b"\\/") => end += 2,
            _ => break,
        }
    }
    let trimmed = text[body..end].trim_end_matches(['\'', ')', ']', '}', ',', '.', ';', ':', '!', '?']);
    Some(body + trimmed.len())
}

/// The end of `:port`, if it stands there.
pub(super) fn port(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b':') || !bytes.get(at + 1).is_some_and(|first| (b'1'..=b'9').contains(first)) {
        return None;
    }
    let end = at + 1 + bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_port = text[at + 1..end].parse::<u16>().is_ok();
    let next = text[end..].chars().next();
    let goes_on = next.is_some_and(|c| is_word(c) && c != '-');
    (is_port && !goes_on && !is_decimal(bytes, end)).then_some(end)
}

/// Whether a number goes on at `at` with a dot and digits.
fn is_decimal(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

fn host_port(text: &str, at: usize) -> Option<usize> {
    let colon = bounded_end(text, at, LONGEST_NAME, is_name);
    let end = port(text, colon)?;
    if dotted::is_file(&text[at..colon]) || is_behind_dot(text, at) || is_hour_of_day(&text[at..colon]) {
        return None;
    }
    let name = &text[at..colon];
    if !name.starts_with(is_word) || is_counted(name) || dotted::is_line_of_code(name, &text[colon + 1..end])
    {
        return None;
    }
    let has_letter = name.chars().any(char::is_alphabetic);
    (has_letter && ipv6(text, colon + 1).is_none()).then_some(end)
}

/// Whether minutes follow, and no port: `2026-11-29T18` of `2026-11-29T18:43`.
fn is_hour_of_day(text: &str) -> bool {
    let form = "0000-00-00T00";
    let is_alike =
        |(c, of): (u8, u8)| if of == b'0' { c.is_ascii_digit() } else { c.eq_ignore_ascii_case(&of) };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_alike)
}

/// The end of `user@host`, its port included; also of `'user'@'host'`, `user:password@host`, `user@[address]` and
/// `user%40domain@host`.
fn user_at_host(text: &str, at: usize) -> Option<usize> {
    const QUOTES: [char; 3] = ['\'', '"', '`'];
    let user = bounded_end(text, at, LONGEST_NAME, |c| is_name(c) || c == '+');
    if user == at || &text[at..user] == "sha256" {
        return None;
    }
    if text[user..].starts_with("%40") {
        let end = name_or_address_end(text, user + 3)?;
        let host = text[end..].strip_prefix('@').and_then(|_| name_or_address_end(text, end + 1));
        let end = host.unwrap_or(end);
        return Some(port(text, end).unwrap_or(end));
    }
    let is_password =
        |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | '/' | '@' | '<' | '>' | ',');
    let password = match text[user..].starts_with(':') {
        true => bounded_end(text, user + 1, LONGEST_ADDRESS, is_password),
        false => user,
    };
    let sign = text[password..].strip_prefix(QUOTES).unwrap_or(&text[password..]);
    let host = sign.strip_prefix('@')?;
    let is_quoted = sign.len() < text.len() - password;
    let host = if is_quoted { host.strip_prefix(QUOTES).unwrap_or(host) } else { host };
    let from = text.len() - host.len();
    let end = name_or_address_end(text, from)?;
    let is_version = || {
        let number = text[from..end].strip_prefix('v').unwrap_or(&text[from..end]);
        number.starts_with(|c: char| c.is_ascii_digit()) && ipv4(text, from) != Some(end)
    };
    let is_number = is_version() && !text[from..end].contains('-');
    (!text[from..end].starts_with("sha256") && !is_number).then(|| port(text, end).unwrap_or(end))
}

/// The end of a host's name, or of what stands in brackets instead of one.
fn name_or_address_end(text: &str, from: usize) -> Option<usize> {
    if let Some(inside) = text[from..].strip_prefix('[') {
        let len = inside.bytes().take(LONGEST_NAME).position(|byte| byte == b']')?;
        let is_one = inside[..len].chars().all(|c| is_name(c) || matches!(c, ':' | '%'));
        return (len > 0 && is_one).then_some(from + len + 2);
    }
    let end = bounded_end(text, from, LONGEST_NAME, is_name);
    let end = from + text[from..end].trim_end_matches('.').len();
    (end > from).then_some(end)
}

/// The end of a name with dots that is a host's. It begins at `at`, and not before.
fn dotted_host(text: &str, at: usize) -> Option<usize> {
    let end = bounded_end(text, at, LONGEST_NAME, is_name);
    let run = &text[at..end];
    let run = run[..run.find("..").unwrap_or(run.len())].trim_end_matches('.');
    let is_host = !is_behind_dot(text, at)
        && run.contains('.')
        && dotted::is_host(run, &text[..at], &text[at + run.len()..]);
    is_host.then_some(at + run.len())
}

/// Whether a name with dots began before.
fn is_behind_dot(text: &str, at: usize) -> bool {
    text[..at].strip_suffix('.').is_some_and(|before| before.ends_with(is_word))
}

pub(super) fn ipv4(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = at;
    for part in 0..4 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let digits = bytes.get(end..)?.iter().take_while(|byte| byte.is_ascii_digit()).take(4).count();
        if !(1..=3).contains(&digits) || text[end..end + digits].parse::<u16>().is_ok_and(|n| n > 255) {
            return None;
        }
        end += digits;
    }
    (!is_decimal(bytes, end)).then_some(end)
}

fn ipv6(text: &str, at: usize) -> Option<usize> {
    let run = bounded_end(text, at, LONGEST_ADDRESS, |c| c.is_ascii_hexdigit() || c == ':' || c == '.');
    let mut address = text[at..run].trim_end_matches('.');
    // What stands after an address can be a colon, or a port.
    for _ in 0..3 {
        let end = at + address.len();
        let is_whole = !text[end..].starts_with(|c| is_word(c) && c != '-');
        if is_whole && address.len() > 2 && address.parse::<Ipv6Addr>().is_ok() {
            return Some(match text[end..].strip_prefix('%') {
                Some(zone) => end + 1 + word_end(zone, 0),
                None => end,
            });
        }
        address = match address.strip_suffix(':') {
            Some(shorter) => shorter,
            None => &address[..address.rfind(':')?],
        };
    }
    None
}

fn ipv6_in_brackets(text: &str, at: usize) -> Option<usize> {
    let inside = text[at..].strip_prefix('[')?;
    let inside = &inside[..inside.bytes().take(LONGEST_ADDRESS).position(|byte| byte == b']')?];
    let address = inside.split('%').next().unwrap_or(inside);
    address.parse::<Ipv6Addr>().is_ok().then_some(at + inside.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> String {
        let (mut out, mut at) = (String::new(), 0);
        while at < text.len() {
            let (becomes, end) = match detected_at(text, at) {
                Some((detected, end)) => (detected.placeholder(), end),
                None => (&text[at..next_place(text, at)], next_place(text, at)),
            };
            out.push_str(becomes);
            at = end;
        }
        out
    }

    #[test]
    fn urls_go_with_what_belongs_to_them() {
        for (text, becomes) in [
            ("leg against http://127.0.0.1:19004 failed (502): x", "leg against <url> failed (502): x"),
            ("for url 'http://gpu7:80/v1?a=b#c'\nmore", "for url '<url>'\nmore"),
            (r#"{"u": "http://u:p@[::1]:8/x", "n": 1}"#, r#"{"u": "<url>", "n": 1}"#),
            ("(see nats+tls://gpu7).", "(see <url>)."),
            (r#"{"u":"http:\/\/gpu7\/v1"}"#, r#"{"u":"<url>"}"#),
            ("to=http%3a%2F%2Fgpu7%3A80&x", "to=<url>"),
            ("cut http://", "cut <url>"),
            ("a // comment, http: no", "a // comment, http: no"),
        ] {
            assert_eq!(replaced(text), becomes, "{text}");
        }
    }

    #[test]
    fn addresses_go_with_their_port() {
        for (text, becomes) in [
            ("('127.0.0.1', 9)", "('<address>', 9)"),
            ("10.0.0.5:8000.", "<address>."),
            ("10.0.0.5-10.0.0.9, ip-10.0.0.7", "<address>-<address>, ip-<address>"),
            ("::1 fe80::1%eth0: [2001:db8::1]:80 [::]:8", "<address> <address>: <address> <address>"),
            ("2001:db8:0:0:0:0:0:1: refused", "<address>: refused"),
            ("1:2:3:4:5:6:7:8:9000", "<address>"),
            ("peer:2001:db8::1", "peer:<address>"),
            (
                "1.2.3 0.1.2.3.4 300.1.1.1 12:34:56 a::b std::x ::",
                "1.2.3 0.<address> 300.1.1.1 12:34:56 <address> std::x ::",
            ),
        ] {
            assert_eq!(replaced(text), becomes, "{text}");
        }
    }

    #[test]
    fn hosts_go_with_their_port() {
        for (text, becomes) in [
            ("gpu7:8000 refused", "<host> refused"),
            ("gpu7.rack-1.internal:8000/v1", "<host>/v1"),
            ("_x.y:65535: z", "<host>: z"),
            ("gpü:80", "<host>"),
            (
                "line 1:12, lag:3.5s, x:70000, p99:250ms, a: 5, x:0",
                "line 1:12, lag:3.5s, x:70000, p99:250ms, a: 5, x:0",
            ),
            ("sha256:00ff", "sha256:00ff"),
            (
                "at 2026-11-29T18:43:04.1Z, [2026-11-29T18:43Z]",
                "at 2026-11-29T18:43:04.1Z, [2026-11-29T18:43Z]",
            ),
        ] {
            assert_eq!(replaced(text), becomes, "{text}");
        }
    }

    #[test]
    fn hosts_of_urls_are_found() {
        let mut hosts = Vec::new();
        let text = r"http://Gpu7/ http://a:b@gpu8:80,http://gpu9. http:\/\/gpu10\/ x%3A%2f%2Fgpu11%3A8 http://10.0.0.1 http://[::1]/ http://";
        each_url_host(text, |host| hosts.push(host));
        assert_eq!(hosts, ["Gpu7", "gpu8", "gpu9", "gpu10", "gpu11"]);
    }
}
