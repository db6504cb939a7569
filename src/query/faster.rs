//! Statements that give the rows of a definition faster, by what only the tool has: its own functions, and kept
//! counts. This is the one place where one of them is taken instead of the definition.

use super::header::Query;
use crate::selection::Selection;

/// Which selections a faster statement answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Every selection.
    Any,
    /// Runs taken in whole.
    WholeRuns,
}

/// A faster statement for the rows of a canned query.
#[derive(Debug, Clone, Copy)]
pub struct Faster {
    /// The query.
    pub name: &'static str,
    /// What it can be asked of.
    pub answers: Answers,
    /// The whole file.
    pub sql: &'static str,
}

macro_rules! faster {
    ($($name:literal for $answers:ident in $file:literal),* $(,)?) => {
        &[$(Faster {
            name: $name,
            answers: Answers::$answers,
            sql: include_str!(concat!("../../queries/fast/", $file, ".sql")),
        }),*]
    };
}

/// The files of `queries/fast`, for one query those first that answer less. A test compares them with the folder.
pub const FASTER: &[Faster] = faster![
    "admission-price" for Any in "admission-price",
    "attainment" for Any in "attainment",
    "attainment-misses" for Any in "attainment-misses",
    "attainment-over-time" for Any in "attainment-over-time",
    "cache" for Any in "cache",
    "cancellations" for Any in "cancellations",
    "engine-failures" for WholeRuns in "engine-failures-whole",
    "engine-failures" for Any in "engine-failures",
    "engine-latency" for Any in "engine-latency",
    "goodput" for Any in "goodput",
    "handoff" for Any in "handoff",
    "latency" for Any in "latency",
    "outcomes" for WholeRuns in "outcomes-whole",
    "outcomes" for Any in "outcomes",
    "prompt-sizes" for Any in "prompt-sizes",
    "queue-waits" for Any in "queue-waits",
    "rates" for Any in "rates",
    "refusals" for WholeRuns in "refusals-whole",
    "refusals" for Any in "refusals",
    "retries" for Any in "retries",
    "runs" for Any in "runs",
    "slo-frontier" for Any in "slo-frontier",
    "throughput" for Any in "throughput",
    "wasted-work" for Any in "wasted-work",
];

/// The statement that answers a query about a selection: its definition, unless there is a faster one.
pub fn statement<'q>(query: &'q Query, selection: &Selection) -> &'q str {
    let is_fit = |faster: &&Faster| {
        faster.name == query.name && (faster.answers == Answers::Any || selection.is_whole())
    };
    FASTER.iter().find(is_fit).filter(|_| query.file.is_none()).map_or(&query.sql, |faster| faster.sql)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries/fast");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| std::fs::read_to_string(entry.expect("it can be listed").path()).expect("text"))
            .collect();
        assert_eq!(files.len(), FASTER.len());
        assert!(FASTER.iter().all(|faster| files.contains(faster.sql)));
    }
}
