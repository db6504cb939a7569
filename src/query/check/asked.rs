//! What a check is asked, and what it answers.

use serde_json::json;

use crate::query::figures::METRICS;
use crate::query::scoring::Policy;
use crate::selection::Selection;
use crate::statistics::{self, Measured};
use crate::store::slos::Slo;
use crate::text::rounded;

/// A figure that a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedFigure {
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

impl JudgedFigure {
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
pub struct FigureLimit {
    /// The figure.
    pub figure: JudgedFigure,
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

impl Burn {
    /// The name that its limit has in an answer.
    pub(super) fn limit_name(&self) -> String {
        let names: Vec<&str> = self.windows.iter().map(|(name, _)| name.as_str()).collect();
        format!("burn {}", names.join(","))
    }

    /// The limit.
    pub(super) fn bound(&self) -> statistics::Limit {
        statistics::Limit::AtMost(self.factor)
    }
}

/// What is asked.
#[derive(Debug, Default)]
pub struct Terms {
    /// The limits.
    pub limits: Vec<FigureLimit>,
    /// A burn rate.
    pub burn: Option<Burn>,
    /// The targets of attainment; needed where it is asked for.
    pub targets: Option<Slo>,
    /// Who is scored.
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
pub enum LimitVerdict {
    /// It is kept.
    Holds,
    /// It is not.
    Broken,
    /// The interval reaches to both sides, and was asked for.
    Undecided,
    /// Nothing was measured.
    NoData,
    /// Fewer requests were measured than asked for.
    TooFew,
    /// What was measured is too old to speak for the present.
    Stale,
}

impl LimitVerdict {
    /// The word for it in an answer as data.
    pub fn as_data(self) -> &'static str {
        if self == Self::TooFew { Self::NoData.as_str() } else { self.as_str() }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::NoData => "no data",
            Self::TooFew => "too few",
            Self::Stale => "stale",
        }
    }
}

/// A limit held against a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitFinding {
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
    /// How old the newest row of the scope is; none when that is not known.
    pub age_s: Option<f64>,
    /// What came of it.
    pub verdict: LimitVerdict,
    /// The figure, the limit and the counts behind it, in words.
    pub words: String,
    /// What it is of, beside the scope.
    pub of: Of,
    /// How far beyond the bound it is, for the worst of several.
    pub(super) beyond: f64,
}

/// What a measured figure is of and rests on, where there is more to say than the scope.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Of {
    /// So many independent rows tell as much.
    pub independent: Option<f64>,
    /// The worst engine and its kind of leg.
    pub engine: Option<(String, &'static str)>,
    /// The targets that were met or missed, and who is scored.
    pub targets: Option<(Slo, Policy)>,
    /// The window that burns least, which decides.
    pub window: Option<String>,
    /// Whether requests count as missed because their output was not counted.
    pub is_unaccounted: bool,
}

impl Of {
    /// Adds it to a finding as data.
    fn write(&self, finding: &mut serde_json::Value) {
        if let Some(independent) = self.independent {
            finding["independent"] = json!(independent);
        }
        if let Some((engine, leg)) = &self.engine {
            finding["engine"] = json!(engine);
            finding["leg"] = json!(leg);
        }
        if let Some((Slo { ttft_s, tpot_s, .. }, policy)) = &self.targets {
            finding["ttft"] = json!(ttft_s);
            finding["tpot"] = json!(tpot_s);
            finding["policy"] = json!(policy.name());
        }
        if let Some(window) = &self.window {
            finding["window"] = json!(window);
        }
        if self.is_unaccounted {
            finding["token_accounting"] = json!("unavailable");
        }
    }
}

impl LimitFinding {
    /// Says that the outputs of the scope were not counted, so that requests of it count as missed which may have met.
    /// What was measured decides even so; what is to be sure is left open, unless it holds.
    pub(super) fn say_unaccounted(&mut self, is_confident: bool) {
        self.of.is_unaccounted = true;
        if matches!(self.verdict, LimitVerdict::Broken | LimitVerdict::Undecided) {
            if is_confident {
                self.verdict = LimitVerdict::Undecided;
            }
            self.words.push_str("; token accounting is unavailable: which of them met is not known");
        }
    }
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
    pub findings: Vec<LimitFinding>,
    /// How old the newest row of the selection is; none without a row that has a wall time.
    pub age_s: Option<f64>,
    /// What changes the meaning, in words.
    pub notes: Vec<String>,
}

impl Terms {
    /// The targets and who is scored, in words.
    pub(super) fn targets_in_words(&self) -> String {
        let policy = self.policy.name();
        self.targets.as_ref().map_or_else(String::new, |Slo { ttft_s, tpot_s, .. }| {
            format!("TTFT {} s, TPOT {} s, policy {policy}", rounded(*ttft_s), rounded(*tpot_s))
        })
    }

    /// The same as data.
    pub(super) fn targets_as_data(&self) -> Option<(Slo, Policy)> {
        self.targets.clone().map(|targets| (targets, self.policy))
    }
}

impl Checked {
    /// How old the newest row is that was looked at: of the selection, or else of the routers that are silent in it.
    pub fn newest_row_age_s(&self) -> Option<f64> {
        self.age_s.or_else(|| self.findings.iter().filter_map(|finding| finding.age_s).reduce(f64::min))
    }

    /// What all of it comes to: broken before anything else. Nothing that was judged does not hold.
    pub fn outcome(&self) -> Outcome {
        if self.findings.iter().any(|finding| finding.verdict == LimitVerdict::Broken) {
            Outcome::Broken
        } else if !self.findings.is_empty()
            && self.findings.iter().all(|finding| finding.verdict == LimitVerdict::Holds)
        {
            Outcome::Holds
        } else {
            Outcome::Unjudged
        }
    }

    /// Of each limit held against several scopes and broken in some: in how many, of how many, and the worst.
    pub fn worst(&self) -> Vec<(usize, usize, &LimitFinding)> {
        let mut limits: Vec<&str> = self.findings.iter().map(|finding| finding.limit.as_str()).collect();
        limits.dedup();
        let worst = |limit: &str| {
            let of_limit = || self.findings.iter().filter(|finding| finding.limit == limit);
            let broken = || of_limit().filter(|finding| finding.verdict == LimitVerdict::Broken);
            let worst = broken().max_by(|one, other| one.beyond.total_cmp(&other.beyond))?;
            Some((broken().count(), of_limit().count(), worst))
        };
        limits.into_iter().filter_map(worst).filter(|(_, of, _)| *of > 1).collect()
    }

    /// The whole of it as data.
    pub fn as_json(&self) -> serde_json::Value {
        let limits = self.findings.iter().map(|finding| {
            let mut data = json!({
                "limit": finding.limit,
                "scope": finding.scope,
                "bound": finding.bound,
                "value": finding.measured.map(|measured| measured.value),
                "low": finding.measured.and_then(|measured| measured.low),
                "high": finding.measured.and_then(|measured| measured.high),
                "n": finding.n,
                "verdict": finding.verdict.as_data(),
                "age_s": finding.age_s,
            });
            finding.of.write(&mut data);
            data
        });
        json!({
            "verdict": self.outcome().as_str(),
            "limits": limits.collect::<Vec<_>>(),
            "age_s": self.age_s,
        })
    }
}
