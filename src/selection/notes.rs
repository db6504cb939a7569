//! What a reader of an answer must know of its selection, in words.

use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

use anyhow::Result;
use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::runs::{self, Run};
use super::windows::Window;
use super::{By, Choice};
use crate::journal::names;
use crate::text::{counted, rounded, short};

/// A run that may still grow.
#[derive(Debug, Clone)]
pub(super) struct Growing {
    pub run_id: i64,
    /// So long before its end its rows are not all written yet: the 99th percentile of the duration of its last
    /// completed requests. None without any.
    pub tail_s: Option<f64>,
}

/// A file that was not changed for so long is not written any more.
const QUIET_S: u64 = 10 * 60;

/// The runs that may still grow: each the current one of a plain file that changed a short time ago.
pub(super) fn growing(connection: &Connection, all: &[Run], now: DateTime<Utc>) -> Result<Vec<Growing>> {
    let mut growing = Vec::new();
    for current in runs::current(connection)? {
        let is_packed = names::is_packed(&current.path);
        let changed = fs::symlink_metadata(&current.path)
            .and_then(|_| fs::metadata(&current.path))
            .ok()
            .filter(fs::Metadata::is_file)
            .and_then(|metadata| metadata.modified().ok());
        let is_quiet = changed.is_none_or(|changed| {
            SystemTime::from(now).duration_since(changed).is_ok_and(|age| age.as_secs() >= QUIET_S)
        });
        if is_packed || is_quiet || !all.iter().any(|run| run.run_id == current.run_id) {
            continue;
        }
        growing.push(Growing { run_id: current.run_id, tail_s: tail_s(connection, current.run_id)? });
    }
    Ok(growing)
}

/// The 99th percentile, nearest rank, of `duration_s` of the last 10,000 completed requests by arrival.
fn tail_s(connection: &Connection, run_id: i64) -> Result<Option<f64>> {
    let mut find = connection.prepare_cached(
        "select nearest_rank(duration_s, 99)
         from (
             select duration_s
             from terminals
             where run_id = ?1 and terminal = 'completed'
             order by arrived desc, rid desc
             limit 10000
         )",
    )?;
    Ok(find.query_row([run_id], |row| row.get(0))?)
}

/// What the wall time of the runs rests on, and of how many.
pub(super) fn bases(parts: &[(&Run, Window)]) -> Vec<(String, usize)> {
    let mut bases: BTreeMap<&str, usize> = BTreeMap::new();
    for basis in parts.iter().filter_map(|(run, _)| run.wall_basis.as_deref()) {
        *bases.entry(basis).or_default() += 1;
    }
    bases.into_iter().map(|(basis, runs)| (basis.to_owned(), runs)).collect()
}

/// The notes on a selection.
pub(super) fn of(
    connection: &Connection,
    asked: &Choice,
    parts: &[(&Run, Window)],
    growing: &[Growing],
    all: &[Run],
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if asked.runs.iter().any(|name| name == "last") {
        notes.extend(one_of_many(&runs::current(connection)?, all));
    }
    if !asked.settled {
        notes.extend(still_growing(parts, growing));
    }
    notes.extend(uncertain_wall_time(asked, parts));
    if matches!(asked.by, By::Wall(_)) {
        let without = parts.iter().filter(|(run, _)| run.wall_offset_s.is_none()).count();
        if without > 0 {
            notes.push(format!(
                "{without} {} no wall time and {} the scope `unknown`",
                if without == 1 { "run has" } else { "runs have" },
                if without == 1 { "is" } else { "are" },
            ));
        }
    }
    if asked.since.is_some() || asked.until.is_some() {
        let left_out = all.iter().filter(|run| run.wall_offset_s.is_none() && run.first_s.is_some()).count();
        if left_out > 0 {
            let verb = if left_out == 1 { "is" } else { "are" };
            let runs = counted(left_out, "run");
            notes.push(format!("{runs} without a wall time {verb} left out by --since and --until"));
        }
    }
    Ok(notes)
}

