//! Numbers as ClickHouse prints and reads them in text: integers by `itoa`, floats in their shortest form that reads back.

use std::fmt;

/// Appends an integer in decimal.
#[inline]
pub fn append_integer(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the shortest text of a `Float64` that reads back: `1`, `0.1`, `1e100`, `nan`, `inf`, `-inf`.
pub fn append_float64(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        append_shortest(out, zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        append_not_finite(out, value);
    }
}

/// The same for a `Float32`.
pub fn append_float32(out: &mut Vec<u8>, value: f32) {
    if value.is_finite() {
        append_shortest(out, zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        append_not_finite(out, f64::from(value));
    }
}

/// How floating-point numbers look.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FloatText {
    /// The most digits after the point (`output_format_float_precision`); 0 is as many as it takes to read the number back.
    pub digits: usize,
    /// Whether a whole number has a point (`output_format_always_write_decimal_point_in_float_and_decimal`).
    pub with_point: bool,
}

impl FloatText {
    /// The most digits after the point that can be asked for.
    pub const DIGITS_MAX: usize = 100;
    /// From here on, numbers stay in their shortest form.
    const FIXED_MAX: f64 = 1e60;

    /// Appends a `Float64`.
    pub fn append(self, out: &mut Vec<u8>, value: f64) {
        self.append_as(out, value, |out| append_float64(out, value));
    }

    /// Appends a `Float32`.
    pub fn append32(self, out: &mut Vec<u8>, value: f32) {
        self.append_as(out, value.into(), |out| append_float32(out, value));
    }

    #[inline]
    fn append_as(self, out: &mut Vec<u8>, value: f64, shortest: impl FnOnce(&mut Vec<u8>)) {
        let from = out.len();
        shortest(out);
        if self == Self::default() || !value.is_finite() {
            return;
        }
        let text = out.get(from..).unwrap_or_default();
        let has_exponent = text.contains(&b'e');
        let fraction = text.iter().position(|byte| *byte == b'.').map_or(0, |point| text.len() - point - 1);
        if self.digits > 0 && (fraction > self.digits || has_exponent) && value.abs() < Self::FIXED_MAX {
            let fixed = format!("{value:.*}", self.digits.min(Self::DIGITS_MAX));
            let fixed = fixed.trim_end_matches('0').trim_end_matches('.');
            // A number that is too small for these digits keeps its exponent.
            if !(has_exponent && fixed.trim_start_matches('-') == "0") {
                out.truncate(from);
                out.extend_from_slice(fixed.as_bytes());
            }
        }
        let is_whole = out.get(from..).unwrap_or_default().iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
        if self.with_point && is_whole {
            out.push(b'.');
        }
    }
}

/// Writes a `Float64` to a formatter.
pub fn write_float64(f: &mut impl fmt::Write, value: f64) -> fmt::Result {
    let mut text = Vec::with_capacity(24);
    append_float64(&mut text, value);
    f.write_str(&String::from_utf8_lossy(&text))
}

fn append_not_finite(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(if value.is_nan() {
        b"nan"
    } else if value < 0.0 {
        b"-inf"
    } else {
        b"inf"
    });
}

/// Appends shortest digits in the notation of double-conversion, which ClickHouse keeps: decimal from 1e-6 up to below 1e21, no
/// `.0`, an exponent without `+`.
fn append_shortest(out: &mut Vec<u8>, text: &[u8]) {
    let (mantissa, exponent) = match text.iter().position(|byte| *byte == b'e') {
        None => {
            // Decimal notation already; it is used within narrower limits than ours.
            out.extend_from_slice(text.strip_suffix(b".0").unwrap_or(text));
            return;
        }
        Some(at) => (&text[..at], &text[at + 1..]),
    };
    let exponent: i32 = std::str::from_utf8(exponent).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mantissa = match mantissa.strip_prefix(b"-") {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => mantissa,
    };
    // A mantissa in scientific notation is one digit, perhaps a point and more digits.
    let (first, fraction) = mantissa.split_at(1.min(mantissa.len()));
    let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
    let fraction = fraction.strip_suffix(b"0").filter(|rest| rest.is_empty()).unwrap_or(fraction);
    let zeros = |out: &mut Vec<u8>, count: i32| out.extend(std::iter::repeat_n(b'0', count.max(0) as usize));
    let length = fraction.len() as i32;
    match exponent {
        -6..0 => {
            out.extend_from_slice(b"0.");
            zeros(out, -exponent - 1);
            out.extend_from_slice(first);
            out.extend_from_slice(fraction);
        }
        0..21 if exponent >= length => {
            out.extend_from_slice(first);
            out.extend_from_slice(fraction);
            zeros(out, exponent - length);
        }
        0..21 => {
            let (whole, rest) = fraction.split_at(exponent as usize);
            out.extend_from_slice(first);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        _ => {
            out.extend_from_slice(first);
            if length > 0 {
                out.push(b'.');
                out.extend_from_slice(fraction);
            }
            out.push(b'e');
            append_integer(out, exponent);
        }
    }
}

/// Why no integer could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerError {
    /// Nothing to read.
    Empty,
    /// A sign without digits.
    NoDigits,
    /// A minus before an unsigned number.
    Minus,
}

/// Reads a decimal integer from the front: its value modulo 2^64 (two's complement where negative) and the bytes read. Zero bytes
/// are read where neither a sign nor a digit comes first. Overflow wraps, as ClickHouse's does: cast the value to the target's width.
///
/// # Errors
/// [`IntegerError`].
#[inline]
pub fn read_integer(input: &[u8], is_signed: bool) -> Result<(u64, usize), IntegerError> {
    let (negative, start) = match input.first() {
        None => return Err(IntegerError::Empty),
        Some(b'-') if is_signed => (true, 1),
        Some(b'-') => return Err(IntegerError::Minus),
        Some(b'+') => (false, 1),
        Some(_) => (false, 0),
    };
    let mut value = 0u64;
    let mut at = start;
    while let Some(digit) = input.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    if at == start && start > 0 {
        return Err(IntegerError::NoDigits);
    }
    Ok((if negative { value.wrapping_neg() } else { value }, at))
}

/// Reads a float from the front: its value and the bytes read; `None` where there is none. Takes decimal and scientific notation, and
/// `inf`, `infinity` and `nan` in any case.
pub fn read_float64(input: &[u8]) -> Option<(f64, usize)> {
    let length = float_length(input)?;
    let text = std::str::from_utf8(input.get(..length)?).ok()?;
    text.parse().ok().map(|value| (value, length))
}

/// [`read_float64`], rounded once to `Float32`.
pub fn read_float32(input: &[u8]) -> Option<(f32, usize)> {
    let length = float_length(input)?;
    let text = std::str::from_utf8(input.get(..length)?).ok()?;
    text.parse().ok().map(|value| (value, length))
}

fn float_length(input: &[u8]) -> Option<usize> {
    let digits = |from: usize| input.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(input.first(), Some(b'+' | b'-')));
    let unsigned = input.get(sign..)?;
    if unsigned.first().is_some_and(u8::is_ascii_alphabetic) {
        let starts = |word: &[u8]| unsigned.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
        let word = [&b"infinity"[..], b"inf", b"nan"].into_iter().find(|word| starts(word))?;
        return Some(sign + word.len());
    }
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fraction = 0;
    if input.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(input.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(input.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// The `BFloat16` of a number, whose lower half is cut off.
#[inline]
pub fn bfloat16(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { f32::from_bits(value.to_bits() & 0xFFFF_0000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_clickhouse_prints_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (123456.789, "123456.789"),
            (1e15, "1000000000000000"),
            (1e16, "10000000000000000"),
            (1.5e17, "150000000000000000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e300, "1.5e300"),
            (1e-5, "0.00001"),
            (1.25e-5, "0.0000125"),
            (1e-6, "0.000001"),
            (-1.5e-6, "-0.0000015"),
            (1e-7, "1e-7"),
            (1.25e-10, "1.25e-10"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::MAX, "1.7976931348623157e308"),
            (12345678901234567890.0, "12345678901234567000"),
        ] {
            let mut out = Vec::new();
            append_float64(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        for (value, text) in [(0.1f32, "0.1"), (16777216.0, "16777216"), (3.4e38, "3.4e38"), (1e10, "10000000000")] {
            let mut out = Vec::new();
            append_float32(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn integers_wrap_and_stop() {
        assert_eq!(read_integer(b"12abc", false), Ok((12, 2)));
        assert_eq!(read_integer(b"abc", false), Ok((0, 0)));
        assert_eq!(read_integer(b"-5", true).map(|(value, _)| value as i64), Ok(-5));
        assert_eq!(read_integer(b"18446744073709551617", false), Ok((1, 20)));
        assert_eq!(read_integer(b"-5", false), Err(IntegerError::Minus));
        assert_eq!(read_integer(b"-", true), Err(IntegerError::NoDigits));
        assert_eq!(read_integer(b"", true), Err(IntegerError::Empty));
    }

    #[test]
    fn floats_are_read_from_the_front() {
        assert_eq!(read_float64(b"1.5x"), Some((1.5, 3)));
        assert_eq!(read_float64(b".5"), Some((0.5, 2)));
        assert_eq!(read_float64(b"5."), Some((5.0, 2)));
        assert_eq!(read_float64(b"1e"), Some((1.0, 1)));
        assert_eq!(read_float64(b"+1e5,"), Some((1e5, 4)));
        assert_eq!(read_float64(b"-inf"), Some((f64::NEG_INFINITY, 4)));
        assert_eq!(read_float64(b"abc"), None);
        assert_eq!(read_float64(b"."), None);
    }
}
