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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::store;

    fn database() -> (TempDir, Connection) {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let database = store::open_to_write(&folder.path().join("narwhal.db"), Duration::ZERO);
        (folder, database.expect("it can be made"))
    }

    fn file(folder: &Path, len: u64) -> Input {
        let path = folder.join(len.to_string());
        File::create(&path).and_then(|file| file.set_len(len)).expect("it can be made");
        Input::File(path)
    }

    #[test]
    fn only_small_files_share_a_transaction_and_only_for_so_long_and_so_many_lines() {
        let (folder, connection) = database();
        let folder = folder.path();
        let mut writer = Writer::new(&connection).expect("the tables are there");
        let (now, long_ago) = (Duration::ZERO, SHARED_FOR * 2);
        let small = || file(folder, SMALL);
        for (next, lines, ago, goes_on) in [
            (small(), 0, now, true),
            (small(), BATCH_LINES - 1, now, true),
            (file(folder, SMALL + 1), 0, now, false),
            (Input::File(folder.join("nothing")), 0, now, false),
            (Input::Stdin, 0, now, false),
            // Whatever the shell has opened, though it could be a small file.
            (Input::Stream(folder.join(SMALL.to_string())), 0, now, false),
            (small(), BATCH_LINES, now, false),
            (small(), 0, long_ago, false),
        ] {
            writer.begin().expect("nobody else writes");
            let begun = Instant::now().checked_sub(ago);
            let mut sharing = Sharing { begun, lines, ..Sharing::default() };
            let asked = Instant::now();
            sharing.end_before(&next, &writer).expect("nobody else writes");
            let is_open = !connection.is_autocommit();
            assert_eq!(is_open, goes_on, "{next:?} after {lines} lines and {ago:?}");
            assert_eq!(sharing.begun.is_some(), goes_on, "{next:?}");
            assert_eq!(sharing.lines, if goes_on { lines } else { 0 }, "{next:?}");
            // Whoever waited meanwhile is let in.
            assert!(ago == now || asked.elapsed() >= PAUSE);
            if is_open {
                sharing.end(&writer).expect("nobody else writes");
            }
        }
    }

    #[test]
    fn sources_are_known_as_the_transaction_has_them_and_anew_in_the_next() {
        let (_folder, connection) = database();
        let mut writer = Writer::new(&connection).expect("the tables are there");
        let mut sharing = Sharing::begun_now();
        let add = |path: &str| sources::insert(&connection, path, None).expect("nobody else writes");
        let paths = |known: &[Source]| -> Vec<String> {
            let mut paths: Vec<String> = known.iter().map(|source| source.path.clone()).collect();
            paths.sort();
            paths
        };
        add("a");
        writer.begin().expect("nobody else writes");
        let known = sharing.known(&writer).expect("it can be read");
        assert_eq!(paths(&known), ["a"]);
        sharing.keep(known);
        sharing.moves(Some(add("b")));
        sharing.moves(None);
        let known = sharing.known(&writer).expect("it can be read");
        assert_eq!(paths(&known), ["a", "b"]);
        sharing.keep(known);
        assert!(sharing.end(&writer).expect("nobody else writes"));
        assert!(!sharing.end(&writer).expect("there is nothing to commit"));
        // As another process does, between two transactions.
        add("c");
        writer.begin().expect("nobody else writes");
        assert_eq!(paths(&sharing.known(&writer).expect("it can be read")), ["a", "b", "c"]);
        // And what was kept without a transaction is not gone by.
        sharing.end(&writer).expect("nobody else writes");
        let known = sharing.known(&writer).expect("it can be read");
        sharing.keep(known);
        add("d");
        assert_eq!(paths(&sharing.known(&writer).expect("it can be read")), ["a", "b", "c", "d"]);
    }
}
