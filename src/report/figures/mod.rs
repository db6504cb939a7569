//! From rows to what is shown: answers, the axis of time, series over it, findings. No markup.

pub(super) mod answers;
pub(super) mod axis;
pub(super) mod engines;
pub(super) mod findings;
pub(super) mod fleet;
pub(super) mod load;
pub(super) mod messages;
pub(super) mod series;
pub(super) mod survey;

use std::collections::HashMap;

use anyhow::Result;
use chrono::{DateTime, Utc};

use self::answers::{Answers, Reader};
use self::axis::Axis;
use self::survey::{Known, Measure, Survey, survey};
use crate::query::answer::Answer;
use crate::query::nested;
use crate::query::ordered::{self, Scope};
use crate::query::scoring::Policy;
use crate::selection::{self, By, Selection};
use crate::statistics::Share;
use crate::store::slos::Slo;

/// What a report is asked for.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// What is taken in.
    pub selection: selection::Choice,
    /// The latency targets; without them nothing is scored.
    pub targets: Option<Slo>,
    /// Who is scored.
    pub policy: Policy,
    /// The attainment to reach, if one is given.
    pub goal: Option<f64>,
    /// The width of a bucket in seconds, instead of the one that suits.
    pub bucket_s: Option<i64>,
    /// The heading.
    pub title: String,
    /// The command line without paths, for the last line.
    pub command: String,
    /// When it is written.
    pub now: DateTime<Utc>,
}

/// A run of the selection.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub run_id: i64,
    pub run: String,
    /// The run's zero and end, monotonic; 0 where it has no time.
    pub first_s: f64,
    last_s: Option<f64>,
    from_s: f64,
    to_s: f64,
    pub wall_offset_s: Option<f64>,
    pub wall_basis: Option<String>,
}

impl Run {
    /// What is selected of it, monotonic.
    pub(super) fn span(&self) -> Option<(f64, f64)> {
        let last_s = self.last_s?;
        let (from_s, to_s) = (self.from_s.max(self.first_s), self.to_s.min(last_s));
        (from_s <= to_s).then_some((from_s, to_s))
    }

    /// How long the selected part lasts.
    pub(super) fn length_s(&self) -> f64 {
        self.span().map_or(0.0, |(from_s, to_s)| to_s - from_s)
    }

    /// The wall time of a moment, in seconds from its zero.
    pub(super) fn wall_s(&self, rel_s: f64) -> Option<f64> {
        Some(self.first_s + self.wall_offset_s? + rel_s)
    }

    /// The last part of its id, by which people tell runs apart.
    pub(super) fn short(&self) -> &str {
        self.run.rsplit_once('-').map_or(&self.run, |(_, tail)| tail)
    }
}

/// Everything that the page is made of.
pub(super) struct Figures {
    pub asked: ReportOptions,
    pub runs: Vec<Run>,
    pub by_run: Selection,
    pub axis: Axis,
    /// Of everything as one, of each run, of each bucket.
    pub all: Answers,
    pub each: Answers,
    pub survey: Survey,
    pub series: series::Series,
    pub fleet: fleet::Fleet,
    pub load: load::Load,
    pub engines: engines::Engines,
    pub messages: messages::Messages,
    /// Engines by their number in the survey, as they are called on the page.
    pub names: Vec<String>,
    /// Things to know before the numbers, in words.
    pub caveats: Vec<String>,
}

impl Figures {
    /// Attainment of everything, with its interval.
    pub(super) fn attainment(&self) -> Option<Share> {
        let row = self.all.row("attainment")?;
        with_counts(row.int("met"), row.int("scored"), &self.survey.all)
    }

    /// Attainment of a run, with its interval.
    pub(super) fn attainment_of(&self, run: usize) -> Option<Share> {
        let row = self.each.find("attainment", "scope", &self.runs[run].run)?;
        with_counts(row.int("met"), row.int("scored"), &self.survey.by_run[run])
    }

    /// Whether the outputs of a run were not counted, so that nobody knows which of its requests met.
    pub(super) fn is_unaccounted(&self, run: usize) -> bool {
        let row = self.each.find("runs", "run", &self.runs[run].run);
        row.and_then(|row| row.known_text("token_accounting")).as_deref() == Some("unavailable")
    }

    /// The targets.
    pub(super) fn targets(&self) -> Option<&Slo> {
        self.asked.targets.as_ref()
    }

    /// The number of requests.
    pub(super) fn offered(&self) -> i64 {
        self.all.rows("outcomes").map(|row| row.int("requests")).sum()
    }

