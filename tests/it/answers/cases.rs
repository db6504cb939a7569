//! Small journals whose answers were worked out by hand: the files of `tests/cases/answers`.
//!
//! A line of a case is a journal row (`{`, what every row has is filled in), a command to run (`$ slo set ...`),
//! a question (`> query flags`), the note that the question must have (`! text`), a row of its answer as CSV (`R` is
//! the run, `./` the folder), or a comment (`#`). `====` begins the next case.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Lab, build, project};

/// The run of rows that name none. It began at 2023-11-14T22:13:20Z.
pub(super) const RUN: &str = "1700000000-000000aa";

#[derive(Debug, Default)]
pub(super) struct Case {
    journal: String,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Do(String),
    Ask { flags: String, rows: Vec<String>, notes: Vec<String> },
}

impl Case {
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        let mut case = Self::default();
        let mut has_build = false;
        for line in text.lines().map(str::trim) {
            match line.as_bytes() {
                [] | [b'#', ..] => {}
                [b'{', ..] => {
                    let row = whole_row(line);
                    has_build |= row.get("meta").is_some();
                    case.journal.push_str(&format!("{row}\n"));
                }
                [b'$', command @ ..] => {
                    case.steps.push(Step::Do(String::from_utf8(command.to_vec()).unwrap()))
                }
                [b'>', flags @ ..] => {
                    let flags = String::from_utf8(flags.to_vec()).unwrap();
                    case.steps.push(Step::Ask { flags, rows: Vec::new(), notes: Vec::new() });
                }
                _ => match case.steps.last_mut() {
                    Some(Step::Ask { notes, .. }) if line.starts_with('!') => {
                        notes.push(line[1..].trim().to_owned())
                    }
                    Some(Step::Ask { rows, .. }) => rows.push(line.to_owned()),
                    _ => panic!("a row of an answer without a question: {line}"),
                },
            }
        }
        if !has_build {
            case.journal = format!("{}\n{}", build("0.7.0"), case.journal);
        }
        case
    }

    /// Its journal in a database.
    #[track_caller]
    pub(super) fn lab(&self) -> Lab {
        let lab = Lab::new();
        lab.write("j.jsonl", &self.journal);
        let summary = lab.ingest("j.jsonl");
        assert_eq!(summary["total"]["rejected"], 0, "{summary}");
        lab
    }

    /// Takes its steps; what did not come out as it says.
    fn faults(&self) -> Vec<String> {
        let lab = self.lab();
        let folder = format!("{}/", lab.path("").display()).replace("//", "/");
        let mut faults = Vec::new();
        for step in &self.steps {
            match step {
                Step::Do(command) => {
                    let words: Vec<&str> = command.split_whitespace().collect();
                    lab.run(&words).exits(0);
                }
                Step::Ask { flags, rows, notes } => {
                    let mut words = vec!["query", "--format", "csv"];
                    words.extend(flags.split_whitespace());
                    let run = lab.run(&words).exits(0);
                    let answer = run.stdout.replace(RUN, "R").replace(&folder, "./");
                    let found: Vec<&str> = answer.lines().skip(1).collect();
                    if found != *rows {
                        faults.push(format!(
                            "> {flags}\n--- expected\n{}\n--- got\n{}",
                            rows.join("\n"),
                            found.join("\n")
                        ));
                    }
                    let lacking = notes.iter().filter(|note| !run.stderr.contains(*note));
                    faults.extend(lacking.map(|note| format!("> {flags}\nlacks {note:?}: {}", run.stderr)));
                }
            }
        }
        faults
    }
}

/// A row with what every row has.
fn whole_row(line: &str) -> Value {
    let mut row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let head = json!({"schema": "narwhal.journal", "schema_version": 1});
    let of_all = if row.get("meta").is_some() { &mut row["meta"] } else { &mut row };
    of_all.as_object_mut().unwrap().extend(head.as_object().unwrap().clone());
    if row.get("meta").is_none() && row.get("run").is_none() {
        row["run"] = RUN.into();
    }
    row
}

#[test]
fn answers_are_those_worked_out_by_hand() {
    let mut faults = Vec::new();
    let mut cases = 0;
    let mut files: Vec<_> = fs::read_dir(project().join("tests/cases/answers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (at, part) in text.split("\n====").enumerate() {
            // What stands behind the `====` that begins a case is its title.
            let part = if at == 0 { part } else { part.split_once('\n').map_or("", |(_, part)| part) };
            cases += 1;
            let found = Case::parse(part).faults();
            faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", file.display())));
        }
    }
    assert!(cases > 5, "{cases} cases");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
