//! The figures of a scope with their intervals: shares of requests and legs, percentiles of latencies
//! (docs/statistics.md). Gathered in one pass in the order of [`super::ordered`].

use std::collections::HashMap;

use anyhow::Result;
use foldhash::fast::FixedState;
use rusqlite::{Connection, Row};

use super::legs::{LegKind, Legs};
use super::ordered::{self, Scope};
use super::scoring::{Policy, Request, Score, score};
use crate::statistics::{Batches, Design, Measured, Percentile, Share};
use crate::store::slos::Slo;

/// The metrics of completed requests, in the order of `latency`.
pub const METRICS: [&str; 6] =
    ["ttft_s", "tpot_s", "first_byte_s", "decode_tpot_s", "queue_wait_s", "duration_s"];
const KINDS: [&str; 2] = ["crossed", "local"];
const STAGES: [&str; 4] = ["admission", "prefill", "decode", "total"];
const PERCENTS: [u32; 4] = [50, 90, 95, 99];
const FEW_PERCENTS: [u32; 2] = [50, 99];
const ENGINE_METRICS: [&str; 3] = ["ttft_s", "tpot_s", "decode_tpot_s"];
const ENGINE_PERCENTS: [u32; 3] = [50, 90, 99];

/// A figure of one scope.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// Of requests or legs.
    Share(Share),
    /// Of values.
    Percentile(Percentile),
}

impl Figure {
    /// The value with its ends.
    pub fn measured(&self) -> Option<Measured> {
        match self {
            Self::Share(share) => Some(share.measured()),
            Self::Percentile(percentile) => percentile.measured(),
        }
    }

    /// So many independent requests, legs or values tell as much as those that it is of.
    pub fn independent(&self) -> f64 {
        match self {
            Self::Share(share) => share.independent(),
            Self::Percentile(percentile) => percentile.independent as f64,
        }
    }

    /// The requests, legs or values that it is of.
    pub fn n(&self) -> u64 {
        match self {
            Self::Share(share) => share.rows,
            Self::Percentile(percentile) => percentile.rows,
        }
    }
}

/// What the shares of a group are of. Where there is any, a share that nobody counted is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// `attainment`, of scored requests.
    Attainment,
    /// `share TERMINAL`, of requests.
    Terminal,
    /// `miss KIND`, of scored requests.
    Miss,
    /// `refused for CAUSE`, of requests.
    Cause,
    /// `failure_rate LEG`, of legs.
    Legs,
    /// `retry_rate`, of requests.
    Retries,
    /// Percentiles; a number gives their order.
    Values(usize),
}

/// Names of a few kinds, each told by its number.
#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The share of each kind among rows that have one, in order.
    fn shares(&self, rows: &[u32]) -> Vec<(String, Share)> {
        let share = |at: usize| Share::of(&Batches::of(rows, |row| *row as usize == at));
        self.0.iter().enumerate().filter_map(|(at, name)| Some((name.clone(), share(at)?))).collect()
    }
}

/// What was met of an engine.
#[derive(Debug, Default)]
struct Engine {
    legs: [Batches; 2],
    values: [Vec<f64>; 3],
}

/// What was met in a scope.
#[derive(Debug, Default)]
pub struct Gathered {
    met: Batches,
    terminals: (Names, Vec<u32>),
    misses: (Names, Vec<u32>),
    causes: (Names, Vec<u32>),
    retried: Batches,
    legs: [Batches; 2],
    all_legs: Batches,
    metrics: [Vec<f64>; 6],
    handoff: [Vec<f64>; 2],
    waits: [Vec<f64>; 4],
    engines: (HashMap<String, usize, FixedState>, Vec<Engine>),
}

/// Reads the requests of a scope of the connection's selection; attainment only with targets.
///
/// # Errors
/// When the database cannot be read.
pub fn gather(
    connection: &Connection,
    scope: &Scope,
    targets: Option<&Slo>,
    policy: Policy,
) -> Result<Gathered> {
    let mut gathered = Gathered::default();
    let mut legs = Legs::new(connection)?;
    let sql = include_str!("../../queries/ordered/requests.sql");
    ordered::each(connection, scope, sql, |_, row| gathered.take(row, &mut legs, targets, policy))?;
    Ok(gathered)
}

