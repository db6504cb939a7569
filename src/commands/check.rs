//! `check`: exit 6 when something does not hold.

use std::io::Write;

use anyhow::Result;

use super::{Teller, read_then_open, select};
use crate::cli::{Check, Global};
use crate::exit::Exit;
use crate::output::stdout::stdout;
use crate::query::check::{Held, Limits, check};
use crate::text::escaped;

pub(super) fn run(global: &Global, flags: &Check) -> Result<Exit> {
    let (exit, Some(mut connection)) = read_then_open(global, &flags.ingest)? else {
        return Ok(Exit::Interrupted);
    };
    let teller = Teller::new(global);
    let selection = select(&mut connection, &flags.selection, teller)?;
    let limits = Limits {
        min_attainment: flags.min_attainment,
        max_failure_rate: flags.max_failure_rate,
        max_p99_ttft: flags.max_p99_ttft,
    };
    let given = |name: &str| {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        match name {
            "ttft" => number(flags.ttft),
            "tpot" => number(flags.tpot),
            "slo" => flags.slo.clone(),
            "policy" => flags.policy.clone(),
            _ => None,
        }
    };
    let (findings, caveats) = check(&mut connection, &selection, &limits, given)?;
    let mut out = stdout();
    for finding in &findings {
        let held = match finding.held {
            Held::Yes => "holds",
            Held::No => "FAILS",
            Held::Unknown => "unknown",
        };
        writeln!(out, "{held:7}  {}  {}", escaped(&finding.scope), finding.words)?;
    }
    out.flush()?;
    for caveat in caveats {
        teller.note(&caveat);
    }
    if findings.iter().all(|finding| finding.held == Held::Unknown) {
        match &selection.emptied_by {
            Some(why) => teller.warn(&format!("nothing was measured that could hold: {why}")),
            None => teller.warn("nothing was measured that could hold"),
        }
        return Ok(Exit::NotHeld);
    }
    let fails = findings.iter().any(|finding| finding.held == Held::No);
    Ok(if fails { Exit::NotHeld } else { exit })
}
