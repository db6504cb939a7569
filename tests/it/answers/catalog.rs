//! The query files as files: what other engines read, and what is beside them.

use std::collections::BTreeSet;
use std::fs;

use narwhal_jq::query::faster::FASTER;
use narwhal_jq::query::functions;
use narwhal_jq::query::header::check;
use narwhal_jq::query::run::signature;
use narwhal_jq::query::written::statement_of;
use narwhal_jq::selection;
use rusqlite::Connection;

use super::catalog;
use crate::harness::{Lab, fixture, project};

fn database(lab: &Lab) -> Connection {
    lab.write("j.jsonl", fixture("0.2.1-takeover.jsonl"));
    lab.ingest("j.jsonl");
    Connection::open(lab.path("narwhal.db")).unwrap()
}

#[test]
fn every_header_agrees_with_its_statement_which_reads_the_selection() {
    let lab = Lab::new();
    // Without the program's functions: a definition has none of them.
    let mut connection = database(&lab);
    for query in catalog() {
        let signature =
            check(&query, &mut connection).unwrap_or_else(|error| panic!("{}: {error:#}", query.name));
        assert!(signature.reads_selection, "{}", query.name);
        assert!(["scope", "run"].contains(&signature.columns[0].as_str()), "{}", query.name);
        assert!(!query.group.is_empty() && !query.reading.is_empty(), "{}: group and reading", query.name);
    }
}

#[test]
fn every_faster_statement_is_taken_for_a_query_and_has_its_columns() {
    let folder = project().join("queries/fast");
    let files: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    let taken: BTreeSet<String> = FASTER.iter().map(|faster| faster.sql.to_owned()).collect();
    assert!(files == taken, "FASTER has the files of {}", folder.display());
    let lab = Lab::new();
    let mut connection = database(&lab);
    functions::add(&connection).unwrap();
    // The program runs them over a temporary table. Over the view SQLite finds one of them too deep.
    selection::install(&mut connection, &[]).unwrap();
    for faster in FASTER {
        let query = catalog().into_iter().find(|query| query.name == faster.name).expect("its query ships");
        let signature = signature(&mut connection, faster.sql)
            .unwrap_or_else(|error| panic!("{}: {error:#}", faster.name));
        let columns: Vec<&String> = query.columns.iter().map(|column| &column.name).collect();
        assert_eq!(signature.columns.iter().collect::<Vec<_>>(), columns, "{}", faster.name);
        assert!(signature.reads_selection, "{}", faster.name);
        for parameter in &signature.parameters {
            assert!(
                query.parameters.iter().any(|known| format!(":{}", known.name) == *parameter),
                "{}",
                faster.name
            );
        }
    }
}

/// A statement without comments, and with its texts emptied.
fn code(sql: &str) -> String {
    let mut code = String::new();
    for line in statement_of(sql).lines() {
        let mut is_text = false;
        let line: String = line
            .chars()
            .filter(|c| {
                is_text ^= *c == '\'';
                !is_text || *c == '\''
            })
            .collect();
        code.push_str(line.split("--").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

#[test]
fn definitions_keep_to_what_other_engines_read() {
    let mut faults = Vec::new();
    for query in catalog() {
        let code = code(&query.sql);
        let mut fault = |what: &str| faults.push(format!("{}: {what}", query.name));
        // Functions that are not in every engine, or not the same in each, or not in every SQLite.
        for function in [
            "date",
            "datetime",
            "strftime",
            "julianday",
            "unixepoch",
            "printf",
            "format",
            "glob",
            "total",
            "ceil",
            "ceiling",
            "floor",
            "round",
            "trunc",
            "iif",
            "ifnull",
            "group_concat",
            "string_agg",
            "instr",
            "typeof",
            "nearest_rank",
            "median",
            "ranks",
            "rank_of",
            "likely",
            "unlikely",
            "mod",
            "pow",
            "log",
            "sqrt",
        ] {
            let is_called = code.match_indices(&format!("{function}(")).any(|(at, _)| {
                !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
            });
            if is_called {
                fault(&format!("calls {function}"));
            }
        }
        for word in [
            "json",
            "is :",
            "select *",
            ".*",
            "*,",
            "1.0 *",
            "rowid",
            "materialized",
            " % ",
            " like ",
            " glob ",
            "indexed by",
            "||",
            "==",
            "!=",
        ] {
            if code.contains(word) {
                fault(&format!("has {word:?}"));
            }
        }
        if code.to_lowercase() != code {
            fault("has capitals outside of texts");
        }
        // `1.0` is a decimal in Spark.
        let is_decimal = |word: &str| {
            word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('e')
        };
        for word in code.split(|c: char| !c.is_alphanumeric() && c != '.').filter(|word| is_decimal(word)) {
            fault(&format!("has the decimal {word}"));
        }
        let ratios = code.match_indices(" / ").filter(|(at, _)| !is_a_float(&code[..*at]));
        for (at, _) in ratios {
            let from = code[..at].rfind('\n').map_or(0, |end| end + 1);
            let to = at + code[at..].find('\n').unwrap_or(0);
            fault(&format!("may divide integers: {}", code[from..to].trim()));
        }
        for terms in code.split("order by").skip(1) {
            for term in terms_of_order(terms) {
                if !term.ends_with(" nulls first") && !term.ends_with(" nulls last") {
                    fault(&format!("orders by {term} without saying where nulls are"));
                }
            }
        }
        for word in ["at", "by", "order"] {
            // Unqualified only as the keywords `group by`, `order by`, `partition by`, `within group`.
            for (at, _) in code.match_indices(word) {
                let (before, after) = (&code[..at], &code[at + word.len()..]);
                let is_word = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
                    && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                let is_keyword = match word {
                    "by" => {
                        ["group ", "order ", "partition "].iter().any(|keyword| before.ends_with(keyword))
                    }
                    "order" => after.starts_with(" by"),
                    _ => false,
                };
                let is_named = before.ends_with(['.', '"', ':']);
                if is_word && !is_keyword && !is_named {
                    let from = before.rfind('\n').map_or(0, |end| end + 1);
                    fault(&format!("has an unqualified {word}: {}", &code[from..at + word.len()]));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The terms of an `order by` that begins a text.
fn terms_of_order(text: &str) -> Vec<&str> {
    let (mut depth, mut end) = (0, text.len());
    let mut commas = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                end = at;
                break;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => commas.push(at),
            _ => {}
        }
    }
    for word in ["rows between", "range between", "limit"] {
        end = text[..end].find(word).unwrap_or(end);
    }
    let mut from = 0;
    let mut terms = Vec::new();
    for at in commas.into_iter().filter(|at| *at < end).chain([end]) {
        terms.push(text[from..at].trim());
        from = at + 1;
    }
    terms
}

/// Whether what stands before a division is a float for certain: a product with one, or a time.
fn is_a_float(before: &str) -> bool {
    let line = before.rsplit(['\n']).next().unwrap_or_default();
    line.contains("1e0 *") || line.contains("_s)") || line.contains("_s -")
}
