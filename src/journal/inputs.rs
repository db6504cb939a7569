//! Which files a user means: files by name, the journals of a folder, standard input.
//!
//! A folder gives its journals, oldest first as far as their names tell.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};

use super::files;
pub use super::names::part_of;
use super::names::{Age, PATTERNS, age_by_name};

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// What the shell has opened, as `/dev/fd/3`: read once, from where it stands, as standard input is.
    Stream(PathBuf),
}

impl Input {
    /// The input as messages and summaries name it.
    pub fn label(&self) -> String {
        match self {
            Self::File(path) | Self::Stream(path) => shown(path),
            Self::Stdin => "-".to_owned(),
        }
    }

    /// The input that a path names, which is no folder.
    pub fn named(path: &Path) -> Self {
        match files::descriptor(path) {
            _ if path == Path::new("-") => Self::Stdin,
            Some(0) => Self::Stdin,
            Some(_) => Self::Stream(path.to_owned()),
            None => Self::File(path.to_owned()),
        }
    }
}

/// A path as messages name it.
fn shown(path: &Path) -> String {
    path.to_str().map_or_else(|| files::to_text(path), str::to_owned)
}

/// How deep a folder is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Its own files.
    Folder,
    /// Also those of the folders in it.
    Tree,
}

/// The journals that a path names.
#[derive(Debug, Default)]
pub struct Found {
    /// What to read, in order.
    pub inputs: Vec<Input>,
    /// Files of a folder that are no journals by their name.
    pub skipped: Vec<PathBuf>,
    /// Why some of it cannot be read.
    pub failures: Vec<Error>,
}

impl Found {
    /// What a path gives that cannot be read.
    pub fn nothing(error: Error) -> Self {
        Self { failures: vec![error], ..Self::default() }
    }
}

/// Finds the journals of one path: `-`, a file of any name, or a folder. Folders inside it come before its own
/// files: they are where old journals are put.
///
/// # Errors
/// When there is nothing at the path, a folder cannot be read, or it has no journal.
pub fn find(path: &Path, depth: Depth) -> Result<Found> {
    let mut found = Found::default();
    let named = Input::named(path);
    if named == Input::Stdin {
        found.inputs.push(named);
        return Ok(found);
    }
    let metadata = fs::metadata(path).with_context(|| cannot_read(path))?;
    if !metadata.is_dir() {
        found.inputs.push(named);
        return Ok(found);
    }
    let folder = Folder::read(path)?;
    let below = folder.folders.clone();
    match depth {
        Depth::Folder => folder.give(&mut found),
        Depth::Tree => {
            let mut met = HashSet::from([(metadata.dev(), metadata.ino())]);
            search(folder, &mut met, &mut found);
        }
    }
    if found.inputs.is_empty() && found.failures.is_empty() {
        let inside = match depth {
            Depth::Folder => journal_below(below),
            Depth::Tree => None,
        };
        if let Some(journal) = inside {
            bail!(
                "no journal in the folder {}, but in folders inside it, as {}: `--recursive` reads those",
                shown(path),
                shown(&journal)
            );
        }
        bail!(
            "no journal in the folder {}: looked for {PATTERNS}; name the files themselves to read others",
            shown(path)
        );
    }
    Ok(found)
}

/// What is skipped, in one line.
pub fn skipped_in_words(skipped: &[PathBuf]) -> Option<String> {
    const MAX_NAMED: usize = 3;
    let named: Vec<String> = skipped.iter().take(MAX_NAMED).map(|path| shown(path)).collect();
    let more = if skipped.len() > MAX_NAMED { ", ..." } else { "" };
    match skipped.len() {
        0 => None,
        1 => Some(format!("1 file skipped, not a journal by its name: {}", named[0])),
        count => {
            Some(format!("{count} files skipped, not journals by their names: {}{more}", named.join(", ")))
        }
    }
}

fn cannot_read(path: &Path) -> String {
    let is_link =
        path.is_symlink() && fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    format!("cannot read {}{}", shown(path), if is_link { ", a link to what is not there" } else { "" })
}

/// What lies in a folder.
struct Folder {
    journals: Vec<(Age, PathBuf)>,
    skipped: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Folder {
    fn read(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the folder {}", shown(path));
        let mut folder = Self { journals: Vec::new(), skipped: Vec::new(), folders: Vec::new() };
        for entry in fs::read_dir(path).with_context(cannot)? {
            let entry = entry.with_context(cannot)?.path();
            let name = entry.file_name().map(|name| files::to_text(Path::new(name))).unwrap_or_default();
            match age_by_name(&name) {
                _ if entry.is_dir() => folder.folders.push(entry),
                Some(age) => folder.journals.push((age, entry)),
                None => folder.skipped.push(entry),
            }
        }
        folder.journals.sort_unstable();
        folder.skipped.sort_unstable();
        folder.folders.sort_unstable();
        Ok(folder)
    }

    fn give(self, found: &mut Found) {
        found.inputs.extend(self.journals.into_iter().map(|(_, path)| Input::File(path)));
        found.skipped.extend(self.skipped);
    }
}

/// Takes what is in a folder, that of the folders in it first. One that was met before, by way of a link, is
/// left out.
fn search(mut folder: Folder, met: &mut HashSet<(u64, u64)>, found: &mut Found) {
    for path in std::mem::take(&mut folder.folders) {
        let metadata = fs::metadata(&path).with_context(|| cannot_read(&path));
        match metadata.and_then(|metadata| Ok((metadata, Folder::read(&path)?))) {
            Ok((metadata, inner)) => {
                if met.insert((metadata.dev(), metadata.ino())) {
                    search(inner, met, found);
                }
            }
            Err(error) => found.failures.push(error),
        }
    }
    folder.give(found);
}

/// A journal in these folders or in folders inside them, if one is found soon.
fn journal_below(mut folders: Vec<PathBuf>) -> Option<PathBuf> {
    const MAX_FOLDERS: usize = 1000;
    let mut looked = 0;
    while looked < MAX_FOLDERS && !folders.is_empty() {
        let Ok(folder) = Folder::read(&folders.remove(0)) else { continue };
        if let Some((_, path)) = folder.journals.into_iter().next() {
            return Some(path);
        }
        folders.extend(folder.folders.into_iter().filter(|path| !path.is_symlink()));
        looked += 1;
    }
    None
}
