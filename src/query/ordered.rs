//! The requests of a scope in the order that intervals need: bursts are seen where their rows are neighbours
//! (docs/statistics.md, "Order").
//!
//! It streams: routers whose runs overlap are merged, each read by the index that has its order. What is read of a
//! request is the caller's statement; what is made of it is the caller's, too.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use anyhow::Result;
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::{CachedStatement, Connection, Row, Rows, named_params};

/// A scope of the selection.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// Its name.
    pub name: String,
    /// Its parts: run after run by the start of the runs, and within a run by time.
    pub parts: Vec<Part>,
    /// How its requests are ordered.
    pub order: Order,
}

impl Scope {
    /// One that takes nothing in.
    pub fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), parts: Vec::new(), order: Order::RunAfterRun }
    }
}

/// A part of a run, as a row of `selection` has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The run's key.
    pub run_id: i64,
    /// The run's id.
    pub run: String,
    /// From this moment on, monotonic.
    pub from_s: f64,
    /// Before this moment, monotonic.
    pub to_s: f64,
    /// The run's zero and its end, monotonic; none when nothing of it has a time.
    pub span: Option<(f64, f64)>,
    /// Wall clock minus monotonic clock, as estimated.
    pub wall_offset_s: Option<f64>,
}

/// How the requests of a scope are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By estimated wall arrival, then run, then rid: its runs overlap, and share their bursts.
    WallTime,
    /// Run after run by their start, within a run by arrival, then rid.
    RunAfterRun,
    /// As [`Order::RunAfterRun`], because so many of its runs have no wall time: if they overlap with others, bursts
    /// that they share are not seen.
    WithoutWallTime(usize),
}

/// The scopes of the connection's selection, in the order of their names.
///
/// # Errors
/// When the database cannot be read.
pub fn scopes(connection: &Connection) -> Result<Vec<Scope>> {
    let mut find = connection.prepare(include_str!("../../queries/ordered/parts.sql"))?;
    let mut rows = find.query([])?;
    let mut scopes: Vec<Scope> = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_str()?;
        if scopes.last().is_none_or(|scope| scope.name != name) {
            scopes.push(Scope::empty(name));
        }
        let first_s: Option<f64> = row.get(5)?;
        let last_s: Option<f64> = row.get(6)?;
        let part = Part {
            run_id: row.get(1)?,
            from_s: row.get(2)?,
            to_s: row.get(3)?,
            run: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
            span: first_s.zip(last_s),
            wall_offset_s: row.get(7)?,
        };
        scopes.last_mut().expect("one was pushed").parts.push(part);
    }
    for scope in &mut scopes {
        scope.order = order(&scope.parts);
    }
    Ok(scopes)
}

/// What to say of the order of scopes, a line each.
pub fn notes(scopes: &[Scope]) -> Vec<String> {
    let without = |scope: &Scope| match scope.order {
        Order::WithoutWallTime(runs) => Some((scope.name.clone(), runs)),
        _ => None,
    };
    let found: Vec<(String, usize)> = scopes.iter().filter_map(without).collect();
    let Some((scope, runs)) = found.first() else { return Vec::new() };
    let which = match (scopes.len(), found.len()) {
        (1, _) => String::new(),
        (_, 1) => format!("{scope}: "),
        (_, many) => format!("{many} scopes, the first of them {scope}: "),
    };
    let have = if *runs == 1 { "run has" } else { "runs have" };
    vec![format!(
        "{which}{runs} {have} no wall time, so the requests are taken run after run: where runs were up at once and \
         share their bursts, the intervals are too narrow"
    )]
}

/// Decides the order of a scope from its parts, which come run after run.
fn order(parts: &[Part]) -> Order {
    let mut runs: Vec<&Part> = parts.iter().filter(|part| part.span.is_some()).collect();
    runs.dedup_by_key(|part| part.run_id);
    if runs.len() < 2 {
        return Order::RunAfterRun;
    }
    let mut spans = Vec::with_capacity(runs.len());
    for part in &runs {
        if let (Some((first_s, last_s)), Some(offset_s)) = (part.span, part.wall_offset_s) {
            spans.push((first_s + offset_s, last_s + offset_s));
        }
    }
    if spans.len() < runs.len() {
        return Order::WithoutWallTime(runs.len() - spans.len());
    }
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Sorted by their beginnings, some overlap if two neighbours do.
    let overlap = spans.windows(2).any(|two| two[1].0 < two[0].1);
    if overlap { Order::WallTime } else { Order::RunAfterRun }
}

