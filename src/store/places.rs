//! When events happened on the monotonic clock of their run (docs/semantics.md, "Place of an event").
//!
//! Most say it themselves. The others stand between two rows of their run in the source, which tells about
//! when they were written: that is kept in `event_gaps`, and their place is worked out from it whenever the
//! estimate of the wall clock or the zero of the run moves. A row without a time of writing is passed over.

use std::cmp::Ordering;

use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use crate::journal::event::{Clock, Event};

/// So many gaps are looked for in one look at all rows.
const TOGETHER: usize = 10_000;

/// The time of an event on its run's monotonic clock, if it says it.
pub(super) fn own_place(row: &Event) -> Option<f64> {
    row.at.filter(|_| Clock::of_event(&row.event) == Clock::Monotonic)
}

/// A run in the source that is being read.
#[derive(Clone, Copy)]
pub(super) struct RunIn<'c> {
    pub connection: &'c Connection,
    pub run_id: i64,
    pub source_id: i64,
    /// Whether its rows come out of their order.
    pub is_late: bool,
}

/// Which gaps of a run changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    /// Those of a source from an offset on.
    From {
        source_id: i64,
        byte_offset: u64,
    },
    All,
}

impl Changed {
    fn source_and_offset(self) -> (Option<i64>, Option<u64>) {
        match self {
            Self::From { source_id, byte_offset } => (Some(source_id), Some(byte_offset)),
            Self::All => (None, None),
        }
    }
}

/// What the next row of a run in a source needs to know of those before it.
#[derive(Debug, Default)]
pub(super) struct Writing {
    /// When the last stored row that has a time of writing was written, and where it stands.
    pub last: Option<(f64, u64)>,
    /// The offset of the first event since.
    pub open_from: Option<u64>,
    /// Whether the first one changed since the last commit.
    pub moved: bool,
    /// Since the last commit: the offset of the first gap that changed. When rows came out of their order it
    /// can be any gap.
    pub changed_from: Option<u64>,
    pub is_recast: bool,
    /// Since the last commit: the latest time of writing.
    pub latest_s: Option<f64>,
}

impl Writing {
    /// As it was left.
    pub(super) fn load(connection: &Connection, source_id: i64, run_id: i64) -> Result<Self> {
        let last = connection
            .prepare_cached(
                "select written_s, written_offset from run_sources where source_id = ?1 and run_id = ?2",
            )?
            .query_row([source_id, run_id], |row| Ok(row.get::<_, Option<f64>>(0)?.zip(row.get(1)?)))
            .optional()?
            .flatten();
        let open_from = connection
            .prepare_cached(
                "select min(byte_offset) from event_gaps
                 where run_id = ?1 and source_id = ?2 and after_offset is null",
            )?
            .query_row([run_id, source_id], |row| row.get(0))?;
        Ok(Self { last, open_from, ..Self::default() })
    }

    /// Which gaps changed since the last commit. Asked once.
    pub(super) fn take_changed(&mut self, source_id: i64) -> Option<Changed> {
        let from = self.changed_from.take().map(|byte_offset| Changed::From { source_id, byte_offset });
        if std::mem::take(&mut self.is_recast) { Some(Changed::All) } else { from }
    }

    fn is_behind(&self, byte_offset: u64) -> bool {
        self.last.is_some_and(|(_, last)| byte_offset < last)
    }

    fn change(&mut self, byte_offset: u64) {
        self.changed_from = Some(self.changed_from.map_or(byte_offset, |from| from.min(byte_offset)));
    }

    /// A row of this offset was stored, that was written at this monotonic time.
    #[inline]
    pub(super) fn wrote(&mut self, run: RunIn<'_>, at: f64, byte_offset: u64) -> Result<()> {
        // The sum of two huge spans can be none that a float holds.
        if !at.is_finite() {
            return Ok(());
        }
        self.latest_s = Some(self.latest_s.map_or(at, |latest| latest.max(at)));
        let is_behind = self.is_behind(byte_offset);
        if !is_behind {
            self.last = Some((at, byte_offset));
            self.moved = true;
        }
        if is_behind || run.is_late {
            return self.wrote_late(run, at, byte_offset);
        }
        let RunIn { connection, run_id, source_id, .. } = run;
        if let Some(from) = self.open_from.take() {
            connection
                .prepare_cached(
                    "update event_gaps set written_after_s = ?4, after_offset = ?5
                     where run_id = ?1 and source_id = ?2 and byte_offset >= ?3 and after_offset is null",
                )?
                .execute(params![run_id, source_id, from, at, byte_offset])?;
            self.change(from);
        }
        Ok(())
    }

