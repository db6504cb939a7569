//! The settings file: what it decides, what comes before it, and what it never touches.

use std::path::Path;

use crate::harness::{Lab, Run, project};

const RUN: &str = "1795977784-c51997f7";

/// A lab with the shipped journal, read, and this settings file at the usual place.
fn lab(settings: &str) -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("narwhal-jq")).unwrap();
    std::fs::write(lab.path("narwhal-jq/config.toml"), settings).unwrap();
    lab.write("j.jsonl", std::fs::read(project().join("samples/journal.jsonl")).unwrap());
    lab
}

/// A lab whose settings choose one of the two runs.
fn choosing() -> Lab {
    let lab = lab(&format!("[selection]\nrun = '{RUN}'\n"));
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    lab
}

const NOTE: &str = "asked of --run 1795977784-c51997f7, the selection in ";

/// The scopes of an answer.
fn scopes(answer: &Run) -> Vec<String> {
    let rows = answer.json();
    rows.as_array().unwrap().iter().map(|row| row["scope"].as_str().unwrap().to_owned()).collect()
}

/// What `config` says of a setting: its value, and from where.
#[track_caller]
fn in_force(lab: &Lab, setting: &str, arguments: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let mut command = lab.command(&["config", "--format", "json"]);
    command.args(arguments).envs(environment.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["setting"] == setting).unwrap().clone();
    (row["value"].as_str().unwrap().to_owned(), row["from"].as_str().unwrap().to_owned())
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let lab = lab("database = 'file.db'\nqueries = 'mine'\ncolor = 'always'\n");
    std::fs::create_dir(lab.path("narwhal-jq/mine")).unwrap();
    let said = |value: &str, from: &str| (value.to_owned(), from.to_owned());
    let file = lab.path("narwhal-jq/file.db").display().to_string();
    let environment = [("NARWHAL_JQ_DB", "environment.db")];
    assert_eq!(in_force(&lab, "database", &["--db", "flag.db"], &environment), said("flag.db", "flag"));
    assert_eq!(in_force(&lab, "database", &[], &environment), said("environment.db", "environment"));
    assert_eq!(in_force(&lab, "database", &[], &[("NARWHAL_JQ_DB", "")]), said(&file, "file"));
    assert_eq!(in_force(&lab, "database", &["--no-config"], &[]), said("narwhal.db", "default"));
    // The lab sets NO_COLOR.
    assert_eq!(in_force(&lab, "color", &[], &[]), said("auto", "environment"));
    assert_eq!(in_force(&lab, "color", &[], &[("NO_COLOR", "")]), said("always", "file"));
    assert_eq!(in_force(&lab, "color", &["--color", "never"], &[("NO_COLOR", "")]), said("never", "flag"));
    let mine = lab.path("narwhal-jq/mine").display().to_string();
    assert_eq!(in_force(&lab, "queries", &[], &[]), said(&mine, "file"));
    assert_eq!(in_force(&lab, "queries", &[], &[("NARWHAL_JQ_QUERIES", "q")]), said("q", "environment"));
    assert_eq!(in_force(&lab, "queries", &["--no-config"], &[]), said("none", "default"));
}

