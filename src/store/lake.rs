//! What a lake takes from the tables: the rows of one run after the other (see `runs`), with keys that stay and wall times.
//!
//! `run_id`, `terminal_id` and `event_id` are given again after runs were forgotten, and rows that moved out must stay
//! apart from those that came later. So a lake has keys that are made of what never changes: the name of the run,
//! and the place where a row stood.

mod runs;

use anyhow::{Context, Result, ensure};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use xxhash_rust::xxh3::xxh3_64;

use self::runs::Wall;
pub use self::runs::{Behind, RunTally, StoredRun, behind, knows, runs, state};

/// A table that a lake holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the tables are")]
pub enum Table {
    Terminals,
    AttemptFailures,
    Events,
    Runs,
    Builds,
    Sources,
    Slos,
}

impl Table {
    /// Those that grow with the requests: a folder a day.
    pub const DAILY: [Self; 3] = [Self::Terminals, Self::AttemptFailures, Self::Events];
    /// The others.
    pub const WHOLE: [Self; 4] = [Self::Runs, Self::Builds, Self::Sources, Self::Slos];

    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminals => "terminals",
            Self::AttemptFailures => "attempt_failures",
            Self::Events => "events",
            Self::Runs => "runs",
            Self::Builds => "builds",
            Self::Sources => "sources",
            Self::Slos => "slos",
        }
    }

    /// The wall times that are added, each with the column that is on the monotonic clock.
    fn wall_times(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Terminals => &[("arrived_wall", "arrived")],
            Self::AttemptFailures | Self::Events => &[("at_wall", "at")],
            Self::Runs => &[("first_wall", "first_s"), ("last_wall", "last_s")],
            Self::Builds | Self::Sources | Self::Slos => &[],
        }
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Counts, keys, flags.
    Int,
    /// Seconds, mostly.
    Real,
    /// Names, labels, JSON.
    Text,
    /// Microseconds since 1970, UTC, as an integer.
    Wall,
}

/// A column of a table in a lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LakeColumn {
    /// Its name, as in the table.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it may be null.
    pub is_nullable: bool,
}

/// The columns of a table in their order, the added ones at the end.
///
/// # Errors
/// When the database cannot be read.
pub fn columns(connection: &Connection, table: Table) -> Result<Vec<LakeColumn>> {
    let mut find = connection
        .prepare("select name, type, \"notnull\" = 0 and pk = 0 from pragma_table_info(?1) order by cid")?;
    let read = |row: &Row<'_>| {
        let kind = match row.get_ref(1)?.as_str()?.to_ascii_lowercase().as_str() {
            "integer" => ColumnType::Int,
            "real" => ColumnType::Real,
            _ => ColumnType::Text,
        };
        Ok(LakeColumn { name: row.get(0)?, kind, is_nullable: row.get(2)? })
    };
    let mut columns: Vec<LakeColumn> =
        find.query_map([table.name()], read)?.collect::<rusqlite::Result<_>>()?;
    let added = |name: &str, kind| LakeColumn { name: name.to_owned(), kind, is_nullable: true };
    columns.extend(table.wall_times().iter().map(|(name, _)| added(name, ColumnType::Wall)));
    if Table::DAILY.contains(&table) {
        columns.extend([added("wall_error_s", ColumnType::Real), added("wall_basis", ColumnType::Text)]);
    }
    Ok(columns)
}

/// The key of a run in a lake, by its name.
pub fn run_key(run: &str) -> i64 {
    (xxh3_64(run.as_bytes()) & i64::MAX as u64).cast_signed()
}

/// A row's key has so many bits for the place in its source, 1 TiB, and the rest for the source.
const OFFSET_BITS: u32 = 40;

