//! What the database says about a run equals what the router that wrote it had counted, and what
//! the file itself holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::answer::ask;
use crate::answers::reference;
use crate::harness::{self, Lab};
use crate::plain;

// ---------------------------------------------------------------- the routers' own counters

/// A run whose rows are not exactly what its router had counted when it was read.
struct Difference {
    run: &'static str,
    why: Why,
    /// Rows at the run's beginning that are in none of its counters of ended requests.
    before: usize,
    /// Rows at its end that came after the counters were read.
    after: usize,
    /// What the router had counted, and no row between those says.
    counted: &'static [(&'static str, i64)],
}

#[derive(PartialEq)]
enum Why {
    /// Requests were open when the counters were read: offered and dispatched, not ended.
    InFlight,
    /// The same, and more requests came before the process was killed.
    Killed,
    /// A standby took over the primary's counters of ended and offered requests: those of its own
    /// from before are in none.
    Takeover,
    /// The file could not grow.
    Full,
}

/// In flight: 4 requests, dispatched to prefill, and to decode all of them but two of 0.6.0.
const OPEN: &[(&str, i64)] = &[("offered", 4), ("prefill attempts", 4), ("decode attempts", 4)];
const OPEN_TWO_DECODING: &[(&str, i64)] = &[("offered", 4), ("prefill attempts", 4), ("decode attempts", 2)];