#[test]
fn the_file_is_the_one_that_is_named_before_the_usual_one() {
    let lab = lab("database = 'usual.db'\n");
    std::fs::write(lab.path("flag.toml"), "database = 'f.db'\n").unwrap();
    std::fs::write(lab.path("environment.toml"), "database = 'e.db'\n").unwrap();
    let environment = [("NARWHAL_JQ_CONFIG", "environment.toml")];
    let database = |arguments: &[&str], environment: &[(&str, &str)]| {
        let value = in_force(&lab, "database", arguments, environment).0;
        Path::new(&value).file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(database(&["--config", "flag.toml"], &environment), "f.db");
    assert_eq!(database(&[], &environment), "e.db");
    assert_eq!(database(&[], &[("NARWHAL_JQ_CONFIG", "")]), "usual.db");
    assert_eq!(database(&["--no-config"], &environment), "narwhal.db");
    assert_eq!(
        in_force(&lab, "settings", &[], &environment),
        ("environment.toml".to_owned(), "environment".to_owned())
    );
    // Who has no such folder, or no home, has no file.
    assert_eq!(database(&[], &[("XDG_CONFIG_HOME", "/nowhere")]), "narwhal.db");
}

#[test]
fn the_database_and_the_queries_of_the_file_are_used() {
    let lab = lab("database = '../other.db'\nqueries = '../mine'\n");
    std::fs::create_dir(lab.path("mine")).unwrap();
    let sql = "-- atlas: what I ask\n-- Columns\n--   n | count | n\nselect 1 as n\n";
    std::fs::write(lab.path("mine/atlas.sql"), sql).unwrap();
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert!(lab.path("other.db").exists() && !lab.path("narwhal.db").exists());
    assert_eq!(lab.run(&["query", "atlas", "--format", "csv"]).exits(0).stdout, "n\n1\n");
    lab.run(&["query", "atlas", "--no-config"]).exits(2);
}

#[test]
fn the_selection_of_the_file_is_that_of_who_chooses_nothing_and_is_named() {
    let lab = choosing();
    let ask = |arguments: &[&str]| lab.run(&[arguments, &["--format", "json"]].concat()).exits(0);
    let answer = ask(&["query", "outcomes"]).says(NOTE).says("--no-config");
    assert!(scopes(&answer).iter().all(|scope| scope == RUN));
    // Grouping is not choosing.
    let all = ask(&["query", "rates", "--by", "all"]).says(NOTE);
    assert_eq!(all.json()[0]["offered"], 99);
    for arguments in [&["--run", "1795977782"][..], &["--since", "2026-11-29T00:00Z"], &["--last", "1h"]] {
        let answer = ask(&[&["query", "outcomes"], arguments].concat());
        assert!(!answer.stderr.contains("the selection in"), "{}", answer.stderr);
        assert!(scopes(&answer).iter().any(|scope| scope != RUN));
    }
    let lifted = ask(&["query", "outcomes", "--no-config"]);
    assert!(lifted.stderr.is_empty() && scopes(&lifted).iter().any(|scope| scope != RUN));
    // Whoever asks for JSON or a file has the note on stderr, and whoever asks another way has it, too.
    lab.run(&["check", "--min-rate", "0.001", "--format", "json"]).exits(0).says(NOTE);
    lab.run(&["slo", "solve", "--tpot", "0.1", "--wanted", "0.5"]).exits(0).says(NOTE);
    let sql = "select count(scope) as n from selection";
    lab.run(&["sql", sql]).exits(0).says(NOTE);
    lab.run(&["export", "outcomes", "--dir", "out"]).exits(0).says(NOTE);
    // A statement that reads no selection is asked of the whole database, as ever.
    assert!(!lab.run(&["sql", "select count(*) as n from runs"]).exits(0).stderr.contains("selection"));
}

#[test]
fn a_selection_that_leaves_nothing_is_named_beside_the_empty_answer() {
    let lab = lab("[selection]\nsince = '1h'\n");
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    lab.run(&["query", "outcomes"]).exits(0).says("no rows").says("asked of --since 1h, the selection in ");
}

#[test]
fn the_journal_and_what_is_forgotten_are_never_cut_by_the_file() {
    let lab = choosing();
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let written = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
    assert_eq!(written.lines().count(), 330);
    let lake = lab.run(&["export", "lake", "--dir", "lake"]).exits(0);
    assert!(!lake.stderr.contains("selection"), "{}", lake.stderr);
    let manifest = std::fs::read_to_string(lab.path("lake/manifest.json")).unwrap();
    assert!(manifest.contains("1795977782-3db97943") && manifest.contains(RUN), "{manifest}");
    lab.run(&["forget", "--before", "2026-12-01"]).exits(0);
    assert_eq!(lab.number("select count(*) from runs"), 0);
}

#[test]
fn journals_are_read_by_name_and_all_of_them_without_one() {
    let lab = lab("[journals]\none = '../j.jsonl'\ntwo = ['../k.jsonl', '../l.jsonl']\n");
    lab.write("k.jsonl", crate::harness::terminal("1795977785-00000000", "k", 1.0) + "\n");
    lab.write("l.jsonl", crate::harness::terminal("1795977786-00000000", "l", 1.0) + "\n");
    let files = |run: &Run| run.json()["files"].as_array().unwrap().len();
    assert_eq!(files(&lab.run(&["ingest", "two", "--format", "json"]).exits(0)), 2);
    assert_eq!(lab.number("select count(*) from runs"), 2);
    assert_eq!(
        lab.run(&["query", "rates", "--ingest", "one", "--format", "json"]).exits(0).json()[0]["offered"],
        128
    );
    assert_eq!(files(&lab.run(&["ingest", "--format", "json"]).exits(0)), 3);
    // A file of that name could be meant as well.
    lab.write("one", "");
    lab.run(&["ingest", "one"]).exits(2).says("write ./one for the file");
    lab.run(&["ingest", "./one"]).exits(0);
    lab.run(&["ingest", "three"]).exits(1).says("three");
}

#[test]
fn without_settings_ingest_reads_what_a_router_writes_here() {
    let lab = Lab::new();
    lab.run(&["ingest"]).exits(2).says("which journals?").says("narwhal-jq ingest PATH");
    assert!(!lab.path("narwhal.db").exists());
    lab.write("journal.jsonl", std::fs::read(project().join("samples/journal.jsonl")).unwrap());
    let summary = lab.run(&["ingest", "--format", "json"]).exits(0).json();
    assert_eq!(summary["files"][0]["path"], "journal.jsonl");
    assert_eq!(summary["total"]["terminals"], 227);
}

#[test]
fn what_is_wrong_with_the_file_is_said_before_anything_is_done() {
    for (settings, message) in [
        ("databse = 'x'\n", "line 1: unknown field `databse`"),
        ("color = 'red'\n", "color is auto, always or never, and not \"red\""),
        ("[selection]\nfrom = 'x'\n", "selection: invalid value 'x' for '--from"),
        ("[selection]\nsince = 'tomorow'\n", "selection: --since"),
        ("database = \n", "line 1: "),
    ] {
        let lab = lab(settings);
        lab.run(&["ingest", "j.jsonl"])
            .exits(2)
            .says("cannot use the settings in ")
            .says(message)
            .says("--no-config");
        assert!(!lab.path("narwhal.db").exists(), "{settings}");
        lab.run(&["--help"]).exits(0);
        lab.run(&["ingest", "j.jsonl", "--no-config"]).exits(0);
    }
    let lab = Lab::new();
    lab.run(&["status", "--config", "none.toml"]).exits(2).says("cannot use the settings in none.toml");
}
