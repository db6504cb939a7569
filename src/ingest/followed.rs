//! The files that are followed: which there are, where they are now, and which of them were written.
//!
//! A file is what has a device and an inode; its names come and go. It is looked at by its name, and a handle
//! is kept only of those that were written last: a folder can have more journals than a process may have files
//! open. By its handle a file is read to its end when it is rotated away; one without is looked for around the
//! place where it was.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{FileReport, FollowStanding, Summary, Watcher};
use crate::journal::files;
use crate::journal::inputs::{self, Depth, Input};
use crate::store::sources::FileId;

/// A file that lost its name is read on until nothing came for so long: its writer opens the new one only
/// when it is told to.
const QUIET: Duration = Duration::from_secs(30);

/// So many handles are kept, if the process may have eight times as many files open.
const MAX_HANDLES: usize = 64;

/// What changes about a file when it is written: its length, and when that was.
type Stamp = (u64, i64, i64);

/// A file that is followed.
pub(super) struct Followed {
    /// Where it is, or was when it was last seen.
    path: PathBuf,
    id: FileId,
    handle: Option<File>,
    /// As it is now, and as it was when it was last read; none when it must be read.
    now: Stamp,
    seen: Option<Stamp>,
    changed_at: Instant,
    /// Whether a followed name leads to it.
    is_named: bool,
    pub report: Option<FileReport>,
    /// Bytes of it that were not read.
    behind: u64,
    /// What was last said to be wrong with it.
    told: Option<String>,
}

impl Followed {
    fn new(path: PathBuf, id: FileId, now: Stamp) -> Self {
        Self {
            path,
            id,
            handle: None,
            now,
            seen: None,
            changed_at: Instant::now(),
            is_named: true,
            report: None,
            behind: 0,
            told: None,
        }
    }

    /// It as an input, for whoever reads it.
    pub(super) fn input(&self) -> Input {
        Input::File(self.path.clone())
    }

    /// The file, opened where it is. None when something else is there by now: the next look finds what.
    pub(super) fn open(&mut self) -> io::Result<Option<File>> {
        if let Some(handle) = &self.handle {
            return handle.try_clone().map(Some).map_err(files::with_way_out);
        }
        let (file, metadata) = files::open(&self.path)?;
        if FileId::of(&metadata) != self.id {
            return Ok(None);
        }
        self.handle = Some(file.try_clone().map_err(files::with_way_out)?);
        Ok(Some(file))
    }

    /// Adds what a reading did.
    pub(super) fn add(&mut self, report: FileReport) {
        self.behind = report.counters.pending_bytes;
        match &mut self.report {
            Some(sum) => sum.add(&report),
            None => self.report = Some(report),
        }
    }

    /// Says what is wrong with it, once.
    pub(super) fn tell(&mut self, failure: Option<String>, watcher: &mut dyn Watcher) {
        if let Some(message) = &failure
            && self.told != failure
        {
            watcher.warn(message);
        }
        self.told = failure;
    }

    /// Has it read again at the next look: it could not be now.
    pub(super) fn miss(&mut self) {
        self.seen = None;
        let reached = self.report.as_ref().map_or(0, |report| report.resumed_at + report.counters.bytes);
        self.behind = self.now.0.saturating_sub(reached);
    }

