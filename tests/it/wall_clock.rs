//! The estimate of each run's wall clock, beside clocks that are known.

use std::process::Command;

use rusqlite::types::Value;

use crate::harness::{Lab, has_program, real_journals, set_modified, terminal};

const RUN: &str = "1795977936-56e568d1";

/// A run whose id holds no time.
const TIMELESS: &str = "router-a";

fn row_of(run: &str, rid: &str, arrived: f64, duration_s: f64) -> String {
    terminal(run, rid, arrived)
        .replace("\"terminal\"", &format!("\"duration_s\": {duration_s}, \"terminal\""))
}

fn lifecycle(run: &str, at: f64) -> String {
    format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{run}\", \
         \"event\": \"engine_lifecycle\", \"action\": \"x\", \"at\": {at}}}"
    )
}

/// Offset, error and basis of the only run.
fn estimate(lab: &Lab) -> Vec<Value> {
    lab.rows("select wall_offset_s, wall_error_s, wall_basis from runs").remove(0)
}

fn basis(name: &str) -> Value {
    Value::Text(name.to_owned())
}

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
    let rows = lab.rows("select run, wall_offset_s, wall_error_s, wall_low_s, wall_high_s from runs");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let [
            Value::Text(run),
            Value::Real(offset_s),
            Value::Real(error_s),
            Value::Real(low_s),
            Value::Real(high_s),
        ] = &row[..]
        else {
            panic!("every run has lifecycle events: {row:?}")
        };
        let truth = manifest["wall_offset_s"][run].as_f64().unwrap();
        // A float near 1.8e9 is good to 2.4e-7 s, and the generator's own sums are floats.
        assert!((truth - offset_s).abs() <= error_s + 1e-6, "{run}: {truth} is not {offset_s} +- {error_s}");
        assert!(*low_s <= truth + 1e-6 && truth <= high_s + 1e-6, "{run}: {low_s} to {high_s}");
        assert!(*error_s < 1.0, "{run}: the bounds are narrow");
    }
}

/// Wall clock minus monotonic clock of the host that all real journals come from: by lifecycle events it is
/// known to a millisecond.
fn true_offset_s(lab: &Lab) -> f64 {
    let sql = "select max(wall_lifecycle_low_s), min(wall_lifecycle_high_s), count(*) from runs
         where wall_lifecycle_high_s - wall_lifecycle_low_s < 0.002";
    let [Value::Real(low), Value::Real(high), Value::Integer(9)] = lab.rows(sql).remove(0)[..] else {
        panic!("nine runs have lifecycle events between two rows: {:?}", lab.rows(sql))
    };
    assert!(low <= high, "they agree");
    (low + high) / 2.0
}

/// The real journals, each in a file of its own.
fn real_files(shared: &std::path::Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(shared.join("journals")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.is_dir() && !folder.ends_with("0.1.2"));
    let files =
        folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    files
}

#[test]
fn every_real_run_of_a_file_with_its_time_is_within_three_seconds() {
    let Some(shared) = real_journals("the wall clock of real runs") else { return };
    let files = real_files(&shared);
    let copies = Lab::new();
    for (file, number) in files.iter().zip(0..) {
        copies.write(&format!("{number}.jsonl"), std::fs::read(file).unwrap());
        set_modified(&copies.path(&format!("{number}.jsonl")), 1_796_020_000.5);
    }
    // Copied without their times, they rest on the start where no lifecycle event helps.
    copies.run(&["ingest", "-q", "."]).exits(0);
    let true_s = true_offset_s(&copies);
    let bases = copies.rows("select distinct wall_basis from runs order by 1");
    assert_eq!(bases, [[basis("lifecycle")], [basis("start")]]);
    let off = |lab: &Lab, by: f64| {
        let sql = format!(
            "select count(*) from runs
             where wall_offset_s is null or abs(wall_offset_s - {true_s:?}) > {by}
                 or {true_s:?} not between wall_low_s - 0.001 and coalesce(wall_high_s, 1e308) + 0.001"
        );
        assert_eq!(lab.number(&sql), 0, "{:?}", lab.rows("select * from runs"));
    };
    off(&copies, 3.0);
    let ends = copies.rows(
        "select s.path, max(w.written_s)
         from (
             select source_id, arrived + duration_s as written_s from terminals
             union all select source_id, at from events where clock = 'monotonic'
         ) as w
         join sources as s on s.source_id = w.source_id group by s.source_id",
    );
    assert_eq!(ends.len(), files.len());
    let kept = Lab::new();
    for end in ends {
        let [Value::Text(path), Value::Real(written_s)] = &end[..] else { panic!("{end:?}") };
        let name = std::path::Path::new(path).file_name().unwrap().to_str().unwrap();
        kept.write(name, std::fs::read(path).unwrap());
        set_modified(&kept.path(name), true_s + written_s + 0.001);
    }
    kept.run(&["ingest", "-q", "."]).exits(0);
    off(&kept, 3.0);
    assert!(kept.number("select count(*) from runs where wall_basis = 'start+file'") > 10);
}

