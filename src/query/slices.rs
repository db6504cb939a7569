//! How far a statement has come in the one scope that it is asked of: its part of each run is given to it in slices,
//! and counted as they are read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::parts::ColumnsAndRows;
use super::run::{Bound, collect};
use crate::selection::{Row, install};

/// A scope is read in about so many slices.
const SLICES: u64 = 100;

/// How often whoever waits is told.
const TICK: Duration = Duration::from_millis(100);

/// What tells a part of a run from the rest of it.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The first time of the run, monotonic.
    pub first_s: f64,
    /// The last of them.
    pub last_s: f64,
    /// About how many requests the part takes in.
    pub requests: u64,
}

/// Whether the answer is the same when a part of a run comes in slices: each time that the statement reads the
/// selection it takes what lies within the bounds, and makes nothing else of them.
pub fn can_be_read_in_slices(sql: &str) -> bool {
    let code: String = sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let count = |text: &str| code.matches(text).count();
    let reads = reads(&code);
    reads > 0
        && [">= s.from_s", "from_s"].map(count) == [reads; 2]
        && ["< s.to_s", "to_s"].map(count) == [reads; 2]
}

/// How often a statement reads the parts of the selection.
fn reads(sql: &str) -> usize {
    sql.matches("selection as s").count()
}

/// Cuts parts of runs into slices, the more the more requests they have.
fn cut(rows: &[Row], spans: &[Span]) -> Vec<Row> {
    let all: u64 = spans.iter().map(|span| span.requests).sum();
    let mut slices = Vec::new();
    for (row, span) in rows.iter().zip(spans) {
        let count = (SLICES * span.requests).checked_div(all).unwrap_or_default().max(1);
        let (begin_s, end_s) = (row.from_s.max(span.first_s), row.to_s.min(span.last_s));
        let mut from_s = row.from_s;
        for at in 1..count {
            let to_s = begin_s + (end_s - begin_s) * at as f64 / count as f64;
            if from_s < to_s && to_s < row.to_s {
                slices.push(Row { from_s, to_s, ..row.clone() });
                from_s = to_s;
            }
        }
        slices.push(Row { from_s, ..row.clone() });
    }
    slices
}

