//! Where the extra misses of a window come from: the accounts that they go with, one by one.

use super::beyond::{Rows, Weight};
use super::window::{Account, Profiles, Window};
use super::{Difference, Share};

/// Below this many standard deviations nothing is shown.
pub const SHOWN: f64 = 1.96;
/// An account is named only from this many standard deviations on: many are tried.
const NAMED: f64 = 3.0;
/// The most accounts that are named.
const MOST_NAMED: usize = 5;
/// The fewest requests in the window of an account that is named.
pub const FEWEST_REQUESTS: u64 = 30;
/// The fewest misses of it, and extra misses.
const FEWEST_MISSES: u64 = 10;
const FEWEST_EXTRA: f64 = 10.0;
/// The least part of all extra misses that is worth a name.
const LEAST_PART: f64 = 0.1;

/// Where the extra misses come from. `Σ own + rest + mix` is `extra`; no request counts twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// E: misses beyond those expected at the baseline's miss rate.
    pub extra: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
    /// E over its standard deviation, bursts left out. Below 1.96 there is nothing to explain.
    pub z: f64,
    /// Misses of the window.
    pub misses: u64,
    /// Misses expected in the window at the baseline's miss rate.
    pub expected: f64,
    /// The extra misses of each kind, by the kind's number; their sum is `extra`.
    pub kinds: Vec<f64>,
    /// The accounts that extra misses go with, the one with the most beyond the others first.
    pub named: Vec<NamedAccount>,
    /// Extra misses of all requests that have no named account.
    pub rest: f64,
    /// Extra misses because requests moved between accounts.
    pub mix: f64,
    /// The neighbouring batches with the most extra misses.
    pub stretch: WorstStretch,
}

/// An account that extra misses go with. What was named before it is left out of its counts.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedAccount {
    /// Which one.
    pub account: Account,
    /// Its requests in the window.
    pub requests: u64,
    /// Its misses in the window.
    pub misses: u64,
    /// Its requests in the baseline.
    pub baseline_requests: u64,
    /// Its misses in the baseline.
    pub baseline_misses: u64,
    /// Misses beyond those expected at its own baseline.
    pub own: f64,
    /// x: misses beyond the other requests of the same batches.
    pub beyond: f64,
    /// The standard deviation of `beyond`, if the account made no difference.
    pub sd: f64,
    /// Others that stood out only by requests that they share with this one.
    pub also: Vec<Account>,
    /// Others that cannot be told apart from it: either one vanishes without the other's requests.
    pub tied: Vec<Account>,
}

/// Rows of the window, in neighbouring batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstStretch {
    /// The first row, counted from 0.
    pub first_row: usize,
    /// The row after its last.
    pub end_row: usize,
    /// Its misses beyond those expected at the baseline's miss rate.
    pub extra: f64,
}

/// Explains the misses of `window` beyond the miss rate of `baseline`; none if either has no rows.
///
/// `profiles` are those that the rows of both were pushed with.
pub fn explain(profiles: &Profiles, window: &Window, baseline: &Window) -> Option<Attribution> {
    let (share_w, share_b) = (window.miss_rate()?, baseline.miss_rate()?);
    let (n_w, n_b) = (window.rows() as f64, baseline.rows() as f64);
    let expected = n_w * baseline.misses() as f64 / n_b;
    let extra = window.misses() as f64 - expected;
    let z = deviations(extra, &share_w, &share_b);
    let rate_apart = Difference::of_shares(&share_b, &share_w);
    let end = |end: Option<f64>| n_w * end.expect("a share has both ends");
    let kinds = 0..window.kinds().max(baseline.kinds());
    let of_kind = |kind| window.misses_of(kind) as f64 - n_w * baseline.misses_of(kind) as f64 / n_b;

    let (named, rest) = if z >= SHOWN {
        name_accounts(Rows::new(profiles, window, baseline), extra, share_b.value)
    } else {
        (Vec::new(), extra)
    };
    Some(Attribution {
        extra,
        low: end(rate_apart.low),
        high: end(rate_apart.high),
        z,
        misses: window.misses(),
        expected,
        kinds: kinds.map(of_kind).collect(),
        mix: extra - named.iter().map(|account| account.own).sum::<f64>() - rest,
        named,
        rest,
        stretch: worst_stretch(window, &share_b),
    })
}

