//! `compare`: what differs, judged together, and what cannot be known.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Lab, Run, has_program, real_journals};
use crate::reckoning::{TARGETS, alike, lab, met, near, reference, row};

const A: &str = "1795000000-a";
const B: &str = "1795010000-b";

fn compare(lab: &Lab, arguments: &[&str]) -> Run {
    lab.run(&[&["compare"], arguments].concat())
}

/// The figure of that name.
#[track_caller]
fn figure<'f>(found: &'f Value, name: &str) -> &'f Value {
    let figures = found["figures"].as_array().expect("there are figures");
    figures.iter().find(|figure| figure["figure"] == name).unwrap_or_else(|| panic!("no {name} in {found:#}"))
}

/// 1000 requests each: every tenth missed in a, every seventh in b.
fn tenth_and_seventh() -> Lab {
    lab(&[
        (0..1000).map(|at| met(A, at, f64::from(at), at % 10 != 9)).collect(),
        (0..1000).map(|at| met(B, at, f64::from(at), at % 7 != 6)).collect(),
    ])
}

#[test]
fn a_difference_has_the_interval_of_the_definitions() {
    let lab = tenth_and_seventh();
    let found = compare(&lab, &[&[A, B, "--format", "json"], &TARGETS[..]].concat()).exits(0).json();
    assert_eq!((&found["a"], &found["b"]), (&json!(A), &json!(B)));
    let attainment = figure(&found, "attainment");
    near(&attainment["a"], 0.9);
    near(&attainment["b"], 0.858);
    near(&attainment["difference"], -0.042);
    near(&attainment["low"], -0.0706593673391);
    near(&attainment["high"], -0.0134201002088);
    near(&attainment["detectable"], 0.0429294503477);
    assert_eq!((&attainment["n_a"], &attainment["n_b"]), (&json!(1000), &json!(1000)));
    // What nobody did on both sides is no figure.
    assert!(!found.to_string().contains("share failed"));
    assert_eq!(
        figure(&found, "miss ttft")["verdict"].as_str().map(|word| word.ends_with("higher")),
        Some(true)
    );
}

