//! The flags of `check` that say what must hold.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::selection::positive_length;
use super::values::{share, target};
use crate::query::check::{FigureLimit, JudgedFigure};
use crate::query::figures::METRICS;
use crate::statistics;

/// What must hold. At least one limit is given.
#[derive(Debug, Clone, Default)]
pub struct LimitFlags {
    /// The limits, in the order of the help.
    pub limits: Vec<FigureLimit>,
    /// The attainment wanted, when it is the target of a burn rate.
    pub burn: Option<BurnFlags>,
}

impl LimitFlags {
    /// The largest limit, in seconds, of the percentiles of a metric.
    pub fn largest_of(&self, metric: &str) -> Option<f64> {
        let of_metric = self.limits.iter().filter_map(|limit| match (limit.figure, limit.bound) {
            (JudgedFigure::Percentile(at, _), statistics::Limit::AtMost(most_s)) if METRICS[at] == metric => {
                Some(most_s)
            }
            _ => None,
        });
        of_metric.reduce(f64::max)
    }
}

/// A burn rate and its windows.
#[derive(Debug, Clone)]
pub struct BurnFlags {
    /// So many times the share of misses that the target allows.
    pub factor: f64,
    /// The attainment wanted.
    pub target: f64,
    /// Each window as written, and in seconds.
    pub windows: Vec<(String, f64)>,
}

/// A percentile of one metric has a flag, `--max-p99-ttft`.
const PERCENTS: [u32; 4] = [50, 90, 95, 99];

/// The flags of shares and rates: the name, the figure, whether it is the least that holds, what it says.
const FLAGS: [(&str, JudgedFigure, bool, &str); 5] = [
    (
        "min-attainment",
        JudgedFigure::Attainment,
        true,
        "The least attainment, 0 to 1; with --burn the target of that",
    ),
    (
        "max-failure-rate",
        JudgedFigure::FailureRate,
        false,
        "The largest share of prefill and decode legs that failed, 0 to 1",
    ),
    (
        "max-engine-failure-rate",
        JudgedFigure::EngineFailureRate,
        false,
        "The same of every engine name of a scope, prefill and decode apart; the worst is named",
    ),
    (
        "max-refused-share",
        JudgedFigure::RefusedShare,
        false,
        "The largest share of requests that were refused, 0 to 1",
    ),
    ("min-rate", JudgedFigure::Rate, true, "The least requests offered a second"),
];

fn percentile_flag(metric: usize, percent: u32) -> String {
    let name = METRICS[metric].trim_end_matches("_s").replace('_', "-");
    format!("max-p{percent}-{name}")
}

fn windows(text: &str) -> Result<(String, f64), String> {
    Ok((text.to_owned(), positive_length(text)?))
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err(format!("{text:?} is not a number above 0")),
    }
}

impl Args for LimitFlags {
    fn augment_args(command: Command) -> Command {
        let limit = |name: String, value: &'static str, help: String| {
            Arg::new(name.clone())
                .long(name)
                .value_name(value)
                .help(help)
                .group("limits")
                .help_heading("Limits")
        };
        let mut command = command;
        for (name, figure, _, help) in FLAGS {
            let (value, parser) = match figure {
                JudgedFigure::Rate => ("NUMBER", ValueParser::new(factor)),
                _ => ("SHARE", ValueParser::new(share)),
            };
            command = command.arg(limit(name.to_owned(), value, help.to_owned()).value_parser(parser));
        }
        for (metric, name) in METRICS.iter().enumerate() {
            for percent in PERCENTS {
                let help = match percent {
                    50 => format!("The largest median of {name} of completed requests; also p90, p95, p99"),
                    _ => format!("The largest {percent}th percentile of {name}"),
                };
                let flag = limit(percentile_flag(metric, percent), "SECONDS", help);
                // One line a metric is enough of help.
                let is_hidden = percent != 50 && percent != 99;
                command = command.arg(flag.value_parser(ValueParser::new(target)).hide_short_help(is_hidden));
            }
        }
        let burn = Arg::new("burn")
            .long("burn")
            .value_name("FACTOR")
            .help(
                "The largest burn rate: misses over those that --min-attainment allows; broken when it is above in \
                 every one of --windows",
            )
            .value_parser(ValueParser::new(factor))
            .requires_all(["windows", "min-attainment"])
            .help_heading("Limits");
        let windows = Arg::new("windows")
            .long("windows")
            .value_name("LENGTH,LENGTH")
            .help("With --burn: lengths of wall time before now, or before --until, as in 1h,5m")
            .value_parser(ValueParser::new(windows))
            .value_delimiter(',')
            .action(ArgAction::Append)
            .requires("burn")
            .help_heading("Limits");
        command.arg(burn).arg(windows)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |name: &str| matches.get_one::<f64>(name).copied();
        let burn = given("burn").zip(given("min-attainment")).map(|(factor, target)| {
            let windows = matches.get_many::<(String, f64)>("windows").unwrap_or_default();
            BurnFlags { factor, target, windows: windows.cloned().collect() }
        });
        let mut limits = Vec::new();
        for (name, figure, is_least, _) in FLAGS {
            let is_target = figure == JudgedFigure::Attainment && burn.is_some();
            let bound = if is_least { statistics::Limit::AtLeast } else { statistics::Limit::AtMost };
            limits.extend(
                given(name).filter(|_| !is_target).map(|value| FigureLimit { figure, bound: bound(value) }),
            );
        }
        for metric in 0..METRICS.len() {
            for percent in PERCENTS {
                let bound = given(&percentile_flag(metric, percent)).map(statistics::Limit::AtMost);
                limits.extend(
                    bound.map(|bound| FigureLimit {
                        figure: JudgedFigure::Percentile(metric, percent),
                        bound,
                    }),
                );
            }
        }
        Ok(Self { limits, burn })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
