//! What ingest stores and says, and what it refuses without touching anything.

use std::os::unix::fs::symlink;

use narwhal_jq::journal::declare::{Declared, Field, Shape};
use narwhal_jq::journal::terminal::Terminal;
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::json;

use crate::harness::{Lab, assert_same_contents, build, fixture, terminal};

const RUN: &str = "1795977936-56e568d1";

fn journal() -> String {
    format!("{}\n{}\n\n{}\n", build("0.7.0"), terminal(RUN, "a", 1.5), terminal(RUN, "b", 2.5))
}

#[test]
fn the_summary_has_exactly_these_keys_and_counts_what_this_call_did() {
    let lab = Lab::new();
    let whole = journal();
    lab.write("j.jsonl", format!("{whole}nonsense\n{}\n{{\"sch", terminal(RUN, "a", 1.5)));
    let mut summary = lab.ingest("j.jsonl");
    let seconds = summary.as_object_mut().unwrap().remove("seconds").unwrap();
    assert!(seconds.as_f64().unwrap() > 0.0);
    let bytes = whole.len() + "nonsense\n".len() + terminal(RUN, "a", 1.5).len() + 1;
    let counters = json!({
        "bytes": bytes, "lines": 6, "builds": 1, "terminals": 2, "attempt_failures": 0, "events": 0,
        "duplicates": 1, "rejected": 1, "repaired": 0, "forgotten": 0, "pending_bytes": 5
    });
    let mut file = counters.clone();
    file["path"] = json!("j.jsonl");
    file["resumed_at"] = json!(0);
    assert_eq!(summary, json!({"files": [file], "total": counters}));

    let again = lab.ingest("j.jsonl");
    assert_eq!(again["files"][0]["resumed_at"], bytes);
    assert_eq!((&again["total"]["lines"], &again["total"]["pending_bytes"]), (&json!(0), &json!(5)));
}

#[test]
fn the_text_summary_goes_to_stderr_and_quiet_leaves_errors() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal() + "nonsense\n");
    let run = lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert_eq!(run.stdout, "");
    let expected = "j.jsonl: 5 lines, 1 build, 2 terminals, 1 rejected\n";
    assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    let lab = Lab::new();
    lab.write("j.jsonl", journal() + "nonsense\n");
    let run = lab.run(&["ingest", "j.jsonl", "missing.jsonl", "-q"]).exits(1);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("", "error: cannot read missing.jsonl: No such file or directory (os error 2)\n")
    );
    assert_eq!(lab.number("select count(*) from terminals"), 2, "the others are ingested");
}

#[test]
fn an_unfinished_last_line_waits_and_final_takes_it() {
    let lab = Lab::new();
    let last = terminal(RUN, "c", 3.5);
    lab.write("j.jsonl", journal() + &last);
    lab.run(&["ingest", "j.jsonl"])
        .exits(0)
        .says(&format!("{} bytes of an unfinished line wait", last.len()));
    assert_eq!(lab.number("select count(*) from terminals"), 2);
    lab.run(&["ingest", "j.jsonl"])
        .exits(0)
        .says(&format!("nothing new; {} bytes of an unfinished line wait", last.len()));
    lab.run(&["ingest", "--final", "j.jsonl"]).exits(0);
    assert_eq!(lab.number("select count(*) from terminals"), 3);
}

#[test]
fn standard_input_is_complete_when_it_ends_and_known_by_its_content() {
    let lab = Lab::new();
    let whole = journal() + &terminal(RUN, "c", 3.5);
    let summary = lab.run_with_stdin(&["ingest", "-", "--format", "json"], whole.as_bytes()).exits(0).json();
    assert_eq!(summary["total"]["terminals"], 3);
    let again = lab.run_with_stdin(&["ingest", "-", "--format", "json"], whole.as_bytes()).exits(0).json();
    assert_eq!(again["files"][0]["resumed_at"], whole.len());
    assert_eq!(again["total"]["lines"], 0);
    let more = format!("{whole}\n{}\n", terminal(RUN, "d", 4.5));
    let more = lab.run_with_stdin(&["ingest", "-", "--format", "json"], more.as_bytes()).exits(0).json();
    assert_eq!((&more["total"]["terminals"], &more["total"]["duplicates"]), (&json!(1), &json!(0)));
    assert_eq!(lab.number("select count(*) from sources"), 1);
}

