//! Runs that are forgotten, kept from coming back, and taken back. Expected rows are those of a lab that
//! never had the run, or never forgot it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;

use super::harness::{Contents, Lab, say, terminal};
use super::journals::{Dice, build, event, journal, retried_terminal, run_name, short_terminal, wall_event};
use super::kills::{contents_by_name, kill_after, long_journal, spawn_ingest};

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[track_caller]
pub fn assert_sound(lab: &Lab) {
    assert_eq!(lab.rows("pragma integrity_check"), [[text("ok")]]);
    lab.run(&["verify"]).exits(0);
}

/// What is stored, without what forgetting adds: names instead of row ids.
pub fn stored(lab: &Lab) -> Contents {
    let mut contents = contents_by_name(lab);
    contents.retain(|(table, _)| !["forgotten", "forgotten_sources", "rereads"].contains(&table.as_str()));
    contents
}

#[track_caller]
pub fn assert_stored(lab: &Lab, expected: &Contents, what: &str) {
    for ((table, found), (_, expected)) in stored(lab).iter().zip(expected) {
        assert_eq!(found, expected, "{what}: {table}");
    }
}

/// The counts of an ingest that are not 0.
fn counts(summary: &serde_json::Value) -> BTreeMap<String, u64> {
    let total = summary["total"].as_object().unwrap().iter();
    total
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn counted<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// Three runs that a standby and a restart interleave; run 2 has a bit of everything.
pub fn three_runs() -> Vec<String> {
    let [a, b, c] = [1, 2, 3].map(run_name);
    vec![
        build("0.5.0"),
        short_terminal(&a, 1),
        wall_event(&a, 1),
        build("0.6.0"),
        short_terminal(&b, 1),
        wall_event(&b, 2),
        short_terminal(&a, 2),
        retried_terminal(&b, 2),
        format!("{}{}", &short_terminal(&b, 3)[..90], build("0.7.0")),
        event(&b, 3),
        short_terminal(&c, 1),
        wall_event(&c, 5),
        short_terminal(&c, 2),
        short_terminal(&b, 4),
    ]
}

#[test]
fn a_dry_run_tells_rows_and_bytes_and_changes_nothing() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal(&three_runs()));
    lab.ingest("j.jsonl");
    let before = fs::read(lab.path("narwhal.db")).unwrap();
    let told = lab.run(&["forget", "--run", &run_name(2), "--run", &run_name(3), "--dry-run"]).exits(0);
    let rows: Vec<Vec<&str>> = told.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["run", "started_at", "terminals", "attempt_failures", "events", "bytes_about"]);
    assert_eq!(rows[1][..5], [run_name(2).as_str(), "2026-11-29T18:43:04Z", "3", "1", "2"]);
    assert_eq!(rows[2][..5], [run_name(3).as_str(), "2026-11-29T18:43:05Z", "2", "0", "1"]);
    // Six of the twelve rows of runs, three of them: at most that share of the file.
    let bytes = |row: usize| rows[row][5].parse::<usize>().unwrap();
    assert!(bytes(1) == bytes(2) * 2 && bytes(1) > 0 && bytes(1) * 2 <= before.len(), "{rows:?}");
    assert_eq!(fs::read(lab.path("narwhal.db")).unwrap(), before);
    assert!(!lab.path("narwhal.db-wal").exists());
}

