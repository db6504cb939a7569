//! The routers and operators of a round of chaos: what they do to the journals, and the model of every
//! record that was ever written.
//!
//! What lies on disk was written here and never by the program, so the files are the model of what can
//! still be read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use super::super::harness::{Lab, gunzip, gzip, unzstd, zstd};
use super::super::journals::{Dice, arrived, build, rid, run_name};

/// The journal that the routers write.
pub(super) const CURRENT: &str = "logs/j.jsonl";

/// A record in the words of the model: what a database must say of it.
pub(super) type Key = String;

/// Long texts by their length and their ends.
pub(super) fn brief(text: &str) -> String {
    match text.len() {
        0..200 => text.to_owned(),
        len => format!("{len} bytes {}..{}", &text[..20], &text[len - 20..]),
    }
}

pub(super) fn terminal_key(
    (run, rid, arrived): (&str, &str, f64),
    client_rid: &str,
    output_len: i64,
    failures: &[String],
) -> Key {
    format!("terminal {run} {rid} {arrived:?} {output_len} {failures:?} {}", brief(client_rid))
}

pub(super) fn event_key(run: &str, kind: &str, at: f64, iid: &str) -> Key {
    format!("event {run} {kind} {at:?} {iid}")
}

pub(super) fn build_key(version: &str) -> Key {
    format!("build {version}")
}

struct Record {
    key: Key,
    line: Vec<u8>,
}

/// A router that has the journal open.
struct Process {
    run: u64,
    file: File,
    /// What is missing of the line that it writes.
    rest: Vec<u8>,
    /// The record that will be whole then.
    unfinished: Option<usize>,
}

pub(super) struct Writers<'l> {
    pub lab: &'l Lab,
    pub dice: Dice,
    steps: &'l mut Vec<String>,
    records: Vec<Record>,
    by_line: HashMap<Vec<u8>, usize>,
    /// Records all of whose bytes were written, in whichever files.
    pub written: BTreeSet<usize>,
    /// Parts of lines that were written where the line was not whole.
    pieces: HashSet<Vec<u8>>,
    processes: [Option<Process>; 2],
    runs: u64,
    requests: u64,
    /// For names that were never used.
    names: u64,
    /// An archive that is still being written: its name, and all of its bytes.
    unfinished_archive: Option<(PathBuf, Vec<u8>)>,
}

impl<'l> Writers<'l> {
    pub(super) fn new(lab: &'l Lab, dice: Dice, steps: &'l mut Vec<String>) -> Self {
        fs::create_dir(lab.path("logs")).expect("the folder can be written");
        Self {
            lab,
            dice,
            steps,
            records: Vec::new(),
            by_line: HashMap::new(),
            written: BTreeSet::new(),
            pieces: HashSet::new(),
            processes: [None, None],
            runs: 0,
            requests: 0,
            names: 0,
            unfinished_archive: None,
        }
    }

    pub(super) fn key(&self, record: usize) -> &Key {
        &self.records[record].key
    }

    pub(super) fn step(&mut self, what: impl Into<String>) {
        self.steps.push(what.into());
    }

    pub(super) fn has_unfinished_archive(&self) -> bool {
        self.unfinished_archive.is_some()
    }

    fn add(&mut self, key: Key, line: String) -> usize {
        let (id, line) = (self.records.len(), line.into_bytes());
        self.by_line.insert(line.clone(), id);
        self.records.push(Record { key, line });
        id
    }

    // What lies on disk.

