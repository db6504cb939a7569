//! `query --intervals`: the ends of shares and percentiles beside the values.

use serde_json::{Value, json};

use crate::harness::{Lab, has_program};
use crate::reckoning::{TARGETS, alike, lab, met, reference, row};

const RUN: &str = "1795000000-a";

/// A request as the tests know it.
struct Request {
    at: u32,
    terminal: &'static str,
    cause: &'static str,
    ttft_s: f64,
    first_byte_s: f64,
    crossed: bool,
    input_len: u32,
    engine: &'static str,
    failed_leg: bool,
}

fn requests() -> Vec<Request> {
    (0..2000_u32)
        .map(|at| {
            let mixed = at.wrapping_mul(2_654_435_761) >> 8;
            let in_burst = at % 131 < 20;
            let terminal = match mixed % 11 {
                0 => "refused",
                1 if in_burst => "failed",
                2 => "cancelled",
                _ => "completed",
            };
            let ttft_s = f64::from(mixed % 997) / 500.0 * if in_burst { 2.0 } else { 0.7 };
            Request {
                at,
                terminal,
                cause: if in_burst { "queue" } else { "prompt" },
                ttft_s,
                first_byte_s: ttft_s + f64::from(mixed % 89) / 100.0,
                crossed: mixed % 3 == 0,
                input_len: mixed % 40,
                engine: ["n0", "n1", "n2"][(mixed % 3) as usize],
                failed_leg: terminal == "failed",
            }
        })
        .collect()
}

fn written(requests: &[Request]) -> Lab {
    let rows = requests.iter().map(|request| {
        let Request { at, terminal, cause, ttft_s, first_byte_s, crossed, input_len, engine, failed_leg } = request;
        let failures = if *failed_leg {
            format!("\"attempt_failures\": [{{\"attempt\": 1, \"phase\": \"prefill\", \"prefill_iid\": \"{engine}\"}}], ")
        } else {
            String::new()
        };
        let more = format!(
            "\"input_len\": {input_len}, \"output_len\": 1, \"ttft_s\": {ttft_s}, \"first_byte_s\": {first_byte_s}, \
             \"attempts\": 1, {failures}\"prefill_iid\": \"{engine}\", \"crossed\": {crossed}, \
             \"refused_cause\": \"{cause}\""
        );
        row(RUN, &format!("r{at:06}"), f64::from(*at), &more).replace("\"completed\"", &format!("\"{terminal}\""))
    });
    lab(&[rows.collect()])
}

/// Asserts that the ends of a query's column are those of the second implementation: of hits, or of values.
#[track_caller]
fn agree(lab: &Lab, query: &[&str], column: &str, expected: Vec<(&[(&str, &str)], Value)>) {
    let rows = lab.run(&[&["query"], query, &["--intervals", "--format", "json"]].concat()).exits(0).json();
    let rows = rows.as_array().unwrap();
    let cases: Vec<Value> = expected.iter().map(|(_, case)| case.clone()).collect();
    for ((key, case), found) in expected.iter().zip(reference(&cases)) {
        let matches = |row: &&Value| {
            key.iter().all(|(name, value)| {
                row[*name].as_str().map_or(row[*name].to_string(), str::to_owned) == *value
            })
        };
        let row = rows.iter().find(matches).unwrap_or_else(|| panic!("no {key:?} in {rows:#?}"));
        let found = if case["ask"] == "percentile" { &found[0] } else { &found };
        alike(&row[column], &found["value"]);
        alike(&row[format!("{column}_low")], &found["low"]);
        alike(&row[format!("{column}_high")], &found["high"]);
    }
}

fn share_of<'r>(requests: impl Iterator<Item = &'r Request>, is_hit: impl Fn(&Request) -> bool) -> Value {
    json!({"ask": "share", "hits": requests.map(|request| u8::from(is_hit(request))).collect::<Vec<_>>()})
}

fn percentile_of(values: impl Iterator<Item = f64>, percent: u32) -> Value {
    json!({"ask": "percentile", "values": values.collect::<Vec<_>>(), "percents": [percent]})
}

