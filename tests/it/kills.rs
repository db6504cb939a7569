//! An ingest that is killed anywhere, and two at once: no row is lost, none doubled.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use narwhal_jq::ingest::{Options, Watcher, ingest};
use narwhal_jq::journal::inputs::Input;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::harness::{Contents, Lab, assert_timeless_contents, say};
use super::journals::{Dice, build, event, journal, retried_terminal, run_name, short_terminal, wall_event};

/// Lines that an ingest commits at once.
const BATCH_LINES: usize = narwhal_jq::ingest::BATCH_LINES as usize;

/// A journal of `rows` rows in three runs, thinned with blank lines: they count as lines, and an
/// ingest of several transactions takes half a second in a debug build.
pub(super) fn long_journal(first_run: u64, rows: u64, batches: usize) -> Vec<u8> {
    let blanks = "\n".repeat(batches * BATCH_LINES / rows as usize);
    let mut text = String::new();
    for number in 0..rows {
        let of = &run_name(first_run + 3 * number / rows);
        let row = match number % 40 {
            0 => retried_terminal(of, number),
            1 => event(of, number),
            2 => wall_event(of, number),
            // Torn, and glued to the row that follows.
            3 => format!("{}{}", &short_terminal(of, number)[..70], short_terminal(of, number)),
            4 => short_terminal(of, number).replace("0.25", "Infinity"),
            _ => short_terminal(of, number),
        };
        if number * 3 % rows < 3 {
            text.push_str(&build(["0.5.0", "0.6.0", "0.7.0"][(number * 3 / rows) as usize]));
            text.push('\n');
        }
        text.push_str(&row);
        text.push('\n');
        text.push_str(&blanks);
    }
    text.into_bytes()
}

pub fn spawn_ingest(lab: &Lab, path: &str) -> Child {
    lab.command(&["-q", "ingest", path])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started")
}

/// Lets an ingest run for a while, then kills it. Whether it had to be.
pub fn kill_after(mut ingest: Child, moment: Duration) -> bool {
    let started = Instant::now();
    // The moment is what is tested: there is nothing to wait for.
    std::thread::sleep(moment.saturating_sub(started.elapsed()));
    ingest.kill().expect("a child can be killed");
    !ingest.wait().expect("it has ended").success()
}

#[track_caller]
fn assert_ends_well(ingest: Child, what: &str) {
    let output = ingest.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}: {stderr}", output.status);
    assert_eq!(stderr, "", "{what}");
}

/// Asserts that the database is sound and complete, and that the next ingest has nothing to do.
#[track_caller]
pub(super) fn assert_complete(lab: &Lab, path: &str, expected: &Contents, what: &str) {
    assert_timeless_contents(lab, expected, what);
    assert_eq!(lab.rows("pragma integrity_check"), [[Value::Text("ok".into())]], "{what}");
    let again = lab.ingest(path);
    let size = fs::metadata(lab.path(path)).expect("there is a journal").len();
    assert_eq!(again["files"][0]["resumed_at"], size, "{what}");
    for (count, value) in again["total"].as_object().expect("the counts") {
        assert_eq!(value, 0, "{what}: {count} of the next ingest");
    }
}

/// What an undisturbed ingest gives, and how long it takes.
pub(super) fn undisturbed(bytes: &[u8]) -> (Contents, Duration) {
    let lab = Lab::new();
    lab.write("a.jsonl", bytes);
    let started = Instant::now();
    assert_ends_well(spawn_ingest(&lab, "a.jsonl"), "undisturbed");
    let taken = started.elapsed();
    (lab.timeless_contents(), taken)
}

