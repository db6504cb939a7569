//! Terminals and attempt failures as rows of their tables, both ways. Each column list stands once.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use rusqlite::types::{FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, Result, Row as SqlRow, Statement};
use serde_json::Value;

use super::cells::Cells;
use crate::journal::json::{Fault, Reader};
use crate::journal::object::Object;
use crate::journal::terminal::{AttemptFailure, CachedTokens, Terminal};
use crate::journal::{SCHEMA, SCHEMA_VERSION};

/// A field's value as a table's cell. Null is the caller's business.
trait Cell: Sized {
    fn give(&self, cells: &mut impl Cells) -> Result<()>;
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self>;
}

impl Cell for i64 {
    #[inline(always)]
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        cells.int(*self)
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        cell.as_i64()
    }
}

impl Cell for bool {
    #[inline(always)]
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        cells.int(i64::from(*self))
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        cell.as_i64().map(|flag| flag != 0)
    }
}

impl Cell for f64 {
    #[inline(always)]
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        cells.real(*self)
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        cell.as_f64()
    }
}

impl Cell for Cow<'_, str> {
    #[inline(always)]
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        cells.text(self)
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        cell.as_str().map(|text| Cow::Owned(text.to_owned()))
    }
}

impl Cell for Object {
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        if self.is_empty() { cells.text("{}") } else { cells.text(&compact(self)) }
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        // Not a general JSON reader: it must take what was stored, however deep it nests.
        Reader::new(cell.as_str()?, 0).object().map_err(|fault| FromSqlError::other(Unreadable(fault)))
    }
}

