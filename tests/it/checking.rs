//! `check`: limits over any selection, and what cannot be judged.

use chrono::Utc;
use serde_json::json;

use crate::harness::{Lab, Run, has_program, project};
use crate::reckoning::{TARGETS, alike, lab, met, near, reference, row, share};

const RUN: &str = "1795000000-a";

fn check(lab: &Lab, arguments: &[&str]) -> Run {
    lab.run(&[&["check"], arguments].concat())
}

/// Four requests met and one did not.
fn four_of_five() -> Lab {
    lab(&[(0..5).map(|at| met(RUN, at, f64::from(at), at != 3)).collect()])
}

#[test]
fn a_target_equal_to_the_measured_value_holds() {
    let lab = four_of_five();
    let held = check(&lab, &[&["--min-attainment", "0.8"], &TARGETS[..]].concat()).exits(0);
    let line = "holds      1795000000-a  attainment 0.8 (95 %: 0.376 to 0.964), at least 0.8 (4 of 5 scored met TTFT 1 s, \
                TPOT 1 s, policy journal; 0 excluded; rests on about 1 independent miss: one burst more or less changes it)\n";
    assert!(held.stdout.starts_with(line), "{}", held.stdout);
    assert!(held.stdout.contains("\nthe newest row is "), "{}", held.stdout);
    // What was met, and how much it tells, as data.
    let flags =
        ["--min-attainment", "0.8", "--max-refused-share", "1", "--policy", "offers", "--format", "json"];
    let data = check(&lab, &[&flags[..], &TARGETS[..]].concat()).exits(0).json();
    let [attainment, refused] = [0, 1].map(|at| &data["limits"][at]);
    assert_eq!(
        ["ttft", "tpot", "policy", "independent"].map(|key| &attainment[key]),
        [&json!(1.0), &json!(1.0), &json!("offers"), &json!(5.0)]
    );
    assert_eq!((&refused["ttft"], &refused["independent"]), (&json!(null), &json!(5.0)));
    let broken = check(&lab, &[&["--min-attainment", "0.800001"], &TARGETS[..]].concat()).exits(6);
    assert!(broken.stdout.starts_with("broken "), "{}", broken.stdout);
    check(&lab, &["--max-p50-ttft", "0.5"]).exits(0);
    check(&lab, &["--max-p90-ttft", "2"]).exits(0);
    check(&lab, &["--max-p90-ttft", "1.9"]).exits(6);
    // Five requests in the four seconds from the first to the last.
    check(&lab, &["--min-rate", "1.25"]).exits(0);
    check(&lab, &["--min-rate", "1.26"]).exits(6);
}

#[test]
fn the_interval_decides_when_that_is_asked() {
    // The third worked example of the definitions: 909 of 1000, [0.885268662066, 0.928220687516].
    let mut x = 1_u64;
    let rows = (0..1000).map(|at| {
        x = (1_103_515_245 * x + 12_345) % (1 << 31);
        met(RUN, at, f64::from(at), 10 * x >= 1 << 31)
    });
    let lab = lab(&[rows.collect()]);
    for (least, verdict, code) in [("0.85", "holds", 0), ("0.9", "undecided", 7), ("0.95", "broken", 6)] {
        let arguments =
            [&["--confident", "--format", "json", "--min-attainment", least], &TARGETS[..]].concat();
        let found = check(&lab, &arguments).exits(code).json();
        let limit = &found["limits"][0];
        assert_eq!(limit["verdict"], verdict, "{least}");
        near(&limit["low"], 0.885268662066);
        near(&limit["high"], 0.928220687516);
        assert_eq!((limit["value"].as_f64(), limit["n"].as_u64()), (Some(0.909), Some(1000)));
        let of_all = if code == 7 { "unjudged" } else { verdict };
        assert_eq!(found["verdict"], of_all);
    }
    // The measured value decides otherwise: it is exact for the past.
    check(&lab, &[&["--min-attainment", "0.9"], &TARGETS[..]].concat()).exits(0);
    check(&lab, &[&["--min-attainment", "0.91"], &TARGETS[..]].concat()).exits(6);
    // A rate has no interval.
    check(&lab, &["--confident", "--min-rate", "0.5"]).exits(0);
}

