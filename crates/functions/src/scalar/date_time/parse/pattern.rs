//! Times by a pattern. A pattern is read once into its parts; each part then reads its piece of every text.

use squall_types::calendar::{DAY_SECONDS, days_from_civil, days_of_month, is_leap_year};
use squall_types::text::{MONTHS, ParsedMoment, WEEKDAYS};
use squall_types::{Error, ErrorCode, Result};

use super::super::week::weekday;
use super::unreadable;

/// Whose letters a pattern has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    MySql,
    Joda,
}

/// What a number in a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Century,
    Year,
    Month,
    Day,
    DayOfYear,
    WeekYear,
    Week,
    /// From 1 for Monday to 7.
    Weekday,
    /// From 0 for Sunday to 6.
    WeekdayFromSunday,
    /// From 0 to 23.
    Hour,
    /// From 1 to 24.
    HourFromOne,
    /// From 0 to 11.
    HalfDayHour,
    /// From 1 to 12.
    ClockHour,
    Minute,
    Second,
}

impl Field {
    /// The least and the greatest value, and what it is called in errors.
    fn range(self, is_wide: bool) -> (i64, i64, &'static str) {
        match self {
            Self::Century => (19, 21, "century"),
            Self::Year | Self::WeekYear => {
                if is_wide {
                    (1900, 2299, "year")
                } else {
                    (1970, 2106, "year")
                }
            }
            Self::Month => (1, 12, "month of year"),
            Self::Day => (1, 31, "day of month"),
            Self::DayOfYear => (1, 366, "day of year"),
            Self::Week => (1, 53, "week of week year"),
            Self::Weekday => (1, 7, "day of week"),
            Self::WeekdayFromSunday => (0, 6, "day of week"),
            Self::Hour => (0, 23, "hour"),
            Self::HourFromOne => (1, 24, "hour"),
            Self::HalfDayHour => (0, 11, "hour"),
            Self::ClockHour => (1, 12, "hour"),
            Self::Minute => (0, 59, "minute"),
            Self::Second => (0, 59, "second"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Literal(Vec<u8>),
    /// A number of exactly so many digits.
    Exact(Field, usize),
    /// A number of one to so many digits.
    UpTo(Field, usize),
    /// The last two digits of a year; those below 70 are of the 21st century.
    ShortYear,
    /// A number whose first of two characters may be a space.
    Padded(Field),
    MonthName,
    ShortMonthName,
    WeekdayName,
    ShortWeekdayName,
    HalfOfDay,
    /// `+hhmm`.
    Offset,
    Era,
    /// Up to so many digits of a fraction of a second.
    Fraction(usize),
}

impl Part {
    fn is_number(&self) -> bool {
        matches!(self, Self::Exact(..) | Self::UpTo(..) | Self::ShortYear | Self::Padded(_) | Self::Fraction(_))
    }
}

/// A pattern's parts.
pub(super) struct Pattern {
    parts: Vec<Part>,
}

impl Pattern {
    /// Reads a pattern; where `%M` does not name the month it is the minute.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`, `NOT_IMPLEMENTED` for letters that mean something only when they are written.
    pub fn read(text: &[u8], syntax: Syntax, names_month: bool) -> Result<Self> {
        let parts = if syntax == Syntax::MySql { my_sql(text, names_month)? } else { joda(text)? };
        Ok(Self { parts })
    }

    /// The digits of the fraction of a second, at most 6.
    pub fn fraction_digits(&self) -> u8 {
        let digits = self.parts.iter().map(|part| if let Part::Fraction(digits) = part { *digits } else { 0 });
        digits.max().unwrap_or(0).min(6) as u8
    }

    /// The time of a text.
    ///
    /// # Errors
    /// `CANNOT_PARSE_DATETIME`.
    pub fn parse(&self, text: &[u8], is_wide: bool) -> Result<ParsedMoment> {
        let mut reader = Reader { text, rest: text };
        let mut fields = Fields::default();
        for part in &self.parts {
            reader.part(part, &mut fields, is_wide)?;
        }
        if !reader.rest.is_empty() {
            return Err(unreadable(format!(
                "Invalid format input {} is malformed at {}",
                shown(text),
                shown(reader.rest)
            )));
        }
        fields.finish(is_wide)
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn my_sql(text: &[u8], names_month: bool) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            add_literal(&mut parts, &[*first]);
            continue;
        }
        let [letter, after @ ..] = after else {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Trailing '%' symbol in the format"));
        };
        rest = after;
        match letter {
            b'Q' => return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "format is not supported for quarter")),
            letter if add_my_sql(&mut parts, *letter, names_month) => {}
            other => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Incorrect syntax '{}', symbol is not supported '{}'", shown(text), char::from(*other)),
                ));
            }
        }
    }
    Ok(parts)
}

