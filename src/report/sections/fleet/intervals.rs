//! The intervals of the fleet as a table.

use maud::{Markup, html};

use crate::report::figures::Figures;
use crate::report::figures::fleet::What;
use crate::report::parts::{dense, details};
use crate::report::words;
use crate::report::words::{WallDetail, count, duration};

/// So many intervals stand in the table behind the figure.
const MOST_ROWS: usize = 500;

pub(super) fn intervals(figures: &Figures) -> Markup {
    let all = &figures.fleet.intervals;
    if all.is_empty() {
        return html! {};
    }
    let heads = [
        ("Run", false),
        ("What", true),
        ("Engine", true),
        ("Cause", true),
        ("From", true),
        ("Into the run, s", false),
        ("Length", false),
        ("Open", true),
    ];
    let rows = all.iter().take(MOST_ROWS).map(|interval| {
        let run = &figures.runs[interval.run];
        let none = || words::NONE.to_owned();
        let what = match &interval.what {
            What::Ejected => "ejected".to_owned(),
            What::Timed => "timed hold".to_owned(),
            What::Inference => "inference hold".to_owned(),
            What::OtherHold(kind) => format!("{} hold", words::outside(kind, 32)),
            What::Floor { live, least } => format!("floor: {live} live, {least} needed"),
            What::Degraded(words) => format!("monitoring: {}", words::outside(words, words::ID)),
        };
        let outside = |text: &Option<String>, most: usize| {
            text.as_deref().map_or_else(none, |text| words::outside(text, most))
        };
        let wall =
            interval.from_s.and_then(|from_s| words::moment(run.wall_s(from_s)?, WallDetail::DaySecond));
        vec![
            (interval.run + 1).to_string(),
            what,
            outside(&interval.engine, words::ENGINE),
            outside(&interval.cause, words::ID),
            wall.unwrap_or_else(none),
            interval.from_s.map_or_else(none, |from_s| format!("{from_s:.1}")),
            interval.length_s.map_or_else(none, duration),
            if interval.is_open { "open".to_owned() } else { String::new() },
        ]
    });
    let summary = match all.len() {
        len if len > MOST_ROWS => {
            format!("Intervals behind this plot (the first {MOST_ROWS} of {})", count(len as i64))
        }
        len => format!("Intervals behind this plot ({len})"),
    };
    details(&summary, dense(&heads, rows))
}
