//! What operators do to a log, one case each: nothing is read twice, nothing is left out, and what was
//! destroyed unread is said.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

use super::harness::{Lab, Run, gzip, zstd};
use super::journals::{build, event, journal, retried_terminal, run_name, short_terminal};

const J: &str = "logs/j.jsonl";

/// A lab with a folder for the journals.
fn lab() -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("logs")).expect("the folder can be written");
    lab
}

/// A process's build row, then so many rows of its run; the first has an attempt failure, the last is an
/// event.
pub(super) fn rows(run: u64, numbers: std::ops::RangeInclusive<u64>) -> Vec<u8> {
    let name = run_name(run);
    let mut lines = Vec::new();
    for number in numbers.clone() {
        if number == 1 {
            lines.extend([build("0.7.0"), retried_terminal(&name, number)]);
        } else if number == *numbers.end() {
            lines.push(event(&name, number));
        } else {
            lines.push(short_terminal(&name, number));
        }
    }
    journal(&lines)
}

pub(super) fn append(lab: &Lab, name: &str, bytes: &[u8]) {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(lab.path(name))
        .and_then(|mut file| file.write_all(bytes))
        .expect("the folder can be written");
}

pub(super) fn rename(lab: &Lab, from: &str, to: &str) {
    fs::rename(lab.path(from), lab.path(to)).expect("the file is there");
}

fn copy(lab: &Lab, from: &str, to: &str) {
    fs::copy(lab.path(from), lab.path(to)).expect("the file is there");
}

fn ingest(lab: &Lab, path: &str) -> Run {
    lab.run(&["ingest", path, "--format", "json"]).exits(0)
}

/// What a file of a summary gave: where it went on, lines, builds, terminals, events, duplicates.
type Gave = (u64, [u64; 5]);

const NOTHING: [u64; 5] = [0; 5];

fn gave(file: &Json) -> Gave {
    let count = |name: &str| file[name].as_u64().expect("a count");
    let counts = ["lines", "builds", "terminals", "events", "duplicates"].map(count);
    (count("resumed_at"), counts)
}

/// Ingests the folder: what each file gave, by its name. Nothing is warned of.
#[track_caller]
fn ingest_folder(lab: &Lab) -> Vec<(String, Gave)> {
    let run = ingest(lab, "logs");
    assert_eq!(run.stderr, "");
    by_name(&run)
}

fn by_name(run: &Run) -> Vec<(String, Gave)> {
    let summary = run.json();
    let files = summary["files"].as_array().expect("files").iter();
    let name = |file: &Json| file["path"].as_str().expect("a path").rsplit('/').next().map(str::to_owned);
    files.map(|file| (name(file).expect("a name"), gave(file))).collect()
}

#[track_caller]
fn assert_gave(found: &[(String, Gave)], expected: &[(&str, u64, [u64; 5])]) {
    let found: Vec<_> = found.iter().map(|(name, (from, counts))| (name.as_str(), *from, *counts)).collect();
    assert_eq!(found, expected);
}

/// Terminals and events in the database.
#[track_caller]
fn assert_holds(lab: &Lab, terminals: i64, events: i64) {
    let count = |table: &str| lab.number(&format!("select count(*) from {table}"));
    assert_eq!((count("terminals"), count("events")), (terminals, events));
    lab.run(&["verify"]).exits(0);
}

fn lost(name: &str, offset: usize) -> String {
    format!(
        "warning: {name}: does not hold any more what was read of it up to byte {offset} (truncated or rewritten): \
         read from the start, as a new source; what stood after that byte is lost, unless a copy of it is read\n"
    )
}

/// A lab with a journal of 4 terminals and an event, all read; and its length.
fn with_a_read_journal() -> (Lab, u64) {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    let len = rows(1, 1..=5).len() as u64;
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", 0, [6, 1, 4, 1, 0])]);
    (lab, len)
}

