//! What a request's miss may go with: the values that it has of each attribute (docs/statistics.md, "Explain").

use std::collections::HashMap;

use anyhow::Result;
use foldhash::fast::FixedState;
use rusqlite::{CachedStatement, Connection, Row, named_params};

use super::outages::Outages;
use crate::query::ordered::{Part, Scope, each};
use crate::statistics::{Account, FEWEST_REQUESTS};

/// What requests are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    PrefillEngine,
    DecodeEngine,
    PromptSize,
    Retried,
    Crossed,
    Outage,
    ClientPrefix,
}

impl Attribute {
    const ALL: [Self; 7] = [
        Self::PrefillEngine,
        Self::DecodeEngine,
        Self::PromptSize,
        Self::Retried,
        Self::Crossed,
        Self::Outage,
        Self::ClientPrefix,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::PrefillEngine => "prefill engine",
            Self::DecodeEngine => "decode engine",
            Self::PromptSize => "prompt size",
            Self::Retried => "retried",
            Self::Crossed => "crossed",
            Self::Outage => "outage",
            Self::ClientPrefix => "client prefix",
        }
    }
}

/// Words by number, and back.
#[derive(Debug, Default)]
pub(super) struct Words {
    numbers: HashMap<String, u32, FixedState>,
    words: Vec<String>,
}

impl Words {
    /// The number of a word, from 0 in the order that they are met.
    pub(super) fn number(&mut self, word: &str) -> u32 {
        if let Some(known) = self.numbers.get(word) {
            return *known;
        }
        let number = self.words.len() as u32;
        self.numbers.insert(word.to_owned(), number);
        self.words.push(word.to_owned());
        number
    }

    fn known(&self, word: &str) -> Option<u32> {
        self.numbers.get(word).copied()
    }

    /// The words by their numbers.
    pub(super) fn all(&self) -> &[String] {
        &self.words
    }
}

/// The bits of `marks` in `requests.sql`: one column is read faster than three.
const IS_RETRIED: i64 = 1;
const HAS_FAILED_ATTEMPTS: i64 = 2;
const KNOWS_CROSSED: i64 = 4;
const IS_CROSSED: i64 = 8;

/// The column of `terminal_id` in `requests.sql`.
pub(super) const TERMINAL_ID: usize = 12;

/// With more prefixes than this, those that few requests have are told from the others first: client ids may be
/// random, and a prefix for every request would fill the memory.
const MANY_PREFIXES: usize = 10_000;

/// There are more than [`MANY_PREFIXES`].
#[derive(Debug)]
pub(super) struct TooManyPrefixes;

impl std::fmt::Display for TooManyPrefixes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too many client prefixes to keep them all")
    }
}

impl std::error::Error for TooManyPrefixes {}

/// Finds the accounts of requests.
pub(super) struct Accounts<'c> {
    attempts: CachedStatement<'c>,
    outages: Outages,
    engines: [Words; 2],
    prefixes: Words,
    frequent: Option<Frequent>,
    /// Whether prefixes not met yet are taken as rare.
    is_closed: bool,
    found: Vec<Account>,
}

impl<'c> Accounts<'c> {
    /// Of the connection's requests.
    pub(super) fn new(connection: &'c Connection, outages: Outages) -> Result<Self> {
        let attempts = connection.prepare_cached(include_str!("../../../queries/explain/attempts.sql"))?;
        Ok(Self {
            attempts,
            outages,
            engines: Default::default(),
            prefixes: Words::default(),
            frequent: None,
            is_closed: false,
            found: Vec::new(),
        })
    }

    /// Keeps apart only prefixes that enough requests of the scope may have.
    pub(super) fn keep_frequent(&mut self, connection: &Connection, window: &Scope) -> Result<()> {
        self.frequent = Some(Frequent::of(connection, window)?);
        self.prefixes = Words::default();
        Ok(())
    }

    /// From now on prefixes not met yet share one account: no request of the window has them, so none is named.
    pub(super) fn close_prefixes(&mut self) {
        self.is_closed = true;
    }

    /// The accounts of a row of `requests.sql`.
    ///
    /// # Errors
    /// [`TooManyPrefixes`], and when the database cannot be read.
    pub(super) fn of(&mut self, part: &Part, row: &Row<'_>) -> Result<&[Account]> {
        self.found.clear();
        let lived = {
            let from_s = row.get::<_, f64>(0)? - part.span.map_or(0.0, |(first_s, _)| first_s);
            (from_s, from_s + row.get::<_, Option<f64>>(6)?.unwrap_or(0.0))
        };
        self.take_engines(part.run_id, row, [10, 11], lived)?;
        let marks: i64 = row.get(8)?;
        if marks & HAS_FAILED_ATTEMPTS != 0 {
            self.take_failed_attempts(part.run_id, row, lived)?;
        }
        if let Some(input_len) = row.get::<_, Option<i64>>(7)? {
            self.add(Attribute::PromptSize, band(input_len));
        }
        self.add(Attribute::Retried, (marks & IS_RETRIED != 0).into());
        if marks & KNOWS_CROSSED != 0 {
            self.add(Attribute::Crossed, (marks & IS_CROSSED != 0).into());
        }
        if let Some(prefix) = row.get_ref(9)?.as_str_or_null()?.and_then(prefix) {
            let value = self.prefix_value(prefix)?;
            self.add(Attribute::ClientPrefix, value);
        }
        Ok(&self.found)
    }

