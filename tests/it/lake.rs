//! A lake: rows as Parquet that other readers find equal, the same bytes twice, days in whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Lab, fixture, has_program, project, skip};

/// Journals with builds, retries and events of every clock, and what the ids of their runs begin with instead of
/// `179597`: three days, and runs whose start is not known.
const FIXTURES: [(&str, &str); 4] = [
    ("0.2.1-takeover.jsonl", "179577"),
    ("0.6.0-takeover.jsonl", "179587"),
    ("0.7.0-full.jsonl", "179597"),
    ("0.7.0-killed.jsonl", "x"),
];

const DAYS: i64 = 4;

/// A lab whose database holds them.
fn loaded() -> Lab {
    let lab = Lab::new();
    for (name, begin) in FIXTURES {
        let text = String::from_utf8(fixture(name)).unwrap();
        let text = text.replace("\"run\": \"179597", &format!("\"run\": \"{begin}"));
        lab.write(name, text);
        lab.ingest(name);
    }
    assert_eq!(
        lab.number("select count(distinct coalesce(substr(started_at, 1, 10), 'unknown')) from runs"),
        DAYS
    );
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab
}

/// The files of a lake with their bytes.
fn files(lake: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![lake.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(lake).unwrap().to_string_lossy().into_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Whether Python has what reads a lake.
#[track_caller]
fn has_readers(test: &str) -> bool {
    if !has_program(test, "python3") {
        return false;
    }
    let found = Command::new("python3").args(["-c", "import duckdb, pandas, pyarrow"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    skip(test, "python3 has no duckdb, pandas or pyarrow");
    false
}

/// Asserts that other readers find the rows of the database in a lake.
#[track_caller]
fn assert_equal_rows(lab: &Lab, lake: &str) {
    let output = Command::new("python3")
        .arg(project().join("tests/lake/rows.py"))
        .args([lab.path("narwhal.db"), lab.path(lake)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 7, "{said}");
}

#[test]
fn rows_of_every_table_are_equal_and_of_the_right_type_in_duckdb_and_pandas() {
    if !has_readers("rows_of_every_table_are_equal") {
        return;
    }
    let lab = loaded();
    lab.run(&["export", "lake", "--dir", "lake"]).exits(0);
    assert_equal_rows(&lab, "lake");
}

#[test]
fn the_same_rows_give_the_same_bytes_and_a_second_call_writes_nothing() {
    let lab = loaded();
    lab.run(&["export", "lake", "--dir", "one"]).exits(0);
    lab.run(&["export", "lake", "--dir", "other"]).exits(0);
    let one = files(&lab.path("one"));
    assert!(one.len() > 10, "{:?}", one.keys());
    assert_eq!(one, files(&lab.path("other")));
    let written = |name: &str| fs::metadata(lab.path(&format!("one/{name}"))).unwrap().modified().unwrap();
    let before: Vec<_> = one.keys().map(|name| written(name)).collect();
    lab.run(&["export", "lake", "--dir", "one"]).exits(0).says(&format!("{DAYS} days unchanged"));
    assert_eq!(before, one.keys().map(|name| written(name)).collect::<Vec<_>>());
    assert_eq!(one, files(&lab.path("one")));
}
