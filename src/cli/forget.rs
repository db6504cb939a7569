//! The arguments of `forget`.

use std::path::PathBuf;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::Args;

/// `forget`.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).multiple(true).args(["run", "before", "undo", "vacuum"]),
    after_help = "\
Examples:
  narwhal-jq forget --before 2026-11-01 --dry-run   what it would delete, and how much room that gives
  narwhal-jq forget --before 2026-11-01 --vacuum    delete it, and make the file smaller
  narwhal-jq forget --before 2026-11-01 --into lake move it into Parquet files first, and check them
  narwhal-jq forget --undo 1795977782-3db97943      take it back; the next ingest of its journals
                                                    brings the rows

The rows of a forgotten run do not come back by reading its journals again; an ingest counts them as
forgotten. The room that they leave in the file is used by what is read next."
)]
pub struct Forget {
    /// Delete this run, by its whole id (may be repeated)
    #[arg(long, value_name = "RUN", conflicts_with = "before")]
    pub run: Vec<String>,
    /// Delete the runs that ended before this moment: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ, in UTC
    #[arg(long, value_name = "DATE", value_parser = moment)]
    pub before: Option<DateTime<Utc>>,
    /// Only say which runs would be deleted, with their rows and roughly their bytes
    #[arg(long, conflicts_with_all = ["undo", "vacuum"])]
    pub dry_run: bool,
    /// Move them out: export them into the lake in this folder (see `export lake`), read them back and compare, and
    /// only then delete them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["undo", "dry_run"])]
    pub into: Option<PathBuf>,
    /// Take back that this run was forgotten
    #[arg(long, value_name = "RUN", conflicts_with_all = ["run", "before", "vacuum"])]
    pub undo: Option<String>,
    /// Then make the file smaller: writes it anew, which takes time and, meanwhile, twice its size
    #[arg(long)]
    pub vacuum: bool,
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let day = || Some(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_time(NaiveTime::MIN).and_utc());
    let instant = || {
        let instant = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%SZ");
        Some(instant.ok()?.and_utc())
    };
    // Digits that only look like a date (`26-11-1`) would name another day than was meant.
    let is_padded = matches!(text.len(), 10 | 20);
    (is_padded.then(day).flatten())
        .or_else(|| is_padded.then(instant).flatten())
        .ok_or_else(|| format!("{text:?} is not a date: YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ, in UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_day_or_a_second_in_utc() {
        // `date -u -d 2026-11-29 +%s` and so on
        assert_eq!(moment("2026-11-29").map(|at| at.timestamp()), Ok(1_795_910_400));
        assert_eq!(moment("2026-11-29T18:45:36Z").map(|at| at.timestamp()), Ok(1_795_977_936));
        for text in ["", "2026", "2026-13-01", "26-11-29", "2026-11-9", "2026-11-29T18:45:36", "yesterday"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }
}