/// Adds what a letter after `%` stands for; `false` where it stands for nothing.
fn add_my_sql(parts: &mut Vec<Part>, letter: u8, names_month: bool) -> bool {
    let (month, day, minute) =
        (Part::Exact(Field::Month, 2), Part::Exact(Field::Day, 2), Part::Exact(Field::Minute, 2));
    match letter {
        b'a' => parts.push(Part::ShortWeekdayName),
        b'b' => parts.push(Part::ShortMonthName),
        b'c' | b'm' => parts.push(month),
        b'C' => parts.push(Part::Exact(Field::Century, 2)),
        b'd' => parts.push(day),
        b'D' => add_separated(parts, [month, day, Part::ShortYear], b"/"),
        b'e' => parts.push(Part::Padded(Field::Day)),
        b'F' => add_separated(parts, [Part::Exact(Field::Year, 4), month, day], b"-"),
        b'f' => parts.push(Part::Fraction(6)),
        b'g' => parts.push(Part::ShortYear),
        b'G' => parts.push(Part::Exact(Field::WeekYear, 4)),
        b'h' | b'I' => parts.push(Part::Exact(Field::ClockHour, 2)),
        b'l' => parts.push(Part::UpTo(Field::ClockHour, 2)),
        b'H' => parts.push(Part::Exact(Field::Hour, 2)),
        b'k' => parts.push(Part::Padded(Field::Hour)),
        b'i' => parts.push(minute),
        b'j' => parts.push(Part::Exact(Field::DayOfYear, 3)),
        b'M' if names_month => parts.push(Part::MonthName),
        b'M' => parts.push(minute),
        b'n' => add_literal(parts, b"\n"),
        b't' => add_literal(parts, b"\t"),
        b'%' => add_literal(parts, b"%"),
        b'p' => parts.push(Part::HalfOfDay),
        b'r' => {
            add_separated(parts, [Part::Exact(Field::ClockHour, 2), minute, Part::Exact(Field::Second, 2)], b":");
            add_literal(parts, b" ");
            parts.push(Part::HalfOfDay);
        }
        b'R' => add_separated(parts, [Part::Exact(Field::Hour, 2), minute], b":"),
        b'T' => add_separated(parts, [Part::Exact(Field::Hour, 2), minute, Part::Exact(Field::Second, 2)], b":"),
        b's' | b'S' => parts.push(Part::Exact(Field::Second, 2)),
        b'u' => parts.push(Part::Exact(Field::Weekday, 1)),
        b'V' | b'v' => parts.push(Part::Exact(Field::Week, 2)),
        b'w' => parts.push(Part::Exact(Field::WeekdayFromSunday, 1)),
        b'W' => parts.push(Part::WeekdayName),
        b'y' => parts.push(Part::ShortYear),
        b'Y' => parts.push(Part::Exact(Field::Year, 4)),
        b'z' => parts.push(Part::Offset),
        _ => return false,
    }
    true
}

