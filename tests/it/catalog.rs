//! The canned queries: their headers, their answers beside an independent program's and the stock
//! shell's, and small journals whose answers were worked out by hand.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use narwhal_jq::query::catalog::{self, Query, Type};
use serde_json::{Value, json};

use crate::harness::{Lab, fixture, has_program, project, real_journals};

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
