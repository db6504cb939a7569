//! Ticks of an axis of time that may have several columns. A page has one markup for all widths, so ticks are chosen for
//! three of them, and the class of each says at which it is hidden.

use super::svg::{Anchor, Svg, percent};

/// A column of the axis.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Span {
    /// Its left edge and its width, in percent.
    pub x: f64,
    pub width: f64,
    /// The time at its left edge; ticks are multiples of it.
    pub from_s: f64,
    /// How long it lasts.
    pub length_s: f64,
}

/// The words of an axis.
pub(in crate::report) trait Labels {
    /// What stands at a time of a column, given the step from tick to tick.
    fn label(&self, column: usize, time_s: f64, step_s: f64) -> String;
}

/// A tick with its label.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct TimeTick {
    x: f64,
    label: String,
    class: &'static str,
}

impl TimeTick {
    /// Its line through panels from `top` to `bottom`.
    pub(super) fn line(&self, svg: &mut Svg, top: f64, bottom: f64) {
        let x = percent(self.x);
        let class = if self.class.is_empty() { String::new() } else { format!(r#" class="{}""#, self.class) };
        svg.raw(&format!(r#"<line{class} x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>"#));
    }

    /// Its label; its anchor and its place down are those of the group that it is in.
    pub(super) fn text(&self, svg: &mut Svg) {
        svg.text(&percent(self.x), 0.0, Anchor::Start, self.class, "", &self.label);
    }
}

/// Widths of the data area, in pixels, that ticks are chosen for: a wide page, a small one, a phone.
const WIDTHS: [f64; 3] = [1040.0, 480.0, 300.0];
/// Ticks are so far apart, and so far from the edge of their column.
const APART_PX: f64 = 54.0;
const FROM_EDGE_PX: f64 = 15.0;
/// A column so wide has one tick at least.
const WIDE_PX: f64 = 40.0;

const STEPS_S: [f64; 25] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    1_209_600.0,
    2_419_200.0,
    4_838_400.0,
    9_676_800.0,
    38_707_200.0,
];

/// The ticks of all columns.
pub(in crate::report) fn time_ticks(columns: &[Span], labels: &dyn Labels) -> Vec<TimeTick> {
    let mut steps = Vec::new();
    for width in WIDTHS {
        let before = steps.last().copied();
        steps.push(step_at(columns, width, before));
    }
    let mut ticks = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let (step_s, wide) = at_widest(column, steps[0]);
        let small = narrower(column, &wide, steps[1], WIDTHS[1]);
        let phone = narrower(column, &wide, steps[2], WIDTHS[2]);
        for time_s in wide {
            let class = match (small.contains(&time_s), phone.contains(&time_s)) {
                (true, true) => "",
                (true, false) => "m",
                (false, true) => "v",
                (false, false) => "w",
            };
            let x = column.x + column.width * (time_s - column.from_s) / column.length_s;
            ticks.push(TimeTick { x, label: labels.label(number, time_s, step_s), class });
        }
    }
    ticks
}

/// The least step that keeps ticks apart at a width, in every column; a multiple of the step before.
fn step_at(columns: &[Span], width: f64, before: Option<f64>) -> f64 {
    let fits = |step_s: &f64| {
        before.is_none_or(|before| (step_s / before).fract() == 0.0)
            && columns.iter().all(|column| column.pixels(width) / column.length_s * step_s >= APART_PX)
    };
    let many = (1..40).map(|power| STEPS_S[STEPS_S.len() - 1] * 2_f64.powi(power));
    STEPS_S.into_iter().chain(many).find(fits).unwrap_or(f64::INFINITY)
}

impl Span {
    fn pixels(&self, width: f64) -> f64 {
        self.width / 100.0 * width
    }

    /// Multiples of a step that are not too near to an edge at a width.
    fn multiples(&self, step_s: f64, width: f64) -> Vec<f64> {
        let edge_s = FROM_EDGE_PX / self.pixels(width) * self.length_s;
        let first = ((self.from_s + edge_s) / step_s).ceil();
        let last = ((self.from_s + self.length_s - edge_s) / step_s).floor();
        if !(last - first).is_finite() || last - first > 1e4 {
            return Vec::new();
        }
        (0..=(last - first) as i64)
            .filter(|_| last >= first)
            .map(|number| (first + number as f64) * step_s)
            .collect()
    }

    fn nearest_to_middle(&self, times: &[f64]) -> Option<f64> {
        let middle = self.from_s + self.length_s / 2.0;
        let nearer = |one: &&f64, other: &&f64| (*one - middle).abs().total_cmp(&(*other - middle).abs());
        times.iter().min_by(nearer).copied()
    }
}

/// The ticks of a column at the widest, and their step.
fn at_widest(column: &Span, step_s: f64) -> (f64, Vec<f64>) {
    let found = column.multiples(step_s, WIDTHS[0]);
    if !found.is_empty() || column.pixels(WIDTHS[0]) < WIDE_PX {
        return (step_s, found);
    }
    for step_s in STEPS_S.into_iter().rev().filter(|finer| *finer < step_s) {
        let found = column.multiples(step_s, WIDTHS[0]);
        if let Some(time_s) = column.nearest_to_middle(&found) {
            return (step_s, vec![time_s]);
        }
    }
    (step_s, Vec::new())
}

/// Those of the ticks at the widest that stay at a narrower width.
fn narrower(column: &Span, wide: &[f64], step_s: f64, width: f64) -> Vec<f64> {
    let edge_s = FROM_EDGE_PX / column.pixels(width) * column.length_s;
    let (left, right) = (column.from_s + edge_s, column.from_s + column.length_s - edge_s);
    let inside: Vec<f64> = wide.iter().copied().filter(|time_s| (left..=right).contains(time_s)).collect();
    let found: Vec<f64> = inside.iter().copied().filter(|time_s| (time_s / step_s).fract() == 0.0).collect();
    if !found.is_empty() || column.pixels(width) < WIDE_PX {
        return found;
    }
    column.nearest_to_middle(&inside).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Seconds;

    impl Labels for Seconds {
        fn label(&self, _: usize, time_s: f64, step_s: f64) -> String {
            format!("{time_s}/{step_s}")
        }
    }

    #[test]
    fn ticks_are_apart_at_each_width_and_thin_by_class() {
        let hour = Span { x: 0.0, width: 100.0, from_s: 100.0, length_s: 3600.0 };
        let ticks = time_ticks(&[hour], &Seconds);
        let visible = |hidden: &[&str]| ticks.iter().filter(|tick| !hidden.contains(&tick.class)).count();
        // 1,040 px an hour: 300 s are 87 px. 480 px: 600 s are 80 px, and 3,600 is within 15 px of the edge.
        // 300 px: 1,800 s (a multiple of 600) are 150 px.
        assert_eq!(ticks[0].label, "300/300");
        assert_eq!((visible(&[]), visible(&["w", "v"]), visible(&["w", "m"])), (12, 5, 1));
    }

    #[test]
    fn a_column_that_no_round_time_falls_in_has_a_tick_all_the_same() {
        let long = Span { x: 0.0, width: 90.0, from_s: 0.0, length_s: 36_000.0 };
        let short = Span { x: 91.0, width: 9.0, from_s: 100.0, length_s: 400.0 };
        let ticks = time_ticks(&[long, short], &Seconds);
        assert!(ticks.iter().any(|tick| tick.x > 91.0), "{ticks:?}");
    }

    #[test]
    fn an_axis_of_absurd_length_has_no_ticks_rather_than_many() {
        let odd = Span { x: 0.0, width: 100.0, from_s: -1e12, length_s: 1e15 };
        assert!(time_ticks(&[odd], &Seconds).len() < 100);
    }
}
