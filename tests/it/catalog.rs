//! The canned queries: their headers, their answers beside an independent program's and the stock
//! shell's, and small journals whose answers were worked out by hand.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use narwhal_jq::query::catalog::{self, Query, Type};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Lab, build, fixture, has_program, project, real_journals};

// ------------------------------------------------------------------ headers

#[test]
fn every_header_agrees_with_its_statement() {
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.2.1-takeover.jsonl"));
    lab.ingest("j.jsonl");
    let database = lab.database();
    for query in catalog::shipped().unwrap() {
        let name = &query.name;
        // A second statement in the file is an error here.
        let statement = database.prepare(&query.sql).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(statement.readonly(), "{name} only reads");
        let found: BTreeSet<String> = (1..=statement.parameter_count())
            .map(|at| statement.parameter_name(at).expect("no parameter is without a name").to_owned())
            .collect();
        let declared: Vec<String> =
            query.parameters.iter().map(|parameter| format!(":{}", parameter.name)).collect();
        assert_eq!(found, declared.iter().cloned().collect(), "{name}: parameters");
        assert_eq!(found.len(), declared.len(), "{name}: a parameter is declared once");
        let columns: Vec<&str> = query.columns.iter().map(|column| column.name.as_str()).collect();
        let found: Vec<&str> = statement.column_names().collect();
        assert_eq!(found, columns, "{name}: columns");
        assert_eq!(columns[0], "run", "{name}");
        assert!(query.parameters.iter().any(|parameter| parameter.kind == Type::Run), "{name} takes a run");
        assert!(!query.group.is_empty() && !query.reading.is_empty(), "{name}: group and reading");
    }
}

#[test]
fn canned_sql_keeps_to_what_other_engines_read() {
    for query in catalog::shipped().unwrap() {
        let statement: Vec<&str> =
            query.sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        let statement = statement.join("\n");
        assert_eq!(
            statement.replace("'%\"queue_waits\":{%'", "").to_lowercase().find('%').is_some(),
            query.name == "events",
            "{}: a remainder",
            query.name
        );
        for word in [
            "datetime",
            "strftime",
            "julianday",
            "printf",
            "format(",
            "glob",
            "total(",
            "json",
            "is :",
            "*,",
            "select *",
            "1.0 *",
            "ceil",
            "floor(",
            "round(",
            "iif",
            "ifnull",
            "group_concat",
            "rowid",
        ] {
            assert!(!statement.contains(word), "{} has {word:?}", query.name);
        }
    }
}

#[test]
fn buckets_find_what_was_counted_in_them_by_index() {
    // Without, a run of many buckets takes their number times itself.
    let lab = lab_with(&[]);
    let database = lab.database();
    for query in catalog::shipped().unwrap() {
        if !query.sql.contains("left join counted as c on c.run_id = b.run_id and c.bucket_no = b.bucket_no")
        {
            continue;
        }
        let mut explain = database.prepare(&format!("explain query plan {}", query.sql)).unwrap();
        let mut steps = explain.raw_query();
        let mut plan: Vec<String> = Vec::new();
        while let Some(step) = steps.next().unwrap() {
            plan.push(step.get(3).unwrap());
        }
        let found = plan.iter().any(|step| step.contains("SEARCH c USING") && step.contains("bucket_no=?"));
        assert!(found, "{}: {plan:#?}", query.name);
    }
}

// ------------------------------------------------------------------ beside the reference and the shell

/// A question: a query and values for some of its parameters.
#[derive(Debug, Clone)]
struct Question<'q> {
    query: &'q Query,
    given: Vec<(&'static str, Value)>,
}