/// Gives the requests of a scope in order to `take`, each with the part that it belongs to.
///
/// `sql` reads one part: of `terminals` those of `:run_id` with `:from_s` <= arrived < `:to_s`, ordered by arrived,
/// then rid, which are its first two columns.
///
/// # Errors
/// When the database cannot be read; what `take` fails with.
pub fn each(
    connection: &Connection,
    scope: &Scope,
    sql: &str,
    mut take: impl FnMut(&Part, &Row<'_>) -> Result<()>,
) -> Result<()> {
    if scope.order == Order::WallTime {
        return merge(connection, scope, sql, take);
    }
    let mut statement = connection.prepare_cached(sql)?;
    for part in &scope.parts {
        let mut rows = ask(&mut statement, part)?;
        while let Some(row) = rows.next()? {
            take(part, row)?;
        }
    }
    Ok(())
}

fn ask<'s>(statement: &'s mut CachedStatement<'_>, part: &Part) -> Result<Rows<'s>> {
    let bound = named_params! { ":run_id": part.run_id, ":from_s": part.from_s, ":to_s": part.to_s };
    Ok(statement.query(bound)?)
}

/// The next request of one part, among those of all parts.
struct Head {
    wall_s: f64,
    /// The place of the run's id among those of the scope.
    run: usize,
    rid: String,
    part: usize,
}

impl Head {
    fn of(row: &Row<'_>, offset_s: f64, run: usize, part: usize, mut rid: String) -> Result<Self> {
        rid.clear();
        rid.push_str(row.get_ref(1)?.as_str()?);
        Ok(Self { wall_s: row.get::<_, f64>(0)? + offset_s, run, rid, part })
    }
}

impl Ord for Head {
    /// The first request is the greatest: a heap gives that.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_wall = other.wall_s.total_cmp(&self.wall_s);
        by_wall.then_with(|| other.run.cmp(&self.run)).then_with(|| other.rid.cmp(&self.rid))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

/// As [`each`], by wall arrival. A float of seconds since 1970 tells a quarter of a microsecond: what arrived at one
/// run within that stays in its order of arrival.
fn merge(
    connection: &Connection,
    scope: &Scope,
    sql: &str,
    mut take: impl FnMut(&Part, &Row<'_>) -> Result<()>,
) -> Result<()> {
    let parts: Vec<(&Part, f64)> =
        scope.parts.iter().filter_map(|part| Some((part, part.wall_offset_s?))).collect();
    let mut names: Vec<&str> = parts.iter().map(|(part, _)| part.run.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let place = |part: &Part| names.binary_search(&part.run.as_str()).expect("every name is among them");
    let mut statements = Vec::with_capacity(parts.len());
    for _ in &parts {
        statements.push(connection.prepare_cached(sql)?);
    }
    let mut streams = Vec::with_capacity(parts.len());
    for (statement, (part, _)) in statements.iter_mut().zip(&parts) {
        streams.push(ask(statement, part)?);
    }
    let mut heads = BinaryHeap::with_capacity(parts.len());
    for (at, (part, offset_s)) in parts.iter().enumerate() {
        if let Some(row) = streams[at].next()? {
            heads.push(Head::of(row, *offset_s, place(part), at, String::new())?);
        }
    }
    while let Some(mut head) = heads.peek_mut() {
        let (at, run) = (head.part, head.run);
        let (part, offset_s) = parts[at];
        take(part, streams[at].get().expect("its head is in the heap"))?;
        match streams[at].next()? {
            Some(row) => *head = Head::of(row, offset_s, run, at, std::mem::take(&mut head.rid))?,
            None => drop(PeekMut::pop(head)),
        }
    }
    Ok(())
}

/// A request of several statements, before its turn.
struct Waiting<T> {
    run: usize,
    terminal_id: i64,
    read: T,
}

/// The next request of one statement about one part.
struct Next<T> {
    time_s: f64,
    stream: usize,
    waiting: Waiting<T>,
}

impl<T> Ord for Next<T> {
    /// The first is the greatest, as in [`Head`].
    fn cmp(&self, other: &Self) -> Ordering {
        other.time_s.total_cmp(&self.time_s)
    }
}

impl<T> PartialOrd for Next<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Next<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Next<T> {}

/// As [`each`], for statements that narrow indexes answer: together they read the requests of a part, each by
/// arrival, and their first two columns are arrived and `terminal_id`. The ids of requests are looked up only where
/// several arrived at once. What `read` makes of a row goes to `take`.
///
/// # Errors
/// As [`each`].
pub fn each_narrow<T>(
    connection: &Connection,
    scope: &Scope,
    sqls: &[&str],
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    if scope.order == Order::WallTime {
        let parts: Vec<(&Part, f64)> =
            scope.parts.iter().filter_map(|part| Some((part, part.wall_offset_s?))).collect();
        return merge_narrow(connection, &parts, sqls, &mut read, &mut take);
    }
    for part in &scope.parts {
        merge_narrow(connection, &[(part, 0.0)], sqls, &mut read, &mut take)?;
    }
    Ok(())
}

fn merge_narrow<T>(
    connection: &Connection,
    parts: &[(&Part, f64)],
    sqls: &[&str],
    read: &mut impl FnMut(&Row<'_>) -> Result<T>,
    take: &mut impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut names: Vec<&str> = parts.iter().map(|(part, _)| part.run.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let place = |part: &Part| names.binary_search(&part.run.as_str()).expect("every name is among them");
    let asked: Vec<(&Part, f64, &str)> =
        parts.iter().flat_map(|(part, offset_s)| sqls.iter().map(|sql| (*part, *offset_s, *sql))).collect();
    let mut statements = Vec::with_capacity(asked.len());
    for (.., sql) in &asked {
        statements.push(connection.prepare_cached(sql)?);
    }
    let mut streams = Vec::with_capacity(asked.len());
    for (statement, (part, ..)) in statements.iter_mut().zip(&asked) {
        streams.push(ask(statement, part)?);
    }
    let runs: Vec<usize> = asked.iter().map(|(part, ..)| place(part)).collect();
    let mut next_of = |stream: usize, rows: &mut Rows<'_>| -> Result<Option<Next<T>>> {
        let Some(row) = rows.next()? else { return Ok(None) };
        let time_s = row.get::<_, f64>(0)? + asked[stream].1;
        let waiting = Waiting { run: runs[stream], terminal_id: row.get(1)?, read: read(row)? };
        Ok(Some(Next { time_s, stream, waiting }))
    };
    let mut nexts = BinaryHeap::with_capacity(asked.len());
    for (stream, rows) in streams.iter_mut().enumerate() {
        nexts.extend(next_of(stream, rows)?);
    }
    // Those that arrived at one moment.
    let mut together: Vec<Waiting<T>> = Vec::new();
    let mut time_s = f64::NAN;
    while let Some(mut first) = nexts.peek_mut() {
        if first.time_s != time_s {
            give(connection, &mut together, take)?;
            time_s = first.time_s;
        }
        let stream = first.stream;
        let waiting = match next_of(stream, &mut streams[stream])? {
            Some(next) => std::mem::replace(&mut *first, next).waiting,
            None => PeekMut::pop(first).waiting,
        };
        together.push(waiting);
    }
    give(connection, &mut together, take)
}

/// Gives requests of one moment in the order of run and rid.
fn give<T>(
    connection: &Connection,
    together: &mut Vec<Waiting<T>>,
    take: &mut impl FnMut(T) -> Result<()>,
) -> Result<()> {
    if together.len() > 1 {
        let mut find = connection.prepare_cached(include_str!("../../queries/ordered/rid.sql"))?;
        let mut with_rids = Vec::with_capacity(together.len());
        for waiting in together.drain(..) {
            let bound = named_params! { ":terminal_id": waiting.terminal_id };
            let rid: String = find.query_row(bound, |row| row.get(0))?;
            with_rids.push((waiting.run, rid, waiting));
        }
        with_rids.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        together.extend(with_rids.into_iter().map(|(.., waiting)| waiting));
    }
    together.drain(..).try_for_each(|waiting| take(waiting.read))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(run_id: i64, span: (f64, f64), wall_offset_s: Option<f64>) -> Part {
        let (from_s, to_s) = (crate::selection::OPEN_FROM, crate::selection::OPEN_TO);
        Part { run_id, run: run_id.to_string(), from_s, to_s, span: Some(span), wall_offset_s }
    }

    #[test]
    fn runs_that_overlap_are_ordered_by_wall_time_if_all_have_one() {
        let early = part(1, (0.0, 10.0), Some(1000.0));
        let after = part(2, (5.0, 9.0), Some(1005.0));
        let during = part(3, (1.0, 2.0), Some(1008.5));
        let unknown = part(4, (0.0, 1.0), None);
        let timeless = Part { span: None, ..unknown.clone() };
        assert_eq!(order(std::slice::from_ref(&early)), Order::RunAfterRun);
        assert_eq!(order(std::slice::from_ref(&unknown)), Order::RunAfterRun);
        assert_eq!(order(&[early.clone(), early.clone()]), Order::RunAfterRun, "two windows of one run");
        assert_eq!(order(&[early.clone(), after.clone()]), Order::RunAfterRun);
        assert_eq!(order(&[early.clone(), after.clone(), during.clone()]), Order::WallTime);
        assert_eq!(order(&[early.clone(), timeless, during.clone()]), Order::WallTime);
        assert_eq!(order(&[early, unknown, during]), Order::WithoutWallTime(1));
    }
}
