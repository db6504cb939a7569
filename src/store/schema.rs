//! Applies migrations in order, and refuses what is not ours or newer.

use anyhow::{Result, bail};
use rusqlite::{Connection, TransactionBehavior};

use super::moved::Before;
use super::{clocks, places, runs};

/// Marks a SQLite file as a database of narwhal-jq ("NJQ1").
pub const APPLICATION_ID: i32 = 0x4e4a_5131;

/// A step from one schema version to the next: its SQL, and what SQL cannot do, after it.
struct Migration {
    sql: &'static str,
    fill: fn(&Connection) -> rusqlite::Result<()>,
}

/// Append only: the schema version of a database is how many of these it has had.
const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("../../migrations/0001_journal.sql"), fill: |_| Ok(()) },
    Migration { sql: include_str!("../../migrations/0002_kept_answers.sql"), fill: |_| Ok(()) },
    Migration { sql: include_str!("../../migrations/0003_forgotten.sql"), fill: |_| Ok(()) },
    Migration { sql: include_str!("../../migrations/0004_archives.sql"), fill: |_| Ok(()) },
    Migration { sql: include_str!("../../migrations/0005_selections.sql"), fill: fill_places_and_clocks },
    Migration { sql: include_str!("../../migrations/0006_views_and_indexes.sql"), fill: |_| Ok(()) },
];

/// The schema version of this release.
pub const LATEST: i64 = MIGRATIONS.len() as i64;

/// The SQL of every migration, in order, with its comments.
pub fn migrations() -> impl Iterator<Item = &'static str> {
    MIGRATIONS.iter().map(|migration| migration.sql)
}

/// What a database file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A file without a table.
    Empty,
    /// A database of ours, with its schema version.
    Ours(i64),
}

/// Looks what a database is.
///
/// # Errors
/// When it is somebody else's, made by a newer version, or cannot be read.
pub fn version(connection: &Connection) -> Result<Version> {
    // One look at all three: another process may make the tables in between.
    let look = connection.unchecked_transaction()?;
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    look.finish()?;
    match (application, tables) {
        (APPLICATION_ID, _) if version > LATEST => Err(super::errors::newer(version)),
        (APPLICATION_ID, _) => Ok(Version::Ours(version)),
        (0, 0) if version == 0 => Ok(Version::Empty),
        _ => bail!(
            "{} is a SQLite database, but none of narwhal-jq: `--db PATH` names another",
            connection.path().unwrap_or("the file")
        ),
    }
}

/// Brings the database to [`LATEST`], and says whether it had no table before. Each migration is one
/// transaction with its version number.
///
/// # Errors
/// When SQLite refuses, or another process holds the lock for too long.
pub fn migrate(connection: &mut Connection) -> rusqlite::Result<bool> {
    let mut is_new = false;
    for (to, migration) in (1..).zip(MIGRATIONS) {
        let has = |connection: &Connection| -> rusqlite::Result<i64> {
            connection.pragma_query_value(None, "user_version", |row| row.get(0))
        };
        if has(connection)? >= to {
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have come first.
        if has(&transaction)? < to {
            apply(&transaction, migration.sql, migration.fill)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", to)?;
            is_new |= to == 1;
        }
        transaction.commit()?;
    }
    Ok(is_new)
}

/// Applies a migration. Declared fields that it gives a column bring their values along.
pub(super) fn apply(
    connection: &Connection,
    sql: &str,
    fill: fn(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let before = Before::of(connection)?;
    connection.execute_batch(sql)?;
    before.fill_new(connection)?;
    fill(connection)
}

fn fill_places_and_clocks(connection: &Connection) -> rusqlite::Result<()> {
    places::fill(connection)?;
    runs::fill_sources(connection)?;
    clocks::fill(connection)
}
