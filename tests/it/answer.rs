//! Answers as columns and rows, and how two of them compare: floats to a relative 1e-12, everything
//! else exactly.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::harness::{Lab, Run};

/// What the program answers to a query with flags.
#[track_caller]
pub(crate) fn ask<S: AsRef<str>>(lab: &Lab, question: &[S]) -> Answer {
    Answer::from_objects(&query(lab, question, "json").stdout)
}

/// A query with flags, in a format.
#[track_caller]
pub(crate) fn query<S: AsRef<str>>(lab: &Lab, question: &[S], format: &str) -> Run {
    let mut arguments = vec!["query"];
    arguments.extend(question.iter().map(AsRef::as_ref));
    arguments.extend(["--format", format]);
    lab.run(&arguments).exits(0)
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// None of them are known when JSON objects gave no row.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Answer {
    /// From rows written down in a test.
    #[track_caller]
    pub(crate) fn of(columns: &str, rows: Value) -> Self {
        let columns = columns.split_whitespace().map(str::to_owned).collect();
        Self { columns, rows: serde_json::from_value(rows).unwrap() }
    }

    /// From an array of JSON objects, as the program and the shell write it. The shell writes
    /// nothing at all when there is no row.
    #[track_caller]
    pub(crate) fn from_objects(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self { columns: Vec::new(), rows: Vec::new() };
        }
        let rows: Vec<Fields> = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Self::from_fields(rows)
    }

    /// From JSON objects, one a line.
    #[track_caller]
    pub(crate) fn from_lines(text: &str) -> Self {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{line}"));
        Self::from_fields(text.lines().map(read).collect())
    }

    #[track_caller]
    fn from_fields(rows: Vec<Fields>) -> Self {
        let mut columns = Vec::new();
        let rows = rows
            .into_iter()
            .map(|Fields(fields)| {
                let (names, cells): (Vec<String>, Vec<Value>) = fields.into_iter().unzip();
                assert!(columns.is_empty() || columns == names, "{columns:?} and then {names:?}");
                columns = names;
                cells
            })
            .collect();
        Self { columns, rows }
    }

    /// Asserts that it is what was expected.
    #[track_caller]
    pub(crate) fn equals(&self, expected: &Self, what: &str) {
        let columns = self.columns == expected.columns || self.columns.is_empty();
        let rows = self.rows.len() == expected.rows.len()
            && self.rows.iter().zip(&expected.rows).all(|(got, expected)| {
                got.len() == expected.len()
                    && got.iter().zip(expected).all(|(got, expected)| same(got, expected))
            });
        assert!(columns && rows, "{what}\n--- expected\n{expected}--- got\n{self}");
    }
}

/// The columns, and a row a line.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.columns.join(" | "))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(Value::to_string).collect();
            writeln!(f, "{}", cells.join(" | "))?;
        }
        Ok(())
    }
}

/// An integer equals only an integer.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
        }
        _ => one == other,
    }
}

/// A JSON object with its keys in the order they stand.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
