//! Whether two scopes lie at the same hours of the day, as what is held against each other should (docs/statistics.md,
//! "What they claim"). It does not know what is compared.

use super::ordered::Scope;

const DAY_S: f64 = 86_400.0;

/// So far apart on the clock, two stretches are of the same hours: day and night turn slower.
const APART_S: f64 = 3.0 * 3600.0;

/// What to say where two scopes lie at different hours; nothing where a wall time is not known.
pub(super) fn note(one: &Scope, other: &Scope) -> Option<String> {
    let (one, other) = (wall_span(one)?, wall_span(other)?);
    (!are_same(one, other)).then(|| {
        "the two lie at different hours of the day, and the time of day may be what differs: compare the same hours of \
         two days, not day and night"
            .to_owned()
    })
}

/// From when to when a scope lasts, each of its parts within its run.
fn wall_span(scope: &Scope) -> Option<(f64, f64)> {
    let mut whole: Option<(f64, f64)> = None;
    for part in &scope.parts {
        let Some((first_s, last_s)) = part.span else { continue };
        let offset_s = part.wall_offset_s?;
        let (from_s, to_s) = (part.from_s.max(first_s) + offset_s, part.to_s.min(last_s) + offset_s);
        if from_s <= to_s {
            whole = Some(whole.map_or((from_s, to_s), |known| (known.0.min(from_s), known.1.max(to_s))));
        }
    }
    whole
}

fn are_same(one: (f64, f64), other: (f64, f64)) -> bool {
    let [one_lasts_s, other_lasts_s] = [one.1 - one.0, other.1 - other.0];
    let apart_s = (one.0 - other.0).rem_euclid(DAY_S);
    let is_of_whole_days = one_lasts_s >= DAY_S && other_lasts_s >= DAY_S;
    is_of_whole_days
        || (apart_s.min(DAY_S - apart_s) <= APART_S && (one_lasts_s - other_lasts_s).abs() <= APART_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ordered::Part;
    use crate::selection::{OPEN_FROM, OPEN_TO};

    const HOUR_S: f64 = 3600.0;

    #[test]
    fn the_same_hours_of_two_days_are_the_same_and_day_and_night_are_not() {
        let from_to = |from: f64, to: f64| (from * HOUR_S, to * HOUR_S);
        for (one, other, expected) in [
            (from_to(9.0, 10.0), from_to(24.0 + 9.0, 24.0 + 10.0), true),
            (from_to(9.0, 10.0), from_to(10.0, 11.0), true),
            (from_to(23.5, 24.5), from_to(48.5, 49.5), true),
            (from_to(12.0, 14.0), from_to(24.0, 26.0), false),
            // An hour against all of the night before it.
            (from_to(9.0, 10.0), from_to(0.0, 9.0), false),
            (from_to(8.0, 9.0), from_to(7.0, 16.0), false),
            // Days have all hours.
            (from_to(5.0, 5.0 + 24.0), from_to(60.0, 60.0 + 70.0), true),
            (from_to(9.0, 10.0), from_to(0.0, 48.0), false),
        ] {
            assert_eq!(are_same(one, other), expected, "{one:?} {other:?}");
            assert_eq!(are_same(other, one), expected, "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_scope_lasts_as_its_parts_do_within_their_runs() {
        let part = |from_s: f64, to_s: f64, wall_offset_s: Option<f64>| Part {
            run_id: 1,
            run: String::new(),
            from_s,
            to_s,
            span: Some((100.0, 200.0)),
            wall_offset_s,
        };
        let of = |parts: Vec<Part>| Scope { parts, ..Scope::empty("a") };
        let open = part(OPEN_FROM, OPEN_TO, Some(1000.0));
        assert_eq!(wall_span(&of(vec![open.clone()])), Some((1100.0, 1200.0)));
        assert_eq!(wall_span(&of(vec![part(150.0, 160.0, Some(0.0)), open.clone()])), Some((150.0, 1200.0)));
        assert_eq!(wall_span(&of(vec![part(250.0, 260.0, Some(0.0))])), None, "after its run");
        assert_eq!(wall_span(&of(vec![open.clone(), part(150.0, 160.0, None)])), None);
        assert_eq!(wall_span(&Scope::empty("a")), None);
        let late = part(OPEN_FROM, OPEN_TO, Some(1000.0 + 12.0 * HOUR_S));
        let said = note(&of(vec![open.clone()]), &of(vec![late])).expect("the other half of the day");
        assert!(said.ends_with("compare the same hours of two days, not day and night"), "{said}");
        assert_eq!(note(&of(vec![open.clone()]), &of(vec![open])), None);
    }
}
