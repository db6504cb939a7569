//! Saved latency targets.

use anyhow::Result;
use rusqlite::{Connection, OptionalExtension, params};

/// The SLO that is meant when none is named.
pub const DEFAULT: &str = "default";

/// Every SLO, by its name.
pub const LIST: &str = "select name, ttft_s, tpot_s, saved_at from slos order by name";

/// A saved pair of targets, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    /// Its name.
    pub name: String,
    /// Arrival to prefill completion.
    pub ttft_s: f64,
    /// Per output token after the first.
    pub tpot_s: f64,
}

/// Saves targets under a name; what had the name before is replaced.
///
/// # Errors
/// When the database cannot be written.
pub fn save(connection: &Connection, slo: &Slo) -> Result<()> {
    let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    connection.execute(
        "insert into slos (name, ttft_s, tpot_s, saved_at) values (?1, ?2, ?3, ?4)
         on conflict (name) do update
         set ttft_s = excluded.ttft_s, tpot_s = excluded.tpot_s, saved_at = excluded.saved_at",
        params![slo.name, slo.ttft_s, slo.tpot_s, now],
    )?;
    Ok(())
}

/// The SLO of that name.
///
/// # Errors
/// When the database cannot be read.
pub fn load(connection: &Connection, name: &str) -> Result<Option<Slo>> {
    let read =
        |row: &rusqlite::Row<'_>| Ok(Slo { name: name.to_owned(), ttft_s: row.get(0)?, tpot_s: row.get(1)? });
    Ok(connection.query_row("select ttft_s, tpot_s from slos where name = ?1", [name], read).optional()?)
}

/// Removes the SLO of that name; whether there was one.
///
/// # Errors
/// When the database cannot be written.
pub fn clear(connection: &Connection, name: &str) -> Result<bool> {
    Ok(connection.execute("delete from slos where name = ?1", [name])? > 0)
}
