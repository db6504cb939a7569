//! What holds for all inputs: any cut, any growth, any interleaving, any bytes.
//!
//! Where thousands of ingests are needed they go through the library; the same property is then
//! sampled through the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use narwhal_jq::ingest::{Options, Summary, Watcher, ingest};
use narwhal_jq::journal::inputs::Input;
use proptest::prelude::*;
use rusqlite::types::Value;

use super::harness::{Contents, Lab, assert_contents, assert_same_contents, assert_timeless_contents};
use super::journals::{
    arrived, build, event, journal, retried_terminal, rid, run_name, short_terminal, terminal, wall_event,
    with_everything,
};

/// So many cases, or as many as `PROPTEST_CASES` says. No file of past failures: the input that is
/// printed is all that is needed.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let count = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { count };
    ProptestConfig { cases: count, failure_persistence: None, ..default }
}

struct Unwatched;

impl Watcher for Unwatched {
    fn skipped(&mut self, _bytes: u64) {}

    fn advanced(&mut self, _: u64) {}
    fn warn(&mut self, message: &str) {
        panic!("warned: {message}");
    }
}

/// Ingests a file of the lab without a process of its own. Warnings are failures.
pub(crate) fn ingest_here(lab: &Lab, name: &str) -> Summary {
    let options = Options { is_final: false, is_strict: false, busy_timeout: Duration::from_secs(30) };
    let summary = ingest(
        &lab.path("narwhal.db"),
        &[Input::File(lab.path(name))],
        &options,
        &AtomicBool::new(false),
        &mut Unwatched,
    )
    .unwrap_or_else(|error| panic!("{error:#}"));
    assert!(summary.failures.is_empty(), "{:?}", summary.failures);
    summary
}

/// What the database holds when the bytes are ingested at once.
fn contents_at_once(bytes: &[u8]) -> Contents {
    let lab = Lab::new();
    lab.write("a.jsonl", bytes);
    ingest_here(&lab, "a.jsonl");
    lab.contents()
}

/// As [`contents_at_once`], but for what the time of reading says.
fn timeless_at_once(bytes: &[u8]) -> Contents {
    let lab = Lab::new();
    lab.write("a.jsonl", bytes);
    ingest_here(&lab, "a.jsonl");
    lab.timeless_contents()
}

/// Where the whole lines of `bytes` end.
fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

fn append(lab: &Lab, name: &str, bytes: &[u8]) {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(lab.path(name))
        .and_then(|mut file| file.write_all(bytes))
        .expect("the folder can be written");
}

#[test]
fn the_journal_with_everything_has_everything() {
    let lab = Lab::new();
    lab.write("a.jsonl", with_everything());
    let total = &lab.ingest("a.jsonl")["total"];
    let counts = ["lines", "builds", "terminals", "attempt_failures", "events", "rejected", "repaired"]
        .map(|name| total[name].as_u64().expect("a count"));
    // Repaired: the build behind the torn row, and the NaN.
    assert_eq!(counts, [9, 2, 4, 1, 2, 1, 2]);
}

#[test]
fn a_journal_cut_at_any_byte_and_then_whole_equals_the_whole() {
    let whole = with_everything();
    let expected = contents_at_once(&whole);
    for cut in 0..=whole.len() {
        let lab = Lab::new();
        lab.write("a.jsonl", &whole[..cut]);
        let summary = ingest_here(&lab, "a.jsonl");
        let read = end_of_lines(&whole[..cut]);
        assert_eq!(summary.total.bytes, read as u64, "cut at {cut}");
        assert_eq!(summary.total.pending_bytes, (cut - read) as u64, "cut at {cut}");
        lab.write("a.jsonl", &whole);
        let summary = ingest_here(&lab, "a.jsonl");
        assert_eq!(summary.files[0].resumed_at, read as u64, "cut at {cut}");
        assert_eq!(summary.total.bytes, (whole.len() - read) as u64, "cut at {cut}");
        assert_contents(&lab, &expected, &format!("cut at {cut}"));
    }
}

