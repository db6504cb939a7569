//! When engines were out of service, to ask of each request which outages of its engines it met.

use std::collections::HashMap;

use anyhow::Result;
use foldhash::fast::FixedState;
use rusqlite::Connection;

use super::accounts::Words;
use crate::query::answer::ask;
use crate::query::ordered::Scope;
use crate::selection::{Selection, of_run};

/// The outages of the runs of some scopes.
#[derive(Debug, Default)]
pub(super) struct Outages {
    of_run: HashMap<i64, OfEngines, FixedState>,
    words: Words,
}

type OfEngines = HashMap<String, Vec<OfKind>, FixedState>;

/// Outages of one engine and kind, in seconds into the run. They do not overlap, and ascend.
#[derive(Debug)]
struct OfKind {
    /// The number of `ENGINE KIND`.
    value: u32,
    spans: Vec<(f64, f64)>,
}

impl Outages {
    /// Those of whole runs: a request may live on after the window in which it arrived. The connection has another
    /// selection afterwards.
    pub(super) fn load(connection: &mut Connection, scopes: &[Scope]) -> Result<Self> {
        let mut runs = HashMap::new();
        for part in scopes.iter().flat_map(|scope| &scope.parts) {
            runs.insert(part.run.clone(), part.run_id);
        }
        let rows = runs.iter().map(|(run, run_id)| of_run(run, *run_id)).collect();
        let selection = Selection { rows, ..Selection::default() };
        let mut outages = Self::default();
        for row in ask(connection, "engine-downtime", &selection, |_| None)?.rows() {
            let (Some(engine), Some(kind)) = (row.known_text("engine"), row.known_text("kind")) else {
                continue;
            };
            let Some(to_s) = row.real("to_s") else { continue };
            // Of one with an unknown start nothing is known but its end.
            let span = (row.real("from_s").unwrap_or(to_s), to_s);
            let Some(run_id) = runs.get(&row.text("run")) else { continue };
            let value = outages.words.number(&format!("{engine} {kind}"));
            let kinds = outages.of_run.entry(*run_id).or_default().entry(engine).or_default();
            match kinds.iter_mut().find(|known| known.value == value) {
                Some(known) => known.spans.push(span),
                None => kinds.push(OfKind { value, spans: vec![span] }),
            }
        }
        for kind in outages.of_run.values_mut().flat_map(HashMap::values_mut).flatten() {
            kind.spans.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        Ok(outages)
    }

    /// The outages of an engine, a number for each kind, that overlap the time from `lived.0` to `lived.1`.
    pub(super) fn of(&self, run_id: i64, engine: &str, lived: (f64, f64)) -> impl Iterator<Item = u32> {
        let kinds = self.of_run.get(&run_id).and_then(|engines| engines.get(engine));
        kinds.into_iter().flatten().filter_map(move |OfKind { value, spans }| {
            let begun = spans.partition_point(|(from_s, _)| *from_s <= lived.1);
            // They do not overlap, so the last that began has the latest end.
            let last = spans[..begun].last()?;
            (last.1 >= lived.0).then_some(*value)
        })
    }

    /// The word of a number, `ENGINE KIND`.
    pub(super) fn word(&self, value: usize) -> &str {
        &self.words.all()[value]
    }
}
