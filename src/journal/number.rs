//! Numbers, as the writer and others write them, and the tokens that Python writes for none.

use super::decimal;
use super::fault::Repair;
use super::json::{Numeral, Read, Reader};
use super::scan;

/// `fast_float2`, as the standard library, takes an exponent beyond 65535 for one that leads to 0 or infinity.
/// In a number of more digits it need not.
const MAX_FAST: usize = 1 << 15;

impl Reader<'_> {
    /// Reads a number. `None` for what has no number: `NaN`, an infinity, a number beyond a float.
    ///
    /// # Errors
    /// When it is no number, or an integer beyond 64 bits signed.
    #[inline]
    pub fn number(&mut self) -> Read<Option<Numeral>> {
        match self.plain_number() {
            Some(figure) => Ok(Some(figure)),
            None => self.any_number(),
        }
    }

    /// Reads a number as nearly all are: not negative, without an exponent that fails, in one pass over its
    /// digits. `None`, and nothing read, where there is more to say.
    #[inline]
    fn plain_number(&mut self) -> Option<Numeral> {
        /// Any number of so many digits fits 64 bits.
        const SAFE_DIGITS: usize = 18;
        let rest = &self.bytes[self.pos..];
        let mut int = 0;
        let mut len = 0;
        while let Some(digit @ b'0'..=b'9') = rest.get(len)
            && len < SAFE_DIGITS
        {
            int = int * 10 + u64::from(digit - b'0');
            len += 1;
        }
        if len == 0 || (rest[0] == b'0' && len > 1) {
            return None;
        }
        match rest[len..] {
            [b'.', b'0'..=b'9', ..] => {
                let (real, len) = real(rest, int, len + 1).or_else(|| long_real(rest))?;
                self.pos += len;
                Some(Numeral::Real(real))
            }
            [b'.' | b'e' | b'E' | b'0'..=b'9', ..] => None,
            _ => {
                self.pos += len;
                Some(Numeral::Int(int.cast_signed()))
            }
        }
    }

    /// Reads any number, or says what is wrong with it.
    #[cold]
    fn any_number(&mut self) -> Read<Option<Numeral>> {
        let start = self.pos;
        if let Some(repair) = self.no_number() {
            self.repairs.push(repair);
            return Ok(None);
        }
        if self.bytes.get(self.pos) == Some(&b'-') {
            self.pos += 1;
        }
        let whole = self.pos;
        self.digits()?;
        if self.bytes[whole] == b'0' && self.pos > whole + 1 {
            self.pos = whole;
            return Err(self.fault("not JSON: a number with a leading zero".to_owned()));
        }
        let mut real = false;
        if self.bytes.get(self.pos) == Some(&b'.') {
            real = true;
            self.pos += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.pos), Some(b'e' | b'E')) {
            real = true;
            self.pos += 1;
            if matches!(self.bytes.get(self.pos), Some(b'+' | b'-')) {
                self.pos += 1;
            }
            self.digits()?;
        }
        let token = &self.text[start..self.pos];
        if !real {
            return match token.parse() {
                Ok(int) => Ok(Some(Numeral::Int(int))),
                Err(_) => {
                    self.pos = start;
                    Err(self.fault("an integer beyond 64 bits signed".to_owned()))
                }
            };
        }
        // What was read is a number, so only its range can fail.
        let value = if token.len() > MAX_FAST {
            serde_json::from_str(token).ok()
        } else {
            fast_float2::parse::<f64, _>(token).ok()
        };
        if let Some(value) = value.filter(|value| value.is_finite()) {
            return Ok(Some(Numeral::Real(value)));
        }
        let what = "a number beyond a float read as null";
        self.repairs.push(Repair { at: start, what });
        Ok(None)
    }

    /// Reads a token that Python writes for what has no number.
    fn no_number(&mut self) -> Option<Repair> {
        let start = self.pos;
        let is_minus = self.bytes.get(start) == Some(&b'-');
        if !matches!(self.bytes.get(start + usize::from(is_minus)), Some(b'N' | b'I')) {
            return None;
        }
        let tokens = [
            ("NaN", "NaN read as null"),
            ("Infinity", "Infinity read as null"),
            ("-Infinity", "-Infinity read as null"),
        ];
        let (token, what) =
            tokens.into_iter().find(|(token, _)| self.bytes[start..].starts_with(token.as_bytes()))?;
        self.pos += token.len();
        Some(Repair { at: start, what })
    }

    fn digits(&mut self) -> Read<()> {
        let len = self.bytes[self.pos..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.pos += len;
        if len == 0 { Err(self.expected("a digit")) } else { Ok(()) }
    }
}

