//! `forget`: delete whole runs, or take that back.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::guard::Guard;
use super::{Teller, interrupt, lake, open_to_read};
use crate::cli::forget::Forget;
use crate::cli::{Global, Subcommand};
use crate::exit::{Exit, code_of};
use crate::failure::{Failure, Kind};
use crate::lake::moving::{self, Moved};
use crate::output::stdout::stdout;
use crate::output::{Format, sink};
use crate::sources::state::{self, State};
use crate::store::forgotten::{self, Candidate, Holding};
use crate::store::{self, contents, sources};
use crate::text::{PathText, counted};

impl Subcommand for Forget {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn heeds_signals(&self) -> bool {
        !self.dry_run
    }
}

fn run(global: &Global, flags: &Forget) -> Result<Exit> {
    let teller = Teller::new(global);
    let looking = open_to_read(global)?;
    if let Some(run) = &flags.undo {
        drop(looking);
        return undo(global, teller, run);
    }
    let chosen = choose(&looking, flags)?;
    tell_unknown(&looking, teller, flags)?;
    if chosen.is_empty() && flags.before.is_some() {
        teller.note("no run ended before that");
    }
    if flags.dry_run {
        list(&looking, &chosen)?;
        return Ok(Exit::Done);
    }
    if flags.into.is_some() && flags.before.is_none() && flags.run.is_empty() {
        return Err(Failure::usage("--into moves runs out: name them with --run or --before").into());
    }
    if chosen.is_empty() && flags.run.is_empty() && !flags.vacuum {
        return Ok(Exit::Done);
    }
    let moved = match &flags.into {
        Some(folder) => Some(move_out(&looking, folder, &chosen, teller).context("nothing was forgotten")?),
        None => None,
    };
    drop(looking);
    change(global, |connection, is_stopped| {
        for line in forget(connection, flags, moved.as_ref(), is_stopped).context("nothing was forgotten")? {
            teller.note(&line);
        }
        if flags.vacuum { vacuum(connection, teller) } else { tell_room(connection, teller) }
    })?;
    Ok(Exit::Done)
}

/// The runs that the flags name, whatever has become of them meanwhile.
fn choose(connection: &Connection, flags: &Forget) -> Result<Vec<Candidate>> {
    let mut candidates = forgotten::candidates(connection)?;
    if let Some(before) = flags.before {
        let before = before.timestamp() as f64;
        candidates.retain(|run| run.ended_by.is_some_and(|ended_by| ended_by < before));
        return Ok(candidates);
    }
    for run in &flags.run {
        if candidates.iter().any(|candidate| candidate.run == *run) {
            continue;
        }
        match forgotten::find(connection, run)? {
            Some(tombstone) if tombstone.is_undone => {}
            Some(tombstone) => bail!("run {run} was forgotten already, at {}", tombstone.forgotten_at),
            None => {
                let hint = match candidates.iter().find(|candidate| candidate.run.starts_with(run)) {
                    Some(candidate) => format!("the whole id is wanted, perhaps {}", candidate.run),
                    None => "`narwhal-jq query runs` lists them".to_owned(),
                };
                bail!("no run {run:?} in the database: {hint}");
            }
        }
    }
    candidates.retain(|candidate| flags.run.contains(&candidate.run));
    Ok(candidates)
}

/// So many runs are named in a note.
const MAX_NAMED: usize = 5;

/// A run whose name tells no start is never old enough.
fn tell_unknown(connection: &Connection, teller: Teller, flags: &Forget) -> Result<()> {
    let mut runs = forgotten::candidates(connection)?;
    runs.retain(|run| flags.before.is_some() && run.started_at.is_none());
    if !runs.is_empty() {
        let named: Vec<&str> = runs.iter().take(MAX_NAMED).map(|run| run.run.as_str()).collect();
        let more = if runs.len() > MAX_NAMED { ", ..." } else { "" };
        let stay = match runs.len() {
            1 => "1 run has no known start and stays, `--run` names it".to_owned(),
            count => format!("{count} runs have no known start and stay, `--run` names them"),
        };
        teller.note(&format!("{stay}: {}{more}", named.join(", ")));
    }
    Ok(())
}

/// What would be deleted, a row each, and roughly how many bytes that is.
fn list(connection: &Connection, chosen: &[Candidate]) -> Result<()> {
    // Of what is not rejects, which stay, a run has the share of its rows.
    let used = contents::bytes_of_rows(connection)?;
    let bytes_a_row = used.max(0.0) / Holding::of_all(connection)?.rows().max(1) as f64;
    let mut out = stdout();
    let mut table = sink(Format::Table, &mut out, false)?;
    let columns = ["run", "started_at", "terminals", "attempt_failures", "events", "bytes_about"];
    table.columns(&columns.map(str::to_owned))?;
    for run in chosen {
        let holding = Holding::of(connection, run.run_id)?;
        let int = |number: u64| ValueRef::Integer(number.cast_signed());
        table.row(&[
            ValueRef::Text(run.run.as_bytes()),
            run.started_at.as_ref().map_or(ValueRef::Null, |at| ValueRef::Text(at.as_bytes())),
            int(holding.terminals),
            int(holding.attempt_failures),
            int(holding.events),
            int((holding.rows() as f64 * bytes_a_row) as u64),
        ])?;
    }
    table.end()?;
    drop(table);
    out.flush()?;
    Ok(())
}

