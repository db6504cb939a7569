//! The 95 % intervals of a canned answer: of its shares of requests and legs, and of its percentiles
//! (docs/statistics.md, "As data"). The answer itself stays what the query says; this looks at the same requests again,
//! in the order that intervals need.

mod met;
mod reading;

use std::cell::Cell;
use std::collections::HashMap;

use anyhow::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, Row};

use self::met::{ByKey, Met, key, number_key, text_key};
use super::figures::METRICS;
use super::legs::Legs;
use super::ordered::{self, Part, Scope};
use super::params::DEFAULT_BUCKET_S;
use super::run::{Bound, value_of};
use super::scoring::{Policy, Request, Score, score};
use crate::statistics::{Batches, Percentile, Share};
use crate::store::slos::{self, Slo};

/// Which columns of a query tell its rows apart within a scope, and which have an interval.
#[derive(Debug, Clone, Copy)]
pub struct Measures {
    /// The query.
    pub query: &'static str,
    keys: &'static [&'static str],
    /// Shares and percentiles, in the query's order.
    pub columns: &'static [&'static str],
}

const fn measures(
    query: &'static str,
    keys: &'static [&'static str],
    columns: &'static [&'static str],
) -> Measures {
    Measures { query, keys, columns }
}

/// Every query that has shares of requests or legs, or percentiles that intervals are defined of.
const ALL: [Measures; 14] = [
    measures("outcomes", &["terminal"], &["share"]),
    measures("attainment", &[], &["attainment"]),
    measures("attainment-misses", &["miss"], &["share"]),
    measures("attainment-over-time", &["bucket_s"], &["attainment"]),
    measures("goodput", &["rate_from"], &["attainment"]),
    measures("slo-frontier", &["tpot"], &["reachable"]),
    measures("prompt-sizes", &["input_from"], &["attainment", "ttft_p50", "ttft_p99"]),
    measures("refusals", &["cause", "reason"], &["share_of_refused", "share_of_offered"]),
    measures("engine-failures", &["engine", "leg"], &["failure_rate"]),
    measures("retries", &[], &["retry_rate"]),
    measures("latency", &["metric"], &["p50", "p90", "p95", "p99"]),
    measures("engine-latency", &["metric", "engine"], &["p50", "p90", "p99"]),
    measures("handoff", &["kind"], &["p50", "p90", "p99"]),
    measures("queue-waits", &["stage"], &["p50", "p90", "p99"]),
];

/// What of a query has intervals; none where nothing has.
pub fn of_query(name: &str) -> Option<Measures> {
    ALL.into_iter().find(|measures| measures.query == name)
}

/// The queries that have intervals.
pub fn queries() -> Vec<&'static str> {
    ALL.iter().map(|measures| measures.query).collect()
}

/// The lower and the upper end; none where the rows are too few to give one.
pub type Ends = (Option<f64>, Option<f64>);

/// For each row of an answer, the ends of each of [`Measures::columns`]. The rows come by scope, or by run.
///
/// # Errors
/// When the database cannot be read.
pub fn find(
    connection: &Connection,
    measures: Measures,
    bound: &[Bound],
    columns: &[String],
    rows: &[Vec<Value>],
) -> Result<(Vec<Vec<Ends>>, Vec<String>)> {
    let asked = Asked::of(connection, measures.query, bound)?;
    let scopes = ordered::scopes(connection)?;
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap_or(0);
    let keys: Vec<usize> = measures.keys.iter().map(|name| place(name)).collect();
    let values: Vec<usize> = measures.columns.iter().map(|name| place(name)).collect();
    let mut found = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let to = rows[at..].iter().position(|row| row[0] != rows[at][0]).map_or(rows.len(), |more| at + more);
        let of_scope = &rows[at..to];
        let name = if let Value::Text(name) = &rows[at][0] { name.as_str() } else { "" };
        let scope = scopes.iter().find(|scope| scope.name == name);
        let mut ends = match scope {
            Some(scope) => asked.ends(connection, scope, measures, of_scope, &keys)?,
            None => HashMap::default(),
        };
        for row in of_scope {
            let key = key(keys.iter().map(|at| &row[*at]));
            let missing = || vec![(None, None); measures.columns.len()];
            found.push(ends.remove(&key).unwrap_or_else(missing));
        }
        at = to;
    }
    let mut notes = ordered::notes(&scopes);
    let is_known = |row: usize, at: usize| rows[row][values[at]] != Value::Null;
    notes.extend(reading::notes(measures.columns, &found, is_known, asked.of_offers));
    notes.extend(asked.has_thin.get().then(|| THIN.to_owned()));
    Ok((found, notes))
}

