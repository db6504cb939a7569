//! `slo`: save, show and remove latency targets; find out which could be promised.

use anyhow::{Context, Result, bail};
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::{Teller, answer, open_target, open_to_read, select, tell_no_rows};
use crate::cli::slo::{Slo, Solve, SolveFormat, Try};
use crate::cli::{Global, OutputFlags, SelectionFlags, Subcommand, Targets};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, sink};
use crate::query::ordered::{self, Scope};
use crate::query::scoring::Policy;
use crate::query::solve::{Given, Solved, Tried, solve, try_targets};
use crate::query::weight::{self, Outcomes};
use crate::query::{caveats, params};
use crate::selection::Selection;
use crate::statistics::Least;
use crate::store::{self, slos};
use crate::text::{SPEAKS_FOR, counted, escaped, full, interval, rounded, rounded_up, wrapped};

impl Subcommand for Slo {
    fn execute(&self, global: &Global) -> Result<Exit> {
        run(global, self)
    }

    fn heeds_signals(&self) -> bool {
        matches!(self, Self::Set { .. } | Self::Clear { .. })
    }

    fn selection_mut(&mut self) -> Option<&mut SelectionFlags> {
        match self {
            Self::Solve(flags) => Some(&mut flags.selection),
            Self::Try(flags) => Some(&mut flags.selection),
            Self::Set { .. } | Self::Show | Self::Clear { .. } => None,
        }
    }

    fn targets(&self) -> Targets {
        match self {
            Self::Set { ttft, tpot, .. } => Targets::new(Some(*ttft), Some(*tpot)),
            Self::Solve(flags) => Targets::new(flags.ttft, flags.tpot),
            Self::Try(flags) => Targets { ttfts: flags.ttft.clone(), tpots: flags.tpot.clone() },
            Self::Show | Self::Clear { .. } => Targets::default(),
        }
    }
}

/// What no scoring of old requests can know.
const SCORED_ANEW: &str = "these are the requests as they were, scored anew: a router with other targets might have refused or placed others";

fn run(global: &Global, action: &Slo) -> Result<Exit> {
    let teller = Teller::new(global);
    match action {
        Slo::Set { name, ttft, tpot } => {
            let connection = store::open_to_write(&global.db, global.busy_timeout)?;
            let slo = slos::Slo { name: name.clone(), ttft_s: *ttft, tpot_s: *tpot };
            slos::save(&connection, &slo).map_err(|error| store::explain(&global.db, error))?;
            store::close(connection)?;
            teller.note(&format!("SLO {name:?}: TTFT {ttft} s, TPOT {tpot} s"));
        }
        Slo::Show => {
            let flags = OutputFlags { format: Format::Table, output: None };
            if answer(&mut open_to_read(global)?, slos::LIST, &[], &flags)? == 0 {
                teller.note("no SLO is saved: `narwhal-jq slo set --ttft SECONDS --tpot SECONDS` saves one");
            }
        }
        Slo::Clear { name } => {
            // Looked at first: a database without that SLO is left as it is, or unmade.
            if slos::load(&open_to_read(global)?, name)?.is_none() {
                bail!("no SLO {name:?} is saved: `narwhal-jq slo show` lists them");
            }
            let connection = store::open_to_write(&global.db, global.busy_timeout)?;
            slos::clear(&connection, name).map_err(|error| store::explain(&global.db, error))?;
            store::close(connection)?;
            teller.note(&format!("SLO {name:?} removed"));
        }
        Slo::Solve(flags) => return run_solve(global, flags, teller),
        Slo::Try(flags) => return run_try(global, flags, teller),
    }
    Ok(Exit::Done)
}

