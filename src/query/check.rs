//! Whether what was selected keeps what was asked of it, for scripts and alerts (docs/statistics.md, (d)).
//!
//! The measured value decides, because it is exact for the past; with [`Asked::is_confident`] its interval does.

use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::Connection;
use serde_json::json;

use super::answer::ask;
use super::caveats;
use super::figures::{self, Gathered, METRICS};
use super::ordered::{self, Scope};
use super::scoring::Policy;
use crate::selection::Selection;
use crate::statistics::{self, Judgement, Measured, Share};
use crate::store::slos::Slo;
use crate::text::{full, rounded, short};

/// A figure that a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The share of scored requests that met the targets.
    Attainment,
    /// The share of legs, prefill and decode of all engines, that failed.
    FailureRate,
    /// The same of each engine and kind of leg; the worst is judged.
    EngineFailureRate,
    /// A percentile, in per cent, of one of [`METRICS`], of completed requests.
    Percentile(usize, u32),
    /// The share of requests that were refused.
    RefusedShare,
    /// Requests offered a second.
    Rate,
}

impl Figure {
    /// The name it has in an answer.
    pub fn name(self) -> String {
        match self {
            Self::Attainment => "attainment".to_owned(),
            Self::FailureRate => "failure_rate".to_owned(),
            Self::EngineFailureRate => "engine failure_rate".to_owned(),
            Self::Percentile(metric, percent) => format!("{} p{percent}", METRICS[metric]),
            Self::RefusedShare => "share refused".to_owned(),
            Self::Rate => "offered_per_s".to_owned(),
        }
    }
}

/// What a figure must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The figure.
    pub figure: Figure,
    /// The side of it that holds.
    pub bound: statistics::Limit,
}

/// A limit of how fast the misses that a target allows are used up: over every window at once.
#[derive(Debug)]
pub struct Burn {
    /// The attainment wanted, below 1.
    pub target: f64,
    /// So many times the share of misses that the target allows.
    pub factor: f64,
    /// What each window is called, and what it takes in.
    pub windows: Vec<(String, Selection)>,
}

/// What is asked.
#[derive(Debug, Default)]
pub struct Asked {
    /// The limits.
    pub limits: Vec<Limit>,
    /// A burn rate.
    pub burn: Option<Burn>,
    /// The targets of attainment; needed where it is asked for.
    pub targets: Option<Slo>,
    /// Who is scored, and the word for it.
    pub policy: Policy,
    /// With fewer requests a scope is not judged.
    pub min_requests: u64,
    /// A scope whose newest row is older is not judged to hold.
    pub max_age_s: Option<f64>,
    /// Whether the newest row of everything counts, not that of each scope: scopes are stretches of time.
    pub is_age_of_all: bool,
    /// Whether the interval decides.
    pub is_confident: bool,
    /// The present, in Unix seconds.
    pub now_s: f64,
}

/// What came of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is kept.
    Holds,
    /// It is not.
    Broken,
    /// The interval reaches to both sides, and was asked for.
    Undecided,
    /// Nothing, or too little, was measured.
    NoData,
    /// What was measured is too old to speak for the present.
    Stale,
}

impl Verdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::NoData => "no data",
            Self::Stale => "stale",
        }
    }
}

/// A limit held against a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The limit.
    pub limit: String,
    /// The scope.
    pub scope: String,
    /// The bound of the limit.
    pub bound: f64,
    /// The figure with its ends; a rate has none.
    pub measured: Option<Measured>,
    /// How many requests, legs or values it is of.
    pub n: u64,
    /// What came of it.
    pub verdict: Verdict,
    /// The figure, the limit and the counts behind it, in words.
    pub words: String,
    /// How far beyond the bound it is, for the worst of several.
    beyond: f64,
}

/// What all limits together come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every one holds.
    Holds,
    /// One is broken.
    Broken,
    /// None is broken, and one cannot be judged.
    Unjudged,
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::Unjudged => "unjudged",
        }
    }
}

/// The answer.
#[derive(Debug, Default)]
pub struct Checked {
    /// Each limit held against each scope, limit by limit.
    pub findings: Vec<Finding>,
    /// How old the newest row of the selection is; none without a row that has a wall time.
    pub age_s: Option<f64>,
    /// What changes the meaning, in words.
    pub notes: Vec<String>,
}

impl Checked {
    /// What all of it comes to: broken before anything else. Nothing that was judged does not hold.
    pub fn outcome(&self) -> Outcome {
        if self.findings.iter().any(|finding| finding.verdict == Verdict::Broken) {
            Outcome::Broken
        } else if !self.findings.is_empty()
            && self.findings.iter().all(|finding| finding.verdict == Verdict::Holds)
        {
            Outcome::Holds
        } else {
            Outcome::Unjudged
        }
    }

