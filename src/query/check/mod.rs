//! Whether what was selected keeps what was asked of it, for scripts and alerts (docs/statistics.md, (d)).
//!
//! The measured value decides, because it is exact for the past; with [`Asked::is_confident`] its interval does.

mod asked;
mod burn;
mod judge;
mod silent;

use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::Connection;

pub use self::asked::{Asked, Burn, Checked, Figure, Finding, Limit, Outcome, Verdict};
pub use self::judge::age_in_words;

use self::burn::burn_findings;
use self::judge::Judge;
use super::answer::ask;
use super::caveats;
use super::figures::{self, Gathered};
use super::ordered;
use super::scoring::Policy;
use crate::selection::Selection;
use crate::statistics::{Judgement, Measured, Percentile, Share};
use crate::text::short;

/// Holds each scope of the connection's selection against limits. The selection may be another one afterwards.
///
/// # Errors
/// When the database cannot be read.
pub fn check(connection: &mut Connection, selection: &Selection, asked: &Asked) -> Result<Checked> {
    selection.install(connection)?;
    let scopes = ordered::scopes(connection)?;
    let ages = ages(connection, asked)?;
    let age_s = ages.values().copied().flatten().reduce(f64::min);
    let age_of = |scope: &str| if asked.is_age_of_all { age_s } else { ages.get(scope).copied().flatten() };
    let mut notes = ordered::notes(&scopes);
    let mut of_limit: Vec<Vec<Finding>> = vec![Vec::new(); asked.limits.len() + 1];
    let is_gathered = |limit: &Limit| limit.figure != Figure::Rate;
    let asks_attainment = asked.limits.iter().any(|limit| limit.figure == Figure::Attainment);
    let is_of_legs = |limit: &Limit| matches!(limit.figure, Figure::FailureRate | Figure::EngineFailureRate);
    let asks_legs = asked.limits.iter().any(is_of_legs);
    let is_asked = |metric: usize| {
        asked.limits.iter().any(|limit| matches!(limit.figure, Figure::Percentile(own, _) if own == metric))
    };
    let metrics = [0, 1, 2, 3, 4, 5].map(is_asked);
    let unaccounted = if asked.is_confident && asks_attainment {
        unaccounted(connection, asked.policy)?
    } else {
        Vec::new()
    };
    for scope in scopes.iter().filter(|_| asked.limits.iter().any(is_gathered)) {
        let targets = asked.targets.as_ref().filter(|_| asks_attainment);
        let gathered = if asks_legs {
            figures::gather(connection, scope, targets, asked.policy)?
        } else {
            figures::gather_narrow(connection, scope, targets, asked.policy, metrics)?
        };
        let is_confident = asked.is_confident;
        let requests = gathered.requests();
        let judge = Judge { scope, requests, age_s: age_of(&scope.name), is_confident, asked };
        for (limit, findings) in
            asked.limits.iter().zip(&mut of_limit).filter(|(limit, _)| is_gathered(limit))
        {
            let (measured, n, what) = measure(&gathered, limit, asked.is_confident);
            let mut finding = judge.finding(limit.figure.name(), limit.bound, measured, n, what);
            if limit.figure == Figure::Attainment && unaccounted.contains(&scope.name) {
                finding.leave_open("token accounting is unavailable: whether all of them met is not known");
            }
            findings.push(finding);
        }
    }
    if asks_attainment || asked.burn.is_some() {
        notes.extend(caveats::unavailable_accounting(connection, asked.policy)?);
    }
    if let Some(place) = asked.limits.iter().position(|limit| limit.figure == Figure::Rate) {
        let answer = ask(connection, "rates", selection, |_| None)?;
        for row in answer.rows() {
            let name = row.text("scope");
            let Some(scope) = scopes.iter().find(|scope| scope.name == name) else { continue };
            let requests = row.int("offered").unsigned_abs();
            // It was counted, and has no interval.
            let judge = Judge { scope, requests, age_s: age_of(&name), is_confident: false, asked };
            let measured = row.real("offered_per_s").map(|value| Measured { value, low: None, high: None });
            let what = match row.real("span_s") {
                Some(span_s) => format!("{requests} requests in {} s", short(span_s)),
                None => "no request".to_owned(),
            };
            let limit = asked.limits[place];
            of_limit[place].push(judge.finding(limit.figure.name(), limit.bound, measured, requests, what));
        }
    }
    if let Some(burn) = &asked.burn {
        let found = burn_findings(connection, &scopes, burn, asked, age_of)?;
        of_limit[asked.limits.len()].extend(found);
    }
    for (place, findings) in of_limit.iter_mut().enumerate() {
        let bound = match asked.limits.get(place) {
            Some(limit) => Some((limit.figure.name(), limit.bound)),
            None => asked.burn.as_ref().map(|burn| (burn.limit_name(), burn.bound())),
        };
        if let Some((limit, bound)) = bound {
            findings.extend(silent::findings(&selection.silent, &limit, bound, asked.now_s));
        }
    }
    Ok(Checked { findings: of_limit.concat(), age_s, notes })
}

