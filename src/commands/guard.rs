//! What no answer may replace: the database, journals that were read, and what may be one that was not.
//!
//! A router writes on where it has its file open, and a rotated journal waits to be read under a name that was
//! another's yesterday. So a file is not judged by its name alone, nor by what the database knows alone.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::export;
use crate::failure::Failure;
use crate::journal::SCHEMA;
use crate::journal::compression::unpacked;
use crate::journal::lines::FINGERPRINT_LEN;
use crate::journal::names::journal_of;
use crate::journal::traces;
use crate::lake::VIEWS;
use crate::lake::manifest::MANIFEST;
use crate::output::made::Made;
use crate::output::place::Place;
use crate::output::target::Target;
use crate::store;
use crate::store::archives::Archive;
use crate::store::lake::Table;
use crate::store::sources::{self, FileId, Source};
use crate::text::PathText;

/// What stands beside a database, and belongs to it.
const DATABASE_PARTS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// What is known of files that must stay.
pub(super) struct Guard<'c> {
    connection: Option<&'c Connection>,
    database: PathBuf,
    sources: Vec<Source>,
}

impl<'c> Guard<'c> {
    /// What a database knows.
    pub(super) fn of(connection: &'c Connection) -> Result<Self> {
        let database = store::file_of(connection)?;
        Ok(Self { connection: Some(connection), database, sources: sources::load_all(connection)? })
    }