#[test]
fn percentiles_have_the_ends_of_the_definitions() {
    // The worked example: tripled where i % 250 < 50.
    let rows = (0..1000_u32).map(|at| {
        let value = f64::from(7919 * at % 1009) / 1000.0;
        let ttft_s = if at % 250 < 50 { 3.0 * value } else { value };
        row(RUN, &format!("r{at:04}"), f64::from(at), &format!("\"ttft_s\": {ttft_s}"))
    });
    let lab = lab(&[rows.collect()]);
    let flags = ["--max-p50-ttft", "9", "--max-p90-ttft", "9", "--max-p95-ttft", "9", "--max-p99-ttft", "9"];
    let found = check(&lab, &[&flags[..], &["--format", "json"]].concat()).exits(0).json();
    let expected = [
        ("ttft_s p50", 0.573, Some(0.497), Some(0.659)),
        ("ttft_s p90", 1.554, Some(0.861), None),
        ("ttft_s p95", 2.292, Some(1.452), Some(3.024)),
        ("ttft_s p99", 2.922, Some(2.745), Some(3.021)),
    ];
    for (limit, (name, value, low, high)) in found["limits"].as_array().unwrap().iter().zip(expected) {
        assert_eq!(limit["limit"], name);
        near(&limit["value"], value);
        alike(&limit["low"], &json!(low));
        alike(&limit["high"], &json!(high));
    }
    let text = check(&lab, &["--max-p90-ttft", "2", "--confident"]).exits(7).stdout;
    assert!(
        text.starts_with(
            "undecided  1795000000-a  ttft_s p90 1.55 (95 %: at least 0.861, no upper end), at most 2"
        ),
        "{text}"
    );
}

#[test]
fn a_percentile_without_ends_is_undecided() {
    let lab = lab(&[(0..3).map(|at| met(RUN, at, f64::from(at), true)).collect()]);
    check(&lab, &["--max-p99-ttft", "9", "--confident"]).exits(7);
    // It is measured, and of three values says nothing of the next ones: it must not look exact.
    let held = check(&lab, &["--max-p50-ttft", "9", "--min-rate", "0.1"]).exits(0).stdout;
    let is_marked = "ttft_s p50 0.5 (no interval), at most 9 (over 3 completed requests that count like 3, an upper end \
                     needs 6)";
    assert!(held.contains(is_marked), "{held}");
    // What was counted is exact.
    assert!(held.contains("offered_per_s 1.5, at least 0.1 (3 requests in 2 s)"), "{held}");
}

#[test]
fn a_run_without_requests_breaks_a_least_rate() {
    let event = |at: f64| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"below_floor\", \
             \"at\": {at:?}, \"live_prefill\": 0, \"min_prefill\": 1}}"
        )
    };
    let lab = lab(&[vec![event(1.0), event(11.0)]]);
    let idle = check(&lab, &["--min-rate", "0.1"]);
    assert!(idle.stdout.contains("offered_per_s 0, at least 0.1 (0 requests in 10 s)"), "{}", idle.stdout);
    idle.exits(6);
    check(&lab, &["--min-rate", "0.1", "--min-requests", "1"]).exits(7);
}

#[test]
fn statements_in_order_sort_nothing() {
    let lab = four_of_five();
    let database = lab.database();
    for (name, index) in [
        ("requests", "INDEX sqlite_autoindex_terminals_1"),
        ("completed", "COVERING INDEX terminals_completed"),
        ("not-completed", "COVERING INDEX terminals_not_completed"),
    ] {
        let sql = std::fs::read_to_string(project().join(format!("queries/ordered/{name}.sql"))).unwrap();
        let mut explain = database.prepare(&format!("explain query plan {sql}")).unwrap();
        let steps =
            explain.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(
            steps,
            [format!("SEARCH t USING {index} (run_id=? AND arrived>? AND arrived<?)")],
            "{name}"
        );
    }
}