    /// Of each limit that several scopes break, in how many and of how many, and the worst.
    pub fn worst(&self) -> Vec<(usize, usize, &Finding)> {
        let mut limits: Vec<&str> = self.findings.iter().map(|finding| finding.limit.as_str()).collect();
        limits.dedup();
        let worst = |limit: &str| {
            let of_limit = || self.findings.iter().filter(|finding| finding.limit == limit);
            let broken = || of_limit().filter(|finding| finding.verdict == Verdict::Broken);
            let worst = broken().max_by(|one, other| one.beyond.total_cmp(&other.beyond))?;
            Some((broken().count(), of_limit().count(), worst))
        };
        limits.into_iter().filter_map(worst).filter(|(_, of, _)| *of > 1).collect()
    }

    /// The whole of it as data.
    pub fn as_json(&self) -> serde_json::Value {
        let limits = self.findings.iter().map(|finding| {
            json!({
                "limit": finding.limit,
                "scope": finding.scope,
                "bound": finding.bound,
                "value": finding.measured.map(|measured| measured.value),
                "low": finding.measured.and_then(|measured| measured.low),
                "high": finding.measured.and_then(|measured| measured.high),
                "n": finding.n,
                "verdict": finding.verdict.as_str(),
            })
        });
        json!({
            "verdict": self.outcome().as_str(),
            "limits": limits.collect::<Vec<_>>(),
            "age_s": self.age_s,
        })
    }
}

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
            findings.push(judge.finding(limit.figure.name(), limit.bound, measured, n, what));
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
            Some(found) => (found.measured(), found.rows, format!("over {} completed requests", found.rows)),
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

/// A scope that limits are held against.
struct Judge<'a> {
    scope: &'a Scope,
    requests: u64,
    age_s: Option<f64>,
    /// Whether the interval decides.
    is_confident: bool,
    asked: &'a Asked,
}

impl Judge<'_> {
    fn finding(
        &self,
        limit: String,
        bound: statistics::Limit,
        measured: Option<Measured>,
        n: u64,
        what: String,
    ) -> Finding {
        let (at, words, sign) = match bound {
            statistics::Limit::AtLeast(at) => (at, "at least", -1.0),
            statistics::Limit::AtMost(at) => (at, "at most", 1.0),
        };
        let (verdict, why) = self.verdict(bound, measured);
        let value = match measured {
            None => "unknown".to_owned(),
            Some(Measured { value, low: None, high: None }) => shown(value, at),
            Some(Measured { value, low, high }) => format!("{} ({})", shown(value, at), ends(low, high)),
        };
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        let words = format!("{limit} {value}, {words} {} ({what}{why})", rounded(at));
        let beyond = measured.map_or(0.0, |measured| sign * (measured.value - at));
        Finding { limit, scope: self.scope.name.clone(), bound: at, measured, n, verdict, words, beyond }
    }

    /// What came of it, and why it was not judged.
    fn verdict(&self, bound: statistics::Limit, measured: Option<Measured>) -> (Verdict, Option<String>) {
        let Some(measured) = measured else { return (Verdict::NoData, None) };
        if self.requests < self.asked.min_requests {
            let why = format!("{} requests, {} are needed", self.requests, self.asked.min_requests);
            return (Verdict::NoData, Some(why));
        }
        let found = if self.is_confident {
            bound.judge(measured.low, measured.high)
        } else if bound.is_kept_by(measured.value) {
            Judgement::Holds
        } else {
            Judgement::Broken
        };
        let verdict = match found {
            Judgement::Broken => return (Verdict::Broken, None),
            Judgement::Holds => Verdict::Holds,
            Judgement::Undecided => Verdict::Undecided,
        };
        match (self.asked.max_age_s, self.age_s) {
            (None, _) => (verdict, None),
            (Some(_), None) => (Verdict::Stale, Some("its age is unknown: it has no wall time".to_owned())),
            (Some(most_s), Some(age_s)) if age_s > most_s => {
                (Verdict::Stale, Some(format!("its newest row is {} old", age_in_words(age_s))))
            }
            _ => (verdict, None),
        }
    }
}

/// A figure rounded for eyes, in full where rounding would make it look like the limit.
fn shown(value: f64, bound: f64) -> String {
    let text = short(value);
    let is_told = text != short(bound) || value == bound;
    let text = if is_told { text } else { rounded(value) };
    if text == rounded(bound) && value != bound { full(value) } else { text }
}

