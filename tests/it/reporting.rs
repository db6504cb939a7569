//! `report`: the page as a browser gets it, its numbers against the queries named under them.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::{Lab, build, project, terminal};

/// A tag of a page, or the text between two.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Open(String, Vec<(String, String)>),
    Close(String),
    Text(String),
}

/// The pieces of a page. What is not well formed panics: attributes are quoted, text has no bare `<`.
fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = page;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('<') {
            let end = after.find('>').expect("a tag ends");
            let (inside, behind) = (&after[..end], &after[end + 1..]);
            rest = behind;
            if inside.starts_with('!') {
                continue;
            }
            if let Some(name) = inside.strip_prefix('/') {
                pieces.push(Piece::Close(name.to_owned()));
                continue;
            }
            let inside = inside.strip_suffix('/').unwrap_or(inside);
            let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{inside:?} is no tag");
            pieces.push(Piece::Open(name.to_owned(), attributes_of(attributes)));
            if name == "style" {
                let end = rest.find("</style>").unwrap();
                pieces.push(Piece::Text(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            pieces.push(Piece::Text(unescaped(&rest[..end])));
            rest = &rest[end..];
        }
    }
    pieces
}

fn attributes_of(text: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').unwrap_or((rest, "\"\""));
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a value ends"),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        attributes.push((name.trim().to_owned(), unescaped(value)));
        rest = behind.trim_start();
    }
    attributes
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// A table: the heading before it, its rows of cells, the questions under it.
#[derive(Debug, Default, Clone)]
struct Table {
    heading: String,
    summary: String,
    rows: Vec<Vec<String>>,
}

/// The tables of a page, in order.
fn tables(page: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut heading, mut summary, mut taken) = (String::new(), String::new(), String::new());
    let mut open: Option<Table> = None;
    let close_cell = |open: &mut Option<Table>, taken: &mut String| {
        if let Some(row) = open.as_mut().and_then(|table| table.rows.last_mut())
            && let Some(cell) = row.last_mut()
            && cell.is_empty()
        {
            *cell = taken.trim().replace('\u{a0}', " ");
        }
        taken.clear();
    };
    for piece in pieces(page) {
        match piece {
            Piece::Open(name, _) => match name.as_str() {
                "h2" | "h3" | "summary" => taken.clear(),
                "table" => {
                    open = Some(Table { heading: heading.clone(), summary: summary.clone(), rows: vec![] })
                }
                "tr" => {
                    close_cell(&mut open, &mut taken);
                    open.as_mut().expect("a row is in a table").rows.push(Vec::new());
                }
                "td" | "th" => {
                    close_cell(&mut open, &mut taken);
                    open.as_mut().unwrap().rows.last_mut().expect("a cell is in a row").push(String::new());
                }
                _ => {}
            },
            Piece::Close(name) => match name.as_str() {
                "h2" | "h3" => (heading, summary) = (taken.trim().replace('\u{a0}', " "), String::new()),
                "summary" => summary = taken.trim().replace('\u{a0}', " "),
                "td" | "th" => close_cell(&mut open, &mut taken),
                "table" => {
                    close_cell(&mut open, &mut taken);
                    tables.extend(open.take());
                }
                _ => {}
            },
            Piece::Text(text) => taken.push_str(&text),
        }
    }
    tables
}

fn table<'t>(tables: &'t [Table], heading: &str, summary: &str) -> &'t Table {
    let found = tables.iter().find(|table| table.heading == heading && table.summary.starts_with(summary));
    found.unwrap_or_else(|| {
        let there: Vec<_> = tables.iter().map(|table| (&table.heading, &table.summary)).collect();
        panic!("no table {heading:?} {summary:?} among {there:?}")
    })
}

const TARGETS: [&str; 4] = ["--ttft", "0.8", "--tpot", "0.03"];

/// A lab with the sample in it.
fn sample() -> Lab {
    let lab = Lab::new();
    let sample = std::fs::read(project().join("samples/journal.jsonl")).unwrap();
    lab.write("journal.jsonl", sample);
    lab.ingest("journal.jsonl");
    lab
}

