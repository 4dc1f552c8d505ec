//! Decimals and integers past 64 bits as text.

use super::number::IntegerError;
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer};

/// Appends an integer of any width in decimal.
#[inline]
pub fn append_any_integer<T: Integer>(out: &mut Vec<u8>, value: T) {
    match value.small() {
        Some(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        None => out.extend_from_slice(value.to_string().as_bytes()),
    }
}

/// Appends a decimal, given times ten to the power of `scale`. Zeros at its end are left out, or written up to its scale.
pub fn append_decimal<T: Integer>(out: &mut Vec<u8>, value: T, scale: u8, with_zeros: bool) {
    if value < T::default() {
        out.push(b'-');
    }
    match value.small() {
        Some(value) => {
            append_digits(out, itoa::Buffer::new().format(value.unsigned_abs()).as_bytes(), scale, with_zeros)
        }
        None => append_digits(out, value.large().unsigned_abs().to_string().as_bytes(), scale, with_zeros),
    }
}

fn append_digits(out: &mut Vec<u8>, digits: &[u8], scale: u8, with_zeros: bool) {
    let scale = usize::from(scale);
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    let used = match with_zeros {
        true => fraction.len(),
        false => fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1),
    };
    if used == 0 && !(with_zeros && scale > 0) {
        return;
    }
    out.push(b'.');
    out.extend(std::iter::repeat_n(b'0', scale - fraction.len()));
    out.extend_from_slice(&fraction[..used]);
}

/// Reads an integer of any width from the front: its value, modulo its width, and the bytes read; none where neither a sign nor a digit
/// comes first.
///
/// # Errors
/// [`IntegerError`].
pub fn read_any_integer<T: Integer>(input: &[u8]) -> Result<(T, usize), IntegerError> {
    let (negative, start) = match input.first() {
        None => return Err(IntegerError::Empty),
        Some(b'-') if T::IS_SIGNED => (true, 1),
        Some(b'-') => return Err(IntegerError::Minus),
        Some(b'+') => (false, 1),
        Some(_) => (false, 0),
    };
    let digits = input.get(start..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit());
    let (mut value, mut count) = (T::default(), 0);
    let ten = T::wrap(10);
    for digit in digits {
        value = value.wrapping_times(ten).wrapping_plus(T::wrap(i128::from(digit - b'0')));
        count += 1;
    }
    if count == 0 && start > 0 {
        return Err(IntegerError::NoDigits);
    }
    Ok((if negative { T::default().wrapping_minus(value) } else { value }, start + count))
}

/// Reads a decimal of so many digits from the front: its value times ten to the power of `scale`, and the bytes read. Digits behind
/// the scale are cut off.
///
/// # Errors
/// `ATTEMPT_TO_READ_AFTER_EOF` where there is nothing; `CANNOT_PARSE_NUMBER` for an exponent without digits; `ARGUMENT_OUT_OF_BOUND` where it has too many digits.
pub fn read_decimal<T: Integer>(input: &[u8], precision: u8, scale: u8) -> Result<(T, usize)> {
    let mut at = match input.first() {
        None => {
            return Err(Error::new(
                ErrorCode::ATTEMPT_TO_READ_AFTER_EOF,
                format!(
                    "Attempt to read after eof: Cannot parse Decimal({precision}, {scale}) from String, because value is too short"
                ),
            ));
        }
        Some(b'-' | b'+') => 1,
        Some(_) => 0,
    };
    let is_negative = input.first() == Some(&b'-');
    let digits_max = u32::from(precision);
    let (mut value, mut digits, mut exponent) = (T::default(), 0u32, 0i64);
    let mut is_fraction = false;
    let ten = T::wrap(10);
    while let Some(byte) = input.get(at) {
        match byte {
            // One more point changes nothing, as in ClickHouse.
            b'.' => is_fraction = true,
            b'0'..=b'9' => {
                let digit = byte - b'0';
                if digits == 0 && digit == 0 {
                    exponent -= i64::from(is_fraction);
                } else if digits < digits_max {
                    value = value.wrapping_times(ten).wrapping_plus(T::wrap(i128::from(digit)));
                    digits += 1;
                    exponent -= i64::from(is_fraction);
                } else if !is_fraction {
                    return Err(Error::new(
                        ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        format!("Too many digits ({} > {precision}) in decimal value", digits + 1),
                    ));
                }
            }
            b'e' | b'E' => {
                let (power, read) = read_any_integer::<i64>(input.get(at + 1..).unwrap_or_default()).unwrap_or((0, 0));
                if read == 0 {
                    return Err(Error::new(
                        ErrorCode::CANNOT_PARSE_NUMBER,
                        "Cannot parse exponent while reading decimal",
                    ));
                }
                exponent = exponent.saturating_add(power);
                at += 1 + read;
                break;
            }
            _ => break,
        }
        at += 1;
    }
    let too_big = || {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!(
                "Decimal value is too big: {digits} digits were read: '{value}'e{exponent}. Expected to read decimal with scale {scale} and precision {precision}"
            ),
        )
    };
    let shift = exponent.saturating_add(i64::from(scale));
    let scaled = if digits == 0 {
        T::default()
    } else if shift >= 0 {
        if i64::from(digits).saturating_add(shift) > i64::from(precision) {
            return Err(too_big());
        }
        let power = u32::try_from(shift).ok().and_then(T::power_of_ten).ok_or_else(too_big)?;
        value.times(power).ok_or_else(too_big)?
    } else {
        let power = u32::try_from(-shift).ok().and_then(T::power_of_ten);
        power.and_then(|power| value.over(power)).unwrap_or_default()
    };
    Ok((if is_negative { T::default().wrapping_minus(scaled) } else { scaled }, at))
}

