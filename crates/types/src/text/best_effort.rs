//! Times of any usual shape: ISO 8601, RFC 1123, dates with names of months, timestamps, American dates. A text is read number by number
//! and word by word; what a number is follows from its length, from what stands behind it and from what is known already.

use super::date_time::Moment;
use crate::calendar::{DAY_SECONDS, ZoneCursor, civil_from_days, days_from_civil, days_of_month};
use crate::error::{Error, ErrorCode, Result};

/// What whoever reads expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BestEffort {
    /// The month is before the day in dates of numbers.
    pub is_american: bool,
    /// Fractions of seconds count.
    pub has_fractions: bool,
}

/// A time that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsedMoment {
    /// Seconds: local ones, or since the epoch where the text says how far from UTC it is.
    pub seconds: i64,
    /// Whether they are those since the epoch.
    pub is_utc: bool,
    /// Billionths of a second.
    pub nanoseconds: i64,
}

impl ParsedMoment {
    /// The moment, where local seconds are those of this zone.
    pub fn moment(self, zone: &mut ZoneCursor) -> Moment {
        let seconds = if self.is_utc { self.seconds } else { zone.to_utc(self.seconds) };
        Moment { seconds, nanoseconds: self.nanoseconds as u32 }
    }
}

/// A time at the front of a text.
#[derive(Clone, Copy, Debug)]
pub struct ReadMoment {
    /// The time.
    pub parsed: ParsedMoment,
    /// The bytes read.
    pub read: usize,
    /// Whether nobody could take the text for something else: its year, month and day are all there, and `-`, `/` or `:` are between them
    /// where they are numbers. ClickHouse's "strict" best effort.
    pub is_certain: bool,
}

/// The months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// The days of a week.
pub const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn unreadable(message: String) -> Error {
    Error::new(ErrorCode::CANNOT_PARSE_DATETIME, message)
}

#[derive(Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: i64,
    has_time: bool,
    is_pm: Option<bool>,
    offset: Option<i64>,
    /// A comma between what says the date and what says the time: both must be whole then.
    has_comma: bool,
    /// The date was written as other things are, too: `20240102`, `1.2.2024`, `2024-Jan-02`.
    is_doubtful: bool,
}

/// How it goes on behind a part of a text.
#[derive(PartialEq, Eq)]
enum Next {
    /// With another part.
    Part,
    /// With another part that no comma stands before.
    PartWithoutComma,
    /// It does not: what is left belongs to no time.
    Nothing,
    /// The part was a timestamp, and all that there is.
    Timestamp(ParsedMoment),
}

struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
}

/// Zones by name with hours from UTC.
const ZONES: [(&str, i64); 5] = [("UTC", 0), ("GMT", 0), ("MSK", 3), ("MSD", 4), ("Z", 0)];

impl<'a> Reader<'a> {
    fn failed(&self, what: &str) -> Error {
        unreadable(format!("Cannot read DateTime: {what}: cannot parse '{}'", String::from_utf8_lossy(self.text)))
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.skip(usize::from(found));
        found
    }

    /// The digits at the front, 20 at most.
    fn digits(&mut self) -> &'a [u8] {
        let count = self.rest.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }

    /// A number of one or two digits; `None` where there is none.
    fn short(&mut self) -> Result<Option<i64>> {
        match self.digits() {
            [] => Ok(None),
            digits @ ([_] | [_, _]) => Ok(Some(number(digits))),
            _ => Err(self.failed("unexpected number of decimal digits")),
        }
    }

    fn fraction(&mut self) -> i64 {
        let digits = self.digits();
        let kept = digits.get(..9).unwrap_or(digits);
        number(kept) * 10_i64.pow(9 - kept.len() as u32)
    }
}

fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// Reads a time from the front of a text; `today` tells the local time now, whose year stands in where a date has none.
///
/// # Errors
/// `CANNOT_PARSE_DATETIME`.
pub fn read_best_effort(text: &[u8], style: BestEffort, today: impl FnOnce() -> i64) -> Result<ReadMoment> {
    let mut reader = Reader { text, rest: text };
    let mut fields = Fields::default();
    let mut may_be_comma = true;
    let parsed = loop {
        if may_be_comma && (fields.year != 0) != fields.has_time && reader.eat(b',') {
            fields.has_comma = true;
        }
        let next = match reader.peek() {
            None => Next::Nothing,
            Some(byte) if byte.is_ascii_digit() && !(fields.year != 0 && fields.has_time) => {
                read_number(&mut reader, &mut fields, style)?
            }
            Some(_) => read_other(&mut reader, &mut fields)?,
        };
        match next {
            Next::Part => may_be_comma = true,
            Next::PartWithoutComma => may_be_comma = false,
            Next::Nothing => break finish(&reader, &fields, style, today)?,
            Next::Timestamp(parsed) => {
                fields.is_doubtful = true;
                break parsed;
            }
        }
    };
    let is_whole = fields.year != 0 && fields.month != 0 && fields.day != 0;
    let read = text.len() - reader.rest.len();
    Ok(ReadMoment { parsed, read, is_certain: is_whole && !fields.is_doubtful })
}

/// A number, and what belongs to it.
fn read_number(reader: &mut Reader<'_>, fields: &mut Fields, style: BestEffort) -> Result<Next> {
    let digits = reader.digits();
    let part = |from: usize, to: usize| number(digits.get(from..to).unwrap_or_default());
    let is_new = fields.year == 0 && !fields.has_time;
    match digits.len() {
        9 | 10 if is_new => {
            let nanoseconds = if reader.eat(b'.') { reader.fraction() } else { 0 };
            let nanoseconds = if style.has_fractions { nanoseconds } else { 0 };
            return Ok(Next::Timestamp(ParsedMoment { seconds: number(digits), is_utc: true, nanoseconds }));
        }
        13 if is_new => {
            let nanoseconds = if style.has_fractions { part(10, 13) * 1_000_000 } else { 0 };
            return Ok(Next::Timestamp(ParsedMoment { seconds: part(0, 10), is_utc: true, nanoseconds }));
        }
        16 if is_new && style.has_fractions => {
            return Ok(Next::Timestamp(ParsedMoment {
                seconds: part(0, 10),
                is_utc: true,
                nanoseconds: part(10, 16) * 1_000,
            }));
        }
        19 if is_new && style.has_fractions => {
            return Ok(Next::Timestamp(ParsedMoment { seconds: part(0, 10), is_utc: true, nanoseconds: part(10, 19) }));
        }
        14 if is_new => {
            fields.is_doubtful = true;
            (fields.year, fields.month, fields.day) = (part(0, 4), part(4, 6), part(6, 8));
            (fields.hour, fields.minute, fields.second) = (part(8, 10), part(10, 12), part(12, 14));
            fields.has_time = true;
        }
        8 if fields.year == 0 => {
            fields.is_doubtful = true;
            (fields.year, fields.month, fields.day) = (part(0, 4), part(4, 6), part(6, 8));
        }
        6 if fields.year == 0 && fields.month == 0 => {
            fields.is_doubtful = true;
            (fields.year, fields.month) = (part(0, 4), part(4, 6));
        }
        6 if !fields.has_time => {
            (fields.hour, fields.minute, fields.second) = (part(0, 2), part(2, 4), part(4, 6));
            fields.has_time = true;
        }
        4 if fields.year == 0 => {
            fields.year = part(0, 4);
            if !read_after_year(reader, fields)? {
                return Ok(Next::PartWithoutComma);
            }
        }
        1 | 2 => read_short(reader, fields, number(digits), style)?,
        _ => return Err(reader.failed("unexpected number of decimal digits")),
    }
    Ok(Next::Part)
}

