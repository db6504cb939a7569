//! What went on around a request's engines while it lived.

use std::collections::BTreeSet;

use anyhow::Result;
use rusqlite::{Connection, params};
use serde::Serialize;

use super::answer::{Answer, Row, ask};
use crate::selection::{Selection, of_run};
use crate::text::micros;

/// Something that went on while the request lived.
#[derive(Debug, Serialize, PartialEq)]
pub struct Meanwhile {
    /// When it began; before the arrival it is negative. Null when that is not known.
    pub from_s: Option<f64>,
    /// Of what began at an unknown time: a time before which it had not, because then the one before it
    /// ended. Null when that is not known, either.
    pub not_before_s: Option<f64>,
    /// When it ended; null for what has no length.
    pub to_s: Option<f64>,
    /// The engine, when it concerns one.
    pub engine: Option<String>,
    /// What it was.
    pub what: String,
}

/// The time and the engines that what went on must touch.
pub(super) struct Around<'r> {
    pub run: &'r str,
    pub run_id: i64,
    pub first_s: f64,
    pub wall_offset_s: Option<f64>,
    pub arrived: f64,
    pub lived_s: f64,
    pub engines: BTreeSet<String>,
}

/// A `kind` of `engine-downtime`, in words.
pub(super) fn outage_name(kind: &str) -> String {
    match kind {
        "ejected" => kind.to_owned(),
        kind => format!("{kind} hold"),
    }
}

