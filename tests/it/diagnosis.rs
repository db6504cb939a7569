//! One request diagnosed, two runs compared, runs held against limits.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::harness::{Lab, assert_approved, fixture, terminal};
use crate::outputs::on_terminal;

const PART: &str = "0.7.0-mixed-part.jsonl";

fn lab(name: &str) -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture(name));
    lab.ingest("j.jsonl");
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab
}

/// The terminals of a fixture by plain JSON.
fn terminals(name: &str) -> Vec<Json> {
    let text = String::from_utf8(fixture(name)).unwrap();
    let rows = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    rows.filter(|row| row["terminal"].is_string()).collect()
}

/// The cases in `tests/cases/show`: what each shows, and the request.
const CASES: [(&str, &str); 4] = [
    ("retried-after-failed-decode", "e638152f-9fa9-499c-a064-8b1a7fdada5c"),
    ("cancelled-in-backoff", "3636d412-05c1-4799-a1ce-159cf97f2b12"),
    ("refused", "805db3c7-0119-4b35-aca1-161510cb50bb"),
    ("completed-and-crossed", "6455ecbf-6570-4184-a785-43b8bdc4853f"),
];

#[test]
fn a_diagnosis_reads_as_it_was_approved() {
    let lab = lab(PART);
    for (name, rid) in CASES {
        assert_approved(&format!("show/{name}.txt"), &lab.run(&["show", rid]).exits(0).stdout);
    }
}

#[test]
fn the_numbers_of_a_diagnosis_are_those_of_the_row() {
    let lab = lab(PART);
    let rows = terminals(PART);
    for (name, rid) in CASES {
        let row = rows.iter().find(|row| row["rid"] == rid).unwrap();
        let shown = lab.run(&["show", rid, "--format", "json"]).exits(0).json();
        let real = |value: &Json| value.as_f64().unwrap();
        // What happened when, worked out from the row.
        let mut expected = vec![(0.0, "arrived")];
        for entry in row["attempt_failures"].as_array().unwrap() {
            let at = real(&entry["at"]) - real(&row["arrived"]);
            expected.push((at, "attempt_failed"));
            if entry["retry_scheduled"] == true {
                expected.push((at + real(&entry["backoff_s"]), "retry_due"));
            }
        }
        for (field, step) in
            [("ttft_s", "prefill_done"), ("first_byte_s", "first_byte"), ("duration_s", "ended")]
        {
            expected.extend(row[field].as_f64().map(|at| (at, step)));
        }
        if let Some(tpot_s) = row["tpot_s"].as_f64() {
            expected.push((real(&row["ttft_s"]) + tpot_s * (real(&row["output_len"]) - 1.0), "last_token"));
        }
        expected.sort_by(|one, other| one.0.total_cmp(&other.0));
        let steps: Vec<(f64, &str)> = shown["timeline"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| (real(&step["at_s"]), step["step"].as_str().unwrap()))
            .collect();
        assert_eq!(steps, expected, "{name}");
        for (key, value) in row.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()) {
            if !value.is_object() && !value.is_array() {
                let same =
                    shown["request"][key] == *value || shown["request"][key].as_f64() == value.as_f64();
                assert!(same, "{name}: {key}: {} and {value}", shown["request"][key]);
            }
        }
        let handoff = row["first_byte_s"].as_f64().map(|byte| byte - real(&row["ttft_s"]));
        assert_eq!(shown["handoff_s"], json!(handoff), "{name}");
        let price = row["admission_price"]["price_s"].as_f64().zip(row["ttft_s"].as_f64());
        assert_eq!(shown["price_error_s"], json!(price.map(|(price, ttft)| price - ttft)), "{name}");
        let met =
            row["terminal"] == "completed" && real(&row["ttft_s"]) <= 0.8 && real(&row["tpot_s"]) <= 0.03;
        assert_eq!(shown["verdict"]["met"], met, "{name}");
    }
}

