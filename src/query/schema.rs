//! Tables and views of the database, and what their columns mean: names from SQLite, meanings from the
//! comments of the migrations, of what a journal says from the page about journals. They stand there once.

mod page;

use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::Connection;

use crate::store::schema::migrations;

/// A table or a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// `table` or `view`.
    pub kind: String,
    /// What its rows are; empty for a table of the user's own.
    pub meaning: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
}

/// A column of a table or a view.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type as declared; empty for what a view works out.
    pub kind: String,
    /// What it holds; empty where it holds what its name says.
    pub meaning: String,
}

/// The tables that views take their columns from.
const VIEWED: [&str; 4] = ["terminals", "events", "runs", "attempt_failures"];

/// Every table and view there is, in the order of their names.
///
/// # Errors
/// When the database cannot be read.
pub fn tables(connection: &Connection) -> Result<Vec<Table>> {
    let meanings = Meanings::new();
    let mut find = connection.prepare(
        "select name, type, sql from sqlite_schema
         where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'
         order by name",
    )?;
    let found = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found: Vec<(String, String, String)> = found.collect::<rusqlite::Result<_>>()?;
    let mut columns = connection.prepare("select name, type from pragma_table_info(?1) order by cid")?;
    let mut has = connection.prepare("select 1 from pragma_table_info(?1) where name = ?2")?;
    let mut origin_of = |sql: &str, column: &str| -> rusqlite::Result<Option<&str>> {
        let named = |table: &&str| sql.find(&format!("from {table}"));
        let mut tables: Vec<&str> = VIEWED.into_iter().filter(|table| named(table).is_some()).collect();
        tables.sort_by_key(named);
        for table in tables {
            if has.exists([table, column])? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    };
    found
        .into_iter()
        .map(|(name, kind, sql)| {
            let columns = columns.query_map([&name], |row| {
                let column: String = row.get(0)?;
                let origin = if kind == "view" { origin_of(&sql, &column)? } else { None };
                let meaning = meanings.column(&name, origin, &column);
                Ok(Column { kind: row.get::<_, String>(1)?.to_lowercase(), meaning, name: column })
            })?;
            let columns = columns.collect::<rusqlite::Result<_>>()?;
            Ok(Table {
                meaning: meanings.tables.get(&name).cloned().unwrap_or_default(),
                name,
                kind,
                columns,
            })
        })
        .collect()
}

/// What there is in place of a name that a statement has wrong, in words; `message` is SQLite's.
///
/// # Errors
/// When the database cannot be read.
pub fn names_for(connection: &Connection, sql: &str, message: &str) -> Result<Option<String>> {
    if message.contains("no such table") {
        let names: Vec<String> = tables(connection)?.into_iter().map(|table| table.name).collect();
        return Ok(Some(format!("there is {}", names.join(", "))));
    }
    if !message.contains("no such column") {
        return Ok(None);
    }
    let words: Vec<String> =
        sql.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect();
    let named = tables(connection)?.into_iter().filter(|table| words.contains(&table.name));
    let named: Vec<String> = named
        .map(|table| {
            let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            format!("{} has {}", table.name, columns.join(", "))
        })
        .collect();
    Ok((!named.is_empty()).then(|| named.join("; ")))
}

/// The comments of the migrations, and what the page about journals says.
#[derive(Debug, Default)]
struct Meanings {
    tables: BTreeMap<String, String>,
    /// By table and column.
    columns: BTreeMap<(String, String), String>,
}

impl Meanings {
    fn new() -> Self {
        let mut meanings = Self::default();
        for sql in migrations() {
            meanings.learn(sql);
        }
        for (table, column, meaning) in page::meanings() {
            meanings.columns.entry((table.to_owned(), column)).or_insert(meaning);
        }
        meanings
    }

    /// Of a column; `origin` is the table that a view without a comment has it from.
    fn column(&self, table: &str, origin: Option<&str>, column: &str) -> String {
        let of = |table: &str| self.columns.get(&(table.to_owned(), column.to_owned()));
        of(table).or_else(|| of(origin?)).cloned().unwrap_or_default()
    }

    /// Reads the comments of one migration: those before a table or view, after a column, and before one.
    fn learn(&mut self, sql: &str) {
        let mut before: Vec<&str> = Vec::new();
        let mut inside: Option<(String, bool)> = None;
        for line in sql.lines() {
            let line = line.trim();
            let (code, comment) = match line.split_once("--") {
                Some((code, comment)) => (code.trim(), comment.trim()),
                None => (line, ""),
            };
            if code.is_empty() {
                if comment.is_empty() {
                    before.clear()
                } else {
                    before.push(comment)
                }
                continue;
            }
            let words: Vec<&str> = code.split_whitespace().collect();
            let about = std::mem::take(&mut before).join(" ");
            match words.as_slice() {
                ["create", kind @ ("table" | "view"), name, ..] => {
                    let name = name.trim_end_matches('(').to_owned();
                    self.tables.insert(name.clone(), about);
                    inside = (!code.ends_with(';')).then_some((name, *kind == "view"));
                }
                ["alter", "table", table, "add", "column", column, ..] => {
                    let meaning = if comment.is_empty() { about } else { comment.to_owned() };
                    self.columns.insert(((*table).to_owned(), (*column).to_owned()), meaning);
                }
                _ => {
                    if let Some((table, is_view)) = &inside {
                        let meaning = if comment.is_empty() { about } else { comment.to_owned() };
                        let column = if *is_view { words.last() } else { words.first() };
                        let column = column.map(|word| word.trim_end_matches([',', ';']));
                        let column =
                            column.map(|word| word.rsplit('.').next().unwrap_or(word).trim_matches('"'));
                        if let (Some(column), false) = (column, meaning.is_empty()) {
                            self.columns.insert((table.clone(), column.to_owned()), meaning);
                        }
                    }
                    if code.ends_with(';') {
                        inside = None;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meanings_are_the_comments_of_the_migrations() {
        let mut meanings = Meanings::default();
        meanings.learn(
            "-- Why: this and that.\n\n-- Things that are counted,\n-- one by one.\ncreate table things (\n    \
             thing_id integer primary key,\n    size_m real,                -- from end to end\n    \
             -- How it looks.\n    \"by\" text\n) strict;\nalter table things add column late real; -- added\n\
             -- What is seen.\ncreate view seen as\nselect\n    t.size_m as big_m,   -- the size\n    t.late\nfrom things as t;\n",
        );
        let column = |table: &str, column: &str| meanings.column(table, None, column);
        assert_eq!(meanings.tables["things"], "Things that are counted, one by one.");
        assert_eq!(meanings.tables["seen"], "What is seen.");
        assert_eq!(column("things", "size_m"), "from end to end");
        assert_eq!(column("things", "by"), "How it looks.");
        assert_eq!(column("things", "late"), "added");
        assert_eq!(column("things", "thing_id"), "");
        assert_eq!(column("seen", "big_m"), "the size");
        assert_eq!(meanings.column("seen", Some("things"), "late"), "added");
    }
}
