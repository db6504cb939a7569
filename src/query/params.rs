//! Command-line values become bound parameters, checked against their declared types.

use anyhow::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::header::{Parameter, Query, SAVED_SLO, Type};
use super::run::{Bound, value_of};
use crate::failure::Failure;
use crate::store::slos;

/// Checks a value given for a parameter.
///
/// # Errors
/// Wrong usage, in words.
pub fn parse(parameter: &Parameter, text: &str) -> Result<Value, Failure> {
    let wrong = |wanted: &str| Failure::usage(format!("--{} is {wanted}, not {text:?}", parameter.name));
    Ok(match &parameter.kind {
        Type::Text => Value::Text(text.to_owned()),
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
        Type::Share => match text.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Value::Real(share),
            _ => return Err(wrong("a share from 0 to 1")),
        },
        Type::Flag => match text {
            "0" => Value::Integer(0),
            "1" => Value::Integer(1),
            _ => return Err(wrong("0 or 1")),
        },
        Type::Count => match text.parse::<i64>() {
            Ok(count) if count >= 1 => Value::Integer(count),
            _ => return Err(wrong("a whole number from 1")),
        },
    })
}

/// Binds what was given; a parameter that was not is null and takes its default in the SQL. The selection of
/// the connection must be in place.
///
/// # Errors
/// When a value is wrong, targets are neither given nor saved, or a run has too many buckets.
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

/// As [`targets`], where there must be some.
///
/// # Errors
/// As [`targets`], and when there are none.
pub fn needed_targets(
    connection: &Connection,
    name: Option<&str>,
    ttft_s: Option<f64>,
    tpot_s: Option<f64>,
) -> Result<slos::Slo> {
    let found = targets(connection, name, ttft_s, tpot_s)?;
    let missing = [("--ttft SECONDS", ttft_s), ("--tpot SECONDS", tpot_s)];
    let missing: Vec<&str> =
        missing.into_iter().filter(|(_, given)| given.is_none()).map(|(flag, _)| flag).collect();
    found.ok_or_else(|| no_slo(name.unwrap_or(slos::DEFAULT), &missing.join(" and ")).into())
}

fn no_slo(name: &str, missing: &str) -> Failure {
    let saved_as = if name == slos::DEFAULT { String::new() } else { format!(" {name}") };
    Failure::usage(format!(
        "no SLO {name:?} is saved: give {missing}, or save targets with `narwhal-jq slo set{saved_as} \
         --ttft SECONDS --tpot SECONDS`"
    ))
}

fn check_targets(connection: &Connection, query: &Query, bound: &[Bound]) -> Result<()> {
    let is_open = |parameter: &&Parameter| {
        parameter.default == SAVED_SLO && value_of(bound, &parameter.name) == Some(&Value::Null)
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
    let name = match value_of(bound, "slo") {
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
    let bucket_s = match value_of(bound, "bucket") {
        Some(Value::Real(bucket_s)) => *bucket_s,
        _ => DEFAULT_BUCKET_S,
    };
    let longest: Option<(String, f64)> = connection
        .query_row(
            "select r.run, min(r.last_s, s.to_s) - max(r.first_s, s.from_s)
             from selection as s
             join runs as r on r.run_id = s.run_id
             where r.last_s is not null
             order by 2 desc
             limit 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match longest {
        Some((run, span_s)) if span_s / bucket_s > MAX_BUCKETS => Err(Failure::usage(format!(
            "run {run} spans {span_s:e} s, which is more than {MAX_BUCKETS:e} buckets of {bucket_s} s: give a larger \
             --bucket, or another --run; `narwhal-jq query requests --order duration_s` and `runs` show odd times"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// The bucket that the queries take when none is given, in seconds.
pub(super) const DEFAULT_BUCKET_S: f64 = 60.0;
