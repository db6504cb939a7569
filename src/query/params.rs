//! Command-line values become bound parameters, checked against their declared types.

use anyhow::{Result, bail};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::catalog::{Parameter, Query, SAVED_SLO, Type};
use super::run::Bound;
use crate::exit::Failure;
use crate::store::forgotten::{self, Tombstone};
use crate::store::slos;

/// Checks a value given for a parameter.
///
/// # Errors
/// Wrong usage, in words.
pub fn parse(parameter: &Parameter, text: &str) -> Result<Value, Failure> {
    let wrong = |wanted: &str| Failure::usage(format!("--{} is {wanted}, not {text:?}", parameter.name));
    Ok(match &parameter.kind {
        Type::Run | Type::Text => Value::Text(text.to_owned()),
        Type::OneOf(words) if words.iter().any(|word| word == text) => Value::Text(text.to_owned()),
        Type::OneOf(words) => return Err(wrong(&format!("one of {}", words.join(", ")))),
        Type::Seconds => match text.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Value::Real(seconds),
            _ => return Err(wrong("a number of seconds from 0")),
        },
        Type::Target | Type::PositiveSeconds => match text.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Value::Real(seconds),
            _ => return Err(wrong("a number of seconds above 0")),
        },
        Type::PositiveNumber => match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Value::Real(number),
            _ => return Err(wrong("a number above 0")),
        },
        Type::Count => match text.parse::<i64>() {
            Ok(count) if count >= 1 => Value::Integer(count),
            _ => return Err(wrong("a whole number from 1")),
        },
    })
}

/// Binds what was given; a parameter that was not is null and takes its default in the SQL.
///
/// # Errors
/// When a run is not in the database, or targets are neither given nor saved.
pub fn bind(
    connection: &Connection,
    query: &Query,
    given: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Bound>> {
    let mut bound = Vec::new();
    for parameter in &query.parameters {
        let value = match given(&parameter.name) {
            Some(text) => parse(parameter, &text)?,
            None => Value::Null,
        };
        let value = match value {
            // The SQL finds the newest run itself, and no row when there is no run.
            Value::Text(run) if parameter.kind == Type::Run && run != "last" => {
                Value::Text(resolve_run(connection, &run)?)
            }
            other => other,
        };
        bound.push((format!(":{}", parameter.name), value));
    }
    check_targets(connection, query, &bound)?;
    check_buckets(connection, query, &bound)?;
    Ok(bound)
}

/// The targets to hold a request against: those given, the others from the saved SLO of that name, or
/// of [`slos::DEFAULT`]. `None` when neither is there.
///
/// # Errors
/// When a name is given under which nothing is saved.
pub fn targets(
    connection: &Connection,
    name: Option<&str>,
    ttft_s: Option<f64>,
    tpot_s: Option<f64>,
) -> Result<Option<slos::Slo>> {
    let saved = slos::load(connection, name.unwrap_or(slos::DEFAULT))?;
    if let (Some(name), None) = (name, &saved) {
        return Err(no_slo(name, "--ttft SECONDS and --tpot SECONDS").into());
    }
    let ttft_s = ttft_s.or(saved.as_ref().map(|slo| slo.ttft_s));
    let tpot_s = tpot_s.or(saved.as_ref().map(|slo| slo.tpot_s));
    let is_saved = saved.as_ref().is_some_and(|slo| Some(slo.ttft_s) == ttft_s && Some(slo.tpot_s) == tpot_s);
    let name = saved.filter(|_| is_saved).map(|slo| slo.name).unwrap_or_default();
    Ok(ttft_s.zip(tpot_s).map(|(ttft_s, tpot_s)| slos::Slo { name, ttft_s, tpot_s }))
}

fn no_slo(name: &str, missing: &str) -> Failure {
    let saved_as = if name == slos::DEFAULT { String::new() } else { format!(" {name}") };
    Failure::usage(format!(
        "no SLO {name:?} is saved: give {missing}, or save targets with `narwhal-jq slo set{saved_as} \
         --ttft SECONDS --tpot SECONDS`"
    ))
}

/// The run that a text means: its whole id, `last` for the newest, or the beginning of one id.
///
/// # Errors
/// When there is none, or the beginning is that of several.
pub fn resolve_run(connection: &Connection, text: &str) -> Result<String> {
    let one = |sql: &str, text: &[&str]| -> Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        let runs = statement.query_map(rusqlite::params_from_iter(text), |row| row.get(0))?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    };
    let mut runs = match text {
        "last" => one("select run from runs order by started_at desc, run desc limit 1", &[])?,
        _ => one("select run from runs where run = ?1", &[text])?,
    };
    if runs.is_empty() && !text.is_empty() {
        runs = one("select run from runs where substr(run, 1, length(?1)) = ?1 order by run", &[text])?;
    }
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (None, _) => {
            if let Some(tombstone) = forgotten::find(connection, text)? {
                bail!("{}", in_words(&tombstone));
            }
            bail!("no run {text:?} in the database: `narwhal-jq query runs` lists them, `last` is the newest")
        }
        (Some(run), more) => {
            bail!("{text:?} begins the ids of {} runs, {run} among them: give more of it", more + 1)
        }
    }
}

