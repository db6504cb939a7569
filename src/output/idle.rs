//! Which rows of an answer are stretches of time in which nothing arrived: for eyes, many of them are one line.

use super::cell::Cell;

/// The column that says where in its run a row's bucket of time begins.
pub(super) fn bucket_column(names: &[String]) -> Option<usize> {
    names.iter().position(|name| name == "bucket_s")
}

/// Of which run a row is a stretch of time in which nothing arrived: empty for one of wall time, as `--by 5m` gives them;
/// none when it is no such row.
pub(super) fn idle_of(names: &[String], row: &[Cell]) -> Option<String> {
    let mut counts =
        names.iter().zip(row).filter(|(name, _)| ["offered", "requests", "n"].contains(&name.as_str()));
    if counts.next().is_none_or(|(_, count)| *count != Cell::Int(0)) {
        return None;
    }
    let is_time = |text: &str| text.len() > 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[10] == b'T';
    match (names.first()?.as_str(), row.first()?) {
        ("run", Cell::Text(run)) if bucket_column(names).is_some() => Some(run.clone()),
        ("scope", Cell::Text(scope)) if is_time(scope) => Some(String::new()),
        // As `--by run,1m` calls them.
        ("scope", Cell::Text(scope)) => scope.split_once(" +").map(|(run, _)| run.to_owned()),
        _ => None,
    }
}