#[test]
fn a_folder_gives_its_journals_oldest_first_and_names_what_it_skips() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("logs")).unwrap();
    std::fs::create_dir(lab.path("logs/deeper.jsonl")).unwrap();
    lab.write("logs/j.jsonl", terminal(RUN, "c", 3.5) + "\n");
    lab.write("logs/j.jsonl.1", terminal(RUN, "b", 2.5) + "\n");
    lab.write("logs/j.jsonl.2", journal());
    lab.write("logs/notes.txt", "not a journal\n");
    lab.write("logs/j.jsonl.3.bz2", "not read");
    let run = lab
        .run(&["ingest", "logs", "--format", "json"])
        .exits(0)
        .says("note: 2 files skipped, not journals by their names: logs/j.jsonl.3.bz2, logs/notes.txt\n");
    let summary = run.json();
    let paths: Vec<_> =
        summary["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["logs/j.jsonl.2", "logs/j.jsonl.1", "logs/j.jsonl"]);
    assert_eq!((&summary["total"]["terminals"], &summary["total"]["duplicates"]), (&json!(3), &json!(1)));
    assert_eq!(lab.rows("select distinct build_certainty from runs"), [[Value::Text("exact".to_owned())]]);
}

#[test]
fn journals_of_one_call_give_the_database_of_one_call_each() {
    let (together, apart) = (Lab::new(), Lab::new());
    let names = ["0.2.1-takeover.jsonl", "0.7.0-mixed-part.jsonl", "0.2.1-takeover.jsonl", "j.jsonl"];
    for lab in [&together, &apart] {
        for name in &names[..2] {
            lab.write(name, fixture(name));
        }
        lab.write("j.jsonl", journal());
    }
    together.run(&[&["ingest"][..], &names].concat()).exits(0);
    for name in names {
        apart.run(&["ingest", name]).exits(0);
    }
    assert_same_contents(&together, &apart, "one call and four");
    assert!(together.number("select count(*) from terminals") > 2);
}

#[test]
fn a_file_without_one_journal_row_fails_and_its_lines_are_in_rejects() {
    let lab = Lab::new();
    let old = fixture("0.1.2-mixed-head.jsonl");
    let lines = old.iter().filter(|byte| **byte == b'\n').count();
    lab.write("old.jsonl", &old);
    lab.write("j.jsonl", journal());
    for time in ["first", "again"] {
        lab.run(&["ingest", "old.jsonl", "j.jsonl"])
            .exits(1)
            .says("error: old.jsonl: not one line is a journal row: `narwhal-jq rejects` lists them");
        assert_eq!(lab.number("select count(*) from rejects") as usize, lines, "{time}");
        assert_eq!(lab.number("select count(*) from terminals"), 2, "{time}");
    }
    let reasons = lab.rows("select distinct reason from rejects order by reason");
    let text =
        |what: &str| [Value::Text(format!("no schema: {what} of a release before 0.2, or of no journal"))];
    assert_eq!(reasons, [text("a build row"), text("a row")]);
}

#[test]
fn an_empty_file_is_a_note_and_makes_no_database() {
    let lab = Lab::new();
    lab.write("empty.jsonl", "");
    lab.write("torn.jsonl", "{\"schema\": ");
    lab.run(&["ingest", "empty.jsonl", "torn.jsonl"]).exits(0).says("note: empty.jsonl: empty\n");
    assert!(!lab.path("narwhal.db").exists());
}

#[test]
fn what_cannot_be_read_is_said_and_makes_no_database() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("none")).unwrap();
    lab.write("none/notes.txt", "x");
    lab.write("j.jsonl.bz2", "BZh91AY&SY");
    for (path, message) in [
        ("missing.jsonl", "error: cannot read missing.jsonl: No such file or directory"),
        ("none", "error: no journal in the folder none: looked for *.jsonl, "),
        (
            "j.jsonl.bz2",
            "error: cannot read j.jsonl.bz2: it is packed with bzip2, which is not read: give `bzcat",
        ),
    ] {
        lab.run(&["ingest", path]).exits(1).says(message);
    }
    lab.run(&["ingest"]).exits(2).says("narwhal-jq ingest PATH");
    assert!(!lab.path("narwhal.db").exists());
}

#[test]
fn an_empty_database_file_is_filled() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.write("narwhal.db", "");
    lab.run(&["query", "runs"])
        .exits(1)
        .says("error: the database is empty: `narwhal-jq ingest JOURNAL` fills it");
    lab.ingest("j.jsonl");
    assert_eq!(lab.number("select count(*) from terminals"), 2);
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    let emptied = Connection::open(lab.path("narwhal.db")).unwrap();
    emptied.execute_batch("create table t (x); drop table t").unwrap();
    drop(emptied);
    lab.ingest("j.jsonl");
    assert_eq!(lab.number("select count(*) from terminals"), 2);
}