/// Reads the rest of a number of whole part `int`, from the first digit of its fraction at `from`: its value, and where
/// it ends. `None` where its digits are too many for 64 bits, or its power of ten is a rare one.
#[inline]
fn real(number: &[u8], int: u64, from: usize) -> Option<(f64, usize)> {
    let (mut digits, mut at) = (int, from);
    while let Some(eight) = scan::eight_digits(&number[at..])
        && digits < u64::MAX / 100_000_000
    {
        digits = digits * 100_000_000 + eight;
        at += 8;
    }
    while let Some(digit @ b'0'..=b'9') = number.get(at) {
        if digits >= u64::MAX / 10 {
            return None;
        }
        digits = digits * 10 + u64::from(digit - b'0');
        at += 1;
    }
    let mut exponent = -i32::try_from(at - from).ok()?;
    if let Some(b'e' | b'E') = number.get(at) {
        let [b'-', tens @ b'0'..=b'9', ones @ b'0'..=b'9', behind] = number.get(at + 1..at + 5)? else {
            return None;
        };
        if behind.is_ascii_digit() {
            return None;
        }
        exponent -= i32::from(tens - b'0') * 10 + i32::from(ones - b'0');
        at += 4;
    }
    decimal::nearest(digits, exponent).map(|real| (real, at))
}

/// The same of any length and power; `None` where more than its value is to be told.
#[cold]
fn long_real(number: &[u8]) -> Option<(f64, usize)> {
    let (real, len) = fast_float2::parse_partial::<f64, _>(number).ok()?;
    let is_all = real.is_finite() && !matches!(number.get(len), Some(b'e' | b'E'));
    (is_all && len <= MAX_FAST).then_some((real, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the token is read as the standard library reads it, to its last byte, whatever stands
    /// after it.
    fn assert_read(token: &str) {
        let is_whole = !token.contains(['.', 'e', 'E']);
        for behind in ["", ",", "}", "]", " ", "x", "\"", "-1"] {
            let text = format!("{token}{behind}");
            let mut reader = Reader::new(&text, 0);
            let read = reader.number();
            match (token.parse::<i64>(), token.parse::<f64>().expect("it is a number")) {
                (Ok(int), _) if is_whole => assert_eq!(read, Ok(Some(Numeral::Int(int))), "{text}"),
                (Err(_), _) if is_whole => {
                    assert!(read.is_err() && reader.position() == 0, "{text}: {read:?}");
                    continue;
                }
                (_, real) if real.is_finite() => {
                    let Ok(Some(Numeral::Real(found))) = read else { panic!("{text}: {read:?}") };
                    assert_eq!(found.to_bits(), real.to_bits(), "{text}");
                }
                _ => {
                    assert_eq!(read, Ok(None), "{text}");
                    assert_eq!(reader.repairs.len(), 1, "{text}");
                }
            }
            assert_eq!(reader.position(), token.len(), "{text}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for token in [
            "0",
            "-0",
            "7",
            "-7",
            "0.0",
            "-0.0",
            "0e0",
            "1e5",
            "1E+5",
            "1.5e-05",
            "5e-324",
            "1e400",
            "-1e400",
            "1.7976931348623157e308",
            "2.2250738585072011e-308",
            "9007199254740993.0",
            "999999999999999999",
            "1000000000000000000",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "100000000000000000000",
            "123456789012345678.5",
            "1234567890123456789.5",
        ] {
            assert_read(token);
        }
        let mut state = 1_u64;
        let mut dice = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..20_000 {
            let mut digits = |most: u64| -> String {
                let count = 1 + dice(most);
                (0..count).map(|_| char::from(b'0' + dice(10) as u8)).collect()
            };
            let (whole, fraction, exponent) = (digits(20), digits(30), digits(3));
            let whole = whole.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let sign = ["", "-"][dice(2) as usize];
            let behind = [
                String::new(),
                format!(".{fraction}"),
                format!(".{fraction}e{}{exponent}", ["", "-", "+"][dice(3) as usize]),
                format!("E{exponent}"),
            ];
            assert_read(&format!("{sign}{whole}{}", behind[dice(4) as usize]));
        }
    }

    #[test]
    fn many_digits_may_make_up_for_a_large_exponent() {
        let zeros = |count: usize| "0".repeat(count);
        for (text, value) in [
            (format!("0.{}1e65531", zeros(65_530)), Some(1.0)),
            (format!("0.{}1e655360", zeros(65_530)), None),
            (format!("0.{}1e655360", zeros(655_359)), Some(1.0)),
            (format!("1{}.5e-655360", zeros(65_530)), Some(0.0)),
            (format!("1{}.0e-700000", zeros(700_000)), Some(1.0)),
            (format!("1{}.0e-32000", zeros(32_000)), Some(1.0)),
        ] {
            let read = Reader::new(&text, 0).number();
            assert_eq!(read, Ok(value.map(Numeral::Real)), "{} bytes", text.len());
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "-", "+1", ".5", "1.", "1.,", "-.5", "01", "-01", "00", "00.5", "1.e5", "1e", "1e+", "1.5e",
            "1.5e+", "1.5E-,", "0x10", "1_0", "Inf", "nan", "--1", "- 1", "١",
        ] {
            let mut reader = Reader::new(text, 0);
            let read = reader.number();
            // What is read is a number, and what stands after it cannot stand there.
            let is_cut = matches!(text, "0x10" | "1_0") && reader.position() == 1;
            assert!(read.is_err() || is_cut, "{text}: {read:?}");
        }
    }
}