impl Question<'_> {
    fn with(&self, name: &'static str, value: impl Into<Value>) -> Self {
        let mut given = self.given.clone();
        given.retain(|(known, _)| *known != name);
        given.push((name, value.into()));
        Self { query: self.query, given }
    }

    /// The parameters as flags.
    fn flags(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.given.iter().flat_map(|(name, value)| [format!("--{name}"), text(value)]).collect()
    }

    /// As `reference.py` takes it.
    fn for_the_reference(&self) -> Vec<String> {
        [vec!["--query".to_owned(), self.query.name.clone()], self.flags()].concat()
    }

    /// What the program answers.
    fn answer(&self, lab: &Lab) -> Vec<Vec<Value>> {
        let mut arguments = vec!["query".to_owned(), self.query.name.clone()];
        arguments.extend(self.flags());
        arguments.extend(["--format", "json"].map(str::to_owned));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.in_columns(lab.run(&arguments).exits(0).json())
    }

    /// What the stock shell answers.
    fn answer_of_the_shell(&self, lab: &Lab) -> Vec<Vec<Value>> {
        let mut script = String::new();
        for (name, value) in &self.given {
            let value = value.as_str().map_or_else(|| value.to_string(), |text| format!("\"'{text}'\""));
            script.push_str(&format!(".param set :{name} {value}\n"));
        }
        let path = project().join("queries").join(format!("{}.sql", self.query.name));
        script.push_str(&format!(".read {}\n", path.display()));
        let output = piped(Command::new("sqlite3").arg("-json").arg(lab.path("narwhal.db")), &script);
        self.in_columns(if output.is_empty() { json!([]) } else { serde_json::from_str(&output).unwrap() })
    }

    fn in_columns(&self, answer: Value) -> Vec<Vec<Value>> {
        let columns = &self.query.columns;
        let row = |row: &Value| columns.iter().map(|column| row[&column.name].clone()).collect();
        answer.as_array().expect("an array of rows").iter().map(row).collect()
    }

    /// Asserts that two answers agree value by value.
    #[track_caller]
    fn assert_same(&self, ours: &[Vec<Value>], theirs: &[Vec<Value>], whose: &str) {
        let asked = format!("{} {:?} and {whose}", self.query.name, self.given);
        for (at, (our_row, their_row)) in ours.iter().zip(theirs).enumerate() {
            for ((column, our), their) in self.query.columns.iter().zip(our_row).zip(their_row) {
                let is_same = match column.name.as_str() {
                    "detail" => without_nulls(our) == without_nulls(their),
                    "wall" => is_same_moment(our, their),
                    _ => is_same(our, their),
                };
                assert!(
                    is_same,
                    "{asked}: row {at}, {}: {our} and {their}\n{our_row:?}\n{their_row:?}",
                    column.name
                );
                let is_whole = ["count", "tokens", "flag"].contains(&column.unit.as_str());
                assert!(!is_whole || our.is_null() || our.is_i64(), "{asked}: {} is no integer", column.name);
            }
        }
        assert_eq!(ours.len(), theirs.len(), "{asked}: rows");
    }
}

/// Runs a command with a text on its standard input, and gives what it prints.
fn piped(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
    child.stdin.take().expect("stdin is a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

fn is_same(our: &Value, their: &Value) -> bool {
    match (our.as_f64(), their.as_f64()) {
        (Some(our), Some(their)) => (our - their).abs() <= 1e-9 * our.abs().max(their.abs()),
        _ => our == their,
    }
}

fn without_nulls(detail: &Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(detail.as_str().expect("detail is text")).expect("detail is JSON");
    strip(&mut value);
    value
}

/// Both null, or times of one day that are not more than a millisecond apart.
fn is_same_moment(our: &Value, their: &Value) -> bool {
    let (Some(our), Some(their)) = (our.as_str(), their.as_str()) else { return our == their };
    let millis = |time: &str| -> i64 {
        let number = |from: usize, to: usize| -> i64 { time[from..to].parse().expect("a number") };
        3_600_000 * number(11, 13) + 60_000 * number(14, 16) + 1000 * number(17, 19) + number(20, 23)
    };
    our.len() == 24 && our[..10] == their[..10] && (millis(our) - millis(their)).abs() <= 1
}

/// What the reference answers to each question.
fn reference(journal: &Path, questions: &[Vec<String>]) -> Vec<Vec<Vec<Value>>> {
    let batch: String = questions.iter().map(|question| format!("{}\n", json!(question))).collect();
    let answers = crate::queries::reference(&["--batch"], journal, &batch);
    let rows = |answer: &str| {
        let mut answer: Value = serde_json::from_str(answer).expect("an answer");
        serde_json::from_value(answer["rows"].take()).expect("rows")
    };
    answers.lines().map(rows).collect()
}

/// Every query: as it is, in windows that cut the longest run, on the last run, and with each of its
/// own parameters.
fn questions(catalog: &[Query], longest_s: f64) -> Vec<Question<'_>> {
    let mut questions = Vec::new();
    for query in catalog {
        let has = |name: &str| query.parameters.iter().any(|parameter| parameter.name == name);
        let mut plain = Question { query, given: Vec::new() };
        if has("ttft") {
            plain = plain.with("ttft", 0.8).with("tpot", 0.03);
        }
        if has("bucket") {
            // Some buckets, not all of them full, for any length of a run.
            plain = plain.with("bucket", longest_s / 47.0);
            questions.push(plain.with("bucket", longest_s / 3.0));
        }
        questions.extend([plain.clone(), plain.with("run", "last")]);
        if has("from") {
            questions.push(plain.with("from", longest_s * 0.25).with("to", longest_s * 0.75));
            questions.push(plain.with("last", longest_s * 0.3));
            questions.push(plain.with("to", 0.0));
            questions
                .push(plain.with("run", "last").with("from", longest_s * 0.1).with("last", longest_s * 0.5));
        }
        if has("policy") {
            questions.extend(["offers", "router"].map(|policy| plain.with("policy", policy)));
            questions.push(plain.with("ttft", 0.1).with("tpot", 0.01));
        }
        if has("band") {
            questions.extend([0.3, 100.0].map(|band| plain.with("band", band)));
        }
        if has("by") {
            questions.extend(
                ["ttft_s", "tpot_s", "first_byte_s", "duration_s"]
                    .map(|by| plain.with("by", by).with("limit", 300)),
            );
            questions.push(plain.with("limit", 1));
        }
    }
    questions
}

fn compare(test: &str, journal: &Path) {
    if !has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    lab.ingest(journal.to_str().expect("the path is text"));
    let catalog = catalog::shipped().unwrap();
    let runs = reference(journal, &[["--query", "runs"].map(str::to_owned).to_vec()]).remove(0);
    let longest_s = runs.iter().filter_map(|run| run[12].as_f64()).fold(0.0, f64::max);
    let questions = questions(&catalog, longest_s);
    let asked: Vec<Vec<String>> = questions.iter().map(Question::for_the_reference).collect();
    let has_shell = has_program(test, "sqlite3");
    for (question, theirs) in questions.iter().zip(reference(journal, &asked)) {
        let ours = question.answer(&lab);
        question.assert_same(&ours, &theirs, "the reference");
        if has_shell {
            question.assert_same(&question.answer_of_the_shell(&lab), &ours, "the shell");
        }
    }
}

#[test]
fn answers_about_the_shipped_journals_are_those_of_the_reference() {
    for journal in crate::plain::shipped_journals() {
        compare("canned queries on the shipped journals", &journal);
    }
}

#[test]
fn answers_about_an_old_release_are_those_of_the_reference() {
    let test = "canned queries on a journal of 0.2.1";
    if let Some(shared) = real_journals(test) {
        compare(test, &shared.join("journals/0.2.1/mixed.jsonl"));
    }
}

#[test]
fn answers_about_a_new_release_are_those_of_the_reference() {
    let test = "canned queries on a journal of 0.7.0";
    if let Some(shared) = real_journals(test) {
        compare(test, &shared.join("journals/0.7.0/mixed.jsonl"));
    }
}

#[test]
fn answers_about_a_generated_journal_are_those_of_the_reference() {
    let test = "canned queries on a generated journal";
    let Some(shared) = real_journals(test) else { return };
    if !has_program(test, "python3") {
        return;
    }
    let lab = Lab::new();
    let journal = lab.path("generated.jsonl");
    let status = Command::new("python3")
        .arg(shared.join("tools/journalgen.py"))
        .args("--rows 20000 --runs 4 --release mixed --interleave --seed 7 --out".split(' '))
        .arg(&journal)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    compare(test, &journal);
}

// ------------------------------------------------------------------ worked out by hand

const RUN: &str = "1700000000-000000aa";

/// A terminal row of [`RUN`]; `rest` is its further fields.
fn row(rid: &str, arrived: f64, terminal: &str, rest: &str) -> String {
    let comma = if rest.is_empty() { "" } else { ", " };
    format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"rid\": \"{rid}\", \
         \"arrived\": {arrived:?}, \"terminal\": \"{terminal}\"{comma}{rest}}}"
    )
}