    /// The number of requests that ended so.
    pub(super) fn ended(&self, terminal: &str) -> i64 {
        self.all.find("outcomes", "terminal", terminal).map_or(0, |row| row.int("requests"))
    }

    /// What is said of run by its place: its number.
    pub(super) fn number_of(&self, run: &str) -> Option<usize> {
        self.runs.iter().position(|known| known.run == run)
    }
}

/// A share of the counts of a canned query, as sure as the requests that were looked at make it.
pub(super) fn with_counts(hits: i64, rows: i64, seen: &crate::statistics::Batches) -> Option<Share> {
    Share::with_design(u64::try_from(hits).ok()?, u64::try_from(rows).ok()?, seen.design())
}

/// Asks for everything.
pub(super) fn gather(reader: &mut Reader<'_>, asked: ReportOptions) -> Result<Figures> {
    let choose = |reader: &Reader<'_>, by: By| {
        let chosen = selection::Choice { by, ..asked.selection.clone() };
        selection::choose(reader.connection, &chosen, asked.now)
    };
    let by_run = choose(reader, By::Run)?;
    let whole = choose(reader, By::All)?;
    by_run.install(reader.connection)?;
    let scopes = ordered::scopes(reader.connection)?;
    let mut each = Answers::default();
    each.keep("runs", reader.ask("runs", &by_run, &[])?);
    let runs = runs(&each, &scopes);
    let axis = axis::axis(reader.connection, &asked.selection, &runs, asked.bucket_s, asked.now)?;

    let mut given = vec![("policy", asked.policy.name().to_owned())];
    if let Some(slo) = &asked.targets {
        given.extend([("ttft", slo.ttft_s.to_string()), ("tpot", slo.tpot_s.to_string())]);
    }
    let mut all = Answers::default();
    for name in OF_ALL {
        all.keep(name, reader.ask(name, &whole, &given)?);
    }
    let requests: i64 = all.rows("outcomes").map(|row| row.int("requests")).sum();
    for names in TOGETHER.chunks(TOGETHER.len() - usize::from(requests > MANY)) {
        for (name, answer) in names.iter().zip(reader.ask_together(names, &whole, &given)?) {
            all.keep(name, answer);
        }
    }
    for name in ["engine-downtime", "floor-breaches"] {
        each.keep(name, reader.ask(name, &by_run, &[])?);
    }
    let mut buckets = Answers::default();
    let is_nested = !axis.is_wall && nested::are_nested(&axis.selection.rows);
    let stretches = if is_nested { &axis.selection.rows[..] } else { &[] };
    for (name, measured) in [("latency", nested::LATENCY), ("queue-waits", nested::WAITS)] {
        let found = nested::read(reader.connection, measured, &scopes, stretches, requests as usize)?;
        all.keep(name, found.all);
        each.keep(name, found.runs);
        buckets.keep(name, if is_nested { found.stretches } else { reader.ask(name, &axis.selection, &[])? });
    }
    if asked.targets.is_some() {
        for name in ["attainment", "attainment-misses"] {
            all.keep(name, reader.ask(name, &whole, &given)?);
        }
        each.keep("attainment", reader.ask("attainment", &by_run, &given)?);
    }
    let mut series = series::series(reader, &axis, &runs, &given, asked.targets.is_some(), &buckets)?;
    let load = load::load(reader, (&whole, &axis, &runs), &given, asked.targets.is_some(), &series)?;
    whole.install(reader.connection)?;
    let scope = ordered::scopes(reader.connection)?.pop().unwrap_or_else(|| Scope::empty("all"));
    let survey = survey(
        reader.connection,
        &scope,
        survey::Surveyed {
            targets: asked.targets.as_ref(),
            policy: asked.policy,
            axis: &axis,
            runs: runs.iter().enumerate().map(|(at, run)| (run.run_id, at)).collect::<HashMap<_, _>>(),
            bands: load.bands_of(&axis, &runs, &series),
            known: known(&all),
            completed: all
                .find("outcomes", "terminal", "completed")
                .map_or(0, |row| row.int("requests") as usize),
        },
    )?;
    series.add_intervals(&survey);
    worst(reader, (&whole, &survey), &given, &mut all)?;
    let mut fleet = fleet::fleet(reader, &by_run, &axis, &runs, &each, &mut series)?;
    let names = fleet::names(reader, &survey);
    fleet.choose_rows(&names);
    let engines = engines::engines(reader, &all, &survey);
    let messages = messages::messages(reader, &whole)?;
    let caveats = caveats(&all, &by_run, ordered::notes(&[scope]));
    Ok(Figures {
        asked,
        runs,
        by_run,
        axis,
        all,
        each,
        survey,
        series,
        fleet,
        load,
        engines,
        messages,
        names,
        caveats,
    })
}

