//! How many requests met the targets, how sure that is, and what to know first.

use maud::{Markup, html};

use super::tone;
use crate::report::figures::Figures;
use crate::report::figures::findings::{Finding, Piece};
use crate::report::parts::{Col, Table, key, raw, section, source};
use crate::report::plot::{Anchor, Line, Svg, Tone, attainment_floor, swatch};
use crate::report::words::{
    self, Moment, count, goal, maybe_duration, maybe_rate, maybe_share, share, short_duration,
};
use crate::statistics::{Judgement, Limit, Share};
use crate::text::SPEAKS_FOR;

pub(in crate::report) fn markup(figures: &Figures, findings: &[Finding]) -> Markup {
    section(
        "verdict",
        "Verdict",
        html! {
            div.verdict {
                div { (number(figures)) }
                (list(findings))
            }
            (where_they_went(figures))
            (tiles(figures))
            (by_run(figures))
        },
    )
}

fn number(figures: &Figures) -> Markup {
    let Some(slo) = figures.targets() else {
        return html! {
            p.big { strong { "–" } }
            p { "no SLO, so nothing is scored" }
            p.note { "Give " code { "--ttft SECONDS --tpot SECONDS" } ", or save targets with "
                code { "narwhal-jq slo set --ttft SECONDS --tpot SECONDS" } "." }
        };
    };
    let attainment = figures.attainment();
    let row = figures.all.row("attainment");
    let (scored, excluded) = row.map_or((0, 0), |row| (row.int("scored"), row.int("excluded")));
    html! {
        p.big { strong { (maybe_share(attainment.map(|share| share.value))) } }
        p {
            @if scored == 0 { "nothing was scored" }
            @else { "of " (count(scored)) " scored " (if scored == 1 { "request" } else { "requests" }) " met the SLO" }
            @if let Some(attainment) = attainment {
                br; span.meta { "95\u{a0}% interval " (interval(&attainment)) }
            }
        }
        @if let Some(attainment) = attainment { (strip(&attainment, figures.asked.goal)) }
        (badge(attainment.as_ref(), figures.asked.goal))
        p.note {
            "SLO: TTFT ≤\u{a0}" (short_duration(slo.ttft_s)) " and TPOT ≤\u{a0}" (short_duration(slo.tpot_s)) ". "
            @if excluded > 0 {
                (count(excluded)) " of " (count(figures.offered()))
                @if excluded == 1 { " is" } @else { " are" }
                " not scored: cancelled or refused after they were measured. "
            }
            @if let Some(attainment) = attainment { (how_sure(&attainment)) }
        }
        @for caveat in &figures.caveats { p.note { b { "Note: " } (words::outside(caveat, 600)) "." } }
    }
}

fn interval(share: &Share) -> String {
    format!("{} to {}", words::share(share.low), words::share(share.high))
}

/// What the interval rests on, in words.
fn how_sure(attainment: &Share) -> String {
    let independent = attainment.independent().floor().max(1.0) as i64;
    let alike = if independent < i64::try_from(attainment.rows).unwrap_or(i64::MAX) {
        format!(
            "{} requests in bursts count like {} independent {}",
            count(attainment.rows as i64),
            count(independent),
            if independent == 1 { "one" } else { "ones" }
        )
    } else {
        "The requests count as independent".to_owned()
    };
    let thin = if attainment.is_thin() {
        let rarer = if attainment.value > 0.5 { "miss" } else { "hit" };
        let on = attainment.rests_on().round().max(0.0) as i64;
        match on {
            0 => format!(" It rests on no independent {rarer}: one burst more or less changes it."),
            1 => format!(" It rests on about 1 independent {rarer}: one burst more or less changes it."),
            on => format!(
                " It rests on about {on} independent {rarer}{}: one burst more or less changes it.",
                if rarer == "miss" { "es" } else { "s" }
            ),
        }
    } else {
        String::new()
    };
    format!("{alike}.{thin} The interval {SPEAKS_FOR}.")
}