#[test]
fn every_figure_is_that_of_the_second_implementation() {
    if !has_program("every_figure_is_that_of_the_second_implementation", "python3") {
        return;
    }
    let request = |run: &str, at: u32, seed: u32| {
        let mixed = (at + seed).wrapping_mul(2_654_435_761) >> 8;
        let in_burst = at % 97 < 9 + seed / 1000;
        let terminal = match mixed % 13 {
            0 => "refused",
            1 if in_burst => "failed",
            2 => "cancelled",
            _ => "completed",
        };
        let ttft_s = f64::from(mixed % 1000) / 500.0 * if in_burst { 2.0 } else { 1.0 };
        let text = row(
            run,
            &format!("r{at:06}"),
            f64::from(at),
            &format!("\"ttft_s\": {ttft_s}, \"output_len\": 1"),
        );
        (text.replace("\"completed\"", &format!("\"{terminal}\"")), terminal, ttft_s)
    };
    let side =
        |run: &str, rows: u32, seed: u32| (0..rows).map(|at| request(run, at, seed)).collect::<Vec<_>>();
    let sides = [side(A, 1500, 0), side(B, 1100, 4000)];
    let lab = lab(&sides.each_ref().map(|rows| rows.iter().map(|row| row.0.clone()).collect()));
    let found = compare(&lab, &[&[A, B, "--format", "json"], &TARGETS[..]].concat()).exits(0).json();

    let hits = |is_hit: &dyn Fn(&str, f64) -> bool| {
        sides.each_ref().map(|rows| rows.iter().map(|row| u8::from(is_hit(row.1, row.2))).collect::<Vec<_>>())
    };
    // Journal: cancelled and refused ones that were measured are not scored.
    let scored: Vec<Vec<u8>> = sides
        .iter()
        .map(|rows| {
            let scored = rows.iter().filter(|row| !matches!(row.1, "refused" | "cancelled"));
            scored.map(|row| u8::from(row.1 == "completed" && row.2 <= 1.0)).collect()
        })
        .collect();
    let misses = |is_miss: &dyn Fn(&str, f64) -> bool| -> Vec<Vec<u8>> {
        sides
            .iter()
            .map(|rows| {
                let scored = rows.iter().filter(|row| !matches!(row.1, "refused" | "cancelled"));
                scored.map(|row| u8::from(is_miss(row.1, row.2))).collect()
            })
            .collect()
    };
    let values: Vec<Vec<f64>> = sides
        .iter()
        .map(|rows| rows.iter().filter(|row| row.1 == "completed").map(|row| row.2).collect())
        .collect();
    let mut names = Vec::new();
    let mut cases = Vec::new();
    let mut add_share = |name: &str, of: [&Vec<u8>; 2]| {
        names.push(name.to_owned());
        cases.push(json!({"ask": "share difference", "a": of[0], "b": of[1]}));
    };
    add_share("attainment", [&scored[0], &scored[1]]);
    for terminal in ["cancelled", "completed", "failed", "refused"] {
        let of = hits(&|own, _| own == terminal);
        add_share(&format!("share {terminal}"), [&of[0], &of[1]]);
    }
    let of = misses(&|terminal, _| terminal == "failed");
    add_share("miss failed", [&of[0], &of[1]]);
    let of = misses(&|terminal, ttft_s| terminal == "completed" && ttft_s > 1.0);
    add_share("miss ttft", [&of[0], &of[1]]);
    let of = hits(&|terminal, _| terminal == "refused");
    add_share("refused for unknown", [&of[0], &of[1]]);
    let none = [vec![0_u8; 1500], vec![0; 1100]];
    add_share("retry_rate", [&none[0], &none[1]]);
    for percent in [50, 90, 95, 99] {
        names.push(format!("ttft_s p{percent}"));
        cases.push(
            json!({"ask": "percentile difference", "a": values[0], "b": values[1], "percent": percent}),
        );
    }
    let differences = reference(&cases);
    let verdicts = reference(&[json!({"ask": "family", "figures": differences})]).remove(0);
    let all: Vec<&str> =
        found["figures"].as_array().unwrap().iter().map(|one| one["figure"].as_str().unwrap()).collect();
    assert_eq!(all, names, "the figures in their order");
    for (at, name) in names.iter().enumerate() {
        let (own, expected) = (figure(&found, name), &differences[at]);
        alike(&own["difference"], &expected["difference"]);
        alike(&own["low"], &expected["low"]);
        alike(&own["high"], &expected["high"]);
        alike(&own["detectable"], &expected["detectable"]);
        assert_eq!(own["verdict"], verdicts["verdicts"][at], "{name}");
    }
    let count = |words: &[&str]| {
        let verdicts = verdicts["verdicts"].as_array().unwrap();
        verdicts.iter().filter(|verdict| words.contains(&verdict.as_str().unwrap())).count()
    };
    assert_eq!(found["differ"], count(&["higher", "lower"]));
    assert_eq!(found["maybe"], count(&["maybe higher", "maybe lower"]));
}