const fn in_flight(run: &'static str, counted: &'static [(&'static str, i64)]) -> Difference {
    Difference { run, why: Why::InFlight, before: 0, after: 4, counted }
}

const fn takeover(run: &'static str, before: usize) -> Difference {
    Difference { run, why: Why::Takeover, before, after: 0, counted: &[] }
}

const DIFFERENCES: &[Difference] = &[
    in_flight("1795977887-c5d749c0", OPEN),              // 0.2.1/mixed
    in_flight("1795978703-fe561625", OPEN),              // 0.3.0/mixed
    in_flight("1795978501-8c66d651", OPEN),              // 0.4.0/mixed
    in_flight("1795978023-f75e65a7", OPEN),              // 0.4.1/mixed
    in_flight("1795978265-f7fdfee6", OPEN),              // 0.5.0/mixed
    in_flight("1795978084-dfcfd454", OPEN_TWO_DECODING), // 0.6.0/mixed
    in_flight("1795979143-8382620f", OPEN),              // 0.7.0/mixed
    takeover("1795977936-56e568d1", 48),                 // 0.2.1/takeover
    takeover("1795978067-5e607efe", 50),                 // 0.4.1/takeover
    takeover("1795978198-1989aada", 48),                 // 0.6.0/takeover
    takeover("1795977765-2eec91b9", 50),                 // 0.7.0/takeover
    // 0.7.0/killed: 4 open, of which one was at its second attempt, and 3 that arrived later.
    Difference {
        run: "1795977792-cb911580",
        why: Why::Killed,
        before: 0,
        after: 4 + 3,
        counted: &[
            ("offered", 4),
            ("prefill attempts", 5),
            ("decode attempts", 3),
            ("retries", 1),
            ("failures decode/engine_error", 2),
            ("failures prefill/engine_error", 1),
        ],
    },
    // 0.7.0/full: 30 of 60 requests, all served, have no row.
    Difference {
        run: "1795977814-3f8e66b9",
        why: Why::Full,
        before: 0,
        after: 0,
        counted: &[
            ("completed", 30),
            ("offered", 30),
            ("scored", 30),
            ("slo_met", 18),
            ("prefill attempts", 35),
            ("decode attempts", 33),
            ("retries", 5),
            ("failures decode/engine_error", 3),
            ("failures prefill/engine_error", 2),
        ],
    },
];

/// What is known of a run beside its journal.
struct Router {
    info: Value,
    /// `/narwhal/state`.
    state: Value,
    /// The same of a standby, when it became ready.
    at_takeover: Option<Value>,
    /// `/metrics`: name with labels to value.
    metrics: BTreeMap<String, f64>,
}

impl Router {
    fn has_reasons(&self) -> bool {
        self.info["release"].as_str().unwrap() >= "0.6"
    }

    /// A number of the state, what was taken over left out.
    fn own(&self, place: &str) -> i64 {
        let of = |state: &Value| state.pointer(place).and_then(Value::as_i64).unwrap_or(0);
        of(&self.state) - self.at_takeover.as_ref().map_or(0, of)
    }

    /// The sum of a metric over its labels.
    fn metric(&self, family: &str) -> i64 {
        let is_of = |name: &str| name.split('{').next() == Some(family);
        self.metrics.iter().filter(|(name, _)| is_of(name)).map(|(_, value)| *value as i64).sum()
    }

    /// The values of a label that were counted, as `{label="..."}`.
    fn labelled(&self, family: &str) -> BTreeMap<String, i64> {
        self.metrics
            .iter()
            .filter(|(_, value)| **value != 0.0)
            .filter_map(|(name, value)| Some((name.strip_prefix(family)?.strip_prefix('{')?, *value as i64)))
            .map(|(labels, value)| (labels.trim_end_matches('}').to_owned(), value))
            .collect()
    }
}

/// Whether the router's own figure counts a row as met.
fn meets(row: &Value, slo: &Value) -> bool {
    let seconds = |row: &Value, field: &str| row.get(field).and_then(Value::as_f64);
    let within = |field: &str| seconds(row, field).map(|time| time <= seconds(slo, field).unwrap());
    row["terminal"] == "completed" && within("ttft_s") == Some(true) && within("tpot_s") != Some(false)
}

/// Compares a run in the database with its router's counters; how many numbers were equal.
#[track_caller]
fn check_run(lab: &Lab, run: &str, records: &[Value], router: &Router, what: &str) -> usize {
    let difference = DIFFERENCES.iter().find(|difference| difference.run == run);
    let rows = plain::terminals(records, Some(run));
    let (before, after) = difference.map_or((0, 0), |of| (of.before, of.after));
    let late = &rows[rows.len() - after..];
    let uncounted: Vec<&Value> = rows[..before].iter().chain(late).copied().collect();
    let in_flight = router.info["inflight_at_capture"].as_u64().unwrap() as usize;
    match difference.map(|of| &of.why) {
        Some(Why::InFlight) => assert_eq!(after, in_flight, "{what}: rows of requests in flight"),
        Some(Why::Killed) => assert!(after > in_flight, "{what}: rows after the capture"),
        _ => assert_eq!(in_flight, 0, "{what}: rows of requests in flight"),
    }
    let took_over = difference.is_some_and(|of| of.why == Why::Takeover);
    assert_eq!(router.at_takeover.is_some(), took_over, "{what}: a standby");
    let unsaid = |counter: &str| {
        let counted = difference.map_or(&[][..], |of| of.counted);
        counted.iter().find(|(name, _)| *name == counter).map_or(0, |(_, count)| *count)
    };

    let mut equal = 0;
    let mut compare = |counter: &str, ours: i64, explained: i64, router: i64| {
        if let Some(Why::InFlight | Why::Killed) = difference.map(|of| &of.why) {
            // Open requests had moved a counter by no more than their rows said in the end.
            assert!(unsaid(counter) <= -explained, "{what}: {counter}");
        }
        let explained = explained + unsaid(counter);
        assert_eq!(
            ours + explained,
            router,
            "{what}: {counter}: database {ours}, explained {explained:+}, router {router}"
        );
        equal += 1;
    };
    let count_of =
        |rows: &[&Value], holds: &dyn Fn(&Value) -> bool| rows.iter().filter(|row| holds(row)).count() as i64;
    let numbers = |sql: &str| -> BTreeMap<String, i64> {
        let mut numbers = BTreeMap::new();
        for row in lab.rows(&sql.replace(":run", &format!("'{run}'"))) {
            let [rusqlite::types::Value::Text(name), rusqlite::types::Value::Integer(count)] = &row[..]
            else {
                panic!("{sql}: {row:?}")
            };
            numbers.insert(name.clone(), *count);
        }
        numbers
    };
    let number = |sql: &str| lab.number(&sql.replace(":run", &format!("'{run}'")));

    // How requests ended.
    let outcomes = ask(lab, &["outcomes", "--run", run]).rows;
    for (terminal, place, family) in [
        ("completed", "/served", "narwhal_served_total"),
        ("expired", "/expired", "narwhal_expired_total"),
        ("failed", "/failed", "narwhal_failed_total"),
        ("cancelled", "/cancelled", "narwhal_cancelled_total"),
        ("invalid", "/invalid_requests", "narwhal_invalid_requests_total"),
        ("rejected", "/admission/rejected", "narwhal_rejected_total"),
        ("refused", "/admission/refused", "narwhal_refused_total"),
    ] {
        let row = outcomes.iter().find(|row| row[1] == terminal);
        let ours = row.map_or(0, |row| row[2].as_i64().unwrap());
        let explained = -count_of(&uncounted, &|row| row["terminal"] == terminal);
        compare(terminal, ours, explained, router.own(place));
        let taken_over = router.state.pointer(place).unwrap().as_i64().unwrap() - router.own(place);
        compare(terminal, ours, explained, router.metric(family) - taken_over);
    }

    // Why: from 0.6 the router counts reasons, and calls those of refusals causes.
    let refusals = ask(lab, &["refusals", "--run", run]).rows;
    let refused: i64 = refusals.iter().map(|row| row[3].as_i64().unwrap()).sum();
    let explained = -count_of(&uncounted, &|row| row["terminal"] == "refused");
    compare("refused", refused, explained, router.own("/admission/refused"));
    if router.has_reasons() {
        let mut refused = BTreeMap::new();
        for row in &refusals {
            *refused.entry(row[2].as_str().unwrap_or("null").to_owned()).or_default() +=
                row[3].as_i64().unwrap();
        }
        for (terminal, label) in
            [("refused", "cause"), ("failed", "reason"), ("rejected", "reason"), ("expired", "reason")]
        {
            let ours = if terminal == "refused" {
                refused.clone()
            } else {
                numbers(&format!(
                    "select coalesce(reason, 'null'), count(*) from requests
                     where run = :run and terminal = '{terminal}' group by 1"
                ))
            };
            let counted: BTreeMap<String, i64> = router
                .labelled(&format!("narwhal_{terminal}_total"))
                .into_iter()
                .map(|(name, count)| {
                    let reason = name.strip_prefix(label).unwrap().trim_matches(['=', '"']);
                    (reason.to_owned(), count)
                })
                .collect();
            let reasons: BTreeSet<&String> = ours.keys().chain(counted.keys()).collect();
            for reason in reasons {
                let get = |of: &BTreeMap<String, i64>| of.get(reason).copied().unwrap_or(0);
                let place = format!("/outcome_reasons/{terminal}/{reason}");
                let taken_over = router
                    .at_takeover
                    .as_ref()
                    .map_or(0, |state| state.pointer(&place).and_then(Value::as_i64).unwrap_or(0));
                let explained = -count_of(&uncounted, &|row| {
                    row["terminal"] == terminal && row["reason"] == reason.as_str()
                });
                let counter = format!("{terminal} {reason}");
                compare(&counter, get(&ours), explained, get(&counted) - taken_over);
            }
        }
    }

    // What was offered.
    let offered = number("select count(*) from requests where run = :run");
    let explained = -(uncounted.len() as i64);
    compare("offered", offered, explained, router.own("/offered"));
    let taken_over = router.at_takeover.as_ref().map_or(0, |state| state["offered"].as_i64().unwrap());
    compare("offered", offered, explained, router.metric("narwhal_offered_total") - taken_over);

    // Attempts: a takeover does not hand these counters over, so they are of all the run's rows.
    let attempts = |row: &Value| plain::count(row, "attempts");
    let sum_late = |of: &dyn Fn(&Value) -> i64| -late.iter().map(|row| of(row)).sum::<i64>();
    for (counter, sql, explained, family) in [
        (
            "prefill attempts",
            "select sum(attempts) from requests where run = :run",
            sum_late(&attempts),
            "narwhal_prefill_attempts_total",
        ),
        (
            "decode attempts",
            "select sum(decode_attempts) from requests where run = :run",
            sum_late(&|row| plain::count(row, "decode_attempts")),
            "narwhal_decode_attempts_total",
        ),
        (
            "retries",
            "select sum(max(attempts - 1, 0)) from requests where run = :run",
            sum_late(&|row| (attempts(row) - 1).max(0)),
            "narwhal_retry_attempts_total",
        ),
    ] {
        compare(counter, number(sql), explained, router.metric(family));
    }
    if router.has_reasons() {
        let ours = numbers(
            "select f.phase || '/' || f.reason, count(*)
             from attempt_failures as f join runs as r on r.run_id = f.run_id
             where r.run = :run group by 1",
        );
        let counted: BTreeMap<String, i64> = router
            .labelled("narwhal_attempt_failures_total")
            .into_iter()
            .map(|(labels, count)| {
                let values: Vec<&str> = labels.split('"').skip(1).step_by(2).collect();
                (values.join("/"), count)
            })
            .collect();
        let causes: BTreeSet<&String> = ours.keys().chain(counted.keys()).collect();
        for cause in causes {
            let get = |of: &BTreeMap<String, i64>| of.get(cause).copied().unwrap_or(0);
            let explained = sum_late(&|row| {
                let is_it = |entry: &&Value| {
                    [&entry["phase"], &entry["reason"]].map(|text| text.as_str().unwrap()).join("/")
                        == **cause
                };
                plain::failures(row).iter().filter(is_it).count() as i64
            });
            compare(&format!("failures {cause}"), get(&ours), explained, get(&counted));
        }
    }

    // Attainment: the router's own figure and its counter.
    let slo = &router.info["slo"];
    let [ttft, tpot] = ["ttft_s", "tpot_s"].map(|target| slo[target].to_string());
    let question = ["attainment", "--run", run, "--policy", "router", "--ttft", &ttft, "--tpot", &tpot];
    let answer = ask(lab, &question).rows;
    let [scored, met] = [5, 6].map(|at| answer[0][at].as_i64().unwrap());
    let is_scored =
        |row: &Value| !["cancelled", "rejected", "invalid"].iter().any(|word| row["terminal"] == *word);
    let rolling = &router.state["attainment"];
    compare(
        "scored",
        scored,
        -count_of(late, &is_scored),
        ["outcomes", "pruned_outcomes"].iter().map(|name| rolling[name].as_i64().unwrap()).sum(),
    );
    if router.state.get("slo_met").is_some() {
        let explained = -count_of(&uncounted, &|row| meets(row, slo));
        compare("slo_met", met, explained, router.own("/slo_met"));
        let taken_over = router.at_takeover.as_ref().map_or(0, |state| state["slo_met"].as_i64().unwrap());
        compare("slo_met", met, explained, router.metric("narwhal_slo_met_total") - taken_over);
    }
    equal
}

fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The counters that stand beside a real journal, for one run.
fn router_beside(journal: &Path, run: &str) -> Router {
    let path = |what: &str| {
        let stem = journal.file_stem().unwrap().to_str().unwrap();
        journal.with_file_name(format!("{stem}.{run}.{what}"))
    };
    let at_takeover = path("at-takeover.state.json");
    let metrics = fs::read_to_string(path("metrics.txt")).unwrap();
    Router {
        info: read_json(&path("info.json")),
        state: read_json(&path("state.json")),
        at_takeover: at_takeover.exists().then(|| read_json(&at_takeover)),
        metrics: metrics
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').unwrap();
                (name.to_owned(), value.parse().unwrap())
            })
            .collect(),
    }
}

