//! Journals whose figures are known beforehand, for the tests of intervals, and the second implementation asked for
//! the others.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Lab, project, terminal};

/// Answers of `tests/reference/statistics_reference.py`.
pub fn reference(cases: &[Value]) -> Vec<Value> {
    let mut child = Command::new("python3")
        .arg(project().join("tests/reference/statistics_reference.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 can be started");
    let cases = serde_json::to_string(cases).expect("it is JSON");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    stdin.write_all(cases.as_bytes()).expect("the reference reads");
    drop(stdin);
    let output = child.wait_with_output().expect("the reference ends");
    serde_json::from_slice(&output.stdout).expect("the reference answers in JSON")
}

/// The reference's share of hits.
pub fn share(hits: &[bool]) -> Value {
    let hits: Vec<u8> = hits.iter().map(|hit| u8::from(*hit)).collect();
    reference(&[json!({"ask": "share", "hits": hits})]).remove(0)
}

/// A terminal row with more fields, written as in JSON.
pub fn row(run: &str, rid: &str, arrived: f64, more: &str) -> String {
    terminal(run, rid, arrived).replace("\"terminal\"", &format!("{more}, \"terminal\""))
}

/// A completed request that met or missed a TTFT target of 1 s.
pub fn met(run: &str, at: u32, arrived: f64, is_met: bool) -> String {
    let ttft_s = if is_met { 0.5 } else { 2.0 };
    row(
        run,
        &format!("r{at:06}"),
        arrived,
        &format!("\"ttft_s\": {ttft_s}, \"output_len\": 1, \"duration_s\": 0.0"),
    )
}

/// Targets that [`met`] is about.
pub const TARGETS: [&str; 4] = ["--ttft", "1", "--tpot", "1"];

/// A lab that has read these rows, as one journal each list.
pub fn lab(journals: &[Vec<String>]) -> Lab {
    let lab = Lab::new();
    for (at, rows) in journals.iter().enumerate() {
        let name = format!("j{at}.jsonl");
        lab.write(&name, rows.join("\n") + "\n");
        lab.ingest(&name);
    }
    lab
}

/// Asserts that numbers agree to what twelve digits tell.
#[track_caller]
pub fn near(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or_else(|| panic!("{found} is no number, {expected} was expected"));
    assert!((number - expected).abs() <= 1e-10 * expected.abs().max(1.0), "{number} is not {expected}");
}

/// Asserts that a number agrees, or is null as expected.
#[track_caller]
pub fn alike(found: &Value, expected: &Value) {
    match expected.as_f64() {
        Some(expected) => near(found, expected),
        None => assert!(found.is_null(), "{found} is not null"),
    }
}
