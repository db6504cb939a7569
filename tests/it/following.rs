//! `ingest --follow`: journals read as they grow, through rotation, until a signal.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::harness::{Lab, copy_program, gzip};
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
        Self::by(lab, lab.command(&[&["ingest", "--follow", "--format", "json"], paths].concat()))
    }

    /// One that the shell starts: `$0` is the program.
    fn by_shell(lab: &'l Lab, script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_narwhal-jq")]).current_dir(lab.path(""));
        command.env_remove("NARWHAL_JQ_DB").env("NO_COLOR", "1").stdin(Stdio::null());
        Self::by(lab, command)
    }

    fn by(lab: &'l Lab, mut command: Command) -> Self {
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

    fn id(&self) -> String {
        self.child.as_ref().expect("it runs").id().to_string()
    }

    #[track_caller]
    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.id()]).status();
        assert!(sent.expect("there is `kill`").success());
    }

    /// Waits for its end: the exit code, its summary and the last that it said.
    #[track_caller]
    fn ends_itself(mut self) -> (Option<i32>, String, String) {
        let child = self.child.take().expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let last = self.said.iter().last().expect("it says why");
        (output.status.code(), String::from_utf8(output.stdout).expect("it is text"), last)
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
fn an_archive_of_a_run_that_was_taken_back_is_read_again_by_one_that_follows() {
    let lab = lab();
    lab.write("logs/j.jsonl.1.gz", gzip(&rows(1, 1..=3)));
    lab.ingest("logs");
    let runs = lab.rows("select run from runs");
    let [rusqlite::types::Value::Text(run)] = &runs[0][..] else { panic!("{runs:?}") };
    lab.run(&["forget", "--run", run]).exits(0);
    lab.run(&["forget", "--undo", run]).exits(0);
    assert_eq!(lab.number("select count(*) from terminals"), 0);
    let follower = Follower::of(&lab, &["logs"]);
    follower.reaches(2, 1);
    // The build row stayed when the run was forgotten.
    assert_counts(&follower.ends_well(), 4, 2, 1, 1);
    assert_eq!(lab.number("select count(*) from rereads"), 0);
}

fn make_pipe(path: &std::path::Path) {
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, 0o600.into(), 0).expect("a pipe can be made");
}

/// The terminals in a database, which must be sound.
#[track_caller]
fn terminals_in(path: &std::path::Path) -> i64 {
    let database = Connection::open(path).expect("there is a database");
    let check: String =
        database.query_row("pragma integrity_check", [], |row| row.get(0)).expect("it can be read");
    assert_eq!(check, "ok");
    database.query_row("select count(*) from terminals", [], |row| row.get(0)).expect("it can be read")
}

#[test]
fn point_3_a_database_that_is_removed_renamed_or_replaced_ends_it_with_an_error() {
    for case in ["removed", "renamed", "replaced", "its folder renamed", "its link turned"] {
        let lab = lab();
        lab.write(J, rows(1, 1..=5));
        lab.write("other.jsonl", rows(2, 1..=3));
        lab.run(&["ingest", "other.jsonl", "--db", "other.db"]).exits(0);
        fs::create_dir(lab.path("place")).expect("the folder can be written");
        let database = lab.path("place/n.db");
        let narwhal = lab.path("narwhal.db");
        // The follower looks whether rows are there by this name.
        std::os::unix::fs::symlink("place/n.db", &narwhal).expect("a link can be made");
        let name = if case == "its link turned" { "narwhal.db" } else { "place/n.db" };
        let follower = Follower::by(
            &lab,
            lab.command(&["ingest", "--follow", "--format", "json", "logs", "--db", name]),
        );
        follower.reaches(4, 1);
        let moved = lab.path("moved.db");
        let rename =
            |from: &std::path::Path, to: &std::path::Path| fs::rename(from, to).expect("it is there");
        let other = lab.path("other.db");
        match case {
            "removed" => fs::remove_file(&database).expect("it is there"),
            "renamed" => rename(&database, &moved),
            "replaced" => {
                fs::hard_link(&database, &moved).expect("a link can be made");
                rename(&other, &database);
            }
            "its folder renamed" => rename(&lab.path("place"), &lab.path("elsewhere")),
            _ => {
                fs::remove_file(&narwhal).expect("it is there");
                std::os::unix::fs::symlink("other.db", &narwhal).expect("a link can be made");
            }
        }
        let (code, summary, said) = follower.ends_itself();
        assert_eq!((code, &summary[..]), (Some(1), ""), "{case}: {said}");
        let what = if ["replaced", "its link turned"].contains(&case) {
            "was replaced by another file"
        } else {
            "was removed or renamed"
        };
        assert!(said.starts_with(&format!("error: the database {name} {what}")), "{case}: {said}");
        // What was read is where the database is now, and nothing of it in another.
        match case {
            "removed" => {}
            "renamed" => assert_eq!(terminals_in(&moved), 4),
            "replaced" => {
                assert_eq!(terminals_in(&moved), 4);
                assert_eq!(terminals_in(&database), 2);
            }
            "its folder renamed" => assert_eq!(terminals_in(&lab.path("elsewhere/n.db")), 4),
            _ => {
                assert_eq!(terminals_in(&database), 4);
                assert_eq!(terminals_in(&other), 2);
            }
        }
    }
}

