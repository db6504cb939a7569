//! Which latency targets could have been promised: the least that would have held, and several side by side
//! (docs/semantics.md, "slo-frontier"; intervals as in docs/statistics.md).

use anyhow::Result;
use rusqlite::Connection;

use super::caveats;
use super::ordered::{Scope, each};
use super::scoring::{Policy, Request, Score, score};
use crate::statistics::{Batches, Least, Share};
use crate::store::slos::Slo;

const REQUESTS: &str = include_str!("../../queries/solve/requests.sql");

/// The target that is given; the other one is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given {
    /// TTFT, in seconds.
    Ttft(f64),
    /// TPOT, in seconds.
    Tpot(f64),
}

/// The least target of a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// The scope.
    pub scope: String,
    /// Requests that the policy counts.
    pub scored: u64,
    /// Those that would meet with any target at all beside the given one.
    pub reachable: u64,
    /// The least target with which as many meet as wanted; none when no target is enough.
    pub least: Option<f64>,
    /// The lower end of its interval; none where the requests are too few.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the requests are too few for a lower end, and for an upper one. An end that is missing otherwise lies
    /// among requests that no target is enough for, or that need none.
    pub too_few: [bool; 2],
    /// Completed requests whose output nobody counted, so that none of them is known to meet.
    pub unaccounted: u64,
    /// How many meet with it.
    pub met: Option<u64>,
    /// So many independent requests tell as much.
    pub independent: u64,
}

/// Finds the least target of each scope. A value of a scope takes eight bytes, and twice that while ranks are found.
///
/// # Errors
/// When the database cannot be read.
pub fn solve(
    connection: &Connection,
    scopes: &[Scope],
    given: Given,
    wanted: f64,
    policy: Policy,
) -> Result<Vec<Solved>> {
    let unaccounted = match policy {
        Policy::Router => Vec::new(),
        Policy::Journal | Policy::Offers => caveats::without_accounting_by_scope(connection)?,
    };
    let solve = |scope: &Scope| {
        let mut solved = solve_scope(connection, scope, given, wanted, policy)?;
        let own = unaccounted.iter().find(|(name, ..)| *name == scope.name);
        solved.unaccounted = own.map_or(0, |(.., completed)| completed.unsigned_abs());
        Ok(solved)
    };
    scopes.iter().map(solve).collect()
}

fn solve_scope(
    connection: &Connection,
    scope: &Scope,
    given: Given,
    wanted: f64,
    policy: Policy,
) -> Result<Solved> {
    // The least target that each request meets: none is enough for some, and any is for a null TPOT.
    let mut needs: Vec<f64> = Vec::new();
    // A target is a value that was seen.
    let mut smallest = f64::INFINITY;
    each(connection, scope, REQUESTS, |_, row| {
        let request = Request::of(row, 2)?;
        let (looked_for, held) = match given {
            Given::Tpot(tpot_s) => (request.ttft_s, request.tpot_s.is_none_or(|value| value <= tpot_s)),
            Given::Ttft(ttft_s) => (request.tpot_s, request.ttft_s.is_some_and(|value| value <= ttft_s)),
        };
        smallest = smallest.min(looked_for.unwrap_or(f64::INFINITY));
        if request.is_scored(policy) {
            let can_meet = held && request.unfit(policy).is_none();
            needs.push(if can_meet { looked_for.unwrap_or(f64::NEG_INFINITY) } else { f64::INFINITY });
        }
        Ok(())
    })?;
    let reachable = needs.iter().filter(|need| **need < f64::INFINITY).count() as u64;
    let least = Least::of(&needs, wanted);
    let mut solved = Solved {
        scope: scope.name.clone(),
        scored: needs.len() as u64,
        reachable,
        least: None,
        low: None,
        high: None,
        too_few: [false; 2],
        unaccounted: 0,
        met: None,
        independent: 0,
    };
    if let Some(found) = least {
        solved.independent = found.independent;
        solved.low = found.low;
        solved.high = found.high;
        solved.too_few = [found.low_rank, found.high_rank].map(|rank| rank.is_none());
        let value = found.value.max(smallest);
        if value.is_finite() {
            solved.least = Some(value);
            solved.met = Some(needs.iter().filter(|need| **need <= value).count() as u64);
        }
    }
    Ok(solved)
}

/// A pair of targets held against a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The scope.
    pub scope: String,
    /// TTFT target, in seconds.
    pub ttft_s: f64,
    /// TPOT target, in seconds.
    pub tpot_s: f64,
    /// The share of scored requests that meet both; none of no requests.
    pub attainment: Option<Share>,
}

/// Holds pairs of TTFT and TPOT targets against each scope, in one pass.
///
/// # Errors
/// When the database cannot be read.
pub fn try_targets(
    connection: &Connection,
    scopes: &[Scope],
    pairs: &[Slo],
    policy: Policy,
) -> Result<Vec<Tried>> {
    let mut tried = Vec::new();
    for scope in scopes {
        let mut met: Vec<Batches> = vec![Batches::new(); pairs.len()];
        each(connection, scope, REQUESTS, |_, row| {
            let request = Request::of(row, 2)?;
            for (met, targets) in met.iter_mut().zip(pairs) {
                if let Some(score) = score(request, targets, policy) {
                    met.push(score == Score::Met);
                }
            }
            Ok(())
        })?;
        for (met, Slo { ttft_s, tpot_s, .. }) in met.iter().zip(pairs) {
            let (scope, attainment) = (scope.name.clone(), Share::of(met));
            tried.push(Tried { scope, ttft_s: *ttft_s, tpot_s: *tpot_s, attainment });
        }
    }
    Ok(tried)
}
