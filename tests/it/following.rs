//! `ingest --follow`: journals read as they grow, through rotation, until a signal.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::harness::{Lab, gzip};
use super::journals::{event, journal, run_name, short_terminal};
use super::rotation::{append, rename, rows};

const J: &str = "logs/j.jsonl";

/// A process that follows, and what it says.
struct Follower<'l> {
    lab: &'l Lab,
    child: Option<Child>,
    said: Receiver<String>,
}

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl<'l> Follower<'l> {
    fn of(lab: &'l Lab, paths: &[&str]) -> Self {
        let mut command = lab.command(&[&["ingest", "--follow", "--format", "json"], paths].concat());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let (send, said) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let follower = Self { lab, child: Some(child), said };
        // Signals are heeded from here on.
        assert_eq!(follower.says(), "note: following, until Ctrl-C");
        follower
    }

    /// The next line that it says.
    #[track_caller]
    fn says(&self) -> String {
        self.said.recv_timeout(Duration::from_secs(30)).expect("it says something")
    }

    #[track_caller]
    fn says_nothing_more(&self) {
        assert_eq!(self.said.try_recv().ok(), None);
    }

    /// Waits until so many terminals and events are committed.
    #[track_caller]
    fn reaches(&self, terminals: i64, events: i64) {
        let path = self.lab.path("narwhal.db");
        let count = || {
            let database = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let sql = "select (select count(*) from terminals), (select count(*) from events)";
            database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        let started = Instant::now();
        loop {
            let found: rusqlite::Result<(i64, i64)> = count();
            if matches!(found, Ok(found) if found == (terminals, events)) {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{found:?}, not {terminals} and {events}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal: how it ends, and its summary.
    #[track_caller]
    fn end(mut self, signal: &str) -> (ExitStatus, Value) {
        let child = self.child.take().expect("it runs");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("there is `kill`").success());
        let output = child.wait_with_output().expect("it ends");
        let summary = serde_json::from_slice(&output.stdout).expect("a summary");
        (output.status, summary)
    }

    /// Ends it well, with nothing more to say: the counts of all files.
    #[track_caller]
    fn ends_well(self) -> Value {
        self.says_nothing_more();
        let (status, mut summary) = self.end("-TERM");
        assert_eq!(status.code(), Some(0));
        summary["total"].take()
    }
}

fn lab() -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).expect("the folder can be written");
    lab
}

#[track_caller]
fn assert_counts(total: &Value, lines: u64, terminals: u64, events: u64, duplicates: u64) {
    let counts = ["lines", "terminals", "events", "duplicates"].map(|name| total[name].as_u64());
    assert_eq!(counts, [lines, terminals, events, duplicates].map(Some), "{total}");
}

/// Asserts that an ingest of what is there finds nothing new, and the database sound.
#[track_caller]
fn assert_complete(lab: &Lab, path: &str) {
    let total = &lab.ingest(path)["total"];
    assert_eq!(total["lines"], 0);
    lab.run(&["verify"]).exits(0);
}

#[test]
fn a_followed_journal_goes_on_through_rename_and_create() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    let follower = Follower::of(&lab, &[J]);
    follower.reaches(2, 1);
    rename(&lab, J, "logs/j.jsonl.1");
    // The router writes on to the renamed file, until it opens the new one.
    append(&lab, "logs/j.jsonl.1", &rows(1, 4..=5));
    assert_eq!(
        follower.says(),
        format!("warning: cannot read {J}: No such file or directory (os error 2): waiting for it")
    );
    follower.reaches(3, 2);
    append(&lab, J, &rows(2, 1..=3));
    append(&lab, "logs/j.jsonl.1", &rows(1, 6..=7));
    follower.reaches(6, 4);
    append(&lab, J, &rows(2, 4..=5));
    follower.reaches(7, 5);
    assert_counts(&follower.ends_well(), 14, 7, 5, 0);
    assert_complete(&lab, "logs");
    assert_eq!(lab.number("select count(*) from sources"), 2);
}

#[test]
fn a_followed_journal_goes_on_through_copy_and_truncate() {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    let follower = Follower::of(&lab, &[J]);
    follower.reaches(4, 1);
    fs::copy(lab.path(J), lab.path("logs/j.jsonl.1")).expect("it is there");
    // In place, as a router that appends goes on.
    File::create(lab.path(J)).expect("it can be cut off");
    append(&lab, J, &rows(2, 1..=3));
    follower.reaches(6, 2);
    let lost = follower.says();
    let len = rows(1, 1..=5).len();
    assert!(
        lost.starts_with(&format!(
            "warning: {J}: does not hold any more what was read of it up to byte {len} "
        )),
        "{lost}"
    );
    append(&lab, J, &rows(2, 4..=5));
    follower.reaches(7, 3);
    assert_counts(&follower.ends_well(), 12, 7, 3, 0);
    assert_complete(&lab, "logs");
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for_and_said_once() {
    let lab = lab();
    let follower = Follower::of(&lab, &[J]);
    let missing = format!("warning: cannot read {J}: No such file or directory (os error 2): waiting for it");
    assert_eq!(follower.says(), missing);
    append(&lab, J, &rows(1, 1..=3));
    follower.reaches(2, 1);
    assert_counts(&follower.ends_well(), 4, 2, 1, 0);
    assert_complete(&lab, J);
}

#[test]
fn in_a_followed_folder_each_file_is_followed_that_comes() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    let follower = Follower::of(&lab, &["logs"]);
    follower.reaches(2, 1);
    append(&lab, "logs/k.jsonl", &rows(2, 1..=3));
    follower.reaches(4, 2);
    rename(&lab, J, "logs/j.jsonl.1");
    append(&lab, J, &rows(3, 1..=3));
    append(&lab, "logs/j.jsonl.1", &rows(1, 4..=5));
    follower.reaches(7, 4);
    fs::remove_file(lab.path("logs/k.jsonl")).expect("it is there");
    append(&lab, J, &rows(3, 4..=5));
    follower.reaches(8, 5);
    assert_counts(&follower.ends_well(), 16, 8, 5, 0);
    assert_complete(&lab, "logs");
}

