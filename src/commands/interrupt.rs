//! Ctrl-C while an answer is written: its temporary file goes, and the program ends. While the database
//! is written: the transaction is undone, or what is whole of it committed.
//!
//! A signal that the program was started with as ignored stays so: `nohup` and a script's background jobs
//! mean that. Where no thread can be started that waits for signals, it is done without: the program ends as it
//! would by itself, or what is done is looked at between two steps only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator;
use signal_hook::iterator::backend::Handle;

use crate::exit::Exit;
use crate::output::target;
use crate::stdio;
use crate::store;

/// So long after the first signal the next one still means the same: a service manager and a terminal send
/// several, and what is whole is being committed. A later one ends the program at once.
const GRACE: Duration = Duration::from_secs(5);

/// No line takes so long.
const A_LINE: Duration = Duration::from_secs(1);

/// What asks a program to end.
const ASKING: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// What ends a program that does not heed it, and can be heeded.
const ENDING: [i32; 10] =
    [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU];

/// The signals that end the program.
fn ending() -> Vec<i32> {
    heeded(&ENDING)
}

/// Those of the signals that the program was not started with as ignored.
fn heeded(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored_at_start();
    signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// The signals that are ignored, a bit each, where the system tells. Those that were heeded never are.
fn ignored_at_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Has a thread act on each of these signals until the handle is closed; none where there can be no thread.
fn on_signal(signals: &[i32], mut act: impl FnMut(i32) + Send + 'static) -> Result<Option<Handle>> {
    // First the thread: a signal that is watched for and acted on by nobody would be lost.
    let (give, taken) = channel::<iterator::Signals>();
    let started = thread::Builder::new().spawn(move || {
        if let Ok(mut signals) = taken.recv() {
            signals.forever().for_each(&mut act);
        }
    });
    if started.is_err() {
        return Ok(None);
    }
    let signals = iterator::Signals::new(signals).context(CANNOT_WATCH)?;
    let handle = signals.handle();
    Ok(give.send(signals).is_ok().then_some(handle))
}

const CANNOT_WATCH: &str = "cannot watch for Ctrl-C";

/// Has each of these signals set a flag.
fn note_signals(signals: &[i32], flag: &Arc<AtomicBool>) -> Result<()> {
    for signal in signals {
        signal_hook::flag::register(*signal, Arc::clone(flag)).context(CANNOT_WATCH)?;
    }
    Ok(())
}

/// From now on a file that may grow no further is an error to who writes it, as a full disk is, and not the end of
/// the program.
pub(super) fn outlive_file_limit() -> Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot watch for SIGXFSZ")?;
    Ok(())
}

/// From now on a signal ends the program, with nothing left of an unfinished answer. SQLite's work is
/// not waited for: it only reads here.
pub(super) fn end_on_signal() -> Result<()> {
    on_signal(&ending(), |_| {
        target::abandon();
        // The one exit below `main`: it is blocked in SQLite or in a write.
        std::process::exit(Exit::Interrupted as i32);
    })?;
    Ok(())
}

/// From now on a signal is remembered, for who looks at it line by line. Whoever waits for a stream that nobody writes
/// to does not look: it is ended as by [`end_on_signal`].
pub(super) fn stop_on_signal(ended: impl Fn() + Send + 'static) -> Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_stopped);
    let watched = on_signal(&ending(), move |_| {
        stop.store(true, Ordering::Relaxed);
        thread::sleep(A_LINE);
        target::abandon();
        ended();
        std::process::exit(Exit::Interrupted as i32);
    })?;
    if watched.is_none() {
        note_signals(&ending(), &is_stopped)?;
    }
    Ok(is_stopped)
}

/// From now on a signal is remembered, and interrupts what SQLite is doing: its statement fails, and the
/// transaction can be undone.
pub(super) fn interrupt_on_signal(connection: &Connection) -> Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let (stop, statement) = (Arc::clone(&is_stopped), connection.get_interrupt_handle());
    let signals = heeded(&ASKING);
    let watched = on_signal(&signals, move |_| {
        stop.store(true, Ordering::Relaxed);
        store::stop_waiting();
        stdio::stop_waiting();
        statement.interrupt();
    })?;
    if watched.is_none() {
        note_signals(&signals, &is_stopped)?;
    }
    Ok(is_stopped)
}

/// Signals that ask an ingest to stop, for as long as this lives.
pub(super) struct Signals {
    /// Whether one came.
    pub stop: Arc<AtomicBool>,
    handle: Option<Handle>,
}

impl Signals {
    /// From now on a signal asks to stop; one that comes much later ends the program.
    pub(super) fn heed() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let mut first = None;
        let signals = heeded(&ASKING);
        let handle = on_signal(&signals, move |signal| {
            asked.store(true, Ordering::Relaxed);
            store::stop_waiting();
            stdio::stop_waiting();
            if first.get_or_insert_with(Instant::now).elapsed() > GRACE {
                // It does not come back, where the system allows that.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        })?;
        if handle.is_none() {
            note_signals(&signals, &stop)?;
        }
        Ok(Self { stop, handle })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}
