//! Attainment in large, its interval, and what that says of the goal.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::parts::raw;
use crate::report::plot::{Anchor, Line, Svg, Tone};
use crate::report::words;
use crate::report::words::{count, goal, maybe_share, share, short_duration};
use crate::statistics::{Judgement, Limit, Share};
use crate::text::SPEAKS_FOR;

pub(super) fn number(figures: &Figures) -> Markup {
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

pub(super) fn interval(share: &Share) -> String {
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
