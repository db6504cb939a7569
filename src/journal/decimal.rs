//! The float nearest to a decimal number, from its digits and its power of ten, which whoever has passed over the
//! digits knows already. By Lemire, "Number parsing at a gigabyte per second" (2021): one multiplication by a power
//! of five of 128 bits settles the 53 bits of nearly every float.

/// The least power of ten that is taken. With -27 to 55 the product never leaves the rounding open.
const LEAST: i32 = -27;

/// 5^q for q from [`LEAST`] to 0, as the 128 bits that lead: below 0 the reciprocal, rounded up.
const POWERS: [u128; 28] = {
    let mut powers = [1 << 127; 28];
    let mut five = 1_u64;
    let mut q = 1;
    while q < powers.len() {
        five *= 5;
        // 2^(127 + bits of 5^q) / 5^q, digit by binary digit.
        let mut places = 127 + (64 - five.leading_zeros());
        let (mut quotient, mut rest) = (0_u128, 1_u64);
        while places > 0 {
            rest *= 2;
            quotient = quotient << 1 | (rest >= five) as u128;
            if rest >= five {
                rest -= five;
            }
            places -= 1;
        }
        powers[powers.len() - 1 - q] = quotient + 1;
        q += 1;
    }
    powers
};

/// The float nearest to `digits * 10^exponent`, ties to even. `None` where this does not know it.
#[inline]
pub(super) fn nearest(digits: u64, exponent: i32) -> Option<f64> {
    const MANTISSA_BITS: u32 = 52;
    let power = *POWERS.get(usize::try_from(exponent - LEAST).ok()?)?;
    if digits == 0 {
        return Some(0.0);
    }
    let zeros = digits.leading_zeros();
    let digits = digits << zeros;
    let product = u128::from(digits) * (power >> 64);
    let (mut high, mut low) = ((product >> 64) as u64, product as u64);
    // Where the lower half of the power could carry into the bits that count.
    if high & 0x1ff == 0x1ff {
        let second = (u128::from(digits) * (power & u128::from(u64::MAX))) >> 64;
        let (sum, is_over) = low.overflowing_add(second as u64);
        low = sum;
        high += u64::from(is_over);
    }
    let upper = (high >> 63) as u32;
    let shift = upper + 64 - MANTISSA_BITS - 3;
    let mut mantissa = high >> shift;
    // floor(q * log2(10)) + 63, biased.
    let mut binary = ((exponent * 217_706) >> 16) + 63 + upper.cast_signed() - zeros.cast_signed() + 1023;
    // Halfway between two floats, and nothing after it: to the even one.
    if low <= 1 && exponent >= -4 && mantissa & 3 == 1 && mantissa << shift == high {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if mantissa >> (MANTISSA_BITS + 1) != 0 {
        mantissa >>= 1;
        binary += 1;
    }
    let fraction = mantissa & ((1 << MANTISSA_BITS) - 1);
    Some(f64::from_bits(fraction | u64::from(binary.cast_unsigned()) << MANTISSA_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the standard library reads it.
    fn expected(digits: u64, exponent: i32) -> f64 {
        format!("{digits}e{exponent}").parse().expect("a number")
    }

    fn assert_nearest(digits: u64, exponent: i32) {
        let found = nearest(digits, exponent).map(f64::to_bits);
        assert_eq!(found, Some(expected(digits, exponent).to_bits()), "{digits}e{exponent}");
    }

    #[test]
    fn what_is_found_is_nearest() {
        let mut state = 7_u64;
        let mut dice = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 1 ^ state << 33
        };
        for exponent in LEAST..=0 {
            for digits in [0, 1, 2, 3, 5, 9, 10, u64::MAX, u64::MAX - 1, 1 << 53, (1 << 53) + 1, 1 << 63] {
                assert_nearest(digits, exponent);
            }
            for _ in 0..3_000 {
                let digits = dice();
                assert_nearest(digits >> (dice() % 64), exponent);
                // As Python writes them.
                assert_nearest(digits % 100_000_000_000_000_000, exponent);
            }
        }
    }

    #[test]
    fn halfway_is_to_even() {
        for bits in 0..2_000_u64 {
            // 54 bits, the last of them set: halfway; then a little beside that.
            let halfway = ((1 << 53) + 7919 * bits) | 1;
            for q in 0..=4 {
                let Some(digits) = halfway.checked_mul(5_u64.pow(q)) else { continue };
                for digits in [digits - 1, digits, digits + 1] {
                    assert_nearest(digits, -q.cast_signed());
                }
            }
        }
    }

    #[test]
    fn other_powers_are_left_alone() {
        for exponent in [i32::MIN / 2, LEAST - 1, 1, i32::MAX / 2] {
            assert_eq!(nearest(5, exponent), None);
        }
    }
}