/// The number that a whole text is, of up to 256 bits with a sign.
pub fn whole_integer(text: &[u8]) -> Option<I256> {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 78 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text.strip_prefix(b"+").unwrap_or(text)).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: i64, scale: u8, with_zeros: bool) -> String {
        let mut out = Vec::new();
        append_decimal(&mut out, value, scale, with_zeros);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_print_without_zeros_at_their_end() {
        assert_eq!(shown(150, 2, false), "1.5");
        assert_eq!(shown(150, 2, true), "1.50");
        assert_eq!(shown(-5, 2, false), "-0.05");
        assert_eq!(shown(0, 2, false), "0");
        assert_eq!(shown(0, 2, true), "0.00");
        assert_eq!(shown(100, 2, false), "1");
        assert_eq!(shown(7, 0, true), "7");
        assert_eq!(shown(1, 4, false), "0.0001");
    }

    #[test]
    fn decimals_are_read() {
        let read = |text: &str, precision, scale| read_decimal::<i32>(text.as_bytes(), precision, scale);
        assert_eq!(read("1.555", 9, 2).unwrap(), (155, 5));
        assert_eq!(read("-.5x", 9, 2).unwrap(), (-50, 3));
        assert_eq!(read("1.5e-1", 9, 2).unwrap(), (15, 6));
        assert_eq!(read("1e5", 9, 2).unwrap(), (10_000_000, 3));
        assert_eq!(read("1.12345678901", 9, 2).unwrap(), (112, 13));
        assert_eq!(read("0.12345678901", 9, 2).unwrap(), (12, 13));
        assert_eq!(read("", 9, 2).unwrap_err().code, ErrorCode::ATTEMPT_TO_READ_AFTER_EOF);
        assert_eq!(read("1234567890", 9, 2).unwrap_err().code, ErrorCode::ARGUMENT_OUT_OF_BOUND);
        assert_eq!(read("99999999.99", 9, 2).unwrap_err().code, ErrorCode::ARGUMENT_OUT_OF_BOUND);
        assert_eq!(read("x", 9, 2).unwrap(), (0, 0));
    }

    #[test]
    fn wide_integers_are_read_and_printed() {
        for text in ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "0"] {
            let (value, read) = read_any_integer::<i128>(text.as_bytes()).unwrap();
            assert_eq!(read, text.len());
            let mut out = Vec::new();
            append_any_integer(&mut out, value);
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(whole_integer(b"-12"), Some(I256::from(-12)));
        assert_eq!(whole_integer(b"1x"), None);
    }
}