/// A figure of a scope, how much it is of, and that in words.
fn measure(gathered: &Gathered, limit: &Limit, is_confident: bool) -> (Option<Measured>, u64, String) {
    match limit.figure {
        Figure::Attainment => {
            let excluded = gathered.requests() - gathered.scored();
            match gathered.attainment() {
                None => (None, 0, format!("nothing scored, {excluded} excluded")),
                Some(share) => {
                    let words = format!("{} of {} scored met, {excluded} excluded", share.hits, share.rows);
                    (Some(share.measured()), share.rows, words)
                }
            }
        }
        Figure::FailureRate => match gathered.failure_rate() {
            None => (None, 0, "no leg".to_owned()),
            Some(share) => {
                (Some(share.measured()), share.rows, format!("{} of {} legs failed", share.hits, share.rows))
            }
        },
        Figure::EngineFailureRate => {
            let rates = gathered.engine_failure_rates();
            let engines = rates.len();
            // Where the interval decides, one that is broken for sure is worse than one of which little is known. Of
            // equal ones, the first.
            let rank = |share: &Share| {
                let judged = is_confident.then(|| limit.bound.judge(Some(share.low), Some(share.high)));
                (judged == Some(Judgement::Broken), judged == Some(Judgement::Undecided))
            };
            let worst = rates.into_iter().rev().max_by(|(.., one), (.., other)| {
                rank(one).cmp(&rank(other)).then_with(|| one.value.total_cmp(&other.value))
            });
            match worst {
                None => (None, 0, "no leg".to_owned()),
                Some((engine, kind, share)) => {
                    let words = format!(
                        "{engine} {}, the worst of {engines}: {} of {} legs failed",
                        kind.as_str(),
                        share.hits,
                        share.rows
                    );
                    (Some(share.measured()), share.rows, words)
                }
            }
        }
        Figure::Percentile(metric, percent) => match gathered.percentile(metric, percent) {
            None => (None, 0, "no completed request has it".to_owned()),
            Some(found) => {
                let needed = Percentile::fewest_for_a_high(percent);
                let why = match found.high {
                    None if found.independent < needed => {
                        format!(" that count like {}, an upper end needs {needed}", found.independent)
                    }
                    _ => String::new(),
                };
                (found.measured(), found.rows, format!("over {} completed requests{why}", found.rows))
            }
        },
        Figure::RefusedShare => match gathered.terminal("refused") {
            None => (None, 0, "no request".to_owned()),
            Some(share) => {
                (Some(share.measured()), share.rows, format!("{} of {} refused", share.hits, share.rows))
            }
        },
        Figure::Rate => (None, 0, String::new()),
    }
}

/// The scopes with completed requests of which nobody counted the output: under a policy that needs it they are
/// misses, and perhaps are none.
fn unaccounted(connection: &Connection, policy: Policy) -> Result<Vec<String>> {
    if policy == Policy::Router {
        return Ok(Vec::new());
    }
    let scopes = caveats::without_accounting_by_scope(connection)?;
    Ok(scopes.into_iter().map(|(scope, ..)| scope).collect())
}

/// How old the newest row of each scope is; none where no row of it has a wall time.
fn ages(connection: &Connection, asked: &Asked) -> Result<BTreeMap<String, Option<f64>>> {
    let mut find = connection.prepare(include_str!("../../../queries/ordered/newest.sql"))?;
    let mut rows = find.query([])?;
    let mut ages: BTreeMap<String, Option<f64>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let offset_s: Option<f64> = row.get(1)?;
        let written_s: Option<f64> = row.get(2)?;
        let written_s = written_s.filter(|written_s| *written_s > crate::selection::OPEN_FROM);
        // A clock that is a little off does not make rows of the future.
        let age_s = offset_s
            .zip(written_s)
            .map(|(offset_s, written_s)| (asked.now_s - offset_s - written_s).max(0.0));
        let known = ages.entry(row.get(0)?).or_default();
        *known = known.iter().copied().chain(age_s).reduce(f64::min);
    }
    Ok(ages)
}
