//! `compare A B -o FILE.html`: both distributions and both curves in one picture, the table of verdicts under them.

mod curves;
mod distribution;
mod table;

use anyhow::Result;
use chrono::{DateTime, Utc};
use maud::{Markup, html};
use rusqlite::Connection;

use crate::query::answer::{Answer, ask};
use crate::query::compare::{Comparison, Family, SCOPES};
use crate::query::ordered;
use crate::query::ordered::Scope;
use crate::query::scoring::Policy;
use crate::report::figures::axis::Axis;
use crate::report::figures::survey;
use crate::report::figures::survey::Survey;
use crate::report::page::document;
use crate::report::parts::{key, key_line, section};
use crate::report::plot::{Line, step_for};
use crate::report::words;
use crate::report::words::{WallDetail, count, short_duration};
use crate::selection::Selection;
use crate::store::slos::Slo;

/// What a page of two selections is made of.
pub struct PageInput<'a> {
    /// Both, as scopes of [`SCOPES`].
    pub sides: &'a Selection,
    /// What they are called on the command line.
    pub names: [&'a str; 2],
    /// The comparison.
    pub compared: &'a Comparison,
    /// The targets both are held against.
    pub targets: Option<&'a Slo>,
    /// When it is written.
    pub now: DateTime<Utc>,
}

/// A side.
struct Side {
    survey: Survey,
    goodput: Option<Answer>,
}

/// The page of a comparison.
///
/// # Errors
/// When the database cannot be read.
pub fn page(connection: &mut Connection, asked: &PageInput<'_>) -> Result<String> {
    let mut sides = Vec::new();
    let band = band(connection, asked)?;
    for name in SCOPES {
        asked.sides.install(connection)?;
        let scope = ordered::scopes(connection)?.into_iter().find(|scope| scope.name == name);
        let axis = Axis::default();
        let wanted = survey::Surveyed {
            targets: asked.targets,
            policy: Policy::default(),
            axis: &axis,
            runs: Default::default(),
            bands: Vec::new(),
            known: Vec::new(),
            completed: 0,
        };
        let survey = survey::survey(connection, &scope.unwrap_or_else(|| Scope::empty(name)), wanted)?;
        sides.push(Side { survey, goodput: goodput(connection, asked, name, band)? });
    }
    Ok(markup(asked, &sides, band))
}

/// Rates are counted in buckets so wide, in seconds.
const BUCKET_S: i64 = 60;

/// How wide a band of rates is that suits both sides.
fn band(connection: &mut Connection, asked: &PageInput<'_>) -> Result<f64> {
    let given = |name: &str| (name == "bucket").then(|| BUCKET_S.to_string());
    let answer = ask(connection, "attainment-over-time", asked.sides, targets_given(asked, given));
    let Ok(answer) = answer else { return Ok(1.0) };
    let busiest = answer.rows().filter_map(|row| row.real("offered_per_s")).fold(0.0, f64::max);
    Ok(if busiest > 0.0 { step_for(busiest / 12.0) } else { 1.0 })
}

/// Parameters with the targets among them.
fn targets_given<'a>(
    asked: &'a PageInput<'_>,
    more: impl Fn(&str) -> Option<String> + 'a,
) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| match (name, asked.targets) {
        ("ttft", Some(slo)) => Some(slo.ttft_s.to_string()),
        ("tpot", Some(slo)) => Some(slo.tpot_s.to_string()),
        _ => more(name),
    }
}

fn goodput(
    connection: &mut Connection,
    asked: &PageInput<'_>,
    side: &str,
    band: f64,
) -> Result<Option<Answer>> {
    if asked.targets.is_none() {
        return Ok(None);
    }
    let rows = asked.sides.rows.iter().filter(|row| row.scope == side).cloned().collect();
    let selection = Selection { rows, ..Selection::default() };
    let given = move |name: &str| match name {
        "bucket" => Some(BUCKET_S.to_string()),
        "band" => Some(band.to_string()),
        _ => None,
    };
    ask(connection, "goodput", &selection, targets_given(asked, given)).map(Some)
}

fn markup(asked: &PageInput<'_>, sides: &[Side], band: f64) -> String {
    let names = asked.names.map(|name| words::outside(name, words::ID));
    let title = format!("{} against {}", names[0], names[1]);
    let compared = asked.compared;
    let when = words::moment(asked.now.timestamp() as f64, WallDetail::Whole).unwrap_or_default();
    let body = html! {
        header {
            h1 { (title) }
            p.meta {
                "a: " (names[0]) ", " (count(compared.requests[0] as i64)) " requests · b: " (names[1]) ", "
                (count(compared.requests[1] as i64)) " requests"
                @if let Some(slo) = asked.targets {
                    " · SLO: TTFT ≤ " (short_duration(slo.ttft_s)) ", TPOT ≤ " (short_duration(slo.tpot_s))
                }
            }
        }
        main {
            (section("verdict", "Verdict", verdict(compared)))
            (section("pictures", "Side by side", html! {
                div.grid {
                    div { (distribution::distribution(asked, sides, 0)) }
                    div { (distribution::distribution(asked, sides, 1)) }
                }
                @if asked.targets.is_some() { (curves::curves(asked, sides, band)) }
            }))
            (section("figures", "Figures", html! {
                (table::family(&compared.figures, "All requests"))
                (table::family(&compared.engines, "Engines"))
            }))
        }
        footer { p { "Written " (when) "\u{a0}UTC by narwhal-jq " (env!("CARGO_PKG_VERSION")) " with " code { "narwhal-jq compare" } "." } }
    };
    document(&title, body)
}

fn verdict(compared: &Comparison) -> Markup {
    let told = |family: &Family, what: &str| {
        let maybe = match family.maybe() {
            0 => String::new(),
            maybe => format!("; {maybe} more may be chance"),
        };
        format!("{} of {} {what} differ, judged together{maybe}.", family.differ(), family.judged())
    };
    html! {
        @if compared.shared > 0 {
            p.lead { b { "Not judged" } ": the two selections overlap, " (count(compared.shared as i64)) " requests are in both." }
        } @else {
            p.lead { (told(&compared.figures, "figures")) }
            @if !compared.engines.pairs.is_empty() { p.lead { (told(&compared.engines, "figures of engines")) } }
        }
        @for note in &compared.notes { p.note { b { "Note: " } (words::outside(note, 400)) "." } }
    }
}

/// How a side is drawn: b dashed, so that colour alone tells nothing.
const STROKES: [(Line, &str); 2] = [(Line::Ok, ""), (Line::Away, r#" stroke-dasharray="5 2""#)];

fn side_key(asked: &PageInput<'_>) -> Markup {
    let name = |at: usize| format!("{}: {}", SCOPES[at], words::outside(asked.names[at], 32));
    key("", &[key_line(Line::Ok, 2.4, "", &name(0)), key_line(Line::Away, 2.4, "5 2", &name(1))])
}
