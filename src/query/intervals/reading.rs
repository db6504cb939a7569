//! What a reader of percentiles with intervals may stumble over, in words.

use super::Ends;
use crate::statistics::Percentile;

/// The notes on an answer: `ends` are those of its rows, of the columns in `measured`; `is_known` says of a row and a
/// measured column whether it has a value at all.
pub(super) fn notes(
    measured: &[&str],
    ends: &[Vec<Ends>],
    is_known: impl Fn(usize, usize) -> bool,
    of_offers: bool,
) -> Vec<String> {
    let percents: Vec<(usize, u32)> = measured
        .iter()
        .enumerate()
        .filter_map(|(at, name)| Some((at, name.rsplit('p').next()?.parse().ok()?)))
        .collect();
    let is_open = |at: usize| ends.iter().any(|row| matches!(row[at], (Some(_), None)));
    let is_bare = |at: usize| (0..ends.len()).any(|row| ends[row][at] == (None, None) && is_known(row, at));
    let needs = |is_so: &dyn Fn(usize) -> bool, fewest: fn(u32) -> u64| {
        let mut needs: Vec<String> = percents
            .iter()
            .filter(|(at, _)| is_so(*at))
            .map(|(_, percent)| format!("p{percent} needs {}", fewest(*percent)))
            .collect();
        needs.dedup();
        (!needs.is_empty()).then(|| needs.join(", "))
    };
    let mut notes = Vec::new();
    if let Some(needs) = needs(&is_bare, Percentile::fewest_for_a_low) {
        notes.push(format!(
            "a value without an interval, as `0.139 (-)`, is not exact, but of too few: the values count like fewer \
             independent ones than either end needs ({needs})"
        ));
    }
    if let Some(needs) = needs(&is_open, Percentile::fewest_for_a_high) {
        let unserved = if of_offers { ", or it lies among requests that were never served" } else { "" };
        notes.push(format!(
            "an interval without an upper end, as `(0.139-)`, has a lower one only: the values count like too few \
             independent ones ({needs}){unserved}"
        ));
    }
    let falls = |row: &Vec<Ends>| {
        percents.windows(2).any(|two| {
            let ((low, high), (next_low, next_high)) = (row[two[0].0], row[two[1].0]);
            let is_lower =
                |one: Option<f64>, next: Option<f64>| one.zip(next).is_some_and(|(one, next)| next < one);
            is_lower(low, next_low) || is_lower(high, next_high)
        })
    };
    if ends.iter().any(falls) {
        notes.push(
            "each percentile has an interval of its own, by how bursty its own side of the values is: so that of a \
             higher percentile may begin or end lower than that of one below it"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_ends_and_falling_ones_are_explained_once() {
        let columns = ["p50", "p90", "p99"];
        let both = |low: f64, high: f64| (Some(low), Some(high));
        let plain = vec![both(1.0, 2.0), both(2.0, 3.0), both(2.5, 4.0)];
        let notes =
            |measured: &[&str], ends: &[Vec<Ends>], of_offers| notes(measured, ends, |_, _| true, of_offers);
        assert!(notes(&columns, std::slice::from_ref(&plain), false).is_empty());
        let open = vec![both(1.0, 2.0), both(2.0, 3.0), (Some(2.5), None)];
        let told = notes(&columns, &[plain.clone(), open.clone(), open], true);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("(p99 needs 368), or it lies among"), "{told:?}");
        let falling = vec![both(1.0, 3.5), both(2.0, 3.0), both(2.5, 4.0)];
        let told = notes(&columns, &[plain, falling], false);
        assert!(told.len() == 1 && told[0].contains("interval of its own"), "{told:?}");
        // Shares have both ends.
        assert!(notes(&["share"], &[vec![both(0.1, 0.2)]], false).is_empty());
    }

    #[test]
    fn a_value_without_ends_is_told_of_and_nothing_is_not() {
        let columns = ["p50", "p90", "p99"];
        let bare = [vec![(None, None), (Some(0.5), None), (Some(0.5), None)]];
        let told = notes(&columns, &bare, |_, _| true, false);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("`0.139 (-)`") && told[0].ends_with("(p50 needs 6)"), "{told:?}");
        // 0.9^35 = 0.02503, 0.9^36 = 0.0225; 0.99^367 = 0.02501, 0.99^368 = 0.0248.
        assert!(told[1].ends_with("(p90 needs 36, p99 needs 368)"), "{told:?}");
        // 0.1^1 = 0.1, 0.1^2 = 0.01.
        let told = notes(&columns, &[vec![(None, None); 3]], |_, at| at < 2, false);
        assert!(told.len() == 1 && told[0].ends_with("(p50 needs 6, p90 needs 2)"), "{told:?}");
        assert!(notes(&columns, &[vec![(None, None); 3]], |_, _| false, false).is_empty());
    }
}
