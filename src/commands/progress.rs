//! How far a long answer is, on a terminal only.

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Teller;

/// Whoever waits for less does not want to be told.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows which share of a selection is done, once an answer takes longer than two seconds.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    is_shown: Cell<bool>,
}

impl Progress {
    pub(super) fn new(teller: Teller, name: &str) -> Self {
        let bar = if teller.is_quiet || !io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{msg}: {percent} % of the selection, {elapsed}");
            ProgressBar::new(PARTS).with_style(style.expect("the template is well formed"))
        };
        Self { bar: bar.with_message(name.to_owned()), started: Instant::now(), is_shown: Cell::new(false) }
    }

    /// Whether it can be seen.
    pub(super) fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// So much is done, 0 to 1.
    pub(super) fn tell(&self, share: f64) {
        if self.started.elapsed() >= PATIENCE {
            self.is_shown.set(true);
            self.bar.set_position((share * PARTS as f64) as u64);
        }
    }

    /// Takes it from the terminal.
    pub(super) fn end(&self) {
        if self.is_shown.get() {
            self.bar.finish_and_clear();
        }
    }
}

const PARTS: u64 = 1000;
