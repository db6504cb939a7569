//! Numbers and times as the page shows them. Units stand after a no-break space; [`plain`] undoes that for tooltips.

use chrono::DateTime;

pub(super) use crate::text::many;
use crate::text::{escaped, grouped};

/// What stands where there is no value.
pub(super) const NONE: &str = "–";

/// A share with one decimal; more where it would read 0 or 100 % and is not.
pub(super) fn share(share: f64) -> String {
    let percent = share * 100.0;
    for decimals in 1..9 {
        let text = format!("{percent:.decimals$}");
        let shown: f64 = text.parse().unwrap_or(percent);
        if (shown == 0.0 && percent != 0.0) || (shown == 100.0 && percent != 100.0) {
            continue;
        }
        return match percent {
            0.0 => "0\u{a0}%".to_owned(),
            100.0 => "100\u{a0}%".to_owned(),
            _ => format!("{text}\u{a0}%"),
        };
    }
    if percent < 50.0 { "under 10⁻⁸\u{a0}%".to_owned() } else { "nearly\u{a0}100\u{a0}%".to_owned() }
}

/// A share, or a dash.
pub(super) fn maybe_share(of: Option<f64>) -> String {
    of.map_or_else(|| NONE.to_owned(), share)
}

/// A share as people write a goal: `90 %`, `99.5 %`.
pub(super) fn goal(of: f64) -> String {
    format!("{}\u{a0}%", crate::text::rounded((of * 1e12).round() / 1e10))
}

/// Three significant digits, trailing zeros kept.
fn three(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    // 9.996 becomes 10.00 by that, 0.9996 1.000.
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_below_1 = text.trim_start_matches('-').starts_with("0.");
    if digits > 3 && decimals > 0 && !is_below_1 { format!("{value:.0$}", decimals - 1) } else { text }
}

