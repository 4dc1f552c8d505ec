//! Dates and times in text: `2020-01-02`, `2020-01-02 03:04:05.678`, and the many other ways of writing them that ClickHouse's
//! `best_effort` parser takes.

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
pub fn read_date_time(input: &[u8], zone: &mut ZoneCursor) -> Result<(Moment, usize)> {
    if let Some(local) = plain_date_time(input)
        && !input.get(19).is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'.' | b'+' | b'-' | b' '))
    {
        return Ok((Moment { seconds: zone.to_utc(local), nanoseconds: 0 }, 19));
    }
    BestEffort { input, ..BestEffort::default() }.read(zone)
}

/// The moment that the whole text is, where nobody could take it for something else: its year, month and day are all there, and `-`,
/// `/` or `:` are between them where they are numbers. ClickHouse's "strict" best effort.
pub(super) fn read_certain_date_time(input: &[u8], zone: &mut ZoneCursor) -> Option<Moment> {
    let mut reader = BestEffort { input, ..BestEffort::default() };
    let moment = reader.read(zone).ok().filter(|(_, read)| *read == input.len());
    let is_whole = reader.year.is_some() && reader.month.is_some() && reader.day.is_some();
    moment.filter(|_| is_whole && !reader.is_doubtful).map(|(moment, _)| moment)
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

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
const WEEKDAYS: [&[u8]; 7] = [b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];

/// Abbreviations of zones that are read after a time, with their offsets from UTC in seconds.
const ZONE_NAMES: [(&[u8], i32); 6] =
    [(b"utc", 0), (b"gmt", 0), (b"msk", 10_800), (b"msd", 14_400), (b"est", -18_000), (b"pst", -28_800)];

/// Collects parts of a date and a time in whatever order they come.
#[derive(Default)]
struct BestEffort<'a> {
    input: &'a [u8],
    at: usize,
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Second of the day.
    time: Option<u32>,
    nanoseconds: u32,
    offset: Option<i32>,
    /// The date was written as other things are too: `20240102`, `1.2.2024`.
    is_doubtful: bool,
}

fn cannot_parse(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::CANNOT_PARSE_DATETIME, format!("Cannot read DateTime: {what}"))
}

