//! Dates and times in text: `2020-01-02`, `2020-01-02 03:04:05.678`, and the many other ways of writing them that ClickHouse's
//! `best_effort` parser takes.

use super::best_effort::{BestEffort, read_best_effort};
use crate::calendar::{DAY_SECONDS, ZoneCursor, civil_from_days, days_from_civil, days_of_month};
use crate::error::{Error, ErrorCode, Result};

#[inline]
fn two_digits(value: u32) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

/// Appends `YYYY-MM-DD`; the year is cut to four digits.
#[inline]
pub fn append_date(out: &mut Vec<u8>, days: i32) {
    let (year, month, day) = civil_from_days(days);
    let year = year.clamp(0, 9999) as u32;
    let [a, b] = two_digits(year / 100);
    let [c, d] = two_digits(year % 100);
    let [e, f] = two_digits(month);
    let [g, h] = two_digits(day);
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Appends `YYYY-MM-DD hh:mm:ss` of local seconds since 1970-01-01 00:00:00.
#[inline]
pub fn append_local_time(out: &mut Vec<u8>, local: i64) {
    append_date(out, local.div_euclid(DAY_SECONDS).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);
    let second = local.rem_euclid(DAY_SECONDS) as u32;
    let [a, b] = two_digits(second / 3600);
    let [c, d] = two_digits(second / 60 % 60);
    let [e, f] = two_digits(second % 60);
    out.extend_from_slice(&[b' ', a, b, b':', c, d, b':', e, f]);
}

/// Appends a `DateTime`.
#[inline]
pub fn append_date_time(out: &mut Vec<u8>, seconds: u32, zone: &mut ZoneCursor) {
    append_local_time(out, zone.to_local(seconds.into()));
}

/// How `DateTime` and `DateTime64` look in formats: `date_time_output_format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MomentText {
    /// `2020-01-02 03:04:05`, in the type's zone.
    #[default]
    Simple,
    /// `2020-01-02T03:04:05Z`.
    Iso,
    /// Seconds since 1970.
    UnixTimestamp,
}

impl MomentText {
    /// The one that a setting's value names.
    pub fn of_setting(value: &str) -> Self {
        match value {
            "iso" => Self::Iso,
            "unix_timestamp" => Self::UnixTimestamp,
            _ => Self::Simple,
        }
    }
}

/// Which texts are read for `DateTime` and `DateTime64` in formats: `date_time_input_format`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MomentForm {
    /// `2020-01-02 03:04:05` and Unix timestamps.
    Basic,
    /// Any, the day before the month.
    #[default]
    BestEffort,
    /// Any, the month before the day.
    BestEffortUs,
}

impl MomentForm {
    /// The one that a setting's value names.
    pub fn of_setting(value: &str) -> Self {
        match value {
            "basic" => Self::Basic,
            "best_effort_us" => Self::BestEffortUs,
            _ => Self::BestEffort,
        }
    }

    /// What is expected of a text that has any form.
    pub fn style(self) -> BestEffort {
        BestEffort { is_american: self == Self::BestEffortUs, has_fractions: true }
    }
}

/// Appends a `DateTime64` of `digits` decimal digits of a second.
#[inline]
pub fn append_date_time64(out: &mut Vec<u8>, ticks: i64, digits: u8, zone: &mut ZoneCursor) {
    let per_second = 10i64.pow(digits.min(9).into());
    append_local_time(out, zone.to_local(ticks.div_euclid(per_second)));
    if digits > 0 {
        out.push(b'.');
        let mut text = [b'0'; 9];
        let mut fraction = ticks.rem_euclid(per_second);
        let text = &mut text[..digits.min(9).into()];
        for digit in text.iter_mut().rev() {
            *digit = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        out.extend_from_slice(text);
    }
}

/// Up to `width_max` digits at a position: their value and their number.
#[inline]
fn digits(input: &[u8], at: usize, width_max: usize) -> (u32, usize) {
    let mut value = 0;
    let mut width = 0;
    while width < width_max
        && let Some(digit) = input.get(at + width).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
    {
        value = value * 10 + u32::from(digit);
        width += 1;
    }
    (value, width)
}

/// Days since 1970-01-01, and 0 for a month or a day that no calendar has. A day past its month's end runs on.
fn lenient_days(year: u32, month: u32, day: u32) -> i32 {
    if (1..=12).contains(&month) && (1..=31).contains(&day) { days_from_civil(year as i32, month, day) } else { 0 }
}

/// Reads a date from the front: `YYYY-MM-DD` with any separators and months and days of one or two digits, or `YYYYMMDD`. Gives
/// days since 1970-01-01 and the bytes read.
///
/// # Errors
/// `CANNOT_PARSE_DATE`.
#[inline]
pub fn read_date(input: &[u8]) -> Result<(i32, usize)> {
    read_date_parts(input).map(|((year, month, day), read)| (lenient_days(year, month, day), read)).ok_or_else(|| {
        Error::new(
            ErrorCode::CANNOT_PARSE_DATE,
            "Cannot parse date: expected a date in the YYYY-MM-DD or YYYYMMDD format",
        )
    })
}

fn read_date_parts(input: &[u8]) -> Option<((u32, u32, u32), usize)> {
    let (year, 4) = digits(input, 0, 4) else { return None };
    if input.get(4)?.is_ascii_digit() {
        let ((month, 2), (day, 2)) = (digits(input, 4, 2), digits(input, 6, 2)) else { return None };
        return Some(((year, month, day), 8));
    }
    let (month, month_width @ 1..) = digits(input, 5, 2) else { return None };
    input.get(5 + month_width).filter(|separator| !separator.is_ascii_digit())?;
    let (day, day_width @ 1..) = digits(input, 6 + month_width, 2) else { return None };
    Some(((year, month, day), 6 + month_width + day_width))
}

/// A moment read from text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Whole seconds since the epoch, UTC.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanoseconds: u32,
}

