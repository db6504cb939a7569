//! Where the time and the memory of each step go, on any journal.
//!
//! `cargo bench --bench load -- JOURNAL [JOURNAL...]`
//!
//! split: lines out of the files. parse: each line as JSON. rows: each line as typed rows, the floor of
//! every load. load: `ingest` into an empty database; then an ingest with nothing new, and one of a
//! thousand rows more; and what the last tenth of the load took beside the first. redact. insert: rows that lie in memory already into an empty database. And each
//! canned query on the database that was loaded, as a process of its own.
//!
//! Every figure is of this run: CPU (all threads, user and system) and wall seconds, lines and megabytes a
//! second, the peak of memory in the step, and CPU as a ratio to the floor.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use narwhal_jq::ingest::{Options, Watcher, ingest};
use narwhal_jq::journal::inputs::Input;
use narwhal_jq::journal::json::Reader;
use narwhal_jq::journal::lines::{Ending, Lines};
use narwhal_jq::journal::row::Row;
use narwhal_jq::journal::segments::{Content, read_line};
use narwhal_jq::query::catalog;
use narwhal_jq::redact::{Key, redact};
use narwhal_jq::store;
use narwhal_jq::store::sources;
use narwhal_jq::store::terminals::{Placed, TOGETHER};
use narwhal_jq::store::write::Writer;

const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// As many bytes of the journal are parsed ahead to time the insert alone.
const INSERTED_BYTES: u64 = 64 << 20;

/// Notes the CPU time at each commit of an ingest.
#[derive(Default)]
struct Commits {
    /// How many bytes were committed, and the CPU seconds of the process then.
    reached: Vec<(u64, f64)>,
}

impl Watcher for Commits {
    fn advanced(&mut self, bytes: u64) {
        let before = self.reached.last().map_or(0, |(bytes, _)| *bytes);
        self.reached.push((before + bytes, cpu_s().0));
    }
    fn skipped(&mut self, _bytes: u64) {}
    fn warn(&mut self, _message: &str) {}
}

impl Commits {
    /// CPU seconds of the first tenth of so many bytes, and of the last, when it began at `began_s`.
    fn first_and_last_tenth(&self, bytes: u64, began_s: f64) -> (f64, f64) {
        let at = |tenths: u64| {
            let reached = self.reached.iter().find(|(reached, _)| *reached * 10 >= bytes * tenths);
            reached.map_or(began_s, |(_, cpu_s)| *cpu_s)
        };
        (at(1) - began_s, at(10) - at(9))
    }
}

/// User and system seconds so far: of this process, and of its children that have ended.
fn cpu_s() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap() + fields[at + 1].parse::<f64>().unwrap();
    (ticks(11) / 100.0, ticks(13) / 100.0)
}

/// The peak of this process's memory since the last call, in MiB.
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    kib >> 10
}

struct Timed {
    cpu_s: f64,
    wall_s: f64,
    peak_mib: u64,
}

fn timed(work: impl FnOnce()) -> Timed {
    peak_mib();
    let ((cpu, children), started) = (cpu_s(), Instant::now());
    work();
    let wall_s = started.elapsed().as_secs_f64();
    let (cpu_after, children_after) = cpu_s();
    Timed { cpu_s: cpu_after - cpu + children_after - children, wall_s, peak_mib: peak_mib() }
}

/// How much was read.
#[derive(Clone, Copy)]
struct Size {
    lines: u64,
    bytes: u64,
}

fn show(name: &str, size: Size, timed: &Timed, floor_s: f64) {
    println!(
        "{name:20} {:9.3} cpu s {:9.3} wall s {:10.0} lines/s {:8.1} MB/s {:5} MiB {:7.2} x floor",
        timed.cpu_s,
        timed.wall_s,
        size.lines as f64 / timed.wall_s,
        size.bytes as f64 / 1e6 / timed.wall_s,
        timed.peak_mib,
        timed.cpu_s / floor_s
    );
}

fn each_line(journals: &[PathBuf], mut take: impl FnMut(&[u8])) -> Size {
    let mut size = Size { lines: 0, bytes: 0 };
    for journal in journals {
        let mut lines = Lines::new(File::open(journal).unwrap(), Ending::Complete);
        while let Some(line) = lines.next_line().unwrap() {
            take(line.bytes);
        }
        size.lines += lines.line_count();
        size.bytes += lines.offset();
    }
    size
}

/// The first whole lines of a journal.
fn beginning(journal: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(journal).unwrap().take(INSERTED_BYTES).read_to_end(&mut bytes).unwrap();
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    bytes
}