/// What is asked of everything as one.
const OF_ALL: [&str; 7] = [
    "outcomes",
    "refusals",
    "cancellations",
    "engine-latency",
    "engine-failures",
    "controller",
    "monitoring",
];

/// What is asked of it from one reading; what takes most memory last.
const TOGETHER: [&str; 7] =
    ["retries", "wasted-work", "handoff", "prompt-sizes", "cache", "rates", "admission-price"];

/// Of more requests the prices, which are three numbers of each, are gathered by themselves: together with the others they
/// would take more memory than a page may.
const MANY: i64 = 3_000_000;

/// So many requests stand in each list of the worst.
pub(super) const WORST: usize = 8;

/// The slowest are asked for at their arrivals only: to look for them among all requests twice would be a reading more
/// each.
fn worst(
    reader: &mut Reader<'_>,
    (whole, survey): (&Selection, &Survey),
    given: &[(&str, String)],
    all: &mut Answers,
) -> Result<()> {
    for ((name, order), slowest) in
        [("worst-ttft", "ttft_s"), ("worst-tpot", "tpot_s")].into_iter().zip(&survey.slowest)
    {
        let mut given = given.to_vec();
        given.extend([("order", order.to_owned()), ("limit", WORST.to_string())]);
        all.keep(name, reader.ask("requests", &slowest.selection(), &given)?);
    }
    let own = |reader: &mut Reader<'_>, sql: &str| -> Result<Answer> { reader.own(sql, whole) };
    all.keep("latest-failures", own(reader, include_str!("../../../queries/report/latest-failures.sql"))?);
    all.keep("read", own(reader, include_str!("../../../queries/report/read.sql"))?);
    all.keep("sources", own(reader, include_str!("../../../queries/report/sources.sql"))?);
    Ok(())
}

/// The runs in the order of `runs`, with what is selected of them.
fn runs(each: &Answers, scopes: &[Scope]) -> Vec<Run> {
    let mut runs = Vec::new();
    for row in each.rows("runs") {
        let id = row.text("run");
        let Some(scope) = scopes.iter().find(|scope| scope.name == id) else { continue };
        let parts = &scope.parts;
        let ends = parts.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |ends, part| {
            (ends.0.min(part.from_s), ends.1.max(part.to_s))
        });
        runs.push(Run {
            run_id: parts[0].run_id,
            run: id,
            first_s: parts[0].span.map_or(0.0, |(first_s, _)| first_s),
            last_s: parts[0].span.map(|(_, last_s)| last_s),
            from_s: ends.0,
            to_s: ends.1,
            wall_offset_s: parts[0].wall_offset_s,
            wall_basis: row.known_text("wall_basis"),
        });
    }
    runs
}

/// The percentiles that stand in tables.
fn known(all: &Answers) -> Vec<Known> {
    let mut known = Vec::new();
    let mut add = |measure: Measure, row: &crate::query::answer::Row<'_>, percents: &[u32]| {
        for percent in percents {
            known.extend(row.real(&format!("p{percent}")).map(|value| Known::new(measure, *percent, value)));
        }
    };
    for (at, row) in all.rows("latency").enumerate() {
        add(Measure::Metric(at), &row, &[50, 90, 95, 99]);
    }
    for row in all.rows("handoff") {
        add(Measure::Handoff { crossed: row.text("kind") == "crossed" }, &row, &[50, 90, 99]);
    }
    for row in all.rows("queue-waits") {
        if let Some(at) = STAGES.iter().position(|stage| *stage == row.text("stage")) {
            add(Measure::Wait(at), &row, &[50, 90, 99]);
        }
    }
    for row in all.rows("prompt-sizes") {
        for (column, percent) in [("ttft_p50", 50), ("ttft_p99", 99)] {
            let measure = Measure::Prompt(row.int("input_from"));
            known.extend(row.real(column).map(|value| Known::new(measure, percent, value)));
        }
    }
    known
}

/// The stages of a wait, in the order of [`Measure::Wait`].
pub(super) const STAGES: [&str; 4] = ["admission", "prefill", "decode", "total"];

fn caveats(all: &Answers, by_run: &Selection, order: Vec<String>) -> Vec<String> {
    let mut caveats = all.caveats("attainment").to_vec();
    caveats.extend(order);
    caveats.extend(by_run.notes.iter().cloned());
    caveats
}
