//! A file ingested in two steps is the file ingested at once, and nothing of it vanishes.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use narwhal_jq::ingest::{Counters, Options, Summary, Watcher, ingest};
use narwhal_jq::journal::compression::Compression;
use narwhal_jq::journal::inputs::Input;
use narwhal_jq::journal::row::Row;
use narwhal_jq::journal::segments::{Content, SegmentKind, read_line};
use narwhal_jq::store::export::write_journal;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::{canonical, folder, knobs, naive_lines, written};

/// Checks the bytes behind the knobs as a journal.
pub fn check(data: &[u8]) {
    let (knobs, bytes) = knobs(data);
    let is_final = knobs[0] & 1 == 1;
    let cut = usize::from(u16::from_le_bytes([knobs[1], knobs[2]])) % (bytes.len() + 1);
    let folder = folder();
    let (journal, once, twice) =
        (folder.path().join("j.jsonl"), folder.path().join("once.db"), folder.path().join("twice.db"));

    if !matches!(Compression::of(bytes), Ok(None)) {
        // What it unpacks to is not known here; it may not do harm.
        fs::write(&journal, bytes).expect("the folder can be written");
        read(&once, &journal, is_final);
        return;
    }

    fs::write(&journal, &bytes[..cut]).expect("the folder can be written");
    set_time(&journal);
    let first = read(&twice, &journal, false);
    fs::write(&journal, bytes).expect("the folder can be written");
    set_time(&journal);
    let second = read(&twice, &journal, is_final);
    let whole = read(&once, &journal, is_final);

    assert!(whole.failures.is_empty(), "{:?}", whole.failures);
    assert_accounted(&whole.total, bytes, is_final);
    let sum = |count: fn(&Counters) -> u64| count(&first.total) + count(&second.total);
    for (name, count) in COUNTS {
        assert_eq!(sum(count), count(&whole.total), "{name}, cut at {cut}");
    }
    assert_eq!(second.total.pending_bytes, whole.total.pending_bytes);
    assert_eq!(once.exists(), twice.exists());
    if !once.exists() {
        return;
    }
    let contents = contents(&once);
    for ((table, one), (_, other)) in contents.iter().zip(self::contents(&twice)) {
        assert_eq!(*one, other, "{table}, cut at {cut}");
    }
    assert_written_again(&once, bytes, &whole.total);

    if knobs[0] & 2 == 2 && is_final {
        check_packed(&folder.path().join("packed"), bytes, knobs[0] & 4 == 4, &contents);
    }

    let again = read(&twice, &journal, is_final).total;
    for (name, count) in COUNTS {
        assert_eq!(count(&again), 0, "{name} of what was read before");
    }
    assert_eq!(self::contents(&twice), contents, "nothing new changes nothing");
}

/// A time of its own for each file would be one more thing that tells them apart.
fn set_time(path: &Path) {
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_796_000_000);
    let file = fs::File::options().append(true).open(path).expect("the file is there");
    file.set_modified(time).expect("its time can be set");
}

/// An archive has what its content has, and is known again.
fn check_packed(folder: &Path, bytes: &[u8], is_gzip: bool, expected: &[(String, Vec<Vec<Value>>)]) {
    fs::create_dir(folder).expect("the folder can be written");
    let packed =
        if is_gzip { gzip(bytes) } else { zstd::encode_all(bytes, 1).expect("memory can be written") };
    let (archive, database) = (folder.join("j"), folder.join("j.db"));
    fs::write(&archive, packed).expect("the folder can be written");
    set_time(&archive);
    let summary = read(&database, &archive, false);
    assert!(summary.failures.is_empty(), "{:?}", summary.failures);
    assert_eq!(contents(&database), expected, "an archive");
    for _ in 0..2 {
        assert_eq!(read(&database, &archive, false).total, Counters::default(), "nothing new");
    }
    assert_eq!(contents(&database), expected, "an archive that is known");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing.write_all(bytes).and_then(|()| packing.finish()).expect("memory can be written")
}

