//! Text that moves cursors, hides other text, breaks lines, runs as a formula or is a megabyte long, in
//! every field that the world outside fills: shown escaped and cut, written whole where programs read.

use serde_json::{Value, json};

use crate::harness::Lab;

const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{8}";
const REORDERING: &str = "\u{202e}drow\u{2066}\u{200f}\u{61c}";
const LINES: &str = "one\ntwo\u{2028}three\u{85}four";
const FORMULA: &str = "=HYPERLINK(\"http://evil\",\"x\")";

fn short_texts() -> Vec<String> {
    [ESCAPES, REORDERING, LINES, FORMULA].map(str::to_owned).to_vec()
}

fn long_text() -> String {
    format!("{}{ESCAPES}", "m".repeat(1 << 20))
}

fn all_texts() -> Vec<String> {
    [short_texts(), vec![long_text()]].concat()
}

/// Rows with the text in every field: names, engines and the error whole, the others up to a length that
/// lets the line be read.
fn row(number: usize, text: &str) -> String {
    let part: String = text.chars().take(1000).collect();
    let row = json!({
        "schema": "narwhal.journal", "schema_version": 1, "run": format!("1795977782-{text}"),
        "rid": format!("{number}-{text}"), "client_rid": text, "arrived": 1.5, "ttft_s": 0.5, "tpot_s": 0.01,
        "output_len": 3, "duration_s": 1.0, "attempts": 2, "decode_attempts": 1, "prefill_iid": text,
        "decode_iid": text, "cached_tokens": {&part: 3}, "error": text, "error_type": part, "reason": part,
        "terminal": "completed", "unknown": {&part: part},
        "attempt_failures": [{
            "at": 1.6, "attempt": 1, "phase": "prefill", "reason": part, "prefill_iid": text,
            "error_type": part, "error_message": part, "retry_scheduled": true, "retry_reason": part,
        }],
    });
    let event = json!({
        "schema": "narwhal.journal", "schema_version": 1, "run": format!("1795977782-{text}"), "event": text,
        "at": 2.0, "iid": text, "reason": part,
    });
    // The same identity with another value is a conflict: its message and its raw line are shown, too.
    let conflict = json!({
        "schema": "narwhal.journal", "schema_version": 1, "run": format!("1795977782-{text}"),
        "rid": format!("{number}-{text}"), "client_rid": text, "arrived": 1.5, "terminal": part,
    });
    format!("{row}\n{event}\n{conflict}\n")
}

fn lab(texts: &[String]) -> Lab {
    let lab = Lab::new();
    let rows: Vec<String> = texts.iter().enumerate().map(|(number, text)| row(number, text)).collect();
    lab.write("j.jsonl", rows.concat());
    let run = lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert_shown_safely(&run.stderr, "ingest");
    lab
}

fn assert_shown_safely(shown: &str, what: &str) {
    let hostile = shown.chars().find(|c| *c != '\n' && narwhal_jq::text::is_hostile(*c));
    assert_eq!(hostile, None, "{what}");
    let longest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(longest < 20_000, "{what}: a line of {longest} characters");
}

#[test]
fn hostile_text_is_escaped_and_cut_in_every_table_and_message() {
    let lab = lab(&short_texts());
    let targets = ["--ttft", "2", "--tpot", "0.1"];
    for query in narwhal_jq::query::catalog::shipped().unwrap() {
        let mut arguments = vec!["query", query.name.as_str()];
        if query.parameters.iter().any(|parameter| parameter.name == "ttft") {
            arguments.extend(targets);
        }
        let run = lab.run(&arguments).exits(0);
        assert_shown_safely(&run.stdout, &query.name);
        assert_shown_safely(&run.stderr, &query.name);
    }
    for arguments in [
        &["status"][..],
        &["rejects"],
        &["verify"],
        &["sql", "select * from terminals, attempt_failures, events"],
        &["sql", "select * from rejects", "--format", "markdown"],
    ] {
        let run = lab.run(arguments).exits(0);
        assert_shown_safely(&run.stdout, arguments[0]);
    }
    for text in &short_texts() {
        let run = lab.run(&["show", text]).exits(0);
        assert_shown_safely(&run.stdout, "show");
        let run = lab.run(&["query", "outcomes", "--run", &format!("none-{text}")]).exits(1);
        assert_shown_safely(&run.stderr, "an unknown run");
        let run = lab.run(&["ingest", text]).exits(1);
        assert_shown_safely(&run.stderr, "a missing file");
    }
}

#[test]
fn a_name_of_a_megabyte_is_cut_where_it_is_shown() {
    let lab = lab(&[long_text()]);
    for query in ["runs", "requests", "engine-failures", "events", "failure-causes"] {
        let run = lab.run(&["query", query]).exits(0);
        assert!(run.stdout.contains("mmm…"), "{query}");
        assert_shown_safely(&run.stdout, query);
    }
    for arguments in [&["rejects"][..], &["status"], &["show", "0-mmm"]] {
        assert_shown_safely(&lab.run(arguments).exits(0).stdout, arguments[0]);
    }
}

#[test]
fn hostile_text_is_whole_where_programs_read_it() {
    let texts = all_texts();
    let lab = lab(&texts);
    let sql = "select client_rid, prefill_iid, error from requests order by rid";
    let answer = lab.run(&["sql", sql, "--format", "json"]).exits(0);
    assert!(answer.stdout.chars().all(|c| c == '\n' || !narwhal_jq::text::is_hostile(c)), "escaped in JSON");
    let expected: Vec<Value> =
        texts.iter().map(|text| json!({"client_rid": text, "prefill_iid": text, "error": text})).collect();
    assert_eq!(answer.json(), Value::from(expected));

    lab.run(&["sql", sql, "--format", "csv", "-o", "answer.csv"]).exits(0);
    let mut reader = csv::Reader::from_path(lab.path("answer.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), texts.len());
    for (row, text) in rows.iter().zip(&texts) {
        assert!(row.iter().all(|cell| cell == text), "{:?}", row[0].chars().take(80).collect::<String>());
    }
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let again = Lab::new();
    again.write("j.jsonl", std::fs::read(lab.path("out/journal.jsonl")).unwrap());
    again.run(&["ingest", "j.jsonl"]).exits(0);
    let all = "select * from requests order by rid";
    let without_place = |mut rows: Vec<Vec<rusqlite::types::Value>>| {
        // Terminal, run and source keys, and the place in the file.
        rows.iter_mut().for_each(|row| drop(row.drain(4..8)));
        rows
    };
    assert_eq!(without_place(lab.rows(all)), without_place(again.rows(all)));
}