/// Interval, value and goal from 0 to 100 %.
fn strip(attainment: &Share, of_goal: Option<f64>) -> Markup {
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, 6.0, 16.0, Tone::Plot);
    let width = 100.0 * (attainment.high - attainment.low);
    svg.rect_with(
        100.0 * attainment.low,
        width,
        6.0,
        16.0,
        &format!(r#"{} fill-opacity=".3""#, Tone::Ok.fill()),
        None,
    );
    let at = 100.0 * attainment.value;
    svg.line((at, 3.0), (at, 25.0), Line::Ok, r#"stroke-width="3""#);
    svg.text("0", 38.0, Anchor::Start, "t", r##"fill="#57606a""##, "0");
    let mut told = String::new();
    match of_goal {
        Some(of_goal) => {
            let x = 100.0 * of_goal;
            svg.line((x, 3.0), (x, 25.0), Line::Slo, r#"stroke-width="1.6" stroke-dasharray="3 2""#);
            let anchor = if of_goal > 0.5 { Anchor::End } else { Anchor::Start };
            let text = format!("goal {}", goal(of_goal));
            svg.text(&crate::report::plot::percent(x), 38.0, anchor, "ti", r##"fill="#16191d""##, &text);
            told = format!(", {}", words::plain(&text));
        }
        None => svg.text("100%", 38.0, Anchor::End, "t", r##"fill="#57606a""##, "100\u{a0}%"),
    }
    let label = format!(
        "Attainment {}, interval {}{told}, on a scale from 0 to 100 %",
        words::plain(&share(attainment.value)),
        words::plain(&interval(attainment))
    );
    html! {
        svg width="100%" height="42" role="img" aria-label=(label) overflow="visible" font-family="system-ui,sans-serif"
            font-size="11" { (raw(svg.into_text())) }
    }
}

/// What the interval says of the goal.
pub(in crate::report) fn judgement(attainment: &Share, of_goal: f64) -> Judgement {
    Limit::AtLeast(of_goal).judge(Some(attainment.low), Some(attainment.high))
}

fn badge(attainment: Option<&Share>, of_goal: Option<f64>) -> Markup {
    let Some((attainment, of_goal)) = attainment.zip(of_goal) else { return html! {} };
    let shown = goal(of_goal);
    match judgement(attainment, of_goal) {
        Judgement::Holds => html! { p.badge.yes { "✓ meets the goal of " (shown) } },
        Judgement::Broken => html! { p.badge.no { "✗ misses the goal of " (shown) } },
        Judgement::Undecided => {
            html! { p.badge.maybe { "? cannot tell whether it meets the goal of " (shown) } }
        }
    }
}

fn list(findings: &[Finding]) -> Markup {
    html! {
        @if findings.is_empty() { p.note { "Nothing stands out by the rules of this page." } }
        @else {
            ul.find {
                @for finding in findings {
                    li {
                        a href=(format!("#{}", finding.section)) { (finding.head) " →" } " "
                        @for piece in &finding.sentence {
                            @match piece {
                                Piece::Plain(text) => { (text) },
                                Piece::Strong(text) => { b { (text) } },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A part of the bar has its number on it from this share on.
const LABELLED: f64 = 0.07;
/// On a narrow page, from this one on.
const NARROW: f64 = 0.13;

fn where_they_went(figures: &Figures) -> Markup {
    let Some(row) = figures.all.row("attainment") else { return html! {} };
    let (scored, met) = (row.int("scored"), row.int("met"));
    if scored == 0 {
        return html! {};
    }
    let mut parts = vec![("met".to_owned(), "met the SLO".to_owned(), met)];
    let mut misses: Vec<(String, i64)> =
        figures.all.rows("attainment-misses").map(|row| (row.text("miss"), row.int("requests"))).collect();
    misses.sort_by_key(|(miss, _)| ORDER.iter().position(|known| known == miss).unwrap_or(ORDER.len()));
    parts.extend(misses.into_iter().map(|(miss, requests)| (miss.clone(), words::kind(&miss), requests)));
    parts.retain(|(_, _, requests)| *requests > 0);
    let mut svg = Svg::default();
    let (mut x, mut texts) = (0.0, Svg::default());
    svg.group(Line::Page.stroke(), |svg| {
        for (kind, name, requests) in &parts {
            let part = *requests as f64 / scored as f64;
            let title = format!("{name}: {} requests, {}", count(*requests), words::plain(&share(part)));
            svg.rect_with(x, 100.0 * part, 0.0, 30.0, tone(kind).fill(), Some(&title));
            if part >= LABELLED {
                let text = if kind == "met" { format!("{} met", share(part)) } else { share(part) };
                let middle = crate::report::plot::percent(x + 50.0 * part);
                let (class, fill) =
                    if tone(kind).is_pale() { ("t-pale", "#16191d") } else { ("t-on", "#fff") };
                let class = if part < NARROW { format!("{class} s") } else { class.to_owned() };
                texts.text(
                    &middle,
                    19.0,
                    Anchor::Middle,
                    &class,
                    &format!(r#"fill="{fill}" font-weight="600""#),
                    &text,
                );
            }
            x += 100.0 * part;
        }
    });
    svg.raw(&texts.into_text());
    let entries: Vec<Markup> = parts
        .iter()
        .map(|(kind, name, requests)| {
            let part = *requests as f64 / scored as f64;
            html! { (raw(swatch(tone(kind)))) " " (name) " " span.x { (share(part)) } }
        })
        .collect();
    html! {
        h3 id="h-where" { "Where the scored requests went" }
        figure {
            svg width="100%" height="30" role="img" aria-labelledby="h-where" aria-describedby="c-where"
                font-family="system-ui,sans-serif" font-size="11" { (raw(svg.into_text())) }
            (key("", &entries))
            figcaption id="c-where" {
                "A request counts once, under the first kind that applies. "
                (source(&["query attainment --by all", "query attainment-misses --by all"]))
            }
        }
    }
}

/// Misses in the order in which their colours lie beside each other.
const ORDER: [&str; 11] = [
    "ttft+tpot",
    "tpot",
    "ttft",
    "refused",
    "rejected",
    "expired",
    "failed",
    "cancelled",
    "invalid",
    "output_unmeasured",
    "ttft_unmeasured",
];

fn tiles(figures: &Figures) -> Markup {
    let rates = figures.all.row("rates");
    let rate = |column: &str| rates.and_then(|row| row.real(column));
    let share_of =
        |terminal: &str| figures.all.find("outcomes", "terminal", terminal).and_then(|row| row.real("share"));
    let peak = figures.series.buckets.iter().map(|bucket| bucket.offered_per_s).fold(0.0, f64::max);
    let latency = |metric: &str, column: &str| {
        figures.all.find("latency", "metric", metric).and_then(|row| row.real(column))
    };
    let (legs, failed) = figures
        .engines
        .roles
        .iter()
        .flatten()
        .fold((0, 0), |sum, engine| (sum.0 + engine.legs, sum.1 + engine.failures));
    let failed_share = (legs > 0).then(|| failed as f64 / legs as f64);
    let output_tokens = rate("output_tokens_per_s").zip(rate("span_s")).map(|(per_s, span_s)| per_s * span_s);
    let tile = |name: &str, value: String, more: String| {
        html! { div { dt { (name) } dd { (value) " " small { (more) } } } }
    };
    let requests = |terminal: &str| {
        let ended = figures.ended(terminal);
        format!("{} {}", count(ended), if ended == 1 { "request" } else { "requests" })
    };
    html! {
        dl.tiles {
            (tile("Offered", count(figures.offered()),
                format!("{} on average, peak {}", maybe_rate(rate("offered_per_s")), words::rate(peak))))
            (tile("Completed", share(share_of("completed").unwrap_or(0.0)), requests("completed")))
            (tile("Refused", share(share_of("refused").unwrap_or(0.0)), requests("refused")))
            (tile("Failed", share(share_of("failed").unwrap_or(0.0)), requests("failed")))
            (tile("TTFT p50", maybe_duration(latency("ttft_s", "p50")), format!("p99 {}", maybe_duration(latency("ttft_s", "p99")))))
            (tile("TPOT p50", maybe_duration(latency("tpot_s", "p50")), format!("p99 {}", maybe_duration(latency("tpot_s", "p99")))))
            (tile("Failed legs", maybe_share(failed_share), format!("{} of {}", count(failed), count(legs))))
            (tile("Output tokens", maybe_rate(rate("output_tokens_per_s")),
                output_tokens.map_or_else(|| "not known".to_owned(), |tokens| format!("{} in all", count(tokens.round() as i64)))))
        }
    }
}

/// So many runs stand in the table, and so many behind it.
const MOST_RUNS: usize = 12;
const MOST_MORE_RUNS: usize = 100;

fn by_run(figures: &Figures) -> Markup {
    if figures.runs.len() < 2 || figures.targets().is_none() {
        return html! {};
    }
    let all: Vec<(usize, Option<Share>)> =
        (0..figures.runs.len()).map(|run| (run, figures.attainment_of(run))).collect();
    let mut shown = all.clone();
    let is_cut = all.len() > MOST_RUNS;
    if is_cut {
        let value = |share: &Option<Share>| share.map_or(f64::INFINITY, |share| share.value);
        shown.sort_by(|one, other| value(&one.1).total_cmp(&value(&other.1)).then(one.0.cmp(&other.0)));
        shown.truncate(MOST_RUNS);
    }
    let is_scored = |run: usize| accounting(figures, run) != Some("unavailable".to_owned());
    let lows =
        shown.iter().filter(|(run, _)| is_scored(*run)).filter_map(|(_, share)| share.map(|share| share.low));
    let overall = figures.attainment();
    let low = lows.chain(overall.map(|share| share.low)).chain(figures.asked.goal).fold(1.0, f64::min);
    let floor = attainment_floor(low);
    let head = match figures.asked.goal {
        Some(_) => format!("{} to 100\u{a0}%, dashed: goal", goal(floor)),
        None => format!("{} to 100\u{a0}%", goal(floor)),
    };
    let mut table = Table::new(&[
        Col("Run", ""),
        Col("Start, UTC", "s"),
        Col("Interval", "bar"),
        Col("Attainment", "n"),
        Col("95\u{a0}% interval", "n s"),
        Col("Met", "n s"),
        Col("Scored", "n s"),
        Col("Excluded", "n s"),
    ]);
    let dots =
        |share: Option<Share>| share.map_or_else(|| html! {}, |share| dot(&share, floor, figures.asked.goal));
    if let Some(row) = figures.all.row("attainment") {
        table.total(vec![
            html! { "All runs" },
            html! {},
            dots(overall),
            html! { (maybe_share(row.real("attainment"))) },
            html! { (overall.map_or_else(|| words::NONE.to_owned(), |share| interval(&share))) },
            html! { (count(row.int("met"))) },
            html! { (count(row.int("scored"))) },
            html! { (count(row.int("excluded"))) },
        ]);
    }
    for (run, share) in shown {
        table.row(row_of(figures, run, share, dots(share)));
    }
    html! {
        h3 id="h-runs" { "Attainment by run" }
        div.keep {
            (table.markup())
            p.note {
                "Dot: attainment; line: 95\u{a0}% interval, on a scale from " (head) ". "
                @if is_cut {
                    "The " (MOST_RUNS) " runs with the lowest attainment of " (count(all.len() as i64)) "; all of them are in the first row. "
                }
                (source(&["query attainment", "query attainment --by all"]))
            }
        }
        @if is_cut { (more_runs(figures, &all)) }
    }
}

/// The token accounting of a run.
pub(in crate::report) fn accounting(figures: &Figures, run: usize) -> Option<String> {
    figures
        .each
        .find("runs", "run", &figures.runs[run].run)
        .and_then(|row| row.known_text("token_accounting"))
}

fn row_of(figures: &Figures, run: usize, share: Option<Share>, dots: Markup) -> Vec<Markup> {
    let of = &figures.runs[run];
    let row = figures.each.find("attainment", "scope", &of.run);
    let int = |column: &str| row.map_or_else(|| words::NONE.to_owned(), |row| count(row.int(column)));
    let start = of.wall_s(0.0).and_then(|wall_s| words::moment(wall_s, Moment::DayMinute));
    let is_unknown = accounting(figures, run).as_deref() == Some("unavailable");
    vec![
        html! {
            span.nw { "Run " (run + 1) " " span.id.x.s { (words::outside(&of.run, words::ID)) } }
            @if is_unknown { " " span.x { "accounting unavailable" } }
        },
        html! { (start.unwrap_or_else(|| words::NONE.to_owned())) },
        dots,
        html! { (maybe_share(row.and_then(|row| row.real("attainment")))) },
        html! { (share.map_or_else(|| words::NONE.to_owned(), |share| interval(&share))) },
        html! { (int("met")) },
        html! { (int("scored")) },
        html! { (int("excluded")) },
    ]
}

fn more_runs(figures: &Figures, all: &[(usize, Option<Share>)]) -> Markup {
    let mut all = all.to_vec();
    let value = |share: &Option<Share>| share.map_or(f64::INFINITY, |share| share.value);
    all.sort_by(|one, other| value(&one.1).total_cmp(&value(&other.1)).then(one.0.cmp(&other.0)));
    let left_out = all.len().saturating_sub(MOST_MORE_RUNS);
    all.truncate(MOST_MORE_RUNS);
    all.sort_by_key(|(run, _)| *run);
    let rows = all.iter().map(|(run, share)| {
        let of = &figures.runs[*run];
        let row = figures.each.find("attainment", "scope", &of.run);
        let int = |column: &str| row.map_or(0, |row| row.int(column)).to_string();
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        vec![
            (run + 1).to_string(),
            words::outside(&of.run, words::ID),
            share.map_or_else(|| words::NONE.to_owned(), |share| percent(share.value)),
            share.map_or_else(
                || words::NONE.to_owned(),
                |share| format!("{} to {}", percent(share.low), percent(share.high)),
            ),
            int("met"),
            int("scored"),
            int("excluded"),
        ]
    });
    let heads = [
        ("Run", false),
        ("Id", true),
        ("Met, %", false),
        ("95 % interval", false),
        ("Met", false),
        ("Scored", false),
        ("Excluded", false),
    ];
    let table = crate::report::parts::dense(&heads, rows);
    let summary = match left_out {
        0 => format!("All {} runs", all.len()),
        _ => format!(
            "The {} runs with the lowest attainment; {} more are left out",
            all.len(),
            count(left_out as i64)
        ),
    };
    crate::report::parts::details(&summary, table)
}

/// An attainment and its interval on a scale from `floor` to 1.
fn dot(share: &Share, floor: f64, of_goal: Option<f64>) -> Markup {
    let at = |value: f64| 100.0 * ((value - floor) / (1.0 - floor)).clamp(0.0, 1.0);
    let mut svg = Svg::default();
    svg.rect(0.0, 100.0, 0.0, 18.0, Tone::Plot);
    if let Some(of_goal) = of_goal {
        svg.line(
            (at(of_goal), 0.0),
            (at(of_goal), 18.0),
            Line::Slo,
            r#"stroke-width="1.5" stroke-dasharray="3 2""#,
        );
    }
    svg.line((at(share.low), 9.0), (at(share.high), 9.0), Line::Ok, r#"stroke-width="2""#);
    svg.dot(at(share.value), 9.0, 4.5, Tone::Ok.fill(), None);
    html! { svg width="100%" height="18" aria-hidden="true" overflow="visible" { (raw(svg.into_text())) } }
}
