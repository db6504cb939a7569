//! `slo solve` and `slo try`: which targets could have been promised.

use serde_json::{Value, json};

use crate::harness::Lab;
use crate::journals::journal;
use crate::reckoning::{TARGETS, met, near};

const RUN: &str = "1795977782-3db97943";

/// The worked example of docs/statistics.md as TTFTs: 7919·i mod 1009, in milliseconds, of a thousand requests. TPOT
/// is the same in seconds' tenths; every tenth request has none.
fn lab() -> Lab {
    let lines: Vec<String> = (0..1000_u64)
        .map(|i| {
            let value = 7919 * i % 1009;
            let mut row = json!({
                "run": RUN, "rid": format!("{i:06}"), "arrived": i, "duration_s": 0.5, "output_len": 3,
                "ttft_s": value as f64 / 1000.0, "tpot_s": value as f64 / 10_000.0, "terminal": "completed",
            });
            if i % 10 == 0 {
                row["tpot_s"] = Value::Null;
            }
            format!(r#"{{"schema": "narwhal.journal", "schema_version": 1, {}"#, &row.to_string()[1..])
        })
        .collect();
    let lab = Lab::new();
    lab.write("j.jsonl", journal(&lines));
    lab.ingest("j.jsonl");
    lab
}

fn solved(lab: &Lab, more: &[&str]) -> Value {
    lab.run(&[&["slo", "solve", "--format", "json"], more].concat()).exits(0).json()[0].clone()
}

#[test]
fn the_least_ttft_is_a_percentile_with_its_interval() {
    let lab = lab();
    // Any TPOT will do: the worked percentiles, 95 and 99 of 1000 independent values.
    for (wanted, least, low, high) in [("0.95", 0.958, 0.944, 0.972), ("0.99", 0.998, 0.991, 1.005)] {
        let found = solved(&lab, &["--wanted", wanted, "--tpot", "1"]);
        assert_eq!(found["least_ttft"], json!(least), "{found}");
        assert_eq!(
            (&found["least_ttft_low"], &found["least_ttft_high"]),
            (&json!(low), &json!(high)),
            "{found}"
        );
        let met = if wanted == "0.95" { 950 } else { 990 };
        assert_eq!((&found["met"], &found["scored"]), (&json!(met), &json!(1000)), "{found}");
    }
    let found = solved(&lab, &["--wanted", "0.999", "--tpot", "1"]);
    assert_eq!((&found["least_ttft"], &found["least_ttft_high"]), (&json!(1.007), &Value::Null), "{found}");
}

#[test]
fn it_is_that_of_slo_frontier() {
    let lab = lab();
    for wanted in ["0.1", "0.5", "0.9", "0.901", "0.95"] {
        for tpot in ["0.01", "0.05", "0.0951", "1"] {
            let found = solved(&lab, &["--wanted", wanted, "--tpot", tpot]);
            let frontier =
                lab.run(&["query", "slo-frontier", "--wanted", wanted, "--tpot", tpot, "--format", "json"]);
            let frontier = &frontier.exits(0).json()[0];
            for column in ["scope", "policy", "wanted", "tpot", "scored", "reachable", "least_ttft", "met"] {
                assert_eq!(found[column], frontier[column], "{wanted} {tpot} {column}");
            }
        }
    }
}

#[test]
fn the_least_tpot_counts_requests_without_one_as_meeting() {
    let lab = lab();
    let found = solved(&lab, &["--wanted", "0.9", "--ttft", "2"]);
    // A hundred have none, so 800 of the others are needed.
    let mut tpots: Vec<u64> = (0..1000_u64).filter(|i| i % 10 != 0).map(|i| 7919 * i % 1009).collect();
    tpots.sort_unstable();
    assert_eq!(found["least_tpot"], json!(tpots[799] as f64 / 10_000.0), "{found}");
    assert_eq!(found["met"], 900);
    // With a tenth wanted, the least that was seen is more than enough.
    let found = solved(&lab, &["--wanted", "0.1", "--ttft", "2"]);
    assert_eq!(found["least_tpot"], json!(tpots[0] as f64 / 10_000.0), "{found}");
    assert_eq!(found["met"], 101);
}

#[test]
fn it_is_said_in_words() {
    let lab = lab();
    let words = lab.run(&["slo", "solve", "--wanted", "0.95", "--tpot", "1"]).exits(0);
    let expected = format!(
        "{RUN}: the least TTFT that would have held for 0.95 of the requests, with TPOT 1 s, is 0.958 s (95 %: 0.944 to \
         0.972): 950 of 1000 meet; 1000 requests that count like 1000 independent ones\n"
    );
    assert_eq!(words.stdout, expected);
    assert!(words.stderr.contains("speaks for conditions as in this window"));
    let words = lab.run(&["slo", "solve", "--wanted", "0.95", "--tpot", "0.05"]).exits(0);
    assert!(
        words.stdout.contains("no TTFT target would have held for 0.95 of the requests"),
        "{}",
        words.stdout
    );
    let words = lab.run(&["slo", "solve", "--wanted", "0.999", "--tpot", "1"]).exits(0);
    // 0.025 = 0.999^n: 3687.04.
    assert!(
        words.stdout.contains("no upper end: that needs 3688 independent requests): 999 of 1000 meet"),
        "{}",
        words.stdout
    );
    // Half of the tenth that has no TPOT is wanted: any target is enough at both ends.
    let words = lab.run(&["slo", "solve", "--wanted", "0.05", "--ttft", "2"]).exits(0);
    assert!(
        words
            .stdout
            .contains("no lower end: it lies among requests that meet any TPOT; no upper end: it lies among"),
        "{}",
        words.stdout
    );
    // Some 550 of 1000 have a TPOT below 0.05 or none: the upper end lies among the others.
    let words = lab.run(&["slo", "solve", "--wanted", "0.53", "--tpot", "0.05"]).exits(0);
    assert!(
        words.stdout.contains(" s, no upper end: it lies among requests that no TTFT is enough for): "),
        "{}",
        words.stdout
    );
}

#[test]
fn the_target_that_is_said_would_have_held() {
    // Seven digits: rounded to six the second one would be 1.998644.
    let ttfts = [1.5, 1.99864434, 1.9986449, 2.5, 3.0];
    let rows = ttfts.iter().enumerate().map(|(at, ttft_s)| {
        let more = format!("\"ttft_s\": {ttft_s}, \"output_len\": 1");
        crate::reckoning::row(RUN, &format!("r{at}"), at as f64, &more)
    });
    let lab = crate::reckoning::lab(&[rows.collect()]);
    for (wanted, said) in [("0.4", "1.998645"), ("0.6", "1.998645"), ("0.2", "1.5")] {
        let words = lab.run(&["slo", "solve", "--wanted", wanted, "--tpot", "1"]).exits(0).stdout;
        assert!(words.contains(&format!(" is {said} s (95 %: ")), "{words}");
        lab.run(&["check", "--min-attainment", wanted, "--ttft", said, "--tpot", "1"]).exits(0);
    }
}

#[test]
fn what_nobody_counted_leaves_open_whether_a_target_would_have_held() {
    let rows = |unknown: u32| -> Vec<String> {
        let row = |at: u32| {
            let more =
                if at < unknown { "\"token_accounting\": \"unavailable\"" } else { "\"output_len\": 1" };
            let more = format!("\"ttft_s\": 0.5, {more}");
            let row = crate::reckoning::row(RUN, &format!("r{at:03}"), f64::from(at), &more);
            if at < 60 { row } else { row.replace("\"completed\"", "\"failed\"") }
        };
        (0..100).map(row).collect()
    };
    let solve = |lab: &Lab, wanted: &str| {
        lab.run(&["slo", "solve", "--wanted", wanted, "--tpot", "1"]).exits(0).stdout
    };
    let lab = crate::reckoning::lab(&[rows(60)]);
    let open = "it cannot be known whether any TTFT target would have held for 0.5 of the requests: with TPOT 1 s and \
                any TTFT at all 0 of 100 meet (0)";
    let unknown = "; the output of 60 completed ones is unknown, and they count as missed\n";
    let words = solve(&lab, "0.5");
    assert!(words.contains(open) && words.ends_with(unknown), "{words}");
    // 40 of 100 failed, whatever the others did.
    assert!(
        solve(&lab, "0.7").contains(": no TTFT target would have held for 0.7"),
        "{}",
        solve(&lab, "0.7")
    );
    let router = lab.run(&["slo", "solve", "--wanted", "0.5", "--tpot", "1", "--policy", "router"]).exits(0);
    assert!(router.stdout.contains(" is 0.5 s ("), "{}", router.stdout);
}

#[test]
fn a_target_is_given_or_saved() {
    let lab = lab();
    lab.run(&["slo", "solve"]).exits(2).says("--tpot SECONDS to find the least TTFT");
    lab.run(&["slo", "solve", "--ttft", "1", "--tpot", "1"]).exits(2);
    lab.run(&["slo", "solve", "--wanted", "0", "--tpot", "1"]).exits(2);
    lab.run(&["slo", "try", "--ttft", "1"]).exits(2).says("--tpot SECONDS");
    lab.run(&["slo", "try"]).exits(2).says("slo set");
    lab.run(&["slo", "try", "--ttft", "1", "--ttft", "2", "--tpot", "1"]).exits(2).says("make no pairs");
    lab.run(&["slo", "set", "--ttft", "0.5", "--tpot", "0.09"]).exits(0);
    assert_eq!(solved(&lab, &["--wanted", "0.5"])["tpot"], json!(0.09));
    let tried =
        lab.run(&["slo", "try", "--ttft", "0.4", "--ttft", "0.6", "--format", "json"]).exits(0).json();
    assert_eq!((&tried[0]["tpot"], &tried[1]["ttft"]), (&json!(0.09), &json!(0.6)));
}

#[test]
fn targets_stand_side_by_side_as_attainment_has_them() {
    let lab = lab();
    let pairs = [("0.5", "0.05"), ("0.9", "0.05"), ("0.9", "0.09"), ("2", "1")];
    let flags: Vec<&str> = pairs.iter().flat_map(|(ttft, tpot)| ["--ttft", ttft, "--tpot", tpot]).collect();
    let tried = lab.run(&[&["slo", "try", "--format", "json"], &flags[..]].concat()).exits(0).json();
    assert_eq!(tried.as_array().map(Vec::len), Some(4));
    for (tried, (ttft, tpot)) in tried.as_array().unwrap().iter().zip(pairs) {
        let alone = lab
            .run(&["query", "attainment", "--ttft", ttft, "--tpot", tpot, "--format", "json"])
            .exits(0)
            .json();
        for column in ["scope", "policy", "ttft", "tpot", "scored", "met", "attainment"] {
            assert_eq!(tried[column], alone[0][column], "{ttft} {tpot} {column}");
        }
        let bound = |end: &str| tried[end].as_f64().expect("an end");
        let value = bound("attainment");
        assert!(bound("attainment_low") < value && value <= bound("attainment_high"));
    }
    assert!(
        tried.as_array().unwrap().iter().all(|tried| tried["independent"].as_f64() > Some(100.0)),
        "{tried}"
    );
    let table = lab.run(&[&["slo", "try"], &flags[..]].concat()).exits(0).stdout;
    assert!(table.contains("1.000 (0.996-1.000)"), "{table}");
}

#[test]
fn scopes_are_those_of_the_selection() {
    let lab = lab();
    let tried = lab
        .run(&["slo", "try", "--ttft", "1", "--tpot", "1", "--by", "run,500s", "--format", "csv"])
        .exits(0);
    assert_eq!(tried.stdout.lines().count(), 3, "{}", tried.stdout);
    let none = lab.run(&["slo", "solve", "--tpot", "1", "--release", "9"]).exits(0);
    assert!(none.stdout.is_empty() && none.stderr.contains("no rows: --release 9"), "{}", none.stderr);
    let short =
        lab.run(&["slo", "solve", "--tpot", "1", "--from", "990", "--format", "json"]).exits(0).json();
    assert_eq!(short[0]["scored"], 10);
}

/// The worked example of a burst: of a thousand requests the 400th to the 499th missed, a TTFT of 2 s, the others 0.5 s.
fn one_burst() -> Lab {
    crate::reckoning::lab(&[(0..1000)
        .map(|at| met(RUN, at, f64::from(at), !(400..500).contains(&at)))
        .collect()])
}

#[test]
fn targets_that_were_tried_say_on_how_few_they_rest() {
    let lab = one_burst();
    let data = lab.run(&[&["slo", "try", "--format", "json"], &TARGETS[..]].concat()).exits(0).json();
    assert_eq!((&data[0]["met"], &data[0]["scored"]), (&json!(900), &json!(1000)));
    near(&data[0]["attainment_low"], 0.516695055658);
    near(&data[0]["attainment_high"], 0.986973328384);
    near(&data[0]["independent"], 6.5292437674);
    // All meet the second pair: nothing was missed that it could rest on.
    let table = lab.run(&["slo", "try", "--ttft", "1", "--tpot", "1", "--ttft", "5", "--tpot", "1"]).exits(0);
    assert!(table.stdout.contains("0.900 (0.517-0.987)"), "{}", table.stdout);
    let note = "TTFT 1 s, TPOT 1 s: 1000 requests; they count like 7 independent ones; rests on about 1 independent miss: \
                one burst more or less changes it";
    let table = table.says(note).says("speaks for conditions as in this window");
    assert_eq!(table.stderr.matches("rests on").count(), 1, "{}", table.stderr);
    // Without a single one that met, too.
    let none = lab.run(&["slo", "try", "--ttft", "0.4", "--tpot", "1"]).exits(0);
    assert!(
        none.stdout.contains("0.000 (0.000-0.004)") && !none.stderr.contains("rests on"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_target_that_was_found_among_few_says_what_its_ends_need() {
    // 1000 count like 6: of those, P(Bin(6, 0.9) <= 3) = 0.016 and P(<= 4) = 0.114, so the lower end is the fourth, row
    // 501 from below; 0.9^6 = 0.53, so there is no upper one, which needs 0.9^36 = 0.0225.
    let lab = one_burst();
    let found = solved(&lab, &["--wanted", "0.9", "--tpot", "1"]);
    assert_eq!(
        ["least_ttft", "least_ttft_low", "least_ttft_high"].map(|column| &found[column]),
        [&json!(0.5), &json!(0.5), &Value::Null]
    );
    let words = lab.run(&["slo", "solve", "--wanted", "0.9", "--tpot", "1"]).exits(0).stdout;
    assert!(
        words.contains(
            "is 0.5 s (95 %: at least 0.5 s, no upper end: that needs 36 independent requests): 900 of 1000 meet; 1000 \
             requests that count like 6 independent ones\n"
        ),
        "{words}"
    );
    // Of five, 0.5^5 = 0.031: the middle has neither end.
    let five = crate::reckoning::lab(&[(0..5).map(|at| met(RUN, at, f64::from(at), at != 3)).collect()]);
    let words = five.run(&["slo", "solve", "--wanted", "0.5", "--tpot", "1"]).exits(0).stdout;
    assert!(
        words.contains(
            "is 0.5 s (95 %: no lower end: that needs 6 independent requests; no upper end: that needs 6 independent \
             requests): 4 of 5 meet"
        ),
        "{words}"
    );
}
