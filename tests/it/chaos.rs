//! Journals as routers, operators and kills treat them, for as many rounds as one likes: every record
//! that was written whole and could be read is in the database once, and nothing else is.
//!
//! A round is a folder of journals, some thirty random steps of routers and operators, and ingests of
//! every kind in between, many of them killed. What lies on disk was written by the test, so the files
//! tell what can still be read: a record is owed once an ingest ended well while it stood in a file, or
//! when it stands in one at the end. One that was destroyed before may be there, once.
//!
//! `NARWHAL_JQ_ROUNDS` sets the number of rounds (thousands for a long run), `NARWHAL_JQ_SEED` the seed.
//! Each round has a seed of its own, which a failure prints with the steps: with that and one round it
//! is done again, but for the moments of the kills. The folder of a failed round is kept.

mod ingests;
mod writer;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rusqlite::types::Value;

use super::harness::{Lab, say};
use super::journals::Dice;
use ingests::Ingests;
use writer::{CURRENT, Key, Writers, build_key, event_key, terminal_key};

/// Rounds without the wish for more: about half a minute on two cores.
const ROUNDS: u64 = 200;

/// What all rounds together did, so that a test of nothing is seen.
#[derive(Debug, Default)]
struct Tally {
    records: AtomicU64,
    may_be_lost: AtomicU64,
    ingests: AtomicU64,
    kills: AtomicU64,
    losses_said: AtomicU64,
}