/// A stored JSON object that is none any more.
#[derive(Debug)]
struct Unreadable(Fault);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Syntax { at, why } => write!(f, "{why} (byte {at})"),
            Fault::Shape { path, why } => write!(f, "{path} {why}"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Cell for CachedTokens {
    fn give(&self, cells: &mut impl Cells) -> Result<()> {
        self.0.give(cells)
    }
    fn from_cell(cell: ValueRef<'_>) -> FromSqlResult<Self> {
        Object::from_cell(cell).map(Self)
    }
}

/// A JSON object as the tables keep it: compact, keys sorted.
pub(super) fn compact(object: &Object) -> String {
    serde_json::to_string(object).expect("a JSON object of text keys has a text form")
}

macro_rules! member {
    ($row:ident . $field:ident) => {
        $row.$field.as_ref()
    };
    ($row:ident . $field:ident . $part:ident) => {
        $row.$field.as_ref().and_then(|part| part.$part.as_ref())
    };
}

macro_rules! set_member {
    ($row:ident . $field:ident = $value:expr) => {
        $row.$field = Some($value)
    };
    ($row:ident . $field:ident . $part:ident = $value:expr) => {
        $row.$field.get_or_insert_default().$part = Some($value)
    };
}

/// Ties columns to the fields of a row: the names, the cells of a row, a row from its cells.
macro_rules! columns {
    ($(#[$doc:meta])* $names:ident, $cells:ident, $load:ident: $row_type:ident {
        $($column:literal = $field:ident $(. $part:ident)?,)*
    }) => {
        $(#[$doc])*
        pub(crate) const $names: &[&str] = &[$($column),*];

        /// Gives the cells of the row in the order of its column names.
        #[inline]
        pub(super) fn $cells(row: &$row_type<'_>, cells: &mut impl Cells) -> Result<()> {
            $(match member!(row.$field $(.$part)?) {
                Some(value) => value.give(cells)?,
                None => cells.null()?,
            })*
            Ok(())
        }

        /// The row whose cells begin at column `first`.
        fn $load(from: &SqlRow<'_>, first: usize) -> Result<$row_type<'static>> {
            let mut row = $row_type::default();
            let mut at = first;
            $(
                match from.get_ref(at)? {
                    ValueRef::Null => {}
                    cell => {
                        let value = Cell::from_cell(cell).map_err(|error| unreadable($column, at, cell, error))?;
                        set_member!(row.$field $(.$part)? = value);
                    }
                }
                at += 1;
            )*
            let _ = at;
            Ok(row)
        }
    };
}

columns! {
    /// The columns of `terminals` that hold a field of the journal's row.
    TERMINAL_COLUMNS, terminal_cells, load_terminal_fields: Terminal {
        "rid" = rid,
        "client_rid" = client_rid,
        "arrived" = arrived,
        "input_len" = input_len,
        "input_sized" = input_sized,
        "wanted_len" = wanted_len,
        "output_len" = output_len,
        "ttft_s" = ttft_s,
        "tpot_s" = tpot_s,
        "first_byte_s" = first_byte_s,
        "decode_tpot_s" = decode_tpot_s,
        "queue_wait_s" = queue_wait_s,
        "queue_wait_admission_s" = queue_waits.admission,
        "queue_wait_prefill_s" = queue_waits.prefill,
        "queue_wait_decode_s" = queue_waits.decode,
        "price_attempt" = admission_price.attempt,
        "price_backlog_s" = admission_price.backlog_s,
        "price_own_prefill_s" = admission_price.own_prefill_s,
        "price_elapsed_s" = admission_price.elapsed_s,
        "price_handoff_s" = admission_price.handoff_s,
        "price_s" = admission_price.price_s,
        "duration_s" = duration_s,
        "attempts" = attempts,
        "decode_attempts" = decode_attempts,
        "decode_tokens_observed" = decode_tokens_observed,
        "upstream_prefill_s" = upstream_seconds.prefill,
        "upstream_decode_s" = upstream_seconds.decode,
        "prefill_iid" = prefill_iid,
        "decode_iid" = decode_iid,
        "crossed" = crossed,
        "cached_tokens" = cached_tokens,
        "placed_iid" = cache_placement.placed_iid,
        "placed_cached_tokens" = cache_placement.placed_cached_tokens,
        "evidence_sequence" = cache_placement.evidence_sequence,
        "predicted_prefill_s" = cache_placement.predicted_prefill_s,
        "cold_prefill_s" = cache_placement.cold_prefill_s,
        "cold_choice_iid" = cache_placement.cold_choice_iid,
        "token_accounting" = token_accounting,
        "error" = error,
        "status" = status,
        "error_type" = error_type,
        "error_code" = error_code,
        "reason" = reason,
        "terminal" = terminal,
        "cancelled" = cancelled,
        "cancelled_phase" = cancelled_phase,
        "refused" = refused,
        "refused_cause" = refused_cause,
        "rejected" = rejected,
        "expired" = expired,
        "readiness_reason" = readiness_reason,
        "continuation" = continuation,
    }
}

columns! {
    /// The columns of `attempt_failures` that hold a field of the journal's entry.
    FAILURE_COLUMNS, failure_cells, load_failure_fields: AttemptFailure {
        "at" = at,
        "attempt" = attempt,
        "phase" = phase,
        "reason" = reason,
        "prefill_iid" = prefill_iid,
        "decode_iid" = decode_iid,
        "error_type" = error_type,
        "error_message" = error_message,
        "status" = status,
        "transient" = transient,
        "output_started" = output_started,
        "retry_scheduled" = retry_scheduled,
        "backoff_s" = backoff_s,
        "retry_reason" = retry_reason,
    }
}

fn unreadable(column: &str, at: usize, cell: ValueRef<'_>, error: FromSqlError) -> rusqlite::Error {
    let why = format!("the column {column} does not hold what was stored: {error}");
    rusqlite::Error::FromSqlConversionFailure(at, cell.data_type(), why.into())
}

/// `extra` of a terminal: unknown fields in the row's own shape. An object of which every known
/// part is null leaves its name here, so that it is not taken for an absent one.
pub(crate) fn terminal_extra(row: &Terminal<'_>) -> Option<String> {
    let mut extra: Option<Object> = (!row.extra.is_empty()).then(|| row.extra.clone());
    let mut nested = |name: &str, unknown: Option<&Object>, is_bare: bool| {
        if let Some(unknown) = unknown
            && (is_bare || !unknown.is_empty())
        {
            extra.get_or_insert_default().insert(name.to_owned(), Value::Object(unknown.clone()));
        }
    };
    let waits = row.queue_waits.as_ref();
    let bare = waits.is_some_and(|w| w.admission.is_none() && w.prefill.is_none() && w.decode.is_none());
    nested("queue_waits", waits.map(|w| &w.extra), bare);
    let price = row.admission_price.as_ref();
    let bare = price.is_some_and(|p| {
        p.attempt.is_none()
            && [p.backlog_s, p.own_prefill_s, p.elapsed_s, p.handoff_s, p.price_s] == [None; 5]
    });
    nested("admission_price", price.map(|p| &p.extra), bare);
    let upstream = row.upstream_seconds.as_ref();
    let bare = upstream.is_some_and(|u| u.prefill.is_none() && u.decode.is_none());
    nested("upstream_seconds", upstream.map(|u| &u.extra), bare);
    let cache = row.cache_placement.as_ref();
    let bare = cache.is_some_and(|c| {
        c.placed_iid.is_none()
            && c.placed_cached_tokens.is_none()
            && c.evidence_sequence.is_none()
            && c.predicted_prefill_s.is_none()
            && c.cold_prefill_s.is_none()
            && c.cold_choice_iid.is_none()
    });
    nested("cache_placement", cache.map(|c| &c.extra), bare);
    extra.map(|object| compact(&object))
}

/// `extra` of an attempt failure.
pub(crate) fn failure_extra(row: &AttemptFailure<'_>) -> Option<String> {
    (!row.extra.is_empty()).then(|| compact(&row.extra))
}

/// What a terminal's own row says of its attempts (docs/semantics.md, "Attempts, legs, failure rates").
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Failed attempts that have their record.
    pub recorded: i64,
    /// Those of them that failed in decode on a named engine.
    pub recorded_decode_legs: i64,
    /// Whether the last attempt is one of them.
    pub last_recorded: bool,
    /// Whether an entry says that a retry was scheduled.
    pub retried: bool,
    /// For each entry, whether it is the record of its attempt.
    pub attributed: Vec<bool>,
}

/// Credits the entries of `attempt_failures` to attempts: the first dispatched entry of an attempt
/// between 1 and `attempts` is its record, every other entry reached no engine.
pub(crate) fn attribute(row: &Terminal<'_>) -> Attempts {
    let mut attempts = Attempts::default();
    let last = row.attempts.unwrap_or(0);
    let entries = row.attempt_failures.as_deref().unwrap_or_default();
    let mut recorded = HashSet::new();
    for entry in entries {
        attempts.retried |= entry.retry_scheduled == Some(true);
        let number = entry.attempt.unwrap_or(0);
        let dispatched = entry.retry_reason.as_deref() != Some("not_dispatched");
        let is_record = (1..=last).contains(&number) && dispatched && recorded.insert(number);
        attempts.attributed.push(is_record);
        if is_record {
            attempts.recorded += 1;
            attempts.last_recorded |= number == last;
            let decode_leg = entry.phase.as_deref() == Some("decode") && entry.decode_iid.is_some();
            attempts.recorded_decode_legs += i64::from(decode_leg);
        }
    }
    attempts
}

/// Reads terminals back, whole.
#[derive(Debug)]
pub struct TerminalReader<'c> {
    terminal: Statement<'c>,
    failures: Statement<'c>,
}

impl<'c> TerminalReader<'c> {
    /// A reader of one database.
    ///
    /// # Errors
    /// When the tables are not what they should be.
    pub fn new(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            terminal: connection.prepare(&format!(
                "select {}, extra, run, attempt_failures
                 from terminals join runs using (run_id) where terminal_id = ?1",
                TERMINAL_COLUMNS.join(", ")
            ))?,
            failures: connection.prepare(&format!(
                "select {}, extra from attempt_failures where terminal_id = ?1 order by position",
                FAILURE_COLUMNS.join(", ")
            ))?,
        })
    }

    /// The terminal of that key, with its attempt failures.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read(&mut self, terminal_id: i64) -> Result<Terminal<'static>> {
        let (mut terminal, counted) = self.terminal.query_row([terminal_id], |row| {
            let mut terminal = load_terminal(row, 0)?;
            let behind = TERMINAL_COLUMNS.len() + 1;
            terminal.run = Some(row.get::<_, String>(behind)?.into());
            Ok((terminal, row.get::<_, Option<i64>>(behind + 1)?))
        })?;
        if counted.is_some() {
            let entries = self.failures.query_map([terminal_id], |row| load_failure(row, 0))?;
            terminal.attempt_failures = Some(entries.collect::<Result<_>>()?);
        }
        Ok(terminal)
    }
}

