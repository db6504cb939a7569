//! The runs of a database as far as choosing them goes, and which of them are asked for.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use rusqlite::Connection;

use super::Choice;
use crate::journal::inputs::part_of;
use crate::store::forgotten::{self, Tombstone};

/// A run as far as choosing it goes.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    pub run_id: i64,
    pub run: String,
    /// The release that wrote it, where that is exactly known.
    pub version: Option<String>,
    /// Its zero and its end, monotonic; none while it has no time.
    pub first_s: Option<f64>,
    pub last_s: Option<f64>,
    /// Its estimated wall clock minus its monotonic clock, half the width of the estimate, what it rests on.
    pub wall_offset_s: Option<f64>,
    pub wall_error_s: Option<f64>,
    pub wall_basis: Option<String>,
    /// The source where its first stored row stands.
    pub path: Option<String>,
}

impl Run {
    #[cfg(test)]
    pub(super) fn named(name: &str) -> Self {
        Self { run: name.to_owned(), ..Self::default() }
    }
}

/// Every run, in the order of `runs` answers.
pub(super) fn load(connection: &Connection) -> Result<Vec<Run>> {
    let mut find = connection.prepare(
        "select r.run_id, r.run, b.version, r.first_s, r.last_s, r.wall_offset_s, r.wall_error_s, r.wall_basis, s.path
         from runs as r
         left join builds as b on b.build_id = r.build_id
         left join sources as s on s.source_id = r.source_id
         order by r.started_at, r.run",
    )?;
    let runs = find.query_map([], |row| {
        Ok(Run {
            run_id: row.get(0)?,
            run: row.get(1)?,
            version: row.get(2)?,
            first_s: row.get(3)?,
            last_s: row.get(4)?,
            wall_offset_s: row.get(5)?,
            wall_error_s: row.get(6)?,
            wall_basis: row.get(7)?,
            path: row.get(8)?,
        })
    })?;
    Ok(runs.collect::<rusqlite::Result<_>>()?)
}

/// The runs that are asked for by name, release and source, and why there are none, in words.
///
/// # Errors
/// When a run is not there, or a beginning is that of several.
pub(super) fn choose<'r>(
    connection: &Connection,
    asked: &Choice,
    all: &'r [Run],
) -> Result<(Vec<&'r Run>, Option<String>)> {
    let mut kinds: Vec<(String, BTreeSet<i64>)> = Vec::new();
    let mut add = |flag: &str, values: &[String], runs: BTreeSet<i64>| {
        let words: Vec<String> = values.iter().map(|value| format!("--{flag} {value}")).collect();
        kinds.push((words.join(" "), runs));
    };
    if !asked.runs.is_empty() {
        add("run", &asked.runs, named(connection, &asked.runs, all)?);
    }
    if !asked.releases.is_empty() {
        add("release", &asked.releases, of_releases(&asked.releases, all));
    }
    if !asked.sources.is_empty() {
        add("source", &asked.sources, of_sources(connection, &asked.sources)?);
    }
    let chosen: Vec<&Run> =
        all.iter().filter(|run| kinds.iter().all(|(_, runs)| runs.contains(&run.run_id))).collect();
    let mut emptied_by = None;
    if all.is_empty() {
        emptied_by = Some("there is no run in the database".to_owned());
    } else if let Some((words, _)) = kinds.iter().find(|(_, runs)| runs.is_empty()) {
        let there = if words.starts_with("--release") { releases(all) } else { paths(connection)? };
        emptied_by = Some(format!("{words} takes in no run: {there}"));
    } else if chosen.is_empty() {
        let words: Vec<&str> = kinds.iter().map(|(words, _)| words.as_str()).collect();
        emptied_by = Some(format!("no run is in all of {}", words.join(" and ")));
    }
    Ok((chosen, emptied_by))
}

fn named(connection: &Connection, names: &[String], all: &[Run]) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    for name in names {
        if name == "current" && !all.iter().any(|run| run.run == *name) {
            found.extend(current(connection)?.iter().map(|current| current.run_id));
            continue;
        }
        let run = resolve_run(connection, name)?;
        found.extend(all.iter().filter(|one| one.run == run).map(|run| run.run_id));
    }
    Ok(found)
}

