//! `check`: exit 6 when something does not hold.

use std::io::Write;

use anyhow::Result;

use super::{Teller, open_to_read};
use crate::cli::{Check, Global};
use crate::exit::Exit;
use crate::query::check::{Held, Limits, check};
use crate::stdio;

pub(super) fn run(global: &Global, flags: &Check) -> Result<Exit> {
    let mut connection = open_to_read(global)?;
    let limits = Limits {
        min_attainment: flags.min_attainment,
        max_failure_rate: flags.max_failure_rate,
        max_p99_ttft: flags.max_p99_ttft,
    };
    let given = |name: &str| {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        match name {
            "run" => flags.run.clone(),
            "last" => number(flags.last),
            "ttft" => number(flags.ttft),
            "tpot" => number(flags.tpot),
            "slo" => flags.slo.clone(),
            "policy" => flags.policy.clone(),
            _ => None,
        }
    };
    let (findings, caveats) = check(&mut connection, &limits, given)?;
    let mut out = stdio::stdout();
    for finding in &findings {
        let held = match finding.held {
            Held::Yes => "holds",
            Held::No => "FAILS",
            Held::Unknown => "unknown",
        };
        writeln!(out, "{held:7}  {}  {}", finding.run, finding.words)?;
    }
    out.flush()?;
    for caveat in caveats {
        Teller::new(global).note(&caveat);
    }
    if findings.iter().all(|finding| finding.held == Held::Unknown) {
        Teller::new(global).warn("nothing was measured that could hold");
        return Ok(Exit::NotHeld);
    }
    let fails = findings.iter().any(|finding| finding.held == Held::No);
    Ok(if fails { Exit::NotHeld } else { Exit::Done })
}
