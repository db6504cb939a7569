//! What an export holds, and where its figures come from.
//!
//! An item is a table, a canned query, or the journal itself. Each is one file or one sheet; beside
//! them `export.json` names everything needed to trace a figure, see `sidecar`.

mod sidecar;

use anyhow::{Result, bail};
use rusqlite::Connection;

pub use self::sidecar::{Earlier, SIDECAR, Sidecar, Written, names};
use crate::failure::Failure;
use crate::query::faster::statement;
use crate::query::header::Query;
use crate::query::kind::ColumnKind;
use crate::query::run::{Bound, Sink, run, signature};
use crate::selection::Selection;

/// What `--all` takes, in this order: the tables a reader knows from the documentation. Not
/// the kept counts: they say nothing that the rows do not.
pub const TABLES: [&str; 8] =
    ["runs", "terminals", "attempt_failures", "events", "builds", "sources", "rejects", "slos"];

/// Views, which are exported when they are named.
const VIEWS: [&str; 4] = ["requests", "timeline", "attempts", "legs"];

/// Something to export.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// The stored rows as JSON Lines.
    Journal,
    /// A table or a view.
    Table(&'static str),
    /// A canned query.
    Query(Box<Query>),
}

impl Item {
    /// The name without its kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Journal => "journal",
            Self::Table(name) => name,
            Self::Query(query) => &query.name,
        }
    }

    /// The file in the export's folder.
    pub fn file(&self) -> String {
        match self {
            Self::Journal => "journal.jsonl".to_owned(),
            Self::Table(name) => format!("tables/{name}.csv"),
            Self::Query(query) => format!("queries/{}.csv", query.name),
        }
    }

    /// The sheet's name in a workbook; a table's differs from that of a query.
    pub fn sheet(&self) -> String {
        match self {
            Self::Table(name) => format!("table {name}"),
            other => other.name().to_owned(),
        }
    }
}

/// The items that names mean. A name that is both a query and a table means the query;
/// `table:NAME` means the table.
///
/// # Errors
/// When a name is neither.
pub fn resolve(names: &[String], catalog: &[Query]) -> Result<Vec<Item>> {
    let table = |name: &str| TABLES.into_iter().chain(VIEWS).find(|table| *table == name).map(Item::Table);
    let item = |name: &String| {
        if name == "journal" {
            return Ok(Item::Journal);
        }
        let found = match name.strip_prefix("table:") {
            Some(name) => table(name),
            None => catalog
                .iter()
                .find(|query| query.name == *name)
                .map(|query| Item::Query(Box::new(query.clone())))
                .or_else(|| table(name)),
        };
        found.ok_or_else(|| {
            let message = format!(
                "no table or query {name:?}: the tables are {}, `narwhal-jq query` lists the queries, and \
                 `journal` is the journal",
                TABLES.join(", ")
            );
            anyhow::Error::new(Failure::usage(message))
        })
    };
    let mut items: Vec<Item> = Vec::new();
    for name in names {
        let item = item(name)?;
        if !items.contains(&item) {
            items.push(item);
        }
    }
    Ok(items)
}

/// Every table and every query.
pub fn everything(catalog: &[Query]) -> Vec<Item> {
    let queries = catalog.iter().map(|query| Item::Query(Box::new(query.clone())));
    TABLES.into_iter().map(Item::Table).chain(queries).collect()
}

/// Gives an item's rows to the sink; how many there were.
///
/// # Errors
/// When the database cannot be read or the sink fails. The journal has no rows of cells.
pub fn write_rows(
    connection: &mut Connection,
    selection: &Selection,
    item: &Item,
    bound: &[Bound],
    sink: &mut dyn Sink,
) -> Result<u64> {
    match item {
        Item::Journal => bail!("the journal is JSON Lines, not a table: export it with --dir"),
        Item::Table(name) => {
            let sql = table_sql(name, selection);
            let columns = signature(connection, &sql)?.columns;
            let kinds: Vec<_> = columns.iter().map(|name| ColumnKind::of_table_column(name)).collect();
            sink.kinds(&kinds);
            run(connection, &sql, &[], sink)
        }
        Item::Query(query) => {
            sink.kinds(&query.kinds());
            run(connection, statement(query, selection), bound, sink)
        }
    }
}

/// The rows of a table, those of the selection where it cuts that table.
fn table_sql(name: &str, selection: &Selection) -> String {
    let rows = format!("select * from {name}");
    let terminals = "select t.terminal_id from selection as s cross join terminals as t
         where t.run_id = s.run_id and t.arrived >= s.from_s and t.arrived < s.to_s";
    let events = "select e.event_id from selection as s cross join events as e
         where e.run_id = s.run_id and e.place_s >= s.from_s and e.place_s < s.to_s";
    match name {
        _ if selection.is_default => rows,
        "runs" => format!("{rows} where run_id in (select run_id from selection)"),
        "terminals" | "attempt_failures" | "requests" | "attempts" | "legs" => {
            format!("{rows} where terminal_id in ({terminals})")
        }
        "events" | "timeline" => format!("{rows} where event_id in ({events})"),
        _ => rows,
    }
}
