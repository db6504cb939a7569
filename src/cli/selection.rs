//! The flags that choose what a question is asked of, the same for every command that answers one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use chrono::{DateTime, Utc};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::failure::Failure;
use crate::journal::files;
use crate::selection::{By, Choice, time};
use crate::text::PathText;

/// A path as it is stored, or typed as messages show it: also one that is not UTF-8.
fn glob() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new()
        .map(|glob| glob.into_string().unwrap_or_else(|glob| files::to_text(Path::new(&glob))))
}

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
    #[arg(long, global = true, value_name = "GLOB", value_parser = glob())]
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
    /// What is chosen where these choose nothing
    #[arg(skip)]
    fallback: Option<Arc<Fallback>>,
}

/// The selection of the settings.
#[derive(Debug)]
pub(super) struct Fallback {
    /// What it chooses.
    pub flags: SelectionFlags,
    /// The same in words.
    pub words: String,
    /// Where it stands.
    pub file: PathBuf,
}

/// A length of time above 0, in seconds.
pub(super) fn positive_length(text: &str) -> Result<f64, String> {
    match time::length(text)? {
        length_s if length_s > 0.0 => Ok(length_s),
        _ => Err(format!("{text:?} is no length of time above 0")),
    }
}

impl SelectionFlags {
    /// Has this chosen where the flags choose nothing.
    pub(super) fn fall_back_on(&mut self, fallback: Option<Arc<Fallback>>) {
        self.fallback = fallback;
    }

    /// These flags without the selection of the settings.
    pub fn only_given(&self) -> Self {
        Self { fallback: None, ..self.clone() }
    }

    /// What they ask for.
    ///
    /// # Errors
    /// A time that cannot be read, in words.
    pub fn asked(&self, now: DateTime<Utc>) -> Result<Choice> {
        if let Some(Fallback { flags, words, file }) = self.fallback.as_deref().filter(|_| !self.chooses()) {
            let settled = self.settled || flags.settled;
            let note = format!(
                "asked of {words}, the selection in {}: flags of your own replace it, --no-config lifts it",
                file.as_text()
            );
            let by = self.by.unwrap_or_default();
            return Ok(Choice { settled, by, note: Some(note), ..flags.asked(now)? });
        }
        let moment = |flag: &str, text: &Option<String>| {
            let moment = text.as_deref().map(|text| time::moment(text, now)).transpose();
            moment.map_err(|error| Failure::usage(format!("--{flag}: {error}")))
        };
        Ok(Choice {
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
            note: None,
        })
    }

    /// Whether requests are chosen. `--settled` leaves out what cannot be told yet, and `--by` only groups.
    fn chooses(&self) -> bool {
        let chosen = Self { settled: false, by: None, ..self.clone() };
        chosen.is_given()
    }

    /// Whether anything is chosen, by these flags or by the settings.
    pub fn is_choosing(&self) -> bool {
        self.is_given() || self.fallback.is_some()
    }

    /// Whether anything was chosen by these flags.
    pub fn is_given(&self) -> bool {
        let Self { run, release, source, since, until, from, to, last, settled, by, fallback: _ } = self;
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
