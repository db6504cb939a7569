//! Reads the scored rows of both windows.

use anyhow::Result;
use rusqlite::Connection;

use super::Side;
use super::accounts::{Accounts, TERMINAL_ID, TooManyPrefixes, Words};
use super::outages::Outages;
use super::places::{Place, Places};
use crate::query::ordered::{Scope, each};
use crate::query::scoring::{Policy, Request, Score, score};
use crate::statistics::{Profile, Profiles, Share, Window};
use crate::store::slos::Slo;
use crate::text::wall_time;

/// So many requests are named for a look at them.
const TYPICAL: usize = 3;

const REQUESTS: &str = include_str!("../../../queries/explain/requests.sql");

/// The rows of both windows.
pub(super) struct Read<'c> {
    pub(super) profiles: Profiles,
    pub(super) accounts: Accounts<'c>,
    pub(super) kinds: Words,
    pub(super) window: ReadSide,
    pub(super) baseline: ReadSide,
}

/// The scored rows of one window.
pub(super) struct ReadSide {
    pub(super) rows: Window,
    pub(super) places: Places,
    pub(super) misses: Misses,
    /// The first and the last moment, in wall time.
    pub(super) wall: Option<(f64, f64)>,
    pub(super) runs: usize,
}

/// A missed request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Miss {
    /// Its row in the window, from 0.
    pub(super) row: usize,
    pub(super) profile: Profile,
    /// Infinite when it has none.
    pub(super) ttft_s: f64,
    pub(super) terminal_id: i64,
}

/// Missed requests to choose typical ones from: all of them, or when there are many, every second, every fourth...
pub(super) struct Misses {
    pub(super) every: usize,
    pub(super) seen: usize,
    pub(super) kept: Vec<Miss>,
}

impl Misses {
    const MOST: usize = 1 << 16;

    fn new() -> Self {
        Self { every: 1, seen: 0, kept: Vec::new() }
    }

    fn push(&mut self, miss: Miss) {
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == Self::MOST {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.kept.push(miss);
            }
        }
        self.seen += 1;
    }
}

impl ReadSide {
    /// The side, in the words of the answer.
    pub(super) fn in_words(&self, miss_rate: &Share) -> Side {
        let met = miss_rate.of_the_rest();
        Side {
            from: self.wall.and_then(|(from, _)| wall_time(from)),
            to: self.wall.and_then(|(_, to)| wall_time(to)),
            runs: self.runs,
            scored: met.rows,
            attainment: met.value,
            attainment_low: met.low,
            attainment_high: met.high,
            independent: met.independent(),
            rests_on: met.is_thin().then(|| met.rests_on()),
        }
    }
}

/// Reads both windows, the first of them for what is frequent, when prefixes are too many.
pub(super) fn read<'c>(
    connection: &'c Connection,
    [window, baseline]: [&Scope; 2],
    outages: Outages,
    targets: &Slo,
    policy: Policy,
) -> Result<Read<'c>> {
    let mut accounts = Accounts::new(connection, outages)?;
    let (mut profiles, mut kinds) = (Profiles::new(), Words::default());
    let mut side =
        |scope: &Scope, accounts: &mut Accounts<'_>, profiles: &mut Profiles| -> Result<ReadSide> {
            let mut side = ReadSide {
                rows: Window::new(),
                places: Places::new(),
                misses: Misses::new(),
                wall: None,
                runs: 0,
            };
            each(connection, scope, REQUESTS, |part, row| {
                let request = Request::of(row, 2)?;
                let miss = match score(request, targets, policy) {
                    None => return Ok(()),
                    Some(Score::Met) => None,
                    Some(Score::Missed(kind)) => Some(kinds.number(kind) as usize),
                };
                let profile = profiles.of(accounts.of(part, row)?);
                if miss.is_some() {
                    let row_number = side.rows.rows() as usize;
                    let ttft_s = request.ttft_s.unwrap_or(f64::INFINITY);
                    side.misses.push(Miss {
                        row: row_number,
                        profile,
                        ttft_s,
                        terminal_id: row.get(TERMINAL_ID)?,
                    });
                }
                side.rows.push(profile, miss);
                let place = Place::of(part, row.get(0)?);
                side.places.push(place);
                if let Some(wall_s) = place.wall_s {
                    let (from, to) = side.wall.unwrap_or((wall_s, wall_s));
                    side.wall = Some((from.min(wall_s), to.max(wall_s)));
                }
                Ok(())
            })?;
            let mut runs: Vec<i64> = scope.parts.iter().map(|part| part.run_id).collect();
            runs.sort_unstable();
            runs.dedup();
            side.runs = runs.len();
            Ok(side)
        };
    let window = match side(window, &mut accounts, &mut profiles) {
        Err(error) if error.is::<TooManyPrefixes>() => {
            accounts.keep_frequent(connection, window)?;
            profiles = Profiles::new();
            side(window, &mut accounts, &mut profiles)?
        }
        read => read?,
    };
    accounts.close_prefixes();
    let baseline = side(baseline, &mut accounts, &mut profiles)?;
    Ok(Read { profiles, accounts, kinds, window, baseline })
}

/// The requests, of those that missed, whose TTFT is nearest the median of all of them.
pub(super) fn typical(connection: &Connection, mut missed: Vec<Miss>) -> Result<Vec<String>> {
    missed.sort_unstable_by(|one, other| one.ttft_s.total_cmp(&other.ttft_s).then(one.row.cmp(&other.row)));
    // A request without a TTFT stands after all that have one.
    let measured = missed.partition_point(|miss| miss.ttft_s.is_finite());
    if let Some(middle) = measured.checked_sub(1).map(|last| missed[last / 2].ttft_s) {
        missed.sort_unstable_by(|one, other| {
            let away = |miss: &Miss| (miss.ttft_s - middle).abs();
            away(one).total_cmp(&away(other)).then(one.row.cmp(&other.row))
        });
    }
    let mut rid = connection.prepare("select rid from terminals where terminal_id = ?1")?;
    let typical = missed.iter().take(TYPICAL);
    typical.map(|miss| Ok(rid.query_row([miss.terminal_id], |row| row.get(0))?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_misses_some_are_kept_from_all_over() {
        let (mut profiles, mut misses) = (Profiles::new(), Misses::new());
        let profile = profiles.of(&[]);
        for row in 0..300_000 {
            misses.push(Miss { row, profile, ttft_s: 0.0, terminal_id: 0 });
        }
        assert!(misses.kept.len() <= Misses::MOST && misses.kept.len() > Misses::MOST / 2);
        assert!(misses.kept.iter().enumerate().all(|(at, miss)| miss.row == at * misses.every));
    }
}
