//! The README's examples are run, and say what they say.

use std::process::{Command, Stdio};

use crate::harness::{Lab, project, say, skip};

/// A command of a `console` block with the lines that it is said to print.
struct Example {
    command: String,
    output: String,
}

fn examples(markdown: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut in_console = false;
    for line in markdown.lines() {
        match line {
            "```console" => in_console = true,
            "```" => in_console = false,
            _ if !in_console => {}
            _ => match line.strip_prefix("$ ") {
                Some(command) => {
                    examples.push(Example { command: command.to_owned(), output: String::new() })
                }
                None => {
                    let example = examples.last_mut().expect("a block begins with a command");
                    example.output.push_str(line);
                    example.output.push('\n');
                }
            },
        }
    }
    examples
}

/// Whether a line is as said; `[..]` stands for anything.
fn is_as_said(line: &str, said: &str) -> bool {
    let mut parts = said.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        let found = if at + 1 == parts.len() { rest.len().checked_sub(part.len()) } else { rest.find(part) };
        match found.filter(|found| rest.get(*found..).is_some_and(|tail| tail.starts_with(part))) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// A program or a module of Python's that an example needs and a fresh machine may lack.
fn need(command: &str) -> Option<&'static [&'static str]> {
    if command.starts_with("sqlite3 ") {
        return Some(&["sqlite3", "--version"]);
    }
    if command.starts_with("datasette ") {
        return Some(&["datasette", "--version"]);
    }
    let modules: [(&str, &[&str]); 3] = [
        ("import pandas", &["python3", "-c", "import pandas"]),
        ("import duckdb", &["python3", "-c", "import duckdb"]),
        ("import openpyxl", &["python3", "-c", "import openpyxl"]),
    ];
    modules.into_iter().find(|(import, _)| command.contains(import)).map(|(_, need)| need)
}

fn is_met(need: &[&str]) -> bool {
    let output = Command::new(need[0]).args(&need[1..]).output();
    let is_met = output.is_ok_and(|output| output.status.success());
    let examples = format!("examples with `{}`", need.join(" "));
    if is_met {
        say(&format!("{examples}: ran"))
    } else {
        skip(&examples, "it cannot be run")
    }
    is_met
}

#[track_caller]
fn run_examples(markdown: &str) -> usize {
    let text = std::fs::read_to_string(project().join(markdown)).unwrap();
    let examples = examples(&text);
    let count = examples.len();
    let lab = Lab::new();
    std::os::unix::fs::symlink(project().join("queries"), lab.path("queries")).unwrap();
    std::fs::create_dir(lab.path("samples")).unwrap();
    // With the time of what it holds: just cloned, it would look as if a router still wrote it.
    let sample = std::fs::read(project().join("samples/journal.jsonl")).unwrap();
    lab.write("samples/journal.jsonl", sample);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_narwhal-jq"));
    let path = std::env::var("PATH").unwrap();
    for Example { command, output } in examples {
        if need(&command).is_some_and(|need| !is_met(need)) {
            continue;
        }
        let run = Command::new("sh")
            .args(["-c", &format!("{{ {command}; }} 2>&1")])
            .current_dir(lab.path(""))
            .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
            .env_remove("NARWHAL_JQ_DB")
            .env("XDG_CONFIG_HOME", lab.path("config"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8(run.stdout).unwrap();
        // Some programs end with an empty line, which a page is better without.
        let (lines, said) = (printed.trim_end(), output.trim_end());
        let same = lines.lines().count() == said.lines().count()
            && lines
                .lines()
                .zip(said.lines())
                .all(|(line, said)| is_as_said(line.trim_end(), said.trim_end()));
        assert!(same, "{markdown}: $ {command}\n--- printed\n{printed}--- it says\n{output}");
    }
    count
}

#[test]
fn every_example_of_the_readme_prints_what_it_says() {
    assert!(run_examples("README.md") > 8);
}

#[test]
fn every_example_of_the_other_tools_prints_what_it_says() {
    assert!(run_examples("docs/other-tools.md") > 6);
}

#[test]
fn every_example_of_asking_a_lake_prints_what_it_says() {
    assert!(run_examples("docs/asking-a-lake.md") > 2);
}

#[test]
fn the_two_commands_of_the_readme_are_there_and_ci_calls_the_second() {
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    let main = "cargo run --release -- query attainment --ingest samples/journal.jsonl --ttft 2 --tpot 0.1";
    assert!(readme.contains(&format!("\n    {main}\n")));
    assert!(readme.contains("\n    cargo test\n"));
    let ci = std::fs::read_to_string(project().join(".ci/run")).unwrap();
    assert!(ci.lines().any(|line| line.starts_with("cargo test")));
}

#[test]
fn every_command_is_in_the_readme() {
    let help = Lab::new().run(&["--help"]).exits(0).stdout;
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    let commands = help.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"ingest"), "{help}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(readme.contains(&format!("narwhal-jq {name}")), "{name} is not in the README");
    }
}