/// An event of [`RUN`].
fn event(kind: &str, at: f64, rest: &str) -> String {
    let comma = if rest.is_empty() { "" } else { ", " };
    format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \
         \"event\": \"{kind}\", \"at\": {at:?}{comma}{rest}}}"
    )
}

/// A database with a build row and these rows.
fn lab_with(rows: &[String]) -> Lab {
    let lab = Lab::new();
    let lines: Vec<String> = std::iter::once(build("0.7.0")).chain(rows.iter().cloned()).collect();
    lab.write("j.jsonl", lines.join("\n") + "\n");
    let summary = lab.ingest("j.jsonl");
    assert_eq!(summary["total"]["rejected"], 0, "{summary}");
    lab
}

/// Asserts an answer as CSV, without its header and without the run that begins each line.
#[track_caller]
fn assert_answer(lab: &Lab, asked: &str, expected: &[&str]) {
    let mut arguments = vec!["query"];
    arguments.extend(asked.split(' '));
    arguments.extend(["--format", "csv"]);
    let answer = lab.run(&arguments).exits(0).stdout;
    let lines: Vec<&str> = answer
        .lines()
        .skip(1)
        .map(|line| line.strip_prefix(RUN).and_then(|line| line.strip_prefix(',')).expect("the run is first"))
        .collect();
    assert_eq!(lines, expected, "{asked}");
}

#[test]
fn a_database_without_a_run_answers_every_query_with_no_rows() {
    let lab = lab_with(&[]);
    lab.run(&["slo", "set", "--ttft", "1", "--tpot", "1"]).exits(0);
    for query in catalog::shipped().unwrap() {
        let columns: Vec<&str> = query.columns.iter().map(|column| column.name.as_str()).collect();
        let run = lab.run(&["query", &query.name, "--format", "csv"]).exits(0).says("note: no rows");
        assert_eq!(run.stdout, columns.join(",") + "\n", "{}", query.name);
        let run = lab.run(&["query", &query.name, "--run", "last"]).exits(0);
        assert!(run.stderr.contains("note: no rows"), "{}", query.name);
    }
}