#[test]
fn a_dead_router_cannot_be_judged_when_its_age_matters() {
    let now_s = Utc::now().timestamp();
    let rows = |started_s: i64, good: bool| -> Vec<String> {
        (0..40).map(|at| met(&format!("{started_s}-r"), at, f64::from(at), good || at % 2 == 0)).collect()
    };
    let (dead, alive) = (now_s - 7200, now_s - 60);
    let lab = lab(&[rows(dead, true), rows(alive, true)]);
    let limit = [&["--min-attainment", "0.9"], &TARGETS[..]].concat();
    let alone = |age: &[&str]| check(&lab, &[&limit[..], &["--run", &format!("{dead}-r")], age].concat());
    assert!(alone(&[]).exits(0).stdout.contains("the newest row is 119 min old"));
    let stale = alone(&["--max-age", "10m"]).exits(7);
    assert!(stale.stdout.starts_with("stale "), "{}", stale.stdout);
    assert!(stale.stdout.contains("its newest row is 119 min old"), "{}", stale.stdout);
    let found = alone(&["--max-age", "10m", "--format", "json"]).exits(7).json();
    assert_eq!((&found["verdict"], &found["limits"][0]["verdict"]), (&json!("unjudged"), &json!("stale")));
    let age_s = found["age_s"].as_f64().unwrap();
    // 39 s after its first row; the test may take a while.
    assert!((7161.0..7300.0).contains(&age_s), "{age_s}");
    alone(&["--max-age", "3h"]).exits(0);
    // Beside one that lives, it is not hidden; as one scope the newest row counts.
    let both = check(&lab, &[&limit[..], &["--run", "current", "--max-age", "10m"]].concat()).exits(7);
    assert!(both.stdout.contains(&format!("stale      {dead}-r")), "{}", both.stdout);
    assert!(both.stdout.contains(&format!("holds      {alive}-r")), "{}", both.stdout);
    check(&lab, &[&limit[..], &["--by", "all", "--max-age", "10m"]].concat()).exits(0);
    // What is broken is so before anything else.
    let lab = crate::reckoning::lab(&[rows(dead, false)]);
    let broken = check(&lab, &[&limit[..], &["--max-age", "10m"]].concat()).exits(6);
    assert!(broken.stdout.contains("; its newest row is 119 min old)"), "{}", broken.stdout);
}

#[test]
fn an_empty_window_and_too_few_requests_cannot_be_judged() {
    let lab = four_of_five();
    let limit = [&["--min-attainment", "0.5"], &TARGETS[..]].concat();
    check(&lab, &[&limit[..], &["--since", "5m"]].concat())
        .exits(7)
        .says("nothing was measured that could hold: --since 5m");
    let found = check(&lab, &[&limit[..], &["--since", "5m", "--format", "json"]].concat()).exits(7).json();
    assert_eq!((&found["verdict"], &found["age_s"]), (&json!("unjudged"), &json!(null)));
    let limit_0 = &found["limits"][0];
    assert_eq!((&limit_0["scope"], &limit_0["verdict"]), (&json!("1795000000-a"), &json!("no data")));
    assert_eq!((&limit_0["value"], &limit_0["n"]), (&json!(null), &json!(0)));
    // In metrics the age of the silent one stays: an alert on it must not fall silent, too.
    let metrics = [&limit[..], &["--since", "5m", "--format", "openmetrics"]].concat();
    let metrics = check(&lab, &metrics).exits(7).stdout;
    let age = metrics.lines().find_map(|line| line.strip_prefix("narwhal_jq_check_newest_row_age_seconds "));
    assert!(age.and_then(|age| age.parse::<f64>().ok()) > Some(300.0), "{metrics}");
    // Before it there was nothing that could have fallen silent.
    let found =
        check(&lab, &[&limit[..], &["--until", "2026-01-01", "--format", "json"]].concat()).exits(7).json();
    assert_eq!(found, json!({"verdict": "unjudged", "limits": [], "age_s": null}));
    let few = check(&lab, &[&limit[..], &["--min-requests", "6"]].concat()).exits(7);
    assert!(few.stdout.starts_with("too few "), "{}", few.stdout);
    assert!(few.stdout.contains("5 requests, 6 are needed"), "{}", few.stdout);
    let few =
        check(&lab, &[&limit[..], &["--min-requests", "6", "--format", "json"]].concat()).exits(7).json();
    assert_eq!(few["limits"][0]["verdict"], "no data", "the words of the data are five");
    check(&lab, &[&limit[..], &["--min-requests", "5"]].concat()).exits(0);
    // Too few to break it, too.
    check(&lab, &[&["--min-attainment", "0.9", "--min-requests", "6"], &TARGETS[..]].concat()).exits(7);
    // Nobody was sent to an engine, and no output was long enough for a TPOT.
    let none = check(&lab, &["--max-failure-rate", "0.5", "--max-p99-tpot", "1"]).exits(7);
    assert!(
        none.stdout.contains("no data    1795000000-a  failure_rate unknown, at most 0.5 (no leg)"),
        "{}",
        none.stdout
    );
    assert!(
        none.stdout.contains("tpot_s p99 unknown, at most 1 (no completed request has it)"),
        "{}",
        none.stdout
    );
}

