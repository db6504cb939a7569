//! What rows say of their run as they come: when it began, what it spans, how its clocks relate. Which
//! build wrote it is inferred in `inference`.

use chrono::DateTime;
use rusqlite::{OptionalExtension, Result, params};

use super::inference::Home;
use super::kept::Kept;
use super::write::Writer;

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Its key; none while it is forgotten.
    pub run_id: Option<i64>,
    /// The last source it was met in.
    pub met_in: i64,
    /// Where its first row stands there, and whether that changed since the last commit.
    pub first_offset: u64,
    pub is_earlier: bool,
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
    /// The run of that name, of which a row stands at this offset of the current source.
    pub(super) fn meet(&mut self, name: &str, byte_offset: u64) -> Result<&mut Run> {
        let source_id = self.source.source_id;
        // Looked up twice: the borrow checker does not let the found one be returned from here.
        if self.runs.get(name).is_none_or(|run| run.met_in != source_id) {
            let run = self.meet_anew(name, byte_offset)?;
            self.runs.insert(name.to_owned(), run);
        }
        let run = self.runs.get_mut(name).expect("the run was just put there");
        if byte_offset < run.first_offset {
            run.first_offset = byte_offset;
            run.is_earlier = true;
        }
        Ok(run)
    }

    /// Finds or adds a run at the first of its rows that the current source gives, or gives again
    /// after another source was read, and infers its build (SEMANTICS, "Which build wrote a run").
    #[cold]
    fn meet_anew(&mut self, name: &str, byte_offset: u64) -> Result<Run> {
        let source_id = self.source.source_id;
        if self.meet_forgotten(name, byte_offset)? {
            return Ok(Run { met_in: source_id, ..Run::default() });
        }
        let run_id = self.find_or_add_run(name)?;
        let mut met_before = self.connection.prepare_cached(
            "select written_s, wall_since_low_s, wall_since_high_s, first_offset from run_sources
             where source_id = ?1 and run_id = ?2",
        )?;
        let met_before = met_before.query_row(params![source_id, run_id], |row| {
            let (smallest, largest) = (row.get::<_, Option<f64>>(1)?, row.get(2)?);
            let wall =
                WallClock { written_s: row.get(0)?, since: smallest.zip(largest), ..WallClock::default() };
            let first_offset = row.get::<_, Option<u64>>(3)?.unwrap_or_default();
            Ok(Run { run_id: Some(run_id), met_in: source_id, first_offset, wall, ..Run::default() })
        });
        if let Some(run) = met_before.optional()? {
            return Ok(run);
        }
        let certainty = self.take_build(Home::Runs, run_id)?;
        self.connection
            .prepare_cached(
                "insert into run_sources (source_id, run_id, build_certainty, first_offset)
                 values (?1, ?2, ?3, ?4)",
            )?
            .execute(params![source_id, run_id, certainty, byte_offset])?;
        Ok(Run { run_id: Some(run_id), met_in: source_id, first_offset: byte_offset, ..Run::default() })
    }

    fn find_or_add_run(&self, name: &str) -> Result<i64> {
        let mut find = self.connection.prepare_cached("select run_id from runs where run = ?1")?;
        if let Some(run_id) = find.query_row([name], |row| row.get(0)).optional()? {
            return Ok(run_id);
        }
        self.connection
            .prepare_cached("insert into runs (run, started_at, build_certainty) values (?1, ?2, 'missing')")?
            .execute(params![name, started_at(name)])?;
        Ok(self.connection.last_insert_rowid())
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
        let mut first = self.connection.prepare_cached(
            "update run_sources set first_offset = ?3 where source_id = ?1 and run_id = ?2",
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
            if std::mem::take(&mut run.is_earlier) {
                first.execute(params![run.met_in, run.run_id, run.first_offset])?;
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
            if let Some(run_id) = run.run_id {
                std::mem::take(&mut run.kept).save(self.connection, run_id)?;
            }
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