/// Asks a statement that [`can_be_read_in_slices`] of parts of runs, and tells which share of them was read so far, 0 to
/// 1. What it does with all of them afterwards, such as sorting, has no share.
///
/// # Errors
/// As [`collect`].
pub fn collect_telling(
    connection: &mut Connection,
    (sql, bound): (&str, &[Bound]),
    (rows, spans): (&[Row], &[Span]),
    tell: &dyn Fn(f64),
) -> Result<ColumnsAndRows> {
    let slices = cut(rows, spans);
    let reached = Arc::new(AtomicUsize::new(0));
    install_counted(connection, &slices, Arc::clone(&reached))?;
    let all = slices.len() * reads(sql);
    // The slice that is being read is not done.
    let share = || reached.load(Ordering::Relaxed).saturating_sub(1).min(all) as f64 / all as f64;
    let (give, take) = mpsc::channel();
    let answer = std::thread::scope(|scope| {
        let connection = &mut *connection;
        std::thread::Builder::new()
            .spawn_scoped(scope, move || drop(give.send(collect(connection, sql, bound))))?;
        loop {
            match take.recv_timeout(TICK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => tell(share()),
                Err(RecvTimeoutError::Disconnected) => return Err(anyhow!("a thread has failed")),
            }
        }
    })?;
    tell(share());
    connection.authorizer(None::<fn(rusqlite::hooks::AuthContext<'_>) -> rusqlite::hooks::Authorization>)?;
    connection.execute_batch("drop view temp.selection; drop table temp.slices;")?;
    install(connection, rows)?;
    Ok(answer)
}

/// Makes slices the selection of a connection, and counts them as they are read.
fn install_counted(connection: &mut Connection, slices: &[Row], reached: Arc<AtomicUsize>) -> Result<()> {
    install(connection, slices)?;
    // Not deterministic: asked of every slice.
    connection.create_scalar_function("reached", 1, FunctionFlags::SQLITE_UTF8, move |_| {
        reached.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    })?;
    connection.execute_batch(
        "create temporary table slices (
             scope text not null, run_id integer not null, from_s real not null, to_s real not null,
             primary key (scope, run_id, from_s)
         ) without rowid;
         insert into temp.slices select scope, run_id, from_s, to_s from temp.selection;
         drop table temp.selection;
         create temporary view selection as
         select scope, run_id, from_s, to_s from temp.slices where reached(from_s);",
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::query::faster::FASTER;
    use crate::selection::{OPEN_FROM, OPEN_TO};

    fn row(run_id: i64, from_s: f64, to_s: f64) -> Row {
        Row { scope: "all".to_owned(), run_id, from_s, to_s }
    }

    #[test]
    fn slices_are_the_parts_they_were_cut_from() {
        let rows = [row(1, OPEN_FROM, OPEN_TO), row(2, 10.0, 20.0), row(3, 5.0, 6.0)];
        let span = |first_s, last_s, requests| Span { first_s, last_s, requests };
        let slices = cut(&rows, &[span(100.0, 200.0, 300), span(0.0, 30.0, 100), span(0.0, 9.0, 0)]);
        for row in &rows {
            let of_it: Vec<&Row> = slices.iter().filter(|slice| slice.run_id == row.run_id).collect();
            assert_eq!((of_it[0].from_s, of_it[of_it.len() - 1].to_s), (row.from_s, row.to_s));
            assert!(
                of_it.windows(2).all(|pair| pair[0].to_s == pair[1].from_s && pair[0].from_s < pair[0].to_s)
            );
        }
        let count = |run_id| slices.iter().filter(|slice| slice.run_id == run_id).count();
        assert_eq!([1, 2, 3].map(count), [75, 25, 1]);
        assert_eq!(cut(&rows[..1], &[span(5.0, 5.0, 7)]).len(), 2, "all at one moment, in the second");
    }

    #[test]
    fn statements_that_make_more_of_the_bounds_are_left_whole() {
        let sql = |name: &str| FASTER.iter().find(|faster| faster.sql.contains(name)).expect("it ships").sql;
        assert!(can_be_read_in_slices(sql("as queue_wait_ranks")));
        assert!(!can_be_read_in_slices(sql("from_s <= selected_to")), "goodput");
        assert!(!can_be_read_in_slices(sql("cross join leg_counts")), "counts of whole runs");
        assert!(!can_be_read_in_slices("select scope, from_s from selection as s"));
    }

    #[test]
    fn what_was_read_is_told_and_the_selection_is_there_again() {
        let mut connection = Connection::open_in_memory().expect("SQLite works");
        connection
            .execute_batch(
                "create table t (run_id, arrived);
                 with recursive n(i) as (select 0 union all select i + 1 from n where i < 999)
                 insert into t select 1, i from n;",
            )
            .expect("a table");
        let sql = "select s.scope as scope, count(*) as n from selection as s cross join t
                   where t.run_id = s.run_id and t.arrived >= s.from_s and t.arrived < s.to_s group by s.scope";
        assert!(can_be_read_in_slices(sql));
        let rows = [row(1, OPEN_FROM, 500.0)];
        let span = Span { first_s: 0.0, last_s: 999.0, requests: 500 };
        let told = RefCell::new(Vec::new());
        let tell = |share| told.borrow_mut().push(share);
        let (_, found) =
            collect_telling(&mut connection, (sql, &[]), (&rows, &[span]), &tell).expect("an answer");
        assert_eq!(found, [["all".to_owned().into(), 500.into()]]);
        assert_eq!(told.borrow().last(), Some(&0.99), "all but the slice that was read last");
        let again: i64 = connection
            .query_row("select count(*) from temp.selection", [], |row| row.get(0))
            .expect("a table");
        assert_eq!(again, 1);
    }
}