/// The counters that were copied into the file beside a fixture.
fn routers_of_fixture(journal: &Path) -> BTreeMap<String, Router> {
    let Value::Object(runs) = read_json(&journal.with_extension("counters.json")) else {
        panic!("{}: runs to counters", journal.display())
    };
    let router = |mut of: Value| Router {
        info: of["info"].take(),
        state: of["state"].take(),
        at_takeover: of.get_mut("at_takeover").map(Value::take),
        metrics: serde_json::from_value(of["metrics"].take()).unwrap(),
    };
    runs.into_iter().map(|(run, of)| (run, router(of))).collect()
}

#[track_caller]
fn loaded(journal: &Path) -> Lab {
    let lab = Lab::new();
    let summary = lab.ingest(journal.to_str().unwrap());
    assert_eq!(summary["total"]["pending_bytes"], 0, "{}", journal.display());
    lab
}

/// The real journals of releases that write the contract.
fn journals_of_the_contract(shared: &Path) -> Vec<PathBuf> {
    let mut journals = plain::real_journals(shared);
    journals.retain(|path| !path.parent().unwrap().file_name().unwrap().to_str().unwrap().starts_with("0.1"));
    journals
}

#[test]
fn the_database_counts_what_the_real_routers_counted() {
    let test = "the_database_counts_what_the_real_routers_counted";
    let Some(shared) = harness::real_journals(test) else {
        return;
    };
    let (mut met, mut equal) = (Vec::new(), 0);
    for journal in journals_of_the_contract(&shared) {
        let lab = loaded(&journal);
        let (records, _) = plain::records(&journal);
        for run in plain::runs(&records) {
            let what = format!("{} {run}", journal.display());
            equal += check_run(&lab, &run, &records, &router_beside(&journal, &run), &what);
            met.push(run);
        }
    }
    for difference in DIFFERENCES {
        assert!(met.iter().any(|run| run == difference.run), "{} was not met", difference.run);
    }
    harness::say(&format!("{test}: {equal} numbers of {} runs", met.len()));
}

