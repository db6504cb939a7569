//! `export`: tables, queries and the journal as files, or as one workbook. Here it is settled what is exported; it is
//! written in `writing`.

mod writing;

use std::path::PathBuf;

use anyhow::Result;
use rusqlite::Connection;

use self::writing::Exporting;
use super::guard::refuse_input;
use super::{Teller, lake, read_then_open, redactor, select, unread_selection};
use crate::cli::export::Export;
use crate::cli::query::AskedQueries;
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::export::{Item, everything, resolve};
use crate::failure::Failure;
use crate::query::run::Bound;
use crate::query::{caveats, header, params};
use crate::text::{PathText, counted};

impl Subcommand for Export {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        Some(&mut self.selection)
    }

    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        Some(&mut self.ingest)
    }

    fn targets(&self) -> Targets {
        Targets::new(self.asked.target_s("ttft"), self.asked.target_s("tpot"))
    }

    fn queries_mut(&mut self) -> Option<&mut AskedQueries> {
        Some(&mut self.asked)
    }
}

fn run(global: &Global, flags: &Export) -> Result<Exit> {
    let catalog = &flags.asked.catalog;
    if flags.names.iter().any(|name| name == lake::LAKE) {
        return lake::export(global, flags);
    }
    let teller = Teller::new(global);
    let mut items = if flags.all { everything(catalog) } else { Vec::new() };
    for item in resolve(&flags.names, catalog)? {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    check_parameters(&items, &flags.asked)?;
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    check_own(&mut connection, &mut items, flags, teller)?;
    // What is to be kept or handed on as a whole is cut by nobody but its reader.
    let chosen = match items.iter().any(|item| matches!(item, Item::Journal)) {
        true => &flags.selection.only_given(),
        false => &flags.selection,
    };
    let selection = &select(&mut connection, chosen, teller)?;
    let mut bound = bind_all(&connection, &mut items, flags, teller)?;
    let redactor = redactor(&connection, &flags.privacy)?;
    if redactor.is_some() {
        leave_out_rejects(&mut items, &mut bound, flags, teller)?;
    }
    let redactor = redactor.as_ref();
    let plan = Exporting { selection, items: &items, bound: &bound, redactor, teller };
    let written = match (&flags.dir, &flags.xlsx) {
        (Some(folder), _) => plan.to_folder(global, &mut connection, folder, flags)?,
        (None, Some(file)) => {
            refuse_input(Some(file), flags.privacy.key.as_deref(), "the key, too")?;
            plan.to_workbook(&mut connection, file)?
        }
        (None, None) => unreachable!("one of --dir and --xlsx is required"),
    };
    for (item, bound) in items.iter().zip(&bound) {
        if let Item::Query(query) = item {
            for caveat in caveats::of(&connection, query, bound)? {
                teller.note(&format!("{}: {caveat}", query.name));
            }
        }
    }
    for one in &written {
        let place = flags.dir.as_ref().map(|folder| folder.join(&one.place).as_text().to_string());
        teller.note(&format!("{}: {}", place.as_ref().unwrap_or(&one.place), counted(one.rows, "row")));
    }
    if let Some(why) = &selection.emptied_by {
        teller.note(&format!("nothing is selected: {why}"));
    }
    Ok(exit)
}

/// Checks the user's own queries against the database. With `--all`, one that cannot be asked is left out and named;
/// one that was named is a mistake.
fn check_own(
    connection: &mut Connection,
    items: &mut Vec<Item>,
    flags: &Export,
    teller: Teller,
) -> Result<()> {
    let mut kept = Vec::new();
    for item in items.drain(..) {
        let fault = match &item {
            Item::Query(query) if query.file.is_some() => match header::check(query, connection) {
                Ok(signature) if flags.selection.is_given() && !signature.reads_selection => {
                    Some(unread_selection(&format!("the query {}", query.name)).into())
                }
                Ok(_) => None,
                Err(fault) => Some(fault.context(format!("the query {}", query.name))),
            },
            _ => None,
        };
        match fault {
            None => kept.push(item),
            Some(fault) if flags.all && !flags.names.iter().any(|name| name == item.name()) => {
                teller.warn(&format!("left out: {fault:#}"));
            }
            Some(fault) => return Err(fault),
        }
    }
    *items = kept;
    Ok(())
}

/// A parameter that no exported query has is a mistake.
fn check_parameters(items: &[Item], asked: &AskedQueries) -> Result<()> {
    let is_known = |name: &str| {
        items.iter().any(|item| match item {
            Item::Query(query) => query.parameters.iter().any(|parameter| parameter.name == name),
            _ => false,
        })
    };
    match asked.parameters().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Failure::usage(format!("none of the exported queries has the parameter --{name}")).into())
        }
    }
}

/// Binds the parameters of every item. With `--all`, a query without targets is left out and named;
/// one that was named is a mistake.
fn bind_all(
    connection: &Connection,
    items: &mut Vec<Item>,
    flags: &Export,
    teller: Teller,
) -> Result<Vec<Vec<Bound>>> {
    let mut bound = Vec::new();
    let mut kept = Vec::new();
    for item in items.drain(..) {
        let Item::Query(query) = &item else {
            bound.push(Vec::new());
            kept.push(item);
            continue;
        };
        match params::bind(connection, query, |name| flags.asked.value(name).cloned()) {
            Ok(parameters) => {
                bound.push(parameters);
                kept.push(item);
            }
            Err(error) if flags.all && !flags.names.contains(&query.name) => {
                teller.warn(&format!("{}: left out: {error:#}", query.name));
            }
            Err(error) => return Err(error.context(format!("the query {}", query.name))),
        }
    }
    *items = kept;
    Ok(bound)
}

/// What could not be read cannot be redacted.
fn leave_out_rejects(
    items: &mut Vec<Item>,
    bound: &mut Vec<Vec<Bound>>,
    flags: &Export,
    teller: Teller,
) -> Result<()> {
    let Some(at) = items.iter().position(|item| *item == Item::Table("rejects")) else { return Ok(()) };
    if !flags.all {
        return Err(Failure::usage("rejects cannot be redacted: they could not be read").into());
    }
    items.remove(at);
    bound.remove(at);
    teller.warn("rejects: left out: what could not be read cannot be redacted");
    Ok(())
}