#[test]
fn whatever_becomes_of_journals_every_record_that_could_be_read_is_there_once() {
    let test = "whatever_becomes_of_journals";
    let (_, seed) = Dice::of(test);
    let rounds = match std::env::var("NARWHAL_JQ_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("NARWHAL_JQ_ROUNDS is a whole number"),
        Err(_) => ROUNDS,
    };
    let (next, tally) = (AtomicU64::new(0), Tally::default());
    // A failed worker lets the other end its round.
    let is_failed = thread::scope(|scope| {
        let work = || {
            loop {
                let round = next.fetch_add(1, Ordering::Relaxed);
                if round >= rounds {
                    return;
                }
                Round::new(seed.wrapping_add(round)).run(&tally);
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.map(|worker| worker.join().inspect_err(|_| next.store(rounds, Ordering::Relaxed)).is_err())
    });
    say(&format!("{test}: {rounds} rounds, {tally:?}"));
    assert_eq!(is_failed, [false, false], "see above");
    if rounds >= ROUNDS {
        // Much less than what is usual, so that a busy machine is none of our business.
        for (count, least) in [
            (&tally.records, 20 * rounds),
            (&tally.ingests, 3 * rounds),
            (&tally.kills, rounds / 4),
            (&tally.may_be_lost, rounds / 2),
        ] {
            assert!(count.load(Ordering::Relaxed) > least, "{tally:?}");
        }
        assert!(tally.losses_said.load(Ordering::Relaxed) > 0, "{tally:?}");
    }
}

/// A round, which tells what it did when it fails.
struct Round {
    lab: Lab,
    seed: u64,
    steps: Vec<String>,
}

impl Drop for Round {
    fn drop(&mut self) {
        if thread::panicking() {
            let folder = self.lab.keep().display().to_string();
            let steps = self.steps.join("\n");
            say(&format!(
                "the steps:\n{steps}\n\nNARWHAL_JQ_SEED={} NARWHAL_JQ_ROUNDS=1, in {folder}",
                self.seed
            ));
        }
    }
}

impl Round {
    fn new(seed: u64) -> Self {
        let lab = if seed.is_multiple_of(16) { Lab::on_disk() } else { Lab::new() };
        Self { lab, seed, steps: Vec::new() }
    }

    fn run(&mut self, tally: &Tally) {
        let Self { lab, seed, steps } = self;
        let mut writers = Writers::new(lab, Dice::seeded(*seed), steps);
        let is_followed = writers.dice.below(8) == 0;
        let mut ingests = Ingests::new(lab, is_followed);
        writers.append();
        let count = 15 + writers.dice.below(30);
        for _ in 0..count {
            step(&mut writers, &mut ingests);
        }
        writers.kill(0);
        writers.kill(1);
        writers.finish_archive();
        ingests.end_all(&mut writers);
        ingests.whole(&mut writers);
        // What is known of a file that is the beginning of another went on with the other: it is read
        // once more, as a source of its own.
        let mut again = lab.run(&["ingest", "logs", "--format", "json"]).json()["total"].take();
        for _ in 0..writers.files().len() {
            assert_eq!(again["terminals"], 0, "nothing is new: {again}");
            assert_eq!(again["events"], 0, "nothing is new: {again}");
            if again["lines"] == 0 {
                break;
            }
            again = lab.run(&["ingest", "logs", "--format", "json"]).json()["total"].take();
        }
        assert_eq!(again["lines"], 0, "nothing is read for ever: {again}");
        check(&writers, &ingests, tally);
        tally.ingests.fetch_add(ingests.count, Ordering::Relaxed);
        tally.kills.fetch_add(ingests.killed, Ordering::Relaxed);
        tally.losses_said.fetch_add(ingests.losses_said, Ordering::Relaxed);
    }
}

/// One thing that happens.
fn step(writers: &mut Writers<'_>, ingests: &mut Ingests<'_>) {
    match writers.dice.below(100) {
        0..30 => writers.append(),
        30..36 => writers.begin_line(),
        36..42 => {
            let process = writers.dice.below(2) as usize;
            writers.kill(process);
            writers.start(process);
        }
        42..45 => writers.reopen(),
        45..75 => ingests.some(writers),
        _ => {
            // Half of what is destroyed was read.
            if writers.dice.below(2) == 0 {
                ingests.whole(writers);
            }
            operate(writers, ingests);
        }
    }
}

/// What operators and their programs do.
fn operate(writers: &mut Writers<'_>, ingests: &mut Ingests<'_>) {
    let first = format!("{CURRENT}.1");
    let is_reopened = writers.dice.below(3) > 0;
    match writers.dice.below(14) {
        0 | 1 => {
            writers.shift();
            writers.rename(CURRENT, &first);
        }
        2 => {
            let name = writers.a_new_name();
            writers.rename(CURRENT, &name);
        }
        3 => {
            writers.shift();
            writers.copy(CURRENT, &first);
            writers.truncate_to(0);
        }
        4..7 => writers.compress(),
        7 => writers.finish_archive(),
        8 => {
            if let Some(path) = writers.a_rotated_file() {
                let name = format!(
                    "logs/{}",
                    path.file_name().and_then(|name| name.to_str()).expect("it has a name")
                );
                match writers.dice.below(3) {
                    0 => {
                        let new = writers.a_new_name();
                        writers.rename(&name, &new);
                    }
                    1 => {
                        let new = writers.a_new_name();
                        writers.rename(CURRENT, &new);
                        writers.rename(&name, CURRENT);
                    }
                    _ => writers.remove(&name),
                }
            }
        }
        9 => {
            let (inode, held) = (writers.inode(CURRENT), writers.records_in(&writers.lab.path(CURRENT)));
            writers.truncate();
            ingests.expect_loss_said(writers, inode, &held);
        }
        10 => {
            let len =
                |writers: &Writers<'_>| writers.lab.path(CURRENT).metadata().map_or(0, |data| data.len());
            let (inode, before) = (writers.inode(CURRENT), len(writers));
            let held = writers.records_in(&writers.lab.path(CURRENT));
            writers.truncate();
            writers.start(0);
            while len(writers) <= before {
                writers.reopen();
                writers.append();
            }
            ingests.expect_loss_said(writers, inode, &held);
        }
        11 => {
            writers.remove(CURRENT);
            writers.start(0);
        }
        12 => writers.link(),
        _ => {
            let name = writers.a_new_name();
            writers.copy(CURRENT, &name);
        }
    }
    if is_reopened {
        writers.reopen();
    }
}

/// What the database says of its records, in the words of the model.
fn stored(lab: &Lab) -> Vec<Key> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => panic!("no text: {other:?}"),
    };
    let real = |value: &Value| match value {
        Value::Real(real) => *real,
        other => panic!("no float: {other:?}"),
    };
    let mut failures: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in
        lab.rows("select terminal_id, error_message from attempt_failures order by terminal_id, position")
    {
        let Value::Integer(id) = row[0] else { panic!("no key: {row:?}") };
        failures.entry(id).or_default().push(text(&row[1]));
    }
    let mut keys = Vec::new();
    for row in lab.rows(
        "select run, rid, arrived, client_rid, output_len, terminal_id from terminals join runs using (run_id)",
    ) {
        let (Value::Integer(output_len), Value::Integer(id)) = (&row[4], &row[5]) else { panic!("{row:?}") };
        let (run, rid) = (text(&row[0]), text(&row[1]));
        let failures = failures.remove(id).unwrap_or_default();
        keys.push(terminal_key((&run, &rid, real(&row[2])), &text(&row[3]), *output_len, &failures));
    }
    assert!(failures.is_empty(), "attempt failures of no terminal: {failures:?}");
    for row in lab.rows("select run, event, at, iid from events join runs using (run_id)") {
        keys.push(event_key(&text(&row[0]), &text(&row[1]), real(&row[2]), &text(&row[3])));
    }
    // A build row is stored for each source that has it.
    for row in lab.rows("select distinct version from builds") {
        keys.push(build_key(&text(&row[0])));
    }
    keys
}

