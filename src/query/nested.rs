//! Percentiles of everything, of each run and of each stretch of the runs from one reading: stretches lie in their run, and
//! runs in everything, so the values of the one are a part of those of the other. The rows are those of `latency` and of
//! `queue-waits` about such scopes.

use std::collections::HashMap;
use std::ops::Range;

use anyhow::Result;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, named_params};

use super::answer::Answer;
use super::functions::{PERCENTS, keep, picked};
use super::ordered::Scope;
use crate::selection::Row;

/// What is read: a statement about one part of a run, whose columns are arrived and then the values, by arrival.
#[derive(Debug, Clone, Copy)]
pub struct NestedQuery {
    sql: &'static str,
    column: &'static str,
    names: &'static [&'static str],
    /// Whether a name has a row without values, too.
    is_always: fn(&str) -> bool,
}

/// What `latency` tells of completed requests.
pub const LATENCY: NestedQuery = NestedQuery {
    sql: include_str!("../../queries/ordered/latencies.sql"),
    column: "metric",
    names: &["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"],
    is_always: |_| true,
};

/// What `queue-waits` tells.
pub const WAITS: NestedQuery = NestedQuery {
    sql: include_str!("../../queries/ordered/waits.sql"),
    column: "stage",
    names: &["admission", "prefill", "decode", "total"],
    is_always: |stage| stage == "total",
};

/// Answers of one reading.
#[derive(Debug)]
pub struct Nested {
    /// Of everything.
    pub all: Answer,
    /// Of each run.
    pub runs: Answer,
    /// Of each stretch that has requests.
    pub stretches: Answer,
}

/// Whether stretches lie in runs, and none is met twice.
pub fn are_nested(stretches: &[Row]) -> bool {
    let mut names: Vec<&str> = stretches.iter().map(|row| row.scope.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|two| two[0] != two[1])
}

/// So many values are held at once: those of more are gathered in several readings, some of the names each.
const MOST_HELD: usize = 20_000_000;

/// Reads the values of runs, each a scope with its parts by time, and of stretches of them that [`are_nested`]; `requests`
/// is about how many there are.
///
/// # Errors
/// When the database cannot be read.
pub fn read(
    connection: &Connection,
    measured: NestedQuery,
    runs: &[Scope],
    stretches: &[Row],
    requests: usize,
) -> Result<Nested> {
    let mut by_run: HashMap<i64, Vec<&Row>> = HashMap::new();
    for stretch in stretches {
        by_run.entry(stretch.run_id).or_default().push(stretch);
    }
    for stretches in by_run.values_mut() {
        stretches.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
    }
    let columns =
        || ["scope", measured.column, "n", "p50", "p90", "p95", "p99", "max"].map(str::to_owned).to_vec();
    let mut found =
        Nested { all: Answer::of(columns()), runs: Answer::of(columns()), stretches: Answer::of(columns()) };
    let names = measured.names.len();
    let at_once = (MOST_HELD / requests.max(1)).clamp(1, names);
    for from in (0..names).step_by(at_once) {
        let of = from..(from + at_once).min(names);
        read_names(connection, (measured, of), runs, &by_run, &mut found)?;
    }
    Ok(found)
}

/// Reads the values of some of the names, by their places.
fn read_names(
    connection: &Connection,
    (measured, of): (NestedQuery, Range<usize>),
    runs: &[Scope],
    by_run: &HashMap<i64, Vec<&Row>>,
    found: &mut Nested,
) -> Result<()> {
    // By name and run: put together only when a name's turn comes, as a list that grows from run to run is copied each
    // time and leaves its old place behind.
    let mut all = vec![Vec::with_capacity(runs.len()); of.len()];
    let mut statement = connection.prepare(measured.sql)?;
    for run in runs {
        let mut own = vec![Vec::new(); of.len()];
        // Where the values of each stretch begin.
        let mut begun: Vec<(Option<&Row>, Vec<usize>)> = Vec::new();
        for part in &run.parts {
            let stretches = by_run.get(&part.run_id).map_or(&[][..], Vec::as_slice);
            let mut until_s = f64::NEG_INFINITY;
            let bound = named_params! { ":run_id": part.run_id, ":from_s": part.from_s, ":to_s": part.to_s };
            let mut rows = statement.query(bound)?;
            while let Some(row) = rows.next()? {
                let arrived: f64 = row.get(0)?;
                if arrived >= until_s {
                    let next = stretches.partition_point(|stretch| stretch.from_s <= arrived);
                    let stretch =
                        next.checked_sub(1).map(|at| stretches[at]).filter(|row| arrived < row.to_s);
                    let ends_s = stretch.map(|stretch| stretch.to_s);
                    until_s = ends_s.or(stretches.get(next).map(|next| next.from_s)).unwrap_or(f64::INFINITY);
                    begun.push((stretch, own.iter().map(Vec::len).collect()));
                }
                for (at, values) in of.clone().zip(&mut own) {
                    match row.get_ref(1 + at)? {
                        ValueRef::Real(value) => keep(values, value),
                        ValueRef::Integer(value) => keep(values, value as f64),
                        _ => {}
                    }
                }
            }
        }
        for (number, (stretch, from)) in begun.iter().enumerate() {
            let Some(stretch) = stretch else { continue };
            for (at, values) in own.iter_mut().enumerate() {
                let to = begun.get(number + 1).map_or(values.len(), |(_, next)| next[at]);
                let values = &mut values[from[at]..to];
                add_row(&mut found.stretches, measured, &stretch.scope, of.start + at, values);
            }
        }
        for (at, (mut own, all)) in own.into_iter().zip(&mut all).enumerate() {
            add_row(&mut found.runs, measured, &run.name, of.start + at, &mut own);
            all.push(own);
        }
    }
    if !runs.is_empty() {
        for (at, runs) in of.zip(all) {
            let mut values = match <[Vec<f64>; 1]>::try_from(runs) {
                Ok([only]) => only,
                Err(runs) => runs.concat(),
            };
            add_row(&mut found.all, measured, "all", at, &mut values);
        }
    }
    Ok(())
}

