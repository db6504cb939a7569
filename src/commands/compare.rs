//! `compare`: two selections side by side.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::Utc;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::{Teller, open_target, open_to_read};
use crate::cli::{Compare, Global};
use crate::exit::{Exit, Failure};
use crate::output::sink;
use crate::query::compare::{COLUMNS, Figure, compare, sides};
use crate::query::params::targets;
use crate::selection::{self, Selection, expression};

pub(super) fn run(global: &Global, flags: &Compare) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let teller = Teller::new(global);
    let [a, b] = [&flags.a, &flags.b];
    let sides = sides(side(&connection, a, teller)?, side(&connection, b, teller)?);
    let slo = targets(&connection, flags.slo.as_deref(), flags.ttft, flags.tpot)?;
    let (figures, caveats) = compare(&mut connection, &sides, slo.as_ref())?;

    let mut target = open_target(&connection, flags.output.output.as_deref())?;
    let is_terminal = target.is_terminal();
    {
        let mut table = sink(flags.output.format, target.writer(), is_terminal)?;
        table.columns(&COLUMNS.map(str::to_owned))?;
        for figure in &figures {
            let cells: [Value; 7] = figure.into();
            table.row(&cells.each_ref().map(ValueRef::from))?;
        }
        table.end()?;
    }
    target.finish()?;
    teller.note(&format!("a is {a}, b is {b}; difference is b - a; n is requests, of failure rates legs"));
    if let Some(thin) = thin_percentiles(&figures) {
        teller.warn(&format!("these rest on too few requests to mean anything: {thin}"));
    }
    for caveat in caveats {
        teller.note(&caveat);
    }
    if slo.is_none() {
        teller.note("no attainment: give --ttft and --tpot, or save targets with `narwhal-jq slo set`");
    }
    Ok(Exit::Done)
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
        teller.note(&format!("{text}: {note}"));
    }
    Ok(selection)
}

/// The percentiles that rest on too few requests, by how many they need.
fn thin_percentiles(figures: &[Figure]) -> Option<String> {
    let mut by_need: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for figure in figures {
        if let Some(needs) = figure.needs {
            by_need.entry(needs).or_default().push(&figure.metric);
        }
    }
    let groups = by_need.iter().map(|(needs, metrics)| format!("{} (needs {needs})", metrics.join(", ")));
    let groups: Vec<String> = groups.collect();
    (!groups.is_empty()).then(|| groups.join("; "))
}
