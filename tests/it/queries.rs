//! The canned queries: equal to the Python reference on journals of real routers and on a made-up
//! one, equal to numbers worked out by hand, and the same in every format.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::harness::{self, Lab, Run};
use crate::plain;

// ---------------------------------------------------------------- against the reference

#[test]
fn answers_about_the_real_journals_equal_the_reference() {
    let test = "answers_about_the_real_journals_equal_the_reference";
    let Some(shared) = harness::real_journals(test) else {
        return;
    };
    if !harness::has_program(test, "python3") {
        return;
    }
    let journals = plain::real_journals(&shared);
    assert!(!journals.is_empty(), "no journals in {}", shared.display());
    for journal in journals {
        compare(&journal);
    }
}

#[test]
fn answers_about_the_shipped_journals_equal_the_reference() {
    let test = "answers_about_the_shipped_journals_equal_the_reference";
    if !harness::has_program(test, "python3") {
        return;
    }
    for journal in plain::shipped_journals() {
        compare(&journal);
    }
}

#[test]
fn answers_about_a_generated_journal_equal_the_reference() {
    let test = "answers_about_a_generated_journal_equal_the_reference";
    let Some(shared) = harness::real_journals(test) else {
        return;
    };
    if !harness::has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    let journal = lab.path("generated.jsonl");
    let arguments = "--rows 20000 --runs 4 --release mixed --interleave --seed 7 --out";
    let made = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args(arguments.split(' '))
        .arg(&journal)
        .status()
        .unwrap();
    assert!(made.success(), "journalgen.py: {made}");
    compare(&journal);
}

/// Asks the program and the reference the same questions about a journal.
#[track_caller]
fn compare(journal: &Path) {
    let lab = Lab::new();
    let ingested = lab.run(&["ingest", journal.to_str().unwrap()]);
    let (records, _) = plain::records(journal);
    let runs = plain::runs(&records);
    let has_contract = records.iter().any(|row| row["schema"] == "narwhal.journal");
    ingested.exits(if has_contract { 0 } else { 1 });
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab.run(&["slo", "set", "tight", "--ttft", "0.1", "--tpot", "0.005"]).exits(0);

    let questions = questions(if has_contract { &runs } else { &[] });
    let mut batch = String::new();
    for question in &questions {
        writeln!(batch, "{}", json!(question.reference)).unwrap();
    }
    let answers = reference(&["--batch"], journal, &batch);
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), questions.len());
    for (question, expected) in questions.iter().zip(answers) {
        let what = format!("{}: query {}", journal.display(), question.tool.join(" "));
        let expected = Answer::from_reference(serde_json::from_str(expected).unwrap());
        let got = ask(&lab, &question.tool);
        got.equals(&expected, &what);
    }
}

/// What `reference.py` writes.
#[track_caller]
pub(crate) fn reference(arguments: &[&str], journal: &Path, stdin: &str) -> String {
    let mut child = Command::new("python3")
        .arg(harness::project().join("tests/reference/reference.py"))
        .args(arguments)
        .arg(journal)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads all of it before it writes anything.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "reference.py {arguments:?} {}", journal.display());
    String::from_utf8(output.stdout).unwrap()
}

/// The same question, as the program and as the reference take it.
struct Question {
    tool: Vec<String>,
    reference: Vec<String>,
}

/// Every query over every selection, and attainment with targets from every place.
fn questions(runs: &[String]) -> Vec<Question> {
    const SAVED: &str = "--ttft 0.8 --tpot 0.03";
    const WINDOWS: &[&str] = &["--from 5 --to 30", "--to 12.25", "--from 3 --last 20.5"];
    // The program's arguments and the reference's.
    const TARGETS: &[(&str, &str)] = &[
        ("", SAVED),
        ("--slo tight", "--ttft 0.1 --tpot 0.005"),
        ("--slo default", SAVED),
        ("--ttft 0.3 --tpot 0.01", "--ttft 0.3 --tpot 0.01"),
        ("--ttft 0.02", "--ttft 0.02 --tpot 0.03"),
        ("--slo tight --tpot 0.03", "--ttft 0.1 --tpot 0.03"),
    ];
    let mut whole = vec![String::new(), "--run last".to_owned()];
    whole.extend(runs.iter().map(|run| format!("--run {run}")));
    let mut selections = whole.clone();
    for window in WINDOWS {
        selections.extend(whole.iter().take(2).map(|run| format!("{run} {window}")));
    }

    let mut questions = Vec::new();
    let mut put = |query: &str, tool: &str, reference: &str| {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        questions.push(Question {
            tool: words(&format!("{query} {tool}")),
            reference: words(&format!("--query {query} {reference}")),
        });
    };
    for selection in &whole {
        put("runs", selection, selection);
    }
    for selection in &selections {
        for query in ["outcomes", "refusals", "engine-failures"] {
            put(query, selection, selection);
        }
        for policy in ["journal", "offers", "router"] {
            let selection = format!("{selection} --policy {policy}");
            put("attainment", &selection, &format!("{selection} {SAVED}"));
        }
    }
    for policy in ["journal", "offers", "router"] {
        for (tool, reference) in TARGETS {
            let policy = format!("--policy {policy}");
            put("attainment", &format!("{policy} {tool}"), &format!("{policy} {reference}"));
        }
    }
    questions
}

