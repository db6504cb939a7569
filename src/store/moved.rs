//! Values that move when a migration gives a declared field its column: out of `extra`, where a release kept them
//! that did not know the field, or copied from `detail` of an event.
//!
//! Without that, a row that is read again would differ from the stored one. So no migration can forget it:
//! [`Before::fill_new`] runs after each.

use std::collections::HashSet;

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Result, Row, params_from_iter};
use serde_json::Value;

use super::cells::{StoredCells, compact};
use super::columns::{
    BUILD_COLUMNS, Columns, EVENT_FIELD_COLUMNS, FAILURE_COLUMNS, TERMINAL_COLUMNS, listed,
};
use super::events::event_cell;
use crate::journal::build;
use crate::journal::declare::{Declared, Field, ReadValues, Shape, leaves, take_leaf};
use crate::journal::event;
use crate::journal::object::Object;
use crate::journal::terminal::{AttemptFailure, Terminal};

/// A table with columns of declared fields.
struct Table {
    name: &'static str,
    key: &'static [&'static str],
    /// The column with the values of fields that have none of their own.
    rest: &'static str,
    /// Whether a value stays there, too.
    is_copied: bool,
    fields: &'static [Field],
    columns: &'static Columns,
}

const TABLES: [Table; 4] = [
    Table {
        name: "terminals",
        key: &["terminal_id"],
        rest: "extra",
        is_copied: false,
        fields: Terminal::FIELDS,
        columns: &TERMINAL_COLUMNS,
    },
    Table {
        name: "attempt_failures",
        key: &["terminal_id", "position"],
        rest: "extra",
        is_copied: false,
        fields: AttemptFailure::FIELDS,
        columns: &FAILURE_COLUMNS,
    },
    Table {
        name: "builds",
        key: &["build_id"],
        rest: "extra",
        is_copied: false,
        fields: build::FIELDS,
        columns: &BUILD_COLUMNS,
    },
    Table {
        name: "events",
        key: &["event_id"],
        rest: "detail",
        is_copied: true,
        fields: event::FIELDS,
        columns: &EVENT_FIELD_COLUMNS,
    },
];

/// Which columns there were before a migration.
pub(super) struct Before([HashSet<String>; TABLES.len()]);

impl Before {
    /// Looks.
    pub(super) fn of(connection: &Connection) -> Result<Self> {
        let mut there = TABLES.map(|_| HashSet::new());
        for (table, there) in TABLES.iter().zip(&mut there) {
            *there = columns_of(connection, table.name)?;
        }
        Ok(Self(there))
    }

    /// Fills the columns that came since, where the table was there before.
    pub(super) fn fill_new(self, connection: &Connection) -> Result<()> {
        for (table, before) in TABLES.iter().zip(self.0) {
            let there = columns_of(connection, table.name)?;
            let is_new = |column: &String| there.contains(column) && !before.contains(column);
            let fields = leaves(table.fields).into_iter().zip(table.columns.iter());
            let new: Vec<_> = fields.filter(|(_, column)| is_new(column)).collect();
            if !before.is_empty() && !new.is_empty() {
                table.fill(connection, &new)?;
            }
        }
        Ok(())
    }
}

fn columns_of(connection: &Connection, table: &str) -> Result<HashSet<String>> {
    let mut find = connection.prepare("select name from pragma_table_info(?1)")?;
    find.query_map([table], |row| row.get(0))?.collect()
}

/// A field, what leads to it, and its column.
type Placed<'f> = ((Vec<&'static str>, &'static Field), &'f String);

impl Table {
    /// Moves the values of these fields into their columns.
    fn fill(&self, connection: &Connection, fields: &[Placed<'_>]) -> Result<()> {
        let key = listed(self.key);
        let (name, rest) = (self.name, self.rest);
        let mut find =
            connection.prepare(&format!("select {rest}, {key} from {name} where {rest} is not null"))?;
        let set: Vec<String> = fields.iter().map(|(_, column)| format!("\"{column}\" = ?")).collect();
        let set = set.join(", ");
        let by: Vec<String> = self.key.iter().map(|column| format!("{column} = ?")).collect();
        let by = by.join(" and ");
        let mut update = connection.prepare(&format!("update {name} set {rest} = ?, {set} where {by}"))?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let mut object = StoredCells::from(row, 0).object()?.unwrap_or_default();
            let cells = self.take(&mut object, fields);
            if cells.iter().all(|cell| *cell == Sql::Null) {
                continue;
            }
            let rest = if object.is_empty() { Sql::Null } else { Sql::Text(compact(&object)) };
            let cells = [rest].into_iter().chain(cells).chain(self.key_of(row)?);
            update.execute(params_from_iter(cells))?;
        }
        Ok(())
    }

