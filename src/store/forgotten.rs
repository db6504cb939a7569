//! Forgetting whole runs, so that the database stays small, and taking that back.
//!
//! A forgotten run leaves a tombstone: its rows are not stored when they are read again, from whichever
//! source, and it still uses up its build row in each. Sources, builds and rejects stay, because they
//! belong to files. Taken back, the run waits for its rows: the sources in which it was met are read again
//! from their start.

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::current::CurrentSource;
use super::inference::Home;
use super::sources;

/// A run as far as forgetting it goes.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its key.
    pub run_id: i64,
    /// Its name.
    pub run: String,
    /// When it began, UTC.
    pub started_at: Option<String>,
    /// The Unix second at which it had ended, if its start is known: its start and its span, or its last
    /// row by the latest that its wall clock can have been, whichever is later.
    pub ended_by: Option<f64>,
}

/// Every run, in the order of `runs` answers.
///
/// # Errors
/// When the database cannot be read.
pub fn candidates(connection: &Connection) -> Result<Vec<Candidate>> {
    // A router may idle for long before its first row, so the span alone can end before the rows do, and an
    // estimate that rests on the start says no more than the span. The file's time is no help: it is that of
    // a copy, perhaps.
    let mut find = connection.prepare(
        "select run_id, run, started_at,
             max(
                 unixepoch(started_at) + coalesce(last_s - first_s, 0),
                 coalesce(last_s + wall_offset_s + coalesce(wall_error_s, 0), 0),
                 case
                     when wall_lifecycle_low_s <= wall_lifecycle_high_s and wall_basis = 'start'
                     then last_s + wall_lifecycle_high_s
                     else 0
                 end
             )
         from runs order by started_at, run",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Candidate {
            run_id: row.get(0)?,
            run: row.get(1)?,
            started_at: row.get(2)?,
            ended_by: row.get(3)?,
        })
    };
    find.query_map([], read)?.collect()
}

/// How many rows a run has, by table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    /// In `terminals`.
    pub terminals: u64,
    /// In `attempt_failures`.
    pub attempt_failures: u64,
    /// In `events`.
    pub events: u64,
}

impl Holding {
    /// Those of one run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(connection: &Connection, run_id: i64) -> Result<Self> {
        connection
            .prepare_cached(
                "select count(*), coalesce(sum(attempt_failures), 0),
                     (select count(*) from events where run_id = ?1)
                 from terminals where run_id = ?1",
            )?
            .query_row([run_id], Self::read)
    }

    /// Those of all runs.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of_all(connection: &Connection) -> Result<Self> {
        let sql = "select (select count(*) from terminals), (select count(*) from attempt_failures),
             (select count(*) from events)";
        connection.query_row(sql, [], Self::read)
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self { terminals: row.get(0)?, attempt_failures: row.get(1)?, events: row.get(2)? })
    }

    /// All of them.
    pub fn rows(self) -> u64 {
        self.terminals + self.attempt_failures + self.events
    }
}

/// Deletes whatever stands under a run's key; the first of these before the rows it finds them by.
const DELETIONS: [&str; 8] = [
    "delete from terminal_counts where run_id = ?1",
    "delete from leg_counts where run_id = ?1",
    "delete from event_gaps where run_id = ?1",
    "delete from attempt_failures where terminal_id in (select terminal_id from terminals where run_id = ?1)",
    "delete from terminals where run_id = ?1",
    "delete from events where run_id = ?1",
    "delete from run_sources where run_id = ?1",
    "delete from runs where run_id = ?1",
];

/// Forgets a run within the caller's transaction; how many rows it had.
///
/// # Errors
/// When the database cannot be written.
pub fn forget(connection: &Connection, run_id: i64) -> Result<Holding> {
    let had = Holding::of(connection, run_id)?;
    connection.execute(
        "insert into forgotten (run, forgotten_at, started_at, build_id, build_certainty, first_s, last_s,
             terminals, attempt_failures, events)
         select run, ?2, started_at, build_id, build_certainty, first_s, last_s, ?3, ?4, ?5
         from runs where run_id = ?1",
        params![run_id, now(), had.terminals, had.attempt_failures, had.events],
    )?;
    connection.execute(
        "insert into forgotten_sources (source_id, forgotten_id, build_certainty, first_offset)
         select source_id, ?2, build_certainty, first_offset from run_sources where run_id = ?1",
        params![run_id, connection.last_insert_rowid()],
    )?;
    for sql in DELETIONS {
        connection.execute(sql, [run_id])?;
    }
    Ok(had)
}

fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// What is left of a forgotten run.
#[derive(Debug, Clone)]
pub struct Tombstone {
    /// Its key.
    pub forgotten_id: i64,
    /// The run's name.
    pub run: String,
    /// When it was forgotten, UTC.
    pub forgotten_at: String,
    /// Whether that was taken back; then it waits for its rows.
    pub is_undone: bool,
}

/// The tombstone of a run.
///
/// # Errors
/// When the database cannot be read.
pub fn find(connection: &Connection, run: &str) -> Result<Option<Tombstone>> {
    connection
        .prepare_cached(
            "select forgotten_id, run, forgotten_at, undone_at is not null from forgotten where run = ?1",
        )?
        .query_row([run], |row| {
            Ok(Tombstone {
                forgotten_id: row.get(0)?,
                run: row.get(1)?,
                forgotten_at: row.get(2)?,
                is_undone: row.get(3)?,
            })
        })
        .optional()
}

/// How many runs are forgotten.
///
/// # Errors
/// When the database cannot be read.
pub fn count(connection: &Connection) -> Result<i64> {
    connection.query_row("select count(*) from forgotten where undone_at is null", [], |row| row.get(0))
}

/// Takes back, within the caller's transaction, that a run was forgotten: the sources in which it was met
/// are read again from their start. Their keys.
///
/// # Errors
/// When the database cannot be written.
pub fn undo(connection: &Connection, forgotten_id: i64) -> Result<Vec<i64>> {
    connection.execute(
        "update forgotten set undone_at = ?2 where forgotten_id = ?1",
        params![forgotten_id, now()],
    )?;
    let mut met = connection
        .prepare("select source_id from forgotten_sources where forgotten_id = ?1 order by source_id")?;
    let met: Vec<i64> = met.query_map([forgotten_id], |row| row.get(0))?.collect::<Result<_>>()?;
    for source_id in &met {
        sources::read_again(connection, *source_id)?;
    }
    Ok(met)
}

/// Forgets again, within the caller's transaction, a run that waits for its rows.
///
/// # Errors
/// When the database cannot be written.
pub fn redo(connection: &Connection, forgotten_id: i64) -> Result<()> {
    let sql = "update forgotten set undone_at = null, forgotten_at = ?2 where forgotten_id = ?1";
    connection.execute(sql, params![forgotten_id, now()])?;
    Ok(())
}

/// Whether the run that is met in a source is forgotten. One that waits for its rows comes back here.
pub(super) fn meet(
    connection: &Connection,
    source: &mut CurrentSource,
    name: &str,
    byte_offset: u64,
) -> Result<bool> {
    let Some(Tombstone { forgotten_id, is_undone, .. }) = find(connection, name)? else {
        return Ok(false);
    };
    let source_id = source.source_id;
    if is_undone {
        bring_back(connection, forgotten_id, source_id)?;
        return Ok(false);
    }
    let mut met_before = connection
        .prepare_cached("select 1 from forgotten_sources where source_id = ?1 and forgotten_id = ?2")?;
    if !met_before.exists([source_id, forgotten_id])? {
        let certainty = source.take_build(connection, Home::Forgotten, forgotten_id)?;
        connection.execute(
            "insert into forgotten_sources (source_id, forgotten_id, build_certainty, first_offset)
             values (?1, ?2, ?3, ?4)",
            params![source_id, forgotten_id, certainty, byte_offset],
        )?;
    }
    Ok(true)
}

/// Makes a tombstone a run again, without rows yet, that has its build and takes no other. Its first row
/// comes from the source `met_in`.
fn bring_back(connection: &Connection, forgotten_id: i64, met_in: i64) -> Result<()> {
    connection.execute(
        "insert into runs (run, started_at, build_id, build_certainty, source_id)
         select run, started_at, build_id, build_certainty, ?2 from forgotten where forgotten_id = ?1",
        [forgotten_id, met_in],
    )?;
    connection.execute(
        "insert into run_sources (source_id, run_id, build_certainty, first_offset)
         select source_id, ?2, build_certainty, first_offset from forgotten_sources where forgotten_id = ?1",
        params![forgotten_id, connection.last_insert_rowid()],
    )?;
    connection.execute("delete from forgotten_sources where forgotten_id = ?1", [forgotten_id])?;
    connection.execute("delete from forgotten where forgotten_id = ?1", [forgotten_id])?;
    Ok(())
}