/// Whether a version is the release, or one of it: `0.7` takes in `0.7.0` and `0.7.1`, not `0.70`.
fn is_of_release(version: &str, release: &str) -> bool {
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn of_releases(releases: &[String], all: &[Run]) -> BTreeSet<i64> {
    let is_chosen = |version: &str| releases.iter().any(|release| is_of_release(version, release));
    all.iter().filter(|run| run.version.as_deref().is_some_and(is_chosen)).map(|run| run.run_id).collect()
}

fn releases(all: &[Run]) -> String {
    let there: BTreeSet<&str> = all.iter().filter_map(|run| run.version.as_deref()).collect();
    if there.is_empty() {
        return "no release is exactly known".to_owned();
    }
    format!("there is {}", there.into_iter().collect::<Vec<_>>().join(", "))
}

/// So many paths are named at most.
const MAX_NAMED: i64 = 5;

fn paths(connection: &Connection) -> Result<String> {
    let mut find = connection.prepare("select distinct path from sources order by path limit ?1")?;
    let paths: Vec<String> =
        find.query_map([MAX_NAMED + 1], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let more = if paths.len() as i64 > MAX_NAMED { ", ..." } else { "" };
    let shown: Vec<&str> = paths.iter().take(MAX_NAMED as usize).map(String::as_str).collect();
    Ok(format!("there is {}{more}", shown.join(", ")))
}

/// The runs that were met in a source whose path matches: a glob without `/` is held against the file's name.
fn of_sources(connection: &Connection, globs: &[String]) -> Result<BTreeSet<i64>> {
    let mut sources = connection.prepare("select source_id, path from sources")?;
    let sources: Vec<(i64, String)> =
        sources.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut matches = connection.prepare("select ?1 glob ?2")?;
    let mut met = connection.prepare("select run_id from run_sources where source_id = ?1")?;
    let mut found = BTreeSet::new();
    for (source_id, path) in &sources {
        for glob in globs {
            let name = path.rsplit('/').next().unwrap_or(path);
            let held = if glob.contains('/') { path.as_str() } else { name };
            // A relative path with folders means the end of one, from a folder's name on.
            let anywhere = format!("*/{glob}");
            let globs = [glob.as_str(), if glob.starts_with('/') { glob } else { &anywhere }];
            let mut is_match = false;
            for glob in globs {
                is_match |= matches.query_row([held, glob], |row| row.get::<_, bool>(0))?;
            }
            if is_match {
                let runs = met.query_map([source_id], |row| row.get::<_, i64>(0))?;
                found.extend(runs.collect::<rusqlite::Result<Vec<_>>>()?);
            }
        }
    }
    Ok(found)
}

/// The run that a journal's newest row belongs to, as far as can be told.
#[derive(Debug, Clone)]
pub(super) struct Current {
    pub run_id: i64,
    /// The path of the newest source of its journal.
    pub path: String,
}

/// For each journal, rotated parts and all, the run with the latest arrival in its newest source.
pub(super) fn current(connection: &Connection) -> Result<Vec<Current>> {
    let mut sources =
        connection.prepare("select source_id, path from sources where run_rows > 0 order by source_id")?;
    let sources: Vec<(i64, String)> =
        sources.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    // Of each journal: how new its newest part is by its name, and that part.
    let mut newest = BTreeMap::new();
    for (source_id, path) in sources {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let (journal, age) = part_of(name);
        let part = (age, source_id, path.clone());
        let known = newest.entry((folder.to_owned(), journal)).or_insert_with(|| part.clone());
        if (&part.0, part.1) > (&known.0, known.1) {
            *known = part;
        }
    }
    // Monotonic clocks of two processes cannot be compared, wall clocks can.
    let mut latest = connection.prepare(
        "select r.run_id
         from run_sources as m
         join runs as r on r.run_id = m.run_id
         where m.source_id = ?1
         order by (select max(t.arrived) from terminals as t where t.run_id = r.run_id) + r.wall_offset_s desc,
             r.started_at desc, r.run desc
         limit 1",
    )?;
    let mut found = Vec::new();
    for (_, source_id, path) in newest.into_values() {
        let mut runs = latest.query([source_id])?;
        if let Some(row) = runs.next()? {
            found.push(Current { run_id: row.get(0)?, path });
        }
    }
    Ok(found)
}

/// The run that a text means: its whole id, `last` for the newest, or the beginning of one id.
///
/// # Errors
/// When there is none, or the beginning is that of several.
pub fn resolve_run(connection: &Connection, text: &str) -> Result<String> {
    let one = |sql: &str, text: &[&str]| -> Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        let runs = statement.query_map(rusqlite::params_from_iter(text), |row| row.get(0))?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    };
    let mut runs = match text {
        "last" => one("select run from runs order by started_at desc, run desc limit 1", &[])?,
        _ => one("select run from runs where run = ?1", &[text])?,
    };
    if runs.is_empty() && !text.is_empty() {
        runs = one("select run from runs where substr(run, 1, length(?1)) = ?1 order by run", &[text])?;
    }
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (None, _) => {
            if let Some(tombstone) = forgotten::find(connection, text)? {
                bail!("{}", in_words(&tombstone));
            }
            bail!("no run {text:?} in the database: `narwhal-jq query runs` lists them, `last` is the newest")
        }
        (Some(run), more) => {
            bail!("{text:?} begins the ids of {} runs, {run} among them: give more of it", more + 1)
        }
    }
}

fn in_words(Tombstone { run, forgotten_at, is_undone, .. }: &Tombstone) -> String {
    match is_undone {
        false => format!(
            "run {run} was forgotten at {forgotten_at}: `narwhal-jq forget --undo {run}` takes that back"
        ),
        true => format!(
            "run {run} was forgotten at {forgotten_at}, which was taken back: it is there again when \
             `narwhal-jq ingest` has read its journals again"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_takes_in_those_under_it() {
        for (version, release, is_of) in [
            ("0.7.0", "0.7.0", true),
            ("0.7.0", "0.7", true),
            ("0.7.0", "0", true),
            ("0.70.0", "0.7", false),
            ("0.7.0", "0.7.", false),
            ("0.7.0rc1", "0.7.0", false),
        ] {
            assert_eq!(is_of_release(version, release), is_of, "{version} {release}");
        }
    }
}