/// Whoever takes rows, a cell a column. In `attempt_failures` and `events` the id of the client follows, which a
/// redaction must know: it can stand in a text.
pub type Take<'t> = &'t mut dyn FnMut(&[ValueRef<'_>]) -> Result<()>;

/// Gives the rows that a run has in a table: requests by arrival, events by their place in time.
///
/// # Errors
/// When the database cannot be read, or a row is not taken.
pub fn each_row_of(
    connection: &Connection,
    table: Table,
    columns: &[LakeColumn],
    run: &StoredRun,
    take: Take<'_>,
) -> Result<()> {
    let (from, order) = match table {
        Table::Terminals => ("terminals as t where t.run_id = ?1", "t.arrived, t.rid"),
        Table::AttemptFailures => (
            // By the order it asks for, SQLite would take an index that leads through every wide row.
            "terminals as t indexed by terminals_with_failures cross join attempt_failures as f
             where t.run_id = ?1 and t.attempt_failures > 0 and f.terminal_id = t.terminal_id",
            "t.arrived, t.rid, f.position",
        ),
        Table::Events => {
            ("events as e where e.run_id = ?1", "e.place_s nulls first, e.source_id, e.byte_offset")
        }
        _ => ("runs as r where r.run_id = ?1", "r.run"),
    };
    let client = match table {
        Table::AttemptFailures => ", t.client_rid",
        Table::Events => ", json_extract(e.detail, '$.client_rid')",
        _ => "",
    };
    let sql = format!("select {}{client} from {from} order by {order}", listed(table, columns));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![run.run_id, run_key(&run.run)])?;
    give(table, columns, &mut rows, Some(run), take)
}

/// Gives the rows of a table that is no run's.
///
/// # Errors
/// As [`each_row_of`].
pub fn each_row(connection: &Connection, table: Table, columns: &[LakeColumn], take: Take<'_>) -> Result<()> {
    let sql = format!("select {} from {} order by 1", listed(table, columns), table.name());
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    give(table, columns, &mut rows, None, take)
}

/// The columns of a table as a statement selects them; those that are added are worked out later.
fn listed(table: Table, columns: &[LakeColumn]) -> String {
    let (rows, place) = match table {
        Table::Terminals => ("t.", "t.source_id << 40 | t.byte_offset"),
        Table::AttemptFailures => ("f.", "t.source_id << 40 | t.byte_offset"),
        Table::Events => ("e.", "e.source_id << 40 | e.byte_offset"),
        Table::Runs => ("r.", ""),
        _ => ("", ""),
    };
    let stored = columns.len() - added(table);
    let listed: Vec<String> = columns[..stored]
        .iter()
        .map(|column| match column.name.as_str() {
            "terminal_id" | "event_id" => place.to_owned(),
            "run_id" => "?2".to_owned(),
            name => format!("{rows}\"{name}\""),
        })
        .collect();
    listed.join(", ")
}

/// How many columns a lake adds to a table.
fn added(table: Table) -> usize {
    table.wall_times().len() + if Table::DAILY.contains(&table) { 2 } else { 0 }
}

/// Gives the rows of a statement with the added columns.
fn give(
    table: Table,
    columns: &[LakeColumn],
    rows: &mut rusqlite::Rows<'_>,
    run: Option<&StoredRun>,
    take: Take<'_>,
) -> Result<()> {
    let stored = columns.len() - added(table);
    let at = |name: &str| columns.iter().position(|column| column.name == name);
    let clocks: Vec<usize> = table.wall_times().iter().filter_map(|(_, name)| at(name)).collect();
    let own_clock = if table == Table::Events { at("clock") } else { None };
    let wall = run.map(|run| run.wall.clone()).unwrap_or_default();
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(columns.len());
        for at in 0..stored {
            cells.push(row.get_ref(at)?);
        }
        let clock = own_clock.map_or("monotonic", |at| cells[at].as_str().unwrap_or_default());
        let wall = match clock {
            "monotonic" => wall.clone(),
            "wall" => Wall { offset_s: Some(0.0), error_s: Some(0.0), basis: Some("own".to_owned()) },
            _ => Wall::default(),
        };
        for clock in &clocks {
            let time = match (cells[*clock], wall.offset_s) {
                (ValueRef::Real(time_s), Some(offset_s)) => micros(time_s + offset_s),
                _ => None,
            };
            cells.push(time.map_or(ValueRef::Null, ValueRef::Integer));
        }
        if Table::DAILY.contains(&table) {
            let is_known = cells.last().is_some_and(|time| *time != ValueRef::Null);
            let basis = wall.basis.as_ref().filter(|_| is_known);
            cells.push(wall.error_s.filter(|_| is_known).map_or(ValueRef::Null, ValueRef::Real));
            cells.push(basis.map_or(ValueRef::Null, |basis| ValueRef::Text(basis.as_bytes())));
        }
        if has_client(table) {
            cells.push(row.get_ref(stored)?);
        }
        take(&cells)?;
    }
    Ok(())
}

/// Whether the id of the client follows the columns.
pub fn has_client(table: Table) -> bool {
    matches!(table, Table::AttemptFailures | Table::Events)
}

/// Unix seconds to the nearest microsecond; none outside of the years 1 to 9999, which is what readers take.
fn micros(unix_s: f64) -> Option<i64> {
    let micros = (unix_s * 1e6).round();
    // 0001-01-01 and 10000-01-01.
    (-62_135_596_800e6..253_402_300_800e6).contains(&micros).then_some(micros as i64)
}

/// Makes sure that the keys of rows are different in a lake.
///
/// # Errors
/// When there are more sources than keys are made for, or a longer one.
pub fn check_keys(connection: &Connection) -> Result<()> {
    let sql = "select coalesce(max(source_id), 0), coalesce(max(offset_bytes), 0) from sources";
    let (sources, offset): (i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .context("cannot read the sources")?;
    ensure!(
        sources < 1 << (63 - OFFSET_BITS) && offset < 1 << OFFSET_BITS,
        "a lake has room for 8,388,607 sources of 1 TiB each, and the database has more, or a longer one: make \
         another database for what comes"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_microseconds_and_none_where_readers_take_none() {
        // `date -u -d 2026-11-29T18:43:02.25Z +%s%6N`
        assert_eq!(micros(1_795_977_782.25), Some(1_795_977_782_250_000));
        assert_eq!(micros(0.000_000_6), Some(1));
        assert_eq!(micros(-62_135_596_800.0), Some(-62_135_596_800_000_000));
        for none in [-62_135_596_801.0, 253_402_300_800.0, 1e308, f64::INFINITY] {
            assert_eq!(micros(none), None, "{none}");
        }
    }

    #[test]
    fn a_run_keeps_its_key() {
        // Python's `xxhash.xxh3_64_intdigest(b"1795977782-3db97943") & (2**63 - 1)`
        assert_eq!(run_key("1795977782-3db97943"), 7_453_392_207_464_093_401);
    }
}
