//! Routers that were known before a stretch of wall time and wrote nothing in it: they have no row in the selection,
//! and whoever watches a fleet must hear of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rusqlite::Connection;

use super::runs::Run;
use super::scopes::{UNKNOWN, folder_of};
use super::windows::Window;
use super::{By, Choice};
use crate::journal::inputs::part_of;

/// A journal without a row in the stretch, which had rows before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Silent {
    /// The scope that it would be in where scopes are runs, sources or folders; else the path of its journal.
    pub scope: String,
    /// When its last row was, in estimated Unix seconds.
    pub last_s: f64,
}

/// The journals, rotated parts taken together, that had rows of the chosen runs before `--since` and have none from
/// there on. A journal that goes on with another run is not silent, nor is one with a run without a wall time.
pub(super) fn find(
    connection: &Connection,
    asked: &Choice,
    chosen: &[&Run],
    parts: &[(&Run, Window)],
) -> Result<Vec<Silent>> {
    let Some(since) = &asked.since else { return Ok(Vec::new()) };
    let speaking: BTreeSet<i64> = parts.iter().map(|(run, _)| run.run_id).collect();
    let mut met = connection.prepare(
        "select m.run_id, s.path
         from run_sources as m
         join sources as s on s.source_id = m.source_id
         order by s.source_id, m.run_id",
    )?;
    let mut rows = met.query([])?;
    let mut journals: BTreeMap<(String, String), BTreeSet<i64>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (run_id, path): (i64, String) = (row.get(0)?, row.get(1)?);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        journals.entry((folder.to_owned(), part_of(name).0)).or_default().insert(run_id);
    }
    let mut found: Vec<Silent> = Vec::new();
    for runs in journals.values().filter(|runs| runs.is_disjoint(&speaking)) {
        let of_journal = chosen.iter().filter(|run| runs.contains(&run.run_id));
        let lasts: Option<Vec<(f64, &Run)>> =
            of_journal.map(|run| Some((run.last_s? + run.wall_offset_s?, *run))).collect();
        // Of a run without a wall time nobody knows whether it lies in the stretch: a note says so.
        let last = lasts.unwrap_or_default().into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
        let Some((last_s, run)) = last.filter(|(last_s, _)| *last_s < since.unix_s) else { continue };
        let path = || run.path.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let scope = match asked.by {
            By::Run => run.run.clone(),
            By::Folder => run.path.as_deref().map_or_else(|| UNKNOWN.to_owned(), folder_of),
            By::All | By::Release | By::Source | By::Wall(_) | By::RunTime(_) => path(),
        };
        found.push(Silent { scope, last_s });
    }
    // A folder with a journal that speaks does; of several silent ones the newest row counts.
    if matches!(asked.by, By::Folder | By::Source) {
        let known = |silent: &Silent| {
            parts.iter().any(|(run, _)| {
                let path = run.path.as_deref().unwrap_or(UNKNOWN);
                silent.scope == if asked.by == By::Folder { folder_of(path) } else { path.to_owned() }
            })
        };
        found.retain(|silent| !known(silent));
    }
    found.sort_by(|one, other| one.scope.cmp(&other.scope).then(other.last_s.total_cmp(&one.last_s)));
    found.dedup_by(|next, kept| next.scope == kept.scope);
    Ok(found)
}