/// Reads a terminal back: its columns from `first`, then `extra`. Attempt failures come by
/// [`load_failure`].
fn load_terminal(from: &SqlRow<'_>, first: usize) -> Result<Terminal<'static>> {
    let mut row = load_terminal_fields(from, first)?;
    let at = first + TERMINAL_COLUMNS.len();
    let mut extra = load_object(from, at)?;
    for (name, place) in
        [("queue_waits", 0), ("admission_price", 1), ("upstream_seconds", 2), ("cache_placement", 3)]
    {
        let Some(Value::Object(unknown)) = extra.remove(name) else {
            continue;
        };
        match place {
            0 => row.queue_waits.get_or_insert_default().extra = unknown,
            1 => row.admission_price.get_or_insert_default().extra = unknown,
            2 => row.upstream_seconds.get_or_insert_default().extra = unknown,
            _ => row.cache_placement.get_or_insert_default().extra = unknown,
        }
    }
    row.extra = extra;
    row.schema = Some(SCHEMA.into());
    row.schema_version = Some(SCHEMA_VERSION);
    Ok(row)
}

/// Reads an attempt failure back: its columns from `first`, then `extra`.
fn load_failure(from: &SqlRow<'_>, first: usize) -> Result<AttemptFailure<'static>> {
    let mut row = load_failure_fields(from, first)?;
    row.extra = load_object(from, first + FAILURE_COLUMNS.len())?;
    Ok(row)
}

/// A JSON object that a column holds; none for null.
pub(super) fn load_object(from: &SqlRow<'_>, at: usize) -> Result<Object> {
    match from.get_ref(at)? {
        ValueRef::Null => Ok(Object::new()),
        cell => Object::from_cell(cell).map_err(|error| unreadable("extra", at, cell, error)),
    }
}