#[test]
fn an_ingest_killed_at_any_moment_and_run_again_equals_an_undisturbed_one() {
    const KILLS: u32 = 50;
    let test = "an_ingest_killed_at_any_moment";
    let (mut dice, seed) = Dice::of(test);
    let bytes = long_journal(1, 6_000, 4);
    let (expected, taken) = undisturbed(&bytes);
    let (mut killed, mut between_batches) = (0, 0);
    for kill in 0..KILLS {
        let lab = Lab::new();
        lab.write("a.jsonl", &bytes);
        // One moment in each fiftieth of the time it takes; some more where the database is made.
        let moment = match kill % 10 {
            9 => Duration::from_millis(20).mul_f64(dice.share()),
            _ => taken.mul_f64(1.05 * (f64::from(kill) + dice.share()) / f64::from(KILLS)),
        };
        killed += u32::from(kill_after(spawn_ingest(&lab, "a.jsonl"), moment));
        let what = format!("NARWHAL_JQ_SEED={seed}, kill {kill} after {moment:?} of {taken:?}");
        let resumed = lab.ingest("a.jsonl");
        let resumed_at = resumed["files"][0]["resumed_at"].as_u64().expect("an offset");
        between_batches += u32::from(resumed_at > 0 && resumed_at < bytes.len() as u64);
        assert_eq!(resumed["total"]["duplicates"], 0, "{what}");
        assert_complete(&lab, "a.jsonl", &expected, &what);
    }
    say(&format!("{test}: {killed} of {KILLS} killed before the end, {between_batches} between two batches"));
    // On a machine that is busy with other things the moments shift, but not all of them.
    assert!(killed > KILLS / 2 && between_batches > 0, "NARWHAL_JQ_SEED={seed}: {killed}, {between_batches}");
}

#[test]
fn a_growing_journal_whose_ingests_are_killed_again_and_again_equals_an_undisturbed_one() {
    const ROUNDS: u64 = 40;
    let (mut dice, seed) = Dice::of("a_growing_journal_whose_ingests_are_killed");
    let bytes = long_journal(1, 8_000, 1);
    let (expected, taken) = undisturbed(&bytes);
    let lab = Lab::new();
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(lab.path("a.jsonl"))
        .expect("the folder can be written");
    let mut written = 0;
    for round in 1..=ROUNDS {
        // Pieces end anywhere, mostly within a line.
        let until = (bytes.len() as u64 * round / ROUNDS) as usize;
        let until = until - dice.below(200).min((until - written) as u64) as usize;
        file.write_all(&bytes[written..until]).expect("the folder can be written");
        written = until;
        let span = taken.mul_f64(2.0 / ROUNDS as f64) + Duration::from_millis(15);
        kill_after(spawn_ingest(&lab, "a.jsonl"), span.mul_f64(dice.share()));
    }
    file.write_all(&bytes[written..]).expect("the folder can be written");
    lab.ingest("a.jsonl");
    assert_complete(&lab, "a.jsonl", &expected, &format!("NARWHAL_JQ_SEED={seed}"));
}

