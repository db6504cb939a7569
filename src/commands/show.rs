//! `show`: one request diagnosed.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use rusqlite::types::ValueRef;

use super::{Teller, read_then_open};
use crate::cli::show::{Show, ShowFormat};
use crate::cli::{Global, Subcommand, Targets};
use crate::exit::Exit;
use crate::output::json::write_json;
use crate::output::target::Target;
use crate::output::{Format, diagnosis, sink};
use crate::query::diagnosis::{Match, Understood, diagnose, find};
use crate::query::params::targets;
use crate::selection::resolve_run;
use crate::text::{shell_word, wall_time};

impl Subcommand for Show {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn journals_mut(&mut self) -> Option<&mut Vec<PathBuf>> {
        Some(&mut self.ingest)
    }

    fn targets(&self) -> Targets {
        self.targets.given()
    }
}

fn run(global: &Global, flags: &Show) -> Result<Exit> {
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    let run = flags.run.as_deref().map(|run| resolve_run(&connection, run)).transpose()?;
    let found = find(&connection, &flags.id, run.as_deref())?;
    let mut target = Target::open(None)?;
    match found.matches.as_slice() {
        [] => {
            bail!("no request is called {:?}: a rid, a client id or the beginning of one is wanted", flags.id)
        }
        [only] => {
            let slo =
                targets(&connection, flags.targets.slo.as_deref(), flags.targets.ttft, flags.targets.tpot)?;
            let found = diagnose(&mut connection, only.terminal_id, slo.as_ref())?;
            match flags.format {
                ShowFormat::Text => {
                    let width = target.width();
                    diagnosis::write(target.writer(), &found, width)?;
                }
                ShowFormat::Json => write_json(target.writer(), &found)?,
            }
        }
        several => {
            let is_terminal = target.is_terminal();
            list(target.writer(), several, flags.format, is_terminal)?;
            let which = match found.understood {
                Understood::Whole => "names",
                Understood::Prefix => "begins the ids of",
            };
            let shown = if found.count > several.len() as u64 {
                format!(", of which these are the newest {}", several.len())
            } else {
                String::new()
            };
            Teller::new(global).note(&format!(
                "{:?} {which} {} requests{shown}: show one by its rid or enough of it, give --run, or list others with \
                 `narwhal-jq query requests --client {} --since 1h`",
                flags.id,
                found.count,
                shell_word(&flags.id)
            ));
        }
    }
    target.finish()?;
    Ok(exit)
}

/// So much of a UUID, its first two groups, tells a request from the others; a line of a screen has no room for all of it.
const UUID_CHARS: usize = 36;
const BEGINNING_CHARS: usize = 13;

/// What a request is called on a screen: enough of its id to be shown by.
fn beginning(rid: &str) -> &str {
    let is_uuid = rid.len() == UUID_CHARS && rid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_uuid { &rid[..BEGINNING_CHARS] } else { rid }
}

fn list(out: &mut dyn Write, matches: &[Match], format: ShowFormat, is_terminal: bool) -> Result<()> {
    let format = match format {
        ShowFormat::Text => Format::Table,
        ShowFormat::Json => Format::Json,
    };
    let mut table = sink(format, out, is_terminal)?;
    // The run comes first, to be a heading. A screen has no room for the wall time beside all that.
    let columns = ["run", "rid", "client_rid", "rel_s", "wall", "terminal", "reason", "ttft_s"];
    let is_shown = |at: usize| format == Format::Json || columns[at] != "wall";
    let shown = columns.iter().enumerate().filter(|(at, _)| is_shown(*at));
    table.columns(&shown.map(|(_, name)| (*name).to_owned()).collect::<Vec<_>>())?;
    let is_cut = is_terminal && format == Format::Table;
    for one in matches {
        let wall = one.wall.and_then(wall_time);
        let cells = [
            text(&one.run),
            text(if is_cut { beginning(&one.rid) } else { &one.rid }),
            one.client_rid.as_deref().map_or(ValueRef::Null, text),
            ValueRef::Real(one.rel_s),
            wall.as_deref().map_or(ValueRef::Null, text),
            text(&one.terminal),
            one.reason.as_deref().map_or(ValueRef::Null, text),
            one.ttft_s.map_or(ValueRef::Null, ValueRef::Real),
        ];
        let cells = cells.iter().enumerate().filter(|(at, _)| is_shown(*at));
        table.row(&cells.map(|(_, cell)| *cell).collect::<Vec<_>>())?;
    }
    table.end()
}

fn text(text: &str) -> ValueRef<'_> {
    ValueRef::Text(text.as_bytes())
}