/// A length of time: µs, ms or s in three digits, from 100 s on minutes, hours, days.
pub(super) fn duration(seconds: f64) -> String {
    let magnitude = seconds.abs();
    let sign = if seconds < 0.0 { "−" } else { "" };
    if magnitude == 0.0 {
        return "0\u{a0}s".to_owned();
    }
    if magnitude < 9.995e-4 {
        return format!("{sign}{}\u{a0}µs", three(magnitude * 1e6));
    }
    if magnitude < 0.9995 {
        return format!("{sign}{}\u{a0}ms", three(magnitude * 1e3));
    }
    if magnitude < 99.95 {
        return format!("{sign}{}\u{a0}s", three(magnitude));
    }
    if magnitude > 1e12 {
        return format!("{sign}{magnitude:.2e}\u{a0}s");
    }
    // Rounded to what is shown: seconds, from 10 min on minutes, from a day on hours.
    let least = match magnitude.round() as u64 {
        0..600 => 1.0,
        600..86_400 => 60.0,
        _ => 3600.0,
    };
    let whole = (least * (magnitude / least).round()) as u64;
    let (days, hours, minutes, seconds) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{sign}{large}\u{a0}{large_unit}"),
        _ => format!("{sign}{large}\u{a0}{large_unit}\u{a0}{small}\u{a0}{small_unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 10..) => format!("{sign}{minutes}\u{a0}min"),
        (0, 0, _) => two(minutes, "min", seconds, "s"),
        (0, ..) => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

/// A length of time, or a dash.
pub(super) fn maybe_duration(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| NONE.to_owned(), duration)
}

/// A length of time without trailing zeros, as for targets and axes: `2 s`, `50 ms`.
pub(super) fn short_duration(seconds: f64) -> String {
    let shown = duration(seconds);
    let Some((number, unit)) = shown.split_once('\u{a0}') else { return shown };
    if !number.contains('.') || unit.contains('\u{a0}') {
        return shown;
    }
    format!("{}\u{a0}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// The width of a bucket: `1 min`, `30 s`, `6 h`.
pub(super) fn width(seconds: i64) -> String {
    for (unit_s, unit) in [(86_400, "d"), (3600, "h"), (60, "min")] {
        if seconds % unit_s == 0 {
            return format!("{}\u{a0}{unit}", seconds / unit_s);
        }
    }
    format!("{seconds}\u{a0}s")
}

/// A count with its thousands apart.
pub(super) fn count(count: i64) -> String {
    match u64::try_from(count) {
        Ok(count) => grouped(count),
        Err(_) => format!("−{}", grouped(count.unsigned_abs())),
    }
}

/// A rate a second; under 0.1 an hour.
pub(super) fn rate(per_s: f64) -> String {
    if per_s == 0.0 {
        return "0/s".to_owned();
    }
    if per_s < 0.1 {
        return format!("{}/h", three(per_s * 3600.0));
    }
    if per_s >= 1000.0 { format!("{}/s", count(per_s.round() as i64)) } else { format!("{per_s:.1}/s") }
}

/// A rate, or a dash.
pub(super) fn maybe_rate(per_s: Option<f64>) -> String {
    per_s.map_or_else(|| NONE.to_owned(), rate)
}

/// How much of a wall time is shown, in UTC.
#[derive(Debug, Clone, Copy)]
pub(super) enum WallDetail {
    /// `14:13`
    Minute,
    /// `14:13:02`
    Second,
    /// `21 Sep`
    Day,
    /// `21 Sep 14:13`
    DayMinute,
    /// `21 Sep 14:13:02`
    DaySecond,
    /// `21 Sep 2026, 14:13`
    YearMinute,
    /// `2026-09-21 14:13:32`
    Whole,
}

/// A wall time, in UTC; none beyond the years that a calendar has.
pub(super) fn moment(unix_s: f64, how: WallDetail) -> Option<String> {
    if !unix_s.is_finite() || unix_s.abs() > 2e11 {
        return None;
    }
    let time = DateTime::from_timestamp(unix_s.floor() as i64, 0)?;
    let form = match how {
        WallDetail::Minute => "%H:%M",
        WallDetail::Second => "%H:%M:%S",
        WallDetail::Day => "%-d\u{a0}%b",
        WallDetail::DayMinute => "%-d\u{a0}%b\u{a0}%H:%M",
        WallDetail::DaySecond => "%-d\u{a0}%b\u{a0}%H:%M:%S",
        WallDetail::YearMinute => "%-d\u{a0}%b\u{a0}%Y,\u{a0}%H:%M",
        WallDetail::Whole => "%Y-%m-%d\u{a0}%H:%M:%S",
    };
    Some(time.format(form).to_string())
}

/// The same with plain spaces, for tooltips.
pub(super) fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// Outside text on the page: hostile characters as `\u{…}`, cut in the middle to so many characters.
pub(super) fn outside(text: &str, longest: usize) -> String {
    let text: String = visible(text);
    let len = text.chars().count();
    if len <= longest {
        return text;
    }
    let head = (longest - 1).div_ceil(2);
    let tail = longest - 1 - head;
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(len - tail).collect();
    format!("{begin}…{end}")
}

/// The same for text whose line ends are our own.
pub(super) fn outside_lines(text: &str) -> String {
    text.split('\n').map(|line| outside(line, MESSAGE)).collect::<Vec<_>>().join("\n")
}

/// Text without characters that hide or reorder others, nor those that no HTML may hold.
fn visible(text: &str) -> String {
    let text = escaped(text);
    if !text.chars().any(is_no_character) {
        return text.into_owned();
    }
    text.chars()
        .map(|c| if is_no_character(c) { format!("\\u{{{:x}}}", c as u32) } else { c.into() })
        .collect()
}

/// Whether a code point is none that text may hold.
fn is_no_character(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || (c as u32) & 0xfffe == 0xfffe
}

/// Caps on the lengths of outside text.
pub(super) const MESSAGE: usize = 160;
pub(super) const ERROR: usize = 120;
pub(super) const ID: usize = 64;
pub(super) const ENGINE: usize = 44;
pub(super) const TITLE: usize = 256;

/// What a miss or a terminal is called.
pub(super) fn kind(name: &str) -> String {
    match name {
        "ttft+tpot" => "TTFT and TPOT over target".to_owned(),
        "tpot" => "TPOT over target".to_owned(),
        "ttft" => "TTFT over target".to_owned(),
        "output_unmeasured" => "output not measured".to_owned(),
        "ttft_unmeasured" => "TTFT not measured".to_owned(),
        "cancelled" => "cancelled before it was measured".to_owned(),
        "refused" | "rejected" | "expired" | "failed" | "invalid" | "completed" => name.to_owned(),
        other => format!("{} (a terminal unknown to this version)", outside(other, ID)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_0_and_100_only_when_they_are() {
        for (value, shown) in [
            (0.0, "0\u{a0}%"),
            (1.0, "100\u{a0}%"),
            (0.655, "65.5\u{a0}%"),
            (0.00001, "0.001\u{a0}%"),
            (0.99999, "99.999\u{a0}%"),
            (0.0004, "0.04\u{a0}%"),
        ] {
            assert_eq!(share(value), shown);
        }
        assert_eq!(goal(0.9), "90\u{a0}%");
        assert_eq!(goal(0.995), "99.5\u{a0}%");
    }

    #[test]
    fn lengths_have_three_digits_and_from_100_s_on_minutes() {
        for (seconds, shown) in [
            (0.0, "0\u{a0}s"),
            (0.000_023, "23.0\u{a0}µs"),
            (0.0288, "28.8\u{a0}ms"),
            (0.202, "202\u{a0}ms"),
            (0.9996, "1.00\u{a0}s"),
            (2.917, "2.92\u{a0}s"),
            (9.996, "10.0\u{a0}s"),
            (99.9, "99.9\u{a0}s"),
            (99.96, "1\u{a0}min\u{a0}40\u{a0}s"),
            (133.0, "2\u{a0}min\u{a0}13\u{a0}s"),
            (1321.0, "22\u{a0}min"),
            (640.5, "11\u{a0}min"),
            (599.6, "10\u{a0}min"),
            (3599.0, "1\u{a0}h"),
            (86_399.0, "1\u{a0}d"),
            (6120.0, "1\u{a0}h\u{a0}42\u{a0}min"),
            (7200.0, "2\u{a0}h"),
            (90_000.0, "1\u{a0}d\u{a0}1\u{a0}h"),
        ] {
            assert_eq!(duration(seconds), shown, "{seconds}");
        }
        assert_eq!(short_duration(2.0), "2\u{a0}s");
        assert_eq!(short_duration(0.05), "50\u{a0}ms");
        assert_eq!(short_duration(7200.0), "2\u{a0}h");
    }

    #[test]
    fn outside_text_is_cut_in_the_middle_and_shows_what_hides() {
        assert_eq!(outside("abcdefghij", 5), "ab…ij");
        assert_eq!(outside("a\u{202e}b\u{0}\u{fffe}", 99), "a\\u{202e}b\\u{0}\\u{fffe}");
        assert_eq!(outside("<b>&", 9), "<b>&");
    }

    #[test]
    fn rates_under_a_tenth_are_by_the_hour() {
        assert_eq!(rate(10.44), "10.4/s");
        assert_eq!(rate(1591.2), "1,591/s");
        assert_eq!(rate(0.01), "36.0/h");
    }
}
