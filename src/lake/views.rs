//! The tables and views of a lake in the dialects of the engines that read it.
//!
//! The tables are declared over the files by their place below the lake's folder. The views are those of the
//! database, so that a question reads the same names in both; their text is taken from it.

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::query::catalog;
use crate::query::engine::SqlEngine;
use crate::query::written::{each_parameter, statement_of};
use crate::store::schema;

/// A file in the folder `views` of a lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its name.
    pub file: &'static str,
    /// What is in it.
    pub text: String,
}

/// Tables that have a folder of their own each, and in it one a day.
const TABLES_BY_DAY: [&str; 3] = ["terminals", "attempt_failures", "events"];
/// Tables that have a folder of their own each.
const WHOLE_TABLES: [&str; 4] = ["runs", "builds", "sources", "slos"];

/// The views of the database that a lake has, and the table whose columns each takes in.
const VIEWS: [(&str, Option<&str>); 5] = [
    ("selection", None),
    ("requests", Some("terminals")),
    ("timeline", Some("events")),
    ("attempts", None),
    ("legs", None),
];

/// The file of each engine. Nothing in them depends on what is in the lake.
///
/// # Errors
/// When SQLite cannot make a database in memory, whose views they have.
pub fn views() -> Result<Vec<View>> {
    let mut connection = Connection::open_in_memory()?;
    schema::migrate(&mut connection)?;
    let views = VIEWS
        .iter()
        .map(|(name, table)| Ok((*name, view(&connection, name, *table)?)))
        .collect::<Result<Vec<_>>>()?;
    let attainment = attainment()?;
    let file = |engine: SqlEngine| {
        let declare = Declare::of(engine);
        let by_day =
            TABLES_BY_DAY.iter().map(|table| declare.table(table, declare.columns_by_day, declare.by_day));
        let whole = WHOLE_TABLES.iter().map(|table| declare.table(table, "*", declare.whole));
        let views = views.iter().map(|(name, text)| declare.view(name, &engine.translated(text)));
        let attainment = declare.view("attainment", &(engine.translated(&attainment) + engine.settings()));
        let parts: Vec<String> = std::iter::once(declare.head.to_owned())
            .chain(by_day)
            .chain(whole)
            .chain(views)
            .chain([attainment])
            .collect();
        View { file: declare.file, text: parts.join("\n") }
    };
    Ok([SqlEngine::DuckDb, SqlEngine::Spark, SqlEngine::ClickHouse].map(file).into())
}

/// How an engine declares the tables over the files. `TABLE` is the table's name.
struct Declare {
    file: &'static str,
    /// How to use the file, and what is to be set before it.
    head: &'static str,
    create: &'static str,
    /// What it selects of a table by day: the files have no column `day`, their folders' names have it.
    columns_by_day: &'static str,
    by_day: &'static str,
    whole: &'static str,
}

impl Declare {
    fn of(engine: SqlEngine) -> Self {
        match engine {
            SqlEngine::DuckDb => Self {
                file: "duckdb.sql",
                head: "\
-- The tables and views of this lake in DuckDB: run it in the lake's folder,
--   duckdb -init views/duckdb.sql
-- or from elsewhere after
--   set file_search_path = '/the/lakes/folder';
",
                create: "create or replace view",
                columns_by_day: "*",
                by_day: "read_parquet('TABLE/*/*.parquet', hive_partitioning = true, hive_types_autocast = false)",
                whole: "read_parquet('TABLE/*.parquet')",
            },
            SqlEngine::Spark => Self {
                file: "spark.sql",
                head: "\
-- The tables and views of this lake in Spark, from 4.1 on: run it in the lake's folder,
--   spark-sql -i views/spark.sql
-- or put the folder's place, as every node sees it, in place of the dot:
set narwhal.lake = .;
-- `day` is text, also where a day is unknown. A bucket of time is a level of recursion.
set spark.sql.sources.partitionColumnTypeInference.enabled = false;
set spark.sql.cteRecursionLevelLimit = 1000000;
",
                create: "create or replace temporary view",
                columns_by_day: "*",
                by_day: "parquet.`${narwhal.lake}/TABLE`",
                whole: "parquet.`${narwhal.lake}/TABLE`",
            },
            SqlEngine::ClickHouse => Self {
                file: "clickhouse.sql",
                head: "\
-- The tables and views of this lake in ClickHouse: run it in the lake's folder, statement by statement.
-- A server finds the folder among its user files: write its name in front of each path below.
",
                create: "create or replace view",
                // By itself it takes the first day for a date, and fails at `unknown`.
                columns_by_day: "*, extract(_path, 'day=([^/]*)') as day",
                by_day: "file('TABLE/*/*.parquet', Parquet)\nsettings use_hive_partitioning = 0",
                whole: "file('TABLE/*.parquet', Parquet)",
            },
        }
    }

    fn table(&self, table: &str, columns: &str, from: &str) -> String {
        format!("{} {table} as\nselect {columns} from {};\n", self.create, from.replace("TABLE", table))
    }

    fn view(&self, name: &str, text: &str) -> String {
        format!("{} {name} as\n{text};\n", self.create)
    }
}

/// The text of a view of the database, with every column named.
fn view(connection: &Connection, name: &str, table: Option<&str>) -> Result<String> {
    let declared: String = connection
        .query_row("select sql from sqlite_schema where type = 'view' and name = ?1", [name], |row| {
            row.get(0)
        })
        .with_context(|| format!("the view {name}"))?;
    let (_, text) = declared.split_once(" as\n").with_context(|| format!("the text of the view {name}"))?;
    // SQLite has a `max` of two values; the others have none that keeps null.
    let text = text.replace(
        "max(e.place_s - r.first_s, 0.0)",
        "case when e.place_s < r.first_s then 0e0 else e.place_s - r.first_s end",
    );
    let Some(table) = table else { return Ok(text) };
    let mut find = connection.prepare("select name from pragma_table_info(?1) order by cid")?;
    let columns = find.query_map([table], |row| row.get::<_, String>(0))?;
    let columns = columns.collect::<rusqlite::Result<Vec<_>>>()?;
    let alias = &table[..1];
    let named: Vec<String> = columns
        .iter()
        .map(|column| match column.as_str() {
            "at" | "by" => format!("{alias}.\"{column}\" as \"{column}\""),
            column => format!("{alias}.{column} as {column}"),
        })
        .collect();
    Ok(text.replace(&format!("{alias}.*"), &named.join(",\n    ")))
}

/// The view `attainment`, which is the question of that name with nothing chosen.
fn attainment() -> Result<String> {
    let shipped = catalog::shipped()?;
    let query = shipped.iter().find(|query| query.name == "attainment").context("the query attainment")?;
    let statement = each_parameter(statement_of(&query.sql), |_| Some("null".to_owned()));
    let columns: Vec<String> = query
        .columns
        .iter()
        .map(|column| match column.name.as_str() {
            "scope" => "scope as run".to_owned(),
            name => name.to_owned(),
        })
        .collect();
    Ok(format!("select {}\nfrom (\n{statement}\n) as asked", columns.join(", ")))
}
