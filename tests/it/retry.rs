//! What an older, weaker parser would have rejected, read again. Expected rows are those of a lab that read
//! the same journal at once.
//!
//! Such a database is made by reading the journal with lines spoilt, byte by byte as long, and then putting
//! the good bytes in the place of the spoilt ones. Blank lines before and behind keep the fingerprints equal.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Instant;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use serde_json::json;

use super::forget::{assert_sound, assert_stored, stored, text, three_runs};
use super::harness::{Lab, say};
use super::journals::{
    Dice, build, event, journal, retried_terminal, rid, run_name, short_terminal, wall_event,
};
use super::kills::kill_after;

/// A journal with blank lines before and behind it.
fn padded(lines: &[String]) -> Vec<u8> {
    let blank = "\n".repeat(5000).into_bytes();
    [blank.clone(), journal(lines), blank].concat()
}

/// A lab that read the journal while it could not read some lines of it; the file holds them as they are.
fn rejected(lines: &[String], spoils: impl Fn(usize) -> bool) -> Lab {
    let lab = Lab::new();
    let spoilt: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if spoils(at) { line.replace('{', "#") } else { line.clone() })
        .collect();
    lab.write("j.jsonl", padded(&spoilt));
    lab.run(&["-q", "ingest", "j.jsonl"]);
    lab.write("j.jsonl", padded(lines));
    let database = writable(&lab);
    let mut offset = 5000;
    for (at, line) in lines.iter().enumerate() {
        if spoils(at) {
            let kept = &line.as_bytes()[..line.len().min(64 << 10)];
            let changed = database
                .execute(
                    "update rejects set raw = ?2, reason = 'too new' where byte_offset = ?1",
                    params![offset, kept],
                )
                .unwrap();
            assert_eq!(changed, 1, "{line}");
        }
        offset += line.len() as i64 + 1;
    }
    lab
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn writable(lab: &Lab) -> Connection {
    Connection::open(lab.path("narwhal.db")).unwrap()
}

fn at_once(lines: &[String]) -> Lab {
    let lab = Lab::new();
    lab.write("j.jsonl", padded(lines));
    lab.ingest("j.jsonl");
    lab
}

#[track_caller]
fn retry(lab: &Lab) -> serde_json::Value {
    lab.run(&["rejects", "retry", "--format", "json"]).exits(0).json()
}

/// Without lifecycle events.
fn lines() -> Vec<String> {
    let mut lines = all_lines();
    lines.retain(|line| !line.contains("engine_lifecycle"));
    lines
}

fn all_lines() -> Vec<String> {
    let [a, b] = [1, 2].map(run_name);
    let mut lines = three_runs();
    lines.extend([
        format!("{}{}", short_terminal(&a, 21), short_terminal(&b, 21)),
        short_terminal(&b, 22).replace("0.25", "NaN"),
        "no row at all".to_owned(),
        // Other rows of the same identity.
        short_terminal(&a, 1).replace("completed", "failed"),
    ]);
    lines
}

#[test]
fn rows_that_can_be_read_now_are_as_if_they_had_been_read_at_once() {
    let (mut dice, seed) = Dice::of("rows_that_can_be_read_now");
    let lines = all_lines();
    let whole = at_once(&lines);
    let expected = stored(&whole);
    let all = lines.len();
    // Not garbage, and neither row of the conflict: the one that is read first stays.
    let readable = |at: usize| at < all - 2 && at != 1;
    for round in 0..all + 12 {
        let spoilt: Vec<bool> = match round {
            _ if round < all => (0..all).map(|at| at == round).collect(),
            _ if round == all => vec![true; all],
            _ => (0..all).map(|_| dice.below(2) == 0).collect(),
        };
        let what = format!("NARWHAL_JQ_SEED={seed}, {spoilt:?}");
        let lab = rejected(&lines, |at| spoilt[at] && readable(at));
        let again = retry(&lab);
        assert_eq!(again["unreadable"], json!([]), "{what}");
        assert_stored(&lab, &expected, &what);
        assert_sound(&lab);
        // Nothing is left that could be read, and the file goes on from its offset.
        let again = retry(&lab);
        assert_eq!(
            (&again["terminals"], &again["events"], &again["builds"]),
            (&json!(0), &json!(0), &json!(0)),
            "{what}"
        );
        let mut grown = fs::read(lab.path("j.jsonl")).unwrap();
        grown.extend(journal(&[build("0.9.0"), short_terminal(&run_name(9), 1)]));
        lab.write("j.jsonl", grown);
        let counts = lab.ingest("j.jsonl");
        assert_eq!(counts["total"]["duplicates"], 0, "{what}");
    }
}

