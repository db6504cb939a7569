//! Engines beside each other: shares, failure rates, percentiles, and which of them stand out.

use super::answers::{Answers, Reader};
use super::fleet::natural;
use super::survey::{OfEngine, Survey};
use crate::statistics::{Batches, Difference, Percentile, Share, Verdict, judge_together};

/// An engine in one role.
#[derive(Debug, Clone, Default)]
pub(in crate::report) struct Engine {
    pub name: String,
    /// Legs, failed ones, and the share of them.
    pub legs: i64,
    pub failures: i64,
    pub failure_rate: Option<f64>,
    /// Latency of completed requests: TTFT of a prefill engine, TPOT of a decode engine.
    pub n: i64,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Whether the values are too few for an upper end of them.
    pub is_open: [bool; 2],
    /// Whether it fails more often, or is slower, than the others of the role: judged together.
    pub fails_more: bool,
    pub is_slower: bool,
    /// The failure rate of the others, the median p99 of the others.
    pub others_rate: Option<f64>,
    pub others_p99: Option<f64>,
    pub rate_low: Option<f64>,
}

/// Both roles: prefill, decode.
#[derive(Debug, Default)]
pub(in crate::report) struct Engines {
    pub roles: [Vec<Engine>; 2],
    /// Entries of failures that reached no engine.
    pub unattributed: i64,
}

pub(in crate::report) const ROLES: [&str; 2] = ["prefill", "decode"];
const METRICS: [&str; 2] = ["ttft_s", "tpot_s"];
/// With fewer values the latency of an engine is not judged.
const FEWEST_VALUES: i64 = 1000;
/// An engine is slow beyond so many times the median of the others.
const SLOW: f64 = 1.3;

/// Gathers them.
pub(in crate::report) fn engines(reader: &Reader<'_>, all: &Answers, survey: &Survey) -> Engines {
    let mut engines = Engines::default();
    for row in all.rows("engine-failures") {
        let Some(role) = row.known_text("leg").and_then(|leg| ROLES.iter().position(|role| *role == leg))
        else {
            engines.unattributed += row.int("failures");
            continue;
        };
        engines.of(role, &row.text("engine"), |engine| {
            engine.legs = row.int("attempts");
            engine.failures = row.int("failures");
            engine.failure_rate = row.real("failure_rate");
        });
    }
    for row in all.rows("engine-latency") {
        let Some(role) = METRICS.iter().position(|metric| *metric == row.text("metric")) else { continue };
        engines.of(role, &row.text("engine"), |engine| {
            engine.n = row.int("n");
            (engine.p50, engine.p99) = (row.real("p50"), row.real("p99"));
        });
    }
    for engines in &mut engines.roles {
        engines.sort_unstable_by(|one, other| natural(&one.name, &other.name));
    }
    engines.judge(reader, survey);
    engines
}

impl Engines {
    fn of(&mut self, role: usize, name: &str, change: impl FnOnce(&mut Engine)) {
        let engines = &mut self.roles[role];
        let at = engines.iter().position(|engine| engine.name == name).unwrap_or_else(|| {
            engines.push(Engine { name: name.to_owned(), ..Engine::default() });
            engines.len() - 1
        });
        change(&mut engines[at]);
    }

    /// Finds who stands out: every rate and every p99 is one of the figures that are judged together. What cannot be
    /// higher, because it is not beyond the mark of a finding, counts among them as unproven.
    fn judge(&mut self, reader: &Reader<'_>, survey: &Survey) {
        let mut family: Vec<Difference> = Vec::new();
        let mut whose: Vec<(usize, usize, bool)> = Vec::new();
        for role in 0..2 {
            let values = if role == 0 { &survey.ttft } else { &survey.tpot };
            let numbers: Vec<Option<u32>> = self.roles[role]
                .iter()
                .map(|engine| {
                    survey.engines.iter().position(|known| reader.engine(&known.name) == engine.name)
                })
                .map(|at| at.and_then(|at| u32::try_from(at).ok()))
                .collect();
            let p99s: Vec<Option<f64>> = self.roles[role].iter().map(|engine| engine.p99).collect();
            let totals = self.roles[role]
                .iter()
                .fold((0, 0), |sum, engine| (sum.0 + engine.failures, sum.1 + engine.legs));
            for (at, engine) in self.roles[role].iter_mut().enumerate() {
                let Some(number) = numbers[at] else { continue };
                let seen = &survey.engines[number as usize].legs[role];
                if let Some(difference) = engine.judge_rate(totals, seen, &survey.legs[role]) {
                    family.push(difference);
                    whose.push((role, at, false));
                }
                engine.others_p99 = median(p99s.iter().enumerate().filter(|(other, _)| *other != at));
                if let Some(difference) = engine.judge_p99(number, values, p99s.len()) {
                    family.push(difference);
                    whose.push((role, at, true));
                }
            }
        }
        for ((role, at, is_latency), verdict) in whose.into_iter().zip(judge_together(&family)) {
            let engine = &mut self.roles[role][at];
            let is_higher = verdict == Verdict::Higher;
            if is_latency { engine.is_slower = is_higher } else { engine.fails_more = is_higher }
        }
    }
}

impl Engine {
    /// How much more often it fails than the others of its role; they are taken to come in bursts as all legs do.
    fn judge_rate(
        &mut self,
        (failures, legs): (i64, i64),
        own: &Batches,
        all: &Batches,
    ) -> Option<Difference> {
        let count = |count: i64| u64::try_from(count).ok();
        let share = Share::with_design(count(self.failures)?, count(self.legs)?, own.design())?;
        let others =
            Share::with_design(count(failures - self.failures)?, count(legs - self.legs)?, all.design())?;
        self.rate_low = Some(share.low);
        self.others_rate = Some(others.value);
        Some(Difference::of_shares(&others, &share))
    }

    /// How much slower it is than the others of its role.
    fn judge_p99(&mut self, number: u32, values: &[OfEngine], engines: usize) -> Option<Difference> {
        let own: Vec<f64> = values
            .iter()
            .filter(|(engine, _)| *engine == number)
            .map(|(_, value)| f64::from(*value))
            .collect();
        let found = Percentile::of(&own, &[50, 99]);
        self.is_open = [0, 1].map(|at| found.get(at).is_some_and(|found| found.high_rank.is_none()));
        let own = found.get(1)?.measured()?;
        let is_beyond = self.others_p99.is_some_and(|others| own.value > SLOW * others);
        if !is_beyond || self.n < FEWEST_VALUES || engines < 3 {
            let unproven = Difference::of_percentiles(&own, &own);
            return Some(Difference { too_few: true, ..unproven });
        }
        let others: Vec<f64> = values
            .iter()
            .filter(|(engine, _)| *engine != number)
            .map(|(_, value)| f64::from(*value))
            .collect();
        let others = Percentile::of(&others, &[99]).pop()?.measured()?;
        Some(Difference::of_percentiles(&others, &own))
    }
}

/// The median of what is there, of two middle ones the lower.
fn median<'v>(values: impl Iterator<Item = (usize, &'v Option<f64>)>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter_map(|(_, value)| *value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len().checked_sub(1)?) / 2).copied()
}