#[test]
fn point_10_what_cannot_be_read_is_complained_of_once_by_its_name() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    let link =
        |to: &str, name: &str| std::os::unix::fs::symlink(to, lab.path(name)).expect("a link can be made");
    link("nothing", "logs/a.jsonl");
    make_pipe(&lab.path("logs/b.jsonl"));
    link("c.jsonl", "logs/c.jsonl");
    let listener = std::os::unix::net::UnixListener::bind(lab.path("logs/d.jsonl")).expect("it can be bound");
    link("/dev/zero", "logs/e.jsonl");
    lab.write("logs/notes.txt", "");
    let follower = Follower::of(&lab, &["logs", "gone"]);
    let no_file =
        "it is no regular file; give its content to `narwhal-jq ingest -` on standard input: waiting for it";
    let mut said: Vec<String> = (0..7).map(|_| follower.says()).collect();
    said.sort();
    assert_eq!(
        said,
        [
            "note: 1 file skipped, not a journal by its name: logs/notes.txt".to_owned(),
            "warning: cannot read gone: No such file or directory (os error 2): waiting for it".to_owned(),
            "warning: cannot read logs/a.jsonl: No such file or directory (os error 2): waiting for it".to_owned(),
            format!("warning: cannot read logs/b.jsonl: {no_file}"),
            "warning: cannot read logs/c.jsonl: Too many levels of symbolic links (os error 40): waiting for it".to_owned(),
            format!("warning: cannot read logs/d.jsonl: {no_file}"),
            format!("warning: cannot read logs/e.jsonl: {no_file}"),
        ]
    );
    follower.reaches(2, 1);
    // Several looks later nothing was said again.
    for at in 4..=7 {
        append(&lab, J, &rows(1, at..=at));
        std::thread::sleep(Duration::from_millis(250));
    }
    follower.reaches(2, 5);
    follower.says_nothing_more();
    // What becomes a file is read, and when that goes it is said again.
    lab.write("logs/nothing", rows(2, 1..=3));
    follower.reaches(4, 6);
    assert_eq!(follower.says(), "note: 1 file skipped, not a journal by its name: logs/nothing");
    fs::remove_file(lab.path("logs/nothing")).expect("it is there");
    assert!(follower.says().starts_with("warning: cannot read logs/a.jsonl: No such file"));
    // The folder vanishes, and comes again.
    rename(&lab, "logs", "away");
    assert_eq!(
        follower.says(),
        "warning: cannot read logs: No such file or directory (os error 2): waiting for it"
    );
    rename(&lab, "away", "logs");
    append(&lab, J, &rows(1, 8..=8));
    follower.reaches(4, 7);
    drop(listener);
    let (status, _) = follower.end("-TERM");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn point_10_a_file_that_may_not_be_read_is_complained_of_once_and_read_when_it_may() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    lab.write("logs/k.jsonl", rows(2, 1..=3));
    let set_mode = |name: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(lab.path(name), mode).expect("the mode can be set");
    };
    set_mode("logs/k.jsonl", 0);
    if File::open(lab.path("logs/k.jsonl")).is_ok() {
        // Root is not bound by modes, another user is.
        let tool = lab.path("tool");
        copy_program(&tool);
        for (name, mode) in [("tool", 0o755), ("", 0o777), ("logs", 0o777), (J, 0o666)] {
            set_mode(name, mode);
        }
        let mut command = Command::new("setpriv");
        let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        command.args(user).arg(&tool).args(["ingest", "--follow", "--format", "json", "logs"]);
        command
            .current_dir(lab.path(""))
            .env_remove("NARWHAL_JQ_DB")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        may_be_read_later(Follower::by(&lab, command), &set_mode);
    } else {
        may_be_read_later(Follower::of(&lab, &["logs"]), &set_mode);
    }
}