    /// The same, of a row that stands before others that were stored: it may be nearer to some event.
    #[cold]
    fn wrote_late(&mut self, run: RunIn<'_>, at: f64, byte_offset: u64) -> Result<()> {
        let RunIn { connection, run_id, source_id, .. } = run;
        let before = connection
            .prepare_cached(
                "update event_gaps set written_before_s = ?4, before_offset = ?3
                 where run_id = ?1 and source_id = ?2 and byte_offset > ?3
                     and (before_offset is null or before_offset < ?3)",
            )?
            .execute(params![run_id, source_id, byte_offset, at])?;
        let after = connection
            .prepare_cached(
                "update event_gaps set written_after_s = ?4, after_offset = ?3
                 where run_id = ?1 and source_id = ?2 and byte_offset < ?3
                     and (after_offset is null or after_offset > ?3)",
            )?
            .execute(params![run_id, source_id, byte_offset, at])?;
        self.is_recast |= before + after > 0;
        Ok(())
    }
}

/// An event that does not say when it happened, and the nearest rows that were found.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    pub run_id: i64,
    pub source_id: i64,
    pub byte_offset: u64,
    pub event_id: i64,
    /// When they were written, and where they stand.
    pub before: Option<(f64, u64)>,
    pub after: Option<(f64, u64)>,
}

impl Gap {
    fn save(&self, connection: &Connection) -> Result<()> {
        let (before_s, before) = self.before.unzip();
        let (after_s, after) = self.after.unzip();
        connection
            .prepare_cached(
                "insert or replace into event_gaps (run_id, source_id, byte_offset, event_id, written_before_s,
                     before_offset, written_after_s, after_offset)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                self.run_id,
                self.source_id,
                self.byte_offset,
                self.event_id,
                before_s,
                before,
                after_s,
                after
            ])?;
        Ok(())
    }

    fn place(&self) -> (i64, i64, u64) {
        (self.run_id, self.source_id, self.byte_offset)
    }

    fn shares_rows_with(&self, other: &Self) -> bool {
        (self.run_id, self.source_id) == (other.run_id, other.source_id)
    }
}

/// Looks through stored rows for those nearest to each event. The events stand in the order of their places.
fn find_nearest(rows: &mut rusqlite::Rows<'_>, gaps: &mut [Gap]) -> Result<()> {
    // First only within the stretch between two of the events.
    while let Some(row) = rows.next()? {
        let (run_id, source_id, byte_offset, at) = written(row)?;
        let next =
            gaps.partition_point(|gap| gap.place().cmp(&(run_id, source_id, byte_offset)) == Ordering::Less);
        let is_ours = |gap: &&mut Gap| (gap.run_id, gap.source_id) == (run_id, source_id);
        if let Some(gap) = gaps.get_mut(next).filter(is_ours)
            && gap.before.is_none_or(|(_, before)| before < byte_offset)
        {
            gap.before = Some((at, byte_offset));
        }
        if let Some(gap) = next.checked_sub(1).and_then(|at| gaps.get_mut(at)).filter(is_ours)
            && gap.after.is_none_or(|(_, after)| after > byte_offset)
        {
            gap.after = Some((at, byte_offset));
        }
    }
    // Where nothing stands between two of them, they share what is nearest.
    for at in 1..gaps.len() {
        let (first, second) = gaps.split_at_mut(at);
        let (before, gap) = (&first[at - 1], &mut second[0]);
        if gap.before.is_none() && gap.shares_rows_with(before) {
            gap.before = before.before;
        }
    }
    for at in (1..gaps.len()).rev() {
        let (first, second) = gaps.split_at_mut(at);
        let (gap, after) = (&mut first[at - 1], &second[0]);
        if gap.after.is_none() && gap.shares_rows_with(after) {
            gap.after = after.after;
        }
    }
    Ok(())
}

/// Stored rows that have a time of writing, with it.
const WRITTEN: &str =
    "select run_id, source_id, byte_offset, arrived + duration_s as written_s from terminals
         where abs(arrived + duration_s) <= 1.7976931348623157e308
     union all
     select run_id, source_id, byte_offset, at from events where clock = 'monotonic' and at is not null";

