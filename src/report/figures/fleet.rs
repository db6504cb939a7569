//! When engines were out of service and too few of them live, what the controller decided, where legs failed.

use std::cmp::Ordering;
use std::collections::HashMap;

use anyhow::Result;
use serde_json::Value as Json;

use super::Run;
use super::answers::{Answers, Reader};
use super::axis::Axis;
use super::series::Series;
use super::survey::Survey;
use crate::report::words::{self, WallDetail};
use crate::selection::Selection;

/// What an interval is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) enum What {
    Ejected,
    Timed,
    Inference,
    /// A hold of a kind unknown to this release.
    OtherHold(String),
    /// Fewer prefill engines live than the floor.
    Floor {
        live: i64,
        least: i64,
    },
    /// Monitoring degraded: stage and class.
    Degraded(String),
}

/// An interval of a run.
#[derive(Debug, Clone)]
pub(in crate::report) struct Interval {
    pub run: usize,
    pub what: What,
    pub engine: Option<String>,
    pub cause: Option<String>,
    /// Seconds from the run's zero.
    pub from_s: Option<f64>,
    pub to_s: f64,
    pub length_s: Option<f64>,
    pub is_open: bool,
}

/// A moment of a run.
#[derive(Debug, Clone)]
pub(in crate::report) struct Mark {
    pub run: usize,
    pub rel_s: f64,
    pub engine: Option<String>,
    /// Of a decision: whether it changed roles.
    pub is_applied: bool,
    pub words: String,
}

/// All of it.
#[derive(Debug, Default)]
pub(in crate::report) struct Fleet {
    pub intervals: Vec<Interval>,
    pub decisions: Vec<Mark>,
    pub lifecycle: Vec<Mark>,
    pub lifecycle_left_out: usize,
    /// Engines that have a row, and how many have none.
    pub engines: Vec<String>,
    pub engines_left_out: usize,
    /// Failed legs: prefill, decode.
    pub failed_legs: [i64; 2],
}

/// So many engines have a row.
pub(in crate::report) const ENGINE_ROWS: usize = 40;
const LIFECYCLE_MARKS: usize = 300;

/// Asks for it.
pub(in crate::report) fn fleet(
    reader: &mut Reader<'_>,
    by_run: &Selection,
    axis: &Axis,
    runs: &[Run],
    each: &Answers,
    series: &mut Series,
) -> Result<Fleet> {
    let numbers: HashMap<&str, usize> =
        runs.iter().enumerate().map(|(at, run)| (run.run.as_str(), at)).collect();
    let mut fleet = Fleet::default();
    fleet.outages(each, &numbers);
    fleet.degraded(reader, by_run, runs, &numbers)?;
    fleet.events(reader, by_run, runs, &numbers)?;
    let mut legs = Vec::new();
    reader.each(include_str!("../../../queries/report/failed-legs.sql"), by_run, |cells| {
        let text = |at: usize| cells[at].as_str().unwrap_or_default();
        let rel_s: Option<f64> = cells[2].as_f64_or_null().ok().flatten();
        if let Some((run, rel_s)) = numbers.get(text(0)).zip(rel_s) {
            legs.push((*run, usize::from(text(1) == "decode"), rel_s));
        }
    })?;
    for (run, leg, rel_s) in legs {
        fleet.failed_legs[leg] += 1;
        let bucket = axis.bucket_of(runs[run].run_id, runs[run].first_s + rel_s.max(0.0));
        if let Some(bucket) = bucket {
            series.buckets[bucket].failed_legs[leg] += 1;
        }
    }
    Ok(fleet)
}