#[test]
fn the_bad_router_of_a_fleet_is_named() {
    let run = |router: u32| format!("{}-r{router}", 1_795_000_000 + router);
    let rows = |router: u32| {
        (0..100).map(|at| met(&run(router), at, f64::from(at), router != 2 || at % 4 != 0)).collect()
    };
    let lab = lab(&[rows(0), rows(1), rows(2), rows(3)]);
    let limit = [&["--min-attainment", "0.9"], &TARGETS[..]].concat();
    let found = check(&lab, &[&limit[..], &["--run", "current"]].concat()).exits(6);
    let named = format!("attainment is broken in 1 of 4: it is {}\n", run(2));
    assert!(found.stdout.contains(&named), "{}", found.stdout);
    assert!(found.stdout.contains(&format!("broken     {}  attainment 0.75 (", run(2))), "{}", found.stdout);
    // Together they keep it: 375 of 400.
    check(&lab, &[&limit[..], &["--by", "all"]].concat()).exits(0);
    check(&lab, &[&limit[..], &["--run", "last"]].concat()).exits(0).says("`--run current` takes in all");
    check(&lab, &[&limit[..], &["--by", "source"]].concat()).exits(6);
}

#[test]
fn unavailable_accounting_is_said_where_it_breaks_a_limit() {
    let rows = (0..20).map(|at| {
        row(RUN, &format!("r{at}"), f64::from(at), "\"ttft_s\": 0.5, \"token_accounting\": \"unavailable\"")
    });
    let lab = lab(&[rows.collect()]);
    let limit = [&["--min-attainment", "0.9"], &TARGETS[..]].concat();
    let broken = check(&lab, &limit)
        .exits(6)
        .says("token accounting is unavailable, so the output of 20 completed requests is unknown")
        .says("`--policy router` does not need it");
    // Where nobody reads notes, too.
    assert!(
        broken.stdout.contains("; token accounting is unavailable: which of them met"),
        "{}",
        broken.stdout
    );
    let data = check(&lab, &[&limit[..], &["--format", "json"]].concat()).exits(6).json();
    assert_eq!(data["limits"][0]["token_accounting"], "unavailable");
    check(&lab, &[&limit[..], &["--policy", "router"]].concat()).exits(0);
    // Whether they met is not known, so no interval can show that they did not.
    let sure = check(&lab, &[&limit[..], &["--confident"]].concat()).exits(7);
    assert!(sure.stdout.starts_with("undecided "), "{}", sure.stdout);
    assert!(sure.stdout.contains("token accounting is unavailable: which of them met"), "{}", sure.stdout);
    let router = check(&lab, &[&limit[..], &["--confident", "--policy", "router"]].concat()).exits(7);
    assert!(!router.stdout.contains("unavailable"), "20 are too few to be sure: {}", router.stdout);
}