#[test]
fn a_verdict_names_the_first_thing_missed_and_given_targets_come_before_saved_ones() {
    let lab = Lab::new();
    let row = |rid: &str, more: &str| {
        terminal("1-2", rid, 1.0).replace("\"terminal\"", &format!("{more}, \"terminal\""))
    };
    let rows = [
        row("both", "\"output_len\": 5, \"ttft_s\": 3.0, \"tpot_s\": 0.5"),
        row("ttft", "\"output_len\": 5, \"ttft_s\": 3.0, \"tpot_s\": 0.05"),
        row("tpot", "\"output_len\": 5, \"ttft_s\": 1.0, \"tpot_s\": 0.5"),
        row("one-token", "\"output_len\": 1, \"ttft_s\": 2.0"),
        row("unmeasured", "\"ttft_s\": 1.0"),
        row("untimed", "\"output_len\": 5"),
        row("measured-then-cancelled", "\"output_len\": 5, \"ttft_s\": 1.0")
            .replace("completed", "cancelled"),
    ];
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let verdict = |rid: &str| {
        let shown =
            lab.run(&["show", rid, "--format", "json", "--ttft", "2", "--tpot", "0.1"]).exits(0).json();
        (shown["verdict"]["miss"].clone(), shown["verdict"]["scored"].clone())
    };
    for (rid, miss, scored) in [
        ("both", json!("ttft+tpot"), true),
        ("ttft", json!("ttft"), true),
        ("tpot", json!("tpot"), true),
        ("one-token", Json::Null, true),
        ("unmeasured", json!("output_unmeasured"), true),
        ("untimed", json!("ttft_unmeasured"), true),
        ("measured-then-cancelled", json!("cancelled"), false),
    ] {
        assert_eq!(verdict(rid), (miss, json!(scored)), "{rid}");
    }
    let without = lab.run(&["show", "both"]).exits(0).stdout;
    assert!(without.contains("targets    none given or saved"), "{without}");
    lab.run(&["show", "both", "--slo", "chat"]).exits(2).says("no SLO \"chat\" is saved");
}

#[test]
fn an_id_is_a_rid_a_client_id_or_the_beginning_of_one_that_is_enough() {
    let lab = Lab::new();
    let named = |rid: &str, arrived: f64, client: &str| {
        terminal("1-2", rid, arrived)
            .replace("\"arrived\"", &format!("\"client_rid\": \"{client}\", \"arrived\""))
    };
    let rows = [named("aa11", 1.0, "job"), named("aa22", 2.0, "job"), named("bb33", 3.0, "=cmd\\u001b[2J")];
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    for id in ["bb33", "bb", "=cmd\u{1b}[2J", "=c"] {
        let shown = lab.run(&["show", id]).exits(0).stdout;
        assert!(shown.starts_with("request    bb33  (client id \"=cmd\\u{1b}[2J\")\n"), "{id}: {shown}");
    }
    let listed = lab
        .run(&["show", "job"])
        .exits(0)
        .says("note: \"job\" names 2 requests: show one by its rid or enough of it, give --run, or list others with");
    let rids: Vec<&str> =
        listed.stdout.lines().skip(2).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(rids, ["aa22", "aa11"], "the newest first");
    let listed = lab.run(&["show", "job", "--format", "json"]).exits(0).json();
    assert_eq!((&listed[0]["rid"], &listed[0]["terminal"]), (&json!("aa22"), &json!("completed")));
    lab.run(&["show", "aa"])
        .exits(0)
        .says(
            "note: \"aa\" begins the ids of 2 requests: show one by its rid or enough of it, give --run, or list others with",
        )
        .says("`narwhal-jq query requests --client aa --since 1h`");
    lab.run(&["show", "zz"]).exits(1).says("no request is called \"zz\"");
    lab.run(&["show", ""]).exits(1).says("no request is called \"\"");
}

/// The `ceil(q n)`-th smallest value.
fn nearest_rank(mut values: Vec<f64>, percent: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * percent).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

