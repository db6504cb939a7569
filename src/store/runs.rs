//! What rows say of their run as they come: which build wrote it, when it began, what it spans, how its
//! clocks relate.

use chrono::DateTime;
use rusqlite::{OptionalExtension, Result, params};

use super::kept::Kept;
use super::write::Writer;

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub run_id: i64,
    pub has_build: bool,
    /// The last source it was met in.
    pub met_in: i64,
    /// Times stored since the last commit: the smallest and the largest.
    pub times: Option<(f64, f64)>,
    pub wall: WallClock,
    /// What the rows since the last commit add to its counts.
    pub kept: Kept,
}

impl Run {
    pub(super) fn cover(&mut self, time: f64) {
        // The sum of two huge spans can be none that a float holds.
        if !time.is_finite() {
            return;
        }
        let (first, last) = self.times.get_or_insert((time, time));
        *first = first.min(time);
        *last = last.max(time);
    }
}

/// Bounds of a run's wall clock minus its monotonic clock (SEMANTICS, "Time"): a lifecycle event of
/// wall time W between rows written at m1 and m2, in one source, gives `W - m2 <= offset <= W - m1`.
#[derive(Debug, Default)]
pub(super) struct WallClock {
    /// When the last stored row of the current source was written.
    pub written_s: Option<f64>,
    /// The smallest and the largest wall time of the lifecycle events since.
    pub since: Option<(f64, f64)>,
    /// Bounds found since the last commit.
    pub bounds: Option<(f64, f64)>,
    /// Whether the first two changed since the last commit.
    pub moved: bool,
}

impl WallClock {
    /// A row was stored that was written at this monotonic time.
    pub(super) fn wrote(&mut self, at: f64) {
        let before = self.written_s.replace(at);
        self.moved = true;
        if let (Some((smallest, largest)), Some(before)) = (self.since.take(), before) {
            let (low, high) = self.bounds.get_or_insert((f64::MIN, f64::MAX));
            *low = low.max(largest - at);
            *high = high.min(smallest - before);
        }
    }

    /// A lifecycle event of this wall time was stored.
    pub(super) fn met(&mut self, wall: f64) {
        let (smallest, largest) = self.since.get_or_insert((wall, wall));
        *smallest = smallest.min(wall);
        *largest = largest.max(wall);
        self.moved = true;
    }
}

