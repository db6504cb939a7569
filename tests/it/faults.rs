//! Disks, files and databases that fail: it is said, nothing is half done, and the next undisturbed
//! ingest ends as if nothing had been.
//!
//! Tested elsewhere: kills at any moment, a database left in the middle of a write (`kills`); questions
//! to a database in a read-only folder (`shell`); files that are not there, no regular files or no
//! journals, a database that is busy, empty, newer or none of ours (`ingest`, `regressions`); what each
//! check of `verify` finds (`regressions`); a wall clock that was stepped (`wall_clock`).

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;

use super::harness::{Contents, Lab, assert_timeless_contents, page_size, say, terminal};
use super::journals::{arrived, build, journal, run_name, short_terminal};
use super::kills::{assert_complete, long_journal, undisturbed};

const RUN: &str = "1795977936-56e568d1";

/// A journal of so many rows, behind a build row.
fn rows(count: u64) -> Vec<u8> {
    let mut lines = vec![build("0.7.0")];
    lines.extend((1..=count).map(|number| short_terminal(&run_name(1), number)));
    journal(&lines)
}

fn stderr(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("panicked"), "{stderr}");
    stderr
}

/// Runs an ingest that can make no file longer than so many KiB: a full disk, as far as one can be had.
/// The signal that comes with it is ignored, or else it is a kill.
fn ingest_with_room(lab: &Lab, kib: u64, is_signal_ignored: bool) -> Output {
    let ignore = if is_signal_ignored { "trap '' XFSZ; " } else { "" };
    // In blocks of 512 bytes.
    let script = format!("ulimit -f {}; {ignore}exec \"$0\" -q ingest a.jsonl", 2 * kib);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_narwhal-jq")]).current_dir(lab.path(""));
    command.env_remove("NARWHAL_JQ_DB").stdin(Stdio::null()).output().expect("there is a shell")
}

#[test]
fn a_disk_that_is_full_at_any_size_is_said_and_the_next_ingest_goes_on() {
    let bytes = long_journal(1, 4_000, 3);
    let (expected, _) = undisturbed(&bytes);
    let whole = Lab::new();
    whole.write("a.jsonl", &bytes);
    whole.ingest("a.jsonl");
    let size_kib = fs::metadata(whole.path("narwhal.db")).expect("there is a database").len() / 1024;
    assert!(size_kib > 1_000, "{size_kib}");
    let (mut failed, mut begun) = (0, 0);
    for step in 0..16 {
        for is_signal_ignored in [true, false] {
            let kib = size_kib * step / 15;
            let what = format!("{kib} of {size_kib} KiB, {is_signal_ignored}");
            let lab = Lab::new();
            // Half of them into a database that was there before: by way of a write-ahead log.
            if step % 2 == 1 {
                lab.write("a.jsonl", &bytes[..bytes.len() / 4]);
                lab.ingest("a.jsonl");
            }
            lab.write("a.jsonl", &bytes);
            let output = ingest_with_room(&lab, kib, is_signal_ignored);
            let said = stderr(&output);
            if is_signal_ignored {
                match output.status.code() {
                    Some(0) => assert_eq!(said, "", "{what}"),
                    Some(1) => assert!(is_told(&said), "{what}: {said}"),
                    other => panic!("{what}: {other:?}: {said}"),
                }
            }
            failed += u64::from(!output.status.success());
            let resumed = lab.ingest("a.jsonl");
            assert_eq!(resumed["total"]["duplicates"], 0, "{what}");
            begun += u64::from(resumed["files"][0]["resumed_at"] != 0);
            assert_complete(&lab, "a.jsonl", &expected, &what);
        }
    }
    assert!(failed > 16 && begun > 16, "{failed} of 32 failed, {begun} went on");
}

/// One line that names the database and why it cannot be written.
fn is_told(said: &str) -> bool {
    let reasons = [
        "error: the database narwhal.db cannot be read or written: the disk fails, ",
        "error: no space left for the database narwhal.db",
    ];
    said.lines().count() == 1 && reasons.iter().any(|reason| said.starts_with(reason))
}