/// The program's answer.
#[track_caller]
pub(crate) fn ask<S: AsRef<str>>(lab: &Lab, question: &[S]) -> Answer {
    Answer::from_objects(&query(lab, question, "json").stdout)
}

#[track_caller]
fn query<S: AsRef<str>>(lab: &Lab, question: &[S], format: &str) -> Run {
    let mut arguments = vec!["query"];
    arguments.extend(question.iter().map(AsRef::as_ref));
    arguments.extend(["--format", format]);
    lab.run(&arguments).exits(0)
}

// ---------------------------------------------------------------- worked out by hand

const RUN: &str = "1000000000-aaaaaaaa";
const RUN_COLUMNS: &str = "run started_at version git source token_accounting admission_mode \
                           build_certainty terminals events first_s last_s span_s wall_offset_s \
                           wall_error_s";
const OUTCOME_COLUMNS: &str = "run terminal requests share";
const ATTAINMENT_COLUMNS: &str = "run policy ttft tpot offered scored met attainment excluded";
const REFUSAL_COLUMNS: &str = "run cause reason requests share_of_refused share_of_offered input_len_p50";
const ENGINE_COLUMNS: &str = "run engine leg attempts failures failure_rate retried output_started";

/// A journal in the making.
#[derive(Default)]
struct Journal {
    lines: String,
    requests: usize,
}

impl Journal {
    fn line(&mut self, row: &Value) {
        writeln!(self.lines, "{row}").unwrap();
    }

    fn build(&mut self, fields: Value) {
        let mut meta = json!({"schema": "narwhal.journal", "schema_version": 1});
        merge(&mut meta, fields);
        self.line(&json!({ "meta": meta }));
    }

    /// A row that ends as `terminal`, with these fields beside its identity.
    fn terminal(&mut self, run: &str, arrived: f64, terminal: &str, fields: Value) {
        self.requests += 1;
        let mut row = json!({
            "schema": "narwhal.journal", "schema_version": 1, "run": run,
            "rid": format!("request-{}", self.requests), "arrived": arrived, "terminal": terminal,
        });
        merge(&mut row, fields);
        self.line(&row);
    }

    fn event(&mut self, run: &str, event: &str, at: f64) {
        self.line(&json!({
            "schema": "narwhal.journal", "schema_version": 1, "run": run, "event": event, "at": at,
        }));
    }

    fn ingested(&self) -> Lab {
        let lab = Lab::new();
        lab.write("journal.jsonl", &self.lines);
        let summary = lab.ingest("journal.jsonl");
        assert_eq!(summary["total"]["rejected"], 0, "{summary}");
        lab
    }
}

fn merge(row: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("fields are an object: {fields}") };
    row.as_object_mut().unwrap().extend(fields);
}

/// Asserts what the program answers.
#[track_caller]
fn answers(lab: &Lab, question: &str, columns: &str, rows: Value) {
    let words: Vec<&str> = question.split_whitespace().collect();
    ask(lab, &words).equals(&Answer::of(columns, rows), question);
}

/// Asserts what a statement of the user's gives.
#[track_caller]
fn sql_answers(lab: &Lab, sql: &str, columns: &str, rows: Value) {
    let run = lab.run(&["sql", sql, "--format", "json"]).exits(0);
    Answer::from_objects(&run.stdout).equals(&Answer::of(columns, rows), sql);
}