#[test]
fn renamed_and_created_anew_both_go_on() {
    let (lab, len) = with_a_read_journal();
    append(&lab, J, &rows(1, 6..=7));
    rename(&lab, J, "logs/j.jsonl.1");
    lab.write(J, rows(2, 1..=3));
    let found = ingest_folder(&lab);
    assert_gave(&found, &[("j.jsonl.1", len, [2, 0, 1, 1, 0]), ("j.jsonl", 0, [4, 1, 2, 1, 0])]);
    // The router writes to the renamed file until it opens the new one.
    append(&lab, "logs/j.jsonl.1", &rows(1, 8..=9));
    append(&lab, J, &rows(2, 4..=4));
    let (first, second) = ((len as usize + rows(1, 6..=7).len()) as u64, rows(2, 1..=3).len() as u64);
    let found = ingest_folder(&lab);
    assert_gave(&found, &[("j.jsonl.1", first, [2, 0, 1, 1, 0]), ("j.jsonl", second, [1, 0, 0, 1, 0])]);
    assert_holds(&lab, 8, 5);
    assert_eq!(lab.number("select count(*) from sources"), 2);
}

#[test]
fn a_file_that_was_only_renamed_is_known_by_its_new_name() {
    let (lab, offset) = with_a_read_journal();
    rename(&lab, J, "logs/j.jsonl.1");
    assert!(lab.run(&["status"]).exits(0).stdout.contains("not there"));
    let summary = lab.run(&["ingest", "logs"]).exits(0);
    assert!(summary.stderr.is_empty() || !summary.stderr.contains("lost"), "{}", summary.stderr);
    let status = lab.run(&["status"]).exits(0).stdout;
    let last = status.lines().last().expect("there is a source");
    assert!(last.contains("j.jsonl.1") && last.ends_with("read"), "{status}");
    assert_eq!(lab.number("select offset_bytes from sources"), offset as i64);
    let verified = lab.run(&["verify"]).exits(0);
    assert!(!verified.stderr.contains("not there"), "{}", verified.stderr);
    // What stands in it can come back, and is not said to be lost.
    let run: String = lab.database().query_row("select run from runs limit 1", [], |row| row.get(0)).unwrap();
    lab.run(&["forget", "--run", &run]).exits(0);
    let undone = lab.run(&["forget", "--undo", &run]).exits(0);
    assert!(!undone.stderr.contains("does not come back"), "{}", undone.stderr);
    lab.run(&["ingest", "logs"]).exits(0);
    assert_eq!(lab.number("select count(*) from forgotten"), 0);
    // Nobody moves it twice: the database is left alone when nothing changed.
    let before = std::fs::read(lab.path("narwhal.db")).unwrap();
    lab.run(&["ingest", "logs"]).exits(0);
    assert_eq!(std::fs::read(lab.path("narwhal.db")).unwrap(), before);
}

#[test]
fn numbered_suffixes_shift_and_each_goes_on() {
    let lab = lab();
    for run in 1..=4 {
        for number in (1..run).rev() {
            let from = if number == 1 { J.to_owned() } else { format!("{J}.{}", number - 1) };
            rename(&lab, &from, &format!("{J}.{number}"));
        }
        lab.write(J, rows(run, 1..=3));
        let found = ingest_folder(&lab);
        let len = rows(run, 1..=3).len() as u64;
        let names: Vec<String> = (1..run).rev().map(|number| format!("j.jsonl.{number}")).collect();
        let mut expected: Vec<_> = names.iter().map(|name| (name.as_str(), len, NOTHING)).collect();
        expected.push(("j.jsonl", 0, [4, 1, 2, 1, 0]));
        assert_gave(&found, &expected);
        assert_holds(&lab, 2 * run as i64, run as i64);
    }
    let names = ["j.jsonl.3", "j.jsonl.2", "j.jsonl.1", "j.jsonl"];
    let paths = names.map(|name| [Value::Text(lab.path("logs").join(name).display().to_string())]);
    assert_eq!(lab.rows("select path from sources order by source_id"), paths, "where each lies now");
    let builds = "select count(*) from runs where build_certainty = 'exact'";
    assert_eq!((lab.number(builds), lab.number("select count(*) from sources")), (4, 4));
}