#[test]
fn one_request_is_every_percentile() {
    let lab = lab_with(&[row(
        "a",
        100.0,
        "completed",
        "\"ttft_s\": 0.5, \"first_byte_s\": 0.75, \"queue_wait_s\": 0.25, \"duration_s\": 2.5, \"input_len\": 10, \
         \"output_len\": 6, \"attempts\": 1, \"decode_attempts\": 1, \"decode_tokens_observed\": 8, \
         \"prefill_iid\": \"p0\", \"decode_iid\": \"d0\", \"crossed\": true, \
         \"upstream_seconds\": {\"prefill\": 0.25, \"decode\": 2}, \"cached_tokens\": {\"p0\": 4, \"p1\": 3}, \
         \"cache_placement\": {\"placed_cached_tokens\": 4, \"cold_prefill_s\": 0.5, \"predicted_prefill_s\": 0.25}, \
         \"queue_waits\": {\"admission\": 0.125, \"prefill\": null}, \"admission_price\": {\"price_s\": 0.25}",
    )]);
    // tpot_s and decode_tpot_s are null in every row.
    assert_answer(
        &lab,
        "latency",
        &[
            "ttft_s,1,0.5,0.5,0.5,0.5,0.5,0.5",
            "tpot_s,0,,,,,,",
            "first_byte_s,1,0.75,0.75,0.75,0.75,0.75,0.75",
            "decode_tpot_s,0,,,,,,",
            "queue_wait_s,1,0.25,0.25,0.25,0.25,0.25,0.25",
            "duration_s,1,2.5,2.5,2.5,2.5,2.5,2.5",
        ],
    );
    assert_answer(&lab, "engine-latency", &["p0,ttft_s,1,0.5,0.5,0.5,0.5"]);
    assert_answer(&lab, "handoff", &["crossed,1,0.25,0.25,0.25,0.25"]);
    assert_answer(
        &lab,
        "queue-waits",
        &[
            "admission,1,0.125,0.125,0.125,0.125",
            "prefill,0,,,,",
            "decode,0,,,,",
            "total,1,0.25,0.25,0.25,0.25",
        ],
    );
    assert_answer(&lab, "admission-price", &["completed,1,0.25,0.5,-0.25,-0.25"]);
    assert_answer(&lab, "wasted-work", &["0.25,2.0,8,6,2,0.25"]);
    assert_answer(&lab, "cache", &["1,1,4,4,0.25"]);
    assert_answer(&lab, "retries", &["1,0,0.0,0,1,0,0.0"]);
    assert_answer(&lab, "slowest", &["a,,completed,0.5,,0.75,2.5,10,6,p0,d0,1"]);
    assert_answer(&lab, "slowest --by tpot_s", &[]);
    assert_answer(&lab, "attainment-misses --ttft 0.5 --tpot 0.1", &[]);
    assert_answer(&lab, "attainment-misses --ttft 0.4 --tpot 0.1", &["journal,ttft,1,1.0"]);
    assert_answer(&lab, "goodput --ttft 0.5 --tpot 0.1 --bucket 0.5", &["2.0,3.0,1,1,1,1.0"]);
    let banded = "goodput --ttft 0.4 --tpot 0.1 --bucket 0.5 --band 0.75";
    assert_answer(&lab, banded, &["1.5,2.25,1,1,0,0.0"]);
    // The run lasts 2.5 s, so its last bucket of 1 s begins at 2; nothing happens in the middle one.
    assert_answer(
        &lab,
        "throughput --bucket 1",
        &["0.0,1,0,10,0,10.0,0.0", "1.0,0,0,0,0,0.0,0.0", "2.0,0,1,0,6,0.0,6.0"],
    );
    assert_answer(
        &lab,
        "attainment-over-time --ttft 1 --tpot 1 --bucket 1",
        &["0.0,1,1.0,1,1,1.0", "1.0,0,0.0,0,0,", "2.0,0,0.0,0,0,"],
    );
    // Outside of the window nothing is counted, and what has a row for every run keeps it.
    assert_answer(&lab, "throughput --bucket 2 --from 1", &["0.0,0,0,0,0,0.0,0.0", "2.0,0,0,0,0,0.0,0.0"]);
    assert_answer(&lab, "retries --from 1", &["0,0,,0,0,0,0.0"]);
    assert_answer(&lab, "wasted-work --from 1", &["0.0,0.0,0,0,0,"]);
    assert_answer(&lab, "cache --from 1", &["0,0,0,0,0.0"]);
    assert_answer(&lab, "queue-waits --from 1", &["total,0,,,,"]);
    assert_answer(&lab, "engine-latency --from 1", &[]);
    assert_answer(&lab, "slowest --from 1", &[]);
}

