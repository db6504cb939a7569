//! The tool's own SQL functions. No view and no canned definition uses one: the file stays readable for
//! every other program.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

/// Adds the functions to a connection:
///
/// - `nearest_rank(x, percent)`: the `percent`-th percentile of the non-null numbers of a group by nearest
///   rank (docs/semantics.md, "Percentiles"); null when there are none. `percent` is a whole number, 1 to 100.
/// - `median(x)`: `nearest_rank(x, 50)`.
/// - SQLite's math functions, which the bundled one is built without, as its documentation has them.
/// - `ranks(x, above)`, for the tool's own statements: all of [`PERCENTS`] at once, to be read by
///   `rank_of(ranks, percent)`; `above` more values lie above all of x, and a percentile among them is null. The 100th
///   is the largest x.
/// - `ranks_by`, `counts_by`, `keys_of`, `rank_at`, which `keyed.rs` explains.
/// - `frontier` and `frontier_at`, for `slo-frontier`.
///
/// # Errors
/// When SQLite refuses.
pub fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("nearest_rank", 2, flags, NearestRank)?;
    // SQLite can be built with a `median` that interpolates: ours is the one that the documents define.
    connection.create_aggregate_function("median", 1, flags, Median)?;
    connection.create_aggregate_function("ranks", 2, flags, Ranks)?;
    add_math(connection, flags)?;
    super::keyed::add(connection)?;
    super::frontier::add(connection)?;
    connection.create_scalar_function("rank_of", 2, flags, |context| {
        let ValueRef::Blob(ranks) = context.get_raw(0) else { return Ok(None) };
        let percent: usize = context.get(1)?;
        let at = PERCENTS.iter().position(|known| *known == percent);
        let at = at.ok_or_else(|| user_error(format!("ranks() has no percentile {percent}")))?;
        let bytes = ranks.get(at * 8..at * 8 + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        Ok(bytes.map(f64::from_le_bytes).filter(|value| !value.is_nan()))
    })
}

/// A function of one number.
type OfOne = fn(f64) -> f64;

/// Those of one number. What has no value, such as the root of -1, is not a number, which SQLite makes null.
const MATH: [(&str, OfOne); 24] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("ln", ln),
    ("log", log10),
    ("log10", log10),
    ("log2", log2),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
    ("trunc", f64::trunc),
];

/// A logarithm of 0 is null, as that of a negative number is.
fn logarithm(x: f64, log: fn(f64) -> f64) -> f64 {
    if x > 0.0 { log(x) } else { f64::NAN }
}

fn ln(x: f64) -> f64 {
    logarithm(x, f64::ln)
}

fn log10(x: f64) -> f64 {
    logarithm(x, f64::log10)
}

fn log2(x: f64) -> f64 {
    logarithm(x, f64::log2)
}

fn add_math(connection: &Connection, flags: FunctionFlags) -> Result<()> {
    for (name, function) in MATH {
        let is_rounding = matches!(name, "ceil" | "ceiling" | "floor" | "trunc");
        connection.create_scalar_function(name, 1, flags, move |context| {
            Ok(match context.get_raw(0) {
                // A whole number stays one.
                ValueRef::Integer(int) if is_rounding => Value::Integer(int),
                _ => number(context, 0).map_or(Value::Null, |x| Value::Real(function(x))),
            })
        })?;
    }
    type OfTwo = fn(f64, f64) -> f64;
    let of_two: [(&str, OfTwo); 5] = [
        ("atan2", f64::atan2),
        ("log", |base, x| if base > 0.0 && base != 1.0 { ln(x) / base.ln() } else { f64::NAN }),
        ("mod", |x, y| x % y),
        ("pow", f64::powf),
        ("power", f64::powf),
    ];
    for (name, function) in of_two {
        connection.create_scalar_function(name, 2, flags, move |context| {
            Ok(number(context, 0).zip(number(context, 1)).map(|(x, y)| function(x, y)))
        })?;
    }
    connection.create_scalar_function("pi", 0, flags, |_| Ok(std::f64::consts::PI))
}

