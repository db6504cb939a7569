//! One request diagnosed: what happened to it and when, what it cost, what went on around it.
//!
//! Every number is the row's own, or the difference of two that stand in the row. Times are seconds
//! after the request's arrival unless they say otherwise.

use std::collections::BTreeSet;

use anyhow::Result;
use rusqlite::{Connection, params};
use serde::Serialize;

use super::around::{Around, Meanwhile};
use super::kind::iso_time;
use super::scoring::{Policy, Request, Score, score};
use crate::journal::terminal::{AttemptFailure, Terminal};
use crate::store::rows::TerminalReader;
use crate::store::slos::Slo;
use crate::text::micros;

/// A request that an id may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Its key in `terminals`.
    pub terminal_id: i64,
    /// The run it belongs to.
    pub run: String,
    /// Its id.
    pub rid: String,
    /// What the caller named it.
    pub client_rid: Option<String>,
    /// Its arrival, in seconds into the run.
    pub rel_s: f64,
    /// Its arrival in Unix seconds, an estimate; none where the run's clock is not known.
    pub wall: Option<f64>,
    /// How it ended.
    pub terminal: String,
    /// Why, as far as the row says it.
    pub reason: Option<String>,
    /// Arrival to prefill done.
    pub ttft_s: Option<f64>,
}

/// The requests that an id may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// How the id was understood.
    pub understood: Understood,
    /// The newest of them, [`MAX_FOUND`] at most.
    pub matches: Vec<Match>,
    /// How many there are.
    pub count: u64,
}

/// So many requests are looked at when an id means several.
pub const MAX_FOUND: usize = 20;

/// How an id was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Understood {
    /// As a whole id.
    Whole,
    /// As the beginning of one.
    Prefix,
}

/// The requests that `id` names, of one run or of all, the newest first: by their whole `rid` or `client_rid`, else by
/// the beginning of one.
///
/// # Errors
/// When the database cannot be read.
pub fn find(connection: &Connection, id: &str, run: Option<&str>) -> Result<Found> {
    let find = |understood: Understood, condition: &str| -> Result<Found> {
        let from = format!(
            "from terminals as t
             join runs as r on r.run_id = t.run_id
             where ({condition}) and (?2 is null or r.run = ?2)"
        );
        let mut statement = connection.prepare(&format!(
            "select t.terminal_id, r.run, t.rid, t.client_rid, t.arrived - r.first_s, t.arrived + r.wall_offset_s,
                 t.terminal, coalesce(t.refused_cause, t.cancelled_phase, t.error_type, t.error), t.ttft_s
             {from}
             order by t.arrived + r.wall_offset_s desc, r.started_at desc, r.run desc, t.arrived desc, t.rid
             limit {MAX_FOUND}"
        ))?;
        let matches = statement.query_map(params![id, run], |row| {
            Ok(Match {
                terminal_id: row.get(0)?,
                run: row.get(1)?,
                rid: row.get(2)?,
                client_rid: row.get(3)?,
                rel_s: row.get(4)?,
                wall: row.get(5)?,
                terminal: row.get(6)?,
                reason: row.get(7)?,
                ttft_s: row.get(8)?,
            })
        })?;
        let matches: Vec<Match> = matches.collect::<rusqlite::Result<_>>()?;
        let count = if matches.len() < MAX_FOUND {
            matches.len() as u64
        } else {
            connection.query_row(&format!("select count(*) {from}"), params![id, run], |row| row.get(0))?
        };
        Ok(Found { understood, matches, count })
    };
    // A caller may name its request as another one is called: the router's own id comes first.
    let own = find(Understood::Whole, "t.rid = ?1")?;
    if own.count == 1 {
        return Ok(own);
    }
    let whole = find(Understood::Whole, "t.rid = ?1 or t.client_rid = ?1")?;
    if whole.count > 0 || id.is_empty() {
        return Ok(whole);
    }
    let begins = "substr(t.rid, 1, length(?1)) = ?1 or substr(t.client_rid, 1, length(?1)) = ?1";
    find(Understood::Prefix, begins)
}

/// A request as it is diagnosed: its row.
pub type Diagnosed = Terminal<'static>;

/// A request with everything that explains it.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// The run it belongs to.
    pub run: RunFacts,
    /// Its arrival, in seconds into the run.
    pub rel_s: f64,
    /// Its arrival on the wall clock, an estimate; null when the run's clock is not known.
    pub arrived_wall: Option<String>,
    /// The row as the journal has it.
    pub request: Diagnosed,
    /// What happened to it, in order.
    pub timeline: Vec<Step>,
    /// First byte minus prefill done; null when one of them is.
    pub handoff_s: Option<f64>,
    /// What admission expected minus the TTFT that came; null when one of them is.
    pub price_error_s: Option<f64>,
    /// The targets it is held against, and the verdict.
    pub verdict: Option<TargetVerdict>,
    /// What went on around its engines while it lived.
    pub meanwhile: Vec<Meanwhile>,
    /// Lifecycle events of its engines that cannot be placed, because the run's wall clock is unknown.
    pub unplaced_lifecycle_events: i64,
}

