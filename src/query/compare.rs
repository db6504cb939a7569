//! Two selections side by side, from the canned queries.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::answer::{Answer, Row as AnswerRow, ask};
use crate::selection::{Row, Selection};
use crate::store::slos::Slo;

/// A percentile means little unless so many values lie beyond it.
const BEYOND: u64 = 10;

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is, as `ttft_s p99` or `share completed`.
    pub metric: String,
    /// The value and the requests or legs it rests on, of the one side and the other.
    pub sides: [Side; 2],
    /// For a percentile that rests on too few requests: how many it needs.
    pub needs: Option<u64>,
}

/// A figure of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// The value; null when there is none.
    pub value: Option<f64>,
    /// How many requests, or legs, it rests on.
    pub n: i64,
}

impl Figure {
    /// The other side's value minus the one's; null unless both have one.
    pub fn difference(&self) -> Option<f64> {
        let [one, other] = self.sides;
        Some(other.value? - one.value?)
    }
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

/// Compares two selections: attainment when there are targets, outcomes, refusals, failure rates of legs,
/// latency percentiles of completed requests. Beside them what changes their meaning, in words.
///
/// # Errors
/// When the database cannot be read.
pub fn compare(
    connection: &mut Connection,
    sides: &Selection,
    targets: Option<&Slo>,
) -> Result<(Vec<Figure>, Vec<String>)> {
    let mut figures: Vec<Figure> = Vec::new();
    let mut offered = [0; 2];
    let mut add = |row: AnswerRow<'_>, metric: String, value: Option<f64>, n: i64, needs: Option<u64>| {
        let side = side_of(row);
        let at = figures.iter().position(|figure| figure.metric == metric);
        let at = at.unwrap_or_else(|| {
            figures.push(Figure { metric, sides: [Side::default(); 2], needs: None });
            figures.len() - 1
        });
        figures[at].sides[side] = Side { value, n };
        figures[at].needs = figures[at].needs.max(needs);
    };
    let mut caveats = Vec::new();
    if let Some(slo) = targets {
        let given = [("ttft", slo.ttft_s.to_string()), ("tpot", slo.tpot_s.to_string())];
        let answer = ask(connection, "attainment", sides, |parameter| {
            given.iter().find(|(name, _)| *name == parameter).map(|(_, value)| value.clone())
        })?;
        caveats.extend_from_slice(&answer.caveats);
        for row in answer.rows() {
            add(row, "attainment".to_owned(), row.real("attainment"), row.int("scored"), None);
        }
    }
    for row in ask(connection, "outcomes", sides, |_| None)?.rows() {
        let metric = format!("share {}", row.text("terminal"));
        offered[side_of(row)] += row.int("requests");
        add(row, metric, row.real("share"), row.int("requests"), None);
    }
    for row in ask(connection, "refusals", sides, |_| None)?.rows() {
        let metric = match (row.text("cause"), row.text("reason")) {
            (cause, reason) if reason == "-" || reason == cause => format!("refused for {cause}"),
            (cause, reason) => format!("refused for {cause} ({reason})"),
        };
        add(row, metric, row.real("share_of_offered"), row.int("requests"), None);
    }
    let failures = ask(connection, "engine-failures", sides, |_| None)?;
    for leg in ["prefill", "decode"] {
        for (side, scope) in SCOPES.into_iter().enumerate() {
            let (failed, legs) = leg_failures(&failures, scope, &[leg]);
            let rate = (legs > 0).then(|| failed as f64 / legs as f64);
            let row = failures.rows().find(|row| side_of(*row) == side);
            if let Some(row) = row {
                add(row, format!("failure_rate {leg}"), rate, legs, None);
            }
        }
    }
    for row in ask(connection, "latency", sides, |_| None)?.rows() {
        let n = row.int("n");
        for percent in [50, 90, 95, 99] {
            let needs = BEYOND * 100 / (100 - percent);
            let is_thin = n > 0 && (n.unsigned_abs() < needs);
            let metric = format!("{} p{percent}", row.text("metric"));
            add(row, metric, row.real(&format!("p{percent}")), n, is_thin.then_some(needs));
        }
    }
    // What one side that had requests has no row of, none of them did.
    for figure in &mut figures {
        if figure.metric.starts_with("share ") || figure.metric.starts_with("refused for ") {
            for (side, offered) in figure.sides.iter_mut().zip(offered) {
                side.value = side.value.or((offered > 0).then_some(0.0));
            }
        }
    }
    // What only the second side did stands with its like.
    figures.sort_by_key(|figure| GROUPS.iter().position(|group| figure.metric.starts_with(group)));
    Ok((figures, caveats))
}

fn side_of(row: AnswerRow<'_>) -> usize {
    usize::from(row.text("scope") == SCOPES[1])
}

/// The figures in their order; what begins with none of these goes last, in the order found.
const GROUPS: [&str; 11] = [
    "attainment",
    "share ",
    "refused for ",
    "failure_rate ",
    "ttft_s ",
    "tpot_s ",
    "first_byte_s ",
    "decode_tpot_s ",
    "queue_wait_s ",
    "duration_s ",
    "",
];

/// Failed legs and legs of a scope of an `engine-failures` answer, over its engines.
pub(super) fn leg_failures(answer: &Answer, scope: &str, legs: &[&str]) -> (i64, i64) {
    let counted =
        answer.rows().filter(|row| row.text("scope") == scope && legs.contains(&row.text("leg").as_str()));
    counted.fold((0, 0), |(failed, legs), row| (failed + row.int("failures"), legs + row.int("attempts")))
}

/// The figures as rows for output: metric, a, b, difference, n_a, n_b, needs.
pub const COLUMNS: [&str; 7] = ["metric", "a", "b", "difference", "n_a", "n_b", "needs"];

impl From<&Figure> for [Value; 7] {
    fn from(figure: &Figure) -> Self {
        let real = |value: Option<f64>| value.map_or(Value::Null, Value::Real);
        let [one, other] = figure.sides;
        [
            Value::Text(figure.metric.clone()),
            real(one.value),
            real(other.value),
            real(figure.difference()),
            Value::Integer(one.n),
            Value::Integer(other.n),
            figure.needs.map_or(Value::Null, |needs| Value::Integer(needs.cast_signed())),
        ]
    }
}