#[test]
fn a_piped_journal_whose_ingest_is_killed_equals_an_undisturbed_one() {
    let (mut dice, seed) = Dice::of("a_piped_journal_whose_ingest_is_killed");
    let bytes = long_journal(1, 4_000, 1);
    let (expected, taken) = undisturbed(&bytes);
    let lab = Lab::new();
    lab.write("a.jsonl", &bytes);
    for kill in 0..12 {
        let mut ingest = lab
            .command(&["-q", "ingest", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let mut pipe = ingest.stdin.take().expect("stdin is a pipe");
        let writer = {
            let bytes = bytes.clone();
            // The kill breaks the pipe.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)))
        };
        kill_after(ingest, taken.mul_f64(dice.share()));
        writer.join().expect("the writer ends");
        let what = format!("NARWHAL_JQ_SEED={seed}, kill {kill}");
        if kill % 4 == 3 {
            let all = lab.run_with_stdin(&["ingest", "-", "--format", "json"], &bytes).exits(0);
            assert_eq!(all.json()["total"]["duplicates"], 0, "{what}");
            assert_complete(&lab, "a.jsonl", &expected, &what);
            fs::remove_file(lab.path("narwhal.db")).expect("the database can be removed");
        }
    }
}

/// A database as a kill in the middle of a rollback-mode write leaves it, with its journal.
fn left_in_the_middle_of_a_write(of: &Lab) -> Lab {
    let left = Lab::new();
    let connection = Connection::open(of.path("narwhal.db")).expect("there is a database");
    // A tiny cache writes changed pages to the file before the commit.
    connection
        .execute_batch("pragma cache_size = 10; begin immediate; update terminals set rid = 'lost ' || rid")
        .expect("the database can be written");
    for name in ["narwhal.db", "narwhal.db-journal"] {
        fs::copy(of.path(name), left.path(name)).expect("the file is there");
    }
    connection.execute_batch("rollback").expect("it can be undone");
    left
}

#[test]
fn a_database_left_in_the_middle_of_a_write_is_put_right_by_the_next_ingest() {
    let lines: Vec<String> = (0..2_000).map(|number| short_terminal(&run_name(1), number)).collect();
    let (half, whole) = (journal(&lines[..1_000]), journal(&lines));
    let (expected, _) = undisturbed(&whole);
    let lab = Lab::new();
    lab.write("a.jsonl", &half);
    lab.ingest("a.jsonl");
    for reading in [["status"].as_slice(), &["query", "runs"], &["verify"]] {
        let left = left_in_the_middle_of_a_write(&lab);
        left.run(reading).exits(1).says(
            "narwhal.db was left in the middle of a write, by a kill or a crash: `narwhal-jq ingest \
             JOURNAL` puts it right",
        );
        // Also when there is nothing new to read.
        left.write("a.jsonl", &half);
        assert_eq!(left.ingest("a.jsonl")["total"]["lines"], 0);
        left.run(reading).exits(0);
        left.write("a.jsonl", &whole);
        assert_eq!(left.ingest("a.jsonl")["total"]["terminals"], 1_000);
        assert_complete(&left, "a.jsonl", &expected, reading[0]);
    }
}

#[test]
fn two_ingests_of_one_file_at_once_equal_one() {
    let bytes = long_journal(1, 6_000, 4);
    let (expected, _) = undisturbed(&bytes);
    for round in 0..4 {
        let lab = Lab::new();
        lab.write("a.jsonl", &bytes);
        let both = [spawn_ingest(&lab, "a.jsonl"), spawn_ingest(&lab, "a.jsonl")];
        for ingest in both {
            assert_ends_well(ingest, &format!("round {round}"));
        }
        assert_complete(&lab, "a.jsonl", &expected, &format!("round {round}"));
    }
}

/// Between two transactions of an ingest, lets another one read the same file to its end.
struct Overtaker<'l> {
    lab: &'l Lab,
    path: &'l str,
    overtaken: Option<serde_json::Value>,
}

impl Watcher for Overtaker<'_> {
    fn skipped(&mut self, _bytes: u64) {}

    fn advanced(&mut self, _: u64) {
        self.overtaken.get_or_insert_with(|| self.lab.ingest(self.path));
    }

    fn warn(&mut self, message: &str) {
        panic!("warned: {message}");
    }
}

#[test]
fn an_ingest_that_another_overtakes_between_two_transactions_equals_one() {
    let bytes = long_journal(1, 6_000, 3);
    let (expected, _) = undisturbed(&bytes);
    let lab = Lab::new();
    let path = lab.write("a.jsonl", &bytes);
    let options = Options { is_final: false, is_strict: false, busy_timeout: Duration::from_secs(30) };
    let mut watcher = Overtaker { lab: &lab, path: "a.jsonl", overtaken: None };
    let stop = AtomicBool::new(false);
    let database = lab.path("narwhal.db");
    let slow = ingest(&database, &[Input::File(path)], &options, &stop, &mut watcher)
        .unwrap_or_else(|error| panic!("{error:#}"));
    let fast = watcher.overtaken.expect("it was overtaken");
    assert!(fast["files"][0]["resumed_at"].as_u64().expect("an offset") > 0, "{fast}");
    assert_eq!(slow.total.duplicates, 0);
    assert_eq!(fast["total"]["duplicates"], 0);
    assert_complete(&lab, "a.jsonl", &expected, "overtaken");
    let all = |count: &str, slow: u64| slow + fast["total"][count].as_u64().expect("a count");
    assert_eq!(all("lines", slow.total.lines), bytes.iter().filter(|b| **b == b'\n').count() as u64);
}

