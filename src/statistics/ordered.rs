//! Values by rank, without sorting more of them than is asked for.

/// Values of which the ones asked for lie at their rank, smaller ones before, greater ones after.
pub(super) struct Ordered {
    values: Vec<f64>,
    /// Places that hold the value of their rank, ascending.
    settled: Vec<usize>,
}

impl Ordered {
    /// The values in any order.
    pub(super) fn new(values: Vec<f64>) -> Self {
        Self { values, settled: Vec::new() }
    }

    /// The value of a rank, from 1 for the smallest. Only values between settled neighbours move.
    pub(super) fn at_rank(&mut self, rank: usize) -> f64 {
        let place = rank - 1;
        if let Err(next) = self.settled.binary_search(&place) {
            let from = next.checked_sub(1).map_or(0, |before| self.settled[before] + 1);
            let to = self.settled.get(next).copied().unwrap_or(self.values.len());
            self.values[from..to].select_nth_unstable_by(place - from, f64::total_cmp);
            self.settled.insert(next, place);
        }
        self.values[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_asked_for_in_any_order_are_those_of_a_sort() {
        let values: Vec<f64> = (0..1009).map(|i| f64::from(i * 7919 % 1009 / 3)).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut ordered = Ordered::new(values);
        for rank in [500, 1, 1009, 499, 501, 900, 950, 990, 910, 500, 3, 2] {
            assert_eq!(ordered.at_rank(rank), sorted[rank - 1], "{rank}");
        }
    }
}