#[test]
fn a_second_ingest_gets_its_turn_while_a_long_one_runs() {
    // More batches than the second could sit out, were it not let in between them.
    let lab = Lab::new();
    let rows: String =
        (0..400_000).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    lab.write("long.jsonl", rows);
    lab.write("short.jsonl", journal());
    lab.ingest("short.jsonl");
    lab.write("more.jsonl", terminal("1-2", "x", 1.0) + "\n");
    let mut long = lab.command(&["ingest", "-q", "long.jsonl"]).spawn().unwrap();
    let began = std::time::Instant::now();
    while lab.number("select count(*) from sources") < 2 {
        assert!(began.elapsed().as_secs() < 60, "the long ingest commits its first batch");
        std::thread::yield_now();
    }
    lab.run(&["ingest", "more.jsonl"]).exits(0);
    let is_running = long.try_wait().unwrap().is_none();
    assert!(long.wait().unwrap().success());
    assert_eq!(lab.number("select count(*) from terminals"), 400_003);
    assert!(is_running, "the second ended while the long one was still running");
}

#[test]
fn nothing_but_ingest_and_slo_set_makes_a_database() {
    let lab = Lab::new();
    for arguments in [
        &["query", "runs"][..],
        &["sql", "select 1"],
        &["status"],
        &["verify"],
        &["rejects"],
        &["slo", "show"],
        &["slo", "clear"],
        &["export", "journal", "--dir", "out"],
    ] {
        lab.run(arguments).exits(1).says(
            "error: no database at narwhal.db: `narwhal-jq ingest JOURNAL` makes one, `--db PATH` names another",
        );
        assert!(!lab.path("narwhal.db").exists() && !lab.path("out").exists(), "{arguments:?}");
    }
    lab.run(&["query"]).exits(0);
    lab.run(&["--version"]).exits(0);
}

#[test]
fn a_file_that_is_no_database_of_ours_is_refused_untouched() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    let other = lab.path("other.db");
    Connection::open(&other).unwrap().execute_batch("create table t (x)").unwrap();
    let text =
        lab.write("text.db", "this is not a database, but it is long enough to look like one\n".repeat(40));
    for (path, message) in [
        (&other, "is a SQLite database, but none of narwhal-jq"),
        (&text, "is not a database: `--db PATH` names another"),
    ] {
        let before = std::fs::read(path).unwrap();
        let name = path.to_str().unwrap();
        for arguments in
            [&["ingest", "j.jsonl"][..], &["query", "runs"], &["slo", "set", "--ttft", "1", "--tpot", "1"]]
        {
            lab.run(&[arguments, &["--db", name]].concat()).exits(1).says(message);
        }
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    let files = std::fs::read_dir(lab.path("")).unwrap().count();
    assert_eq!(files, 3, "no file was left beside them");
}

#[test]
fn a_database_of_a_newer_version_is_refused_untouched() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.ingest("j.jsonl");
    lab.write("more.jsonl", terminal("1-2", "x", 1.0) + "\n");
    let writable = Connection::open(lab.path("narwhal.db")).unwrap();
    writable.pragma_update(None, "user_version", 99).unwrap();
    drop(writable);
    let before = std::fs::read(lab.path("narwhal.db")).unwrap();
    for arguments in [&["ingest", "more.jsonl"][..], &["query", "runs"], &["status"], &["slo", "clear"]] {
        lab.run(arguments).exits(5).says("has schema 99, made by a newer narwhal-jq");
    }
    assert_eq!(std::fs::read(lab.path("narwhal.db")).unwrap(), before);
}

#[test]
fn a_database_that_stays_busy_ends_with_its_own_code_and_nothing_half_done() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.ingest("j.jsonl");
    lab.write("more.jsonl", terminal("1-2", "x", 1.0) + "\n");
    let holder = Connection::open(lab.path("narwhal.db")).unwrap();
    holder.execute_batch("begin immediate; insert into slos values ('x', 1, 1, 'now')").unwrap();
    lab.run(&["ingest", "more.jsonl", "--busy-timeout", "0.1"]).exits(4).says("is busy: another process");
    holder.execute_batch("rollback").unwrap();
    drop(holder);
    lab.ingest("more.jsonl");
    assert_eq!(lab.number("select count(*) from terminals"), 3);
}

#[test]
fn a_run_knows_its_start_its_span_and_moves_them_when_rows_come() {
    let lab = Lab::new();
    let failed = terminal(RUN, "b", 50.0).replace(
        "\"terminal\"",
        "\"duration_s\": 4.5, \"attempt_failures\": [{\"at\": 55.25}, {\"at\": 49.0}], \"terminal\"",
    );
    let event = |name: &str, at: f64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"{name}\", \"at\": {at}}}\n"
        )
    };
    lab.write("j.jsonl", format!("{failed}\n{}{}", event("engine_lifecycle", 1.8e9), event("warp", 2.0)));
    lab.ingest("j.jsonl");
    let span = |first: f64, last: f64| {
        [[Value::Text("2026-11-29T18:45:36Z".to_owned()), Value::Real(first), Value::Real(last)]]
    };
    let sql = "select started_at, first_s, last_s from runs";
    assert_eq!(lab.rows(sql), span(49.0, 55.25), "failures count, wall and unknown clocks do not");
    lab.write("k.jsonl", event("engine_ejected", 40.5) + &event("below_floor", 60.5));
    lab.ingest("k.jsonl");
    assert_eq!(lab.rows(sql), span(40.5, 60.5));
}

