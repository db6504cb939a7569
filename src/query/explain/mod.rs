//! Where the extra misses of a window against a baseline come from (docs/statistics.md, "Explain"): the rows of both
//! to `statistics::explain`, and what is found there back to names, times and requests.
//!
//! A row of a window takes four bytes here; what else is kept does not grow with the rows.

mod accounts;
mod explanation;
mod offered;
mod outages;
mod places;
mod reading;
mod written;

use anyhow::Result;
use rusqlite::Connection;

pub use explanation::{Explanation, Named, Offered, Side, Stretch, StretchPart, Value};
pub use written::WrittenEvent;

use self::outages::Outages;
use self::places::between;
use self::reading::{Miss, Read, read, typical};
use super::caveats;
use super::hours;
use super::ordered::{self, Part, Scope};
use super::scoring::Policy;
use crate::failure::Failure;
use crate::selection::{OPEN_FROM, Row, Selection, install};
use crate::statistics::{self, Account, Difference, SHOWN};
use crate::store::slos::Slo;
use crate::text::{counted, wall_time};

/// The scopes of the two windows and of the stretch.
const WINDOW: &str = "window";
const BASELINE: &str = "baseline";
const STRETCH: &str = "stretch";

/// All earlier requests of the runs of a window: of each run what lies before its first part.
pub fn earlier(window: &Selection) -> Selection {
    let mut rows: Vec<Row> = Vec::new();
    for row in &window.rows {
        match rows.iter_mut().find(|known| known.run_id == row.run_id) {
            Some(known) => known.to_s = known.to_s.min(row.from_s),
            None => rows.push(Row { from_s: OPEN_FROM, to_s: row.from_s, ..row.clone() }),
        }
    }
    rows.retain(|row| row.to_s > OPEN_FROM);
    Selection { rows, ..Selection::default() }
}

/// Whether two selections share a part of a run.
pub fn overlap(one: &Selection, other: &Selection) -> bool {
    let meets = |a: &Row, b: &Row| a.run_id == b.run_id && a.from_s < b.to_s && b.from_s < a.to_s;
    one.rows.iter().any(|a| other.rows.iter().any(|b| meets(a, b)))
}

/// Explains the misses of a window against a baseline.
///
/// # Errors
/// Wrong usage when one of them has no scored request; when the database cannot be read.
pub fn explain(
    connection: &mut Connection,
    window: &Selection,
    baseline: &Selection,
    targets: &Slo,
    policy: Policy,
) -> Result<Explanation> {
    let named = |scope: &str, rows: &[Row]| -> Vec<Row> {
        rows.iter().map(|row| Row { scope: scope.to_owned(), ..row.clone() }).collect()
    };
    let mut both = named(WINDOW, &window.rows);
    both.extend(named(BASELINE, &baseline.rows));
    install(connection, &both)?;
    let scopes = ordered::scopes(connection)?;
    let scope_of = |name: &str| {
        scopes.iter().find(|scope| scope.name == name).cloned().unwrap_or_else(|| Scope::empty(name))
    };
    let (window_scope, baseline_scope) = (scope_of(WINDOW), scope_of(BASELINE));
    // Before the outages, which are found by another selection.
    let not_comparable = match policy {
        Policy::Router => None,
        Policy::Journal | Policy::Offers => {
            one_sided_accounting(&caveats::without_accounting_by_scope(connection)?)
        }
    };
    let outages = Outages::load(connection, &scopes)?;

    let Read { profiles, accounts, kinds, window: window_side, baseline: baseline_side } =
        read(connection, [&window_scope, &baseline_scope], outages, targets, policy)?;
    let shares = [window_side.rows.miss_rate(), baseline_side.rows.miss_rate()];
    let [Some(window_rate), Some(baseline_rate)] = shares else {
        return Err(nothing_scored(shares[0].is_none(), policy).into());
    };
    let found = statistics::explain(&profiles, &window_side.rows, &baseline_side.rows);
    let found = found.expect("both have rows");

    let places = window_side.places.of_rows(found.stretch.first_row, found.stretch.end_row);
    let (first, last) = places.expect("the stretch is a part of the window");
    let stretch_scope = Scope {
        name: STRETCH.to_owned(),
        parts: between(&window_scope, first, last),
        order: window_scope.order,
    };
    let rids = if found.z >= SHOWN {
        let is_its = |miss: &Miss| match found.named.first() {
            Some(first) => profiles.has(miss.profile, first.account),
            None => (found.stretch.first_row..found.stretch.end_row).contains(&miss.row),
        };
        typical(connection, window_side.misses.kept.iter().copied().filter(is_its).collect())?
    } else {
        Vec::new()
    };
    let value = |account: &Account| {
        let (attribute, value) = accounts.name(*account);
        Value { attribute, value }
    };
    let named = found.named.iter().map(|found| {
        let (attribute, value_name) = accounts.name(found.account);
        Named {
            attribute,
            value: value_name,
            requests: found.requests,
            misses: found.misses,
            baseline_requests: found.baseline_requests,
            baseline_misses: found.baseline_misses,
            own: found.own,
            beyond: found.beyond,
            sd: found.sd,
            also: found.also.iter().map(value).collect(),
            tied: found.tied.iter().map(value).collect(),
        }
    });
    let named: Vec<Named> = named.collect();
    drop(accounts);

    let row = |part: &Part| Row {
        scope: STRETCH.to_owned(),
        run_id: part.run_id,
        from_s: part.from_s,
        to_s: part.to_s,
    };
    let stretch_rows: Vec<Row> = stretch_scope.parts.iter().map(row).collect();
    let offered_per_s = Offered {
        stretch: offered::per_s(connection, &stretch_scope)?,
        window: offered::per_s(connection, &window_scope)?,
        baseline: offered::per_s(connection, &baseline_scope)?,
    };
    let stretch_parts = stretch_scope.parts.iter().filter_map(|part| {
        let (first_s, last_s) = part.span?;
        let (from_s, to_s) = (part.from_s.max(first_s) - first_s, part.to_s.min(last_s) - first_s);
        Some(StretchPart { run: part.run.clone(), from_s, to_s })
    });
    let stretch = Stretch {
        from: first.wall_s.and_then(wall_time),
        to: last.wall_s.and_then(wall_time),
        extra: found.stretch.extra,
        basis: basis(connection, &stretch_rows)?,
        parts: stretch_parts.collect(),
    };
    let events = written::find(connection, &Selection { rows: stretch_rows, ..Selection::default() })?;
    Ok(Explanation {
        extra: found.extra,
        low: found.low,
        high: found.high,
        z: found.z.is_finite().then_some(found.z),
        misses: found.misses,
        expected: found.expected,
        kinds: kinds.all().iter().cloned().zip(found.kinds).collect(),
        named,
        rest: found.rest,
        mix: found.mix,
        stretch,
        events,
        rids,
        offered_per_s,
        window: window_side.in_words(&window_rate),
        baseline: baseline_side.in_words(&baseline_rate),
        ttft: targets.ttft_s,
        tpot: targets.tpot_s,
        policy: policy.name(),
        too_few: Difference::of_shares(&baseline_rate, &window_rate).too_few,
        not_comparable,
        notes: ordered::notes(&scopes)
            .into_iter()
            .chain(hours::note(&window_scope, &baseline_scope))
            .collect(),
    })
}

