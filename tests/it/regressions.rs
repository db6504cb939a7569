//! What once went wrong: each test is named for it.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Lab, build, fixture, gzip, page_size, say, terminal, zstd};

const RUN: &str = "1795977936-56e568d1";

fn with(rid: &str, more: &str) -> String {
    terminal(RUN, rid, 5.25).replace("\"terminal\"", &format!("{more}, \"terminal\""))
}

fn lab(rows: &[String]) -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", rows.join("\n") + "\n");
    lab.ingest("j.jsonl");
    lab
}

#[test]
fn strict_on_standard_input_keeps_nothing_of_a_long_input_with_a_bad_line() {
    let lab = Lab::new();
    let rows: String = (0..3000).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    let input = rows + "nonsense\n";
    lab.run_with_stdin(&["ingest", "--strict", "-"], input.as_bytes())
        .exits(3)
        .says("nothing of this file was kept");
    assert_eq!(lab.number("select count(*) from terminals"), 0);
}

#[test]
fn a_row_as_deep_as_is_accepted_comes_back() {
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let row = with("a", &format!("\"x\": {deep}"));
    let event = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"e\", \"x\": {deep}}}"
    );
    let lab = lab(&[row, event]);
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let exported = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
    assert_eq!(exported.matches(&deep).count(), 2);
    lab.run(&["show", "a", "--format", "json"]).exits(0);
}

#[test]
fn json_for_programs_cannot_drive_a_terminal_either() {
    let lab = lab(&[with("a", "\"client_rid\": \"x\u{202e}y\u{85}z\u{7f}\", \"error\": \"\u{2066}\"")]);
    for arguments in [
        &["show", "a", "--format", "json"][..],
        &["query", "requests", "--order", "duration_s", "--format", "json"],
    ] {
        let shown = lab.run(arguments).exits(0).stdout;
        assert!(
            shown.chars().all(|c| c == '\n' || !narwhal_jq::text::is_hostile(c)),
            "{arguments:?}: {shown:?}"
        );
    }
    let shown = lab.run(&["show", "a", "--format", "json"]).json();
    assert_eq!(shown["request"]["client_rid"], "x\u{202e}y\u{85}z\u{7f}");
}