#[test]
fn two_runs_are_compared_with_the_counts_behind_the_figures() {
    const JOURNAL: &str = "0.7.0-killed.jsonl";
    let lab = lab(JOURNAL);
    let mut by_run: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for row in terminals(JOURNAL) {
        by_run.entry(row["run"].as_str().unwrap().to_owned()).or_default().push(row);
    }
    let runs: Vec<&String> = by_run.keys().collect();
    let [a, b] = runs[..] else { panic!("two runs") };
    let compared = lab
        .run(&["compare", &a[..12], "last", "--format", "json"])
        .exits(0)
        .says("both sides are held against the same targets: TTFT 0.8 s, TPOT 0.03 s");
    let compared = compared.json();
    let figure = |name: &str| {
        let found = compared["figures"].as_array().unwrap().iter().find(|figure| figure["figure"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {compared}")).clone()
    };
    let of = |run: &String, field: &str| -> Vec<f64> {
        by_run[run]
            .iter()
            .filter(|row| row["terminal"] == "completed")
            .filter_map(|row| row[field].as_f64())
            .collect()
    };
    for percent in [50, 90, 95, 99] {
        let found = figure(&format!("ttft_s p{percent}"));
        let (left, right) = (nearest_rank(of(a, "ttft_s"), percent), nearest_rank(of(b, "ttft_s"), percent));
        assert_eq!((&found["a"], &found["b"]), (&json!(left), &json!(right)), "p{percent}");
        assert_eq!(found["difference"], json!(right.unwrap() - left.unwrap()));
        assert_eq!(
            (&found["n_a"], &found["n_b"]),
            (&json!(of(a, "ttft_s").len()), &json!(of(b, "ttft_s").len()))
        );
    }
    let completed = |run: &String| by_run[run].iter().filter(|row| row["terminal"] == "completed").count();
    let share = |run: &String| completed(run) as f64 / by_run[run].len() as f64;
    let found = figure("share completed");
    assert_eq!((&found["a"], &found["b"]), (&json!(share(a)), &json!(share(b))));
    assert_eq!((&found["n_a"], &found["n_b"]), (&json!(by_run[a].len()), &json!(by_run[b].len())));
    let met = |run: &String| {
        let meets = |row: &&Json| {
            row["terminal"] == "completed"
                && row["ttft_s"].as_f64().unwrap() <= 0.8
                && row["tpot_s"].as_f64().is_none_or(|tpot_s| tpot_s <= 0.03)
        };
        by_run[run].iter().filter(meets).count() as f64 / by_run[run].len() as f64
    };
    assert_eq!((&figure("attainment")["a"], &figure("attainment")["b"]), (&json!(met(a)), &json!(met(b))));
}

#[test]
fn what_one_run_has_not_done_is_a_share_of_0_and_an_unknown_run_is_told() {
    let lab = Lab::new();
    lab.write(
        "j.jsonl",
        format!(
            "{}\n{}\n",
            terminal("100-a", "x", 1.0),
            terminal("200-b", "y", 1.0).replace("completed", "failed")
        ),
    );
    lab.ingest("j.jsonl");
    let run = lab
        .run(&["compare", "100", "200", "--format", "csv"])
        .exits(0)
        .says("note: no attainment: give --ttft and --tpot");
    let line = |name: &str| {
        let line = run
            .stdout
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{}", run.stdout));
        line.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    // figure, a with its ends, n_a, b with its ends, n_b, difference.
    let cells = |name: &str| [1, 4, 5, 8, 9].map(|at| line(name)[at].clone());
    assert_eq!(cells("share completed,"), ["1.0", "1", "0.0", "1", "-1.0"]);
    assert_eq!(cells("share failed,"), ["0.0", "1", "1.0", "1", "1.0"]);
    assert!(!run.stdout.contains("failure_rate"), "nobody was sent to an engine: {}", run.stdout);
    lab.run(&["compare", "100", "300"]).exits(1).says("no run \"300\" in the database");
    lab.write("k.jsonl", terminal("100-b", "z", 1.0) + "\n");
    lab.ingest("k.jsonl");
    lab.run(&["compare", "100", "200"]).exits(1).says("\"100\" begins the ids of 2 runs");
    lab.run(&["query", "outcomes", "--run", "200"]).exits(0);
}

#[test]
fn a_check_exits_with_6_when_something_does_not_hold() {
    let lab = Lab::new();
    let row = |rid: &str, arrived: f64, ttft_s: f64, more: &str| {
        let fields = format!(
            "\"output_len\": 1, \"ttft_s\": {ttft_s}, \"attempts\": 1, \"decode_attempts\": 1, \"prefill_iid\": \"p\", \
             \"decode_iid\": \"d\", \"duration_s\": 0.0{more}, \"terminal\""
        );
        terminal("100-a", rid, arrived).replace("\"terminal\"", &fields)
    };
    let failure = ", \"attempt_failures\": [{\"attempt\": 1, \"phase\": \"decode\", \"prefill_iid\": \"p\", \"decode_iid\": \"d\"}]";
    // Three requests met, one was too slow, one failed in decode: of 10 legs one failed. The 99th percentile has an
    // upper end from ln(0.025) / ln(0.99) = 367.04 requests on.
    let rows = [
        row("a", 0.0, 1.0, ""),
        row("b", 1.0, 1.0, ""),
        row("c", 2.0, 1.0, ""),
        row("d", 3.0, 5.0, ""),
        row("e", 10.0, 1.0, failure).replace("completed", "failed"),
    ];
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let targets = ["--ttft", "2", "--tpot", "0.1"];
    let check = |arguments: &[&str]| lab.run(&[&["check"], arguments].concat());
    let lines = |run: crate::harness::Run| -> Vec<String> {
        let is_finding = |line: &&str| line.contains("  100-a  ");
        let without_ends = |line: &str| match (line.find(" (95 %"), line.find("), at ")) {
            (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
            _ => line.to_owned(),
        };
        run.stdout.lines().filter(is_finding).map(without_ends).collect()
    };
    let held = check(
        &[&["--min-attainment", "0.6", "--max-failure-rate", "0.1", "--max-p99-ttft", "5"], &targets[..]]
            .concat(),
    );
    assert_eq!(
        lines(held.exits(0)),
        [
            "holds      100-a  attainment 0.6, at least 0.6 (3 of 5 scored met TTFT 2 s, TPOT 0.1 s, policy journal; 0 excluded; \
             rests on about 2 independent misses: one burst more or less changes it)",
            "holds      100-a  failure_rate 0.1, at most 0.1 (1 of 10 legs failed; \
             rests on about 1 independent failed leg: one burst more or less changes it)",
            "holds      100-a  ttft_s p99 5, at most 5 (over 4 completed requests that count like 4, an upper end needs 368)",
        ]
    );
    let failed = check(&[&["--min-attainment", "0.61", "--max-p99-ttft", "4.9"], &targets[..]].concat());
    assert_eq!(
        lines(failed.exits(6)),
        [
            "broken     100-a  attainment 0.6, at least 0.61 (3 of 5 scored met TTFT 2 s, TPOT 0.1 s, policy journal; 0 excluded; \
             rests on about 2 independent misses: one burst more or less changes it)",
            "broken     100-a  ttft_s p99 5, at most 4.9 (over 4 completed requests that count like 4, an upper end needs 368)",
        ]
    );
    // The last 6.5 seconds hold the failed request alone.
    let last = check(&["--max-failure-rate", "0.4", "--max-p99-ttft", "9", "--run", "last", "--last", "6.5"]);
    assert_eq!(
        lines(last.exits(6)),
        [
            "broken     100-a  failure_rate 0.5, at most 0.4 (1 of 2 legs failed; rests on about 1 independent failed leg: one burst more or less changes it)",
            "no data    100-a  ttft_s p99 unknown, at most 9 (no completed request has it)",
        ]
    );
    check(&["--max-p99-ttft", "9", "--last", "6.5"]).exits(7);
    check(&[]).exits(2).says("--min-attainment <SHARE>").says("check LIMIT... [SELECTION]");
    check(&["--min-attainment", "1.5"]).exits(2).says("\"1.5\" is not a share from 0 to 1");
    check(&["--min-attainment", "0.9"]).exits(2).says("no SLO \"default\" is saved");
    check(&["--max-p99-ttft", "9", "--run", "x"]).exits(1).says("no run \"x\"");
}

#[test]
fn issue_13_18_an_ejection_whose_start_is_unknown_began_after_the_readmission_before_it() {
    let lab = Lab::new();
    let event = |kind: &str, at: f64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"100-a\", \"event\": \"{kind}\", \
             \"at\": {at:?}, \"iid\": \"p\"}}"
        )
    };
    let request = |rid: &str, arrived: f64| {
        let fields = "\"prefill_iid\": \"p\", \"duration_s\": 1.0, \"terminal\"";
        terminal("100-a", rid, arrived).replace("\"terminal\"", fields)
    };
    // Ejected 10 to 20; the start of the ejection that ended at 40 is lost; then none to be known.
    let rows = [
        request("first", 1.0),
        event("engine_ejected", 10.0),
        request("within", 12.0),
        request("at-its-end", 19.5),
        event("engine_readmitted", 20.0),
        request("between", 25.0),
        event("engine_readmitted", 40.0),
        request("last", 50.0),
    ];
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let meanwhile = |rid: &str| {
        let shown = lab.run(&["show", rid, "--format", "json"]).exits(0).json();
        let items = shown["meanwhile"].as_array().unwrap().clone();
        items
            .iter()
            .map(|item| json!([item["from_s"], item["not_before_s"], item["to_s"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(meanwhile("first"), [json!(null); 0]);
    assert_eq!(meanwhile("within"), [json!([-2.0, null, 8.0])]);
    assert_eq!(meanwhile("at-its-end"), [json!([-9.5, null, 0.5]), json!([null, 0.5, 20.5])]);
    assert_eq!(meanwhile("between"), [json!([null, -5.0, 15.0])]);
    assert_eq!(meanwhile("last"), [json!(null); 0]);
    let shown = lab.run(&["show", "between"]).exits(0).stdout;
    assert!(shown.contains("after -5.000000 to 15.000000  p ejected"), "{shown}");
    // Without one before, it may have been so ever.
    let alone = Lab::new();
    alone.write("j.jsonl", [&rows[0], &rows[6], &rows[7]].map(String::as_str).join("\n") + "\n");
    alone.ingest("j.jsonl");
    let shown = alone.run(&["show", "first"]).exits(0).stdout;
    assert!(shown.contains("           ? to 39.000000  p ejected"), "{shown}");
}

#[test]
fn issue_13_26_a_beginning_of_many_lists_the_newest_with_what_became_of_them() {
    let lab = Lab::new();
    // 45 requests whose ids begin alike, the later the newer; the last was refused, the one before has no TTFT.
    let rows: Vec<String> = (0..45)
        .map(|at| {
            let more = match at {
                44 => "\"refused_cause\": \"queue\", ".to_owned(),
                43 => String::new(),
                _ => format!("\"ttft_s\": {}, ", 0.25 + f64::from(at)),
            };
            let ends = if at == 44 { "refused" } else { "completed" };
            terminal("100-a", &format!("ab{at:02}"), f64::from(at))
                .replace("\"terminal\": \"completed\"", &format!("{more}\"terminal\": \"{ends}\""))
        })
        .collect();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let listed = lab.run(&["show", "ab"]).exits(0).says("\"ab\" begins the ids of 45 requests");
    let lines: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for what in ["rid", "terminal", "reason", "ttft_s"] {
        assert!(lines.iter().take(3).any(|line| line.contains(&what)), "{what}: {}", listed.stdout);
    }
    let of = |rid: &str| lines.iter().find(|line| line.contains(&rid));
    let refused = of("ab44").expect("the newest is listed");
    assert!(refused.contains(&"refused") && refused.contains(&"queue"), "{}", listed.stdout);
    assert!(of("ab42").expect("the third, too").contains(&"42.25"), "{}", listed.stdout);
    assert!(of("ab00").is_none(), "not all: {}", listed.stdout);
    assert!(listed.stdout.lines().count() <= 22, "a screen: {}", listed.stdout);
    // How to have fewer, or others: each is a call that can be made.
    assert!(listed.stderr.contains("show one by its rid or enough of it"), "{}", listed.stderr);
    assert!(listed.stderr.contains("--run"), "{}", listed.stderr);
    assert!(listed.stderr.contains("narwhal-jq query requests --client ab"), "{}", listed.stderr);
    lab.run(&["show", "ab44"]).exits(0);
}

#[test]
fn on_a_screen_each_of_many_has_one_line_and_enough_of_its_id() {
    let lab = Lab::new();
    let rid = |at: u32| format!("ab4b{at:04}-4b92-4315-85d4-8b12ed07f75a");
    let rows: Vec<String> =
        (0..9).map(|at| terminal("1790000077-b3558b5f", &rid(at), f64::from(at))).collect();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let shown = on_terminal(&lab, 80, &["show", "ab4b"]);
    let of: Vec<&str> = shown.lines().filter(|line| line.starts_with("ab4b")).collect();
    assert_eq!(of.len(), 9, "{shown}");
    for line in of {
        let beginning = line.split_whitespace().next().unwrap();
        assert!(line.contains("completed"), "{shown}");
        assert!(lab.run(&["show", beginning]).exits(0).stdout.starts_with("request    ab4b"));
    }
    // Whoever reads a file has all of it.
    assert!(lab.run(&["show", "ab4b"]).exits(0).stdout.contains(&rid(3)));
}