impl Fleet {
    fn outages(&mut self, each: &Answers, numbers: &HashMap<&str, usize>) {
        for row in each.rows("engine-downtime") {
            let Some(run) = numbers.get(row.text("run").as_str()) else { continue };
            let what = match row.text("kind").as_str() {
                "ejected" => What::Ejected,
                "timed" => What::Timed,
                "inference" => What::Inference,
                other => What::OtherHold(other.to_owned()),
            };
            self.intervals.push(Interval {
                run: *run,
                what,
                engine: row.known_text("engine"),
                cause: row.known_text("cause"),
                from_s: row.real("from_s"),
                to_s: row.real("to_s").unwrap_or(0.0),
                length_s: row.real("duration_s"),
                is_open: row.int("open") == 1,
            });
        }
        for row in each.rows("floor-breaches") {
            let Some(run) = numbers.get(row.text("run").as_str()) else { continue };
            self.intervals.push(Interval {
                run: *run,
                what: What::Floor { live: row.int("live_prefill"), least: row.int("min_prefill") },
                engine: None,
                cause: None,
                from_s: row.real("from_s"),
                to_s: row.real("to_s").unwrap_or(0.0),
                length_s: row.real("duration_s"),
                is_open: row.int("open") == 1,
            });
        }
    }

    /// From `monitoring_degraded` to the next `monitoring_recovered` of the run.
    fn degraded(
        &mut self,
        reader: &mut Reader<'_>,
        by_run: &Selection,
        runs: &[Run],
        numbers: &HashMap<&str, usize>,
    ) -> Result<()> {
        let mut moments: Vec<(usize, f64, Option<String>)> = Vec::new();
        for event in ["monitoring_degraded", "monitoring_recovered"] {
            for row in reader.ask("events", by_run, &[("event", event.to_owned())])?.rows() {
                let Some((run, rel_s)) = numbers.get(row.text("run").as_str()).zip(row.real("rel_s")) else {
                    continue;
                };
                let detail: Json = serde_json::from_str(&row.text("detail")).unwrap_or_default();
                let words = (event == "monitoring_degraded").then(|| {
                    let field = |name: &str| detail[name].as_str().unwrap_or("unknown").to_owned();
                    format!("{}, {}", field("stage"), field("class"))
                });
                moments.push((*run, rel_s, words));
            }
        }
        moments.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let mut open: Option<(usize, f64, String)> = None;
        let close = |(run, from_s, words): (usize, f64, String), to_s: f64, is_open: bool| Interval {
            run,
            what: What::Degraded(words),
            engine: None,
            cause: None,
            from_s: Some(from_s),
            to_s,
            length_s: Some(to_s - from_s),
            is_open,
        };
        let end_of = |run: usize| runs[run].last_s.unwrap_or(runs[run].first_s) - runs[run].first_s;
        for (run, rel_s, words) in moments {
            if let Some(begun) = open.take_if(|begun| begun.0 != run) {
                let end_s = end_of(begun.0);
                self.intervals.push(close(begun, end_s, true));
            }
            match words {
                Some(words) => open = open.or(Some((run, rel_s, words))),
                None => self.intervals.extend(open.take().map(|begun| close(begun, rel_s, false))),
            }
        }
        if let Some(begun) = open {
            let end_s = end_of(begun.0);
            self.intervals.push(close(begun, end_s, true));
        }
        Ok(())
    }

    fn events(
        &mut self,
        reader: &mut Reader<'_>,
        by_run: &Selection,
        runs: &[Run],
        numbers: &HashMap<&str, usize>,
    ) -> Result<()> {
        for row in reader.ask("events", by_run, &[("event", "controller_decision".to_owned())])?.rows() {
            let Some((run, rel_s)) = numbers.get(row.text("run").as_str()).zip(row.real("rel_s")) else {
                continue;
            };
            let detail: Json = serde_json::from_str(&row.text("detail")).unwrap_or_default();
            let is_applied = detail["applied"] == Json::Bool(true);
            let text = |name: &str| detail[name].as_str().unwrap_or("unknown").to_owned();
            let words = if is_applied {
                let number = |name: &str| {
                    detail[name].as_i64().map_or_else(|| "?".to_owned(), |count| count.to_string())
                };
                format!(
                    "roles changed to {} prefill and {} decode engines\n{} ({})",
                    number("prefill"),
                    number("decode"),
                    text("reason"),
                    text("by")
                )
            } else {
                text("result")
            };
            self.decisions.push(Mark { run: *run, rel_s, engine: None, is_applied, words });
        }
        for row in reader.ask("events", by_run, &[("event", "engine_lifecycle".to_owned())])?.rows() {
            let Some(number) = numbers.get(row.text("run").as_str()) else { continue };
            let run = &runs[*number];
            let Some((wall_s, zero_s)) = row.real("wall").zip(run.wall_s(0.0)) else {
                self.lifecycle_left_out += 1;
                continue;
            };
            if self.lifecycle.len() == LIFECYCLE_MARKS {
                self.lifecycle_left_out += 1;
                continue;
            }
            let detail: Json = serde_json::from_str(&row.text("detail")).unwrap_or_default();
            let action = detail["action"].as_str().unwrap_or("lifecycle event").to_owned();
            let when = words::moment(wall_s, WallDetail::Second).unwrap_or_default();
            let engine = row.known_text("iid");
            let words = match &engine {
                Some(engine) => format!(
                    "{}: {} {when}",
                    words::outside(engine, words::ID),
                    words::outside(&action, words::ID)
                ),
                None => format!("{} {when}", words::outside(&action, words::ID)),
            };
            self.lifecycle.push(Mark {
                run: *number,
                rel_s: wall_s - zero_s,
                engine,
                is_applied: false,
                words,
            });
        }
        Ok(())
    }

