//! What a shell offers for the word it completes: asked as a shell asks, and typed into real ones.

use std::path::Path;
use std::process::Command;

use crate::harness::{Lab, fixture, has_program, project};

/// A lab with the shipped journal and saved targets.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("journal.jsonl", std::fs::read(project().join("samples/journal.jsonl")).unwrap());
    lab.ingest("journal.jsonl");
    lab.run(&["slo", "set", "chat", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab
}

/// How a shell asks: the words typed so far, the last of which is to be completed.
fn asking(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.command(&["--", "narwhal-jq"]);
    command.args(words).env("NARWHAL_JQ_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command
}

/// What is offered for the last word.
#[track_caller]
fn offered(lab: &Lab, words: &[&str]) -> Vec<String> {
    let output = asking(lab, words).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

const RUNS: [&str; 2] = ["1795977784-c51997f7", "1795977782-3db97943"];

#[test]
fn what_is_offered_is_in_the_catalog_or_in_the_database() {
    let lab = lab();
    let attainments = ["attainment", "attainment-misses", "attainment-over-time"];
    assert_eq!(offered(&lab, &["query", "at"]), attainments);
    assert_eq!(offered(&lab, &["query", "attainment", "--run", ""]), ["last", "current", RUNS[0], RUNS[1]]);
    assert_eq!(offered(&lab, &["check", "--run", "1795977782"]), [RUNS[1]]);
    assert_eq!(offered(&lab, &["show", "--run", "l"]), [""; 0]);
    assert_eq!(offered(&lab, &["sql", "--by", "r"]), ["run", "release", "run,1m", "run,5m"]);
    assert_eq!(offered(&lab, &["explain", "--slo", ""]), ["chat"]);
    assert_eq!(offered(&lab, &["slo", "clear", "c"]), ["chat"]);
    assert_eq!(offered(&lab, &["query", "--release", ""]), ["0.7.0"]);
    let engines = lab.rows("select distinct engine from leg_counts where engine <> '' order by 1");
    assert_eq!(offered(&lab, &["query", "requests", "--engine", ""]).len(), engines.len());
    assert!(offered(&lab, &["query", "requests", "--engine", "p"]).contains(&"p0".to_owned()));
    assert_eq!(offered(&lab, &["query", "attainment", "--policy", "r"]), ["router"]);
    assert_eq!(offered(&lab, &["schema", "term"]), ["terminal_counts", "terminals"]);
    assert_eq!(
        offered(&lab, &["export", "att"]),
        [&attainments[..], &["attempt_failures", "attempts"]].concat()
    );
    assert_eq!(offered(&lab, &["query", "attainment", "--format", "j"]), ["json", "jsonl"]);
    assert_eq!(offered(&lab, &["query", "attainment", "--for", "d"]), ["duckdb"]);
    assert_eq!(offered(&lab, &["ingest", "jour"]), ["journal.jsonl"]);
    assert_eq!(offered(&lab, &["completions", ""])[..4], ["bash", "elvish", "fish", "zsh"]);
}

#[test]
fn the_database_is_the_one_that_the_line_or_the_environment_names() {
    let lab = lab();
    let ask = |words: &[&str]| offered(&lab, words).len();
    assert_eq!(ask(&["--db", "narwhal.db", "query", "runs", "--run", "1"]), 2);
    assert_eq!(ask(&["--db", "other.db", "query", "runs", "--run", "1"]), 0);
    assert_eq!(ask(&["query", "runs", "--db=other.db", "--run", "1"]), 0);
    let output =
        asking(&lab, &["query", "runs", "--run", "1"]).env("NARWHAL_JQ_DB", "other.db").output().unwrap();
    assert_eq!(output.stdout, b"");
    assert!(!lab.path("other.db").exists());
}

#[test]
fn own_queries_are_offered_and_a_forgotten_run_only_to_take_it_back() {
    let lab = lab();
    std::fs::create_dir(lab.path("mine")).unwrap();
    let sql = "-- atlas: what I ask\n-- Columns\n--   n | count | n\nselect 1 as n\n";
    std::fs::write(lab.path("mine/atlas.sql"), sql).unwrap();
    assert!(offered(&lab, &["query", "--queries", "mine", "at"]).contains(&"atlas".to_owned()));
    lab.run(&["forget", "--run", RUNS[1]]).exits(0);
    assert_eq!(offered(&lab, &["forget", "--undo", ""]), [RUNS[1]]);
    assert_eq!(offered(&lab, &["forget", "--run", ""]), [RUNS[0]]);
}

#[test]
fn an_engine_that_a_shell_would_run_is_not_offered() {
    let lab = Lab::new();
    let row = |engine: &str, rid: &str| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"1795977782-3db97943\", \"rid\": \
             \"{rid}\", \"arrived\": 1.0, \"terminal\": \"completed\", \"attempts\": 1, \"prefill_attempts\": 1, \
             \"decode_attempts\": 1, \"prefill_iid\": {engine}, \"decode_iid\": \"d0\"}}\n"
        )
    };
    let engines = ["\"p0\"", "\"p1;reboot\"", "\"$(reboot)\"", "\"p\\nreboot\"", "\"-p\""];
    let journal: String =
        engines.iter().enumerate().map(|(at, engine)| row(engine, &format!("r{at}"))).collect();
    lab.write("journal.jsonl", journal);
    lab.ingest("journal.jsonl");
    assert_eq!(lab.number("select count(distinct engine) from leg_counts where engine <> ''"), 6);
    assert_eq!(offered(&lab, &["query", "requests", "--engine", ""]), ["d0", "p0"]);
}

#[test]
fn whatever_is_at_the_place_of_the_database_a_shell_gets_no_error_and_does_not_wait() {
    let lab = Lab::new();
    assert_eq!(offered(&lab, &["query", "runs", "--run", ""]), ["last", "current"]);
    assert!(!lab.path("narwhal.db").exists());
    for bytes in [&b""[..], b"no database", &fixture("databases/schema-1.db")] {
        lab.write("narwhal.db", bytes);
        assert_eq!(offered(&lab, &["query", "runs", "--run", ""]), ["last", "current"]);
    }
}

/// Types into a shell; `setup` makes it complete the program.
#[track_caller]
fn type_into(lab: &Lab, shell: &[&str], setup: &str, typed: &str, words: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_narwhal-jq")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("python3")
        .arg(project().join("tests/it/completing/typing.py"))
        .args([setup, typed, words])
        .args(shell)
        .current_dir(lab.path(""))
        .env("PATH", path)
        .env("HOME", lab.path(""))
        .env("TERM", "xterm")
        .env_remove("NARWHAL_JQ_DB")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shell:?} {typed:?} lacks one of {words:?}:\n{shown}\n{said}");
}

