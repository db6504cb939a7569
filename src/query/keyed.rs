//! SQL functions that gather values apart for each key, for the tool's own statements: it saves sorting rows into groups.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::functions::{PERCENTS, keep, user_error, write_ranks};

/// Adds the functions to a connection:
///
/// - `ranks_by(key, x)`: as `ranks(x, 0)`, apart for each text `key`, to be read by `keys_of(ranks)`, a JSON array, and
///   `rank_at(ranks, place in it, percent)`; `percent` 0 is how many values there are. `counts_by(key, n)` only adds up n
///   for each key, to be read in the same way.
/// - `ranks_by_length(len, x)` and `counts_by_length(len, n)`: the same by the band that a length lies in. The key is where
///   the band begins, in digits: 0, or the largest power of two that is not above the length.
///
/// # Errors
/// When SQLite refuses.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("ranks_by", 2, flags, RanksBy(Key::Text))?;
    connection.create_aggregate_function("counts_by", 2, flags, CountsBy(Key::Text))?;
    connection.create_aggregate_function("ranks_by_length", 2, flags, RanksBy(Key::Length))?;
    connection.create_aggregate_function("counts_by_length", 2, flags, CountsBy(Key::Length))?;
    connection.create_scalar_function("keys_of", 1, flags, |context| {
        let ValueRef::Blob(ranks) = context.get_raw(0) else { return Ok(None) };
        let keys = ranks.get(..8).and_then(|len| <[u8; 8]>::try_from(len).ok()).map(u64::from_le_bytes);
        let keys = keys.and_then(|len| ranks.get(8..8 + usize::try_from(len).ok()?));
        Ok(keys.and_then(|keys| std::str::from_utf8(keys).ok()).map(str::to_owned))
    })?;
    connection.create_scalar_function("rank_at", 3, flags, |context| {
        let ValueRef::Blob(ranks) = context.get_raw(0) else { return Ok(Value::Null) };
        let (at, percent): (usize, usize) = (context.get(1)?, context.get(2)?);
        Ok(rank_at(ranks, at, percent).unwrap_or(Value::Null))
    })
}

/// Values by key. Most rows have the key of a row before.
#[derive(Default)]
struct ByKey {
    at: BTreeMap<Vec<u8>, usize>,
    values: Vec<Vec<f64>>,
}

impl ByKey {
    fn push(&mut self, key: &[u8], value: f64) {
        let at = match self.at.get(key) {
            Some(at) => *at,
            None => {
                self.at.insert(key.to_vec(), self.values.len());
                self.values.push(Vec::new());
                self.values.len() - 1
            }
        };
        keep(&mut self.values[at], value);
    }
}

/// What rows are told apart by: their first argument.
#[derive(Clone, Copy)]
enum Key {
    Text,
    /// A whole number, by the band that it lies in.
    Length,
}

impl Key {
    /// Gives the key to `take`; a row without one is left out.
    #[inline]
    fn of(self, context: &Context<'_>, take: impl FnOnce(&[u8])) {
        match (self, context.get_raw(0)) {
            (Self::Text, ValueRef::Text(key)) => take(key),
            (Self::Length, ValueRef::Integer(length)) => take(band(length)),
            _ => {}
        }
    }
}

/// Where the band of a length begins, in digits.
fn band(length: i64) -> &'static [u8] {
    static BANDS: LazyLock<[String; 64]> = LazyLock::new(|| {
        std::array::from_fn(|at| if at == 0 { "0".to_owned() } else { (1_u64 << (at - 1)).to_string() })
    });
    let at = if length < 1 { 0 } else { 1 + length.ilog2() as usize };
    BANDS[at].as_bytes()
}

struct RanksBy(Key);

impl Aggregate<ByKey, Option<Vec<u8>>> for RanksBy {
    fn init(&self, _: &mut Context<'_>) -> Result<ByKey> {
        Ok(ByKey::default())
    }

    fn step(&self, context: &mut Context<'_>, by_key: &mut ByKey) -> Result<()> {
        let value = match context.get_raw(1) {
            ValueRef::Real(real) => real,
            ValueRef::Integer(int) => int as f64,
            _ => return Ok(()),
        };
        self.0.of(context, |key| by_key.push(key, value));
        Ok(())
    }

    /// The length of the JSON array of the keys, that array, and for each key the count and [`PERCENTS`].
    fn finalize(&self, _: &mut Context<'_>, by_key: Option<ByKey>) -> Result<Option<Vec<u8>>> {
        let Some(mut by_key) = by_key.filter(|by_key| !by_key.at.is_empty()) else { return Ok(None) };
        let mut ranks = keys_in_front(by_key.at.keys())?;
        for at in by_key.at.values() {
            let values = &mut by_key.values[*at];
            ranks.extend((values.len() as u64).to_le_bytes());
            write_ranks(values, 0, &mut ranks);
        }
        Ok(Some(ranks))
    }
}

struct CountsBy(Key);

impl Aggregate<BTreeMap<Vec<u8>, i64>, Option<Vec<u8>>> for CountsBy {
    fn init(&self, _: &mut Context<'_>) -> Result<BTreeMap<Vec<u8>, i64>> {
        Ok(BTreeMap::new())
    }

    fn step(&self, context: &mut Context<'_>, counts: &mut BTreeMap<Vec<u8>, i64>) -> Result<()> {
        let ValueRef::Integer(n) = context.get_raw(1) else { return Ok(()) };
        self.0.of(context, |key| match counts.get_mut(key) {
            Some(count) => *count += n,
            None => drop(counts.insert(key.to_vec(), n)),
        });
        Ok(())
    }

    /// As [`RanksBy`] gives it, with counts and no value.
    fn finalize(
        &self,
        _: &mut Context<'_>,
        counts: Option<BTreeMap<Vec<u8>, i64>>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(counts) = counts.filter(|counts| !counts.is_empty()) else { return Ok(None) };
        let mut written = keys_in_front(counts.keys())?;
        for count in counts.values() {
            written.extend(count.to_le_bytes());
            write_ranks(&mut [], 0, &mut written);
        }
        Ok(Some(written))
    }
}

/// The length of the JSON array of the keys, and that array.
fn keys_in_front<'k>(keys: impl Iterator<Item = &'k Vec<u8>>) -> Result<Vec<u8>> {
    let keys: Vec<_> = keys.map(|key| String::from_utf8_lossy(key)).collect();
    let keys = serde_json::to_string(&keys).map_err(|error| user_error(error.to_string()))?;
    let mut written = (keys.len() as u64).to_le_bytes().to_vec();
    written.extend(keys.as_bytes());
    Ok(written)
}

/// What `rank_at` reads of what `ranks_by` gives.
fn rank_at(ranks: &[u8], at: usize, percent: usize) -> Option<Value> {
    let word = |from: usize| ranks.get(from..from + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    let keys = usize::try_from(u64::from_le_bytes(word(0)?)).ok()?;
    let first = 8 + keys + at * 8 * (1 + PERCENTS.len());
    if percent == 0 {
        return Some(Value::Integer(i64::from_le_bytes(word(first)?)));
    }
    let place = PERCENTS.iter().position(|known| *known == percent)?;
    Some(Value::Real(f64::from_le_bytes(word(first + 8 + place * 8)?)))
}