fn written(row: &Row<'_>) -> Result<(i64, i64, u64, f64)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

/// Events that came out of their order and do not say when they happened: what stands around them is looked for
/// together.
#[derive(Debug, Default)]
pub(super) struct LateGaps(Vec<Gap>);

impl LateGaps {
    /// Notes where an event stands that was just stored and does not say when it happened.
    pub(super) fn note(
        &mut self,
        run: RunIn<'_>,
        writing: &mut Writing,
        event_id: i64,
        byte_offset: u64,
    ) -> Result<()> {
        let RunIn { connection, run_id, source_id, is_late } = run;
        let is_late = is_late || writing.is_behind(byte_offset);
        let gap = Gap {
            run_id,
            source_id,
            byte_offset,
            event_id,
            before: writing.last.filter(|_| !is_late),
            after: None,
        };
        if is_late {
            // What stands around it is looked for once, at the commit.
            self.0.push(gap);
            writing.is_recast = true;
            return if self.0.len() < TOGETHER { Ok(()) } else { self.save(connection) };
        }
        writing.open_from = Some(writing.open_from.unwrap_or(byte_offset));
        writing.change(byte_offset);
        gap.save(connection)
    }

    /// Finds the rows around them, and forgets them.
    pub(super) fn save(&mut self, connection: &Connection) -> Result<()> {
        let mut gaps = std::mem::take(&mut self.0);
        gaps.sort_by_key(Gap::place);
        for gaps in gaps.chunk_by_mut(|one, other| one.shares_rows_with(other)) {
            let sql = format!(
                "select run_id, source_id, byte_offset, written_s from ({WRITTEN}) where run_id = ?1 and source_id = ?2"
            );
            let mut find = connection.prepare_cached(&sql)?;
            find_nearest(&mut find.query([gaps[0].run_id, gaps[0].source_id])?, gaps)?;
            for gap in gaps {
                gap.save(connection)?;
            }
        }
        Ok(())
    }
}

/// The bounds of a run's wall clock by its lifecycle events that stand in these gaps.
pub(super) fn lifecycle_bounds(
    connection: &Connection,
    run_id: i64,
    changed: Changed,
) -> Result<Option<(f64, f64)>> {
    let (source_id, offset) = changed.source_and_offset();
    let bounds: (Option<f64>, Option<f64>) = connection
        .prepare_cached(
            "select max(e.at - g.written_after_s), min(e.at - g.written_before_s)
             from event_gaps as g
             cross join events as e on e.event_id = g.event_id
             where g.run_id = ?1 and (?2 is null or g.source_id = ?2 and g.byte_offset >= ?3)
                 and g.before_offset is not null and g.after_offset is not null
                 and e.clock = 'wall' and e.at is not null",
        )?
        .query_row(params![run_id, source_id, offset], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(bounds.0.zip(bounds.1))
}

/// Works out the places of events that stand in these gaps.
pub(super) fn place(
    connection: &Connection,
    run_id: i64,
    changed: Changed,
    wall_offset_s: Option<f64>,
    first_s: Option<f64>,
) -> Result<()> {
    let (source_id, offset) = changed.source_and_offset();
    connection
        .prepare_cached(
            "update events set place_s = found.place_s
             from (
                 select g.event_id, coalesce(
                     case when e.clock = 'wall' then max(
                         min(e.at - ?4, coalesce(g.written_after_s, 1e308)), coalesce(g.written_before_s, -1e308)
                     ) end,
                     g.written_before_s, ?5
                 ) as place_s
                 from event_gaps as g
                 cross join events as e on e.event_id = g.event_id
                 where g.run_id = ?1 and (?2 is null or g.source_id = ?2 and g.byte_offset >= ?3)
             ) as found
             where events.event_id = found.event_id and events.place_s is not found.place_s",
        )?
        .execute(params![run_id, source_id, offset, wall_offset_s, first_s])?;
    Ok(())
}

/// Finds the gaps of all that an older release stored.
pub(super) fn fill(connection: &Connection) -> Result<()> {
    connection.execute_batch(
        "update events set place_s = at where clock = 'monotonic' and at is not null;
         create temp table last_written (
             run_id integer, source_id integer, byte_offset integer, written_s real,
             primary key (run_id, source_id)
         ) without rowid",
    )?;
    // The last row of each run in each source.
    connection.execute(
        &format!(
            "insert into temp.last_written (run_id, source_id, byte_offset, written_s)
             select run_id, source_id, byte_offset, written_s from ({WRITTEN}) where true
             on conflict (run_id, source_id) do update
             set byte_offset = excluded.byte_offset, written_s = excluded.written_s
             where excluded.byte_offset > byte_offset"
        ),
        [],
    )?;
    connection.execute_batch(
        "update run_sources set (written_s, written_offset) = (
             select w.written_s, w.byte_offset from temp.last_written as w
             where w.run_id = run_sources.run_id and w.source_id = run_sources.source_id
         );
         drop table temp.last_written",
    )?;
    let mut find = connection.prepare(
        "select run_id, source_id, byte_offset, event_id from events
         where not (clock = 'monotonic' and at is not null) and (run_id, source_id, byte_offset) > (?1, ?2, ?3)
         order by run_id, source_id, byte_offset limit ?4",
    )?;
    let mut from = (i64::MIN, 0, 0);
    loop {
        let gaps = find.query_map(params![from.0, from.1, from.2, TOGETHER as i64], |row| {
            let (run_id, source_id) = (row.get(0)?, row.get(1)?);
            let (byte_offset, event_id) = (row.get(2)?, row.get(3)?);
            Ok(Gap { run_id, source_id, byte_offset, event_id, before: None, after: None })
        })?;
        let mut gaps: Vec<Gap> = gaps.collect::<Result<_>>()?;
        let Some(last) = gaps.last() else { return Ok(()) };
        from = last.place();
        find_nearest(&mut connection.prepare_cached(WRITTEN)?.query([])?, &mut gaps)?;
        for gap in gaps {
            gap.save(connection)?;
        }
    }
}