fn report(lab: &Lab, more: &[&str]) -> String {
    let mut command = vec!["report", "-o", "-"];
    command.extend(more);
    let done = lab.command(&command).env("SOURCE_DATE_EPOCH", "1796000000").output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{errors}");
    String::from_utf8(done.stdout).unwrap()
}

fn query(lab: &Lab, words: &[&str]) -> Vec<Value> {
    let mut command = vec!["--quiet", "query"];
    command.extend(words);
    command.extend(["--format", "json"]);
    let answer: Value = serde_json::from_str(&lab.run(&command).exits(0).stdout).unwrap();
    answer.as_array().unwrap().clone()
}

/// A count with its thousands apart.
fn count(value: &Value) -> String {
    let digits = value.as_i64().unwrap_or_else(|| panic!("{value} is no count")).to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Whether a cell tells a share: in percent, as many decimals as it shows.
fn is_share(cell: &str, value: &Value) -> bool {
    let Some(value) = value.as_f64() else { return cell == "–" };
    let shown = cell.strip_suffix(" %").unwrap_or(cell);
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    shown == format!("{:.decimals$}", value * 100.0) && (decimals > 0 || value == 0.0 || value == 1.0)
}

/// Whether a cell tells a length of time in seconds, to three digits.
fn is_duration(cell: &str, value: &Value) -> bool {
    let Some(value) = value.as_f64() else { return cell == "–" };
    let cell = cell.trim_end_matches('*');
    let units = BTreeMap::from([
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ]);
    let words: Vec<&str> = cell.split(' ').collect();
    let told: f64 = words.chunks(2).map(|two| two[0].parse::<f64>().unwrap() * units[two[1]]).sum();
    let digits = words[0].chars().filter(char::is_ascii_digit).count();
    let allowed = if words.len() > 2 || told >= 100.0 {
        60.0_f64.min(0.6 * units[words[words.len() - 1]])
    } else {
        0.0051 * value
    };
    (told - value).abs() <= allowed.max(1e-9)
        && (digits >= 3 || words.len() > 2 || value == 0.0 || told >= 100.0)
}

#[test]
fn the_policy_lets_in_the_style_sheet_and_nothing_else() {
    let page = report(&sample(), &TARGETS);
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
    let mut metas = pieces(&page).into_iter().filter_map(|piece| match piece {
        Piece::Open(name, attributes) if name == "meta" => Some(attributes),
        _ => None,
    });
    assert_eq!(metas.next().unwrap(), [("charset".to_owned(), "utf-8".to_owned())]);
    let second = metas.next().unwrap();
    assert_eq!(second[0].1, "Content-Security-Policy");
    assert_eq!(second[1].1, policy);
}

/// What holds of every page.
fn check_form(page: &str, what: &str) {
    let mut ids = BTreeSet::new();
    let mut references = Vec::new();
    for piece in pieces(page) {
        let Piece::Open(name, attributes) = piece else { continue };
        assert!(
            !matches!(name.as_str(), "script" | "link" | "img" | "iframe" | "object" | "base" | "form"),
            "{what}: {name}"
        );
        for (attribute, value) in attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{what}: {attribute} of {name}");
            let is_policy = name == "meta";
            assert!(is_policy || !value.contains("://"), "{what}: {attribute}={value:?} of {name}");
            match attribute.as_str() {
                "id" => assert!(ids.insert(value.clone()), "{what}: the id {value} stands twice"),
                "href" => {
                    references.push(value.strip_prefix('#').expect("links stay in the page").to_owned())
                }
                "aria-labelledby" | "aria-describedby" => {
                    references.extend(value.split(' ').map(str::to_owned));
                }
                _ if value.starts_with("url(#") => {
                    references.push(value.trim_start_matches("url(#").trim_end_matches(')').to_owned());
                }
                _ => {}
            }
        }
    }
    for reference in references {
        assert!(ids.contains(&reference), "{what}: nothing has the id {reference}");
    }
    assert_eq!(page.matches("<h1>").count(), 1, "{what}");
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{what}: control characters");
}