#[test]
fn an_interrupt_ends_an_ingest_that_waits_for_its_input_with_what_was_whole() {
    let lab = Lab::new();
    let mut command = lab.command(&["ingest", "-"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // More than is looked at first, and an unfinished line behind.
    let rows: String = (0..100).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    std::io::Write::write_all(&mut pipe, (rows + "{\"sch").as_bytes()).unwrap();
    let began = std::time::Instant::now();
    let is_stored = || {
        lab.path("narwhal.db").exists()
            && Connection::open(lab.path("narwhal.db"))
                .and_then(|database| {
                    database.query_row("select count(*) from terminals", [], |row| row.get::<_, i64>(0))
                })
                .is_ok_and(|count| count == 100)
    };
    while !is_stored() {
        assert!(began.elapsed().as_secs() < 30, "what is whole is committed while the input waits");
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted: what was whole is committed"));
    assert_eq!(lab.number("select count(*) from terminals"), 100);
    assert_eq!(lab.number("select count(*) from rejects"), 0, "the unfinished line is not taken for whole");
}

#[test]
fn an_unknown_field_that_is_null_is_absent() {
    let lab = lab(&[with("a", "\"x\": null, \"cached_tokens\": {\"p0\": null}, \"y\": {\"z\": null}")]);
    lab.write("again.jsonl", with("a", "\"cached_tokens\": {}, \"y\": {}") + "\n");
    let summary = lab.ingest("again.jsonl");
    assert_eq!((&summary["total"]["duplicates"], &summary["total"]["rejected"]), (&json!(1), &json!(0)));
    assert_eq!(lab.number("select count(*) from rejects"), 0);
}

#[test]
fn a_file_of_conflicts_is_a_journal_in_every_call() {
    let lab = lab(&[with("a", "\"input_len\": 1")]);
    lab.write("other.jsonl", with("a", "\"input_len\": 2") + "\n");
    for _ in 0..2 {
        lab.run(&["ingest", "other.jsonl"]).exits(0);
    }
    assert_eq!(lab.number("select count(*) from rejects"), 1);
}

#[test]
fn a_line_of_very_many_attempt_failures_is_credited_in_one_go() {
    let entries: Vec<String> = (0..100_000).map(|at| format!("{{\"attempt\": {at}}}")).collect();
    let row = with("a", &format!("\"attempts\": 100000, \"attempt_failures\": [{}]", entries.join(", ")));
    // It took minutes when each entry looked at all before it.
    let lab = lab(&[row]);
    assert_eq!(lab.number("select recorded_attempts from terminals"), 99_999);
}

#[test]
fn an_answer_cannot_replace_the_database_or_a_journal() {
    let lab = Lab::new();
    lab.write("journal.jsonl", fixture("0.7.0-full.jsonl"));
    lab.ingest("journal.jsonl");
    symlink(lab.path("narwhal.db"), lab.path("link")).unwrap();
    let contents = || ["narwhal.db", "journal.jsonl"].map(|name| std::fs::read(lab.path(name)).unwrap());
    let before = contents();
    for (arguments, what) in [
        (&["query", "outcomes", "-o", "narwhal.db"][..], "the database"),
        (&["query", "outcomes", "-o", "link"], "the database"),
        (&["export", "outcomes", "--xlsx", "narwhal.db"], "the database"),
        (&["sql", "select 1", "-o", "journal.jsonl"], "a journal that was read"),
        (&["export", "journal", "--dir", "."], "a journal that was read"),
        (&["compare", "last", "last", "-o", "journal.jsonl"], "a journal that was read"),
    ] {
        lab.run(arguments).exits(2).says(what);
    }
    assert_eq!(contents(), before);
}

#[test]
fn an_answer_keeps_links_and_modes_and_heeds_the_umask() {
    let lab = lab(&[terminal(RUN, "a", 1.0)]);
    let mode = |name: &str| std::fs::metadata(lab.path(name)).unwrap().permissions().mode() & 0o777;
    lab.write("kept.csv", "");
    std::fs::set_permissions(lab.path("kept.csv"), PermissionsExt::from_mode(0o600)).unwrap();
    symlink("kept.csv", lab.path("link.csv")).unwrap();
    lab.run(&["query", "runs", "-o", "link.csv", "--format", "csv"]).exits(0);
    assert!(std::fs::symlink_metadata(lab.path("link.csv")).unwrap().is_symlink());
    assert_eq!(mode("kept.csv"), 0o600);
    assert!(std::fs::read_to_string(lab.path("kept.csv")).unwrap().starts_with("run,started_at"));
    let program = env!("CARGO_BIN_EXE_narwhal-jq");
    let script = "umask 077; \"$0\" query runs -o private.csv";
    let status =
        std::process::Command::new("sh").args(["-c", script, program]).current_dir(lab.path("")).status();
    assert!(status.unwrap().success());
    assert_eq!(mode("private.csv"), 0o600);
}

#[test]
fn one_absurd_time_hides_no_request() {
    for odd in ["2e300", "-2e300", "1.7e308"] {
        let mut rows: Vec<String> =
            (0..10).map(|at| terminal(RUN, &format!("r{at}"), 100.0 + f64::from(at))).collect();
        let row = terminal(RUN, "odd", 1.0).replace("1.0", odd);
        rows.push(row.replace(
            "\"terminal\"",
            &format!("\"duration_s\": {}, \"terminal\"", odd.trim_start_matches('-')),
        ));
        let lab = lab(&rows);
        let answer = lab.run(&["query", "outcomes", "--format", "json"]).exits(0).json();
        assert_eq!(answer[0]["requests"], 11, "{odd}");
        for query in ["throughput", "attainment-over-time", "goodput"] {
            let run = lab.run(
                &["query", query, "--ttft", "1", "--tpot", "1"]
                    .into_iter()
                    .take(if query == "throughput" { 2 } else { 6 })
                    .collect::<Vec<_>>(),
            );
            run.exits(2).says("buckets of 60 s: give a larger --bucket");
        }
        lab.run(&["verify"]).exits(0);
    }
}

#[test]
fn what_is_no_file_is_refused_before_it_can_make_us_wait() {
    let lab = Lab::new();
    let made = std::process::Command::new("mkfifo").arg(lab.path("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    lab.run(&["ingest", "pipe.jsonl"])
        .exits(1)
        .says("it is no regular file; give its content to `narwhal-jq ingest -`");
    lab.run(&["ingest", "/dev/null"]).exits(0).says("/dev/null: empty");
    lab.run(&["ingest", "/dev/null", "--db", ":memory:"])
        .exits(2)
        .says("a database in memory would keep nothing");
    lab.run(&["query", "runs", "--db", "."]).exits(1).says("error: . is a folder, not a database");
    let mut command = lab.command(&["query", "runs"]);
    let output = command.env("NARWHAL_JQ_DB", "").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no database at narwhal.db"));
    assert!(!lab.path("narwhal.db").exists());
}

#[test]
fn a_check_of_nothing_cannot_be_judged_and_says_why_accounting_makes_it_fail() {
    let lab = lab(&[with("a", "\"ttft_s\": 0.5, \"token_accounting\": \"unavailable\"")]);
    lab.run(&["check", "--min-attainment", "0.5", "--ttft", "1", "--tpot", "1"])
        .exits(6)
        .says("token accounting is unavailable, so the output of 1 completed request is unknown");
    lab.run(&["compare", "last", "last", "--ttft", "1", "--tpot", "1"])
        .exits(0)
        .says("token accounting is unavailable");
    let shown = lab.run(&["show", "a", "--ttft", "1", "--tpot", "1"]).exits(0).stdout;
    assert!(shown.contains("missed (output_unmeasured): token accounting is unavailable"), "{shown}");
    let nothing = lab.run(&["check", "--max-failure-rate", "0.5"]).exits(7).stdout;
    assert!(nothing.starts_with("no data "), "{nothing}");
}

#[test]
fn a_rid_is_found_though_a_caller_gave_another_request_that_name() {
    let lab = lab(&[terminal(RUN, "a", 1.0), with("b", "\"client_rid\": \"a\"")]);
    assert!(lab.run(&["show", "a"]).exits(0).stdout.starts_with("request    a\n"));
}

#[test]
fn every_check_of_verify_can_break() {
    for (damage, said) in [
        ("update terminals set run_id = 99", "refers to a missing row of runs"),
        (
            "insert into terminals (run_id, source_id, byte_offset, rid, arrived, terminal, recorded_attempts,
                recorded_decode_legs, last_recorded, retried)
             select run_id, source_id, byte_offset, rid, arrived + 1, terminal, 0, 0, 0, 0 from terminals limit 1",
            "stands 2 times, with different arrived",
        ),
        ("delete from attempt_failures where position = 0", "attempt failures and has"),
        ("update terminals set attempt_failures = null", "which counts none"),
        ("update terminals set attempts = attempts + 1", "attempts and"),
        ("update runs set first_s = first_s - 1", "its rows"),
        ("update sources set offset_bytes = 10", "rows stand after offset 10"),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", fixture("0.7.0-mixed-part.jsonl"));
        lab.ingest("j.jsonl");
        lab.run(&["verify"]).exits(0);
        Connection::open(lab.path("narwhal.db")).unwrap().execute_batch(&format!("pragma foreign_keys = off; {damage}")).unwrap();
        let run = lab.run(&["verify"]).exits(1);
        assert!(run.stdout.contains("BROKEN") && run.stdout.contains(said), "{damage}\n{}", run.stdout);
    }
    // A page overwritten in the middle of the file.
    let lab = Lab::new();
    lab.write("j.jsonl", fixture("0.7.0-killed.jsonl"));
    lab.ingest("j.jsonl");
    let mut bytes = std::fs::read(lab.path("narwhal.db")).unwrap();
    let page_size = page_size(&bytes);
    let middle = bytes.len() / 2 / page_size * page_size;
    bytes[middle..middle + page_size].fill(0xAA);
    lab.write("narwhal.db", &bytes);
    let run = lab.run(&["verify"]).exits(1);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("BROKEN  the file is whole") || said.contains("is damaged"), "{said}");
}

#[test]
fn an_ingest_with_nothing_new_returns_a_database_left_in_write_ahead_mode_to_one_plain_file() {
    let lab = lab(&[terminal(RUN, "a", 1.0)]);
    let writer = Connection::open(lab.path("narwhal.db")).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute_batch("insert into slos values ('x', 1, 1, 'now')").unwrap();
    // A copy of what lies there while it is open is what a crash leaves.
    let crashed = Lab::new();
    for name in ["narwhal.db", "narwhal.db-wal", "j.jsonl"] {
        crashed.write(name, std::fs::read(lab.path(name)).unwrap());
    }
    crashed.run(&["ingest", "j.jsonl"]).exits(0);
    assert!(!crashed.path("narwhal.db-wal").exists());
    assert_eq!(std::fs::read(crashed.path("narwhal.db")).unwrap()[18..20], [1, 1]);
    assert_eq!(crashed.number("select count(*) from slos"), 1);
    // While somebody has it open it stays as it is, and nobody waits.
    lab.run(&["ingest", "j.jsonl"]).exits(0);
    assert_eq!(std::fs::read(lab.path("narwhal.db")).unwrap()[18..20], [2, 2]);
}

#[test]
fn an_interrupted_answer_leaves_no_file_behind() {
    let lab = lab(&[terminal(RUN, "a", 1.0)]);
    std::fs::create_dir(lab.path("left")).unwrap();
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n";
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut command = lab.command(&["sql", endless, "--format", "csv", "-o", "left/answer.csv"]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        while std::fs::read_dir(lab.path("left")).unwrap().next().is_none() {
            std::thread::yield_now();
        }
        let sent =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(std::fs::read_dir(lab.path("left")).unwrap().count(), 0, "{signal}");
    }
}

#[test]
fn a_rid_that_stands_in_two_runs_is_shown_with_its_run() {
    let lab = lab(&[terminal("100-a", "x", 1.0), terminal("200-b", "x", 1.0)]);
    lab.run(&["show", "x"])
        .exits(0)
        .says("names 2 requests: show one by its rid or enough of it, give --run");
    let shown = lab.run(&["show", "x", "--run", "200"]).exits(0).stdout;
    assert!(shown.contains("\nrun        200-b,"), "{shown}");
    lab.run(&["show", "x", "--run", "300"]).exits(1).says("no run \"300\"");
}

/// A journal as it is met in the middle of a write: its last line is cut off behind so many bytes.
fn written_up_to(cut: usize) -> (String, String, String) {
    let whole: String = (0..4).map(|at| terminal(RUN, &format!("r{at}"), f64::from(at)) + "\n").collect();
    let last = terminal(RUN, "last", 9.0);
    let next = format!("{}\n", terminal(RUN, "next", 10.0));
    (format!("{whole}{}", &last[..cut]), format!("{whole}{last}\n"), next)
}

#[test]
fn a_line_that_standard_input_or_an_archive_cut_off_is_read_whole_from_the_file() {
    for cut in [1, 90, 130] {
        for kind in ["-", "j.jsonl.gz", "j.jsonl.zst"] {
            for is_read_before in [false, true] {
                let what = format!("{kind}, cut at {cut}, {is_read_before}");
                let lab = Lab::new();
                let (begun, done, next) = written_up_to(cut);
                lab.write("j.jsonl", &begun);
                if is_read_before {
                    lab.ingest("j.jsonl");
                }
                lab.write("j.jsonl.gz", gzip(begun.as_bytes()));
                lab.write("j.jsonl.zst", zstd(begun.as_bytes()));
                lab.run_with_stdin(&["ingest", kind], begun.as_bytes()).exits(0);
                lab.write("j.jsonl", &done);
                // What the archive holds was read before, all but the whole line: said of no loss.
                let run = lab.run(&["ingest", "j.jsonl", "--format", "json"]).exits(0);
                assert_eq!(run.stderr, "", "{what}");
                let total = &run.json()["total"];
                assert_eq!((&total["terminals"], &total["duplicates"]), (&json!(1), &json!(4)), "{what}");
                lab.write("j.jsonl", done + &next);
                let total = &lab.ingest("j.jsonl")["total"];
                assert_eq!((&total["terminals"], &total["duplicates"]), (&json!(1), &json!(0)), "{what}");
                assert_eq!(lab.number("select count(*) from terminals"), 6, "{what}");
            }
        }
    }
}

#[test]
fn a_line_that_standard_input_cut_off_is_read_whole_from_standard_input_and_from_an_archive() {
    for kind in ["-", "j.jsonl.gz", "j.jsonl.zst"] {
        let lab = Lab::new();
        let (begun, done, next) = written_up_to(90);
        lab.run_with_stdin(&["ingest", "-"], begun.as_bytes()).exits(0);
        let whole = done + &next;
        lab.write("j.jsonl.gz", gzip(whole.as_bytes()));
        lab.write("j.jsonl.zst", zstd(whole.as_bytes()));
        let run = lab.run_with_stdin(&["ingest", kind, "--format", "json"], whole.as_bytes()).exits(0);
        let total = &run.json()["total"];
        assert_eq!((&total["terminals"], &total["duplicates"]), (&json!(2), &json!(4)), "{kind}");
    }
}

#[test]
fn a_torn_end_of_standard_input_is_gone_on_from_where_the_next_process_began() {
    let lab = Lab::new();
    let (begun, ..) = written_up_to(90);
    lab.run_with_stdin(&["ingest", "-"], begun.as_bytes()).exits(0);
    lab.write("j.jsonl", format!("{begun}{}\n{}\n", build("0.7.0"), terminal("2-b", "x", 1.0)));
    let summary = lab.ingest("j.jsonl");
    assert_eq!(summary["files"][0]["resumed_at"], begun.len());
    let total = &summary["total"];
    assert_eq!(
        (&total["builds"], &total["terminals"], &total["rejected"]),
        (&json!(1), &json!(1), &json!(0))
    );
    assert_eq!(lab.number("select count(*) from rejects"), 1, "the torn part, once");
}

#[test]
fn a_loss_is_also_said_of_a_file_that_was_read_under_another_of_its_names() {
    let lab = lab(&[terminal(RUN, "a", 1.0), terminal(RUN, "b", 2.0)]);
    symlink("j.jsonl", lab.path("link.jsonl")).unwrap();
    lab.write("j.jsonl", terminal(RUN, "c", 3.0) + "\n");
    lab.run(&["ingest", "link.jsonl"])
        .exits(0)
        .says("warning: link.jsonl: does not hold any more what was read of it up to byte ");
    lab.run(&["ingest", "j.jsonl"]).exits(0).says("j.jsonl (from byte 134): nothing new");
}

#[test]
fn a_new_file_with_the_number_and_the_old_name_of_a_removed_one_is_no_loss() {
    // Rotation that keeps one old file, on a file system that gives numbers again.
    for is_followed in [false, true] {
        let lab = Lab::on_disk();
        let row = |at: u64| terminal(&format!("{at}-a"), "x", 1.0) + "\n";
        let ingest = |at: u64| {
            if is_followed {
                let mut command = lab.command(&["-q", "ingest", "--follow", "j.jsonl.1", "j.jsonl"]);
                let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
                let started = std::time::Instant::now();
                while lab.number_or_none("select count(*) from terminals") != Some(at as i64) {
                    assert!(started.elapsed().as_secs() < 30, "it is read");
                    std::thread::yield_now();
                }
                let sent =
                    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
                assert!(sent.unwrap().success());
                assert!(child.wait().unwrap().success());
                let mut said = String::new();
                std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
                return said;
            }
            lab.run(&["ingest", "j.jsonl.1", "j.jsonl"]).stderr
        };
        lab.write("j.jsonl", row(1));
        ingest(1);
        let mut reused = 0;
        for at in 2..12 {
            let before = std::fs::metadata(lab.path("j.jsonl.1")).ok().map(|old| old.ino());
            let _ = std::fs::remove_file(lab.path("j.jsonl.1"));
            std::fs::rename(lab.path("j.jsonl"), lab.path("j.jsonl.1")).unwrap();
            let new = lab.write("j.jsonl", row(at));
            reused += u32::from(before == Some(std::fs::metadata(new).unwrap().ino()));
            let said = ingest(at);
            assert!(!said.contains("does not hold any more"), "{said}");
        }
        say(&format!("a_new_file_with_the_number: given again {reused} times of 10"));
    }
}

#[test]
fn a_build_row_whose_source_is_no_text_is_written_with_each_key_once() {
    let row = build("0.7.0").replace("\"sha256:00\"", "0.5").replace("\"0.7.0\"", "[7]");
    let lab = lab(&[row]);
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let exported = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
    for key in ["\"source\": 0.5", "\"version\": [7]", "\"git\": null"] {
        assert_eq!(exported.matches(key).count(), 1, "{exported}");
    }
    // Written twice, the key made it a line that nobody can read.
    lab.write("again.jsonl", exported);
    assert_eq!(lab.ingest("again.jsonl")["total"]["builds"], 1);
}

#[test]
fn the_time_of_an_event_that_no_float_equals_is_kept_as_it_is() {
    let event = |at: &str| {
        format!(
            "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"below_floor\", \"at\": {at}}}"
        )
    };
    // Rounded, they were one event, and not the one that was read.
    let lab = lab(&[event("9007199254740993"), event("9007199254740992")]);
    assert_eq!(lab.number("select count(*) from events"), 2);
    assert_eq!(lab.number("select count(*) from events where at is null"), 1);
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let exported = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
    assert!(exported.contains("9007199254740993"), "{exported}");
}

#[test]
fn issue_13_19_output_that_was_not_counted_is_null_and_said() {
    // Two of three ended without their output counted, in the minute from 0; the third, of a later one, had 7 tokens.
    let unknown = "\"ttft_s\": 0.5, \"duration_s\": 1.0, \"token_accounting\": \"unavailable\"";
    let known = "\"ttft_s\": 0.5, \"duration_s\": 1.0, \"output_len\": 7, \"decode_tokens_observed\": 9";
    let at =
        |row: String, arrived: f64| row.replace("\"arrived\": 5.25", &format!("\"arrived\": {arrived:?}"));
    let rows = [at(with("a", unknown), 1.0), at(with("b", unknown), 2.0)];
    let alone = lab(&rows);
    let answer = |lab: &Lab, query: &str| {
        lab.run(&["query", query, "--format", "json"])
            .exits(0)
            .says("token accounting is unavailable, so the output of 2 completed requests is unknown")
            .json()
    };
    let found = answer(&alone, "throughput");
    assert_eq!((&found[0]["arrived"], &found[0]["completed"]), (&2.into(), &2.into()));
    for column in ["output_tokens", "output_tokens_per_s"] {
        assert_eq!(found[0].get(column), Some(&Value::Null), "{found:#}");
    }
    let found = answer(&alone, "wasted-work");
    for column in ["tokens_observed", "tokens_returned", "tokens_discarded", "discarded_share"] {
        assert_eq!(found[0].get(column), Some(&Value::Null), "{found:#}");
    }
    assert_eq!(answer(&alone, "rates")[0].get("output_tokens_per_s"), Some(&Value::Null));
    // What is known is counted: 7 of 9 reached its client.
    let both = lab(&[&rows[..], &[at(with("c", known), 61.5)]].concat());
    let found = answer(&both, "throughput");
    assert_eq!(found[1]["output_tokens"], 7, "{found:#}");
    let found = answer(&both, "wasted-work");
    assert_eq!((&found[0]["tokens_observed"], &found[0]["tokens_returned"]), (&9.into(), &7.into()));
}

#[test]
fn prompts_of_a_run_that_knows_none_are_null_and_0_where_none_arrived() {
    let at =
        |row: String, arrived: f64| row.replace("\"arrived\": 5.25", &format!("\"arrived\": {arrived:?}"));
    let unknown = at(with("a", "\"duration_s\": 1.0, \"output_len\": 7"), 1.0);
    let answer =
        |lab: &Lab| lab.run(&["query", "throughput", "--bucket", "10", "--format", "json"]).exits(0).json();
    let found = answer(&lab(std::slice::from_ref(&unknown)));
    for column in ["input_tokens", "input_tokens_per_s"] {
        assert_eq!(found[0].get(column), Some(&Value::Null), "{found:#}");
    }
    assert_eq!(found[0]["output_tokens"], 7, "{found:#}");
    // One prompt of the run is known, and its bucket has it; in the one between nothing arrived.
    let known = at(with("b", "\"duration_s\": 1.0, \"input_len\": 30"), 21.0);
    let found = answer(&lab(&[unknown, known]));
    let inputs: Vec<&Value> = found.as_array().unwrap().iter().map(|row| &row["input_tokens"]).collect();
    assert_eq!(inputs, [0, 0, 30], "{found:#}");
}