#[test]
fn a_forgotten_run_is_gone_from_every_table_and_leaves_a_tombstone() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal(&three_runs()));
    lab.ingest("j.jsonl");
    let names = ["runs", "terminals", "attempt_failures", "events", "run_sources"];
    let others = names.map(|table| {
        let of_others =
            format!("select * from {table} where run_id not in (select run_id from runs where run = ?1)");
        let database = lab.database();
        let mut statement = database.prepare(&of_others).unwrap();
        let width = statement.column_count();
        let rows = statement.query_map([run_name(2)], |row| (0..width).map(|at| row.get(at)).collect());
        rows.unwrap().collect::<Result<Vec<Vec<Value>>, _>>().unwrap()
    });
    let kept = ["builds where 1", "sources where 1", "rejects where 1"]
        .map(|of| lab.rows(&format!("select * from {of}")));
    let run_id = lab.number(&format!("select run_id from runs where run = '{}'", run_name(2)));
    lab.run(&["forget", "--run", &run_name(2)])
        .exits(0)
        .says(&format!("run {} forgotten: 3 terminals, 1 attempt failure, 2 events", run_name(2)))
        .says("are free for what is read next");
    assert_eq!(names.map(|table| lab.rows(&format!("select * from {table}"))), others);
    assert_eq!(
        ["builds where 1", "sources where 1", "rejects where 1"]
            .map(|of| lab.rows(&format!("select * from {of}"))),
        kept
    );
    // Also from tables that this test does not know.
    let tables = lab.rows(
        "select m.name from sqlite_schema as m, pragma_table_info(m.name) as c where m.type = 'table' and c.name = 'run_id'",
    );
    assert!(tables.len() >= names.len());
    for table in tables {
        let Value::Text(table) = &table[0] else { panic!("a table's name is text") };
        assert_eq!(
            lab.number(&format!("select count(*) from {table} where run_id = {run_id}")),
            0,
            "{table}"
        );
    }
    let tombstone = lab.rows(
        "select run, started_at, first_s, last_s, terminals, attempt_failures, events,
             forgotten_at like '20__-__-__T__:__:__Z', undone_at from forgotten",
    );
    // Requests arrived at 2443.010125 and later, the last at .040125 with 0.25 s, the retried one with less.
    let expected: [Value; 9] = [
        text(&run_name(2)),
        text("2026-11-29T18:43:04Z"),
        Value::Real(2443.010125),
        Value::Real(2443.040125 + 0.25),
        Value::Integer(3),
        Value::Integer(1),
        Value::Integer(2),
        Value::Integer(1),
        Value::Null,
    ];
    assert_eq!(tombstone, [expected]);
    assert_sound(&lab);
    let status = lab.run(&["status"]).exits(0).stdout;
    assert!(status.lines().any(|line| line.split_whitespace().eq(["forgotten_runs", "1"])), "{status}");
    for asking in [
        &["query", "outcomes", "--run", &run_name(2)][..],
        &["show", &super::journals::rid(2), "--run", &run_name(2)],
        &["compare", &run_name(1), &run_name(2)],
        &["check", "--max-failure-rate", "1", "--run", &run_name(2)],
    ] {
        lab.run(asking).exits(1).says(&format!("run {} was forgotten at 20", run_name(2)));
    }
}

#[test]
fn before_takes_the_runs_that_had_ended_and_none_of_unknown_start() {
    let second = |name: &str, arrived: f64, duration_s: f64| {
        terminal(name, &format!("r{arrived}"), arrived)
            .replace("\"terminal\"", &format!("\"duration_s\": {duration_s}, \"terminal\""))
    };
    // `date -u -d @1795977936 +%FT%TZ` is 2026-11-29T18:45:36Z.
    let (early, long, nameless) = ("1795977936-00000001", "1795977936-00000002", "router-a");
    let lab = Lab::new();
    lab.write(
        "j.jsonl",
        journal(&[
            second(early, 100.0, 0.0),
            second(early, 108.0, 2.0),
            second(long, 100.0, 0.0),
            second(long, 3700.0, 0.5),
            second(nameless, 1.0, 0.0),
        ]),
    );
    lab.ingest("j.jsonl");
    for (before, taken) in [
        ("2026-11-29", &[][..]),
        // It ended ten seconds after it began, which is not before that moment.
        ("2026-11-29T18:45:46Z", &[]),
        ("2026-11-29T18:45:47Z", &[early]),
        ("2026-11-29T19:45:36Z", &[early]),
        ("2026-11-30", &[early, long]),
    ] {
        let told = lab.run(&["forget", "--before", before, "--dry-run"]).exits(0);
        let runs: Vec<&str> =
            told.stdout.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(runs, taken, "{before}");
        let told = told.says("1 run has no known start and stays, `--run` names it: router-a");
        assert_eq!(told.stderr.contains("no run ended before that"), taken.is_empty());
    }
    lab.run(&["forget", "--before", "2026-11-30"]).exits(0);
    assert_eq!(lab.rows("select run from runs"), [[text(nameless)]]);
    let before = fs::read(lab.path("narwhal.db")).unwrap();
    lab.run(&["forget", "--before", "2026-11-30"]).exits(0).says("no run ended before that");
    assert_eq!(fs::read(lab.path("narwhal.db")).unwrap(), before);
    lab.run(&["forget", "--run", nameless]).exits(0);
    assert_eq!(lab.number("select count(*) from runs"), 0);
    assert_sound(&lab);
}

