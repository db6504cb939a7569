//! The TTFT that could have been promised, as an aggregate: what `slo-frontier` asks of a scope, without sorting it.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

/// The percentiles of TPOT that are tried where no target is given.
const TRIED: [usize; 4] = [50, 90, 95, 99];

/// Adds to a connection, for the tool's own statement:
///
/// - `frontier(ttft_s, tpot_s, can_meet, wanted, tpot, others, others_ttft)` over the completed requests of a scope: the
///   TTFT and TPOT of each, whether it can meet at all; the attainment wanted and the TPOT target, null to try four;
///   how many others are scored, and their smallest TTFT.
/// - `frontier_at(frontier, k, what)`: of the k-th TPOT target, from 0, the `tpot` itself, how many are `reached` with
///   any TTFT, the least `ttft` that is enough, and how many have `met` with it; null beyond the last one.
///
/// # Errors
/// When SQLite refuses.
pub(super) fn add(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("frontier", 7, flags, Frontier)?;
    connection.create_scalar_function("frontier_at", 3, flags, |context| {
        let ValueRef::Blob(words) = context.get_raw(0) else { return Ok(Value::Null) };
        let (k, what): (usize, String) = (context.get(1)?, context.get(2)?);
        let place = ["tpot", "reached", "ttft", "met"].iter().position(|known| *known == what);
        let place =
            place.ok_or_else(|| Error::UserFunctionError(format!("a frontier has no {what}").into()))?;
        let word = words.as_chunks::<8>().0.get(k * 4 + place).map(|word| f64::from_le_bytes(*word));
        Ok(match word.filter(|word| !word.is_nan()) {
            // A count: floats hold those of any table.
            Some(count) if place % 2 == 1 => Value::Integer(count as i64),
            Some(seconds) => Value::Real(seconds),
            None => Value::Null,
        })
    })
}

struct Frontier;

/// The requests of a scope.
#[derive(Default)]
struct Gathered {
    /// TPOT of all that have one.
    tpots: Vec<f64>,
    /// TTFT and TPOT of those that can meet. What has no TPOT meets every target.
    can_meet: Vec<(f64, f64)>,
    completed: u64,
    least_ttft: Option<f64>,
    /// The same for all of them.
    wanted: f64,
    tpot: Option<f64>,
    others: u64,
    others_ttft: Option<f64>,
}

fn real(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Real(real) => Some(real),
        ValueRef::Integer(int) => Some(int as f64),
        _ => None,
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

impl Aggregate<Gathered, Option<Vec<u8>>> for Frontier {
    fn init(&self, context: &mut Context<'_>) -> Result<Gathered> {
        Ok(Gathered {
            wanted: real(context, 3).unwrap_or_default(),
            tpot: real(context, 4),
            others: context.get(5)?,
            others_ttft: real(context, 6),
            ..Gathered::default()
        })
    }

    fn step(&self, context: &mut Context<'_>, gathered: &mut Gathered) -> Result<()> {
        let (ttft, tpot) = (real(context, 0), real(context, 1));
        gathered.completed += 1;
        gathered.least_ttft = least(gathered.least_ttft, ttft);
        if gathered.tpot.is_none() {
            gathered.tpots.extend(tpot);
        }
        if let (Some(ttft), ValueRef::Integer(1)) = (ttft, context.get_raw(2)) {
            gathered.can_meet.push((ttft, tpot.unwrap_or(f64::NEG_INFINITY)));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, gathered: Option<Gathered>) -> Result<Option<Vec<u8>>> {
        Ok(gathered.map(|mut gathered| {
            let targets = gathered.targets();
            targets.into_iter().flat_map(|tpot| gathered.try_out(tpot)).flat_map(f64::to_le_bytes).collect()
        }))
    }
}

impl Gathered {
    /// The TPOT targets to try, each once, in their order. Without any, none limits the requests.
    fn targets(&mut self) -> Vec<Option<f64>> {
        let n = self.tpots.len();
        let percentile = |percent: usize| {
            let at = (n * percent).div_ceil(100).checked_sub(1)?;
            Some(*self.tpots.select_nth_unstable_by(at, f64::total_cmp).1)
        };
        let mut targets: Vec<Option<f64>> = match self.tpot {
            Some(tpot) => vec![Some(tpot)],
            None => TRIED.map(percentile).to_vec(),
        };
        targets.dedup();
        targets
    }

    /// What `frontier_at` reads of a target.
    fn try_out(&self, tpot: Option<f64>) -> [f64; 4] {
        let meet = self.can_meet.iter().filter(|(_, of_it)| tpot.is_none_or(|tpot| *of_it <= tpot));
        let mut ttfts: Vec<f64> = meet.map(|(ttft, _)| *ttft).collect();
        let reached = ttfts.len();
        let enough = match self.needed() {
            0 => least(self.least_ttft, self.others_ttft),
            needed if needed <= reached => Some(*ttfts.select_nth_unstable_by(needed - 1, f64::total_cmp).1),
            _ => None,
        };
        let met =
            enough.map_or(f64::NAN, |enough| ttfts.iter().filter(|ttft| **ttft <= enough).count() as f64);
        [tpot.unwrap_or(f64::NAN), reached as f64, enough.unwrap_or(f64::NAN), met]
    }

    /// The least number of requests whose share is as wanted.
    fn needed(&self) -> usize {
        let scored = self.completed + self.others;
        let is_enough = |met: u64| met as f64 / scored as f64 >= self.wanted;
        let about = (self.wanted * scored as f64) as u64;
        (about.saturating_sub(1)..=about + 1).find(|met| is_enough(*met)).unwrap_or(about + 2) as usize
    }
}
