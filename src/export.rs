//! What an export holds, and where its figures come from.
//!
//! An item is a table, a canned query, or the journal itself. Each is one file or one sheet; beside
//! them `export.json` names everything needed to trace a figure.

use anyhow::{Result, bail};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::exit::Failure;
use crate::query::answer::ask;
use crate::query::catalog::Query;
use crate::query::kind::ColumnKind;
use crate::query::run::{Bound, Sink, run, signature};
use crate::store::schema;

/// What `--all` takes, in this order: the tables a reader knows from the documentation. Not
/// the kept counts: they say nothing that the rows do not.
pub const TABLES: [&str; 8] =
    ["runs", "terminals", "attempt_failures", "events", "builds", "sources", "rejects", "slos"];

/// Views, which are exported when they are named.
const VIEWS: [&str; 3] = ["requests", "attempts", "legs"];

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
    item: &Item,
    bound: &[Bound],
    sink: &mut dyn Sink,
) -> Result<u64> {
    match item {
        Item::Journal => bail!("the journal is JSON Lines, not a table: export it with --dir"),
        Item::Table(name) => {
            let sql = format!("select * from {name}");
            let columns = signature(connection, &sql)?.columns;
            let kinds: Vec<_> = columns.iter().map(|name| ColumnKind::of_table_column(name)).collect();
            sink.kinds(&kinds);
            run(connection, &sql, &[], sink)
        }
        Item::Query(query) => {
            sink.kinds(&query.kinds());
            run(connection, &query.sql, bound, sink)
        }
    }
}

/// What was written of an item.
#[derive(Debug, Serialize)]
pub struct Written {
    /// `query`, `table` or `journal`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The file, or the sheet of the workbook.
    pub place: String,
    /// Its rows, the header not counted.
    pub rows: u64,
    /// The parameters that were bound; those not given are absent.
    pub parameters: Map<String, Json>,
}

impl Written {
    /// The account of an item.
    pub fn new(item: &Item, place: String, rows: u64, bound: &[Bound]) -> Self {
        use rusqlite::types::Value;
        let parameters = bound.iter().filter_map(|(name, value)| {
            let value = match value {
                Value::Text(text) => Json::from(text.as_str()),
                Value::Real(real) => Json::from(*real),
                Value::Integer(int) => Json::from(*int),
                Value::Null | Value::Blob(_) => return None,
            };
            Some((name[1..].to_owned(), value))
        });
        let kind = match item {
            Item::Journal => "journal",
            Item::Table(_) => "table",
            Item::Query(_) => "query",
        };
        Self { kind, name: item.name().to_owned(), place, rows, parameters: parameters.collect() }
    }
}

/// `export.json`: where the figures of an export come from.
#[derive(Debug, Serialize)]
pub struct Sidecar {
    tool: &'static str,
    version: &'static str,
    schema: i64,
    exported_at: String,
    database: String,
    sources: Vec<Json>,
    runs: Vec<Json>,
    slos: Vec<Json>,
    written: Vec<Written>,
}

impl Sidecar {
    /// Leaves out where files lie, which can name hosts and users.
    pub fn hide_paths(&mut self) {
        self.database = "<path>".to_owned();
        for source in &mut self.sources {
            source["path"] = "<path>".into();
        }
        for one in &mut self.written {
            one.place = one.place.rsplit('/').next().unwrap_or_default().to_owned();
        }
    }

    /// The origin of what was written.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn new(connection: &mut Connection, database: String, written: Vec<Written>) -> Result<Self> {
        let sources =
            objects(connection, "select path, offset_bytes, lines from sources order by source_id")?;
        let slos = objects(connection, "select name, ttft_s, tpot_s, saved_at from slos order by name")?;
        let runs = ask(connection, "runs", |_| None)?
            .rows()
            .map(|row| {
                serde_json::json!({
                    "run": row.text("run"),
                    "version": row.known_text("version"),
                    "source": row.known_text("source"),
                    "build_certainty": row.text("build_certainty"),
                    "terminals": row.int("terminals"),
                    "events": row.int("events"),
                })
            })
            .collect();
        Ok(Self {
            tool: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            schema: schema::LATEST,
            exported_at: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            database,
            sources,
            runs,
            slos,
            written,
        })
    }
}

/// The rows of a statement as JSON objects.
fn objects(connection: &Connection, sql: &str) -> Result<Vec<Json>> {
    let mut statement = connection.prepare(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let mut object = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                rusqlite::types::ValueRef::Integer(int) => int.into(),
                rusqlite::types::ValueRef::Real(real) => real.into(),
                _ => Json::Null,
            };
            object.insert(name.clone(), value);
        }
        Ok(Json::Object(object))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
