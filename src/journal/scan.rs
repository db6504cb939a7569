//! Runs of bytes, eight bytes at a time.

/// How many bytes there are before the first `"`, `\` or control character.
#[inline]
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The lowest marked byte is right; a borrow can only mark bytes above it wrongly.
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let mut at = 0;
    while let Some((chunk, _)) = bytes[at..].split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let quotes = is_zero(word ^ (ONES * u64::from(b'"')));
        let escapes = is_zero(word ^ (ONES * u64::from(b'\\')));
        let controls = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
        let marks = quotes | escapes | controls;
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    at + bytes[at..].iter().position(stops).unwrap_or(bytes.len() - at)
}

/// The number that the first eight bytes write, when all are digits.
#[inline]
pub(super) fn eight_digits(bytes: &[u8]) -> Option<u64> {
    let (chunk, _) = bytes.split_first_chunk::<8>()?;
    let digits = u64::from_le_bytes(*chunk).wrapping_sub(u64::from_ne_bytes([b'0'; 8]));
    // Above 9 in some byte: 0x76 more, or it itself, sets the top bit. A borrow comes from such a byte only.
    let over = digits.wrapping_add(u64::from_ne_bytes([0x76; 8])) | digits;
    if over & u64::from_ne_bytes([0x80; 8]) != 0 {
        return None;
    }
    // Pairs, then fours, then all; the first byte is the lowest.
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_a_number_and_nothing_else_is() {
        for number in (0..100_000_000_u64).step_by(9973) {
            let text = format!("{number:08}x");
            assert_eq!(eight_digits(text.as_bytes()), Some(number), "{text}");
        }
        for at in 0..8 {
            for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                for digit in [b'0', b'5', b'9'] {
                    let mut text = [digit; 8];
                    text[at] = byte;
                    assert_eq!(eight_digits(&text), None, "{text:?}");
                }
            }
        }
        assert_eq!(eight_digits(b"1234567"), None);
    }

    #[test]
    fn plain_text_ends_at_the_first_quote_escape_or_control_character() {
        let stops = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        let mut state = 1_u32;
        for len in 0..200 {
            let bytes: Vec<u8> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Mostly letters and bytes above ASCII, a stop now and then.
                    match state >> 27 {
                        0 => b'"',
                        1 => b'\\',
                        2 => (state >> 20) as u8 % 0x21,
                        3..8 => 0x80 | (state >> 20) as u8,
                        _ => b' ' + (state >> 20) as u8 % 0x5f,
                    }
                })
                .collect();
            for from in 0..len {
                let expected = bytes[from..].iter().position(stops).unwrap_or(len - from);
                assert_eq!(plain_len(&bytes[from..]), expected, "{:?}", &bytes[from..]);
            }
        }
    }
}