/// Every terminal state, measured and not. Against TTFT 0.5 and TPOT 0.05, what each policy makes of
/// a row is written beside it: `m`et, `s`cored and missed, `-` excluded, for journal, offers, router.
fn every_terminal_state() -> Journal {
    let mut journal = Journal::default();
    let rows = [
        // Both exactly at the target.                                                          mmm
        ("completed", json!({"output_len": 10, "ttft_s": 0.5, "tpot_s": 0.05})),
        // A null TPOT cannot miss.                                                             mmm
        ("completed", json!({"output_len": 1, "ttft_s": 0.25, "tpot_s": null})),
        // Only the router does not need the output's length.                                   ssm
        ("completed", json!({"output_len": null, "ttft_s": 0.25, "tpot_s": null})),
        // Without a TTFT nothing meets.                                                        sss
        ("completed", json!({"output_len": 3, "ttft_s": null, "tpot_s": 0.01})),
        // Late by the first token, or between tokens.                                          sss
        ("completed", json!({"output_len": 3, "ttft_s": 0.500001, "tpot_s": 0.01})),
        ("completed", json!({"output_len": 3, "ttft_s": 0.25, "tpot_s": 0.050001})),
        // As quick as can be, but not completed.                                               sss
        ("failed", json!({"output_len": 2, "ttft_s": 0.125, "tpot_s": 0.01})),
        // Refused at once: no TTFT.                                                            sss
        ("refused", json!({"output_len": 0, "ttft_s": null, "refused": true})),
        // Refused on a retry, after it was measured.                                           -ss
        ("refused", json!({"output_len": 0, "ttft_s": 0.25, "refused": true})),
        // The router does not count these.                                                     ss-
        ("rejected", json!({"output_len": 0, "ttft_s": null, "rejected": true})),
        ("invalid", json!({"output_len": 0, "ttft_s": null})),
        //                                                                                      sss
        ("expired", json!({"output_len": 0, "ttft_s": 0.25, "expired": true})),
        // Cancelled after it was measured.                                                     -s-
        ("cancelled", json!({"output_len": 5, "ttft_s": 0.25, "cancelled": true})),
        // Cancelled before: no output length.                                                  ss-
        ("cancelled", json!({"output_len": null, "ttft_s": 0.25, "cancelled": true})),
        // A state of a later release, measured.                                                -ss
        ("shed", json!({"output_len": 1, "ttft_s": 0.25})),
    ];
    for (at, (terminal, fields)) in rows.into_iter().enumerate() {
        journal.terminal(RUN, 100.0 + at as f64, terminal, fields);
    }
    journal
}

#[test]
fn each_terminal_state_is_scored_as_each_policy_says() {
    let lab = every_terminal_state().ingested();
    // 15 rows. journal: 15 less refused-when-measured, cancelled-when-measured and shed = 12.
    // router: 15 less rejected, invalid and both cancelled = 11; it also takes the third row as met.
    for (policy, scored, met, attainment, excluded) in [
        ("journal", 12, 2, 2.0 / 12.0, 3),
        ("offers", 15, 2, 2.0 / 15.0, 0),
        ("router", 11, 3, 3.0 / 11.0, 4),
    ] {
        answers(
            &lab,
            &format!("attainment --policy {policy} --ttft 0.5 --tpot 0.05"),
            ATTAINMENT_COLUMNS,
            json!([[RUN, policy, 0.5, 0.05, 15, scored, met, attainment, excluded]]),
        );
    }
    // Half a nanosecond less, and the first row is late: TTFT 0.5 is not <= 0.4999999995.
    answers(
        &lab,
        "attainment --ttft 0.4999999995 --tpot 0.05",
        ATTAINMENT_COLUMNS,
        json!([[RUN, "journal", 0.4999999995, 0.05, 15, 12, 1, 1.0 / 12.0, 3]]),
    );
    answers(
        &lab,
        "outcomes",
        OUTCOME_COLUMNS,
        json!([
            [RUN, "cancelled", 2, 2.0 / 15.0],
            [RUN, "completed", 6, 6.0 / 15.0],
            [RUN, "expired", 1, 1.0 / 15.0],
            [RUN, "failed", 1, 1.0 / 15.0],
            [RUN, "invalid", 1, 1.0 / 15.0],
            [RUN, "refused", 2, 2.0 / 15.0],
            [RUN, "rejected", 1, 1.0 / 15.0],
            [RUN, "shed", 1, 1.0 / 15.0],
        ]),
    );
}

