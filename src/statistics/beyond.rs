//! How many misses an account has beyond the other requests of its batches.
//!
//! Bursts cancel: whatever made a batch bad did so for all of it.

use std::collections::HashMap;

use super::window::{Account, Cell, Profiles, Window};

/// Of a value seldom seen in the baseline, so many rows are taken to miss at the common rate.
pub(super) const PRIOR_ROWS: f64 = 20.0;

/// The rows of both windows that were not yet set aside.
pub(super) struct Rows {
    /// All accounts, ascending.
    accounts: Vec<Account>,
    /// Each profile's accounts, as places in `accounts`.
    sets: Vec<Vec<usize>>,
    window: Vec<Cell>,
    baseline: Vec<Cell>,
}

/// What one account shows in both windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weight {
    pub(super) account: Account,
    /// Rows and misses of the window.
    pub(super) requests: u64,
    pub(super) misses: u64,
    /// Rows and misses of the baseline.
    pub(super) baseline_requests: u64,
    pub(super) baseline_misses: u64,
    /// x: misses beyond the others of its batches, less what it had beyond them in the baseline.
    pub(super) beyond: f64,
    /// The standard deviation of x if the account made no difference.
    pub(super) sd: f64,
}

/// Sums over the batches of one window.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    rows: u64,
    misses: u64,
    /// A and V of the definitions.
    beyond: f64,
    variance: f64,
}

/// Rows and misses of one batch.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    rows: u64,
    misses: u64,
}

impl Count {
    fn add(&mut self, cell: &Cell) {
        self.rows += cell.rows;
        self.misses += cell.misses;
    }
}

impl Rows {
    /// All rows of both windows.
    pub(super) fn new(profiles: &Profiles, window: &Window, baseline: &Window) -> Self {
        let mut accounts: Vec<Account> = profiles.sets().iter().flatten().copied().collect();
        accounts.sort_unstable();
        accounts.dedup();
        let places: HashMap<Account, usize> =
            accounts.iter().enumerate().map(|(at, account)| (*account, at)).collect();
        let place = |account: &Account| places[account];
        let sets = profiles.sets().iter().map(|set| set.iter().map(place).collect()).collect();
        Self { accounts, sets, window: window.cells(profiles), baseline: baseline.cells(profiles) }
    }

    /// The rows that do not have the account. They keep their batches.
    pub(super) fn without(&self, account: Account) -> Self {
        let place = self.accounts.binary_search(&account).ok();
        let keep = |cell: &&Cell| !self.sets[cell.profile].iter().any(|own| Some(*own) == place);
        Self {
            accounts: self.accounts.clone(),
            sets: self.sets.clone(),
            window: self.window.iter().filter(keep).copied().collect(),
            baseline: self.baseline.iter().filter(keep).copied().collect(),
        }
    }

    /// Rows and misses of the window, then of the baseline.
    pub(super) fn counts(&self) -> [(u64, u64); 2] {
        [&self.window, &self.baseline].map(|cells| {
            let sum = |of: fn(&Cell) -> u64| cells.iter().map(of).sum();
            (sum(|cell| cell.rows), sum(|cell| cell.misses))
        })
    }

    /// What each account shows, ascending by account.
    pub(super) fn weigh(&self) -> Vec<Weight> {
        let (window, baseline) = (self.sums(&self.window), self.sums(&self.baseline));
        let both = window.into_iter().zip(baseline);
        self.accounts.iter().zip(both).map(|(account, (w, b))| Weight::new(*account, &w, &b)).collect()
    }

    /// The sums of each account, by its place.
    fn sums(&self, cells: &[Cell]) -> Vec<Sums> {
        let attributes = self.accounts.iter().map(|account| account.attribute);
        let attributes = attributes.max().map_or(0, |last| last as usize + 1);
        let mut sums = vec![Sums::default(); self.accounts.len()];
        let mut own = vec![Count::default(); self.accounts.len()];
        let mut all = vec![Count::default(); attributes];
        for batch in cells.chunk_by(|before, cell| before.batch == cell.batch) {
            let mut seen: Vec<usize> = Vec::new();
            all.fill(Count::default());
            for cell in batch {
                // A row with several values of an attribute is one row of the attribute.
                let mut counted = None;
                for place in &self.sets[cell.profile] {
                    let attribute = self.accounts[*place].attribute;
                    if counted.replace(attribute) != Some(attribute) {
                        all[attribute as usize].add(cell);
                    }
                    if own[*place].rows == 0 {
                        seen.push(*place);
                    }
                    own[*place].add(cell);
                }
            }
            for place in seen {
                let attribute = self.accounts[place].attribute as usize;
                sums[place].add(std::mem::take(&mut own[place]), all[attribute]);
            }
        }
        sums
    }
}

impl Sums {
    /// A batch in which the account has `own` of all the attribute's rows.
    fn add(&mut self, own: Count, all: Count) {
        self.rows += own.rows;
        self.misses += own.misses;
        let [n, s, n_v, s_v] = [all.rows, all.misses, own.rows, own.misses].map(|count| count as f64);
        self.beyond += s_v - n_v * s / n;
        if all.rows > 1 {
            self.variance += n_v * (n - n_v) * s * (n - s) / (n * n * (n - 1.0));
        }
    }
}

impl Weight {
    fn new(account: Account, window: &Sums, baseline: &Sums) -> Self {
        let f = window.rows as f64 / (baseline.rows as f64 + PRIOR_ROWS);
        Self {
            account,
            requests: window.rows,
            misses: window.misses,
            baseline_requests: baseline.rows,
            baseline_misses: baseline.misses,
            beyond: window.beyond - f * baseline.beyond,
            sd: (window.variance + f * f * baseline.variance).sqrt(),
        }
    }

    /// x / sd. Without a spread there is nothing to compare with, and x is 0 too.
    pub(super) fn score(&self) -> f64 {
        if self.sd > 0.0 { self.beyond / self.sd } else { 0.0 }
    }

    /// Its misses beyond those expected at its own baseline; few rows there lean on the common rate.
    pub(super) fn own(&self, baseline_rate: f64) -> f64 {
        let misses = self.baseline_misses as f64 + PRIOR_ROWS * baseline_rate;
        self.misses as f64 - self.requests as f64 * misses / (self.baseline_requests as f64 + PRIOR_ROWS)
    }
}
