//! Names that a database knows, for a shell that completes a word. Asked while somebody waits between two keys:
//! what takes too long is left out, and so is what cannot stand in a command line as it is.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::Connection;

use super::open_to_read;

/// What is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// Runs, the latest first.
    Runs,
    /// Runs that were forgotten.
    ForgottenRuns,
    /// Releases that wrote a run.
    Releases,
    /// Paths of journals.
    Sources,
    /// Saved targets.
    Slos,
    /// Engines that had a leg of an attempt.
    Engines,
    /// Tables and views.
    Tables,
    /// Kinds of events.
    Events,
    /// Ways in which requests ended.
    Terminals,
}

/// A name, and a word about what it names.
pub type KnownName = (String, Option<String>);

/// Nobody reads more, and a shell would ask first.
const MOST: usize = 200;

/// Of the 50 ms that nobody notices, what is left beside starting the program.
const PATIENCE: Duration = Duration::from_millis(30);

/// SQLite asks so often, counted in its own steps, whether it should go on.
const STEPS: i32 = 1000;

impl NameKind {
    /// One statement for each: the name, and what is said of it. `?1` is how the name begins.
    fn sql(self) -> &'static str {
        match self {
            Self::Runs => {
                "select run, 'started ' || started_at from runs
                 where substr(run, 1, length(?1)) = ?1 order by started_at desc, run_id desc"
            }
            Self::ForgottenRuns => {
                "select run, 'forgotten ' || forgotten_at from forgotten
                 where undone_at is null and substr(run, 1, length(?1)) = ?1 order by forgotten_at desc, run"
            }
            Self::Releases => {
                "select distinct version, null from builds
                 where substr(version, 1, length(?1)) = ?1 order by version desc"
            }
            Self::Sources => {
                "select distinct path, null from sources where substr(path, 1, length(?1)) = ?1 order by path"
            }
            Self::Slos => {
                "select name, 'TTFT ' || ttft_s || ' s, TPOT ' || tpot_s || ' s' from slos
                 where substr(name, 1, length(?1)) = ?1 order by name"
            }
            Self::Engines => {
                "select distinct engine, null from leg_counts
                 where engine <> '' and substr(engine, 1, length(?1)) = ?1 order by engine"
            }
            Self::Tables => {
                "select name, type from sqlite_schema
                 where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'
                     and substr(name, 1, length(?1)) = ?1
                 order by name"
            }
            Self::Events => {
                "select distinct event, null from events where substr(event, 1, length(?1)) = ?1 order by event"
            }
            Self::Terminals => {
                "select distinct terminal, null from terminal_counts
                 where substr(terminal, 1, length(?1)) = ?1 order by terminal"
            }
        }
    }
}

/// Names of this kind that begin so. None where there is no database, or it cannot be read now.
pub fn names(database: &Path, kind: NameKind, beginning: &str) -> Vec<KnownName> {
    let names = || -> Result<Vec<KnownName>> {
        let mut connection = open_to_read(database, Duration::ZERO)?;
        let started = Instant::now();
        connection.progress_handler(STEPS, Some(move || started.elapsed() > PATIENCE))?;
        Ok(read(&connection, kind, beginning)?)
    };
    // There is nowhere to say why: the shell shows what it gets.
    names().unwrap_or_default()
}

fn read(connection: &Connection, kind: NameKind, beginning: &str) -> rusqlite::Result<Vec<KnownName>> {
    let mut statement = connection.prepare(kind.sql())?;
    let named = statement.query_map([beginning], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let fits = |named: &rusqlite::Result<KnownName>| named.as_ref().is_ok_and(|(name, _)| is_a_word(name));
    named.filter(fits).take(MOST).collect()
}

/// Whether a shell takes it for one word that means nothing else. What stands in a journal came from other
/// people, and a completed word is run as it stands.
fn is_a_word(name: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "._/:@%+,=-".contains(character);
    !name.is_empty() && !name.starts_with(['-', '=']) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn every_kind_can_be_asked_of_the_tables() {
        let mut tables = Connection::open_in_memory().expect("SQLite works");
        schema::migrate(&mut tables).expect("the migrations run");
        let kinds = [
            NameKind::Runs,
            NameKind::ForgottenRuns,
            NameKind::Releases,
            NameKind::Sources,
            NameKind::Slos,
            NameKind::Engines,
            NameKind::Tables,
            NameKind::Events,
            NameKind::Terminals,
        ];
        for kind in kinds {
            let found = read(&tables, kind, "te");
            let found: Vec<String> =
                found.expect("the statement is sound").into_iter().map(|named| named.0).collect();
            let expected: &[&str] =
                if kind == NameKind::Tables { &["terminal_counts", "terminals"] } else { &[] };
            assert_eq!(found, expected, "{kind:?}");
        }
    }

    #[test]
    fn no_name_is_offered_that_a_shell_would_run_or_take_apart() {
        for name in ["p0", "1795977782-3db97943", "/var/log/a.jsonl", "http://10.0.0.1:8000", "führend"] {
            assert!(is_a_word(name), "{name}");
        }
        for name in [
            "", "-rf", "a b", "a;b", "$(a)", "`a`", "a\nb", "a'b", "a\"b", "a&b", "~a", "*", "a|b", "a\\b",
            "#a", "!a",
        ] {
            assert!(!is_a_word(name), "{name}");
        }
    }
}
