//! The query files run unchanged in the stock `sqlite3` shell, on the program's database, with the
//! program's answers; also where nothing can be written.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::slice;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::harness::{self, Lab};
use crate::plain;
use crate::queries::ask;

const QUERIES: [&str; 5] = ["runs", "outcomes", "attainment", "refusals", "engine-failures"];

/// What the shell says to a script of commands.
#[track_caller]
fn shell(mut command: Command, script: &str) -> String {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{script}\n{stdout}{stderr}");
    stdout
}

/// The shell on the database of the lab, as a user starts it.
fn sqlite3(lab: &Lab) -> Command {
    let mut command = Command::new("sqlite3");
    command.args(["-batch", "-bail", "narwhal.db"]).current_dir(lab.path(""));
    command
}

/// A script that sets parameters (name and SQL text of the value) and reads a query's file.
fn script(query: &str, parameters: &[(&str, String)]) -> String {
    let mut script = ".mode json\n".to_owned();
    for (name, value) in parameters {
        script.push_str(&format!(".param set :{name} {value}\n"));
    }
    let file = harness::project().join("queries").join(query).with_extension("sql");
    script + &format!(".read '{}'\n", file.display())
}

/// Asserts that the shell and the program give the same answer, and gives it.
#[track_caller]
fn agree(lab: &Lab, query: &str, parameters: &[(&str, String)], flags: &str) -> Answer {
    let script = script(query, parameters);
    let from_shell = Answer::from_objects(&shell(sqlite3(lab), &script));
    let mut question = vec![query];
    question.extend(flags.split_whitespace());
    let from_tool = ask(lab, &question);
    assert!(
        from_shell.columns == from_tool.columns,
        "{script}{:?} {:?}",
        from_shell.columns,
        from_tool.columns
    );
    from_shell.equals(&from_tool, &script);
    from_shell
}

/// A text as the shell wants it: SQL in double quotes.
fn quoted(text: &str) -> String {
    format!("\"'{text}'\"")
}

fn loaded(journal: &Path) -> Lab {
    let lab = Lab::new();
    lab.run(&["ingest", journal.to_str().unwrap()]).exits(0);
    lab
}

#[test]
fn the_shell_gives_the_answers_of_the_program() {
    let test = "the_shell_gives_the_answers_of_the_program";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    let mut journals = plain::shipped_journals();
    if let Some(shared) = harness::real_journals(&format!("{test}, on a real journal")) {
        journals.extend(
            plain::real_journals(&shared).into_iter().filter(|path| path.ends_with("0.7.0/mixed.jsonl")),
        );
    }
    for journal in journals {
        let lab = loaded(&journal);
        lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
        lab.run(&["slo", "set", "tight", "--ttft", "0.1", "--tpot", "0.005"]).exits(0);
        let runs = plain::runs(&plain::records(&journal).0);
        let first = ("run", quoted(&runs[0]));
        let last = ("run", quoted("last"));
        for query in QUERIES {
            agree(&lab, query, &[], "");
            let one = agree(&lab, query, slice::from_ref(&first), &format!("--run {}", runs[0]));
            assert!(one.rows.iter().all(|row| row[0] == runs[0]), "{query}\n{one}");
            agree(&lab, query, slice::from_ref(&last), "--run last");
            // A bare word is no SQL, and the shell then takes it as text.
            agree(&lab, query, &[("run", "last".to_owned())], "--run last");
            if query == "runs" {
                continue;
            }
            let from = ("from", "1.5".to_owned());
            let to = ("to", "20".to_owned());
            agree(&lab, query, &[from.clone(), to.clone()], "--from 1.5 --to 20");
            agree(&lab, query, &[("last", "5".to_owned()), last.clone()], "--last 5 --run last");
            agree(&lab, query, &[from, to, first.clone()], &format!("--from 1.5 --to 20 --run {}", runs[0]));
        }
        for policy in ["journal", "offers", "router"] {
            let named = ("policy", quoted(policy));
            let targets = [named.clone(), ("ttft", "0.3".to_owned()), ("tpot", "0.01".to_owned())];
            agree(&lab, "attainment", &targets, &format!("--policy {policy} --ttft 0.3 --tpot 0.01"));
            let tight = [named, ("slo", quoted("tight"))];
            agree(&lab, "attainment", &tight, &format!("--policy {policy} --slo tight"));
        }
    }
}

