//! The canned queries that there are: those that ship, and the user's own in a folder. What is in the file of one is
//! read in `header`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::header::{Query, parse};
use crate::text::PathText;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../queries/", $name, ".sql")))),*]
    };
}

/// The query files, in the order of the catalog. A test compares them with the folder.
const SHIPPED: &[(&str, &str)] = shipped![
    "selection",
    "runs",
    "rates",
    "events",
    "requests",
    "outcomes",
    "refusals",
    "cancellations",
    "failure-causes",
    "retries",
    "attainment",
    "attainment-misses",
    "attainment-over-time",
    "goodput",
    "slo-frontier",
    "latency",
    "handoff",
    "queue-waits",
    "admission-price",
    "prompt-sizes",
    "engine-failures",
    "engine-latency",
    "engine-downtime",
    "throughput",
    "wasted-work",
    "cache",
    "controller",
    "floor-breaches",
    "monitoring",
];

/// The canned queries that ship with narwhal-jq.
///
/// # Errors
/// When a header cannot be read, which a test rules out.
pub fn shipped() -> Result<Vec<Query>> {
    SHIPPED
        .iter()
        .map(|(name, sql)| parse(name, sql).with_context(|| format!("the query file {name}.sql")))
        .collect()
}

/// Query files that cannot be used, with the reason.
pub type Faults = Vec<(PathBuf, anyhow::Error)>;

/// The user's own queries: every `*.sql` of a folder whose header is sound, in the order of their names.
/// `reserved` are the names that no parameter may have. Whether the statement agrees with the header is known
/// when a database is opened, whose tables it may use: [`super::header::check`].
///
/// # Errors
/// When the folder cannot be read.
pub fn of_folder(folder: &Path, reserved: &[String]) -> Result<(Vec<Query>, Faults)> {
    let cannot = || format!("cannot read the queries in {}", folder.as_text());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let (mut queries, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        match read_file(&path, reserved) {
            Ok(query) => queries.push(query),
            Err(error) => faults.push((path, error)),
        }
    }
    Ok((queries, faults))
}

fn read_file(path: &Path, reserved: &[String]) -> Result<Query> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ensure!(
        name.bytes().all(is_word) && name.starts_with(|first: char| first.is_ascii_lowercase()),
        "a query's name is of a-z, 0-9 and dashes, and begins with a letter"
    );
    ensure!(
        SHIPPED.iter().all(|(shipped, _)| *shipped != name),
        "narwhal-jq has a query of that name: rename the file"
    );
    let bytes = fs::read(path).context("cannot be read")?;
    let sql = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow::anyhow!("line {line}: not UTF-8")
    })?;
    let mut query = parse(name, &sql)?;
    if query.group.is_empty() {
        query.group = "your own".to_owned();
    }
    for parameter in &query.parameters {
        ensure!(
            !reserved.contains(&parameter.name),
            "line {}: --{} is a flag of the tool: give the parameter another name",
            parameter.line,
            parameter.name
        );
    }
    query.file = Some(path.to_owned());
    Ok(query)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rusqlite::Connection;

    use super::super::header::check;
    use super::*;
    use crate::store::schema;

    #[test]
    fn every_file_of_the_folder_ships_and_its_header_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("text"))
            .filter(|name| name.ends_with(".sql"))
            .collect();
        let names: BTreeSet<String> = shipped()
            .expect("every header can be read")
            .into_iter()
            .map(|query| format!("{}.sql", query.name))
            .collect();
        let odd: Vec<&String> = files.symmetric_difference(&names).collect();
        assert!(odd.is_empty(), "in the folder or in SHIPPED, but not in both: {odd:?}");
    }

    #[test]
    fn every_header_agrees_with_its_statement() {
        let mut tables = Connection::open_in_memory().expect("SQLite works");
        schema::migrate(&mut tables).expect("the migrations run");
        for query in shipped().expect("every header can be read") {
            check(&query, &mut tables).unwrap_or_else(|error| panic!("{}: {error:#}", query.name));
            assert!(!query.group.is_empty(), "{}", query.name);
        }
    }
}