#[test]
fn dated_names_go_on() {
    for name in ["logs/j.jsonl-20261128", "logs/j-2026-11-28.jsonl"] {
        let (lab, len) = with_a_read_journal();
        rename(&lab, J, name);
        lab.write(J, rows(2, 1..=3));
        let found = ingest_folder(&lab);
        let name = name.strip_prefix("logs/").expect("it is there");
        assert_gave(&found, &[(name, len, NOTHING), ("j.jsonl", 0, [4, 1, 2, 1, 0])]);
    }
}

#[test]
fn copied_and_truncated_after_all_was_read_loses_nothing() {
    let (lab, len) = with_a_read_journal();
    copy(&lab, J, "logs/j.jsonl.1");
    lab.write(J, "");
    let run = ingest(&lab, "logs");
    assert_eq!(run.stderr, "note: logs/j.jsonl: empty\n");
    assert_gave(&by_name(&run), &[("j.jsonl.1", len, NOTHING), ("j.jsonl", 0, NOTHING)]);
    append(&lab, J, &rows(2, 1..=3));
    // That all of it was read cannot be known any more.
    let run = ingest(&lab, "logs");
    assert_eq!(run.stderr, lost(J, len as usize));
    assert_gave(&by_name(&run), &[("j.jsonl.1", len, NOTHING), ("j.jsonl", 0, [4, 1, 2, 1, 0])]);
    append(&lab, J, &rows(2, 4..=5));
    let second = rows(2, 1..=3).len() as u64;
    assert_gave(&ingest_folder(&lab), &[("j.jsonl.1", len, NOTHING), ("j.jsonl", second, [2, 0, 1, 1, 0])]);
    assert_holds(&lab, 7, 3);
}

#[test]
fn copied_and_truncated_before_all_was_read_is_read_from_the_copy() {
    let (lab, len) = with_a_read_journal();
    append(&lab, J, &rows(1, 6..=8));
    copy(&lab, J, "logs/j.jsonl.1");
    lab.write(J, rows(2, 1..=3));
    let found = ingest_folder(&lab);
    assert_gave(&found, &[("j.jsonl.1", len, [3, 0, 2, 1, 0]), ("j.jsonl", 0, [4, 1, 2, 1, 0])]);
    assert_holds(&lab, 8, 3);
}

#[test]
fn truncated_before_all_was_read_says_what_is_lost() {
    let (lab, len) = with_a_read_journal();
    append(&lab, J, &rows(1, 6..=8));
    lab.write(J, rows(2, 1..=2));
    let run = ingest(&lab, "logs");
    assert_eq!(run.stderr, lost(J, len as usize));
    assert_gave(&by_name(&run), &[("j.jsonl", 0, [3, 1, 1, 1, 0])]);
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", rows(2, 1..=2).len() as u64, NOTHING)]);
    assert_holds(&lab, 5, 2);
}

#[test]
fn rewritten_longer_with_other_content_is_a_new_source_and_said() {
    let (lab, len) = with_a_read_journal();
    lab.write(J, rows(2, 1..=30));
    assert!(rows(2, 1..=30).len() as u64 > len);
    let run = ingest(&lab, J);
    assert_eq!(run.stderr, lost(J, len as usize));
    assert_gave(&by_name(&run), &[("j.jsonl", 0, [31, 1, 29, 1, 0])]);
    assert_holds(&lab, 33, 2);
}

#[test]
fn rewritten_longer_behind_a_long_beginning_is_a_new_source_and_said() {
    let lab = lab();
    // More than the 4 KiB that are compared of a beginning stay as they were.
    let (kept, first, second) = (rows(1, 1..=60), rows(2, 1..=40), rows(3, 1..=41));
    assert!(kept.len() > 8_192 && second.len() > first.len());
    lab.write(J, [&kept[..], &first].concat());
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", 0, [102, 2, 98, 2, 0])]);
    lab.write(J, [&kept[..], &second].concat());
    let run = ingest(&lab, "logs");
    assert_eq!(run.stderr, lost(J, kept.len() + first.len()));
    assert_gave(&by_name(&run), &[("j.jsonl", 0, [103, 2, 40, 1, 60])]);
    // The same of archives: one goes on from the beginning that both have, and not from the end of the other.
    lab.write("logs/j.jsonl.1.gz", gzip(&[&kept[..], &rows(4, 1..=50)].concat()));
    let len = (kept.len() + second.len()) as u64;
    let found = ingest_folder(&lab);
    assert_gave(&found, &[("j.jsonl.1.gz", 0, [112, 2, 49, 1, 60]), ("j.jsonl", len, NOTHING)]);
    assert_holds(&lab, 98 + 40 + 49, 4);
}

