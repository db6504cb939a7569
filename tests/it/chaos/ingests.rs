//! The ingests of a round of chaos: whole ones, killed ones, several at once, with readers beside them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::super::harness::{Lab, Run};
use super::writer::{CURRENT, Writers};

/// What is said of a file that does not hold any more what was read of it.
const LOST: &str = "j.jsonl: does not hold any more what was read of it up to byte ";

pub(super) struct Ingests<'l> {
    lab: &'l Lab,
    /// Records that stood in a file while an ingest read it that ended well.
    pub read: BTreeSet<usize>,
    /// The journal's number when an ingest of the folder last ended well, and read something of it.
    known: Option<u64>,
    background: Vec<Child>,
    follower: Option<Child>,
    is_followed: bool,
    pub were_beside_writers: bool,
    pub count: u64,
    pub killed: u64,
    pub losses_said: u64,
}

impl<'l> Ingests<'l> {
    pub(super) fn new(lab: &'l Lab, is_followed: bool) -> Self {
        Self {
            lab,
            read: BTreeSet::new(),
            known: None,
            background: Vec::new(),
            follower: None,
            is_followed,
            were_beside_writers: is_followed,
            count: 0,
            killed: 0,
            losses_said: 0,
        }
    }

    /// An ingest of any kind.
    pub(super) fn some(&mut self, writers: &mut Writers<'_>) {
        if self.is_followed && self.follow(writers) {
            return;
        }
        match writers.dice.below(20) {
            0..4 => drop(self.whole(writers)),
            4 => self.with_reader(writers),
            5..12 => self.kill(writers),
            12..14 => self.of_the_journal(writers),
            14 | 15 => self.piped(writers),
            16 => self.asked(writers),
            17 | 18 => self.twice_at_once(writers),
            _ if self.background.len() < 2 => {
                writers.step("ingest logs, beside what comes");
                self.were_beside_writers = true;
                self.background.push(self.spawn(&["-q", "ingest", "logs"]));
            }
            _ => self.end_background(writers),
        }
        self.count += 1;
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.lab.command(arguments);
        // To a file: nobody empties a pipe while it runs.
        let log = File::options().create(true).append(true).open(self.lab.path("stderr.txt"));
        command.stdout(Stdio::null()).stderr(log.expect("the folder can be written"));
        command.spawn().expect("the program can be started")
    }

    /// An ingest of the folder to its end. What it said, when all went well.
    pub(super) fn whole(&mut self, writers: &mut Writers<'_>) -> Run {
        writers.step("ingest logs");
        let there = writers.records_on_disk();
        let run = self.lab.run(&["ingest", "logs"]);
        assert_well(writers, &run);
        // A source has the name and the number under which something of it was last read.
        let journal = writers.records_in(&self.lab.path(CURRENT));
        let is_known = writers.files().len() == 1 && !journal.is_subset(&self.read);
        if is_known || self.known != writers.inode(CURRENT) {
            self.known = is_known.then(|| writers.inode(CURRENT)).flatten();
        }
        self.read.extend(there);
        run
    }