fn may_be_read_later(follower: Follower<'_>, set_mode: &dyn Fn(&str, u32)) {
    assert_eq!(
        follower.says(),
        "warning: cannot read logs/k.jsonl: Permission denied (os error 13): waiting for it"
    );
    follower.reaches(2, 1);
    std::thread::sleep(Duration::from_secs(1));
    follower.says_nothing_more();
    set_mode("logs/k.jsonl", 0o666);
    follower.reaches(4, 2);
    assert_counts(&follower.ends_well(), 8, 4, 2, 0);
}

#[test]
fn point_10_more_journals_than_files_may_be_open_are_followed() {
    let lab = lab();
    for at in 0..100 {
        lab.write(&format!("logs/j-{at:03}.jsonl"), rows(1000 + at, 1..=3));
    }
    let script = "ulimit -n 40; exec \"$0\" ingest --follow --format json logs";
    let follower = Follower::by_shell(&lab, script);
    follower.reaches(200, 100);
    let open = fs::read_dir(format!("/proc/{}/fd", follower.id()));
    if let Ok(open) = open {
        assert!(open.count() < 25, "no handle of quiet files");
    }
    append(&lab, "logs/j-007.jsonl", &rows(1007, 4..=4));
    append(&lab, "logs/j-099.jsonl", &rows(1099, 4..=5));
    follower.reaches(201, 102);
    // Files that were quiet are rotated away and written to the end, under names that are no journal's, also in
    // folders beside them.
    fs::create_dir(lab.path("logs/old")).expect("the folder can be written");
    rename(&lab, "logs/j-000.jsonl", "logs/j-000.jsonl.old");
    rename(&lab, "logs/j-001.jsonl", "logs/old/j-001.jsonl");
    append(&lab, "logs/j-000.jsonl", &rows(2000, 1..=3));
    follower.reaches(203, 103);
    append(&lab, "logs/j-000.jsonl.old", &rows(1000, 4..=5));
    append(&lab, "logs/old/j-001.jsonl", &rows(1001, 4..=5));
    follower.reaches(205, 105);
    let (status, summary) = follower.end("-TERM");
    assert_eq!((status.code(), &summary["total"]["rejected"]), (Some(0), &0.into()));
    lab.run(&["verify"]).exits(0);
    assert_eq!(lab.ingest("logs")["total"]["lines"], 0);
}

