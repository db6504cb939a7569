//! How many rows an answer would have that was cut at its query's limit. A definition with one ends with its order and
//! that limit.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::header::Query;
use super::run::{self, Bound};

/// The parameter that cuts an answer.
const LIMIT: &str = "limit";

/// How many rows there are of an answer with so many; none where its query has no limit, or did not reach it.
///
/// # Errors
/// When SQLite fails.
pub fn rows_of_all(
    connection: &mut Connection,
    query: &Query,
    bound: &[Bound],
    rows: u64,
) -> Result<Option<u64>> {
    let Some(parameter) = query.parameters.iter().find(|parameter| parameter.name == LIMIT) else {
        return Ok(None);
    };
    let limit = match run::value_of(bound, LIMIT) {
        Some(Value::Integer(limit)) => u64::try_from(*limit).ok(),
        _ => parameter.default.parse().ok(),
    };
    if query.file.is_some() || rows == 0 || limit != Some(rows) {
        return Ok(None);
    }
    // Neither the order nor the limit: to sort all rows only to count them would cost more than the answer.
    let (unsorted, _) = query.sql.rsplit_once("\norder by ").unwrap_or((&query.sql, ""));
    let (_, counted) =
        run::collect(connection, &format!("select count(*) from (\n{unsorted}\n) as whole"), bound)?;
    Ok(match counted.first().and_then(|row| row.first()) {
        Some(Value::Integer(count)) => u64::try_from(*count).ok().filter(|count| *count > rows),
        _ => None,
    })
}
