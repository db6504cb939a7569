//! Times and lengths of time as people write them. Nothing is guessed: what has two readings is refused
//! with the form that is wanted.

use chrono::{DateTime, Days, Local, LocalResult, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};

/// A moment of wall time, and how it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Unix seconds.
    pub unix_s: f64,
    /// As the user wrote it.
    pub text: String,
}

/// The forms of [`moment`], for messages and help.
pub const FORMS: &str = "2026-11-29T14:05Z (UTC), \"2026-11-29 14:05\" or 14:05 today (local time), a date, yesterday, \
     \"yesterday 14:05\", or an age such as 90s, 5m, 2h, 7d";

/// Reads a moment: one of [`FORMS`]. Ages and the time of day are held against `now`.
///
/// # Errors
/// In words: another form, a time of day that has not come yet, a local time that occurs twice or never.
pub fn moment(text: &str, now: DateTime<Utc>) -> Result<Moment, String> {
    moment_in(&Local, text.trim(), now).map(|unix_s| Moment { unix_s, text: text.to_owned() })
}

/// As [`moment`], with local time as another place has it.
fn moment_in<Z: TimeZone>(zone: &Z, text: &str, now: DateTime<Utc>) -> Result<f64, String> {
    let today = now.with_timezone(zone).date_naive();
    let yesterday = today.checked_sub_days(Days::new(1)).ok_or_else(|| wrong(text))?;
    if text == "now" {
        return Ok(unix_s(&now));
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(unix_s(&time));
    }
    if let Some(time) = without_seconds(text) {
        return Ok(unix_s(&time));
    }
    if let Some(time) = time_of_day(text) {
        let at = local(zone, today.and_time(time), text)?;
        if at > unix_s(&now) {
            return Err(format!(
                "{text:?} is later than now: yesterday's is \"yesterday {text}\", another day's has a date before it"
            ));
        }
        return Ok(at);
    }
    if let Some((day, time)) = text.split_once([' ', 'T']) {
        let day = date(day, today, yesterday).ok_or_else(|| wrong(text))?;
        let time = time_of_day(time.trim()).ok_or_else(|| wrong(text))?;
        return local(zone, day.and_time(time), text);
    }
    if let Some(day) = date(text, today, yesterday) {
        return first_moment(zone, day, text);
    }
    match length(text) {
        Ok(age_s) if text.ends_with(|last: char| last.is_ascii_alphabetic()) => Ok(unix_s(&now) - age_s),
        _ => Err(wrong(text)),
    }
}

fn wrong(text: &str) -> String {
    format!("{text:?} is no time: write {FORMS}")
}

/// A time as Unix seconds.
pub fn unix_s<Z: TimeZone>(time: &DateTime<Z>) -> f64 {
    time.timestamp() as f64 + f64::from(time.timestamp_subsec_nanos()) / 1e9
}

/// A date and a time with its zone that leaves the seconds out, which RFC 3339 does not allow.
fn without_seconds(text: &str) -> Option<DateTime<Utc>> {
    if let Some(utc) = text.strip_suffix(['Z', 'z']) {
        let (day, time) = utc.split_once(['T', ' '])?;
        return Some(day_of(day)?.and_time(time_of_day(time)?).and_utc());
    }
    ["%Y-%m-%dT%H:%M%:z", "%Y-%m-%d %H:%M%:z"]
        .into_iter()
        .find_map(|form| DateTime::parse_from_str(text, form).ok())
        .map(|time| time.to_utc())
}

fn time_of_day(text: &str) -> Option<NaiveTime> {
    let is_known = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
    let forms = ["%H:%M", "%H:%M:%S%.f"];
    forms.into_iter().filter(|_| is_known).find_map(|form| NaiveTime::parse_from_str(text, form).ok())
}

fn day_of(text: &str) -> Option<NaiveDate> {
    // Four digits of a year: chrono would take fewer.
    let is_whole = text.len() == 10 && text.as_bytes()[4] == b'-';
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(|_| is_whole)
}

fn date(text: &str, today: NaiveDate, yesterday: NaiveDate) -> Option<NaiveDate> {
    match text {
        "today" => Some(today),
        "yesterday" => Some(yesterday),
        text => day_of(text),
    }
}

/// The Unix second of a local time that occurs once.
fn local<Z: TimeZone>(zone: &Z, time: NaiveDateTime, text: &str) -> Result<f64, String> {
    match zone.from_local_datetime(&time) {
        LocalResult::Single(time) => Ok(unix_s(&time)),
        LocalResult::Ambiguous(..) => Err(format!(
            "{text:?} occurs twice in local time, because the clocks are set back: write it in UTC, as in \
             2026-11-29T14:05Z"
        )),
        LocalResult::None => Err(format!(
            "{text:?} does not occur in local time, because the clocks are set forward: write it in UTC, as in \
             2026-11-29T14:05Z"
        )),
    }
}

