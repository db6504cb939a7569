//! The runs that a lake takes: the day of each, how much there is of it, and the sources that it was met in. Knows no column
//! and no row of a lake.

use anyhow::Result;
use rusqlite::{Connection, OptionalExtension, Row};
use xxhash_rust::xxh3::xxh3_128;

/// A run that is stored.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Its key in the database.
    pub run_id: i64,
    /// Its name.
    pub run: String,
    /// The day of its start, UTC, `YYYY-MM-DD`.
    pub day: Option<String>,
    pub(super) wall: Wall,
}

/// What a run's monotonic times are on the wall clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Wall {
    pub(super) offset_s: Option<f64>,
    pub(super) error_s: Option<f64>,
    pub(super) basis: Option<String>,
}

/// Every run, in the order of their names.
///
/// # Errors
/// When the database cannot be read.
pub fn runs(connection: &Connection) -> Result<Vec<StoredRun>> {
    let mut find = connection.prepare(
        "select run_id, run, started_at, wall_offset_s, wall_error_s, wall_basis from runs order by run",
    )?;
    let read = |row: &Row<'_>| {
        let started_at: Option<String> = row.get(2)?;
        Ok(StoredRun {
            run_id: row.get(0)?,
            run: row.get(1)?,
            day: started_at.as_deref().and_then(day_of).map(str::to_owned),
            wall: Wall { offset_s: row.get(3)?, error_s: row.get(4)?, basis: row.get(5)? },
        })
    };
    Ok(find.query_map([], read)?.collect::<rusqlite::Result<_>>()?)
}

/// The day of an ISO 8601 time of the years 0 to 9999.
fn day_of(started_at: &str) -> Option<&str> {
    let day = started_at.get(..10)?;
    let is_day = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_day.then_some(day)
}

/// How many rows a run has, and what tells whether they are still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTally {
    /// In `terminals`.
    pub terminals: u64,
    /// In `attempt_failures`.
    pub attempt_failures: u64,
    /// In `events`.
    pub events: u64,
    /// Of the rows' keys and the run's clock: rows are added and removed, but do not change.
    pub digest: String,
}

/// Looks how much there is of a run.
///
/// # Errors
/// When the database cannot be read.
pub fn state(connection: &Connection, run: &StoredRun) -> Result<RunTally> {
    let (terminals, low, high): (u64, Option<i64>, Option<i64>) = connection
        .prepare_cached(
            "select count(*), min(terminal_id), max(terminal_id) from terminals where run_id = ?1",
        )?
        .query_row([run.run_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let attempt_failures: u64 = connection
        .prepare_cached(
            "select coalesce(sum(attempt_failures), 0) from terminals where run_id = ?1 and attempt_failures > 0",
        )?
        .query_row([run.run_id], |row| row.get(0))?;
    let (events, first, last): (u64, Option<i64>, Option<i64>) = connection
        .prepare_cached("select count(*), min(event_id), max(event_id) from events where run_id = ?1")?
        .query_row([run.run_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Wall { offset_s, error_s, basis } = &run.wall;
    let told = format!(
        "{terminals} {low:?} {high:?} {attempt_failures} {events} {first:?} {last:?} {:?} {:?} {basis:?}",
        offset_s.map(f64::to_bits),
        error_s.map(f64::to_bits)
    );
    let digest = format!("{:032x}", xxh3_128(told.as_bytes()));
    Ok(RunTally { terminals, attempt_failures, events, digest })
}

/// A source that rows of some runs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// Its key.
    pub source_id: i64,
    /// Its name, as it was last read.
    pub path: String,
    /// How far it was read.
    pub offset_bytes: u64,
    /// The lines up to there.
    pub lines: u64,
    /// Those of them, or parts of them, that could not be read as they stand.
    pub rejects: u64,
}

/// The sources in which a run was met.
///
/// # Errors
/// When the database cannot be read.
pub fn behind(connection: &Connection, run: &StoredRun) -> Result<Vec<Behind>> {
    let mut find = connection.prepare_cached(
        "select s.source_id, s.path, s.offset_bytes, s.lines,
             (select count(*) from rejects as r where r.source_id = s.source_id)
         from run_sources as m
         join sources as s on s.source_id = m.source_id
         where m.run_id = ?1
         order by s.source_id",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Behind {
            source_id: row.get(0)?,
            path: row.get(1)?,
            offset_bytes: row.get(2)?,
            lines: row.get(3)?,
            rejects: row.get(4)?,
        })
    };
    Ok(find.query_map([run.run_id], read)?.collect::<rusqlite::Result<_>>()?)
}

/// Whether the database knows a run, or knew it before it was forgotten.
///
/// # Errors
/// When the database cannot be read.
pub fn knows(connection: &Connection, run: &str) -> Result<bool> {
    let mut find = connection.prepare_cached(
        "select 1 from runs where run = ?1 union all select 1 from forgotten where run = ?1",
    )?;
    Ok(find.query_row([run], |_| Ok(())).optional()?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_that_of_a_time_with_four_digits_of_year() {
        assert_eq!(day_of("2026-11-29T18:43:02Z"), Some("2026-11-29"));
        for none in ["", "+12026-11-29T18:43:02Z", "-2026-11-29T18:43:02Z", "2026-1-29T18:43:02Z"] {
            assert_eq!(day_of(none), None, "{none}");
        }
    }
}