fn run_solve(global: &Global, flags: &Solve, teller: Teller) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let given = match (flags.ttft, flags.tpot) {
        (Some(ttft_s), _) => Given::Ttft(ttft_s),
        (None, Some(tpot_s)) => Given::Tpot(tpot_s),
        (None, None) => {
            let name = flags.slo.as_deref().unwrap_or(slos::DEFAULT);
            let saved = slos::load(&connection, name)?;
            let saved = saved.ok_or_else(|| {
                Failure::usage(format!(
                    "no SLO {name:?} is saved: give --tpot SECONDS to find the least TTFT, or --ttft SECONDS to find the \
                     least TPOT"
                ))
            })?;
            Given::Tpot(saved.tpot_s)
        }
    };
    let policy = Policy::named(&flags.policy).context("the policy was checked")?;
    let selection = select(&mut connection, &flags.selection, teller)?;
    let scopes = ordered::scopes(&connection)?;
    let solved = solve(&connection, &scopes, given, flags.wanted, policy)?;
    let format = match flags.format {
        SolveFormat::Text => None,
        SolveFormat::Csv => Some(Format::Csv),
        SolveFormat::Json => Some(Format::Json),
    };
    let mut target = open_target(&connection, None)?;
    match format {
        None => {
            let width = target.width();
            for solved in &solved {
                let words = in_words(solved, given, flags.wanted);
                let words = escaped(&words);
                let words = width.map_or_else(|| words.to_string(), |width| wrapped(&words, width, 2));
                writeln!(target.writer(), "{words}")?;
            }
        }
        Some(format) => {
            let is_terminal = target.is_terminal();
            let mut sink = sink(format, target.writer(), is_terminal)?;
            let (known, found) = match given {
                Given::Tpot(_) => ("tpot", "least_ttft"),
                Given::Ttft(_) => ("ttft", "least_tpot"),
            };
            let ends = ["low", "high"].map(|end| format!("{found}_{end}"));
            let mut columns = ["scope", "policy", "wanted", known, "scored", "reachable", found]
                .map(str::to_owned)
                .to_vec();
            columns.extend(ends);
            columns.push("met".to_owned());
            sink.columns(&columns)?;
            for solved in &solved {
                let cells = cells(solved, given, flags.wanted, policy);
                sink.row(&cells.iter().map(ValueRef::from).collect::<Vec<_>>())?;
            }
            sink.end()?;
        }
    }
    target.finish()?;
    tell(&connection, &scopes, &selection, solved.len(), policy, teller)?;
    Ok(Exit::Done)
}

/// What changes the meaning of the answer.
fn tell(
    connection: &Connection,
    scopes: &[Scope],
    selection: &Selection,
    rows: usize,
    policy: Policy,
    teller: Teller,
) -> Result<()> {
    if rows == 0 {
        tell_no_rows(selection, teller);
        return Ok(());
    }
    for note in ordered::notes(scopes).iter().chain(&caveats::unavailable_accounting(connection, policy)?) {
        teller.note(note);
    }
    teller.note(SCORED_ANEW);
    teller.note(SPEAKS_FOR);
    Ok(())
}

fn cells(solved: &Solved, given: Given, wanted: f64, policy: Policy) -> Vec<Value> {
    let real = |value: Option<f64>| value.map_or(Value::Null, Value::Real);
    let count = |count: u64| Value::Integer(count.cast_signed());
    let (Given::Ttft(given_s) | Given::Tpot(given_s)) = given;
    let reachable = (solved.scored > 0).then(|| solved.reachable as f64 / solved.scored as f64);
    vec![
        Value::Text(solved.scope.clone()),
        Value::Text(policy.name().to_owned()),
        Value::Real(wanted),
        Value::Real(given_s),
        count(solved.scored),
        real(reachable),
        real(solved.least),
        real(solved.low),
        real(solved.high),
        solved.met.map_or(Value::Null, count),
    ]
}