    /// Which engines have a row: all of few, those with the longest outages of many.
    pub(in crate::report) fn choose_rows(&mut self, known: &[String]) {
        let mut outages: HashMap<String, f64> = HashMap::new();
        for interval in &self.intervals {
            if let Some(engine) = &interval.engine {
                *outages.entry(engine.clone()).or_default() += interval.length_s.unwrap_or(0.0);
            }
        }
        let mut engines: Vec<String> = known.to_vec();
        engines.extend(outages.keys().cloned());
        engines.extend(self.lifecycle.iter().filter_map(|mark| mark.engine.clone()));
        engines.sort_unstable_by(|one, other| natural(one, other));
        engines.dedup();
        let all = engines.len();
        if all > ENGINE_ROWS {
            engines.retain(|engine| outages.contains_key(engine));
            engines.sort_unstable_by(|one, other| {
                outages[other].total_cmp(&outages[one]).then_with(|| natural(one, other))
            });
            engines.truncate(ENGINE_ROWS);
            engines.sort_unstable_by(|one, other| natural(one, other));
        }
        self.engines_left_out = all - engines.len();
        self.engines = engines;
    }

    /// How many intervals are of some kind.
    pub(in crate::report) fn number(&self, is: impl Fn(&What) -> bool) -> usize {
        self.intervals.iter().filter(|interval| is(&interval.what)).count()
    }
}

/// The engines of a survey as they are called on the page.
pub(in crate::report) fn names(reader: &Reader<'_>, survey: &Survey) -> Vec<String> {
    survey.engines.iter().map(|engine| reader.engine(&engine.name)).collect()
}

/// Names in the order in which people count: `n2` before `n10`.
pub(in crate::report) fn natural(one: &str, other: &str) -> Ordering {
    let (mut one_rest, mut other_rest) = (one, other);
    loop {
        let (a, b) = (piece(one_rest), piece(other_rest));
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len()).then_with(|| one.cmp(other));
        }
        let is_number = |piece: &str| piece.starts_with(|c: char| c.is_ascii_digit());
        let by_piece = if is_number(a) && is_number(b) {
            let digits = |piece: &str| piece.trim_start_matches('0').to_owned();
            let (x, y) = (digits(a), digits(b));
            x.len().cmp(&y.len()).then_with(|| x.cmp(&y))
        } else {
            a.cmp(b)
        };
        if by_piece != Ordering::Equal {
            return by_piece;
        }
        (one_rest, other_rest) = (&one_rest[a.len()..], &other_rest[b.len()..]);
    }
}

/// The digits, or the other characters, that a text begins with.
fn piece(text: &str) -> &str {
    let is_digit = |c: char| c.is_ascii_digit();
    let first = text.chars().next().is_some_and(is_digit);
    let end = text.find(|c: char| is_digit(c) != first).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["n10", "n2", "m", "n02", "n", "10.0.0.9", "10.0.0.10"].map(str::to_owned).to_vec();
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, ["10.0.0.9", "10.0.0.10", "m", "n", "n02", "n2", "n10"]);
    }
}