#[test]
fn cut_off_behind_a_line_is_smaller_than_the_offset_and_read_from_the_start() {
    let (lab, len) = with_a_read_journal();
    // The build row and two of the terminals stay.
    let kept = journal(&[build("0.7.0"), retried_terminal(&run_name(1), 1), short_terminal(&run_name(1), 2)]);
    assert!(rows(1, 1..=5).starts_with(&kept));
    let file = OpenOptions::new().write(true).open(lab.path(J)).expect("it is there");
    file.set_len(kept.len() as u64).expect("it can be cut off");
    append(&lab, J, &rows(2, 1..=3));
    let run = ingest(&lab, "logs");
    assert_eq!(run.stderr, lost(J, len as usize));
    assert_gave(&by_name(&run), &[("j.jsonl", 0, [7, 2, 2, 1, 2])]);
    assert_holds(&lab, 6, 2);
}

#[test]
fn a_removed_file_s_number_on_a_new_file_of_another_name_is_no_loss() {
    let lab = lab();
    lab.write("logs/old.jsonl", rows(1, 1..=5));
    ingest_folder(&lab);
    fs::remove_file(lab.path("logs/old.jsonl")).expect("it is there");
    lab.write(J, rows(2, 1..=3));
    // What a file system on disk does, file systems in memory do not.
    let inode = fs::metadata(lab.path(J)).expect("it is there").ino();
    let database = Connection::open(lab.path("narwhal.db")).expect("there is a database");
    let moved = database.execute("update sources set inode = ?1", [inode]).expect("it can be written");
    assert_eq!(moved, 1);
    drop(database);
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", 0, [4, 1, 2, 1, 0])]);
    assert_holds(&lab, 6, 2);
}

#[test]
fn a_build_row_and_a_removed_file_s_number_do_not_hide_rows() {
    let lab = lab();
    lab.write(J, journal(&[build("0.7.0")]));
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", 0, [1, 1, 0, 0, 0])]);
    // Written over in place: the same number, the same first line.
    lab.write(J, rows(1, 1..=3));
    let first = journal(&[build("0.7.0")]).len() as u64;
    assert_gave(&ingest_folder(&lab), &[("j.jsonl", first, [3, 0, 2, 1, 0])]);
    // Another file with that first line is another journal until content tells.
    lab.write("logs/k.jsonl", journal(&[build("0.7.0")]));
    let found = ingest_folder(&lab);
    let len = rows(1, 1..=3).len() as u64;
    assert_gave(&found, &[("j.jsonl", len, NOTHING), ("k.jsonl", 0, [1, 1, 0, 0, 0])]);
    assert_holds(&lab, 2, 1);
}

#[test]
fn a_symlink_and_a_hard_link_are_the_same_file_as_it_grows() {
    let (lab, len) = with_a_read_journal();
    symlink("j.jsonl", lab.path("logs/a.jsonl")).expect("the folder can be written");
    fs::hard_link(lab.path(J), lab.path("logs/z.jsonl")).expect("the folder can be written");
    let all =
        |from, counts| [("a.jsonl", from, counts), ("j.jsonl", from, NOTHING), ("z.jsonl", from, NOTHING)];
    assert_gave(&ingest_folder(&lab), &all(len, NOTHING));
    append(&lab, J, &rows(1, 6..=7));
    let grown = len + rows(1, 6..=7).len() as u64;
    let found = ingest_folder(&lab);
    assert_eq!(found[0], ("a.jsonl".to_owned(), (len, [2, 0, 1, 1, 0])));
    assert_gave(&found[1..], &all(grown, NOTHING)[1..]);
    assert_eq!(lab.number("select count(*) from sources"), 1);
    assert_holds(&lab, 5, 2);
}