    fn key_of(&self, row: &Row<'_>) -> Result<Vec<Sql>> {
        (1..=self.key.len()).map(|at| row.get(at)).collect()
    }

    /// The cells of the fields, out of what was kept whole.
    fn take(&self, object: &mut Object, fields: &[Placed<'_>]) -> Vec<Sql> {
        let mut cells = Vec::new();
        for ((parts, leaf), _) in fields {
            let cell = if self.is_copied {
                object.get(leaf.name).and_then(|value| event_cell(value, leaf.shape))
            } else {
                take_leaf(object, parts, leaf).map(|value| cell_of(value, leaf.shape))
            };
            cells.push(cell.unwrap_or(Sql::Null));
        }
        cells
    }
}

/// The cell of a value of the field's own shape.
fn cell_of(value: Value, shape: Shape) -> Sql {
    match (value, shape) {
        (Value::String(text), _) => Sql::Text(text),
        (Value::Bool(flag), _) => Sql::Integer(i64::from(flag)),
        (Value::Number(number), Shape::Real) => number.as_f64().map_or(Sql::Null, Sql::Real),
        (Value::Number(number), _) => number.as_i64().map_or(Sql::Null, Sql::Integer),
        (Value::Object(object), _) => Sql::Text(compact(&object)),
        (Value::Array(_) | Value::Null, _) => Sql::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::row::{Row, read_row};
    use crate::store::schema;
    use crate::store::sources;
    use crate::store::terminals::{FAILURE_DERIVED, FAILURE_PLACE, TERMINAL_DERIVED, TERMINAL_PLACE};
    use crate::store::write::{Stored, Writer};

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().expect("there is memory");
        schema::migrate(&mut connection).expect("the migrations hold");
        connection
    }

    #[test]
    fn every_declared_field_has_a_column_and_every_column_a_field() {
        let connection = database();
        let own: [&[&[&str]]; 4] = [
            &[&["terminal_id"], TERMINAL_PLACE, TERMINAL_DERIVED],
            &[FAILURE_PLACE, FAILURE_DERIVED],
            &[&[
                "build_id",
                "source_id",
                "byte_offset",
                "schema",
                "schema_version",
                "digest",
                "state",
                "extra",
            ]],
            &[
                &["event_id", "run_id", "source_id", "byte_offset", "digest", "place_s"],
                crate::store::events::EVENT_COLUMNS,
            ],
        ];
        for (table, own) in TABLES.iter().zip(own) {
            let own = own.concat().into_iter().map(str::to_owned);
            let declared: HashSet<String> = table.columns.iter().cloned().chain(own).collect();
            let there = columns_of(&connection, table.name).expect("it is there");
            let lacking: Vec<&String> = declared.difference(&there).collect();
            assert!(lacking.is_empty(), "{} has no column for {lacking:?}: a migration adds it", table.name);
            let odd: Vec<&String> = there.difference(&declared).collect();
            assert!(odd.is_empty(), "{} has columns of no declared field: {odd:?}", table.name);
        }
    }

    /// A value that a field can hold.
    fn sample(field: &Field) -> Value {
        match field.shape {
            Shape::Text => "t\u{e9}".into(),
            Shape::Int => 7.into(),
            // One that SQLite's own reading of JSON need not give back to the last bit.
            Shape::Real => 0.123_456_789_012_345_68e-7.into(),
            Shape::Flag => true.into(),
            Shape::Object => serde_json::json!({"p0": 3}),
            Shape::Array => serde_json::json!(["a", "b"]),
            Shape::Part | Shape::Entries => unreachable!("a leaf is neither"),
        }
    }

    /// The line of a row with a value in every field of these, nested as they are.
    fn members(fields: &'static [Field]) -> Object {
        let mut row = Object::new();
        for field in fields {
            let value = match field.shape {
                Shape::Part => Value::Object(members(field.fields)),
                Shape::Entries => Value::Array(vec![Value::Object(members(field.fields))]),
                _ if field.name == "schema" => crate::journal::SCHEMA.into(),
                _ if field.name == "schema_version" => crate::journal::SCHEMA_VERSION.into(),
                _ => sample(field),
            };
            row.insert(field.name.to_owned(), value);
        }
        row
    }

    fn terminal() -> String {
        Value::Object(members(Terminal::FIELDS)).to_string()
    }

    fn build() -> String {
        let mut row = members(build::FIELDS);
        if let Some(Value::Object(meta)) = row.get_mut("meta") {
            meta.insert("schema".to_owned(), crate::journal::SCHEMA.into());
            meta.insert("schema_version".to_owned(), crate::journal::SCHEMA_VERSION.into());
        }
        Value::Object(row).to_string()
    }

    fn event() -> String {
        let mut row = members(event::FIELDS);
        row.extend(members(event::COMMON_FIELDS));
        row.insert("schema".to_owned(), crate::journal::SCHEMA.into());
        row.insert("schema_version".to_owned(), crate::journal::SCHEMA_VERSION.into());
        row.insert("event".to_owned(), event::KINDS[0].0.into());
        Value::Object(row).to_string()
    }

    /// Stores a line; what became of it.
    fn store(connection: &Connection, line: &str) -> Stored {
        let row = read_row(line, 0).expect("it is JSON").row.expect("it is a row");
        let mut writer = Writer::new(connection).expect("the tables are as they should be");
        writer.begin().expect("nobody else writes");
        let known = connection.query_row("select min(source_id) from sources", [], |row| row.get(0));
        let source_id = match known.expect("the table is there") {
            Some(source_id) => source_id,
            None => sources::insert(connection, "-", None).expect("it can be written"),
        };
        writer.enter(source_id).expect("the source is there");
        let became = match &row {
            Row::Terminal(row) => writer.terminals(&[(row.as_ref(), 0)]).expect("it can be written")[0],
            Row::Event(row) => writer.event(row, 0).expect("it can be written"),
            Row::Build(row) => writer.build(row, 0).expect("it can be written"),
        };
        connection.execute_batch("commit").expect("it can be written");
        became
    }

    /// Puts the value of a field into what is kept whole.
    fn put(object: &mut Object, parts: &[&str], leaf: &Field) {
        let mut within = object;
        for part in parts {
            let next = within.entry(*part).or_insert_with(|| Value::Object(Object::new()));
            within = next.as_object_mut().expect("it was just made");
        }
        within.insert(leaf.name.to_owned(), sample(leaf));
    }

    #[test]
    fn a_field_that_gets_its_column_brings_its_values_along() {
        let mut tried = 0;
        for table in &TABLES {
            let connection = database();
            let line = match table.name {
                "events" => event(),
                "builds" => build(),
                _ => terminal(),
            };
            assert_eq!(store(&connection, &line), Stored::New);
            let views = "drop view requests; drop view attempts; drop view legs; drop view attainment";
            connection.execute_batch(views).expect("views can go");
            // As an older release has it: no column, and the value in `extra`. One with a key or an index cannot
            // be dropped, and is none that a migration could add.
            let (mut older, mut sql, mut before) = (Object::new(), String::new(), Vec::new());
            for ((parts, leaf), column) in leaves(table.fields).into_iter().zip(table.columns.iter()) {
                let cell = cell(&connection, table.name, column);
                assert_ne!(cell, Sql::Null, "{}.{column}: a test that cannot fail", table.name);
                let kind: String = connection
                    .query_row(
                        "select type from pragma_table_info(?1) where name = ?2",
                        [table.name, column],
                        |row| row.get(0),
                    )
                    .expect("the column is there");
                let drop = format!("alter table {} drop column \"{column}\"", table.name);
                if connection.execute_batch(&drop).is_ok() {
                    put(&mut older, &parts, leaf);
                    sql += &format!("alter table {} add column \"{column}\" {kind};", table.name);
                    before.push((column, cell));
                }
            }
            if !table.is_copied {
                let set = format!("update {} set extra = ?1", table.name);
                connection.execute(&set, [compact(&older)]).expect("it can be written");
            }
            schema::apply(&connection, &sql, |_| Ok(())).expect("it can be migrated");
            for (column, cell_before) in &before {
                assert_eq!(cell(&connection, table.name, column), *cell_before, "{}.{column}", table.name);
            }
            if !table.is_copied {
                assert_eq!(cell(&connection, table.name, "extra"), Sql::Null, "{}", table.name);
            }
            assert_eq!(store(&connection, &line), Stored::Duplicate, "{}", table.name);
            tried += before.len();
        }
        assert!(tried > 75, "{tried}");
    }

    fn cell(connection: &Connection, table: &str, column: &str) -> Sql {
        let select = format!("select \"{column}\" from {table}");
        connection.query_row(&select, [], |row| row.get(0)).expect("there is one row")
    }

    #[test]
    fn a_value_of_another_type_stays_where_it_was() {
        let connection = database();
        assert_eq!(store(&connection, &terminal()), Stored::New);
        connection
            .execute_batch(
                "drop view requests; drop view attempts; drop view legs; drop view attainment;
            alter table terminals drop column readiness_reason",
            )
            .expect("it has no index");
        connection
            .execute("update terminals set extra = '{\"other\":1,\"readiness_reason\":5}'", [])
            .expect("it can be written");
        let sql = "alter table terminals add column readiness_reason text";
        schema::apply(&connection, sql, |_| Ok(())).expect("it can be migrated");
        let found: (Option<String>, String) = connection
            .query_row("select readiness_reason, extra from terminals", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .expect("one row");
        assert_eq!(found, (None, "{\"other\":1,\"readiness_reason\":5}".to_owned()));
    }
}