/// What is said once, where a share or some are thin (docs/statistics.md, "Words").
const THIN: &str = "a share with a wide interval rests on fewer than 10 independent requests or legs of the rarer \
                    outcome, however many there are: one burst more or less changes it";

/// What was asked: the parameters of the query, resolved.
struct Asked {
    query: &'static str,
    targets: Option<Slo>,
    policy: Policy,
    of_offers: bool,
    bucket_s: f64,
    band: f64,
    /// Whether a share rests on few independent rows.
    has_thin: Cell<bool>,
}

impl Asked {
    fn of(connection: &Connection, query: &'static str, bound: &[Bound]) -> Result<Self> {
        let number = |name: &str| match value_of(bound, name) {
            Some(Value::Real(real)) => Some(*real),
            Some(Value::Integer(int)) => Some(*int as f64),
            _ => None,
        };
        let text = |name: &str| match value_of(bound, name) {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let saved = slos::load(connection, text("slo").unwrap_or(slos::DEFAULT))?;
        let ttft_s = number("ttft").or(saved.as_ref().map(|slo| slo.ttft_s));
        let tpot_s = number("tpot").or(saved.as_ref().map(|slo| slo.tpot_s));
        let targets = ttft_s.zip(tpot_s).map(|(ttft_s, tpot_s)| Slo { name: String::new(), ttft_s, tpot_s });
        Ok(Self {
            query,
            targets,
            policy: text("policy").and_then(Policy::named).unwrap_or_default(),
            of_offers: text("of") == Some("offers"),
            bucket_s: number("bucket").unwrap_or(DEFAULT_BUCKET_S),
            band: number("band").unwrap_or(1.0),
            has_thin: Cell::new(false),
        })
    }

    /// The ends of the rows of one scope, by their keys.
    fn ends(
        &self,
        connection: &Connection,
        scope: &Scope,
        measures: Measures,
        rows: &[Vec<Value>],
        keys: &[usize],
    ) -> Result<ByKey<Vec<Ends>>> {
        let mut met = Met::default();
        if self.query == "slo-frontier" {
            let target = |row: &Vec<Value>| match row[keys[0]] {
                Value::Real(real) => real,
                Value::Integer(int) => int as f64,
                _ => f64::INFINITY,
            };
            met.tpots = rows.iter().map(|row| (key(keys.iter().map(|at| &row[*at])), target(row))).collect();
        }
        let mut legs = Legs::new(connection)?;
        let sql = include_str!("../../queries/ordered/requests.sql");
        ordered::each(connection, scope, sql, |part, row| self.take(part, row, &mut legs, &mut met))?;
        if self.query == "goodput" {
            self.band_buckets(scope, &mut met);
        }
        let mut ends: ByKey<Vec<Ends>> = HashMap::default();
        let share = |batches: &Batches| {
            Share::of(batches).map_or((None, None), |share| {
                if share.is_thin() && share.rests_on() > 0.0 {
                    self.has_thin.set(true);
                }
                (Some(share.low), Some(share.high))
            })
        };
        for kinds in &met.kinds {
            // Those without a name are of no row.
            for (key, number) in kinds.numbers.iter().filter(|(key, _)| !key.is_empty()) {
                let batches = Batches::of(&kinds.rows, |row| row == number);
                ends.entry(key.clone()).or_default().push(share(&batches));
            }
        }
        for (key, batches) in &met.shares {
            ends.entry(key.clone()).or_default().push(share(batches));
        }
        let percents: Vec<u32> =
            measures.columns.iter().filter_map(|name| name.rsplit('p').next()?.parse().ok()).collect();
        for (key, values) in &met.values {
            let own = ends.entry(key.clone()).or_default();
            // A band without attainment has its percentiles.
            own.resize(measures.columns.len() - percents.len(), (None, None));
            own.extend(Percentile::of(values, &percents).iter().map(|found| (found.low, found.high)));
        }
        for own in ends.values_mut() {
            own.resize(measures.columns.len(), (None, None));
        }
        Ok(ends)
    }

    /// Sorts a request under the rows of the answer that it counts for. The columns are those of
    /// `queries/ordered/requests.sql`.
    fn take(&self, part: &Part, row: &Row<'_>, legs: &mut Legs<'_>, met: &mut Met) -> Result<()> {
        let text = |at: usize| -> Result<Option<&str>> { Ok(row.get_ref(at)?.as_str_or_null()?) };
        let real = |at: usize| -> Result<Option<f64>> { Ok(row.get(at)?) };
        let terminal = text(8)?.unwrap_or_default();
        let request = || -> Result<Request<'_>> {
            Ok(Request {
                terminal,
                has_output: row.get::<_, i64>(9)? == 1,
                ttft_s: real(14)?,
                tpot_s: real(15)?,
            })
        };
        let scored = || -> Result<Option<Score<'_>>> {
            let Some(targets) = &self.targets else { return Ok(None) };
            Ok(score(request()?, targets, self.policy))
        };
        match self.query {
            "outcomes" => met.kinds[0].push(text_key(&[Some(terminal)])),
            "refusals" => {
                let key = text_key(&[text(10)?, text(25)?]);
                if terminal == "refused" {
                    met.kinds[0].push(key.clone());
                }
                met.kinds[1].push(if terminal == "refused" { key } else { String::new() });
            }
            "attainment" => met.share("", scored()?),
            "attainment-misses" => match scored()? {
                Some(Score::Missed(miss)) => met.kinds[0].push(text_key(&[Some(miss)])),
                Some(Score::Met) => met.kinds[0].push(String::new()),
                None => {}
            },
            "attainment-over-time" => {
                let bucket_no = self.bucket_no(part, row)?;
                met.share(&number_key(bucket_no * self.bucket_s), scored()?);
            }
            "goodput" => {
                let bucket = (part.run_id, self.bucket_no(part, row)? as i64);
                *met.offered.entry(bucket).or_default() += 1;
                met.in_buckets.extend(scored()?.map(|score| (bucket, score == Score::Met)));
            }
            "slo-frontier" => {
                let request = request()?;
                let any = Slo { name: String::new(), ttft_s: f64::INFINITY, tpot_s: f64::INFINITY };
                if let Some(score) = score(request, &any, self.policy) {
                    for (key, tpot_s) in &met.tpots {
                        let is_hit = score == Score::Met && request.tpot_s.is_none_or(|own| own <= *tpot_s);
                        met.shares.entry(key.clone()).or_default().push(is_hit);
                    }
                }
            }
            "prompt-sizes" => {
                let input_len: Option<i64> = row.get(23)?;
                let is_sized = row.get::<_, Option<i64>>(24)?.is_none_or(|sized| sized == 1);
                if let Some(input_len) = input_len.filter(|_| is_sized) {
                    let from = if input_len < 1 { 0 } else { 1_i64 << input_len.ilog2() };
                    let key = number_key(from as f64);
                    met.share(&key, scored()?);
                    if let Some(ttft_s) = real(14)?.filter(|_| terminal == "completed") {
                        met.values.entry(key).or_default().push(ttft_s);
                    }
                }
            }
            "engine-failures" => legs.each(row, 2, |leg| {
                let key = text_key(&[Some(leg.engine), Some(leg.kind.as_str())]);
                met.shares.entry(key).or_default().push(leg.failed);
            })?,
            "retries" => {
                met.shares.entry(String::new()).or_default().push(row.get::<_, Option<i64>>(11)? == Some(1));
            }
            "latency" => {
                let is_completed = terminal == "completed";
                if is_completed || (self.of_offers && !matches!(terminal, "invalid" | "cancelled")) {
                    for (at, metric) in METRICS.iter().enumerate() {
                        let value = if is_completed { real(14 + at)? } else { Some(f64::INFINITY) };
                        met.value(&[Some(metric)], value);
                    }
                }
            }
            "engine-latency" if terminal == "completed" => {
                let of_decode = text(13)?;
                for (metric, engine, column) in
                    [("ttft_s", text(6)?, 14), ("tpot_s", of_decode, 15), ("decode_tpot_s", of_decode, 17)]
                {
                    if engine.is_some() {
                        met.value(&[Some(metric), engine], real(column)?);
                    }
                }
            }
            "handoff" => {
                let crossed: Option<i64> = row.get(12)?;
                if let (Some(ttft_s), Some(first_byte_s), Some(crossed)) = (real(14)?, real(16)?, crossed)
                    && first_byte_s >= ttft_s
                {
                    let kind = if crossed == 1 { "crossed" } else { "local" };
                    met.value(&[Some(kind)], Some(first_byte_s - ttft_s));
                }
            }
            "queue-waits" => {
                for (stage, column) in [("admission", 20), ("prefill", 21), ("decode", 22), ("total", 18)] {
                    met.value(&[Some(stage)], real(column)?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The number of the bucket that a request arrived in, from its run's zero.
    fn bucket_no(&self, part: &Part, row: &Row<'_>) -> Result<f64> {
        let first_s = part.span.map_or(0.0, |(first_s, _)| first_s);
        Ok(((row.get::<_, f64>(0)? - first_s) / self.bucket_s).floor())
    }

    /// Counts the requests of each bucket under its band of offered rate: of buckets that are wholly selected, and of
    /// the last of a run.
    fn band_buckets(&self, scope: &Scope, met: &mut Met) {
        // Parts of a run that follow on each other are one.
        let mut parts: Vec<(i64, f64, f64, f64, f64)> = Vec::new();
        for part in &scope.parts {
            let Some((first_s, last_s)) = part.span else { continue };
            match parts.last_mut() {
                Some((run_id, _, to_s, ..)) if *run_id == part.run_id && part.from_s <= *to_s => {
                    *to_s = to_s.max(part.to_s);
                }
                _ => parts.push((part.run_id, part.from_s, part.to_s, first_s, last_s)),
            }
        }
        let counts = |(run_id, bucket_no): (i64, i64)| {
            parts.iter().any(|(own, from_s, to_s, first_s, last_s)| {
                let (begin, end) = (bucket_no as f64 * self.bucket_s, (bucket_no + 1) as f64 * self.bucket_s);
                let is_last = (bucket_no + 1) as f64 > (last_s - first_s) / self.bucket_s;
                *own == run_id && (is_last || (*from_s <= first_s + begin && *to_s >= first_s + end))
            })
        };
        let bands: HashMap<(i64, i64), String> = met
            .offered
            .iter()
            .filter(|(bucket, _)| counts(**bucket))
            .map(|(bucket, offered)| {
                let band_no = (*offered as f64 / self.bucket_s / self.band).floor();
                (*bucket, number_key(band_no * self.band))
            })
            .collect();
        for (bucket, is_met) in &met.in_buckets {
            if let Some(key) = bands.get(bucket) {
                met.shares.entry(key.clone()).or_default().push(*is_met);
            }
        }
    }
}
