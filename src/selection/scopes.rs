//! The groups of an answer: which scope each part of a run belongs to, cut by time where that is asked.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;
use chrono::DateTime;

use super::Row;
use super::runs::Run;
use super::windows::Window;
use crate::failure::Failure;

/// What the groups of an answer are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// One a run.
    #[default]
    Run,
    /// One of everything.
    All,
    /// One a release; `unknown` where the build is not exactly known.
    Release,
    /// One a journal: the path of the source where the run's first stored row stands.
    Source,
    /// One a folder of journals.
    Folder,
    /// One a stretch of wall time of so many seconds, in UTC.
    Wall(i64),
    /// One a stretch of so many seconds of a run, from its zero.
    RunTime(i64),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("run"),
            Self::All => f.write_str("all"),
            Self::Release => f.write_str("release"),
            Self::Source => f.write_str("source"),
            Self::Folder => f.write_str("folder"),
            Self::Wall(stretch_s) => write!(f, "{stretch_s}s"),
            Self::RunTime(stretch_s) => write!(f, "run,{stretch_s}s"),
        }
    }
}

/// The words of [`By::parse`], for messages and help.
pub(super) const WORDS: &str =
    "run, all, release, source, folder, a length of wall time such as 1m, 1h or 1d, or run,1m";

impl By {
    /// Reads what stands after `--by`.
    ///
    /// # Errors
    /// In words, naming what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "run" => Self::Run,
            "all" => Self::All,
            "release" => Self::Release,
            "source" => Self::Source,
            "folder" => Self::Folder,
            text => match text.strip_prefix("run,") {
                Some(stretch) => Self::RunTime(whole_seconds(stretch, text)?),
                None => Self::Wall(whole_seconds(text, text)?),
            },
        })
    }
}

/// The length of a stretch: whole seconds, at least one.
fn whole_seconds(stretch: &str, text: &str) -> Result<i64, String> {
    match super::time::length(stretch) {
        Ok(length_s) if length_s >= 1.0 && length_s.fract() == 0.0 && length_s <= 1e9 => Ok(length_s as i64),
        Ok(_) => Err(format!("{text:?}: a stretch of time has whole seconds, from 1s on")),
        Err(_) => Err(format!("{text:?} is nothing to group by: there is {WORDS}")),
    }
}

/// More scopes are no answer that anybody reads, but a wrong clock or a slip.
const MAX_SCOPES: f64 = 1_000_000.0;

/// The rows of the parts, in the order of the table.
///
/// # Errors
/// When there would be more than [`MAX_SCOPES`] scopes.
pub(super) fn cut(parts: &[(&Run, Window)], by: By) -> Result<Vec<Row>> {
    let mut rows = match by {
        By::Wall(stretch_s) => by_wall(parts, stretch_s)?,
        By::RunTime(stretch_s) => by_run_time(parts, stretch_s)?,
        By::Run => whole(parts, |run| run.run.clone()),
        By::All => whole(parts, |_| "all".to_owned()),
        By::Release => whole(parts, |run| run.version.clone().unwrap_or_else(|| UNKNOWN.to_owned())),
        By::Source => whole(parts, |run| run.path.clone().unwrap_or_else(|| UNKNOWN.to_owned())),
        By::Folder => whole(parts, |run| run.path.as_deref().map_or_else(|| UNKNOWN.to_owned(), folder_of)),
    };
    rows.sort_by(|one, other| {
        (&one.scope, one.run_id).cmp(&(&other.scope, other.run_id)).then(one.from_s.total_cmp(&other.from_s))
    });
    Ok(rows)
}

/// The scope of what cannot be told: a build not exactly known, a run without a wall time.
pub(super) const UNKNOWN: &str = "unknown";

fn whole(parts: &[(&Run, Window)], scope_of: impl Fn(&Run) -> String) -> Vec<Row> {
    parts.iter().map(|(run, window)| row(scope_of(run), run, *window)).collect()
}

fn row(scope: String, run: &Run, Window { from_s, to_s }: Window) -> Row {
    Row { scope, run_id: run.run_id, from_s, to_s }
}

pub(super) fn folder_of(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((folder, _)) => folder.to_owned(),
        None if path == "-" => path.to_owned(),
        None => ".".to_owned(),
    }
}

