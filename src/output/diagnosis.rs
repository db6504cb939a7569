//! A diagnosed request as people read it.

use std::io::{Result, Write};

use crate::query::around::Meanwhile;
use crate::query::diagnosis::{Diagnosed, Diagnosis, TargetVerdict};
use crate::text::{cut, escaped, micros, wrapped};

/// A name or a message is seldom so long, but can be of any length: `--format json` has it whole.
const MAX_LINE: usize = 4000;

/// Writes the diagnosis. Text of the caller and of engines cannot drive a terminal. A line that is longer than the
/// screen is wide goes on below its text.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut dyn Write, diagnosis: &Diagnosis, width: Option<usize>) -> Result<()> {
    for line in lines(diagnosis) {
        let line = escaped(&line);
        let line = cut(&line, MAX_LINE);
        match width {
            Some(width) => writeln!(out, "{}", wrapped(&line, width, text_begins(&line)))?,
            None => writeln!(out, "{line}")?,
        }
    }
    out.flush()
}

/// Where the text of a line begins: behind the first gap that follows a word.
fn text_begins(line: &str) -> usize {
    let label = line.len() - line.trim_start().len();
    line[label..].find("  ").map_or(2, |gap| {
        let gap = label + gap;
        gap + line[gap..].len() - line[gap..].trim_start().len()
    })
}

fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let request = &diagnosis.request;
    let mut lines = Vec::new();
    let client = request.client_rid.as_deref().map(|client| format!("  (client id {client:?})"));
    lines.push(format!("request    {}{}", text(&request.rid), client.unwrap_or_default()));
    lines.push(format!("outcome    {}", outcome(request)));
    lines.push(format!("run        {}", run(diagnosis)));
    lines.push(format!("arrived    {}", arrival(diagnosis)));
    lines.push(format!("tokens     {}", tokens(request)));
    lines.push(String::new());
    lines.push("timeline, seconds after arrival".to_owned());
    for step in &diagnosis.timeline {
        lines.push(format!("{:>12.6}  {}", step.at_s, step.text));
    }
    lines.push(String::new());
    lines.push(format!("waits      {}", waits(request)));
    lines.push(format!("attempts   {}", attempts(request)));
    lines.push(format!("handoff    {}", handoff(diagnosis)));
    lines.push(format!("price      {}", price(diagnosis)));
    if let Some(cache) = cache(request) {
        lines.push(format!("cache      {cache}"));
    }
    lines.push(format!("targets    {}", targets(diagnosis)));
    lines.push(String::new());
    lines.extend(meanwhile(diagnosis));
    lines
}

fn text(value: &Option<impl AsRef<str>>) -> &str {
    value.as_ref().map_or("-", AsRef::as_ref)
}

/// Seconds, or `-` when there are none.
fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{} s", micros(value)))
}

