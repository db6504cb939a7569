//! What is read off the buckets of each column: curves, stretches, and what is told of each on hover.

use crate::report::figures::Figures;
use crate::report::figures::axis::Axis;
use crate::report::figures::series::Bucket;
use crate::report::plot::{Band, Hit, area, stepped};
use crate::report::words;
use crate::report::words::{WallDetail, plain};

/// What is read off the buckets of each column.
pub(super) fn by_column<T>(figures: &Figures, read: impl Fn(&Bucket) -> T) -> Vec<Vec<T>> {
    let of = |column: &crate::report::figures::axis::AxisColumn| {
        figures.series.buckets[column.offset..column.offset + column.buckets].iter().map(&read).collect()
    };
    figures.axis.columns.iter().map(of).collect()
}

/// Stretches of buckets of each column that something is true of.
pub(super) fn bands(figures: &Figures, is: impl Fn(&Bucket) -> bool) -> Vec<Vec<Band>> {
    let stretches = |flags: Vec<bool>| {
        let mut bands: Vec<Band> = Vec::new();
        for (at, flag) in flags.into_iter().enumerate() {
            match bands.last_mut() {
                Some((from, len)) if flag && *from + *len == at => *len += 1,
                _ if flag => bands.push((at, 1)),
                _ => {}
            }
        }
        bands
    };
    by_column(figures, is).into_iter().map(stretches).collect()
}

/// Lines of steps in each column.
pub(super) fn lines(figures: &Figures, place: impl Fn(&Bucket) -> Option<f64>) -> Vec<String> {
    by_column(figures, place).iter().map(|places| stepped(places)).collect()
}

/// Areas in each column.
pub(super) fn areas(
    figures: &Figures,
    upper: impl Fn(&Bucket) -> Option<f64>,
    lower: impl Fn(&Bucket) -> Option<f64>,
) -> Vec<String> {
    let (upper, lower) = (by_column(figures, upper), by_column(figures, lower));
    upper.iter().zip(&lower).map(|(upper, lower)| area(upper, lower)).collect()
}

/// How much of its wall time tells the begin of a bucket from that of any other.
pub(super) fn begin_shown(axis: &Axis) -> WallDetail {
    match (axis.is_wall || axis.bucket_s >= 3600, axis.bucket_s < 60) {
        (true, true) => WallDetail::DaySecond,
        (true, false) => WallDetail::DayMinute,
        (false, true) => WallDetail::Second,
        (false, false) => WallDetail::Minute,
    }
}

/// When a bucket begins, and of which run it is.
pub(super) fn when(figures: &Figures, bucket: usize) -> String {
    let (rel_s, wall_s) = figures.axis.begin(bucket);
    let (column, _) = figures.axis.column_of(bucket);
    let run = figures.axis.columns[column].run;
    let wall = wall_s.and_then(|wall_s| words::moment(wall_s, begin_shown(&figures.axis)));
    let end = if figures.series.buckets[bucket].is_end {
        if figures.axis.is_wall { " (a run’s end)" } else { " (its end)" }
    } else {
        ""
    };
    let text = match (wall, run) {
        (Some(wall), Some(run)) => format!("{wall}, run {}{end}", run + 1),
        (Some(wall), None) => format!("{wall} UTC{end}"),
        (None, Some(run)) => format!("run {} +{rel_s} s{end}", run + 1),
        (None, None) => format!("+{rel_s} s{end}"),
    };
    plain(&text)
}

/// What is told of each bucket; idle stretches as one.
pub(in crate::report::sections) fn hits(
    figures: &Figures,
    told: impl Fn(&Figures, &Bucket) -> String,
) -> Vec<Vec<Hit>> {
    let of = |column: &crate::report::figures::axis::AxisColumn| {
        let mut hits: Vec<Hit> = Vec::new();
        let mut idle_from = None;
        for number in 0..column.buckets {
            let at = column.offset + number;
            let bucket = &figures.series.buckets[at];
            if bucket.is_idle() {
                let from = *idle_from.get_or_insert(number);
                let next_is_idle = number + 1 < column.buckets && figures.series.buckets[at + 1].is_idle();
                if !next_is_idle {
                    let title = match number - from {
                        0 => format!("{}\nno requests", when(figures, at)),
                        more => {
                            format!("{} and {more} more\nno requests", when(figures, column.offset + from))
                        }
                    };
                    hits.push(Hit { from, buckets: number - from + 1, title });
                    idle_from = None;
                }
                continue;
            }
            hits.push(Hit {
                from: number,
                buckets: 1,
                title: format!("{}\n{}", when(figures, at), told(figures, bucket)),
            });
        }
        hits
    };
    figures.axis.columns.iter().map(of).collect()
}
