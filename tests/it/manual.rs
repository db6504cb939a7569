//! Help, manual pages and the documents say the same: the pages are made from the command line, and what the documents
//! name is held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::harness::{Lab, has_program, project};

/// The flags of a help text: words that begin a line, or follow a short flag there.
fn flags_of_help(help: &str) -> BTreeSet<String> {
    let flag = |line: &str| {
        let line = line.trim_start();
        let line = if line.starts_with("--") {
            line
        } else {
            line.split_once(", ").filter(|(short, _)| short.len() == 2)?.1
        };
        let end =
            line.find(|character: char| !character.is_ascii_alphanumeric() && !"-_".contains(character));
        let flag = &line[..end.unwrap_or(line.len())];
        flag.strip_prefix("--").filter(|name| !name.is_empty()).map(str::to_owned)
    };
    help.lines().filter(|line| line.starts_with(' ')).filter_map(flag).collect()
}

/// The subcommands of a help text, as its list has them.
fn commands_of_help(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n").or_else(|| help.split_once("\nQueries:\n")) else {
        return Vec::new();
    };
    let list = list.split("\n\n").next().unwrap_or_default();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The long help of the program and of everything below, by the words that call it.
fn helps(lab: &Lab) -> BTreeMap<String, String> {
    let mut helps = BTreeMap::new();
    let mut todo = vec![Vec::<String>::new()];
    while let Some(words) = todo.pop() {
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = lab.run(&arguments).exits(0).stdout;
        for name in commands_of_help(&lab.run(&[&arguments[..words.len()], &["-h"]].concat()).exits(0).stdout)
        {
            todo.push([words.clone(), vec![name]].concat());
        }
        helps.insert(words.join(" "), help);
    }
    helps
}

/// The pages, by file name.
fn pages(lab: &Lab) -> BTreeMap<String, String> {
    lab.run(&["man", "--dir", "pages/man1"]).exits(0);
    let files = std::fs::read_dir(lab.path("pages/man1")).unwrap().map(|file| file.unwrap());
    files
        .map(|file| (file.file_name().into_string().unwrap(), std::fs::read_to_string(file.path()).unwrap()))
        .collect()
}

/// The flags that a page explains.
fn flags_of_page(page: &str) -> BTreeSet<String> {
    let page = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
    let mut lines = page.lines();
    let mut flags = BTreeSet::new();
    while let Some(line) = lines.next() {
        if line == ".TP" {
            let header = lines.next().unwrap_or_default();
            flags.extend(flags_of_help(&format!("  {header}")));
        }
    }
    flags
}

#[test]
fn there_is_a_page_for_everything_that_has_a_help_with_the_same_flags() {
    let lab = Lab::new();
    let (helps, pages) = (helps(&lab), pages(&lab));
    let expected: Vec<String> =
        helps.keys().map(|words| format!("narwhal-jq {words}").trim_end().replace(' ', "-") + ".1").collect();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(pages.keys().cloned().collect::<Vec<_>>(), sorted);
    assert!(expected.len() > 45, "{expected:?}");
    for (words, help) in &helps {
        let page = &pages[&(format!("narwhal-jq {words}").trim_end().replace(' ', "-") + ".1")];
        let mut in_help = flags_of_help(help);
        // A page does not say how it is shown, nor has a part of the program a version of its own.
        for flag in ["help", "version"] {
            in_help.remove(flag);
        }
        let mut on_page = flags_of_page(page);
        for flag in ["help", "version"] {
            on_page.remove(flag);
        }
        assert_eq!(on_page, in_help, "narwhal-jq {words}");
        // The ways to call it are the same words.
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
        let page = page.replace("\\-", "-");
        assert!(page.contains(usage), "narwhal-jq {words}: {usage}\n{page:.600}");
        for default in help.split("[default: ").skip(1).filter_map(|rest| rest.split(']').next()) {
            // Help puts a default of several words in quotes.
            let default = default.split_whitespace().collect::<Vec<_>>().join(" ");
            let default = default.trim_matches('"');
            assert!(page.contains(&format!("[default: {default}]")), "narwhal-jq {words}: {default}");
        }
    }
}

#[test]
fn man_renders_every_page_without_a_warning() {
    if !has_program("man_renders_every_page", "man") {
        return;
    }
    let lab = Lab::new();
    for name in pages(&lab).keys() {
        for width in ["80", "132"] {
            let output = Command::new("man")
                .args(["--warnings=w", "-E", "UTF-8", "-l"])
                .arg(lab.path("pages/man1").join(name))
                .env("MANWIDTH", width)
                .env("LC_ALL", "C.UTF-8")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let shown = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.is_empty(), "{name} at {width}: {said}");
            assert!(shown.contains("SYNOPSIS") && shown.contains("--busy-timeout"), "{name}: {shown}");
        }
    }
}

/// Code in a document: what stands between backticks, and lines of code.
fn code(markdown: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut is_block = false;
    let mut prose = String::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if is_block || line.starts_with("    ") {
            code.push(line.to_owned());
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    code.extend(prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
    code
}

/// The flags that a piece of code names.
fn flags_in(code: &str) -> Vec<String> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    code.split(|character: char| character.is_whitespace() || "[](),|\"'=;:{}".contains(character))
        .filter_map(|word| word.strip_prefix("--"))
        .filter(|name| {
            name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(is_name)
        })
        .map(str::to_owned)
        .collect()
}

/// The command that a piece of code calls: as many of its words as there is a help for.
fn called<'h>(code: &str, helps: &'h BTreeMap<String, String>) -> Option<&'h str> {
    let (_, rest) = code.split_once("narwhal-jq ").or_else(|| code.split_once("cargo run --release -- "))?;
    let words: Vec<&str> = rest.split_whitespace().filter(|word| !word.starts_with('-')).collect();
    let found =
        (0..=words.len().min(2)).rev().find_map(|count| helps.get_key_value(&words[..count].join(" ")));
    found.map(|(words, _)| words.as_str())
}

#[test]
fn every_flag_that_a_document_names_is_in_the_help() {
    let lab = Lab::new();
    let helps = helps(&lab);
    let all: BTreeSet<String> = helps.values().flat_map(|help| flags_of_help(help)).collect();
    assert!(all.contains("max-p99-ttft") && all.contains("ttft") && !all.contains("tll"), "{all:?}");
    let mut named = 0;
    for document in
        ["README.md", "docs/semantics.md", "docs/other-tools.md", "docs/statistics.md", "samples/README.md"]
    {
        let text = std::fs::read_to_string(project().join(document)).unwrap();
        for code in code(&text) {
            let call = called(&code, &helps);
            if call.is_none() && !code.starts_with("--") {
                continue;
            }
            // Behind a pipe or a semicolon somebody else is called.
            let ours = code.split_once("narwhal-jq ").map_or(code.as_str(), |(_, ours)| ours);
            let ours = ours.split(['|', ';', '&', '#']).next().unwrap_or_default();
            for flag in flags_in(ours) {
                named += 1;
                let is_there = match call {
                    Some("query" | "export" | "") | None => all.contains(&flag),
                    Some(words) => flags_of_help(&helps[words]).contains(&flag),
                };
                assert!(is_there, "{document}: no --{flag} in the help of {call:?}: {code}");
            }
        }
    }
    assert!(named > 100, "only {named} flags were found in the documents");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let lab = Lab::new();
    std::fs::write(lab.path("pages"), "").unwrap();
    lab.run(&["man", "--dir", "pages"]).exits(1).says("pages");
    assert!(Path::new(&lab.path("pages")).is_file());
}
