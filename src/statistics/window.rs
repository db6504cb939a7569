//! The rows of a window as `explain` needs them: what each was met with, and whether it missed.
//!
//! Attributes, values and miss kinds are the caller's numbers. Rows that share all their accounts
//! share a profile, so a row takes four bytes.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::batches::rows_of_a_batch;
use super::{Batches, Share};

/// What extra misses may go with: one value of one attribute, as engine n2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// The attribute, numbered by the caller from 0.
    pub attribute: u32,
    /// The value, numbered by the caller within its attribute, or [`Account::UNNAMED`].
    pub value: u32,
}

impl Account {
    /// Stands for all values of an attribute that too few rows have for a name: they are compared with, never named.
    pub const UNNAMED: u32 = u32::MAX;
}

/// A set of accounts that rows have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Profile(u32);

/// The sets of accounts that were met. Both windows share one.
#[derive(Debug, Default)]
pub struct Profiles {
    numbers: HashMap<Vec<Account>, Profile, FixedState>,
    sets: Vec<Vec<Account>>,
}

impl Profiles {
    /// No sets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The profile of a row's accounts, in any order. An attribute that is null has none; it may
    /// also have several.
    ///
    /// # Panics
    /// After two thousand million different sets.
    pub fn of(&mut self, accounts: &[Account]) -> Profile {
        if let Some(known) = self.numbers.get(accounts) {
            return *known;
        }
        let mut set = accounts.to_vec();
        set.sort_unstable();
        set.dedup();
        let known = self.numbers.get(&set).copied();
        let profile = known.unwrap_or_else(|| {
            let next = u32::try_from(self.sets.len()).ok().filter(|next| *next <= u32::MAX / 2);
            let profile = Profile(next.expect("a row's number has a bit left for whether it missed"));
            self.numbers.insert(set.clone(), profile);
            self.sets.push(set);
            profile
        });
        self.numbers.insert(accounts.to_vec(), profile);
        profile
    }

    /// Whether rows of a profile have an account.
    pub fn has(&self, profile: Profile, account: Account) -> bool {
        self.sets[profile.0 as usize].binary_search(&account).is_ok()
    }

    /// Each profile's accounts, ascending, by the profile's number.
    pub(super) fn sets(&self) -> &[Vec<Account>] {
        &self.sets
    }
}

/// Scored rows in their order.
#[derive(Debug, Default)]
pub struct Window {
    /// A row's profile, doubled, and one more if it missed.
    rows: Vec<u32>,
    misses_by_kind: Vec<u64>,
}

/// Rows of one batch that share a profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) batch: usize,
    pub(super) profile: usize,
    pub(super) rows: u64,
    pub(super) misses: u64,
}

impl Window {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next row in order: its accounts, and the kind of its miss, numbered by the caller from
    /// 0 without gaps; none if it met the targets.
    pub fn push(&mut self, profile: Profile, missed: Option<usize>) {
        self.rows.push(2 * profile.0 + u32::from(missed.is_some()));
        if let Some(kind) = missed {
            if kind >= self.misses_by_kind.len() {
                self.misses_by_kind.resize(kind + 1, 0);
            }
            self.misses_by_kind[kind] += 1;
        }
    }

    /// The number N of scored rows.
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The number M of misses.
    pub fn misses(&self) -> u64 {
        self.misses_by_kind.iter().sum()
    }

    /// How many kinds were met, 0 and those below the greatest included.
    pub(super) fn kinds(&self) -> usize {
        self.misses_by_kind.len()
    }

    /// The misses of a kind.
    pub(super) fn misses_of(&self, kind: usize) -> u64 {
        self.misses_by_kind.get(kind).copied().unwrap_or(0)
    }

    /// The rows of a batch; the last one may be short.
    pub(super) fn batch(&self, batch: usize) -> Range<usize> {
        let rows_each = rows_of_a_batch(self.rows.len());
        batch * rows_each..((batch + 1) * rows_each).min(self.rows.len())
    }

    /// The misses in batches.
    pub(super) fn batches(&self) -> Batches {
        Batches::of(&self.rows, |row| row % 2 == 1)
    }

    /// The share of misses; none of no rows.
    pub fn miss_rate(&self) -> Option<Share> {
        Share::of(&self.batches())
    }

    /// The rows by batch, counted by profile.
    pub(super) fn cells(&self, profiles: &Profiles) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        // Where the cell of each profile lies, if at or after the batch's first.
        let mut place = vec![0; profiles.sets.len()];
        for (batch, rows) in self.rows.chunks(rows_of_a_batch(self.rows.len())).enumerate() {
            let first = cells.len();
            for row in rows {
                let (profile, missed) = ((row / 2) as usize, u64::from(row % 2));
                let known = place[profile];
                if known < first || cells.get(known).is_none_or(|cell| cell.profile != profile) {
                    place[profile] = cells.len();
                    cells.push(Cell { batch, profile, rows: 0, misses: 0 });
                }
                let cell = &mut cells[place[profile]];
                cell.rows += 1;
                cell.misses += missed;
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_in_any_order_and_twice_are_one_profile() {
        let [a, b] = [3, 1].map(|value| Account { attribute: 0, value });
        let mut profiles = Profiles::new();
        let first = profiles.of(&[a, b]);
        assert_eq!(profiles.of(&[b, a, b]), first);
        assert_ne!(profiles.of(&[a]), first);
        assert_eq!(profiles.sets(), [vec![b, a], vec![a]]);
    }

    #[test]
    fn cells_hold_each_row_once() {
        let mut profiles = Profiles::new();
        let mut window = Window::new();
        for i in 0..1000_u32 {
            let profile = profiles.of(&[Account { attribute: 0, value: i % 7 }]);
            window.push(profile, (i % 10 == 0).then_some(i as usize % 3));
        }
        let cells = window.cells(&profiles);
        assert_eq!(cells.iter().map(|cell| cell.rows).sum::<u64>(), 1000);
        assert_eq!(cells.iter().map(|cell| cell.misses).sum::<u64>(), 100);
        assert_eq!((window.rows(), window.misses()), (1000, 100));
        for (batch, counted) in window.batches().iter().enumerate() {
            let own: Vec<&Cell> = cells.iter().filter(|cell| cell.batch == batch).collect();
            assert_eq!(own.len(), 7.min(counted.rows as usize));
            assert_eq!(own.iter().map(|cell| cell.misses).sum::<u64>(), counted.hits);
            assert_eq!(window.batch(batch).len() as u64, counted.rows);
        }
    }
}
