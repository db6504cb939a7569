//! What a reader should know first, a sentence each, left out where its rule gives nothing.

use super::engines::ROLES;
use super::fleet::What;
use super::{Figures, with_counts};
use crate::query::scoring::Policy;
use crate::report::words::{self, WallDetail, count, duration, many, rate, share};
use crate::statistics::{Difference, Verdict, judge_together};

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) enum Piece {
    Plain(String),
    Strong(String),
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::report) struct Finding {
    /// The section that it is from.
    pub section: &'static str,
    pub head: &'static str,
    pub sentence: Vec<Piece>,
}

impl Finding {
    fn new(section: &'static str, head: &'static str) -> Self {
        Self { section, head, sentence: Vec::new() }
    }

    fn plain(mut self, text: impl Into<String>) -> Self {
        self.sentence.push(Piece::Plain(text.into()));
        self
    }

    fn strong(mut self, text: impl Into<String>) -> Self {
        self.sentence.push(Piece::Strong(text.into()));
        self
    }
}

/// The findings, in order.
pub(in crate::report) fn findings(figures: &Figures) -> Vec<Finding> {
    let rules: [fn(&Figures) -> Option<Finding>; 7] =
        [what_cost_most, load, worst_stretch, failing_engine, slow_engine, capacity, not_read];
    rules.into_iter().filter_map(|rule| rule(figures)).collect()
}

fn what_cost_most(figures: &Figures) -> Option<Finding> {
    let attainment = figures.all.row("attainment")?;
    let scored = attainment.int("scored");
    let misses: Vec<(String, i64)> =
        figures.all.rows("attainment-misses").map(|row| (row.text("miss"), row.int("requests"))).collect();
    let all: i64 = misses.iter().map(|(_, requests)| requests).sum();
    let (kind, requests) = misses.iter().max_by_key(|(_, requests)| *requests)?;
    if *requests == 0 || scored == 0 {
        return None;
    }
    let of = |part: i64, whole: i64| share(part as f64 / whole as f64);
    let sum = |kinds: &[&str]| -> i64 {
        misses.iter().filter(|(kind, _)| kinds.contains(&kind.as_str())).map(|(_, requests)| requests).sum()
    };
    let groups = [
        (sum(&["ttft+tpot", "tpot", "ttft"]), "too slow"),
        (sum(&["refused", "rejected", "expired"]), "turned away"),
        (sum(&["failed"]), "failed"),
    ];
    let groups: Vec<String> = groups
        .iter()
        .filter(|(sum, _)| *sum > 0)
        .map(|(sum, what)| format!("{} {what}", of(*sum, scored)))
        .collect();
    let tail = if groups.is_empty() { String::new() } else { format!(" In all, {}.", groups.join(", ")) };
    Some(Finding::new("losses", "What cost most").strong(words::kind(kind)).plain(format!(
        ": {}, {} of all misses and {} of what was scored.{tail}",
        many(usize::try_from(*requests).unwrap_or(0), "request", "requests"),
        of(*requests, all),
        of(*requests, scored),
    )))
}

/// A fall is told from here on.
const FALL: f64 = 0.02;
/// On either side of an edge lies so large a part of what was scored.
const SIDE: f64 = 0.05;

fn load(figures: &Figures) -> Option<Finding> {
    let bands = &figures.load.bands;
    let scored: i64 = bands.iter().map(|band| band.scored).sum();
    let mut family = Vec::new();
    let mut edges = Vec::new();
    for edge in 1..bands.len() {
        let counts = |bands: &[super::load::Band]| {
            bands.iter().fold((0, 0), |sum, band| (sum.0 + band.met, sum.1 + band.scored))
        };
        let ((below_met, below), (above_met, above)) = (counts(&bands[..edge]), counts(&bands[edge..]));
        if (below.min(above) as f64) < SIDE * scored as f64 {
            continue;
        }
        let seen = &figures.survey.all;
        let Some((below, above)) =
            with_counts(below_met, below, seen).zip(with_counts(above_met, above, seen))
        else {
            continue;
        };
        family.push(Difference::of_shares(&below, &above));
        edges.push((bands[edge].from, below.value, above.value, above.rows));
    }
    let judged = judge_together(&family);
    let fallen = edges
        .into_iter()
        .zip(judged)
        .filter(|(edge, verdict)| *verdict == Verdict::Lower && edge.1 - edge.2 > FALL);
    let ((from, below, above, rows), _) =
        fallen.max_by(|(one, _), (other, _)| (one.1 - one.2).total_cmp(&(other.1 - other.2)))?;
    Some(
        Finding::new("load", "Load")
            .plain("Below ")
            .strong(format!("{} requests/s", crate::text::rounded(from)))
            .plain(format!(
                " {} met the SLO, at or above it {}; {} of the scored requests came in such buckets of {}.",
                share(below),
                share(above),
                share(rows as f64 / scored as f64),
                figures.axis.width()
            )),
    )
}