#[test]
fn a_retry_tells_what_became_of_each_entry() {
    let lines = lines();
    // Line 7 of three_runs without its lifecycle events: a torn row before a build row.
    let torn = lines
        .iter()
        .position(|line| {
            line.contains("}{\"meta\"")
                || line.matches("{\"meta\"").count() == 1 && line.starts_with("{\"schema")
        })
        .unwrap();
    let twice = lines.len() - 4;
    let lab = rejected(&lines, |at| [3, torn, twice, lines.len() - 2].contains(&at));
    lab.run(&["rejects", "retry"])
        .exits(0)
        // The conflict, the garbage and the torn part.
        .says("note: 5 retried, 1 build, 3 terminals, 2 repaired, 3 still rejected\n");
    let left = lab.rows("select kind, reason from rejects order by byte_offset, kind");
    let reasons: Vec<&str> =
        left.iter().map(|row| if let Value::Text(reason) = &row[1] { reason.as_str() } else { "" }).collect();
    assert!(reasons[0].ends_with(", before a whole row on the same line"), "{reasons:?}");
    assert_eq!(reasons[1..3], ["row taken from behind a torn one", "2 rows on one line"]);
    // The reason of an older version gives way to today's.
    assert!(reasons[4].starts_with("not JSON: 'n'"), "{reasons:?}");
    assert!(reasons[5].starts_with("conflict: "), "{reasons:?}");
    let before = fs::read(lab.path("narwhal.db")).unwrap();
    lab.run(&["rejects", "list", "--format", "json"]).exits(0);
    assert_eq!(fs::read(lab.path("narwhal.db")).unwrap(), before);
    lab.run(&["rejects", "retry", "--format", "csv"]).exits(2).says("rejects retry has a summary only");
    lab.run(&["rejects", "retry", "-o", "x"]).exits(2);
    let clean = at_once(&lines[..3]);
    let before = fs::read(clean.path("narwhal.db")).unwrap();
    clean.run(&["rejects", "retry"]).exits(0).says("0 retried");
    assert_eq!(fs::read(clean.path("narwhal.db")).unwrap(), before);
    Lab::new().run(&["rejects", "retry"]).exits(1).says("no database");
}

