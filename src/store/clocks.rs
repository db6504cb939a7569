//! The clocks of a run as they are stored: its zero, what bounds its wall clock, and the estimate that follows. Knows rows of
//! `runs`, not the rows that they were met in.

use chrono::{DateTime, Datelike, Utc};
use rusqlite::{Connection, Result, params};

use super::places::{self, Changed};
use super::wall::{Bounds, Estimate};

/// Something that an ingest should say of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    /// The times of the files it was read from.
    File,
    /// The second in its id.
    Start,
}

impl Dropped {
    fn in_words(self, run: &str) -> String {
        match self {
            Self::File => format!(
                "run {run}: the file it was read from is older than its rows, by the time that the file has (a copy, \
                 or one that was touched): its wall clock is estimated without that"
            ),
            Self::Start => format!(
                "run {run}: its lifecycle events contradict the start in its id: its wall clock is estimated without \
                 that"
            ),
        }
    }
}

/// What bounds the wall clock of a run, and its zero.
struct Clocks {
    run: String,
    started_s: Option<f64>,
    first_s: Option<f64>,
    lifecycle: Option<(f64, f64)>,
    file: Option<f64>,
}

impl Clocks {
    fn load(connection: &Connection, run_id: i64) -> Result<Self> {
        connection
            .prepare_cached(
                "select run, first_s, wall_lifecycle_low_s, wall_lifecycle_high_s, wall_file_high_s
                 from runs where run_id = ?1",
            )?
            .query_row([run_id], |row| {
                let (low, high) = (row.get::<_, Option<f64>>(2)?, row.get(3)?);
                let run: String = row.get(0)?;
                let started_s = started(&run).map(|second| second.timestamp() as f64);
                Ok(Self { started_s, run, first_s: row.get(1)?, lifecycle: low.zip(high), file: row.get(4)? })
            })
    }

    fn bounds(&self) -> Bounds {
        let start = self.started_s.zip(self.first_s).map(|(started, first)| started - first);
        Bounds { lifecycle: self.lifecycle, start, file: self.file }
    }

    fn save(&self, connection: &Connection, run_id: i64, estimate: &Estimate) -> Result<()> {
        let (lifecycle_low, lifecycle_high) = self.lifecycle.unzip();
        let guess = estimate.offset;
        connection
            .prepare_cached(
                "update runs set wall_lifecycle_low_s = ?2, wall_lifecycle_high_s = ?3, wall_file_high_s = ?4,
                     wall_low_s = ?5, wall_high_s = ?6, wall_offset_s = ?7, wall_error_s = ?8, wall_basis = ?9
                 where run_id = ?1",
            )?
            .execute(params![
                run_id,
                lifecycle_low,
                lifecycle_high,
                self.file,
                estimate.low,
                estimate.high,
                guess.map(|guess| guess.offset_s),
                guess.and_then(|guess| guess.error_s),
                guess.map(|guess| guess.basis.name()),
            ])?;
        Ok(())
    }
}

/// Estimates the wall clocks of all runs that an older release stored, and places their events by them.
pub(super) fn fill(connection: &Connection) -> Result<()> {
    let mut runs = connection.prepare("select run_id from runs")?;
    let runs: Vec<i64> = runs.query_map([], |row| row.get(0))?.collect::<Result<_>>()?;
    for run_id in runs {
        let stored = Clocks::load(connection, run_id)?;
        let estimate = stored.bounds().estimate();
        stored.save(connection, run_id, &estimate)?;
        let offset_s = estimate.offset.map(|guess| guess.offset_s);
        places::place(connection, run_id, Changed::All, offset_s, stored.first_s)?;
    }
    Ok(())
}

/// Saves the span of a run, what bounds its wall clock, and what follows from both. What should be said.
pub(super) fn save(
    connection: &Connection,
    run_id: i64,
    times: Option<(f64, f64)>,
    file: Option<f64>,
    changed: Option<Changed>,
) -> Result<Vec<String>> {
    let before = Clocks::load(connection, run_id)?;
    if let Some((first, last)) = times {
        connection
            .prepare_cached(
                "update runs
                 set first_s = min(coalesce(first_s, ?2), ?2), last_s = max(coalesce(last_s, ?3), ?3)
                 where run_id = ?1",
            )?
            .execute(params![run_id, first, last])?;
    }
    let lifecycle = match changed {
        None => before.lifecycle,
        // A row that came late can be nearer than those that were held to be the nearest.
        Some(Changed::All) => places::lifecycle_bounds(connection, run_id, Changed::All)?,
        Some(changed) => {
            let found = places::lifecycle_bounds(connection, run_id, changed)?;
            let all = [before.lifecycle, found].into_iter().flatten();
            all.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
        }
    };
    let now = Clocks {
        run: before.run.clone(),
        started_s: before.started_s,
        first_s: before.first_s.into_iter().chain(times.map(|(first, _)| first)).reduce(f64::min),
        lifecycle,
        file: before.file.into_iter().chain(file).reduce(f64::min),
    };
    let (was, is) = (before.bounds(), now.bounds());
    let (old, new) = (was.estimate(), is.estimate());
    if was != is {
        now.save(connection, run_id, &new)?;
    }
    let offset_s = |estimate: &Estimate| estimate.offset.map(|guess| guess.offset_s);
    let has_moved = (offset_s(&old), before.first_s) != (offset_s(&new), now.first_s);
    if let Some(changed) = if has_moved { Some(Changed::All) } else { changed } {
        places::place(connection, run_id, changed, offset_s(&new), now.first_s)?;
    }
    let dropped = [
        (Dropped::File, new.drops_file && !old.drops_file),
        (Dropped::Start, new.drops_start && !old.drops_start),
    ];
    Ok(dropped.into_iter().filter(|(_, now_too)| *now_too).map(|(what, _)| what.in_words(&now.run)).collect())
}

/// When a run began, from its name `<unix seconds>-<8 hex digits>`, as `YYYY-MM-DDTHH:MM:SSZ`.
pub(super) fn started_at(run: &str) -> Option<String> {
    started(run).map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The same as a time.
fn started(run: &str) -> Option<DateTime<Utc>> {
    let (seconds, _) = run.split_once('-')?;
    if !seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = DateTime::from_timestamp(seconds.parse().ok()?, 0)?;
    // As text, a year of five digits would sort before one of four.
    (time.year() < 10_000).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_when_its_name_says() {
        // `date -u -d @1795977936 +%FT%TZ`
        assert_eq!(started_at("1795977936-56e568d1").as_deref(), Some("2026-11-29T18:45:36Z"));
        for name in ["", "run", "-1-aa", "12345", "99999999999999-aa", "1e3-aa", "253402300800-aa"] {
            assert_eq!(started_at(name), None, "{name}");
        }
    }
}
