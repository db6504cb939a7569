//! When engines were out of service, to ask of each request which outages of its engines it met.

use std::collections::HashMap;

use anyhow::Result;
use rusqlite::Connection;

use crate::query::answer::ask;
use crate::query::ordered::Scope;
use crate::selection::{Selection, of_run};

/// The outages of the runs of some scopes.
#[derive(Debug, Default)]
pub(super) struct Outages {
    of_run: HashMap<i64, HashMap<String, Vec<OfKind>>>,
}

/// Outages of one engine and kind, in seconds into the run. They do not overlap, and ascend.
#[derive(Debug)]
struct OfKind {
    kind: String,
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
        let mut of_run: HashMap<i64, HashMap<String, Vec<OfKind>>> = HashMap::new();
        for row in ask(connection, "engine-downtime", &selection, |_| None)?.rows() {
            let (Some(engine), Some(kind)) = (row.known_text("engine"), row.known_text("kind")) else { continue };
            let Some(to_s) = row.real("to_s") else { continue };
            // Of one with an unknown start nothing is known but its end.
            let span = (row.real("from_s").unwrap_or(to_s), to_s);
            let Some(run_id) = runs.get(&row.text("run")) else { continue };
            let kinds = of_run.entry(*run_id).or_default().entry(engine).or_default();
            match kinds.iter_mut().find(|known| known.kind == kind) {
                Some(known) => known.spans.push(span),
                None => kinds.push(OfKind { kind, spans: vec![span] }),
            }
        }
        for kind in of_run.values_mut().flat_map(HashMap::values_mut).flatten() {
            kind.spans.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        Ok(Self { of_run })
    }

    /// The kinds of outages of an engine that overlap the time from `lived.0` to `lived.1`.
    pub(super) fn kinds(&self, run_id: i64, engine: &str, lived: (f64, f64)) -> impl Iterator<Item = &str> {
        let kinds = self.of_run.get(&run_id).and_then(|engines| engines.get(engine));
        kinds.into_iter().flatten().filter_map(move |OfKind { kind, spans }| {
            let begun = spans.partition_point(|(from_s, _)| *from_s <= lived.1);
            // They do not overlap, so the last that began has the latest end.
            let last = spans[..begun].last()?;
            (last.1 >= lived.0).then_some(kind.as_str())
        })
    }
}