/// The program as a user who is bound by the modes of files, which root is not; in the folder.
pub(super) fn as_bound_user(test: &str, folder: &Path, tool: &Path) -> Option<Command> {
    let is_root = fs::metadata(folder).expect("there is a folder").uid() == 0;
    let mut command = Command::new(tool);
    if is_root {
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(tool);
        let tried = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", "test", "-x"])
            .arg(tool)
            .output();
        if !tried.is_ok_and(|output| output.status.success()) {
            say(&format!("{test}: did not run, no user here is bound by modes"));
            return None;
        }
    }
    command.current_dir(folder).env_remove("NARWHAL_JQ_DB").env("NO_COLOR", "1").stdin(Stdio::null());
    Some(command)
}

pub(super) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode can be set");
}

#[test]
fn a_database_or_a_folder_that_cannot_be_written_is_said_and_left_as_it_was() {
    let test = "a_database_or_a_folder_that_cannot_be_written";
    for (is_there, database_mode, folder_mode) in
        [(false, 0, 0o555), (true, 0o444, 0o555), (true, 0o444, 0o777)]
    {
        let lab = Lab::new();
        let tool = lab.path("tool");
        fs::copy(env!("CARGO_BIN_EXE_narwhal-jq"), &tool).expect("it can be copied");
        set_mode(&tool, 0o555);
        fs::create_dir(lab.path("sealed")).expect("the folder can be written");
        let journal = lab.write("sealed/a.jsonl", rows(20));
        set_mode(&journal, 0o444);
        let database = lab.path("sealed/narwhal.db");
        if is_there {
            let first = lab.write("first.jsonl", rows(10));
            lab.run(&["ingest", "first.jsonl", "--db", "sealed/narwhal.db"]).exits(0);
            fs::remove_file(first).expect("it is there");
            set_mode(&database, database_mode);
        }
        let before = fs::read(&database).ok();
        set_mode(&lab.path("sealed"), folder_mode);
        set_mode(&lab.path(""), 0o755);
        let Some(mut ingest) = as_bound_user(test, &lab.path("sealed"), &tool) else { return };
        let output = ingest.args(["ingest", "a.jsonl"]).output().expect("it can be started");
        let said = stderr(&output);
        set_mode(&lab.path("sealed"), 0o755);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: cannot open the database narwhal.db"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(fs::read(&database).ok(), before);
        let left = fs::read_dir(lab.path("sealed")).expect("it can be read").count();
        assert_eq!(left, 1 + usize::from(is_there), "no file was left beside them");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_said_and_keeps_no_other_from_being_read() {
    let lab = Lab::new();
    lab.write("a.jsonl", rows(10));
    lab.write("z.jsonl", rows(12));
    // Its first byte belongs to nothing.
    let run = lab.run(&["ingest", "a.jsonl", "/proc/self/mem", "z.jsonl", "--format", "json"]).exits(1);
    assert_eq!(run.stderr, "error: cannot read /proc/self/mem: Input/output error (os error 5)\n");
    let files = &run.json()["files"];
    assert_eq!((&files[0]["terminals"], &files[1]["terminals"]), (&10.into(), &2.into()), "{files}");
    // A folder of the name of a journal is none.
    fs::create_dir_all(lab.path("logs/k.jsonl")).expect("the folder can be written");
    lab.write("logs/j.jsonl", rows(14));
    assert_eq!(lab.ingest("logs")["total"]["terminals"], 2);
    lab.run(&["verify"]).exits(0);
}

/// A lab whose database holds a first part of a journal that is longer now.
fn with_more_to_read() -> (Lab, Contents) {
    let (expected, _) = undisturbed(&rows(3_000));
    let lab = Lab::new();
    lab.write("a.jsonl", rows(2_000));
    lab.ingest("a.jsonl");
    lab.write("a.jsonl", rows(3_000));
    (lab, expected)
}

#[test]
fn damaged_pages_are_said_and_a_new_database_is_complete() {
    let (lab, expected) = with_more_to_read();
    let whole = fs::read(lab.path("narwhal.db")).expect("there is a database");
    let page_size = page_size(&whole);
    let pages = whole.len() / page_size;
    let mut said_so = 0;
    for at in 0..24 {
        let page = at * pages / 24;
        let mut damaged = whole.clone();
        // Behind the header of the file.
        let from = page * page_size + if page == 0 { 100 } else { 0 };
        damaged[from..from + 2_000].fill(0xa5);
        lab.write("narwhal.db", &damaged);
        let run = lab.run(&["ingest", "a.jsonl"]);
        match run.code {
            // It met none of what is damaged.
            0 => {}
            1 => {
                assert!(run.stderr.contains("the database narwhal.db is damaged: "), "{page}: {}", run.stderr)
            }
            other => panic!("{page}: exit code {other}: {}", run.stderr),
        }
        said_so += u32::from(run.code == 1);
        // Whoever asks is told, also when the ingest met nothing.
        let verify = lab.run(&["verify"]).exits(1);
        let said = format!("{}{}", verify.stdout, verify.stderr);
        assert!(said.contains("BROKEN  the file is whole") || said.contains("is damaged"), "{page}: {said}");
        for question in
            [&["query", "runs"][..], &["status"], &["query", "attainment", "--ttft", "1", "--tpot", "1"]]
        {
            let run = lab.run(question);
            assert!(
                run.code == 0 || run.stderr.contains("is damaged"),
                "{page}: {question:?}: {}",
                run.stderr
            );
        }
    }
    assert!(said_so > 4, "an ingest met {said_so} of 24 damages");
    fs::remove_file(lab.path("narwhal.db")).expect("it is there");
    lab.ingest("a.jsonl");
    assert_complete(&lab, "a.jsonl", &expected, "a new one");
}

#[test]
fn a_database_that_was_cut_off_is_said() {
    let (lab, _) = with_more_to_read();
    let whole = fs::read(lab.path("narwhal.db")).expect("there is a database");
    let page_size = page_size(&whole);
    for eighths in 1..8 {
        // Within a page, and between two.
        for len in [whole.len() * eighths / 8 + 100, whole.len() * eighths / 8 / page_size * page_size] {
            lab.write("narwhal.db", &whole[..len]);
            let run = lab.run(&["ingest", "a.jsonl"]);
            assert_eq!(run.code, 1, "{len}: {}", run.stderr);
            assert!(run.stderr.contains("the database narwhal.db is damaged: "), "{len}: {}", run.stderr);
            assert_eq!(fs::read(lab.path("narwhal.db")).expect("it is there"), whole[..len], "{len}");
        }
    }
}

/// A database as a process that was killed leaves it: with what it committed last beside it.
fn left_with_a_log() -> (Lab, Contents) {
    let (lab, expected) = with_more_to_read();
    let writer = Connection::open(lab.path("narwhal.db")).expect("there is a database");
    writer.pragma_update(None, "journal_mode", "wal").expect("it can be written");
    writer.execute_batch("insert into slos values ('x', 1, 1, 'now')").expect("it can be written");
    let left = Lab::new();
    for name in ["narwhal.db", "narwhal.db-wal", "a.jsonl"] {
        left.write(name, fs::read(lab.path(name)).expect("it is there"));
    }
    (left, expected)
}

#[test]
fn a_log_that_a_killed_process_left_is_read_by_questions_and_put_away_by_the_next_ingest() {
    let (lab, mut expected) = left_with_a_log();
    lab.run(&["slo", "show"]).exits(0);
    assert!(lab.run(&["slo", "show"]).exits(0).stdout.contains('x'), "what was committed last is there");
    lab.run(&["verify"]).exits(0);
    assert_eq!(lab.ingest("a.jsonl")["total"]["terminals"], 1_000);
    assert!(!lab.path("narwhal.db-wal").exists());
    let slo = ["x", "1", "1", "now"];
    let slos = lab.rows(
        "select name, cast(ttft_s as integer) || '', cast(tpot_s as integer) || '', saved_at from slos",
    );
    assert_eq!(slos, [slo.map(|text| Value::Text(text.into()))]);
    let found = lab.contents();
    for ((table, rows), (_, expected)) in found.into_iter().zip(&mut expected) {
        if table == "slos" {
            *expected = rows;
        }
    }
    assert_complete(&lab, "a.jsonl", &expected, "put away");
}

#[test]
fn a_log_left_in_a_folder_that_cannot_be_written_is_said_with_what_to_do() {
    let test = "a_log_left_in_a_folder_that_cannot_be_written";
    let (lab, _) = left_with_a_log();
    fs::create_dir(lab.path("sealed")).expect("the folder can be written");
    for name in ["narwhal.db", "narwhal.db-wal"] {
        fs::rename(lab.path(name), lab.path("sealed").join(name)).expect("it is there");
        set_mode(&lab.path("sealed").join(name), 0o444);
    }
    let tool = lab.path("tool");
    fs::copy(env!("CARGO_BIN_EXE_narwhal-jq"), &tool).expect("it can be copied");
    set_mode(&tool, 0o555);
    set_mode(&lab.path("sealed"), 0o555);
    set_mode(&lab.path(""), 0o755);
    let Some(mut query) = as_bound_user(test, &lab.path("sealed"), &tool) else { return };
    let output = query.args(["query", "runs"]).output().expect("it can be started");
    set_mode(&lab.path("sealed"), 0o755);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with(
            "error: cannot open the database narwhal.db: the file or its folder cannot be written"
        ),
        "{said}"
    );
}

#[test]
fn clocks_that_jump_back_lose_no_row() {
    let run = run_name(1);
    let at = |number: u64| arrived(number).parse::<f64>().expect("a number");
    let event = |kind: &str, at: f64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{run}\", \"event\": \"{kind}\", \
             \"action\": \"x\", \"at\": {at:?}, \"iid\": \"p0\"}}"
        )
    };
    let lab = Lab::new();
    let mut lines = vec![build("0.7.0")];
    // Each goes back behind the one before; the last is before zero.
    let arrivals = [at(500), at(300), at(400), 0.0, -5.5];
    for (number, arrived) in arrivals.iter().enumerate() {
        lines.push(terminal(&run, &format!("r{number}"), *arrived));
        lines.push(event("engine_ejected", arrived - 1.0));
        lines.push(event("engine_lifecycle", 1_795_979_161.5 - 1e6 * number as f64));
    }
    for part in [8, lines.len()] {
        lab.write("a.jsonl", journal(&lines[..part]));
        lab.ingest("a.jsonl");
    }
    let stored = lab.rows("select arrived from terminals order by byte_offset");
    assert_eq!(stored, arrivals.map(|arrived| [Value::Real(arrived)]));
    assert_eq!(lab.number("select count(*) from events where clock = 'monotonic'"), 5);
    assert_eq!(lab.number("select count(*) from events where clock = 'wall'"), 5);
    assert_eq!(lab.rows("select first_s, last_s from runs"), [[Value::Real(-6.5), Value::Real(at(500))]]);
    lab.run(&["verify"]).exits(0);
    lab.run(&["query", "runs"]).exits(0);
    let (expected, _) = undisturbed(&journal(&lines));
    assert_timeless_contents(&lab, &expected, "read in two parts");
}

