//! How many requests a second were offered: in the worst stretch, in the window and in the baseline.

use std::collections::BTreeMap;

use anyhow::Result;
use rusqlite::{Connection, named_params};

use crate::query::ordered::Scope;

/// Requests offered a second. What a run wrote before its first and after its last request is no time in which
/// requests were awaited, so only the events of a router do not make it look idle. Where parts of a scope overlap in
/// wall time, it counts once. None where the scope lasts no time.
pub(super) fn per_s(connection: &Connection, scope: &Scope) -> Result<Option<f64>> {
    let mut find = connection.prepare_cached(include_str!("../../../queries/explain/arrivals.sql"))?;
    let mut offered = 0;
    // Spans on one axis of wall time; a run without wall times has an axis of its own.
    let mut axes: BTreeMap<Option<i64>, Vec<(f64, f64)>> = BTreeMap::new();
    for part in &scope.parts {
        let bound = named_params! { ":run_id": part.run_id, ":from_s": part.from_s, ":to_s": part.to_s };
        let (arrived, first_s, last_s): (i64, Option<f64>, Option<f64>) =
            find.query_row(bound, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        offered += arrived;
        let Some((first_s, last_s)) = first_s.zip(last_s) else { continue };
        let axis = if part.wall_offset_s.is_none() { Some(part.run_id) } else { None };
        let offset_s = part.wall_offset_s.unwrap_or_default();
        let span = (part.from_s.max(first_s) + offset_s, part.to_s.min(last_s) + offset_s);
        axes.entry(axis).or_default().push(span);
    }
    let lasts_s: f64 = axes.into_values().map(covered_s).sum();
    Ok((lasts_s > 0.0).then(|| offered as f64 / lasts_s))
}

/// How much time spans cover together.
fn covered_s(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut covered_s, mut reached) = (0.0, f64::NEG_INFINITY);
    for (from_s, to_s) in spans {
        covered_s += (to_s - from_s.max(reached)).max(0.0);
        reached = reached.max(to_s);
    }
    covered_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_spans_share_counts_once() {
        assert_eq!(covered_s(vec![(5.0, 8.0), (0.0, 2.0), (1.0, 3.0), (6.0, 7.0)]), 6.0);
        assert_eq!(covered_s(vec![(4.0, 4.0), (9.0, 3.0)]), 0.0, "a part after the last request");
        assert_eq!(covered_s(Vec::new()), 0.0);
    }
}