#[test]
fn numbers_of_the_tables_are_those_of_the_queries_named_under_them() {
    let lab = sample();
    let page = report(&lab, &[&TARGETS[..], &["--min-attainment", "0.9"]].concat());
    check_form(&page, "the sample");
    let all = tables(&page);
    let cells = |heading: &str, summary: &str| table(&all, heading, summary).rows[1..].to_vec();
    let by_all = |name: &str, more: &[&str]| query(&lab, &[&[name, "--by", "all"], more].concat());
    let mut checked = 0;

    let misses = by_all("attainment-misses", &TARGETS);
    for row in &misses {
        let names = BTreeMap::from([
            ("ttft+tpot", "TTFT and TPOT over target"),
            ("tpot", "TPOT over target"),
            ("ttft", "TTFT over target"),
        ]);
        let miss = row["miss"].as_str().unwrap();
        let name = names.get(miss).copied().unwrap_or(miss);
        let cells = cells("Misses by kind", "");
        let found = cells.iter().find(|cells| cells[0] == name).unwrap_or_else(|| panic!("no row {name}"));
        assert_eq!(found[1], count(&row["requests"]));
        assert!(is_share(&found[2], &row["share"]), "{found:?} {row}");
        checked += 1;
    }
    for row in by_all("outcomes", &[]) {
        let found = cells("How requests ended", "");
        let found = found.iter().find(|cells| cells[0] == row["terminal"].as_str().unwrap()).unwrap();
        assert_eq!(found[1], count(&row["requests"]));
        assert!(is_share(&found[2], &row["share"]), "{found:?} {row}");
        checked += 1;
    }
    for (found, row) in cells("Percentiles by metric", "").iter().zip(by_all("latency", &[])) {
        assert_eq!(found[1], count(&row["n"]));
        for (cell, column) in found[2..].iter().zip(["p50", "p90", "p95", "p99", "max"]) {
            assert!(is_duration(cell, &row[column]), "{found:?}: {column} of {row}");
            checked += 1;
        }
    }
    for (heading, name) in
        [("Waits by stage", "queue-waits"), ("From prefill done to the first byte", "handoff")]
    {
        for (found, row) in cells(heading, "").iter().zip(by_all(name, &[])) {
            assert_eq!(found[1], count(&row["n"]));
            for (cell, column) in found[2..].iter().zip(["p50", "p90", "p99", "max"]) {
                assert!(is_duration(cell, &row[column]), "{found:?}: {column} of {row}");
                checked += 1;
            }
        }
    }
    let runs = query(&lab, &[&["attainment", "--intervals"], &TARGETS[..]].concat());
    let total = query(&lab, &[&["attainment", "--intervals", "--by", "all"], &TARGETS[..]].concat());
    for (found, row) in cells("Attainment by run", "").iter().zip(total.iter().chain(&runs)) {
        assert!(is_share(&found[3], &row["attainment"]), "{found:?} {row}");
        let (low, high) = found[4].split_once(" to ").unwrap();
        assert!(is_share(low, &row["attainment_low"]), "{found:?} {row}");
        assert!(is_share(high, &row["attainment_high"]), "{found:?} {row}");
        for (cell, column) in found[5..].iter().zip(["met", "scored", "excluded"]) {
            assert_eq!(*cell, count(&row[column]));
            checked += 1;
        }
    }
    for leg in ["prefill", "decode"] {
        let heading = if leg == "prefill" { "Prefill" } else { "Decode" };
        let failures = by_all("engine-failures", &[]);
        let latencies = by_all("engine-latency", &[]);
        for found in cells(heading, "") {
            let row = failures.iter().find(|row| row["leg"] == leg && row["engine"] == found[0]).unwrap();
            assert_eq!(found[5], format!("{} of {}", count(&row["failures"]), count(&row["attempts"])));
            assert!(is_share(&found[3], &row["failure_rate"]), "{found:?} {row}");
            let metric = if leg == "prefill" { "ttft_s" } else { "tpot_s" };
            let row = latencies.iter().find(|row| row["metric"] == metric && row["engine"] == found[0]);
            let none = Value::Null;
            assert!(is_duration(&found[6], row.map_or(&none, |row| &row["p50"])), "{found:?}");
            assert!(is_duration(&found[7], row.map_or(&none, |row| &row["p99"])), "{found:?}");
            checked += 3;
        }
    }
    assert!(checked > 90, "{checked}");
}