#[test]
fn intervals_are_those_of_the_second_implementation() {
    if !has_program("intervals_are_those_of_the_second_implementation", "python3") {
        return;
    }
    let requests = requests();
    let lab = written(&requests);
    let all = || requests.iter();
    let scored = || requests.iter().filter(|request| !matches!(request.terminal, "refused" | "cancelled"));
    let completed = || requests.iter().filter(|request| request.terminal == "completed");
    let is_met = |request: &Request| request.terminal == "completed" && request.ttft_s <= 1.0;
    let with_targets = |name: &'static str, more: &[&'static str]| [&[name], more, &TARGETS[..]].concat();

    let of_terminal = |terminal: &'static str| share_of(all(), move |request| request.terminal == terminal);
    let keys: [&[(&str, &str)]; 4] = [
        &[("terminal", "cancelled")],
        &[("terminal", "completed")],
        &[("terminal", "failed")],
        &[("terminal", "refused")],
    ];
    let expected = keys.map(|key| {
        (
            key,
            of_terminal(match key[0].1 {
                "cancelled" => "cancelled",
                "completed" => "completed",
                "failed" => "failed",
                _ => "refused",
            }),
        )
    });
    agree(&lab, &["outcomes"], "share", expected.into());

    agree(&lab, &with_targets("attainment", &[]), "attainment", vec![(&[], share_of(scored(), is_met))]);
    agree(
        &lab,
        &with_targets("attainment", &["--policy", "offers"]),
        "attainment",
        vec![(&[], share_of(all(), is_met))],
    );
    agree(
        &lab,
        &with_targets("attainment-misses", &[]),
        "share",
        vec![
            (&[("miss", "failed")], share_of(scored(), |request| request.terminal == "failed")),
            (
                &[("miss", "ttft")],
                share_of(scored(), |request| request.terminal == "completed" && !is_met(request)),
            ),
        ],
    );
    let in_bucket = |bucket: u32| scored().filter(move |request| request.at / 500 == bucket);
    agree(
        &lab,
        &with_targets("attainment-over-time", &["--bucket", "500"]),
        "attainment",
        vec![
            (&[("bucket_s", "0.0")], share_of(in_bucket(0), is_met)),
            (&[("bucket_s", "1500.0")], share_of(in_bucket(3), is_met)),
        ],
    );
    // A request a second in every bucket: one band.
    agree(
        &lab,
        &with_targets("goodput", &["--band", "0.5", "--bucket", "500"]),
        "attainment",
        vec![(&[("rate_from", "1.0")], share_of(scored(), is_met))],
    );
    agree(
        &lab,
        &["slo-frontier", "--tpot", "1"],
        "reachable",
        vec![(&[], share_of(scored(), |request| request.terminal == "completed"))],
    );
    let in_band = |from: u32| move |request: &&Request| (from..2 * from).contains(&request.input_len);
    agree(
        &lab,
        &with_targets("prompt-sizes", &[]),
        "attainment",
        vec![
            (&[("input_from", "0")], share_of(scored().filter(|request| request.input_len == 0), is_met)),
            (&[("input_from", "8")], share_of(scored().filter(in_band(8)), is_met)),
        ],
    );
    agree(
        &lab,
        &["prompt-sizes"],
        "ttft_p99",
        vec![(
            &[("input_from", "16")],
            percentile_of(completed().filter(in_band(16)).map(|request| request.ttft_s), 99),
        )],
    );
    let refused = || requests.iter().filter(|request| request.terminal == "refused");
    let for_queue = |request: &Request| request.terminal == "refused" && request.cause == "queue";
    agree(
        &lab,
        &["refusals"],
        "share_of_refused",
        vec![(&[("cause", "queue")], share_of(refused(), for_queue))],
    );
    agree(&lab, &["refusals"], "share_of_offered", vec![(&[("cause", "queue")], share_of(all(), for_queue))]);
    let on = |engine: &'static str| requests.iter().filter(move |request| request.engine == engine);
    agree(
        &lab,
        &["engine-failures"],
        "failure_rate",
        vec![
            (&[("engine", "n0"), ("leg", "prefill")], share_of(on("n0"), |request| request.failed_leg)),
            (&[("engine", "n2"), ("leg", "prefill")], share_of(on("n2"), |request| request.failed_leg)),
        ],
    );
    agree(&lab, &["retries"], "retry_rate", vec![(&[], share_of(all(), |_| false))]);
    let ttft = |percent| percentile_of(completed().map(|request| request.ttft_s), percent);
    for (column, percent) in [("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)] {
        agree(&lab, &["latency"], column, vec![(&[("metric", "ttft_s")], ttft(percent))]);
    }
    agree(
        &lab,
        &["engine-latency"],
        "p90",
        vec![(
            &[("metric", "ttft_s"), ("engine", "n1")],
            percentile_of(
                on("n1").filter(|request| request.terminal == "completed").map(|request| request.ttft_s),
                90,
            ),
        )],
    );
    let handoff = |crossed: bool| {
        percentile_of(
            requests
                .iter()
                .filter(|request| request.crossed == crossed)
                .map(|request| request.first_byte_s - request.ttft_s),
            99,
        )
    };
    agree(
        &lab,
        &["handoff"],
        "p99",
        vec![(&[("kind", "crossed")], handoff(true)), (&[("kind", "local")], handoff(false))],
    );
}

#[test]
fn an_end_among_unserved_requests_is_null() {
    // 95 served in between 5 that failed: the p90 is known, its upper end lies among those.
    let rows = (0..100_u32).map(|at| {
        let text = row(RUN, &format!("r{at:03}"), f64::from(at), &format!("\"ttft_s\": {}", at + 1));
        if at % 20 == 7 { text.replace("completed", "failed") } else { text }
    });
    let lab = lab(&[rows.collect()]);
    let ask = ["query", "latency", "--of", "offers", "--intervals", "--format", "json"];
    let rows = lab.run(&ask).exits(0).json();
    let ttft = &rows[0];
    assert_eq!((&ttft["metric"], &ttft["n"], &ttft["unserved"]), (&json!("ttft_s"), &json!(100), &json!(5)));
    assert!(ttft["p90"].is_number() && ttft["p90_low"].is_number() && ttft["p90_high"].is_null(), "{ttft}");
    assert!(ttft["p99"].is_null() && ttft["p99_high"].is_null(), "{ttft}");
    assert_eq!(rows.as_array().unwrap().len(), 6);
    assert!(rows[1]["p50"].is_null(), "{}", rows[1]);
}

