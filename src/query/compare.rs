//! Two selections side by side: which of their figures differ, judged together (docs/statistics.md, (c) and (e)).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::json;

use super::caveats;
use super::figures::{self, Figure, Gathered, Group};
use super::hours;
use super::ordered::{self, Scope};
use super::scoring::Policy;
use crate::selection::{Row, Selection};
use crate::statistics::{Difference, Verdict, judge_together};
use crate::store::slos::Slo;
use crate::text::counted;

/// A figure of both sides.
#[derive(Debug, Clone)]
pub struct Pair {
    /// What it is, as `ttft_s p99` or `share completed`.
    pub name: String,
    /// The figure of the one side and the other; none where nothing can be said of it.
    pub sides: [Option<Figure>; 2],
    /// The other side's value minus the one's, when both have one.
    pub difference: Option<Difference>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Whether it needs outputs that one side alone did not count: its verdict says little then.
    pub lacks_accounting: bool,
}

impl Pair {
    /// Whether it is shown to differ.
    pub fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Higher | Verdict::Lower)
    }

    /// Whether it may differ, or may be chance.
    pub fn may_differ(&self) -> bool {
        matches!(self.verdict, Verdict::MaybeHigher | Verdict::MaybeLower)
    }
}

/// Figures that are judged together.
#[derive(Debug, Clone, Default)]
pub struct Family {
    /// In the order of their groups.
    pub pairs: Vec<Pair>,
}

impl Family {
    /// How many are shown to differ.
    pub fn differ(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.differs()).count()
    }

    /// How many more may be chance.
    pub fn maybe(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.may_differ()).count()
    }

    /// How many both sides have.
    pub fn judged(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.difference.is_some()).count()
    }

    /// What is shown to differ, then what may be chance, each with the largest difference first: by how much of the
    /// reach of its interval it is.
    pub fn found(&self) -> Vec<&Pair> {
        let mut found: Vec<&Pair> =
            self.pairs.iter().filter(|pair| pair.differs() || pair.may_differ()).collect();
        let t = |pair: &Pair| pair.difference.map_or(0.0, |difference| difference.t);
        found.sort_by(|one, other| {
            other.differs().cmp(&one.differs()).then_with(|| t(other).total_cmp(&t(one)))
        });
        found
    }

    fn judge(&mut self) {
        let together: Vec<Difference> = self.pairs.iter().filter_map(|pair| pair.difference).collect();
        let mut verdicts = judge_together(&together).into_iter();
        for pair in self.pairs.iter_mut().filter(|pair| pair.difference.is_some()) {
            pair.verdict = verdicts.next().expect("each has a verdict");
        }
    }
}

/// Two selections compared.
#[derive(Debug)]
pub struct Comparison {
    /// How many requests each side has.
    pub requests: [u64; 2],
    /// The requests that are on both sides: then nothing is judged.
    pub shared: u64,
    /// The figures.
    pub figures: Family,
    /// Those of each engine, a second family.
    pub engines: Family,
    /// Engines that only one side has.
    pub lone_engines: [Vec<String>; 2],
    /// The targets of both sides, when there are any.
    pub targets: Option<Slo>,
    /// What changes the meaning, in words.
    pub notes: Vec<String>,
}

/// The scopes of the two sides.
pub const SCOPES: [&str; 2] = ["a", "b"];

/// Two selections of one scope each as one selection, of [`SCOPES`].
pub fn sides(a: Selection, b: Selection) -> Selection {
    let rows = SCOPES
        .iter()
        .zip([a.rows, b.rows])
        .flat_map(|(scope, rows)| rows.into_iter().map(|row| Row { scope: (*scope).to_owned(), ..row }));
    Selection { rows: rows.collect(), ..Selection::default() }
}

/// Compares two selections: attainment and misses when there are targets, the other figures always.
///
/// # Errors
/// When the database cannot be read.
pub fn compare(connection: &mut Connection, sides: &Selection, targets: Option<&Slo>) -> Result<Comparison> {
    sides.install(connection)?;
    let scopes = ordered::scopes(connection)?;
    let mut notes = order_notes(&scopes);
    if let [a, b] = &scopes[..] {
        notes.extend(hours::note(a, b));
    }
    let shared = shared_requests(connection)?;
    let mut requests = [0; 2];
    let mut found: [Option<Found>; 2] = [None, None];
    for (at, name) in SCOPES.into_iter().enumerate() {
        let empty = Scope::empty(name);
        let scope = scopes.iter().find(|scope| scope.name == name).unwrap_or(&empty);
        let gathered = figures::gather(connection, scope, targets, Policy::default())?;
        requests[at] = gathered.requests();
        found[at] = Some(Found::of(&gathered));
    }
    let [Some(a), Some(b)] = found else { unreachable!("both were gathered") };
    let without = caveats::without_accounting_by_scope(connection)?;
    let lacks_accounting = without.len() == 1;
    let (mut engines, lone_engines) = engine_pairs(&a, &b, lacks_accounting);
    let mut figures = pairs(a, b, lacks_accounting);
    if shared == 0 {
        figures.judge();
        engines.judge();
    }
    notes.extend(accounting_notes(&without, targets.is_some()));
    let targets = targets.cloned();
    Ok(Comparison { requests, shared, figures, engines, lone_engines, targets, notes })
}

