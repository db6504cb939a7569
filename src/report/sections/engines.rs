//! Engines beside each other, a table a role.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::engines::Engine;
use crate::report::figures::fleet::{ENGINE_ROWS, What, natural};
use crate::report::parts::{Col, STARS, Table, bar, engine as name_of, section, source, starred};
use crate::report::plot::Tone;
use crate::report::words::{self, count, duration, maybe_duration, maybe_share, share};

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    let is_open = figures.engines.roles.iter().flatten().any(|engine| engine.is_open.contains(&true));
    section(
        "engines",
        "Engines",
        html! {
            (role(figures, 0))
            (role(figures, 1))
            p.note {
                @if figures.engines.unattributed > 0 {
                    (count(figures.engines.unattributed)) " recorded failures reached no engine and are in no row. "
                }
                @if figures.engines.nameless > 0 {
                    (count(figures.engines.nameless)) " failed legs have no engine in the journal and are in no row. "
                }
                "An engine with both roles stands in both tables; a leg is an attempt’s part in that role. Ejected and holds are "
                "the engine’s, whatever its role. Bars of one column share a scale. Bold: higher than the other engines of the "
                "role, all rates and percentiles judged together. "
                @if is_open { (STARS) " " }
                (source(&["query engine-failures --by all", "query engine-latency --by all", "query engine-downtime"]))
            }
        },
    )
}

fn role(figures: &Figures, role: usize) -> Markup {
    let heading = ["Prefill", "Decode"][role];
    let all = &figures.engines.roles[role];
    if all.is_empty() {
        return html! { h3 { (heading) } p.note { "None: no attempt names an engine of this role." } };
    }
    let mut shown: Vec<&Engine> = all.iter().collect();
    if shown.len() > ENGINE_ROWS {
        shown.sort_unstable_by(|one, other| {
            other.failures.cmp(&one.failures).then_with(|| natural(&one.name, &other.name))
        });
        shown.truncate(ENGINE_ROWS);
        shown.sort_unstable_by(|one, other| natural(&one.name, &other.name));
    }
    let legs: i64 = all.iter().map(|engine| engine.legs).sum();
    let most = |read: &dyn Fn(&Engine) -> Option<f64>| {
        shown.iter().filter_map(|engine| read(engine)).fold(0.0, f64::max)
    };
    let (most_legs, most_rate) = (most(&|e| Some(e.legs as f64)), most(&|engine| engine.failure_rate));
    let target_s = figures.targets().map(|slo| if role == 0 { slo.ttft_s } else { slo.tpot_s });
    let most_p99 = most(&|engine| engine.p99).max(target_s.unwrap_or(0.0));
    let (p50, p99) = [("TTFT p50", "TTFT p99"), ("TPOT p50", "TPOT p99")][role];
    let mark = if target_s.is_some() { "dashed: SLO" } else { "" };
    let mut table = Table::new(&[
        Col("Engine", ""),
        Col("Share", "n"),
        Col("of legs", "bar sp"),
        Col("Failed", "n"),
        Col("of its legs", "bar s"),
        Col("Legs", "n sp"),
        Col(p50, "n s"),
        Col(p99, "n"),
        Col(mark, "bar s"),
        Col("Ejected", "n"),
        Col("Holds", "n s"),
    ]);
    let ratio = |part: f64, most: f64| if most > 0.0 { part / most } else { 0.0 };
    for engine in &shown {
        let (ejected_s, holds) = outages(figures, &engine.name);
        table.row(vec![
            html! { b { (name_of(&engine.name)) } },
            html! { (if legs > 0 { share(engine.legs as f64 / legs as f64) } else { words::NONE.to_owned() }) },
            bar(ratio(engine.legs as f64, most_legs), Tone::Off2, None),
            html! { span.hot[engine.fails_more] { (maybe_share(engine.failure_rate)) } },
            bar(ratio(engine.failure_rate.unwrap_or(0.0), most_rate), Tone::Bad, None),
            html! { (count(engine.failures)) " of " (count(engine.legs)) },
            percentile(engine, 0),
            percentile(engine, 1),
            bar(ratio(engine.p99.unwrap_or(0.0), most_p99), Tone::Slow, target_s.map(|target_s| target_s / most_p99)),
            html! { (if ejected_s > 0.0 { duration(ejected_s) } else { words::NONE.to_owned() }) },
            html! { (holds) },
        ]);
    }
    html! {
        h3 { (heading) }
        (table.markup())
        (named(all, role))
        @if all.len() > shown.len() {
            p.note { "The " (ENGINE_ROWS) " with the most failed legs; " (all.len() - shown.len()) " more are in the shares only." }
        }
    }
}

/// Its p50 or p99, bold where it is slower by that.
fn percentile(engine: &Engine, at: usize) -> Markup {
    let value = engine.percentiles()[at];
    let shown = starred(maybe_duration(value), engine.is_open[at] && value.is_some());
    html! { @if engine.is_slower[at] { span.hot { (shown) } } @else { (shown) } }
}

/// How long an engine was ejected, and how often held.
fn outages(figures: &Figures, name: &str) -> (f64, usize) {
    let own = figures.fleet.intervals.iter().filter(|interval| interval.engine.as_deref() == Some(name));
    let (mut ejected_s, mut holds) = (0.0, 0);
    for interval in own {
        if interval.what == What::Ejected {
            ejected_s += interval.length_s.unwrap_or(0.0)
        } else {
            holds += 1
        }
    }
    (ejected_s, holds)
}

/// Who stands out, in words.
fn named(engines: &[Engine], role: usize) -> Markup {
    let metric = ["TTFT", "TPOT"][role];
    let list = |is: fn(&Engine) -> bool| -> Vec<String> {
        engines
            .iter()
            .filter(|engine| is(engine))
            .take(5)
            .map(|engine| words::outside(&engine.name, words::ENGINE))
            .collect()
    };
    let failing = list(|engine| engine.fails_more);
    let slow = [list(|engine| engine.is_slower[0]), list(|engine| engine.is_slower[1])];
    if failing.is_empty() && slow.iter().all(Vec::is_empty) {
        return html! {};
    }
    html! {
        p.note {
            @if !failing.is_empty() { "Fails more often than the others: " b { (failing.join(", ")) } ". " }
            @for (slow, percentile) in slow.iter().zip(["p50", "p99"]) {
                @if !slow.is_empty() { "Slower by " (metric) " " (percentile) " than the others: " b { (slow.join(", ")) } ". " }
            }
        }
    }
}
