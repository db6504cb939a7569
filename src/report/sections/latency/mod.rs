//! How long requests took: distributions, TTFT against TPOT, percentiles.

mod distribution;
mod heat;
mod percentiles;

use maud::{Markup, html};

pub(super) use self::percentiles::by_run;
use crate::report::figures::Figures;
use crate::report::parts::section;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "latency",
        "Latency",
        html! {
            div.grid {
                div { (distribution::distribution(figures, 0)) }
                div { (distribution::distribution(figures, 1)) }
            }
            div.grid {
                div { (heat::heat(figures)) }
                div { (percentiles::percentiles(figures)) (percentiles::handoff(figures)) }
            }
        },
    )
}

const NAMES: [&str; 2] = ["TTFT", "TPOT"];
const METRICS: [&str; 2] = ["ttft_s", "tpot_s"];
