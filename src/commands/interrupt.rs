//! Ctrl-C while an answer is written: its temporary file goes, and the program ends. While the database
//! is written: the transaction is undone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rusqlite::Connection;
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

/// From now on a signal is remembered, and interrupts what SQLite is doing: its statement fails, and the
/// transaction can be undone.
pub(super) fn interrupt_on_signal(connection: &Connection) -> Result<Arc<AtomicBool>> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("cannot watch for Ctrl-C")?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (stop, statement) = (Arc::clone(&is_stopped), connection.get_interrupt_handle());
    std::thread::spawn(move || {
        for _ in signals.forever() {
            stop.store(true, Ordering::Relaxed);
            statement.interrupt();
        }
    });
    Ok(is_stopped)
}