/// The figures of a side. Its rows are let go before those of the other side are read.
struct Found {
    figures: BTreeMap<(Group, String), Figure>,
    nobody: Vec<(Group, Figure)>,
    engines: BTreeMap<String, Vec<(String, Figure)>>,
}

impl Found {
    fn of(gathered: &Gathered) -> Self {
        let groups = [Group::Terminal, Group::Miss, Group::Cause];
        let nobody =
            groups.into_iter().filter_map(|group| Some((group, Figure::Share(gathered.nobody(group)?))));
        Self {
            figures: gathered.figures().into_iter().collect(),
            nobody: nobody.collect(),
            engines: gathered.engine_figures().into_iter().collect(),
        }
    }

    fn figure(&self, key: &(Group, String)) -> Option<Figure> {
        let nobody = || self.nobody.iter().find(|(group, _)| *group == key.0).map(|(_, figure)| *figure);
        self.figures.get(key).copied().or_else(nobody)
    }
}

/// Whether a figure cannot be told without the lengths of outputs: those that nobody counted are misses, and have no
/// TPOT.
fn needs_accounting(group: Group, name: &str) -> bool {
    matches!(group, Group::Attainment | Group::Miss) || name.starts_with("tpot_s ")
}

fn pairs(a: Found, b: Found, lacks_accounting: bool) -> Family {
    let keys: BTreeSet<&(Group, String)> = a.figures.keys().chain(b.figures.keys()).collect();
    let pair = |key: &(Group, String)| {
        let lacks_accounting = lacks_accounting && needs_accounting(key.0, &key.1);
        pair(key.1.clone(), [a.figure(key), b.figure(key)], lacks_accounting)
    };
    Family { pairs: keys.into_iter().map(pair).collect() }
}

/// The figures of engines that both sides have, and the engines that one side has alone.
fn engine_pairs(a: &Found, b: &Found, lacks_accounting: bool) -> (Family, [Vec<String>; 2]) {
    let mut family = Family::default();
    for (engine, of_a) in &a.engines {
        let Some(of_b) = b.engines.get(engine) else { continue };
        let mut names: Vec<&str> = of_a.iter().map(|(name, _)| name.as_str()).collect();
        names.extend(of_b.iter().map(|(name, _)| name.as_str()));
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        for name in names {
            let of = |side: &[(String, Figure)]| {
                side.iter().find(|(known, _)| known == name).map(|(_, figure)| *figure)
            };
            let lacks_accounting = lacks_accounting && name.starts_with("tpot_s ");
            let sides = [of(of_a), of(of_b)];
            family.pairs.push(pair(format!("engine {engine} {name}"), sides, lacks_accounting));
        }
    }
    let lone = |one: &Found, other: &Found| {
        one.engines.keys().filter(|engine| !other.engines.contains_key(*engine)).cloned().collect()
    };
    (family, [lone(a, b), lone(b, a)])
}

fn pair(name: String, sides: [Option<Figure>; 2], lacks_accounting: bool) -> Pair {
    let difference = match &sides {
        [Some(Figure::Share(a)), Some(Figure::Share(b))] => Some(Difference::of_shares(a, b)),
        [Some(a), Some(b)] => a.measured().zip(b.measured()).map(|(a, b)| Difference::of_percentiles(&a, &b)),
        _ => None,
    };
    Pair { name, sides, difference, verdict: Verdict::NotJudged, lacks_accounting }
}

/// How many requests both sides have.
fn shared_requests(connection: &Connection) -> Result<u64> {
    Ok(connection.query_row(include_str!("../../queries/ordered/shared.sql"), [], |row| row.get(0))?)
}

fn order_notes(scopes: &[Scope]) -> Vec<String> {
    let of_one = |scope: &Scope| {
        let notes = ordered::notes(std::slice::from_ref(scope));
        notes.into_iter().map(|note| format!("{}: {note}", scope.name)).collect::<Vec<_>>()
    };
    scopes.iter().flat_map(of_one).collect()
}