/// An argument as a number; text that is none is null, as null is.
fn number(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Integer(int) => Some(int as f64),
        ValueRef::Real(real) => Some(real),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// The percentiles of `ranks`.
pub const PERCENTS: [usize; 6] = [10, 50, 90, 95, 99, 100];

pub(super) fn user_error(message: String) -> Error {
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

/// Adds a number to values.
#[inline]
pub(super) fn keep(values: &mut Vec<f64>, value: f64) {
    if values.len() == values.capacity() && values.len() >= MANY {
        values.reserve_exact(values.len() / 4);
    }
    values.push(value);
}

/// Adds a number to the values of a group; null is none.
#[inline]
fn collect(context: &Context<'_>, values: &mut Vec<f64>) -> Result<()> {
    match context.get_raw(0) {
        ValueRef::Real(real) => keep(values, real),
        ValueRef::Null => {}
        ValueRef::Integer(int) => keep(values, int as f64),
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
                _ => {
                    return Err(user_error(
                        "nearest_rank(x, percent): percent is a whole number, 1 to 100".to_owned(),
                    ));
                }
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

impl Aggregate<(Vec<f64>, usize), Option<Vec<u8>>> for Ranks {
    fn init(&self, context: &mut Context<'_>) -> Result<(Vec<f64>, usize)> {
        let ValueRef::Integer(above) = context.get_raw(1) else {
            return Err(user_error("ranks(x, above): above is a count".to_owned()));
        };
        Ok((Vec::new(), usize::try_from(above).unwrap_or_default()))
    }

    fn step(&self, context: &mut Context<'_>, (values, _): &mut (Vec<f64>, usize)) -> Result<()> {
        collect(context, values)
    }

    fn finalize(&self, _: &mut Context<'_>, collected: Option<(Vec<f64>, usize)>) -> Result<Option<Vec<u8>>> {
        let Some((mut values, above)) = collected.filter(|(values, _)| !values.is_empty()) else {
            return Ok(None);
        };
        let mut ranks = Vec::with_capacity(PERCENTS.len() * 8);
        write_ranks(&mut values, above, &mut ranks);
        Ok(Some(ranks))
    }
}

/// Appends the [`PERCENTS`] of values, above which `above` more lie; not a number for one among those. From below:
/// what was selected first parts the values, so that each later one looks at fewer.
pub(super) fn write_ranks(values: &mut [f64], above: usize, ranks: &mut Vec<u8>) {
    ranks.extend(picked(values, above).into_iter().flat_map(f64::to_le_bytes));
}

/// The [`PERCENTS`] of values, which are reordered; not a number where there is none, as in `ranks`.
pub(super) fn picked(values: &mut [f64], above: usize) -> [f64; PERCENTS.len()] {
    let n = values.len();
    let mut done = 0;
    let mut last = f64::NAN;
    PERCENTS.map(|percent| {
        let at =
            if percent == 100 { n.checked_sub(1) } else { place(n + above, percent).filter(|at| *at < n) };
        at.map_or(f64::NAN, |at| {
            if at >= done {
                last = *values[done..].select_nth_unstable_by(at - done, f64::total_cmp).1;
                done = at + 1;
            }
            last
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        (1..=n).find(|k| 100 * k >= percent * n).map(|k| sorted[k - 1])
    }

    proptest! {
        #[test]
        fn ranks_are_the_definitions(
            values in prop::collection::vec(prop_oneof![prop::num::f64::NORMAL, 0.0..1.0, Just(0.5), Just(0.0)], 0..200),
            percent in 1_usize..=100,
            above in 0_usize..50,
        ) {
            let connection = connection();
            for value in &values {
                connection.execute("insert into t values (?1), (null)", [value]).expect("a row");
            }
            let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<f64>>(0)).expect("an answer");
            prop_assert_eq!(ask(&format!("select nearest_rank(x, {percent}) from t")), by_definition(&values, percent));
            prop_assert_eq!(ask("select median(x) from t"), by_definition(&values, 50));
            for percent in PERCENTS {
                let found = ask(&format!("select rank_of(ranks(x, 0), {percent}) from t"));
                prop_assert_eq!(found, by_definition(&values, percent));
            }
            let mut more = values.clone();
            more.extend(std::iter::repeat_n(f64::INFINITY, above));
            for percent in PERCENTS.into_iter().filter(|percent| *percent < 100) {
                let found = ask(&format!("select rank_of(ranks(x, {above}), {percent}) from t"));
                prop_assert_eq!(found, by_definition(&more, percent).filter(|value| value.is_finite()));
            }
        }
    }

    proptest! {
        #[test]
        fn ranks_by_key_are_those_of_each_key(rows in prop::collection::vec(("[ab\"é]{0,2}", 0.0..9.0), 0..60)) {
            let connection = connection();
            connection.execute_batch("create table k (key, x)").expect("a table");
            for row in &rows {
                connection.execute("insert into k values (?1, ?2), (null, 1.0), ('a', null)", (&row.0, row.1)).expect("rows");
            }
            let mut find = connection.prepare(
                "with r as materialized (select ranks_by(key, x) as ranks from k)
                 select j.value, rank_at(r.ranks, j.key, 0), rank_at(r.ranks, j.key, 90), rank_at(r.ranks, j.key, 100)
                 from r, json_each(keys_of(r.ranks)) as j",
            ).expect("a statement");
            let found: Vec<(String, i64, f64, f64)> = find
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
                .expect("an answer")
                .map(|row| row.expect("a row"))
                .collect();
            let mut by_key: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for (key, x) in rows {
                by_key.entry(key).or_default().push(x);
            }
            let expected: Vec<_> = by_key
                .into_iter()
                .map(|(key, values)| {
                    let of = |percent| by_definition(&values, percent).expect("a value");
                    (key, values.len() as i64, of(90), of(100))
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn math_is_that_of_sqlite() {
        // Each as SQLite 3.40 built with its math functions gives it.
        let connection = connection();
        for (sql, expected) in [
            ("sqrt(2)", Value::Real(std::f64::consts::SQRT_2)),
            ("sqrt(-1)", Value::Null),
            ("ln(0)", Value::Null),
            ("log(100)", Value::Real(2.0)),
            ("log(2, 8)", Value::Real(3.0)),
            ("log2(8)", Value::Real(3.0)),
            ("ceil(1)", Value::Integer(1)),
            ("ceil(1.2)", Value::Real(2.0)),
            ("floor(-1.2)", Value::Real(-2.0)),
            ("mod(7.5, 2)", Value::Real(1.5)),
            ("mod(7, 0)", Value::Null),
            ("power(2, 10)", Value::Real(1024.0)),
            ("sqrt('4')", Value::Real(2.0)),
            ("sqrt('four')", Value::Null),
            ("sqrt(null)", Value::Null),
            ("pi()", Value::Real(std::f64::consts::PI)),
        ] {
            let found: Value =
                connection.query_row(&format!("select {sql}"), [], |row| row.get(0)).expect(sql);
            assert_eq!(found, expected, "{sql}");
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
