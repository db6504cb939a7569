//! `show`: one request diagnosed.

use std::io::Write;

use anyhow::{Result, bail};
use rusqlite::types::ValueRef;

use super::{Teller, open_to_read};
use crate::cli::{Global, Show, ShowFormat};
use crate::exit::Exit;
use crate::output::target::Target;
use crate::output::{Format, diagnosis, sink};
use crate::query::diagnosis::{Match, Understood, diagnose, find};
use crate::query::params::targets;
use crate::selection::resolve_run;
use crate::text::json_escaped;

/// So many requests are named when a prefix is not enough.
const MAX_NAMED: usize = 5;

pub(super) fn run(global: &Global, flags: &Show) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let run = flags.run.as_deref().map(|run| resolve_run(&connection, run)).transpose()?;
    let (understood, matches) = find(&connection, &flags.id, run.as_deref())?;
    let mut target = Target::open(None)?;
    match (understood, matches.as_slice()) {
        (_, []) => {
            bail!("no request is called {:?}: a rid, a client id or the beginning of one is wanted", flags.id)
        }
        (_, [only]) => {
            let slo = targets(&connection, flags.slo.as_deref(), flags.ttft, flags.tpot)?;
            let found = diagnose(&mut connection, only.terminal_id, slo.as_ref())?;
            match flags.format {
                ShowFormat::Text => diagnosis::write(target.writer(), &found)?,
                ShowFormat::Json => {
                    let text = serde_json::to_string_pretty(&found).map_err(std::io::Error::from)?;
                    writeln!(target.writer(), "{}", json_escaped(&text))?;
                }
            }
        }
        (Understood::Prefix, several) => {
            let cut = |id: &str| id.chars().take(40).collect::<String>();
            let named: Vec<String> = several.iter().take(MAX_NAMED).map(|one| cut(&one.rid)).collect();
            let more = if several.len() > MAX_NAMED { ", ..." } else { "" };
            bail!(
                "{:?} begins the ids of {} requests: give more of it, or --run ({}{more})",
                flags.id,
                several.len(),
                named.join(", ")
            )
        }
        (Understood::Whole, several) => {
            list(target.writer(), several, flags.format)?;
            let note = format!(
                "{:?} names {} requests: show one by its rid, or with --run",
                flags.id,
                several.len()
            );
            Teller::new(global).note(&note);
        }
    }
    target.finish()?;
    Ok(Exit::Done)
}

fn list(out: &mut dyn Write, matches: &[Match], format: ShowFormat) -> Result<()> {
    let format = match format {
        ShowFormat::Text => Format::Table,
        ShowFormat::Json => Format::Json,
    };
    let mut table = sink(format, out, false)?;
    table.columns(&["run", "rid", "client_rid", "rel_s", "terminal"].map(str::to_owned))?;
    for one in matches {
        let client = one.client_rid.as_deref().map_or(ValueRef::Null, text);
        table.row(&[
            text(&one.run),
            text(&one.rid),
            client,
            ValueRef::Real(one.rel_s),
            text(&one.terminal),
        ])?;
    }
    table.end()
}

fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}
