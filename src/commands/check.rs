//! `check`: exit 6 when something does not hold, 7 when that cannot be judged.

use std::path::PathBuf;

use anyhow::Result;
use chrono::Utc;
use rusqlite::Connection;

use super::{Teller, open_target, read_then_open};
use crate::cli::check::{Check, CheckFormat};
use crate::cli::{Global, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::checked::{write_metrics, write_text};
use crate::output::json::write_json;
use crate::query::check::{Burn, Checked, JudgedFigure, Outcome, Terms, check};
use crate::query::params::needed_targets;
use crate::query::scoring::Policy;
use crate::selection::time::{Moment, unix_s};
use crate::selection::{self, By, Selection};

impl Subcommand for Check {
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
        let mut targets = self.targets.given();
        targets.ttfts.extend(self.limits.largest_of("ttft_s"));
        targets.tpots.extend(self.limits.largest_of("tpot_s"));
        targets
    }
}

fn run(global: &Global, flags: &Check) -> Result<Exit> {
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    let teller = Teller::new(global);
    let now = Utc::now();
    // A burn rate has windows of its own.
    let chosen = match flags.limits.burn {
        Some(_) => flags.selection.only_given().asked(now)?,
        None => flags.selection.asked(now)?,
    };
    let selection = selection::choose(&connection, &chosen, now)?;
    for note in &selection.notes {
        teller.note(note);
    }
    let burn = flags.limits.burn.as_ref();
    if burn.is_some_and(|burn| burn.target >= 1.0) {
        return Err(Failure::usage(
            "--min-attainment 1 allows no miss, so none can be used up: --burn needs less",
        )
        .into());
    }
    let needs_targets =
        burn.is_some() || flags.limits.limits.iter().any(|limit| limit.figure == JudgedFigure::Attainment);
    let targets = if needs_targets {
        Some(needed_targets(
            &connection,
            flags.targets.slo.as_deref(),
            flags.targets.ttft,
            flags.targets.tpot,
        )?)
    } else {
        None
    };
    let now_s = unix_s(&now);
    let asked = Terms {
        limits: flags.limits.limits.clone(),
        burn: burn_windows(&connection, flags, &chosen, now)?,
        targets,
        policy: flags.policy.as_deref().and_then(Policy::named).unwrap_or_default(),
        min_requests: flags.min_requests,
        max_age_s: flags.max_age,
        is_age_of_all: matches!(chosen.by, By::Wall(_) | By::RunTime(_)),
        is_confident: flags.confident,
        now_s,
    };
    let windows = asked.burn.iter().flat_map(|burn| &burn.windows);
    let mut told: Vec<&String> = selection.notes.iter().collect();
    for note in windows.flat_map(|(_, window)| &window.notes) {
        if !told.contains(&note) {
            teller.note(note);
            told.push(note);
        }
    }
    let selection = match &asked.burn {
        // Of runs that nobody named, those that the windows take in.
        Some(burn) if asked.limits.is_empty() && selection.is_default => longest(burn, selection),
        _ => selection,
    };
    let checked = check(&mut connection, &selection, &asked)?;
    write(&connection, flags, &checked)?;
    for note in &checked.notes {
        teller.note(note);
    }
    if selection.rows.is_empty() {
        match &selection.emptied_by {
            Some(why) => teller.warn(&format!("nothing was measured that could hold: {why}")),
            None => teller.warn("nothing was measured that could hold"),
        }
    }
    Ok(match checked.outcome() {
        Outcome::Broken => Exit::NotHeld,
        Outcome::Unjudged => Exit::Unjudged,
        Outcome::Holds => exit,
    })
}

fn write(connection: &Connection, flags: &Check, checked: &Checked) -> Result<()> {
    let mut target = open_target(connection, flags.output.as_deref())?;
    let width = target.width();
    let out = target.writer();
    let written = match flags.format {
        CheckFormat::Text => write_text(out, checked, width),
        CheckFormat::Openmetrics => write_metrics(out, checked),
        CheckFormat::Json => write_json(out, &checked.as_json()).and_then(|()| out.flush()),
    };
    written.map_err(|error| target.explain(error.into()))?;
    target.finish()?;
    Ok(())
}

/// What each window of a burn rate takes in: that much wall time before now, or before `--until`.
fn burn_windows(
    connection: &Connection,
    flags: &Check,
    chosen: &selection::Choice,
    now: chrono::DateTime<Utc>,
) -> Result<Option<Burn>> {
    let Some(burn) = &flags.limits.burn else { return Ok(None) };
    let end_s = chosen.until.as_ref().map_or_else(|| unix_s(&now), |until| until.unix_s);
    let mut windows = Vec::new();
    for (name, length_s) in &burn.windows {
        let since = Moment { unix_s: end_s - length_s, text: name.clone() };
        let is_later = chosen.since.as_ref().is_none_or(|given| given.unix_s < since.unix_s);
        let since = if is_later { Some(since) } else { chosen.since.clone() };
        let asked = selection::Choice { since, ..chosen.clone() };
        windows.push((name.clone(), selection::choose(connection, &asked, now)?));
    }
    Ok(Some(Burn { target: burn.target, factor: burn.factor, windows }))
}

/// The window that takes in most scopes.
fn longest(burn: &Burn, otherwise: Selection) -> Selection {
    let most = burn.windows.iter().map(|(_, selection)| selection).max_by_key(|selection| selection.scopes());
    most.filter(|selection| !selection.rows.is_empty() || !selection.silent.is_empty()).map_or(
        otherwise,
        |selection| Selection {
            rows: selection.rows.clone(),
            silent: selection.silent.clone(),
            ..Selection::default()
        },
    )
}