impl Writer<'_> {
    /// The run of that name, met in the current source.
    pub(super) fn meet(&mut self, name: &str) -> Result<&mut Run> {
        let source_id = self.source.source_id;
        // Looked up twice: the borrow checker does not let the found one be returned from here.
        if self.runs.get(name).is_none_or(|run| run.met_in != source_id) {
            let run = self.meet_anew(name)?;
            self.runs.insert(name.to_owned(), run);
        }
        Ok(self.runs.get_mut(name).expect("the run was just put there"))
    }

    /// Finds or adds a run at the first of its rows that the current source gives, or gives again
    /// after another source was read, and infers its build (SEMANTICS, "Which build wrote a run").
    #[cold]
    fn meet_anew(&mut self, name: &str) -> Result<Run> {
        let source_id = self.source.source_id;
        let stored = self
            .connection
            .prepare_cached("select run_id, build_certainty from runs where run = ?1")?
            .query_row([name], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        let mut run = Run {
            run_id: stored.as_ref().map_or(0, |(run_id, _)| *run_id),
            has_build: stored.as_ref().is_some_and(|(_, certainty)| certainty == "exact"),
            met_in: source_id,
            ..Run::default()
        };
        let mut met_before = self.connection.prepare_cached(
            "select written_s, wall_since_low_s, wall_since_high_s from run_sources
             where source_id = ?1 and run_id = ?2",
        )?;
        let met_before = met_before.query_row(params![source_id, run.run_id], |row| {
            let (smallest, largest) = (row.get::<_, Option<f64>>(1)?, row.get(2)?);
            let written_s = row.get(0)?;
            Ok(WallClock { written_s, since: smallest.zip(largest), ..WallClock::default() })
        });
        if let Some(wall) = met_before.optional()? {
            run.wall = wall;
            return Ok(run);
        }
        let (certainty, build_id) = if run.has_build { ("exact", None) } else { self.infer_build()? };
        match stored {
            None => {
                self.connection
                    .prepare_cached(
                        "insert into runs (run, started_at, build_id, build_certainty)
                         values (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![name, started_at(name), build_id, certainty])?;
                run.run_id = self.connection.last_insert_rowid();
            }
            Some((_, before)) if before == "missing" || build_id.is_some() => {
                self.connection
                    .prepare_cached("update runs set build_id = ?2, build_certainty = ?3 where run_id = ?1")?
                    .execute(params![run.run_id, build_id, certainty])?;
            }
            Some(_) => {}
        }
        run.has_build |= build_id.is_some();
        self.connection
            .prepare_cached(
                "insert into run_sources (source_id, run_id, build_certainty) values (?1, ?2, ?3)",
            )?
            .execute(params![source_id, run.run_id, certainty])?;
        Ok(run)
    }

    /// The certainty, and the build when it is exact, of a run that is met first now.
    ///
    /// While kept build rows differ nothing is taken, but each ambiguous run has used up one of
    /// them: when as many were met as the set has members, the set is of no further use. A build row
    /// that comes meanwhile joins the set, and those runs still count.
    fn infer_build(&mut self) -> Result<(&'static str, Option<i64>)> {
        let source = &mut self.source;
        let Some((first, rest)) = source.kept.split_first() else {
            return Ok(("missing", None));
        };
        let mut set_state =
            self.connection.prepare_cached("update builds set state = ?2 where build_id = ?1")?;
        if rest.iter().all(|(_, digest)| *digest == first.1) {
            let (build_id, _) = source.kept.remove(0);
            set_state.execute(params![build_id, "taken"])?;
            if source.kept.is_empty() {
                source.ambiguous_runs = 0;
            }
            return Ok(("exact", Some(build_id)));
        }
        source.ambiguous_runs += 1;
        if source.ambiguous_runs >= source.kept.len() as u64 {
            for (build_id, _) in source.kept.drain(..) {
                set_state.execute(params![build_id, "dropped"])?;
            }
            source.ambiguous_runs = 0;
        }
        Ok(("ambiguous", None))
    }

    /// Saves what the rows since the last commit say of their runs.
    pub(super) fn save_runs(&mut self) -> Result<()> {
        let mut span = self.connection.prepare_cached(
            "update runs
             set first_s = min(coalesce(first_s, ?2), ?2), last_s = max(coalesce(last_s, ?3), ?3)
             where run_id = ?1",
        )?;
        let mut written = self.connection.prepare_cached(
            "update run_sources set written_s = ?3, wall_since_low_s = ?4, wall_since_high_s = ?5
             where source_id = ?1 and run_id = ?2",
        )?;
        let mut bounds = self.connection.prepare_cached(
            "update runs
             set wall_low_s = max(coalesce(wall_low_s, ?2), ?2), wall_high_s = min(coalesce(wall_high_s, ?3), ?3)
             where run_id = ?1",
        )?;
        let mut middle = self.connection.prepare_cached(
            "update runs
             set wall_offset_s = case when wall_low_s <= wall_high_s then (wall_low_s + wall_high_s) / 2 end,
                 wall_error_s = case when wall_low_s <= wall_high_s then (wall_high_s - wall_low_s) / 2 end
             where run_id = ?1",
        )?;
        for run in self.runs.values_mut() {
            if let Some((first, last)) = run.times.take() {
                span.execute(params![run.run_id, first, last])?;
            }
            let wall = &mut run.wall;
            if std::mem::take(&mut wall.moved) {
                let (smallest, largest) = wall.since.unzip();
                written.execute(params![run.met_in, run.run_id, wall.written_s, smallest, largest])?;
            }
            if let Some((low, high)) = wall.bounds.take() {
                bounds.execute(params![run.run_id, low, high])?;
                middle.execute([run.run_id])?;
            }
            std::mem::take(&mut run.kept).save(self.connection, run.run_id)?;
        }
        Ok(())
    }
}

/// When a run began, from its name `<unix seconds>-<8 hex digits>`, as `YYYY-MM-DDTHH:MM:SSZ`.
pub(super) fn started_at(run: &str) -> Option<String> {
    let (seconds, _) = run.split_once('-')?;
    if !seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let time = DateTime::from_timestamp(seconds.parse().ok()?, 0)?;
    let text = time.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    // A year of five digits would sort before one of four.
    (text.len() == 20).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_starts_when_its_name_says() {
        // `date -u -d @1795977936 +%FT%TZ`
        assert_eq!(started_at("1795977936-56e568d1").as_deref(), Some("2026-11-29T18:45:36Z"));
        for name in ["", "run", "-1-aa", "12345", "99999999999999-aa", "1e3-aa", "253402300800-aa"] {
            assert_eq!(started_at(name), None, "{name}");
        }
    }
}