#[test]
fn percentiles_are_nearest_ranks_and_the_slowest_come_first() {
    let rows: Vec<String> = (1..=20)
        .map(|i| {
            let ttft_s = f64::from(i) / 4.0;
            let rest = format!(
                "\"ttft_s\": {ttft_s}, \"duration_s\": 1, \"decode_iid\": \"d0\", \
                 \"decode_tpot_s\": {ttft_s}, \"tpot_s\": 1, \"queue_waits\": {{\"prefill\": {ttft_s}}}"
            );
            // Not in the order of their values.
            row(&format!("r{:02}", i * 7 % 20), 100.0 + f64::from(i), "completed", &rest)
        })
        .collect();
    let lab = lab_with(&rows);
    // Of 20: the 10th, the 18th, the 19th and the 20th.
    assert_answer(
        &lab,
        "latency",
        &[
            "ttft_s,20,2.625,2.5,4.5,4.75,5.0,5.0",
            "tpot_s,20,1.0,1.0,1.0,1.0,1.0,1.0",
            "first_byte_s,0,,,,,,",
            "decode_tpot_s,20,2.625,2.5,4.5,4.75,5.0,5.0",
            "queue_wait_s,0,,,,,,",
            "duration_s,20,1.0,1.0,1.0,1.0,1.0,1.0",
        ],
    );
    assert_answer(
        &lab,
        "engine-latency",
        &["d0,decode_tpot_s,20,2.5,4.5,5.0,5.0", "d0,tpot_s,20,1.0,1.0,1.0,1.0"],
    );
    assert_answer(
        &lab,
        "queue-waits",
        &["admission,0,,,,", "prefill,20,2.5,4.5,5.0,5.0", "decode,0,,,,", "total,0,,,,"],
    );
    assert_answer(
        &lab,
        "slowest --limit 2",
        &["r00,,completed,5.0,1.0,,1.0,,,,d0,", "r13,,completed,4.75,1.0,,1.0,,,,d0,"],
    );
    // Equally slow: by request id.
    let by_duration = "slowest --by duration_s --limit 2";
    assert_answer(
        &lab,
        by_duration,
        &["r00,,completed,5.0,1.0,,1.0,,,,d0,", "r01,,completed,0.75,1.0,,1.0,,,,d0,"],
    );
}

#[test]
fn one_request_of_every_terminal_state() {
    let lab = lab_with(&[
        row("a", 100.0, "completed", "\"ttft_s\": 1, \"output_len\": 1, \"duration_s\": 1"),
        row(
            "b",
            101.0,
            "failed",
            "\"ttft_s\": 1, \"output_len\": 1, \"duration_s\": 1, \"decode_tokens_observed\": 2",
        ),
        row("c", 102.0, "refused", "\"output_len\": 0, \"refused\": true, \"refused_cause\": \"queue\""),
        row("d", 103.0, "rejected", "\"output_len\": 0, \"rejected\": true"),
        row("e", 104.0, "expired", "\"output_len\": 0, \"expired\": true"),
        row("f", 105.0, "invalid", "\"output_len\": 0"),
        row(
            "g",
            106.0,
            "cancelled",
            "\"ttft_s\": 1, \"first_byte_s\": 2, \"output_len\": 3, \"duration_s\": 4, \"cancelled\": true, \
             \"cancelled_phase\": \"decode\", \"decode_tokens_observed\": 5, \"queue_waits\": {}",
        ),
    ]);
    let shares = |policy: &str, misses: &[&str], share: &str| -> Vec<String> {
        misses.iter().map(|miss| format!("{policy},{miss},1,{share}")).collect()
    };
    for (policy, misses, share) in [
        // Cancelled after it was measured: excluded.
        ("journal", &["expired", "failed", "invalid", "refused", "rejected"][..], "0.16666666666666666"),
        (
            "offers",
            &["cancelled", "expired", "failed", "invalid", "refused", "rejected"],
            "0.14285714285714285",
        ),
        ("router", &["expired", "failed", "refused"], "0.25"),
    ] {
        let expected = shares(policy, misses, share);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_answer(&lab, &format!("attainment-misses --ttft 1 --tpot 1 --policy {policy}"), &expected);
    }
    assert_answer(&lab, "cancellations", &["decode,1,1,3,4.0"]);
    // What the failed one put out was returned to nobody.
    assert_answer(&lab, "wasted-work", &["0.0,0.0,7,3,4,0.5714285714285714"]);
    assert_answer(&lab, "cache", &["7,0,0,0,0.0"]);
    // An object of stages, though an empty one, is of a release that has them.
    assert_answer(&lab, "queue-waits", &["admission,0,,,,", "prefill,0,,,,", "decode,0,,,,", "total,0,,,,"]);
    assert_answer(&lab, "queue-waits --to 6", &["total,0,,,,"]);
    // Ends of all terminals count their output, only completed ones are completed: 101, 102, 110.
    assert_answer(
        &lab,
        "throughput --bucket 5",
        &["0.0,5,1,0,2,0.0,0.4", "5.0,2,0,0,0,0.0,0.0", "10.0,0,0,0,3,0.0,0.6"],
    );
}