#[test]
fn a_router_that_fell_silent_is_named_and_cannot_be_judged() {
    let now_s = Utc::now().timestamp();
    let rows = |started_s: i64| -> Vec<String> {
        (0..40).map(|at| met(&format!("{started_s}-r"), at, f64::from(at), true)).collect()
    };
    let (dead, before, alive) = (now_s - 7200, now_s - 9000, now_s - 60);
    // The one that lives was started anew: its run before is not a router that fell silent.
    let lab = lab(&[rows(dead), [rows(before), rows(alive)].concat()]);
    let limits = [&["--min-attainment", "0.9", "--max-p99-ttft", "2"], &TARGETS[..]].concat();
    let asked = |more: &[&str]| check(&lab, &[&limits[..], more].concat());
    let found = asked(&["--since", "10m"]).exits(7);
    let silent = format!(
        "no data    {dead}-r  attainment unknown, at least 0.9 (silent: no row since then, and its newest one is 119 min old)\n"
    );
    assert!(found.stdout.contains(&silent), "{}", found.stdout);
    assert!(found.stdout.contains(&format!("holds      {alive}-r  attainment 1 ")), "{}", found.stdout);
    assert!(!found.stdout.contains(&format!("{before}-r")), "{}", found.stdout);
    let ages = found.stdout.lines().find(|line| line.starts_with("the newest row is ")).unwrap();
    assert!(ages.ends_with(&format!(" s old, of {alive}-r; that of {dead}-r is 119 min old")), "{ages}");
    let data = asked(&["--since", "10m", "--format", "json"]).exits(7).json();
    let of_dead = |limit: &&serde_json::Value| limit["scope"] == format!("{dead}-r");
    let of_dead: Vec<_> = data["limits"].as_array().unwrap().iter().filter(of_dead).collect();
    assert_eq!(of_dead.len(), 2, "each limit: {data}");
    assert!(
        of_dead.iter().all(|limit| limit["verdict"] == "no data" && limit["age_s"].as_f64() > Some(7000.0))
    );
    assert!(data["age_s"].as_f64() < Some(60.0), "of all that was looked at: {data}");
    let metrics = asked(&["--since", "10m", "--format", "openmetrics"]).exits(7).stdout;
    assert!(
        metrics.contains(&format!("narwhal_jq_check_scope_newest_row_age_seconds{{scope=\"{dead}-r\"}} 7")),
        "{metrics}"
    );
    // It is named by its journal where scopes are something else, and is not where it was not asked for.
    let all = asked(&["--since", "10m", "--by", "all"]).exits(7);
    assert!(
        all.stdout.contains("no data  ") && all.stdout.contains("j0.jsonl  attainment unknown"),
        "{}",
        all.stdout
    );
    asked(&["--since", "10m", "--by", "source"]).exits(7);
    asked(&["--since", "10m", "--source", "j1.jsonl"]).exits(0);
    asked(&["--since", "10m", "--run", &format!("{alive}-r")]).exits(0);
    // Both lie in one folder, which speaks.
    asked(&["--since", "10m", "--by", "folder"]).exits(0);
    // All that is silent: what a burn rate looks at, too.
    let burn = ["--min-attainment", "0.9", "--burn", "2", "--windows", "20m,10m"];
    let burnt = check(&lab, &[&burn[..], &TARGETS[..]].concat()).exits(7);
    assert!(
        burnt.stdout.contains(&format!("no data    {dead}-r  burn 20m,10m unknown, at most 2")),
        "{}",
        burnt.stdout
    );
}

#[test]
fn the_worst_engine_is_named() {
    let leg = |at: u32, engine: &str, failed: bool| {
        let failure = "\"attempt_failures\": [{\"attempt\": 1, \"phase\": \"decode\", \"prefill_iid\": \"p\", \"decode_iid\": \"ENGINE\"}], ";
        let failure = if failed { failure.replace("ENGINE", engine) } else { String::new() };
        let fields = format!(
            "{failure}\"attempts\": 1, \"decode_attempts\": 1, \"prefill_iid\": \"p\", \"decode_iid\": \"{engine}\""
        );
        let row = row(RUN, &format!("r{at:04}"), f64::from(at), &fields);
        if failed { row.replace("completed", "failed") } else { row }
    };
    // d1: 30 of 100 failed. d2: 1 of 2.
    let mut rows: Vec<String> = (0..100).map(|at| leg(at, "d1", at % 10 < 3)).collect();
    rows.extend((100..102).map(|at| leg(at, "d2", at == 100)));
    rows.extend((102..202).map(|at| leg(at, "d0", false)));
    let lab = lab(&[rows]);
    let measured = check(&lab, &["--max-engine-failure-rate", "0.1"]).exits(6).stdout;
    assert!(measured.contains("d2 decode, the worst of 4: 1 of 2 legs failed"), "{measured}");
    let confident = check(&lab, &["--max-engine-failure-rate", "0.1", "--confident"]).exits(6).stdout;
    assert!(confident.contains("d1 decode, the worst of 4: 30 of 100 legs failed"), "{confident}");
    let as_json = ["--max-engine-failure-rate", "0.1", "--format", "json"];
    let data = check(&lab, &as_json).exits(6).json();
    assert_eq!(["engine", "leg"].map(|key| &data["limits"][0][key]), [&json!("d2"), &json!("decode")]);
    let metrics =
        check(&lab, &["--max-engine-failure-rate", "0.1", "--format", "openmetrics"]).exits(6).stdout;
    let worst = format!(
        "narwhal_jq_check_worst_engine{{limit=\"engine failure_rate\",scope=\"{RUN}\",engine=\"d2\",leg=\"decode\"}} 1\n"
    );
    assert!(metrics.contains(&worst), "{metrics}");
    // 31 of 404 legs of all.
    check(&lab, &["--max-failure-rate", "0.0767"]).exits(6);
    check(&lab, &["--max-failure-rate", "0.0768"]).exits(0);
    // Names of two routers are taken together, which is said: 1 of 2 and 0 of 2.
    let named = |run: &str, failed: u32| -> Vec<String> {
        (900..902).map(|at| leg(at, "d2", at < failed).replace(RUN, run)).collect()
    };
    let lab = crate::reckoning::lab(&[named(RUN, 901), named("1795000000-b", 0)]);
    let pooled = check(&lab, &["--max-engine-failure-rate", "0.1", "--by", "all"]).exits(6).stdout;
    assert!(pooled.contains("d2 decode, the worst of 2: 1 of 4 legs failed"), "{pooled}");
    assert!(pooled.contains("; engines of one name in 2 runs count as one)"), "{pooled}");
    let single = check(&lab, &["--max-engine-failure-rate", "0.1", "--run", RUN]).exits(6).stdout;
    assert!(!single.contains("count as one"), "{single}");
}