fn count(value: Option<i64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn outcome(request: &Diagnosed) -> String {
    let mut outcome = text(&request.terminal).to_owned();
    let more = [
        ("in ", &request.cancelled_phase),
        ("cause ", &request.refused_cause),
        ("reason ", &request.reason),
        ("readiness ", &request.readiness_reason),
    ];
    for (word, value) in more {
        if let Some(value) = value {
            outcome.push_str(&format!(", {word}{value}"));
        }
    }
    if let Some(status) = request.status {
        outcome.push_str(&format!(", status {status}"));
    }
    if let Some(error) = &request.error {
        outcome.push_str(&format!(": {error:?}"));
    }
    outcome
}

fn run(diagnosis: &Diagnosis) -> String {
    let run = &diagnosis.run;
    let build = match &run.version {
        Some(version) => format!("release {version}"),
        None => format!("build {}", run.build_certainty),
    };
    format!("{}, {build}, started {}", run.run, text(&run.started_at))
}

fn arrival(diagnosis: &Diagnosis) -> String {
    let run = &diagnosis.run;
    let basis = run.wall_basis.as_deref().unwrap_or_default();
    let wall = match (&diagnosis.arrived_wall, run.wall_error_s) {
        (Some(wall), Some(error)) => format!("~{wall} (± {} s, basis {basis})", micros(error)),
        (Some(wall), None) => format!("~{wall} or later (basis {basis})"),
        (None, _) if run.clock_stepped => {
            "wall time unknown (the clock was stepped during the run)".to_owned()
        }
        (None, _) => {
            "wall time unknown (the run's id has no time, and no lifecycle event tells it)".to_owned()
        }
    };
    format!("{} s into the run, {wall}", micros(diagnosis.rel_s))
}

fn tokens(request: &Diagnosed) -> String {
    format!(
        "{} prompt, {} returned, {} observed from engines ({})",
        count(request.input_len),
        count(request.output_len),
        count(request.decode_tokens_observed),
        text(&request.token_accounting)
    )
}

fn waits(request: &Diagnosed) -> String {
    let all = seconds(request.queue_wait_s);
    match &request.queue_waits {
        None => format!("{all} in all"),
        Some(waits) => format!(
            "{all} in all: admission {}, prefill {}, decode {}",
            seconds(waits.admission),
            seconds(waits.prefill),
            seconds(waits.decode)
        ),
    }
}

fn attempts(request: &Diagnosed) -> String {
    let upstream = request.upstream_seconds.as_ref();
    format!(
        "{} prefill ({} upstream), {} decode ({} upstream); last on prefill {}, decode {}",
        count(request.attempts),
        seconds(upstream.and_then(|upstream| upstream.prefill)),
        count(request.decode_attempts),
        seconds(upstream.and_then(|upstream| upstream.decode)),
        text(&request.prefill_iid),
        text(&request.decode_iid)
    )
}

fn handoff(diagnosis: &Diagnosis) -> String {
    let kind = match diagnosis.request.crossed {
        Some(true) => "crossed: transfer and decode queue",
        Some(false) => "local: decode queue",
        None => "unknown whether crossed",
    };
    match diagnosis.handoff_s {
        Some(handoff_s) => format!("{} s from prefill done to first byte ({kind})", micros(handoff_s)),
        None => "-".to_owned(),
    }
}

fn price(diagnosis: &Diagnosis) -> String {
    let Some(price) = &diagnosis.request.admission_price else { return "-".to_owned() };
    let parts = format!(
        "backlog {}, own prefill {}, elapsed {}, handoff {}; of attempt {}",
        seconds(price.backlog_s),
        seconds(price.own_prefill_s),
        seconds(price.elapsed_s),
        seconds(price.handoff_s),
        count(price.attempt)
    );
    let happened = match (diagnosis.request.ttft_s, diagnosis.price_error_s) {
        (Some(ttft_s), Some(error_s)) => {
            let side = if error_s < 0.0 { "less" } else { "more" };
            format!("TTFT was {} s: priced {} s {side}", micros(ttft_s), micros(error_s.abs()))
        }
        (Some(ttft_s), None) => format!("TTFT was {} s", micros(ttft_s)),
        (None, _) => "prefill never completed".to_owned(),
    };
    match price.price_s {
        Some(price_s) => format!("{} s expected ({parts}); {happened}", micros(price_s)),
        None => format!("none could be given ({parts}); {happened}"),
    }
}

fn cache(request: &Diagnosed) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(tokens) = request.cached_tokens.as_ref().filter(|tokens| !tokens.0.is_empty()) {
        let engines = tokens.0.iter().map(|(engine, count)| format!("{engine} {count}"));
        parts.push(format!("tokens cached: {}", engines.collect::<Vec<_>>().join(", ")));
    }
    if let Some(placement) = &request.cache_placement {
        parts.push(format!(
            "placed on {} for {} cached tokens: prefill expected {}, cold {}; without cache on {}",
            text(&placement.placed_iid),
            count(placement.placed_cached_tokens),
            seconds(placement.predicted_prefill_s),
            seconds(placement.cold_prefill_s),
            text(&placement.cold_choice_iid)
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn verdict(verdict: &TargetVerdict, is_unaccounted: bool) -> String {
    let held = match (&verdict.miss, verdict.scored) {
        (None, _) => "met".to_owned(),
        (Some(miss), true) if miss == "output_unmeasured" && is_unaccounted => {
            format!("missed ({miss}): token accounting is unavailable, so no request of the run can meet it")
        }
        (Some(miss), true) => format!("missed ({miss})"),
        (Some(miss), false) => format!("{miss}: not counted, because it was measured before it ended"),
    };
    let name = verdict.slo.as_ref().map(|name| format!(" (SLO {name:?})")).unwrap_or_default();
    format!("TTFT {} s, TPOT {} s{name}: {held}", micros(verdict.ttft_s), micros(verdict.tpot_s))
}

fn targets(diagnosis: &Diagnosis) -> String {
    let is_unaccounted = diagnosis.request.token_accounting.as_deref() == Some("unavailable");
    if let Some(held) = &diagnosis.verdict {
        return verdict(held, is_unaccounted);
    }
    "none given or saved: `--ttft SECONDS --tpot SECONDS`, or `narwhal-jq slo set`".to_owned()
}

fn meanwhile(diagnosis: &Diagnosis) -> Vec<String> {
    let mut lines = Vec::new();
    if diagnosis.meanwhile.is_empty() {
        lines.push("meanwhile  nothing else is known of its engines while it lived".to_owned());
    } else {
        lines.push("meanwhile, seconds after arrival".to_owned());
    }
    for Meanwhile { from_s, not_before_s, to_s, engine, what } in &diagnosis.meanwhile {
        let from = match (from_s, not_before_s) {
            (Some(from_s), _) => format!("{from_s:>12.6}"),
            (None, Some(not_before_s)) => format!("{:>12}", format!("after {not_before_s:.6}")),
            (None, None) => format!("{:>12}", "?"),
        };
        let to = to_s.map(|to_s| format!(" to {to_s:.6}")).unwrap_or_default();
        let engine = engine.as_ref().map(|engine| format!("{engine} ")).unwrap_or_default();
        lines.push(format!("{from}{to}  {engine}{what}"));
    }
    if diagnosis.unplaced_lifecycle_events > 0 {
        lines.push(format!(
            "{} lifecycle events of its engines cannot be placed: the run's wall clock is unknown",
            diagnosis.unplaced_lifecycle_events
        ));
    }
    lines
}
