//! What a reader of percentiles with intervals may stumble over, in words.

use super::Ends;
use crate::statistics::Percentile;

/// The notes on an answer: `ends` are those of its rows, of the columns in `measured`.
pub(super) fn notes(measured: &[&str], ends: &[Vec<Ends>], of_offers: bool) -> Vec<String> {
    let percents: Vec<(usize, u32)> = measured
        .iter()
        .enumerate()
        .filter_map(|(at, name)| Some((at, name.rsplit('p').next()?.parse().ok()?)))
        .collect();
    let is_open = |(at, _): &&(usize, u32)| ends.iter().any(|row| matches!(row[*at], (Some(_), None)));
    let open: Vec<u32> = percents.iter().filter(is_open).map(|(_, percent)| *percent).collect();
    let mut notes = Vec::new();
    if !open.is_empty() {
        let needs: Vec<String> = open
            .iter()
            .map(|percent| format!("p{percent} needs {}", Percentile::fewest_for_a_high(*percent)))
            .collect();
        let unserved = if of_offers { ", or it lies among requests that were never served" } else { "" };
        notes.push(format!(
            "an interval without an upper end, as `(0.139-)`, has a lower one only: the values count like too few \
             independent ones ({}){unserved}",
            needs.join(", ")
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
        assert!(notes(&columns, std::slice::from_ref(&plain), false).is_empty());
        let open = vec![both(1.0, 2.0), both(2.0, 3.0), (Some(2.5), None)];
        let told = notes(&columns, &[plain.clone(), open.clone(), open], true);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("(p99 needs 368), or it lies among"), "{told:?}");
        let falling = vec![both(1.0, 3.5), both(2.0, 3.0), both(2.5, 4.0)];
        let told = notes(&columns, &[plain, falling], false);
        assert!(told.len() == 1 && told[0].contains("interval of its own"), "{told:?}");
        // Shares have both ends, and a row that nothing was measured of has none.
        assert!(notes(&["share"], &[vec![both(0.1, 0.2)]], false).is_empty());
        assert!(notes(&columns, &[vec![(None, None); 3]], false).is_empty());
    }
}
