//! The numbers that are asked for first.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::words;
use crate::report::words::{count, maybe_duration, maybe_rate, maybe_share, share};

pub(super) fn tiles(figures: &Figures) -> Markup {
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