impl Around<'_> {
    /// What went on, with how many lifecycle events cannot be placed.
    pub(super) fn look(&self, connection: &mut Connection) -> Result<(Vec<Meanwhile>, i64)> {
        let mut found = self.engine_intervals(connection)?;
        found.extend(self.floor_breaches(connection)?);
        found.extend(self.degraded_monitoring(connection)?);
        let (events, unplaced) = self.single_events(connection)?;
        found.extend(events);
        found.sort_by(|one, other| {
            let from = |item: &Meanwhile| item.from_s.or(item.not_before_s).unwrap_or(f64::MIN);
            from(one).total_cmp(&from(other)).then_with(|| one.what.cmp(&other.what))
        });
        Ok((found, unplaced))
    }

    /// Ejections and holds of its engines that overlap its life.
    fn engine_intervals(&self, connection: &mut Connection) -> Result<Vec<Meanwhile>> {
        let answer = self.ask(connection, "engine-downtime")?;
        let ours = answer.rows().filter(|row| self.engines.contains(&row.text("engine")));
        // Outages of one engine and kind follow each other: what ends without a start began after the one
        // before had ended.
        let mut ends: Vec<(String, String, f64)> = Vec::new();
        for row in answer.rows() {
            let to_s = row.real("to_s").filter(|_| row.int("open") == 0);
            ends.extend(to_s.map(|to_s| (row.text("engine"), row.text("kind"), to_s)));
        }
        Ok(ours
            .filter_map(|row| {
                let (engine, kind, to_s) = (row.text("engine"), row.text("kind"), row.real("to_s")?);
                let before = ends.iter().filter(|end| (&end.0, &end.1) == (&engine, &kind) && end.2 < to_s);
                let not_before = before.map(|end| end.2).reduce(f64::max);
                let what = format!("{} ({})", outage_name(&row.text("kind")), row.text("cause"));
                let monotonic = |rel_s: f64| rel_s + self.first_s;
                let from = row.real("from_s").map(monotonic);
                self.overlap_since(from, not_before.map(monotonic), monotonic(to_s), Some(engine), what)
            })
            .collect())
    }

    fn floor_breaches(&self, connection: &mut Connection) -> Result<Vec<Meanwhile>> {
        let answer = self.ask(connection, "floor-breaches")?;
        let count = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), micros);
        Ok(answer
            .rows()
            .filter_map(|row| {
                let (live, floor) = (count(row.real("live_prefill")), count(row.real("min_prefill")));
                self.overlap(row, None, format!("below the prefill floor: {live} live, {floor} needed"))
            })
            .collect())
    }

    fn degraded_monitoring(&self, connection: &Connection) -> Result<Vec<Meanwhile>> {
        let mut statement = connection.prepare(
            "select e.event, e.at, e.stage, e.class, r.last_s
             from events as e
             join runs as r on r.run_id = e.run_id
             where r.run = ?1 and e.event in ('monitoring_degraded', 'monitoring_recovered') and e.at is not null
             order by e.at, e.source_id, e.byte_offset",
        )?;
        let mut rows = statement.query([self.run])?;
        let mut open: Option<(f64, String)> = None;
        let mut found = Vec::new();
        let mut end = 0.0;
        while let Some(row) = rows.next()? {
            let (event, at): (String, f64) = (row.get(0)?, row.get(1)?);
            end = row.get(4)?;
            if event == "monitoring_recovered" {
                if let Some((from, what)) = open.take() {
                    found.extend(self.overlap_monotonic(Some(from), at, None, what));
                }
            } else if open.is_none() {
                let (stage, class): (Option<String>, Option<String>) = (row.get(2)?, row.get(3)?);
                let of = |part: Option<String>| part.unwrap_or_else(|| "unknown".to_owned());
                open = Some((at, format!("monitoring degraded: stage {}, {}", of(stage), of(class))));
            }
        }
        if let Some((from, what)) = open {
            found.extend(self.overlap_monotonic(Some(from), end, None, what));
        }
        Ok(found)
    }

    /// Role changes, and lifecycle events and probes of its engines; with how many lifecycle events
    /// cannot be placed.
    fn single_events(&self, connection: &Connection) -> Result<(Vec<Meanwhile>, i64)> {
        let mut statement = connection.prepare(
            "select e.event, e.at, e.iid, e.engines, e.action, e.outcome, e.kind, e.prefill, e.decode, e.reason
             from events as e
             join runs as r on r.run_id = e.run_id
             where r.run = ?1 and e.at is not null
                 and (e.event in ('engine_lifecycle', 'engine_probe', 'decode_floor_restored')
                     or (e.event = 'controller_decision' and e.applied = 1))
             order by e.source_id, e.byte_offset",
        )?;
        let mut rows = statement.query(params![self.run])?;
        let (mut found, mut unplaced) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let text = |at: usize| row.get::<_, Option<String>>(at);
            let (event, at): (String, f64) = (row.get(0)?, row.get(1)?);
            let named = text(2)?.into_iter().chain(several(text(3)?.as_deref()));
            let mut engine = None;
            if event != "controller_decision" {
                engine = named.into_iter().find(|engine| self.engines.contains(engine));
                if engine.is_none() {
                    continue;
                }
            }
            let word = |part: Option<String>| part.unwrap_or_else(|| "unknown".to_owned());
            let (at, what) = match event.as_str() {
                "engine_lifecycle" => {
                    let Some(offset) = self.wall_offset_s else {
                        unplaced += 1;
                        continue;
                    };
                    (at - offset, format!("lifecycle: {} (time estimated)", word(text(4)?)))
                }
                "engine_probe" => (at, format!("probe {}: {}", word(text(6)?), word(text(5)?))),
                "controller_decision" => {
                    let int = |at: usize| -> rusqlite::Result<String> {
                        Ok(row.get::<_, Option<i64>>(at)?.map_or("unknown".to_owned(), |int| int.to_string()))
                    };
                    let roles = format!("{} prefill and {} decode engines", int(7)?, int(8)?);
                    (at, format!("roles changed to {roles}: {}", word(text(9)?)))
                }
                _ => (at, "decode floor restored".to_owned()),
            };
            let mut at_once = self.overlap_monotonic(Some(at), at, engine, what);
            if let Some(item) = &mut at_once {
                item.to_s = None;
            }
            found.extend(at_once);
        }
        Ok((found, unplaced))
    }

    /// The answer of a shipped query for the run.
    fn ask(&self, connection: &mut Connection, name: &str) -> Result<Answer> {
        let selection = Selection { rows: vec![of_run(self.run, self.run_id)], ..Selection::default() };
        ask(connection, name, &selection, |_| None)
    }

    /// A row with `from_s` and `to_s`, in seconds into the run, when it overlaps the request's life.
    fn overlap(&self, row: Row<'_>, engine: Option<String>, what: String) -> Option<Meanwhile> {
        let monotonic = |rel_s: f64| rel_s + self.first_s;
        let to = row.real("to_s").map(monotonic)?;
        self.overlap_monotonic(row.real("from_s").map(monotonic), to, engine, what)
    }

    /// An interval on the run's monotonic clock, when it overlaps the request's life.
    fn overlap_monotonic(
        &self,
        from: Option<f64>,
        to: f64,
        engine: Option<String>,
        what: String,
    ) -> Option<Meanwhile> {
        self.overlap_since(from, None, to, engine, what)
    }

    /// As [`Self::overlap_monotonic`]; what began at an unknown time did not before `not_before`.
    fn overlap_since(
        &self,
        from: Option<f64>,
        not_before: Option<f64>,
        to: f64,
        engine: Option<String>,
        what: String,
    ) -> Option<Meanwhile> {
        let from_s = from.map(|from| from - self.arrived);
        let not_before_s = not_before.filter(|_| from.is_none()).map(|time| time - self.arrived);
        let to_s = to - self.arrived;
        let overlaps = to_s >= 0.0 && from_s.or(not_before_s).is_none_or(|from_s| from_s <= self.lived_s);
        overlaps.then_some(Meanwhile { from_s, not_before_s, to_s: Some(to_s), engine, what })
    }
}

/// The engines of a JSON array of ids.
fn several(array: Option<&str>) -> Vec<String> {
    array.and_then(|array| serde_json::from_str(array).ok()).unwrap_or_default()
}