impl BestEffort<'_> {
    fn read(&mut self, zone: &mut ZoneCursor) -> Result<(Moment, usize)> {
        // Where the last thing of meaning ended: trailing spaces are left to the caller.
        let mut end = 0;
        while let Some(next) = self.input.get(self.at).copied() {
            match next {
                b'0'..=b'9' => {
                    if let Some(moment) = self.number()? {
                        return Ok((moment, self.at));
                    }
                }
                b' ' | b',' => {
                    self.at += 1;
                    continue;
                }
                b'T' | b't' if self.day.is_some() && self.next_is_digit(1) => {
                    self.at += 1;
                    continue;
                }
                b'Z' | b'z' if self.day.is_some() => {
                    self.offset = Some(0);
                    self.at += 1;
                }
                b'+' | b'-' if self.time.is_some() => self.zone_offset(next == b'-')?,
                _ if next.is_ascii_alphabetic() => self.word()?,
                _ => break,
            }
            end = self.at;
        }
        self.finish(zone).map(|moment| (moment, end))
    }

    fn next_is_digit(&self, ahead: usize) -> bool {
        self.input.get(self.at + ahead).is_some_and(u8::is_ascii_digit)
    }

    /// Reads exactly two digits.
    fn two(&mut self) -> Result<u32> {
        match digits(self.input, self.at, 2) {
            (value, 2) => {
                self.at += 2;
                Ok(value)
            }
            _ => Err(cannot_parse("expected two digits")),
        }
    }

    fn set_date(&mut self, year: u32, month: u32, day: u32) {
        (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
    }

    fn set_time(&mut self, hour: u32, minute: u32, second: u32) {
        // What is past a day's end is the next day's, as in ClickHouse.
        self.time = Some(hour * 3600 + minute * 60 + second);
    }

    /// Reads what begins with a digit. A Unix timestamp is a moment by itself.
    fn number(&mut self) -> Result<Option<Moment>> {
        let width = self.input.iter().skip(self.at).take_while(|byte| byte.is_ascii_digit()).take(20).count();
        let has_date = self.year.is_some();
        let number = || {
            let text = self.input.get(self.at..self.at + width)?;
            std::str::from_utf8(text).ok()?.parse::<i64>().ok()
        };
        match width {
            9 | 10 if !has_date => {
                let seconds = number().unwrap_or(0);
                self.at += width;
                self.fraction();
                return Ok(Some(Moment { seconds, nanoseconds: self.nanoseconds }));
            }
            13 if !has_date => {
                let milliseconds = number().unwrap_or(0);
                self.at += width;
                let nanoseconds = (milliseconds % 1000) as u32 * 1_000_000;
                return Ok(Some(Moment { seconds: milliseconds / 1000, nanoseconds }));
            }
            8 | 12 | 14 if !has_date => {
                self.is_doubtful = true;
                let year = self.two()? * 100 + self.two()?;
                let (month, day) = (self.two()?, self.two()?);
                self.set_date(year, month, day);
                if width > 8 {
                    let (hour, minute) = (self.two()?, self.two()?);
                    let second = if width == 14 { self.two()? } else { 0 };
                    self.set_time(hour, minute, second);
                    self.fraction();
                }
            }
            6 => {
                if has_date {
                    let (hour, minute, second) = (self.two()?, self.two()?, self.two()?);
                    self.set_time(hour, minute, second);
                    self.fraction();
                } else {
                    self.is_doubtful = true;
                    let year = self.two()? * 100 + self.two()?;
                    let month = self.two()?;
                    self.set_date(year, month, 1);
                }
            }
            4 if has_date && self.day.is_some() => {
                let (hour, minute) = (self.two()?, self.two()?);
                self.set_time(hour, minute, 0);
            }
            4 => {
                self.year = Some(self.two()? * 100 + self.two()?);
                if self.month.is_none() {
                    self.after_year()?;
                }
            }
            1 | 2 => self.short_number(width)?,
            _ => return Err(cannot_parse(format!("unexpected number of decimal digits: {width}"))),
        }
        Ok(None)
    }

    fn is_separator(&self) -> bool {
        matches!(self.input.get(self.at), Some(b'-' | b'/' | b'.' | b':'))
    }

    fn step_over_separator(&mut self) {
        self.is_doubtful |= self.input.get(self.at) == Some(&b'.');
        self.at += 1;
    }

    /// Month and day after `YYYY-`.
    fn after_year(&mut self) -> Result<()> {
        if !self.is_separator() {
            return Ok(());
        }
        self.step_over_separator();
        match digits(self.input, self.at, 2) {
            (_, 0) => {
                self.is_doubtful = true;
                self.month_word()?;
            }
            (month, width) => {
                self.month = Some(month);
                self.at += width;
            }
        }
        if self.is_separator() && self.next_is_digit(1) {
            self.step_over_separator();
            let (day, width) = digits(self.input, self.at, 2);
            self.day = Some(day);
            self.at += width;
        }
        Ok(())
    }

    /// One or two digits: an hour, or a day before or after its month.
    fn short_number(&mut self, width: usize) -> Result<()> {
        let (value, _) = digits(self.input, self.at, 2);
        self.at += width;
        let next = self.input.get(self.at).copied();
        if next == Some(b':') && self.time.is_none() {
            self.at += 1;
            let (minute, width) = digits(self.input, self.at, 2);
            self.at += width;
            let mut second = 0;
            if self.input.get(self.at) == Some(&b':') {
                self.at += 1;
                let (value, width) = digits(self.input, self.at, 2);
                second = value;
                self.at += width;
                self.fraction();
            }
            self.set_time(value, minute, second);
            return Ok(());
        }
        if self.day.is_some() {
            if self.time.is_none() && self.year.is_some() {
                self.set_time(value, 0, 0);
                return Ok(());
            }
            return Err(cannot_parse("unexpected number"));
        }
        self.day = Some(value);
        if self.month.is_none() && self.is_separator() {
            self.step_over_separator();
            match digits(self.input, self.at, 2) {
                (_, 0) => self.month_word()?,
                // There is no such month: the day is behind it.
                (day, width) if day > 12 && value <= 12 => {
                    (self.month, self.day) = (Some(value), Some(day));
                    self.at += width;
                }
                (month, width) => {
                    self.month = Some(month);
                    self.at += width;
                }
            }
            if self.year.is_none() && self.is_separator() {
                self.step_over_separator();
                self.year = match digits(self.input, self.at, 4) {
                    (year, 4) => Some(year),
                    (year, 2) => Some(if year < 70 { 2000 + year } else { 1900 + year }),
                    _ => return Err(cannot_parse("unexpected number of digits of a year")),
                };
                self.at += digits(self.input, self.at, 4).1;
            }
        }
        Ok(())
    }

    /// `.123456789` after a second; digits beyond nanoseconds are read and dropped.
    fn fraction(&mut self) {
        if self.input.get(self.at) != Some(&b'.') || !self.next_is_digit(1) {
            return;
        }
        self.at += 1;
        let (value, width) = digits(self.input, self.at, 9);
        self.nanoseconds = value * 10u32.pow(9 - width as u32);
        self.at += width;
        while self.next_is_digit(0) {
            self.at += 1;
        }
    }

    /// `+hh:mm`, `+hhmm` or `+hh`.
    fn zone_offset(&mut self, is_negative: bool) -> Result<()> {
        self.at += 1;
        let (hours, width) = digits(self.input, self.at, 2);
        if width == 0 {
            return Err(cannot_parse("expected digits of a time zone's offset"));
        }
        self.at += width;
        if self.input.get(self.at) == Some(&b':') {
            self.at += 1;
        }
        let (minutes, width) = digits(self.input, self.at, 2);
        self.at += width;
        if hours > 23 || minutes > 59 {
            return Err(cannot_parse("time zone's offset is out of range"));
        }
        let seconds = (hours * 3600 + minutes * 60) as i32;
        self.offset = Some(if is_negative { -seconds } else { seconds });
        Ok(())
    }

    fn letters(&self) -> &[u8] {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        rest.get(..length).unwrap_or_default()
    }

    fn month_word(&mut self) -> Result<()> {
        let word = self.letters();
        let month =
            MONTHS.iter().position(|month| starts_with(word, month)).ok_or_else(|| cannot_parse("unexpected word"))?;
        let length = word.len();
        self.month = Some(month as u32 + 1);
        self.at += length;
        Ok(())
    }

    fn word(&mut self) -> Result<()> {
        let word = self.letters();
        let length = word.len();
        if let Some((_, offset)) = ZONE_NAMES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)) {
            self.offset = Some(*offset);
        } else if word.eq_ignore_ascii_case(b"am") || word.eq_ignore_ascii_case(b"pm") {
            let is_afternoon = word.eq_ignore_ascii_case(b"pm");
            let time = self.time.ok_or_else(|| cannot_parse("unexpected word"))?;
            let twelfth = time / 43_200;
            let is_noon_hour = time / 3600 == 12;
            self.time = Some(match (is_afternoon, is_noon_hour) {
                (true, false) if twelfth == 0 => time + 43_200,
                (false, true) => time - 43_200,
                _ => time,
            });
        } else if !WEEKDAYS.iter().any(|day| starts_with(word, day)) {
            if self.time.is_some() && self.nanoseconds > 0 {
                return Err(cannot_parse("unexpected alphabetical character"));
            }
            return self.month_word();
        }
        self.at += length;
        Ok(())
    }

    fn finish(&self, zone: &mut ZoneCursor) -> Result<Moment> {
        if self.year.is_none() && self.month.is_none() && self.day.is_none() {
            return Err(cannot_parse("neither Date nor Time was parsed successfully"));
        }
        let year = self.year.unwrap_or_else(|| {
            use chrono::Datelike;
            chrono::Utc::now().year().unsigned_abs()
        });
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if !(1..=12).contains(&month) || day == 0 || day > days_of_month(year as i32, month) {
            return Err(cannot_parse(format!("unexpected date: {year}-{month}-{day}")));
        }
        let days = i64::from(days_from_civil(year as i32, month, day));
        let local = days * DAY_SECONDS + i64::from(self.time.unwrap_or(0));
        let seconds = match self.offset {
            Some(offset) => local - i64::from(offset),
            None => zone.to_utc(local),
        };
        Ok(Moment { seconds, nanoseconds: self.nanoseconds })
    }
}

fn starts_with(word: &[u8], prefix: &[u8]) -> bool {
    word.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::TimeZone;

    fn read(text: &str) -> Result<String> {
        let mut zone = TimeZone::named("Europe/Berlin")?.cursor();
        let (moment, _) = read_date_time(text.as_bytes(), &mut zone)?;
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
