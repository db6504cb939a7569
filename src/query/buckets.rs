//! Buckets that are too wide for what is selected: a burst is hidden in one of them.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::header::Query;
use super::run::{Bound, value_of};
use crate::text::short;

/// The parameter that says how wide they are.
const BUCKET: &str = "bucket";

/// Fewer buckets than this tell little about time.
const FEW: f64 = 5.0;

/// So many are about right for eyes.
const MANY: f64 = 20.0;

/// Widths that people choose.
const WIDTHS_S: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0];

/// What to say of buckets that nobody chose, where the longest part of a run that is selected fills few of them.
///
/// # Errors
/// When SQLite fails.
pub fn hint(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<Option<String>> {
    let parameter = query.parameters.iter().find(|parameter| parameter.name == BUCKET);
    let is_given = value_of(bound, BUCKET).is_some_and(|value| *value != Value::Null);
    let Some(bucket_s) = parameter.and_then(|parameter| parameter.default.parse::<f64>().ok()) else {
        return Ok(None);
    };
    if is_given || query.file.is_some() {
        return Ok(None);
    }
    let longest = "select max(min(s.to_s, r.last_s) - max(s.from_s, r.first_s))
                   from selection as s join runs as r on r.run_id = s.run_id";
    let longest_s: Option<f64> = connection.query_row(longest, [], |row| row.get(0))?;
    let Some(longest_s) = longest_s.filter(|longest_s| *longest_s > 0.0 && *longest_s < FEW * bucket_s)
    else {
        return Ok(None);
    };
    let width_s = WIDTHS_S.into_iter().find(|width_s| longest_s / width_s <= MANY).unwrap_or(30.0);
    Ok(Some(format!(
        "buckets of {} s hide a burst: what is selected lasts {} s, `--bucket {width_s}` shows when",
        short(bucket_s),
        short(longest_s)
    )))
}
