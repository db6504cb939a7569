//! Where the batches of a window begin and end, so that neighbouring ones can be found again in time.

use crate::query::ordered::{Order, Part, Scope};

/// A request's place in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub run_id: i64,
    /// Monotonic.
    pub arrived_s: f64,
    /// Estimated.
    pub wall_s: Option<f64>,
}

impl Place {
    pub(super) fn of(part: &Part, arrived_s: f64) -> Self {
        Self {
            run_id: part.run_id,
            arrived_s,
            wall_s: part.wall_offset_s.map(|offset_s| arrived_s + offset_s),
        }
    }
}

/// The first and the last places of rows in blocks of one power of two. There are at most 128 blocks, so none is
/// longer than a batch.
#[derive(Debug)]
pub(super) struct Places {
    rows_each: usize,
    rows: usize,
    blocks: Vec<(Place, Place)>,
}

const MOST: usize = 128;

impl Places {
    pub(super) fn new() -> Self {
        Self { rows_each: 1, rows: 0, blocks: Vec::with_capacity(MOST) }
    }

    /// The next row in order.
    pub(super) fn push(&mut self, place: Place) {
        if self.rows == self.rows_each * self.blocks.len() {
            if self.blocks.len() == MOST {
                for at in 0..MOST / 2 {
                    self.blocks[at] = (self.blocks[2 * at].0, self.blocks[2 * at + 1].1);
                }
                self.blocks.truncate(MOST / 2);
                self.rows_each *= 2;
            }
            self.blocks.push((place, place));
        } else if let Some(block) = self.blocks.last_mut() {
            block.1 = place;
        }
        self.rows += 1;
    }

    /// The places of a batch's first row and of the last row before `end_row`, where a batch ends.
    pub(super) fn of_rows(&self, first_row: usize, end_row: usize) -> Option<(Place, Place)> {
        let first = self.blocks.get(first_row / self.rows_each)?.0;
        let last = self.blocks.get(end_row.checked_sub(1)? / self.rows_each)?.1;
        Some((first, last))
    }
}

/// What of a scope lies from one place to another, both taken in.
pub(super) fn between(scope: &Scope, first: Place, last: Place) -> Vec<Part> {
    let cut = |part: &Part, from_s: f64, to_s: f64| Part {
        from_s: part.from_s.max(from_s),
        to_s: part.to_s.min(to_s),
        ..part.clone()
    };
    let holds = |part: &Part, place: Place| {
        part.run_id == place.run_id && part.from_s <= place.arrived_s && place.arrived_s < part.to_s
    };
    let mut parts: Vec<Part> = match (scope.order, first.wall_s, last.wall_s) {
        (Order::WallTime, Some(from_wall_s), Some(to_wall_s)) => {
            let known = scope.parts.iter().filter_map(|part| Some((part, part.wall_offset_s?)));
            known
                .map(|(part, offset_s)| cut(part, from_wall_s - offset_s, (to_wall_s - offset_s).next_up()))
                .collect()
        }
        _ => {
            let from = scope.parts.iter().position(|part| holds(part, first)).unwrap_or(0);
            let to = scope.parts.iter().position(|part| holds(part, last)).unwrap_or(scope.parts.len() - 1);
            let between = scope.parts.iter().enumerate().take(to + 1).skip(from);
            between
                .map(|(at, part)| {
                    let from_s = if at == from { first.arrived_s } else { part.from_s };
                    let to_s = if at == to { last.arrived_s.next_up() } else { part.to_s };
                    cut(part, from_s, to_s)
                })
                .collect()
        }
    };
    parts.retain(|part| part.from_s < part.to_s);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Profiles, Window, explain};

    #[test]
    fn every_stretch_of_batches_is_found_again() {
        for rows in [1, 5, 64, 65, 127, 128, 129, 1000, 4096, 4097, 10_000] {
            let mut places = Places::new();
            let (mut profiles, mut window, mut baseline) = (Profiles::new(), Window::new(), Window::new());
            let profile = profiles.of(&[]);
            for at in 0..rows {
                places.push(Place { run_id: 1, arrived_s: at as f64, wall_s: None });
                window.push(profile, (at > rows / 3 && at < rows / 2).then_some(0));
                baseline.push(profile, None);
            }
            let stretch = explain(&profiles, &window, &baseline).expect("there are rows").stretch;
            let (first, last) = places.of_rows(stretch.first_row, stretch.end_row).expect("there are rows");
            assert_eq!(first.arrived_s, stretch.first_row as f64, "{rows}");
            assert_eq!(last.arrived_s + 1.0, stretch.end_row as f64, "{rows}");
        }
    }
}