#[test]
fn the_table_has_the_ends_beside_the_value_and_csv_in_columns() {
    let rows = (0..300_u32)
        .map(|at| row(RUN, &format!("r{at:03}"), f64::from(at), "\"ttft_s\": 0.5, \"output_len\": 1"));
    let lab = lab(&[rows.collect()]);
    let ask = |format: &str| {
        let ask = [&["query", "attainment", "--intervals", "--format", format], &TARGETS[..]].concat();
        lab.run(&ask).exits(0).says("speak for conditions as in these windows").stdout
    };
    // All of 300 met: of none, the upper end is 0.0126429712245.
    assert!(ask("table").contains("  1 (0.987-1)  "), "{}", ask("table"));
    assert!(ask("csv").starts_with(
        "scope,policy,ttft,tpot,offered,scored,met,attainment,attainment_low,attainment_high,excluded\n"
    ));
    assert!(ask("csv").contains(",300,300,300,1.0,0.98735702877"), "{}", ask("csv"));
    lab.run(&["query", "runs", "--intervals"]).exits(2).says("nothing in an answer of runs has an interval");
    lab.run(&["query", "retries", "--intervals", "--sql"]).exits(2);
    let empty =
        lab.run(&["query", "retries", "--intervals", "--since", "1m", "--format", "csv"]).exits(0).stdout;
    assert_eq!(
        empty,
        "scope,requests,retried,retry_rate,retry_rate_low,retry_rate_high,served_after_retry,attempts,wasted_attempts,backoff_s_total\n"
    );
}

/// So many requests, a second apart, with TTFTs of 0.1 s, 0.2 s and so on.
fn rising(requests: u32) -> Lab {
    let rows = (0..requests).map(|at| {
        let ttft_s = f64::from(at + 1) / 10.0;
        row(RUN, &format!("r{at:03}"), f64::from(at), &format!("\"ttft_s\": {ttft_s}, \"output_len\": 1"))
    });
    lab(&[rows.collect()])
}

#[test]
fn a_value_of_too_few_does_not_look_exact() {
    let ask =
        |lab: &Lab, format: &str| lab.run(&["query", "latency", "--intervals", "--format", format]).exits(0);
    let ends = |lab: &Lab| {
        let of_ttft = ask(lab, "json").json()[0].clone();
        ["p50_low", "p50", "p50_high", "p90_low", "p90", "p90_high"].map(|column| of_ttft[column].as_f64())
    };
    // Of five, p50: 0.5^5 = 0.031, so neither end. p90: P(<= 2) = 0.009, P(<= 3) = 0.081, so the third from below.
    let five = rising(5);
    assert_eq!(ends(&five), [None, Some(0.3), None, Some(0.3), Some(0.5), None]);
    let table = ask(&five, "table");
    assert!(table.stdout.contains("  0.3 (-)") && table.stdout.contains("  0.5 (0.3-)"), "{}", table.stdout);
    let note = "a value without an interval, as `0.139 (-)`, is not exact, but of too few: the values count like fewer \
                independent ones than either end needs (p50 needs 6)";
    table.says(note).says("(p90 needs 36, p95 needs 72, p99 needs 368)");
    // Of six, 0.5^6 = 0.016: the least and the greatest.
    let six = rising(6);
    assert_eq!(ends(&six)[..3], [Some(0.1), Some(0.3), Some(0.6)]);
    let table = ask(&six, "table");
    assert!(table.stdout.contains("  0.3 (0.1-0.6)"), "{}", table.stdout);
    assert!(!table.stderr.contains("without an interval"), "{}", table.stderr);
}

#[test]
fn a_share_that_rests_on_few_is_told_of() {
    let told = |misses: fn(u32) -> bool| {
        let lab = lab(&[(0..1000).map(|at| met(RUN, at, f64::from(at), !misses(at))).collect()]);
        let run = lab.run(&[&["query", "attainment", "--intervals"], &TARGETS[..]].concat()).exits(0);
        run.stderr.contains(
            "rests on fewer than 10 independent requests or legs of the rarer outcome, however many there are: one \
             burst more or less changes it",
        )
    };
    // The worked example: a burst of a hundred counts like 0.65 independent misses. Every hundredth counts whole.
    assert!(told(|at| (400..500).contains(&at)));
    assert!(!told(|at| at % 100 == 99));
    assert!(told(|at| at % 125 == 124), "eight");
    assert!(!told(|_| false), "none missed: there is nothing that it could rest on");
}
