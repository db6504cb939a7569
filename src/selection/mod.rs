//! What a question is asked of: flags become rows of `selection` (scope, run, from, to), which every
//! canned query reads (docs/semantics.md, "Selecting"). The one implementation of it.
//!
//! It knows runs, sources and times, and nothing of what is asked.

pub mod expression;
mod notes;
mod runs;
mod scopes;
mod silent;
pub mod time;
mod windows;

pub use runs::resolve_run;
pub use scopes::By;
pub use silent::Silent;

use std::collections::BTreeSet;

use anyhow::Result;
use chrono::{DateTime, Utc};
use rusqlite::Connection;
use rusqlite::hooks::{AuthContext, Authorization};

use crate::failure::Failure;
use runs::Run;
use time::Moment;
use windows::Window;

/// No bound below. SQL that compares with it needs no null.
pub const OPEN_FROM: f64 = -1e308;
/// No bound above.
pub const OPEN_TO: f64 = 1e308;

/// What is asked for. Parts of one kind unite, kinds intersect; a part not given takes in everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// Runs: ids, unique beginnings of them, `last`, `current`.
    pub runs: Vec<String>,
    /// Releases, or beginnings of them up to a dot.
    pub releases: Vec<String>,
    /// Globs of paths, or of names where they have no `/`.
    pub sources: Vec<String>,
    /// From this wall time on.
    pub since: Option<Moment>,
    /// Before this wall time.
    pub until: Option<Moment>,
    /// From so many seconds after the run's zero on.
    pub from_s: Option<f64>,
    /// Before so many seconds after the run's zero.
    pub to_s: Option<f64>,
    /// The last seconds of the run, or before `until`.
    pub last_s: Option<f64>,
    /// Without the end of runs that may still grow.
    pub settled: bool,
    /// What the groups are.
    pub by: By,
    /// Where it comes from, in words, when it was not asked for by whoever reads the answer.
    pub note: Option<String>,
}

impl Choice {
    /// The flags that ask for this.
    fn flags(&self) -> Vec<String> {
        let named = |flag: &str, values: &[String]| -> Vec<String> {
            values.iter().map(|value| format!("--{flag} {value}")).collect()
        };
        let time =
            |flag: &str, moment: &Option<Moment>| moment.as_ref().map(|at| format!("--{flag} {}", at.text));
        let length =
            |flag: &str, length_s: Option<f64>| length_s.map(|length_s| format!("--{flag} {length_s}"));
        let mut flags = named("run", &self.runs);
        flags.extend(named("release", &self.releases));
        flags.extend(named("source", &self.sources));
        flags.extend([time("since", &self.since), time("until", &self.until)].into_iter().flatten());
        let own = [length("from", self.from_s), length("to", self.to_s), length("last", self.last_s)];
        flags.extend(own.into_iter().flatten());
        flags.extend(self.settled.then(|| "--settled".to_owned()));
        flags.extend((self.by != By::Run).then(|| format!("--by {}", self.by)));
        flags
    }
}

/// A row of `selection`: of a run, what arrived from `from_s` on and before `to_s`, belongs to a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The group it belongs to.
    pub scope: String,
    /// The run's key.
    pub run_id: i64,
    /// On the run's monotonic clock, [`OPEN_FROM`] without a bound.
    pub from_s: f64,
    /// On the run's monotonic clock, [`OPEN_TO`] without a bound.
    pub to_s: f64,
}

impl Row {
    fn is_whole(&self) -> bool {
        self.from_s == OPEN_FROM && self.to_s == OPEN_TO
    }
}

/// What was chosen.
#[derive(Debug, Default)]
pub struct Selection {
    /// In the order of scope, run and time, as the table has them.
    pub rows: Vec<Row>,
    /// What a reader of the answer must know, in words.
    pub notes: Vec<String>,
    /// Journals that had rows before the wall time asked for, and have none in it.
    pub silent: Vec<Silent>,
    /// Why there are no rows, in words, when there are none.
    pub emptied_by: Option<String>,
    /// Whether nothing was chosen, so that the view of the database says the same.
    pub is_default: bool,
    /// What it was chosen by, as on the command line.
    pub flags: Vec<String>,
    /// What the estimated wall time of its runs rests on, and of how many of them.
    pub bases: Vec<(String, usize)>,
}