#[test]
fn the_database_counts_what_the_routers_of_the_fixtures_counted() {
    let mut journals = plain::shipped_journals();
    journals.retain(|path| path.with_extension("counters.json").exists());
    assert_eq!(journals.len(), 4, "{journals:?}");
    for journal in journals {
        let lab = loaded(&journal);
        let (records, _) = plain::records(&journal);
        let routers = routers_of_fixture(&journal);
        assert_eq!(plain::runs(&records).len(), routers.len(), "{}", journal.display());
        for (run, router) in routers {
            check_run(&lab, &run, &records, &router, &format!("{} {run}", journal.display()));
        }
    }
}

// ---------------------------------------------------------------- the file itself

/// Every journal of the contract that is here. Those that ship are copies of real ones.
fn all_journals(test: &str) -> Vec<PathBuf> {
    match harness::real_journals(&format!("{test}, on all real journals")) {
        Some(shared) => journals_of_the_contract(&shared),
        None => plain::shipped_journals(),
    }
}

#[test]
fn the_database_holds_as_many_rows_as_the_file() {
    let test = "the_database_holds_as_many_rows_as_the_file";
    for journal in all_journals(test) {
        let (records, torn) = plain::records(&journal);
        let of = |field: &str| {
            records.iter().filter(|row| row.get(field).is_some_and(|value| !value.is_null())).count()
        };
        let failures: usize = records.iter().map(|row| plain::failures(row).len()).sum();
        // Of a torn line the torn part is rejected, and the record behind it repaired.
        let expected = [of("meta"), of("terminal"), failures, of("event"), torn, torn].map(|n| n as i64);
        assert_eq!(expected[0] + expected[1] + expected[3], records.len() as i64);

        let lab = Lab::new();
        let summary = lab.ingest(journal.to_str().unwrap());
        let what = format!("{}: builds, terminals, failures, events, torn", journal.display());
        let tables = [
            "builds",
            "terminals",
            "attempt_failures",
            "events",
            "rejects where kind = 'rejected'",
            "rejects where kind = 'repaired'",
        ]
        .map(|table| lab.number(&format!("select count(*) from {table}")));
        assert_eq!(tables, expected, "{what}");
        let said = ["builds", "terminals", "attempt_failures", "events", "rejected", "repaired"]
            .map(|counter| summary["total"][counter].as_i64().unwrap());
        assert_eq!(said, expected, "{what}, as the summary says\n{summary}");
        let lines = fs::read(&journal).unwrap().iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(summary["total"]["lines"], lines, "{what}\n{summary}");
        assert_eq!(summary["total"]["duplicates"], 0, "{what}\n{summary}");
        let name = journal.file_name().unwrap().to_str().unwrap();
        let is_torn = name.ends_with("full.jsonl") || name.ends_with("torn.jsonl");
        assert_eq!(torn, usize::from(is_torn), "{what}");
    }
}