/// Adds bytes that a text must have, to those right before them.
fn add_literal(parts: &mut Vec<Part>, bytes: &[u8]) {
    match parts.last_mut() {
        Some(Part::Literal(before)) => before.extend_from_slice(bytes),
        _ => parts.push(Part::Literal(bytes.to_vec())),
    }
}

/// Adds parts with a literal between each two.
fn add_separated<const N: usize>(parts: &mut Vec<Part>, all: [Part; N], separator: &[u8]) {
    for (at, part) in all.into_iter().enumerate() {
        if at > 0 {
            add_literal(parts, separator);
        }
        parts.push(part);
    }
}

fn joda(text: &[u8]) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = text;
    while let Some(&letter) = rest.first() {
        if letter == b'\'' {
            let (quoted, length) = quoted(rest)?;
            parts.push(Part::Literal(quoted));
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let count = rest.iter().take_while(|byte| **byte == letter).count();
        rest = rest.get(count..).unwrap_or_default();
        if !letter.is_ascii_alphabetic() {
            parts.push(Part::Literal(vec![letter; count]));
            continue;
        }
        let number = |field, width: usize| Part::UpTo(field, count.max(width));
        parts.push(match letter {
            b'G' => Part::Era,
            b'C' => number(Field::Century, 2),
            b'y' | b'Y' if count == 2 => Part::ShortYear,
            b'y' | b'Y' => number(Field::Year, 9),
            b'x' => number(Field::WeekYear, 9),
            b'w' => number(Field::Week, 2),
            b'e' => number(Field::Weekday, 1),
            b'E' if count > 3 => Part::WeekdayName,
            b'E' => Part::ShortWeekdayName,
            b'D' => number(Field::DayOfYear, 3),
            b'M' if count > 3 => Part::MonthName,
            b'M' if count == 3 => Part::ShortMonthName,
            b'M' => number(Field::Month, 2),
            b'd' => number(Field::Day, 2),
            b'a' => Part::HalfOfDay,
            b'K' => number(Field::HalfDayHour, 2),
            b'h' => number(Field::ClockHour, 2),
            b'H' => number(Field::Hour, 2),
            b'k' => number(Field::HourFromOne, 2),
            b'm' => number(Field::Minute, 2),
            b's' => number(Field::Second, 2),
            b'S' => Part::Fraction(count),
            b'Z' => Part::Offset,
            other => {
                return Err(Error::new(
                    ErrorCode::NOT_IMPLEMENTED,
                    format!("format is not supported for {}", char::from(other)),
                ));
            }
        });
        // A number directly behind a number: the first one has as many digits as it has letters.
        if let [.., before, last] = &mut parts[..]
            && last.is_number()
            && let Part::UpTo(field, width) = before
        {
            let own = text_width(text, rest, count, *width);
            *before = Part::Exact(*field, own);
        }
    }
    Ok(parts)
}

/// What quoted text at the beginning says, and its length with the quotes.
fn quoted(text: &[u8]) -> Result<(Vec<u8>, usize)> {
    // Two quotes are one, outside and inside of quoted text.
    if text.get(1) == Some(&b'\'') {
        return Ok((vec![b'\''], 2));
    }
    let mut quoted = Vec::new();
    let mut at = 1;
    loop {
        match (text.get(at), text.get(at + 1)) {
            (Some(b'\''), Some(b'\'')) => {
                quoted.push(b'\'');
                at += 2;
            }
            (Some(b'\''), _) => return Ok((quoted, at + 1)),
            (Some(other), _) => {
                quoted.push(*other);
                at += 1;
            }
            (None, _) => {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "No closing single quote for literal"));
            }
        }
    }
}

/// How many letters the part before the last one of a pattern has, `rest` being what follows that last one of `count` letters.
fn text_width(text: &[u8], rest: &[u8], count: usize, most: usize) -> usize {
    let end = text.len() - rest.len() - count;
    let before = text.get(..end).unwrap_or_default();
    let letter = before.last();
    before.iter().rev().take_while(|byte| Some(*byte) == letter).count().min(most)
}

