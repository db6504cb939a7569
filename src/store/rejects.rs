//! What was rejected, for reading it again. The writer puts it there.

use rusqlite::{Connection, Result, params};

/// Everything in `rejects`, in the order of the files. Places read `path:line:byte`, the byte counted in the file.
pub const LIST: &str = "
select
    s.path || ':' || r.line_no || ':' || r.byte_offset as place,
    r.kind as kind,
    r.len_bytes as len_bytes,
    r.reason as reason,
    r.raw as raw
from rejects as r
join sources as s on s.source_id = r.source_id
order by r.source_id, r.byte_offset, r.kind";

/// An entry of `rejects` that gave no row.
#[derive(Debug, Clone)]
pub struct Rejected {
    /// The line's number, from 1.
    pub line_no: u64,
    /// The offset of its first byte.
    pub byte_offset: u64,
    /// How many bytes it has.
    pub len_bytes: u64,
    /// What was wrong with them.
    pub reason: String,
    /// The bytes, or as many as were kept.
    pub raw: Vec<u8>,
}

/// How many entries gave no row.
///
/// # Errors
/// When the database cannot be read.
pub fn count(connection: &Connection) -> Result<u64> {
    connection.query_row("select count(*) from rejects where kind = 'rejected'", [], |row| row.get(0))
}

/// Up to `limit` rejected entries of a source, in its order, from an offset.
///
/// # Errors
/// When the database cannot be read.
pub fn load_from(connection: &Connection, source_id: i64, offset: u64, limit: u64) -> Result<Vec<Rejected>> {
    let mut find = connection.prepare_cached(
        "select line_no, byte_offset, len_bytes, reason, raw from rejects
         where source_id = ?1 and byte_offset >= ?2 and kind = 'rejected'
         order by byte_offset limit ?3",
    )?;
    let rows = find.query_map(params![source_id, offset, limit], |row| {
        Ok(Rejected {
            line_no: row.get(0)?,
            byte_offset: row.get(1)?,
            len_bytes: row.get(2)?,
            reason: row.get(3)?,
            raw: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// Removes the rejected entry at an offset.
///
/// # Errors
/// When the database cannot be written.
pub fn remove(connection: &Connection, source_id: i64, byte_offset: u64) -> Result<()> {
    connection
        .prepare_cached(
            "delete from rejects where source_id = ?1 and byte_offset = ?2 and kind = 'rejected'",
        )?
        .execute(params![source_id, byte_offset])?;
    Ok(())
}

/// Gives the rejected entry at an offset another reason.
///
/// # Errors
/// When the database cannot be written.
pub fn set_reason(connection: &Connection, source_id: i64, byte_offset: u64, reason: &str) -> Result<()> {
    connection
        .prepare_cached(
            "update rejects set reason = ?3 where source_id = ?1 and byte_offset = ?2 and kind = 'rejected'",
        )?
        .execute(params![source_id, byte_offset, reason])?;
    Ok(())
}
