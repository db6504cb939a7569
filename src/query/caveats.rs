//! Things that change what an answer means, said in words beside it.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::catalog::Query;
use super::run::Bound;

/// The caveats of an answer, a line each.
///
/// # Errors
/// When the database cannot be read.
pub fn of(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<Vec<String>> {
    match query.caveat.as_deref() {
        Some("unavailable accounting") => unavailable_accounting(connection, bound),
        Some("stepped clock") => stepped_clock(connection, bound),
        _ => Ok(Vec::new()),
    }
}

/// Where a run's engines reported no token ids, its completed requests have a null `output_len` and
/// cannot meet the SLO under the policies that need one.
fn unavailable_accounting(connection: &Connection, bound: &[Bound]) -> Result<Vec<String>> {
    let value_of = |name: &str| bound.iter().find(|(bound, _)| bound == name).map(|(_, value)| value);
    let policy = match value_of(":policy") {
        Some(Value::Text(policy)) if policy == "router" => return Ok(Vec::new()),
        Some(Value::Text(policy)) => policy.as_str(),
        _ => "journal",
    };
    let mut find = connection.prepare(
        "select r.run, count(*)
         from runs as r
         cross join terminals as t -- the runs first: one run must not cost what all of them do
         where t.run_id = r.run_id
             and t.terminal = 'completed' and t.output_len is null and t.token_accounting = 'unavailable'
             and (:run is null or r.run = :run
                 or (:run = 'last' and r.run = (select run from runs order by started_at desc, run desc limit 1)))
         group by r.run_id
         order by r.started_at, r.run",
    )?;
    let run = value_of(":run").unwrap_or(&Value::Null);
    let rows =
        find.query_map(&[(":run", run)], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    rows.map(|row| {
        let (run, completed) = row?;
        Ok(format!(
            "run {run}: token accounting is unavailable, so the output of its {completed} completed \
             requests is unknown and none of them counts as met under the policy {policy}; \
             `--policy router` does not need it"
        ))
    })
    .collect()
}

/// A run whose lifecycle events allow no offset at all: its wall clock was set while it ran.
fn stepped_clock(connection: &Connection, bound: &[Bound]) -> Result<Vec<String>> {
    let mut find = connection.prepare(
        "select run from runs
         where wall_lifecycle_low_s > wall_lifecycle_high_s
             and (:run is null or run = :run
                 or (:run = 'last' and run = (select run from runs order by started_at desc, run desc limit 1)))
         order by started_at, run",
    )?;
    let run = bound.iter().find(|(name, _)| name == ":run").map_or(&Value::Null, |(_, value)| value);
    let runs = find.query_map(&[(":run", run)], |row| row.get::<_, String>(0))?;
    runs.map(|run| {
        Ok(format!(
            "the wall clock of run {} was stepped while it ran: no offset fits all its lifecycle events, so its \
             estimated wall times are null",
            run?
        ))
    })
    .collect()
}