#[test]
fn rows_from_before_the_contract_are_rejected_with_that_reason() {
    let test = "rows_from_before_the_contract_are_rejected_with_that_reason";
    let Some(shared) = harness::real_journals(test) else {
        return;
    };
    let mut journals = plain::real_journals(&shared);
    let later = journals_of_the_contract(&shared);
    journals.retain(|path| !later.contains(path));
    assert!(!journals.is_empty());
    for journal in journals {
        let lines = fs::read_to_string(&journal).unwrap().lines().count();
        let lab = Lab::new();
        let run = lab.run(&["ingest", journal.to_str().unwrap(), "--format", "json"]).exits(1);
        let total = &run.json()["total"];
        let counters = ["lines", "rejected", "builds", "terminals", "events"]
            .map(|counter| total[counter].as_u64().unwrap() as usize);
        assert_eq!(counters, [lines, lines, 0, 0, 0], "{total}");
        run.says("not one line is a journal row");
        let reasons = lab.rows("select kind, reason, count(*) from rejects group by 1, 2");
        let mut rejected = 0;
        for reason in &reasons {
            use rusqlite::types::Value::{Integer, Text};
            let [Text(kind), Text(reason), Integer(count)] = &reason[..] else { panic!("{reasons:?}") };
            assert!(kind == "rejected" && reason.starts_with("no schema"), "{reasons:?}");
            rejected += *count as usize;
        }
        assert_eq!(rejected, lines, "{reasons:?}");
        assert_eq!(lab.number("select count(*) from runs"), 0);
    }
}

