//! Scales: values to pixels from the upper edge, with ticks. Linear ones begin at 0.

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Tick {
    /// The value.
    pub value: f64,
    /// Where it lies, from 0 (low end) to 1.
    pub at: f64,
}

/// Values to places.
pub(in crate::report) trait Scale {
    /// Where a value lies, from 0 at the low end to 1 at the high end, kept between them.
    fn at(&self, value: f64) -> f64;
    /// Its ticks, rising.
    fn ticks(&self) -> Vec<Tick>;

    /// Pixels from the upper edge of a panel so high.
    fn down(&self, value: f64, height: f64) -> f64 {
        height * (1.0 - self.at(value))
    }
}

/// From a low end to a high one in equal steps.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Linear {
    low: f64,
    high: f64,
    step: f64,
}

impl Linear {
    /// From 0, so that the largest value fits: about three ticks, steps of 1, 2 or 5 × 10^k.
    pub(in crate::report) fn to(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let step = step_for(largest / 3.0);
        let last_tick = (largest / step).floor() * step;
        Self { low: 0.0, high: (1.05 * largest).max(last_tick), step }
    }

    /// As [`Linear::to`], in whole numbers.
    pub(in crate::report) fn counts_to(largest: f64) -> Self {
        let wide = Self::to(largest.max(1.0));
        Self { step: wide.step.max(1.0), ..wide }
    }

    /// Between two ends, with ticks at both and in the middle.
    pub(in crate::report) fn between(low: f64, high: f64) -> Self {
        Self { low, high, step: (high - low) / 2.0 }
    }

    /// The step from tick to tick.
    pub(in crate::report) fn step(&self) -> f64 {
        self.step
    }

    /// From 0 to exactly here, with steps as in [`Linear::to`].
    pub(in crate::report) fn exactly_to(high: f64) -> Self {
        Self { high, ..Self::to(high) }
    }
}

/// The smallest of 1, 2 and 5 × 10^k from here on.
pub(in crate::report) fn step_for(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(decade)
}

impl Scale for Linear {
    fn at(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<Tick> {
        let last = ((self.high - self.low) / self.step * 1.000_001).floor() as usize;
        let value = |number: usize| self.low + number as f64 * self.step;
        (0..=last).map(|number| Tick { value: value(number), at: self.at(value(number)) }).collect()
    }
}

/// From one round number to another by factors. A value of 0 lies on the low end.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Log {
    low: f64,
    high: f64,
    most_ticks: usize,
}

impl Log {
    /// Around the values above 0; none without any.
    pub(in crate::report) fn of(values: impl Iterator<Item = f64>, most_ticks: usize) -> Option<Self> {
        let mut ends: Option<(f64, f64)> = None;
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            let (low, high) = ends.unwrap_or((value, value));
            ends = Some((low.min(value), high.max(value)));
        }
        let (low, high) = ends?;
        let (low, mut high) = (round_below(low), round_above(high));
        if high <= low {
            high = round_above(low * 1.5);
        }
        Some(Self { low, high, most_ticks })
    }

    /// The value at a place from 0 to 1.
    pub(in crate::report) fn value(&self, at: f64) -> f64 {
        self.low * (self.high / self.low).powf(at)
    }

    /// Both ends.
    pub(in crate::report) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn with(&self, factors: &[f64], every: i32) -> Vec<Tick> {
        let mut ticks = Vec::new();
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        for decade in (first..=last).filter(|decade| decade.rem_euclid(every) == 0) {
            for factor in factors {
                let value = factor * 10_f64.powi(decade);
                if value >= self.low * 0.999 && value <= self.high * 1.001 {
                    ticks.push(Tick { value, at: self.at(value) });
                }
            }
        }
        ticks
    }
}

fn round_below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [10.0, 5.0, 2.0, 1.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|round| *round <= value * 1.000_001)
        .unwrap_or(decade)
}

fn round_above(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0, 20.0].into_iter();
    rounds.map(|factor| factor * decade).find(|round| *round >= value * 0.999_999).unwrap_or(20.0 * decade)
}

impl Scale for Log {
    fn at(&self, value: f64) -> f64 {
        if value <= 0.0 || value.is_nan() {
            return 0.0;
        }
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<Tick> {
        let few = |ticks: &Vec<Tick>| (2..=self.most_ticks).contains(&ticks.len());
        let fine = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]];
        let found = fine.into_iter().map(|factors| self.with(factors, 1)).find(few);
        found
            .or_else(|| (2..40).map(|every| self.with(&[1.0], every)).find(few))
            .unwrap_or_else(|| [self.low, self.high].map(|value| Tick { value, at: self.at(value) }).to_vec())
    }
}

/// From where an axis of attainment begins: the largest of a few shares that none of these undercuts.
pub(in crate::report) fn attainment_floor(lowest: f64) -> f64 {
    let floors = [0.999, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.5];
    floors.into_iter().find(|floor| *floor <= lowest).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(ticks: Vec<Tick>) -> Vec<f64> {
        ticks.into_iter().map(|tick| (tick.value * 1e9).round() / 1e9).collect()
    }

    #[test]
    fn linear_scales_have_about_three_round_ticks() {
        assert_eq!(values(Linear::to(29.4).ticks()), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(values(Linear::to(16.0).ticks()), [0.0, 10.0]);
        assert_eq!(values(Linear::counts_to(1.0).ticks()), [0.0, 1.0]);
        assert_eq!(values(Linear::between(0.5, 1.0).ticks()), [0.5, 0.75, 1.0]);
        assert_eq!(Linear::to(10.0).down(10.5, 100.0), 0.0);
    }

    #[test]
    fn log_scales_end_at_round_values() {
        let scale = Log::of([0.0, 0.13, 4.26].into_iter(), 4).expect("there are values");
        assert_eq!(scale.ends(), (0.1, 5.0));
        assert_eq!(values(scale.ticks()), [0.1, 0.3, 1.0, 3.0]);
        assert_eq!(scale.at(0.0), 0.0);
        assert!(Log::of([0.0].into_iter(), 4).is_none());
        let one = Log::of([1.0].into_iter(), 4).expect("there is a value");
        assert_eq!(one.ends(), (1.0, 2.0));
        assert_eq!(values(one.ticks()), [1.0, 2.0]);
        let wide = Log::of([1e-6, 5.0].into_iter(), 3).expect("there are values");
        assert!(wide.ticks().len() <= 3, "{:?}", wide.ticks());
    }

    #[test]
    fn attainment_begins_where_nothing_is_cut_off() {
        assert_eq!(attainment_floor(0.93), 0.9);
        assert_eq!(attainment_floor(0.2), 0.0);
        assert_eq!(attainment_floor(0.9999), 0.999);
    }
}