    /// What is known without a database, but for its place.
    pub(super) fn without(database: &Path) -> Guard<'static> {
        Guard { connection: None, database: database.to_owned(), sources: Vec::new() }
    }

    /// Opens the way to a file, or to standard output without one, unless that would replace what must stay.
    pub(super) fn open(&self, file: Option<&Path>) -> Result<Target> {
        let Some(shown) = file else { return Target::open(None) };
        let place = self.place(shown)?;
        Target::at(place, shown, Some(refuse_journal))
    }

    /// Refuses a lake in which a journal stands where files are replaced; Parquet is none.
    pub(super) fn refuse_journals_in(&self, lake: &Path) -> Result<()> {
        if !lake.join(MANIFEST).exists() {
            // There is no lake, and nothing that is replaced.
            return Ok(());
        }
        let tables = Table::DAILY.into_iter().chain(Table::WHOLE).map(Table::name);
        let mut folders: Vec<PathBuf> = tables.chain([VIEWS]).map(|name| lake.join(name)).collect();
        while let Some(folder) = folders.pop() {
            if !folder.is_dir() {
                continue;
            }
            let cannot = || format!("cannot read the folder {}", folder.as_text());
            for entry in fs::read_dir(&folder).with_context(cannot)? {
                let entry = entry.with_context(cannot)?;
                let kind = entry.file_type().with_context(cannot)?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if !kind.is_file() || !is_parquet(&entry.path()) {
                    self.place(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// What a path leads to, unless it must stay.
    pub(super) fn place(&self, shown: &Path) -> Result<Place> {
        let place = Place::of(shown).with_context(|| format!("cannot write {}", shown.as_text()))?;
        let (path, existing) = match &place {
            Place::Stdout | Place::Device(_) => return Ok(place),
            Place::Open(file) => (None, file.metadata().ok()),
            Place::File(path, existing) => (Some(path.as_path()), existing.clone()),
        };
        let existing = existing.filter(Metadata::is_file);
        let id = existing.as_ref().map(FileId::of);
        if self.is_database(path, id) {
            return Err(refusal(shown, "the database"));
        }
        if id.is_some() && self.sources.iter().any(|source| source.file == id) {
            return Err(refusal(shown, READ));
        }
        let is_led_to =
            |source: &Source| source.file_path().metadata().is_ok_and(|file| Some(FileId::of(&file)) == id);
        if id.is_some() && self.sources.iter().any(is_led_to) {
            return Err(refusal(shown, "where a journal stands that was read into the database"));
        }
        if let Some(path) = path {
            self.refuse_by_name(shown, path, existing.as_ref())?;
            if existing.is_some_and(|existing| existing.len() > 0) {
                self.refuse_content(shown, path)?;
            }
        }
        Ok(place)
    }

    fn is_database(&self, path: Option<&Path>, id: Option<FileId>) -> bool {
        let real = self.database.canonicalize().unwrap_or_else(|_| self.database.clone());
        let path = path.map(settled);
        DATABASE_PARTS.iter().flat_map(|part| [beside(&self.database, part), beside(&real, part)]).any(
            |part| {
                let is_same = id.is_some() && part.metadata().is_ok_and(|part| Some(FileId::of(&part)) == id);
                is_same || path.as_ref() == Some(&settled(&part))
            },
        )
    }

    /// A name under which a journal was read may be one again any moment, and so may the name that a rotated one
    /// had before.
    fn refuse_by_name(&self, shown: &Path, path: &Path, existing: Option<&Metadata>) -> Result<()> {
        let names = [settled(path), settled(shown)];
        let file_name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        // Known by its content, if it has any.
        let is_empty = existing.is_none_or(|existing| existing.len() == 0);
        for source in self.sources.iter().flat_map(|source| led_through(source.file_path())) {
            let Some(source_name) = file_name(&source) else { continue };
            for path in &names {
                let Some(name) = file_name(path) else { continue };
                if name == source_name && settled(&source) == *path {
                    return Err(refusal(shown, READ));
                }
                let live = journal_of(&source_name).map(|journal| format!("{journal}.jsonl"));
                if is_empty && Some(name) == live && settled(&source).parent() == path.parent() {
                    let what = format!("the journal of which {} was read", source.as_text());
                    return Err(refusal(shown, &what));
                }
            }
        }
        Ok(())
    }

    fn refuse_content(&self, shown: &Path, path: &Path) -> Result<()> {
        let cannot = || format!("cannot see whether {} may be replaced", shown.as_text());
        let mut file = File::open(path).with_context(cannot)?;
        let archive = Archive::of(&file).with_context(cannot)?;
        let is_read = match self.connection {
            Some(connection) => archive.source_id(connection)?.is_some(),
            None => false,
        };
        let head = first_bytes(&mut file, FINGERPRINT_LEN as u64);
        let what = if is_read {
            Some(READ)
        } else if self.sources.iter().any(|source| source.may_begin(&head)) {
            Some("a copy of a journal that was read into the database")
        } else {
            journal_in(&mut file)
        };
        match what {
            Some(what) if !is_own_journal(&mut file, path) => Err(refusal(shown, what)),
            _ => Ok(()),
        }
    }
}

fn is_parquet(path: &Path) -> bool {
    File::open(path).is_ok_and(|mut file| first_bytes(&mut file, 4) == b"PAR1")
}

const READ: &str = "a journal that was read into the database";

fn refusal(shown: &Path, what: &str) -> anyhow::Error {
    Failure::usage(format!("{} is {what}: name another file", shown.as_text())).into()
}

/// A file beside another, its name longer by so much.
fn beside(path: &Path, part: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(part);
    path.into()
}

/// The path with the links of its folder followed, but not that of its last name.
fn settled(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// A path, and those that it leads to one after the other when it is a link.
fn led_through(path: PathBuf) -> Vec<PathBuf> {
    // As many as the kernel follows.
    const MAX_LINKS: usize = 40;
    let mut paths = vec![path];
    while let Some(next) = paths.last().and_then(|path| Some(path.parent()?.join(path.read_link().ok()?))) {
        if paths.len() > MAX_LINKS {
            break;
        }
        paths.push(next);
    }
    paths
}

/// Refuses what may be a journal, unless it was written here.
fn refuse_journal(path: &Path) -> Result<()> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    match journal_in(&mut file) {
        Some(what) if !is_own_journal(&mut file, path) => Err(refusal(path, what)),
        _ => Ok(()),
    }
}

/// Whether it was written here, and is as it was then.
fn is_own_journal(file: &mut File, path: &Path) -> bool {
    let Ok(made) = file.rewind().and_then(|()| Made::of(file)) else { return false };
    made.is_noted_in(file) || export::names(path, &made)
}

/// What a file is, if it is something that no answer is.
fn journal_in(file: &mut File) -> Option<&'static str> {
    let head = first_bytes(file, 64);
    if head.starts_with(b"SQLite format 3\0") {
        return Some("a SQLite database");
    }
    // So a workbook begins.
    if head.starts_with(b"PK\x03\x04")
        && head.get(30..).is_some_and(|head| head.starts_with(b"[Content_Types]"))
    {
        return None;
    }
    let Ok(packed) = file.rewind().and_then(|()| unpacked(file)) else {
        return Some("packed in a way that is not read, and may be a journal");
    };
    let is_packed = packed.compression.is_some();
    match traces::hold_row(packed) {
        (true, _) => {
            Some("a journal, or has rows of one in it, and none that narwhal-jq wrote and nobody changed")
        }
        (false, Err(_)) if is_packed => Some("an archive that is cut off or damaged, and may be a journal"),
        (false, _) if is_begun_row(&head) => Some("the beginning of a journal's first row"),
        (false, _) => None,
    }
}

/// Whether nothing else is there yet, or any more after a crash, than the first bytes of a row.
fn is_begun_row(bytes: &[u8]) -> bool {
    let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let row = format!("{{\"schema\":\"{SCHEMA}\"");
    let meta = format!("{{\"meta\":{row}");
    !bytes.is_empty() && [row, meta].iter().any(|row| row.as_bytes().starts_with(&bytes))
}

/// The first bytes, unpacked where that can be.
fn first_bytes(file: &mut File, len: u64) -> Vec<u8> {
    let mut head = Vec::new();
    if file.rewind().is_err() {
        return head;
    }
    if let Ok(packed) = unpacked(&mut *file) {
        // Of what is cut off, as much as there is.
        let _ = packed.bytes.take(len).read_to_end(&mut head);
        return head;
    }
    if file.rewind().is_ok() {
        let _ = file.take(len).read_to_end(&mut head);
    }
    head
}

/// Refuses to write over what a call reads besides journals, as a key.
pub(super) fn refuse_input(output: Option<&Path>, input: Option<&Path>, what: &str) -> Result<()> {
    let same = output.zip(input).filter(|(output, input)| {
        let (output, input) = (fs::metadata(output), fs::metadata(input));
        output
            .ok()
            .zip(input.ok())
            .is_some_and(|(output, input)| output.is_file() && FileId::of(&output) == FileId::of(&input))
    });
    match same {
        Some((output, _)) => Err(refusal(output, what)),
        None => Ok(()),
    }
}
