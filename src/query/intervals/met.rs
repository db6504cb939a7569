//! What was met in a scope, by the row of the answer that it counts for. Knows no query.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use rusqlite::types::Value;

use crate::query::scoring::Score;
use crate::statistics::Batches;

/// What tells a row of a scope from the others, as one text.
pub(super) fn key<'v>(cells: impl Iterator<Item = &'v Value>) -> String {
    let mut key = String::new();
    for cell in cells {
        match cell {
            Value::Text(text) => key.push_str(text),
            Value::Integer(int) => key.push_str(&format!("{:x}", (*int as f64).to_bits())),
            Value::Real(real) => key.push_str(&format!("{:x}", real.to_bits())),
            Value::Null | Value::Blob(_) => key.push('\u{1}'),
        }
        key.push('\u{0}');
    }
    key
}

pub(super) fn text_key(texts: &[Option<&str>]) -> String {
    let cells: Vec<Value> =
        texts.iter().map(|text| text.map_or(Value::Null, |text| Value::Text(text.to_owned()))).collect();
    key(cells.iter())
}

pub(super) fn number_key(number: f64) -> String {
    key([Value::Real(number)].iter())
}

pub(super) type ByKey<T> = HashMap<String, T, FixedState>;

/// Rows of which each is of one kind.
#[derive(Default)]
pub(super) struct Kinds {
    pub(super) numbers: ByKey<u32>,
    pub(super) rows: Vec<u32>,
}

impl Kinds {
    pub(super) fn push(&mut self, key: String) {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.rows.push(*self.numbers.entry(key).or_insert(next));
    }
}

/// What was met in a scope.
#[derive(Default)]
pub(super) struct Met {
    /// Each row is of one kind; a column each of shares.
    pub(super) kinds: [Kinds; 2],
    pub(super) shares: ByKey<Batches>,
    pub(super) values: ByKey<Vec<f64>>,
    /// The targets that `slo-frontier` tried, by key.
    pub(super) tpots: Vec<(String, f64)>,
    /// By run and bucket: requests, and of the scored ones whether they met.
    pub(super) offered: HashMap<(i64, i64), u64>,
    pub(super) in_buckets: Vec<((i64, i64), bool)>,
}

impl Met {
    pub(super) fn share(&mut self, key: &str, scored: Option<Score<'_>>) {
        if let Some(score) = scored {
            self.shares.entry(key.to_owned()).or_default().push(score == Score::Met);
        }
    }

    pub(super) fn value(&mut self, key: &[Option<&str>], value: Option<f64>) {
        if let Some(value) = value {
            self.values.entry(text_key(key)).or_default().push(value);
        }
    }
}