impl Moment {
    /// Ticks of 10^-`digits` seconds; digits beyond are cut off. `None` where 64 bits do not hold them.
    pub fn checked_ticks(self, digits: u8) -> Option<i64> {
        let digits = u32::from(digits.min(9));
        self.seconds.checked_mul(10i64.pow(digits))?.checked_add(i64::from(self.nanoseconds / 10u32.pow(9 - digits)))
    }
}

/// Reads a date and time from the front, and the bytes read: `YYYY-MM-DD hh:mm:ss` at once, everything else that
/// `parseDateTimeBestEffort` knows (ISO 8601 with `T`, `Z` and offsets, Unix timestamps, names of months, …) more slowly.
///
/// # Errors
/// `CANNOT_PARSE_DATETIME`.
#[inline]
pub fn read_date_time(input: &[u8], zone: &mut ZoneCursor, style: BestEffort) -> Result<(Moment, usize)> {
    if let Some(local) = plain_date_time(input)
        && !input.get(19).is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'.' | b'+' | b'-' | b' '))
    {
        return Ok((Moment { seconds: zone.to_utc(local), nanoseconds: 0 }, 19));
    }
    let read = read_best_effort(input, style, || local_now(zone))?;
    Ok((read.parsed.moment(zone), read.read))
}

fn local_now(zone: &mut ZoneCursor) -> i64 {
    zone.to_local(chrono::Utc::now().timestamp())
}

/// The moment that the whole text is, where nobody could take it for something else.
pub(super) fn read_certain_date_time(input: &[u8], zone: &mut ZoneCursor, style: BestEffort) -> Option<Moment> {
    let read = read_best_effort(input, style, || local_now(zone)).ok()?;
    (read.is_certain && read.read == input.len()).then(|| read.parsed.moment(zone))
}

/// Local seconds of exactly `YYYY-MM-DD hh:mm:ss` at the front.
#[inline]
fn plain_date_time(input: &[u8]) -> Option<i64> {
    let text: &[u8; 19] = input.first_chunk()?;
    let mut wrong = 0u8;
    let mut two = |at: usize| {
        let (tens, ones) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
        wrong |= u8::from(tens > 9) | u8::from(ones > 9);
        u32::from(tens) * 10 + u32::from(ones)
    };
    let year = two(0) * 100 + two(2);
    let (month, day, hour, minute, second) = (two(5), two(8), two(11), two(14), two(17));
    let separators = [text[4], text[7], text[10], text[13], text[16]];
    let in_range = (1..=12).contains(&month) && day >= 1 && hour < 24 && minute < 60 && second < 60;
    if wrong != 0 || separators != *b"-- ::" || !in_range || day > days_of_month(year as i32, month) {
        return None;
    }
    let days = i64::from(days_from_civil(year as i32, month, day));
    Some(days * DAY_SECONDS + i64::from(hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::TimeZone;

    fn read(text: &str) -> Result<String> {
        let mut zone = TimeZone::named("Europe/Berlin")?.cursor();
        let (moment, _) = read_date_time(text.as_bytes(), &mut zone, MomentForm::default().style())?;
        let mut out = Vec::new();
        append_date_time64(&mut out, moment.checked_ticks(3).unwrap(), 3, &mut TimeZone::utc().cursor());
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn dates() {
        let date = |text: &str| {
            let (days, read) = read_date(text.as_bytes()).unwrap();
            let mut out = Vec::new();
            append_date(&mut out, days);
            (String::from_utf8(out).unwrap(), read)
        };
        assert_eq!(date("2020-01-02x"), ("2020-01-02".into(), 10));
        assert_eq!(date("2020-1-2"), ("2020-01-02".into(), 8));
        assert_eq!(date("20200102"), ("2020-01-02".into(), 8));
        assert_eq!(date("2020-02-31"), ("2020-03-02".into(), 10));
        assert_eq!(date("2020-13-02").0, "1970-01-01");
        assert_eq!(read_date(b"1234").unwrap_err().code, ErrorCode::CANNOT_PARSE_DATE);
        assert_eq!(read_date(b"").unwrap_err().code, ErrorCode::CANNOT_PARSE_DATE);
    }

    #[test]
    fn times_in_many_forms() {
        for (text, expected) in [
            ("2020-01-02 03:04:05", "2020-01-02 02:04:05.000"),
            ("2020-01-02T03:04:05Z", "2020-01-02 03:04:05.000"),
            ("2020-01-02T03:04:05.678+02:30", "2020-01-02 00:34:05.678"),
            ("2020-01-02", "2020-01-01 23:00:00.000"),
            ("2020-1-2 3:4:5", "2020-01-02 02:04:05.000"),
            ("20200102030405", "2020-01-02 02:04:05.000"),
            ("1577934245", "2020-01-02 03:04:05.000"),
            ("1577934245.5", "2020-01-02 03:04:05.500"),
            ("1577934245678", "2020-01-02 03:04:05.678"),
            ("Thu, 2 Jan 2020 03:04:05 GMT", "2020-01-02 03:04:05.000"),
            ("2/1/2020 3:04 PM", "2020-01-02 14:04:00.000"),
            ("2 January 2020", "2020-01-01 23:00:00.000"),
            ("2020-01-02 25:00:70", "2020-01-03 00:01:10.000"),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for text in ["", "abc", "12345", "2020-13-40 30:70:80"] {
            assert_eq!(read(text).unwrap_err().code, ErrorCode::CANNOT_PARSE_DATETIME, "{text}");
        }
    }
}