#[test]
fn a_run_that_idled_before_its_first_row_is_not_taken_for_one_that_ended() {
    let run = "1795977936-00000001";
    let wall = |at: u64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{run}\", \
             \"event\": \"engine_lifecycle\", \"action\": \"x\", \"at\": {at}}}"
        )
    };
    let row = |arrived: f64| {
        terminal(run, "r", arrived).replace("\"terminal\"", "\"duration_s\": 0.5, \"terminal\"")
    };
    let lab = Lab::new();
    // It began at 18:45:36, and ten days later served for one second.
    let at = 1_795_977_936 + 864_000;
    lab.write("j.jsonl", journal(&[row(900_000.0), wall(at), row(900_001.0).replace("\"r\"", "\"s\"")]));
    lab.ingest("j.jsonl");
    lab.run(&["forget", "--before", "2026-12-01", "--dry-run"]).exits(0).says("no run ended before that");
    let told = lab.run(&["forget", "--before", "2026-12-10", "--dry-run"]).exits(0);
    assert!(told.stdout.contains(run));
}

#[test]
fn what_cannot_be_forgotten_is_refused_in_words() {
    let lab = Lab::new();
    lab.run(&["forget", "--run", "x"]).exits(1).says("no database at narwhal.db");
    assert!(!lab.path("narwhal.db").exists());
    lab.write("j.jsonl", journal(&three_runs()));
    lab.ingest("j.jsonl");
    let before = fs::read(lab.path("narwhal.db")).unwrap();
    let name = run_name(2);
    lab.run(&["forget", "--run", &name, "--run", &name[..12]])
        .exits(1)
        .says(&format!("no run {:?} in the database: the whole id is wanted, perhaps {name}", &name[..12]));
    lab.run(&["forget", "--run", "last"])
        .exits(1)
        .says("no run \"last\" in the database: `narwhal-jq query runs`");
    lab.run(&["forget", "--undo", &name]).exits(1).says("was not forgotten");
    for usage in [
        &["forget"][..],
        &["forget", "--dry-run"],
        &["forget", "--run", &name, "--before", "2026-11-30"],
        &["forget", "--undo", &name, "--run", &name],
        &["forget", "--undo", &name, "--dry-run"],
        &["forget", "--before", "29.11.2026"],
    ] {
        lab.run(usage).exits(2);
    }
    assert_eq!(fs::read(lab.path("narwhal.db")).unwrap(), before);
    lab.run(&["forget", "--run", &name, "--run", &name]).exits(0);
    lab.run(&["forget", "--run", &name]).exits(1).says(&format!("run {name} was forgotten already, at 20"));
    assert_eq!(lab.number("select count(*) from forgotten"), 1);
}

#[test]
fn rows_of_a_forgotten_run_that_are_read_again_count_as_forgotten_and_nothing_else() {
    let lab = Lab::new();
    let mut lines = three_runs();
    lab.write("j.jsonl", journal(&lines));
    lab.ingest("j.jsonl");
    lab.run(&["forget", "--run", &run_name(2)]).exits(0);
    let expected = stored(&lab);
    // The same file: nothing to read. Another file with the same rows, read from its start.
    assert_eq!(counts(&lab.ingest("j.jsonl")), counted([]));
    lab.write("copy.jsonl", [b"\n".to_vec(), journal(&lines)].concat());
    let again = lab.ingest("copy.jsonl");
    let bytes = fs::metadata(lab.path("copy.jsonl")).unwrap().len();
    // Three terminals and two events of it; the seven rows of the others are there, the builds are the file's.
    assert_eq!(
        counts(&again),
        counted([
            ("bytes", bytes),
            ("lines", 15),
            ("builds", 3),
            ("duplicates", 6),
            ("forgotten", 5),
            ("rejected", 1),
            ("repaired", 1),
        ])
    );
    for table in ["runs", "terminals", "attempt_failures", "events"] {
        let of = |contents: &Contents| contents.iter().find(|(name, _)| name == table).unwrap().1.clone();
        assert_eq!(of(&stored(&lab)), of(&expected), "{table}");
    }
    // It goes on in its first file, with something unknown in it that is not kept.
    lines.push(short_terminal(&run_name(2), 7).replace("\"terminal\"", "\"novel\": 1, \"terminal\""));
    lines.push(event(&run_name(2), 7));
    lines.push(short_terminal(&run_name(3), 7));
    lab.write("j.jsonl", journal(&lines));
    let grown = lab.run(&["ingest", "j.jsonl"]).exits(0).says("3 lines, 1 terminal, 2 of forgotten runs");
    assert!(!grown.stderr.contains("novel"), "{}", grown.stderr);
    assert_sound(&lab);
}