    /// Looks at it where it is.
    fn look(&mut self) -> io::Result<()> {
        let metadata = match &self.handle {
            Some(handle) => handle.metadata()?,
            None => self.path.metadata()?,
        };
        if FileId::of(&metadata) != self.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.now = stamp(&metadata);
        Ok(())
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// The files that are followed.
pub(super) struct Files {
    pub followed: Vec<Followed>,
    /// What was said to be wrong with paths, and still is.
    told: HashSet<String>,
    /// Files that are skipped, which was said.
    skipped: HashSet<PathBuf>,
    max_handles: usize,
}

impl Files {
    pub(super) fn new() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let share = limit.map_or(MAX_HANDLES, |limit| usize::try_from(limit / 8).unwrap_or(MAX_HANDLES));
        Self {
            followed: Vec::new(),
            told: HashSet::new(),
            skipped: HashSet::new(),
            max_handles: share.min(MAX_HANDLES),
        }
    }

    /// Looks what is at the paths now.
    pub(super) fn find(&mut self, paths: &[PathBuf], depth: Depth, watcher: &mut dyn Watcher) {
        let mut wrong = Vec::new();
        let mut skipped = Vec::new();
        let mut named: HashMap<FileId, Vec<(PathBuf, Stamp)>> = HashMap::new();
        let mut order = Vec::new();
        for path in paths {
            let found = match inputs::find(path, depth) {
                Ok(found) => found,
                Err(error) => {
                    wrong.push(format!("{error:#}: waiting for it"));
                    continue;
                }
            };
            skipped.extend(found.skipped);
            wrong.extend(found.failures.iter().map(|error| format!("{error:#}")));
            for input in found.inputs {
                let label = input.label();
                let (Input::File(name) | Input::Stream(name)) = input else { continue };
                match files::look(&name) {
                    Ok(metadata) => {
                        let id = FileId::of(&metadata);
                        let names = named.entry(id).or_default();
                        if names.is_empty() {
                            order.push(id);
                        }
                        names.push((name, stamp(&metadata)));
                    }
                    Err(error) => wrong.push(format!("cannot read {label}: {error}: waiting for it")),
                }
            }
        }
        self.meet(&named, order);
        self.complain(wrong, watcher);
        skipped.retain(|path| !self.skipped.contains(path));
        if let Some(message) = inputs::skipped_in_words(&skipped) {
            watcher.note(&message);
            self.skipped.extend(skipped);
        }
    }

    /// Takes what the followed names lead to now, new files in the order in which they are to be read.
    fn meet(&mut self, named: &HashMap<FileId, Vec<(PathBuf, Stamp)>>, order: Vec<FileId>) {
        let known: HashSet<FileId> = self.followed.iter().map(|file| file.id).collect();
        let mut around = Around::default();
        for file in &mut self.followed {
            let Some(names) = named.get(&file.id) else {
                if file.is_named {
                    file.is_named = false;
                    // From now on it is waited for more of it.
                    file.changed_at = Instant::now();
                    // Rotated away to a name that is not followed.
                    if let Some(path) = around.find(&file.path, file.id) {
                        file.path = path;
                    }
                }
                continue;
            };
            file.is_named = true;
            let there = names.iter().find(|(path, _)| *path == file.path);
            let (path, stamp) = there.unwrap_or(&names[0]);
            if there.is_none() {
                // It is read once under its new name, to be known by that.
                file.path.clone_from(path);
                file.seen = None;
            }
            file.now = *stamp;
        }
        for id in order.into_iter().filter(|id| !known.contains(id)) {
            let (path, stamp) = &named[&id][0];
            self.followed.push(Followed::new(path.clone(), id, *stamp));
        }
    }

    /// Says what is wrong with paths: what was said before is not said again.
    fn complain(&mut self, wrong: Vec<String>, watcher: &mut dyn Watcher) {
        let mut told = HashSet::new();
        for message in wrong {
            if !self.told.contains(&message) && !told.contains(&message) {
                watcher.warn(&message);
            }
            told.insert(message);
        }
        self.told = told;
    }

    /// The files that were written since they were last read.
    pub(super) fn changed(&mut self) -> Vec<usize> {
        let is_changed = |file: &mut Followed| {
            if !file.is_named && file.look().is_err() {
                return false;
            }
            let is_changed = file.seen != Some(file.now);
            if is_changed {
                file.seen = Some(file.now);
                file.changed_at = Instant::now();
            }
            is_changed
        };
        let files = self.followed.iter_mut().enumerate();
        files.filter_map(|(at, file)| is_changed(file).then_some(at)).collect()
    }

    /// Lets go of files that lost their name and are quiet.
    pub(super) fn let_go(&mut self, watcher: &mut dyn Watcher, summary: &mut Summary) {
        let is_over = |file: &mut Followed| !file.is_named && file.changed_at.elapsed() > QUIET;
        for file in self.followed.extract_if(.., is_over) {
            if let Some(report) = &file.report
                && report.counters.pending_bytes > 0
            {
                watcher.warn(&format!(
                    "{}: was rotated away with an unfinished line of {} bytes, which was not read",
                    report.path, report.counters.pending_bytes
                ));
            }
            summary.take(file.report);
        }
    }

    /// Closes the files that were written longest ago, while too many are open: those that a name leads to first.
    pub(super) fn close_quiet(&mut self) {
        let mut open: Vec<&mut Followed> =
            self.followed.iter_mut().filter(|file| file.handle.is_some()).collect();
        if open.len() > self.max_handles {
            open.sort_by_key(|file| (!file.is_named, file.now.1, file.now.2));
            let superfluous = open.len() - self.max_handles;
            for file in &mut open[..superfluous] {
                file.handle = None;
            }
        }
    }

    /// How it stands with all of them.
    pub(super) fn standing(&self, let_go: &Summary) -> FollowStanding {
        let reports = self.followed.iter().filter_map(|file| file.report.as_ref());
        let read = reports.map(|report| report.counters.terminals).sum::<u64>();
        FollowStanding {
            files: self.followed.iter().filter(|file| file.is_named).count() as u64,
            requests: let_go.total.terminals + read,
            behind_bytes: self.followed.iter().map(|file| file.behind).sum(),
            waits_for: self.told.len() as u64,
        }
    }
}

/// A file that lost its name is looked for in so many of the folders beside it.
const MAX_FOLDERS: usize = 100;

/// The files around a place, found once a look.
#[derive(Default)]
struct Around(HashMap<PathBuf, HashMap<FileId, PathBuf>>);

impl Around {
    /// Where a file is that was at a path: in the same folder, or in one inside it.
    fn find(&mut self, path: &Path, id: FileId) -> Option<PathBuf> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let files = self.0.entry(folder.to_owned()).or_insert_with(|| {
            let mut files = HashMap::new();
            for inner in files_of(folder, &mut files).into_iter().take(MAX_FOLDERS) {
                files_of(&inner, &mut files);
            }
            files
        });
        files.get(&id).cloned()
    }
}

/// Adds the files of a folder; the folders in it.
fn files_of(folder: &Path, files: &mut HashMap<FileId, PathBuf>) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        // That of a link itself, which is not followed.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            folders.push(entry.path());
        } else if metadata.is_file() {
            files.insert(FileId::of(&metadata), entry.path());
        }
    }
    folders
}
