//! Ctrl-C while an answer is written: its temporary file goes, and the program ends.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::output::target;

/// From now on a signal ends the program, with nothing left of an unfinished answer. SQLite's work is
/// not waited for: it only reads here.
pub(super) fn end_on_signal() -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot watch for Ctrl-C")?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            target::abandon();
            // The one exit below `main`: it is blocked in SQLite or in a write.
            std::process::exit(Exit::Interrupted as i32);
        }
    });
    Ok(())
}