#[test]
fn a_copy_rests_on_the_start_and_a_file_from_before_does_no_harm() {
    let journal = [row_of(RUN, "a", 10.0, 2.0), row_of(RUN, "b", 100.0, 1.0)].join("\n") + "\n";
    let started_s = 1_795_977_936.0;
    // The process began 4 s before its first row, which ended at its 6th second.
    let true_s = started_s + 4.5 - 10.0;
    let read = |modified_s: f64| {
        let lab = Lab::new();
        lab.write("j.jsonl", &journal);
        set_modified(&lab.path("j.jsonl"), modified_s);
        let run = lab.run(&["ingest", "j.jsonl"]).exits(0);
        (lab, run)
    };
    let (lab, run) = read(true_s + 101.0);
    let [Value::Real(offset_s), Value::Real(error_s), Value::Text(on)] = &estimate(&lab)[..] else {
        panic!()
    };
    assert_eq!(on, "start+file");
    assert!((offset_s - true_s).abs() <= *error_s && *error_s < 2.3, "{offset_s} +- {error_s}");
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);

    let on_start = [Value::Real(started_s - 10.0), Value::Null, basis("start")];
    let (lab, run) = read(true_s + 101.0 + 3600.0);
    assert_eq!(estimate(&lab), on_start);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let (lab, _) = read(4e9);
    assert_eq!(estimate(&lab), on_start, "from the future: read now");

    let (lab, run) = read(started_s - 3600.0);
    assert_eq!(estimate(&lab), on_start);
    let said = format!("warning: run {RUN}: the file it was read from is older than its rows");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    // It is said once.
    lab.write("j.jsonl", journal.clone() + &row_of(RUN, "c", 102.0, 1.0) + "\n");
    set_modified(&lab.path("j.jsonl"), started_s - 3600.0);
    let again = lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert!(!again.stderr.contains("warning"), "{}", again.stderr);
    assert_eq!(estimate(&lab), on_start);
}

#[test]
fn a_start_that_contradicts_the_events_is_dropped() {
    // Wall clock minus monotonic clock is 1000, but the id is of 2026.
    let lab = Lab::new();
    let lines = [row_of(RUN, "a", 10.0, 2.0), lifecycle(RUN, 1030.0), row_of(RUN, "b", 51.0, 1.0)];
    lab.write("j.jsonl", lines.join("\n") + "\n");
    lab.run(&["ingest", "j.jsonl"]).exits(0).says("its lifecycle events contradict the start in its id");
    // 1030 - 52 <= offset <= 1030 - 12: wide, but all there is.
    assert_eq!(estimate(&lab), [Value::Real(998.0), Value::Real(20.0), basis("lifecycle")]);
}

#[test]
fn events_stand_between_the_rows_around_them() {
    let unknown = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{TIMELESS}\", \"event\": \"brand_new\", \"at\": 3}}"
    );
    let lines = [
        // Before any row; the second is the run's zero at most.
        unknown.clone(),
        lifecycle(TIMELESS, 1005.0),
        row_of(TIMELESS, "a", 10.0, 2.0),
        lifecycle(TIMELESS, 1011.0),
        unknown.replace("3}", "4}"),
        lifecycle(TIMELESS, 1015.0),
        row_of(TIMELESS, "b", 15.0, 1.0),
        // A row without a duration has no time of writing.
        terminal(TIMELESS, "c", 8.0),
        lifecycle(TIMELESS, 1017.0),
        unknown.replace("3}", "5}"),
    ];
    let places = |lab: &Lab| -> Vec<Value> {
        lab.rows("select place_s from events order by byte_offset").into_iter().flatten().collect()
    };
    // 1015 - 16 <= offset <= 1011 - 12: the clock is 999 ahead.
    let expected = [8.0, 6.0, 12.0, 12.0, 16.0, 18.0, 16.0].map(Value::Real);
    let at_once = Lab::new();
    at_once.write("j.jsonl", lines.join("\n") + "\n");
    at_once.ingest("j.jsonl");
    assert_eq!(places(&at_once), expected);
    let by_line = Lab::new();
    for end in 1..=lines.len() {
        by_line.write("j.jsonl", lines[..end].join("\n") + "\n");
        by_line.ingest("j.jsonl");
        let without = by_line.number(
            "select count(*) from events join runs using (run_id) where place_s is null and first_s is not null",
        );
        assert_eq!(without, 0, "after {end} lines");
    }
    assert_eq!(places(&by_line), expected);
    crate::harness::assert_same_contents(&by_line, &at_once, "line by line");
    let rel: Vec<Value> =
        at_once.rows("select rel_s from timeline order by byte_offset").into_iter().flatten().collect();
    let [zero, four, eight, ten] = [0.0, 4.0, 8.0, 10.0].map(Value::Real);
    assert_eq!(rel, [Value::Null, zero, four, Value::Null, eight, ten, Value::Null]);
}

#[test]
fn bounds_narrow_with_each_event_and_a_stepped_clock_has_no_offset() {
    let row = |rid: &str, arrived: f64, duration_s: f64| row_of(TIMELESS, rid, arrived, duration_s);
    let event = |at: f64| lifecycle(TIMELESS, at);
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
    grow(&lab, terminal(TIMELESS, "d", 22.0));
    grow(&lab, row("a", 10.0, 2.0));
    assert_eq!(offset(&lab), real(1000.5, 0.5));
    grow(&lab, row("e", 23.0, 0.0));
    assert_eq!(offset(&lab), real(1000.75, 0.25));
    // The clock steps by an hour: no offset fits all events.
    grow(&lab, event(4625.0));
    grow(&lab, row("f", 25.0, 1.0));
    assert_eq!(offset(&lab), [Value::Null, Value::Null]);
    assert_eq!(lab.number("select wall_lifecycle_low_s > wall_lifecycle_high_s from runs"), 1);
    assert_eq!(lab.rows("select wall_low_s, wall_high_s from runs"), [[Value::Null, Value::Null]]);
    lab.run(&["query", "runs"]).exits(0).says("the wall clock of run router-a was stepped");
    lab.run(&["query", "events", "--run", "last"]).exits(0).says("was stepped");
}
