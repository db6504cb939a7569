//! Which part of a run is asked for, on its monotonic clock.

use super::runs::Run;
use super::{Choice, OPEN_FROM, OPEN_TO};
use crate::text::rounded;

/// A part of a run: from `from_s` on and before `to_s`, on its monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub from_s: f64,
    pub to_s: f64,
}

impl Window {
    const WHOLE: Self = Self { from_s: OPEN_FROM, to_s: OPEN_TO };
}

/// The part of a run that is asked for; `None` when nothing of the run lies in it. A run that may still
/// grow ends at `settles_at`, if only what is settled counts.
pub(super) fn of(asked: &Choice, run: &Run, settles_at: Option<f64>) -> Option<Window> {
    let is_bounded = asked.since.is_some()
        || asked.until.is_some()
        || asked.from_s.is_some()
        || asked.to_s.is_some()
        || asked.last_s.is_some();
    let (Some(first_s), Some(last_s)) = (run.first_s, run.last_s) else {
        // Without any time there is nothing to hold a bound against.
        return (!is_bounded).then_some(Window::WHOLE);
    };
    let mut window = Window::WHOLE;
    let mut end_s = last_s;
    if let Some(settles_at) = settles_at {
        window.to_s = settles_at;
        end_s = settles_at;
    }
    if asked.since.is_some() || asked.until.is_some() {
        let offset_s = run.wall_offset_s?;
        if let Some(since) = &asked.since {
            window.from_s = window.from_s.max(since.unix_s - offset_s);
        }
        if let Some(until) = &asked.until {
            window.to_s = window.to_s.min(until.unix_s - offset_s);
            end_s = end_s.min(until.unix_s - offset_s);
        }
    }
    if let Some(from_s) = asked.from_s {
        window.from_s = window.from_s.max(first_s + from_s);
    }
    if let Some(to_s) = asked.to_s {
        window.to_s = window.to_s.min(first_s + to_s);
    }
    if let Some(span_s) = asked.last_s {
        window.from_s = window.from_s.max(end_s - span_s);
    }
    let holds_something = window.from_s < window.to_s && window.from_s <= last_s && window.to_s > first_s;
    holds_something.then_some(window)
}

/// Which bounds leave nothing of the runs, in words.
pub(super) fn emptied_by(asked: &Choice, runs: &[&Run]) -> String {
    let alone = |name: &str, part: Choice| {
        runs.iter().all(|run| of(&part, run, None).is_none()).then(|| name.to_owned())
    };
    let wall = Choice { since: asked.since.clone(), until: asked.until.clone(), ..Choice::default() };
    let own = Choice { from_s: asked.from_s, to_s: asked.to_s, last_s: asked.last_s, ..Choice::default() };
    let (wall_words, own_words) = (wall.flags().join(" "), own.flags().join(" "));
    let lives = || runs.iter().filter_map(|run| Some(run.last_s? - run.first_s?));
    let longest =
        || lives().reduce(f64::max).map(|span_s| format!(": the longest run spans {} s", rounded(span_s)));
    let reach = || reach(runs).map(|reach| format!(": the runs reach {reach}"));
    let (which, there) = if let Some(which) = alone(&wall_words, wall) {
        (which, reach())
    } else if let Some(which) = alone(&own_words, own) {
        (which, longest())
    } else {
        match (wall_words.is_empty(), own_words.is_empty()) {
            (false, false) => (format!("{wall_words} together with {own_words}"), reach()),
            (false, true) => (wall_words, reach()),
            (true, false) => (own_words, longest()),
            (true, true) => ("--settled".to_owned(), longest()),
        }
    };
    format!("{which} leaves nothing{}", there.unwrap_or_default())
}

/// From when to when the runs reach, in wall time.
fn reach(runs: &[&Run]) -> Option<String> {
    let walls = || {
        runs.iter()
            .filter_map(|run| Some((run.first_s? + run.wall_offset_s?, run.last_s? + run.wall_offset_s?)))
    };
    let from = walls().map(|(from, _)| from).reduce(f64::min)?;
    let to = walls().map(|(_, to)| to).reduce(f64::max)?;
    Some(format!("from {} to {}", crate::text::wall_time(from)?, crate::text::wall_time(to)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::time::Moment;

    fn run() -> Run {
        Run { first_s: Some(100.0), last_s: Some(700.0), wall_offset_s: Some(1_000_000.0), ..Run::named("r") }
    }

    fn wall(unix_s: f64) -> Option<Moment> {
        Some(Moment { unix_s, text: String::new() })
    }

    #[test]
    fn bounds_of_a_run_intersect() {
        let of = |asked: Choice| of(&asked, &run(), None).map(|window| (window.from_s, window.to_s));
        assert_eq!(of(Choice::default()), Some((OPEN_FROM, OPEN_TO)));
        assert_eq!(of(Choice { from_s: Some(10.0), ..Choice::default() }), Some((110.0, OPEN_TO)));
        assert_eq!(
            of(Choice { from_s: Some(10.0), to_s: Some(20.0), ..Choice::default() }),
            Some((110.0, 120.0))
        );
        assert_eq!(of(Choice { last_s: Some(50.0), ..Choice::default() }), Some((650.0, OPEN_TO)));
        assert_eq!(of(Choice { since: wall(1_000_300.0), ..Choice::default() }), Some((300.0, OPEN_TO)));
        let until = Choice { until: wall(1_000_300.0), last_s: Some(50.0), ..Choice::default() };
        assert_eq!(of(until), Some((250.0, 300.0)), "the last 50 s before that time");
        let after_its_end = Choice { until: wall(1_009_000.0), last_s: Some(50.0), ..Choice::default() };
        assert_eq!(of(after_its_end), Some((650.0, 1_009_000.0 - 1_000_000.0)));
    }

    #[test]
    fn a_run_of_which_nothing_lies_in_the_bounds_is_left_out() {
        let of = |asked: Choice| of(&asked, &run(), None);
        assert_eq!(of(Choice { from_s: Some(601.0), ..Choice::default() }), None);
        assert!(of(Choice { from_s: Some(600.0), ..Choice::default() }).is_some(), "its last moment");
        assert_eq!(of(Choice { since: wall(1_000_701.0), ..Choice::default() }), None);
        assert_eq!(of(Choice { until: wall(1_000_100.0), ..Choice::default() }), None, "up to its zero");
        let nothing_known = Run { first_s: None, last_s: None, ..run() };
        assert_eq!(super::of(&Choice { from_s: Some(0.0), ..Choice::default() }, &nothing_known, None), None);
        assert!(super::of(&Choice::default(), &nothing_known, None).is_some());
        let no_wall = Run { wall_offset_s: None, ..run() };
        assert_eq!(super::of(&Choice { since: wall(0.0), ..Choice::default() }, &no_wall, None), None);
    }

    #[test]
    fn only_what_is_settled_counts_back_from_there() {
        let settled =
            |asked: Choice| of(&asked, &run(), Some(650.0)).map(|window| (window.from_s, window.to_s));
        assert_eq!(settled(Choice::default()), Some((OPEN_FROM, 650.0)));
        assert_eq!(settled(Choice { last_s: Some(50.0), ..Choice::default() }), Some((600.0, 650.0)));
    }
}
