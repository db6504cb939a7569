//! What a terminal's row says of its attempts: which entry of `attempt_failures` is the record of which.

use std::collections::HashSet;

use crate::journal::terminal::Terminal;

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
