//! The transaction that small files share, and when it ends.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::reading::BATCH_LINES;
use crate::journal::inputs::Input;
use crate::store::sources::{self, Source};
use crate::store::write::Writer;

/// Between two batches the write lock is free for so long that whoever waits for it gets it.
pub(super) const PAUSE: Duration = Duration::from_millis(3);

/// Only files of at most so many bytes are read in a transaction with others before them.
const SMALL: u64 = 1 << 20;

/// And only for so long: others wait for the write lock meanwhile.
const SHARED_FOR: Duration = Duration::from_millis(100);

/// The transaction that small files share: each costs a wait for the disk otherwise, which is most of the time
/// that it takes to read a thousand of them.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// When it was begun, and how many lines were taken in it.
    begun: Option<Instant>,
    pub(super) lines: u64,
    /// The sources as they were when it was begun, and those that were read in it since: to look them all up
    /// for each of many files takes longer than to read those.
    known: Option<Vec<Source>>,
    moved: Vec<i64>,
}

impl Sharing {
    /// One that begins now.
    pub(super) fn begun_now() -> Self {
        Self { begun: Some(Instant::now()), ..Self::default() }
    }

    /// The sources, as the transaction has them.
    pub(super) fn known(&mut self, writer: &Writer<'_>) -> rusqlite::Result<Vec<Source>> {
        let moved = std::mem::take(&mut self.moved);
        match self.known.take() {
            // Outside of a transaction anybody may have moved them.
            Some(mut known) if !writer.connection().is_autocommit() => {
                sources::load_again(writer.connection(), &mut known, &moved)?;
                Ok(known)
            }
            _ => sources::load_all(writer.connection()),
        }
    }

    /// Keeps the sources for the next input.
    pub(super) fn keep(&mut self, known: Vec<Source>) {
        self.known = Some(known);
    }

    /// Says that this source was read in the transaction.
    pub(super) fn moves(&mut self, source_id: Option<i64>) {
        self.moved.extend(source_id);
    }

    /// Commits what is whole, unless the transaction can go on with the next input.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn end_before(&mut self, next: &Input, writer: &Writer<'_>) -> Result<()> {
        let is_small = match next {
            Input::File(path) => path.metadata().is_ok_and(|metadata| metadata.len() <= SMALL),
            // It may make us wait.
            Input::Stdin | Input::Stream(_) => false,
        };
        let is_over = self.begun.is_some_and(|begun| begun.elapsed() > SHARED_FOR);
        if !is_small || is_over || self.lines >= BATCH_LINES {
            let is_committed = self.end(writer)?;
            if is_committed && is_over {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Commits what is whole; whether there was anything to commit.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub(super) fn end(&mut self, writer: &Writer<'_>) -> Result<bool> {
        *self = Self::default();
        let is_open = !writer.connection().is_autocommit();
        if is_open {
            writer.connection().execute_batch("commit")?;
        }
        Ok(is_open)
    }
}