#[test]
fn buckets_of_the_table_are_those_of_the_queries() {
    let lab = sample();
    let run = "1795977782-3db97943";
    let page = report(&lab, &[&TARGETS[..], &["--run", run]].concat());
    let all = tables(&page);
    let of =
        |name: &str, more: &[&str]| query(&lab, &[&[name, "--run", run, "--by", "run,1s"], more].concat());
    let attainment = of("attainment", &TARGETS);
    let latency = of("latency", &[]);
    let behind =
        table(&all, "Engines out of service, floor breaches and controller decisions", "Numbers behind");
    let rows = &behind.rows[1..];
    let mut checked = 0;
    for cells in rows.iter().filter(|cells| !cells[3].starts_with("no requests")) {
        let scope = format!("{run} +{:09}s", cells[2].parse::<u64>().unwrap());
        let Some(row) = attainment.iter().find(|row| row["scope"] == scope) else {
            panic!("no scope {scope}")
        };
        for (at, column) in [(3, "offered"), (6, "scored"), (7, "met")] {
            assert_eq!(cells[at], row[column].to_string(), "{column} of {scope}");
        }
        assert!(is_share(&cells[8], &row["attainment"]), "{cells:?} {row}");
        let p50 = |metric: &str| {
            latency.iter().find(|row| row["scope"] == scope && row["metric"] == metric).unwrap()["p50"]
                .clone()
        };
        for (at, metric, unit) in [(11, "ttft_s", 1.0), (14, "tpot_s", 1e3)] {
            let shown: Option<f64> = cells[at].parse().ok();
            let expected = p50(metric).as_f64().map(|value| value * unit);
            assert_eq!(shown.is_some(), expected.is_some(), "{cells:?}");
            if let (Some(shown), Some(expected)) = (shown, expected) {
                assert!((shown / expected - 1.0).abs() < 0.006, "{cells:?}: {expected}");
            }
        }
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
    assert_eq!(rows.len(), attainment.len());
}

#[test]
fn the_same_database_gives_the_same_bytes() {
    let lab = sample();
    let one = report(&lab, &TARGETS);
    assert_eq!(one, report(&lab, &TARGETS));
    assert!(one.len() < 150_000, "{} bytes", one.len());
}

#[test]
fn hostile_names_come_out_as_text() {
    let lab = Lab::new();
    let bad = "</title><script>alert(1)</script>\\u0000\\u202e&amp;\\\" onload=x \\ufffe";
    let mut rows = vec![build("0.7.0")];
    for at in 0..40 {
        rows.push(format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"1795000000-{bad}\", \"rid\": \"r{at}{bad}\", \
             \"client_rid\": \"{bad}\", \"arrived\": {at}.5, \"duration_s\": 1.0, \"input_len\": 5, \"output_len\": 2, \
             \"ttft_s\": 0.{at}1, \"tpot_s\": 0.0{at}1, \"attempts\": 1, \"decode_attempts\": 1, \"prefill_iid\": \"p{bad}\", \
             \"decode_iid\": \"d{bad}\", \"terminal\": \"{}\", \"error\": \"{bad}\", \"error_type\": \"{bad}\", \
             \"refused_cause\": \"{bad}\", \"attempt_failures\": [{{\"attempt\": 1, \"phase\": \"{bad}\", \
             \"error_message\": \"{bad}\", \"error_type\": \"{bad}\", \"prefill_iid\": \"p{bad}\"}}]}}",
            ["completed", "failed", "refused", bad][at % 4]
        ));
    }
    rows.push("{\"torn".to_owned());
    let name = "a<b>&\"'.jsonl";
    lab.write(name, rows.join("\n") + "\n");
    lab.run(&["ingest", name]);
    let page = report(&lab, &[&TARGETS[..], &["--title", "<i>\u{202e}&"]].concat());
    check_form(&page, "hostile names");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "the names are there, as text");
    assert!(page.contains("\\u{202e}") && !page.contains('\u{202e}'));
    assert!(page.contains("a&lt;b&gt;"), "the file's name is there");
    let text = report(&lab, &[&TARGETS[..], &["--format", "markdown"]].concat());
    assert!(!text.contains("<script") || text.contains("\\<script"), "{text}");
}

