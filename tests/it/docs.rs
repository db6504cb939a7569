//! The README's examples are run, and say what they say.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use narwhal_jq::query::catalog::shipped;
use serde_json::Value;

use crate::explaining::one_bad_engine;
use crate::harness::{Lab, project, say, skip};
use crate::journals::journal;

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

/// A line without what differs from machine to machine and from call to call: how fast something was, the size of
/// files, and where the folder is that a page calls `/home/me`.
fn steady(line: &str, folder: &str) -> String {
    let line = line.replace(folder, "/home/me");
    let words: Vec<&str> = line.trim_end().split(' ').collect();
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let steady = words.iter().enumerate().map(|(at, word)| match words.get(at + 1) {
        Some(unit) if is_number(word) && ["s,", "lines/s,", "MB/s", "bytes", "bytes,"].contains(unit) => "1",
        Some(&"of") if is_number(word) && words.get(at + 3) == Some(&"bytes") => "1",
        _ => *word,
    });
    steady.collect::<Vec<_>>().join(" ")
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

/// The example that `tests/renew` writes anew: a list of names, without a number that could be wrong.
const LIST: &str = "narwhal-jq query";

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
        let folder = lab.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let steady = |lines: &str| lines.lines().map(|line| steady(line, &folder)).collect::<Vec<_>>();
        let same = steady(lines) == steady(said);
        if !same && command == LIST && std::env::var_os("NARWHAL_JQ_RENEW").is_some() {
            let example = |output: &str| format!("\n$ {command}\n{output}");
            let renewed = text.replace(&example(&output), &example(&printed));
            std::fs::write(project().join(markdown), renewed).unwrap();
            continue;
        }
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

#[test]
fn every_canned_query_is_defined_with_its_columns() {
    let page = std::fs::read_to_string(project().join("docs/semantics.md")).unwrap();
    let (_, section) = page.split_once("\n## Canned queries\n").expect("the page defines the canned queries");
    // Of `| name | rows | columns |`, without what stands in parentheses beside a column.
    let mut defined: BTreeMap<&str, Vec<&str>> = section
        .lines()
        .filter_map(|line| {
            let (name, cells) = line.strip_prefix("| `")?.split_once("` | ")?;
            let columns = cells.strip_suffix(" |")?.split(" | ").nth(1)?;
            Some((name, columns.split(['(', ')']).step_by(2).flat_map(|part| part.split(',')).collect()))
        })
        .collect();
    for query in shipped().unwrap() {
        let columns = defined.remove(query.name.as_str());
        let columns = columns.unwrap_or_else(|| panic!("docs/semantics.md does not define `{}`", query.name));
        let columns: Vec<&str> =
            columns.into_iter().map(str::trim).filter(|column| !column.is_empty()).collect();
        let declared: Vec<&str> = query.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(columns, declared, "docs/semantics.md has other columns of `{}`", query.name);
    }
    assert!(defined.is_empty(), "docs/semantics.md defines what there is not: {:?}", defined.keys());
}

/// The keys of an answer as data, however deep they lie. Those below `kinds` are names of the journal.
fn keys(data: &Value, found: &mut Vec<String>) {
    match data {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.push(key.clone());
                if key != "kinds" {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_a_verdict_is_documented() {
    let page = std::fs::read_to_string(project().join("docs/statistics.md")).unwrap();
    let as_data = page.split("\n## As data\n").nth(1).unwrap().split("\n## ").next().unwrap();
    // Each command is told of on its own: a key of one is not that of another.
    let told = |command: &str| {
        let begins = format!("\n**`{command}`**");
        as_data
            .split(&begins)
            .nth(1)
            .unwrap_or_else(|| panic!("{command} is not there"))
            .split("\n**`")
            .next()
            .unwrap()
    };
    let lab = Lab::new();
    lab.write("j.jsonl", journal(&one_bad_engine()));
    lab.ingest("j.jsonl");
    let before = "2026-11-29T18:00:00Z..2026-11-29T19:49:42Z";
    let after = "2026-11-29T19:49:42Z..2026-11-29T22:00:00Z";
    let targets = ["--ttft", "1", "--tpot", "0.1"];
    let limits = [
        &[
            "check",
            "--min-attainment",
            "0.99",
            "--max-p99-ttft",
            "9",
            "--max-engine-failure-rate",
            "0.5",
            "--min-rate",
            "0.001",
        ][..],
        &["--burn", "2", "--windows", "100000d"],
    ]
    .concat();
    let asked: [(&str, &[&str], &[&str], usize); 6] = [
        ("compare", &["compare", before, after], &targets, 20),
        ("check", &limits, &targets, 15),
        ("explain", &["explain", "--from", "4000"], &targets, 50),
        ("slo solve", &["slo", "solve", "--tpot", "0.1"], &[], 10),
        ("slo solve", &["slo", "solve", "--ttft", "1"], &[], 10),
        ("slo try", &["slo", "try"], &targets, 10),
    ];
    for (command, words, targets, least) in asked {
        let run = lab.run(&[words, targets, &["--format", "json"]].concat());
        let mut found = Vec::new();
        keys(
            &serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{command}: {}", run.stderr)),
            &mut found,
        );
        found.sort();
        found.dedup();
        assert!(found.len() >= least, "{command}: {found:?}");
        let missing: Vec<_> =
            found.iter().filter(|key| !told(command).contains(&format!("`{key}`"))).collect();
        assert!(missing.is_empty(), "{command}: docs/statistics.md does not tell of {missing:?}");
    }
}

/// The paragraph in which a word first stands, outside of links and options.
fn first_said<'p>(page: &'p str, word: &str) -> &'p str {
    let is_said =
        |paragraph: &&str| paragraph.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
    page.split("\n\n").find(is_said).unwrap_or_else(|| panic!("{word} is not there"))
}

#[test]
fn issue_13_28_a_reader_is_told_words_where_they_first_stand_and_shown_what_is_printed() {
    for page in ["README.md", "docs/other-tools.md", "docs/asking-a-lake.md", "docs/beyond-one-machine.md"] {
        let text = std::fs::read_to_string(project().join(page)).unwrap();
        assert!(!text.contains("[..]"), "{page} shows what a test passes over");
        for registry in ["pypi.org", "crates.io", "npmjs"] {
            assert!(!text.contains(registry), "{page} links to {registry}");
        }
    }
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    assert!(readme.contains("`narwhal-inference`"), "a package by its name");
    let main = readme.find("cargo run --release").unwrap();
    let build = &readme[main..main + 400];
    assert!(build.contains("takes some minutes the first time"), "{build}");
    // What people type and what they see comes first, the word's meaning right below it.
    let told = |word: &str, meaning: &str| {
        let at = readme.find(first_said(&readme, word)).unwrap();
        let near: String =
            readme[at..].split("\n\n").take(4).collect::<Vec<_>>().join(" ").replace('\n', " ");
        assert!(near.contains(meaning), "{word}: {near}");
    };
    told("terminals", "A *terminal* is the row that a request ends with");
    told("legs", "of two *legs*, one on a prefill engine and one on a decode engine");
    told("zero", "the *run's zero*, from which its seconds are counted");
    told("policy", "The *policy* is who is scored");
    // Recipes that can be taken as they stand.
    assert!(readme.contains("\n    */5 * * * *  cd /var/lib/narwhal-jq && narwhal-jq -q check"));
    assert!(readme.contains("\n    [Service]\n    ExecStart=narwhal-jq ingest --follow "));
}

#[test]
fn issue_13_28_the_help_of_a_query_begins_with_what_its_columns_mean() {
    let lab = Lab::new();
    let mut count = 0;
    for entry in std::fs::read_dir(project().join("queries")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sql") {
            continue;
        }
        let sql = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let header = sql.lines().skip_while(|line| *line != "-- Columns").skip(1);
        let columns: Vec<&str> = header
            .take_while(|line| line.starts_with("--   "))
            .filter_map(|line| line.trim_start_matches("--").split('|').next().map(str::trim))
            .collect();
        let help = lab.run(&["query", &name, "--help"]).exits(0).stdout;
        let (begin, _) = help.split_once("\nUsage: ").expect("it says how it is used");
        let mut lines = begin.lines();
        let purpose = sql.lines().next().unwrap().split_once(": ").unwrap().1;
        assert_eq!((lines.next(), lines.next(), lines.next()), (Some(purpose), Some(""), Some("Columns:")));
        let told: Vec<&str> = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
            .collect();
        for column in &columns {
            assert!(told.contains(column), "{name}: {column} is not in\n{begin}");
        }
        count += columns.len();
    }
    assert!(count > 100, "{count} columns were looked for");
}