#[test]
fn without_targets_the_shell_has_no_rows_and_the_program_says_what_to_do() {
    let test = "without_targets_the_shell_has_no_rows_and_the_program_says_what_to_do";
    let lab = loaded(&plain::shipped_journals()[0]);
    let refused = lab.run(&["query", "attainment"]).exits(2);
    assert_eq!(refused.stdout, "");
    let refused = refused
        .says("no SLO \"default\" is saved")
        .says("give --ttft SECONDS and --tpot SECONDS")
        .says("narwhal-jq slo set --ttft SECONDS --tpot SECONDS");
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    // One target is not enough.
    lab.run(&["query", "attainment", "--ttft", "1"]).exits(2).says("give --tpot SECONDS, or save");
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    assert_eq!(shell(sqlite3(&lab), &script("attainment", &[])), "");
    let one = [("ttft", "1.0".to_owned())];
    assert_eq!(shell(sqlite3(&lab), &script("attainment", &one)), "");
    assert_eq!(shell(sqlite3(&lab), "select * from attainment;"), "", "the view has no targets");
    let both = [("ttft", "1.0".to_owned()), ("tpot", "1.0".to_owned())];
    agree(&lab, "attainment", &both, "--ttft 1 --tpot 1");
}

#[test]
fn the_views_can_be_selected_in_the_shell() {
    let test = "the_views_can_be_selected_in_the_shell";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    for journal in plain::shipped_journals() {
        let lab = loaded(&journal);
        lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
        // Counted in the file itself.
        let (records, _) = plain::records(&journal);
        for run in plain::runs(&records) {
            let rows = plain::terminals(&records, Some(&run));
            let sum = |field: &str| rows.iter().map(|row| plain::count(row, field)).sum::<i64>();
            let retried =
                |row: &&&Value| plain::failures(row).iter().any(|entry| entry["retry_scheduled"] == true);
            let measured = |row: &&&Value| {
                let time = |field| row.get(field).and_then(Value::as_f64);
                matches!((time("first_byte_s"), time("ttft_s")), (Some(b), Some(t)) if b >= t)
            };
            let expected = json!([[
                rows.len(),
                rows.iter().filter(retried).count(),
                rows.iter().filter(measured).count(),
                sum("attempts"),
                sum("attempts"),
                sum("decode_attempts"),
            ]]);
            let sql = format!(
                "select (select count(*) from requests where run = '{run}') as requests,
                    (select sum(retried) from requests where run = '{run}') as retried,
                    (select count(handoff_s) from requests where run = '{run}') as handoffs,
                    (select count(*) from attempts where run = '{run}') as attempts,
                    (select count(*) from legs where run = '{run}' and leg = 'prefill') as prefill,
                    (select count(*) from legs where run = '{run}' and leg = 'decode') as decode;"
            );
            let got = Answer::from_objects(&shell(sqlite3(&lab), &format!(".mode json\n{sql}")));
            let columns = "requests retried handoffs attempts prefill decode";
            got.equals(&Answer::of(columns, expected), &format!("{} {run}", journal.display()));
        }
        let view = shell(sqlite3(&lab), ".mode json\nselect * from attainment;");
        Answer::from_objects(&view)
            .equals(&ask(&lab, &["attainment"]), "the view is the query with the saved SLO `default`");
        for view in ["requests", "attempts", "legs"] {
            let rows = shell(sqlite3(&lab), &format!(".mode json\nselect * from {view} limit 3;"));
            assert_eq!(Answer::from_objects(&rows).rows.len(), 3, "{view}\n{rows}");
        }
    }
}