#[test]
fn odd_databases_have_a_page_too() {
    let none = Lab::new();
    let empty = none.write("empty.jsonl", build("0.7.0") + "\n");
    none.ingest(empty.to_str().unwrap());
    let page = report(&none, &TARGETS);
    check_form(&page, "no run");
    assert!(page.contains("Nothing was taken in: "), "{page}");

    let lab = Lab::new();
    lab.write("one.jsonl", format!("{}\n{}\n", build("0.7.0"), terminal("1795000000-a", "r", 5.0)));
    lab.ingest("one.jsonl");
    let page = report(&lab, &[&TARGETS[..], &["--min-attainment", "0.5"]].concat());
    check_form(&page, "one request");
    for words in ["of 1 scored request ", "1 run", "1 request "] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let unscored = report(&lab, &[]);
    check_form(&unscored, "no SLO");
    assert!(unscored.contains("no SLO, so nothing is scored"));
    let nothing = lab.run(&["report", "-o", "page.html", "--from", "1h"]).exits(0);
    assert!(nothing.stderr.contains("no rows: "), "{}", nothing.stderr);

    let many = Lab::new();
    let mut rows = Vec::new();
    for run in 0..50 {
        rows.push(build("0.7.0"));
        for at in 0..6 {
            rows.push(terminal(
                &format!("{}-r{run}", 1_795_000_000 + 1000 * run),
                &format!("r{at}"),
                f64::from(at) * 7.0,
            ));
        }
    }
    many.write("many.jsonl", rows.join("\n") + "\n");
    many.ingest("many.jsonl");
    let page = report(&many, &TARGETS);
    check_form(&page, "50 runs");
    assert!(page.contains("38 earlier runs are in the totals only"));
    assert!(page.contains("12 runs with the lowest attainment of 50"));
}

#[test]
fn a_page_replaces_no_journal_and_no_database() {
    let lab = sample();
    for file in ["journal.jsonl", "narwhal.db"] {
        let before = std::fs::read(lab.path(file)).unwrap();
        let refused = lab.run(&["report", "-o", file]).exits(2);
        assert!(refused.stderr.contains(file), "{}", refused.stderr);
        assert!(before == std::fs::read(lab.path(file)).unwrap());
    }
    lab.run(&["report", "-o", "no/such/folder/page.html"]).exits(1);
    lab.run(&["report", "-o", "page.html", "--by", "5m"]).exits(2);
    lab.run(&["report", "-o", "page.html", "--bucket", "0.5"]).exits(2);
}