#[test]
fn every_column_that_the_writer_fills_is_a_column_of_its_table() {
    // The table as SQLite reports it, against the fields of a row that has every one.
    let lab = Lab::new();
    fn row_of(fields: &'static [Field]) -> serde_json::Map<String, serde_json::Value> {
        let value = |field: &Field| match field.shape {
            Shape::Text => json!("t"),
            Shape::Int | Shape::Real => json!(1),
            Shape::Flag => json!(true),
            Shape::Object => json!({"p0": 3, "p1": 9}),
            Shape::Array => json!([]),
            Shape::Part => row_of(field.fields).into(),
            Shape::Entries => json!([row_of(field.fields)]),
        };
        fields.iter().map(|field| (field.name.to_owned(), value(field))).collect()
    }
    let mut row = row_of(Terminal::FIELDS);
    row.insert("schema".to_owned(), "narwhal.journal".into());
    row.insert("run".to_owned(), RUN.into());
    lab.write("j.jsonl", serde_json::Value::Object(row).to_string() + "\n");
    lab.ingest("j.jsonl");
    for table in ["terminals", "attempt_failures"] {
        let database = lab.database();
        let mut columns =
            database.prepare("select name from pragma_table_info(?1) where name <> 'extra'").unwrap();
        let columns: Vec<String> =
            columns.query_map(params![table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(columns.len() > 15, "{table}");
        for column in columns {
            let filled = lab.number(&format!("select count(\"{column}\") from {table}"));
            assert_eq!(filled, 1, "{table}.{column} is null though the row has the field");
        }
        assert_eq!(lab.number(&format!("select count(extra) from {table}")), 0, "every field has a column");
    }
    assert_eq!(lab.number("select cached_tokens_max from terminals"), 9);
}

#[test]
fn a_symlink_and_a_copy_are_the_same_source() {
    let lab = Lab::new();
    lab.write("j.jsonl", journal());
    lab.write("copy.jsonl", journal());
    symlink(lab.path("j.jsonl"), lab.path("link.jsonl")).unwrap();
    let summary =
        lab.run(&["ingest", "j.jsonl", "link.jsonl", "copy.jsonl", "--format", "json"]).exits(0).json();
    assert_eq!((&summary["total"]["terminals"], &summary["total"]["duplicates"]), (&json!(2), &json!(0)));
    assert_eq!(lab.number("select count(*) from sources"), 1);
}

#[test]
fn status_says_how_far_each_file_was_read_and_rejects_list_what_was_not() {
    let lab = Lab::new();
    let path = lab.write("j.jsonl", journal() + "nonsense\n");
    let whole = std::fs::metadata(&path).unwrap().len();
    lab.ingest("j.jsonl");
    lab.write("j.jsonl", journal() + "nonsense\n{\"unfinished");
    let status = lab.run(&["status"]).exits(0).stdout;
    let fields = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let schema = format!("schema {}", narwhal_jq::store::schema::LATEST);
    for expected in [&*schema, "runs 1", "builds 1", "terminals 2", "events 0", "rejected 1", "repaired 0"] {
        assert!(status.lines().any(|line| fields(line).join(" ") == expected), "{expected}\n{status}");
    }
    let shown = lab.path("j.jsonl").display().to_string();
    let last = fields(status.lines().last().unwrap());
    assert_eq!(last, [shown.as_str(), &whole.to_string(), "5", "12", "behind"], "{status}");
    let rejects = lab.run(&["rejects", "--format", "json"]).exits(0).json();
    let place = format!("{shown}:5:{}", journal().len());
    assert_eq!((&rejects[0]["place"], &rejects[0]["raw"]), (&json!(place), &json!("nonsense")));
    assert_eq!(lab.run(&["rejects", "list", "--format", "json"]).exits(0).json(), rejects);

    lab.write("j.jsonl", "other content, longer than before: ".repeat(50));
    assert!(lab.run(&["status"]).exits(0).stdout.ends_with("other content now\n"));
    lab.run(&["verify"]).exits(0).says("j.jsonl: other content now");
    std::fs::remove_file(&path).unwrap();
    assert!(lab.run(&["status"]).exits(0).stdout.ends_with("not there\n"));
}