#[test]
fn a_huge_line_is_read_from_its_file_or_it_is_said_why_not() {
    let client = "c".repeat(100_000);
    let huge = short_terminal(&run_name(1), 1)
        .replace("\"terminal\"", &format!("\"client_rid\": \"{client}\", \"terminal\""));
    let lines = [build("0.7.0"), huge, short_terminal(&run_name(1), 2)];
    let expected = stored(&at_once(&lines));
    let lab = rejected(&lines, |at| at == 1);
    assert_eq!(
        lab.rows("select length(raw), len_bytes > length(raw) from rejects"),
        [[Value::Integer(65536), Value::Integer(1)]]
    );
    let place = format!("{}:5002:{}", lab.path("j.jsonl").display(), 5001 + lines[0].len());
    let untouched = stored(&lab);
    let whole = padded(&lines);
    let spoil = |spoil: &dyn Fn()| {
        spoil();
        let said = lab.run(&["rejects", "retry"]).exits(0).says("1 retried, 1 could not be read again");
        assert_stored(&lab, &untouched, "not read again");
        said
    };
    let gone = spoil(&|| fs::remove_file(lab.path("j.jsonl")).unwrap());
    gone.says(&format!("warning: {place}: cannot be read again: only its first part was kept, and the file cannot be read: No such file"));
    spoil(&|| drop(lab.write("j.jsonl", &whole[..6000]))).says("the file holds other content now");
    // The same fingerprint, another line.
    let other = String::from_utf8(whole.clone()).unwrap().replace(&rid(1), &rid(7));
    spoil(&|| drop(lab.write("j.jsonl", &other))).says("the file holds something else there now");
    spoil(&|| drop(lab.write("j.jsonl", gzip(other.as_bytes()))))
        .says("the file holds something else there now");
    let json = retry(&lab);
    assert_eq!(json["unreadable"][0]["place"], json!(place));
    writable(&lab).execute("update sources set path = '-'", []).unwrap();
    spoil(&|| {}).says("it came from standard input");
    let path = lab.path("j.jsonl");
    writable(&lab).execute("update sources set path = ?1", [path.to_str().unwrap()]).unwrap();
    lab.write("j.jsonl", &whole);
    lab.run(&["rejects", "retry"]).exits(0).says("1 retried, 1 terminal\n");
    assert_stored(&lab, &expected, "read from the file");
    assert_sound(&lab);
    // Packed since, and two of them.
    let huge = |number: u64| lines[1].replace(&rid(1), &rid(number));
    let lines = [lines[0].clone(), huge(1), huge(3), lines[2].clone(), huge(4)];
    let lab = rejected(&lines, |at| [1, 2, 4].contains(&at));
    fs::rename(lab.path("j.jsonl"), lab.path("plain")).unwrap();
    lab.write("j.jsonl", gzip(&padded(&lines)));
    lab.run(&["rejects", "retry"]).exits(0).says("3 retried, 3 terminals\n");
    assert_stored(&lab, &stored(&at_once(&lines)), "read from an archive");
}

#[test]
fn a_line_that_is_longer_than_any_stays_as_it_is() {
    let lab = Lab::new();
    let long = format!("{{\"schema\": \"{}\"}}\n", "x".repeat((16 << 20) + 1));
    lab.write("j.jsonl", format!("{}\n{long}", short_terminal(&run_name(1), 1)));
    lab.ingest("j.jsonl");
    let before = stored(&lab);
    lab.run(&["rejects", "retry"]).exits(0).says("1 retried, 1 still rejected");
    assert_stored(&lab, &before, "oversized");
}

#[test]
fn late_rows_may_be_duplicates_conflicts_or_of_forgotten_runs() {
    let [a, b] = [1, 2].map(run_name);
    let lines = [
        build("0.7.0"),
        short_terminal(&a, 1),
        short_terminal(&b, 2),
        short_terminal(&a, 3),
        short_terminal(&a, 3).replace("completed", "failed"),
        short_terminal(&a, 1),
    ];
    let lab = rejected(&lines, |at| (1..=3).contains(&at));
    lab.write("other.jsonl", journal(&[short_terminal(&b, 9)]));
    lab.ingest("other.jsonl");
    lab.run(&["forget", "--run", &b]).exits(0);
    // Line 6 was stored before line 2, line 5 before line 4.
    lab.run(&["rejects", "retry"])
        .exits(0)
        .says("note: 3 retried, 1 duplicate, 1 of forgotten runs, 1 still rejected\n");
    let left = lab.rows("select line_no, substr(reason, 1, 8) from rejects order by line_no");
    assert_eq!(left, [[Value::Integer(5003), text("too new")], [Value::Integer(5004), text("conflict")]]);
    assert_eq!(
        lab.rows("select terminal from terminals order by 1"),
        [[text("completed")], [text("failed")]]
    );
    assert_sound(&lab);
    // It comes back with the reading of its journal, and its entry goes with the next retry.
    lab.run(&["forget", "--undo", &b]).exits(0);
    lab.run(&["ingest", "j.jsonl", "other.jsonl"]).exits(0);
    assert_eq!(lab.number("select count(*) from terminals"), 4);
    lab.run(&["rejects", "retry"]).exits(0).says("note: 2 retried, 1 duplicate, 1 still rejected\n");
    assert_sound(&lab);
}