#[test]
fn a_lock_that_is_held_too_long_ends_busy_and_one_whose_holder_is_killed_is_free() {
    let (lab, expected) = with_more_to_read();
    let before = lab.timeless_contents();
    // All of a strict ingest is wanted or nothing: it holds the lock while it waits for more.
    let mut holder = lab.command(&["-q", "ingest", "--strict", "-"]);
    let mut holder = holder.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let mut pipe = holder.stdin.take().expect("it is a pipe");
    let other: String = (0..200).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    pipe.write_all(other.as_bytes()).expect("it reads");
    let is_held = || {
        let other = Connection::open(lab.path("narwhal.db")).expect("there is a database");
        other.busy_timeout(Duration::ZERO).expect("it can be set");
        other.execute_batch("begin immediate; rollback").is_err()
    };
    // It has the lock for a moment when it opens the database, too: that is not the one.
    let stays_held = || (0..10).all(|_| (is_held(), std::thread::sleep(Duration::from_millis(20))).0);
    let started = Instant::now();
    while !stays_held() {
        assert!(started.elapsed().as_secs() < 30, "it takes the lock");
    }
    for arguments in [
        &["ingest", "a.jsonl"][..],
        &["query", "runs", "--ingest", "a.jsonl"],
        &["slo", "set", "--ttft", "1", "--tpot", "1"],
    ] {
        lab.run(&[arguments, &["--busy-timeout", "0.2"]].concat())
            .exits(4)
            .says("the database narwhal.db is busy: ");
    }
    assert_timeless_contents(&lab, &before, "nothing is half done");
    lab.run(&["query", "runs"]).exits(0);
    holder.kill().expect("a child can be killed");
    let output = holder.wait_with_output().expect("it has ended");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (None, ""));
    lab.run(&["ingest", "a.jsonl", "--busy-timeout", "0.2"]).exits(0);
    assert_complete(&lab, "a.jsonl", &expected, "the lock is free");
}