/// What is typed, and what the shell must show then.
const TYPED: [(&str, &str); 4] = [
    // Once to complete what all begin with, then for the list, which fish shortens.
    ("narwhal-jq query at\t\t\t", "ttainment-misses ttainment-over-time"),
    ("narwhal-jq query attainment --run \t\t", "last current 1795977784-c51997f7 1795977782-3db97943"),
    ("narwhal-jq query attainment --by \t\t", "all release source folder run,1m"),
    (
        "narwhal-jq query refu\t--run 1795977784\t--format js\tl",
        "refusals --run 1795977784-c51997f7 --format jsonl",
    ),
];

#[test]
fn bash_completes() {
    if !has_program("bash_completes", "bash") || !has_program("bash_completes", "python3") {
        return;
    }
    let lab = lab();
    for (typed, words) in TYPED {
        let shell = ["bash", "--norc", "--noprofile", "-i"];
        type_into(&lab, &shell, "source <(narwhal-jq completions bash)", typed, words);
    }
}

#[test]
fn zsh_completes_from_a_line_of_its_settings_and_from_a_folder_of_functions() {
    if !has_program("zsh_completes", "zsh") || !has_program("zsh_completes", "python3") {
        return;
    }
    let lab = lab();
    std::fs::create_dir(lab.path("functions")).unwrap();
    let script = lab.run(&["completions", "zsh"]).exits(0).stdout;
    std::fs::write(lab.path("functions/_narwhal-jq"), script).unwrap();
    for setup in [
        "autoload -U compinit; compinit -D; source <(narwhal-jq completions zsh)",
        "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -D",
    ] {
        for (typed, words) in TYPED {
            type_into(&lab, &["zsh", "-f", "-i"], setup, typed, words);
        }
    }
}

#[test]
fn fish_completes() {
    if !has_program("fish_completes", "fish") || !has_program("fish_completes", "python3") {
        return;
    }
    let lab = lab();
    for (typed, words) in TYPED {
        let shell = ["fish", "--no-config", "-i"];
        type_into(&lab, &shell, "narwhal-jq completions fish | source", typed, words);
    }
}
