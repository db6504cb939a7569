//! Where the time of a load goes: split, parse, whole ingest, nothing new; and that of a redaction,
//! which may take three times as long as a load. Each step is timed in the
//! same process, as CPU and wall seconds, and as a ratio to split + parse, the floor of any load.
//!
//! `cargo bench --bench load -- JOURNAL`

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use narwhal_jq::ingest::{Options, Watcher, ingest};
use narwhal_jq::journal::inputs::Input;
use narwhal_jq::journal::lines::{Ending, Lines};
use narwhal_jq::journal::pieces::{Content, read_line};
use narwhal_jq::redact::{Key, redact};

struct Quiet;

impl Watcher for Quiet {
    fn advanced(&mut self, _bytes: u64) {}
    fn skipped(&mut self, _bytes: u64) {}
    fn warn(&mut self, _message: &str) {}
}

/// User and system seconds of this process so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

struct Timed {
    cpu_s: f64,
    wall_s: f64,
}

fn timed(work: impl FnOnce()) -> Timed {
    let (cpu, started) = (cpu_s(), Instant::now());
    work();
    Timed { cpu_s: cpu_s() - cpu, wall_s: started.elapsed().as_secs_f64() }
}

fn show(name: &str, lines: u64, bytes: u64, timed: &Timed, floor: f64) {
    println!(
        "{name:12} {:8.3} cpu s {:8.3} wall s {:10.0} lines/s {:8.1} MB/s {:8.2} x floor",
        timed.cpu_s,
        timed.wall_s,
        lines as f64 / timed.wall_s,
        bytes as f64 / 1e6 / timed.wall_s,
        timed.cpu_s / floor
    );
}

fn each_line(path: &Path, mut take: impl FnMut(&[u8])) -> u64 {
    let mut lines = Lines::new(File::open(path).unwrap(), Ending::Complete);
    while let Some(line) = lines.next_line().unwrap() {
        take(line.bytes);
    }
    lines.line_count()
}

fn main() {
    let journal = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let Some(journal) = journal.map(PathBuf::from) else {
        println!("cargo bench --bench load -- JOURNAL: no journal was given, nothing was measured");
        return;
    };
    let bytes = journal.metadata().unwrap().len();
    let mut lines = 0;
    let split = timed(|| {
        lines = each_line(&journal, |line| {
            black_box(line);
        })
    });
    let parse = timed(|| {
        each_line(&journal, |line| match read_line(line) {
            Content::Row(row) => drop(black_box(row)),
            other => drop(black_box(other)),
        });
    });
    let floor = parse.cpu_s;
    show("split", lines, bytes, &split, floor);
    show("split+parse", lines, bytes, &parse, floor);

    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("narwhal.db");
    let options = Options { is_final: false, is_strict: false, busy_timeout: Duration::from_secs(1) };
    let load = || {
        ingest(&database, &[Input::File(journal.clone())], &options, &AtomicBool::new(false), &mut Quiet)
            .unwrap()
    };
    let first = timed(|| drop(black_box(load())));
    show("load", lines, bytes, &first, floor);
    let nothing = timed(|| drop(black_box(load())));
    println!("nothing new  {:8.3} ms", nothing.wall_s * 1e3);
    let redaction = timed(|| {
        let inputs = [Input::File(journal.clone())];
        let key = Key::random().unwrap();
        drop(black_box(redact(&inputs, key, &mut std::io::sink(), &AtomicBool::new(false)).unwrap()));
    });
    show("redact", lines, bytes, &redaction, floor);
    let rows = first.cpu_s / lines as f64 * 1e6;
    println!(
        "{rows:.2} us of CPU a line; {} bytes of database a line",
        database.metadata().unwrap().len() / lines
    );
}
