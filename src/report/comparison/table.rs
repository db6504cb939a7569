//! The verdicts, a row a figure.

use maud::{Markup, html};

use crate::query::compare::{Family, Pair};
use crate::query::figures::Figure as Found;
use crate::report::parts::{Col, Table, source};
use crate::report::words;
use crate::report::words::{duration, share};

/// So many figures of a family stand in its table: those that differ first.
const MOST: usize = 120;

pub(super) fn family(family: &Family, heading: &str) -> Markup {
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