#[test]
fn a_burn_rate_is_broken_only_in_every_window() {
    let now_s = Utc::now().timestamp();
    let started_s = now_s - 3600;
    // A request a second for an hour until about now; in the last two minutes half of them missed.
    let rows = |bad_from: u32| -> Vec<String> {
        (0..3600)
            .map(|at| met(&format!("{started_s}-r"), at, f64::from(at), at < bad_from || at % 2 == 0))
            .collect()
    };
    let burn = |lab: &Lab, factor: &str| {
        let flags = ["--min-attainment", "0.99", "--burn", factor, "--windows", "50m,4m", "--format", "json"];
        let found = check(lab, &[&flags[..], &TARGETS[..]].concat());
        (found.code, found.json())
    };
    let lab = lab(&[rows(3480)]);
    // Of the last 4 minutes a quarter missed: 25 times what is allowed; of 50 minutes a fiftieth.
    let (code, found) = burn(&lab, "1.5");
    assert_eq!((code, &found["limits"][0]["limit"]), (6, &json!("burn 50m,4m")));
    let value = found["limits"][0]["value"].as_f64().unwrap();
    assert!((1.9..2.1).contains(&value), "{value}");
    assert_eq!(burn(&lab, "2.5").0, 0, "the long window does not burn that fast");
    assert_eq!((&found["limits"][0]["window"], &found["limits"][0]["ttft"]), (&json!("50m"), &json!(1.0)));
    let flags = ["--min-attainment", "0.99", "--burn", "1.5", "--windows", "50m,4m"];
    let words = check(&lab, &[&flags[..], &TARGETS[..]].concat()).exits(6).stdout;
    let (_, windows) = words.split_once("at most 1.5 (50m: burn ").expect("a window of each");
    assert!(windows.contains(" scored; 4m: burn ") && windows.contains(", of "), "{words}");
    assert!(
        windows.contains(" scored; the least of them decides; misses of TTFT 1 s, TPOT 1 s, policy journal)"),
        "{words}"
    );
    // An hour ago, and over.
    let over =
        [&["--min-attainment", "0.99", "--burn", "1", "--windows", "50m,4m", "--until", "30m"], &TARGETS[..]]
            .concat();
    check(&lab, &over).exits(0);
    // Nothing in the windows.
    let old = four_of_five();
    assert_eq!(burn(&old, "1").0, 7);
    check(&old, &[&["--min-attainment", "1", "--burn", "1", "--windows", "1h"], &TARGETS[..]].concat())
        .exits(2)
        .says("allows no miss");
    check(&old, &["--burn", "1", "--windows", "1h"]).exits(2);
}

