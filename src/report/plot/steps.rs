//! Curves of steps, a unit a bucket: a bucket is an interval, not a point. Equal neighbours are joined, a missing value
//! ends the path.

use std::fmt::Write;

/// A line of steps through places down; none ends it.
pub(in crate::report) fn stepped(places: &[Option<f64>]) -> String {
    let mut path = String::new();
    let mut at = 0;
    while at < places.len() {
        let Some(first) = places[at] else {
            at += 1;
            continue;
        };
        let end = places[at..].iter().position(Option::is_none).map_or(places.len(), |len| at + len);
        let _ = write!(path, "M{at} {}", whole(first));
        along(&mut path, places[at..end].iter().map(|place| place.unwrap_or(first)), false);
        at = end;
    }
    path
}

/// The ground between two lines of steps; where one of them is missing there is none. Where they fall together it is
/// left out.
pub(in crate::report) fn area(upper: &[Option<f64>], lower: &[Option<f64>]) -> String {
    let both = |at: usize| Some((upper.get(at).copied().flatten()?, lower.get(at).copied().flatten()?));
    let is_drawn = |at: usize| both(at).is_some_and(|(upper, lower)| whole(upper) != whole(lower));
    let mut path = String::new();
    let mut at = 0;
    while at < upper.len() {
        if !is_drawn(at) {
            at += 1;
            continue;
        }
        let end = (at..upper.len()).find(|at| !is_drawn(*at)).unwrap_or(upper.len());
        let (tops, bottoms): (Vec<f64>, Vec<f64>) = (at..end).filter_map(both).unzip();
        let _ = write!(path, "M{at} {}V{}", whole(bottoms[0]), whole(tops[0]));
        along(&mut path, tops.iter().copied(), false);
        let last = bottoms[bottoms.len() - 1];
        let is_flat = bottoms.iter().all(|bottom| whole(*bottom) == whole(last));
        let _ = write!(path, "V{}", whole(last));
        if !is_flat {
            along(&mut path, bottoms.iter().rev().copied(), true);
        }
        path.push('z');
        at = end;
    }
    path
}

/// Steps along places from the current point on, which is at the first of them.
fn along(path: &mut String, places: impl Iterator<Item = f64>, is_back: bool) {
    let sign = if is_back { "-" } else { "" };
    let mut run = 0;
    let mut level = None;
    for place in places {
        let place = whole(place);
        if level.is_some_and(|level| level != place) {
            let _ = write!(path, "h{sign}{run}V{place}");
            run = 0;
        }
        level = Some(place);
        run += 1;
    }
    if run > 0 {
        let _ = write!(path, "h{sign}{run}");
    }
}

fn whole(place: f64) -> i64 {
    place.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_joined_and_nothing_ends_a_line() {
        assert_eq!(stepped(&[Some(20.0), Some(20.2), Some(41.0), None, Some(3.0)]), "M0 20h2V41h1M4 3h1");
        assert_eq!(stepped(&[None, None]), "");
    }

    #[test]
    fn an_area_goes_along_the_top_and_back_along_the_bottom() {
        let top = [Some(5.0), Some(3.0), None, Some(8.0)];
        let floor = [Some(9.0); 4];
        assert_eq!(area(&top, &floor), "M0 9V5h1V3h1V9zM3 9V8h1V9z");
        assert_eq!(area(&[Some(2.0), Some(2.0)], &[Some(4.0), Some(6.0)]), "M0 4V2h2V6h-1V4h-1z");
        assert_eq!(area(&[Some(9.0)], &[Some(9.2)]), "");
    }
}
