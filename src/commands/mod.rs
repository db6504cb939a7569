//! One file per subcommand: settings -> library call -> report.

mod check;
mod compare;
mod explain;
mod export;
mod forget;
mod ingest;
mod interrupt;
mod progress;
mod query;
mod redact;
mod rejects;
mod schema;
mod show;
mod slo;
mod sql;
mod status;
mod verify;

use std::io::{self, IsTerminal, Write};

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use anyhow::Result;
use chrono::Utc;
use rusqlite::Connection;

use crate::cli::{Color, Global, OutputFlags, RedactFlags, SelectionFlags, Subcommanded, Wanted};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::output::target::Target;
use crate::query::functions;
use crate::query::run::{self, Bound, Sink};
use crate::redact::sink::{Redacting, redactor_of};
use crate::redact::{Key, Redactor};
use crate::selection::{self, Selection};
use crate::store;
use crate::store::sources::{self, FileId};
use crate::text::escaped;

/// Does what the user wants.
///
/// # Errors
/// Whatever stopped it, in words; see [`crate::exit::code_of`] for its exit code.
pub fn run(wanted: Wanted) -> Result<Exit> {
    let global = &wanted.global;
    // These heed signals themselves, some when they have read what is new.
    let heeds_signals = match &wanted.command {
        Subcommanded::Ingest(_)
        | Subcommanded::Query(_)
        | Subcommanded::Show(_)
        | Subcommanded::Check(_)
        | Subcommanded::Explain(_)
        | Subcommanded::Export(_)
        | Subcommanded::Redact(_)
        | Subcommanded::Slo(_) => true,
        Subcommanded::Rejects(flags) => rejects::writes(flags),
        Subcommanded::Forget(flags) => forget::writes(flags),
        _ => false,
    };
    if !heeds_signals {
        interrupt::end_on_signal()?;
    }
    let done = match &wanted.command {
        Subcommanded::Ingest(flags) => ingest::run(global, flags),
        Subcommanded::Query(ask) => query::run(global, ask),
        Subcommanded::Show(flags) => show::run(global, flags),
        Subcommanded::Compare(flags) => compare::run(global, flags),
        Subcommanded::Check(flags) => check::run(global, flags),
        Subcommanded::Explain(flags) => explain::run(global, flags),
        Subcommanded::Sql(flags) => sql::run(global, flags),
        Subcommanded::Schema(flags) => schema::run(global, flags),
        Subcommanded::Export(wanted) => export::run(global, wanted),
        Subcommanded::Redact(flags) => redact::run(global, flags),
        Subcommanded::Slo(action) => slo::run(global, action),
        Subcommanded::Status => status::run(global),
        Subcommanded::Verify => verify::run(global),
        Subcommanded::Rejects(flags) => rejects::run(global, flags),
        Subcommanded::Forget(flags) => forget::run(global, flags),
    };
    done.map_err(|error| store::explain_damage(&global.db, error))
}

/// Says things on stderr, unless they are not wanted.
#[derive(Debug, Clone, Copy)]
struct Teller {
    is_quiet: bool,
    is_colored: bool,
}

impl Teller {
    fn new(global: &Global) -> Self {
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_colored = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stderr().is_terminal() && !is_plain,
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
        let message = escaped(message);
        // Nothing can be done when stderr is closed.
        let _ = if self.is_colored {
            writeln!(io::stderr(), "\u{1b}[{color}m{what}:\u{1b}[0m {message}")
        } else {
            writeln!(io::stderr(), "{what}: {message}")
        };
    }
}

/// Opens the way to a file, unless the file is the database or a journal that was read into it.
fn open_target(connection: &Connection, file: Option<&Path>) -> Result<Target> {
    let existing = file.and_then(|path| Some((path, path.metadata().ok().filter(Metadata::is_file)?)));
    if let Some((path, existing)) = existing {
        let refuse = |what: &str| {
            Err(Failure::usage(format!("{} is {what}: name another file", path.display())).into())
        };
        let database = connection.path().unwrap_or_default();
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let part = Path::new(&format!("{database}{suffix}")).metadata();
            if part.is_ok_and(|part| FileId::of(&part) == FileId::of(&existing)) {
                return refuse("the database");
            }
        }
        if sources::load_all(connection)?.iter().any(|source| source.file == Some(FileId::of(&existing))) {
            return refuse("a journal that was read into the database");
        }
    }
    Target::open(file)
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
    write_answer(connection, flags, None, |connection, sink| run::run(connection, sql, bound, sink))
}

/// Writes what `ask` gives where and how the flags say, without names when there is a redactor; how many rows it
/// had.
fn write_answer(
    connection: &mut Connection,
    flags: &OutputFlags,
    redactor: Option<&Redactor>,
    ask: impl FnOnce(&mut Connection, &mut dyn Sink) -> Result<u64>,
) -> Result<u64> {
    let mut target = open_target(connection, flags.output.as_deref())?;
    let is_terminal = target.is_terminal();
    let rows = {
        let mut sink = output::sink(flags.format, target.writer(), is_terminal)?;
        match redactor {
            None => ask(connection, sink.as_mut())?,
            Some(redactor) => ask(connection, &mut Redacting::new(sink, redactor))?,
        }
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
    let exit = match journals {
        [] => Exit::Done,
        paths => ingest::read_first(global, paths)?,
    };
    if exit == Exit::Interrupted {
        return Ok((exit, None));
    }
    interrupt::end_on_signal()?;
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
