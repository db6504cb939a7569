//! The words of the page.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::parts::section;

pub(in crate::report) fn markup(figures: &Figures) -> Markup {
    let policy = match figures.asked.policy.name() {
        "offers" => "Scored is every request.",
        "router" => "Scored is every request but those cancelled, rejected and invalid.",
        _ => {
            "Scored is who completed, failed, expired, was rejected or invalid, and who was cancelled or refused before being \
              measured; who was cancelled or refused after that is excluded."
        }
    };
    let terms: [(&str, String); 9] = [
        ("Met the SLO", "A request that completed with its TTFT and its TPOT within the targets. A request of one token has no TPOT and cannot miss that target.".to_owned()),
        ("Scored", policy.to_owned()),
        ("95 % interval", "Where the long-run share lies, for conditions as in this window. Requests of one burst share their fate, so they count like fewer independent ones, and the interval is wider than a plain one.".to_owned()),
        ("Percentiles", "By nearest rank: a value that some request really had. Over several runs they are of all their values, never combined from those of the runs. p99 is the value that 99 of 100 do not exceed.".to_owned()),
        ("TTFT, TPOT", "Arrival to prefill done; then the time per output token after the first.".to_owned()),
        ("Legs", "An attempt has a prefill leg and, when it came so far, a decode leg. A retry is a new attempt with legs of its own.".to_owned()),
        ("0, hatched, –", "0 is drawn on the base line. Hatched: nothing to measure. –: no value. “Not recorded” names the release from which on journals have it.".to_owned()),
        ("Times", "UTC, estimated from what bounds the clock of each run; Provenance says on what each estimate rests and how far it may be off.".to_owned()),
        ("Sources", "The question under a table or figure, asked of the same selection with the same targets, gives the same numbers: narwhal-jq query NAME.".to_owned()),
    ];
    section(
        "read",
        "How to read this page",
        html! {
            dl.def { @for (term, meaning) in terms { dt { (term) } dd { (meaning) } } }
        },
    )
}