/// What is known of a run.
#[derive(Debug, Serialize)]
pub struct RunFacts {
    /// Its id.
    pub run: String,
    /// When it started, from its id.
    pub started_at: Option<String>,
    /// The release that wrote it.
    pub version: Option<String>,
    /// How sure that is.
    pub build_certainty: String,
    /// Estimated wall clock minus monotonic clock.
    pub wall_offset_s: Option<f64>,
    /// Half the width of that estimate; null when it rests on the run's start alone.
    pub wall_error_s: Option<f64>,
    /// What the estimate rests on: `lifecycle`, `start+file` or `start`.
    pub wall_basis: Option<String>,
    /// Whether no offset fits all its lifecycle events: the clock was set while it ran.
    pub clock_stepped: bool,
}

/// Something that happened to the request.
#[derive(Debug, Serialize, PartialEq)]
pub struct Step {
    /// Seconds after arrival.
    pub at_s: f64,
    /// What, in a word: `arrived`, `attempt_failed`, `retry_due`, `prefill_done`, `first_byte`,
    /// `last_token`, `ended`.
    pub step: &'static str,
    /// The same in a sentence.
    pub text: String,
}

/// A request held against targets.
#[derive(Debug, Serialize)]
pub struct TargetVerdict {
    /// The SLO's name; null for targets given on the command line.
    pub slo: Option<String>,
    /// TTFT target.
    pub ttft_s: f64,
    /// TPOT target.
    pub tpot_s: f64,
    /// Whether it met them.
    pub met: bool,
    /// Whether the policy `journal` counts it.
    pub scored: bool,
    /// What it missed, the first that applies; null when it met.
    pub miss: Option<String>,
}

/// Diagnoses a request.
///
/// # Errors
/// When the database cannot be read.
pub fn diagnose(connection: &mut Connection, terminal_id: i64, targets: Option<&Slo>) -> Result<Diagnosis> {
    let request = TerminalReader::new(connection)?.read(terminal_id)?;
    let run_name = request.run.as_deref().unwrap_or_default().to_owned();
    let (run, first_s, run_id) = connection.query_row(
        "select r.started_at, b.version, r.build_certainty, r.wall_offset_s, r.wall_error_s, r.first_s,
            coalesce(r.wall_lifecycle_low_s > r.wall_lifecycle_high_s, 0), r.wall_basis, r.run_id
         from runs as r left join builds as b on b.build_id = r.build_id where r.run = ?1",
        [&run_name],
        |row| {
            let run = RunFacts {
                run: run_name.clone(),
                started_at: row.get(0)?,
                version: row.get(1)?,
                build_certainty: row.get(2)?,
                wall_offset_s: row.get(3)?,
                wall_error_s: row.get(4)?,
                clock_stepped: row.get(6)?,
                wall_basis: row.get(7)?,
            };
            Ok((run, row.get::<_, f64>(5)?, row.get(8)?))
        },
    )?;
    let arrived = request.arrived.unwrap_or_default();
    let handoff_s = request.first_byte_s.zip(request.ttft_s).map(|(byte, ttft)| byte - ttft);
    let price_s = request.admission_price.as_ref().and_then(|price| price.price_s);
    let around = Around {
        run: &run_name,
        run_id,
        first_s,
        wall_offset_s: run.wall_offset_s,
        arrived,
        lived_s: request.duration_s.unwrap_or(0.0),
        engines: engines(&request),
    };
    let (meanwhile, unplaced_lifecycle_events) = around.look(connection)?;
    Ok(Diagnosis {
        rel_s: arrived - first_s,
        arrived_wall: run.wall_offset_s.and_then(|offset| iso_time(arrived + offset)),
        timeline: timeline(&request),
        handoff_s: handoff_s.filter(|handoff| *handoff >= 0.0),
        price_error_s: price_s.zip(request.ttft_s).map(|(price, ttft)| price - ttft),
        verdict: targets.map(|slo| judge(&request, slo)),
        meanwhile,
        unplaced_lifecycle_events,
        run,
        request,
    })
}

/// Holds a request against targets, by the policy `journal` (docs/semantics.md, "SLO attainment").
fn judge(request: &Terminal<'_>, slo: &Slo) -> TargetVerdict {
    let request = Request {
        terminal: request.terminal.as_deref().unwrap_or_default(),
        has_output: request.output_len.is_some(),
        ttft_s: request.ttft_s,
        tpot_s: request.tpot_s,
    };
    // Who is not scored is told why it would have missed, too: `offers` scores everyone.
    let miss = match score(request, slo, Policy::Offers) {
        Some(Score::Missed(miss)) => Some(miss.to_owned()),
        Some(Score::Met) | None => None,
    };
    TargetVerdict {
        slo: (!slo.name.is_empty()).then(|| slo.name.clone()),
        ttft_s: slo.ttft_s,
        tpot_s: slo.tpot_s,
        met: miss.is_none(),
        scored: request.is_scored(Policy::Journal),
        miss,
    }
}

