//! `export`: stored rows as files.

use std::fs;

use anyhow::{Context, Result};

use super::{Teller, open_to_read};
use crate::cli::{Export, Global};
use crate::exit::Exit;
use crate::output::target::Target;
use crate::store::export;

pub(super) fn run(global: &Global, flags: &Export) -> Result<Exit> {
    let connection = open_to_read(global)?;
    fs::create_dir_all(&flags.dir)
        .with_context(|| format!("cannot make the folder {}", flags.dir.display()))?;
    let path = flags.dir.join(format!("{}.jsonl", flags.what));
    let mut target = Target::open(Some(&path))?;
    let rows = export::write_journal(&connection, target.writer())
        .with_context(|| format!("cannot write {}", path.display()))?;
    target.finish()?;
    Teller::new(global).note(&format!("{}: {rows} rows", path.display()));
    Ok(Exit::Done)
}