/// Reads a text from the front.
struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
}

impl Reader<'_> {
    fn failed(&self, what: &str) -> Error {
        unreadable(format!("Unable to parse {} at '{}': {what}", shown(self.text), shown(self.rest)))
    }

    fn digits(&mut self, least: usize, most: usize) -> Result<i64> {
        let count = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if count < least {
            return Err(self.failed(&format!("readNumber requires size >= {least}")));
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    fn name(&mut self, names: &[&str], length: Option<usize>) -> Result<i64> {
        let found = names.iter().position(|name| {
            let name = name.get(..length.unwrap_or(name.len())).unwrap_or(name).as_bytes();
            self.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        });
        let at = found.ok_or_else(|| self.failed("Unable to parse a name of a month or day"))?;
        let used = length.unwrap_or_else(|| names.get(at).map_or(0, |name| name.len()));
        self.rest = self.rest.get(used..).unwrap_or_default();
        Ok(at as i64 + 1)
    }

    fn part(&mut self, part: &Part, fields: &mut Fields, is_wide: bool) -> Result<()> {
        match part {
            Part::Literal(literal) => {
                self.rest = self
                    .rest
                    .strip_prefix(&literal[..])
                    .ok_or_else(|| self.failed(&format!("literal {} is expected", shown(literal))))?;
                Ok(())
            }
            Part::Exact(field, digits) => {
                let number = self.digits(*digits, *digits)?;
                fields.set(*field, number, is_wide)
            }
            Part::UpTo(field, most) => {
                let number = self.digits(1, *most)?;
                fields.set(*field, number, is_wide)
            }
            Part::Padded(field) => {
                let is_padded = self.rest.first() == Some(&b' ');
                if is_padded {
                    self.rest = self.rest.get(1..).unwrap_or_default();
                }
                let number = self.digits(1, if is_padded { 1 } else { 2 })?;
                fields.set(*field, number, is_wide)
            }
            Part::ShortYear => {
                let short = self.digits(2, 2)?;
                fields.set(Field::Year, short + if short >= 70 { 1900 } else { 2000 }, is_wide)
            }
            Part::MonthName => {
                let month = self.name(&MONTHS, None)?;
                fields.set(Field::Month, month, is_wide)
            }
            Part::ShortMonthName => {
                let month = self.name(&MONTHS, Some(3))?;
                fields.set(Field::Month, month, is_wide)
            }
            Part::WeekdayName => {
                let day = self.name(&WEEKDAYS, None)?;
                fields.set(Field::Weekday, day, is_wide)
            }
            Part::ShortWeekdayName => {
                let day = self.name(&WEEKDAYS, Some(3))?;
                fields.set(Field::Weekday, day, is_wide)
            }
            Part::HalfOfDay => {
                let (word, rest) = self.rest.split_at_checked(2).ok_or_else(|| self.failed("AM or PM is expected"))?;
                let is_pm = word.eq_ignore_ascii_case(b"pm");
                if !is_pm && !word.eq_ignore_ascii_case(b"am") {
                    return Err(self.failed("AM or PM is expected"));
                }
                self.rest = rest;
                fields.is_pm = Some(is_pm);
                Ok(())
            }
            Part::Era => {
                let (word, rest) = self.rest.split_at_checked(2).ok_or_else(|| self.failed("an era is expected"))?;
                if !word.eq_ignore_ascii_case(b"ad") && !word.eq_ignore_ascii_case(b"ce") {
                    return Err(self.failed("an era is expected"));
                }
                self.rest = rest;
                Ok(())
            }
            Part::Offset => {
                let sign = match self.rest.first() {
                    Some(b'+') => 1,
                    Some(b'-') => -1,
                    _ => return Err(self.failed("a time zone offset is expected")),
                };
                self.rest = self.rest.get(1..).unwrap_or_default();
                let (hours, minutes) = (self.digits(2, 2)?, self.digits(2, 2)?);
                fields.offset = Some(sign * (hours * 3600 + minutes * 60));
                Ok(())
            }
            Part::Fraction(most) => {
                let before = self.rest.len();
                let number = self.digits(1, *most)?;
                let digits = before - self.rest.len();
                fields.nanoseconds = number * 10_i64.pow(9_u32.saturating_sub(digits as u32));
                Ok(())
            }
        }
    }
}

/// What was read so far.
#[derive(Default)]
struct Fields {
    century: Option<i64>,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    week_year: Option<i64>,
    week: Option<i64>,
    weekday: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: i64,
    is_half_day: bool,
    is_pm: Option<bool>,
    offset: Option<i64>,
}

impl Fields {
    fn set(&mut self, field: Field, value: i64, is_wide: bool) -> Result<()> {
        let (least, most, name) = field.range(is_wide);
        if !(least..=most).contains(&value) {
            return Err(unreadable(format!("Value {value} for {name} must be in the range [{least}, {most}]")));
        }
        match field {
            Field::Century => self.century = Some(value),
            Field::Year => self.year = Some(value),
            Field::Month => self.month = Some(value),
            Field::Day => self.day = Some(value),
            Field::DayOfYear => self.day_of_year = Some(value),
            Field::WeekYear => self.week_year = Some(value),
            Field::Week => self.week = Some(value),
            Field::Weekday => self.weekday = Some(value),
            Field::WeekdayFromSunday => self.weekday = Some(if value == 0 { 7 } else { value }),
            Field::Hour => self.hour = value,
            Field::HourFromOne => self.hour = value % 24,
            Field::HalfDayHour | Field::ClockHour => {
                self.hour = value % 12;
                self.is_half_day = true;
            }
            Field::Minute => self.minute = value,
            Field::Second => self.second = value,
        }
        Ok(())
    }

    /// Days since the epoch. A day of a year or of a week counts where it came; without any date it is 1970-01-01.
    fn days(&self) -> Result<i64> {
        let has_date = self.month.is_some() || self.day.is_some();
        let is_of_week = self.week_year.is_some() || self.week.is_some() || self.weekday.is_some();
        let year = self.year.or(self.century.map(|century| century * 100));
        if !has_date && let Some(day) = self.day_of_year {
            let year = year.unwrap_or(2000);
            if day == 366 && !is_leap_year(year as i32) {
                return Err(unreadable(format!("Invalid day of year, out of range (year: {year} day of year: {day})")));
            }
            return Ok(i64::from(days_from_civil(year as i32, 1, 1)) + day - 1);
        }
        if !has_date && is_of_week {
            let year = self.week_year.or(year).unwrap_or(2000);
            // The first week has the year's first Thursday: January 4 is in it.
            let fourth = days_from_civil(year as i32, 1, 4);
            let monday = fourth - weekday(fourth);
            return Ok(i64::from(monday) + 7 * (self.week.unwrap_or(1) - 1) + self.weekday.unwrap_or(1) - 1);
        }
        if !has_date && year.is_none() {
            return Ok(0);
        }
        let (year, month, day) = (year.unwrap_or(2000), self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day > i64::from(days_of_month(year as i32, month as u32)) {
            return Err(unreadable(format!(
                "Invalid date, out of range (year: {year} month: {month} day_of_month: {day})"
            )));
        }
        Ok(i64::from(days_from_civil(year as i32, month as u32, day as u32)))
    }

    fn finish(&self, is_wide: bool) -> Result<ParsedMoment> {
        let hour = match (self.is_half_day, self.is_pm) {
            (true, Some(true)) => self.hour + 12,
            _ => self.hour,
        };
        let local = self.days()? * DAY_SECONDS + hour * 3600 + self.minute * 60 + self.second;
        let parsed = ParsedMoment {
            seconds: local - self.offset.unwrap_or(0),
            is_utc: self.offset.is_some(),
            nanoseconds: if is_wide { self.nanoseconds } else { 0 },
        };
        Ok(parsed)
    }
}