/// Reads the requests of a scope as far as two narrow indexes go, which is a quarter of the work of [`gather`]: how they
/// ended, attainment with targets, and those of the [`METRICS`] that are `wanted`.
///
/// # Errors
/// When the database cannot be read.
pub fn gather_narrow(
    connection: &Connection,
    scope: &Scope,
    targets: Option<&Slo>,
    policy: Policy,
    wanted: [bool; 6],
) -> Result<Gathered> {
    let mut gathered = Gathered::default();
    let sqls = [
        include_str!("../../queries/ordered/completed.sql"),
        include_str!("../../queries/ordered/not-completed.sql"),
    ];
    let mut names = Names::default();
    let read = |row: &Row<'_>| -> Result<Narrow> {
        let terminal = text(row, 2)?.unwrap_or_default();
        let is_completed = terminal == "completed";
        let (ttft_s, tpot_s) = (real(row, 4)?, real(row, 5)?);
        let score = match targets {
            Some(targets) => {
                let request = Request { terminal, has_output: row.get::<_, i64>(3)? == 1, ttft_s, tpot_s };
                score(request, targets, policy).map(|score| score == Score::Met)
            }
            None => None,
        };
        let mut values = [None; 6];
        for at in (0..6).filter(|at| is_completed && wanted[*at]) {
            values[at] = real(row, 4 + at)?;
        }
        Ok(Narrow { terminal: names.number(terminal), is_met: score, values })
    };
    ordered::each_narrow(connection, scope, &sqls, read, |narrow| {
        gathered.terminals.1.push(narrow.terminal);
        if let Some(is_met) = narrow.is_met {
            gathered.met.push(is_met);
        }
        for (metric, value) in gathered.metrics.iter_mut().zip(narrow.values) {
            metric.extend(value);
        }
        Ok(())
    })?;
    gathered.terminals.0 = names;
    Ok(gathered)
}

/// What narrow indexes tell of a request.
struct Narrow {
    terminal: u32,
    /// None when it is not scored.
    is_met: Option<bool>,
    values: [Option<f64>; 6],
}

fn text<'r>(row: &'r Row<'_>, at: usize) -> Result<Option<&'r str>> {
    Ok(row.get_ref(at)?.as_str_or_null()?)
}

fn real(row: &Row<'_>, at: usize) -> Result<Option<f64>> {
    Ok(row.get(at)?)
}

impl Gathered {
    /// The columns are those of `queries/ordered/requests.sql`.
    fn take(
        &mut self,
        row: &Row<'_>,
        legs: &mut Legs<'_>,
        targets: Option<&Slo>,
        policy: Policy,
    ) -> Result<()> {
        let terminal = text(row, 8)?.unwrap_or_default();
        let number = self.terminals.0.number(terminal);
        self.terminals.1.push(number);
        let cause = if terminal == "refused" { text(row, 10)?.unwrap_or("unknown") } else { "" };
        let number = self.causes.0.number(cause);
        self.causes.1.push(number);
        self.retried.push(row.get::<_, Option<i64>>(11)? == Some(1));

        let (ttft_s, tpot_s, first_byte_s) = (real(row, 14)?, real(row, 15)?, real(row, 16)?);
        if let Some(targets) = targets {
            let request = Request { terminal, has_output: row.get::<_, i64>(9)? == 1, ttft_s, tpot_s };
            if let Some(score) = score(request, targets, policy) {
                let kind = match score {
                    Score::Met => "",
                    Score::Missed(kind) => kind,
                };
                self.met.push(score == Score::Met);
                let number = self.misses.0.number(kind);
                self.misses.1.push(number);
            }
        }

        let (prefill_iid, decode_iid) = (text(row, 6)?, text(row, 13)?);
        if terminal == "completed" {
            let decode_tpot_s = real(row, 17)?;
            let values = [ttft_s, tpot_s, first_byte_s, decode_tpot_s, real(row, 18)?, real(row, 19)?];
            for (metric, value) in self.metrics.iter_mut().zip(values) {
                metric.extend(value);
            }
            if let Some(engine) = prefill_iid.filter(|_| ttft_s.is_some()) {
                self.engine(engine).values[0].extend(ttft_s);
            }
            if let Some(engine) = decode_iid.filter(|_| tpot_s.or(decode_tpot_s).is_some()) {
                let engine = self.engine(engine);
                engine.values[1].extend(tpot_s);
                engine.values[2].extend(decode_tpot_s);
            }
        }
        let crossed: Option<i64> = row.get(12)?;
        if let (Some(ttft_s), Some(first_byte_s), Some(crossed)) = (ttft_s, first_byte_s, crossed)
            && first_byte_s >= ttft_s
        {
            self.handoff[usize::from(crossed != 1)].push(first_byte_s - ttft_s);
        }
        for (at, column) in [20, 21, 22, 18].into_iter().enumerate() {
            self.waits[at].extend(real(row, column)?);
        }
        legs.each(row, 2, |leg| {
            let at = usize::from(leg.kind == LegKind::Decode);
            self.all_legs.push(leg.failed);
            self.legs[at].push(leg.failed);
            self.engine(leg.engine).legs[at].push(leg.failed);
        })
    }

    fn engine(&mut self, name: &str) -> &mut Engine {
        let (places, engines) = &mut self.engines;
        let at = places.get(name).copied().unwrap_or_else(|| {
            places.insert(name.to_owned(), engines.len());
            engines.push(Engine::default());
            engines.len() - 1
        });
        &mut engines[at]
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.terminals.1.len() as u64
    }

    /// The number of requests that were scored.
    pub fn scored(&self) -> u64 {
        self.met.rows()
    }

