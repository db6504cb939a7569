//! Neighbouring rows in batches, and the design effect: how many rows tell as much as one
//! independent row.
//!
//! It knows hits and rows, not what a hit is. The rows must come in the order of the definitions,
//! because a burst is seen only where its rows are neighbours.

/// The most batches that are kept.
const MOST: usize = 64;

/// Fewer rows than this are taken as independent: they show too little of their bursts.
const FEWEST_ROWS: u64 = 30;

/// Batches are not quite independent of each other either; found by simulation.
const INFLATION: f64 = 1.0833;

/// The most that neighbouring batches are believed to resemble each other.
const MOST_ALIKE: f64 = 0.8;

/// Neighbouring rows, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// Rows of the batch, in requests or legs.
    pub rows: u64,
    /// Those of them with the outcome that is counted.
    pub hits: u64,
}

/// Rows in their order, in at most 64 batches of one power of two of rows; the last may be short.
#[derive(Debug, Clone)]
pub struct Batches {
    rows_each: u64,
    closed: Vec<Batch>,
    open: Batch,
}

/// How much less rows in bursts tell than independent ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// The variance between batches over that of independent rows; 1 where it is not looked at.
    pub v: f64,
    /// How alike neighbouring batches are, 0 to 0.8.
    pub r: f64,
    /// The design effect D, 1 or more: so many rows tell as much as one independent row.
    pub effect: f64,
}

impl Design {
    /// Rows taken as independent.
    pub const INDEPENDENT: Self = Self { v: 1.0, r: 0.0, effect: 1.0 };
}

impl Default for Batches {
    fn default() -> Self {
        Self::new()
    }
}

impl Batches {
    /// No rows.
    pub fn new() -> Self {
        Self { rows_each: 1, closed: Vec::with_capacity(MOST), open: Batch::default() }
    }

    /// Rows that lie in memory, in order; `is_hit` tells the outcome that is counted.
    pub fn of<T>(rows: &[T], is_hit: impl Fn(&T) -> bool) -> Self {
        let rows_each = rows_of_a_batch(rows.len());
        let mut closed: Vec<Batch> = Vec::with_capacity(MOST);
        for batch in rows.chunks(rows_each) {
            let hits = batch.iter().map(|row| u64::from(is_hit(row))).sum();
            closed.push(Batch { rows: batch.len() as u64, hits });
        }
        let open = closed.pop().unwrap_or_default();
        Self { rows_each: rows_each as u64, closed, open }
    }

    /// The next row in order, and whether it has the outcome that is counted.
    pub fn push(&mut self, hit: bool) {
        if self.open.rows == self.rows_each {
            self.close();
        }
        self.open.rows += 1;
        self.open.hits += u64::from(hit);
    }

    /// Makes room for a row after a full batch. When all 64 are full, neighbours become one.
    fn close(&mut self) {
        self.closed.push(std::mem::take(&mut self.open));
        if self.closed.len() < MOST {
            return;
        }
        for at in 0..MOST / 2 {
            let (first, second) = (self.closed[2 * at], self.closed[2 * at + 1]);
            self.closed[at] = Batch { rows: first.rows + second.rows, hits: first.hits + second.hits };
        }
        self.closed.truncate(MOST / 2);
        self.rows_each *= 2;
    }

    /// The batches in order, none of them empty.
    pub fn iter(&self) -> impl Iterator<Item = Batch> + '_ {
        let open = (self.open.rows > 0).then_some(self.open);
        self.closed.iter().copied().chain(open)
    }

    /// The number n of rows.
    pub fn rows(&self) -> u64 {
        self.iter().map(|batch| batch.rows).sum()
    }

    /// The number k of hits.
    pub fn hits(&self) -> u64 {
        self.iter().map(|batch| batch.hits).sum()
    }

    /// The design effect of the counted outcome, and what it is made of.
    ///
    /// Rows are taken as independent when there are fewer than 30, and when all or none are hits.
    pub fn design(&self) -> Design {
        let (rows, hits) = (self.rows(), self.hits());
        if rows < FEWEST_ROWS || hits == 0 || hits == rows {
            return Design::INDEPENDENT;
        }
        // n times the hits that a batch has beyond the common share: whole numbers, so that even
        // batches give an exact zero.
        let (n, k) = (i128::from(rows), i128::from(hits));
        let (mut squares, mut products, mut before, mut count) = (0_i128, 0_i128, 0_i128, 0.0);
        for batch in self.iter() {
            let beyond = n * i128::from(batch.hits) - k * i128::from(batch.rows);
            squares += beyond * beyond;
            products += beyond * before;
            before = beyond;
            count += 1.0;
        }
        let v = count / (count - 1.0) * squares as f64 / (n * k * (n - k)) as f64;
        let r = if squares == 0 { 0.0 } else { (products as f64 / squares as f64).clamp(0.0, MOST_ALIKE) };
        Design { v, r, effect: (INFLATION * v * (1.0 + r) / (1.0 - r)).max(1.0) }
    }
}

/// The smallest power of two of rows with which 64 batches hold them all.
pub(super) fn rows_of_a_batch(rows: usize) -> usize {
    rows.div_ceil(MOST).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_pushed_one_by_one_lie_in_the_batches_of_rows_in_memory() {
        for rows in (0..300).chain([1023, 1024, 1025, 4095, 4096, 4097, 10_000]) {
            let hits: Vec<bool> = (0..rows).map(|i| i * 7 % 11 < 4).collect();
            let mut pushed = Batches::new();
            hits.iter().for_each(|hit| pushed.push(*hit));
            let at_once = Batches::of(&hits, |hit| *hit);
            assert_eq!(pushed.iter().collect::<Vec<_>>(), at_once.iter().collect::<Vec<_>>(), "{rows}");
            assert_eq!(pushed.rows(), rows);
            let count = pushed.iter().count() as u64;
            assert!(if rows > 64 { (33..=64).contains(&count) } else { count == rows }, "{rows}");
        }
    }

    #[test]
    fn a_burst_counts_like_few_rows() {
        let rows: Vec<u64> = (0..1000).collect();
        let batches = Batches::of(&rows, |i| (400..500).contains(i));
        let design = batches.design();
        assert_eq!(batches.iter().count(), 63);
        assert!((design.v - 15.7089032258).abs() < 1e-10, "{design:?}");
        assert_eq!(design.r, 0.8);
        assert!((design.effect - 153.157093781).abs() < 1e-9, "{design:?}");
    }

    #[test]
    fn even_batches_and_few_rows_count_as_they_are() {
        let thirds: Vec<u64> = (0..192 * 64).collect();
        let even = Batches::of(&thirds, |i| i % 2 == 0).design();
        assert_eq!(even, Design { v: 0.0, r: 0.0, effect: 1.0 });
        assert_eq!(Batches::of(&thirds[..29], |i| *i < 9).design(), Design::INDEPENDENT);
        assert_eq!(Batches::of(&thirds, |_| true).design(), Design::INDEPENDENT);
        assert_eq!(Batches::new().design(), Design::INDEPENDENT);
    }
}
