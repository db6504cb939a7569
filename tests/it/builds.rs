//! Which build wrote a run. Expected values follow docs/semantics.md, "Which build wrote a run", by hand.

use rusqlite::types::Value;

use crate::harness::{Lab, build, fixture, terminal};

/// Letters are build rows of that version, digits rows of the run with that number.
fn journal(rows: &str) -> String {
    rows.chars()
        .enumerate()
        .map(|(at, row)| match row {
            '0'..='9' => terminal(&format!("100{row}-0000000{row}"), &format!("r{at}"), at as f64) + "\n",
            _ => build(&row.to_string()) + "\n",
        })
        .collect()
}

/// Each run's certainty and build version, as `1 exact A`.
fn runs(lab: &Lab) -> Vec<String> {
    let rows = lab.rows(
        "select substr(r.run, 4, 1), r.build_certainty, b.version
         from runs as r left join builds as b on b.build_id = r.build_id order by r.run",
    );
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        _ => "-".to_owned(),
    };
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_run_takes_a_kept_build_when_all_kept_ones_are_equal() {
    for (rows, expected) in [
        ("A1", vec!["1 exact A"]),
        // Restarts, with the same build and with another.
        ("A11A22", vec!["1 exact A", "2 exact A"]),
        ("A11B22", vec!["1 exact A", "2 exact B"]),
        // A standby that takes over opens the file before the first one has written a row.
        ("AA2121", vec!["1 exact A", "2 exact A"]),
        // It comes while the first one is writing.
        ("A1B1212", vec!["1 exact A", "2 exact B"]),
        // Two differing builds before any row: nobody can tell.
        ("AB12", vec!["1 ambiguous -", "2 ambiguous -"]),
        // As many ambiguous runs as the set has members: the next build is not held against them.
        ("AB12C3", vec!["1 ambiguous -", "2 ambiguous -", "3 exact C"]),
        // A build that joins the set while it is ambiguous is used up like the others.
        ("AB1C23D4", vec!["1 ambiguous -", "2 ambiguous -", "3 ambiguous -", "4 exact D"]),
        // A build row was lost.
        ("1A2", vec!["1 missing -", "2 exact A"]),
        ("A12", vec!["1 exact A", "2 missing -"]),
        // A start that wrote nothing: its row stays kept, which does no harm while builds are equal.
        ("AA1", vec!["1 exact A"]),
        ("AA1B2", vec!["1 exact A", "2 ambiguous -"]),
        // Rows of one run after another run began do not take a second build.
        ("A1A212", vec!["1 exact A", "2 exact A"]),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", journal(rows));
        lab.ingest("j.jsonl");
        assert_eq!(runs(&lab), expected, "{rows}");
        // The same, a line at a time: what is kept survives between calls.
        let slow = Lab::new();
        let text = journal(rows);
        for (end, _) in text.match_indices('\n') {
            slow.write("j.jsonl", &text[..=end]);
            slow.ingest("j.jsonl");
        }
        assert_eq!(runs(&slow), expected, "{rows}, a line at a time");
    }
}

#[test]
fn a_run_met_in_several_sources_has_the_best_it_got_in_any() {
    for (first, second, expected) in [
        // Rotated: the run goes on in a file without its build row.
        ("A1", "1B2", vec!["1 exact A", "2 exact B"]),
        // Rotated, read in the other order.
        ("1", "A1", vec!["1 exact A"]),
        ("AB1", "A1", vec!["1 exact A"]),
        ("1", "AB1", vec!["1 ambiguous -"]),
        // A run that has its build takes none of the second file.
        ("A1", "B12", vec!["1 exact A", "2 exact B"]),
    ] {
        let lab = Lab::new();
        lab.write("first.jsonl", journal(first));
        // Other rows of the same runs: two different pieces of journal.
        lab.write("second.jsonl", journal(second).replace("\"rid\": \"r", "\"rid\": \"s"));
        lab.ingest("first.jsonl");
        lab.ingest("second.jsonl");
        assert_eq!(runs(&lab), expected, "{first} then {second}");
    }
}

#[test]
fn on_a_real_takeover_both_runs_have_their_build() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.2.1-takeover.jsonl"));
    lab.ingest("j.jsonl");
    let rows = lab.rows(
        "select r.run, r.build_certainty, b.version, b.state
         from runs as r join builds as b on b.build_id = r.build_id order by r.run",
    );
    let text = |text: &str| Value::Text(text.to_owned());
    let expected = |run: &str| vec![text(run), text("exact"), text("0.2.1"), text("taken")];
    assert_eq!(rows, [expected("1795977936-56e568d1"), expected("1795977936-a00994cb")]);
}