/// Letters are build rows of that version, digits rows of the run with that number.
fn letters(rows: &str, rid: &str) -> String {
    rows.chars()
        .enumerate()
        .map(|(at, row)| match row {
            '0'..='9' => terminal(&format!("100{row}-0000000{row}"), &format!("{rid}{at}"), at as f64) + "\n",
            _ => build(&row.to_string()) + "\n",
        })
        .collect()
}

/// Each run's certainty and build version, as `1 exact A`.
fn builds_of_runs(lab: &Lab) -> Vec<String> {
    let rows = lab.rows(
        "select substr(r.run, 4, 1) || ' ' || r.build_certainty || ' ' || coalesce(b.version, '-')
         from runs as r left join builds as b on b.build_id = r.build_id order by r.run",
    );
    rows.into_iter()
        .map(|row| match &row[0] {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?} is not text"),
        })
        .collect()
}

#[test]
fn a_forgotten_run_uses_up_its_build_row_and_no_other() {
    for (first, second, expected) in [
        // It goes on in the file in which it had its build.
        ("A1", "A11B2", vec!["2 exact B"]),
        ("A1", "A1B12", vec!["2 exact B"]),
        // Its build row came after it was missing one: that is the next run's.
        ("1", "1B12", vec!["2 exact B"]),
        ("AB1", "AB12C3", vec!["2 ambiguous -", "3 exact C"]),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", letters(first, "r"));
        lab.ingest("j.jsonl");
        lab.run(&["forget", "--run", "1001-00000001"]).exits(0);
        lab.write("j.jsonl", letters(second, "r"));
        lab.ingest("j.jsonl");
        assert_eq!(builds_of_runs(&lab), expected, "{first} then {second}");
        assert_sound(&lab);
    }
    for (first, second, expected) in [
        // A source in which it was not met: as if it were stored there.
        ("1", "A1B2", vec!["2 exact B"]),
        ("1", "AB1C2", vec!["2 ambiguous -"]),
        // A run that has its build takes none of another file.
        ("A1", "B12", vec!["2 exact B"]),
        ("A1", "1B2", vec!["2 exact B"]),
    ] {
        let lab = Lab::new();
        let never = Lab::new();
        for (lab, forgets) in [(&lab, true), (&never, false)] {
            lab.write("first.jsonl", letters(first, "r"));
            lab.ingest("first.jsonl");
            if forgets {
                lab.run(&["forget", "--run", "1001-00000001"]).exits(0);
            }
            lab.write("second.jsonl", letters(second, "s"));
            lab.ingest("second.jsonl");
        }
        assert_eq!(builds_of_runs(&lab), expected, "{first} then {second}");
        assert_eq!(builds_of_runs(&never)[1..], expected, "{first} then {second}, not forgotten");
        // What it got there is what it has when it comes back.
        lab.run(&["forget", "--undo", "1001-00000001"]).exits(0);
        lab.run(&["ingest", "first.jsonl", "second.jsonl"]).exits(0);
        assert_stored(&lab, &stored(&never), &format!("{first} then {second}, taken back"));
    }
}

#[test]
fn a_run_taken_back_is_as_if_it_had_never_been_forgotten() {
    for of in 1..=3 {
        let never = Lab::new();
        let lab = Lab::new();
        let mut lines = three_runs();
        for lab in [&never, &lab] {
            lab.write("j.jsonl", journal(&lines));
            lab.ingest("j.jsonl");
        }
        lab.run(&["forget", "--run", &run_name(of)]).exits(0);
        let path = lab.path("j.jsonl");
        let undone = lab.run(&["forget", "--undo", &run_name(of)]).exits(0);
        assert!(
            undone.stderr.contains(&format!("run {} comes back when", run_name(of))),
            "{}",
            undone.stderr
        );
        assert!(undone.stderr.contains(&format!("note: {}\n", path.display())), "{}", undone.stderr);
        let status = lab.run(&["status"]).exits(0).stdout;
        assert!(status.contains("to be read again"), "{status}");
        lab.run(&["query", "outcomes", "--run", &run_name(of)]).exits(1).says("which was taken back");
        let again = lab.ingest("j.jsonl");
        assert_eq!(again["files"][0]["resumed_at"], 0);
        assert_eq!(again["total"]["terminals"], [2, 3, 2][of as usize - 1]);
        assert_stored(&lab, &stored(&never), &format!("run {of}"));
        assert_eq!(lab.number("select count(*) from forgotten"), 0);
        assert_eq!(lab.number("select count(*) from rereads"), 0);
        // Clocks and builds go on from there.
        lines.extend([wall_event(&run_name(of), 9), short_terminal(&run_name(of), 9), build("0.8.0")]);
        lines.push(short_terminal(&run_name(4), 9));
        for lab in [&never, &lab] {
            lab.write("j.jsonl", journal(&lines));
            assert_eq!(lab.ingest("j.jsonl")["total"]["duplicates"], 0);
        }
        assert_stored(&lab, &stored(&never), &format!("run {of}, grown"));
        assert_sound(&lab);
    }
}

