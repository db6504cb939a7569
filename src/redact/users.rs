//! Users that the words around them tell: `user 'alice'`, `/home/alice`, the columns of `ls -l`.

use super::tokens::word_end;
use super::wording::{ends_with_any, ends_with_key};

/// What ends right before a user's name.
const USER_KEYS: &[&str] = &[
    "user",
    "username",
    "user name",
    "user_name",
    "login",
    "logname",
    "owner",
    "uname",
    "userid",
    "ruser",
    "uid",
    "principal",
    "no such user",
    "unknown user",
];

const USER_PHRASES: &[&str] = &[
    "for user",
    "as user",
    "by user",
    "of user",
    "invalid user",
    "from user",
    "publickey for",
    "password for",
    "unknown user",
    "no such user",
    "run by",
    "owned by",
    "principal",
    "started by",
    "logged in as",
    "running as",
    "submitted by",
    "publickey) for",
];

/// What ends right before the name of a user's folder.
const HOMES: &[&str] = &["home", "homes", "users", "user", "scratch", "nethome"];

/// What happens to a user: after a name after `user` it is sure.
const USER_HAPPENS: &[&str] = &[
    " not allowed",
    " does not exist",
    " is not ",
    " has no ",
    " has not ",
    " not found",
    " logged ",
    " cannot ",
    " may not ",
    " is locked",
    " is disabled",
];

/// Whether what ends before a name, its quotes left out, and what follows make a user of it.
pub(super) fn told(head: &str, is_quoted: bool, after: &str) -> bool {
    let trimmed = head.trim_end_matches(['(', '[', '{']).trim_end();
    let is_spaced = trimmed.len() < head.len();
    let rest = after.trim_start_matches(['\'', '"', '`']).to_ascii_lowercase();
    let happens = USER_HAPPENS.iter().any(|what| rest.starts_with(what));
    // `user alice not allowed`, `role "alice" does not exist`.
    let is_subject = is_spaced
        && happens
        && (ends_with_any(trimmed, &["user", "account"]).is_some()
            || (is_quoted
                && rest.starts_with(" does not exist")
                && ends_with_any(trimmed, &["role"]).is_some()));
    let is_told = match trimmed.strip_suffix(['=', ':']) {
        Some(key) => ends_with_key(key.trim_end_matches([' ', '\'', '"', '\\', '`']), USER_KEYS),
        None => {
            (is_quoted && is_spaced && ends_with_any(trimmed, USER_KEYS).is_some())
                || (is_spaced && ends_with_any(trimmed, USER_PHRASES).is_some())
        }
    };
    // `job 12 of alice failed`.
    let is_job = trimmed.strip_suffix(" of").is_some_and(|job| {
        let what = job.trim_end_matches(|c: char| c.is_ascii_digit());
        what.len() < job.len() && what.ends_with("job ")
    });
    // `no such job, user alice`, and not `unknown user agent`.
    let is_alone = is_spaced
        && (after.is_empty() || rest.starts_with([',', ';', ')']))
        && [", user", "; user", "(user"].iter().any(|end| trimmed.ends_with(end));
    is_told
        || is_subject
        || is_job
        || rest.starts_with(" : tty=")
        || (rest.starts_with(" : ") && head == "sudo: ")
        || is_alone
        || rest.starts_with(" is not in the sudoers")
        || is_id_of(head)
}

/// Whether a text ends as `uid=1000(`.
fn is_id_of(head: &str) -> bool {
    head.strip_suffix('(').is_some_and(|id| {
        let key = id.trim_end_matches(|c: char| c.is_ascii_digit());
        key.len() < id.len() && (key.ends_with("uid=") || key.ends_with("gid="))
    })
}

/// Whether a text ends as a line of `ls -l` does before its owner, or its group.
pub(super) fn listed(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let is_mode = |word: &str| {
        (10..=11).contains(&word.len())
            && word.starts_with(['-', 'd', 'l', 'c', 'b', 's', 'p'])
            && word.bytes().all(|byte| b"-dlcbsprwxt.+@".contains(&byte))
    };
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let Some(first) = words.next().filter(|_| before.ends_with(' ')) else { return false };
    let Some(second) = words.next() else { return false };
    if is_count(first) { is_mode(second) } else { is_count(second) && words.next().is_some_and(is_mode) }
}

/// Whether a text ends with the folder of the users' folders: `/home/`, `C:\Users\`, with escapes.
pub(super) fn is_home(before: &str) -> bool {
    let folder = before.trim_end_matches(['/', '\\']);
    folder.len() < before.len()
        && HOMES.iter().any(|home| folder.strip_suffix(home).is_some_and(|rest| rest.ends_with(['/', '\\'])))
}

/// The end of `DOMAIN\user`, where the domain ends at `end`.
pub(super) fn end_with_domain(text: &str, end: usize) -> usize {
    let name = text[end..].trim_start_matches('\\');
    let from = text.len() - name.len();
    if (1..=2).contains(&(from - end)) { word_end(text, from) } else { end }
}