/// Waits until the database has so many terminals.
fn wait_for_terminals(lab: &Lab, count: i64) {
    let started = Instant::now();
    let counted = || {
        let database =
            Connection::open_with_flags(lab.path("narwhal.db"), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        database.query_row("select count(*) from terminals", [], |row| row.get::<_, i64>(0))
    };
    while counted().ok() != Some(count) {
        assert!(started.elapsed() < Duration::from_secs(60), "{count} terminals are not there yet");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_piped_journal_that_is_also_ingested_as_a_file_meanwhile_is_complete() {
    let of = run_name(1);
    let mut lines = vec![build("0.7.0")];
    lines.extend((1..=60).map(|number| short_terminal(&of, number)));
    let (expected, _) = undisturbed(&journal(&lines));
    let lab = Lab::new();
    let mut piped = lab
        .command(&["ingest", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut pipe = piped.stdin.take().expect("stdin is a pipe");
    // The program waits for the 4 KiB that tell a source from others.
    pipe.write_all(&journal(&lines[..41])).expect("the program reads");
    wait_for_terminals(&lab, 40);
    lab.write("a.jsonl", journal(&lines[..44]));
    let file = lab.ingest("a.jsonl");
    assert_eq!(file["files"][0]["resumed_at"], journal(&lines[..41]).len());
    assert_eq!(file["total"]["terminals"], 3);
    // The first of these end before what the file gave, the others behind it.
    pipe.write_all(&journal(&lines[41..])).expect("the program reads");
    drop(pipe);
    let output = piped.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{output:?}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["total"]["terminals"], 57);
    assert_eq!(summary["total"]["duplicates"], 0);
    lab.write("a.jsonl", journal(&lines));
    assert_complete(&lab, "a.jsonl", &expected, "piped and read");
}

#[test]
fn four_ingests_that_make_one_database_at_once_all_end_well() {
    let bytes = journal(&[build("0.7.0"), short_terminal(&run_name(1), 1)]);
    let (expected, _) = undisturbed(&bytes);
    for round in 0..50 {
        let lab = Lab::new();
        lab.write("a.jsonl", &bytes);
        let all: Vec<Child> = (0..4).map(|_| spawn_ingest(&lab, "a.jsonl")).collect();
        for ingest in all {
            assert_ends_well(ingest, &format!("round {round}"));
        }
        assert_timeless_contents(&lab, &expected, &format!("round {round}"));
    }
}

/// Every table with names and places instead of row ids, which depend on who came first.
pub fn contents_by_name(lab: &Lab) -> Contents {
    let ids = [
        "run_id",
        "forgotten_id",
        "source_id",
        "build_id",
        "terminal_id",
        "event_id",
        "path",
        "device",
        "inode",
    ];
    let name = |id: &str| match id {
        "run_id" => "(select run from runs as r where r.run_id = x.run_id)",
        "forgotten_id" => "(select run from forgotten as f where f.forgotten_id = x.forgotten_id)",
        "source_id" => "(select head_hash from sources as s where s.source_id = x.source_id)",
        "build_id" => "(select version from builds as b where b.build_id = x.build_id)",
        "terminal_id" => "(select rid from terminals as t where t.terminal_id = x.terminal_id)",
        _ => "null",
    };
    let columns_of = |table: &str| {
        let columns = lab.rows(&format!("select name from pragma_table_info('{table}')"));
        let columns = columns.into_iter().map(|row| match &row[0] {
            Value::Text(column) if ids.contains(&column.as_str()) => name(column).to_owned(),
            Value::Text(column) => format!("x.\"{column}\""),
            _ => panic!("a column's name is text"),
        });
        columns.collect::<Vec<_>>()
    };
    let tables = lab.contents().into_iter().map(|(table, _)| {
        let columns = columns_of(&table);
        let order: Vec<String> = (1..=columns.len()).map(|at| at.to_string()).collect();
        let sql = format!("select {} from {table} as x order by {}", columns.join(", "), order.join(", "));
        let rows = lab.rows(&sql);
        (table, rows)
    });
    tables.collect()
}

#[test]
fn ingests_of_two_files_at_once_equal_one_after_the_other() {
    let (first, second) = (long_journal(1, 4_000, 3), long_journal(101, 4_000, 3));
    let by_turns = Lab::new();
    by_turns.write("a.jsonl", &first);
    by_turns.write("b.jsonl", &second);
    by_turns.run(&["-q", "ingest", "a.jsonl", "b.jsonl"]).exits(0);
    let expected = contents_by_name(&by_turns);
    assert_eq!(by_turns.number("select count(*) from runs where build_certainty = 'exact'"), 6);
    for round in 0..3 {
        let lab = Lab::new();
        lab.write("a.jsonl", &first);
        lab.write("b.jsonl", &second);
        let both = [spawn_ingest(&lab, "a.jsonl"), spawn_ingest(&lab, "b.jsonl")];
        for ingest in both {
            assert_ends_well(ingest, &format!("round {round}"));
        }
        for ((table, found), (_, expected)) in contents_by_name(&lab).iter().zip(&expected) {
            assert_eq!(found.len(), expected.len(), "round {round}: rows of {table}");
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!(found, expected, "round {round}: a row of {table}");
            }
        }
        lab.run(&["verify"]).exits(0);
    }
}
