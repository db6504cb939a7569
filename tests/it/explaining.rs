//! `explain`: what the misses of a window go with, through the whole program.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{self, Lab, Run, has_program, project, real_journals};
use crate::journals::{Dice, build, journal};

const RUN: &str = "1795977782-3db97943";
const TARGETS: [&str; 4] = ["--ttft", "1", "--tpot", "0.1"];

/// A terminal with some of its fields.
fn row(number: usize, arrived: f64, fields: Value) -> String {
    let mut row = json!({
        "schema": "narwhal.journal", "schema_version": 1, "run": RUN,
        "rid": format!("{number:08x}-1aab-4306-a998-3b0a64226387"), "client_rid": null, "arrived": arrived,
        "input_len": 100, "input_sized": true, "output_len": 10, "ttft_s": 0.5, "tpot_s": 0.05,
        "duration_s": 0.75, "attempts": 1, "decode_attempts": 1, "attempt_failures": [], "prefill_iid": null,
        "decode_iid": null, "crossed": null, "token_accounting": "token_ids", "terminal": "completed",
    });
    for (field, value) in fields.as_object().expect("fields are an object") {
        row[field] = value.clone();
    }
    // As a router writes it, the contract stands first.
    let text = row.to_string();
    format!(r#"{{"schema": "narwhal.journal", "schema_version": 1, {}"#, &text[1..])
        .replace(r#""schema":"narwhal.journal","schema_version":1,"#, "")
}

fn event(event: &str, at: f64, fields: Value) -> String {
    let mut line = json!({"run": RUN, "event": event, "at": at});
    for (field, value) in fields.as_object().expect("fields are an object") {
        line[field] = value.clone();
    }
    format!(r#"{{"schema": "narwhal.journal", "schema_version": 1, {}"#, &line.to_string()[1..])
}

fn lab(lines: &[String]) -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", journal(lines));
    lab.ingest("j.jsonl");
    lab
}

fn explain(lab: &Lab, more: &[&str]) -> Run {
    lab.run(&[&["explain"], &TARGETS[..], more].concat())
}

fn explained(lab: &Lab, more: &[&str]) -> Value {
    explain(lab, &[more, &["--format", "json"]].concat()).exits(0).json()
}

/// The worked example of docs/statistics.md: four thousand rows each of four engines; one row in twenty misses, and in
/// the window a third of engine 2 as well. A row a second.
pub fn one_bad_engine() -> Vec<String> {
    let mut lines = vec![build("0.7.0")];
    for at in 0..8000 {
        let i = at % 4000;
        let is_bad = at >= 4000 && i % 12 == 2;
        let ttft_s = if i % 20 == 3 || is_bad { 1.0 + i as f64 / 4000.0 } else { 0.5 };
        let ttft_s = if i % 20 == 3 { 3.0 } else { ttft_s };
        let input_len = [100, 1000, 10_000][i / 7 % 3];
        let fields = json!({"prefill_iid": format!("n{}", i % 4), "ttft_s": ttft_s, "input_len": input_len});
        lines.push(row(at, 100.0 + at as f64, fields));
        if at == 5000 {
            lines.push(event(
                "engine_hold_started",
                5100.5,
                json!({"iid": "n2", "kind": "timed", "held_s": 2.5}),
            ));
            lines.push(event(
                "engine_hold_ended",
                5103.0,
                json!({"iid": "n2", "kind": "timed", "cause": "readmitted"}),
            ));
            lines.push(event("below_floor", 5104.0, json!({"live_prefill": 1, "min_prefill": 2})));
            lines.push(event("below_floor_recovered", 5105.0, json!({})));
            lines.push(event(
                "controller_decision",
                5106.0,
                json!({"by": "reactive", "result": "held", "reason": "calm"}),
            ));
        }
    }
    lines
}

#[track_caller]
fn near(found: &Value, expected: f64) {
    let value = found.as_f64().unwrap_or_else(|| panic!("{found} is no number"));
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn the_worked_example_comes_out_of_a_journal() {
    let lab = lab(&one_bad_engine());
    let found = explained(&lab, &["--from", "4000"]);
    near(&found["extra"], 334.0);
    near(&found["expected"], 200.0);
    assert_eq!(found["misses"], 534);
    let named = found["named"].as_array().expect("an array");
    assert_eq!(named.len(), 1, "{found}");
    assert_eq!((&named[0]["attribute"], &named[0]["value"]), (&json!("prefill engine"), &json!("n2")));
    near(&named[0]["own"], 333.019607843137);
    near(&named[0]["beyond"], 249.519607843137);
    near(&named[0]["sd"], 11.0827264775592);
    assert_eq!(named[0]["requests"], 1000);
    assert_eq!(named[0]["misses"], 334);
    assert_eq!(named[0]["baseline_requests"], 1000);
    assert_eq!(named[0]["baseline_misses"], 0);
    assert_eq!((&named[0]["also"], &named[0]["tied"]), (&json!([]), &json!([])));
    near(&found["rest"], 0.0);
    near(&found["mix"], 0.980392156863);
    assert_eq!(found["kinds"], json!({"ttft": 334.0}));
    let part = &found["stretch"]["parts"][0];
    assert_eq!(part["run"], RUN);
    near(&part["from_s"], 4000.0);
    near(&part["to_s"], 7999.0);
    let events: Vec<&str> = found["events"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["timed hold", "floor breach", "controller decision"]);
    // Of the missed requests of n2 every third, in order of their TTFT: the middle one is 2002 rows in.
    let typical: Vec<String> = [4000 + 1994, 4000 + 1982, 4000 + 2006]
        .map(|at: usize| format!("{at:08x}-1aab-4306-a998-3b0a64226387"))
        .to_vec();
    let rids = found["rids"].as_array().expect("an array");
    assert_eq!(rids.len(), 3);
    assert_eq!(rids[0], typical[0]);
    assert!(rids.contains(&json!(typical[1])) && rids.contains(&json!(typical[2])), "{rids:?}");
    lab.run(&["show", rids[0].as_str().unwrap()]).exits(0);
}

#[test]
fn the_page_says_what_goes_with_the_misses() {
    let lab = lab(&one_bad_engine());
    let run = explain(&lab, &["--from", "4000"]).exits(0);
    let expected = PAGE.trim_start_matches('\n');
    assert_eq!(run.stdout, expected, "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80));
    assert!(!run.stdout.contains("cause"));
}

const PAGE: &str = r#"
targets   TTFT 1 s, TPOT 0.1 s, policy journal
window    ~2026-11-29T19:49:42Z to ~2026-11-29T20:56:21Z, 1 run
          attainment 0.867 (95 %: 0.856 to 0.877); 4,000 requests that count
          like 4,000 independent ones
baseline  all earlier requests of the same runs: ~2026-11-29T18:43:02Z to
          ~2026-11-29T19:49:41Z, 1 run
          attainment 0.950 (95 %: 0.943 to 0.956); 4,000 requests that count
          like 4,000 independent ones

334 extra misses (95 %: 284 to 384): 534 missed, about 200 expected at the
  baseline's rate
of these by kind: ttft +334

goes with
  prefill engine n2: 334 missed, about 1 expected at its own baseline
      334 of its 1,000 requests, 0 of 1,000 in the baseline; 250 beyond the
        others of the same time (22.5 standard deviations)
  all others 0 more; traffic shift 1

worst     ~2026-11-29T19:49:42Z to ~2026-11-29T20:56:21Z (basis start): 334
          extra misses
offered   1.000 requests/s then, 1.000 in the whole window, 1.000 in the
          baseline; a run counts from its first request to its last
router    wrote then
  ~2026-11-29T20:06:22Z to ~2026-11-29T20:06:25Z  n2 timed hold (readmitted)
  ~2026-11-29T20:06:26Z to ~2026-11-29T20:06:27Z  floor breach (1 prefill
    engines live, 2 needed)
  ~2026-11-29T20:06:28Z  1 controller decision (held by reactive: calm)

typical missed requests of prefill engine n2
  narwhal-jq show 0000176a-1aab-4306-a998-3b0a64226387
  narwhal-jq show 0000175e-1aab-4306-a998-3b0a64226387
  narwhal-jq show 00001776-1aab-4306-a998-3b0a64226387

speaks for conditions as in this window; a burst or outage that it did not
  contain is not in it, and with fewer than about 8 ups and downs in it the
  interval is too narrow
"#;

#[test]
fn where_nobody_stands_out_smaller_ones_may_be_there() {
    // The worked example that is too few to say: every hundredth missed before, one burst of a hundred in the window.
    let lines: Vec<String> = (0..2000)
        .map(|i| {
            let is_missed = if i < 1000 { i % 100 == 99 } else { (1400..1500).contains(&i) };
            let ttft_s = if is_missed { 3.0 } else { 0.5 };
            row(i, i as f64, json!({"prefill_iid": format!("n{}", i % 4), "ttft_s": ttft_s}))
        })
        .collect();
    let lab = lab(&lines);
    let found = explained(&lab, &["--from", "1000"]);
    near(&found["extra"], 90.0);
    assert_eq!(
        (&found["named"], &found["too_few"], &found["not_comparable"]),
        (&json!([]), &json!(true), &json!(null))
    );
    assert_eq!(
        (&found["ttft"], &found["tpot"], &found["policy"]),
        (&json!(1.0), &json!(0.1), &json!("journal"))
    );
    let page = explain(&lab, &["--from", "1000"]).exits(0).stdout;
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(
            "or outage stands out; smaller ones may be there: a name needs 3 standard deviations, 10 misses and a tenth of \
             the extra ones; and what all requests of a time share, as an overload, names nobody: look at what was offered"
        ),
        "{page}"
    );
    assert!(!text.contains("alike"), "{page}");
    assert!(text.contains("too few for a verdict of `compare`"), "{page}");
    assert!(text.contains("rests on about 1 independent miss: one burst more or less changes it"), "{page}");
}

#[test]
fn outputs_that_one_side_did_not_count_are_said_before_all_else() {
    let lines: Vec<String> = (0..2000)
        .map(|i| match i {
            0..1000 => row(i, i as f64, json!({})),
            _ => row(i, i as f64, json!({"output_len": null, "token_accounting": "unavailable"})),
        })
        .collect();
    let lab = lab(&lines);
    let page = explain(&lab, &["--from", "1000"]).exits(0).stdout;
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "the two cannot be held against each other: the output of 1000 completed requests of the window is unknown";
    assert!(text.contains(says), "{page}");
    assert!(text.find(says) < text.find("extra misses"), "{page}");
    // None of them met: that rests on no burst.
    assert!(!text.contains("rests on"), "{page}");
    let found = explained(&lab, &["--from", "1000"]);
    assert!(found["not_comparable"].as_str().is_some_and(|why| why.starts_with(says)), "{found}");
    near(&found["extra"], 1000.0);
    assert_eq!(explained(&lab, &["--from", "1000", "--policy", "router"])["not_comparable"], json!(null));
}

#[test]
fn nothing_to_explain_is_said_and_no_failure() {
    let lines: Vec<String> = (0..2000)
        .map(|i| {
            row(
                i,
                i as f64,
                json!({"prefill_iid": format!("n{}", i % 4), "ttft_s": if i % 20 == 3 { 3.0 } else { 0.5 }}),
            )
        })
        .collect();
    let lab = lab(&lines);
    let run = explain(&lab, &["--from", "1000"]).exits(0);
    assert!(
        run.stdout.contains("nothing to explain: 50 missed, about 50 expected at the baseline's rate"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("speaks for conditions as in this window"), "{}", run.stdout);
    // Wilson's ends of 50 of 1000 are 0.038130 and 0.065314: 1000·sqrt(0.011870² + 0.015314²) = 19.4, and half as much
    // again is 29.1. The interval is the one yardstick.
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let interval = "0 extra misses (95 %: -19 to 19): not shown to differ, for the interval, which takes bursts in, \
                    reaches 0; about 29 would have been seen";
    assert!(text.contains(interval) && !text.contains("chance") && !text.contains("deviations"), "{text}");
    // A row a second: a thousand in the 999 s up to the last one, and in the 1000 s before.
    let offered = "offered 1.001 requests/s in the window, 1.000 in the baseline; a run counts from its first request to \
                   its last. Calmer traffic can hide an engine that got worse: --against takes a baseline of like traffic";
    assert!(text.contains(offered), "{text}");
    let found = explained(&lab, &["--from", "1000"]);
    assert_eq!((&found["named"], &found["rids"]), (&json!([]), &json!([])));
    near(&found["z"], 0.0);
}

#[test]
fn without_a_baseline_the_way_out_is_named() {
    let lines: Vec<String> = (0..100).map(|i| row(i, i as f64, json!({}))).collect();
    let lab = lab(&lines);
    explain(&lab, &[]).exits(2).says("--against");
    explain(&lab, &["--to", "50"]).exits(2).says("nothing to hold the window against");
    explain(&lab, &["--from", "200"]).exits(2).says("the window is empty: --from 200");
    explain(&lab, &["--from", "50", "--against", "last"]).exits(2).says("share requests");
    explain(&lab, &["--from", "50", "--against", ""]).exits(2).says("--against: \"\" is no selection");
    explain(&lab, &["--from", "50", "--against", "release:9"]).exits(2).says("the baseline is empty");
    explain(&lab, &["--from", "50", "--by", "1m"]).exits(2).says("leave --by out");
    lab.run(&["explain", "--from", "50"]).exits(2).says("slo set");
    lab.run(&["explain", "--from", "50", "--ttft", "1"]).exits(2).says("--tpot SECONDS");
    explain(&lab, &["--from", "50"]).exits(0);
    explain(&lab, &["--from", "50", "--by", "all"]).exits(0);
    lab.run(&["slo", "set", "--ttft", "1", "--tpot", "1"]).exits(0);
    lab.run(&["explain", "--from", "50"]).exits(0);
    // A quiet stretch between the requests of a run: it is said what shows where they are.
    let quiet = super::reckoning::lab(&[[&lines[..], &[row(100, 1000.0, json!({}))]].concat()]);
    explain(&quiet, &["--from", "500", "--to", "900"])
        .exits(2)
        .says("choose another; `narwhal-jq query rates --by 1m` shows when requests arrived");
}

#[test]
fn every_attribute_can_be_what_misses_go_with() {
    // Of three requests one is bad in the second half, and one misses anyway.
    let of = |bad: &dyn Fn(usize) -> Value, good: &dyn Fn(usize) -> Value, more: Vec<String>| {
        let mut lines: Vec<String> = (0..2000)
            .map(|i| {
                let is_bad = i >= 1000 && i % 3 == 0;
                let mut fields = if i % 3 == 0 { bad(i) } else { good(i) };
                fields["ttft_s"] = json!(if is_bad || i % 21 == 1 { 2.0 } else { 0.5 });
                row(i, i as f64, fields)
            })
            .collect();
        lines.extend(more);
        let found = explained(&lab(&lines), &["--from", "1000"]);
        let first = &found["named"][0];
        format!(
            "{} {}",
            first["attribute"].as_str().unwrap_or("nothing"),
            first["value"].as_str().unwrap_or_default()
        )
    };
    let none = |_: usize| json!({});
    assert_eq!(of(&|_| json!({"input_len": 1500}), &none, Vec::new()), "prompt size 1024-2047");
    assert_eq!(of(&|_| json!({"input_len": 0}), &none, Vec::new()), "prompt size 0");
    assert_eq!(
        of(&|_| json!({"decode_iid": "d1"}), &|_| json!({"decode_iid": "d2"}), Vec::new()),
        "decode engine d1"
    );
    let crossed = |crossed: bool| json!({"decode_iid": "d1", "crossed": crossed});
    assert_eq!(of(&|_| crossed(true), &|_| crossed(false), Vec::new()), "crossed yes");
    let turned_away = |_: usize| json!({"crossed": false});
    assert_eq!(
        of(&|_| crossed(true), &turned_away, Vec::new()),
        "nothing ",
        "turned away requests did not stay"
    );
    assert_eq!(
        of(
            &|i| json!({"client_rid": format!("batch-{i}")}),
            &|i| json!({"client_rid": format!("web:{i}")}),
            Vec::new()
        ),
        "client prefix batch"
    );
    let failed = |engine: &str, scheduled: bool| {
        json!({"attempts": 2, "decode_attempts": 1, "prefill_iid": "p1", "attempt_failures": [{
            "attempt": 1, "phase": "prefill", "prefill_iid": engine, "retry_scheduled": scheduled, "retry_reason": "allowed",
        }]})
    };
    let fine = |_: usize| json!({"prefill_iid": "p1"});
    assert_eq!(of(&|_| failed("p9", false), &fine, Vec::new()), "prefill engine p9", "of a failed attempt");
    assert_eq!(of(&|_| failed("p1", true), &fine, Vec::new()), "retried yes");
    // An engine that is held for all of the window, and another one that is not; the engines themselves change places.
    let hold = vec![event("engine_hold_started", 1000.0, json!({"iid": "p3", "kind": "inference"}))];
    let named = of(&|_| json!({"prefill_iid": "p3"}), &|_| json!({"prefill_iid": "p4"}), hold);
    assert_eq!(named, "prefill engine p3", "of equal ones the first");
}

#[test]
fn an_outage_is_met_by_requests_that_live_while_it_lasts() {
    // Engines p1 and p2 are out for ten seconds in each minute of the second half, and what p1 then has misses. The
    // last of its requests arrive just before, and live on.
    let mut lines = Vec::new();
    for i in 0..9600_usize {
        let at = i as f64 / 4.0;
        let is_out = at >= 1200.0 && at % 60.0 >= 15.0 && at % 60.0 < 30.0;
        let engine = i % 4;
        let is_missed = (is_out && engine == 1) || i % 23 == 0;
        let fields = json!({"prefill_iid": format!("p{engine}"), "ttft_s": if is_missed { 2.0 } else { 0.5 }, "duration_s": 5.0});
        lines.push(row(i, at, fields));
    }
    for minute in 20..40 {
        let from = f64::from(minute) * 60.0 + 19.9;
        for engine in ["p1", "p2"] {
            lines.push(event("engine_ejected", from, json!({"iid": engine, "cause": "failures"})));
            lines.push(event("engine_readmitted", from + 10.0, json!({"iid": engine})));
        }
    }
    let found = explained(&lab(&lines), &["--from", "1200"]);
    let first = &found["named"][0];
    assert_eq!((&first["attribute"], &first["value"]), (&json!("prefill engine"), &json!("p1")), "{first}");
    let outage = json!({"attribute": "outage", "value": "p1 ejected"});
    let companions =
        [&first["also"], &first["tied"]].map(|values| values.as_array().expect("an array").clone()).concat();
    assert!(companions.contains(&outage), "{first}");
}

#[test]
fn random_client_ids_are_no_prefixes_to_name_and_do_not_fill_the_memory() {
    let mut lines = Vec::new();
    let mut dice = Dice::seeded(3);
    for i in 0..24_000 {
        let is_batch = i % 4 == 0;
        let client = if is_batch { format!("batch-{i}") } else { format!("{:08x}-{i}", dice.next() as u32) };
        let is_missed = i % 20 == 3 || (i >= 6000 && i % 24 == 0);
        lines.push(row(
            i,
            i as f64,
            json!({"client_rid": client, "ttft_s": if is_missed { 2.0 } else { 0.5 }}),
        ));
    }
    let found = explained(&lab(&lines), &["--from", "6000"]);
    let named = found["named"].as_array().expect("an array");
    assert_eq!(named.len(), 1, "{found}");
    assert_eq!(named[0]["value"], "batch");
    assert_eq!(named[0]["requests"], 4500);
}

#[test]
fn names_of_the_outside_cannot_drive_a_terminal() {
    let lines: Vec<String> = (0..2000)
        .map(|i| {
            let is_missed = i % 20 == 3 || (i >= 1000 && i % 4 == 0);
            let prefix = if i % 2 == 0 { "\u{1b}[31m\u{202e}evil" } else { "good" };
            row(
                i,
                i as f64,
                json!({"client_rid": format!("{prefix}/{i}"), "ttft_s": if is_missed { 2.0 } else { 0.5 }}),
            )
        })
        .collect();
    let lab = lab(&lines);
    let page = explain(&lab, &["--from", "1000"]).exits(0).stdout;
    assert!(page.contains(r"client prefix \u{1b}[31m\u{202e}evil"), "{page}");
    let data = explain(&lab, &["--from", "1000", "--format", "json"]).exits(0);
    assert!(!data.stdout.contains('\u{1b}') && !data.stdout.contains('\u{202e}'));
    assert_eq!(data.json()["named"][0]["value"], "\u{1b}[31m\u{202e}evil");
}

// ------------------------------------------------------------------ bad hours of generated journals

/// What is wrong in the second of two hours.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    SlowPrefill,
    FlakyDecode,
    Both,
}

const SLOW: usize = 1;
const FLAKY: usize = 3;

/// Two hours of a router with four prefill and four decode engines, in bursts.
fn two_hours(seed: u64, wrong: Wrong) -> Vec<String> {
    let mut dice = Dice::seeded(seed);
    let mut lines = vec![build("0.7.0")];
    let mut free = [0.0_f64; 4];
    let (mut at, mut gap_s, mut change) = (0.0_f64, 2.0, 0.0);
    let mut number = 0;
    let normal = |dice: &mut Dice| (0..12).map(|_| dice.share()).sum::<f64>() - 6.0;
    while at < 7200.0 {
        if at >= change {
            gap_s = if gap_s == 2.0 { 0.7 } else { 2.0 };
            change = at + if gap_s == 2.0 { 60.0 + 240.0 * dice.share() } else { 10.0 + 20.0 * dice.share() };
        }
        at -= (1.0 - dice.share()).ln() * gap_s;
        let is_bad = at >= 3600.0;
        let input_len = (6.5 + 0.9 * normal(&mut dice)).exp();
        let prefill = dice.below(4) as usize;
        let decode = dice.below(4) as usize;
        let slower = if is_bad && prefill == SLOW && matches!(wrong, Wrong::SlowPrefill | Wrong::Both) {
            2.0
        } else {
            1.0
        };
        let own_s = (0.1 + input_len * 4e-4) * slower * (0.2 * normal(&mut dice)).exp();
        let begun = free[prefill].max(at);
        free[prefill] = begun + own_s;
        let mut ttft_s = free[prefill] - at;
        let failure_rate = if is_bad && decode == FLAKY && matches!(wrong, Wrong::FlakyDecode | Wrong::Both) {
            0.3
        } else {
            0.01
        };
        let is_failed = dice.share() < failure_rate;
        let mut fields = json!({
            "input_len": input_len as i64, "prefill_iid": format!("p{prefill}"), "decode_iid": format!("d{decode}"), "crossed": true,
            "tpot_s": 0.03 * (0.2 * normal(&mut dice)).exp(),
            "client_rid": if dice.below(3) == 0 { json!(format!("batch-{number}")) } else { json!(format!("web-{number}")) },
        });
        if is_failed {
            let is_retried = dice.share() < 0.7;
            fields["attempt_failures"] = json!([{
                "at": at + ttft_s, "attempt": 1, "phase": "decode", "prefill_iid": format!("p{prefill}"),
                "decode_iid": format!("d{decode}"), "retry_scheduled": is_retried, "retry_reason": "allowed",
            }]);
            if is_retried {
                ttft_s = 2.0 * ttft_s + 0.5;
                fields["attempts"] = json!(2);
                fields["decode_attempts"] = json!(2);
                fields["decode_iid"] = json!(format!("d{}", (decode + 1 + dice.below(3) as usize) % 4));
            } else {
                fields["terminal"] = json!("failed");
            }
        }
        fields["ttft_s"] = json!(ttft_s);
        fields["duration_s"] = json!(ttft_s + 1.0);
        lines.push(row(number, 500.0 + at, fields));
        number += 1;
    }
    lines
}

/// For ten seeds, what is named.
fn named_of_seeds(wrong: Wrong, first_seed: u64) -> Vec<Vec<String>> {
    let named = (first_seed..first_seed + 10).map(|seed| {
        let found = explained(&lab(&two_hours(seed, wrong)), &["--from", "1h"]);
        let named = found["named"].as_array().expect("an array").clone();
        named
            .iter()
            .map(|named| format!("{} {}", named["attribute"], named["value"]).replace('"', ""))
            .collect()
    });
    named.collect()
}

#[test]
fn a_slow_prefill_engine_is_named_first() {
    let found = named_of_seeds(Wrong::SlowPrefill, 100);
    let right =
        found.iter().filter(|named| named.first().is_some_and(|first| first == "prefill engine p1")).count();
    assert!(right >= 9, "{found:?}");
}

#[test]
fn a_flaky_decode_engine_is_named_first() {
    let found = named_of_seeds(Wrong::FlakyDecode, 200);
    let right =
        found.iter().filter(|named| named.first().is_some_and(|first| first == "decode engine d3")).count();
    assert!(right >= 9, "{found:?}");
}

#[test]
fn a_slow_and_a_flaky_engine_are_both_named() {
    let found = named_of_seeds(Wrong::Both, 300);
    let both = ["prefill engine p1", "decode engine d3"];
    let right = found.iter().filter(|named| {
        named.first().is_some_and(|first| both.contains(&first.as_str()))
            && both.iter().all(|one| named.iter().any(|name| name == one))
    });
    assert!(right.count() >= 9, "{found:?}");
}

#[test]
fn where_nothing_is_wrong_nothing_is_named() {
    let found = named_of_seeds(Wrong::Nothing, 400);
    let right = found.iter().filter(|named| named.is_empty()).count();
    assert!(right >= 9, "{found:?}");
}

/// A journal of journalgen, and the same hour again with engines that are worse: what is named of the second against
/// the first. Then the same faults against another journal, whose bursts are others.
#[test]
fn of_generated_journals_the_engine_that_got_worse_is_named_first() {
    let test = "of_generated_journals_the_engine_that_got_worse_is_named_first";
    let Some(shared) = real_journals(test) else { return };
    let generator = shared.join("tools/journalgen.py");
    if !has_program(test, "python3") || !generator.is_file() {
        harness::say(&format!("{test}: did not run, there is no journalgen.py"));
        return;
    }
    let python = |lab: &Lab, script: &Path, arguments: &[&str], to: &str| {
        let made = Command::new("python3").arg(script).args(arguments).current_dir(lab.path("")).output();
        let made = made.expect("python3 can be started");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        lab.write(to, &made.stdout);
        lab.ingest(to);
    };
    let (slow, flaky) = (["--slow", "n2", "0.5"], ["--flaky", "n6", "0.4"]);
    let faults: [(&str, Vec<&str>, &[&str]); 4] = [
        ("1790000001-50000000", slow.to_vec(), &["prefill engine n2"]),
        ("1790000002-f0000000", flaky.to_vec(), &["decode engine n6"]),
        ("1790000003-b0000000", [slow, flaky].concat(), &["prefill engine n2", "decode engine n6"]),
        ("1790000004-a0000000", Vec::new(), &[]),
    ];
    let first = |found: &Value| {
        let first = &found["named"][0];
        first["value"].as_str().map(|value| format!("{} {value}", first["attribute"].as_str().unwrap()))
    };
    let (mut same_traffic, mut other_traffic) = ([0; 4], [(0, 0); 4]);
    for seed in 500..510 {
        let lab = Lab::new();
        let make = |name: &str, seed: u64| {
            python(&lab, &generator, &["--rows", "2500", "--seed", &seed.to_string()], name);
        };
        make("good.jsonl", seed);
        make("other.jsonl", seed + 100);
        let run_of = |name: &str| {
            lab.rows(&format!(
                "select r.run from runs as r join sources as s using (source_id) where s.path like '%{name}'"
            ))
        };
        let [good, other] = ["good.jsonl", "other.jsonl"].map(|name| match &run_of(name)[0][0] {
            rusqlite::types::Value::Text(run) => run.clone(),
            other => panic!("{other:?}"),
        });
        let mut is_hidden = false;
        for (at, (run, flags, expected)) in faults.iter().enumerate() {
            let name = format!("{at}.jsonl");
            let seed = seed.to_string();
            let arguments = [&["good.jsonl", "--run", run, "--seed", &seed][..], flags].concat();
            python(&lab, &project().join("tests/reference/faulty.py"), &arguments, &name);
            let against = |baseline: &str| {
                let flags = [
                    "--ttft",
                    "0.5",
                    "--tpot",
                    "0.05",
                    "--format",
                    "json",
                    "--run",
                    run,
                    "--against",
                    baseline,
                ];
                lab.run(&[&["explain"], &flags[..]].concat()).exits(0).json()
            };
            let is_right = |found: &Value| match first(found) {
                Some(named) => expected.contains(&named.as_str()),
                None => expected.is_empty(),
            };
            same_traffic[at] += usize::from(is_right(&against(&good)));
            let found = against(&other);
            let is_shown = found["z"].as_f64().is_none_or(|z| z >= 1.96);
            if expected.is_empty() {
                // It comes last: calmer traffic alone hides a fault.
                assert!(!is_hidden || found["extra"].as_f64().is_some_and(|extra| extra < 0.0), "{found}");
            } else {
                is_hidden |= !is_shown;
            }
            other_traffic[at].0 += usize::from(is_shown || expected.is_empty());
            other_traffic[at].1 += usize::from((is_shown || expected.is_empty()) && is_right(&found));
        }
    }
    assert!(same_traffic.iter().all(|right| *right >= 9), "of ten: {same_traffic:?}");
    // Where the other journal had the more misses by its bursts there is nothing to explain, by definition.
    let is_kept = |(shown, right): &(usize, usize)| *shown >= 5 && 10 * right >= 9 * shown;
    assert!(other_traffic.iter().all(is_kept), "to explain, and right: {other_traffic:?}");
    harness::say(&format!("{test}: same traffic {same_traffic:?}, other traffic {other_traffic:?}"));
}

// ------------------------------------------------------------------ by the reference

/// Holds an explanation against that of the second implementation.
#[track_caller]
fn is_that_of_the_reference(found: &Value, arguments: &[&str], journals: &[&Path]) {
    let output = Command::new("python3")
        .arg(project().join("tests/reference/explaining.py"))
        .args(arguments)
        .args(journals)
        .output()
        .expect("python3 can be started");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let expected: Value = serde_json::from_slice(&output.stdout).expect("the reference prints JSON");
    for field in ["extra", "low", "high", "misses", "expected", "rest", "mix", "kinds", "named"] {
        same(&found[field], &expected[field], &format!("{arguments:?} {field}"));
    }
    for field in ["from", "to", "extra"] {
        same(
            &found["stretch"][field],
            &expected["stretch"][field],
            &format!("{arguments:?} stretch {field}"),
        );
    }
}

#[track_caller]
fn same(found: &Value, expected: &Value, what: &str) {
    match (found, expected) {
        (Value::Object(one), Value::Object(other)) => {
            // A kind that neither window has any more or less of may stand on one side only.
            for key in one.keys().chain(other.keys()) {
                same(
                    found.get(key).unwrap_or(&json!(0.0)),
                    expected.get(key).unwrap_or(&json!(0.0)),
                    &format!("{what} {key}"),
                );
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            assert_eq!(one.len(), other.len(), "{what}: {found} is not {expected}");
            let mut pairs: Vec<(&Value, &Value)> = one.iter().zip(other).collect();
            if what.ends_with("also") || what.ends_with("tied") {
                let sorted = |values: &'_ [Value]| {
                    let mut texts: Vec<String> = values.iter().map(Value::to_string).collect();
                    texts.sort();
                    texts
                };
                assert_eq!(sorted(one), sorted(other), "{what}");
                pairs.clear();
            }
            pairs.into_iter().for_each(|(one, other)| same(one, other, what));
        }
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            assert!((one - other).abs() <= 1e-9 * one.abs().max(1.0), "{what}: {one} is not {other}");
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn explanations_are_those_of_the_reference() {
    let test = "explanations_are_those_of_the_reference";
    if !has_program(test, "python3") {
        return;
    }
    let mut journals = vec![one_bad_engine()];
    for (seed, wrong) in [(1, Wrong::Both), (2, Wrong::SlowPrefill), (3, Wrong::Nothing)] {
        journals.push(two_hours(seed, wrong));
    }
    // Two routers of a fleet at the same time, and holds and ejections.
    let mut fleet = two_hours(4, Wrong::Both);
    fleet
        .extend(two_hours(5, Wrong::FlakyDecode).iter().map(|line| line.replace(RUN, "1795977790-3db97944")));
    for k in 0..60 {
        let at = 500.0 + f64::from(k) * 117.0;
        fleet.push(event(
            "engine_hold_started",
            at,
            json!({"iid": format!("p{}", k % 4), "kind": "inference"}),
        ));
        fleet.push(event(
            "engine_hold_ended",
            at + 60.0,
            json!({"iid": format!("p{}", k % 4), "kind": "inference"}),
        ));
        fleet.push(event(
            "engine_readmitted",
            at + 9.0,
            json!({"iid": format!("d{}", k % 3), "held_s": 5.5}),
        ));
    }
    journals.push(fleet);
    for (number, lines) in journals.iter().enumerate() {
        let lab = lab(lines);
        let path = lab.path("j.jsonl");
        let windows: &[&[&str]] = if number == 0 {
            &[&["--from", "4000"]]
        } else {
            &[&["--from", "1h"], &["--from", "5000", "--to", "6000"]]
        };
        for window in windows {
            for policy in ["journal", "offers", "router"] {
                let arguments = [&TARGETS[..], &["--policy", policy], window].concat();
                let found =
                    lab.run(&[&["explain", "--format", "json"], &arguments[..]].concat()).exits(0).json();
                is_that_of_the_reference(&found, &arguments, &[&path]);
            }
        }
    }
}

#[test]
fn explanations_of_generated_journals_are_those_of_the_reference() {
    let test = "explanations_of_generated_journals_are_those_of_the_reference";
    let Some(shared) = real_journals(test) else { return };
    let generator = shared.join("tools/journalgen.py");
    if !has_program(test, "python3") || !generator.is_file() {
        harness::say(&format!("{test}: did not run, there is no journalgen.py"));
        return;
    }
    for (seed, more) in [("1", &["--runs", "1"][..]), ("2", &["--runs", "2", "--interleave"])] {
        let lab = Lab::new();
        let made = Command::new("python3")
            .arg(&generator)
            .args(["--rows", "6000", "--seed", seed, "--events-per-1k", "20"])
            .args(more)
            .output()
            .expect("python3 can be started");
        let path = lab.write("j.jsonl", &made.stdout);
        lab.ingest("j.jsonl");
        for targets in [["--ttft", "0.3", "--tpot", "0.05"], ["--ttft", "1", "--tpot", "0.03"]] {
            for window in [["--from", "60"], ["--from", "120"]] {
                let arguments = [&targets[..], &window].concat();
                let found =
                    lab.run(&[&["explain", "--format", "json"], &arguments[..]].concat()).exits(0).json();
                is_that_of_the_reference(&found, &arguments, &[&path]);
            }
        }
    }
}