/// `-MM-DD` and the like behind a year; whether there is anything of the kind.
fn read_after_year(reader: &mut Reader<'_>, fields: &mut Fields) -> Result<bool> {
    let Some(delimiter) = reader.peek().filter(|byte| matches!(byte, b'-' | b'/' | b'.' | b':')) else {
        return Ok(false);
    };
    reader.skip(1);
    fields.is_doubtful |= delimiter == b'.';
    match reader.short()? {
        Some(month) => fields.month = month,
        None if delimiter == b'-' => {
            fields.is_doubtful = true;
            fields.month = name(reader, &MONTHS).ok_or_else(|| reader.failed("a month is expected"))?
        }
        None => return Err(reader.failed("a month is expected")),
    }
    if reader.eat(delimiter) {
        fields.day = reader.short()?.ok_or_else(|| reader.failed("a day is expected"))?;
    }
    Ok(true)
}

/// A number of one or two digits: of a time, of a date, or a day of the month.
fn read_short(reader: &mut Reader<'_>, fields: &mut Fields, value: i64, style: BestEffort) -> Result<()> {
    match reader.peek() {
        Some(b':') if !fields.has_time => {
            reader.skip(1);
            fields.hour = value;
            fields.minute = reader.short()?.ok_or_else(|| reader.failed("minutes are expected"))?;
            if reader.eat(b':') {
                fields.second = reader.short()?.ok_or_else(|| reader.failed("seconds are expected"))?;
            }
            fields.has_time = true;
        }
        Some(delimiter @ (b'/' | b'.' | b'-')) if fields.day == 0 => {
            reader.skip(1);
            fields.is_doubtful |= delimiter == b'.';
            match reader.short()? {
                Some(second) if style.is_american => (fields.month, fields.day) = (value, second),
                Some(second) => (fields.day, fields.month) = (value, second),
                None => {
                    fields.day = value;
                    fields.month = name(reader, &MONTHS).ok_or_else(|| reader.failed("a month is expected"))?;
                }
            }
            if fields.month > 12 {
                std::mem::swap(&mut fields.month, &mut fields.day);
            }
            if reader.eat(delimiter) {
                let digits = reader.digits();
                fields.year = match digits.len() {
                    4 => number(digits),
                    2 => {
                        let short = number(digits);
                        short + if short >= 70 { 1900 } else { 2000 }
                    }
                    _ => return Err(reader.failed("a year is expected")),
                };
            }
        }
        // A second number alone is the hour, the first one the day.
        _ if fields.day != 0 => {
            if fields.has_time {
                return Err(reader.failed("the time is there twice"));
            }
            fields.hour = value;
            fields.has_time = true;
        }
        _ => {
            fields.day = value;
            // `Dec 31, 2015`.
            reader.eat(b',');
        }
    }
    Ok(())
}

