//! Ctrl-C while an answer is written: its temporary file goes, and the program ends. While the database
//! is written: the transaction is undone, or what is whole of it committed.
//!
//! A signal that the program was started with as ignored stays so: `nohup` and a script's background jobs
//! mean that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;
use signal_hook::iterator::backend::Handle;

use crate::exit::Exit;
use crate::output::target;
use crate::store;

/// So long after the first signal the next one still means the same: a service manager and a terminal send
/// several, and what is whole is being committed. A later one ends the program at once.
const GRACE: Duration = Duration::from_secs(5);

/// The signals that end the program.
pub(super) fn heeded() -> Vec<i32> {
    let ignored = ignored_at_start();
    [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// The signals that are ignored, a bit each, where the system tells. Those that were heeded never are.
fn ignored_at_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Watches for signals on a thread of its own, until `take` has had enough or the handle is closed.
fn watch(mut take: impl FnMut(i32) + Send + 'static) -> Result<Handle> {
    let watching = || -> std::io::Result<Handle> {
        let mut signals = iterator::Signals::new(heeded())?;
        let handle = signals.handle();
        thread::Builder::new().spawn(move || signals.forever().for_each(&mut take))?;
        Ok(handle)
    };
    watching().context("cannot watch for Ctrl-C")
}

/// From now on a signal ends the program, with nothing left of an unfinished answer. SQLite's work is
/// not waited for: it only reads here.
pub(super) fn end_on_signal() -> Result<()> {
    watch(|_| {
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
    watch(move |_| {
        stop.store(true, Ordering::Relaxed);
        store::stop_waiting();
        statement.interrupt();
    })?;
    Ok(is_stopped)
}

/// Signals that ask an ingest to stop, for as long as this lives.
pub(super) struct Signals {
    /// Whether one came.
    pub stop: Arc<AtomicBool>,
    handle: Handle,
}

impl Signals {
    /// From now on a signal asks to stop; one that comes much later ends the program.
    pub(super) fn heed() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let mut first = None;
        let handle = watch(move |signal| {
            asked.store(true, Ordering::Relaxed);
            store::stop_waiting();
            if first.get_or_insert_with(Instant::now).elapsed() > GRACE {
                // It does not come back, where the system allows that.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        Ok(Self { stop, handle })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}
