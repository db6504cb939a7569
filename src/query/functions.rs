//! The tool's own SQL functions. No view and no canned definition uses one: the file stays readable for
//! every other program.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};

/// Adds the functions to a connection:
///
/// - `nearest_rank(x, percent)`: the `percent`-th percentile of the non-null numbers of a group by nearest
///   rank (docs/semantics.md, "Percentiles"); null when there are none. `percent` is a whole number, 1 to 100.
/// - `median(x)`: `nearest_rank(x, 50)`.
/// - `ranks(x)`, for the tool's own statements: all of [`PERCENTS`] at once, to be read by `rank_of(ranks, percent)`.
///
/// # Errors
/// When SQLite refuses.
pub fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("nearest_rank", 2, flags, NearestRank)?;
    // SQLite can be built with a `median` that interpolates: ours is the one that the documents define.
    connection.create_aggregate_function("median", 1, flags, Median)?;
    connection.create_aggregate_function("ranks", 1, flags, Ranks)?;
    connection.create_scalar_function("rank_of", 2, flags, |context| {
        let ValueRef::Blob(ranks) = context.get_raw(0) else { return Ok(None) };
        let percent: usize = context.get(1)?;
        let at = PERCENTS.iter().position(|known| *known == percent);
        let at = at.ok_or_else(|| user_error(format!("ranks() has no percentile {percent}")))?;
        let bytes = ranks.get(at * 8..at * 8 + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        Ok(bytes.map(f64::from_le_bytes))
    })
}

/// The percentiles of `ranks`.
pub const PERCENTS: [usize; 6] = [10, 50, 90, 95, 99, 100];

fn user_error(message: String) -> Error {
    Error::UserFunctionError(message.into())
}

/// The place, from 0, of the value of rank `ceil(percent / 100 * n)` among n sorted values.
fn place(n: usize, percent: usize) -> Option<usize> {
    (n * percent).div_ceil(100).checked_sub(1)
}

/// A percentile of values, which are reordered.
fn select(values: &mut [f64], percent: usize) -> Option<f64> {
    let at = place(values.len(), percent)?;
    let (_, value, _) = values.select_nth_unstable_by(at, f64::total_cmp);
    Some(*value)
}

/// Beyond so many values the memory for them grows by a quarter and not to twice as much.
const MANY: usize = 1 << 20;

/// Adds a number to the values of a group; null is none.
#[inline]
fn collect(context: &Context<'_>, values: &mut Vec<f64>) -> Result<()> {
    if values.len() == values.capacity() && values.len() >= MANY {
        values.reserve_exact(values.len() / 4);
    }
    match context.get_raw(0) {
        ValueRef::Real(real) => values.push(real),
        ValueRef::Null => {}
        ValueRef::Integer(int) => values.push(int as f64),
        ValueRef::Text(_) | ValueRef::Blob(_) => {
            return Err(user_error("a percentile is of numbers, and this is text".to_owned()));
        }
    }
    Ok(())
}

struct NearestRank;

impl Aggregate<(Vec<f64>, usize), Option<f64>> for NearestRank {
    fn init(&self, _: &mut Context<'_>) -> Result<(Vec<f64>, usize)> {
        Ok((Vec::new(), 0))
    }

    fn step(&self, context: &mut Context<'_>, (values, percent): &mut (Vec<f64>, usize)) -> Result<()> {
        collect(context, values)?;
        if *percent == 0 {
            *percent = match context.get_raw(1) {
                ValueRef::Integer(percent) if (1..=100).contains(&percent) => percent as usize,
                _ => return Err(user_error("nearest_rank(x, percent): percent is a whole number, 1 to 100".to_owned())),
            };
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, collected: Option<(Vec<f64>, usize)>) -> Result<Option<f64>> {
        Ok(collected.and_then(|(mut values, percent)| select(&mut values, percent)))
    }
}

struct Median;

impl Aggregate<Vec<f64>, Option<f64>> for Median {
    fn init(&self, _: &mut Context<'_>) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Vec<f64>) -> Result<()> {
        collect(context, values)
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Vec<f64>>) -> Result<Option<f64>> {
        Ok(values.and_then(|mut values| select(&mut values, 50)))
    }
}

struct Ranks;

impl Aggregate<Vec<f64>, Option<Vec<u8>>> for Ranks {
    fn init(&self, _: &mut Context<'_>) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Vec<f64>) -> Result<()> {
        collect(context, values)
    }

    /// Ranks from below: what was selected first parts the values, so that each later one looks at fewer.
    fn finalize(&self, _: &mut Context<'_>, values: Option<Vec<f64>>) -> Result<Option<Vec<u8>>> {
        let Some(mut values) = values.filter(|values| !values.is_empty()) else { return Ok(None) };
        let n = values.len();
        let mut ranks = Vec::with_capacity(PERCENTS.len() * 8);
        let mut done = 0;
        let mut last = f64::MIN;
        for percent in PERCENTS {
            let Some(at) = place(n, percent) else { return Ok(None) };
            if at >= done {
                let (_, value, _) = values[done..].select_nth_unstable_by(at - done, f64::total_cmp);
                last = *value;
                done = at + 1;
            }
            ranks.extend(last.to_le_bytes());
        }
        Ok(Some(ranks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn connection() -> Connection {
        let connection = Connection::open_in_memory().expect("SQLite works");
        add(&connection).expect("functions can be added");
        connection.execute_batch("create table t (x)").expect("a table");
        connection
    }

    /// The definition: the smallest k with `100 * k >= percent * n`, of the sorted values.
    fn by_definition(values: &[f64], percent: usize) -> Option<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        (1..=n).find(|k| 100 * k >= percent * n).map(|k| sorted[k - 1])
    }

    proptest! {
        #[test]
        fn ranks_are_the_definitions(
            values in prop::collection::vec(prop_oneof![prop::num::f64::NORMAL, 0.0..1.0, Just(0.5), Just(0.0)], 0..200),
            percent in 1_usize..=100,
        ) {
            let connection = connection();
            for value in &values {
                connection.execute("insert into t values (?1), (null)", [value]).expect("a row");
            }
            let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<f64>>(0)).expect("an answer");
            prop_assert_eq!(ask(&format!("select nearest_rank(x, {percent}) from t")), by_definition(&values, percent));
            prop_assert_eq!(ask("select median(x) from t"), by_definition(&values, 50));
            for percent in PERCENTS {
                let found = ask(&format!("select rank_of(ranks(x), {percent}) from t"));
                prop_assert_eq!(found, by_definition(&values, percent));
            }
        }
    }

    #[test]
    fn what_has_no_percentile_is_said() {
        let connection = connection();
        connection.execute("insert into t values ('a')", []).expect("a row");
        for (sql, message) in [
            ("select nearest_rank(x, 50) from t", "is of numbers"),
            ("select median(x) from t", "is of numbers"),
            ("select nearest_rank(1, 0) from t", "1 to 100"),
            ("select nearest_rank(1, 101) from t", "1 to 100"),
            ("select nearest_rank(1, 50.5) from t", "1 to 100"),
        ] {
            let error = connection.query_row(sql, [], |_| Ok(())).expect_err(sql).to_string();
            assert!(error.contains(message), "{sql}: {error}");
        }
    }
}