/// A stretch lasts so long, or one bucket; where no run has requests for twice as long, a tenth of that.
const STRETCH_S: i64 = 600;

fn worst_stretch(figures: &Figures) -> Option<Finding> {
    let axis = &figures.axis;
    // Without the stretches that nothing happened in.
    let busy = |column: &super::axis::AxisColumn| {
        let buckets = &figures.series.buckets[column.offset..column.offset + column.buckets];
        buckets.iter().filter(|bucket| bucket.offered > 0).count()
    };
    let longest = axis.columns.iter().map(busy).max()?.max(1);
    let mut length = usize::try_from((STRETCH_S + axis.bucket_s - 1) / axis.bucket_s).ok()?.max(1);
    if longest < 2 * length {
        length = longest.div_ceil(10);
    }
    let scored: i64 = figures.series.buckets.iter().map(|bucket| bucket.scored).sum();
    let mut worst: Option<(f64, usize, i64, i64)> = None;
    let is_unknown = |column: &super::axis::AxisColumn| {
        figures.asked.policy != Policy::Router && column.run.is_some_and(|run| figures.is_unaccounted(run))
    };
    for column in axis.columns.iter().filter(|column| column.buckets >= 2 * length && !is_unknown(column)) {
        for from in column.offset..=column.offset + column.buckets - length {
            let stretch = &figures.series.buckets[from..from + length];
            let sum = |of: fn(&super::series::Bucket) -> i64| stretch.iter().map(of).sum::<i64>();
            let (own, met) = (sum(|bucket| bucket.scored), sum(|bucket| bucket.met));
            if stretch.iter().any(|bucket| bucket.scored == 0) || (own as f64) < 0.01 * scored as f64 {
                continue;
            }
            let attainment = met as f64 / own as f64;
            if worst.is_none_or(|worst| attainment < worst.0) {
                worst = Some((attainment, from, own, sum(|bucket| bucket.offered)));
            }
        }
    }
    let (attainment, from, own, offered) = worst?;
    let overall = figures.attainment()?.value;
    if attainment >= overall {
        return None;
    }
    let (begin_s, wall_s) = axis.begin(from);
    let length_s = length as i64 * axis.bucket_s;
    let column = &axis.columns[axis.column_of(from).0];
    let run = column.run.map_or_else(String::new, |run| format!(" (run {})", run + 1));
    let when = match wall_s {
        Some(wall_s) => {
            let to_s = wall_s + length_s as f64;
            let is_same_day = words::moment(wall_s, WallDetail::Day) == words::moment(to_s, WallDetail::Day);
            let (begin, end) = match (is_same_day, axis.bucket_s < 60) {
                (true, true) => (WallDetail::DaySecond, WallDetail::Second),
                (true, false) => (WallDetail::DayMinute, WallDetail::Minute),
                (false, true) => (WallDetail::DaySecond, WallDetail::DaySecond),
                (false, false) => (WallDetail::DayMinute, WallDetail::DayMinute),
            };
            let (from, to) = (words::moment(wall_s, begin)?, words::moment(to_s, end)?);
            format!("{from}–{to}\u{a0}UTC{run}")
        }
        None => {
            format!("{} to {} into{run}", duration(begin_s as f64), duration((begin_s + length_s) as f64))
        }
    };
    Some(Finding::new("time", "Worst stretch").plain(format!("{when}: ")).strong(share(attainment)).plain(
        format!(" met, of {} scored, at {} offered.", count(own), rate(offered as f64 / length_s as f64)),
    ))
}