#[test]
fn a_journal_cut_and_then_whole_equals_the_whole_through_the_program() {
    let whole = with_everything();
    let expected = contents_at_once(&whole);
    // 37 is no divisor of anything here: the cuts fall everywhere in lines of every kind.
    for cut in (0..=whole.len()).step_by(37) {
        let lab = Lab::new();
        lab.write("a.jsonl", &whole[..cut]);
        let first = lab.ingest("a.jsonl");
        let read = end_of_lines(&whole[..cut]);
        assert_eq!(first["total"]["pending_bytes"], cut - read, "cut at {cut}");
        lab.write("a.jsonl", &whole);
        let second = lab.ingest("a.jsonl");
        assert_eq!(second["files"][0]["resumed_at"], read, "cut at {cut}");
        for count in ["bytes", "lines", "builds", "terminals", "events", "rejected", "repaired"] {
            let sum = |summary: &serde_json::Value| summary["total"][count].as_u64().expect("a count");
            let at_once = match count {
                "bytes" => whole.len() as u64,
                "lines" => 9,
                "terminals" => 4,
                "rejected" => 1,
                _ => 2,
            };
            assert_eq!(sum(&first) + sum(&second), at_once, "cut at {cut}: {count}");
        }
        assert_contents(&lab, &expected, &format!("cut at {cut}"));
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_journal_that_grows_in_any_pieces_equals_the_whole(
        cuts in prop::collection::btree_set(0..with_everything().len(), 1..12)
    ) {
        let whole = with_everything();
        let lab = Lab::new();
        let mut from = 0;
        for to in cuts.iter().copied().chain([whole.len()]) {
            append(&lab, "a.jsonl", &whole[from..to]);
            let summary = ingest_here(&lab, "a.jsonl");
            prop_assert_eq!(summary.files[0].resumed_at, end_of_lines(&whole[..from]) as u64);
            prop_assert_eq!(summary.total.duplicates, 0);
            from = to;
        }
        assert_timeless_contents(&lab, &timeless_at_once(&whole), &format!("{cuts:?}"));
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_journal_that_comes_in_any_pieces_through_a_pipe_equals_the_whole(
        cuts in prop::collection::btree_set(0..with_everything().len(), 1..6)
    ) {
        let whole = with_everything();
        let piped = Lab::new();
        let mut command = piped.command(&["-q", "ingest", "-"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the program can be started");
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        let mut from = 0;
        for to in cuts.iter().copied().chain([whole.len()]) {
            pipe.write_all(&whole[from..to]).expect("the program reads");
            from = to;
        }
        drop(pipe);
        prop_assert!(child.wait().expect("the program ends").success());
        assert_timeless_contents(&piped, &timeless_at_once(&whole), &format!("{cuts:?}"));
    }
}

/// A line of the interleaving tests.
#[derive(Debug, Clone, PartialEq)]
enum Written {
    Build(&'static str),
    Row { run: u64, number: u64, kind: u8 },
}

impl Written {
    fn line(&self) -> String {
        match *self {
            Self::Build(version) => build(version),
            Self::Row { run: of, number, kind } => match kind {
                0 => short_terminal(&run_name(of), number),
                1 => retried_terminal(&run_name(of), number),
                2 => event(&run_name(of), number),
                _ => wall_event(&run_name(of), number),
            },
        }
    }
}

/// A process: the build row it writes, if that is not lost, and the kinds of its rows.
type Process = (Option<&'static str>, Vec<u8>);

fn any_process() -> impl Strategy<Value = Process> {
    let build = prop_oneof![
        1 => Just(None),
        5 => prop_oneof![Just("0.6.0"), Just("0.7.0"), Just("0.7.0")].prop_map(Some),
    ];
    (build, prop::collection::vec(0_u8..4, 1..5))
}

/// What a writer and its restarts write: one process after the other.
fn written_by(processes: &[Process], first_run: u64) -> Vec<Written> {
    let mut lines = Vec::new();
    for (run, (build, kinds)) in (first_run..).zip(processes) {
        lines.extend(build.map(Written::Build));
        lines.extend((1..).zip(kinds).map(|(number, kind)| Written::Row { run, number, kind: *kind }));
    }
    lines
}

/// docs/semantics.md, "Which build wrote a run", in the order of one source: the certainty of each run, and
/// its build's version.
fn builds_by_the_rule(lines: &[Written]) -> BTreeMap<String, (&'static str, Option<&'static str>)> {
    let mut found = BTreeMap::new();
    let mut kept: Vec<&'static str> = Vec::new();
    let mut ambiguous = 0;
    for line in lines {
        match *line {
            Written::Build(version) => kept.push(version),
            Written::Row { run: of, .. } if !found.contains_key(&run_name(of)) => {
                let build = if kept.is_empty() {
                    ("missing", None)
                } else if kept.iter().all(|build| *build == kept[0]) {
                    ("exact", kept.pop())
                } else {
                    ambiguous += 1;
                    if ambiguous == kept.len() {
                        kept.clear();
                        ambiguous = 0;
                    }
                    ("ambiguous", None)
                };
                found.insert(run_name(of), build);
            }
            Written::Row { .. } => {}
        }
    }
    found
}

#[test]
fn the_rule_of_this_test_is_the_one_of_the_definitions() {
    use Written::Build;
    let row = |run| Written::Row { run, number: 1, kind: 0 };
    let of = |lines: &[Written]| builds_by_the_rule(lines).into_values().collect::<Vec<_>>();
    let (old, new) = (Build("0.6.0"), Build("0.7.0"));
    assert_eq!(of(&[row(1), new.clone()]), [("missing", None)]);
    let equal = [new.clone(), new.clone(), row(1), row(2), row(3)];
    let exact = ("exact", Some("0.7.0"));
    assert_eq!(of(&equal), [exact, exact, ("missing", None)]);
    // Both kept rows are used up by two ambiguous runs; then a third has none.
    let differ = [old, new.clone(), row(1), row(2), row(3), new, row(4)];
    assert_eq!(of(&differ), [("ambiguous", None), ("ambiguous", None), ("missing", None), exact]);
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn of_two_writers_interleaved_every_row_is_there_and_builds_are_by_the_rule(
        first in prop::collection::vec(any_process(), 1..5),
        second in prop::collection::vec(any_process(), 1..5),
        turns in prop::collection::vec(any::<bool>(), 50),
        stop in 0_usize..40,
    ) {
        let mut writers = [written_by(&first, 1).into_iter().peekable(), written_by(&second, 101).into_iter().peekable()];
        let mut lines = Vec::new();
        for turn in turns.iter().cycle() {
            match writers[usize::from(*turn)].next().or_else(|| writers[usize::from(!*turn)].next()) {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        let text: Vec<String> = lines.iter().map(Written::line).collect();

        let lab = Lab::new();
        append(&lab, "a.jsonl", &journal(&text[..stop.min(text.len())]));
        ingest_here(&lab, "a.jsonl");
        append(&lab, "a.jsonl", &journal(&text[stop.min(text.len())..]));
        ingest_here(&lab, "a.jsonl");

        let mut places = BTreeSet::new();
        let mut offset = 0;
        for (line, text) in lines.iter().zip(&text) {
            if let Written::Row { run: of, kind, .. } = line {
                places.insert((run_name(*of), if *kind < 2 { "terminal" } else { "event" }.to_owned(), offset));
            }
            offset += text.len() as i64 + 1;
        }
        let stored = lab
            .rows(
                "select run, 'terminal', byte_offset from terminals join runs using (run_id)
                 union all select run, 'event', byte_offset from events join runs using (run_id)",
            )
            .into_iter()
            .map(|row| match row.as_slice() {
                [Value::Text(run), Value::Text(kind), Value::Integer(at)] => (run.clone(), kind.clone(), *at),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>();
        prop_assert_eq!(stored.len(), places.len());
        prop_assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), places);

        let by_the_rule = builds_by_the_rule(&lines);
        let stored: BTreeMap<_, _> = lab
            .rows("select run, build_certainty, version from runs left join builds using (build_id)")
            .into_iter()
            .map(|row| match row.as_slice() {
                [Value::Text(run), Value::Text(certainty), Value::Text(version)] => (run.clone(), (certainty.clone(), Some(version.clone()))),
                [Value::Text(run), Value::Text(certainty), Value::Null] => (run.clone(), (certainty.clone(), None)),
                other => panic!("{other:?}"),
            })
            .collect();
        let exact = by_the_rule.values().filter(|(certainty, _)| *certainty == "exact").count();
        let expected: BTreeMap<_, _> = by_the_rule
            .into_iter()
            .map(|(run, (certainty, version))| (run, (certainty.to_owned(), version.map(str::to_owned))))
            .collect();
        prop_assert_eq!(stored, expected);
        // Every exact run has taken a build row of its own.
        prop_assert_eq!(lab.number("select count(distinct build_id) from runs"), exact as i64);
        let lost = first.iter().chain(&second).filter(|(build, _)| build.is_none()).count();
        prop_assert_eq!(
            lab.number("select count(*) from builds"),
            (first.len() + second.len() - lost) as i64
        );
    }
}

/// The summary of an ingest that found nothing new in its files.
#[track_caller]
fn assert_nothing_new(summary: &serde_json::Value, resumed_at: u64, what: &str) {
    for file in summary["files"].as_array().expect("a list of files") {
        assert_eq!(file["resumed_at"], resumed_at, "{what}");
    }
    for (count, value) in summary["total"].as_object().expect("the counts") {
        assert_eq!(value, 0, "{what}: {count}");
    }
}

#[test]
fn ingesting_again_under_any_name_changes_no_byte_of_the_database() {
    let lab = Lab::new();
    let whole = with_everything();
    lab.write("a.jsonl", &whole);
    lab.ingest("a.jsonl");
    let database = lab.path("narwhal.db");
    let look = || {
        let metadata = fs::metadata(&database).expect("there is a database");
        (fs::read(&database).expect("it can be read"), metadata.modified().expect("a time"))
    };
    let before = look();

    fs::create_dir(lab.path("folder")).expect("the folder can be made");
    for copy in ["copy.jsonl", "folder/a.jsonl", "folder/a.jsonl.1", "folder/a-2026-11-29.jsonl"] {
        fs::copy(lab.path("a.jsonl"), lab.path(copy)).expect("the file can be copied");
    }
    std::os::unix::fs::symlink("a.jsonl", lab.path("link.jsonl")).expect("a link can be made");
    fs::hard_link(lab.path("a.jsonl"), lab.path("hard.jsonl")).expect("a link can be made");
    for name in ["a.jsonl", "./a.jsonl", "copy.jsonl", "link.jsonl", "hard.jsonl", "folder"] {
        let summary = lab.ingest(name);
        let files = if name == "folder" { 3 } else { 1 };
        assert_eq!(summary["files"].as_array().map(Vec::len), Some(files), "{name}");
        assert_nothing_new(&summary, whole.len() as u64, name);
        assert!(look() == before, "{name}: the database changed");
    }
    assert_eq!(lab.number("select count(*) from sources"), 1);
}

#[test]
fn ingesting_a_file_that_was_read_before_in_the_same_call_adds_nothing() {
    let (twice, once) = (Lab::new(), Lab::new());
    for lab in [&twice, &once] {
        lab.write("a.jsonl", with_everything());
    }
    twice.write("b.jsonl", with_everything());
    twice.run(&["ingest", "a.jsonl", "a.jsonl", "b.jsonl"]).exits(0);
    once.ingest("a.jsonl");
    assert_same_contents(&twice, &once, "the same content three times in one call");
}

#[test]
fn standard_input_that_was_read_before_adds_nothing() {
    // Longer than the 4 KiB that tell one source from another, too.
    let long: Vec<String> = (0..60).map(|number| terminal(&run_name(1), number)).collect();
    for whole in [with_everything(), journal(&long)] {
        let lab = Lab::new();
        let read = ["ingest", "-", "--format", "json"];
        let half = end_of_lines(&whole[..whole.len() / 2]);
        lab.run_with_stdin(&read, &whole[..half]).exits(0);
        let grown = lab.run_with_stdin(&read, &whole).exits(0).json();
        assert_eq!(grown["files"][0]["resumed_at"], half);
        let before = lab.contents();
        for _ in 0..2 {
            let again = lab.run_with_stdin(&read, &whole).exits(0).json();
            assert_nothing_new(&again, whole.len() as u64, "standard input again");
            assert_contents(&lab, &before, "standard input again");
        }
        lab.write("a.jsonl", &whole);
        assert_nothing_new(&lab.ingest("a.jsonl"), whole.len() as u64, "as a file");
        assert_contents(&lab, &before, "as a file");
        assert_timeless_contents(&lab, &timeless_at_once(&whole), "at once");
    }
}

/// Each source's file name and offset, and the requests that came from it.
fn sources(lab: &Lab) -> Vec<(String, i64, Vec<String>)> {
    let found = lab.rows(
        "select s.path, s.offset_bytes,
                (select group_concat(rid) from (
                    select rid from terminals as t where t.source_id = s.source_id order by byte_offset))
         from sources as s order by s.source_id",
    );
    let found = found.into_iter().map(|row| match row.as_slice() {
        [Value::Text(path), Value::Integer(offset), rids] => {
            let rids = match rids {
                Value::Text(rids) => rids.split(',').map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            let name = path.rsplit('/').next().unwrap_or_default();
            (name.to_owned(), *offset, rids)
        }
        other => panic!("{other:?}"),
    });
    found.collect()
}

fn source(name: &str, bytes: &[u8], rids: &[u64]) -> (String, i64, Vec<String>) {
    (name.to_owned(), bytes.len() as i64, rids.iter().map(|number| rid(*number)).collect())
}

#[test]
fn two_journals_that_begin_with_the_same_build_row_are_two_sources() {
    let lab = Lab::new();
    let start = journal(&[build("0.7.0")]);
    for name in ["a.jsonl", "b.jsonl"] {
        lab.write(name, &start);
        assert_eq!(lab.ingest(name)["total"]["builds"], 1);
        assert_nothing_new(&lab.ingest(name), start.len() as u64, name);
    }
    assert_eq!(sources(&lab), [source("a.jsonl", &start, &[]), source("b.jsonl", &start, &[])]);

    // They grow together and by turns, the second further than the first.
    let mut files = BTreeMap::from([("a.jsonl", start.clone()), ("b.jsonl", start)]);
    let mut grow = |name: &'static str, lines: &[String]| {
        let bytes = files.get_mut(name).expect("a file");
        bytes.extend(journal(lines));
        lab.write(name, &*bytes);
        bytes.clone()
    };
    let b = grow("b.jsonl", &[short_terminal(&run_name(2), 21), terminal(&run_name(2), 22)]);
    let a = grow("a.jsonl", &[short_terminal(&run_name(1), 11)]);
    lab.run(&["ingest", "b.jsonl", "a.jsonl"]).exits(0);
    assert_eq!(sources(&lab), [source("a.jsonl", &a, &[11]), source("b.jsonl", &b, &[21, 22])]);
    let a = grow(
        "a.jsonl",
        &[terminal(&run_name(1), 12), terminal(&run_name(1), 13), terminal(&run_name(1), 14)],
    );
    lab.run(&["ingest", "a.jsonl"]).exits(0);
    let b = grow("b.jsonl", &[short_terminal(&run_name(2), 23)]);
    lab.run(&["ingest", "b.jsonl"]).exits(0);
    assert_eq!(
        sources(&lab),
        [source("a.jsonl", &a, &[11, 12, 13, 14]), source("b.jsonl", &b, &[21, 22, 23])]
    );
    assert_eq!(
        lab.rows("select run, build_certainty, build_id from runs order by run"),
        [
            vec![Value::Text(run_name(1)), Value::Text("exact".into()), Value::Integer(1)],
            vec![Value::Text(run_name(2)), Value::Text("exact".into()), Value::Integer(2)],
        ]
    );
}

#[test]
fn a_journal_that_was_renamed_goes_on() {
    for lines in [vec![build("0.7.0")], vec![build("0.7.0"), short_terminal(&run_name(1), 1)]] {
        let lab = Lab::new();
        let mut bytes = journal(&lines);
        lab.write("a.jsonl", &bytes);
        lab.ingest("a.jsonl");
        let read = bytes.len();
        fs::rename(lab.path("a.jsonl"), lab.path("a.jsonl.1")).expect("a file can be renamed");
        bytes.extend(journal(&[short_terminal(&run_name(1), 2)]));
        lab.write("a.jsonl.1", &bytes);
        // The next journal of the same build, in its old place.
        let next = journal(&[build("0.7.0"), short_terminal(&run_name(2), 3)]);
        lab.write("a.jsonl", &next);

        let summary = lab.run(&["ingest", ".", "--format", "json"]).exits(0).json();
        let resumed: Vec<_> = summary["files"]
            .as_array()
            .expect("files")
            .iter()
            .map(|file| (&file["path"], &file["resumed_at"]))
            .collect();
        assert_eq!(
            resumed,
            [
                (&serde_json::json!("./a.jsonl.1"), &serde_json::json!(read)),
                (&serde_json::json!("./a.jsonl"), &serde_json::json!(0)),
            ]
        );
        let first: &[u64] = if lines.len() == 1 { &[2] } else { &[1, 2] };
        assert_eq!(sources(&lab), [source("a.jsonl.1", &bytes, first), source("a.jsonl", &next, &[3])]);
        assert_eq!(lab.number("select count(*) from runs where build_certainty = 'exact'"), 2);
    }
}

#[test]
fn a_file_that_was_truncated_and_rewritten_is_a_new_source_and_that_is_said() {
    let old = journal(&[build("0.7.0"), short_terminal(&run_name(1), 1), short_terminal(&run_name(1), 2)]);
    let row = |number| short_terminal(&run_name(2), number);
    // The new content is shorter, as long, longer; with a build row and without.
    for (new, rids) in [
        (journal(&[row(3)]), &[3][..]),
        (journal(&[build("0.7.0"), row(3)]), &[3]),
        (journal(&[build("0.7.0"), row(3), row(4)]), &[3, 4]),
        (journal(&[build("0.7.0"), row(3), row(4), row(5)]), &[3, 4, 5]),
    ] {
        let lab = Lab::new();
        lab.write("a.jsonl", &old);
        lab.ingest("a.jsonl");
        lab.write("a.jsonl", &new);
        let run = lab.run(&["ingest", "a.jsonl", "--format", "json"]).exits(0);
        let warning = format!(
            "warning: a.jsonl: does not hold any more what was read of it up to byte {} (truncated or \
             rewritten): read from the start, as a new source; what stood after that byte is lost, unless a \
             copy of it is read\n",
            old.len()
        );
        assert_eq!(run.stderr, warning, "{} bytes", new.len());
        assert_eq!(run.json()["files"][0]["resumed_at"], 0);
        assert_eq!(sources(&lab), [source("a.jsonl", &old, &[1, 2]), source("a.jsonl", &new, rids)]);
        let again = lab.run(&["ingest", "a.jsonl", "--format", "json"]).exits(0);
        assert_eq!(again.stderr, "", "said once");
        assert_nothing_new(&again.json(), new.len() as u64, "again");
    }
}

#[test]
fn after_copy_and_truncate_the_copy_is_the_old_source_and_the_file_a_new_one() {
    let lab = Lab::new();
    let mut old = journal(&[build("0.7.0"), short_terminal(&run_name(1), 1)]);
    lab.write("a.jsonl", &old);
    lab.ingest("a.jsonl");
    // Rows that came after the last ingest are in the copy only.
    old.extend(journal(&[short_terminal(&run_name(1), 2)]));
    lab.write("a.jsonl", &old);
    fs::copy(lab.path("a.jsonl"), lab.path("a.jsonl.1")).expect("the file can be copied");
    // The same process goes on, so there is no build row.
    let new = journal(&[short_terminal(&run_name(1), 3)]);
    lab.write("a.jsonl", &new);

    let summary = lab.run(&["ingest", ".", "--format", "json"]).exits(0).json();
    assert_eq!(summary["total"]["terminals"], 2);
    assert_eq!(summary["total"]["duplicates"], 0);
    assert_eq!(sources(&lab), [source("a.jsonl.1", &old, &[1, 2]), source("a.jsonl", &new, &[3])]);
    assert_eq!(
        lab.rows("select run, build_certainty from runs"),
        [[Value::Text(run_name(1)), Value::Text("exact".into())]]
    );
}

#[test]
fn a_copy_that_went_on_otherwise_is_a_source_of_its_own() {
    // More than the 4 KiB at the start that tell most sources apart are the same in both.
    let mut lines = vec![build("0.7.0")];
    lines.extend((1..=8).map(|number| terminal(&run_name(1), number)));
    let with = |numbers: &[u64]| {
        let rows = numbers.iter().map(|number| short_terminal(&run_name(1), *number));
        journal(&lines.iter().cloned().chain(rows).collect::<Vec<_>>())
    };
    let (a, b) = (with(&[11, 12]), with(&[21, 22, 23]));
    let lab = Lab::new();
    lab.write("a.jsonl", &a);
    lab.write("b.jsonl", &b);
    lab.ingest("a.jsonl");
    let summary = lab.ingest("b.jsonl");
    assert_eq!(summary["files"][0]["resumed_at"], 0);
    let counts = ["builds", "terminals", "duplicates", "rejected"];
    assert_eq!(counts.map(|count| summary["total"][count].as_u64()), [1, 3, 8, 0].map(Some));
    assert_eq!(
        sources(&lab),
        [source("a.jsonl", &a, &[1, 2, 3, 4, 5, 6, 7, 8, 11, 12]), source("b.jsonl", &b, &[21, 22, 23])]
    );
}

#[test]
fn a_negative_duration_does_not_move_the_zero_of_its_run() {
    let lab = Lab::new();
    let row = short_terminal(&run_name(1), 1);
    lab.write("a.jsonl", journal(&[row.replace("0.25", "-0.25")]));
    lab.ingest("a.jsonl");
    let arrived = Value::Real(2443.010125);
    assert_eq!(lab.rows("select first_s, last_s from runs"), [[arrived.clone(), arrived]]);
    lab.run(&["verify"]).exits(0);
}

/// Bytes that JSON, journals and lines are made of, and some that they are not.
fn any_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        6 => prop::sample::select(&b"{}[]\":,\\-+.eE0123456789 \tnulltrue\r\n\n"[..]),
        1 => any::<u8>(),
    ]
}

/// A change of a journal: at a place (a share of its length), bytes removed and bytes put there.
type Edit = (f64, usize, Vec<u8>);

fn any_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        // One byte for another, one more, one less, and a piece torn out.
        (0.0..1.0, Just(1), prop::collection::vec(any_byte(), 1)),
        (0.0..1.0, Just(0), prop::collection::vec(any_byte(), 1)),
        (0.0..1.0, Just(1), Just(Vec::new())),
        (0.0..1.0, 0_usize..300, prop::collection::vec(any_byte(), 0..4)),
    ]
}

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, removed, put) in edits {
        let at = (at * bytes.len() as f64) as usize;
        let to = (at + removed).min(bytes.len());
        bytes.splice(at..to, put.iter().copied());
    }
    bytes
}

/// Lines of `bytes` with their offsets; the last one without a newline only when it counts.
fn lines_of(bytes: &[u8], is_final: bool) -> Vec<(usize, &[u8])> {
    let mut lines = Vec::new();
    let mut from = 0;
    for at in memchr::memchr_iter(b'\n', bytes) {
        lines.push((from, &bytes[from..at]));
        from = at + 1;
    }
    if is_final && from < bytes.len() {
        lines.push((from, &bytes[from..]));
    }
    lines
}

/// Checks of `verify` that are about what the journal says, which damage can make untrue.
const CLAIMS: [&str; 2] = ["a request arrived once", "legs equal attempts and decode_attempts"];

/// Ingests the bytes and asserts that nothing of them has vanished.
fn assert_every_line_is_accounted_for(bytes: &[u8], is_final: bool) {
    let lab = Lab::new();
    lab.write("a.jsonl", bytes);
    let mut arguments = vec!["ingest", "a.jsonl", "--format", "json"];
    arguments.extend(is_final.then_some("--final"));
    let run = lab.run(&arguments);
    let total = &run.json()["total"];
    let count = |name: &str| total[name].as_u64().expect("a count") as usize;
    let lines = lines_of(bytes, is_final);
    if run.stderr.contains("cannot read") {
        // What is no text, and has no row, is left as a whole.
        let is_text =
            std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(|c| c.is_control() && c != '\n'));
        let is_row = |line: &[u8]| {
            serde_json::from_slice::<serde_json::Value>(line)
                .is_ok_and(|row| row["schema"] == "narwhal.journal")
        };
        assert!(!is_text && !lines.iter().any(|(_, line)| is_row(line)), "{}", run.stderr);
        assert_eq!(count("lines"), 0);
        run.exits(1);
        assert!(!lab.path("narwhal.db").exists(), "nothing of it was kept");
        return;
    }
    assert_eq!(count("lines"), lines.len());
    let rows = count("builds") + count("terminals") + count("events") + count("duplicates");
    let exit = if rows == 0 && !lines.is_empty() { 1 } else { 0 };
    let run = run.exits(exit);
    if lines.is_empty() {
        assert!(!lab.path("narwhal.db").exists(), "there was nothing to keep");
        return;
    }

    let tables = ["builds", "terminals", "events", "rejects"].map(|table| {
        let places = lab.rows(&format!("select byte_offset from {table} order by 1"));
        let places = places.into_iter().map(|row| match row[0] {
            Value::Integer(at) => at as usize,
            _ => panic!("an offset is an integer"),
        });
        places.collect::<BTreeSet<_>>()
    });
    for (table, places) in ["builds", "terminals", "events"].iter().zip(&tables) {
        assert_eq!(places.len(), count(table), "{table}");
    }
    // Packed bytes among lines are one reject, however many line feeds are in them.
    let packed = lab
        .rows("select byte_offset, byte_offset + len_bytes from rejects where reason like 'packed bytes%'");
    let is_packed = |offset: usize| {
        packed.iter().any(|span| match span[..] {
            [Value::Integer(from), Value::Integer(to)] => (from as usize..to as usize).contains(&offset),
            _ => panic!("a place is an integer"),
        })
    };
    let mut unplaced = 0;
    for (offset, line) in lines.iter().filter(|(offset, _)| !is_packed(*offset)) {
        let is_blank = line.iter().all(|byte| b" \t\r".contains(byte));
        let range = *offset..offset + line.len().max(1);
        if tables.iter().any(|places| places.range(range.clone()).next().is_some()) {
            assert!(!is_blank, "a blank line at {offset} gave something");
        } else if !is_blank {
            // Nothing was kept of it, so the same row must be there already.
            unplaced += 1;
            let shown = String::from_utf8_lossy(line);
            let row: serde_json::Value = serde_json::from_slice(line)
                .unwrap_or_else(|error| panic!("line at {offset} has vanished: {error}: {shown}"));
            let found = match row.get("event") {
                Some(event) => lab.database().query_row(
                    "select count(*) from events join runs using (run_id) where run = ?1 and event = ?2",
                    rusqlite::params![row["run"].as_str(), event.as_str()],
                    |row| row.get::<_, i64>(0),
                ),
                None => lab.database().query_row(
                    "select count(*) from terminals join runs using (run_id)
                     where run = ?1 and rid = ?2 and arrived = ?3",
                    rusqlite::params![row["run"].as_str(), row["rid"].as_str(), row["arrived"].as_f64()],
                    |row| row.get::<_, i64>(0),
                ),
            };
            assert!(found.is_ok_and(|found| found > 0), "line at {offset} has vanished: {shown}");
        }
    }
    assert!(unplaced <= count("duplicates"), "{unplaced} lines without a row, {total}");

    // A whole row that damage did not reach is there, whatever happened around it.
    let known: BTreeMap<Vec<u8>, u64> = (0..4)
        .flat_map(|number| {
            let of = run_name(1);
            [short_terminal(&of, number), terminal(&of, number), retried_terminal(&of, number)]
                .map(|line| (line.into_bytes(), number))
        })
        .collect();
    for number in lines.iter().filter_map(|(_, line)| known.get(*line)) {
        let sql = format!(
            "select count(*) from terminals join runs using (run_id)
             where run = '{}' and rid = '{}' and arrived = {}",
            run_name(1),
            rid(*number),
            arrived(*number)
        );
        assert_eq!(lab.number(&sql), 1, "request {number}");
    }

    let verify = lab.run(&["verify"]);
    for line in verify.stdout.lines().filter(|line| line.starts_with("BROKEN")) {
        assert!(CLAIMS.iter().any(|claim| line.ends_with(claim)), "{}\n{}", verify.stdout, run.stderr);
    }
    assert!(verify.stdout.contains("ok      the file is whole\n"), "{}", verify.stdout);
    // The unfinished line waits still; all other counts are 0.
    let mut again = lab.run(&arguments).exits(exit).json();
    let read = if is_final { bytes.len() } else { end_of_lines(bytes) };
    assert_eq!(again["total"]["pending_bytes"].take(), bytes.len() - read);
    again["total"]["pending_bytes"] = 0.into();
    assert_nothing_new(&again, read as u64, "again");
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn any_bytes_end_as_rows_or_rejects(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..400),
            prop::collection::vec(any_byte(), 0..400),
        ],
        is_final in any::<bool>(),
    ) {
        assert_every_line_is_accounted_for(&bytes, is_final);
    }

    #[test]
    fn a_journal_with_any_damage_ends_as_rows_or_rejects(
        edits in prop::collection::vec(any_edit(), 1..12),
        is_final in any::<bool>(),
    ) {
        let of = run_name(1);
        let whole = journal(&[
            build("0.7.0"),
            short_terminal(&of, 0),
            terminal(&of, 1),
            event(&of, 1),
            retried_terminal(&of, 2),
            short_terminal(&of, 0),
            event(&of, 1),
            build("0.7.0"),
            wall_event(&run_name(2), 1),
            short_terminal(&of, 3),
            retried_terminal(&of, 2),
        ]);
        assert_every_line_is_accounted_for(&edited(&whole, &edits), is_final);
    }
}
