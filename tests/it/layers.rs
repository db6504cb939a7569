//! The arrows between modules: each takes only from those that the code map (src/lib.rs) puts before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::harness::project;

/// Each module of the crate, and what it may take from. Crates stand beside modules, where it matters who knows
/// them: SQLite and the parser of arguments.
const MAY_TAKE: &[(&str, &[&str])] = &[
    // Know nobody.
    ("failure", &["rusqlite"]),
    ("statistics", &[]),
    ("stdio", &[]),
    ("temporary", &["text"]),
    ("text", &[]),
    ("journal", &[]),
    ("spool", &["temporary", "text"]),
    ("exit", &["failure"]),
    // Data in.
    ("store", &["failure", "journal", "rusqlite", "temporary", "text"]),
    ("sources", &["journal", "rusqlite", "store"]),
    ("ingest", &["failure", "journal", "rusqlite", "sources", "spool", "stdio", "store"]),
    ("redact", &["failure", "journal", "spool", "stdio", "text"]),
    // Answers out.
    ("selection", &["failure", "journal", "rusqlite", "store", "text"]),
    ("query", &["failure", "journal", "redact", "rusqlite", "selection", "statistics", "store", "text"]),
    ("output", &["clap", "failure", "query", "rusqlite", "statistics", "stdio", "text"]),
    ("settings", &["failure", "text"]),
    ("report", &["query", "redact", "rusqlite", "selection", "statistics", "store", "text"]),
    ("lake", &["failure", "output", "query", "redact", "rusqlite", "store", "text"]),
];

/// Those above all of that, which may take from whom they like; but only they know the exit codes, and only
/// `commands` knows `commands`.
const ABOVE: [&str; 4] = ["cli", "commands", "export", "main"];

const CRATES: [&str; 2] = ["clap", "rusqlite"];

/// What a file takes, without its tests and comments.
fn taken(text: &str) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut taken = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // `some_crate::x` and `use crate::{a, b}` are none.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        assert!(!rest.starts_with('{'), "`use crate::{{...}}` is written line by line here");
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        taken.insert(rest[..end].to_owned());
    }
    for name in CRATES {
        let is_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if code.match_indices(&format!("{name}::")).any(|(at, _)| is_word(at)) {
            taken.insert(name.to_owned());
        }
    }
    taken
}

fn each_file(folder: &Path, take: &mut dyn FnMut(&Path)) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            each_file(&path, take);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            take(&path);
        }
    }
}

#[test]
fn modules_take_only_from_those_that_the_code_map_puts_before_them() {
    let may_take: BTreeMap<&str, &[&str]> = MAY_TAKE.iter().copied().collect();
    let source = project().join("src");
    let mut wrong = Vec::new();
    let mut met = BTreeSet::new();
    each_file(&source, &mut |path| {
        let name = path.strip_prefix(&source).unwrap().to_str().unwrap();
        let module = name.split('/').next().unwrap().trim_end_matches(".rs");
        if module == "lib" || ABOVE.contains(&module) {
            return;
        }
        met.insert(module.to_owned());
        let Some(allowed) = may_take.get(module) else {
            wrong.push(format!("src/{name}: the module {module} is not in the map of this test"));
            return;
        };
        for other in taken(&fs::read_to_string(path).unwrap()) {
            if other != module && !allowed.contains(&other.as_str()) {
                wrong.push(format!("src/{name} takes from {other}: {module} may not"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let gone: Vec<_> = may_take.keys().filter(|module| !met.contains(**module)).collect();
    assert!(gone.is_empty(), "in the map of this test and nowhere else: {gone:?}");
}

#[test]
fn statements_stand_in_the_homes_of_sql() {
    let source = project().join("src");
    let homes = ["export.rs", "export/", "store/", "query/", "selection/", "lake/"];
    let mut wrong = Vec::new();
    each_file(&source, &mut |path| {
        let name = path.strip_prefix(&source).unwrap().to_str().unwrap();
        if homes.iter().any(|home| name.starts_with(home)) {
            return;
        }
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines() {
            let code = line.split("//").next().unwrap().to_lowercase();
            // What a message quotes stands between backticks.
            let quoted = code.split('`').step_by(2).collect::<String>();
            let begins = ["\"select ", "\"insert ", "\"update ", "\"delete ", "\"pragma "];
            if begins.iter().any(|begin| quoted.contains(begin)) {
                wrong.push(format!("src/{name}: {}", line.trim()));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_arrow_is_seen_however_it_is_written() {
    let text = "//! crate::output\nuse crate::store::{self, slos};\nfn f() -> rusqlite::Result<()> { crate::query::x() }\n\
                #[cfg(test)]\nmod tests { use crate::commands; }";
    let expected: BTreeSet<String> = ["store", "rusqlite", "query"].map(str::to_owned).into();
    assert_eq!(taken(text), expected);
    assert_eq!(taken("use my_crate::x; use myrusqlite::y;"), BTreeSet::new());
}