#[test]
fn a_run_taken_back_comes_with_what_was_written_meanwhile() {
    let never = Lab::new();
    let lab = Lab::new();
    let lines = three_runs();
    for (lab, forgets) in [(&never, false), (&lab, true)] {
        lab.write("j.jsonl", journal(&lines[..8]));
        lab.ingest("j.jsonl");
        if forgets {
            lab.run(&["forget", "--run", &run_name(2)]).exits(0);
            lab.write("j.jsonl", journal(&lines[..11]));
            lab.ingest("j.jsonl");
            lab.run(&["forget", "--undo", &run_name(2)]).exits(0);
        }
        lab.write("j.jsonl", journal(&lines));
        lab.ingest("j.jsonl");
    }
    assert_stored(&lab, &stored(&never), "grown while forgotten");
}

#[test]
fn undo_says_which_journals_are_not_there_any_more() {
    let lab = Lab::new();
    let lines = three_runs();
    lab.write("gone.jsonl", journal(&lines[..5]));
    lab.write("rewritten.jsonl", journal(&lines[3..8]));
    lab.run(&["ingest", "gone.jsonl", "rewritten.jsonl"]).exits(0);
    lab.run_with_stdin(&["ingest", "-"], &journal(&lines[7..])).exits(0);
    lab.run(&["forget", "--run", &run_name(2)]).exits(0);
    fs::remove_file(lab.path("gone.jsonl")).unwrap();
    lab.write("rewritten.jsonl", "something else\n");
    lab.run(&["forget", "--undo", &run_name(2)])
        .exits(0)
        .says(&format!(
            "{}: not there: what stood in it does not come back",
            lab.path("gone.jsonl").display()
        ))
        .says(&format!("{}: other content now", lab.path("rewritten.jsonl").display()))
        .says("standard input: give it the same journal again");
    // What can be read again is, from wherever it comes now.
    let again =
        lab.run_with_stdin(&["ingest", "-", "--format", "json"], &journal(&lines[7..])).exits(0).json();
    assert_eq!(again["total"]["terminals"], 2);
    assert_eq!(again["total"]["events"], 1);
    // A rename does not matter.
    lab.write("moved.jsonl", journal(&lines[..5]));
    assert_eq!(lab.ingest("moved.jsonl")["total"]["terminals"], 1);
    assert_sound(&lab);
}

#[test]
fn a_run_comes_back_from_an_archive_that_was_read_to_its_end() {
    let never = Lab::new();
    let lab = Lab::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&journal(&three_runs())).unwrap();
    let packed = encoder.finish().unwrap();
    for lab in [&never, &lab] {
        lab.write("j.jsonl.gz", &packed);
        lab.ingest("j.jsonl.gz");
    }
    lab.run(&["forget", "--run", &run_name(2)]).exits(0);
    assert_eq!(counts(&lab.ingest("j.jsonl.gz")), counted([]));
    lab.run(&["forget", "--undo", &run_name(2)]).exits(0);
    let status = lab.run(&["status"]).exits(0).stdout;
    assert!(status.contains("to be read again"), "{status}");
    assert_eq!(lab.ingest("j.jsonl.gz")["total"]["terminals"], 3);
    assert_stored(&lab, &stored(&never), "taken back");
    assert_eq!(counts(&lab.ingest("j.jsonl.gz")), counted([]));
    assert_sound(&lab);
    // A kill in the middle of it leaves the place where it was; here that is made by hand.
    lab.run(&["forget", "--run", &run_name(3)]).exits(0);
    lab.run(&["forget", "--undo", &run_name(3)]).exits(0);
    let first_lines = journal(&three_runs()[..4]).len() as u64;
    let writable = Connection::open(lab.path("narwhal.db")).unwrap();
    writable.execute("update rereads set offset_bytes = ?1, lines = 4", [first_lines]).unwrap();
    drop(writable);
    let resumed = lab.ingest("j.jsonl.gz");
    assert_eq!(
        (&resumed["files"][0]["resumed_at"], &resumed["total"]["lines"]),
        (&json!(first_lines), &json!(10))
    );
    assert_stored(&lab, &stored(&never), "taken back from the middle");
}

