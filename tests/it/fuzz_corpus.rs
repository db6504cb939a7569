//! The inputs that fuzzing kept, and the seeds that it begins with, through the checks that it makes.

use std::fs;
use std::panic::catch_unwind;

use crate::checks;
use crate::harness::project;

/// A target and its check.
type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 6] = [
    ("escaped", checks::escaped::check),
    ("ingest", checks::ingest::check),
    ("line", checks::line::check),
    ("lines", checks::lines::check),
    ("query_header", checks::query_header::check),
    ("redact", checks::redact::check),
];

#[test]
fn every_input_that_was_kept_passes_the_checks_of_its_target() {
    let folder = project().join("tests/fixtures/fuzz");
    let mut failed = Vec::new();
    for (target, check) in TARGETS {
        let files = fs::read_dir(folder.join(target)).unwrap_or_else(|error| panic!("{target}: {error}"));
        let mut count = 0;
        for file in files {
            let path = file.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            if catch_unwind(|| check(&bytes)).is_err() {
                failed.push(path);
            }
            count += 1;
        }
        assert!(count > 0, "{target} has inputs");
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), TARGETS.len(), "each folder has a target");
}

#[test]
fn every_target_of_the_fuzzer_is_here() {
    let mut targets: Vec<String> = fs::read_dir(project().join("fuzz/fuzz_targets"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    targets.sort();
    assert_eq!(targets, TARGETS.map(|(target, _)| target));
}