impl Selection {
    /// Whether every run in it is taken in whole.
    pub fn is_whole(&self) -> bool {
        self.rows.iter().all(Row::is_whole)
    }

    /// How many scopes it has.
    pub fn scopes(&self) -> usize {
        let scopes: BTreeSet<&str> = self.rows.iter().map(|row| row.scope.as_str()).collect();
        scopes.len()
    }

    /// Makes it the selection of a connection: a temporary table, which hides the view of that name.
    ///
    /// # Errors
    /// When SQLite cannot make one.
    pub fn install(&self, connection: &mut Connection) -> Result<()> {
        install(connection, &self.rows)
    }
}

/// Makes rows the selection of a connection.
///
/// # Errors
/// When SQLite cannot make the table.
pub fn install(connection: &mut Connection, rows: &[Row]) -> Result<()> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    connection.execute_batch(
        "create temporary table if not exists selection (
             scope text not null, run_id integer not null, from_s real not null, to_s real not null,
             primary key (scope, run_id, from_s)
         ) without rowid;
         delete from temp.selection;",
    )?;
    let mut insert = connection
        .prepare_cached("insert into temp.selection (scope, run_id, from_s, to_s) values (?1, ?2, ?3, ?4)")?;
    for Row { scope, run_id, from_s, to_s } in rows {
        insert.execute((scope, run_id, from_s, to_s))?;
    }
    Ok(())
}

/// Finds the rows that are asked for.
///
/// # Errors
/// Unknown or ambiguous runs, contradictory bounds, too many scopes, in words; when the database cannot be
/// read.
pub fn choose(connection: &Connection, asked: &Choice, now: DateTime<Utc>) -> Result<Selection> {
    check(asked)?;
    let all = runs::load(connection)?;
    let (chosen, mut emptied_by) = runs::choose(connection, asked, &all)?;
    let growing = notes::growing(connection, &all, now)?;
    let tail_of = |run: &Run| {
        growing.iter().find(|growing| growing.run_id == run.run_id).and_then(|growing| growing.tail_s)
    };
    let mut parts: Vec<(&Run, Window)> = Vec::new();
    for run in &chosen {
        let settles_at =
            tail_of(run).filter(|_| asked.settled).zip(run.last_s).map(|(tail_s, last_s)| last_s - tail_s);
        if let Some(window) = windows::of(asked, run, settles_at) {
            parts.push((run, window));
        }
    }
    if parts.is_empty() && emptied_by.is_none() {
        emptied_by = Some(windows::emptied_by(asked, &chosen));
    }
    let rows = scopes::cut(&parts, asked.by)?;
    let mut notes = notes::of(connection, asked, &parts, &growing, &all)?;
    if rows.is_empty() {
        notes.clear();
    }
    let silent = silent::find(connection, asked, &chosen, &parts)?;
    notes.extend(asked.note.clone());
    let is_default = *asked == Choice::default();
    let emptied_by = emptied_by.filter(|_| rows.is_empty());
    let (flags, bases) = (asked.flags(), notes::bases(&parts));
    Ok(Selection { rows, notes, silent, emptied_by, is_default, flags, bases })
}

/// The selection of one run, whole.
pub fn of_run(run: &str, run_id: i64) -> Row {
    Row { scope: run.to_owned(), run_id, from_s: OPEN_FROM, to_s: OPEN_TO }
}

/// Refuses bounds that contradict each other.
fn check(asked: &Choice) -> Result<()> {
    if let (Some(since), Some(until)) = (&asked.since, &asked.until)
        && since.unix_s >= until.unix_s
    {
        let message = format!("--since {} is not before --until {}", since.text, until.text);
        return Err(Failure::usage(message).into());
    }
    if let (Some(from_s), Some(to_s)) = (asked.from_s, asked.to_s)
        && from_s >= to_s
    {
        return Err(Failure::usage(format!("--from {from_s} is not before --to {to_s}")).into());
    }
    Ok(())
}
