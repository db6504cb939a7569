//! `completions`: what makes a shell complete the program.

use std::io::Write;

use anyhow::Result;

use crate::cli::completions::Completions;
use crate::cli::{Global, Subcommand, completion_script};
use crate::exit::Exit;
use crate::output::stdout::stdout;

impl Subcommand for Completions {
    fn execute(&self, _: &Global) -> Result<Exit> {
        run(self)
    }
}

fn run(flags: &Completions) -> Result<Exit> {
    stdout().write_all(completion_script(&flags.shell)?.as_bytes())?;
    Ok(Exit::Done)
}
