//! The journals that are here, read plainly: with serde_json and nothing of the program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness;

/// The journals of the folder, in order.
pub(crate) fn real_journals(shared: &Path) -> Vec<PathBuf> {
    let mut journals: Vec<PathBuf> = fs::read_dir(shared.join("journals"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    journals.sort();
    journals
}

/// The whole journals of the contract that ship with the project.
pub(crate) fn shipped_journals() -> Vec<PathBuf> {
    let mut journals: Vec<PathBuf> = fs::read_dir(harness::project().join("tests/fixtures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    journals.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        !name.starts_with("0.1.") && !name.contains("-part")
    });
    journals.sort();
    journals.push(harness::project().join("samples/journal.jsonl"));
    journals
}

/// The records of a journal in the file's order, and how many lines are not just one record. Such
/// a line gives the record behind its torn part.
pub(crate) fn records(path: &Path) -> (Vec<Value>, usize) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut torn = 0;
    let records = text
        .lines()
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|_| {
                torn += 1;
                let places = line.match_indices("{\"meta\": ").chain(line.match_indices("{\"schema\": "));
                places
                    .filter_map(|(at, _)| serde_json::from_str(&line[at..]).ok())
                    .next()
                    .unwrap_or_else(|| panic!("{}: no record in {line:.200}", path.display()))
            })
        })
        .collect();
    (records, torn)
}

/// The terminal rows of a run, or of every run, in the file's order.
pub(crate) fn terminals<'r>(records: &'r [Value], run: Option<&str>) -> Vec<&'r Value> {
    records
        .iter()
        .filter(|row| row.get("terminal").is_some_and(|terminal| !terminal.is_null()))
        .filter(|row| run.is_none_or(|run| row["run"] == run))
        .collect()
}

/// The runs of a journal, in the order of their first rows.
pub(crate) fn runs(records: &[Value]) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    for run in records.iter().filter_map(|row| row.get("run")?.as_str()) {
        if !runs.iter().any(|known| known == run) {
            runs.push(run.to_owned());
        }
    }
    runs
}

/// A count that a row may leave out.
pub(crate) fn count(row: &Value, field: &str) -> i64 {
    row.get(field).and_then(Value::as_i64).unwrap_or(0)
}

/// The entries of a row's `attempt_failures`.
pub(crate) fn failures(row: &Value) -> &[Value] {
    row.get("attempt_failures").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