#[test]
fn targets_come_from_the_saved_slo_unless_given() {
    let lab = every_terminal_state().ingested();
    lab.run(&["slo", "set", "--ttft", "0.5", "--tpot", "0.05"]).exits(0);
    lab.run(&["slo", "set", "quick", "--ttft", "0.3", "--tpot", "0.04"]).exits(0);
    // Met: rows 1 and 2 of the list; only row 2 with a TTFT target of 0.3 (row 1 has 0.5). Of TPOT
    // row 1 has 0.05, row 2 none, and row 6 has 0.050001.
    for (given, ttft, tpot, met) in [
        ("", 0.5, 0.05, 2),
        ("--slo quick", 0.3, 0.04, 1),
        ("--slo quick --ttft 0.5", 0.5, 0.04, 1),
        ("--tpot 0.06", 0.5, 0.06, 3),
    ] {
        answers(
            &lab,
            &format!("attainment {given}"),
            ATTAINMENT_COLUMNS,
            json!([[RUN, "journal", ttft, tpot, 15, 12, met, f64::from(met) / 12.0, 3]]),
        );
    }
    // The view takes the SLO `default`, under the policy `journal`.
    sql_answers(
        &lab,
        "select * from attainment",
        ATTAINMENT_COLUMNS,
        json!([[RUN, "journal", 0.5, 0.05, 15, 12, 2, 2.0 / 12.0, 3]]),
    );
    lab.run(&["query", "attainment", "--slo", "none"]).exits(2).says("no SLO \"none\" is saved");
}

#[test]
fn a_run_without_requests_has_no_attainment_and_no_other_rows() {
    let mut journal = Journal::default();
    journal.event(RUN, "monitoring_recovered", 7.5);
    journal.event(RUN, "monitoring_recovered", 9.0);
    let lab = journal.ingested();
    for policy in ["journal", "offers", "router"] {
        answers(
            &lab,
            &format!("attainment --policy {policy} --ttft 1 --tpot 1"),
            ATTAINMENT_COLUMNS,
            json!([[RUN, policy, 1.0, 1.0, 0, 0, 0, null, 0]]),
        );
    }
    for (query, columns) in
        [("outcomes", OUTCOME_COLUMNS), ("refusals", REFUSAL_COLUMNS), ("engine-failures", ENGINE_COLUMNS)]
    {
        answers(&lab, query, columns, json!([]));
    }
    // `date -u -d @1000000000`: 2001-09-09 01:46:40
    answers(
        &lab,
        "runs",
        RUN_COLUMNS,
        json!([[
            RUN,
            "2001-09-09T01:46:40Z",
            null,
            null,
            null,
            null,
            null,
            "missing",
            0,
            2,
            7.5,
            9.0,
            1.5,
            null,
            null
        ]]),
    );
}

#[test]
fn attainment_is_null_when_nothing_was_scored() {
    let mut journal = Journal::default();
    journal.terminal(RUN, 1.0, "cancelled", json!({"output_len": 5, "ttft_s": 0.25}));
    let lab = journal.ingested();
    for policy in ["journal", "router"] {
        answers(
            &lab,
            &format!("attainment --policy {policy} --ttft 1 --tpot 1"),
            ATTAINMENT_COLUMNS,
            json!([[RUN, policy, 1.0, 1.0, 1, 0, 0, null, 1]]),
        );
    }
}

#[test]
fn a_sum_beyond_64_bits_is_said_and_the_row_is_found() {
    let mut journal = Journal::default();
    journal.terminal(RUN, 1.0, "completed", json!({"input_len": i64::MAX, "duration_s": 0.5}));
    journal.terminal(RUN, 1.0, "completed", json!({"input_len": 7, "duration_s": 0.5}));
    let lab = journal.ingested();
    let stderr = lab.run(&["query", "throughput"]).exits(1).stderr;
    assert!(stderr.starts_with("error: the query failed: a sum is beyond 64 bits signed"), "{stderr}");
    let sql = stderr.split('\'').nth(1).expect("it says how to find the row");
    let found = lab.run(&["sql", sql, "--format", "csv"]).exits(0).stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.contains(&i64::MAX.to_string()), "{found}");
}

