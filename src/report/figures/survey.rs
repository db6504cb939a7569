//! What no canned query gives: how sure shares and percentiles are, distributions, what failed attempts said. The
//! requests are read once, in the order that intervals need; what is kept of each is two numbers by engine.

use std::collections::{BTreeMap, HashMap};

use anyhow::Result;
use foldhash::fast::FixedState;
use rusqlite::{Connection, Row};

use super::WORST;
use super::axis::Axis;
use crate::query::legs::{LegKind, Legs};
use crate::query::ordered::{self, Scope};
use crate::query::scoring::{Policy, Request, Score, score};
use crate::selection::{self, Selection};
use crate::statistics::{Batches, Percentile};
use crate::store::slos::Slo;

/// A value with the engine that it is of.
pub(in crate::report) type OfEngine = (u32, f32);

/// A percentile whose value is known from a canned query: whether it has an upper end.
#[derive(Debug)]
pub(in crate::report) struct Known {
    pub measure: Measure,
    pub percent: u32,
    pub value: f64,
    below: Batches,
}

/// What a percentile is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Measure {
    /// One of the six metrics of completed requests, in the order of `latency`.
    Metric(usize),
    /// Prefill done to first byte: on another engine, on the same.
    Handoff { crossed: bool },
    /// Admission, prefill, decode, total.
    Wait(usize),
    /// TTFT of the prompts from this length on.
    Prompt(i64),
}

impl Known {
    pub(in crate::report) fn new(measure: Measure, percent: u32, value: f64) -> Self {
        Self { measure, percent, value, below: Batches::new() }
    }

    /// Whether the values are too few for an upper end.
    fn is_open(&self) -> bool {
        let independent = (self.below.rows() as f64 / self.below.design().effect).floor() as u64;
        independent < Percentile::fewest_for_a_high(self.percent)
    }
}

/// Where the slowest requests are, by one measure: the largest first, equal ones by run and arrival.
#[derive(Debug, Default)]
pub(in crate::report) struct Slowest(Vec<Place>);

/// Where a request is: its measure, the number of its run in the order of `runs`, that run's key, its arrival.
type Place = (f64, usize, i64, f64);

impl Slowest {
    /// Those before `WORST` others are kept.
    fn take(&mut self, place: Place) {
        let at = self.0.partition_point(|kept| {
            let order =
                place.0.total_cmp(&kept.0).then(kept.1.cmp(&place.1)).then(kept.3.total_cmp(&place.3));
            order.is_le()
        });
        if at < WORST {
            self.0.insert(at, place);
            self.0.truncate(WORST);
        }
    }

    /// The selection of their arrivals.
    pub(in crate::report) fn selection(&self) -> Selection {
        let mut rows: Vec<selection::Row> = self
            .0
            .iter()
            .map(|(_, _, run_id, arrived)| selection::Row {
                scope: "all".to_owned(),
                run_id: *run_id,
                from_s: *arrived,
                to_s: arrived.next_up(),
            })
            .collect();
        rows.sort_unstable_by(|one, other| {
            one.run_id.cmp(&other.run_id).then(one.from_s.total_cmp(&other.from_s))
        });
        rows.dedup();
        Selection { rows, ..Selection::default() }
    }
}

/// A band of price, in seconds, and the TTFT of its requests.
#[derive(Debug)]
pub(in crate::report) struct PriceBand {
    pub from: f64,
    pub to: f64,
    pub n: usize,
    pub p10: f64,
    pub p50: f64,
    pub p90: f64,
}

/// A band of fewer requests is left out.
pub(in crate::report) const FEWEST_PRICED: usize = 20;

impl PriceBand {
    fn of(band: i32, mut values: Vec<f32>) -> Self {
        values.sort_unstable_by(f32::total_cmp);
        let rank = |percent: usize| f64::from(values[(values.len() * percent).div_ceil(100).max(1) - 1]);
        let edge = |band: i32| 10_f64.powf(f64::from(band) / PRICE_BANDS);
        Self {
            from: edge(band),
            to: edge(band + 1),
            n: values.len(),
            p10: rank(10),
            p50: rank(50),
            p90: rank(90),
        }
    }
}

