//! Numbers and hostile text as people and programs may read them.
//!
//! Callers name requests as they like and engines put anything into error messages, so text can
//! hold what moves a cursor, hides or reorders other text.

use std::borrow::Cow;
use std::fmt::Display;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use unicode_width::UnicodeWidthStr;

/// Whether a character may not reach a terminal: control, C1 and bidirectional ones, line and
/// paragraph separators.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Text for a terminal: hostile characters as `\n`, `\u{1b}` and so on.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hostile(c) { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    Cow::Owned(escaped)
}

/// The first so many characters, and `…` for the others.
pub fn cut(text: &str, len: usize) -> Cow<'_, str> {
    match text.char_indices().nth(len) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
    }
}

/// Text in lines of at most so many characters, broken between words; the lines after the first begin with
/// `indent` spaces. A longer word, as a path, stays whole.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut wrapped = String::with_capacity(text.len() + 16);
    let (mut at, mut has_word) = (0, false);
    for (number, word) in text.split(' ').enumerate() {
        let len = word.width();
        if has_word && at + 1 + len > width {
            let _ = write!(wrapped, "\n{:indent$}{word}", "");
            at = indent + len;
        } else {
            has_word |= len > 0;
            let gap = usize::from(number > 0);
            wrapped.push_str(if number > 0 { " " } else { "" });
            wrapped.push_str(word);
            at += gap + len;
        }
    }
    wrapped
}

/// Text as a JSON string, hostile characters as `\u` escapes.
pub fn json_string(text: &str) -> String {
    json_escaped(&serde_json::Value::from(text).to_string())
}

/// JSON with the hostile characters of its strings as `\u` escapes. Line feeds stand between values.
pub fn json_escaped(json: &str) -> String {
    let is_hostile = |c: char| is_hostile(c) && c != '\n';
    if !json.chars().any(is_hostile) {
        return json.to_owned();
    }
    let mut escaped = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        // Every hostile character lies in the basic plane.
        if is_hostile(c) {
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// A text as a word of a shell's command.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Bytes as text; what is not UTF-8 as `\xNN`.
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                let _ = write!(text, "\\x{byte:02X}");
            }
            text
        })),
    }
}

/// The path of a file, as messages have it.
pub trait PathText {
    /// As text that no terminal acts on, what is not UTF-8 as `\xNN`.
    fn as_text(&self) -> String;
}

impl PathText for Path {
    fn as_text(&self) -> String {
        escaped(&from_bytes(self.as_os_str().as_bytes())).into_owned()
    }
}

/// Whether a spreadsheet may take a text cell for a formula: also one in full width or small forms, which
/// some take for ASCII, or after what they pass over and what has no width. After a plain space it is text
/// to them.
pub fn is_formula(text: &str) -> bool {
    let begins = text.trim_start_matches(|c: char| {
        (c.is_whitespace() && c != ' ')
            || c.is_control()
            || matches!(c, '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
                | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
    });
    text.starts_with(['\t', '\r', '\n'])
        || begins.starts_with(['=', '+', '-', '@'])
        || begins.starts_with(['\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}'])
        || begins.starts_with(['\u{FE66}', '\u{FE62}', '\u{FE63}', '\u{FE6B}'])
}

/// A number in full precision: read again, it is the same.
pub fn full(real: f64) -> String {
    serde_json::Number::from_f64(real).map_or_else(|| real.to_string(), |number| number.to_string())
}

/// What a figure of a window is no promise of.
pub const SPEAKS_FOR: &str = "speaks for conditions as in this window; a burst or outage that it did not contain is not in it, and with fewer \
     than about 8 ups and downs in it the interval is too narrow";

/// A count with its thousands apart.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something, whose name is that of one: `1 run`, `3 runs`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    format!("{count} {one}{}", if count == N::from(1) { "" } else { "s" })
}

/// The same with its thousands apart, and of names that take no s: `1 breach`, `1,200 breaches`.
pub fn many(count: usize, one: &str, more: &str) -> String {
    format!("{} {}", grouped(count as u64), if count == 1 { one } else { more })
}

