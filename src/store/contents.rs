//! How much is in a database, and how large its file is.

use rusqlite::{Connection, Result};

use super::forgotten;

/// How many rows there are of each kind, as `status` lists them.
///
/// # Errors
/// When the database cannot be read.
pub fn counts(connection: &Connection) -> Result<Vec<(&'static str, i64)>> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
    let mut counts = Vec::new();
    for table in ["runs", "builds", "terminals", "attempt_failures", "events"] {
        counts.push((table, count(&format!("select count(*) from {table}"))?));
    }
    counts.push(("forgotten_runs", forgotten::count(connection)?));
    for kind in ["rejected", "repaired"] {
        counts.push((kind, count(&format!("select count(*) from rejects where kind = '{kind}'"))?));
    }
    Ok(counts)
}

/// Whether the database is in write-ahead mode: somebody writes it, or left it so.
///
/// # Errors
/// When the database cannot be read.
pub fn is_write_ahead(connection: &Connection) -> Result<bool> {
    connection.pragma_query_value(None, "journal_mode", |row| Ok(row.get::<_, String>(0)? == "wal"))
}

/// How many bytes the rows take, but for what was rejected, and their indexes with them.
///
/// # Errors
/// When the database cannot be read.
pub fn bytes_of_rows(connection: &Connection) -> Result<f64> {
    connection.query_row(
        "select (page_count - freelist_count) * page_size
             - (select coalesce(sum(length(raw)), 0) from rejects)
         from pragma_page_count, pragma_freelist_count, pragma_page_size",
        [],
        |row| row.get(0),
    )
}

/// How many bytes of the file are free, and how many it has.
///
/// # Errors
/// When the database cannot be read.
pub fn room(connection: &Connection) -> Result<(i64, i64)> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let page_size = pragma("page_size")?;
    Ok((pragma("freelist_count")? * page_size, pragma("page_count")? * page_size))
}

/// Gives free bytes back to the file system.
///
/// # Errors
/// When the database cannot be written, or there is no room for a copy of it.
pub fn vacuum(connection: &Connection) -> Result<()> {
    connection.execute_batch("vacuum")
}