#[test]
fn a_miss_is_named_by_the_first_that_applies() {
    let miss = |rid: &str, rest: &str| row(rid, 100.0, "completed", rest);
    let lab = lab_with(&[
        miss("a", "\"ttft_s\": 2, \"tpot_s\": 2, \"output_len\": 2"),
        miss("b", "\"ttft_s\": 2, \"tpot_s\": 1, \"output_len\": 2"),
        miss("c", "\"ttft_s\": 1, \"tpot_s\": 2, \"output_len\": 2"),
        miss("d", "\"tpot_s\": 2, \"output_len\": 2"),
        miss("e", "\"ttft_s\": 2, \"tpot_s\": 2"),
        miss("f", "\"ttft_s\": 2"),
        miss("g", "\"ttft_s\": 1"),
        miss("h", "\"ttft_s\": 1, \"tpot_s\": 1, \"output_len\": 2"),
    ]);
    assert_answer(
        &lab,
        "attainment-misses --ttft 1 --tpot 1",
        &[
            "journal,output_unmeasured,3,0.375",
            "journal,tpot,1,0.125",
            "journal,ttft,1,0.125",
            "journal,ttft+tpot,1,0.125",
            "journal,ttft_unmeasured,1,0.125",
        ],
    );
    assert_answer(
        &lab,
        "attainment-misses --ttft 1 --tpot 1 --policy router",
        &[
            "router,tpot,1,0.125",
            "router,ttft,2,0.25",
            "router,ttft+tpot,2,0.25",
            "router,ttft_unmeasured,1,0.125",
        ],
    );
}

#[test]
fn unavailable_accounting_is_said_where_targets_are_asked_for() {
    let unavailable = "\"token_accounting\": \"unavailable\"";
    let lab = lab_with(&[
        row("a", 100.0, "completed", &format!("\"ttft_s\": 0.5, \"duration_s\": 1, {unavailable}")),
        row(
            "b",
            100.0,
            "cancelled",
            &format!(
                "\"duration_s\": 1, \"cancelled_phase\": \"decode\", \"first_byte_s\": 0.5, {unavailable}"
            ),
        ),
    ]);
    let answers = [
        ("attainment-misses", &["journal,cancelled,1,0.5", "journal,output_unmeasured,1,0.5"][..]),
        ("attainment-over-time", &["0.0,2,0.03333333333333333,2,0,0.0"]),
        ("goodput", &["0.0,1.0,1,2,0,0.0"]),
    ];
    for (name, expected) in answers {
        assert_answer(&lab, &format!("{name} --ttft 1 --tpot 1"), expected);
        let run = lab.run(&["query", name, "--ttft", "1", "--tpot", "1"]).exits(0);
        run.says(&format!(
            "note: run {RUN}: token accounting is unavailable, so the output of its 1 completed"
        ));
        let run = lab.run(&["query", name, "--ttft", "1", "--tpot", "1", "--policy", "router"]).exits(0);
        assert_eq!(run.stderr.matches("accounting").count(), 0, "{name}");
    }
    assert_answer(&lab, "cancellations", &["decode,1,1,,1.0"]);
    assert_answer(&lab, "wasted-work", &["0.0,0.0,0,0,0,"]);
}

#[test]
fn retries_and_causes_count_entries_as_they_say() {
    let lab = lab_with(&[
        row(
            "a",
            100.0,
            "completed",
            "\"attempts\": 3, \"decode_attempts\": 1, \"attempt_failures\": [\
             {\"attempt\": 1, \"phase\": \"prefill\", \"prefill_iid\": \"p0\", \"decode_iid\": \"d0\", \
              \"error_type\": \"Timeout\", \"status\": 503, \"transient\": true, \"retry_scheduled\": true, \
              \"backoff_s\": 0.5}, \
             {\"attempt\": 2, \"phase\": \"prefill\", \"prefill_iid\": \"p0\", \"error_type\": \"Timeout\", \
              \"status\": 503, \"transient\": true, \"retry_scheduled\": true, \"backoff_s\": 1}]",
        ),
        row(
            "b",
            101.0,
            "failed",
            "\"attempts\": 1, \"decode_attempts\": 1, \"attempt_failures\": [\
             {\"attempt\": 1, \"phase\": \"decode\", \"prefill_iid\": \"p0\", \"decode_iid\": \"d0\", \
              \"error_type\": \"Reset\", \"transient\": false, \"backoff_s\": 8}, \
             {\"attempt\": 2, \"phase\": \"queue\", \"prefill_iid\": \"p0\", \"error_type\": \"Timeout\", \
              \"retry_reason\": \"not_dispatched\"}]",
        ),
        row("c", 102.0, "completed", "\"attempts\": 1"),
    ]);
    // 5 dispatches, 3 of them failed by their record; the 8 s were not for a scheduled retry.
    assert_answer(&lab, "retries", &["3,1,0.3333333333333333,1,5,3,1.5"]);
    assert_answer(
        &lab,
        "failure-causes",
        &["decode,Reset,,,d0,1,0,0,1", "prefill,Timeout,,503,p0,2,2,2,1", "queue,Timeout,,,,1,0,0,1"],
    );
}