#[test]
fn the_same_file_named_twice_in_one_call_is_read_once() {
    let lab = lab();
    lab.write(J, rows(1, 1..=5));
    let run = lab.run(&["ingest", J, "logs", J, "--format", "json"]).exits(0);
    let len = rows(1, 1..=5).len() as u64;
    let again = ("j.jsonl", len, NOTHING);
    assert_gave(&by_name(&run), &[("j.jsonl", 0, [6, 1, 4, 1, 0]), again, again]);
    assert_holds(&lab, 4, 1);
}

#[test]
fn in_a_folder_files_come_and_go() {
    let (lab, len) = with_a_read_journal();
    fs::remove_file(lab.path(J)).expect("it is there");
    lab.run(&["ingest", "logs"]).exits(1).says("error: no journal in the folder logs: looked for ");
    lab.write("logs/k.jsonl", rows(2, 1..=3));
    assert_gave(&ingest_folder(&lab), &[("k.jsonl", 0, [4, 1, 2, 1, 0])]);
    // It comes back under another name, with more.
    lab.write("logs/j.jsonl.7", [rows(1, 1..=5), rows(1, 6..=7)].concat());
    let second = rows(2, 1..=3).len() as u64;
    assert_gave(&ingest_folder(&lab), &[("j.jsonl.7", len, [2, 0, 1, 1, 0]), ("k.jsonl", second, NOTHING)]);
    assert_holds(&lab, 7, 3);
}

/// Compresses a journal of the folder; the name of what is made.
fn pack(lab: &Lab, name: &str, ending: &str) -> String {
    let bytes = fs::read(lab.path(name)).expect("it is there");
    let packed = if ending == "gz" { gzip(&bytes) } else { zstd(&bytes) };
    lab.write(&format!("{name}.{ending}"), packed);
    format!("j.jsonl.1.{ending}")
}

#[test]
fn an_archive_of_what_was_read_is_nothing_new_also_when_the_plain_file_is_gone() {
    for ending in ["gz", "zst"] {
        let (lab, len) = with_a_read_journal();
        rename(&lab, J, "logs/j.jsonl.1");
        let archive = pack(&lab, "logs/j.jsonl.1", ending);
        let both = [("j.jsonl.1", len, NOTHING), (archive.as_str(), len, NOTHING)];
        assert_gave(&ingest_folder(&lab), &both);
        assert_eq!(lab.number("select count(*) from archives"), 1, "it is known from now on");
        fs::remove_file(lab.path("logs/j.jsonl.1")).expect("it is there");
        assert_gave(&ingest_folder(&lab), &both[1..]);
        // The third time it is not unpacked: no source would be recognised in it then, and it would be
        // read from its start.
        let database = Connection::open(lab.path("narwhal.db")).expect("there is a database");
        database.execute_batch("update sources set head_hash = 0").expect("it can be written");
        drop(database);
        assert_gave(&ingest_folder(&lab), &both[1..]);
        assert_eq!(lab.number("select count(*) from sources"), 1);
        assert_eq!(lab.number("select count(*) from archives"), 1);
        assert_holds(&lab, 4, 1);
        let place = lab.path("logs").join(&archive).display().to_string();
        assert!(lab.run(&["status"]).exits(0).stdout.contains(&place), "status knows where it lies now");
    }
}

#[test]
fn an_archive_of_what_was_not_read_gives_all_of_it_and_in_part_the_rest() {
    for ending in ["gz", "zst"] {
        let lab = lab();
        lab.write("logs/j.jsonl.1", rows(1, 1..=5));
        let archive = pack(&lab, "logs/j.jsonl.1", ending);
        fs::remove_file(lab.path("logs/j.jsonl.1")).expect("it is there");
        assert_gave(&ingest_folder(&lab), &[(&archive, 0, [6, 1, 4, 1, 0])]);
        let len = rows(1, 1..=5).len() as u64;
        assert_gave(&ingest_folder(&lab), &[(&archive, len, NOTHING)]);
        assert_holds(&lab, 4, 1);

        let (lab, len) = with_a_read_journal();
        append(&lab, J, &rows(1, 6..=9));
        rename(&lab, J, "logs/j.jsonl.1");
        pack(&lab, "logs/j.jsonl.1", ending);
        fs::remove_file(lab.path("logs/j.jsonl.1")).expect("it is there");
        assert_gave(&ingest_folder(&lab), &[(&archive, len, [4, 0, 3, 1, 0])]);
        let len = len + rows(1, 6..=9).len() as u64;
        assert_gave(&ingest_folder(&lab), &[(&archive, len, NOTHING)]);
        assert_eq!(lab.number("select count(*) from sources"), 1);
        assert_holds(&lab, 7, 2);
    }
}

