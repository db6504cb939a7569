//! Which files a user means: files by name, the journals of a folder, standard input.
//!
//! A folder gives its journals, oldest first as far as their names tell. It is not searched below.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input as messages and summaries name it.
    pub fn label(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "-".to_owned(),
        }
    }
}

/// The journals that a path names.
#[derive(Debug, Default)]
pub struct Found {
    /// What to read, in order.
    pub inputs: Vec<Input>,
    /// Files of a folder that are no journals by their name.
    pub skipped: Vec<PathBuf>,
}

/// Finds the journals of one path: `-`, a file of any name, or a folder.
///
/// # Errors
/// When there is nothing at the path, a folder cannot be read, or it has no journal.
pub fn find(path: &Path) -> Result<Found> {
    if path == Path::new("-") {
        return Ok(Found { inputs: vec![Input::Stdin], skipped: Vec::new() });
    }
    let shown = path.display();
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?;
    if !metadata.is_dir() {
        return Ok(Found { inputs: vec![Input::File(path.to_owned())], skipped: Vec::new() });
    }
    let mut journals = Vec::new();
    let mut skipped = Vec::new();
    let entries = fs::read_dir(path).with_context(|| format!("cannot read the folder {shown}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read the folder {shown}"))?.path();
        if entry.is_dir() {
            continue;
        }
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match age_by_name(name) {
            Some(age) => journals.push((age, entry)),
            None => skipped.push(entry),
        }
    }
    if journals.is_empty() {
        bail!(
            "no journal in the folder {shown}: looked for *.jsonl, *.jsonl.N, *.jsonl-DATE and \
             *-DATE.jsonl, each also with .gz or .zst; name the files themselves to read others"
        );
    }
    journals.sort();
    skipped.sort();
    let inputs = journals.into_iter().map(|(_, path)| Input::File(path)).collect();
    Ok(Found { inputs, skipped })
}

/// The journal that a file's name is of, without what rotation and packing add to it.
pub fn journal_of(name: &str) -> Option<String> {
    age_by_name(name).map(|(journal, ..)| journal)
}

/// Sorts the journals of a folder: by journal, then by how old the rotation's name says they are.
type Age = (String, u8, std::cmp::Reverse<u64>, String);

/// The journal that a file of this name is a part of, and what sorts its parts, oldest first. A file that is no
/// journal by its name is one of its own.
pub fn part_of(name: &str) -> (String, impl Ord + Clone + use<>) {
    let age = age_by_name(name);
    (age.as_ref().map_or(name, |age| &age.0).to_owned(), age)
}

fn age_by_name(name: &str) -> Option<Age> {
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let (stem, suffix) = name.rsplit_once(".jsonl")?;
    if stem.is_empty() {
        return None;
    }
    let is_date = |text: &str| {
        text.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
            && text.len() >= 4
            && text.bytes().all(|byte| byte.is_ascii_digit() || b"-_.T:Z".contains(&byte))
    };
    let age = |journal: &str, rank, number, date: &str| {
        Some((journal.to_owned(), rank, std::cmp::Reverse(number), date.to_owned()))
    };
    match suffix.split_at_checked(1) {
        None => {
            // `journal-2026-11-29.jsonl`: the date begins at the first dash behind which only a
            // date stands.
            let dated = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
            match dated.into_iter().find(|(journal, date)| !journal.is_empty() && is_date(date)) {
                Some((journal, date)) => age(journal, 1, 0, date),
                None => age(stem, 2, 0, ""),
            }
        }
        Some((".", number)) => age(stem, 0, number.parse().ok()?, ""),
        Some(("-", date)) if is_date(date) => age(stem, 1, 0, date),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_journals_come_before_the_one_still_written() {
        let mut names = vec![
            "j.jsonl",
            "j.jsonl.1",
            "j.jsonl.10",
            "j.jsonl.2",
            "j.jsonl.3.gz",
            "k.jsonl",
            "k-2026-11-28.jsonl.zst",
            "k.jsonl-20261127",
        ];
        names.sort_by_key(|name| age_by_name(name).expect("a journal's name"));
        let expected = [
            "j.jsonl.10",
            "j.jsonl.3.gz",
            "j.jsonl.2",
            "j.jsonl.1",
            "j.jsonl",
            "k-2026-11-28.jsonl.zst",
            "k.jsonl-20261127",
            "k.jsonl",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn other_files_are_no_journals() {
        for name in ["j.json", "j.jsonl.bak", "j.jsonl~", ".jsonl", "j.jsonl.bz2", "j.gz", "notes.txt"] {
            assert_eq!(age_by_name(name), None, "{name}");
        }
    }
}