/// What was met of an engine.
#[derive(Debug, Default)]
pub(in crate::report) struct Engine {
    pub name: String,
    /// Prefill, decode.
    pub legs: [Batches; 2],
}

/// The whole of it.
#[derive(Debug, Default)]
pub(in crate::report) struct Survey {
    pub all: Batches,
    pub by_run: Vec<Batches>,
    pub by_bucket: Vec<Batches>,
    pub by_band: BTreeMap<i64, Batches>,
    /// Failed legs of all engines.
    pub legs: [Batches; 2],
    pub engines: Vec<Engine>,
    numbers: HashMap<String, u32, FixedState>,
    /// Completed requests: TTFT by prefill engine, TPOT by decode engine, in order.
    pub ttft: Vec<OfEngine>,
    pub tpot: Vec<OfEngine>,
    /// Of those, how many lie within the target.
    pub within: [u64; 2],
    /// Completed requests by cell of TTFT and TPOT; without a TPOT; by quadrant: both within, TPOT over, TTFT over, both.
    pub cells: HashMap<(i32, i32), u64, FixedState>,
    pub without_tpot: u64,
    pub quadrants: [u64; 4],
    /// TTFT of completed requests by band of price, until it is known how they lie.
    prices: BTreeMap<i32, Vec<f32>>,
    /// How many have a price, and the bands with enough of them.
    pub priced: usize,
    pub price_bands: Vec<PriceBand>,
    /// Attainment by band of prompt.
    pub prompts: BTreeMap<i64, Batches>,
    known: Vec<Known>,
    /// The requests with the longest TTFT, and with the longest TPOT.
    pub slowest: [Slowest; 2],
}

/// What the survey is of.
pub(in crate::report) struct Surveyed<'a> {
    pub targets: Option<&'a Slo>,
    pub policy: Policy,
    pub axis: &'a Axis,
    /// The runs, by their keys.
    pub runs: HashMap<i64, usize>,
    /// The band of offered rate that a bucket counts for.
    pub bands: Vec<Option<i64>>,
    pub known: Vec<Known>,
    /// How many completed, if that is known: so much is kept of each.
    pub completed: usize,
}

/// Cells of the heat map: six a factor of ten across, ten down, from the targets.
pub(in crate::report) const CELLS_ACROSS: f64 = 6.0;
pub(in crate::report) const CELLS_DOWN: f64 = 10.0;
/// Bands of price a factor of ten.
const PRICE_BANDS: f64 = 6.0;

/// Reads the requests of a scope.
pub(in crate::report) fn survey(
    connection: &Connection,
    scope: &Scope,
    asked: Surveyed<'_>,
) -> Result<Survey> {
    let mut survey = Survey {
        by_run: (0..asked.runs.len()).map(|_| Batches::new()).collect(),
        by_bucket: (0..asked.axis.buckets()).map(|_| Batches::new()).collect(),
        ..Survey::default()
    };
    survey.ttft.reserve_exact(asked.completed);
    survey.tpot.reserve_exact(asked.completed);
    let mut asked = asked;
    survey.known = std::mem::take(&mut asked.known);
    let mut legs = Legs::new(connection)?;
    let sql = include_str!("../../../queries/report/requests.sql");
    ordered::each(connection, scope, sql, |part, row| {
        survey.take(part.run_id, row, &mut legs, &asked)?;
        Ok(())
    })?;
    let prices = std::mem::take(&mut survey.prices);
    survey.priced = prices.values().map(Vec::len).sum();
    let bands = prices.into_iter().filter(|(_, values)| values.len() >= FEWEST_PRICED);
    survey.price_bands = bands.map(|(band, values)| PriceBand::of(band, values)).collect();
    Ok(survey)
}