#[test]
fn a_page_that_is_only_shown_is_given_to_the_browser_and_kept() {
    let lab = sample();
    let browser = lab.write("browser", "#!/bin/sh\nprintf %s \"$1\" > shown\n");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let told = |command: &mut std::process::Command| {
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let of_its_own =
        told(lab.command(&["report", "--open"]).env("BROWSER", &browser).env("TMPDIR", lab.path("")));
    let shown = std::fs::read_to_string(lab.path("shown")).unwrap();
    assert!(of_its_own.contains(&format!("{shown} is shown in the browser")), "{of_its_own}");
    check_form(&std::fs::read_to_string(&shown).unwrap(), "a page of its own");
    told(lab.command(&["report", "-o", "page.html", "--open"]).env("BROWSER", &browser));
    assert_eq!(std::fs::read_to_string(lab.path("shown")).unwrap(), "page.html");
    // No browser, or one that fails: the page is there, and is said to be.
    for browser in ["", "no-such-browser", "false"] {
        let said = told(
            lab.command(&["report", "-o", "page.html", "--open"]).env("BROWSER", browser).env("PATH", ""),
        );
        assert!(said.contains("no browser was found to show it: open page.html"), "{browser}: {said}");
    }
}

#[test]
fn a_full_disk_leaves_the_page_that_was_there() {
    let lab = sample();
    let refused = lab.run(&["report", "-o", "/dev/full"]).exits(1);
    assert!(
        refused.stderr.contains("/dev/full") && refused.stderr.contains("No space left"),
        "{}",
        refused.stderr
    );
    let script = "echo before > full/page.html; \"$0\" report -o full/page.html; echo $? > exit; \
        cp full/page.html after; ls full > left";
    let Some(mut command) = super::places::in_a_container("a full disk", &lab, script) else { return };
    let done = command.output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap();
    assert_eq!(read("exit"), "1\n", "{errors}");
    assert!(errors.contains("full/page.html") && errors.contains("No space left"), "{errors}");
    assert_eq!([read("after"), read("left")], ["before\n", "page.html\n"]);
}

#[test]
fn a_page_replaces_no_journal_that_it_is_to_read() {
    let lab = sample();
    lab.write("new.jsonl", format!("{}\n", build("0.7.0")));
    let refused = lab.run(&["report", "--ingest", "new.jsonl", "-o", "new.jsonl"]).exits(2);
    assert!(refused.stderr.contains("new.jsonl"), "{}", refused.stderr);
    assert!(lab.path("new.jsonl").metadata().unwrap().len() > 50);
}

#[test]
fn the_markdown_is_short_and_says_the_verdict() {
    let lab = sample();
    let text = report(&lab, &[&TARGETS[..], &["--min-attainment", "0.9", "--format", "markdown"]].concat());
    assert!(text.lines().count() < 60, "{text}");
    let row = &query(&lab, &[&["attainment", "--by", "all"], &TARGETS[..]].concat())[0];
    let share =
        format!("**{:.1} %** of {} scored", 100.0 * row["attainment"].as_f64().unwrap(), row["scored"]);
    assert!(text.contains(&share), "{text}");
    assert!(text.contains("✗ misses the goal of 90 %"), "{text}");
}

#[test]
fn a_redacted_page_names_no_engine_no_client_and_no_file() {
    let lab = sample();
    let page = report(&lab, &[&TARGETS[..], &["--redact"]].concat());
    check_form(&page, "redacted");
    let names = lab.rows(
        "select prefill_iid from terminals where prefill_iid is not null union select decode_iid from terminals
         where decode_iid is not null union select client_rid from terminals where client_rid is not null",
    );
    assert!(names.len() > 4, "{names:?}");
    for name in names {
        let rusqlite::types::Value::Text(name) = &name[0] else { panic!("{name:?}") };
        let is_word = |piece: &Piece| match piece {
            Piece::Text(text) => {
                text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').any(|word| word == name)
            }
            _ => false,
        };
        assert!(!pieces(&page).iter().any(is_word), "{name} is on the page");
    }
    assert!(!page.contains("journal.jsonl") && !page.contains("127.0.0.1"));
}

/// A journal of everything that makes a page long: runs, buckets, engines, ids, outages, messages, ends, bad lines.
fn worst_journal() -> String {
    let long = |name: &str, at: usize| format!("{name}{at}{}", "<&>".repeat(100));
    let mut rows = Vec::new();
    for run in 0..14 {
        rows.push(build("0.7.0"));
        let id = format!("{}-r{run}", 1_795_000_000 + 100_000 * run);
        for at in 0..420 {
            let arrived = 3.0 * at as f64;
            let engine = (at + 31 * run) % 210;
            rows.push(format!(
                "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{id}\", \"rid\": \"{}\", \"arrived\": {arrived}, \
                 \"duration_s\": {}.5, \"input_len\": {}, \"output_len\": {}, \"ttft_s\": {}, \"tpot_s\": {}, \"first_byte_s\": {}, \
                 \"queue_wait_s\": 0.{}, \"queue_waits\": {{\"admission\": 0.{}, \"prefill\": 0.1{at}, \"decode\": 0.2{at}}}, \
                 \"admission_price\": {{\"attempt\": 1, \"price_s\": 0.{}7}}, \"attempts\": 2, \"decode_attempts\": 1, \
                 \"prefill_iid\": \"{}\", \"decode_iid\": \"{}\", \"crossed\": {}, \"terminal\": \"{}\", \"refused_cause\": \"{}\", \
                 \"error\": \"{}\", \"attempt_failures\": [{{\"attempt\": 1, \"at\": {arrived}, \"phase\": \"prefill\", \
                 \"prefill_iid\": \"{}\", \"error_type\": \"{}\", \"error_message\": \"{}\"}}]}}",
                long("r", at),
                at % 90,
                1 << (at % 20),
                at % 40,
                0.001 * 1.03_f64.powi((at % 300) as i32),
                0.0001 * 1.04_f64.powi((at * 7 % 250) as i32),
                0.002 * 1.03_f64.powi((at % 300) as i32),
                at % 97,
                at % 89,
                at % 83 + 1,
                long("p", engine),
                long("d", engine),
                at % 2 == 0,
                ["completed", "failed", "refused", "rejected", "expired", "completed", "odd"][at % 7],
                long("cause", at % 30),
                long("e", at % 60),
                long("p", engine),
                long("t", at % 20),
                long("m", at % 200).replace(char::is_numeric, "x") + &"abcdefghij"[..at % 10],
            ));
            let event = |name: &str, at_s: f64, more: &str| {
                format!(
                    "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{id}\", \"event\": \"{name}\", \
                     \"at\": {at_s}{more}}}"
                )
            };
            let iid = format!(", \"iid\": \"{}\", \"cause\": \"{}\"", long("p", engine), long("c", at % 9));
            rows.push(event("engine_ejected", arrived, &iid));
            rows.push(event("engine_readmitted", arrived + 1.0, &iid));
            rows.push(event("engine_hold_started", arrived, &format!("{iid}, \"kind\": \"timed\"")));
            rows.push(event("below_floor", arrived, ", \"live_prefill\": 0, \"min_prefill\": 1"));
            rows.push(event("below_floor_recovered", arrived + 0.5, ""));
            let reason = format!(
                ", \"prefill\": 1, \"decode\": 2, \"by\": \"reactive\", \"reason\": \"{}\", \"result\": \"applied\", \"applied\": true",
                long("why", at % 40)
            );
            rows.push(event("controller_decision", arrived, &reason));
            let stage =
                format!(", \"stage\": \"{}\", \"class\": \"{}\"", long("s", at % 9), long("k", at % 7));
            rows.push(event("monitoring_degraded", arrived, &stage));
            rows.push(event("monitoring_recovered", arrived + 0.7, ""));
            let lifecycle =
                format!(", \"action\": \"{}\", \"iid\": \"{}\"", long("a", at % 9), long("p", engine));
            rows.push(event(
                "engine_lifecycle",
                1_795_000_000.0 + 100_000.0 * run as f64 + arrived,
                &lifecycle,
            ));
        }
    }
    rows.join("\n") + "\n"
}

#[test]
fn no_database_makes_a_page_of_two_megabytes() {
    let lab = Lab::new();
    lab.write("worst.jsonl", worst_journal());
    lab.ingest("worst.jsonl");
    let page = report(&lab, &[&TARGETS[..], &["--min-attainment", "0.9", "--bucket", "1"]].concat());
    check_form(&page, "the worst");
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.len() > 300_000, "{} bytes are not the worst", page.len());
    assert!(page.contains("would have been more than 720"));
}

