//! A large answer worked out in parts: scopes do not depend on each other, so several connections take turns at
//! them, and how much is done is known on the way. Of one scope alone `slices` knows it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use anyhow::{Result, anyhow};
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::run::{self, Bound, Sink, collect};
use super::slices::{Span, can_be_read_in_slices, collect_telling};
use crate::selection::{Row, Selection, install};

/// Fewer requests are answered before a second connection is open.
const WORTH_IT: u64 = 100_000;

/// A part is worth so many requests at least, or all of one scope.
const LEAST: u64 = 20_000;

/// Each connection gets so many parts, so that none waits long for the last one.
const PARTS_EACH: u64 = 8;

/// Rows that are worked out ahead of their turn are kept, those of so many parts at most.
const AHEAD: usize = 64;

/// What is asked, and how.
pub struct Question<'q> {
    /// The statement, whose rows come by scope.
    pub sql: &'q str,
    /// What its parameters are.
    pub bound: &'q [Bound],
    /// What it is asked of.
    pub selection: &'q Selection,
    /// At most so many connections work at once.
    pub jobs: usize,
    /// Opens another connection to the same database, for reading.
    pub open: &'q (dyn Fn() -> Result<Connection> + Sync),
    /// Is told which share of the requests is done.
    pub progress: &'q dyn Fn(f64),
    /// Whether anybody sees that.
    pub is_seen: bool,
}

/// Runs a statement whose rows come by scope, and gives them to the sink in that order; how many there were.
///
/// # Errors
/// As [`run::run`].
pub fn run(connection: &mut Connection, question: &Question<'_>, sink: &mut dyn Sink) -> Result<u64> {
    let rows = &question.selection.rows;
    let spans = spans(connection, rows)?;
    let weights: Vec<u64> = spans.iter().map(|span| span.requests).collect();
    let all: u64 = weights.iter().sum();
    let parts = cut(rows, &weights, (all / (question.jobs as u64 * PARTS_EACH)).max(LEAST));
    if all >= WORTH_IT && parts.len() == 1 && question.is_seen && can_be_read_in_slices(question.sql) {
        let mut out = Ordered { sink, has_columns: false, rows: 0 };
        let asked = (question.sql, question.bound);
        out.part(collect_telling(connection, asked, (rows, &spans), question.progress)?)?;
        return out.end();
    }
    if all < WORTH_IT || parts.len() < 2 {
        return run::run(connection, question.sql, question.bound, sink);
    }
    let weight_of = |part: &Range<usize>| weights[part.clone()].iter().sum::<u64>();
    let done = |parts: &[Range<usize>]| parts.iter().map(weight_of).sum::<u64>() as f64 / all as f64;
    let mut others = Vec::new();
    let mark = mark(connection)?;
    while others.len() < question.jobs.min(parts.len()) && question.jobs > 1 {
        match (question.open)() {
            // One that was opened after a commit sees other rows.
            Ok(other) if self::mark(&other)? == mark => others.push(other),
            Ok(_) | Err(_) => break,
        }
    }
    let mut out = Ordered { sink, has_columns: false, rows: 0 };
    if others.len() < 2 {
        for (at, part) in parts.iter().enumerate() {
            install(connection, &rows[part.clone()])?;
            out.part(collect(connection, question.sql, question.bound)?)?;
            (question.progress)(done(&parts[..=at]));
        }
        return out.end();
    }
    let next = AtomicUsize::new(0);
    let has_ended = AtomicBool::new(false);
    let (give, take) = mpsc::sync_channel::<(usize, Result<ColumnsAndRows>)>(AHEAD);
    let give = Mutex::new(give);
    std::thread::scope(|scope| {
        for mut other in others {
            let give = give.lock().map_err(|_| anyhow!("a thread has failed"))?.clone();
            let (next, has_ended, parts) = (&next, &has_ended, &parts);
            let (sql, bound) = (question.sql, question.bound);
            std::thread::Builder::new().spawn_scoped(scope, move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(part) = parts.get(at).filter(|_| !has_ended.load(Ordering::Relaxed)) else {
                        return;
                    };
                    let answer = install(&mut other, &rows[part.clone()]);
                    let answer = answer.and_then(|()| collect(&mut other, sql, bound));
                    if give.send((at, answer)).is_err() {
                        return;
                    }
                }
            })?;
        }
        drop(give);
        let mut ahead = BTreeMap::new();
        let mut turn = 0;
        let written = (|| {
            while turn < parts.len() {
                let (at, answer) = take.recv()?;
                ahead.insert(at, answer?);
                while let Some(answer) = ahead.remove(&turn) {
                    out.part(answer)?;
                    turn += 1;
                    (question.progress)(done(&parts[..turn]));
                }
            }
            out.end()
        })();
        has_ended.store(true, Ordering::Relaxed);
        // Who still waits to give something is let go.
        drop(take);
        written
    })
}

