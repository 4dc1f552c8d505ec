//! `Time` and `Time64` as text: `[-]hhh:mm:ss[.fraction]`, of which a shorter one is minutes and seconds, or seconds alone.

use crate::error::{Error, ErrorCode, Result};

/// The seconds of the last moment: 999:59:59.
pub const SECONDS_MAX: i64 = 3_599_999;

/// Appends ticks of so many digits of a second.
pub fn append_time(out: &mut Vec<u8>, ticks: i64, digits: u8) {
    if ticks < 0 {
        out.push(b'-');
    }
    let per_second = 10u64.pow(digits.into());
    let (seconds, fraction) = (ticks.unsigned_abs() / per_second, ticks.unsigned_abs() % per_second);
    let two =
        |out: &mut Vec<u8>, number: u64| out.extend([b'0' + (number / 10 % 10) as u8, b'0' + (number % 10) as u8]);
    let hours = seconds / 3600;
    if hours >= 100 {
        out.extend_from_slice(itoa::Buffer::new().format(hours).as_bytes());
    } else {
        two(out, hours);
    }
    out.push(b':');
    two(out, seconds / 60 % 60);
    out.push(b':');
    two(out, seconds % 60);
    if digits > 0 {
        out.push(b'.');
        let text = format!("{fraction:0width$}", width = usize::from(digits));
        out.extend_from_slice(text.as_bytes());
    }
}

/// Reads a time from the front as ticks of so many digits of a second, and the bytes read. Digits behind those are cut off.
///
/// # Errors
/// `CANNOT_PARSE_DATETIME` where there is none.
pub fn read_time(input: &[u8], digits: u8) -> Result<(i64, usize)> {
    let bad = |what: &str| {
        Error::new(ErrorCode::CANNOT_PARSE_DATETIME, format!("Cannot parse time{what}: Cannot parse Time from String"))
    };
    let is_negative = match input.first() {
        None => return Err(bad(" from empty string")),
        Some(b'-') => true,
        Some(byte) if byte.is_ascii_digit() || *byte == b'+' => false,
        Some(_) => return Err(bad(": invalid first character")),
    };
    let start = usize::from(matches!(input.first(), Some(b'-' | b'+')));
    // Digits from a place on, at most so many.
    let number = |at: usize, most: usize| {
        let digits = input.iter().skip(at).take(most).take_while(|byte| byte.is_ascii_digit());
        digits.fold((0i64, 0usize), |(number, count), byte| (number * 10 + i64::from(byte - b'0'), count + 1))
    };
    let (first, count) = number(start, 3);
    let colon = |at: usize| input.get(at) == Some(&b':');
    let two = |at: usize| Some(number(at, 2)).filter(|(_, count)| *count == 2).map(|(number, _)| number);
    let after = start + count;
    let (mut seconds, mut read) = match (colon(after), two(after + 1)) {
        (true, Some(second)) => match (colon(after + 3), two(after + 4)) {
            (true, Some(third)) => (first * 3600 + second * 60 + third, after + 6),
            _ => (first * 60 + second, after + 3),
        },
        // Seconds alone, which are two digits at most.
        _ => {
            let (seconds, count) = number(start, 2);
            (seconds, start + count)
        }
    };
    if read == start {
        return Err(bad(": invalid first character"));
    }
    seconds = seconds.min(SECONDS_MAX);
    let per_second = 10i64.pow(digits.into());
    let mut ticks = seconds * per_second;
    if digits > 0 && input.get(read) == Some(&b'.') {
        read += 1;
        let mut unit = per_second;
        while let Some(digit) = input.get(read).filter(|byte| byte.is_ascii_digit()) {
            unit /= 10;
            ticks += i64::from(digit - b'0') * unit;
            read += 1;
        }
    }
    Ok((if is_negative { -ticks } else { ticks }, read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_printed() {
        for (text, digits, ticks, shown) in [
            ("12:34:56", 0, 45_296, "12:34:56"),
            ("1:02:03", 0, 3_723, "01:02:03"),
            ("-123:45:56", 0, -445_556, "-123:45:56"),
            ("12:34", 0, 754, "00:12:34"),
            ("5", 0, 5, "00:00:05"),
            ("12:60:00", 0, 46_800, "13:00:00"),
            ("5.5", 2, 550, "00:00:05.50"),
            ("-0.5", 1, -5, "-00:00:00.5"),
            ("100:00:00.123456", 3, 360_000_123, "100:00:00.123"),
        ] {
            assert_eq!(read_time(text.as_bytes(), digits).unwrap(), (ticks, text.len()), "{text}");
            let mut out = Vec::new();
            append_time(&mut out, ticks, digits);
            assert_eq!(String::from_utf8(out).unwrap(), shown);
        }
        assert_eq!(read_time(b"1:2:3", 0).unwrap(), (1, 1));
        assert_eq!(read_time(b"12:34:56.7", 0).unwrap(), (45_296, 8));
        assert_eq!(read_time(b"", 0).unwrap_err().code, ErrorCode::CANNOT_PARSE_DATETIME);
        assert_eq!(read_time(b"x", 0).unwrap_err().code, ErrorCode::CANNOT_PARSE_DATETIME);
    }
}
