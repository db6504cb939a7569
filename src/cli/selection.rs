//! The flags that choose what a question is asked of, the same for every command that answers one.

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;

use crate::failure::Failure;
use crate::selection::{Asked, By, time};

/// What a question is asked of. Without any, every run by itself.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionFlags {
    /// This run: its id, a unique beginning of it, `last` (latest start), or `current` (of each journal, the
    /// run that it was last written by); may be repeated
    #[arg(long, global = true, value_name = "RUN")]
    pub run: Vec<String>,
    /// Runs of this release: 0.7.0, or 0.7 for all of them; may be repeated
    #[arg(long, global = true, value_name = "VERSION")]
    pub release: Vec<String>,
    /// Runs met in journals whose path matches, or whose name does where there is no `/`; may be repeated
    #[arg(long, global = true, value_name = "GLOB")]
    pub source: Vec<String>,
    /// From this wall time on: 14:05 (today, local time), "2026-11-29 14:05", 2026-11-29T14:05Z, yesterday, or
    /// an age such as 90s, 5m, 2h, 7d
    #[arg(long, global = true, value_name = "TIME")]
    pub since: Option<String>,
    /// Before this wall time
    #[arg(long, global = true, value_name = "TIME")]
    pub until: Option<String>,
    /// From so long after the run's first moment on: seconds, or 5m, 1h30m
    #[arg(long, global = true, value_name = "LENGTH", value_parser = time::length, allow_hyphen_values = true)]
    pub from: Option<f64>,
    /// Before so long after the run's first moment
    #[arg(long, global = true, value_name = "LENGTH", value_parser = time::length, allow_hyphen_values = true)]
    pub to: Option<f64>,
    /// So long before the end of each run, or before --until; for the last hour of the fleet: --since 1h
    #[arg(long, global = true, value_name = "LENGTH", value_parser = positive_length, allow_hyphen_values = true)]
    pub last: Option<f64>,
    /// Without the end of runs that are still written, where slow requests are missing
    #[arg(long, global = true)]
    pub settled: bool,
    /// One group a: run, all, release, source, folder, stretch of wall time (1m, 1h, 1d), or stretch of each run
    /// (run,1m) [default: run]
    #[arg(long, global = true, value_name = "WHAT", value_parser = By::parse)]
    pub by: Option<By>,
}

/// A length of time above 0, in seconds.
pub(super) fn positive_length(text: &str) -> Result<f64, String> {
    match time::length(text)? {
        length_s if length_s > 0.0 => Ok(length_s),
        _ => Err(format!("{text:?} is no length of time above 0")),
    }
}

impl SelectionFlags {
    /// What they ask for.
    ///
    /// # Errors
    /// A time that cannot be read, in words.
    pub fn asked(&self, now: DateTime<Utc>) -> Result<Asked> {
        let moment = |flag: &str, text: &Option<String>| {
            let moment = text.as_deref().map(|text| time::moment(text, now)).transpose();
            moment.map_err(|error| Failure::usage(format!("--{flag}: {error}")))
        };
        Ok(Asked {
            runs: self.run.clone(),
            releases: self.release.clone(),
            sources: self.source.clone(),
            since: moment("since", &self.since)?,
            until: moment("until", &self.until)?,
            from_s: self.from,
            to_s: self.to,
            last_s: self.last,
            settled: self.settled,
            by: self.by.unwrap_or_default(),
        })
    }

    /// Whether anything was chosen.
    pub fn is_given(&self) -> bool {
        let Self { run, release, source, since, until, from, to, last, settled, by } = self;
        !run.is_empty()
            || !release.is_empty()
            || !source.is_empty()
            || since.is_some()
            || until.is_some()
            || from.is_some()
            || to.is_some()
            || last.is_some()
            || *settled
            || by.is_some()
    }
}
