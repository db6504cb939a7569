//! The folder of a lake: who may write into it, and how a part of it is replaced in whole.
//!
//! What replaces a unit (a day, or the tables that are whole) is made under `.new`. When all of it is on the disk, a
//! note beside it says so and what it is; then its folders take the place of those before, one right after the other,
//! and the manifest says so. A call that dies before the note leaves what was; the next call throws away what has no
//! note, and goes on with what has one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use super::file::made;
use super::manifest::{MANIFEST, Manifest, TABLES, Unit};
use crate::failure::{Failure, Kind};
use crate::store::lake::Table;
use crate::text::PathText;

/// Where a call makes what it writes. Its name keeps engines from reading it.
const NEW: &str = ".new";

/// Where the statements for engines are.
pub const VIEWS: &str = "views";

/// A lake that this process alone writes into.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pub manifest: Manifest,
    /// Held for as long as it is open.
    _lock: Option<File>,
}

impl Folder {
    /// Takes the folder, made when missing, and finishes what a call before left unfinished.
    ///
    /// # Errors
    /// When another export has it; when it holds something else, another lake than of names replaced like
    /// `redaction` says, a newer version's, or files that its manifest does not know.
    pub(super) fn take(path: &Path, redaction: Option<&str>) -> Result<Self> {
        let cannot = || format!("cannot write into {}", path.as_text());
        fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.as_text()))?;
        let lock = lock(path)?;
        let read = Manifest::read(path)?;
        let is_new = read.is_none();
        if is_new && names_in(path)?.iter().any(|name| name != NEW) {
            return Err(Failure::usage(format!(
                "{} holds other files and no {MANIFEST}, so it is no lake: name another folder, or an empty one",
                path.as_text()
            ))
            .into());
        }
        let manifest = read.unwrap_or_else(|| Manifest::new(redaction.map(str::to_owned)));
        let mut folder = Self { path: path.to_owned(), manifest, _lock: lock };
        if is_new {
            fs::create_dir_all(folder.new_path()).with_context(cannot)?;
            folder.write_manifest().with_context(cannot)?;
        } else {
            folder.resume().with_context(cannot)?;
        }
        folder.check_names()?;
        Ok(folder)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn new_path(&self) -> PathBuf {
        self.path.join(NEW)
    }

    /// An empty folder for what replaces a unit, with a folder for each of its tables.
    pub(super) fn stage(&self, unit: &str) -> Result<Stage> {
        let path = self.new_path().join(unit);
        remove(&path)?;
        for table in tables_of(unit) {
            fs::create_dir_all(path.join(table.name()))?;
        }
        Ok(Stage { path })
    }

    /// Gives a staged unit its place, unless the lake holds the same already. Whether it was put there.
    pub(super) fn put(&mut self, stage: Stage, unit: Unit) -> Result<bool> {
        let before = self.manifest.units().find(|before| before.name == unit.name);
        if before.is_some_and(|before| before.files == unit.files) && self.is_there(&unit)? {
            remove(&stage.path)?;
            if before != Some(&unit) {
                self.manifest.put(unit);
                self.write_manifest()?;
            }
            return Ok(false);
        }
        for table in tables_of(&unit.name) {
            sync_folder(&stage.path.join(table.name()))?;
        }
        sync_folder(&stage.path)?;
        write_whole(
            &self.note(&unit.name),
            &self.new_path(),
            &serde_json::to_vec(&unit).map_err(io::Error::from)?,
        )?;
        self.replace(unit)?;
        Ok(true)
    }

    /// The note that a unit is made.
    fn note(&self, unit: &str) -> PathBuf {
        self.new_path().join(format!("{unit}.json"))
    }

    /// Gives a unit that is made, and has its note, its place.
    fn replace(&mut self, unit: Unit) -> Result<()> {
        let name = unit.name.clone();
        let places: Vec<(Table, PathBuf)> =
            tables_of(&name).map(|table| (table, self.path.join(place(&name, table)))).collect();
        let folders: Vec<&Path> = places.iter().filter_map(|(_, place)| place.parent()).collect();
        for folder in &folders {
            fs::create_dir_all(folder)?;
        }
        // Nothing else is done between these: a day is half new for some microseconds only.
        for (table, place) in &places {
            let staged = self.new_path().join(&name).join(table.name());
            exchange(&staged, place, &self.new_path().join("old"))?;
        }
        for folder in &folders {
            sync_folder(folder)?;
        }
        self.manifest.put(unit);
        self.write_manifest()?;
        fs::remove_file(self.note(&name))?;
        remove(&self.new_path().join(&name))?;
        Ok(())
    }

    /// Finishes what a call that died had made, and throws away the rest.
    fn resume(&mut self) -> Result<()> {
        let new = self.new_path();
        if !new.exists() {
            return Ok(fs::create_dir(&new)?);
        }
        let mut names = names_in(&new)?;
        names.sort_unstable();
        for name in names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json")) {
            let note = fs::read(self.note(name))?;
            let unit: Unit = serde_json::from_slice(&note).with_context(|| {
                format!("{} is damaged: remove the folder {}", self.note(name).as_text(), new.as_text())
            })?;
            self.resume_unit(unit)?;
        }
        for name in names_in(&new)? {
            remove(&new.join(name))?;
        }
        Ok(())
    }

    fn resume_unit(&mut self, unit: Unit) -> Result<()> {
        let new = self.new_path();
        for table in tables_of(&unit.name) {
            let files: Vec<_> = unit.files_of(table.name()).collect();
            let is_in = |folder: &Path| -> Result<bool> {
                for file in &files {
                    let path = folder.join(Path::new(&file.path).file_name().unwrap_or_default());
                    if !path.is_file() {
                        return Ok(false);
                    }
                    let made = made(&path)?;
                    if made.bytes != file.bytes || made.digest_text() != file.xxh128 {
                        return Ok(false);
                    }
                }
                Ok(true)
            };
            let staged = new.join(&unit.name).join(table.name());
            let place = self.path.join(place(&unit.name, table));
            if is_in(&place)? {
                continue;
            }
            if !is_in(&staged)? {
                bail!(
                    "{} was left unfinished and is damaged: remove {} and {}, and export again",
                    place.as_text(),
                    new.as_text(),
                    place.as_text()
                );
            }
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            exchange(&staged, &place, &new.join("old"))?;
        }
        let note = self.note(&unit.name);
        self.manifest.put(unit);
        self.write_manifest()?;
        Ok(fs::remove_file(note)?)
    }

    /// Whether all files of a unit are there, as long as they should be.
    pub(super) fn is_there(&self, unit: &Unit) -> Result<bool> {
        for file in &unit.files {
            match fs::symlink_metadata(self.path.join(&file.path)) {
                Ok(there) if there.is_file() && there.len() == file.bytes => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Refuses what the manifest does not know: it would be taken for rows of the lake, or be replaced.
    fn check_names(&self) -> Result<()> {
        if let Some(unknown) = unknown(&self.path, &self.manifest)? {
            return Err(Failure::usage(format!(
                "{} is not in {}: move it away, or name another folder",
                unknown.as_text(),
                self.path.join(MANIFEST).as_text()
            ))
            .into());
        }
        Ok(())
    }

    fn write_manifest(&self) -> Result<()> {
        write_whole(&self.path.join(MANIFEST), &self.new_path(), self.manifest.text()?.as_bytes())?;
        Ok(sync_folder(&self.path)?)
    }

    /// Writes a file beside the tables, unless it is there already.
    pub(super) fn write_file(&self, name: &Path, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        if fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(write_whole(&path, &self.new_path(), bytes)?)
    }
}

impl Drop for Folder {
    /// Leaves nothing of the call behind but a unit that has its note: the next call goes on with that, and removes what
    /// cannot be removed now.
    fn drop(&mut self) {
        let has_note = |names: Vec<OsString>| {
            names.iter().any(|name| Path::new(name).extension() == Some("json".as_ref()))
        };
        if !names_in(&self.new_path()).is_ok_and(has_note) {
            let _ = fs::remove_dir_all(self.new_path());
        }
    }
}

/// Where what replaces a unit is made.
#[derive(Debug)]
pub(super) struct Stage {
    path: PathBuf,
}

impl Stage {
    pub(super) fn folder(&self, table: Table) -> PathBuf {
        self.path.join(table.name())
    }
}

/// The tables that a unit has.
fn tables_of(unit: &str) -> impl Iterator<Item = Table> + use<> {
    let (whole, daily) =
        if unit == TABLES { (&Table::WHOLE[..], &[][..]) } else { (&[][..], &Table::DAILY[..]) };
    whole.iter().chain(daily).copied()
}

/// Where a unit's folder of a table is in the lake.
pub(super) fn place(unit: &str, table: Table) -> String {
    if unit == TABLES { table.name().to_owned() } else { format!("{}/{unit}", table.name()) }
}

/// The first file or folder of a table that the manifest does not know.
pub(super) fn unknown(lake: &Path, manifest: &Manifest) -> Result<Option<PathBuf>> {
    let known: std::collections::HashSet<PathBuf> =
        manifest.units().flat_map(|unit| &unit.files).map(|file| lake.join(&file.path)).collect();
    let folders: std::collections::HashSet<&Path> = known.iter().filter_map(|path| path.parent()).collect();
    for table in Table::DAILY.into_iter().chain(Table::WHOLE) {
        let mut entries = vec![lake.join(table.name())];
        while let Some(path) = entries.pop() {
            let is_folder = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                there => there.with_context(|| format!("cannot read {}", path.as_text()))?.is_dir(),
            };
            let is_table = path.parent() == Some(lake) && Table::DAILY.contains(&table);
            match is_folder {
                true if is_table || folders.contains(path.as_path()) => {
                    let mut names = names_in(&path)?;
                    names.sort_unstable();
                    entries.extend(names.iter().rev().map(|name| path.join(name)));
                }
                false if known.contains(&path) => {}
                _ => return Ok(Some(path)),
            }
        }
    }
    Ok(None)
}

/// Whether an export is at work in a lake, or died.
pub(super) fn is_unfinished(lake: &Path) -> Result<bool> {
    let new = lake.join(NEW);
    Ok(new.exists() && !names_in(&new)?.is_empty())
}

fn names_in(folder: &Path) -> Result<Vec<OsString>> {
    let cannot = || format!("cannot read the folder {}", folder.as_text());
    let names = fs::read_dir(folder).with_context(cannot)?.map(|entry| Ok(entry?.file_name()));
    names.collect::<io::Result<_>>().with_context(cannot)
}

/// Keeps other exports out.
fn lock(path: &Path) -> Result<Option<File>> {
    let folder = File::open(path).with_context(|| format!("cannot read the folder {}", path.as_text()))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Failure::new(
            Kind::Busy,
            format!(
                "another export is writing into {}: wait until it has ended, or name another folder",
                path.as_text()
            ),
        )
        .into()),
        Ok(()) => Ok(Some(folder)),
        // Where there are no locks, exports come one by one.
        Err(_) => Ok(None),
    }
}

/// Has two folders change places; what stood at `place` is left at `staged`, or nowhere.
fn exchange(staged: &Path, place: &Path, aside: &Path) -> Result<()> {
    let cannot = || format!("cannot put {} in its place", place.as_text());
    match renameat_with(CWD, staged, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::NOENT) => return fs::rename(staged, place).with_context(cannot),
        // Not every file system can do that.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {}
        Err(error) => return Err(io::Error::from(error)).with_context(cannot),
    }
    remove(aside)?;
    if place.exists() {
        fs::rename(place, aside).with_context(cannot)?;
    }
    fs::rename(staged, place).with_context(cannot)?;
    remove(aside)
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.as_text()))
        }
        _ => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes a file that appears when it is whole; until then it lies in `aside`, on the same file system.
fn write_whole(path: &Path, aside: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or(OsStr::new("file"));
    let unfinished = aside.join(name).with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}