/// One of these names, or its first three letters; the position from 1.
fn name(reader: &mut Reader<'_>, names: &[&str]) -> Option<i64> {
    let length = reader.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = reader.rest.get(..length)?;
    let start = word.get(..3)?;
    let at =
        names.iter().position(|name| name.as_bytes().get(..3).is_some_and(|own| own.eq_ignore_ascii_case(start)))?;
    // The rest of the word belongs to it where it is the whole name; otherwise it is read anew.
    let is_whole = names.get(at).is_some_and(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    reader.skip(if is_whole { length } else { 3 });
    Some(at as i64 + 1)
}

fn read_other(reader: &mut Reader<'_>, fields: &mut Fields) -> Result<Next> {
    match reader.peek() {
        Some(b' ') => reader.skip(1),
        // Between a date and a time; without a date it may begin a day of the week.
        Some(b'T') if fields.year != 0 && !fields.has_time => reader.skip(1),
        Some(b'.') if fields.has_time => {
            reader.skip(1);
            fields.nanoseconds = reader.fraction();
        }
        Some(sign @ (b'+' | b'-')) if fields.has_time || fields.year != 0 => {
            reader.skip(1);
            let digits = reader.digits();
            // `20220101-010203`: six digits are the time, where there was none.
            if let [_, _, _, _, _, _] = digits
                && !fields.has_time
            {
                let part = |from: usize| number(digits.get(from..from + 2).unwrap_or_default());
                (fields.hour, fields.minute, fields.second, fields.has_time) = (part(0), part(2), part(4), true);
                return Ok(Next::Part);
            }
            let (hours, minutes) = match digits.len() {
                4 => (number(digits.get(..2).unwrap_or_default()), number(digits.get(2..).unwrap_or_default())),
                3 => (number(digits.get(..1).unwrap_or_default()), number(digits.get(1..).unwrap_or_default())),
                1 | 2 => {
                    let hours = number(digits);
                    let minutes = if reader.eat(b':') { reader.short()?.unwrap_or(0) } else { 0 };
                    (hours, minutes)
                }
                _ => return Err(reader.failed("unexpected number of decimal digits for time zone offset")),
            };
            let seconds = hours * 3600 + minutes * 60;
            fields.offset = Some(if sign == b'-' { -seconds } else { seconds });
        }
        Some(byte) if byte.is_ascii_alphabetic() => read_word(reader, fields)?,
        _ => return Ok(Next::Nothing),
    }
    Ok(Next::Part)
}

fn read_word(reader: &mut Reader<'_>, fields: &mut Fields) -> Result<()> {
    let length = reader.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = reader.rest.get(..length).unwrap_or_default();
    let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
    if is("AM") || is("PM") {
        if !fields.has_time && fields.day != 0 && fields.month == 0 {
            // `10 AM` is a time without a date.
            (fields.hour, fields.day, fields.has_time) = (fields.day, 0, true);
        }
        fields.is_pm = Some(is("PM"));
        reader.skip(length);
        return Ok(());
    }
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| is(name)) {
        fields.offset = Some(hours * 3600);
        reader.skip(length);
        return Ok(());
    }
    if let Some(month) = name(reader, &MONTHS) {
        fields.month = month;
        return Ok(());
    }
    if name(reader, &WEEKDAYS).is_some() {
        reader.eat(b',');
        return Ok(());
    }
    Err(reader.failed("unexpected word"))
}

fn finish(
    reader: &Reader<'_>,
    fields: &Fields,
    style: BestEffort,
    today: impl FnOnce() -> i64,
) -> Result<ParsedMoment> {
    if fields.has_comma && !(fields.has_time && fields.year != 0 && fields.month != 0 && fields.day != 0) {
        return Err(reader.failed("unexpected word after Date"));
    }
    if fields.year == 0 && fields.month == 0 && fields.day == 0 && !fields.has_time {
        return Err(reader.failed("neither Date nor Time was parsed successfully"));
    }
    let (month, day) = (fields.month.max(1), fields.day.max(1));
    let (mut year, mut hour) = (fields.year, fields.hour);
    if year == 0 {
        // Without a year it is the latest such date that is not in the future.
        let (this_year, this_month, this_day) = civil_from_days(today().div_euclid(DAY_SECONDS) as i32);
        year = i64::from(this_year);
        // A time alone is one of the first day of this year.
        if (fields.month, fields.day) != (0, 0) && (month, day) > (i64::from(this_month), i64::from(this_day)) {
            year -= 1;
        }
    }
    if month > 12 || day > i64::from(days_of_month(year as i32, month as u32)) {
        return Err(reader.failed(&format!("unexpected date: {year}-{month}-{day}")));
    }
    match fields.is_pm {
        Some(true) if hour < 12 => hour += 12,
        Some(false) if hour == 12 => hour = 0,
        _ => {}
    }
    // What is past a day's end is the next day's, as in ClickHouse.
    let days = i64::from(days_from_civil(year as i32, month as u32, day as u32));
    let local = days * DAY_SECONDS + hour * 3600 + fields.minute * 60 + fields.second;
    Ok(ParsedMoment {
        seconds: local - fields.offset.unwrap_or(0),
        is_utc: fields.offset.is_some(),
        nanoseconds: if style.has_fractions { fields.nanoseconds } else { 0 },
    })
}
