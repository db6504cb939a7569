//! Files by their paths: opened without waiting, their names as text, and which paths lead to what is open
//! already.

use std::fmt::Write;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Looks at what stands at a path, if it can be read as a file.
///
/// # Errors
/// When it is no file, or nothing is there.
pub fn look(path: &Path) -> io::Result<Metadata> {
    let metadata = path.metadata()?;
    refuse_others(path, &metadata)?;
    Ok(metadata)
}

/// Opens what stands at a path, if it can be read as a file. Never waits, as the opening of a pipe does.
///
/// # Errors
/// When it is no file, or cannot be opened.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Before it is opened, which can do things to a device; and again, because it can be another by then.
    look(path)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(with_way_out)?;
    let metadata = file.metadata()?;
    refuse_others(path, &metadata)?;
    Ok((file, metadata))
}

/// The failure to open a file, with the way out where it is not the file's.
pub fn with_way_out(error: io::Error) -> io::Error {
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::MFILE) => io::Error::other(format!("{error}: {MORE_FILES}")),
        _ => error,
    }
}

/// A failure to read, with the way out where it is that too many files are open.
pub fn in_words(error: &anyhow::Error) -> String {
    let is_of_limit = |error: &io::Error| {
        error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) == Some(rustix::io::Errno::MFILE)
    };
    let way_out = error.chain().filter_map(|cause| cause.downcast_ref()).any(is_of_limit);
    if way_out { format!("{error:#}: {MORE_FILES}") } else { format!("{error:#}") }
}

/// What lets a process have more files open.
pub const MORE_FILES: &str = "`ulimit -n` says how many one process may have, and lets it have more";

/// Whether this process can open hardly any more files.
pub fn are_all_open() -> bool {
    // What could not be opened was given back by who failed.
    const NEEDED: usize = 4;
    let opened: io::Result<Vec<File>> = (0..NEEDED).map(|_| File::open("/dev/null")).collect();
    let code = opened.err().and_then(|error| error.raw_os_error());
    code.map(rustix::io::Errno::from_raw_os_error) == Some(rustix::io::Errno::MFILE)
}

fn refuse_others(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_file() || kind.is_char_device() && path == Path::new("/dev/null") {
        return Ok(());
    }
    Err(io::Error::other(match kind.is_dir() {
        true => "it is a folder",
        false => "it is no regular file; give its content to `narwhal-jq ingest -` on standard input",
    }))
}

/// The open descriptor that a path leads to, be it by a link: `/dev/stdin`, `/dev/fd/3`, `/proc/self/fd/3`.
pub fn descriptor(path: &Path) -> Option<u32> {
    const MAX_LINKS: usize = 40;
    let is_of_descriptors = |folder: &Path| {
        let own = Path::new("/proc").join(std::process::id().to_string());
        folder == Path::new("/dev/fd") || folder.starts_with(own) && folder.ends_with("fd")
    };
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let name = path.file_name()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok()?;
        if is_of_descriptors(&folder)
            && let Some(number) = name.to_str().and_then(|name| name.parse().ok())
        {
            return Some(number);
        }
        path = folder.join(folder.join(name).read_link().ok()?);
    }
    None
}

/// A path as text that tells it from every other: as it is when that is UTF-8, other bytes as `\xNN`. The
/// backslash of what looks like those is `\x5C`.
pub fn to_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            match escaped_byte(&valid.as_bytes()[at..]) {
                Some(_) => text.push_str("\\x5C"),
                None => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02X}").expect("a string can be written");
        }
    }
    text
}

/// The path that [`to_text`] made a text of.
pub fn from_text(text: &str) -> PathBuf {
    let mut rest = text.as_bytes();
    let mut path = Vec::with_capacity(rest.len());
    while let Some((first, others)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                path.push(byte);
                rest = &rest[4..];
            }
            None => {
                path.push(*first);
                rest = others;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

/// The byte of a `\xNN` at the start.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\x")?.get(..2)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_path_as_text_comes_back_byte_by_byte() {
        for (path, text) in [
            (&b"/logs/j.jsonl"[..], "/logs/j.jsonl"),
            ("/logs/é.jsonl".as_bytes(), "/logs/é.jsonl"),
            (b"/logs/caf\xe9.jsonl", "/logs/caf\\xE9.jsonl"),
            (b"a\\b\\x", "a\\b\\x"),
            (b"a\\xE9", "a\\x5CxE9"),
            (b"a\\xe9\xff", "a\\x5Cxe9\\xFF"),
            (b"\\\xff\\x\xff\\x4\xff", "\\\\xFF\\x\\xFF\\x4\\xFF"),
            (b"\\x5C", "\\x5Cx5C"),
            (b"", ""),
        ] {
            let path = Path::new(OsStr::from_bytes(path));
            assert_eq!(to_text(path), text);
            assert_eq!(from_text(text), path);
        }
    }

    #[test]
    fn paths_of_open_descriptors_are_known_by_any_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stdin", &link).expect("a link can be made");
        for (path, number) in [
            ("/dev/stdin", Some(0)),
            ("/dev/../dev/./stdin", Some(0)),
            ("/dev/fd/63", Some(63)),
            ("/proc/self/fd/0", Some(0)),
            ("/proc/thread-self/fd/7", Some(7)),
            (link.to_str().expect("it is UTF-8"), Some(0)),
            ("/dev/null", None),
            ("/proc/self/stat", None),
            ("3", None),
            ("no/such/file", None),
            ("/", None),
        ] {
            assert_eq!(descriptor(Path::new(path)), number, "{path}");
        }
    }
}