/// The stretches, from `at(k)` to `at(k + 1)`, that a part of a run touches. However `at` is rounded, every
/// moment of the part lies in one of them. `None` for a run without times.
///
/// # Errors
/// When there are too many, or the run's times are so large that a second is lost in them.
fn stretches(
    run: &Run,
    window: Window,
    number_of: impl Fn(f64) -> f64,
    at: impl Fn(i64) -> f64,
) -> Result<Option<Stretches>> {
    let (Some(first_s), Some(last_s)) = (run.first_s, run.last_s) else { return Ok(None) };
    let (from_s, to_s) = (window.from_s.max(first_s), window.to_s.min(last_s));
    check_count(number_of(to_s) - number_of(from_s))?;
    if first_s.abs().max(last_s.abs()) > MAX_TIME_S {
        let message = format!(
            "run {} has times that no clock shows, which cannot be cut into stretches: leave it out with --run, or \
             look at them with `narwhal-jq query requests --run {} --order duration_s`",
            run.run, run.run
        );
        return Err(Failure::usage(message).into());
    }
    let mut first = number_of(from_s) as i64;
    let mut last = number_of(to_s) as i64;
    while at(first) > from_s {
        first -= 1;
    }
    while at(first + 1) <= from_s {
        first += 1;
    }
    while at(last + 1) <= to_s {
        last += 1;
    }
    // A window that ends where a stretch begins does not reach into it.
    while last > first && (at(last) > to_s || at(last) >= window.to_s) {
        last -= 1;
    }
    Ok(Some(Stretches { first, last }))
}

/// Beyond this, in seconds, floats are so coarse that stretches of a second are not told apart.
const MAX_TIME_S: f64 = 1e14;

/// The numbers of the stretches that a part of a run touches.
#[derive(Debug, Clone, Copy)]
struct Stretches {
    first: i64,
    last: i64,
}

/// What of a part lies in a stretch from `from_s` to `to_s`.
fn within(window: Window, from_s: f64, to_s: f64) -> Window {
    Window { from_s: window.from_s.max(from_s), to_s: window.to_s.min(to_s) }
}

fn by_wall(parts: &[(&Run, Window)], stretch_s: i64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut touched: Vec<(Stretches, &Run, Window, f64)> = Vec::new();
    for (run, window) in parts {
        let offset_s = run.wall_offset_s.unwrap_or_default();
        let number_of = |time: f64| ((time + offset_s) / stretch_s as f64).floor();
        let at = |number: i64| (number * stretch_s) as f64 - offset_s;
        let found = if run.wall_offset_s.is_some() { stretches(run, *window, number_of, at)? } else { None };
        match found {
            Some(found) => touched.push((found, run, *window, offset_s)),
            None => rows.push(row(UNKNOWN.to_owned(), run, *window)),
        }
    }
    let (Some(first), Some(last)) =
        (touched.iter().map(|part| part.0.first).min(), touched.iter().map(|part| part.0.last).max())
    else {
        return Ok(rows);
    };
    check_count((last - first) as f64)?;
    let mut reached: BTreeSet<i64> = BTreeSet::new();
    for (stretches, run, window, offset_s) in &touched {
        for number in stretches.first..=stretches.last {
            let from_s = (number * stretch_s) as f64 - offset_s;
            let to_s = ((number + 1) * stretch_s) as f64 - offset_s;
            rows.push(row(wall_name(number * stretch_s), run, within(*window, from_s, to_s)));
            reached.insert(number);
        }
    }
    // A stretch that no run covers has a row too: of the run before it, in which nothing arrived then. Of several
    // that end in one stretch, the last one.
    let end_of = |(_, run, window, offset_s): &(Stretches, &Run, Window, f64)| {
        window.to_s.min(run.last_s.unwrap_or(window.to_s)) + offset_s
    };
    touched.sort_by(|one, other| one.0.last.cmp(&other.0.last).then(end_of(one).total_cmp(&end_of(other))));
    for number in first..=last {
        if reached.contains(&number) {
            continue;
        }
        let before = touched.partition_point(|part| part.0.last < number);
        let (_, run, _, offset_s) = touched[before - 1];
        let from_s = (number * stretch_s) as f64 - offset_s;
        // The run may go on there, outside of what is asked for.
        let goes_on = run.last_s.is_some_and(|last_s| last_s >= from_s);
        let to_s = if goes_on { from_s } else { ((number + 1) * stretch_s) as f64 - offset_s };
        rows.push(row(wall_name(number * stretch_s), run, Window { from_s, to_s }));
    }
    Ok(rows)
}

/// The name of a stretch: its start. Beyond the years that dates have, its Unix second.
fn wall_name(unix_s: i64) -> String {
    let time = DateTime::from_timestamp(unix_s, 0).map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string());
    time.unwrap_or_else(|| unix_s.to_string())
}

fn by_run_time(parts: &[(&Run, Window)], stretch_s: i64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (run, window) in parts {
        let first_s = run.first_s.unwrap_or_default();
        let scope = |number: i64| format!("{} +{:09}s", run.run, number * stretch_s);
        let number_of = |time: f64| ((time - first_s) / stretch_s as f64).floor();
        let at = |number: i64| first_s + (number * stretch_s) as f64;
        let Some(stretches) = stretches(run, *window, number_of, at)? else {
            rows.push(row(scope(0), run, *window));
            continue;
        };
        check_count(rows.len() as f64 + (stretches.last - stretches.first) as f64)?;
        for number in stretches.first..=stretches.last {
            rows.push(row(scope(number), run, within(*window, at(number), at(number + 1))));
        }
    }
    Ok(rows)
}

