//! Counts kept beside the rows equal a recount of the rows, whatever became of them.

use rusqlite::Connection;
use serde_json::json;

use crate::harness::{Contents, Lab, fixture};

/// Asserts that the kept counts are those of the rows, counted anew in another way than the program's.
#[track_caller]
fn assert_kept(lab: &Lab) {
    let terminals = "select run_id, terminal, count(*) from terminals group by 1, 2 order by 1, 2";
    assert_eq!(
        lab.rows("select run_id, terminal, requests from terminal_counts order by 1, 2"),
        lab.rows(terminals)
    );
    let legs = "select run_id, leg, engine, count(*), sum(failed), total(failed and retry_scheduled),
            total(failed and output_started)
        from legs group by 1, 2, 3
        union all
        select run_id, 'unattributed', '', 0, count(*), 0.0, 0.0
        from attempt_failures where attributed = 0 group by 1
        order by 1, 2, 3";
    let kept = "select run_id, leg, engine, attempts, failures, retried + 0.0, output_started + 0.0
        from leg_counts order by 1, 2, 3";
    assert_eq!(lab.rows(kept), lab.rows(legs));
    lab.run(&["verify"]).exits(0);
}

/// A journal of a real router, cut in two at a line's end.
fn halves() -> (Vec<u8>, Vec<u8>) {
    let journal = fixture("0.7.0-full.jsonl");
    let middle = journal.len() / 2;
    let cut = middle + journal[middle..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    (journal[..cut].to_vec(), journal[cut..].to_vec())
}

/// Lines that leave nothing: rows that are stored with other content, and rows that are stored.
fn conflicts(journal: &[u8]) -> String {
    let text = String::from_utf8(journal.to_vec()).unwrap();
    let rows = text.lines().filter(|line| line.contains("\"terminal\": \"completed\"")).take(20);
    rows.map(|line| format!("{line}\n{}\n", line.replacen("\"duration_s\": ", "\"duration_s\": 7", 1)))
        .collect()
}

#[test]
fn counts_are_those_of_the_rows_however_they_came() {
    let (first, second) = halves();
    let lab = Lab::new();
    lab.write("a.jsonl", &first);
    lab.ingest("a.jsonl");
    assert_kept(&lab);
    // Another source of the same run, and the first rows again in a copy that goes on.
    lab.write("b.jsonl", &second);
    lab.ingest("b.jsonl");
    assert_kept(&lab);
    let before = kept(&lab);
    lab.write("copy.jsonl", [&b"\n"[..], &first, &second].concat());
    let again = lab.ingest("copy.jsonl");
    assert_eq!(again["total"]["terminals"], 0);
    assert_eq!(kept(&lab), before, "duplicates do not count");
    lab.write("conflicts.jsonl", conflicts(&first));
    let total = lab.ingest("conflicts.jsonl")["total"].clone();
    assert_eq!((&total["duplicates"], &total["rejected"]), (&json!(20), &json!(20)));
    assert_eq!(kept(&lab), before, "conflicts do not count");
    assert_kept(&lab);
}

#[test]
fn what_is_rolled_back_does_not_count() {
    let (first, second) = halves();
    let lab = Lab::new();
    lab.write("a.jsonl", &first);
    lab.ingest("a.jsonl");
    let before = kept(&lab);
    lab.write("bad.jsonl", [&second[..], b"{\n"].concat());
    // The file before the bad one counts, after which the next one of the same call is not read.
    lab.run(&["ingest", "--strict", "bad.jsonl"]).exits(3);
    assert_eq!(kept(&lab), before);
    lab.run(&["ingest", "--strict", "a.jsonl", "bad.jsonl"]).exits(3);
    assert_eq!(kept(&lab), before);
    lab.run(&["ingest", "bad.jsonl"]).exits(0);
    assert_kept(&lab);
}

/// The tables of counts.
fn kept(lab: &Lab) -> Contents {
    let mut contents = lab.contents();
    contents.retain(|(name, _)| name.ends_with("_counts"));
    assert_eq!(contents.len(), 2);
    contents
}

#[test]
fn verify_sees_a_count_that_is_off() {
    let lab = Lab::new();
    lab.write("a.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("a.jsonl");
    let database = Connection::open(lab.path("narwhal.db")).unwrap();
    for (change, check, sentence) in [
        (
            "update terminal_counts set requests = requests + 1 where terminal = 'completed'",
            "requests are counted as they are stored",
            "requests counted as completed",
        ),
        (
            "update leg_counts set retried = retried + 1 where leg = 'prefill'",
            "legs are counted as they are stored",
            "0 attempts, 0 failures, 1 retried, 0 with output",
        ),
        ("delete from leg_counts", "legs are counted as they are stored", "prefill legs of engine"),
    ] {
        database.execute_batch("begin").unwrap();
        database.execute(change, []).unwrap();
        database.execute_batch("commit").unwrap();
        let verify = lab.run(&["verify"]).exits(1).says("make a new database from the journals");
        assert!(verify.stdout.contains(&format!("BROKEN  {check}")), "{change}\n{}", verify.stdout);
        assert!(verify.stdout.contains(sentence), "{change}\n{}", verify.stdout);
    }
}
