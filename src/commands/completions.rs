//! `completions`: what makes a shell complete the program.

use std::io::Write;

use anyhow::Result;

use crate::cli::{Completions, completion_script};
use crate::exit::Exit;
use crate::output::stdout::stdout;

pub(super) fn run(flags: &Completions) -> Result<Exit> {
    stdout().write_all(completion_script(&flags.shell)?.as_bytes())?;
    Ok(Exit::Done)
}
