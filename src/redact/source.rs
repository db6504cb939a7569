//! An input that is read twice and must be the same both times.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xxhash_rust::xxh3::Xxh3;

use crate::journal::compression::{Rest, Unpacked, unpacked};
use crate::journal::inputs::Input;
use crate::journal::lines::{Ending, Line, Lines};
use crate::spool::Spool;
use crate::stdio;

/// An input, and what its first reading found.
#[derive(Debug)]
pub struct Source {
    label: String,
    bytes: Bytes,
    /// The length and the digest of what was read first.
    seen: Option<(u64, u64)>,
    /// What stands after an archive.
    rest: Option<Rest>,
}

#[derive(Debug)]
enum Bytes {
    /// Opened for each reading: a folder can have more journals than a process may have files.
    File(PathBuf),
    /// A nameless file with what a stream gave.
    Spooled(File),
}

impl Source {
    /// Opens an input. A stream is read to its end, because it cannot be read twice.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(input: &Input) -> Result<Self> {
        let label = input.label();
        let bytes = match input {
            Input::Stdin => spool(&mut stdio::stdin()),
            Input::File(path) | Input::Stream(path) => open_file(path),
        };
        let bytes = bytes.with_context(|| format!("cannot read {label}"))?;
        Ok(Self { label, bytes, seen: None, rest: None })
    }

    /// The input as messages name it.
    pub fn label(&self) -> String {
        self.label.clone()
    }

    /// What stands after the archive that was read.
    pub fn rest(&self) -> Option<Rest> {
        self.rest
    }

    /// Reads the input to the end of its first reading and gives every line, the last one without
    /// its newline, too.
    ///
    /// # Errors
    /// When it cannot be read, is not what it was in the first reading, or `take` fails.
    pub fn read(&mut self, take: &mut dyn FnMut(&Line<'_>) -> Result<()>) -> Result<()> {
        let cannot = || format!("cannot read {}", self.label);
        let file = match &self.bytes {
            Bytes::File(path) => File::open(path),
            Bytes::Spooled(file) => file.try_clone().and_then(from_start),
        };
        // What was appended meanwhile may hold names that were not learned.
        let limit = self.seen.map_or(u64::MAX, |(len, _)| len);
        let mut digest = Xxh3::new();
        let Unpacked { bytes, trailing, .. } = file.and_then(unpacked).with_context(cannot)?;
        let input = Digesting { input: bytes.take(limit), digest: &mut digest };
        let mut lines = Lines::new(input, Ending::Complete);
        while let Some(line) = lines.next_line().with_context(cannot)? {
            take(&line)?;
        }
        self.rest = self.rest.or(trailing.rest());
        let seen = (lines.offset(), digest.digest());
        if *self.seen.get_or_insert(seen) != seen {
            bail!("{} was changed while it was read twice: nothing was written; try again", self.label);
        }
        Ok(())
    }
}

fn open_file(path: &Path) -> Result<Bytes> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_file() { Ok(Bytes::File(path.to_owned())) } else { spool(&mut file) }
}

fn spool(stream: &mut dyn Read) -> Result<Bytes> {
    let mut spool = Spool::new(Some(PathBuf::from(".")))?;
    spool.fill(stream, u64::MAX)?;
    Ok(Bytes::Spooled(spool.from(0)?))
}

fn from_start(mut file: File) -> io::Result<File> {
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Digests what is read.
struct Digesting<'d, R> {
    input: R,
    digest: &'d mut Xxh3,
}

impl<R: Read> Read for Digesting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        self.digest.update(&buffer[..len]);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn lines(source: &mut Source) -> Result<Vec<String>> {
        let mut found = Vec::new();
        source.read(&mut |line| {
            found.push(String::from_utf8_lossy(line.bytes).into_owned());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn the_second_reading_is_the_first_or_an_error() {
        let mut file = tempfile::NamedTempFile::new().expect("a file can be made");
        file.write_all(b"one\ntw").expect("it can be written");
        let mut source = Source::open(&Input::File(file.path().to_owned())).expect("it can be read");
        assert_eq!(lines(&mut source).expect("it can be read"), ["one", "tw"]);
        file.write_all(b"o\nthree\n").expect("it can be written");
        assert_eq!(lines(&mut source).expect("what was appended waits"), ["one", "tw"]);
        for changed in [&b"one\nTwo\nthree\n"[..], b"one\n", b""] {
            std::fs::write(file.path(), changed).expect("it can be written");
            let error = lines(&mut source).expect_err("it was changed").to_string();
            assert!(error.contains("was changed while it was read twice"), "{error}");
        }
    }
}