/// A sentence or two on a scope.
fn in_words(solved: &Solved, given: Given, wanted: f64) -> String {
    let (found, held) = match given {
        Given::Tpot(tpot_s) => ("TTFT", format!("TPOT {} s", rounded(tpot_s))),
        Given::Ttft(ttft_s) => ("TPOT", format!("TTFT {} s", rounded(ttft_s))),
    };
    let Solved { scope, scored, reachable, independent, unaccounted, .. } = solved;
    if *scored == 0 {
        return format!("{scope}: no request is counted, so nothing can be said");
    }
    let uncounted = match unaccounted {
        0 => String::new(),
        count => format!("; the output of {count} completed ones is unknown, and they count as missed"),
    };
    let wanted_text = full(wanted);
    let Some(least) = solved.least else {
        let share = *reachable as f64 / *scored as f64;
        let would = solved.low.map(|low| format!("; it would be at least {} s", rounded(low)));
        // With those of which nobody knows it might have been enough.
        let may_be = (reachable + unaccounted) as f64 >= wanted * *scored as f64;
        let says = if may_be {
            format!(
                "it cannot be known whether any {found} target would have held for {wanted_text} of the requests"
            )
        } else {
            format!("no {found} target would have held for {wanted_text} of the requests")
        };
        return format!(
            "{scope}: {says}: with {held} and any {found} at all {reachable} of {scored} meet ({}){}{uncounted}",
            rounded(share),
            would.unwrap_or_default()
        );
    };
    let [low, high] = [0, 1].map(|at| why_missing(solved, at, found, wanted));
    let interval = match (solved.low, solved.high) {
        (Some(low), Some(high)) => interval(rounded(low), rounded(high)),
        (Some(low), None) => format!("(95 %: at least {} s, no upper end: {high})", rounded(low)),
        (None, Some(high)) => format!("(95 %: at most {} s, no lower end: {low})", rounded(high)),
        (None, None) => format!("(95 %: no lower end: {low}; no upper end: {high})"),
    };
    // Rounded down it would not have held.
    format!(
        "{scope}: the least {found} that would have held for {wanted_text} of the requests, with {held}, is {} s \
         {interval}: {} of {scored} meet; {} that count like {independent} independent ones{uncounted}",
        rounded_up(least),
        solved.met.unwrap_or_default(),
        counted(*scored, "request")
    )
}

/// Why the lower end, 0, or the upper one, 1, is missing.
fn why_missing(solved: &Solved, at: usize, found: &str, wanted: f64) -> String {
    if !solved.too_few[at] {
        let which = if at == 0 { "that meet any" } else { "that no" };
        let verb = if at == 0 { "" } else { " is enough for" };
        return format!("it lies among requests {which} {found}{verb}");
    }
    let needed = if at == 0 { Least::fewest_for_a_low(wanted) } else { Least::fewest_for_a_high(wanted) };
    match needed {
        Some(needed) => format!("that needs {needed} independent requests"),
        None => "no number of requests gives one for all of them".to_owned(),
    }
}

fn run_try(global: &Global, flags: &Try, teller: Teller) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let pairs = pairs(&connection, flags)?;
    let policy = Policy::named(&flags.policy).context("the policy was checked")?;
    let selection = select(&mut connection, &flags.selection, teller)?;
    let scopes = ordered::scopes(&connection)?;
    let tried = try_targets(&connection, &scopes, &pairs, policy)?;
    let mut target = open_target(&connection, flags.output.output.as_deref())?;
    let is_terminal = target.is_terminal();
    {
        let mut sink = sink(flags.output.format, target.writer(), is_terminal)?;
        let is_for_eyes = flags.output.format.is_for_eyes();
        let mut columns = vec!["scope", "policy", "ttft", "tpot", "scored", "met", "attainment"];
        if !is_for_eyes {
            columns.extend(["attainment_low", "attainment_high", "independent"]);
        }
        sink.columns(&columns.into_iter().map(str::to_owned).collect::<Vec<_>>())?;
        for tried in &tried {
            let cells = tried_cells(tried, policy, is_for_eyes);
            sink.row(&cells.iter().map(ValueRef::from).collect::<Vec<_>>())?;
        }
        sink.end()?;
    }
    target.finish()?;
    if let Some(note) = thin(&tried) {
        teller.note(&note);
    }
    tell(&connection, &scopes, &selection, tried.len(), policy, teller)?;
    Ok(Exit::Done)
}

