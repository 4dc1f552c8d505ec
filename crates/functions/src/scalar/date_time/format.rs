//! `formatDateTime` and names of months and days. A pattern is read once and then costs a match for each of its pieces.

use std::sync::Arc;

use squall_types::calendar::civil_from_days;
use squall_types::text::{MONTHS, WEEKDAYS};
use squall_types::{DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, string_column};

use super::field::day_of_year;
use super::time::{Instant, Kind, Time, by_zone, has_zones};
use super::unit;
use super::week::{iso_week, iso_year, weekday};

fn month_name(month: u32) -> &'static str {
    MONTHS.get(month.wrapping_sub(1) as usize).copied().unwrap_or_default()
}

fn weekday_name(days: i32) -> &'static str {
    WEEKDAYS.get(weekday(days) as usize).copied().unwrap_or_default()
}

/// A piece of a pattern.
#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    /// The letter behind a `%`.
    Field(u8),
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    if has_zones(call, 2) {
        return by_zone(call, 2, resolve);
    }
    let time = Time::of(call, 0, Some(2))?;
    call.each([1], |data_type| *data_type == DataType::String)?;
    let pieces = parse(call.constant_bytes(1)?, call.context.settings.formatdatetime_parsedatetime_m_is_month_name)?;
    let ticks = match time.kind {
        Kind::DateTime64 { ticks, .. } => ticks,
        _ => 1,
    };
    let style = Style::new(call);
    call.bind(DataType::String, move |arguments, rows| {
        let instants = time.instants(arguments, 0, rows)?;
        string_column(rows, rows * 20, |out, row| {
            let fields = Fields { style, ..Fields::new(instants[row], ticks) };
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Field(letter) => fields.append(out, *letter),
                }
            }
            Ok(())
        })
    })
}

/// How the settings have some fields of `formatDateTime`.
#[derive(Clone, Copy, Default)]
struct Style {
    /// `%e` has a space in place of its first zero.
    pads_day: bool,
    /// `%f` without a fraction is one zero.
    single_zero: bool,
    /// `%f` has as many digits as the type.
    digits_of_scale: bool,
    /// `%c`, `%l` and `%k` have no zeros before them.
    without_zeros: bool,
}

impl Style {
    fn new(call: &Call<'_>) -> Self {
        let settings = &call.context.settings;
        Self {
            pads_day: settings.formatdatetime_e_with_space_padding,
            single_zero: settings.formatdatetime_f_prints_single_zero,
            digits_of_scale: settings.formatdatetime_f_prints_scale_number_of_digits,
            without_zeros: settings.formatdatetime_format_without_leading_zeros,
        }
    }
}

