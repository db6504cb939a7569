//! Compressed journals that were read to their end.
//!
//! Where an archive stands in the journal it holds can only be found by unpacking it. That is done once:
//! after that its own bytes tell it, its length and both its ends.

use std::fs::File;
use std::io;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::sources::{hash, read_at_most};
use crate::journal::lines::FINGERPRINT_LEN;

/// What tells one compressed file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    len: i64,
    head_hash: i64,
    tail_hash: i64,
}

impl Archive {
    /// The archive that a file holds.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(file: &File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let part = len.min(FINGERPRINT_LEN as u64);
        Ok(Self {
            len: len.cast_signed(),
            head_hash: hash(&read_at_most(file, 0, part)?),
            tail_hash: hash(&read_at_most(file, len - part, part)?),
        })
    }

    /// The source of which the archive holds no more than was read.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn source_id(&self, connection: &Connection) -> Result<Option<i64>> {
        connection
            .prepare_cached(
                "select source_id from archives where len_bytes = ?1 and head_hash = ?2 and tail_hash = ?3",
            )?
            .query_row([self.len, self.head_hash, self.tail_hash], |row| row.get(0))
            .optional()
    }

    /// Whether it was read to its end, and is not to be read again.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn is_read(&self, connection: &Connection) -> Result<bool> {
        let Some(source_id) = self.source_id(connection)? else { return Ok(false) };
        connection
            .prepare_cached("select not exists (select 1 from rereads where source_id = ?1)")?
            .query_row([source_id], |row| row.get(0))
    }

    /// Remembers that the archive was read to its end, under the name that the source has now.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub fn remember(&self, connection: &Connection, source_id: i64, path: &str) -> Result<()> {
        connection.execute(
            "insert into archives (len_bytes, head_hash, tail_hash, source_id) values (?1, ?2, ?3, ?4)
             on conflict (len_bytes, head_hash, tail_hash) do nothing",
            params![self.len, self.head_hash, self.tail_hash, source_id],
        )?;
        connection.execute("update sources set path = ?2 where source_id = ?1", params![source_id, path])?;
        Ok(())
    }
}