/// A day of a fleet of eight: all buckets have enough for each percentile, engines come and go.
fn usual_day() -> String {
    let id = "1795000000-day";
    let mut state = 7_u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut rows = vec![build("0.7.0")];
    let event = |name: &str, at_s: f64, more: &str| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{id}\", \"event\": \"{name}\", \
             \"at\": {at_s}{more}}}"
        )
    };
    for at in 0..17_000 {
        let arrived = at as f64 * 86_400.0 / 17_000.0;
        let ttft_s = 0.05 * 1.02_f64.powi(next(250) as i32);
        let ended = if next(10) > 0 {
            "completed"
        } else {
            ["failed", "refused", "rejected", "expired"][next(4) as usize]
        };
        let engine = next(8);
        rows.push(format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{id}\", \"rid\": \"{:032x}\", \
             \"arrived\": {arrived}, \"duration_s\": {}, \"input_len\": {}, \"output_len\": {}, \"ttft_s\": {ttft_s}, \
             \"tpot_s\": {}, \"first_byte_s\": {}, \"queue_wait_s\": 0.{:03}, \"queue_waits\": {{\"admission\": 0.{:03}, \
             \"prefill\": 0.{:03}, \"decode\": 0.{:03}}}, \"attempts\": 1, \"decode_attempts\": 1, \
             \"prefill_iid\": \"n{engine}\", \"decode_iid\": \"n{}\", \"crossed\": true, \"terminal\": \"{ended}\", \
             \"admission_price\": {{\"attempt\": 1, \"price_s\": {}}}, \"refused_cause\": \"price {}\"}}",
            next(1 << 60),
            ttft_s + 3.0,
            1 << next(14),
            1 + next(900),
            0.01 * 1.02_f64.powi(next(100) as i32),
            ttft_s * 1.1,
            next(1000),
            next(1000),
            next(1000),
            next(1000),
            next(8),
            ttft_s * 0.9,
            next(4),
        ));
        let iid = format!(", \"iid\": \"n{engine}\"");
        match next(400) {
            0 => {
                rows.push(event(
                    "engine_ejected",
                    arrived,
                    &format!("{iid}, \"cause\": \"health_probe_failed\""),
                ));
                rows.push(event("engine_readmitted", arrived + 0.5 * next(9) as f64, &iid));
            }
            1 => rows.push(event("engine_hold_started", arrived, &format!("{iid}, \"kind\": \"timed\""))),
            2 => {
                let why = ", \"prefill\": 3, \"decode\": 5, \"by\": \"reactive\", \"reason\": \"prefill is short\", \
                    \"result\": \"applied\", \"applied\": true";
                rows.push(event("controller_decision", arrived, why));
            }
            3 => {
                let what = format!("{iid}, \"action\": \"validation_started\"");
                rows.push(event("engine_lifecycle", 1_795_000_000.0 + arrived, &what));
            }
            _ => {}
        }
    }
    rows.join("\n") + "\n"
}