/// A count and its name.
type Count = (&'static str, fn(&Counters) -> u64);

const COUNTS: [Count; 9] = [
    ("bytes", |counters| counters.bytes),
    ("lines", |counters| counters.lines),
    ("builds", |counters| counters.builds),
    ("terminals", |counters| counters.terminals),
    ("attempt_failures", |counters| counters.attempt_failures),
    ("events", |counters| counters.events),
    ("duplicates", |counters| counters.duplicates),
    ("rejected", |counters| counters.rejected),
    ("repaired", |counters| counters.repaired),
];

struct Unwarned {
    advanced: u64,
}

impl Watcher for Unwarned {
    fn advanced(&mut self, bytes: u64) {
        self.advanced += bytes;
    }

    fn skipped(&mut self, _: u64) {}

    fn warn(&mut self, message: &str) {
        panic!("warned: {message}");
    }
}

fn read(database: &Path, journal: &Path, is_final: bool) -> Summary {
    let options = Options { is_final, is_strict: false, busy_timeout: Duration::from_secs(5) };
    let mut watcher = Unwarned { advanced: 0 };
    let input = Input::File(journal.to_owned());
    let summary = ingest(database, &[input], &options, &AtomicBool::new(false), &mut watcher);
    let summary = summary.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(watcher.advanced, summary.total.bytes);
    assert!(!summary.is_interrupted);
    summary
}

/// Each line, row and reject was counted as what it is.
fn assert_accounted(total: &Counters, bytes: &[u8], is_final: bool) {
    let mut lines = naive_lines(bytes);
    if !is_final && !bytes.is_empty() && !bytes.ends_with(b"\n") {
        let (_, unfinished) = lines.pop().expect("there are bytes");
        assert_eq!(total.pending_bytes, unfinished.len() as u64);
    }
    assert_eq!(total.lines, lines.len() as u64);
    assert_eq!(total.bytes + total.pending_bytes, bytes.len() as u64);
    let (mut builds, mut others, mut rejected, mut repaired) = (0, 0, 0, 0);
    let mut count = |row: &Row<'_>| match row {
        Row::Build(_) => builds += 1,
        Row::Terminal(_) | Row::Event(_) => others += 1,
    };
    for (_, line) in lines {
        match read_line(line) {
            Content::Blank => {}
            Content::Row(row) => count(&row),
            Content::Segments(segments) => {
                for segment in segments {
                    match segment.kind {
                        SegmentKind::Row(row) => count(&row),
                        SegmentKind::Rejected(_) => rejected += 1,
                        SegmentKind::Repaired(_) => repaired += 1,
                    }
                }
            }
        }
    }
    assert_eq!((total.builds, total.repaired), (builds, repaired));
    let conflicts = total.rejected.checked_sub(rejected).expect("a reject was not counted");
    assert_eq!(total.terminals + total.events + total.duplicates + conflicts, others);
}

/// What the database gives as a journal are rows that were read, as many as were stored.
fn assert_written_again(database: &Path, bytes: &[u8], total: &Counters) {
    let mut journal = Vec::new();
    let connection = open(database);
    let count = write_journal(&connection, &mut journal).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(count, total.builds + total.terminals + total.events);
    let said = |line: &[u8]| {
        let mut reader = narwhal_jq::journal::json::Reader::new(std::str::from_utf8(line).expect("UTF-8"), 0);
        canonical(reader.value().expect("a row is JSON")).to_string()
    };
    let mut read = HashSet::new();
    for (_, line) in naive_lines(bytes) {
        match read_line(line) {
            Content::Blank => {}
            Content::Row(row) => {
                read.insert(said(&written(&row)));
            }
            Content::Segments(segments) => {
                for segment in segments {
                    if let SegmentKind::Row(row) = segment.kind {
                        read.insert(said(&written(&row)));
                    }
                }
            }
        }
    }
    let lines = naive_lines(&journal);
    assert_eq!(lines.len() as u64, count);
    for (_, line) in lines {
        assert!(matches!(read_line(line), Content::Row(_)), "no row: {}", String::from_utf8_lossy(line));
        assert!(read.contains(&said(line)), "never read: {}", String::from_utf8_lossy(line));
    }
}

fn open(database: &Path) -> Connection {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("it can be opened")
}

/// Every table's rows, without where the file lies.
fn contents(database: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let connection = open(database);
    let broken = rows(
        &connection,
        "select * from pragma_foreign_key_check union all select * from pragma_quick_check, (select 0, 0, 0) where quick_check <> 'ok'",
    );
    assert!(broken.is_empty(), "{broken:?}");
    // An archive is known by its packed bytes, a file by where it lies: neither is content.
    let tables = rows(
        &connection,
        "select m.name, group_concat('\"' || c.name || '\"') from sqlite_schema as m, pragma_table_info(m.name) as c
         where m.type = 'table' and m.name not in ('archives', 'sqlite_sequence')
             and (m.name <> 'sources' or c.name not in ('path', 'device', 'inode'))
         group by m.name order by m.name",
    );
    tables
        .into_iter()
        .map(|table| match <[Value; 2]>::try_from(table) {
            Ok([Value::Text(table), Value::Text(columns)]) => {
                let rows = rows(&connection, &format!("select {columns} from {table} order by 1, 2"));
                (table, rows)
            }
            other => panic!("names are text: {other:?}"),
        })
        .collect()
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let width = statement.column_count();
    let rows = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect());
    rows.and_then(Iterator::collect).unwrap_or_else(|error| panic!("{sql}: {error}"))
}