impl Survey {
    /// Whether a percentile has no upper end.
    pub(in crate::report) fn is_open(&self, measure: Measure, percent: u32) -> bool {
        self.known.iter().any(|known| known.measure == measure && known.percent == percent && known.is_open())
    }

    /// The number of an engine.
    fn engine(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.engines.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_owned(), number);
        self.engines.push(Engine { name: name.to_owned(), ..Engine::default() });
        number
    }

    /// The columns are those of `queries/report/requests.sql`.
    fn take(&mut self, run_id: i64, row: &Row<'_>, legs: &mut Legs<'_>, asked: &Surveyed<'_>) -> Result<()> {
        let real = |at: usize| -> Result<Option<f64>> { Ok(row.get(at)?) };
        let text = |at: usize| -> Result<Option<&str>> { Ok(row.get_ref(at)?.as_str_or_null()?) };
        let terminal = text(8)?.unwrap_or_default();
        let is_completed = terminal == "completed";
        let (ttft_s, tpot_s, first_byte_s) = (real(12)?, real(13)?, real(14)?);
        let arrived: f64 = row.get(0)?;
        let is_sized = row.get::<_, Option<i64>>(22)?.is_none_or(|sized| sized == 1);
        let input_len = row.get::<_, Option<i64>>(21)?.filter(|_| is_sized);
        let prompt = input_len.map(|len| if len < 1 { 0 } else { 1_i64 << len.ilog2() });
        if let Some(targets) = asked.targets {
            let request = Request { terminal, has_output: row.get::<_, i64>(9)? == 1, ttft_s, tpot_s };
            if let Some(score) = score(request, targets, asked.policy) {
                self.score(run_id, arrived, prompt, score == Score::Met, asked);
            }
        }
        if is_completed {
            self.completed(row, (ttft_s, tpot_s), asked)?;
        }
        if let Some(run) = asked.runs.get(&run_id) {
            for (slowest, value) in self.slowest.iter_mut().zip([ttft_s, tpot_s]) {
                if let Some(value) = value {
                    slowest.take((value, *run, run_id, arrived));
                }
            }
        }
        self.percentiles(row, is_completed, first_byte_s, prompt)?;
        legs.each(row, 2, |leg| {
            let at = usize::from(leg.kind == LegKind::Decode);
            self.legs[at].push(leg.failed);
            let number = self.engine(leg.engine);
            self.engines[number as usize].legs[at].push(leg.failed);
        })
    }

    fn score(&mut self, run_id: i64, arrived: f64, prompt: Option<i64>, is_met: bool, asked: &Surveyed<'_>) {
        self.all.push(is_met);
        if let Some(run) = asked.runs.get(&run_id) {
            self.by_run[*run].push(is_met);
        }
        if let Some(prompt) = prompt {
            self.prompts.entry(prompt).or_default().push(is_met);
        }
        let Some(bucket) = asked.axis.bucket_of(run_id, arrived) else { return };
        self.by_bucket[bucket].push(is_met);
        if let Some(band) = asked.bands.get(bucket).copied().flatten() {
            self.by_band.entry(band).or_default().push(is_met);
        }
    }

    /// What is kept of a completed request.
    fn completed(
        &mut self,
        row: &Row<'_>,
        (ttft_s, tpot_s): (Option<f64>, Option<f64>),
        asked: &Surveyed<'_>,
    ) -> Result<()> {
        let target = |of: fn(&Slo) -> f64| asked.targets.map(of);
        let (most_ttft_s, most_tpot_s) = (target(|slo| slo.ttft_s), target(|slo| slo.tpot_s));
        if let Some(ttft_s) = ttft_s {
            let engine = row.get_ref(6)?.as_str_or_null()?;
            let engine = engine.map_or(u32::MAX, |engine| self.engine(engine));
            self.ttft.push((engine, ttft_s as f32));
            self.within[0] += u64::from(most_ttft_s.is_some_and(|most_s| ttft_s <= most_s));
            if let Some(price_s) = row.get::<_, Option<f64>>(23)?.filter(|price_s| *price_s > 0.0) {
                let band = (price_s.log10() * PRICE_BANDS).floor() as i32;
                self.prices.entry(band).or_default().push(ttft_s as f32);
            }
        }
        if let Some(tpot_s) = tpot_s {
            let engine = row.get_ref(10)?.as_str_or_null()?;
            let engine = engine.map_or(u32::MAX, |engine| self.engine(engine));
            self.tpot.push((engine, tpot_s as f32));
            self.within[1] += u64::from(most_tpot_s.is_some_and(|most_s| tpot_s <= most_s));
        }
        let Some((ttft_s, tpot_s)) = ttft_s.zip(tpot_s) else {
            self.without_tpot += u64::from(ttft_s.is_some());
            return Ok(());
        };
        let cell = |value: f64, unit: f64, a_decade: f64| {
            if value > 0.0 { ((value / unit).log10() * a_decade - 1e-9).ceil() as i32 - 1 } else { i32::MIN }
        };
        let across = cell(ttft_s, most_ttft_s.unwrap_or(1.0), CELLS_ACROSS);
        let down = cell(tpot_s, most_tpot_s.unwrap_or(0.1), CELLS_DOWN);
        *self.cells.entry((across, down)).or_default() += 1;
        let over = |value: f64, most: Option<f64>| usize::from(most.is_some_and(|most| value > most));
        self.quadrants[over(tpot_s, most_tpot_s) + 2 * over(ttft_s, most_ttft_s)] += 1;
        Ok(())
    }

    /// Counts under each percentile whose value is known whether the request lies at or below it.
    fn percentiles(
        &mut self,
        row: &Row<'_>,
        is_completed: bool,
        first_byte_s: Option<f64>,
        prompt: Option<i64>,
    ) -> Result<()> {
        let mut metrics = [None; 6];
        let mut waits = [None; 4];
        for (at, metric) in metrics.iter_mut().enumerate() {
            *metric = row.get::<_, Option<f64>>(12 + at)?;
        }
        for (wait, column) in waits.iter_mut().zip([18, 19, 20, 16]) {
            *wait = row.get::<_, Option<f64>>(column)?;
        }
        let crossed = row.get::<_, Option<i64>>(11)?.map(|crossed| crossed == 1);
        let handoff_s = metrics[0].zip(first_byte_s).filter(|(ttft_s, first_s)| first_s >= ttft_s);
        let handoff_s = handoff_s.map(|(ttft_s, first_s)| first_s - ttft_s);
        for known in &mut self.known {
            let value = match known.measure {
                Measure::Metric(at) => metrics[at].filter(|_| is_completed),
                Measure::Handoff { crossed: wanted } => handoff_s.filter(|_| crossed == Some(wanted)),
                Measure::Wait(at) => waits[at],
                Measure::Prompt(from) => metrics[0].filter(|_| is_completed && prompt == Some(from)),
            };
            if let Some(value) = value {
                known.below.push(value <= known.value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_those_of_a_sort() {
        // Many ties, in runs whose order is not that of their keys.
        let place = |number: u32| {
            let drawn = number.wrapping_mul(2_654_435_761) >> 16;
            let run = (drawn / 7 % 3) as usize;
            (f64::from(drawn % 5), run, 10 - run as i64, f64::from(number))
        };
        for count in [0, 3, 8, 500] {
            let mut slowest = Slowest::default();
            (0..count).map(place).for_each(|place| slowest.take(place));
            let mut sorted: Vec<Place> = (0..count).map(place).collect();
            sorted.sort_by(|one, other| {
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)).then(one.3.total_cmp(&other.3))
            });
            sorted.truncate(WORST);
            assert_eq!(slowest.0, sorted);
            assert_eq!(slowest.selection().rows.len(), sorted.len());
        }
    }
}