#[test]
fn a_signal_ends_it_well_with_everything_whole_committed() {
    for signal in ["-TERM", "-INT"] {
        let lab = lab();
        let torn = &short_terminal(&run_name(1), 9)[..70];
        lab.write(J, [&rows(1, 1..=2_000)[..], torn.as_bytes()].concat());
        let follower = Follower::of(&lab, &["logs"]);
        follower.reaches(1_999, 1);
        let (status, summary) = follower.end(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
        assert_eq!(summary["files"][0]["pending_bytes"], torn.len(), "{signal}");
        assert_counts(&summary["total"], 2_001, 1_999, 1, 0);
        assert!(!lab.path("narwhal.db-wal").exists(), "one plain file is left");
        assert_complete(&lab, "logs");
    }
}

#[test]
fn an_unfinished_last_line_waits_and_is_committed_when_it_is_whole() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    let follower = Follower::of(&lab, &["logs"]);
    follower.reaches(2, 1);
    let line = short_terminal(&run_name(1), 4);
    let (begin, rest) = line.split_at(100);
    append(&lab, J, begin.as_bytes());
    // The folder's files are looked at one after the other: what comes later in the next was read behind
    // the unfinished line.
    append(&lab, "logs/k.jsonl", &rows(2, 1..=3));
    follower.reaches(4, 2);
    append(&lab, J, rest.as_bytes());
    append(&lab, J, b"\n");
    follower.reaches(5, 2);
    assert_counts(&follower.ends_well(), 9, 5, 2, 0);
    assert_eq!(lab.number("select count(*) from rejects"), 0);
    assert_complete(&lab, "logs");
}

#[test]
fn a_second_ingest_and_queries_run_beside_one_that_follows() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    let follower = Follower::of(&lab, &[J]);
    follower.reaches(2, 1);
    let mut written = 3;
    for run in 2..6 {
        let other = format!("logs/other-{run}.jsonl");
        lab.write(&other, rows(run, 1..=3));
        append(&lab, J, &journal(&[event(&run_name(1), written + 1)]));
        written += 1;
        let total = &lab.ingest(&other)["total"];
        assert_counts(total, 4, 2, 1, 0);
        lab.run(&["query", "runs"]).exits(0);
        lab.run(&["status"]).exits(0);
        follower.reaches(2 * run as i64, (run + written - 3) as i64);
        // Also of the file that is followed.
        append(&lab, J, &journal(&[event(&run_name(1), written + 1)]));
        written += 1;
        lab.run(&["query", "runs", "--ingest", J]).exits(0);
        follower.reaches(2 * run as i64, (run + written - 3) as i64);
    }
    let total = follower.ends_well();
    assert_eq!(
        (&total["terminals"], &total["duplicates"], &total["rejected"]),
        (&2.into(), &0.into(), &0.into())
    );
    assert_complete(&lab, "logs");
    assert_eq!(lab.number("select count(*) from sources"), 5);
}

#[test]
fn an_archive_that_was_read_is_not_unpacked_again_by_one_that_follows() {
    let lab = lab();
    lab.write("logs/j.jsonl.1.gz", gzip(&rows(1, 1..=3)));
    lab.ingest("logs");
    // Were it unpacked, no source would be recognised in it, and it would be read from its start.
    let database = Connection::open(lab.path("narwhal.db")).expect("there is a database");
    database.execute_batch("update sources set head_hash = 0").expect("it can be written");
    drop(database);
    append(&lab, J, &rows(2, 1..=3));
    let follower = Follower::of(&lab, &["logs"]);
    follower.reaches(4, 2);
    // One that comes is read, and the same again under another name is known.
    lab.write("logs/j.jsonl.3.gz", gzip(&rows(3, 1..=3)));
    follower.reaches(6, 3);
    rename(&lab, "logs/j.jsonl.3.gz", "logs/j.jsonl.4.gz");
    append(&lab, J, &rows(2, 4..=5));
    follower.reaches(7, 4);
    assert_counts(&follower.ends_well(), 10, 5, 3, 0);
    assert_eq!(lab.number("select count(*) from archives"), 2);
}

#[test]
fn the_wall_clock_of_a_followed_run_is_known_within_a_second_and_a_half() {
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    // A router that began just now, on a host that is up for 5000 s.
    let run = format!("{}-0000000a", now().floor());
    let true_s = now() - 5000.0;
    let row = |number: u64| {
        super::harness::terminal(&run, &format!("r{number}"), now() - true_s)
            .replace("\"terminal\"", "\"duration_s\": 0.0, \"terminal\"")
            + "\n"
    };
    let lab = lab();
    fs::write(lab.path(J), row(0)).unwrap();
    let follower = Follower::of(&lab, &[J]);
    for number in 1..4 {
        follower.reaches(number, 0);
        append(&lab, J, row(number as u64).as_bytes());
    }
    follower.reaches(4, 0);
    let sql = format!("select wall_basis, abs(wall_offset_s - {true_s:?}) from runs");
    let found = lab.rows(&sql).remove(0);
    let [rusqlite::types::Value::Text(basis), rusqlite::types::Value::Real(off_s)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(basis, "start+file");
    assert!(*off_s < 1.5, "{off_s}");
}