/// A new database has no write-ahead log yet: whoever reads it keeps the ingest from writing, also when its
/// cache is full in the middle of a batch.
#[test]
fn a_reader_of_a_first_load_is_waited_for_once_and_nothing_is_half_done() {
    // One batch, and more than stays in memory.
    const ROWS: u64 = 45_000;
    let long = "x".repeat(2_000);
    let rows = (1..=ROWS).map(|at| {
        terminal(RUN, &format!("r{at}"), at as f64).replace("{", &format!("{{\"client_rid\": \"{long}\", "))
    });
    let lab = Lab::new();
    lab.write("a.jsonl", rows.collect::<Vec<_>>().join("\n") + "\n");
    let mut met = false;
    // The reader is in time, or the machine was busy with other things.
    for _ in 0..10 {
        let mut child = lab.command(&["-q", "ingest", "a.jsonl", "--busy-timeout", "1"]);
        let mut child = child.stderr(Stdio::piped()).spawn().expect("it can be started");
        let started = Instant::now();
        let reader = loop {
            assert!(started.elapsed() < Duration::from_secs(30), "the database is there");
            let Ok(reader) = Connection::open(lab.path("narwhal.db")) else { continue };
            if reader.execute_batch("begin; select count(*) from terminals").is_ok() {
                break reader;
            }
        };
        let before: i64 = reader.query_row("select count(*) from terminals", [], |row| row.get(0)).unwrap();
        while child.try_wait().expect("it can be asked").is_none() {
            if started.elapsed() > Duration::from_secs(60) {
                child.kill().expect("a child can be killed");
                panic!("it waits for a second again and again");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output().expect("it has ended");
        let after: i64 = reader.query_row("select count(*) from terminals", [], |row| row.get(0)).unwrap();
        drop(reader);
        if before == 0 {
            met = true;
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(4), "{said}");
            assert!(said.contains("the database narwhal.db is busy: "), "{said}");
            assert_eq!(after, 0, "nothing is half done");
            break;
        }
        fs::remove_file(lab.path("narwhal.db")).expect("it is there");
    }
    assert!(met, "the reader came before the first commit");
    lab.ingest("a.jsonl");
    assert_eq!(lab.number("select count(*) from terminals"), ROWS as i64);
    lab.run(&["verify"]).exits(0);
}
