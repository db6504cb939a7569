//! Attainment by offered rate, TTFT by price, prompts by size.

mod goodput;
mod price;
mod prompts;

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::parts::section;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    section(
        "load",
        "Load",
        html! {
            div.grid {
                @if figures.targets().is_some() { div { (goodput::goodput(figures)) } }
                div { (price::price(figures)) }
            }
            (prompts::prompts(figures))
        },
    )
}
