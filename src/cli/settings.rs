//! What the settings file says, put where neither a flag nor the environment says otherwise.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use chrono::Utc;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use super::selection::Fallback;
use super::{Color, Global, SelectionFlags};
use crate::failure::Failure;
use crate::settings::{Settings, VARIABLE, WhichFile};

/// Where a setting comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag,
    /// The environment.
    Environment,
    /// The settings file.
    File,
    /// It is what holds when nobody says anything.
    #[default]
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        })
    }
}

/// Which settings file a command line names, before it is parsed.
pub(super) fn named(arguments: &[OsString]) -> WhichFile {
    let is_unwanted =
        arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--no-config");
    WhichFile::by(is_unwanted, super::parse::value_of("--config", arguments), |name| std::env::var_os(name))
}

/// Where the value of a flag comes from; `is_set` says whether the environment sets it to something.
fn origin(matches: &ArgMatches, flag: &str, is_set: bool) -> Origin {
    match matches.value_source(flag) {
        Some(ValueSource::CommandLine) => Origin::Flag,
        Some(ValueSource::EnvVariable) if is_set => Origin::Environment,
        _ => Origin::Default,
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

impl Global {
    /// Takes over what the settings say of the flags that stand anywhere.
    pub(super) fn settle(&mut self, settings: Settings, matches: &ArgMatches) -> Result<(), Failure> {
        self.config_from = origin(matches, "config", is_set(VARIABLE));
        self.db_from = origin(matches, "db", is_set("NARWHAL_JQ_DB"));
        if let (Origin::Default, Some(database)) = (self.db_from, &settings.database) {
            self.db.clone_from(database);
            self.db_from = Origin::File;
        }
        self.color_from = origin(matches, "color", false);
        if let (Origin::Default, Some(color)) = (self.color_from, &settings.color) {
            let color = Color::from_str(color, false).map_err(|_| {
                wrong(&settings, &format!("color is auto, always or never, and not {color:?}"))
            })?;
            // The environment is asked where nobody decided.
            if is_set("NO_COLOR") {
                self.color_from = Origin::Environment;
            } else {
                self.color = color;
                self.color_from = Origin::File;
            }
        }
        self.settings = settings;
        Ok(())
    }
}

/// The selection of the settings, if they have one.
pub(super) fn fallback(settings: &Settings) -> Result<Option<Arc<Fallback>>, Failure> {
    let Some(file) = settings.file.clone().filter(|_| !settings.selection.is_empty()) else {
        return Ok(None);
    };
    let command = Command::new("selection").no_binary_name(true).disable_help_flag(true);
    let parsed = SelectionFlags::augment_args(command).try_get_matches_from(&settings.selection);
    let flags = parsed.and_then(|matches| SelectionFlags::from_arg_matches(&matches)).map_err(|error| {
        let message = error.to_string();
        let message = message.lines().next().unwrap_or_default();
        wrong(settings, &format!("selection: {}", message.trim_start_matches("error: ")))
    })?;
    // A time is read when it is asked for; here only whether it can be.
    flags.asked(Utc::now()).map_err(|error| wrong(settings, &format!("selection: {error:#}")))?;
    let words = settings.selection.iter().map(|flag| flag.replacen('=', " ", 1)).collect::<Vec<_>>();
    Ok(Some(Arc::new(Fallback { flags, words: words.join(" "), file })))
}

fn wrong(settings: &Settings, message: &str) -> Failure {
    let file = settings.file.clone().unwrap_or_default();
    crate::settings::unusable(&file, message)
}
