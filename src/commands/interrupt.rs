//! Ctrl-C while an answer is written: its temporary file goes, and the program ends. While the database
//! is written: the transaction is undone.
//!
//! Where no thread can be started that waits for signals, it is done without: the program ends as it would by
//! itself, or what is done is looked at between two steps only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use anyhow::{Context, Result};
use rusqlite::Connection;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;

use crate::exit::Exit;
use crate::output::target;

/// What ends a program that does not heed it, and can be heeded.
pub(super) const ENDING: [i32; 10] =
    [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU];

/// From now on a file that may grow no further is an error to who writes it, as a full disk is, and not the end of
/// the program.
pub(super) fn outlive_file_limit() -> Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot watch for SIGXFSZ")?;
    Ok(())
}

/// From now on a signal ends the program, with nothing left of an unfinished answer. SQLite's work is
/// not waited for: it only reads here.
pub(super) fn end_on_signal() -> Result<()> {
    on_signal(&ENDING, || {
        target::abandon();
        // The one exit below `main`: it is blocked in SQLite or in a write.
        std::process::exit(Exit::Interrupted as i32);
    })?;
    Ok(())
}

/// From now on a signal is remembered, and interrupts what SQLite is doing: its statement fails, and the
/// transaction can be undone.
pub(super) fn interrupt_on_signal(connection: &Connection) -> Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (stop, statement) = (Arc::clone(&is_stopped), connection.get_interrupt_handle());
    let signals = [SIGHUP, SIGINT, SIGTERM];
    let is_watched = on_signal(&signals, move || {
        stop.store(true, Ordering::Relaxed);
        statement.interrupt();
    })?;
    if !is_watched {
        for signal in signals {
            signal_hook::flag::register(signal, Arc::clone(&is_stopped))
                .context("cannot watch for Ctrl-C")?;
        }
    }
    Ok(is_stopped)
}

/// Has a thread act on each of these signals; whether there is one.
fn on_signal(signals: &[i32], mut act: impl FnMut() + Send + 'static) -> Result<bool> {
    // First the thread: a signal that is watched for and acted on by nobody would be lost.
    let (give, taken) = channel::<Signals>();
    let thread = std::thread::Builder::new().spawn(move || {
        if let Ok(mut signals) = taken.recv() {
            signals.forever().for_each(|_| act());
        }
    });
    if thread.is_err() {
        return Ok(false);
    }
    let signals = Signals::new(signals).context("cannot watch for Ctrl-C")?;
    Ok(give.send(signals).is_ok())
}