#[test]
fn a_run_that_waits_for_its_rows_can_be_forgotten_again() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal(&three_runs()));
    lab.ingest("j.jsonl");
    let name = run_name(2);
    lab.run(&["forget", "--run", &name]).exits(0);
    let expected = stored(&lab);
    lab.run(&["forget", "--undo", &name]).exits(0);
    lab.run(&["forget", "--undo", &name]).exits(0);
    lab.run(&["forget", "--run", &name]).exits(0).says("none of its rows had come back");
    // Its sources are read again all the same, to no effect.
    assert_eq!(lab.ingest("j.jsonl")["total"]["forgotten"], 5);
    assert_stored(&lab, &expected, "forgotten again");
    assert_eq!(
        lab.rows("select run, terminals, undone_at from forgotten"),
        [[text(&name), Value::Integer(3), Value::Null]]
    );
    assert_sound(&lab);
}

#[test]
fn the_room_of_a_forgotten_run_is_used_again_or_given_back() {
    let rows = |run: u64| {
        journal(&(0..3000).map(|number| short_terminal(&run_name(run), number)).collect::<Vec<_>>())
    };
    let size = |lab: &Lab| fs::metadata(lab.path("narwhal.db")).unwrap().len();
    let lab = Lab::new();
    for run in 1..=2 {
        lab.write("j.jsonl", rows(run));
        lab.ingest("j.jsonl");
    }
    let full = size(&lab);
    lab.run(&["forget", "--run", &run_name(1)]).exits(0);
    assert_eq!(size(&lab), full);
    // As many rows again: the file grows by little, if at all.
    lab.write("j.jsonl", rows(3));
    lab.ingest("j.jsonl");
    assert!(size(&lab) < full + full / 10, "{} is not about {full}", size(&lab));
    lab.run(&["forget", "--run", &run_name(2), "--vacuum"]).exits(0).says("bytes, before");
    assert!(size(&lab) < full * 65 / 100, "{} is not about half of {full}", size(&lab));
    lab.run(&["forget", "--run", &run_name(3)]).exits(0);
    lab.run(&["forget", "--vacuum"]).exits(0).says("bytes, before");
    // Empty tables and indexes have a page each, and their definitions and what is forgotten some more.
    let pages = lab.number("select count(*) from sqlite_schema where rootpage > 0") + 5;
    let page_size = lab.number("select page_size from pragma_page_size");
    assert!(size(&lab) <= (pages * page_size) as u64, "{} of {full} is left", size(&lab));
    assert!(!lab.path("narwhal.db-wal").exists());
    assert_sound(&lab);
}

