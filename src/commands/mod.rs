//! One file per subcommand: settings -> library call -> report.

mod check;
mod compare;
mod completions;
mod config;
mod explain;
mod export;
mod forget;
mod guard;
mod ingest;
mod interrupt;
mod lake;
mod man;
mod progress;
mod query;
mod redact;
mod rejects;
mod report;
mod schema;
mod show;
mod slo;
mod sql;
mod status;
mod verify;

use std::io::{self, IsTerminal, Write};

use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::Utc;
use rusqlite::Connection;

use self::guard::Guard;
use crate::cli::{Color, Global, Invocation, OutputFlags, RedactFlags, SelectionFlags, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::output::screen;
use crate::output::target::Target;
use crate::output::{NobodyReads, WhileRead};
use crate::query::functions;
use crate::query::kind::ColumnKind;
use crate::query::redacting::{Redacting, redactor_of};
use crate::query::run::{self, Bound, Sink};
use crate::redact::{Key, Redactor};
use crate::selection::{self, Selection};
use crate::stdio;
use crate::store;
use crate::text::{escaped, wrapped};

/// Does what the user wants.
///
/// # Errors
/// Whatever stopped it, in words; see [`crate::exit::code_of`] for its exit code.
pub fn run(mut invocation: Invocation) -> Result<Exit> {
    config::find_journals(&mut invocation)?;
    interrupt::outlive_file_limit()?;
    let reads_journals = invocation.command.get_mut().journals_mut().is_some_and(|paths| !paths.is_empty());
    let Invocation { global, command } = &invocation;
    let subcommand = command.get();
    warn_of_milliseconds(&subcommand.targets(), Teller::new(global));
    if !subcommand.heeds_signals() && !reads_journals {
        interrupt::end_on_signal()?;
    }
    subcommand.execute(global).map_err(|error| store::explain_damage(&global.db, error))
}

/// Says of targets that are too far off for seconds that seconds are what they are.
fn warn_of_milliseconds(targets: &Targets, teller: Teller) {
    let ttfts = targets.ttfts.iter().map(|ttft| ("TTFT", *ttft, MANY_TTFT_S));
    let tpots = targets.tpots.iter().map(|tpot| ("TPOT", *tpot, MANY_TPOT_S));
    for (name, target, _) in ttfts.chain(tpots).filter(|(_, target, many)| target > many) {
        teller.warn(&format!(
            "a {name} of {target} s: targets are in seconds, {target} ms are {}",
            target / 1000.0
        ));
    }
}

/// Targets above these are milliseconds by mistake.
const MANY_TTFT_S: f64 = 100.0;
const MANY_TPOT_S: f64 = 10.0;

/// Says things on stderr, unless they are not wanted.
#[derive(Debug, Clone, Copy)]
struct Teller {
    is_quiet: bool,
    is_colored: bool,
}

impl Teller {
    fn new(global: &Global) -> Self {
        let is_colored = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => screen::is_colored(io::stderr().is_terminal()),
        };
        Self { is_quiet: global.quiet, is_colored }
    }

    /// Something worth knowing.
    fn note(self, message: &str) {
        self.say("note", "36", message);
    }

    /// Something that may make a number other than expected.
    fn warn(self, message: &str) {
        self.say("warning", "33", message);
    }

    /// A failure that does not stop the rest. Never quiet.
    fn error(self, message: &str) {
        Self { is_quiet: false, ..self }.say("error", "31", message);
    }

    fn say(self, what: &str, color: &str, message: &str) {
        if self.is_quiet {
            return;
        }
        let mut line = format!("{what}: {}", escaped(message));
        if let Some(width) = screen::width_of_stderr() {
            line = wrapped(&line, width, 2);
        }
        // Nothing can be done when stderr is closed.
        let _ = if self.is_colored {
            let (what, message) = line.split_at(what.len() + 1);
            writeln!(stdio::stderr(), "\u{1b}[{color}m{what}\u{1b}[0m{message}")
        } else {
            writeln!(stdio::stderr(), "{line}")
        };
    }
}

