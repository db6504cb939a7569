//! The estimate of each run's wall clock, beside clocks that are known.

use std::process::Command;

use rusqlite::types::Value;

use crate::harness::{Lab, has_program, real_journals, terminal};

const RUN: &str = "1795977936-56e568d1";

#[test]
fn the_bounds_contain_the_true_offset_of_generated_runs() {
    let test = "the wall clock of generated runs";
    let Some(shared) = real_journals(test) else { return };
    if !has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    let status = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args("--rows 20000 --runs 4 --seed 3 --events-per-1k 40 --interleave --manifest".split(' '))
        .arg(lab.path("manifest.json"))
        .arg("--out")
        .arg(lab.path("j.jsonl"))
        .status()
        .unwrap();
    assert!(status.success());
    lab.ingest("j.jsonl");
    let manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(lab.path("manifest.json")).unwrap()).unwrap();
    let rows = lab.rows("select run, wall_offset_s, wall_error_s from runs");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let [Value::Text(run), Value::Real(offset_s), Value::Real(error_s)] = &row[..] else {
            panic!("every run has lifecycle events: {row:?}")
        };
        let truth = manifest["wall_offset_s"][run].as_f64().unwrap();
        // A float near 1.8e9 is good to 2.4e-7 s, and the generator's own sums are floats.
        assert!((truth - offset_s).abs() <= error_s + 1e-6, "{run}: {truth} is not {offset_s} +- {error_s}");
        assert!(*error_s < 1.0, "{run}: the bounds are narrow");
    }
}

#[test]
fn the_bounds_of_real_runs_of_one_host_agree() {
    let Some(shared) = real_journals("the wall clock of real runs") else { return };
    let lab = Lab::new();
    let mut folders: Vec<_> =
        std::fs::read_dir(shared.join("journals")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.is_dir() && !folder.ends_with("0.1.2"));
    let mut arguments = vec!["ingest".to_owned(), "-q".to_owned()];
    arguments.extend(folders.iter().map(|folder| folder.to_str().unwrap().to_owned()));
    lab.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    let found = lab.rows(
        "select count(*), max(wall_low_s) <= min(wall_high_s), max(wall_error_s) < 0.001 from runs
         where wall_low_s is not null",
    );
    assert_eq!(found, [[Value::Integer(9), Value::Integer(1), Value::Integer(1)]]);
    let crossed = lab.number("select count(*) from runs where wall_low_s > wall_high_s");
    assert_eq!(crossed, 0);
}

#[test]
fn bounds_narrow_with_each_event_and_a_stepped_clock_has_no_offset() {
    let row = |rid: &str, arrived: f64, duration_s: f64| {
        terminal(RUN, rid, arrived)
            .replace("\"terminal\"", &format!("\"duration_s\": {duration_s}, \"terminal\""))
    };
    let event = |at: f64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \
             \"event\": \"engine_lifecycle\", \"action\": \"x\", \"at\": {at}}}"
        )
    };
    let lab = Lab::new();
    let offset = |lab: &Lab| lab.rows("select wall_offset_s, wall_error_s from runs").remove(0);
    let real = |offset_s: f64, error_s: f64| [Value::Real(offset_s), Value::Real(error_s)].to_vec();
    let mut journal = String::new();
    let mut grow = |lab: &Lab, line: String| {
        journal.push_str(&line);
        journal.push('\n');
        lab.write("j.jsonl", &journal);
        lab.ingest("j.jsonl");
    };
    // Nothing stands before the first event: it bounds nothing.
    grow(&lab, event(1000.0));
    grow(&lab, row("a", 10.0, 2.0));
    assert_eq!(offset(&lab), [Value::Null, Value::Null]);
    // Written at 12 and 20, the events at 1015 and 1016: 1016 - 20 <= offset <= 1015 - 12.
    grow(&lab, event(1016.0));
    grow(&lab, event(1015.0));
    assert_eq!(offset(&lab), [Value::Null, Value::Null]);
    grow(&lab, row("b", 19.0, 1.0));
    assert_eq!(offset(&lab), real(999.5, 3.5));
    // 1021 - 21 <= offset <= 1021 - 20 narrows it to 1000 to 1001.
    grow(&lab, event(1021.0));
    grow(&lab, row("c", 20.5, 0.5));
    assert_eq!(offset(&lab), real(1000.5, 0.5));
    // A row without a duration has no time of writing, and a duplicate is not written again.
    grow(&lab, event(1023.5));
    grow(&lab, terminal(RUN, "d", 22.0));
    grow(&lab, row("a", 10.0, 2.0));
    assert_eq!(offset(&lab), real(1000.5, 0.5));
    grow(&lab, row("e", 23.0, 0.0));
    assert_eq!(offset(&lab), real(1000.75, 0.25));
    // The clock steps by an hour: no offset fits all events.
    grow(&lab, event(4625.0));
    grow(&lab, row("f", 25.0, 1.0));
    assert_eq!(offset(&lab), [Value::Null, Value::Null]);
    assert_eq!(lab.number("select wall_low_s > wall_high_s from runs"), 1);
    lab.run(&["query", "runs"]).exits(0).says("the wall clock of run 1795977936-56e568d1 was stepped");
    lab.run(&["query", "events", "--run", "last"]).exits(0).says("was stepped");
}