#[test]
fn intervals_pair_within_their_key_in_order_of_time() {
    let lab = lab_with(&[
        // The run is from 100 to 150.
        row("a", 100.0, "completed", "\"duration_s\": 50"),
        // The end stands before its start in the file; the second start is ignored.
        event("engine_readmitted", 115.0, "\"iid\": \"p0\", \"evidence\": \"probe\""),
        event("engine_ejected", 110.0, "\"iid\": \"p0\", \"cause\": \"liveness\""),
        event("engine_ejected", 112.0, "\"iid\": \"p0\", \"cause\": \"connection\""),
        // Ends without a start: of unknown length, and of a known one.
        event("engine_readmitted", 120.0, "\"iid\": \"p0\""),
        event(
            "engine_hold_ended",
            118.0,
            "\"iid\": \"p0\", \"kind\": \"timed\", \"cause\": \"expired\", \"held_s\": 5",
        ),
        // Two kinds of hold at once; the second one is still open at the run's end.
        event("engine_hold_started", 130.0, "\"iid\": \"p0\", \"kind\": \"timed\", \"duration_s\": 9"),
        event("engine_hold_started", 131.0, "\"iid\": \"p0\", \"kind\": \"inference\""),
        event(
            "engine_hold_ended",
            133.0,
            "\"iid\": \"p0\", \"kind\": \"timed\", \"cause\": \"health\", \"held_s\": 3",
        ),
        event("engine_ejected", 140.0, "\"iid\": \"p1\", \"cause\": \"liveness\""),
        // At one time: the place in the file decides.
        event("engine_ejected", 141.0, "\"iid\": \"p2\", \"cause\": \"liveness\""),
        event("engine_readmitted", 141.0, "\"iid\": \"p2\""),
        event("below_floor", 105.0, "\"live_prefill\": 0, \"min_prefill\": 1"),
        event("below_floor", 106.0, "\"live_prefill\": 0, \"min_prefill\": 2"),
        event("below_floor_recovered", 107.0, "\"live_prefill\": 1, \"min_prefill\": 1, \"duration_s\": 9"),
        event("below_floor_recovered", 109.0, "\"live_prefill\": 2, \"min_prefill\": 1, \"duration_s\": 1"),
        event("below_floor", 145.0, "\"live_prefill\": 0, \"min_prefill\": 1"),
        event(
            "monitoring_stage_failure",
            118.0,
            "\"stage\": \"scrape\", \"class\": \"Timeout\", \"consecutive\": 1",
        ),
        event(
            "monitoring_stage_failure",
            119.0,
            "\"stage\": \"scrape\", \"class\": \"Timeout\", \"consecutive\": 2",
        ),
        event(
            "monitoring_stage_failure",
            130.0,
            "\"stage\": \"scrape\", \"class\": \"Timeout\", \"consecutive\": 1",
        ),
        event("monitoring_degraded", 120.0, "\"stage\": \"scrape\", \"class\": \"Timeout\""),
        event("monitoring_degraded", 121.0, "\"stage\": \"handoff\", \"class\": \"IOError\""),
        event("monitoring_recovered", 125.0, ""),
        event("monitoring_recovered", 126.0, ""),
        event("monitoring_degraded", 148.0, "\"stage\": \"scrape\", \"class\": \"Timeout\""),
    ]);
    assert_answer(
        &lab,
        "engine-downtime",
        &[
            "p0,ejected,,,20.0,,0",
            "p0,ejected,liveness,10.0,15.0,5.0,0",
            "p0,inference,,31.0,50.0,19.0,1",
            "p0,timed,expired,13.0,18.0,5.0,0",
            "p0,timed,health,30.0,33.0,3.0,0",
            "p1,ejected,liveness,40.0,50.0,10.0,1",
            "p2,ejected,liveness,41.0,41.0,0.0,0",
        ],
    );
    assert_answer(&lab, "floor-breaches", &["5.0,7.0,2.0,0,1,0", "8.0,9.0,1.0,2,1,0", "45.0,50.0,5.0,0,1,1"]);
    // The degradation that was ignored leaves a row, and the time to the one it fell into.
    assert_answer(&lab, "monitoring", &["handoff,IOError,0,,0,0.0", "scrape,Timeout,3,2,2,7.0"]);
}

