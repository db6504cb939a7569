//! The numbers behind all figures over time, a row a bucket.

use maud::Markup;

use super::buckets::begin_shown;
use crate::report::figures::Figures;
use crate::report::figures::series::Bucket;
use crate::report::parts::{dense, details};
use crate::report::words;
use crate::report::words::many;

/// The numbers behind all figures over time.
pub(super) fn table(figures: &Figures) -> Markup {
    let is_wall = figures.axis.is_wall;
    let mut heads: Vec<(String, bool)> = Vec::new();
    let mut head = |name: &str| heads.push((name.to_owned(), false));
    if !is_wall {
        head("Run");
    }
    head("Time");
    if !is_wall {
        head("+ s");
    }
    for name in [
        "Offered",
        "/s",
        "Completed",
        "Scored",
        "Met",
        "Met, %",
        "Away",
        "Failed",
        "TTFT p50, s",
        "p90",
        "p99",
    ] {
        head(name);
    }
    for name in ["TPOT p50, ms", "p90", "p99"] {
        head(name);
    }
    for stage in &figures.series.stages {
        head(&format!("Wait: {stage} p99, ms"));
    }
    for name in ["Failed legs: prefill", "decode"] {
        head(name);
    }
    let heads_as: Vec<(&str, bool)> =
        heads.iter().map(|(name, is_words)| (name.as_str(), *is_words)).collect();
    let rows = rows(figures, heads.len());
    let summary = format!(
        "Numbers behind the plots over time, {}",
        many(figures.series.buckets.len(), "bucket", "buckets")
    );
    details(&summary, dense(&heads_as, rows.into_iter()))
}

fn rows(figures: &Figures, width: usize) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for column in &figures.axis.columns {
        let mut number = 0;
        while number < column.buckets {
            let at = column.offset + number;
            let idle = (number..column.buckets)
                .take_while(|number| figures.series.buckets[column.offset + number].is_idle())
                .count();
            let mut row = lead_cells(figures, column.run, at);
            if idle > 0 {
                row.push(if idle == 1 { "no requests".to_owned() } else { format!("no requests in {idle}") });
                row.resize(width, String::new());
                rows.push(row);
                number += idle;
                continue;
            }
            row.extend(cells(figures, &figures.series.buckets[at]));
            rows.push(row);
            number += 1;
        }
    }
    rows
}

fn lead_cells(figures: &Figures, run: Option<usize>, bucket: usize) -> Vec<String> {
    let (rel_s, wall_s) = figures.axis.begin(bucket);
    let wall = wall_s.and_then(|wall_s| words::moment(wall_s, begin_shown(&figures.axis)));
    let wall = wall.unwrap_or_else(|| words::NONE.to_owned());
    match run {
        None => vec![wall],
        Some(run) => vec![(run + 1).to_string(), wall, rel_s.to_string()],
    }
}

fn cells(figures: &Figures, bucket: &Bucket) -> Vec<String> {
    let none = || words::NONE.to_owned();
    let sum = |counts: &[i64]| counts.iter().sum::<i64>().to_string();
    let scaled =
        |value: Option<f64>, by: f64| value.map_or_else(none, |value| crate::text::short(value * by));
    let is_scored = figures.targets().is_some();
    let scored = |count: i64| if is_scored { count.to_string() } else { none() };
    let mut cells = vec![
        bucket.offered.to_string(),
        format!("{:.1}", bucket.offered_per_s),
        bucket.completed.to_string(),
        scored(bucket.scored),
        scored(bucket.met),
        bucket.attainment.map_or_else(none, |attainment| format!("{:.1}", 100.0 * attainment)),
        sum(&bucket.away),
        sum(&bucket.failed),
    ];
    cells.extend([bucket.ttft.p50, bucket.ttft.p90, bucket.ttft.p99].map(|value| scaled(value, 1.0)));
    cells.extend([bucket.tpot.p50, bucket.tpot.p90, bucket.tpot.p99].map(|value| scaled(value, 1e3)));
    cells.extend(bucket.waits.iter().map(|found| scaled(found.p99, 1e3)));
    cells.extend(bucket.failed_legs.map(|legs| legs.to_string()));
    cells
}
