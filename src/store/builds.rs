//! Build rows as rows of `builds`, both ways.

use rusqlite::types::Value as Sql;
use rusqlite::{Result, Row as SqlRow};

use super::digest::digest;
use super::rows::{compact, load_object};
use crate::journal::build::Build;

/// The columns of `builds` that hold a field of the journal's row, in [`build_cells`]'s order.
pub(crate) const BUILD_COLUMNS: &[&str] = &[
    "package",
    "version",
    "git",
    "source",
    "token_accounting",
    "admission_mode",
    "admission_margin",
    "extra",
];

/// The cells of a build row.
pub(crate) fn build_cells(row: &Build) -> [Sql; 8] {
    let text = |value: &Option<String>| value.clone().map_or(Sql::Null, Sql::Text);
    [
        text(&row.package),
        text(&row.version),
        text(&row.git),
        text(&row.source),
        text(&row.token_accounting),
        text(&row.admission_mode),
        row.admission_margin.map_or(Sql::Null, Sql::Real),
        if row.extra.is_empty() { Sql::Null } else { Sql::Text(compact(&row.extra)) },
    ]
}

/// Reads a build row back, its columns from `first`.
pub(crate) fn load_build(from: &SqlRow<'_>, first: usize) -> Result<Build> {
    Ok(Build {
        package: from.get(first)?,
        version: from.get(first + 1)?,
        git: from.get(first + 2)?,
        source: from.get(first + 3)?,
        token_accounting: from.get(first + 4)?,
        admission_mode: from.get(first + 5)?,
        admission_margin: from.get(first + 6)?,
        extra: load_object(from, first + 7)?,
    })
}

/// Equal build rows have equal digests.
pub(crate) fn build_digest(row: &Build) -> String {
    digest(&serde_json::to_value(row.to_json()).expect("a build row has a JSON form"))
}
