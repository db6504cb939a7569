//! Whether what was selected keeps what was asked of it, for scripts and alerts (docs/statistics.md, (d)).
//!
//! The measured value decides, because it is exact for the past; with [`Terms::is_confident`] its interval does.

mod asked;
mod burn;
mod judge;
mod silent;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rusqlite::Connection;

pub use self::asked::{
    Burn, Checked, FigureLimit, JudgedFigure, LimitFinding, LimitVerdict, Of, Outcome, Terms,
};
pub use self::judge::age_in_words;

use self::burn::burn_findings;
use self::judge::Judge;
use super::answer::ask;
use super::caveats;
use super::figures::{self, Gathered};
use super::ordered::{self, Scope};
use super::scoring::Policy;
use super::weight::{self, Outcomes};
use crate::selection::Selection;
use crate::statistics::{Judgement, Measured, Percentile, Share};
use crate::text::{counted, short};

/// Holds each scope of the connection's selection against limits. The selection may be another one afterwards.
///
/// # Errors
/// When the database cannot be read.
pub fn check(connection: &mut Connection, selection: &Selection, asked: &Terms) -> Result<Checked> {
    selection.install(connection)?;
    let scopes = ordered::scopes(connection)?;
    let ages = ages(connection, asked)?;
    let age_s = ages.values().copied().flatten().reduce(f64::min);
    let age_of = |scope: &str| if asked.is_age_of_all { age_s } else { ages.get(scope).copied().flatten() };
    let mut notes = ordered::notes(&scopes);
    let mut of_limit: Vec<Vec<LimitFinding>> = vec![Vec::new(); asked.limits.len() + 1];
    let is_gathered = |limit: &FigureLimit| limit.figure != JudgedFigure::Rate;
    let asks_attainment = asked.limits.iter().any(|limit| limit.figure == JudgedFigure::Attainment);
    let is_of_legs = |limit: &FigureLimit| {
        matches!(limit.figure, JudgedFigure::FailureRate | JudgedFigure::EngineFailureRate)
    };
    let asks_legs = asked.limits.iter().any(is_of_legs);
    let is_asked = |metric: usize| {
        asked
            .limits
            .iter()
            .any(|limit| matches!(limit.figure, JudgedFigure::Percentile(own, _) if own == metric))
    };
    let metrics = [0, 1, 2, 3, 4, 5].map(is_asked);
    let unaccounted = if asks_attainment { unaccounted(connection, asked.policy)? } else { Vec::new() };
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
            let found = measure(&gathered, limit, asked, scope);
            let mut finding = judge.finding(limit.figure.name(), limit.bound, found);
            if limit.figure == JudgedFigure::Attainment && unaccounted.contains(&scope.name) {
                finding.say_unaccounted(is_confident);
            }
            findings.push(finding);
        }
    }
    if asks_attainment || asked.burn.is_some() {
        notes.extend(caveats::unavailable_accounting(connection, asked.policy)?);
    }
    if let Some(place) = asked.limits.iter().position(|limit| limit.figure == JudgedFigure::Rate) {
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
            let found = Found { measured, n: requests, words: what, of: Of::default() };
            of_limit[place].push(judge.finding(limit.figure.name(), limit.bound, found));
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
struct Found {
    measured: Option<Measured>,
    n: u64,
    words: String,
    of: Of,
}

impl Found {
    fn nothing(words: impl Into<String>) -> Self {
        Self { measured: None, n: 0, words: words.into(), of: Of::default() }
    }

    /// A share of rows whose outcomes are called so; `words` name its hits.
    fn share(share: &Share, words: &str, outcomes: Outcomes) -> Self {
        let words = format!("{words}{}", weight::in_words(share, outcomes));
        let of = Of { independent: Some(share.independent()), ..Of::default() };
        Self { measured: Some(share.measured()), n: share.rows, words, of }
    }

    fn legs(share: &Share, before: &str) -> Self {
        let words = format!("{before}{} of {} failed", share.hits, counted(share.rows, "leg"));
        Self::share(share, &words, Outcomes::FAILED)
    }
}

fn measure(gathered: &Gathered, limit: &FigureLimit, asked: &Terms, scope: &Scope) -> Found {
    match limit.figure {
        JudgedFigure::Attainment => {
            let excluded = gathered.requests() - gathered.scored();
            let Some(share) = gathered.attainment() else {
                return Found::nothing(format!("nothing scored, {excluded} excluded"));
            };
            let targets = asked.targets_in_words();
            let words = format!("{} of {} scored met {targets}; {excluded} excluded", share.hits, share.rows);
            let mut found = Found::share(&share, &words, Outcomes::MET);
            found.of.targets = asked.targets_as_data();
            found
        }
        JudgedFigure::FailureRate => {
            gathered.failure_rate().map_or_else(|| Found::nothing("no leg"), |share| Found::legs(&share, ""))
        }
        JudgedFigure::EngineFailureRate => {
            let rates = gathered.engine_failure_rates();
            let engines = rates.len();
            // Where the interval decides, one that is broken for sure is worse than one of which little is known. Of
            // equal ones, the first.
            let rank = |share: &Share| {
                let judged = asked.is_confident.then(|| limit.bound.judge(Some(share.low), Some(share.high)));
                (judged == Some(Judgement::Broken), judged == Some(Judgement::Undecided))
            };
            let worst = rates.into_iter().rev().max_by(|(.., one), (.., other)| {
                rank(one).cmp(&rank(other)).then_with(|| one.value.total_cmp(&other.value))
            });
            let Some((engine, kind, share)) = worst else { return Found::nothing("no leg") };
            let mut found =
                Found::legs(&share, &format!("{engine} {}, the worst of {engines}: ", kind.as_str()));
            let runs: BTreeSet<i64> = scope.parts.iter().map(|part| part.run_id).collect();
            if runs.len() > 1 {
                found.words.push_str(&format!("; engines of one name in {} runs count as one", runs.len()));
            }
            found.of.engine = Some((engine, kind.as_str()));
            found
        }
        JudgedFigure::Percentile(metric, percent) => match gathered.percentile(metric, percent) {
            None if gathered.requests() == 0 => Found::nothing("no request"),
            None => Found::nothing("no completed request has it"),
            Some(found) => {
                let needed = Percentile::fewest_for_a_high(percent);
                let like = match found.high {
                    None if found.independent < needed => {
                        format!(" that count like {}, an upper end needs {needed}", found.independent)
                    }
                    _ if found.independent < found.rows => {
                        format!(" that count like {} independent ones", found.independent)
                    }
                    _ => String::new(),
                };
                let words = format!("over {}{like}", counted(found.rows, "completed request"));
                let of = Of { independent: Some(found.independent as f64), ..Of::default() };
                Found { measured: found.measured(), n: found.rows, words, of }
            }
        },
        JudgedFigure::RefusedShare => match gathered.terminal("refused") {
            None => Found::nothing("no request"),
            Some(share) => {
                let words = format!("{} of {} refused", share.hits, share.rows);
                Found::share(&share, &words, Outcomes::REFUSED)
            }
        },
        JudgedFigure::Rate => Found::nothing(""),
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
fn ages(connection: &Connection, asked: &Terms) -> Result<BTreeMap<String, Option<f64>>> {
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
