//! What a column's numbers are, from the unit in the query's header, where that changes how they are shown.

use chrono::{DateTime, SecondsFormat};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColumnKind {
    /// What the cells say.
    #[default]
    Plain,
    /// Shares: unit `ratio`.
    Ratio,
    /// Points in time, as Unix seconds or ISO 8601 text: units `time` and `UTC`.
    Time,
}

impl ColumnKind {
    /// The kind of a column with this unit.
    pub fn of_unit(unit: &str) -> Self {
        match unit {
            "ratio" => Self::Ratio,
            "time" | "UTC" => Self::Time,
            _ => Self::Plain,
        }
    }

    /// The kind of a table's column, which has no unit, by its name.
    pub fn of_table_column(name: &str) -> Self {
        match name {
            name if is_told(name) => Self::Time,
            _ => Self::Plain,
        }
    }
}

/// Whether a time of this name was told, and not worked out from a run's estimated clock.
pub fn is_told(name: &str) -> bool {
    ["started_at", "saved_at", "forgotten_at"].contains(&name)
}

/// Unix seconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`; `None` outside of the years 1 to 9999, which that form has no
/// room for.
pub fn iso_time(unix_s: f64) -> Option<String> {
    let millis = (unix_s * 1e3).round();
    // 0001-01-01 and 10000-01-01.
    if !(-62_135_596_800_000.0..253_402_300_800_000.0).contains(&millis) {
        return None;
    }
    let time = DateTime::from_timestamp_millis(millis as i64)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// The Unix seconds of an ISO 8601 time with its offset from UTC.
pub fn unix_seconds(iso: &str) -> Option<f64> {
    let time = DateTime::parse_from_rfc3339(iso).ok()?;
    Some(time.timestamp_micros() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_date_tells_them() {
        // `date -u -d @N +%FT%T.%3NZ`
        for (unix_s, iso) in [
            (1_795_977_782.25, Some("2026-11-29T18:43:02.250Z")),
            (0.0, Some("1970-01-01T00:00:00.000Z")),
            (-0.0004, Some("1970-01-01T00:00:00.000Z")),
            (-62_135_596_800.0, Some("0001-01-01T00:00:00.000Z")),
            (253_402_300_799.999, Some("9999-12-31T23:59:59.999Z")),
            (253_402_300_800.0, None),
            (-62_135_596_801.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(iso_time(unix_s).as_deref(), iso, "{unix_s}");
        }
        assert_eq!(unix_seconds("2026-11-29T18:43:02.25Z"), Some(1_795_977_782.25));
        assert_eq!(unix_seconds("d0"), None);
    }
}