    fn with_reader(&mut self, writers: &mut Writers<'_>) {
        writers.step("with a reader:");
        let is_over = AtomicBool::new(false);
        let path = self.lab.path("narwhal.db");
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut most = 0;
                while !is_over.load(Ordering::Relaxed) {
                    // It may not be there yet, or be left for a writer to put right.
                    let count = count_terminals(&path).unwrap_or(most);
                    assert!(count >= most, "{most} terminals have become {count}");
                    most = count;
                    thread::sleep(Duration::from_millis(1));
                }
            });
            drop(self.whole(writers));
            is_over.store(true, Ordering::Relaxed);
        });
    }

    fn kill(&mut self, writers: &mut Writers<'_>) {
        let path = if writers.dice.below(4) == 0 { CURRENT } else { "logs" };
        let moment = Duration::from_micros(writers.dice.below(25_000));
        writers.step(format!("ingest {path}, killed after {moment:?}"));
        let mut ingest = self.spawn(&["-q", "ingest", path]);
        // The moment is what is tested: there is nothing to wait for.
        thread::sleep(moment);
        ingest.kill().expect("a child can be killed");
        self.killed += u64::from(ingest.wait().expect("it has ended").code().is_none());
    }

    fn of_the_journal(&mut self, writers: &mut Writers<'_>) {
        let path = self.lab.path(CURRENT);
        if path.exists() {
            writers.step(format!("ingest {CURRENT}"));
            let there = writers.records_in(&path);
            assert_well(writers, &self.lab.run(&["ingest", CURRENT]));
            self.read.extend(there);
        }
    }

    fn piped(&mut self, writers: &mut Writers<'_>) {
        let files = writers.files();
        if files.is_empty() {
            return;
        }
        let path = &files[writers.dice.below(files.len() as u64) as usize];
        let Ok(bytes) = fs::read(path) else { return };
        writers.step(format!("ingest - < {}", path.display()));
        self.known = None;
        let there = writers.records_in(path);
        assert_well(writers, &self.lab.run_with_stdin(&["ingest", "-"], &bytes));
        self.read.extend(there);
    }

    fn asked(&mut self, writers: &mut Writers<'_>) {
        writers.step("query runs --ingest logs");
        let there = writers.records_on_disk();
        let run = self.lab.run(&["query", "runs", "--ingest", "logs"]);
        if run.stderr.contains("no database at") {
            return;
        }
        assert_well(writers, &run);
        self.read.extend(there);
    }

    fn twice_at_once(&mut self, writers: &mut Writers<'_>) {
        writers.step("ingest logs, twice at once");
        let there = writers.records_on_disk();
        let both = [self.spawn(&["-q", "ingest", "logs"]), self.spawn(&["-q", "ingest", "logs"])];
        for mut ingest in both {
            let status = ingest.wait().expect("it ends");
            self.assert_ended(writers, status.code());
        }
        self.read.extend(there);
    }

    fn assert_ended(&self, writers: &Writers<'_>, code: Option<i32>) {
        let said = fs::read_to_string(self.lab.path("stderr.txt")).unwrap_or_default();
        assert!(code == Some(0) || code == Some(1), "{code:?}\n{said}");
        for line in said.lines().filter(|line| line.starts_with("error: ")) {
            assert!(is_allowed(writers, line, true), "{line}");
        }
        assert!(!said.contains("panicked"), "{said}");
    }

    fn end_background(&mut self, writers: &Writers<'_>) {
        for mut ingest in std::mem::take(&mut self.background) {
            let status = ingest.wait().expect("it ends");
            self.assert_ended(writers, status.code());
        }
    }

    /// Begins to follow the folder, or ends it one way or the other; whether there was something to do.
    fn follow(&mut self, writers: &mut Writers<'_>) -> bool {
        let Some(mut follower) = self.follower.take() else {
            writers.step("ingest --follow logs");
            self.follower = Some(self.spawn(&["-q", "ingest", "--follow", "logs"]));
            return true;
        };
        match writers.dice.below(8) {
            0 => {
                follower.kill().expect("a child can be killed");
                follower.wait().expect("it has ended");
                writers.step("the follower is killed");
            }
            1 => {
                writers.step("the follower is asked to end");
                self.end_follower(writers, follower);
            }
            at => {
                self.follower = Some(follower);
                // It looks five times a second.
                thread::sleep(Duration::from_millis(at * 30));
                return at < 5;
            }
        }
        true
    }

    fn end_follower(&self, writers: &Writers<'_>, mut follower: Child) {
        // Before it watches for signals, one ends it as it ends any program.
        thread::sleep(Duration::from_millis(30));
        let asked = Command::new("kill").args(["-TERM", &follower.id().to_string()]).status();
        assert!(asked.expect("there is `kill`").success());
        let status = follower.wait().expect("it ends");
        if status.code().is_some() {
            self.assert_ended(writers, status.code());
        }
    }

    pub(super) fn end_all(&mut self, writers: &mut Writers<'_>) {
        if let Some(follower) = self.follower.take() {
            writers.step("the follower is asked to end");
            self.end_follower(writers, follower);
        }
        self.end_background(writers);
    }

    /// After the journal was cut off: when that destroyed records that an ingest had read under this
    /// name, the next one says that more may be lost. `held` is what stood in it before.
    pub(super) fn expect_loss_said(
        &mut self,
        writers: &mut Writers<'_>,
        inode: Option<u64>,
        held: &BTreeSet<usize>,
    ) {
        writers.append();
        let is_known = inode.is_some() && self.known == inode && writers.inode(CURRENT) == inode;
        let holds = writers.records_in(&self.lab.path(CURRENT));
        let is_destroyed = held.intersection(&self.read).any(|record| !holds.contains(record));
        // What is said is said when there is a whole line to read again.
        if holds.is_empty()
            || self.were_beside_writers
            || !is_known
            || !is_destroyed
            || writers.files().len() > 1
        {
            return;
        }
        let run = self.whole(writers);
        assert!(run.stderr.contains(LOST), "the loss is not said: {}", run.stderr);
        self.losses_said += 1;
    }
}

fn count_terminals(path: &std::path::Path) -> rusqlite::Result<i64> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.busy_timeout(Duration::from_secs(10))?;
    database.query_row("select count(*) from terminals", [], |row| row.get(0))
}

/// Whether an error tells of something that the writers did.
fn is_allowed(writers: &Writers<'_>, line: &str, is_beside: bool) -> bool {
    // A link whose target was moved leads nowhere.
    let is_gone = (is_beside || line.contains("a-link.jsonl")) && line.contains("No such file or directory");
    let is_cut_off =
        (is_beside || writers.has_unfinished_archive()) && line.contains("the archive is cut off");
    is_gone
        || is_cut_off
        || line.contains(": not one line is a journal row: ")
        || line.contains("no journal in the folder")
}

#[track_caller]
fn assert_well(writers: &Writers<'_>, run: &Run) {
    assert!(run.code == 0 || run.code == 1, "exit code {}\n{}", run.code, run.stderr);
    let mut errors = run.stderr.lines().filter(|line| line.starts_with("error: ")).peekable();
    assert_eq!(errors.peek().is_some(), run.code == 1, "{}", run.stderr);
    for line in errors {
        assert!(is_allowed(writers, line, false), "{line}");
    }
}
