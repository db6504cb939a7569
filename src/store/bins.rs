//! Counts of measured values by narrow bins, so that a percentile's bin is known without a sort.
//!
//! A bin is the floats that share a sign, an exponent and the first bits of the mantissa: exact to
//! count in, whatever the values are, and 1.6 to 3.1 % wide.

/// Bins per octave, as bits of the mantissa. With 6, `latency` took 0.2 CPU s less over a million rows,
/// and loading them 0.1 s more. The stored bins have this width: only a migration can change it.
const MANTISSA_BITS: u32 = 5;

const DROPPED_BITS: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS;

/// The number of a bin: what is left of the bits of its values, without the sign.
type Bin = u16;

/// The bin of everything below 0. No finite value has this number.
const NEGATIVE: Bin = Bin::MAX;

/// In which bins values are. They are noted as they come and counted when they are asked for: to find its
/// counter for each value took twice as long.
#[derive(Debug, Default)]
pub(super) struct Bins(Vec<Bin>);

impl Bins {
    pub(super) fn add(&mut self, value: f64) {
        self.0.push(bin_of(value));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lower end of each bin that holds a value, and how many it holds. Each bin reaches to the next
    /// one's lower end.
    pub(super) fn counted(&self) -> Vec<(f64, i64)> {
        // The one below 0 comes before all others.
        let place = |bin: Bin| usize::from(bin.wrapping_add(1));
        let places = || self.0.iter().copied().map(place);
        let (Some(first), Some(last)) = (places().min(), places().max()) else {
            return Vec::new();
        };
        let counted = |(place, count)| (low_end((place as Bin).wrapping_sub(1)), count);
        if last - first > SPARSE * self.0.len() {
            let mut sorted: Vec<usize> = places().collect();
            sorted.sort_unstable();
            return sorted.chunk_by(usize::eq).map(|same| counted((same[0], same.len() as i64))).collect();
        }
        // One counter for each bin from the first to the last one.
        let mut counts = vec![0_i64; last - first + 1];
        for place in places() {
            counts[place - first] += 1;
        }
        let bins = (first..=last).zip(counts).filter(|(_, count)| *count > 0);
        bins.map(counted).collect()
    }
}

/// So many times more bins than values take longer to look at than the values to sort: a run of few
/// requests, some of which waited 0 s.
const SPARSE: usize = 8;

fn bin_of(value: f64) -> Bin {
    if value < 0.0 {
        return NEGATIVE;
    }
    // Without its sign: -0.0 is 0.0.
    (value.abs().to_bits() >> DROPPED_BITS) as Bin
}

fn low_end(bin: Bin) -> f64 {
    if bin == NEGATIVE { f64::MIN } else { f64::from_bits(u64::from(bin) << DROPPED_BITS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_between_its_bins_ends() {
        let values = [
            0.0,
            f64::MIN_POSITIVE / 4.0,
            f64::MIN_POSITIVE,
            1e-9,
            0.1,
            0.999_999,
            1.0,
            1.031_249,
            1.031_25,
            7.25,
            1e300,
            f64::MAX,
        ];
        for value in values {
            let bin = bin_of(value);
            assert!(low_end(bin) <= value, "{value}: from {}", low_end(bin));
            let next = f64::from_bits(u64::from(bin + 1) << DROPPED_BITS);
            assert!(value < next, "{value}: to {next}");
            assert_eq!(bin_of(low_end(bin)), bin, "{value}: a lower end is in its bin");
        }
        assert_eq!(bin_of(1.031_249), bin_of(1.0));
        assert_ne!(bin_of(1.031_25), bin_of(1.0));
    }

    #[test]
    fn values_below_0_share_a_bin_and_both_zeros_do() {
        let mut bins = Bins::default();
        for value in [-1e308, -0.5, -f64::MIN_POSITIVE, -0.0, 0.0, 1.0] {
            bins.add(value);
        }
        assert_eq!(bins.counted(), [(f64::MIN, 3), (0.0, 2), (1.0, 1)]);
        for _ in 0..10_000 {
            bins.add(1.5);
        }
        assert_eq!(bins.counted(), [(f64::MIN, 3), (0.0, 2), (1.0, 1), (1.5, 10_000)], "many values");
        assert_eq!(Bins::default().counted(), []);
    }
}