/// The first moment of a local day: where clocks are set at midnight it is not 00:00.
fn first_moment<Z: TimeZone>(zone: &Z, day: NaiveDate, text: &str) -> Result<f64, String> {
    (0..24 * 4)
        .map(|quarter| day.and_time(NaiveTime::MIN) + chrono::TimeDelta::minutes(15 * quarter))
        .find_map(|time| zone.from_local_datetime(&time).earliest())
        .map(|time| unix_s(&time))
        .ok_or_else(|| wrong(text))
}

/// Reads a length of time in seconds: a number of them from 0, or numbers with units as in `5m` or `1h30m`.
///
/// # Errors
/// In words.
pub fn length(text: &str) -> Result<f64, String> {
    let wrong = || {
        format!(
            "{text:?} is no length of time: write seconds, or numbers with units as in 90s, 5m, 1h30m, 7d"
        )
    };
    let is_plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.parse::<f64>().ok().filter(|seconds| seconds.is_finite()).ok_or_else(wrong);
    }
    if let (Ok(seconds), true) = (text.parse::<f64>(), text.contains(['e', 'E'])) {
        return if seconds.is_finite() && seconds >= 0.0 { Ok(seconds) } else { Err(wrong()) };
    }
    // `M` and `y` are months and years elsewhere, whose length is a matter of opinion.
    let units = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|unit| !unit.is_empty());
    if !units.clone().all(|unit| UNITS.contains(&unit)) {
        return Err(wrong());
    }
    humantime::parse_duration(text).map(|length| length.as_secs_f64()).map_err(|_| wrong())
}

/// The units of [`length`].
const UNITS: [&str; 18] = [
    "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h", "hour",
    "hours", "d", "day", "days", "w",
];

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::FixedOffset;

    fn now() -> DateTime<Utc> {
        "2026-11-30T12:00:00Z".parse().expect("a time")
    }

    fn at(text: &str) -> Result<f64, String> {
        moment_in(&FixedOffset::east_opt(3600).expect("a zone"), text, now())
    }

    #[test]
    fn a_time_is_read_in_each_of_its_forms() {
        // `date -u -d ... +%s`; the local zone is one hour east.
        for (text, unix_s) in [
            ("2026-11-29T14:05Z", 1795961100.0),
            ("2026-11-29 14:05Z", 1795961100.0),
            ("2026-11-29T14:05:30.5Z", 1795961130.5),
            ("2026-11-29T14:05+02:00", 1795953900.0),
            ("2026-11-29 14:05", 1795957500.0),
            ("2026-11-29T14:05", 1795957500.0),
            ("2026-11-29 14:05:01", 1795957501.0),
            ("12:59", 1796039940.0),
            ("2026-11-29", 1795906800.0),
            ("yesterday", 1795906800.0),
            ("today", 1795993200.0),
            ("yesterday 14:05", 1795957500.0),
            ("now", 1796040000.0),
            ("90s", 1796040000.0 - 90.0),
            ("1h30m", 1796040000.0 - 5400.0),
            ("7d", 1796040000.0 - 7.0 * 86400.0),
        ] {
            assert_eq!(at(text), Ok(unix_s), "{text}");
        }
    }

    #[test]
    fn a_time_that_could_mean_two_things_is_refused_with_the_form_wanted() {
        let two_readings = [
            "02/03/2026",
            "29.11.2026",
            "2026-11-31",
            "14",
            "14h05",
            "5M",
            "1y",
            "",
            "26-11-29",
            "-5m",
            "5 m ago",
            "2026-1-2",
            "14:05:99",
            "24:00",
            "1795961100",
            "inf",
            "nan",
            "tomorrow",
        ];
        for text in two_readings {
            let error = at(text).expect_err(text);
            assert!(error.contains("is no time: write 2026-11-29T14:05Z"), "{text}: {error}");
        }
        let later = at("13:01").expect_err("one minute from now");
        assert!(later.contains("later than now: yesterday's is \"yesterday 13:01\""), "{later}");
    }

    #[test]
    fn a_length_is_seconds_or_numbers_with_units() {
        for (text, seconds) in [
            ("0", 0.0),
            ("2", 2.0),
            ("1.5", 1.5),
            ("1e3", 1000.0),
            ("5m", 300.0),
            ("1h30m", 5400.0),
            ("250ms", 0.25),
            ("2d", 172_800.0),
        ] {
            assert_eq!(length(text), Ok(seconds), "{text}");
        }
        for text in ["", "-1", "5x", "1M", "m", "1e999", "inf", "NaN", "5 apples", "1y"] {
            assert!(length(text).is_err(), "{text}");
        }
    }
}