/// A number for eyes: up to six decimals, or three significant digits of a small one.
pub fn rounded(real: f64) -> String {
    if real != 0.0 && real.abs() < 1e-3 {
        let decimals = (2.0 - real.abs().log10().floor()).min(30.0) as usize;
        return format!("{real:.decimals$}");
    }
    if real.abs() >= 1e15 {
        return full(real);
    }
    let text = format!("{real:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The same, and read again not below the number: a limit that holds with it.
pub fn rounded_up(real: f64) -> String {
    let text = rounded(real);
    if !real.is_finite() || text.parse::<f64>().is_ok_and(|read| read >= real) {
        return text;
    }
    let decimals = text.split_once('.').map_or(6, |(_, decimals)| decimals.len().max(6));
    let unit = 10_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    let text = format!("{:.decimals$}", (real * unit).ceil() / unit);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.parse::<f64>().is_ok_and(|read| read >= real) { text.to_owned() } else { full(real) }
}

/// A number for eyes in three significant digits, whole ones in full.
pub fn short(real: f64) -> String {
    if real == 0.0 || !real.is_finite() {
        return if real == 0.0 { "0".to_owned() } else { real.to_string() };
    }
    let rounded: f64 = format!("{real:.2e}").parse().unwrap_or(real);
    let magnitude = rounded.abs().log10().floor();
    if !(-9.0..15.0).contains(&magnitude) {
        return format!("{real:.2e}");
    }
    let decimals = (2.0 - magnitude).max(0.0) as usize;
    let text = format!("{real:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Seconds for eyes, to the microsecond.
pub fn micros(seconds: f64) -> String {
    let text = format!("{seconds:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Unix seconds as `YYYY-MM-DDTHH:MM:SSZ`; none beyond the years that have four digits.
pub fn wall_time(unix_s: f64) -> Option<String> {
    let time = chrono::DateTime::from_timestamp(unix_s.floor() as i64, 0)?;
    let text = time.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    (text.len() == 20).then_some(text)
}

/// A 95 % interval with both ends, as people read it beside a value.
pub fn interval(low: impl Display, high: impl Display) -> String {
    format!("(95 %: {low} to {high})")
}

/// An interval of which an end may be missing; none where both are.
pub fn interval_or_bound(low: Option<String>, high: Option<String>) -> Option<String> {
    Some(match (low, high) {
        (Some(low), Some(high)) => interval(low, high),
        (Some(low), None) => format!("(at least {low}; no upper end)"),
        (None, Some(high)) => format!("(at most {high}; no lower end)"),
        (None, None) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!([0, 1, 2].map(|count| counted(count, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn three_digits_are_enough_for_eyes() {
        for (real, shown) in [
            (0.0, "0"),
            (0.0429294503477, "0.0429"),
            (-0.1, "-0.1"),
            (0.9996, "1"),
            (12345.6, "12346"),
            (2.904, "2.9"),
            (0.0000123, "0.0000123"),
            (99.96, "100"),
        ] {
            assert_eq!(short(real), shown);
        }
    }

    #[test]
    fn a_target_is_rounded_up() {
        for (real, shown) in [
            (1.99864434, "1.998645"),
            (2.005739_7, "2.00574"),
            (0.958, "0.958"),
            (0.0, "0"),
            (0.000_123_41, "0.000124"),
            (2.0, "2"),
            (-1.00000049, "-1"),
        ] {
            assert_eq!(rounded_up(real), shown);
        }
        let mut real = 1e-7_f64;
        while real < 1e17 {
            assert!(
                rounded_up(real).parse::<f64>().is_ok_and(|read| read >= real && read <= real * 1.02),
                "{real}"
            );
            real *= 1.37;
        }
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7, 2), "one two\n  three");
        assert_eq!(wrapped("a /very/long/path b", 6, 2), "a\n  /very/long/path\n  b");
        assert_eq!(wrapped("two  spaces", 80, 2), "two  spaces");
    }

    #[test]
    fn hostile_characters_are_escaped_and_others_are_not() {
        let hostile = "a\u{1b}[31m\n\u{202e}b\u{85}\u{2028}é日";
        assert_eq!(escaped(hostile), "a\\u{1b}[31m\\n\\u{202e}b\\u{85}\\u{2028}é日");
        assert_eq!(json_string(hostile), "\"a\\u001b[31m\\n\\u202eb\\u0085\\u2028é日\"");
        assert_eq!(from_bytes(b"a\xff\xc3\xa9"), "a\\xFFé");
    }

    #[test]
    fn text_that_a_spreadsheet_would_run_is_known() {
        for text in [
            "=1+1",
            "+a",
            "-5",
            "@x",
            "\tx",
            "\r=1",
            "\nx",
            "\n=1",
            "＝1",
            "＋1",
            "－1",
            "＠x",
            "﹦1",
            "﹢1",
            "﹣1",
            "﹫x",
            "\u{FEFF}=1",
            "\u{200B}\u{A0}＝1",
            "\u{3000}-1",
            "\0=1",
        ] {
            assert!(is_formula(text), "{text:?}");
        }
        for text in ["", "a=1", "007", "'=1", " =1", " a", "\u{FEFF}a", "1-5", "é"] {
            assert!(!is_formula(text), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_full_for_programs_and_rounded_for_eyes() {
        for (real, all, eyes) in [
            (0.019927882000047248, "0.019927882000047248", "0.019928"),
            (2.5247999928e-5, "0.000025247999928", "0.0000252"),
            (5.0, "5.0", "5"),
            (0.0, "0.0", "0"),
            (-12.5, "-12.5", "-12.5"),
            (3734.172542443, "3734.172542443", "3734.172542"),
        ] {
            assert_eq!((full(real).as_str(), rounded(real).as_str()), (all, eyes));
        }
    }
}
