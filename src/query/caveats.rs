//! Things that change what an answer means, said in words beside it.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::header::Query;
use super::run::{Bound, value_of};
use super::scoring::Policy;
use crate::text::counted;

/// The caveats of an answer about the connection's selection, a line each.
///
/// # Errors
/// When the database cannot be read.
pub fn of(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<Vec<String>> {
    match query.caveat.as_deref() {
        Some("unavailable accounting") => unavailable_accounting(connection, policy_of(bound)),
        Some("unknown output") => unknown_output(connection),
        Some("stepped clock") => stepped_clock(connection),
        _ => Ok(Vec::new()),
    }
}

/// So many runs are named one by one.
const MAX_NAMED: usize = 3;

/// The policy that is bound.
fn policy_of(bound: &[Bound]) -> Policy {
    match value_of(bound, "policy") {
        Some(Value::Text(name)) => Policy::named(name).unwrap_or_default(),
        _ => Policy::default(),
    }
}

/// Where a run's engines reported no token ids, its completed requests have a null `output_len` and
/// cannot meet the SLO under the policies that need one.
///
/// # Errors
/// When the database cannot be read.
pub fn unavailable_accounting(connection: &Connection, policy: Policy) -> Result<Vec<String>> {
    if policy == Policy::Router {
        return Ok(Vec::new());
    }
    let policy = policy.name();
    let runs = without_accounting(connection)?;
    let says = |which: &str, completed: i64| {
        format!(
            "{which}: token accounting is unavailable, so the output of {} is unknown and none of them counts as met \
             under the policy {policy}; `--policy router` does not need it",
            counted(completed, "completed request")
        )
    };
    Ok(named_or_counted(&runs, says))
}

/// Output tokens that the journal does not know are null, not 0.
fn unknown_output(connection: &Connection) -> Result<Vec<String>> {
    let runs = without_accounting(connection)?;
    let says = |which: &str, completed: i64| {
        format!(
            "{which}: token accounting is unavailable, so the output of {} is unknown: it is in no sum of tokens",
            counted(completed, "completed request")
        )
    };
    Ok(named_or_counted(&runs, says))
}

/// The selected runs that completed requests without token accounting, and how many.
fn without_accounting(connection: &Connection) -> Result<Vec<(String, i64)>> {
    let mut find = connection.prepare(
        "select r.run, count(*)
         from selection as s
         cross join terminals as t indexed by terminals_unaccounted
         cross join runs as r
         where t.run_id = s.run_id and t.arrived >= s.from_s and t.arrived < s.to_s
             and t.terminal = 'completed' and t.output_len is null and t.token_accounting = 'unavailable'
             and r.run_id = s.run_id
         group by r.run_id
         order by r.started_at, r.run",
    )?;
    let runs = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(runs.collect::<rusqlite::Result<_>>()?)
}

/// The scopes that hold completed requests without token accounting: of how many runs, and how many.
///
/// # Errors
/// When the database cannot be read.
pub fn without_accounting_by_scope(connection: &Connection) -> Result<Vec<(String, i64, i64)>> {
    let mut find = connection.prepare(
        "select s.scope, count(distinct t.run_id), count(*)
         from selection as s
         cross join terminals as t indexed by terminals_unaccounted
         where t.run_id = s.run_id and t.arrived >= s.from_s and t.arrived < s.to_s
             and t.terminal = 'completed' and t.output_len is null and t.token_accounting = 'unavailable'
         group by s.scope
         order by s.scope",
    )?;
    let scopes = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(scopes.collect::<rusqlite::Result<_>>()?)
}

/// A sentence for each of few runs, or one for many.
fn named_or_counted(runs: &[(String, i64)], says: impl Fn(&str, i64) -> String) -> Vec<String> {
    if runs.len() > MAX_NAMED {
        let completed = runs.iter().map(|(_, completed)| completed).sum();
        return vec![says(&format!("{} runs", runs.len()), completed)];
    }
    runs.iter().map(|(run, completed)| says(&format!("run {run}"), *completed)).collect()
}

/// A run whose lifecycle events allow no offset at all: its wall clock was set while it ran.
fn stepped_clock(connection: &Connection) -> Result<Vec<String>> {
    let mut find = connection.prepare(
        "select run from runs
         where wall_lifecycle_low_s > wall_lifecycle_high_s and run_id in (select run_id from selection)
         order by started_at, run",
    )?;
    let runs = find.query_map([], |row| row.get::<_, String>(0))?;
    runs.map(|run| {
        Ok(format!(
            "the wall clock of run {} was stepped while it ran: no offset fits all its lifecycle events, so its \
             estimated wall times are null",
            run?
        ))
    })
    .collect()
}
