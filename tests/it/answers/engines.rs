//! The canned questions written for engines that read a lake. Whether the engines answer them as SQLite does is what
//! `tests/engines` shows, with the engines themselves.
//!
//! Some statements are kept in `tests/cases/engines`: `NARWHAL_JQ_RENEW_ENGINES=1 cargo test engines` renews them.

use std::fs;

use narwhal_jq::lake::views::views;
use narwhal_jq::query::header::Query;

use super::catalog;
use crate::harness::{Lab, fixture, project};

const ENGINES: [&str; 3] = ["duckdb", "spark", "clickhouse"];

/// A run whose journal has a name that must be quoted with care.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(r"it's \ ${env:HOME}.jsonl", fixture("0.7.0-full.jsonl"));
    lab.run(&["ingest", r"it's \ ${env:HOME}.jsonl"]).exits(0);
    lab.run(&["slo", "set", "--ttft", "0.8", "--tpot", "0.03"]).exits(0);
    lab
}

fn written(lab: &Lab, words: &str, engine: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let run = lab.run(&[&["query"], &words[..], &["--sql", "--for", engine]].concat()).exits(0);
    run.stdout
}

fn groups(query: &Query) -> &'static str {
    if query.columns[0].name == "scope" { "--by source" } else { "" }
}

#[test]
fn every_query_is_written_for_every_engine() {
    let lab = lab();
    for query in catalog() {
        for engine in ENGINES {
            let what = format!("{} for {engine}", query.name);
            let sql = written(&lab, &format!("{} --from 1 {}", query.name, groups(&query)), engine);
            assert!(sql.ends_with(";\n"), "{what}: {sql}");
            for parameter in &query.parameters {
                let name = format!(":{}", parameter.name);
                assert!(!sql.contains(&name), "{what}: {name} without its value");
            }
            assert!(sql.contains("join runs as r on r.run = c.run"), "{what}: runs go by their names");
            assert!(engine != "spark" || !sql.contains('"'), "{what}: Spark takes it for a text: {sql}");
            if query.columns[0].name == "scope" {
                let scope = match engine {
                    "duckdb" => r"it''s \ ${env:HOME}.jsonl'",
                    "spark" => r"it\'s \\ \u0024{env:HOME}.jsonl'",
                    _ => r"it\'s \\ ${env:HOME}.jsonl'",
                };
                assert!(sql.contains(scope), "{what}: {sql}");
            }
        }
    }
}

#[test]
fn statements_for_engines_are_those_that_were_looked_at() {
    let lab = lab();
    let folder = project().join("tests/cases/engines");
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, words) in [
        ("latency", "latency --of offers"),
        ("admission-price", "admission-price --from 1 --by all"),
        ("controller", "controller"),
    ] {
        for engine in ENGINES {
            found.push((format!("{name}.{engine}.sql"), written(&lab, words, engine)));
        }
    }
    for view in views().unwrap() {
        found.push((format!("views.{}", view.file), view.text));
    }
    for (file, text) in found {
        let file = folder.join(file);
        if std::env::var_os("NARWHAL_JQ_RENEW_ENGINES").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, expected, "{}", file.display());
    }
}

#[test]
fn a_wrong_engine_is_told_which_there_are() {
    let lab = lab();
    let run = lab.run(&["query", "outcomes", "--sql", "--for", "oracle"]).exits(2);
    assert!(run.stderr.contains("[possible values: duckdb, spark, clickhouse]"), "{}", run.stderr);
    let run = lab.run(&["query", "outcomes", "--for", "spark"]).exits(2);
    assert!(run.stderr.contains("--sql"), "{}", run.stderr);
}

#[test]
fn flags_of_a_statement_are_seen_on_either_side_of_the_name_of_the_query() {
    let lab = lab();
    let printed = lab.run(&["query", "outcomes", "--sql", "--for", "duckdb"]).exits(0).stdout;
    assert_eq!(lab.run(&["query", "--sql", "outcomes", "--for", "duckdb"]).exits(0).stdout, printed);
    for flags in [&["-o", "answer"][..], &["--redact"], &["--intervals"]] {
        let run = lab.run(&[&["query", "--sql", "outcomes"], flags].concat()).exits(2);
        assert!(run.stdout.is_empty() && run.stderr.contains("--sql"), "{}", run.stderr);
    }
}

#[test]
fn a_selection_of_nothing_is_written_for_engines_too() {
    let lab = lab();
    for engine in ENGINES {
        let sql = written(&lab, "outcomes --since 2100-01-01T00:00:00Z", engine);
        assert!(sql.contains("from runs where 1 = 0"), "{sql}");
    }
}

#[test]
fn a_query_of_ones_own_is_written_as_it_stands_which_is_said() {
    let lab = lab();
    let own =
        "-- mine: runs\n--\n-- Columns\n--   scope | text | the run\nselect scope as scope from selection\n";
    fs::create_dir(lab.path("own")).unwrap();
    lab.write("own/mine.sql", own);
    let run = lab.run(&["query", "mine", "--queries", "own", "--sql", "--for", "spark"]).exits(0);
    run.says("the query mine is your own: narwhal-jq does not know whether another engine reads it");
}