#[test]
fn legs_are_as_many_as_the_attempts_of_every_request() {
    let test = "legs_are_as_many_as_the_attempts_of_every_request";
    let has_python = harness::has_program(&format!("{test}, by the reference"), "python3");
    for journal in all_journals(test) {
        let lab = loaded(&journal);
        let wrong = lab.rows(
            "select t.run, t.rid, t.attempts, t.decode_attempts,
                 count(case when l.leg = 'prefill' then 1 end) as prefill_legs,
                 count(case when l.leg = 'decode' then 1 end) as decode_legs
             from requests as t
             left join legs as l on l.terminal_id = t.terminal_id
             group by t.terminal_id
             having prefill_legs is not t.attempts or decode_legs is not t.decode_attempts",
        );
        assert!(wrong.is_empty(), "{}: {wrong:?}", journal.display());
        if has_python {
            let terminals = plain::terminals(&plain::records(&journal).0, None).len();
            let said: Value = serde_json::from_str(&reference(&["--legs"], &[&journal], "")).unwrap();
            let expected = json!({"terminals": terminals, "mismatches": []});
            assert_eq!(said, expected, "{}", journal.display());
        }
    }
}

#[test]
fn an_exported_journal_is_the_original_line_by_line() {
    let test = "an_exported_journal_is_the_original_line_by_line";
    for journal in all_journals(test) {
        let lab = loaded(&journal);
        lab.run(&["export", "journal", "--dir", "out"]).exits(0);
        let (original, _) = plain::records(&journal);
        let text = fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
        assert!(text.ends_with('\n'));
        let exported: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(exported.len(), original.len(), "{}", journal.display());
        for (at, (exported, original)) in exported.iter().zip(&original).enumerate() {
            assert!(
                same(exported, original),
                "{}, record {}\n--- original\n{original}\n--- exported\n{exported}",
                journal.display(),
                at + 1
            );
        }
    }
}

/// Whether two values are the same where absent and null fields are the same, and numbers are what
/// they are worth.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let covers = |one: &Map<String, Value>, other: &Map<String, Value>| {
                one.iter().all(|(name, value)| same(value, other.get(name).unwrap_or(&Value::Null)))
            };
            covers(one, other) && covers(other, one)
        }
        _ => one == other,
    }
}

#[test]
fn the_reference_itself_agrees_with_the_routers() {
    let test = "the_reference_itself_agrees_with_the_routers";
    let Some(shared) = harness::real_journals(test) else { return };
    if !harness::has_program(test, "python3") {
        return;
    }
    let output = std::process::Command::new("python3")
        .args(["-B".as_ref(), harness::project().join("tests/reference/counters.py").as_os_str()])
        .arg(shared.join("journals"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("0 unexplained"), "{said}");
}
