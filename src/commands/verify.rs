//! `verify`: says what does not hold in the database, and how much was looked at.

use std::io::Write;

use anyhow::Result;
use rusqlite::Connection;

use super::{Teller, open_to_read};
use crate::cli::verify::Verify;
use crate::cli::{Global, Subcommand};
use crate::exit::Exit;
use crate::output::stdout::stdout;
use crate::sources::state::{self, State};
use crate::store::consistency::CHECKS;
use crate::store::{self, sources};
use crate::text::escaped;

impl Subcommand for Verify {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global)
    }
}

fn run(global: &Global) -> Result<Exit> {
    let connection = open_to_read(global)?;
    let teller = Teller::new(global);
    let mut out = stdout();
    let mut broken = 0;
    let mut tell = |holds: &str, found: rusqlite::Result<Vec<String>>| -> Result<()> {
        let found = found.map_err(|error| store::explain(&global.db, error.into()))?;
        writeln!(out, "{}  {holds}", if found.is_empty() { "ok    " } else { "BROKEN" })?;
        for sentence in found.iter().take(MAX_SHOWN) {
            writeln!(out, "        {}", escaped(sentence))?;
        }
        if found.len() > MAX_SHOWN {
            writeln!(out, "        and {} more", found.len() - MAX_SHOWN)?;
        }
        broken += found.len();
        Ok(())
    };
    for check in CHECKS {
        tell(check.holds, check.find(&connection))?;
    }
    if broken > 0 {
        teller.note("what is BROKEN stays so: make a new database from the journals");
    }
    for (path, state) in changed_files(&connection)? {
        teller.note(&format!("{path}: {state}"));
    }
    Ok(if broken == 0 { Exit::Done } else { Exit::Failed })
}

/// So many sentences of one check are shown.
const MAX_SHOWN: usize = 20;

/// Files that do not hold any more what was read of them. Rotation does that: not a fault of the
/// database, but worth a word.
fn changed_files(connection: &Connection) -> Result<Vec<(String, State)>> {
    let known = sources::load_all(connection)?;
    let states = known.into_iter().map(|source| (state::look(connection, &source).state, source.path));
    Ok(states.filter(|(state, _)| state.is_lost()).map(|(state, path)| (path, state)).collect())
}