fn in_words(Tombstone { run, forgotten_at, is_undone, .. }: &Tombstone) -> String {
    match is_undone {
        false => format!(
            "run {run} was forgotten at {forgotten_at}: `narwhal-jq forget --undo {run}` takes that back"
        ),
        true => format!(
            "run {run} was forgotten at {forgotten_at}, which was taken back: it is there again when \
             `narwhal-jq ingest` has read its journals again"
        ),
    }
}

fn check_targets(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<()> {
    let value_of = |name: &str| bound.iter().find(|(bound, _)| bound[1..] == *name).map(|(_, value)| value);
    let is_open = |parameter: &&Parameter| {
        parameter.default == SAVED_SLO && value_of(&parameter.name) == Some(&Value::Null)
    };
    let open: Vec<String> = query
        .parameters
        .iter()
        .filter(is_open)
        .map(|parameter| format!("--{} {}", parameter.name, parameter.kind.value_name()))
        .collect();
    if open.is_empty() {
        return Ok(());
    }
    let name = match value_of("slo") {
        Some(Value::Text(name)) => name,
        _ => slos::DEFAULT,
    };
    if slos::load(connection, name)?.is_some() {
        return Ok(());
    }
    Err(no_slo(name, &open.join(" and ")).into())
}

/// So many buckets of one run are an answer; more are a clock that was wrong, or a slip.
const MAX_BUCKETS: f64 = 1e6;

/// Every bucket of a run has a row, empty ones too: a run of absurd length must not be cut into them.
fn check_buckets(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<()> {
    if !query.parameters.iter().any(|parameter| parameter.name == "bucket") {
        return Ok(());
    }
    let value_of = |name: &str| bound.iter().find(|(bound, _)| bound[1..] == *name).map(|(_, value)| value);
    let bucket_s = match value_of("bucket") {
        Some(Value::Real(bucket_s)) => *bucket_s,
        _ => DEFAULT_BUCKET_S,
    };
    let run = value_of("run").filter(|run| **run != Value::Text("last".to_owned())).unwrap_or(&Value::Null);
    let longest: Option<(String, f64)> = connection
        .query_row(
            "select run, last_s - first_s from runs where (?1 is null or run = ?1) and last_s is not null
             order by 2 desc limit 1",
            [run],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match longest {
        Some((run, span_s)) if span_s / bucket_s > MAX_BUCKETS => Err(Failure::usage(format!(
            "run {run} spans {span_s:e} s, which is more than {MAX_BUCKETS:e} buckets of {bucket_s} s: give a larger \
             --bucket, or another --run; `narwhal-jq query slowest --by duration_s` and `runs` show odd times"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// The bucket that the queries take when none is given, in seconds.
const DEFAULT_BUCKET_S: f64 = 60.0;