/// Every engine that the row names.
fn engines(request: &Terminal<'_>) -> BTreeSet<String> {
    let failures = request.attempt_failures.iter().flatten();
    let of_failures = failures.flat_map(|entry| [&entry.prefill_iid, &entry.decode_iid]);
    [&request.prefill_iid, &request.decode_iid]
        .into_iter()
        .chain(of_failures)
        .flatten()
        .map(|engine| engine.clone().into_owned())
        .collect()
}

/// What the row says of when things happened.
fn timeline(request: &Terminal<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |at_s: f64, step: &'static str, text: String| steps.push(Step { at_s, step, text });
    add(0.0, "arrived", arrival_text(request));
    let arrived = request.arrived.unwrap_or_default();
    for entry in request.attempt_failures.iter().flatten() {
        let Some(at) = entry.at else { continue };
        add(at - arrived, "attempt_failed", failure_text(entry));
        if let (Some(true), Some(backoff_s)) = (entry.retry_scheduled, entry.backoff_s) {
            let due_s = at - arrived + backoff_s;
            let text = match request.duration_s {
                Some(end_s) if end_s < due_s => "a retry was due now, but the request had ended".to_owned(),
                _ => format!("retry due after a backoff of {} s", micros(backoff_s)),
            };
            add(due_s, "retry_due", text);
        }
    }
    if let Some(ttft_s) = request.ttft_s {
        add(ttft_s, "prefill_done", format!("prefill done{}: TTFT", on(request.prefill_iid.as_deref())));
    }
    if let Some(first_byte_s) = request.first_byte_s {
        add(first_byte_s, "first_byte", format!("first byte{}", on(request.decode_iid.as_deref())));
    }
    if let (Some(ttft_s), Some(tpot_s), Some(tokens)) = (request.ttft_s, request.tpot_s, request.output_len) {
        let text = format!("last of {tokens} tokens: TPOT {} s", micros(tpot_s));
        add(ttft_s + tpot_s * (tokens as f64 - 1.0), "last_token", text);
    }
    if let Some(duration_s) = request.duration_s {
        let status = request.status.map(|status| format!(", status {status}")).unwrap_or_default();
        let phase =
            request.cancelled_phase.as_deref().map(|phase| format!(" in {phase}")).unwrap_or_default();
        let terminal = request.terminal.as_deref().unwrap_or_default();
        add(duration_s, "ended", format!("{terminal}{phase}{status}"));
    }
    steps.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    steps
}

fn arrival_text(request: &Terminal<'_>) -> String {
    let prompt = match (request.input_sized, request.input_len) {
        (Some(false), _) => "the prompt was not sized".to_owned(),
        (_, Some(tokens)) => format!("{tokens} prompt tokens"),
        (_, None) => "prompt of unknown length".to_owned(),
    };
    match request.wanted_len {
        Some(wanted) if wanted > 0 => format!("arrived: {prompt}, {wanted} wanted"),
        _ => format!("arrived: {prompt}"),
    }
}

fn failure_text(entry: &AttemptFailure<'_>) -> String {
    let phase = entry.phase.as_deref().unwrap_or("an unknown phase");
    let dispatched = entry.retry_reason.as_deref() != Some("not_dispatched");
    let attempt = match entry.attempt {
        Some(attempt) if dispatched => format!("attempt {attempt} failed"),
        _ => "not dispatched: failed".to_owned(),
    };
    let engines = match (entry.prefill_iid.as_deref(), entry.decode_iid.as_deref()) {
        (Some(prefill), Some(decode)) => format!(" (prefill {prefill}, decode {decode})"),
        (Some(prefill), None) => format!(" (prefill {prefill})"),
        (None, Some(decode)) => format!(" (decode {decode})"),
        (None, None) => String::new(),
    };
    let mut text = format!("{attempt} in {phase}{engines}: ");
    text.push_str(entry.error_type.as_deref().unwrap_or("no error named"));
    if let Some(status) = entry.status {
        text.push_str(&format!(" {status}"));
    }
    if let Some(message) = entry.error_message.as_deref().filter(|message| !message.is_empty()) {
        text.push_str(&format!(" \"{message}\""));
    }
    if entry.output_started == Some(true) {
        text.push_str("; output had started");
    }
    let decision = match entry.retry_scheduled {
        Some(true) => "; retry scheduled",
        Some(false) => "; no retry",
        None => "",
    };
    text.push_str(decision);
    if let Some(reason) = entry.retry_reason.as_deref() {
        text.push_str(&format!(" ({reason})"));
    }
    text
}

fn on(engine: Option<&str>) -> String {
    engine.map(|engine| format!(" on {engine}")).unwrap_or_default()
}