/// A pattern's pieces; where `%M` is not the month's name it is the minute.
fn parse(pattern: &[u8], names_month: bool) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'%') => text.push(b'%'),
            Some(b'n') => text.push(b'\n'),
            Some(b't') => text.push(b'\t'),
            Some(letter) if b"abcCdDefFgGhHiIjklmMpQrRsSTuVwWyYz".contains(&letter) => {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Field(if letter == b'M' && !names_month { b'i' } else { letter }));
            }
            Some(letter) => {
                return Err(Error::not_implemented(format!("format is not supported for {}", char::from(letter))));
            }
            None => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Trailing '%' symbol in the pattern of formatDateTime",
                ));
            }
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Appends a number with at least `width` digits.
pub(super) fn digits(out: &mut Vec<u8>, value: i64, width: u32) {
    let mut rest = value.max(0);
    let count = width.max(rest.checked_ilog10().unwrap_or(0) + 1);
    let start = out.len();
    out.resize(start + count as usize, b'0');
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// An instant taken apart once for all pieces of a pattern.
#[derive(Clone, Copy)]
struct Fields {
    instant: Instant,
    ticks: i64,
    days: i32,
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    style: Style,
}

impl Fields {
    fn new(instant: Instant, ticks: i64) -> Self {
        let days = instant.day();
        let (year, month, day) = civil_from_days(days);
        let second_of_day = instant.second_of_day();
        Self {
            instant,
            ticks,
            days,
            year: year.into(),
            month: month.into(),
            day: day.into(),
            hour: second_of_day / 3600,
            minute: second_of_day / 60 % 60,
            second: second_of_day % 60,
            style: Style::default(),
        }
    }

    fn half_of_day(&self) -> &'static [u8] {
        if self.hour < 12 { b"AM" } else { b"PM" }
    }

    /// Appends several fields with a separator between them.
    fn append_all(&self, out: &mut Vec<u8>, letters: &[u8], separator: u8) {
        for (at, &letter) in letters.iter().enumerate() {
            if at > 0 {
                out.push(separator);
            }
            self.append(out, letter);
        }
    }

    fn append(&self, out: &mut Vec<u8>, letter: u8) {
        let Self { instant, days, year, month, day, hour, minute, second, .. } = *self;
        match letter {
            b'a' => out.extend_from_slice(&weekday_name(days).as_bytes()[..3]),
            b'b' => out.extend_from_slice(&month_name(month as u32).as_bytes()[..3]),
            b'c' if self.style.without_zeros => digits(out, month, 1),
            b'l' if self.style.without_zeros => digits(out, if hour % 12 == 0 { 12 } else { hour % 12 }, 1),
            b'k' if self.style.without_zeros => digits(out, hour, 1),
            b'c' | b'm' => digits(out, month, 2),
            b'C' => digits(out, year / 100, 2),
            b'd' => digits(out, day, 2),
            b'D' => self.append_all(out, b"mdy", b'/'),
            b'e' => {
                if self.style.pads_day && day < 10 {
                    out.push(b' ');
                }
                digits(out, day, 1);
            }
            b'f' if self.style.single_zero && (self.ticks == 1 || instant.fraction == 0) => out.push(b'0'),
            b'f' if self.style.digits_of_scale && self.ticks > 1 => {
                digits(out, instant.fraction, self.ticks.ilog10());
            }
            b'f' => digits(out, (i128::from(instant.fraction) * 1_000_000 / i128::from(self.ticks)) as i64, 6),
            b'F' => self.append_all(out, b"Ymd", b'-'),
            b'g' => digits(out, i64::from(iso_year(days)) % 100, 2),
            b'G' => digits(out, i64::from(iso_year(days)), 4),
            b'h' | b'I' | b'l' => digits(out, if hour % 12 == 0 { 12 } else { hour % 12 }, 2),
            b'H' | b'k' => digits(out, hour, 2),
            b'i' => digits(out, minute, 2),
            b'j' => digits(out, i64::from(day_of_year(days)), 3),
            b'M' => out.extend_from_slice(month_name(month as u32).as_bytes()),
            b'p' => out.extend_from_slice(self.half_of_day()),
            b'Q' => digits(out, (month + 2) / 3, 1),
            b'r' => {
                self.append_all(out, b"hi", b':');
                out.push(b' ');
                out.extend_from_slice(self.half_of_day());
            }
            b'R' => self.append_all(out, b"Hi", b':'),
            b's' | b'S' => digits(out, second, 2),
            b'T' => self.append_all(out, b"HiS", b':'),
            b'u' => digits(out, i64::from(weekday(days)) + 1, 1),
            b'V' => digits(out, i64::from(iso_week(days)), 2),
            b'w' => digits(out, (i64::from(weekday(days)) + 1) % 7, 1),
            b'W' => out.extend_from_slice(weekday_name(days).as_bytes()),
            b'y' => digits(out, year % 100, 2),
            b'Y' => digits(out, year, 4),
            _ => {
                let offset = instant.local - instant.utc;
                out.push(if offset < 0 { b'-' } else { b'+' });
                digits(out, offset.abs() / 3600, 2);
                digits(out, offset.abs() / 60 % 60, 2);
            }
        }
    }
}

pub(super) fn resolve_month_name(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let time = Time::of(call, 0, Some(1))?;
    if time.kind == Kind::Date32 {
        return Err(call.illegal(0));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let instants = time.instants(arguments, 0, rows)?;
        string_column(rows, rows * 8, |out, row| {
            out.extend_from_slice(month_name(civil_from_days(instants[row].day()).1).as_bytes());
            Ok(())
        })
    })
}

/// `dateName('month', time)`: a field as text.
pub(super) fn resolve_name(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    let time = Time::of(call, 1, Some(2))?;
    let Some(name) = call.constant(0).and_then(Value::as_str) else {
        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "The part of function dateName must be a constant string"));
    };
    let lower = name.to_ascii_lowercase();
    let field = match lower.as_str() {
        "weekday" => b'W',
        "dayofyear" => b'j',
        _ => match unit::parse(&lower) {
            Some(IntervalKind::Year) => b'Y',
            Some(IntervalKind::Quarter) => b'Q',
            Some(IntervalKind::Month) => b'M',
            Some(IntervalKind::Week) => b'V',
            Some(IntervalKind::Day) => b'd',
            Some(IntervalKind::Hour) => b'H',
            Some(IntervalKind::Minute) => b'i',
            Some(IntervalKind::Second) => b's',
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("{name} doesn't look like datepart name in {}", call.name),
                ));
            }
        },
    };
    let is_number = !matches!(field, b'W' | b'M');
    call.bind(DataType::String, move |arguments, rows| {
        let instants = time.instants(arguments, 1, rows)?;
        let mut text = Vec::new();
        string_column(rows, rows * 6, |out, row| {
            text.clear();
            Fields::new(instants[row], 1).append(&mut text, field);
            // Numbers come without leading zeros.
            let zeros = if is_number { text.iter().take_while(|&&digit| digit == b'0').count() } else { 0 };
            out.extend_from_slice(&text[zeros.min(text.len() - 1)..]);
            Ok(())
        })
    })
}