#[test]
fn a_window_takes_its_start_and_leaves_its_end() {
    let mut journal = Journal::default();
    // Arrivals at 0, 1, 2 and 3.5 s of the run, which ends at 102 + 2 = 104: 4 s long.
    journal.terminal(RUN, 102.0, "failed", json!({"duration_s": 2.0}));
    journal.terminal(RUN, 100.0, "completed", json!({"duration_s": 0.5}));
    journal.terminal(RUN, 101.0, "expired", json!({"duration_s": 0.5}));
    journal.terminal(RUN, 103.5, "invalid", json!({"duration_s": 0.25}));
    let lab = journal.ingested();
    for (window, terminals) in [
        ("", "completed expired failed invalid"),
        ("--from 1", "expired failed invalid"),
        ("--to 2", "completed expired"),
        ("--from 1 --to 2", "expired"),
        ("--from 1 --to 1", ""),
        ("--last 2", "failed invalid"),
        ("--last 2.5", "failed invalid"),
        ("--last 3", "expired failed invalid"),
        ("--last 3 --to 3.5", "expired failed"),
        ("--last 0", ""),
        ("--from 1000", ""),
    ] {
        let terminals: Vec<&str> = terminals.split_whitespace().collect();
        let share = 1.0 / terminals.len() as f64;
        let rows: Vec<Value> = terminals.iter().map(|terminal| json!([RUN, terminal, 1, share])).collect();
        answers(&lab, &format!("outcomes {window}"), OUTCOME_COLUMNS, json!(rows));
    }
    // The run is still there when its window is empty.
    answers(
        &lab,
        "attainment --from 1000 --ttft 1 --tpot 1",
        ATTAINMENT_COLUMNS,
        json!([[RUN, "journal", 1.0, 1.0, 0, 0, 0, null, 0]]),
    );
}

#[test]
fn runs_tell_their_build_their_counts_and_their_times() {
    let (later, undated) = ("1000000001-bbbbbbbb", "by-hand");
    let mut journal = Journal::default();
    journal.build(json!({
        "package": "narwhal-inference", "version": "0.7.0", "git": "abc", "source": "sha256:1",
        "token_accounting": "token_ids", "admission": {"mode": "open", "margin": 0.5},
    }));
    // A failure at 9.5 is this run's smallest time; 11 + 0.5 is its largest.
    journal.terminal(
        later,
        10.0,
        "failed",
        json!({
            "duration_s": 0.25, "token_accounting": "unavailable",
            "attempt_failures": [{"at": 9.5, "attempt": 1, "phase": "prefill"}],
        }),
    );
    journal.terminal(later, 11.0, "completed", json!({"duration_s": 0.5}));
    // Wall time, of which the run's span knows nothing, and an unknown clock.
    journal.event(later, "engine_lifecycle", 1_000_000_500.0);
    journal.event(later, "something_new", 1.0);
    // No build is left. Its terminals agree about their accounting where they say something.
    journal.terminal(RUN, 5.0, "completed", json!({"token_accounting": "unavailable"}));
    journal.terminal(RUN, 6.0, "completed", json!({}));
    journal.event(RUN, "below_floor", 8.0);
    // They do not agree.
    journal.terminal(undated, 1.0, "completed", json!({"token_accounting": "unavailable"}));
    journal.terminal(undated, 2.0, "completed", json!({"token_accounting": "token_ids"}));
    let lab = journal.ingested();
    // By started_at, of which the last has none: null is first.
    let of_undated =
        json!([undated, null, null, null, null, null, null, "missing", 2, 0, 1.0, 2.0, 1.0, null, null]);
    let of_run = json!([
        RUN,
        "2001-09-09T01:46:40Z",
        null,
        null,
        null,
        "unavailable",
        null,
        "missing",
        2,
        1,
        5.0,
        8.0,
        3.0,
        null,
        null
    ]);
    let of_later = json!([
        later,
        "2001-09-09T01:46:41Z",
        "0.7.0",
        "abc",
        "sha256:1",
        "token_ids",
        "open",
        "exact",
        2,
        2,
        9.5,
        11.5,
        2.0,
        null,
        null
    ]);
    answers(&lab, "runs", RUN_COLUMNS, json!([of_undated, of_run, of_later]));
    answers(&lab, "runs --run last", RUN_COLUMNS, json!([of_later]));
    answers(&lab, &format!("runs --run {RUN}"), RUN_COLUMNS, json!([of_run]));
    lab.run(&["query", "runs", "--run", "nobody"]).exits(1).says("no run \"nobody\"");
}