fn check_count(scopes: f64) -> Result<()> {
    if scopes < MAX_SCOPES {
        return Ok(());
    }
    let message = format!(
        "--by would cut this into {scopes:.0} scopes, more than {MAX_SCOPES}: give a longer stretch, or less time; \
         `narwhal-jq query runs` shows odd times"
    );
    Err(Failure::usage(message).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::{OPEN_FROM, OPEN_TO};

    fn run(name: &str, first_s: f64, last_s: f64, wall_offset_s: f64) -> Run {
        Run {
            run_id: name.len() as i64,
            first_s: Some(first_s),
            last_s: Some(last_s),
            wall_offset_s: Some(wall_offset_s),
            ..Run::named(name)
        }
    }

    const WHOLE: Window = Window { from_s: OPEN_FROM, to_s: OPEN_TO };

    #[test]
    fn wall_time_is_cut_at_multiples_and_gaps_hang_on_the_run_before() {
        // 13:59:50 to 14:00:10, then 14:02:10 to 14:02:20 of 2026-11-29.
        let one = run("a", 10.0, 30.0, 1_795_960_790.0 - 10.0);
        let two = run("bb", 0.0, 10.0, 1_795_960_930.0);
        let rows = cut(&[(&one, WHOLE), (&two, WHOLE)], By::Wall(60)).expect("few scopes");
        let found: Vec<_> =
            rows.iter().map(|row| (row.scope.as_str(), row.run_id, row.from_s, row.to_s)).collect();
        assert_eq!(
            found,
            [
                ("2026-11-29T13:59:00Z", 1, -40.0, 20.0),
                ("2026-11-29T14:00:00Z", 1, 20.0, 80.0),
                ("2026-11-29T14:01:00Z", 1, 80.0, 140.0),
                ("2026-11-29T14:02:00Z", 2, -10.0, 50.0),
            ]
        );
    }

    #[test]
    fn a_window_cuts_the_first_and_the_last_stretch() {
        let one = run("a", 0.0, 200.0, 0.0);
        let rows = cut(&[(&one, Window { from_s: 30.0, to_s: 120.0 })], By::RunTime(60)).expect("few scopes");
        let found: Vec<_> = rows.iter().map(|row| (row.scope.as_str(), row.from_s, row.to_s)).collect();
        assert_eq!(found, [("a +000000000s", 30.0, 60.0), ("a +000000060s", 60.0, 120.0)]);
    }

    #[test]
    fn no_moment_of_a_run_falls_between_its_stretches() {
        for offset in [0.1, 1_795_960_790.3, 1_795_960_790.333_333_3] {
            for first in [0.1_f64, 12_345.678_9, 5.000_000_000_1] {
                let one = run("a", first, first + 301.7, offset);
                for by in [By::Wall(60), By::RunTime(60), By::Wall(1), By::RunTime(1)] {
                    let rows = cut(&[(&one, WHOLE)], by).expect("few scopes");
                    assert!(rows[0].from_s <= first, "{by:?}");
                    assert!(rows[rows.len() - 1].to_s > first + 301.7, "{by:?}");
                    assert!(rows.windows(2).all(|pair| pair[0].to_s == pair[1].from_s), "{by:?}");
                }
            }
        }
    }

    #[test]
    fn what_can_be_grouped_by_is_named() {
        assert_eq!(By::parse("5m"), Ok(By::Wall(300)));
        assert_eq!(By::parse("run,1h"), Ok(By::RunTime(3600)));
        assert_eq!(By::parse("folder"), Ok(By::Folder));
        for text in ["engine", "runs", "run,", "5 minutes ago", ""] {
            let error = By::parse(text).expect_err(text);
            assert!(error.contains("there is run, all, release, source, folder"), "{error}");
        }
        for text in ["0s", "1.5", "500ms", "run,0.5"] {
            let error = By::parse(text).expect_err(text);
            assert!(error.contains("whole seconds"), "{error}");
        }
    }

    #[test]
    fn more_than_a_million_scopes_are_refused() {
        for last_s in [1e7, 1e12, 1e300] {
            let long = run("a", 0.0, last_s, 0.0);
            for by in [By::Wall(1), By::RunTime(1)] {
                let error = cut(&[(&long, WHOLE)], by).expect_err("too many");
                assert!(error.to_string().contains("more than 1000000"), "{error}");
            }
        }
        let far = run("a", 1e300, 1e300, 0.0);
        for by in [By::Wall(1), By::RunTime(1)] {
            let error = cut(&[(&far, WHOLE)], by).expect_err("no clock");
            assert!(error.to_string().contains("times that no clock shows"), "{error}");
        }
    }

    #[test]
    fn a_folder_is_what_stands_before_the_last_slash() {
        for (path, folder) in [("/a/b.jsonl", "/a"), ("/b.jsonl", "/"), ("b.jsonl", "."), ("-", "-")] {
            assert_eq!(folder_of(path), folder);
        }
    }
}