/// Columns and rows.
pub type ColumnsAndRows = (Vec<String>, Vec<Vec<Value>>);

/// Gives parts of an answer to a sink as one.
struct Ordered<'s> {
    sink: &'s mut dyn Sink,
    has_columns: bool,
    rows: u64,
}

impl Ordered<'_> {
    fn part(&mut self, (columns, rows): ColumnsAndRows) -> Result<()> {
        if !self.has_columns {
            self.sink.columns(&columns)?;
            self.has_columns = true;
        }
        for row in rows {
            let cells: Vec<ValueRef<'_>> = row.iter().map(ValueRef::from).collect();
            self.sink.row(&cells)?;
            self.rows += 1;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        self.sink.end()?;
        Ok(self.rows)
    }
}

/// What each row takes in: of the requests of its run about as many as by how much of its time.
fn spans(connection: &Connection, rows: &[Row]) -> Result<Vec<Span>> {
    let mut find = connection.prepare(
        "select r.run_id, r.first_s, r.last_s, coalesce(sum(c.requests), 0)
         from runs as r
         left join terminal_counts as c on c.run_id = r.run_id
         group by r.run_id",
    )?;
    let runs = find.query_map([], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            (row.get::<_, Option<f64>>(1)?, row.get::<_, Option<f64>>(2)?, row.get::<_, u64>(3)?),
        ))
    })?;
    let runs: BTreeMap<i64, (Option<f64>, Option<f64>, u64)> = runs.collect::<rusqlite::Result<_>>()?;
    let span = |row: &Row| {
        let Some((Some(first_s), Some(last_s), requests)) = runs.get(&row.run_id) else {
            return Span { first_s: row.from_s, last_s: row.to_s, requests: 0 };
        };
        let taken_s = (row.to_s.min(*last_s) - row.from_s.max(*first_s)).max(0.0);
        let share = if last_s > first_s { taken_s / (last_s - first_s) } else { 1.0 };
        Span { first_s: *first_s, last_s: *last_s, requests: (*requests as f64 * share) as u64 }
    };
    Ok(rows.iter().map(span).collect())
}

/// Cuts rows, which are in the order of their scopes, into parts of whole scopes that weigh about so much.
fn cut(rows: &[Row], weights: &[u64], weight: u64) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut from, mut weighs) = (0, 0);
    for at in 0..rows.len() {
        weighs += weights[at];
        let ends_scope = rows.get(at + 1).is_none_or(|next| next.scope != rows[at].scope);
        if ends_scope && (weighs >= weight || at + 1 == rows.len()) {
            parts.push(from..at + 1);
            (from, weighs) = (at + 1, 0);
        }
    }
    parts
}

/// What tells one state of the database from another: each batch of an ingest moves one of these.
fn mark(connection: &Connection) -> Result<[i64; 6]> {
    let mark = connection.query_row(
        "select
             coalesce((select max(terminal_id) from terminals), 0),
             coalesce((select max(event_id) from events), 0),
             (select count(*) from runs),
             (select coalesce(sum(offset_bytes), 0) from sources),
             (select count(*) from forgotten),
             (select count(*) from rejects)",
        [],
        |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?]),
    )?;
    Ok(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scope: &str) -> Row {
        Row { scope: scope.to_owned(), run_id: 1, from_s: 0.0, to_s: 1.0 }
    }

    #[test]
    fn parts_have_whole_scopes() {
        let rows: Vec<Row> = ["a", "a", "b", "c", "c", "c", "d"].map(row).into();
        assert_eq!(cut(&rows, &[1; 7], 2), [0..2, 2..6, 6..7]);
        let whole = std::iter::once(0..7).collect::<Vec<_>>();
        assert_eq!(cut(&rows, &[1; 7], 100), whole);
        assert_eq!(cut(&rows, &[0; 7], 1), whole);
        assert_eq!(cut(&rows, &[5; 7], 1), [0..2, 2..3, 3..6, 6..7]);
        assert_eq!(cut(&[], &[], 1), []);
    }
}