    fn take_failed_attempts(&mut self, run_id: i64, request: &Row<'_>, lived: (f64, f64)) -> Result<()> {
        let terminal_id: i64 = request.get(TERMINAL_ID)?;
        let mut engines: Vec<[Option<String>; 2]> = Vec::new();
        let mut rows = self.attempts.query(named_params! { ":terminal_id": terminal_id })?;
        while let Some(row) = rows.next()? {
            engines.push([row.get(0)?, row.get(1)?]);
        }
        drop(rows);
        for of_attempt in &engines {
            for (leg, engine) in of_attempt.iter().enumerate() {
                if let Some(engine) = engine {
                    self.take_engine(run_id, leg, engine, lived);
                }
            }
        }
        Ok(())
    }

    fn take_engines(
        &mut self,
        run_id: i64,
        row: &Row<'_>,
        columns: [usize; 2],
        lived: (f64, f64),
    ) -> Result<()> {
        for (leg, column) in columns.into_iter().enumerate() {
            if let Some(engine) = row.get_ref(column)?.as_str_or_null()? {
                self.take_engine(run_id, leg, engine, lived);
            }
        }
        Ok(())
    }

    fn take_engine(&mut self, run_id: i64, leg: usize, engine: &str, lived: (f64, f64)) {
        let value = self.engines[leg].number(engine);
        let attribute = [Attribute::PrefillEngine, Attribute::DecodeEngine][leg];
        self.found.push(Account { attribute: attribute as u32, value });
        for value in self.outages.of(run_id, engine, lived) {
            self.found.push(Account { attribute: Attribute::Outage as u32, value });
        }
    }

    fn add(&mut self, attribute: Attribute, value: u32) {
        self.found.push(Account { attribute: attribute as u32, value });
    }

    fn prefix_value(&mut self, prefix: &str) -> Result<u32> {
        if let Some(known) = self.prefixes.known(prefix) {
            return Ok(known);
        }
        if self.is_closed || self.frequent.as_ref().is_some_and(|frequent| !frequent.may_have(prefix)) {
            return Ok(Account::UNNAMED);
        }
        if self.frequent.is_none() && self.prefixes.all().len() >= MANY_PREFIXES {
            return Err(TooManyPrefixes.into());
        }
        Ok(self.prefixes.number(prefix))
    }

    /// What an account is called: its attribute, its value.
    pub(super) fn name(&self, account: Account) -> (&'static str, String) {
        let attribute = Attribute::ALL[account.attribute as usize];
        let value = account.value as usize;
        let word = match attribute {
            Attribute::PrefillEngine => self.engines[0].all()[value].clone(),
            Attribute::DecodeEngine => self.engines[1].all()[value].clone(),
            Attribute::PromptSize => band_name(account.value),
            Attribute::Retried | Attribute::Crossed => if value == 1 { "yes" } else { "no" }.to_owned(),
            Attribute::Outage => self.outages.word(value).to_owned(),
            Attribute::ClientPrefix => self.prefixes.all()[value].clone(),
        };
        (attribute.name(), word)
    }
}

/// The band of a prompt's length, by powers of two as in `prompt-sizes`: 0 for none, k for less than 2^k.
fn band(input_len: i64) -> u32 {
    i64::BITS - input_len.max(0).leading_zeros()
}

/// The least and the greatest length of a band.
fn band_name(band: u32) -> String {
    match band {
        0 => "0".to_owned(),
        1 => "1".to_owned(),
        band => format!("{}-{}", 1_u64 << (band - 1), (1_u64 << band) - 1),
    }
}

/// A client id up to its first separator; none when it has no separator.
fn prefix(client_rid: &str) -> Option<&str> {
    client_rid.split_once(['-', '_', '/', ':', '.']).map(|(prefix, _)| prefix)
}

/// Which prefixes enough requests of a window may have to be named. It takes a byte for each of its slots, however
/// many prefixes there are: those that share a slot are counted together.
struct Frequent {
    counts: Vec<u8>,
}

impl Frequent {
    const SLOTS: usize = 1 << 22;

    fn of(connection: &Connection, window: &Scope) -> Result<Self> {
        let mut frequent = Self { counts: vec![0; Self::SLOTS] };
        // Of any order one will do: run after run needs no merging.
        let scope = Scope { order: crate::query::ordered::Order::RunAfterRun, ..window.clone() };
        each(connection, &scope, include_str!("../../../queries/explain/clients.sql"), |_, row| {
            if let Some(prefix) = prefix(row.get_ref(0)?.as_str()?) {
                let count = &mut frequent.counts[Self::slot(prefix)];
                *count = count.saturating_add(1);
            }
            Ok(())
        })?;
        Ok(frequent)
    }

    fn may_have(&self, prefix: &str) -> bool {
        u64::from(self.counts[Self::slot(prefix)]) >= FEWEST_REQUESTS
    }

    fn slot(prefix: &str) -> usize {
        xxhash_rust::xxh3::xxh3_64(prefix.as_bytes()) as usize % Self::SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_go_by_powers_of_two() {
        for (len, name) in [(0, "0"), (1, "1"), (2, "2-3"), (3, "2-3"), (4, "4-7"), (1024, "1024-2047")] {
            assert_eq!(band_name(band(len)), name, "{len}");
        }
        assert_eq!(band_name(band(i64::MAX)), "4611686018427387904-9223372036854775807");
    }

    #[test]
    fn a_prefix_ends_before_the_first_separator() {
        for (client, found) in [
            ("batch-7", Some("batch")),
            ("a_b-c", Some("a")),
            ("team/app:1", Some("team")),
            ("x.y", Some("x")),
            ("-7", Some("")),
            ("plain", None),
            ("", None),
        ] {
            assert_eq!(prefix(client), found, "{client}");
        }
    }
}
