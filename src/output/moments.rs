//! Wall times for eyes: `~` before what is estimated, and the day once above the table instead of in each cell.

use super::cell::Cell;
use crate::query::kind::{ColumnKind, is_told};

/// The columns of an answer that hold wall times.
#[derive(Debug, Default)]
pub(super) struct Moments {
    columns: Vec<usize>,
    /// The column that says whose clock told the time of the row: a time of the clock `wall` is no estimate.
    clock: Option<usize>,
    /// The one day of all of them.
    day: Option<String>,
}

/// `2026-11-29`.
const DAY_LEN: usize = 10;

impl Moments {
    pub(super) fn of(names: &[String], kinds: &[ColumnKind]) -> Self {
        let is_estimated = |at: &usize| kinds.get(*at) == Some(&ColumnKind::Time) && !is_told(&names[*at]);
        let columns = (0..names.len()).filter(is_estimated).collect();
        let clock = names.iter().position(|name| name == "clock");
        Self { columns, clock, day: None }
    }

    /// Finds the day that all times of a sample share, when there is one and whoever reads it wants it short.
    pub(super) fn find_day(&mut self, sample: &[Vec<Cell>]) {
        let mut days = sample.iter().flat_map(|row| self.columns.iter().filter_map(|at| day_of(&row[*at])));
        let first = days.next();
        self.day = first.filter(|first| days.all(|day| day == *first)).map(str::to_owned);
    }

    /// The line above a table whose cells have no day.
    pub(super) fn title(&self) -> Option<String> {
        self.day.as_ref().map(|day| format!("wall times of {day}, UTC"))
    }

    /// Rewrites the times of a row.
    pub(super) fn show(&self, row: &mut [Cell]) {
        let is_told = self.clock.is_some_and(|at| row[at] == Cell::Text("wall".to_owned()));
        let sign = if is_told { "" } else { "~" };
        for at in &self.columns {
            let day = day_of(&row[*at]).map(str::to_owned);
            let (Some(day), Cell::Text(time)) = (day, &mut row[*at]) else { continue };
            *time = match &self.day {
                Some(common) if *common == day => {
                    format!("{sign}{}", time[DAY_LEN + 1..].trim_end_matches('Z'))
                }
                _ => format!("{sign}{time}"),
            };
        }
    }
}

/// The day of a cell that holds an ISO 8601 time.
fn day_of(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Text(time) if time.as_bytes().get(DAY_LEN) == Some(&b'T') => time.get(..DAY_LEN),
        _ => None,
    }
}
