//! `compare A B -o FILE.html`: both distributions and both curves in one picture, the table of verdicts under them.

use anyhow::Result;
use chrono::{DateTime, Utc};
use maud::{Markup, html};
use rusqlite::Connection;

use super::figures::axis::Axis;
use super::figures::survey::{self, OfEngine, Survey};
use super::page::document;
use super::parts::{Col, Figure, Table, dense, details, key, key_line, section, source};
use super::plot::{Anchor, Line, Linear, Log, Scale, Svg, Tone, attainment_floor, number, percent, step_for};
use super::words::{self, Moment, count, duration, goal, share, short_duration};
use crate::query::answer::{Answer, ask};
use crate::query::compare::{Comparison, Family, Pair, SCOPES};
use crate::query::figures::Figure as Found;
use crate::query::ordered::{self, Scope};
use crate::query::scoring::Policy;
use crate::selection::Selection;
use crate::store::slos::Slo;

/// What a page of two selections is made of.
pub struct Asked<'a> {
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
pub fn page(connection: &mut Connection, asked: &Asked<'_>) -> Result<String> {
    let mut sides = Vec::new();
    let band = band(connection, asked)?;
    for name in SCOPES {
        asked.sides.install(connection)?;
        let scope = ordered::scopes(connection)?.into_iter().find(|scope| scope.name == name);
        let axis = Axis::default();
        let wanted = survey::Asked {
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
fn band(connection: &mut Connection, asked: &Asked<'_>) -> Result<f64> {
    let given = |name: &str| (name == "bucket").then(|| BUCKET_S.to_string());
    let answer = ask(connection, "attainment-over-time", asked.sides, targets_given(asked, given));
    let Ok(answer) = answer else { return Ok(1.0) };
    let busiest = answer.rows().filter_map(|row| row.real("offered_per_s")).fold(0.0, f64::max);
    Ok(if busiest > 0.0 { step_for(busiest / 12.0) } else { 1.0 })
}

/// Parameters with the targets among them.
fn targets_given<'a>(
    asked: &'a Asked<'_>,
    more: impl Fn(&str) -> Option<String> + 'a,
) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| match (name, asked.targets) {
        ("ttft", Some(slo)) => Some(slo.ttft_s.to_string()),
        ("tpot", Some(slo)) => Some(slo.tpot_s.to_string()),
        _ => more(name),
    }
}

fn goodput(connection: &mut Connection, asked: &Asked<'_>, side: &str, band: f64) -> Result<Option<Answer>> {
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

fn markup(asked: &Asked<'_>, sides: &[Side], band: f64) -> String {
    let names = asked.names.map(|name| words::outside(name, words::ID));
    let title = format!("{} against {}", names[0], names[1]);
    let compared = asked.compared;
    let when = words::moment(asked.now.timestamp() as f64, Moment::Whole).unwrap_or_default();
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
                    div { (distribution(asked, sides, 0)) }
                    div { (distribution(asked, sides, 1)) }
                }
                @if asked.targets.is_some() { (curves(asked, sides, band)) }
            }))
            (section("figures", "Figures", html! {
                (family(&compared.figures, "All requests"))
                (family(&compared.engines, "Engines"))
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

const HEIGHT: f64 = 190.0;
const TOP: f64 = 18.0;

/// How a side is drawn: b dashed, so that colour alone tells nothing.
const STROKES: [(Line, &str); 2] = [(Line::Ok, ""), (Line::Away, r#" stroke-dasharray="5 2""#)];

fn side_key(asked: &Asked<'_>) -> Markup {
    let name = |at: usize| format!("{}: {}", SCOPES[at], words::outside(asked.names[at], 32));
    key("", &[key_line(Line::Ok, 2.4, "", &name(0)), key_line(Line::Away, 2.4, "5 2", &name(1))])
}

fn sorted(values: &[OfEngine]) -> Vec<f32> {
    let mut values: Vec<f32> = values.iter().map(|(_, value)| *value).collect();
    values.sort_by(f32::total_cmp);
    values
}

fn distribution(asked: &Asked<'_>, sides: &[Side], at: usize) -> Markup {
    let metric = ["TTFT", "TPOT"][at];
    let title = format!("{metric} of completed requests");
    let values: Vec<Vec<f32>> = sides
        .iter()
        .map(|side| sorted(if at == 0 { &side.survey.ttft } else { &side.survey.tpot }))
        .collect();
    let target_s = asked.targets.map(|slo| if at == 0 { slo.ttft_s } else { slo.tpot_s });
    let ends = values.iter().flat_map(|values| [values.get(values.len() / 1000), values.last()]).flatten();
    let Some(scale) = Log::of(ends.map(|value| f64::from(*value)).chain(target_s), 8) else {
        return html! { h3 { (title) } p.note { "None: no completed request has a " (metric) "." } };
    };
    let bottom = TOP + HEIGHT;
    let ticks = scale.ticks();
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, TOP, HEIGHT, Tone::Plot);
    let quarters = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, bottom - HEIGHT * part));
    svg.group(Line::Grid.stroke(), |svg| {
        for (_, y) in quarters {
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
        for tick in &ticks {
            let x = percent(100.0 * tick.at);
            svg.raw(&format!(r#"<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>"#));
        }
    });
    svg.nested((0.0, 100.0), (TOP, HEIGHT), (1000.0, HEIGHT), |svg| {
        for ((values, (line, dashes)), name) in values.iter().zip(STROKES).zip(SCOPES) {
            if values.is_empty() {
                continue;
            }
            let place = |step: i32| {
                let point = scale.value(f64::from(step) / 100.0) * (1.0 + 1e-7);
                let below = values.partition_point(|value| f64::from(*value) <= point);
                HEIGHT * (1.0 - below as f64 / values.len() as f64)
            };
            let points: Vec<String> =
                (0..=100).map(|step| format!("{} {}", step * 10, number(place(step), 1))).collect();
            let attributes = format!(
                r#"{} stroke-width="2.2"{dashes} fill="none" vector-effect="non-scaling-stroke""#,
                line.stroke()
            );
            svg.path(
                &format!("M{}", points.join("L")),
                &attributes,
                Some(&format!("{name}: {} values", values.len())),
            );
        }
    });
    if let Some(target_s) = target_s {
        let x = 100.0 * scale.at(target_s);
        svg.line((x, TOP), (x, bottom), Line::Slo, r#"stroke-width="1.4" stroke-dasharray="4 3""#);
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for (part, y) in quarters {
            svg.text("-6", y + 3.8, Anchor::End, "", "", &goal(part));
        }
        for (at, tick) in ticks.iter().enumerate() {
            let class = if at % 2 == 1 { "m" } else { "" };
            svg.text(
                &percent(100.0 * tick.at),
                bottom + 14.0,
                Anchor::Middle,
                class,
                "",
                &short_duration(tick.value),
            );
        }
        if let Some(target_s) = target_s {
            let x = 100.0 * scale.at(target_s);
            let anchor = if x > 50.0 { Anchor::End } else { Anchor::Start };
            let text = format!("SLO {}", short_duration(target_s));
            svg.text(&percent(x), 12.0, anchor, "ti", r##"fill="#16191d" font-weight="600""##, &text);
        }
    });
    let within = sides.iter().zip(&values).zip(SCOPES).filter(|((_, values), _)| !values.is_empty()).map(
        |((side, values), name)| {
            format!("{name}: {} within", share(side.survey.within[at] as f64 / values.len() as f64))
        },
    );
    let within = if target_s.is_some() { within.collect::<Vec<_>>().join(", ") } else { String::new() };
    Figure {
        id: ["cdf1", "cdf2"][at],
        title: &title,
        key: side_key(asked),
        height: bottom + 20.0,
        picture: svg.into_text(),
        caption: html! {
            "Share of requests at or below; log axis. "
            @if !within.is_empty() { "The SLO: " (within) ". " }
            "Asked of each side by itself. " (source(&["query latency --by all"]))
        },
        above: false,
    }
    .markup()
}

/// Attainment by offered rate of both sides.
fn curves(asked: &Asked<'_>, sides: &[Side], band: f64) -> Markup {
    let title = "Attainment against offered rate";
    let bands: Vec<Vec<(f64, f64, i64, i64)>> = sides
        .iter()
        .map(|side| {
            let rows = side.goodput.iter().flat_map(Answer::rows);
            rows.filter_map(|row| {
                Some((row.real("rate_from")?, row.real("attainment")?, row.int("buckets"), row.int("scored")))
            })
            .collect()
        })
        .collect();
    let all = || bands.iter().flatten();
    if all().next().is_none() {
        return html! { h3 { (title) } p.note { "None: no minute is wholly selected and has a scored request." } };
    }
    let top = all().map(|(from, ..)| from + band).fold(0.0, f64::max);
    let floor = attainment_floor(all().map(|(_, attainment, ..)| *attainment).fold(1.0, f64::min));
    let (down, across) = (Linear::between(floor, 1.0), Linear::exactly_to(top));
    let y = |value: f64| down.down(value, HEIGHT);
    let x = |from: f64| 100.0 * (from + 0.5 * band) / top;
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, 0.0, HEIGHT, Tone::Plot);
    svg.group(Line::Grid.stroke(), |svg| {
        for tick in down.ticks() {
            let y = number(y(tick.value), 1);
            svg.raw(&format!(r#"<line x2="100%" y1="{y}" y2="{y}"/>"#));
        }
    });
    for ((bands, (line, dashes)), name) in bands.iter().zip(STROKES).zip(SCOPES) {
        let points: Vec<String> = bands
            .iter()
            .map(|(from, attainment, ..)| {
                format!("{} {}", number(10.0 * x(*from), 1), number(y(*attainment), 1))
            })
            .collect();
        svg.nested((0.0, 100.0), (0.0, HEIGHT), (1000.0, HEIGHT), |svg| {
            if points.len() > 1 {
                let attributes = format!(
                    r#"{} stroke-width="1.6"{dashes} fill="none" vector-effect="non-scaling-stroke""#,
                    line.stroke()
                );
                svg.path(&format!("M{}", points.join("L")), &attributes, None);
            }
        });
        for (from, attainment, buckets, scored) in bands {
            let told = words::plain(&format!(
                "{name}: {} to {} requests/s: {} of {} scored met, in {} minutes",
                crate::text::rounded(*from),
                crate::text::rounded(from + band),
                share(*attainment),
                count(*scored),
                buckets
            ));
            let tone = if name == SCOPES[0] { Tone::Ok } else { Tone::Away };
            let radius = if *buckets >= 3 { 4.0 } else { 2.5 };
            svg.dot(x(*from), y(*attainment), radius, tone.fill(), Some(&told));
        }
    }
    svg.group(r##"class="t" fill="#57606a""##, |svg| {
        for tick in down.ticks() {
            svg.text("-6", y(tick.value) + 3.8, Anchor::End, "", "", &goal(tick.value));
        }
        for tick in across.ticks() {
            svg.text(
                &percent(100.0 * tick.at),
                HEIGHT + 14.0,
                Anchor::Middle,
                "",
                "",
                &crate::text::rounded(tick.value),
            );
        }
        svg.text("50%", HEIGHT + 28.0, Anchor::Middle, "ti", r##"fill="#16191d""##, "offered, requests/s");
    });
    let figure = Figure {
        id: "good",
        title,
        key: side_key(asked),
        height: HEIGHT + 34.0,
        picture: svg.into_text(),
        caption: html! {
            "Bands of " (crate::text::rounded(band)) " requests/s over minutes from each run’s zero; small dots: fewer than three "
            "minutes. Asked of each side by itself. " (source(&[&format!("query goodput --by all --bucket {BUCKET_S} --band {}", crate::text::rounded(band))]))
        },
        above: false,
    };
    let heads = [
        ("Side", true),
        ("Requests/s from", false),
        ("Minutes", false),
        ("Scored", false),
        ("Attainment", false),
    ];
    let rows = bands.iter().zip(SCOPES).flat_map(|(bands, name)| {
        bands.iter().map(move |(from, attainment, buckets, scored)| {
            vec![
                name.to_owned(),
                crate::text::rounded(*from),
                count(*buckets),
                count(*scored),
                share(*attainment),
            ]
        })
    });
    html! { (figure.markup()) (details("Numbers behind this plot", dense(&heads, rows))) }
}

/// So many figures of a family stand in its table: those that differ first.
const MOST: usize = 120;

fn family(family: &Family, heading: &str) -> Markup {
    if family.pairs.is_empty() {
        return html! {};
    }
    let mut pairs: Vec<&Pair> = family.found();
    pairs.extend(family.pairs.iter().filter(|pair| !pair.differs() && !pair.may_differ()));
    let left_out = pairs.len().saturating_sub(MOST);
    pairs.truncate(MOST);
    let mut table = Table::new(&[
        Col("Figure", ""),
        Col("a", "n"),
        Col("b", "n"),
        Col("b − a", "n"),
        Col("95\u{a0}% interval", "n s"),
        Col("Seen from", "n sp"),
        Col("Verdict", ""),
    ]);
    for pair in pairs {
        let is_share = pair.sides.iter().flatten().any(|figure| matches!(figure, Found::Share(_)));
        let shown = |value: f64| if is_share { share(value) } else { duration(value) };
        let signed = |value: f64| if value > 0.0 { format!("+{}", shown(value)) } else { shown(value) };
        let side = |at: usize| {
            pair.sides[at]
                .and_then(|figure| figure.measured())
                .map_or_else(|| words::NONE.to_owned(), |found| shown(found.value))
        };
        let of =
            |read: fn(&crate::statistics::Difference) -> Option<f64>| pair.difference.as_ref().and_then(read);
        let end = |value: Option<f64>| value.map_or_else(|| "open".to_owned(), signed);
        let interval = match pair.difference {
            Some(difference) => format!("{} to {}", end(difference.low), end(difference.high)),
            None => words::NONE.to_owned(),
        };
        table.row(vec![
            html! { (words::outside(&pair.name, words::ID)) },
            html! { (side(0)) },
            html! { (side(1)) },
            html! { (of(|difference| Some(difference.value)).map_or_else(|| words::NONE.to_owned(), signed)) },
            html! { (interval) },
            html! { (of(|difference| difference.detectable).map_or_else(|| words::NONE.to_owned(), shown)) },
            html! { span.hot[pair.differs()] { (pair.verdict.as_str()) } },
        ]);
    }
    html! {
        h3 { (heading) }
        (table.markup())
        p.note {
            "Higher and lower are said of b. Seen from: about so large a difference would have been seen. "
            @if left_out > 0 { "The first " (MOST) ", what differs before the rest; " (left_out) " more are left out. " }
            (source(&["compare --all"]))
        }
    }
}