/// Says which side has requests whose output nobody counted.
fn accounting_notes(without: &[(String, i64, i64)], has_targets: bool) -> Vec<String> {
    let met = if has_targets { "none of them counts as met, and " } else { "" };
    let says = |scope: &str, runs: i64, completed: i64| {
        format!(
            "{scope}: token accounting is unavailable in {}, so the output of {} is unknown: {met}they have no tpot_s",
            counted(runs, "run"),
            counted(completed, "completed request")
        )
    };
    let mut notes: Vec<String> =
        without.iter().map(|(scope, runs, completed)| says(scope, *runs, *completed)).collect();
    if let [(scope, ..)] = without {
        let other = if scope == SCOPES[0] { SCOPES[1] } else { SCOPES[0] };
        let which = if has_targets { "attainment, misses and tpot_s" } else { "tpot_s" };
        notes.push(format!(
            "that is so on one side only: {which} of {scope} and {other} cannot be held against each other, whatever \
             the verdict"
        ));
    }
    notes
}

/// The figures as rows for output.
pub const COLUMNS: [&str; 14] = [
    "figure",
    "a",
    "a_low",
    "a_high",
    "n_a",
    "b",
    "b_low",
    "b_high",
    "n_b",
    "difference",
    "low",
    "high",
    "detectable",
    "verdict",
];

impl From<&Pair> for [Value; 14] {
    fn from(pair: &Pair) -> Self {
        let real = |value: Option<f64>| value.map_or(Value::Null, Value::Real);
        let side = |side: &Option<Figure>| {
            let measured = side.and_then(|figure| figure.measured());
            let n = side.map_or(0, |figure| figure.n());
            let value = real(measured.map(|measured| measured.value));
            let low = real(measured.and_then(|measured| measured.low));
            let high = real(measured.and_then(|measured| measured.high));
            [value, low, high, Value::Integer(n.cast_signed())]
        };
        let [a, a_low, a_high, n_a] = side(&pair.sides[0]);
        let [b, b_low, b_high, n_b] = side(&pair.sides[1]);
        let difference = pair.difference;
        [
            Value::Text(pair.name.clone()),
            a,
            a_low,
            a_high,
            n_a,
            b,
            b_low,
            b_high,
            n_b,
            real(difference.map(|difference| difference.value)),
            real(difference.and_then(|difference| difference.low)),
            real(difference.and_then(|difference| difference.high)),
            real(difference.and_then(|difference| difference.detectable)),
            Value::Text(pair.verdict.as_str().to_owned()),
        ]
    }
}

impl Comparison {
    /// The whole of it as data; `names` are what the two selections are called.
    pub fn as_json(&self, names: [&str; 2]) -> serde_json::Value {
        let engines = json!({
            "figures": rows(&self.engines),
            "differ": self.engines.differ(),
            "maybe": self.engines.maybe(),
            "only_a": self.lone_engines[0],
            "only_b": self.lone_engines[1],
        });
        json!({
            "a": names[0],
            "b": names[1],
            "requests_a": self.requests[0],
            "requests_b": self.requests[1],
            "shared": self.shared,
            "ttft": self.targets.as_ref().map(|targets| targets.ttft_s),
            "tpot": self.targets.as_ref().map(|targets| targets.tpot_s),
            "policy": Policy::default().name(),
            "figures": rows(&self.figures),
            "differ": self.figures.differ(),
            "maybe": self.figures.maybe(),
            "engines": engines,
            "notes": self.notes,
        })
    }
}

fn rows(family: &Family) -> Vec<serde_json::Value> {
    let row = |pair: &Pair| {
        let cells: [Value; 14] = pair.into();
        let fields = COLUMNS.iter().zip(cells).map(|(name, cell)| {
            let cell = match cell {
                Value::Real(real) => serde_json::Value::from(real),
                Value::Integer(int) => serde_json::Value::from(int),
                Value::Text(text) => serde_json::Value::from(text),
                Value::Null | Value::Blob(_) => serde_json::Value::Null,
            };
            ((*name).to_owned(), cell)
        });
        let mut fields: serde_json::Map<String, serde_json::Value> = fields.collect();
        for (name, side) in ["independent_a", "independent_b"].into_iter().zip(&pair.sides) {
            fields.insert(name.to_owned(), json!(side.map(|figure| figure.independent())));
        }
        serde_json::Value::Object(fields)
    };
    family.pairs.iter().map(row).collect()
}
