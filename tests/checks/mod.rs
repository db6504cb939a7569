//! What must hold whatever the bytes: one function a subject, which panics where it does not hold.
//!
//! The fuzz targets in `fuzz/` call them with what they make up, and `tests/it/fuzz_corpus.rs` with the
//! inputs that are kept in `tests/fixtures/fuzz`. Nothing here but the public API of the crate.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod escaped;
pub mod ingest;
pub mod line;
pub mod lines;
pub mod query_header;
pub mod redact;

use std::io::BufRead;

use narwhal_jq::journal::row::Row;
use narwhal_jq::journal::write::write_row;
use serde_json::Value;
use tempfile::TempDir;

/// So many bytes at the start of an input say how the rest is to be read.
pub const KNOBS: usize = 8;

/// The knobs and the rest. An input that is too short has all knobs 0.
pub fn knobs(data: &[u8]) -> ([u8; KNOBS], &[u8]) {
    match data.split_first_chunk() {
        Some((knobs, rest)) => (*knobs, rest),
        None => ([0; KNOBS], &[]),
    }
}

/// A folder in memory, where there is such a thing.
pub fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("a temporary folder can be made")
}

/// The value with members that are null left out, and whole numbers written one way: what a journal takes
/// for the same.
pub fn canonical(value: Value) -> Value {
    match value {
        Value::Object(object) => object
            .into_iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(key, member)| (key, canonical(member)))
            .collect(),
        Value::Array(items) => items.into_iter().map(canonical).collect(),
        Value::Number(number) => canonical_number(&number),
        other => other,
    }
}

pub fn canonical_number(number: &serde_json::Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(real)) if real.fract() == 0.0 && real.abs() < 9.2e18 => Value::from(real as i64),
        _ => Value::Number(number.clone()),
    }
}

/// The row as a line of a journal, newline included.
pub fn written(row: &Row<'_>) -> Vec<u8> {
    let mut line = Vec::new();
    write_row(&mut line, row).expect("memory can be written");
    line
}

/// The lines of `bytes` with their offsets, without newlines; a last one without a newline, too.
pub fn naive_lines(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let (mut lines, mut from, mut rest) = (Vec::new(), 0, bytes);
    // The standard library's search is not slowed down by a fuzzer's counting.
    while let len @ 1.. = rest.skip_until(b'\n').expect("memory can be read") {
        let line = &bytes[from..from + len];
        lines.push((from, line.strip_suffix(b"\n").unwrap_or(line)));
        from += len;
    }
    lines
}
