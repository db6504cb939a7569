//! Which column holds which declared field: a field's own name, with its part's beside it where it has one.

use std::sync::LazyLock;

use crate::journal::build;
use crate::journal::declare::{Declared, Field, leaves};
use crate::journal::event;
use crate::journal::terminal::{AttemptFailure, Terminal};

/// The columns of a table that hold declared fields, in the order of the declaration.
pub(crate) type Columns = LazyLock<Vec<String>>;

/// Those of `terminals`.
pub(crate) static TERMINAL_COLUMNS: Columns = Columns::new(|| columns_of(Terminal::FIELDS));

/// Those of `attempt_failures`.
pub(crate) static FAILURE_COLUMNS: Columns = Columns::new(|| columns_of(AttemptFailure::FIELDS));

/// Those of `builds`.
pub(crate) static BUILD_COLUMNS: Columns = Columns::new(|| columns_of(build::FIELDS));

/// Those of `events` that repeat a field of `detail`.
pub(crate) static EVENT_FIELD_COLUMNS: Columns = Columns::new(|| columns_of(event::FIELDS));

fn columns_of(fields: &'static [Field]) -> Vec<String> {
    leaves(fields).into_iter().map(|(parts, leaf)| column_of(&parts, leaf.name)).collect()
}

/// The column of a field, which may be one of a part of a part.
pub(crate) fn column_of(parts: &[&str], name: &str) -> String {
    match parts.last().copied() {
        None | Some("meta" | "cache_placement") => name.to_owned(),
        Some("queue_waits") => format!("queue_wait_{name}_s"),
        Some("upstream_seconds") => format!("upstream_{name}_s"),
        Some("admission_price") if name.starts_with("price_") => name.to_owned(),
        Some("admission_price") => format!("price_{name}"),
        Some(part) => format!("{part}_{name}"),
    }
}

/// Columns as a statement names them.
pub(crate) fn listed(columns: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.as_ref())).collect();
    quoted.join(", ")
}