fn check(writers: &Writers<'_>, ingests: &Ingests<'_>, tally: &Tally) {
    let lab = writers.lab;
    let keys = stored(lab);
    let found: HashSet<&Key> = keys.iter().collect();
    assert_eq!(found.len(), keys.len(), "records are there once: {:?}", doubled(&keys));
    let owed: BTreeSet<usize> = ingests.read.union(&writers.records_on_disk()).copied().collect();
    let missing: Vec<&Key> =
        owed.iter().map(|record| writers.key(*record)).filter(|key| !found.contains(key)).collect();
    assert!(missing.is_empty(), "{} of {} records are missing: {missing:#?}", missing.len(), owed.len());
    let written: HashSet<&Key> = writers.written.iter().map(|record| writers.key(*record)).collect();
    let foreign: Vec<&&Key> = found.difference(&written).collect();
    assert!(foreign.is_empty(), "never written whole: {foreign:#?}");
    tally.records.fetch_add(owed.len() as u64, Ordering::Relaxed);
    tally.may_be_lost.fetch_add((written.len() - owed.len()) as u64, Ordering::Relaxed);

    // Two that write and read the same bytes at once can leave anything between two writes.
    if !ingests.were_beside_writers {
        for row in lab.rows("select raw, reason from rejects where kind = 'rejected'") {
            let Value::Blob(raw) = &row[0] else { panic!("no bytes: {row:?}") };
            let is_torn = writers.are_pieces(raw);
            assert!(
                is_torn,
                "rejected though it is no torn part: {:?}: {}",
                row[1],
                String::from_utf8_lossy(raw)
            );
        }
    }
    assert_eq!(lab.rows("pragma integrity_check"), [[Value::Text("ok".into())]]);
    lab.run(&["verify"]).exits(0);
    let beside: Vec<PathBuf> = ["narwhal.db-wal", "narwhal.db-journal"].map(|name| lab.path(name)).into();
    assert!(!beside.iter().any(|path| path.exists()), "one plain file is left");
}

fn doubled(keys: &[Key]) -> Vec<&Key> {
    let mut met = HashSet::new();
    keys.iter().filter(|key| !met.insert(*key)).collect()
}