#[test]
fn events_tell_their_clock_and_their_wall_time() {
    let lab = lab_with(&[
        row("a", 100.0, "completed", "\"duration_s\": 50"),
        event("engine_lifecycle", 1_709_251_199.999_6, "\"action\": \"drain_started\", \"iid\": \"p0\""),
        event(
            "engine_probe",
            110.5,
            "\"iid\": \"p0\", \"kind\": \"timed\", \"outcome\": \"ok\", \"b\": [1, null], \"a\": {}",
        ),
        event("moon_phase", 5.0, "\"iid\": [\"p0\", \"p1\"]"),
        event(
            "controller_decision",
            120.0,
            "\"by\": \"reactive\", \"result\": \"held\", \"reason\": \"cooldown\"",
        ),
        event(
            "controller_decision",
            130.0,
            "\"by\": \"reactive\", \"result\": \"held\", \"reason\": \"cooldown\"",
        ),
        event("controller_decision", 125.0, "\"by\": \"reactive\", \"result\": \"applied\""),
    ]);
    let database = Connection::open(lab.path("narwhal.db")).unwrap();
    database.execute("update runs set wall_offset_s = null", []).unwrap();
    let lifecycle = ",1709251199.9996,wall,2024-03-01T00:00:00.000Z,engine_lifecycle,p0,\
                     \"{\"\"action\"\":\"\"drain_started\"\"}\"";
    let unknown = ",5.0,unknown,,moon_phase,,\"{\"\"iid\"\":[\"\"p0\"\",\"\"p1\"\"]}\"";
    let events = |wall: &str| -> Vec<String> {
        let all = lab.run(&["query", "events", "--format", "csv"]).exits(0).stdout;
        let lines: Vec<String> =
            all.lines().skip(1).map(|line| line.replacen(&format!("{RUN},"), "", 1)).collect();
        assert_eq!(lines[0], lifecycle);
        assert_eq!(lines[2], unknown);
        assert!(
            lines[1].starts_with(&format!("10.5,110.5,monotonic,{wall},engine_probe,p0,")),
            "{}",
            lines[1]
        );
        lines
    };
    assert_eq!(events("").len(), 6);
    database.execute("update runs set wall_offset_s = 951782289.75", []).unwrap();
    // 951782400.25, after the 60th day of a leap century year began.
    events("2000-02-29T00:00:00.250Z");
    assert_answer(
        &lab,
        "controller",
        &["reactive,applied,,1,25.0,25.0", "reactive,held,cooldown,2,20.0,30.0"],
    );
}

#[test]
fn wall_times_are_right_in_every_year() {
    let lab = lab_with(&[event("engine_lifecycle", 0.0, "")]);
    let database = Connection::open(lab.path("narwhal.db")).unwrap();
    // From the first second of the year 1 to beyond 9999, every 61 days and some.
    database
        .execute_batch(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
             insert into events (run_id, source_id, byte_offset, event, at, clock, detail, digest)
             select 1, 1, i * 1000, 'engine_lifecycle', -62135596800 + (i - 1) * 5302432.4375, 'wall', '{}', hex(randomblob(8))
             from n",
        )
        .unwrap();
    let rows = lab.run(&["query", "events", "--format", "json"]).exits(0).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 60_001);
    let mut years = BTreeSet::new();
    for row in rows {
        let millis = (row["at"].as_f64().unwrap() * 1000.0 + 0.5).floor();
        #[allow(clippy::cast_possible_truncation)]
        let time = chrono::DateTime::from_timestamp_millis(millis as i64).unwrap();
        let expected = time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        match row["wall"].as_str() {
            Some(wall) => {
                assert_eq!(wall, expected);
                years.insert(wall[..4].to_owned());
            }
            None => assert!(expected.starts_with('+'), "{expected} has a date"),
        }
    }
    assert_eq!(years.len(), 9999);
}

#[test]
fn parameters_of_the_wrong_kind_are_told_with_what_is_wanted() {
    let lab = lab_with(&[row("a", 100.0, "completed", "")]);
    for (query, name, value, wanted) in [
        ("throughput", "bucket", "0", "a number of seconds above 0"),
        ("throughput", "bucket", "-60", "a number of seconds above 0"),
        ("attainment-over-time", "bucket", "inf", "a number of seconds above 0"),
        ("goodput", "bucket", "minute", "a number of seconds above 0"),
        ("goodput", "band", "0", "a number above 0"),
        ("goodput", "band", "nan", "a number above 0"),
        ("slowest", "limit", "0", "a whole number from 1"),
        ("slowest", "limit", "2.5", "a whole number from 1"),
        ("slowest", "by", "rid", "one of ttft_s, tpot_s, first_byte_s, duration_s"),
    ] {
        lab.run(&["query", query, &format!("--{name}"), value])
            .exits(2)
            .says(&format!("--{name} is {wanted}, not {value:?}"));
    }
    for name in ["attainment-misses", "attainment-over-time", "goodput"] {
        lab.run(&["query", name])
            .exits(2)
            .says("no SLO \"default\" is saved: give --ttft SECONDS and --tpot SECONDS");
    }
    lab.run(&["query", "events", "--from", "1"]).exits(2).says("--from");
}