#[test]
fn the_first_screen_says_what_differs_and_what_could_have_been_seen() {
    let rows = |run: &str, is_met: fn(u32) -> bool| {
        (0..4000).map(|at| met(run, at, f64::from(at), is_met(at))).collect()
    };
    let lab = lab(&[rows(A, |at| at % 10 != 9), rows(B, |at| at % 4 != 0)]);
    let shown = compare(&lab, &[&[A, B], &TARGETS[..]].concat())
        .exits(0)
        .says("the same targets: TTFT 1 s, TPOT 1 s");
    let text = &shown.stdout;
    assert!(
        text.starts_with("a  1795000000-a: 4,000 requests\nb  1795010000-b: 4,000 requests\n\n"),
        "{text}"
    );
    assert!(text.contains(" differ, judged together"), "{text}");
    let attainment = text.lines().find(|line| line.starts_with("attainment ")).expect("it differs");
    let cells: Vec<&str> = attainment.split_whitespace().collect();
    assert_eq!((&cells[1..4], cells[5]), (&["0.9", "0.75", "-0.15"][..], "lower"), "{text}");
    assert!(text.contains("This speaks for conditions as in these windows; a burst or outage"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let all = compare(&lab, &[&[A, B, "--all"], &TARGETS[..]].concat()).exits(0).stdout;
    assert!(all.contains("\nttft_s p50 ") && all.contains(" not shown\n"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let csv = compare(&lab, &[&[A, B, "--format", "csv"], &TARGETS[..]].concat()).exits(0).stdout;
    let header = "figure,a,a_low,a_high,n_a,b,b_low,b_high,n_b,difference,low,high,detectable,verdict\n";
    assert!(csv.starts_with(header), "{csv}");
    assert!(csv.lines().any(|line| line.starts_with("attainment,0.9,") && line.ends_with(",lower")), "{csv}");
}

#[test]
fn selections_that_overlap_are_not_judged() {
    let lab = tenth_and_seventh();
    let found = compare(&lab, &[A, &format!("{A},{B}"), "--format", "json"])
        .exits(0)
        .says("1000 requests are in both");
    let found = found.json();
    let verdicts: Vec<&Value> =
        found["figures"].as_array().unwrap().iter().map(|figure| &figure["verdict"]).collect();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|verdict| **verdict == "not judged"), "{found:#}");
    assert_eq!((&found["differ"], &found["maybe"]), (&json!(0), &json!(0)));
    let text = compare(&lab, &[A, A]).exits(0).stdout;
    assert!(text.contains("Not judged: the two overlap, 1,000 requests are in both."), "{text}");
    // Two halves of one run share nothing.
    let zero = "2026-11-18T11:06:40Z";
    let middle = "2026-11-18T11:15:00Z";
    assert_eq!(lab.number("select count(*) from runs where started_at = '2026-11-18T11:06:40Z'"), 1);
    let halves = [&format!("{A},{zero}..{middle}")[..], &format!("{A},{middle}.."), "--format", "json"];
    let found = compare(&lab, &halves).exits(0).json();
    assert_eq!(
        (&found["shared"], &found["requests_a"], &found["requests_b"]),
        (&json!(0), &json!(500), &json!(500))
    );
}

#[test]
fn accounting_that_one_side_lacks_is_said() {
    let with = (0..40).map(|at| met(A, at, f64::from(at), true)).collect();
    let without = (0..40).map(|at| {
        row(B, &format!("r{at}"), f64::from(at), "\"ttft_s\": 0.5, \"token_accounting\": \"unavailable\"")
    });
    let lab = lab(&[with, without.collect()]);
    compare(&lab, &[&[A, B], &TARGETS[..]].concat())
        .exits(0)
        .says(
            "b: token accounting is unavailable in 1 run, so the output of 40 completed requests is unknown",
        )
        .says(
            "attainment, misses and tpot_s of b and a cannot be held against each other, whatever the verdict",
        );
    let found = compare(&lab, &[&[A, B, "--format", "json"], &TARGETS[..]].concat()).exits(0).json();
    // All 40 met against none that is known to: judged as the definitions say, and said to mean little.
    for (name, verdict) in [("attainment", "lower"), ("miss output_unmeasured", "higher")] {
        assert_eq!(figure(&found, name)["verdict"], verdict);
    }
    assert_eq!(found["differ"], json!(2), "{found:#}");
    assert_eq!(
        ["ttft", "tpot", "policy"].map(|key| &found[key]),
        [&json!(1.0), &json!(1.0), &json!("journal")]
    );
    let text = compare(&lab, &[&[A, B], &TARGETS[..]].concat()).exits(0).stdout.replace('\n', " ");
    assert!(
        text.contains(
            "2 of 8 differ, judged together; 2 of them cannot be held against each other, for one side did not count its \
             output."
        ),
        "{text}"
    );
    assert!(!text.contains("figure "), "none that says anything: {text}");
    assert!(
        text.contains(
            "Not to be held against each other, for one side did not count its output, 2: attainment, miss \
             output_unmeasured."
        ),
        "{text}"
    );
    compare(&lab, &[A, B])
        .exits(0)
        .says("no attainment: give --ttft and --tpot")
        .says("tpot_s of b and a cannot be held");
}

#[test]
fn a_side_without_a_request_is_nothing_to_compare() {
    let lab = lab(&[
        (0..40).map(|at| met(A, at, f64::from(at), true)).collect(),
        (0..40).map(|at| met(B, at, 100.0 * f64::from(at), true)).collect(),
    ]);
    // Between two requests of b, which begins at 13:53:20 UTC.
    compare(&lab, &[A, &format!("{B},2026-11-18T13:53:30Z..2026-11-18T13:53:50Z")])
        .exits(2)
        .says("nothing to compare: b, ")
        .says("takes in runs, but no request");
}

#[test]
fn few_independent_requests_are_counted() {
    // One burst of a hundred misses, and every hundredth: the worked example, n_eff 6.53 against 1000.
    let lab = lab(&[
        (0..1000).map(|at| met(A, at, f64::from(at), at % 100 != 99)).collect(),
        (0..1000).map(|at| met(B, at, f64::from(at), !(400..500).contains(&at))).collect(),
    ]);
    let found = compare(&lab, &[&[A, B, "--format", "json"], &TARGETS[..]].concat()).exits(0).json();
    let attainment = figure(&found, "attainment");
    assert_eq!(attainment["verdict"], "too few");
    near(&attainment["independent_b"], 6.5292437674);
    let text = compare(&lab, &[&[A, B], &TARGETS[..]].concat()).exits(0).stdout.replace('\n', " ");
    let says = "too few independent requests to say whether they differ (a: 1,000 count like ";
    assert!(text.contains(says) && text.contains(", b: 1,000 like 7)."), "{text}");
    let all = compare(&lab, &[&[A, B, "--all"], &TARGETS[..]].concat()).exits(0).stdout;
    let counts = all.lines().find(|line| line.ends_with("independent ones")).expect("they are counted");
    assert_eq!(counts.split_whitespace().nth(2), Some("7"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn a_run_that_is_written_has_a_way_out_that_compare_knows() {
    let lab = Lab::new();
    lab.write(
        "journal.jsonl",
        std::fs::read(crate::harness::project().join("samples/journal.jsonl")).unwrap(),
    );
    // A file that just changed.
    let now_s = chrono::Utc::now().timestamp() as f64;
    crate::harness::set_modified(&lab.path("journal.jsonl"), now_s);
    lab.ingest("journal.jsonl");
    let said = compare(&lab, &["1795977782", "1795977784"]).exits(0);
    let said = said.says("still written").says("a stretch of time that ends earlier, as FROM..1m does");
    assert!(!said.stderr.contains("--settled"), "{}", said.stderr);
}

#[test]
fn what_only_one_side_has_is_said_and_not_judged() {
    let plain = (0..100).map(|at| met(A, at, f64::from(at), true)).collect();
    let staged = (0..100).map(|at| {
        let more = "\"ttft_s\": 0.5, \"queue_waits\": {\"admission\": 0.1, \"prefill\": 0.2, \"decode\": 0.3}, \
                    \"attempts\": 1, \"prefill_iid\": \"n7\"";
        row(B, &format!("r{at:03}"), f64::from(at), more)
    });
    let lab = lab(&[plain, staged.collect()]);
    let found = compare(&lab, &[A, B, "--format", "json"]).exits(0).json();
    let waits = figure(&found, "queue-waits prefill p50");
    assert_eq!(
        (&waits["verdict"], &waits["a"], &waits["b"]),
        (&json!("not judged"), &Value::Null, &json!(0.2))
    );
    assert_eq!(found["engines"]["only_b"], json!(["n7"]));
    let text = compare(&lab, &[A, B]).exits(0).stdout;
    assert!(text.contains("Only b has, 7: failure_rate prefill, "), "{text}");
    assert!(text.contains("Engines that only b has: n7."), "{text}");
}

#[test]
fn engines_are_a_family_of_their_own() {
    let rows = |run: &str, slow: &str| -> Vec<String> {
        (0..4000_u32)
            .map(|at| {
                let engine = format!("n{}", at % 4);
                let ttft_s = f64::from(at * 7919 % 1009) / 1000.0 + if engine == slow { 1.0 } else { 0.0 };
                let more = format!("\"ttft_s\": {ttft_s}, \"attempts\": 1, \"prefill_iid\": \"{engine}\"");
                row(run, &format!("r{at:04}"), f64::from(at), &more)
            })
            .collect()
    };
    let lab = lab(&[rows(A, "none"), rows(B, "n2")]);
    let found = compare(&lab, &[A, B, "--format", "json"]).exits(0).json();
    let slow: Vec<&str> = found["engines"]["figures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|figure| figure["verdict"] == "higher")
        .map(|figure| figure["figure"].as_str().unwrap())
        .collect();
    assert_eq!(slow, ["engine n2 ttft_s p50", "engine n2 ttft_s p90", "engine n2 ttft_s p99"]);
    assert_eq!(found["engines"]["differ"], 3);
    let text = compare(&lab, &[A, B]).exits(0).stdout;
    assert!(text.contains("Engines: 3 of 16 differ, judged together.\n"), "{text}");
}

#[test]
fn two_halves_of_a_quiet_journal_are_not_shown_to_differ() {
    let name = "two_halves_of_a_quiet_journal_are_not_shown_to_differ";
    let Some(shared) = real_journals(name).filter(|_| has_program(name, "python3")) else { return };
    for seed in ["11", "12"] {
        let lab = Lab::new();
        let generated = Command::new("python3")
            .arg(shared.join("tools/journalgen.py"))
            // Few engines make a long journal of few rows: ten bursts in each half.
            .args(["--rows", "16000", "--seed", seed, "--engines", "2", "--out", "quiet.jsonl"])
            .current_dir(lab.path(""))
            .output()
            .unwrap();
        assert!(generated.status.success(), "{generated:?}");
        lab.ingest("quiet.jsonl");
        let run =
            &lab.rows("select run, cast(wall_offset_s + (first_s + last_s) / 2 as integer) from runs")[0];
        let [rusqlite::types::Value::Text(run), rusqlite::types::Value::Integer(middle)] = &run[..] else {
            panic!()
        };
        let middle = chrono::DateTime::from_timestamp(*middle, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ");
        let halves = [&format!("{run},..{middle}")[..], &format!("{run},{middle}..")];
        let targets = ["--ttft", "2", "--tpot", "0.05", "--format", "json"];
        let found = compare(&lab, &[&halves[..], &targets].concat()).exits(0).json();
        assert_eq!(found["differ"], 0, "seed {seed}: {found:#}");
        let text = compare(&lab, &halves).exits(0).stdout;
        assert!(text.contains(" is shown to differ, judged together"), "{text}");
    }
}

#[test]
fn two_releases_of_small_journals_say_what_they_cannot_know() {
    let Some(shared) = real_journals("two_releases_of_small_journals_say_what_they_cannot_know") else {
        return;
    };
    let lab = Lab::new();
    for release in ["0.6.0", "0.7.0"] {
        lab.run(&["ingest", shared.join("journals").join(release).to_str().unwrap()]).exits(0);
    }
    let found = compare(&lab, &["release:0.6.0", "release:0.7.0", "--ttft", "2", "--tpot", "0.05"]).exits(0);
    assert!(found.stdout.contains("Too few to say, "), "{}", found.stdout);
    let text = found.stdout.replace('\n', " ");
    let (_, attainment) = text.split_once(" Attainment: a 0.").expect("it is told");
    let (attainment, _) = attainment.split_once(" would have been seen.").expect("it is not shown to differ");
    assert!(attainment.contains("): not shown to differ; about 0."), "{text}");
    assert!(found.stdout.lines().all(|line| line.chars().count() <= 80), "{}", found.stdout);
}

#[test]
fn issue_13_25_one_screen_says_what_differs_most_and_the_rest_takes_a_flag() {
    // Two real runs, and two of 4000 requests that differ in attainment alone: 0.9 and 0.75.
    let real = Lab::new();
    real.write("j.jsonl", crate::harness::fixture("0.7.0-full.jsonl"));
    real.ingest("j.jsonl");
    let runs = real.rows("select run from runs order by started_at desc limit 2");
    let name = |at: usize| match &runs[at][0] {
        rusqlite::types::Value::Text(run) => run.clone(),
        other => panic!("a run is text: {other:?}"),
    };
    let rows = |run: &str, every: u32| {
        (0..4000).map(|at| met(run, at, f64::from(at), at % every != every - 1)).collect()
    };
    let made = lab(&[rows(A, 10), rows(B, 4)]);
    for (lab, a, b) in [(&real, name(0), name(1)), (&made, A.to_owned(), B.to_owned())] {
        let screen = compare(lab, &[&[a.as_str(), &b], &TARGETS[..]].concat()).exits(0).stdout;
        let all = compare(lab, &[&[a.as_str(), &b, "--all"], &TARGETS[..]].concat()).exits(0).stdout;
        // A terminal of 24 lines and 80 columns, with the line that was typed and the next prompt.
        assert!(screen.lines().count() <= 22, "{} lines\n{screen}", screen.lines().count());
        assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
        assert!(screen.contains("--all"), "the way to the rest\n{screen}");
        assert!(all.lines().count() > screen.lines().count(), "{all}");
        // Every figure that the data has is in the whole answer.
        let data =
            compare(lab, &[&[a.as_str(), &b, "--format", "json"], &TARGETS[..]].concat()).exits(0).json();
        let figures = data["figures"].as_array().unwrap();
        assert!(figures.len() > 5, "{data:#}");
        for figure in figures {
            let name = figure["figure"].as_str().unwrap();
            assert!(all.lines().any(|line| line.starts_with(name)), "{name} is not in\n{all}");
        }
    }
    // Every second of the one is two of the other: more figures differ than a screen has room for.
    let slower = |run: &str, by: f64| {
        let seconds = |at: u32, of: f64| of * by * (1.0 + f64::from(at % 7) / 100.0);
        let fields = |at: u32| {
            ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"]
                .map(|name| format!("\"{name}\": {}", seconds(at, 0.1)))
                .join(", ")
        };
        (0..4000)
            .map(|at| row(run, &format!("r{at:06}"), f64::from(at), &(fields(at) + ", \"output_len\": 9")))
            .collect()
    };
    let all_differ = lab(&[slower(A, 1.0), slower(B, 2.0)]);
    let screen = compare(&all_differ, &[A, B]).exits(0).stdout;
    assert!(screen.lines().count() <= 22, "{} lines\n{screen}", screen.lines().count());
    let left = screen.lines().find_map(|line| line.strip_prefix("and ")?.strip_suffix(" more"));
    assert!(left.is_some_and(|count| count.parse::<u32>().is_ok_and(|count| count > 6)), "{screen}");
    // What differs stands first: 0.15 less attainment, the one thing in which they differ.
    let screen = compare(&made, &[&[A, B], &TARGETS[..]].concat()).exits(0).stdout;
    let first = screen.lines().position(|line| line.starts_with("attainment ")).expect("it differs");
    assert!(first < 12, "{screen}");
}
