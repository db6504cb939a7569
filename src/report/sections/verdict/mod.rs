//! How many requests met the targets, how sure that is, and what to know first.

mod attainment;
mod findings;
mod runs;
mod tiles;
mod whole;

use maud::{Markup, html};

pub(in crate::report) use self::attainment::judgement;
use crate::report::figures::Figures;
use crate::report::figures::findings::Finding;
use crate::report::parts::section;

pub(in crate::report) fn markup(figures: &Figures, findings: &[Finding]) -> Markup {
    section(
        "verdict",
        "Verdict",
        html! {
            div.verdict {
                div { (attainment::number(figures)) }
                (findings::list(findings))
            }
            (whole::where_they_went(figures))
            (tiles::tiles(figures))
            (runs::by_run(figures))
        },
    )
}