#[test]
fn an_archive_that_is_cut_off_says_so_and_goes_on_when_it_is_whole() {
    // Enough that what stands before the cut can be unpacked.
    let bytes = rows(1, 1..=4_000);
    for (ending, packed) in [("gz", gzip(&bytes)), ("zst", zstd(&bytes))] {
        let lab = lab();
        let name = format!("logs/j.jsonl.1.{ending}");
        lab.write(&name, &packed[..packed.len() / 2]);
        let run = lab.run(&["ingest", "logs", "--format", "json"]).exits(1);
        let cut_off = format!("error: cannot read {name}: the archive is cut off, or still being written: ");
        assert!(run.stderr.starts_with(&cut_off) && run.stderr.lines().count() == 1, "{}", run.stderr);
        let (read, offset) =
            (lab.number("select count(*) from terminals"), run.json()["total"]["bytes"].clone());
        assert!(read > 100 && read < 3_900, "what is whole of it is read: {read}");
        assert_eq!(lab.number("select count(*) from archives"), 0);
        // The second time the same is said, and nothing is read again.
        let again = lab.run(&["ingest", "logs", "--format", "json"]).exits(1);
        assert!(again.stderr.starts_with(&cut_off), "{}", again.stderr);
        assert_eq!(lab.number("select count(*) from terminals"), read);
        lab.write(&name, &packed);
        let whole = ingest(&lab, "logs");
        assert_eq!((whole.stderr.as_str(), &whole.json()["files"][0]["resumed_at"]), ("", &offset));
        assert_eq!(whole.json()["total"]["duplicates"], 0);
        assert_eq!(lab.number("select count(*) from archives"), 1);
        assert_holds(&lab, 3_999, 1);
    }
}

#[test]
fn archives_of_several_members_are_read_to_their_end() {
    for pack in [&gzip as &dyn Fn(&[u8]) -> Vec<u8>, &zstd] {
        let lab = lab();
        let bytes = [rows(1, 1..=5), rows(2, 1..=3)].concat();
        // A member ends where it likes, also within a line.
        let packed: Vec<u8> = bytes.chunks(1_000).flat_map(pack).collect();
        lab.write("logs/j.jsonl.1.gz", packed);
        assert_gave(&ingest_folder(&lab), &[("j.jsonl.1.gz", 0, [10, 2, 6, 2, 0])]);
        assert_gave(&ingest_folder(&lab), &[("j.jsonl.1.gz", bytes.len() as u64, NOTHING)]);
        assert_holds(&lab, 6, 2);
    }
}

#[test]
fn a_damaged_archive_says_so_and_keeps_no_other_file_from_being_read() {
    let bytes = rows(1, 1..=4_000);
    for (ending, mut packed) in [("gz", gzip(&bytes)), ("zst", zstd(&bytes))] {
        let middle = packed.len() / 2;
        packed[middle..middle + 64].fill(0xff);
        let lab = lab();
        let name = format!("logs/j.jsonl.1.{ending}");
        lab.write(&name, packed);
        lab.write(J, rows(2, 1..=3));
        let run = lab.run(&["ingest", "logs", "--format", "json"]).exits(1);
        let damaged = format!("error: cannot read {name}: the archive is damaged: ");
        assert!(run.stderr.starts_with(&damaged) && run.stderr.lines().count() == 1, "{}", run.stderr);
        let of_the_other =
            format!("select count(*) from terminals join runs using (run_id) where run = '{}'", run_name(2));
        assert_eq!(lab.number(&of_the_other), 2);
        assert_eq!(lab.number("select count(*) from archives"), 0);
        lab.run(&["verify"]).exits(0);
    }
}
