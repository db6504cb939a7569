//! `config`: the settings in force; and what they mean where journals are named.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rusqlite::types::ValueRef;

use crate::cli::config::Config;
use crate::cli::{Global, Invocation, Origin, Subcommand};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::output::target::Target;
use crate::text::PathText;

/// What a router calls its journal when nobody names it.
const USUAL_JOURNAL: &str = "journal.jsonl";

/// Puts the journals of the settings where their names stand, and where none were named and some are needed.
pub(super) fn find_journals(invocation: &mut Invocation) -> Result<(), Failure> {
    let journals = &invocation.global.settings.journals;
    let subcommand = invocation.command.get_mut();
    let needs_journals = subcommand.needs_journals();
    let Some(paths) = subcommand.journals_mut() else { return Ok(()) };
    if needs_journals && paths.is_empty() {
        paths.extend(journals.values().flatten().cloned());
        if paths.is_empty() && Path::new(USUAL_JOURNAL).is_file() {
            paths.push(PathBuf::from(USUAL_JOURNAL));
        }
        if paths.is_empty() {
            return Err(Failure::usage(format!(
                "which journals? There is no {USUAL_JOURNAL} here, and none in the settings: name files or folders, as in \
                 `narwhal-jq ingest PATH`, or write them into a settings file (`narwhal-jq config --help`)"
            )));
        }
        return Ok(());
    }
    let mut found = Vec::new();
    for path in paths.drain(..) {
        match path.to_str().and_then(|name| journals.get(name)) {
            None => found.push(path),
            Some(_) if path.exists() => {
                let name = path.as_text();
                return Err(Failure::usage(format!(
                    "{name} is a name in the settings, and a file here, too: write ./{name} for the file, or go where there is \
                     none"
                )));
            }
            Some(named) => found.extend(named.iter().cloned()),
        }
    }
    *paths = found;
    Ok(())
}

/// A setting, its value, and where that comes from.
type Row = (String, String, Origin);

impl Subcommand for Config {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }
}

fn run(global: &Global, flags: &Config) -> Result<Exit> {
    let mut target = Target::open(None)?;
    let is_terminal = target.is_terminal();
    let mut rows = output::sink(flags.format, target.writer(), is_terminal)?;
    rows.columns(&["setting", "value", "from"].map(str::to_owned))?;
    for (setting, value, from) in in_force(global) {
        let from = from.to_string();
        rows.row(&[&setting, &value, &from].map(|text| ValueRef::Text(text.as_bytes())))?;
    }
    rows.end()?;
    drop(rows);
    target.finish()?;
    Ok(Exit::Done)
}

fn in_force(global: &Global) -> Vec<Row> {
    let settings = &global.settings;
    let row = |setting: &str, value: String, from| (setting.to_owned(), value, from);
    let shown = |path: &Path| path.as_text().to_string();
    let mut rows = Vec::new();
    let named_by = match (&global.config, global.no_config) {
        (_, true) => Origin::Flag,
        (Some(_), _) => global.config_from,
        (None, _) => Origin::Default,
    };
    let file = settings.file.as_deref().map_or_else(|| "none".to_owned(), shown);
    rows.push(row("settings", file, named_by));
    rows.push(row("database", shown(&global.db), global.db_from));
    let variable = std::env::var_os("NARWHAL_JQ_QUERIES").filter(|folder| !folder.is_empty());
    rows.push(match (variable, &settings.queries) {
        (Some(folder), _) => row("queries", shown(Path::new(&folder)), Origin::Environment),
        (None, Some(folder)) => row("queries", shown(folder), Origin::File),
        (None, None) => row("queries", "none".to_owned(), Origin::Default),
    });
    let color = format!("{:?}", global.color).to_lowercase();
    rows.push(row("color", color, global.color_from));
    let selection = settings.selection.join(" ");
    rows.push(match selection.is_empty() {
        true => row("selection", "everything".to_owned(), Origin::Default),
        false => row("selection", selection, Origin::File),
    });
    for (name, paths) in &settings.journals {
        rows.extend(paths.iter().map(|path| row(&format!("journal {name}"), shown(path), Origin::File)));
    }
    if settings.journals.is_empty() {
        rows.push(row("journal", USUAL_JOURNAL.to_owned(), Origin::Default));
    }
    rows
}