/// Time of the insert alone, as one transaction.
fn insert(journal: &Path, database: &Path) -> (Size, Timed) {
    let bytes = beginning(journal);
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let rows: Vec<Content<'_>> = lines.iter().map(|line| read_line(line)).collect();
    let connection = store::open_to_write(database, BUSY_TIMEOUT).unwrap();
    let timed = timed(|| {
        let mut writer = Writer::new(&connection).unwrap();
        writer.begin().unwrap();
        let source_id = sources::insert(&connection, "journal", None).unwrap();
        writer.enter(source_id).unwrap();
        let mut terminals: Vec<Placed<'_>> = Vec::new();
        for (content, offset) in rows.iter().zip(0..) {
            match content {
                Content::Row(Row::Build(row)) => drop(writer.build(row, offset).unwrap()),
                Content::Row(Row::Terminal(row)) => terminals.push((row, offset)),
                Content::Row(Row::Event(row)) => drop(writer.event(row, offset).unwrap()),
                _ => {}
            }
            if terminals.len() == TOGETHER {
                writer.terminals(&terminals).unwrap();
                terminals.clear();
            }
        }
        writer.terminals(&terminals).unwrap();
        let offset = rows.len() as u64;
        let reached = sources::Reached {
            path: "journal",
            file: None,
            from: 0,
            offset,
            lines: offset,
            head: b"",
            tail: b"",
            written_by_s: None,
        };
        writer.save(&reached).unwrap();
        connection.execute_batch("commit").unwrap();
    });
    store::close(connection).unwrap();
    (Size { lines: rows.len() as u64, bytes: bytes.len() as u64 }, timed)
}

/// A thousand rows that the database does not have: the journal's first, of another run.
fn thousand_more(journal: &Path, to: &Path) {
    let text = String::from_utf8(beginning(journal)).unwrap();
    let rows: Vec<String> = text
        .lines()
        .filter(|line| line.contains("\"terminal\""))
        .take(1000)
        .map(|line| line.replacen("\"run\": \"", "\"run\": \"9", 1))
        .collect();
    fs::write(to, rows.join("\n") + "\n").unwrap();
}

fn main() {
    let journals: Vec<PathBuf> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).map(PathBuf::from).collect();
    let Some(first) = journals.first() else {
        println!("cargo bench --bench load -- JOURNAL: no journal was given, nothing was measured");
        return;
    };
    // Once, so that no step waits for the disk.
    let split_all = || {
        each_line(&journals, |line| {
            black_box(line);
        })
    };
    let size = split_all();
    let split = timed(|| {
        split_all();
    });
    let parse = timed(|| {
        each_line(&journals, |line| {
            let text = std::str::from_utf8(line).unwrap_or_default();
            drop(black_box(Reader::new(text, 0).value()));
        });
    });
    let rows = timed(|| {
        each_line(&journals, |line| drop(black_box(read_line(line))));
    });
    let floor_s = rows.cpu_s;
    show("split", size, &split, floor_s);
    show("parse (any JSON)", size, &parse, floor_s);
    show("rows (the floor)", size, &rows, floor_s);

    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("narwhal.db");
    let options = Options { is_final: false, is_strict: false, busy_timeout: BUSY_TIMEOUT };
    let mut commits = Commits::default();
    let mut load = |journals: &[PathBuf]| {
        let inputs: Vec<Input> = journals.iter().cloned().map(Input::File).collect();
        drop(black_box(ingest(&database, &inputs, &options, &AtomicBool::new(false), &mut commits).unwrap()));
    };
    let (began_s, _) = cpu_s();
    let loaded = timed(|| load(&journals));
    show("load", size, &loaded, floor_s);
    println!(
        "{:20} {:9.2} us of CPU a line, {} bytes of database a line",
        "",
        loaded.cpu_s / size.lines as f64 * 1e6,
        database.metadata().unwrap().len() / size.lines
    );
    println!("{:20} {:9.3} wall ms", "nothing new", timed(|| load(&journals)).wall_s * 1e3);
    let more = folder.path().join("more.jsonl");
    thousand_more(first, &more);
    println!("{:20} {:9.3} wall ms", "1,000 rows more", timed(|| load(&[more])).wall_s * 1e3);
    let (first_s, last_s) = commits.first_and_last_tenth(size.bytes, began_s);
    println!(
        "{:20} {last_s:.2} cpu s for the last tenth, {first_s:.2} for the first: {:.2}",
        "",
        last_s / first_s
    );
    let redaction = timed(|| {
        let inputs: Vec<Input> = journals.iter().cloned().map(Input::File).collect();
        let key = Key::random().unwrap();
        drop(black_box(redact(&inputs, key, &mut std::io::sink(), &AtomicBool::new(false)).unwrap()));
    });
    show("redact", size, &redaction, floor_s);
    // Last, because the memory of its rows would be seen in the peaks of the others.
    let (inserted, insert) = insert(first, &folder.path().join("insert.db"));
    let part = inserted.lines as f64 / size.lines as f64;
    show("insert (a part)", inserted, &insert, floor_s * part);

    for query in catalog::shipped().unwrap() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narwhal-jq"));
        command.arg("--db").arg(&database).args(["query", &query.name, "--format", "csv"]);
        if query.parameters.iter().any(|parameter| parameter.name == "ttft") {
            command.args(["--ttft", "2", "--tpot", "0.1"]);
        }
        let answer = timed(|| {
            let status = command.stdout(Stdio::null()).status().unwrap();
            assert!(status.success(), "{}: {status}", query.name);
        });
        println!(
            "query {:20} {:9.2} cpu s {:9.3} wall s {:7.2} x floor",
            query.name,
            answer.cpu_s,
            answer.wall_s,
            answer.cpu_s / floor_s
        );
    }
}