#[test]
fn late_rows_leave_the_bounds_of_a_clock_true() {
    let run = run_name(1);
    // Wall clock minus monotonic clock is 1000: rows written at 2443.26 and so on, an event between two each.
    let mut lines = vec![build("0.7.0")];
    for number in 1..=6 {
        lines.push(short_terminal(&run, number));
        let written = 2443.0 + number as f64 / 100.0 + 0.000125 + 0.25;
        lines.push(
            wall_event(&run, number)
                .replace(&format!("{}.5", 1_795_979_161 + number), &format!("{}", written + 1000.005)),
        );
    }
    lines.push(short_terminal(&run, 7));
    for spoilt in 1..lines.len() {
        let lab = rejected(&lines, |at| at == spoilt);
        retry(&lab);
        assert_eq!(lab.number("select count(*) from terminals"), 7);
        let holds = "select wall_low_s <= 1000 and wall_high_s >= 1000 and wall_error_s < 0.02 from runs";
        assert_eq!(
            lab.number(holds),
            1,
            "{spoilt}: {:?}",
            lab.rows("select wall_low_s, wall_high_s from runs")
        );
        // What comes next is held against the last row of the file, not against the late one.
        let mut grown = fs::read(lab.path("j.jsonl")).unwrap();
        grown.extend(journal(&[
            wall_event(&run, 9).replace(&format!("{}.5", 1_795_979_161 + 9), "3443.4"),
            short_terminal(&run, 20),
        ]));
        lab.write("j.jsonl", grown);
        lab.ingest("j.jsonl");
        assert_eq!(lab.number(holds), 1, "{spoilt}, grown");
        assert_sound(&lab);
    }
}

#[test]
fn a_retry_killed_at_any_moment_and_run_again_equals_an_undisturbed_one() {
    const KILLS: u32 = 12;
    let test = "a_retry_killed_at_any_moment";
    let (mut dice, seed) = Dice::of(test);
    let mut lines = Vec::new();
    for number in 0..3000 {
        let run = run_name(number / 300);
        if number % 300 == 0 {
            lines.push(build(&format!("0.{}.0", number / 300)));
        }
        lines.push(match number % 3 {
            0 => retried_terminal(&run, number),
            1 => event(&run, number),
            _ => short_terminal(&run, number),
        });
    }
    let expected = stored(&at_once(&lines));
    let spoilt = rejected(&lines, |at| at % 2 == 0);
    let copy = || {
        let lab = Lab::new();
        fs::copy(spoilt.path("narwhal.db"), lab.path("narwhal.db")).unwrap();
        lab
    };
    let spawn = |lab: &Lab| {
        lab.command(&["-q", "rejects", "retry"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let started = Instant::now();
    assert!(spawn(&copy()).wait().unwrap().success());
    let taken = started.elapsed();
    let (mut killed, mut between_batches) = (0, 0);
    for kill in 0..KILLS {
        let lab = copy();
        let moment = taken.mul_f64(1.05 * (f64::from(kill) + dice.share()) / f64::from(KILLS));
        killed += u32::from(kill_after(spawn(&lab), moment));
        let what = format!("NARWHAL_JQ_SEED={seed}, kill {kill} after {moment:?} of {taken:?}");
        let left = lab.number("select count(*) from rejects");
        between_batches += u32::from(left > 0 && left < 1505);
        assert_eq!(retry(&lab)["retried"], left, "{what}");
        assert_stored(&lab, &expected, &what);
        assert_sound(&lab);
    }
    say(&format!("{test}: {killed} of {KILLS} killed before the end, {between_batches} between two batches"));
    assert!(killed > KILLS / 4 && between_batches > 0, "NARWHAL_JQ_SEED={seed}: {killed}, {between_batches}");
}