/// Says of the attainment that rests on the fewest independent requests how few they are.
fn thin(tried: &[Tried]) -> Option<String> {
    let shares = tried.iter().filter_map(|tried| Some((tried, tried.attainment?)));
    let thin: Vec<_> = shares.filter(|(_, share)| share.is_thin() && share.rests_on() > 0.0).collect();
    let others = match thin.len() {
        0 | 1 => String::new(),
        2 => "; 1 other row rests on few, too".to_owned(),
        many => format!("; {} other rows rest on few, too", many - 1),
    };
    let (Tried { scope, ttft_s, tpot_s, .. }, share) =
        thin.into_iter().min_by(|(_, one), (_, other)| one.rests_on().total_cmp(&other.rests_on()))?;
    let words = weight::in_words(&share, Outcomes::MET);
    Some(format!(
        "{scope}, TTFT {} s, TPOT {} s: {}{words}{others}",
        rounded(*ttft_s),
        rounded(*tpot_s),
        counted(share.rows, "request")
    ))
}

/// The pairs of targets: the first of each, the second of each, and so on. A kind that is not given at all is the
/// saved one in every pair.
fn pairs(connection: &Connection, flags: &Try) -> Result<Vec<slos::Slo>> {
    let (ttfts, tpots) = (&flags.ttft, &flags.tpot);
    let pair = |ttft_s: f64, tpot_s: f64| slos::Slo { name: String::new(), ttft_s, tpot_s };
    if !ttfts.is_empty() && !tpots.is_empty() {
        if ttfts.len() != tpots.len() {
            let message = format!(
                "{} --ttft and {} --tpot make no pairs: give as many of each, or leave one kind out for the saved target",
                ttfts.len(),
                tpots.len()
            );
            return Err(Failure::usage(message).into());
        }
        return Ok(ttfts.iter().zip(tpots).map(|(ttft_s, tpot_s)| pair(*ttft_s, *tpot_s)).collect());
    }
    let (ttft_s, tpot_s) = (ttfts.first().copied(), tpots.first().copied());
    let saved = params::needed_targets(connection, flags.slo.as_deref(), ttft_s, tpot_s)?;
    Ok(match (ttfts.is_empty(), tpots.is_empty()) {
        (false, _) => ttfts.iter().map(|ttft_s| pair(*ttft_s, saved.tpot_s)).collect(),
        (true, false) => tpots.iter().map(|tpot_s| pair(saved.ttft_s, *tpot_s)).collect(),
        (true, true) => vec![saved],
    })
}

fn tried_cells(tried: &Tried, policy: Policy, is_for_eyes: bool) -> Vec<Value> {
    let count = |count: u64| Value::Integer(count.cast_signed());
    let mut cells = vec![
        Value::Text(tried.scope.clone()),
        Value::Text(policy.name().to_owned()),
        Value::Real(tried.ttft_s),
        Value::Real(tried.tpot_s),
        count(tried.attainment.map_or(0, |share| share.rows)),
        count(tried.attainment.map_or(0, |share| share.hits)),
    ];
    match (tried.attainment, is_for_eyes) {
        (None, true) => cells.push(Value::Null),
        (None, false) => cells.extend([Value::Null, Value::Null, Value::Null, Value::Null]),
        (Some(share), true) => {
            cells.push(Value::Text(format!("{:.3} ({:.3}-{:.3})", share.value, share.low, share.high)));
        }
        (Some(share), false) => {
            cells.extend([share.value, share.low, share.high, share.independent()].map(Value::Real));
        }
    }
    cells
}