/// Opens the way to a file, unless that would replace the database or a journal.
fn open_target(connection: &Connection, file: Option<&Path>) -> Result<Target> {
    match file {
        None => Target::open(None),
        Some(_) => Guard::of(connection)?.open(file),
    }
}

/// The redactor of the database, if the flags ask for one.
fn redactor(connection: &Connection, flags: &RedactFlags) -> Result<Option<Redactor>> {
    if !flags.redact {
        return Ok(None);
    }
    let key = flags.key.as_deref().map_or_else(Key::random, Key::from_file)?;
    redactor_of(connection, key).map(Some)
}

/// Runs a statement and writes its answer where and how the flags say; how many rows it had.
fn answer(connection: &mut Connection, sql: &str, bound: &[Bound], flags: &OutputFlags) -> Result<u64> {
    let shown = Shown { kinds: &[], redactor: None, sql };
    write_answer(connection, flags, &shown, |connection, sink| run::run(connection, sql, bound, sink))
}

/// What the columns of an answer hold, and what may be shown of it.
struct Shown<'s> {
    kinds: &'s [ColumnKind],
    /// Names go, when there is one.
    redactor: Option<&'s Redactor>,
    /// The statement in whose order the rows come.
    sql: &'s str,
}

/// Writes what `ask` gives where and how the flags say; how many rows it had.
fn write_answer(
    connection: &mut Connection,
    flags: &OutputFlags,
    shown: &Shown<'_>,
    ask: impl FnOnce(&mut Connection, &mut dyn Sink) -> Result<u64>,
) -> Result<u64> {
    let mut target = open_target(connection, flags.output.as_deref())?;
    let is_terminal = target.is_terminal();
    let unread = target.unread();
    let asked = {
        let mut sink = WhileRead::new(output::sink(flags.format, target.writer(), is_terminal)?, unread);
        sink.kinds(shown.kinds);
        match shown.redactor {
            None => ask(connection, &mut sink),
            Some(redactor) => {
                let mut sink = Redacting::new(sink, redactor);
                sink.sorted_as(shown.sql);
                ask(connection, &mut sink)
            }
        }
    };
    let rows = match asked {
        // It had enough of them.
        Err(error) if error.is::<NobodyReads>() => 1,
        Err(error) => return Err(target.explain(error)),
        Ok(rows) => rows,
    };
    target.finish()?;
    Ok(rows)
}

/// Opens the database of the global flags for reading.
fn open_to_read(global: &Global) -> Result<Connection> {
    let connection = store::open_to_read(&global.db, global.busy_timeout)?;
    functions::add(&connection)?;
    Ok(connection)
}

/// Reads what is new in journals, then opens the database for reading. The exit code is that of the reading, of which
/// `None` says that it was interrupted. From then on a signal ends the program.
fn read_then_open(global: &Global, journals: &[PathBuf]) -> Result<(Exit, Option<Connection>)> {
    let mut exit = Exit::Done;
    if !journals.is_empty() {
        exit = ingest::read_first(global, journals)?;
        if exit == Exit::Interrupted {
            return Ok((exit, None));
        }
        interrupt::end_on_signal()?;
    }
    Ok((exit, Some(open_to_read(global)?)))
}

/// Makes what the flags choose the selection of the connection, and says what its reader must know.
fn select(connection: &mut Connection, flags: &SelectionFlags, teller: Teller) -> Result<Selection> {
    let now = Utc::now();
    let selection = selection::choose(connection, &flags.asked(now)?, now)?;
    selection.install(connection)?;
    for note in &selection.notes {
        teller.note(note);
    }
    Ok(selection)
}

/// The failure of a statement that was given a selection and does not read it.
fn unread_selection(what: &str) -> Failure {
    Failure::usage(format!(
        "{what} does not read `selection`, so nothing can be chosen for it: join it, as in `from selection as s cross \
         join terminals as t where t.run_id = s.run_id and t.arrived >= s.from_s and t.arrived < s.to_s` (of events \
         e.place_s) and group by s.scope"
    ))
}

/// Says that there are no rows, and why where the selection is the reason.
fn tell_no_rows(selection: &Selection, teller: Teller) {
    match &selection.emptied_by {
        Some(why) => teller.note(&format!("no rows: {why}")),
        None => teller.note("no rows"),
    }
}