#[test]
fn what_an_ingest_leaves_is_one_plain_file() {
    let lab = Lab::new();
    let journals = plain::shipped_journals();
    for journal in [&journals[0], &journals[1], &journals[1]] {
        lab.run(&["ingest", journal.to_str().unwrap()]).exits(0);
        assert_plain(&lab);
    }
    lab.run(&["slo", "set", "--ttft", "1", "--tpot", "1"]).exits(0);
    assert_plain(&lab);
    lab.run(&["query", "attainment"]).exits(0);
    assert_plain(&lab);
}

/// No file of a write-ahead log, and a header that asks for none: bytes 18 and 19 are the versions
/// needed to write and to read, 1 for rollback mode (https://sqlite.org/fileformat.html).
#[track_caller]
fn assert_plain(lab: &Lab) {
    let mut files: Vec<String> = fs::read_dir(lab.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["narwhal.db"]);
    let mut header = [0; 20];
    fs::File::open(lab.path("narwhal.db")).unwrap().read_exact(&mut header).unwrap();
    assert_eq!(header[18..], [1, 1]);
}

#[test]
fn a_read_only_folder_answers_the_program_and_the_shell() {
    let test = "a_read_only_folder_answers_the_program_and_the_shell";
    if !harness::has_program(test, "sqlite3") {
        return;
    }
    let lab = loaded(&plain::shipped_journals()[0]);
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    let expected: Vec<Answer> = QUERIES.iter().map(|query| ask(&lab, &[query])).collect();
    let by_sql: Vec<String> = QUERIES
        .iter()
        .map(|query| fs::read_to_string(harness::project().join(format!("queries/{query}.sql"))).unwrap())
        .collect();
    let sealed = lab.path("sealed");
    fs::create_dir(&sealed).unwrap();
    for (from, to) in
        [(lab.path("narwhal.db"), "narwhal.db"), (env!("CARGO_BIN_EXE_narwhal-jq").into(), "tool")]
    {
        fs::copy(from, sealed.join(to)).unwrap();
    }
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&sealed.join("tool"), 0o555);
    mode(&sealed.join("narwhal.db"), 0o444);
    mode(&sealed, 0o555);
    mode(&lab.path(""), 0o755);

    // Modes do not bind root, so root asks as nobody; any other user asks as itself.
    let is_root = fs::metadata(&sealed).unwrap().uid() == 0;
    let as_reader = |program: &Path| {
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(&sealed).env("NO_COLOR", "1").env_remove("NARWHAL_JQ_DB");
        command
    };
    let can_read = as_reader(Path::new("test")).args(["-r", "narwhal.db", "-a", "!", "-w", "."]).output();
    if can_read.is_ok_and(|output| output.status.success()) {
        for ((query, sql), expected) in QUERIES.iter().zip(&by_sql).zip(&expected) {
            let output = as_reader(&sealed.join("tool"))
                .args(["query", query, "--format", "json"])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), stderr.as_ref()), (Some(0), ""), "{query}");
            let stdout = String::from_utf8(output.stdout).unwrap();
            Answer::from_objects(&stdout).equals(expected, &format!("{query}, the program"));
            let mut command = as_reader(Path::new("sqlite3"));
            command.args(["-batch", "-bail", "narwhal.db"]);
            let stdout = shell(command, &format!(".mode json\n{sql}"));
            Answer::from_objects(&stdout).equals(expected, &format!("{query}, the shell"));
        }
    } else {
        harness::say(&format!("{test}: asked read-only only, no user here is bound by modes"));
    }
    // Read-only by the shell's own wish, whoever asks.
    for (sql, expected) in by_sql.iter().zip(&expected) {
        let mut command = Command::new("sqlite3");
        command.args(["-batch", "-bail", "file:narwhal.db?mode=ro"]).current_dir(&sealed);
        let stdout = shell(command, &format!(".mode json\n{sql}"));
        Answer::from_objects(&stdout).equals(expected, "mode=ro");
    }
    let left = fs::read_dir(&sealed).unwrap().count();
    mode(&sealed, 0o755); // so that the folder can be removed
    assert_eq!(left, 2, "the database and the program");
}
