//! Counts kept beside the rows equal a recount of the rows, whatever became of them; and percentiles equal
//! those of a plain sort.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use narwhal_jq::query::answer::ask;
use narwhal_jq::store;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::json;

use crate::harness::{Contents, Lab, fixture, terminal};
use crate::properties::{cases, ingest_here};

const METRICS: [&str; 6] =
    ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"];

// ---------------------------------------------------------------- counts

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

// ---------------------------------------------------------------- percentiles

/// A value as a journal could have it: mostly near others, some equal, some absurd.
fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        1 => Just(None),
        6 => (0.01..0.02).prop_map(Some),
        3 => (1..6_u8).prop_map(|tenths| Some(f64::from(tenths) / 10.0)),
        1 => Just(Some(0.0)),
        1 => Just(Some(-0.0)),
        1 => (-5.0..0.0).prop_map(Some),
        1 => prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(5e-324), Just(1e300)].prop_map(Some),
    ]
}

/// A completed request: its values in the order of `METRICS`, and its engines.
type Request = ([Option<f64>; 6], Option<u8>, Option<u8>);

fn request() -> impl Strategy<Value = Request> {
    let engine = || prop_oneof![1 => Just(None), 6 => (0..3_u8).prop_map(Some)];
    (prop::array::uniform6(value()), engine(), engine())
}

fn nearest_rank(values: &[f64], percent: usize) -> Option<f64> {
    let rank = (values.len() * percent).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

fn sorted(values: impl Iterator<Item = Option<f64>>) -> Vec<f64> {
    let mut values: Vec<f64> = values.flatten().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn name(engine: u8) -> String {
    // One engine has no name.
    if engine == 0 { String::new() } else { format!("e{engine}") }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn percentiles_equal_those_of_a_sort(requests in prop::collection::vec(request(), 1..300)) {
        let lab = Lab::new();
        let mut journal = format!("{}\n", terminal("1-a", "first", 0.0));
        for (at, (values, prefill, decode)) in requests.iter().enumerate() {
            let mut row = json!({
                "schema": "narwhal.journal", "schema_version": 1, "run": "1-a", "rid": at.to_string(),
                "arrived": at as f64, "terminal": "completed",
                "prefill_iid": prefill.map(name), "decode_iid": decode.map(name),
            });
            for (metric, value) in METRICS.iter().zip(values) {
                row[*metric] = json!(value);
            }
            writeln!(journal, "{row}").unwrap();
        }
        lab.write("a.jsonl", journal);
        ingest_here(&lab, "a.jsonl");
        let mut database =
            store::open_to_read(&lab.path("narwhal.db"), Duration::from_secs(30)).unwrap();
        let answer = ask(&mut database, "latency", |_| None).unwrap();
        let mut rows = 0;
        for (row, metric) in answer.rows().zip(0..) {
            rows += 1;
            let values = sorted(requests.iter().map(|(values, _, _)| values[metric]));
            prop_assert_eq!(row.int("n"), values.len() as i64, "{}", METRICS[metric]);
            for (column, percent) in [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99), ("max", 100)] {
                let expected = nearest_rank(&values, percent);
                prop_assert_eq!(row.real(column), expected, "{} of {}", column, METRICS[metric]);
            }
        }
        prop_assert_eq!(rows, METRICS.len());
        let answer = ask(&mut database, "engine-latency", |_| None).unwrap();
        let mut expected = BTreeMap::new();
        for (metric, of) in [("ttft_s", 0), ("tpot_s", 1), ("decode_tpot_s", 3)] {
            for engine in 0..3 {
                let served = requests.iter().filter(|(_, prefill, decode)| {
                    *(if metric == "ttft_s" { prefill } else { decode }) == Some(engine)
                });
                let values = sorted(served.map(|(values, _, _)| values[of]));
                if !values.is_empty() {
                    expected.insert((name(engine), metric.to_owned()), values);
                }
            }
        }
        prop_assert_eq!(answer.rows().count(), expected.len());
        for row in answer.rows() {
            let of = (row.text("engine"), row.text("metric"));
            let values = &expected[&of];
            prop_assert_eq!(row.int("n"), values.len() as i64, "{:?}", of);
            for (column, percent) in [("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)] {
                prop_assert_eq!(row.real(column), nearest_rank(values, percent), "{} of {:?}", column, of);
            }
        }
    }
}
