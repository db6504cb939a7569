//! `sql`: a statement of the user's own.

use std::fs;
use std::io::Read;

use anyhow::{Context, Result};

use super::guard::refuse_input;
use super::{Teller, answer, open_to_read, select, tell_no_rows, unread_selection};
use crate::cli::sql::Sql;
use crate::cli::{Global, SelectionFlags, Subcommand};
use crate::exit::Exit;
use crate::query::run::signature;
use crate::stdio;
use crate::text::PathText;

impl Subcommand for Sql {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        Some(&mut self.selection)
    }
}

fn run(global: &Global, flags: &Sql) -> Result<Exit> {
    let sql = match (&flags.file, flags.statement.as_deref()) {
        (Some(path), _) => {
            fs::read_to_string(path).with_context(|| format!("cannot read the SQL in {}", path.as_text()))?
        }
        (None, Some("-")) => {
            let mut sql = String::new();
            stdio::stdin().read_to_string(&mut sql).context("cannot read the SQL from standard input")?;
            sql
        }
        (None, statement) => statement.unwrap_or_default().to_owned(),
    };
    refuse_input(flags.output.output.as_deref(), flags.file.as_deref(), "the SQL, too")?;
    let mut connection = open_to_read(global)?;
    let teller = Teller::new(global);
    let mut chosen = flags.selection.clone();
    if chosen.is_choosing() && !signature(&mut connection, &sql)?.reads_selection {
        if chosen.is_given() {
            return Err(unread_selection("the statement").into());
        }
        chosen = chosen.only_given();
    }
    let selection = select(&mut connection, &chosen, teller)?;
    if answer(&mut connection, &sql, &[], &flags.output)? == 0 {
        tell_no_rows(&selection, teller);
    }
    Ok(Exit::Done)
}