/// The extra misses over their standard deviation if all rows were independent.
fn deviations(extra: f64, window: &Share, baseline: &Share) -> f64 {
    let variance = |share: &Share| share.hits as f64 * share.of_the_rest().value;
    let times = window.rows as f64 / baseline.rows as f64;
    let sd = (variance(window) + times * times * variance(baseline)).sqrt();
    // Without any spread, all of one window missed and none of the other, or both are the same.
    if extra == 0.0 { 0.0 } else { extra / sd }
}

/// Names accounts until none stands out, setting the rows of each aside; and the extra misses of
/// the rows that are left.
fn name_accounts(mut rows: Rows, extra: f64, mut baseline_rate: f64) -> (Vec<NamedAccount>, f64) {
    let mut named = Vec::new();
    while named.len() < MOST_NAMED {
        let stands_out = |weight: &Weight| {
            weight.account.value != Account::UNNAMED
                && weight.requests >= FEWEST_REQUESTS
                && weight.misses >= FEWEST_MISSES
                && weight.score() >= NAMED
                && weight.beyond >= FEWEST_EXTRA.max(LEAST_PART * extra)
                && weight.own(baseline_rate) >= LEAST_PART * extra
        };
        let candidates: Vec<Weight> = rows.weigh().into_iter().filter(stands_out).collect();
        // Of equal ones the first account.
        let by_beyond = |a: &&Weight, b: &&Weight| a.beyond.total_cmp(&b.beyond);
        let Some(first) = candidates.iter().rev().max_by(by_beyond) else { break };
        let left = rows.without(first.account);
        named.push(name(first, &candidates, baseline_rate, &rows, &left));
        rows = left;
        let [_, (baseline_requests, baseline_misses)] = rows.counts();
        if baseline_requests > 0 {
            baseline_rate = baseline_misses as f64 / baseline_requests as f64;
        }
    }
    let [(requests, misses), _] = rows.counts();
    (named, misses as f64 - requests as f64 * baseline_rate)
}

/// An account with its companions among the candidates: those that fall without its rows.
fn name(first: &Weight, candidates: &[Weight], baseline_rate: f64, rows: &Rows, left: &Rows) -> NamedAccount {
    let score_in = |rows: &Rows, account| {
        rows.weigh().iter().find(|weight| weight.account == account).map_or(0.0, Weight::score)
    };
    let alone = left.weigh();
    let falls = |other: &&Weight| {
        let rest = alone.iter().find(|weight| weight.account == other.account);
        rest.map_or(0.0, Weight::score) < SHOWN
    };
    let others = candidates.iter().filter(|other| other.account != first.account);
    let companions = others.filter(falls).map(|other| other.account);
    let (tied, also) = companions.partition(|other| score_in(&rows.without(*other), first.account) < SHOWN);
    NamedAccount {
        account: first.account,
        requests: first.requests,
        misses: first.misses,
        baseline_requests: first.baseline_requests,
        baseline_misses: first.baseline_misses,
        own: first.own(baseline_rate),
        beyond: first.beyond,
        sd: first.sd,
        also,
        tied,
    }
}

/// The neighbouring batches with the largest sum of extra misses: of equal ones those that end
/// first, and the fewest.
fn worst_stretch(window: &Window, baseline: &Share) -> WorstStretch {
    // n_B times the extra misses, in whole numbers: equal sums are equal.
    let (n_b, m_b) = (i128::from(baseline.rows), i128::from(baseline.hits));
    let (mut first, mut sum) = (0, 0);
    let mut best = (i128::MIN, 0, 0);
    for (at, batch) in window.batches().iter().enumerate() {
        if sum <= 0 {
            (first, sum) = (at, 0);
        }
        sum += i128::from(batch.hits) * n_b - i128::from(batch.rows) * m_b;
        if sum > best.0 {
            best = (sum, first, at);
        }
    }
    let (most, first, last) = best;
    let extra = most as f64 / n_b as f64;
    WorstStretch { first_row: window.batch(first).start, end_row: window.batch(last).end, extra }
}

#[cfg(test)]
mod tests;