#[test]
fn metrics_are_what_prometheus_takes() {
    let lab = four_of_five();
    let limits =
        ["--min-attainment", "0.9", "--max-p99-tpot", "1", "--format", "openmetrics", "-o", "n.prom"];
    let written = check(&lab, &[&limits[..], &TARGETS[..]].concat()).exits(6);
    assert_eq!(written.stdout, "");
    let text = std::fs::read_to_string(lab.path("n.prom")).unwrap();
    for line in [
        "narwhal_jq_check_value{limit=\"attainment\",scope=\"1795000000-a\"} 0.8\n",
        "narwhal_jq_check_bound{limit=\"attainment\",scope=\"1795000000-a\"} 0.9\n",
        "narwhal_jq_check_broken{limit=\"attainment\",scope=\"1795000000-a\"} 1\n",
        "narwhal_jq_check_unjudged{limit=\"tpot_s p99\",scope=\"1795000000-a\"} 1\n",
        "narwhal_jq_check_any_broken 1\n",
        "# TYPE narwhal_jq_check_newest_row_age_seconds gauge\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains("value{limit=\"tpot_s p99\""), "{text}");
    if has_program("metrics_are_what_prometheus_takes", "promtool") {
        let mut promtool = std::process::Command::new("promtool");
        promtool.args(["check", "metrics"]).stdin(std::fs::File::open(lab.path("n.prom")).unwrap());
        let output = promtool.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn routers_of_a_fleet_are_ordered_by_wall_time() {
    if !has_program("routers_of_a_fleet_are_ordered_by_wall_time", "python3") {
        return;
    }
    // Four routers that start a second apart, whose clocks have nothing in common. A burst of misses hits all.
    let mut by_wall: Vec<(f64, String, String, bool)> = Vec::new();
    let mut journals = Vec::new();
    for router in 0..4_u32 {
        let run = format!("{}-r{}", 1_795_000_000 + router, 3 - router);
        let zero_s = 1000.0 * f64::from(7 * router % 5);
        let mut rows = Vec::new();
        for at in 0..300_u32 {
            // Two requests arrive at once.
            let rel_s = f64::from(at / 2);
            let wall_s = f64::from(router) + rel_s;
            let is_met = !((60.0..75.0).contains(&wall_s) || (120.0..126.0).contains(&wall_s)) || at % 7 == 0;
            by_wall.push((wall_s, run.clone(), format!("r{at:06}"), is_met));
            rows.push(met(&run, at, zero_s + rel_s, is_met));
        }
        // The rows of a journal need no order.
        rows[1..].reverse();
        journals.push(rows);
    }
    let lab = lab(&journals);
    by_wall
        .sort_by(|one, other| (one.0, &one.1, &one.2).partial_cmp(&(other.0, &other.1, &other.2)).unwrap());
    let hits: Vec<bool> = by_wall.iter().map(|row| row.3).collect();
    let expected = share(&hits);
    let ask = ["--min-attainment", "0.5", "--by", "all", "--format", "json"];
    let found = check(&lab, &[&ask[..], &TARGETS[..]].concat()).exits(0).json();
    alike(&found["limits"][0]["low"], &expected["low"]);
    alike(&found["limits"][0]["high"], &expected["high"]);

    // Intervals of queries and `compare` read the same requests otherwise.
    let ask_again =
        [&["query", "attainment", "--by", "all", "--intervals", "--format", "json"], &TARGETS[..]].concat();
    let again = lab.run(&ask_again).exits(0).json();
    alike(&again[0]["attainment_low"], &expected["low"]);
    alike(&again[0]["attainment_high"], &expected["high"]);

    // Run after run, what they share is not seen, and the interval is narrower.
    let mut by_run = by_wall;
    by_run.sort_by(|one, other| (&one.1, one.0, &one.2).partial_cmp(&(&other.1, other.0, &other.2)).unwrap());
    let hits: Vec<bool> = by_run.iter().map(|row| row.3).collect();
    let narrower = share(&hits);
    assert!(narrower["low"].as_f64() > expected["low"].as_f64());

    // With a run that has no wall time among them it is all that can be done, and is said.
    let unknown: Vec<String> = (0..10).map(|at| met("nameless", at, f64::from(at), true)).collect();
    lab.write("nameless.jsonl", unknown.join("\n") + "\n");
    lab.ingest("nameless.jsonl");
    let has_wall =
        lab.number("select count(*) from runs where run = 'nameless' and wall_offset_s is not null");
    assert_eq!(has_wall, 0);
    let said = check(&lab, &[&ask[..], &TARGETS[..]].concat())
        .exits(0)
        .says("1 run has no wall time, so the requests are taken run after run");
    // Runs without a start come first.
    let hits: Vec<bool> = std::iter::repeat_n(true, 10).chain(hits).collect();
    let expected = share(&hits);
    alike(&said.json()["limits"][0]["low"], &expected["low"]);
}

#[test]
fn runs_one_after_the_other_are_taken_so() {
    if !has_program("runs_one_after_the_other_are_taken_so", "python3") {
        return;
    }
    // The later run has the smaller id and the smaller times of its own.
    let rows = |run: &str, zero_s: f64, bad: bool| -> Vec<String> {
        (0..200).map(|at| met(run, at, zero_s + f64::from(at), !(bad && at < 50))).collect()
    };
    let lab = lab(&[rows("1795001000-a", 5.0, true), rows("1795000000-b", 9000.0, false)]);
    let hits: Vec<bool> = (0..400).map(|at| !(200..250).contains(&at)).collect();
    let expected = reference(&[
        json!({"ask": "share", "hits": hits.iter().map(|hit| u8::from(*hit)).collect::<Vec<_>>()}),
    ]);
    let found = check(
        &lab,
        &[&["--min-attainment", "0.5", "--by", "all", "--format", "json"], &TARGETS[..]].concat(),
    );
    let found = found.exits(0).json();
    alike(&found["limits"][0]["low"], &expected[0]["low"]);
    alike(&found["limits"][0]["high"], &expected[0]["high"]);
}

#[test]
fn issue_13_17_a_dead_router_is_said_to_be_old_and_last_to_be_one_of_a_fleet() {
    let now_s = Utc::now().timestamp();
    let run = |name: &str, ago_s: i64| format!("{}-{name}", now_s - ago_s);
    // Two routers of a fleet: the one died an hour ago and was good, the other lives, and was started anew.
    let (dead, alive, before) = (run("a", 3600), run("b", 600), run("b", 7200));
    let rows = |run: &str, good: bool| -> Vec<String> {
        (0..20).map(|at| met(run, at, f64::from(at), good || at < 5)).collect()
    };
    let lab = lab(&[rows(&dead, true), [rows(&before, false), rows(&alive, false)].concat()]);
    let limit = [&["--min-attainment", "0.9"], &TARGETS[..]].concat();
    let ask = |more: &[&str]| check(&lab, &[&limit[..], more].concat());

    // 20 of 20 met, once: the answer says how long ago its newest row was, 19 s after the start: 59 min 41 s.
    let held = ask(&["--run", &dead]).exits(0);
    assert!(held.stdout.contains("the newest row is 60 min old"), "{}", held.stdout);
    ask(&["--run", &dead, "--max-age", "2h"]).exits(0);
    let stale = ask(&["--run", &dead, "--max-age", "30m"]).exits(7);
    assert!(stale.stdout.starts_with("stale "), "{}", stale.stdout);
    // Nothing measured is no broken target.
    ask(&["--run", &dead, "--from", "1h"]).exits(7);

    // `last` is one of two current runs, which is said, with what takes in both.
    ask(&["--run", "last"])
        .exits(6)
        .says("2 journals each have a current run, and `last` is one of them")
        .says("`--run current` takes in all")
        .says("`--by all`");
    let current = ask(&["--run", "current"]).exits(6);
    let judged = |line: &&str| line.starts_with("holds ") || line.starts_with("broken ");
    let verdicts: Vec<&str> = current.stdout.lines().filter(judged).collect();
    assert_eq!(verdicts.len(), 2, "{}", current.stdout);
    assert!(!current.stdout.contains(&before), "{}", current.stdout);
    // 20 + 5 of 40 together.
    let all = ask(&["--run", "current", "--by", "all"]).exits(6);
    assert!(all.stdout.contains("attainment 0.625 ("), "{}", all.stdout);
    assert!(all.stdout.contains("(25 of 40 scored met"), "{}", all.stdout);
    // A router by itself has nothing to choose from.
    let single = crate::reckoning::lab(&[rows(&alive, true)]);
    let said = check(&single, &[&limit[..], &["--run", "last"]].concat()).exits(0);
    assert!(!said.stderr.contains("current run"), "{}", said.stderr);
}