/// Opens the database for a change, and leaves it as one plain file whatever comes of it.
fn change(global: &Global, change: impl FnOnce(&Connection, &AtomicBool) -> Result<()>) -> Result<()> {
    let connection = store::open_to_write(&global.db, global.busy_timeout)?;
    let is_stopped = interrupt::interrupt_on_signal(&connection)?;
    let changed = change(&connection, &is_stopped).map_err(|error| match code_of(&error) {
        Exit::Busy if is_stopped.load(Ordering::Relaxed) => {
            Failure::new(Kind::Interrupted, "interrupted: nothing was changed").into()
        }
        _ => store::explain(&global.db, error),
    });
    let closed = store::close(connection).map_err(|error| store::explain(&global.db, error));
    changed.and(closed)
}

/// All or nothing: one transaction, however many runs. A line about each.
fn forget(
    connection: &Connection,
    flags: &Forget,
    moved: Option<&Moved>,
    is_stopped: &AtomicBool,
) -> Result<Vec<String>> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut said = Vec::new();
    let chosen = choose(connection, flags)?;
    if let Some(moved) = moved {
        moved.check(connection, &ids(&chosen))?;
    }
    for run in chosen {
        let had = forgotten::forget(connection, run.run_id)?;
        said.push(format!(
            "run {} forgotten: {}, {}, {}",
            run.run,
            counted(had.terminals, "terminal"),
            counted(had.attempt_failures, "attempt failure"),
            counted(had.events, "event")
        ));
    }
    for run in &flags.run {
        if let Some(waiting) = forgotten::find(connection, run)?.filter(|tombstone| tombstone.is_undone) {
            forgotten::redo(connection, waiting.forgotten_id)?;
            said.push(format!("run {run} forgotten: none of its rows had come back"));
        }
    }
    if is_stopped.load(Ordering::Relaxed) {
        return Err(Failure::new(Kind::Interrupted, "interrupted").into());
    }
    transaction.commit()?;
    Ok(said)
}

/// Exports the runs into a lake, and makes sure that they are there.
fn move_out(connection: &Connection, folder: &Path, chosen: &[Candidate], teller: Teller) -> Result<Moved> {
    Guard::of(connection)?.refuse_journals_in(folder)?;
    let moved = moving::move_out(connection, folder, &ids(chosen))?;
    lake::tell(&moved.report, folder, teller);
    teller.note(&format!(
        "{}: {} read back, all as in the database",
        folder.as_text(),
        counted(moved.rows, "row")
    ));
    Ok(moved)
}

fn ids(runs: &[Candidate]) -> Vec<i64> {
    runs.iter().map(|run| run.run_id).collect()
}

fn tell_room(connection: &Connection, teller: Teller) -> Result<()> {
    let (free, size) = contents::room(connection)?;
    teller.note(&format!(
        "{free} of {size} bytes of the database are free for what is read next; `narwhal-jq forget --vacuum` \
         makes the file smaller"
    ));
    Ok(())
}

fn vacuum(connection: &Connection, teller: Teller) -> Result<()> {
    let (_, before) = contents::room(connection)?;
    contents::vacuum(connection)
        .context("what was to be forgotten is, but the file is as large as before")?;
    let (_, after) = contents::room(connection)?;
    teller.note(&format!("the database has {after} bytes, before {before}"));
    Ok(())
}

fn undo(global: &Global, teller: Teller, run: &str) -> Result<Exit> {
    // Looked at first: a database without that tombstone is left as it is.
    find_forgotten(&open_to_read(global)?, run)?;
    let mut states = Vec::new();
    change(global, |connection, is_stopped| {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let met = forgotten::undo(connection, find_forgotten(connection, run)?)?;
        if is_stopped.load(Ordering::Relaxed) {
            return Err(Failure::new(Kind::Interrupted, "interrupted: nothing was changed").into());
        }
        transaction.commit()?;
        let mut known = sources::load_all(connection)?;
        known.retain(|source| met.contains(&source.source_id));
        known.sort_unstable_by_key(|source| source.source_id);
        states =
            known.into_iter().map(|source| (state::look(connection, &source).state, source.path)).collect();
        Ok(())
    })?;
    teller.note(&format!(
        "run {run} comes back when these are read again, which `narwhal-jq ingest` does now:"
    ));
    for (state, path) in &states {
        match state {
            State::Stream => teller.note("standard input: give it the same journal again"),
            state if state.is_lost() => {
                teller.warn(&format!("{path}: {state}: what stood in it does not come back"));
            }
            _ => teller.note(path),
        }
    }
    Ok(Exit::Done)
}

fn find_forgotten(connection: &Connection, run: &str) -> Result<i64> {
    match forgotten::find(connection, run)? {
        Some(tombstone) => Ok(tombstone.forgotten_id),
        None => bail!(
            "run {run:?} was not forgotten: `narwhal-jq sql \"select run, forgotten_at from forgotten\"` lists those"
        ),
    }
}