#[test]
fn refusals_have_nearest_rank_medians_and_shares() {
    let mut journal = Journal::default();
    let mut refuse = |cause: Value, reason: Value, input_len: Value| {
        let fields = json!({"refused_cause": cause, "reason": reason, "input_len": input_len});
        journal.terminal(RUN, 1.0, "refused", fields);
    };
    // Four: the second smallest, ceil(4 / 2), not the mean of the two in the middle.
    for input_len in [40, 10, 30, 20] {
        refuse(json!("queue"), json!(null), json!(input_len));
    }
    // Three: the second smallest, ceil(3 / 2).
    for input_len in [9, 1, 5] {
        refuse(json!("prompt"), json!(null), json!(input_len));
    }
    // Nulls have no rank: of the three lengths that are known, the second smallest.
    for input_len in [json!(null), json!(7), json!(null), json!(11), json!(9)] {
        refuse(json!("decode"), json!("tpot"), input_len);
    }
    refuse(json!("decode"), json!("slot_wait"), json!(8));
    // Nothing is known.
    refuse(json!(null), json!(null), json!(null));
    journal.terminal(RUN, 2.0, "completed", json!({"input_len": 1000}));
    journal.terminal(RUN, 3.0, "rejected", json!({"reason": "saturated", "input_len": 1}));
    let lab = journal.ingested();
    // 4 + 3 + 5 + 1 + 1 = 14 refused of 16. By cause, then reason, nulls first.
    answers(
        &lab,
        "refusals",
        REFUSAL_COLUMNS,
        json!([
            [RUN, null, null, 1, 1.0 / 14.0, 1.0 / 16.0, null],
            [RUN, "decode", "slot_wait", 1, 1.0 / 14.0, 1.0 / 16.0, 8],
            [RUN, "decode", "tpot", 5, 5.0 / 14.0, 5.0 / 16.0, 9],
            [RUN, "prompt", null, 3, 3.0 / 14.0, 3.0 / 16.0, 5],
            [RUN, "queue", null, 4, 4.0 / 14.0, 4.0 / 16.0, 20],
        ]),
    );
}

/// Requests over two prefill and two decode engines; the legs of each are written beside it.
fn every_kind_of_leg() -> Journal {
    let mut journal = Journal::default();
    let rows = [
        // Prefill failed on p1 and was retried; p2 and d1 served it, which no entry records.
        // p1 prefill failed retried, p2 prefill, d1 decode
        (
            "completed",
            json!({
                "attempts": 2, "decode_attempts": 1, "prefill_iid": "p2", "decode_iid": "d1",
                "attempt_failures": [
                    {"attempt": 1, "phase": "prefill", "prefill_iid": "p1", "retry_scheduled": true,
                     "output_started": false, "retry_reason": "allowed"},
                ],
            }),
        ),
        // The last attempt is recorded: the row's own engines are no further legs.
        // p1 prefill, d1 decode failed started
        (
            "failed",
            json!({
                "attempts": 1, "decode_attempts": 1, "prefill_iid": "p1", "decode_iid": "d1",
                "attempt_failures": [
                    {"attempt": 1, "phase": "decode", "prefill_iid": "p1", "decode_iid": "d1",
                     "retry_scheduled": false, "output_started": true,
                     "retry_reason": "output_started"},
                ],
            }),
        ),
        // A decode engine was chosen, but nothing left for it.
        // p1 prefill
        ("expired", json!({"attempts": 1, "decode_attempts": 0, "prefill_iid": "p1", "decode_iid": "d1"})),
        // Of five entries one is a record. The others: not dispatched, the attempt's second, above
        // the row's attempts, and number 0.
        // p1 prefill, d1 decode failed; 4 unattributed
        (
            "failed",
            json!({
                "attempts": 1, "decode_attempts": 1, "prefill_iid": "p1", "decode_iid": "d1",
                "attempt_failures": [
                    {"attempt": 1, "phase": "admission", "prefill_iid": "p1", "decode_iid": "d1",
                     "retry_scheduled": true, "retry_reason": "not_dispatched"},
                    {"attempt": 1, "phase": "decode", "prefill_iid": "p1", "decode_iid": "d1"},
                    {"attempt": 1, "phase": "queue", "prefill_iid": "p2", "decode_iid": "d2",
                     "retry_scheduled": true},
                    {"attempt": 2, "phase": "decode", "prefill_iid": "p1", "decode_iid": "d1"},
                    {"attempt": 0, "phase": "queue"},
                ],
            }),
        ),
        // Its one decode dispatch is the recorded one: the last attempt never got that far.
        // p1 prefill, d2 decode failed retried; p2 prefill
        (
            "cancelled",
            json!({
                "attempts": 2, "decode_attempts": 1, "prefill_iid": "p2", "decode_iid": "d2",
                "attempt_failures": [
                    {"attempt": 1, "phase": "decode", "prefill_iid": "p1", "decode_iid": "d2",
                     "retry_scheduled": true},
                ],
            }),
        ),
        // Prefill worked, the wait for decode failed.
        // p2 prefill
        (
            "expired",
            json!({
                "attempts": 1, "decode_attempts": 0, "prefill_iid": "p2",
                "attempt_failures": [
                    {"attempt": 1, "phase": "queue", "prefill_iid": "p2", "decode_iid": "d1",
                     "retry_scheduled": false},
                ],
            }),
        ),
        // The last attempt is recorded, and not as a decode leg, whatever the row counted.
        // p1 prefill failed
        (
            "failed",
            json!({
                "attempts": 1, "decode_attempts": 1, "prefill_iid": "p1", "decode_iid": "d2",
                "attempt_failures": [
                    {"attempt": 1, "phase": "prefill", "prefill_iid": "p1", "decode_iid": "d2"},
                ],
            }),
        ),
        // Never dispatched.
        // 1 unattributed
        (
            "refused",
            json!({
                "attempts": 0, "decode_attempts": 0,
                "attempt_failures": [{"attempt": 1, "phase": "admission"}],
            }),
        ),
        // Nothing is known of it.
        ("invalid", json!({})),
    ];
    for (at, (terminal, fields)) in rows.into_iter().enumerate() {
        journal.terminal(RUN, at as f64, terminal, fields);
    }
    journal
}

