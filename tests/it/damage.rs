//! Damaged lines: what is kept of them, and what is said of the rest.

use std::collections::HashMap;
use std::process::Command;

use rusqlite::types::Value;
use serde_json::Value as Json;

use crate::harness::{Lab, build, fixture, gzip, has_program, real_journals, terminal};

const RUN: &str = "1795977936-56e568d1";

fn row(rid: &str) -> String {
    terminal(RUN, rid, 5.25)
}

/// The row with more members, and with some of its text replaced.
fn with(more: &str) -> String {
    row("b").replace("\"terminal\"", &format!("{more}, \"terminal\""))
}

/// What is in `rejects`: line, byte, length, kind, reason.
fn rejects(lab: &Lab) -> Vec<(i64, i64, i64, String, String)> {
    let rows = lab
        .rows("select line_no, byte_offset, len_bytes, kind, reason from rejects order by byte_offset, kind");
    rows.into_iter()
        .map(|row| match <[Value; 5]>::try_from(row) {
            Ok(
                [
                    Value::Integer(line),
                    Value::Integer(at),
                    Value::Integer(len),
                    Value::Text(kind),
                    Value::Text(reason),
                ],
            ) => (line, at, len, kind, reason),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn rids(lab: &Lab) -> Vec<String> {
    lab.rows("select rid from terminals order by source_id, byte_offset")
        .into_iter()
        .map(|row| match &row[0] {
            Value::Text(rid) => rid.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Puts the place of what stands behind the `@` of a reason for it: `(byte @01 of the line)`.
fn with_place(reason: &str, line: &[u8]) -> String {
    let Some((before, behind)) = reason.split_once('@') else {
        return reason.to_owned();
    };
    let (needle, after) = behind.split_once(" of the line").expect("a place is of the line");
    let at = line.windows(needle.len()).position(|window| window == needle.as_bytes());
    format!("{before}{} of the line{after}", at.expect("the line has it"))
}

#[test]
fn a_line_that_is_no_row_is_rejected_with_its_place_and_the_reason_and_stops_nothing() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            b"Traceback (most recent call last):".into(),
            "not JSON: 'T' where a value should stand (byte 0 of the line)",
        ),
        (b"\"just text\"".into(), "not a JSON object"),
        (format!("[{}]", row("b")).into(), "not a JSON object"),
        (b"{}".into(), "no schema: a row of a release before 0.2, or of no journal"),
        (b"{\"meta\": \"nope\"}".into(), "`meta` is not an object"),
        (
            b"{\"meta\": {\"package\": \"narwhal-inference\", \"version\": \"0.7.0\"}}".into(),
            "no schema: a build row of a release before 0.2, or of no journal",
        ),
        (
            format!("{{\"run\": \"{RUN}\", \"rid\": \"b\", \"arrived\": 1.0, \"attempts\": [\"d0\"]}}")
                .into(),
            "no schema: a row of a release before 0.2, or of no journal",
        ),
        (
            row("b").replace("narwhal.journal", "narwhal.lifecycle").into(),
            "foreign schema \"narwhal.lifecycle\"",
        ),
        (
            row("b").replace("\"schema_version\": 1", "\"schema_version\": 2").into(),
            "unknown schema_version 2",
        ),
        (row("b").replace("\"schema_version\": 1, ", "").into(), "no schema_version"),
        (
            row("b").replace(", \"terminal\": \"completed\"", "").into(),
            "neither a build, a terminal nor an event",
        ),
        (row("b").replace("\"completed\"", "7").into(), "terminal holds a number, not text"),
        (row("b").replace(", \"terminal\": \"completed\"", ", \"event\": 7").into(), "`event` is not text"),
        (
            row("b").replace("\"rid\": \"b\"", "\"rid\": null").into(),
            "no identity: `rid` is absent, null or not finite",
        ),
        (row("b").replace("5.25", "NaN").into(), "no identity: `arrived` is absent, null or not finite"),
        (
            row("b").replace(&format!("\"run\": \"{RUN}\", "), "").into(),
            "no identity: `run` is absent, null or not finite",
        ),
        (
            "{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"event\": \"x\", \"run\": 5}".into(),
            "no identity: `run` is not text",
        ),
        (with("\"input_len\": \"7\"").into(), "input_len holds text, not a number"),
        (with("\"input_len\": 7.5").into(), "input_len holds 7.5, not an integer of 64 bits signed"),
        (with("\"input_sized\": 1").into(), "input_sized holds a number, not true or false"),
        (with("\"queue_waits\": {\"decode\": \"x\"}").into(), "queue_waits.decode holds text, not a number"),
        (
            with("\"attempt_failures\": [{}, {\"at\": true}]").into(),
            "attempt_failures[1].at holds true or false, not a number",
        ),
        (with("\"attempt_failures\": [null]").into(), "attempt_failures[0] holds null, not an object"),
        (with("\"cached_tokens\": {\"p0\": \"x\"}").into(), "cached_tokens[\"p0\"] holds text, not a number"),
        (
            with("\"wanted_len\": 9223372036854775808").into(),
            "an integer beyond 64 bits signed (byte @9223 of the line)",
        ),
        (
            with("\"x\": {\"y\": -9223372036854775809}").into(),
            "an integer beyond 64 bits signed (byte @-9223 of the line)",
        ),
        (
            with("\"duration_s\": 9007199254740993").into(),
            "duration_s holds 9007199254740993, which no float equals",
        ),
        (with("\"rid\": \"c\"").into(), "the key \"rid\" twice in one object (byte @ \"c\" of the line)"),
        (
            with("\"x\": {\"y\": 1, \"y\": 1}").into(),
            "the key \"y\" twice in one object (byte @}, \"terminal of the line)",
        ),
        (
            with("\"x\": 1, \"x\": 1").into(),
            "the key \"x\" twice in one object (byte @, \"terminal of the line)",
        ),
        (with(&format!("\"x\": {}", deep(128))).into(), "nested deeper than 128 (byte @[]] of the line)"),
        (with("\"x\": \"a\u{0}b\"").into(), "a NUL byte (byte @\0 of the line)"),
        (vec![0; 64], "a NUL byte (byte 0 of the line)"),
        (
            with("\"x\": \"a\tb\"").into(),
            "not JSON: a control character (0x09) inside text (byte @\t of the line)",
        ),
        (with("\"x\": \"\\q\"").into(), "not JSON: an escape that there is not (byte @\\q of the line)"),
        (with("\"x\": 01").into(), "not JSON: a number with a leading zero (byte @01 of the line)"),
        (with("\"x\": .5").into(), "not JSON: '.' where a value should stand (byte @.5, of the line)"),
        (
            [row("b").replace("}", ", \"x\": \"").as_bytes(), b"\xff\xfe\"}"].concat(),
            "invalid UTF-8 (byte 141 of the line)",
        ),
        (
            row("b").into_bytes()[..100].to_vec(),
            "not JSON: ends where the end of the text (`\"`) should stand (byte 100 of the line)",
        ),
    ];
    for (line, reason) in cases {
        let reason = with_place(reason, &line);
        let shown = String::from_utf8_lossy(&line).into_owned();
        let lab = Lab::new();
        let before = format!("{}\n{}\n", build("0.7.0"), row("a"));
        let journal = [before.as_bytes(), &line, b"\n", row("z").as_bytes(), b"\n"].concat();
        lab.write("j.jsonl", &journal);
        let summary = lab.ingest("j.jsonl");
        assert_eq!(summary["total"]["rejected"], 1, "{shown}");
        assert_eq!(rids(&lab), ["a", "z"], "{shown}");
        let expected = (3, before.len() as i64, line.len() as i64, "rejected".to_owned(), reason);
        assert_eq!(rejects(&lab), [expected], "{shown}");
        assert_eq!(lab.rows("select raw from rejects"), [[Value::Blob(line)]], "{shown}");
    }
}

#[test]
fn what_is_unusual_and_allowed_is_a_row_as_it_stands() {
    let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
    for line in [
        format!("{}\r", row("b")),
        format!("  {}  ", row("b")),
        with("\"input_len\": 7.0"),
        with("\"input_len\": 9223372036854775807"),
        with("\"duration_s\": 3"),
        with("\"duration_s\": 1e3"),
        with(&format!("\"x\": {deep}")),
        with("\"x\": \"\\u0000\\ud83d\\ude00\""),
        with("\"terminal_x\": 1.5e308"),
        with("\"queue_waits\": null, \"attempt_failures\": null"),
        row("b").replace("\"schema_version\": 1", "\"schema_version\": 1.0"),
        row("b").replace("\"completed\"", "\"parked\""),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", format!("{line}\n"));
        let summary = lab.ingest("j.jsonl");
        assert_eq!(summary["total"]["terminals"], 1, "{line}");
        assert_eq!(rids(&lab), ["b"], "{line}");
        assert_eq!(rejects(&lab), [], "{line}");
    }
}

#[test]
fn what_has_no_number_or_no_character_is_mended_and_the_line_is_kept_beside_the_row() {
    for (line, column, expected, what) in [
        (with("\"duration_s\": NaN"), "duration_s", Value::Null, "NaN read as null (byte @NaN of the line)"),
        (
            with("\"duration_s\": Infinity"),
            "duration_s",
            Value::Null,
            "Infinity read as null (byte @Infinity of the line)",
        ),
        (
            with("\"duration_s\": -Infinity"),
            "duration_s",
            Value::Null,
            "-Infinity read as null (byte @-Infinity of the line)",
        ),
        (
            with("\"input_len\": 1e400"),
            "input_len",
            Value::Null,
            "a number beyond a float read as null (byte @1e400 of the line)",
        ),
        (
            with("\"client_rid\": \"a\\ud800b\""),
            "client_rid",
            Value::Text("a\u{FFFD}b".to_owned()),
            "a lone surrogate read as U+FFFD (byte @\\ud800 of the line)",
        ),
        (
            with("\"x\": [NaN, \"\\udc00\\ud83d\\ude00\"]"),
            "extra",
            Value::Text("{\"x\":[null,\"\u{FFFD}\u{1F600}\"]}".to_owned()),
            "NaN read as null (byte 116 of the line); a lone surrogate read as U+FFFD (byte 122 of the line)",
        ),
        (
            with("\"x\": [NaN, NaN, NaN, NaN, NaN]"),
            "duration_s",
            Value::Null,
            "NaN read as null (byte 116 of the line); NaN read as null (byte 121 of the line); \
             NaN read as null (byte 126 of the line); 2 more",
        ),
    ] {
        let lab = Lab::new();
        lab.write("j.jsonl", format!("{}\n{line}\n", build("0.7.0")));
        let summary = lab.ingest("j.jsonl");
        assert_eq!((&summary["total"]["repaired"], &summary["total"]["rejected"]), (&1.into(), &0.into()));
        assert_eq!(lab.rows(&format!("select {column} from terminals")), [[expected]], "{line}");
        let at = build("0.7.0").len() as i64 + 1;
        assert_eq!(
            rejects(&lab),
            [(2, at, line.len() as i64, "repaired".to_owned(), with_place(what, line.as_bytes()))]
        );
    }
}

#[test]
fn a_torn_line_glued_to_a_row_gives_up_the_row_wherever_it_was_torn() {
    let torn_rows = [
        with(
            "\"client_rid\": \"x \\\" {\\\"schema\\\": y\", \"input_len\": 12, \"error\": null, \"crossed\": true",
        ),
        build("0.7.0"),
        with("\"note\": \"é\""),
    ];
    for torn in torn_rows {
        for is_build in [false, true] {
            let whole = |cut: usize| {
                if is_build { build("0.7.0") } else { row(&format!("z{cut}")) }
            };
            let mut journal = format!("{}\n", row("a")).into_bytes();
            let mut expected = Vec::new();
            let mut expected_rids = vec!["a".to_owned()];
            for cut in 1..torn.len() {
                let (line, at, len) = (cut as i64 + 1, journal.len() as i64, whole(cut).len() as i64);
                expected.push((line, at, cut as i64, "rejected".to_owned()));
                expected.push((line, at + cut as i64, len, "repaired".to_owned()));
                expected_rids.extend((!is_build).then(|| format!("z{cut}")));
                journal.extend([&torn.as_bytes()[..cut], whole(cut).as_bytes(), b"\n"].concat());
            }
            let lab = Lab::new();
            lab.write("j.jsonl", journal);
            let summary = lab.ingest("j.jsonl");
            let builds = if is_build { torn.len() - 1 } else { 0 };
            assert_eq!(summary["total"]["builds"], builds, "{torn}");
            assert_eq!(rids(&lab), expected_rids, "{torn}");
            let found = rejects(&lab);
            let places: Vec<_> = found.iter().map(|r| (r.0, r.1, r.2, r.3.clone())).collect();
            assert_eq!(places, expected, "{torn}");
            for pair in found.chunks(2) {
                assert!(pair[0].4.ends_with("before a whole row on the same line"), "{}", pair[0].4);
                assert_eq!(pair[1].4, "row taken from behind a torn one", "{torn}");
            }
        }
    }
}

#[test]
fn whole_rows_on_one_line_are_all_taken() {
    let lab = Lab::new();
    let line = format!("{}{} {}", row("a"), build("0.7.0"), row("c"));
    lab.write("j.jsonl", format!("{line}\n"));
    let summary = lab.ingest("j.jsonl");
    assert_eq!((&summary["total"]["terminals"], &summary["total"]["builds"]), (&2.into(), &1.into()));
    let whole = (1, 0, line.len() as i64, "repaired".to_owned(), "3 rows on one line".to_owned());
    assert_eq!(rejects(&lab), [whole]);
    let offsets = lab.rows("select byte_offset from terminals order by byte_offset");
    let second = (row("a").len() + build("0.7.0").len() + 1) as i64;
    assert_eq!(offsets, [[Value::Integer(0)], [Value::Integer(second)]]);
}

#[test]
fn what_stands_behind_a_whole_row_is_rejected_alone() {
    let lab = Lab::new();
    lab.write("j.jsonl", format!("{}}}x\n", row("a")));
    lab.ingest("j.jsonl");
    assert_eq!(rids(&lab), ["a"]);
    let at = row("a").len() as i64;
    let reason = format!(
        "not JSON: '}}' where a value should stand (byte {at} of the line), after a whole row on the same line"
    );
    assert_eq!(rejects(&lab), [(1, at, 2, "rejected".to_owned(), reason)]);
}

#[test]
fn another_row_of_the_same_identity_is_a_conflict_and_the_same_row_a_duplicate() {
    let lab = Lab::new();
    let failure = "\"attempt_failures\": [{\"at\": 5.5, \"attempt\": 1}]";
    let first = with(&format!("\"input_len\": 3, \"x\": 1, {failure}"));
    let lines = [
        first.clone(),
        // Re-formatted and nulls added: the same.
        first.replace(": ", ":").replace("3,", "3.0, \"error\":null,"),
        first.replace("\"input_len\": 3", "\"input_len\": 4"),
        first.replace("\"x\": 1", "\"x\": 2"),
        first.replace("\"attempt\": 1", "\"attempt\": 2"),
        first.replace("5.5", "null"),
        first.replace(failure, "\"attempt_failures\": []"),
        first.replace("\"completed\"", "\"failed\""),
    ];
    lab.write("j.jsonl", lines.join("\n") + "\n");
    let summary = lab.ingest("j.jsonl");
    let total = &summary["total"];
    assert_eq!(
        (&total["terminals"], &total["duplicates"], &total["rejected"]),
        (&1.into(), &1.into(), &6.into())
    );
    for (at, (line, _, len, kind, reason)) in rejects(&lab).into_iter().enumerate() {
        assert_eq!((line, kind.as_str()), (at as i64 + 3, "rejected"));
        assert_eq!(len, lines[at + 2].len() as i64);
        assert_eq!(
            reason,
            "conflict: another row of the same run, rid and arrived was stored before, and stays"
        );
    }
    assert_eq!(lab.number("select input_len from terminals"), 3);
}

#[test]
fn an_event_written_otherwise_is_the_same_event() {
    let lab = Lab::new();
    let event = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \
         \"event\": \"engine_probe\", \"at\": 7.5, \"iid\": \"p0\", \"kind\": \"k\", \"n\": {{\"a\": 2.0, \"b\": null}}}}"
    );
    let again = format!(
        "{{\"at\":7.50,\"n\":{{\"a\":2}},\"kind\":\"k\",\"iid\":\"p0\",\"gone\":null,\
         \"event\":\"engine_probe\",\"run\":\"{RUN}\",\"schema_version\":1,\"schema\":\"narwhal.journal\"}}"
    );
    let other = event.replace("\"k\"", "\"l\"");
    lab.write("j.jsonl", format!("{event}\n{again}\n{other}\n{event}\n"));
    let summary = lab.ingest("j.jsonl");
    let total = &summary["total"];
    assert_eq!((&total["events"], &total["duplicates"]), (&2.into(), &2.into()));
}

#[test]
fn what_is_unknown_is_kept_and_named_once() {
    let lab = Lab::new();
    let event = format!(
        "{{\"schema\": \"narwhal.journal\", \"schema_version\": 1, \"run\": \"{RUN}\", \"event\": \"warp\", \"at\": \"noon\"}}"
    );
    let odd = event.replace("warp", "engine_ejected").replace("\"noon\"", "1.5, \"cause\": 7, \"iid\": [1]");
    let lines = [
        with(
            "\"x\": [1, {\"b\": 1, \"a\": 2}], \"upstream_seconds\": {\"prefill\": 1.5, \"transfer\": 0.25}",
        ),
        row("c").replace("\"completed\"", "\"parked\""),
        event,
        odd,
    ];
    lab.write("j.jsonl", lines.join("\n") + "\n");
    let run = lab
        .run(&["ingest", "j.jsonl"])
        .exits(0)
        .says("note: unknown field \"x\" in 1 row, kept in `extra`")
        .says("note: unknown field \"upstream_seconds.transfer\" in 1 row, kept in `extra`")
        .says("note: unknown terminal \"parked\" in 1 row, kept")
        .says("note: unknown event \"warp\" in 1 row, kept")
        .says("note: \"engine_ejected.cause\" holds another type than documented in 1 row, kept in `detail`");
    assert_eq!(run.stdout, "");
    assert_eq!(lab.number("select count(*) from rejects"), 0);
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(
        lab.rows("select upstream_prefill_s, extra from terminals where rid = 'b'"),
        [[Value::Real(1.5), text("{\"upstream_seconds\":{\"transfer\":0.25},\"x\":[1,{\"a\":2,\"b\":1}]}")]]
    );
    assert_eq!(
        lab.rows("select event, at, clock, iid, cause, detail from events order by event_id"),
        [
            [text("warp"), Value::Null, text("unknown"), Value::Null, Value::Null, text("{\"at\":\"noon\"}")],
            [
                text("engine_ejected"),
                Value::Real(1.5),
                text("monotonic"),
                Value::Null,
                Value::Null,
                text("{\"cause\":7,\"iid\":[1]}")
            ],
        ]
    );
    lab.run(&["export", "journal", "--dir", "out"]).exits(0);
    let exported = std::fs::read_to_string(lab.path("out/journal.jsonl")).unwrap();
    let values =
        |text: &str| -> Vec<Json> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    assert_eq!(values(&exported), values(&lines.join("\n")));
}

#[test]
fn strict_ends_at_the_first_bad_line_and_keeps_nothing_of_its_file() {
    let lab = Lab::new();
    lab.write("good.jsonl", row("a") + "\n");
    lab.write("bad.jsonl", format!("{}\n{}\nnonsense\n", row("b"), row("c")));
    lab.write("never.jsonl", row("d") + "\n");
    lab.run(&["ingest", "--strict", "good.jsonl", "bad.jsonl", "never.jsonl"])
        .exits(3)
        .says(&format!("error: bad.jsonl:3:{}: not JSON: 'n' where a value", 2 * row("b").len() + 2))
        .says("\"nonsense\"");
    assert_eq!(rids(&lab), ["a"]);
    assert_eq!(lab.number("select count(*) from sources"), 1);
    assert_eq!(lab.number("select count(*) from rejects"), 0);
    lab.run(&["ingest", "bad.jsonl"]).exits(0);
    assert_eq!(rids(&lab), ["a", "b", "c"]);
}

/// What the generator did to a line, and what must become of it: (rows stored of it, rejected,
/// repaired, words of the reason).
fn expectation(kind: &str) -> (usize, usize, usize, &'static str) {
    match kind {
        "crlf" | "unknown_field" | "unknown_nested_field" | "unknown_terminal" | "long_line" => (1, 0, 0, ""),
        "unknown_event" | "blank" | "spaces" | "duplicate" | "duplicate_later" => (0, 0, 0, ""),
        "nan" => (1, 0, 1, "NaN read as null"),
        "infinity" => (1, 0, 1, "Infinity read as null"),
        "huge_float" => (1, 0, 1, "beyond a float read as null"),
        "lone_surrogate" => (1, 0, 1, "lone surrogate read as U+FFFD"),
        "glued" => (2, 0, 1, "2 rows on one line"),
        "torn_glued" => (1, 1, 1, "before a whole row on the same line"),
        "invalid_utf8" => (0, 1, 0, "invalid UTF-8"),
        "nul_in_string" | "nul_block" => (0, 1, 0, "a NUL byte"),
        "wrong_type" => (0, 1, 0, "input_len holds text, not a number"),
        "schema_version_2" => (0, 1, 0, "unknown schema_version 2"),
        "foreign_schema" => (0, 1, 0, "foreign schema \"narwhal.lifecycle\""),
        "deep_nesting" => (0, 1, 0, "nested deeper than 128"),
        "huge_int" => (0, 1, 0, "an integer beyond 64 bits signed"),
        "duplicate_key" => (0, 1, 0, "the key \"terminal\" twice in one object"),
        "truncated_middle" | "not_json" => (0, 1, 0, "not JSON"),
        "top_level_array" | "bare_string" => (0, 1, 0, "not a JSON object"),
        "meta_not_object" => (0, 1, 0, "`meta` is not an object"),
        "empty_object" => (0, 1, 0, "no schema"),
        other => panic!("the generator has a kind of damage that this test does not know: {other}"),
    }
}

#[test]
fn every_kind_of_damage_that_the_generator_does_is_told_with_its_place_and_no_good_line_is_lost() {
    const TEST: &str = "damage of the generator";
    let Some(shared) = real_journals(TEST) else {
        return;
    };
    if !has_program(TEST, "python3") {
        return;
    }
    for release in ["0.7.0", "0.2.1"] {
        let lab = Lab::new();
        let status = Command::new("python3")
            .arg(shared.join("tools/journalgen.py"))
            .args(["--rows", "4000", "--runs", "3", "--seed", "11", "--hostile", "3", "--release", release])
            .args(["--interleave", "--manifest"])
            .arg(lab.path("manifest.json"))
            .arg("--out")
            .arg(lab.path("j.jsonl"))
            .status()
            .unwrap();
        assert!(status.success());
        check_damage(&lab);
    }
}

fn check_damage(lab: &Lab) {
    let journal = std::fs::read(lab.path("j.jsonl")).unwrap();
    let summary = lab.ingest("j.jsonl");
    let total = |key: &str| summary["total"][key].as_u64().unwrap() as usize;

    let mut starts = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', &journal).map(|at| at + 1));
    let manifest: Json = serde_json::from_slice(&std::fs::read(lab.path("manifest.json")).unwrap()).unwrap();
    let mut by_line: HashMap<i64, Vec<(i64, i64, String, String)>> = HashMap::new();
    for (line, at, len, kind, reason) in rejects(lab) {
        by_line.entry(line).or_default().push((at, len, kind, reason));
    }
    let mut stored_of_damaged = 0;
    let (mut rejected, mut repaired, mut lines_damaged) = (0, 0, 0);
    for injected in manifest["injected"].as_array().unwrap() {
        let kind = injected["kind"].as_str().unwrap();
        let line = injected["line"].as_i64().unwrap();
        let bytes = injected["bytes"].as_i64().unwrap();
        if kind == "torn_last_line" {
            assert_eq!(total("pending_bytes"), bytes as usize);
            continue;
        }
        lines_damaged += 1;
        let (rows, expect_rejected, expect_repaired, words) = expectation(kind);
        let found = by_line.remove(&line).unwrap_or_default();
        let count = |what: &str| found.iter().filter(|reject| reject.2 == what).count();
        assert_eq!(
            (count("rejected"), count("repaired")),
            (expect_rejected, expect_repaired),
            "{kind}: {found:?}"
        );
        (rejected, repaired) = (rejected + expect_rejected, repaired + expect_repaired);
        if let Some((at, len, _, reason)) = found.first() {
            assert!(reason.contains(words), "{kind}: {reason}");
            assert_eq!(*at as usize, starts[line as usize - 1], "{kind}");
            assert_eq!(
                found.iter().map(|reject| reject.1).sum::<i64>(),
                bytes,
                "{kind}: every byte is told, {len}"
            );
        }
        for rid in ["rid", "also_rid"].iter().filter_map(|key| injected[*key].as_str()) {
            let stored = lab.number(&format!("select count(*) from terminals where rid = '{rid}'"));
            assert_eq!(stored, i64::from(rows > 0), "{kind}: {rid}");
        }
        if let Some(torn) = injected["torn_rid"].as_str() {
            assert_eq!(lab.number(&format!("select count(*) from terminals where rid = '{torn}'")), 0);
        }
        stored_of_damaged += rows;
    }
    assert_eq!(by_line, HashMap::new(), "only damaged lines are told");
    assert_eq!((total("rejected"), total("repaired")), (rejected, repaired));

    // Every other line is a good one, counted by plain JSON.
    let damaged: std::collections::HashSet<i64> = manifest["injected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|injected| injected["line"].as_i64().unwrap())
        .collect();
    let mut good = 0;
    for (number, line) in (1..).zip(journal.split(|byte| *byte == b'\n')) {
        if !damaged.contains(&number) && !line.is_empty() {
            let value: Json = serde_json::from_slice(line).unwrap();
            good += usize::from(value.get("terminal").is_some());
        }
    }
    assert_eq!(total("terminals"), good + stored_of_damaged);
    assert_eq!(lab.number("select count(*) from terminals") as usize, good + stored_of_damaged);
    assert_eq!(total("lines"), starts.len() - 1, "{lines_damaged} damaged lines");
    lab.run(&["verify"]).exits(0);
}

#[test]
fn a_row_that_was_mended_and_is_a_conflict_is_told_as_both() {
    let lab = Lab::new();
    let first = with("\"duration_s\": 1.5");
    let second = with("\"duration_s\": NaN");
    lab.write("j.jsonl", format!("{first}\n{second}\n"));
    let summary = lab.ingest("j.jsonl");
    assert_eq!((&summary["total"]["rejected"], &summary["total"]["repaired"]), (&1.into(), &1.into()));
    let (at, len) = (first.len() as i64 + 1, second.len() as i64);
    let found: Vec<_> = rejects(&lab).into_iter().map(|r| (r.0, r.1, r.2, r.3)).collect();
    assert_eq!(found, [(2, at, len, "rejected".to_owned()), (2, at, len, "repaired".to_owned())]);
}

#[test]
fn issue_13_23_a_byte_order_mark_is_no_bad_line() {
    let lab = Lab::new();
    let marked = fixture("given/byte-order-mark.jsonl");
    assert!(marked.starts_with(b"\xef\xbb\xbf"));
    lab.write("j.jsonl", &marked);
    lab.run(&["ingest", "--strict", "j.jsonl"]).exits(0);
    let stored = |lab: &Lab| {
        ["builds", "terminals", "events", "rejects"]
            .map(|table| lab.number(&format!("select count(*) from {table}")))
    };
    let plain_lab = Lab::new();
    plain_lab.write("j.jsonl", fixture("given/five.jsonl"));
    plain_lab.ingest("j.jsonl");
    let five = stored(&plain_lab);
    assert_eq!(five.iter().sum::<i64>(), 5);
    assert_eq!(stored(&lab), five);
    lab.run(&["ingest", "--strict", "j.jsonl"]).exits(0).says("nothing new");
    lab.run(&["verify"]).exits(0);
    // Before each of joined copies, behind a pipe, packed, before a blank line; and a bad line stays one.
    let joined = Lab::new();
    let plain = fixture("given/five.jsonl");
    joined.write("j.jsonl", [&plain[..], &marked, b"\xef\xbb\xbf\r\n"].concat());
    joined.run(&["ingest", "--strict", "j.jsonl"]).exits(0);
    assert_eq!(stored(&joined)[1..], five[1..]);
    let packed = Lab::new();
    packed.run_with_stdin(&["ingest", "--strict", "-"], &gzip(&marked)).exits(0);
    assert_eq!(stored(&packed), five);
    let bad = Lab::new();
    bad.write("j.jsonl", b"\xef\xbb\xbfnot json\n");
    bad.run(&["ingest", "--strict", "j.jsonl"]).exits(3);
    lab.run(&["redact", "j.jsonl", "-o", "out.jsonl"]).exits(0).says("5 rows, 0 repaired, 0 parts left out");
}