fn failing_engine(figures: &Figures) -> Option<Finding> {
    let mut worst: Option<(f64, usize, &super::engines::Engine)> = None;
    for (role, engines) in figures.engines.roles.iter().enumerate() {
        for engine in engines {
            let Some(others) = engine.others_rate else { continue };
            let is_sure = engine.fails_more && engine.rate_low.is_some_and(|low| low > 2.0 * others);
            let beyond = engine.failures as f64 - others * engine.legs as f64;
            if engine.failures >= 5 && is_sure && worst.is_none_or(|worst| beyond > worst.0) {
                worst = Some((beyond, role, engine));
            }
        }
    }
    let (_, role, engine) = worst?;
    Some(Finding::new("engines", "Failing engine").strong(words::outside(&engine.name, words::ENGINE)).plain(
        format!(
            " failed {} of its {} attempts ({} of {}); the other engines {}.",
            words::maybe_share(engine.failure_rate),
            ROLES[role],
            count(engine.failures),
            count(engine.legs),
            words::maybe_share(engine.others_rate)
        ),
    ))
}

fn slow_engine(figures: &Figures) -> Option<Finding> {
    let mut worst: Option<(f64, usize, usize, &super::engines::Engine)> = None;
    for (role, engines) in figures.engines.roles.iter().enumerate() {
        for (engine, which) in engines.iter().flat_map(|engine| [(engine, 1), (engine, 0)]) {
            let Some((own, others)) = engine.percentiles()[which].zip(engine.others[which]) else { continue };
            if engine.is_slower[which] && worst.is_none_or(|worst| own / others > worst.0) {
                worst = Some((own / others, role, which, engine));
            }
        }
    }
    let (_, role, which, engine) = worst?;
    Some(Finding::new("engines", "Slow engine").strong(words::outside(&engine.name, words::ENGINE)).plain(
        format!(
            " has a {} {} of {}; the median of the other {} engines is {}.",
            ["TTFT", "TPOT"][role],
            ["p50", "p99"][which],
            words::maybe_duration(engine.percentiles()[which]),
            ROLES[role],
            words::maybe_duration(engine.others[which])
        ),
    ))
}

fn capacity(figures: &Figures) -> Option<Finding> {
    let mut sum_s = 0.0;
    let mut breaches = 0;
    for interval in
        figures.fleet.intervals.iter().filter(|interval| matches!(interval.what, What::Floor { .. }))
    {
        breaches += 1;
        let run = &figures.runs[interval.run];
        let Some((from_s, to_s)) = run.span() else { continue };
        let begin_s = interval.from_s.unwrap_or(interval.to_s);
        let inside_s = interval.to_s.min(to_s - run.first_s) - begin_s.max(from_s - run.first_s);
        sum_s += inside_s.max(0.0);
    }
    if breaches == 0 {
        return None;
    }
    let span_s: f64 = figures.runs.iter().map(super::Run::length_s).sum();
    let of_time =
        if span_s > 0.0 { format!(" ({} of the time)", share(sum_s / span_s)) } else { String::new() };
    Some(
        Finding::new("fleet", "Capacity")
            .plain("Fewer prefill engines were live than the floor asks for ")
            .strong(duration(sum_s))
            .plain(format!("{of_time}, in {}.", many(breaches, "breach", "breaches"))),
    )
}

fn not_read(figures: &Figures) -> Option<Finding> {
    let of_kind = |kind: &str| -> i64 {
        let rows = figures.all.rows("read").filter(|row| row.text("kind") == kind);
        rows.map(|row| row.int("places")).sum()
    };
    let (rejected, repaired) = (of_kind("rejected"), of_kind("repaired"));
    if rejected + repaired == 0 {
        return None;
    }
    let lines: i64 = figures.all.rows("sources").map(|row| row.int("lines")).sum();
    let of_lines =
        if lines > 0 { format!(" ({})", share(rejected as f64 / lines as f64)) } else { String::new() };
    let gave_none = match rejected {
        0 => "Every line gave a row".to_owned(),
        _ => format!("{} of {} lines{of_lines} gave no row", count(rejected), count(lines)),
    };
    let mended = match repaired {
        0 => String::new(),
        _ => format!(", {} {} mended", count(repaired), if repaired == 1 { "was" } else { "were" }),
    };
    Some(Finding::new("notread", "What was not read").plain(format!("{gave_none}{mended}; they are listed.")))
}