#[test]
fn legs_failures_and_unattributed_entries_are_counted_per_engine() {
    let lab = every_kind_of_leg().ingested();
    answers(
        &lab,
        "engine-failures",
        ENGINE_COLUMNS,
        json!([
            [RUN, null, null, null, 5, null, null, null],
            [RUN, "d1", "decode", 3, 2, 2.0 / 3.0, 0, 1],
            [RUN, "d2", "decode", 1, 1, 1.0, 1, 0],
            [RUN, "p1", "prefill", 6, 2, 2.0 / 6.0, 1, 0],
            [RUN, "p2", "prefill", 3, 0, 0.0, 0, 0],
        ]),
    );
    // The last two rows only (arrivals 7 and 8): no engine was given anything.
    answers(
        &lab,
        "engine-failures --from 7",
        ENGINE_COLUMNS,
        json!([[RUN, null, null, null, 1, null, null, null]]),
    );
    answers(&lab, "engine-failures --from 8", ENGINE_COLUMNS, json!([]));
    // The views hold the same legs, and one attempt for each prefill leg here: 6 + 3.
    let legs = "select engine, leg, count(*) as legs, sum(failed) as failed,
            count(case when failed = 1 and retry_scheduled = 1 then 1 end) as retried,
            count(case when failed = 1 and output_started = 1 then 1 end) as output_started
        from legs group by engine, leg order by engine, leg";
    sql_answers(
        &lab,
        legs,
        "engine leg legs failed retried output_started",
        json!([
            ["d1", "decode", 3, 2, 0, 1],
            ["d2", "decode", 1, 1, 1, 0],
            ["p1", "prefill", 6, 2, 1, 0],
            ["p2", "prefill", 3, 0, 0, 0],
        ]),
    );
    let attempts = "select count(*) as attempts, sum(failed) as failed from attempts";
    sql_answers(&lab, attempts, "attempts failed", json!([[9, 6]]));
}

// ---------------------------------------------------------------- formats

/// Text that CSV and Markdown must quote, nulls, integers and ratios.
fn refusals_to_quote() -> Lab {
    let mut journal = Journal::default();
    for (reason, input_len) in
        [(json!("a,\"b\"|c"), json!(3)), (json!("line\nbreak"), json!(null)), (json!(null), json!(5))]
    {
        let fields = json!({"refused_cause": "queue", "reason": reason, "input_len": input_len});
        journal.terminal(RUN, 1.0, "refused", fields);
    }
    journal.ingested()
}