/// Where one side alone has requests whose output nobody counted, its misses are of another kind.
fn one_sided_accounting(without: &[(String, i64, i64)]) -> Option<String> {
    let [(scope, _, completed)] = without else { return None };
    let other = if scope == WINDOW { BASELINE } else { WINDOW };
    Some(format!(
        "the two cannot be held against each other: the output of {} of the {scope} is unknown, which counts as \
         missed, while the {other} has none such; --policy router does not need it",
        counted(*completed, "completed request")
    ))
}

fn nothing_scored(is_window: bool, policy: Policy) -> Failure {
    let policy = policy.name();
    Failure::usage(if is_window {
        format!(
            "the window has no request that the policy {policy} counts: choose another; `narwhal-jq query rates --by \
             1m` shows when requests arrived"
        )
    } else {
        format!(
            "there is nothing to hold the window against: the baseline has no request that the policy {policy} counts; \
             without --against it is all earlier requests of the same runs: choose a window that begins later (--last \
             1h, --since 14:05), or give a baseline, as in `--against 3h..2h` or `--against RUN`; `narwhal-jq query \
             attainment-over-time` shows when it was worse"
        )
    })
}

/// What the wall times of runs rest on, when it is the same for all.
fn basis(connection: &Connection, rows: &[Row]) -> Result<Option<String>> {
    let mut find = connection.prepare("select wall_basis from runs where run_id = ?1")?;
    let mut bases = Vec::new();
    for row in rows {
        bases.push(find.query_row([row.run_id], |row| row.get::<_, Option<String>>(0))?);
    }
    bases.dedup();
    Ok(if bases.len() == 1 { bases.pop().flatten() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::OPEN_TO;

    fn row(run_id: i64, from_s: f64, to_s: f64) -> Row {
        Row { scope: "all".to_owned(), run_id, from_s, to_s }
    }

    fn of(rows: Vec<Row>) -> Selection {
        Selection { rows, ..Selection::default() }
    }

    #[test]
    fn the_baseline_is_what_lies_before_the_first_part_of_each_run() {
        let window =
            of(vec![row(1, 50.0, 60.0), row(1, 20.0, 30.0), row(2, OPEN_FROM, 9.0), row(3, 7.0, OPEN_TO)]);
        let before = earlier(&window);
        assert_eq!(before.rows, [row(1, OPEN_FROM, 20.0), row(3, OPEN_FROM, 7.0)]);
        assert!(!overlap(&window, &before));
        assert!(overlap(&window, &of(vec![row(1, 55.0, 70.0)])));
        assert!(!overlap(&window, &of(vec![row(1, 30.0, 50.0), row(4, OPEN_FROM, OPEN_TO)])));
    }
}