#[test]
fn point_10_a_signal_that_is_ignored_from_the_start_stays_ignored() {
    for (signal, name) in [("-HUP", "HUP"), ("-INT", "INT")] {
        let lab = lab();
        lab.write(J, rows(1, 1..=3));
        let script = format!("trap '' {name}; exec \"$0\" ingest --follow --format json logs");
        let follower = Follower::by_shell(&lab, &script);
        follower.signal(signal);
        follower.reaches(2, 1);
        follower.signal(signal);
        std::thread::sleep(Duration::from_millis(300));
        append(&lab, J, &rows(1, 4..=5));
        follower.reaches(3, 2);
        assert_counts(&follower.ends_well(), 6, 3, 2, 0);
        // Nor does it end a question, which waits for its reader here.
        let script = format!(
            "trap '' {name}; exec \"$0\" sql 'with recursive n (i) as (select 1 union all select i + 1 from n) select i from n' --format csv"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_narwhal-jq")]).current_dir(lab.path(""));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        assert_eq!(lines.next().expect("a line").expect("it can be read"), "i");
        assert!(
            Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill").success()
        );
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().expect("it can be asked").is_none(), "{name}");
        drop(lines);
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

#[test]
fn point_10_two_signals_within_a_moment_end_it_well() {
    let lab = lab();
    lab.write(J, rows(1, 1..=20_000));
    let follower = Follower::of(&lab, &["logs"]);
    // In the middle of a load, each.
    for _ in 0..4 {
        follower.signal("-TERM");
    }
    let (status, summary) = follower.end("-TERM");
    assert_eq!(status.code(), Some(0));
    let read = summary["total"]["lines"].as_u64().expect("a number");
    let stored = lab.number_or_none("select coalesce(sum(lines), 0) from sources").expect("a number");
    assert_eq!(read.cast_signed(), stored);
    assert!(!lab.path("narwhal.db-wal").exists(), "one plain file is left");
    lab.run(&["ingest", "logs"]).exits(0);
    lab.run(&["verify"]).exits(0);
}

#[test]
fn point_23_skipped_files_are_told_of_once_and_python_s_rotation_is_followed() {
    let lab = lab();
    lab.write(J, rows(1, 1..=3));
    lab.write("logs/notes.txt", "");
    lab.write("logs/j.jsonl.bak", "");
    let follower = Follower::of(&lab, &["logs"]);
    assert_eq!(
        follower.says(),
        "note: 2 files skipped, not journals by their names: logs/j.jsonl.bak, logs/notes.txt"
    );
    follower.reaches(2, 1);
    rename(&lab, J, "logs/j.jsonl.2026-11-29");
    append(&lab, "logs/j.jsonl.2026-11-29", &rows(1, 4..=5));
    append(&lab, J, &rows(2, 1..=3));
    follower.reaches(5, 3);
    lab.write("logs/more.txt", "");
    assert_eq!(follower.says(), "note: 1 file skipped, not a journal by its name: logs/more.txt");
    assert_counts(&follower.ends_well(), 10, 5, 3, 0);
}

#[test]
fn point_27_folders_inside_folders_are_followed_when_asked_for() {
    let lab = lab();
    fs::create_dir_all(lab.path("logs/a/b")).expect("the folder can be written");
    lab.write("logs/a/b/j.jsonl", rows(1, 1..=3));
    let command = lab.command(&["ingest", "--follow", "--recursive", "--format", "json", "logs"]);
    let follower = Follower::by(&lab, command);
    follower.reaches(2, 1);
    append(&lab, J, &rows(2, 1..=3));
    append(&lab, "logs/a/b/j.jsonl", &rows(1, 4..=5));
    follower.reaches(5, 3);
    assert_counts(&follower.ends_well(), 10, 5, 3, 0);
}

#[test]
fn point_27_on_a_terminal_requests_and_lag_are_shown() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let lab = lab();
    lab.write(J, [&rows(1, 1..=3)[..], b"{\"torn"].concat());
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be had");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it can be opened");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name").into_string().expect("it is text");
    let side = fs::OpenOptions::new().read(true).write(true).open(name).expect("it can be opened");
    let mut command = lab.command(&["ingest", "--follow", "logs"]);
    command.env("TERM", "xterm").env("COLUMNS", "80").stderr(side);
    let child = command.spawn().expect("it can be started");
    drop(command);
    let mut follower = Follower { lab: &lab, child: Some(child), said: channel().1 };
    let mut shown = File::from(terminal);
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("2 requests from 1 file, 6 bytes behind") {
        let mut piece = [0; 4096];
        let len = std::io::Read::read(&mut shown, &mut piece).expect("it shows something");
        seen.extend_from_slice(&piece[..len]);
        assert!(seen.len() < 1 << 20, "{}", String::from_utf8_lossy(&seen));
    }
    assert!(!String::from_utf8_lossy(&seen).contains("B/s"));
    follower.signal("-TERM");
    let status = follower.child.take().expect("it runs").wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
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

#[test]
fn point_3_a_database_that_is_written_over_in_place_ends_it_with_an_error_and_stays_as_it_was_put() {
    let put = |case: &str, other: Vec<u8>| match case {
        "another" => other,
        "a part of another" => other[..other.len() / 2].to_vec(),
        "no database" => b"hello\n".to_vec(),
        _ => Vec::new(),
    };
    for case in ["another", "a part of another", "no database", "nothing"] {
        let lab = lab();
        lab.write(J, rows(1, 1..=5));
        lab.write("other.jsonl", rows(2, 1..=3));
        lab.run(&["ingest", "other.jsonl", "--db", "other.db"]).exits(0);
        let other = put(case, fs::read(lab.path("other.db")).unwrap());
        let follower = Follower::of(&lab, &["logs"]);
        follower.reaches(4, 1);
        // As `cp` does it: the same file, shortened and written anew.
        fs::write(lab.path("narwhal.db"), &other).unwrap();
        let (code, summary, said) = follower.ends_itself();
        assert_eq!((code, &summary[..]), (Some(1), ""), "{case}: {said}");
        assert!(
            said.starts_with("error: the database narwhal.db was overwritten in place"),
            "{case}: {said}"
        );
        // Nothing of ours reached it, and nothing beside it is taken for a part of it.
        assert_eq!(fs::read(lab.path("narwhal.db")).unwrap(), other, "{case}");
        for beside in ["narwhal.db-wal", "narwhal.db-shm", "narwhal.db-journal"] {
            assert!(!lab.path(beside).exists(), "{case}: {beside}");
        }
        if case == "another" {
            assert_eq!(terminals_in(&lab.path("narwhal.db")), 2);
        }
    }
}

#[test]
fn point_3_what_others_do_to_a_database_by_sqlite_is_no_overwriting() {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    lab.write("other.jsonl", rows(2, 1..=3));
    let follower = Follower::of(&lab, &["logs"]);
    follower.reaches(4, 1);
    let copied = |database: &Connection| {
        database.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let wait = || std::thread::sleep(Duration::from_millis(1500));
    // The log is copied, the file touched and written as it is, another ingests, and makes the file smaller.
    let database = Connection::open(lab.path("narwhal.db")).unwrap();
    assert_eq!(copied(&database), 0);
    wait();
    let bytes = fs::read(lab.path("narwhal.db")).unwrap();
    fs::write(lab.path("narwhal.db"), bytes).unwrap();
    wait();
    lab.run(&["ingest", "other.jsonl"]).exits(0);
    assert_eq!(copied(&database), 0);
    lab.run(&["forget", "--run", &run_name(2), "--vacuum"]).exits(0);
    assert_eq!(copied(&database), 0);
    drop(database);
    wait();
    append(&lab, J, &rows(1, 6..=7));
    follower.reaches(5, 2);
    follower.end("-TERM");
    assert_eq!(terminals_in(&lab.path("narwhal.db")), 5);
}

#[test]
fn point_10_a_supervisor_that_reads_nothing_does_not_keep_it_from_ending() {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    // More is said than a pipe holds.
    let missing: Vec<String> =
        (0..2000).map(|at| format!("a-journal-that-is-not-there-{at}.jsonl")).collect();
    let mut command = lab.command(&["ingest", "--follow", J]);
    let mut child = command
        .args(&missing)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let unread = child.stderr.take();
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if asked.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    drop(unread);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn point_10_with_hardly_any_files_the_limit_is_named_and_no_folder() {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    for files in 5..=12 {
        let script = format!(
            "ulimit -n {files}; rm -f n.db n.db-*; timeout -s TERM 1 \"$0\" --db n.db ingest --follow {J} 2>said.txt"
        );
        let status = Command::new("bash")
            .args(["-c", &script, env!("CARGO_BIN_EXE_narwhal-jq")])
            .current_dir(lab.path(""))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .status()
            .unwrap();
        let said = fs::read_to_string(lab.path("said.txt")).unwrap();
        let is_wrong = said.contains("error: ") || said.contains("warning: ");
        assert!(!said.contains("cannot be written"), "{files}: {status} {said}");
        assert!(!is_wrong || said.contains("ulimit -n"), "{files}: {status} {said}");
        // What could not be read is no claim of success.
        assert!(is_wrong || said.contains("4 terminals"), "{files}: {status} {said}");
    }
}