#[test]
fn the_page_of_a_usual_day_is_small() {
    let lab = Lab::new();
    lab.write("day.jsonl", usual_day());
    lab.ingest("day.jsonl");
    let page = report(&lab, &[&TARGETS[..], &["--min-attainment", "0.9"]].concat());
    check_form(&page, "a day");
    assert!(page.contains("144 buckets"), "buckets of ten minutes");
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn a_comparison_is_a_page_where_its_file_is_one() {
    let lab = sample();
    let compare = ["compare", "1795977782-3db97943", "1795977784-c51997f7"];
    lab.run(&[&compare[..], &TARGETS, &["-o", "diff.html"]].concat()).exits(0);
    let page = std::fs::read_to_string(lab.path("diff.html")).unwrap();
    check_form(&page, "a comparison");
    let told: Value = serde_json::from_str(
        &lab.run(&[&compare[..], &TARGETS, &["--format", "json"]].concat()).exits(0).stdout,
    )
    .unwrap();
    let all = tables(&page);
    let rows = &table(&all, "All requests", "").rows[1..];
    let figures = told["figures"].as_array().unwrap();
    let mut checked = 0;
    for row in rows {
        let figure = figures
            .iter()
            .find(|figure| figure["figure"] == row[0].as_str())
            .unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(row[6], figure["verdict"].as_str().unwrap(), "{row:?}");
        for (cell, side) in [(&row[1], "a"), (&row[2], "b")] {
            let is_share = row.iter().any(|cell| cell.ends_with('%'));
            let is_told = if is_share {
                is_share_or_none(cell, &figure[side])
            } else {
                is_duration(cell, &figure[side])
            };
            assert!(is_told, "{row:?}: {side} of {figure}");
        }
        checked += 1;
    }
    assert!(checked > 20, "{checked}");
    assert!(page.contains("TTFT of completed requests") && page.contains("Attainment against offered rate"));
}

fn is_share_or_none(cell: &str, value: &Value) -> bool {
    if value.is_null() { cell == "–" } else { is_share(cell, value) }
}
