//! `explain`: what the misses of a window come from.

use std::path::PathBuf;

use anyhow::{Context, Result};
use chrono::Utc;

use super::{Teller, read_then_open};
use crate::cli::explain::Explain;
use crate::cli::show::ShowFormat;
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::explanation::{self, Beside};
use crate::output::json::write_json;
use crate::output::target::Target;
use crate::query::caveats;
use crate::query::explain::{earlier, explain, overlap};
use crate::query::params::needed_targets;
use crate::query::scoring::Policy;
use crate::selection::{self, By, Row, Selection, expression};

impl Subcommand for Explain {
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
        self.targets.given()
    }
}

fn run(global: &Global, flags: &Explain) -> Result<Exit> {
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    let teller = Teller::new(global);
    if flags.selection.by.is_some_and(|by| by != By::All) {
        return Err(Failure::usage("explain looks at one window: leave --by out").into());
    }
    let targets =
        needed_targets(&connection, flags.targets.slo.as_deref(), flags.targets.ttft, flags.targets.tpot)?;
    let policy = Policy::named(&flags.policy).context("the policy was checked")?;

    let now = Utc::now();
    let asked = selection::Choice { by: By::All, ..flags.selection.asked(now)? };
    let window = selection::choose(&connection, &asked, now)?;
    check_rows(&window, "the window")?;
    let (baseline, against) = match &flags.against {
        None => (earlier(&window), "all earlier requests of the same runs".to_owned()),
        Some(text) => {
            let asked = expression::parse(text, now)
                .map_err(|error| Failure::usage(format!("--against: {error}")))?;
            let baseline = selection::choose(&connection, &asked, now)?;
            check_rows(&baseline, "the baseline")?;
            (baseline, text.clone())
        }
    };
    if overlap(&window, &baseline) {
        return Err(Failure::usage(
            "the window and the baseline share requests, so neither says anything of the other: choose apart ones, as \
             in `explain --last 1h`, or `explain --since 2h --until 1h --against 3h..2h`",
        )
        .into());
    }
    for note in &window.notes {
        teller.note(note);
    }
    for note in baseline.notes.iter().filter(|note| !window.notes.contains(note)) {
        teller.note(&expression::without_flags(note));
    }

    let found = explain(&mut connection, &window, &baseline, &targets, policy)?;
    let mut target = Target::open(None)?;
    match flags.format {
        ShowFormat::Text => {
            let asked = Beside { targets: &targets, policy, against: &against };
            explanation::write(target.writer(), &found, &asked)?;
        }
        ShowFormat::Json => {
            write_json(target.writer(), &found)?;
        }
    }
    target.finish()?;
    for note in &found.notes {
        teller.note(note);
    }
    let rows: Vec<Row> = window.rows.iter().chain(&baseline.rows).cloned().collect();
    let both = rows.into_iter().enumerate().map(|(at, row)| Row { scope: at.to_string(), ..row }).collect();
    Selection { rows: both, ..Selection::default() }.install(&mut connection)?;
    for caveat in caveats::unavailable_accounting(&connection, policy)? {
        teller.note(&caveat);
    }
    Ok(exit)
}

fn check_rows(selection: &Selection, what: &str) -> Result<()> {
    if selection.rows.is_empty() {
        let why = selection.emptied_by.as_deref().unwrap_or("no run lies in it");
        return Err(Failure::usage(format!("{what} is empty: {why}")).into());
    }
    Ok(())
}
