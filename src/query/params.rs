//! Command-line values become bound parameters, checked against their declared types.

use anyhow::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::catalog::{Parameter, Query, SAVED_SLO, Type};
use crate::exit::Failure;
use crate::store::slos;

/// A parameter's name in the SQL (`:run`) and what is bound to it.
pub type Bound = (String, Value);

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
        Type::Target => match text.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Value::Real(seconds),
            _ => return Err(wrong("a number of seconds above 0")),
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
        if parameter.kind == Type::Run
            && let Value::Text(run) = &value
        {
            check_run(connection, run)?;
        }
        bound.push((format!(":{}", parameter.name), value));
    }
    check_targets(connection, query, &bound)?;
    Ok(bound)
}

fn check_run(connection: &Connection, run: &str) -> Result<()> {
    let is_known = run == "last"
        || connection.query_row("select 1 from runs where run = ?1", [run], |_| Ok(())).optional()?.is_some();
    if is_known {
        return Ok(());
    }
    let message = format!(
        "no run {run:?} in the database: `narwhal-jq query runs` lists them, `--run last` is the newest"
    );
    Err(anyhow::anyhow!(message))
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
    let saved_as = if name == slos::DEFAULT { String::new() } else { format!(" {name}") };
    Err(Failure::usage(format!(
        "no SLO {name:?} is saved: give {}, or save targets with `narwhal-jq slo set{saved_as} \
         --ttft SECONDS --tpot SECONDS`",
        open.join(" and ")
    ))
    .into())
}