    /// The files of the folder, each once, oldest name first.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.lab.path("logs")).expect("there is a folder");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
        files.retain(|path| path.extension().is_none_or(|ending| ending != "tmp"));
        files.sort();
        files
    }

    /// The records that a file has whole. A plain file's unfinished line is none, an archive's is.
    pub(super) fn records_in(&self, path: &std::path::Path) -> BTreeSet<usize> {
        let Ok(bytes) = fs::read(path) else { return BTreeSet::new() };
        let (text, is_complete) = match path.extension().and_then(|ending| ending.to_str()) {
            Some("gz") => (gunzip(&bytes), true),
            Some("zst") => (unzstd(&bytes), true),
            _ => (Some(bytes), false),
        };
        // Of an archive that is cut off nothing is promised.
        let Some(text) = text else { return BTreeSet::new() };
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        if !is_complete {
            lines.pop();
        }
        lines.into_iter().flat_map(|line| self.records_of(line)).collect()
    }

    /// The records on one line: usually one, behind a torn one perhaps.
    fn records_of(&self, line: &[u8]) -> Vec<usize> {
        if let Some(id) = self.by_line.get(line) {
            return vec![*id];
        }
        let is_beginning = |at: &usize| {
            line[*at..].starts_with(b"{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\"")
                || line[*at..].starts_with(b"{\"meta\": ")
        };
        let mut cuts: Vec<usize> = (0..line.len()).filter(is_beginning).collect();
        cuts.push(line.len());
        cuts.windows(2).filter_map(|cut| self.by_line.get(&line[cut[0]..cut[1]]).copied()).collect()
    }

    /// The records that can still be read from some file.
    pub(super) fn records_on_disk(&self) -> BTreeSet<usize> {
        self.files().iter().flat_map(|path| self.records_in(path)).collect()
    }

    /// Whether these bytes are torn parts, one behind the other; the last may be cut off.
    pub(super) fn are_pieces(&self, bytes: &[u8]) -> bool {
        bytes.is_empty()
            || self.pieces.iter().any(|piece| {
                piece.starts_with(bytes)
                    || !piece.is_empty()
                        && bytes.strip_prefix(&piece[..]).is_some_and(|rest| self.are_pieces(rest))
            })
    }

    pub(super) fn inode(&self, name: &str) -> Option<u64> {
        fs::metadata(self.lab.path(name)).ok().map(|metadata| metadata.ino())
    }

    // What the routers do.

    fn write(&mut self, process: usize, bytes: &[u8]) {
        let process = self.processes[process].as_mut().expect("it runs");
        process.file.write_all(bytes).expect("the folder can be written");
    }

    fn write_record(&mut self, process: usize, record: usize) {
        let line = [&self.records[record].line[..], b"\n"].concat();
        self.write(process, &line);
        self.written.insert(record);
    }

    fn open() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        options
    }

    /// Starts a router, which writes its build row first.
    pub(super) fn start(&mut self, process: usize) {
        if self.processes[process].is_some() {
            self.kill(process);
        }
        self.runs += 1;
        let run = self.runs;
        let file = Self::open().open(self.lab.path(CURRENT)).expect("the folder can be written");
        self.processes[process] = Some(Process { run, file, rest: Vec::new(), unfinished: None });
        self.step(format!("process {process} starts run {run}"));
        let version = format!("0.7.{run}");
        let record = self.add(build_key(&version), build(&version));
        if self.dice.below(12) == 0 {
            self.tear(process, record);
        } else {
            self.write_record(process, record);
        }
    }

    /// A record that was never written before.
    fn make(&mut self, process: usize) -> usize {
        self.requests += 1;
        let number = self.requests;
        let run = run_name(self.processes[process].as_ref().expect("it runs").run);
        let at: f64 = arrived(number).parse().expect("it is a number");
        let beginning =
            format!("{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{run}\"");
        if self.dice.below(4) == 0 {
            let (kind, iid) = ("engine_ejected", format!("p{}", number % 7));
            let line = format!(
                "{beginning}, \"event\": \"{kind}\", \"at\": {at:?}, \"iid\": \"{iid}\", \"cause\": \"x\"}}"
            );
            return self.add(event_key(&run, kind, at, &iid), line);
        }
        let (client_rid, in_json) = match self.dice.below(40) {
            0 => ("x".repeat(200_000), "x".repeat(200_000)),
            1 => ("y".repeat(9_000), "y".repeat(9_000)),
            2..=8 => {
                ("é\"\\\n\u{1f433} {\"meta\": {".to_owned(), r#"é\"\\\n\ud83d\udc33 {\"meta\": {"#.to_owned())
            }
            9..14 => ("k\u{e9}\u{202e}".to_owned(), r"k\u00e9\u202e".to_owned()),
            _ => (format!("caller {number}"), format!("caller {number}")),
        };
        let failures: Vec<String> = match self.dice.below(5) {
            0 => (0..=self.dice.below(3)).map(|at| format!("decode leg {at} of {number} failed")).collect(),
            _ => Vec::new(),
        };
        let entries: Vec<String> = (1..)
            .zip(&failures)
            .map(|(attempt, message)| {
                format!("{{\"at\": {at:?}, \"attempt\": {attempt}, \"phase\": \"decode\", \"prefill_iid\": \"p0\", \"decode_iid\": \"d1\", \"error_message\": \"{message}\"}}")
            })
            .collect();
        let output_len = self.dice.below(1_000) as i64;
        let rid = rid(number);
        let line = format!(
            "{beginning}, \"rid\": \"{rid}\", \"client_rid\": \"{in_json}\", \"arrived\": {at:?}, \"output_len\": {output_len}, \
             \"duration_s\": 0.25, \"attempts\": {0}, \"decode_attempts\": {0}, \"attempt_failures\": [{1}], \"prefill_iid\": \"p0\", \"decode_iid\": \"d0\", \
             \"terminal\": \"completed\"}}",
            failures.len() + 1,
            entries.join(", ")
        );
        self.add(terminal_key((&run, &rid, at), &client_rid, output_len, &failures), line)
    }

    /// A router that writes: one that runs, or a new one.
    fn a_writer(&mut self) -> usize {
        let process = usize::from(self.dice.below(3) == 0);
        if self.processes[process].is_none() {
            self.start(process);
            // It may have died at its build row.
            if self.processes[process].is_none() {
                self.start(process);
            }
        }
        process
    }

    /// Lines never mix: whoever writes lets the other finish its line.
    fn finish_lines(&mut self) {
        for process in 0..2 {
            let Some(Process { rest, unfinished, .. }) = &mut self.processes[process] else { continue };
            let Some(record) = unfinished.take() else { continue };
            let rest = std::mem::take(rest);
            self.pieces.insert(rest.clone());
            self.write(process, &[&rest[..], b"\n"].concat());
            self.written.insert(record);
            self.step(format!("process {process} finishes its line"));
        }
    }

    pub(super) fn append(&mut self) {
        self.finish_lines();
        let process = self.a_writer();
        let rows = 1 + self.dice.below(6);
        self.step(format!("process {process} writes {rows} rows"));
        for _ in 0..rows {
            if self.processes[process].is_some() {
                let record = self.make(process);
                self.write_record(process, record);
            }
        }
    }

    fn cut_of(&mut self, record: usize) -> usize {
        let len = self.records[record].line.len() as u64;
        match self.dice.below(8) {
            0 => len as usize,
            1 => (len - 1) as usize,
            2 => 1 + self.dice.below(12) as usize,
            _ => 1 + self.dice.below(len) as usize,
        }
    }

    /// Writes the beginning of a line, and no more for now.
    pub(super) fn begin_line(&mut self) {
        self.finish_lines();
        let process = self.a_writer();
        if self.processes[process].is_none() {
            return;
        }
        let record = self.make(process);
        let cut = self.cut_of(record);
        let (written, rest) = self.records[record].line.split_at(cut);
        let (written, rest) = (written.to_vec(), rest.to_vec());
        self.step(format!("process {process} writes {cut} bytes of a line"));
        self.write(process, &written);
        if rest.is_empty() {
            self.written.insert(record);
        }
        self.pieces.insert(written);
        let process = self.processes[process].as_mut().expect("it runs");
        (process.rest, process.unfinished) = (rest, Some(record));
    }

    fn tear(&mut self, process: usize, record: usize) {
        let cut = self.cut_of(record);
        let torn = self.records[record].line[..cut].to_vec();
        self.write(process, &torn);
        if cut == self.records[record].line.len() {
            self.written.insert(record);
        }
        self.pieces.insert(torn);
        self.processes[process] = None;
        self.step(format!("process {process} is killed behind {cut} bytes of a line"));
    }

    /// Kills a router, in the middle of a line or between two.
    pub(super) fn kill(&mut self, process: usize) {
        let Some(running) = &self.processes[process] else { return };
        if running.unfinished.is_some() || self.dice.below(2) == 0 {
            self.processes[process] = None;
            self.step(format!("process {process} is killed"));
        } else {
            self.finish_lines();
            let record = self.make(process);
            self.tear(process, record);
        }
    }

    /// Lets the routers open the journal again, as a signal after a rotation does.
    pub(super) fn reopen(&mut self) {
        self.finish_lines();
        for process in self.processes.iter_mut().flatten() {
            process.file = Self::open().open(self.lab.path(CURRENT)).expect("the folder can be written");
        }
        self.step("the routers open the journal again");
    }

    // What the operators do.

    pub(super) fn rename(&mut self, from: &str, to: &str) -> bool {
        let is_there = self.lab.path(from).exists();
        if is_there {
            fs::rename(self.lab.path(from), self.lab.path(to)).expect("the folder can be written");
            self.step(format!("mv {from} {to}"));
        }
        is_there
    }

    /// Moves `.1` to `.2` and so on; what was the last is removed.
    pub(super) fn shift(&mut self) {
        for ending in ["", ".gz", ".zst"] {
            let name = |number: u32| format!("{CURRENT}.{number}{ending}");
            self.remove(&name(4));
            for number in (1..4).rev() {
                self.rename(&name(number), &name(number + 1));
            }
        }
    }

    pub(super) fn a_new_name(&mut self) -> String {
        self.names += 1;
        match self.dice.below(2) {
            0 => format!("{CURRENT}-202611{:02}", self.names),
            _ => format!("logs/j-2026-11-28_{:03}.jsonl", self.names),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if fs::remove_file(self.lab.path(name)).is_ok() {
            self.step(format!("rm {name}"));
        }
    }

    pub(super) fn copy(&mut self, from: &str, to: &str) {
        if self.lab.path(from).exists() && !self.lab.path(to).exists() {
            fs::copy(self.lab.path(from), self.lab.path(to)).expect("the folder can be written");
            self.step(format!("cp {from} {to}"));
        }
    }

    /// Cuts the journal off, at its start or behind a line in its middle.
    pub(super) fn truncate(&mut self) {
        let Ok(bytes) = fs::read(self.lab.path(CURRENT)) else { return };
        let mut to = 0;
        if self.dice.below(2) == 0 {
            let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
            to = ends.get(ends.len() / 2).map_or(0, |at| at + 1);
        }
        self.truncate_to(to as u64);
    }

    pub(super) fn truncate_to(&mut self, len: u64) {
        let file = OpenOptions::new().write(true).open(self.lab.path(CURRENT));
        if file.and_then(|file| file.set_len(len)).is_ok() {
            self.step(format!("truncate -s {len} {CURRENT}"));
        }
    }

    /// Compresses a plain file that was rotated away; what is missing then is written by
    /// [`Self::finish_archive`].
    pub(super) fn compress(&mut self) {
        self.finish_archive();
        let Some(path) = self.a_rotated_file() else { return };
        let bytes = fs::read(&path).expect("it is there");
        let (packed, ending) = match self.dice.below(3) {
            0 => (gzip(&bytes), "gz"),
            1 => ([gzip(&bytes[..bytes.len() / 3]), gzip(&bytes[bytes.len() / 3..])].concat(), "gz"),
            _ => (zstd(&bytes), "zst"),
        };
        let archive = PathBuf::from(format!("{}.{ending}", path.display()));
        if archive.exists() {
            return;
        }
        let half = packed.len() / 2;
        // Behind a whole member nothing tells that another is to come: that is no archive that is cut off.
        let half = if ending == "gz" && gunzip(&packed[..half]).is_some() { half - 1 } else { half };
        let until = if self.dice.below(3) == 0 { half } else { packed.len() };
        fs::write(&archive, &packed[..until]).expect("the folder can be written");
        self.step(format!("{ending} {} up to {until} of {} bytes", path.display(), packed.len()));
        if until < packed.len() {
            self.unfinished_archive = Some((archive, packed));
        } else if self.dice.below(2) == 0 {
            fs::remove_file(&path).expect("it is there");
            self.step("the plain one is removed");
        }
    }

    pub(super) fn finish_archive(&mut self) {
        let Some((archive, packed)) = self.unfinished_archive.take() else { return };
        // It may have been moved or removed meanwhile.
        if fs::read(&archive).is_ok_and(|bytes| packed.starts_with(&bytes)) {
            fs::write(&archive, packed).expect("the folder can be written");
            self.step(format!("{} is whole", archive.display()));
        }
        for path in self.files() {
            let bytes = fs::read(&path).unwrap_or_default();
            let is_whole = match path.extension().and_then(|ending| ending.to_str()) {
                Some("gz") => gunzip(&bytes).is_some(),
                Some("zst") => unzstd(&bytes).is_some(),
                _ => true,
            };
            if !is_whole {
                fs::remove_file(&path).expect("it is there");
                self.step(format!("rm {}, which is cut off", path.display()));
            }
        }
    }

    /// A plain file beside the journal itself.
    pub(super) fn a_rotated_file(&mut self) -> Option<PathBuf> {
        let current = self.lab.path(CURRENT);
        let is_rotated = |path: &PathBuf| {
            *path != current
                && !path.is_symlink()
                && path.extension().is_none_or(|end| end != "gz" && end != "zst")
        };
        let mut rotated: Vec<PathBuf> = self.files().into_iter().filter(is_rotated).collect();
        rotated.retain(|path| !path.ends_with("hard.jsonl"));
        let at = self.dice.below(rotated.len().max(1) as u64) as usize;
        rotated.get(at).cloned()
    }

    /// A second name for the journal, one way or the other.
    pub(super) fn link(&mut self) {
        let (soft, hard) = (self.lab.path("logs/a-link.jsonl"), self.lab.path("logs/hard.jsonl"));
        if self.dice.below(2) == 0 {
            drop(symlink("j.jsonl", soft));
            self.step("ln -s j.jsonl logs/a-link.jsonl");
        } else if fs::hard_link(self.lab.path(CURRENT), hard).is_ok() {
            self.step(format!("ln {CURRENT} logs/hard.jsonl"));
        }
    }
}
