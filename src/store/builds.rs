//! Build rows as rows of `builds`, both ways.

use rusqlite::{Result, Row as SqlRow};
use serde_json::Value;

use super::cells::{Cells, StoredCells};
use super::digest::digest;
use crate::journal::build::{self, Build};
use crate::journal::declare::{ReadValues, Shape, leaves};

/// Gives the cells of a build row: of the declared columns, then of `extra`.
pub(crate) fn build_cells(row: &Build, cells: &mut impl Cells) -> Result<()> {
    for value in &row.values {
        match value {
            Some(Value::String(text)) => cells.text(text)?,
            Some(Value::Number(number)) => cells.real(number.as_f64().unwrap_or_default())?,
            _ => cells.null()?,
        }
    }
    if row.extra.is_empty() { cells.null() } else { cells.object(&row.extra) }
}

/// Reads a build row back: its declared columns from `first`, then `extra`.
pub(crate) fn load_build(from: &SqlRow<'_>, first: usize) -> Result<Build> {
    let mut cells = StoredCells::from(from, first);
    let value = |leaf: Shape| {
        Ok(match leaf {
            Shape::Real => cells.real()?.map(Value::from),
            _ => cells.text()?.map(Value::from),
        })
    };
    let shapes = leaves(build::FIELDS).into_iter().map(|(_, leaf)| leaf.shape);
    let values = shapes.map(value).collect::<Result<_>>()?;
    Ok(Build { values, extra: cells.object()?.unwrap_or_default() })
}

/// Equal build rows have equal digests.
pub(crate) fn build_digest(row: &Build) -> String {
    digest(&serde_json::to_value(row.to_json()).expect("a build row has a JSON form"))
}