    /// The share of scored requests that met the targets.
    pub fn attainment(&self) -> Option<Share> {
        Share::of(&self.met)
    }

    /// The share of requests that ended so.
    pub fn terminal(&self, terminal: &str) -> Option<Share> {
        let (names, rows) = &self.terminals;
        let number = names.0.iter().position(|name| name == terminal);
        Share::of(&Batches::of(rows, |row| Some(*row as usize) == number))
    }

    /// The share of legs, prefill and decode of all engines, that failed.
    pub fn failure_rate(&self) -> Option<Share> {
        Share::of(&self.all_legs)
    }

    /// The share of failed legs of each engine and kind of leg.
    pub fn engine_failure_rates(&self) -> Vec<(String, LegKind, Share)> {
        let mut rates = Vec::new();
        for (name, at) in &self.engines.0 {
            for (kind, legs) in LegKind::ALL.into_iter().zip(&self.engines.1[*at].legs) {
                rates.extend(Share::of(legs).map(|share| (name.clone(), kind, share)));
            }
        }
        rates.sort_unstable_by(|one, other| (&one.0, one.1.as_str()).cmp(&(&other.0, other.1.as_str())));
        rates
    }

    /// A percentile of one of the [`METRICS`], of completed requests.
    pub fn percentile(&self, metric: usize, percent: u32) -> Option<Percentile> {
        Percentile::of(&self.metrics[metric], &[percent]).pop()
    }

    /// A share of a group that nobody of this scope counted under.
    pub fn nobody(&self, group: Group) -> Option<Share> {
        let rows = match group {
            Group::Miss => self.met.rows(),
            Group::Terminal | Group::Cause => self.requests(),
            Group::Attainment | Group::Retries | Group::Legs | Group::Values(_) => 0,
        };
        Share::with_design(0, rows, Design::INDEPENDENT)
    }

    /// The figures of the family of `compare`, by group and name.
    pub fn figures(&self) -> Vec<((Group, String), Figure)> {
        let mut figures = Vec::new();
        let mut add = |group: Group, name: String, share: Option<Share>| {
            figures.extend(share.map(|share| ((group, name), Figure::Share(share))));
        };
        add(Group::Attainment, "attainment".to_owned(), self.attainment());
        for (name, share) in self.terminals.0.shares(&self.terminals.1) {
            add(Group::Terminal, format!("share {name}"), Some(share));
        }
        for (name, share) in
            self.misses.0.shares(&self.misses.1).into_iter().filter(|(name, _)| !name.is_empty())
        {
            add(Group::Miss, format!("miss {name}"), Some(share));
        }
        for (name, share) in
            self.causes.0.shares(&self.causes.1).into_iter().filter(|(name, _)| !name.is_empty())
        {
            add(Group::Cause, format!("refused for {name}"), Some(share));
        }
        for (kind, legs) in LegKind::ALL.into_iter().zip(&self.legs) {
            add(Group::Legs, format!("failure_rate {}", kind.as_str()), Share::of(legs));
        }
        add(Group::Retries, "retry_rate".to_owned(), Share::of(&self.retried));
        let metrics = METRICS
            .iter()
            .zip(&self.metrics)
            .map(|(name, values)| ((*name).to_owned(), values, &PERCENTS[..]));
        let handoff = KINDS
            .iter()
            .zip(&self.handoff)
            .map(|(name, values)| (format!("handoff {name}"), values, &FEW_PERCENTS[..]));
        let waits = STAGES
            .iter()
            .zip(&self.waits)
            .map(|(name, values)| (format!("queue-waits {name}"), values, &FEW_PERCENTS[..]));
        for (at, (name, values, percents)) in metrics.chain(handoff).chain(waits).enumerate() {
            for found in Percentile::of(values, percents) {
                let name = format!("{name} p{}", found.percent);
                figures.push(((Group::Values(at), name), Figure::Percentile(found)));
            }
        }
        figures
    }

    /// The figures of each engine, by engine.
    pub fn engine_figures(&self) -> Vec<(String, Vec<(String, Figure)>)> {
        let mut all: Vec<_> = self.engines.0.iter().map(|(name, at)| (name, &self.engines.1[*at])).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        let figures = |engine: &Engine| {
            let mut figures = Vec::new();
            for (kind, legs) in LegKind::ALL.into_iter().zip(&engine.legs) {
                let share = Share::of(legs).map(Figure::Share);
                figures.extend(share.map(|share| (format!("failure_rate {}", kind.as_str()), share)));
            }
            for (metric, values) in ENGINE_METRICS.iter().zip(&engine.values) {
                for found in Percentile::of(values, &ENGINE_PERCENTS) {
                    figures.push((format!("{metric} p{}", found.percent), Figure::Percentile(found)));
                }
            }
            figures
        };
        all.into_iter().map(|(name, engine)| (name.clone(), figures(engine))).collect()
    }
}
