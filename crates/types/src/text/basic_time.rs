//! Times as ClickHouse's `basic` parser reads them, which is what `toDateTimeOrNull` and `toDateTime64OrZero` use whatever the settings
//! say: `YYYY-MM-DD hh:mm:ss` in places that do not move, or a Unix timestamp. Anything else is no time.

use crate::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, ZoneCursor, days_from_civil};

use super::date_time::Moment;

/// 1900-01-01: what `DateTime64` makes of a month or a day that no calendar has.
const FIRST_DAY: i64 = -25_567;

/// Fewer digits are a year, and no time.
const TIMESTAMP_WIDTH_MIN: usize = 5;

/// Seconds since the epoch as `DateTime` has them; `None` for what is no time.
pub fn basic_date_time(text: &[u8], zone: &mut ZoneCursor) -> Option<u32> {
    read_basic_date_time(text, zone).filter(|(_, read)| *read == text.len()).map(|(seconds, _)| seconds)
}

/// The same from the front of a text, and the bytes read.
pub(super) fn read_basic_date_time(text: &[u8], zone: &mut ZoneCursor) -> Option<(u32, usize)> {
    let (seconds, read) = if is_calendar(text) {
        let (local, rest) = calendar(text)?;
        (local.map_or(0, |local| zone.to_utc(local)), text.len() - rest.len())
    } else {
        digits(text).filter(|(_, width)| *width >= TIMESTAMP_WIDTH_MIN)?
    };
    Some((seconds.clamp(0, u32::MAX.into()) as u32, read))
}

/// Ticks since the epoch as `DateTime64` of so many digits has them; `None` for what is no time and what 64 bits do not hold.
pub fn basic_date_time64(text: &[u8], scale: u8, zone: &mut ZoneCursor) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let (seconds, rest) = if is_calendar(text) {
        match calendar(text)? {
            (Some(local), rest) => (zone.to_utc(local), rest),
            (None, rest) => (zone.to_utc(FIRST_DAY * DAY_SECONDS), rest),
        }
    } else {
        // So many digits are no seconds any more, but ticks.
        const TICKS_WIDTH_MIN: usize = 13;
        let unsigned = text.strip_prefix(b"-");
        let (number, width) = digits(unsigned.unwrap_or(text))?;
        let rest = unsigned.unwrap_or(text).get(width..)?;
        match unsigned {
            None if width >= TICKS_WIDTH_MIN && rest.is_empty() => {
                let per_second = 10i64.pow(scale.into());
                let seconds = number.div_euclid(per_second).min(last_second());
                return seconds.checked_mul(per_second)?.checked_add(number.rem_euclid(per_second));
            }
            None if width < TIMESTAMP_WIDTH_MIN => return None,
            None => (number, rest),
            Some(_) => {
                let ticks = Moment { seconds: number, nanoseconds: fraction(rest)? }.checked_ticks(scale)?;
                return Some(-ticks);
            }
        }
    };
    let first = i64::from(DATE32_MIN) * DAY_SECONDS;
    Moment { seconds: seconds.clamp(first, last_second()), nanoseconds: fraction(rest)? }.checked_ticks(scale)
}

fn last_second() -> i64 {
    (i64::from(DATE32_MAX) + 1) * DAY_SECONDS - 1
}

/// Whether the text begins as a date does and not as a number.
fn is_calendar(text: &[u8]) -> bool {
    text.get(4).is_some_and(|byte| !byte.is_ascii_digit() && *byte != b'.') && text.first() != Some(&b'-')
}

/// Local seconds, and what follows; `None` in their place for days that no calendar has. Hours, minutes and seconds run over.
fn calendar(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let number = |text: &[u8], at: usize, width: usize| {
        let digits = text.get(at..at + width)?;
        digits.iter().all(u8::is_ascii_digit).then(|| digits.iter().fold(0, |all, d| all * 10 + u32::from(d - b'0')))
    };
    let (year, month, day) = (number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?);
    let mut rest = text.get(10..)?;
    let mut clock = 0;
    if let [b' ' | b'T', time @ ..] = rest {
        let (hour, minute, second) = (number(time, 0, 2)?, number(time, 3, 2)?, number(time, 6, 2)?);
        clock = i64::from(hour * 3600 + minute * 60 + second);
        rest = time.get(8..)?;
    }
    if year == 0 {
        return Some((Some(0), rest));
    }
    let exists = (1..=12).contains(&month) && (1..=31).contains(&day);
    let local = exists.then(|| i64::from(days_from_civil(year as i32, month, day)) * DAY_SECONDS + clock);
    Some((local, rest))
}

/// The number at the front and its width; more than 19 digits are none.
fn digits(text: &[u8]) -> Option<(i64, usize)> {
    let width = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(text.get(..width)?).ok()?.parse().ok()?;
    Some((number, width))
}

/// Nanoseconds of `.5` or nothing at all.
fn fraction(text: &[u8]) -> Option<u32> {
    let digits = match text {
        [] => return Some(0),
        [b'.', digits @ ..] => digits,
        _ => return None,
    };
    let all_digits = digits.iter().all(u8::is_ascii_digit);
    let nine = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    all_digits.then(|| nine.fold(0, |all, digit| all * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::TimeZone;

    #[test]
    fn only_fixed_places_and_timestamps_are_read() {
        let zone = TimeZone::utc();
        let seconds = |text: &str| basic_date_time(text.as_bytes(), &mut zone.cursor());
        assert_eq!(seconds("2018-01-01 00:00:00"), Some(1_514_764_800));
        assert_eq!(seconds("2018/01/01T25:00:00"), Some(1_514_854_800));
        assert_eq!(seconds("1514764800"), Some(1_514_764_800));
        assert_eq!(seconds("2018-13-01"), Some(0));
        for text in
            ["2018", "", "abc", "2018-1-1", "2018-01-01 10:00", "2018-01-01 00:00:00Z", "-12345", "1514764800.5"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
        let ticks = |text: &str, scale| basic_date_time64(text.as_bytes(), scale, &mut zone.cursor());
        assert_eq!(ticks("1514764800.5", 3), Some(1_514_764_800_500));
        assert_eq!(ticks("1514764800123", 3), Some(1_514_764_800_123));
        assert_eq!(ticks("-12345.5", 3), Some(-12_345_500));
        assert_eq!(ticks("9279104477", 9), None);
        assert_eq!(ticks("2018-13-01", 0), Some(FIRST_DAY * DAY_SECONDS));
        assert_eq!(ticks("1234", 3), None);
    }
}