#[test]
fn all_formats_of_a_query_agree() {
    let lab = refusals_to_quote();
    let third = 1.0 / 3.0;
    let expected = Answer::of(
        REFUSAL_COLUMNS,
        json!([
            [RUN, "queue", null, 1, third, third, 5],
            [RUN, "queue", "a,\"b\"|c", 1, third, third, 3],
            [RUN, "queue", "line\nbreak", 1, third, third, null],
        ]),
    );
    Answer::from_objects(&query(&lab, &["refusals"], "json").stdout).equals(&expected, "json");
    Answer::from_lines(&query(&lab, &["refusals"], "jsonl").stdout).equals(&expected, "jsonl");

    let csv = query(&lab, &["refusals"], "csv").stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), expected.columns, "{csv}");
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().collect()).collect();
    let third = "0.3333333333333333";
    assert_eq!(
        cells,
        [
            [RUN, "queue", "", "1", third, third, "5"],
            [RUN, "queue", "a,\"b\"|c", "1", third, third, "3"],
            [RUN, "queue", "line\nbreak", "1", third, third, ""],
        ],
        "{csv}"
    );

    // For eyes: numbers are rounded, null is `-`, control characters are escaped.
    let markdown = query(&lab, &["refusals"], "markdown").stdout;
    let cells: Vec<Vec<String>> = markdown
        .lines()
        .map(|line| {
            let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
            line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
        })
        .collect();
    assert_eq!(cells.len(), 2 + 3, "{markdown}");
    assert_eq!(cells[0], expected.columns, "{markdown}");
    assert!(cells[1].iter().all(|cell| cell.trim_matches([':', '-']).is_empty()), "{markdown}");
    assert_eq!(
        cells[2..],
        [
            [RUN, "queue", "-", "1", "0.333333", "0.333333", "5"],
            [RUN, "queue", "a,\"b\"|c", "1", "0.333333", "0.333333", "3"],
            [RUN, "queue", "line\\nbreak", "1", "0.333333", "0.333333", "-"],
        ],
        "{markdown}"
    );

    let table = query(&lab, &["refusals"], "table").stdout;
    assert_eq!(table.lines().count(), 1 + 3, "{table}");
    assert_eq!(lab.run(&["query", "refusals"]).exits(0).stdout, table, "the table is the default");
}

#[test]
fn an_answer_goes_to_a_file_as_it_goes_to_stdout() {
    let lab = refusals_to_quote();
    for format in ["table", "csv", "json", "jsonl", "markdown"] {
        let to_stdout = query(&lab, &["refusals"], format);
        let to_file = query(&lab, &["refusals", "-o", "answer"], format);
        assert_eq!(to_file.stdout, "", "{format}");
        assert_eq!(to_file.stderr, to_stdout.stderr, "{format}");
        assert_eq!(fs::read_to_string(lab.path("answer")).unwrap(), to_stdout.stdout, "{format}");
    }
}

#[test]
fn an_empty_answer_is_a_header_and_a_note() {
    let mut journal = Journal::default();
    journal.terminal(RUN, 1.0, "completed", json!({}));
    let lab = journal.ingested();
    for (query_name, columns) in [("refusals", REFUSAL_COLUMNS), ("engine-failures", ENGINE_COLUMNS)] {
        let columns: Vec<&str> = columns.split_whitespace().collect();
        for (format, stdout) in [
            ("csv", format!("{}\n", columns.join(","))),
            ("json", "[]\n".to_owned()),
            ("jsonl", String::new()),
        ] {
            let answer = query(&lab, &[query_name], format);
            assert_eq!(answer.stdout, stdout, "{query_name} {format}");
            assert_eq!(answer.stderr, "note: no rows\n", "{query_name} {format}");
        }
        for (format, lines) in [("table", 1), ("markdown", 2)] {
            let answer = query(&lab, &[query_name], format);
            assert_eq!(answer.stdout.lines().count(), lines, "{}", answer.stdout);
            let header = answer.stdout.lines().next().unwrap().replace('|', " ");
            assert_eq!(header.split_whitespace().collect::<Vec<_>>(), columns);
            assert_eq!(answer.stderr, "note: no rows\n", "{query_name} {format}");
        }
    }
    // Rows: no note.
    assert_eq!(query(&lab, &["outcomes"], "csv").stderr, "");
}
