//! `rejects`: what could not be read as it stands, and reading it again.

use std::io::{self, Write};

use anyhow::Result;

use super::{Teller, answer, interrupt, open_to_read};
use crate::cli::rejects::{Rejects, RejectsAction};
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::ingest::{Retried, retry};
use crate::output::Format;
use crate::output::stdout::stdout;
use crate::store::{self, rejects};
use crate::text::{counted, json_escaped};

impl Subcommand for Rejects {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn heeds_signals(&self) -> bool {
        matches!(self.action, Some(RejectsAction::Retry))
    }
}

fn run(global: &Global, flags: &Rejects) -> Result<Exit> {
    match flags.action {
        Some(RejectsAction::Retry) => read_again(global, flags),
        Some(RejectsAction::List) | None => list(global, flags),
    }
}

fn list(global: &Global, flags: &Rejects) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    if answer(&mut connection, rejects::LIST, &[], &flags.output)? == 0 {
        Teller::new(global).note("no line was rejected or repaired");
    }
    Ok(Exit::Done)
}

fn read_again(global: &Global, flags: &Rejects) -> Result<Exit> {
    let is_json = match (flags.output.format, &flags.output.output) {
        (Format::Table, None) => false,
        (Format::Json, None) => true,
        _ => return Err(Failure::usage("rejects retry has a summary only: text, or --format json").into()),
    };
    // Looked at first: a database in which nothing was rejected is left as it is.
    let count = rejects::count(&open_to_read(global)?)?;
    let retried = if count == 0 { Retried::default() } else { retry_in(global)? };
    let teller = Teller::new(global);
    for warning in &retried.warnings {
        teller.warn(warning);
    }
    for (note, count) in &retried.notes {
        teller.note(&note.in_words(*count));
    }
    if is_json {
        let text = serde_json::to_string(&retried).map_err(io::Error::from)?;
        writeln!(stdout(), "{}", json_escaped(&text))?;
    } else {
        tell(teller, &retried);
    }
    if retried.is_interrupted {
        teller.warn("interrupted: what was stored is committed");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

fn retry_in(global: &Global) -> Result<Retried> {
    let connection = store::open_to_write(&global.db, global.busy_timeout)?;
    let is_stopped = interrupt::interrupt_on_signal(&connection)?;
    let retried = retry(&connection, &is_stopped);
    // What an error left in the middle of a batch is not wanted.
    if !connection.is_autocommit() {
        connection.execute_batch("rollback")?;
    }
    let closed = store::close(connection);
    let retried = retried.map_err(|error| store::explain(&global.db, error))?;
    closed.map_err(|error| store::explain(&global.db, error))?;
    Ok(retried)
}

fn tell(teller: Teller, retried: &Retried) {
    for unreadable in &retried.unreadable {
        teller.warn(&format!("{}: cannot be read again: {}", unreadable.place, unreadable.reason));
    }
    let mut parts = vec![format!("{} retried", retried.retried)];
    for (count, what) in [
        (retried.builds, "build"),
        (retried.terminals, "terminal"),
        (retried.attempt_failures, "attempt failure"),
        (retried.events, "event"),
        (retried.duplicates, "duplicate"),
    ] {
        if count > 0 {
            parts.push(counted(count, what));
        }
    }
    for (count, what) in [
        (retried.repaired, "repaired"),
        (retried.forgotten, "of forgotten runs"),
        (retried.rejected, "still rejected"),
        (retried.unreadable.len() as u64, "could not be read again"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    teller.note(&parts.join(", "));
}