/// Adds the row of the values of one name.
fn add_row(answer: &mut Answer, measured: NestedQuery, scope: &str, at: usize, values: &mut [f64]) {
    let name = measured.names[at];
    if values.is_empty() && !(measured.is_always)(name) {
        return;
    }
    let ranks = picked(values, 0);
    let of = |percent: usize| {
        let place = PERCENTS.iter().position(|known| *known == percent);
        place.map(|place| ranks[place]).filter(|value| !value.is_nan()).map_or(Value::Null, Value::Real)
    };
    answer.push(vec![
        scope.to_owned().into(),
        name.to_owned().into(),
        Value::Integer(values.len() as i64),
        of(50),
        of(90),
        of(95),
        of(99),
        of(100),
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ordered::{Order, Part};

    #[test]
    fn values_count_for_their_stretch_their_run_and_everything() {
        let connection = Connection::open_in_memory().expect("SQLite works");
        connection
            .execute_batch(
                "create table terminals (run_id, arrived, queue_wait_admission_s, queue_wait_prefill_s, queue_wait_decode_s,
                     queue_wait_s);
                 with recursive n(i) as (select 0 union all select i + 1 from n where i < 99)
                 insert into terminals select 1 + i / 60, i % 60, null, case when i < 10 then i end, null, i from n;",
            )
            .expect("a table");
        let run = |run_id: i64| {
            let part =
                Part { run_id, run: String::new(), from_s: 0.0, to_s: 50.0, span: None, wall_offset_s: None };
            Scope { name: format!("r{run_id}"), parts: vec![part], order: Order::RunAfterRun }
        };
        let stretch =
            |scope: &str, from_s: f64, to_s: f64| Row { scope: scope.to_owned(), run_id: 1, from_s, to_s };
        let stretches = [stretch("b", 20.0, 30.0), stretch("a", 5.0, 10.0)];
        assert!(are_nested(&stretches) && !are_nested(&[stretch("a", 0.0, 1.0), stretch("a", 2.0, 3.0)]));
        let told = |answer: &Answer| -> Vec<(String, String, i64, f64, f64)> {
            let real = |row: &crate::query::answer::Row<'_>, column| row.real(column).unwrap_or(f64::NAN);
            let rows = answer.rows();
            let mut rows: Vec<_> = rows
                .map(|row| {
                    let (p50, max) = (real(&row, "p50"), real(&row, "max"));
                    (row.text("scope"), row.text("stage"), row.int("n"), p50, max)
                })
                .collect();
            rows.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
            rows
        };
        let row = |scope: &str, stage: &str, n: i64, p50: f64, max: f64| {
            (scope.to_owned(), stage.to_owned(), n, p50, max)
        };
        // In one reading, and in one a stage.
        for requests in [100, usize::MAX] {
            let found = read(&connection, WAITS, &[run(1), run(2)], &stretches, requests).expect("an answer");
            assert_eq!(
                told(&found.all),
                [row("all", "prefill", 10, 4.0, 9.0), row("all", "total", 90, 44.0, 99.0)]
            );
            assert_eq!(
                told(&found.runs),
                [
                    row("r1", "prefill", 10, 4.0, 9.0),
                    row("r1", "total", 50, 24.0, 49.0),
                    row("r2", "total", 40, 79.0, 99.0)
                ]
            );
            assert_eq!(
                told(&found.stretches),
                [
                    row("a", "prefill", 5, 7.0, 9.0),
                    row("a", "total", 5, 7.0, 9.0),
                    row("b", "total", 10, 24.0, 29.0)
                ]
            );
        }
    }
}