fn ends(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("95 %: {} to {}", short(low), short(high)),
        (Some(low), None) => format!("95 %: at least {}, no upper end", short(low)),
        (None, Some(high)) => format!("95 %: at most {}, no lower end", short(high)),
        (None, None) => String::new(),
    }
}

/// An age for people.
pub fn age_in_words(age_s: f64) -> String {
    let whole = age_s.max(0.0);
    if whole < 120.0 {
        format!("{whole:.0} s")
    } else if whole < 2.0 * 3600.0 {
        format!("{:.0} min", whole / 60.0)
    } else if whole < 2.0 * 86400.0 {
        format!("{:.0} h", whole / 3600.0)
    } else {
        format!("{:.0} days", whole / 86400.0)
    }
}

/// How old the newest row of each scope is; none where no row of it has a wall time.
fn ages(connection: &Connection, asked: &Asked) -> Result<BTreeMap<String, Option<f64>>> {
    let mut find = connection.prepare(include_str!("../../queries/ordered/newest.sql"))?;
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

/// How fast the misses that a target allows were used up in one window.
#[derive(Debug, Clone, Copy)]
struct Burnt {
    requests: u64,
    scored: u64,
    rate: Measured,
}

/// Broken where the misses are used up too fast in every window at once.
fn burn_findings(
    connection: &mut Connection,
    scopes: &[Scope],
    burn: &Burn,
    asked: &Asked,
    age_of: impl Fn(&str) -> Option<f64>,
) -> Result<Vec<Finding>> {
    // Of a target of 0.9 a tenth, and not a little less.
    let allowed = ((1.0 - burn.target) * 1e12).round() / 1e12;
    let mut windows: Vec<BTreeMap<String, Burnt>> = Vec::new();
    for (_, selection) in &burn.windows {
        selection.install(connection)?;
        let mut by_scope = BTreeMap::new();
        for scope in ordered::scopes(connection)? {
            let targets = asked.targets.as_ref();
            let gathered = figures::gather_narrow(connection, &scope, targets, asked.policy, [false; 6])?;
            let Some(share) = gathered.attainment() else { continue };
            let rate = Measured {
                value: (share.rows - share.hits) as f64 / share.rows as f64 / allowed,
                low: Some((1.0 - share.high) / allowed),
                high: Some((1.0 - share.low) / allowed),
            };
            let burnt = Burnt { requests: gathered.requests(), scored: share.rows, rate };
            by_scope.insert(scope.name, burnt);
        }
        windows.push(by_scope);
    }
    let names: Vec<&str> = burn.windows.iter().map(|(name, _)| name.as_str()).collect();
    let limit = format!("burn {}", names.join(","));
    let findings = scopes.iter().map(|scope| {
        let found: Vec<Option<Burnt>> =
            windows.iter().map(|window| window.get(&scope.name).copied()).collect();
        let what = names.iter().zip(&found).map(|(name, found)| match found {
            Some(Burnt { scored, rate, .. }) => format!("{name}: {} over {scored} scored", short(rate.value)),
            None => format!("{name}: no data"),
        });
        let what = what.collect::<Vec<_>>().join(", ");
        // The least of them decides: only when it is above the limit are all.
        let known = || found.iter().flatten();
        let least = known().min_by(|one, other| one.rate.value.total_cmp(&other.rate.value));
        let is_whole = found.iter().all(Option::is_some);
        let least = least.filter(|least| is_whole || least.rate.value <= burn.factor);
        let low = known().filter_map(|burnt| burnt.rate.low).reduce(f64::min);
        let high = known().filter_map(|burnt| burnt.rate.high).reduce(f64::min);
        let (requests, n) = least.map_or((0, 0), |least| (least.requests, least.scored));
        let measured = least.map(|least| Measured { value: least.rate.value, low, high });
        let is_confident = asked.is_confident;
        let judge = Judge { scope, requests, age_s: age_of(&scope.name), is_confident, asked };
        judge.finding(limit.clone(), statistics::Limit::AtMost(burn.factor), measured, n, what)
    });
    Ok(findings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_just_beyond_its_limit_does_not_look_like_it() {
        assert_eq!(shown(0.98999999, 0.99), "0.98999999");
        assert_eq!(shown(0.9896, 0.99), "0.9896");
        assert_eq!(shown(0.99, 0.99), "0.99");
        assert_eq!(shown(5.1, 5.0), "5.1");
        assert_eq!(shown(0.85, 0.99), "0.85");
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        for (age_s, words) in
            [(0.4, "0 s"), (119.0, "119 s"), (600.0, "10 min"), (7300.0, "2 h"), (864_000.0, "10 days")]
        {
            assert_eq!(age_in_words(age_s), words);
        }
    }
}
