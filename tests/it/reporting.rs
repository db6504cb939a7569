//! `report`: the page as a browser gets it; its numbers, its size.

use base64::Engine;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::{Lab, build, project, terminal};

use page::{Piece, check_form, is_duration, is_share_or_none, pieces, table, tables};

mod numbers;
mod page;
mod size;

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

#[test]
fn failed_legs_without_an_engine_are_said_to_be_in_no_row() {
    let lab = Lab::new();
    let row = |rid: &str, engines: &str| {
        let failure = format!(
            "\"attempt_failures\": [{{\"attempt\": 1, \"phase\": \"decode\", \"prefill_iid\": \"p\"{engines}}}]"
        );
        terminal("r", rid, 1.0).replace("\"terminal\"", &format!("\"attempts\": 1, {failure}, \"terminal\""))
    };
    // A hand-off that expired twice before it had a decode engine, and a decode engine that failed.
    let rows = [row("a", ""), row("b", ""), row("c", ", \"decode_iid\": \"d\"")];
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let page = report(&lab, &[]);
    let told = "2 failed legs have no engine in the journal and are in no row.";
    assert!(page.contains(told));
    assert!(!report(&sample(), &[]).contains("have no engine in the journal"));
}

#[test]
fn a_run_whose_output_was_not_counted_is_not_the_worst_stretch() {
    let lab = Lab::new();
    let row = |run: &str, at: u32, more: &str| {
        terminal(run, &format!("{run}-{at}"), f64::from(at))
            .replace("\"terminal\"", &format!("{more}, \"terminal\""))
    };
    let counted = |at: u32| {
        let ttft_s = if (200..300).contains(&at) && !at.is_multiple_of(10) { 9 } else { 1 };
        row("1790000000-a", at, &format!("\"ttft_s\": {ttft_s}, \"output_len\": 1"))
    };
    let uncounted = |at: u32| row("1790001000-b", at, "\"ttft_s\": 1, \"token_accounting\": \"unavailable\"");
    let build = |accounting: &str| build("0.7.0").replace("token_ids", accounting);
    let mut lines = vec![build("token_ids")];
    lines.extend((0..400).map(counted));
    lines.push(build("unavailable"));
    lines.extend((0..400).map(uncounted));
    lab.write("j.jsonl", lines.join("\n") + "\n");
    lab.ingest("j.jsonl");
    let targets = ["--ttft", "2", "--tpot", "1", "--bucket", "10"];
    let found = |policy: &str| {
        let page = report(&lab, &[&targets[..], &["--policy", policy]].concat());
        let found = page.split_once("Worst stretch").map(|(_, rest)| rest[..200].to_owned());
        found.unwrap_or_else(|| panic!("no worst stretch"))
    };
    // One of ten met in the worst buckets of the first run; of the second nobody knows.
    assert!(found("journal").contains("(run 1): <b>10.0"), "{}", found("journal"));
    assert!(found("router").contains("(run 1): <b>10.0"), "{}", found("router"));
}
