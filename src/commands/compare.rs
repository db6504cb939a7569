//! `compare`: two selections side by side.

use std::path::Path;

use anyhow::Result;
use chrono::Utc;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::{Teller, open_target, open_to_read};
use crate::cli::compare::Compare;
use crate::cli::{Global, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::json::write_json;
use crate::output::{Format, comparison, screen, sink};
use crate::query::compare::{COLUMNS, Comparison, SCOPES, compare, sides};
use crate::query::params::targets;
use crate::query::run::Sink;
use crate::report::comparison as comparison_page;
use crate::selection::{self, Selection, expression};
use crate::store::slos::Slo;
use crate::text::rounded;

impl Subcommand for Compare {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn targets(&self) -> Targets {
        self.targets.given()
    }
}

fn run(global: &Global, flags: &Compare) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let teller = Teller::new(global);
    let names = [flags.a.as_str(), flags.b.as_str()];
    let [a, b] = names;
    let sides = sides(side(&connection, a, teller)?, side(&connection, b, teller)?);
    let slo = targets(&connection, flags.targets.slo.as_deref(), flags.targets.ttft, flags.targets.tpot)?;
    let compared = compare(&mut connection, &sides, slo.as_ref())?;
    for ((letter, name), requests) in SCOPES.into_iter().zip(names).zip(compared.requests) {
        if requests == 0 {
            let message = format!(
                "nothing to compare: {letter}, {name:?}, takes in runs, but no request: choose another"
            );
            return Err(Failure::usage(message).into());
        }
    }

    let mut target = open_target(&connection, flags.output.output.as_deref())?;
    let is_terminal = target.is_terminal();
    let written = match flags.output.format {
        Format::Table if is_page(flags.output.output.as_deref()) => {
            let asked = comparison_page::PageInput {
                sides: &sides,
                names,
                compared: &compared,
                targets: slo.as_ref(),
                now: super::report::written_at()?,
            };
            let page = comparison_page::page(&mut connection, &asked)?;
            target.writer().write_all(page.as_bytes()).map_err(Into::into)
        }
        Format::Table => {
            let height = is_terminal.then(screen::height_of_stdout).flatten();
            comparison::write(target.writer(), &compared, names, flags.all, height).map_err(Into::into)
        }
        Format::Json => write_json(target.writer(), &compared.as_json(names)).map_err(Into::into),
        format => sink(format, target.writer(), is_terminal)
            .map_err(Into::into)
            .and_then(|mut table| write_rows(table.as_mut(), &compared)),
    };
    written.map_err(|error| target.explain(error))?;
    target.finish()?;
    tell(&compared, slo.as_ref(), teller);
    Ok(Exit::Done)
}

/// Whether a file is a page by its name.
fn is_page(file: Option<&Path>) -> bool {
    let extension = file.and_then(Path::extension).and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        extension.eq_ignore_ascii_case("html") || extension.eq_ignore_ascii_case("htm")
    })
}

/// The figures as rows, those of engines after the others.
fn write_rows(table: &mut dyn Sink, compared: &Comparison) -> Result<()> {
    table.columns(&COLUMNS.map(str::to_owned))?;
    for pair in compared.figures.pairs.iter().chain(&compared.engines.pairs) {
        let cells: [Value; 14] = pair.into();
        table.row(&cells.each_ref().map(ValueRef::from))?;
    }
    table.end()
}

/// Says what changes the meaning of a comparison.
fn tell(compared: &Comparison, slo: Option<&Slo>, teller: Teller) {
    if compared.shared > 0 {
        teller.warn(&format!(
            "not judged: the two selections overlap, {} requests are in both",
            compared.shared
        ));
    }
    for note in &compared.notes {
        teller.note(note);
    }
    match slo {
        Some(slo) => {
            let whence = if slo.name.is_empty() { String::new() } else { format!(", saved as {}", slo.name) };
            let (ttft, tpot) = (rounded(slo.ttft_s), rounded(slo.tpot_s));
            teller.note(&format!(
                "both sides are held against the same targets: TTFT {ttft} s, TPOT {tpot} s{whence}"
            ));
        }
        None => {
            teller.note("no attainment: give --ttft and --tpot, or save targets with `narwhal-jq slo set`")
        }
    }
}

/// One of the two selections; it must take in something.
fn side(connection: &Connection, text: &str, teller: Teller) -> Result<Selection> {
    let now = Utc::now();
    let asked = expression::parse(text, now).map_err(Failure::usage)?;
    let selection = selection::choose(connection, &asked, now)?;
    if let Some(why) = &selection.emptied_by {
        return Err(Failure::usage(format!("{text:?} takes in nothing: {why}")).into());
    }
    for note in &selection.notes {
        teller.note(&format!("{text}: {}", expression::without_flags(note)));
    }
    Ok(selection)
}