/// `last` means one run, and a fleet has several that are written at this time.
fn one_of_many(current: &[runs::Current], all: &[Run]) -> Option<String> {
    let last = all.last()?;
    let is_current = current.iter().any(|current| current.run_id == last.run_id);
    (current.len() > 1 && is_current).then(|| {
        format!(
            "{} journals each have a current run, and `last` is one of them, {}: `--run current` takes in all, and \
             `--by all` makes one figure of them",
            current.len(),
            last.run
        )
    })
}

/// The way out of that, for who has the flag.
pub(super) const SETTLED: &str = "--settled leaves that end out";

/// Where a selection reaches the end of a run that may still grow, the slow requests are not in the journal yet.
fn still_growing(parts: &[(&Run, Window)], growing: &[Growing]) -> Option<String> {
    let reaching: Vec<(&Run, Option<f64>)> = parts
        .iter()
        .filter_map(|(run, window)| {
            let growing = growing.iter().find(|growing| growing.run_id == run.run_id)?;
            let settles_at = run.last_s? - growing.tail_s.unwrap_or_default();
            (window.to_s > settles_at).then_some((*run, growing.tail_s))
        })
        .collect();
    let longest = reaching.iter().filter_map(|(_, tail_s)| *tail_s).reduce(f64::max);
    let which = match reaching.as_slice() {
        [] => return None,
        [(run, _)] => format!("run {} is still written", run.run),
        several => format!("{} runs are still written", several.len()),
    };
    let tail =
        longest.map(|tail_s| format!(" (99 of 100 end within {} s)", short(tail_s))).unwrap_or_default();
    Some(format!(
        "{which}: requests that still run are not in the journal, and the slow ones are missing more often{tail}; \
         {SETTLED}"
    ))
}

/// Says where a wall time is too uncertain for what was asked of it.
fn uncertain_wall_time(asked: &Choice, parts: &[(&Run, Window)]) -> Option<String> {
    let window_s = match (&asked.since, &asked.until) {
        (None, None) => None,
        (Some(since), Some(until)) => Some(until.unix_s - since.unix_s),
        (since, _) => parts
            .iter()
            .filter_map(|(run, _)| {
                let (from, to) = (run.first_s? + run.wall_offset_s?, run.last_s? + run.wall_offset_s?);
                Some(since.as_ref().map_or(to - from, |since| to - since.unix_s))
            })
            .reduce(f64::max),
    };
    let bucket_s = match asked.by {
        By::Wall(stretch_s) => Some(stretch_s as f64),
        _ => None,
    };
    let asked_s = [window_s, bucket_s].into_iter().flatten().reduce(f64::min)?;
    let uncertain: Vec<&Run> = parts
        .iter()
        .map(|(run, _)| *run)
        .filter(|run| match run.wall_basis.as_deref() {
            Some("start") => true,
            Some(_) => run.wall_error_s.is_some_and(|error_s| error_s > asked_s / 10.0),
            None => false,
        })
        .collect();
    let of_start = uncertain.iter().filter(|run| run.wall_basis.as_deref() == Some("start")).count();
    let widest = uncertain.iter().filter_map(|run| run.wall_error_s).reduce(f64::max);
    let mut words = Vec::new();
    if of_start > 0 {
        words.push(format!(
            "the wall time of {} rests on {} start alone (basis start): the true one is that or later, by seconds if \
             the router served at once",
            counted(of_start, "run"),
            if of_start == 1 { "its" } else { "their" },
        ));
    }
    if let Some(error_s) = widest {
        words.push(format!(
            "the wall time of {} is uncertain by up to {} s, more than a tenth of what was asked for",
            counted(uncertain.len() - of_start, "run"),
            rounded(error_s)
        ));
    }
    (!words.is_empty()).then(|| words.join("; "))
}
