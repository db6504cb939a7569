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
    /// Whether it fails more often, or is slower by p50 or p99, than the others of the role: judged together.
    pub fails_more: bool,
    pub is_slower: [bool; 2],
    /// The failure rate of the others, the median p50 and p99 of the others.
    pub others_rate: Option<f64>,
    pub others: [Option<f64>; 2],
    pub rate_low: Option<f64>,
}

impl Engine {
    /// Its p50 and p99.
    pub(in crate::report) fn percentiles(&self) -> [Option<f64>; 2] {
        [self.p50, self.p99]
    }
}

/// Both roles: prefill, decode.
#[derive(Debug, Default)]
pub(in crate::report) struct Engines {
    pub roles: [Vec<Engine>; 2],
    /// Entries of failures that reached no engine.
    pub unattributed: i64,
    /// Failed legs whose attempt names no engine for them, as a hand-off that expired before it had one.
    pub nameless: i64,
}

pub(in crate::report) const ROLES: [&str; 2] = ["prefill", "decode"];
const METRICS: [&str; 2] = ["ttft_s", "tpot_s"];
/// By these engines are held against each other.
const PERCENTS: [u32; 2] = [50, 99];
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
    let named: i64 = engines.roles.iter().flatten().map(|engine| engine.failures).sum();
    let failed = all.row("retries").map_or(0, |row| row.int("wasted_attempts"));
    engines.nameless = (failed - named).max(0);
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

    /// Finds who stands out: every rate, p50 and p99 is one of the figures that are judged together. What cannot be
    /// higher, because it is not beyond the mark of a finding, counts among them as unproven.
    fn judge(&mut self, reader: &Reader<'_>, survey: &Survey) {
        let mut family: Vec<Difference> = Vec::new();
        let mut whose: Vec<(usize, usize, Option<usize>)> = Vec::new();
        for role in 0..2 {
            let values = if role == 0 { &survey.ttft } else { &survey.tpot };
            let numbers: Vec<Option<u32>> =
                self.roles[role].iter().map(|engine| number_of(reader, survey, &engine.name)).collect();
            let known: Vec<[Option<f64>; 2]> = self.roles[role].iter().map(Engine::percentiles).collect();
            let totals = self.roles[role]
                .iter()
                .fold((0, 0), |sum, engine| (sum.0 + engine.failures, sum.1 + engine.legs));
            for (at, engine) in self.roles[role].iter_mut().enumerate() {
                let Some(number) = numbers[at] else { continue };
                let seen = &survey.engines[number as usize].legs[role];
                if let Some(difference) = engine.judge_rate(totals, seen, &survey.legs[role]) {
                    family.push(difference);
                    whose.push((role, at, None));
                }
                engine.others = [0, 1].map(|which| {
                    let others = known.iter().enumerate().filter(|(other, _)| *other != at);
                    median(others.filter_map(|(_, found)| found[which]))
                });
                for (which, difference) in engine.judge_latency(number, values, known.len()) {
                    family.push(difference);
                    whose.push((role, at, Some(which)));
                }
            }
        }
        for ((role, at, percentile), verdict) in whose.into_iter().zip(judge_together(&family)) {
            let engine = &mut self.roles[role][at];
            let is_higher = verdict == Verdict::Higher;
            match percentile {
                Some(which) => engine.is_slower[which] = is_higher,
                None => engine.fails_more = is_higher,
            }
        }
    }
}

/// The number of an engine in the survey.
fn number_of(reader: &Reader<'_>, survey: &Survey, name: &str) -> Option<u32> {
    let at = survey.engines.iter().position(|known| reader.engine(&known.name) == name)?;
    u32::try_from(at).ok()
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

    /// How much slower it is than the others of its role, by p50 and by p99.
    fn judge_latency(
        &mut self,
        number: u32,
        values: &[OfEngine],
        engines: usize,
    ) -> Vec<(usize, Difference)> {
        let of = |is_own: bool| {
            let values = values.iter().filter(move |(engine, _)| (*engine == number) == is_own);
            values.map(|(_, value)| f64::from(*value))
        };
        let found = Percentile::of_many(of(true), &PERCENTS);
        self.is_open = [0, 1].map(|at| found.get(at).is_some_and(|found| found.high_rank.is_none()));
        let is_beyond = [0, 1].map(|at| {
            let own = found.get(at).and_then(Percentile::measured);
            own.zip(self.others[at]).is_some_and(|(own, others)| own.value > SLOW * others)
        });
        let is_judged = self.n >= FEWEST_VALUES && engines >= 3;
        let others = if is_judged && is_beyond != [false, false] {
            Percentile::of_many(of(false), &PERCENTS)
        } else {
            Vec::new()
        };
        let judge = |at: usize| {
            let own = found.get(at)?.measured()?;
            let others = others.get(at).filter(|_| is_beyond[at]).and_then(Percentile::measured);
            Some(match others {
                Some(others) => Difference::of_percentiles(&others, &own),
                None => Difference { too_few: true, ..Difference::of_percentiles(&own, &own) },
            })
        };
        [0, 1].into_iter().filter_map(|at| Some((at, judge(at)?))).collect()
    }
}

/// The median, of two middle ones the lower.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len().checked_sub(1)?) / 2).copied()
}
