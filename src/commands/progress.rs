//! How far a long answer is, on a terminal only.

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use rusqlite::types::{Value, ValueRef};

use super::Teller;
use crate::output::screen;
use crate::query::kind::ColumnKind;
use crate::query::run::{Sink, kept};

/// Whoever waits for less does not want to be told.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows which share of a selection is done, once an answer takes longer than two seconds.
pub(super) struct AnswerProgress {
    bar: ProgressBar,
    started: Instant,
    is_shown: Cell<bool>,
    is_over: Cell<bool>,
}

impl AnswerProgress {
    pub(super) fn new(teller: Teller, name: &str) -> Self {
        let bar = if teller.is_quiet || !io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{msg}: {percent} % of the selection, {elapsed}");
            ProgressBar::new(PARTS).with_style(style.expect("the template is well formed"))
        };
        Self {
            bar: bar.with_message(name.to_owned()),
            started: Instant::now(),
            is_shown: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    /// Whether it can be seen.
    pub(super) fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// So much is done, 0 to 1.
    pub(super) fn tell(&self, share: f64) {
        if self.started.elapsed() >= PATIENCE && !self.is_over.get() {
            self.is_shown.set(true);
            self.bar.set_position((share * PARTS as f64) as u64);
        }
    }

    /// Has rows that go to the same terminal wait in front of `sink` until all of the selection is done: a line of
    /// theirs and the share would stand in one place.
    pub(super) fn before<'a>(&'a self, sink: &'a mut dyn Sink) -> Waiting<'a> {
        let waits = self.is_seen() && screen::is_stdout_terminal();
        Waiting { progress: self, sink, names: Vec::new(), rows: Vec::new(), waits }
    }

    /// Takes it from the terminal, for good.
    pub(super) fn end(&self) {
        if !self.is_over.replace(true) && self.is_shown.get() {
            self.bar.finish_and_clear();
        }
    }
}

const PARTS: u64 = 1000;

/// A longer answer is shown as it comes, without a share from then on.
const MAX_WAITING: usize = 10_000;

/// The rows of an answer that is not there as a whole yet.
pub(super) struct Waiting<'a> {
    progress: &'a AnswerProgress,
    sink: &'a mut dyn Sink,
    names: Vec<String>,
    rows: Vec<Vec<Value>>,
    waits: bool,
}

impl Waiting<'_> {
    fn release(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        self.progress.end();
        self.sink.columns(&self.names)?;
        for row in std::mem::take(&mut self.rows) {
            self.sink.row(&row.iter().map(ValueRef::from).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl Sink for Waiting<'_> {
    fn kinds(&mut self, kinds: &[ColumnKind]) {
        self.sink.kinds(kinds);
    }

    fn columns(&mut self, names: &[String]) -> Result<()> {
        if self.waits {
            self.names = names.to_vec();
            return Ok(());
        }
        self.sink.columns(names)
    }

    fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
        if self.waits && self.rows.len() < MAX_WAITING {
            self.rows.push(cells.iter().copied().map(kept).collect());
            return Ok(());
        }
        self.release()?;
        self.sink.row(cells)
    }

    fn end(&mut self) -> Result<()> {
        self.release()?;
        self.sink.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen {
        names: Vec<String>,
        rows: Vec<i64>,
        is_over: bool,
    }

    impl Sink for Seen {
        fn columns(&mut self, names: &[String]) -> Result<()> {
            self.names = names.to_vec();
            Ok(())
        }

        fn row(&mut self, cells: &[ValueRef<'_>]) -> Result<()> {
            assert_eq!(self.names, ["n"]);
            self.rows.push(cells[0].as_i64()?);
            Ok(())
        }

        fn end(&mut self) -> Result<()> {
            self.is_over = true;
            Ok(())
        }
    }

    #[test]
    fn rows_wait_for_the_end_unless_there_are_many_and_keep_their_order() -> Result<()> {
        for (count, before_the_end) in [(0, 0), (7, 0), (MAX_WAITING, 0), (MAX_WAITING + 2, MAX_WAITING + 2)]
        {
            let bar = ProgressBar::hidden();
            let (is_shown, is_over) = (Cell::new(true), Cell::new(false));
            let progress = AnswerProgress { bar, started: Instant::now(), is_shown, is_over };
            let mut seen = Seen::default();
            let (names, rows) = (Vec::new(), Vec::new());
            let mut waiting = Waiting { progress: &progress, sink: &mut seen, names, rows, waits: true };
            waiting.columns(&["n".to_owned()])?;
            for row in 0..count {
                waiting.row(&[ValueRef::Integer(row as i64)])?;
            }
            assert_eq!(count - waiting.rows.len(), before_the_end);
            waiting.end()?;
            assert!(progress.is_over.get() && seen.is_over);
            assert_eq!(seen.names, ["n"]);
            assert!(seen.rows.into_iter().eq(0..count as i64));
        }
        Ok(())
    }
}