#[test]
fn a_forget_killed_at_any_moment_did_all_of_it_or_nothing() {
    const KILLS: u32 = 20;
    let test = "a_forget_killed_at_any_moment";
    let (mut dice, seed) = Dice::of(test);
    let whole = Lab::new();
    whole.write("a.jsonl", long_journal(1, 9_000, 1));
    whole.ingest("a.jsonl");
    let before = stored(&whole);
    let copy = |of: &Lab| {
        let lab = Lab::new();
        fs::copy(of.path("narwhal.db"), lab.path("narwhal.db")).unwrap();
        lab
    };
    let forget = |lab: &Lab| {
        let (first, second) = (run_name(1), run_name(3));
        let mut command = lab.command(&["-q", "forget", "--run", &first, "--run", &second]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let undisturbed = copy(&whole);
    let started = Instant::now();
    assert!(forget(&undisturbed).wait().unwrap().success());
    let taken = started.elapsed();
    let after = stored(&undisturbed);
    let (mut killed, mut done) = (0, 0);
    for kill in 0..KILLS {
        let lab = copy(&whole);
        let moment = taken.mul_f64(1.05 * (f64::from(kill) + dice.share()) / f64::from(KILLS));
        killed += u32::from(kill_after(forget(&lab), moment));
        let what = format!("NARWHAL_JQ_SEED={seed}, kill {kill} after {moment:?} of {taken:?}");
        let forgotten = lab.number("select count(*) from forgotten");
        assert!([0, 2].contains(&forgotten), "{what}: {forgotten}");
        assert_stored(&lab, if forgotten == 0 { &before } else { &after }, &what);
        assert_sound(&lab);
        done += u32::from(forgotten == 2);
    }
    say(&format!("{test}: {killed} of {KILLS} killed before the end, {done} had done it"));
    // On a machine that is busy with other things the moments shift, but not all of them.
    assert!(killed > KILLS / 4 && done < KILLS, "NARWHAL_JQ_SEED={seed}: {killed}, {done}");
}

#[test]
fn a_forget_that_is_interrupted_forgets_nothing_and_says_so() {
    let lab = Lab::new();
    lab.write("a.jsonl", long_journal(1, 9_000, 1));
    lab.ingest("a.jsonl");
    let before = stored(&lab);
    let mut moment = Duration::from_millis(20);
    // A signal may come before it is heeded, or after the end.
    for _ in 0..200 {
        let names = [1, 3].map(run_name);
        let mut command = lab.command(&["forget", "--run", &names[0], "--run", &names[1]]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(moment);
        let kill =
            Command::new("kill").arg("-INT").arg(child.id().to_string()).stderr(Stdio::null()).status();
        kill.unwrap();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(130) => {
                let stderr = String::from_utf8(output.stderr).unwrap();
                assert!(stderr.contains("nothing was forgotten: interrupted"), "{stderr}");
                assert_stored(&lab, &before, "interrupted");
                assert!(!lab.path("narwhal.db-wal").exists());
                assert_sound(&lab);
                return;
            }
            None => moment = moment.mul_f64(1.3),
            Some(code) => {
                assert_eq!(code, 0);
                for name in &names {
                    lab.run(&["forget", "--undo", name]).exits(0);
                }
                lab.ingest("a.jsonl");
                moment = moment.mul_f64(0.8);
            }
        }
    }
    panic!("no signal came while it ran");
}

#[test]
fn reading_again_killed_at_any_moment_goes_on_where_it_stopped() {
    const ROUNDS: u32 = 12;
    let test = "reading_again_killed_at_any_moment";
    let (mut dice, seed) = Dice::of(test);
    let bytes = long_journal(1, 6_000, 4);
    let never = Lab::new();
    never.write("a.jsonl", &bytes);
    never.ingest("a.jsonl");
    let expected = stored(&never);
    let waiting = || {
        let lab = Lab::new();
        fs::copy(never.path("narwhal.db"), lab.path("narwhal.db")).unwrap();
        lab.write("a.jsonl", &bytes);
        for run in 1..=3 {
            lab.run(&["-q", "forget", "--run", &run_name(run)]).exits(0);
        }
        for run in [1, 3] {
            lab.run(&["-q", "forget", "--undo", &run_name(run)]).exits(0);
        }
        lab
    };
    let lab = waiting();
    let started = Instant::now();
    assert!(spawn_ingest(&lab, "a.jsonl").wait().unwrap().success());
    let taken = started.elapsed();
    let (mut killed, mut between_batches) = (0, 0);
    for round in 0..ROUNDS {
        let lab = waiting();
        let what = format!("NARWHAL_JQ_SEED={seed}, round {round}");
        for _ in 0..2 {
            let moment = taken.mul_f64(0.5 * dice.share());
            killed += u32::from(kill_after(spawn_ingest(&lab, "a.jsonl"), moment));
        }
        let read_again = lab.number("select coalesce(max(offset_bytes), 0) from rereads");
        between_batches += u32::from(read_again > 0);
        // Wanted back in the middle of it: the reading begins again.
        if round % 3 == 0 {
            lab.run(&["-q", "forget", "--undo", &run_name(2)]).exits(0);
        }
        let resumed = lab.ingest("a.jsonl");
        let done = read_again == 0 && lab.number("select count(*) from rereads") == 0;
        assert!(done || resumed["files"][0]["resumed_at"] == read_again || round % 3 == 0, "{what}");
        if round % 3 != 0 {
            assert_eq!(lab.number("select count(*) from runs"), 2, "{what}");
            lab.run(&["-q", "forget", "--undo", &run_name(2)]).exits(0);
            assert_eq!(lab.ingest("a.jsonl")["files"][0]["resumed_at"], 0, "{what}");
        }
        assert_stored(&lab, &expected, &what);
        assert_eq!(counts(&lab.ingest("a.jsonl")), counted([]), "{what}");
        assert_sound(&lab);
    }
    say(&format!(
        "{test}: {killed} of {} killed before the end, {between_batches} between two batches",
        2 * ROUNDS
    ));
    assert!(
        killed > ROUNDS / 2 && between_batches > 0,
        "NARWHAL_JQ_SEED={seed}: {killed}, {between_batches}"
    );
}

#[test]
fn a_stream_that_was_open_when_a_run_was_taken_back_leaves_the_reading_again_to_others() {
    let lines = three_runs();
    let never = Lab::new();
    never.write("j.jsonl", journal(&lines));
    never.ingest("j.jsonl");
    let lab = Lab::new();
    // Standard input is told from other sources by 4 KiB.
    let long = |lines: &[String]| [journal(lines), b"\n".repeat(5000)].concat();
    lab.write("j.jsonl", long(&lines));
    lab.ingest("j.jsonl");
    lab.run(&["forget", "--run", &run_name(2)]).exits(0);
    let mut child = lab.command(&["-q", "ingest", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let more = |number| journal(&[short_terminal(&run_name(3), number)]);
    pipe.write_all(&[long(&lines), more(50)].concat()).unwrap();
    let started = Instant::now();
    while lab.number("select count(*) from terminals") < 5 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    lab.run(&["forget", "--undo", &run_name(2)]).exits(0);
    pipe.write_all(&more(51)).unwrap();
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(lab.number("select count(*) from terminals"), 6);
    assert_eq!(lab.rows("select offset_bytes from rereads"), [[Value::Integer(0)]]);
    lab.write("j.jsonl", [long(&lines), more(50), more(51)].concat());
    assert_eq!(lab.ingest("j.jsonl")["total"]["terminals"], 3);
    assert_eq!(lab.number("select count(*) from rereads"), 0);
    assert_eq!(lab.number("select run_rows from sources"), 13);
    assert_sound(&lab);
}

/// Rows of four runs, each with its build row, two of them at a time; with what is torn or mended.
fn random_rows(dice: &mut Dice, rows: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut begun = 0;
    for number in 0..rows {
        if begun < 4 && number * 4 / rows >= begun {
            lines.push(build(["0.5.0", "0.6.0", "0.6.0", "0.7.0"][begun as usize]));
            begun += 1;
        }
        let of = &run_name(begun - dice.below(2.min(begun)));
        lines.push(match dice.below(8) {
            0 => retried_terminal(of, number),
            1 => event(of, number),
            2 => wall_event(of, number),
            3 => format!("{}{}", &short_terminal(of, number)[..80], short_terminal(of, number)),
            4 => short_terminal(of, number).replace("0.25", "NaN"),
            _ => short_terminal(of, number),
        });
    }
    lines
}

#[test]
fn forgotten_and_taken_back_at_any_time_runs_are_as_if_they_never_were() {
    let test = "forgotten_and_taken_back_at_any_time";
    let (mut dice, seed) = Dice::of(test);
    let mut forgets = 0;
    for round in 0..15 {
        let what = format!("NARWHAL_JQ_SEED={seed}, round {round}");
        let rows = random_rows(&mut dice, 40);
        // A journal that is rotated once, and grows by steps.
        let split = dice.below(rows.len() as u64) as usize;
        let (lab, never) = (Lab::new(), Lab::new());
        let mut written = 0;
        while written < rows.len() {
            written = rows.len().min(written + 1 + dice.below(12) as usize);
            for lab in [&lab, &never] {
                lab.write("j.jsonl.1", journal(&rows[..written.min(split)]));
                lab.write("j.jsonl", journal(&rows[written.min(split)..written]));
                lab.run(&["-q", "ingest", "j.jsonl.1", "j.jsonl"]);
            }
            let run = run_name(1 + dice.below(4));
            let verb = ["--run", "--undo"][dice.below(2) as usize];
            forgets += 1 - lab.run(&["-q", "forget", verb, &run]).code;
            lab.run(&["verify"]).exits(0);
        }
        for run in 1..=4 {
            lab.run(&["-q", "forget", "--undo", &run_name(run)]);
        }
        lab.run(&["-q", "ingest", "j.jsonl.1", "j.jsonl"]);
        assert_stored(&lab, &stored(&never), &what);
        assert_sound(&lab);
    }
    say(&format!("{test}: {forgets} times"));
}
