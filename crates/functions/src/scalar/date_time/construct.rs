//! Dates and times from numbers and back: `makeDate`, `fromUnixTimestamp`, `toUnixTimestamp`.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, TimeZone, days_from_civil};
use squall_types::text::{MomentForm, read_date_time};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, Strings, floats, integers};

use super::time::{Kind, Time, date, date_time, zone_argument};

/// Days since the epoch; `None` where month or day are none. A day past its month's end runs into the next month.
fn checked_days(year: i64, month: i64, day: i64) -> Option<i32> {
    let is_date = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then(|| days_from_civil(year as i32, month as u32, day as u32))
}

fn is_any_number(data_type: &DataType) -> bool {
    data_type.is_number() || data_type.is_wide_integer()
}

pub(super) fn resolve_date(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.each(0..call.arguments.len(), is_any_number)?;
    let narrow = call.name == "makeDate";
    let count = call.arguments.len();
    call.bind(if narrow { DataType::Date } else { DataType::Date32 }, move |arguments, rows| {
        let fields = (0..count).map(|at| integers(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let numbers = (0..count).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let days = |row: usize| match &fields[..] {
            _ if numbers.iter().any(|numbers| numbers.get(row).is_some_and(|number| number.is_nan())) => None,
            // A year and a day of it.
            [years, days] => {
                let is_day = (1..=365).contains(&days[row]);
                let start = checked_days(years[row], 1, 1).filter(|_| is_day)?;
                Some(start + days[row] as i32 - 1)
            }
            [years, months, days] => checked_days(years[row], months[row], days[row]),
            _ => None,
        };
        Ok(if narrow {
            let in_range = |days: &i32| (0..=i32::from(u16::MAX)).contains(days);
            let values = (0..rows).map(|row| days(row).filter(in_range).map_or(0, date)).collect();
            Column::from_primitive::<UInt16Type>(DataType::Date, values)
        } else {
            let in_range = |days: &i32| (DATE32_MIN..=DATE32_MAX).contains(days);
            let values = (0..rows).map(|row| days(row).filter(in_range).unwrap_or(0)).collect();
            Column::from_primitive::<Int32Type>(DataType::Date32, values)
        })
    })
}

/// Local seconds of six fields, each of which may run over into the next larger but for months.
fn local_seconds(fields: &[Vec<i64>], row: usize) -> Option<i64> {
    let [years, months, days, hours, minutes, seconds, ..] = fields else { return None };
    let day = checked_days(years[row], months[row], days[row])?;
    let clock = [hours[row], minutes[row], seconds[row]];
    if clock.iter().any(|part| !(0..=999).contains(part)) {
        return None;
    }
    Some(i64::from(day) * DAY_SECONDS + clock[0] * 3600 + clock[1] * 60 + clock[2])
}

pub(super) fn resolve_date_time(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(6..=7)?;
    call.each(0..6, |data_type| data_type.is_number())?;
    let (zone, named) = zone_of(call, 6)?;
    let return_type = DataType::DateTime(named);
    call.bind(return_type.clone(), move |arguments, rows| {
        let fields = (0..6).map(|at| integers(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let seconds = |row| local_seconds(&fields, row).map_or(0, |local| date_time(zone.to_utc(local)));
        Ok(Column::from_primitive::<UInt32Type>(return_type.clone(), (0..rows).map(seconds).collect()))
    })
}

/// 1900-01-01 00:00:00 and 2299-12-31 23:59:59: `makeDateTime64` goes no further.
const MOMENTS_MIN: i64 = -25_567 * DAY_SECONDS;
const MOMENTS_MAX: i64 = 120_530 * DAY_SECONDS - 1;

pub(super) fn resolve_date_time64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(6..=9)?;
    call.each(0..8, |data_type| data_type.is_number())?;
    let digits = match call.constant(7) {
        None if call.arguments.len() <= 7 => 3,
        Some(digits) => digits.as_f64().filter(|digits| *digits > -1.0 && *digits < 10.0).ok_or_else(|| {
            Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Precision of makeDateTime64 must be from 0 to 9")
        })? as u8,
        None => return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Precision of makeDateTime64 must be constant")),
    };
    let (zone, named) = zone_of(call, 8)?;
    let return_type = DataType::DateTime64(digits, named);
    let ticks = 10_i64.pow(u32::from(digits));
    call.bind(return_type.clone(), move |arguments, rows| {
        let count = arguments.len().min(7);
        let fields = (0..count).map(|at| integers(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let numbers = (0..count).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let is_number = numbers.iter().all(|numbers| numbers.get(row).is_some_and(|number| !number.is_nan()));
            let local = local_seconds(&fields, row).filter(|_| is_number);
            let fraction = fields.get(6).map_or(0, |fractions| fractions[row].clamp(0, ticks - 1));
            // What no calendar has is the first moment of the range, as what lies before it is; a year past all of them is the last.
            let is_late = is_number && fields.first().is_some_and(|years| years[row] > 9999);
            let (local, fraction) = match local {
                None if is_late => (MOMENTS_MAX, ticks - 1),
                None => (MOMENTS_MIN, 0),
                Some(local) if local < MOMENTS_MIN => (MOMENTS_MIN, 0),
                Some(local) if local > MOMENTS_MAX => (MOMENTS_MAX, ticks - 1),
                Some(local) => (local, fraction),
            };
            let value = zone.to_utc(local).checked_mul(ticks).and_then(|value| value.checked_add(fraction));
            values.push(value.ok_or_else(|| Error::new(ErrorCode::DECIMAL_OVERFLOW, "Decimal math overflow"))?);
        }
        Ok(Column::from_primitive::<Int64Type>(return_type.clone(), values))
    })
}

/// The zone of an argument, or the session's.
fn zone_of(call: &Call<'_>, at: usize) -> Result<(TimeZone, Option<Arc<str>>)> {
    let named = zone_argument(call, at)?;
    let zone = match &named {
        Some(name) => TimeZone::named(name)?,
        None => call.session_zone()?,
    };
    Ok((zone, named))
}

/// `YYYYMMDDToDate` and the like.
pub(super) fn resolve_digits(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let with_clock = call.name.ends_with("DateTime");
    call.arguments(1..=if with_clock { 2 } else { 1 })?;
    call.each([0], |data_type| data_type.is_any_number() || *data_type == DataType::Bool)?;
    let name = call.name;
    let days = |digits: i64| checked_days(digits / 10_000, digits / 100 % 100, digits % 100);
    match call.name {
        "YYYYMMDDToDate" => call.bind(DataType::Date, move |arguments, rows| {
            let in_range = |days: &i32| (0..=i32::from(u16::MAX)).contains(days);
            let numbers = finite(name, arguments, rows)?.into_iter().map(|digits| digits.round() as i64);
            let values = numbers.map(|digits| days(digits).filter(in_range).map_or(0, date)).collect();
            Ok(Column::from_primitive::<UInt16Type>(DataType::Date, values))
        }),
        "YYYYMMDDToDate32" => call.bind(DataType::Date32, move |arguments, rows| {
            let numbers = finite(name, arguments, rows)?.into_iter().map(|digits| digits.round() as i64);
            let values = numbers.map(|digits| days(digits).unwrap_or(0)).collect();
            Ok(Column::from_primitive::<Int32Type>(DataType::Date32, values))
        }),
        _ => {
            let (zone, named) = zone_of(call, 1)?;
            let return_type = DataType::DateTime(named);
            call.bind(return_type.clone(), move |arguments, rows| {
                let seconds = |digits: i64| {
                    let (date, clock) = (digits / 1_000_000, digits % 1_000_000);
                    let local = i64::from(days(date)?) * DAY_SECONDS
                        + clock / 10_000 * 3600
                        + clock / 100 % 100 * 60
                        + clock % 100;
                    Some(date_time(zone.to_utc(local)))
                };
                let numbers = finite(name, arguments, rows)?.into_iter().map(|digits| digits.round() as i64);
                let values = numbers.map(|digits| seconds(digits).unwrap_or(0));
                Ok(Column::from_primitive::<UInt32Type>(return_type.clone(), values.collect()))
            })
        }
    }
}

/// The numbers of the first argument, each of which must be one.
fn finite(name: &str, arguments: &[Column], rows: usize) -> Result<Vec<f64>> {
    let numbers = floats(arguments, 0, rows)?;
    if numbers.iter().all(|number| number.is_finite()) {
        return Ok(numbers);
    }
    Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Argument for function {name} must be finite")))
}

/// `YYYYMMDDhhmmssToDateTime64(number[, digits[, zone]])`.
pub(super) fn resolve_digits64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    call.each([0], |data_type| data_type.is_any_number() || *data_type == DataType::Bool)?;
    let name = call.name;
    let digits = match call.constant(1) {
        None if call.arguments.len() < 2 => 3,
        Some(digits) => digits.as_u64().filter(|digits| *digits <= 9).ok_or_else(|| call.illegal(1))? as u8,
        None => return Err(call.illegal(1)),
    };
    let (zone, named) = zone_of(call, 2)?;
    let return_type = DataType::DateTime64(digits, named);
    let ticks = 10_i64.pow(u32::from(digits));
    call.bind(return_type.clone(), move |arguments, rows| {
        let values = finite(name, arguments, rows)?.into_iter().map(|float| {
            let number = float as i64;
            let (date, clock) = (number / 1_000_000, number % 1_000_000);
            let days = checked_days(date / 10_000, date / 100 % 100, date % 100);
            let local = days.map_or(MOMENTS_MIN, |days| {
                i64::from(days) * DAY_SECONDS + clock / 10_000 * 3600 + clock / 100 % 100 * 60 + clock % 100
            });
            let seconds = zone.to_utc(local.clamp(MOMENTS_MIN, MOMENTS_MAX));
            seconds * ticks + (float.fract() * ticks as f64) as i64
        });
        Ok(Column::from_primitive::<Int64Type>(return_type.clone(), values.collect()))
    })
}

/// `timestamp(text[, clock])`: a date and a time of day in text, with microseconds.
pub(super) fn resolve_text_timestamp(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    const DIGITS: u8 = 6;
    call.arguments(1..=2)?;
    if let Some(at) = (0..call.arguments.len()).find(|at| !call.type_of(*at).is_string_or_fixed_string()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as argument {} to function '{}'. Expected: String or FixedString, got: {}",
                at + 1,
                call.name,
                call.type_of(at)
            ),
        ));
    }
    let digits = Argument { data_type: DataType::UInt8, constant: Some(Value::UInt64(DIGITS.into())) };
    let text = Argument::of(DataType::String);
    let parse = resolve_scalar("toDateTime64", &[text, digits], call.context)?;
    let return_type = parse.return_type().clone();
    call.bind(return_type.clone(), move |arguments, rows| {
        let digits = Column::constant(DataType::UInt8, &Value::UInt64(DIGITS.into()), rows)?;
        let first = arguments.first().ok_or_else(|| Error::logical("an argument is missing"))?;
        let texts = squall_types::cast(first, &DataType::String, &squall_types::CastOptions::default())?;
        let times = parse.execute(&[texts, digits], rows)?.materialize()?;
        if arguments.len() == 1 {
            return Ok(times);
        }
        let clocks = Strings::of(arguments, 1)?;
        let values = times.as_primitive::<Int64Type>()?.values();
        let sums = values.iter().enumerate().map(|(row, time)| Ok(time + microseconds(clocks.get(row))?));
        Ok(Column::from_primitive::<Int64Type>(return_type.clone(), sums.collect::<Result<Vec<_>>>()?))
    })
}

/// A time of day `hh:mm:ss[.ffffff]` in microseconds.
fn microseconds(text: &[u8]) -> Result<i64> {
    let wrong = || {
        Error::new(
            ErrorCode::CANNOT_PARSE_DATETIME,
            format!("Cannot parse the time of day '{}'", String::from_utf8_lossy(text)),
        )
    };
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let parts = clock.split(':').map(|part| part.parse::<u32>().map(i64::from));
    let parts = parts.collect::<std::result::Result<Vec<i64>, _>>().map_err(|_| wrong())?;
    let [hours, minutes, seconds] = parts[..] else { return Err(wrong()) };
    let fraction = format!("{fraction:0<6}");
    let micros: i64 = fraction.get(..6).and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    Ok(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros)
}

/// `fromDaysSinceYearZero`.
pub(super) fn resolve_days(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.integers([0])?;
    if call.name.ends_with("32") {
        return call.bind(DataType::Date32, |arguments, rows| {
            // Days wrap in 32 bits; what then is out of the range is its nearest end.
            let moved = |days: i64| (days as i32).wrapping_add(DATE32_MIN).clamp(DATE32_MIN, DATE32_MAX);
            let values = days_since_zero(arguments, rows)?.into_iter().map(moved);
            Ok(Column::from_primitive::<Int32Type>(DataType::Date32, values.collect()))
        });
    }
    call.bind(DataType::Date, |arguments, rows| {
        let values =
            days_since_zero(arguments, rows)?.into_iter().map(|days| days.wrapping_add(DATE32_MIN.into()) as u16);
        Ok(Column::from_primitive::<UInt16Type>(DataType::Date, values.collect()))
    })
}

/// Days since the year 0, none of which may be before it.
fn days_since_zero(arguments: &[Column], rows: usize) -> Result<Vec<i64>> {
    let days = integers(arguments, 0, rows)?;
    match days.iter().find(|days| **days < 0) {
        Some(days) => {
            Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, format!("Expected a non-negative integer, got: {days}")))
        }
        None => Ok(days),
    }
}

/// `fromUnixTimestamp`: a `DateTime`, or its text where there is a pattern.
pub(super) fn resolve_from_timestamp(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=3)?;
    call.integers([0])?;
    let to_seconds = |arguments: &[Column], rows: usize, data_type: DataType| {
        let seconds = integers(arguments, 0, rows)?.into_iter().map(date_time).collect();
        Ok(Column::from_primitive::<UInt32Type>(data_type, seconds))
    };
    if call.arguments.len() == 1 {
        return call.bind(DataType::DateTime(None), move |arguments, rows| {
            to_seconds(arguments, rows, DataType::DateTime(None))
        });
    }
    of_seconds(call, super::format::resolve)
}

/// A function of times over the numbers of their seconds. Only numbers of 64 bits pass the range of `DateTime`; others wrap around.
pub(super) fn of_seconds(
    call: &Call<'_>,
    resolve: fn(&Call<'_>) -> Result<Arc<dyn BoundFunction>>,
) -> Result<Arc<dyn BoundFunction>> {
    let is_wide = matches!(call.type_of(0), DataType::Int64 | DataType::UInt64);
    let time_type = if is_wide { DataType::DateTime64(0, None) } else { DataType::DateTime(None) };
    let mut described = call.arguments.to_vec();
    if let Some(first) = described.first_mut() {
        *first = Argument::of(time_type.clone());
    }
    let function = resolve(&Call { arguments: &described, ..*call })?;
    call.bind(function.return_type().clone(), move |arguments, rows| {
        let mut arguments = arguments.to_vec();
        let numbers = integers(&arguments, 0, rows)?;
        let times = match is_wide {
            true => Column::from_primitive::<Int64Type>(time_type.clone(), numbers),
            false => Column::from_primitive::<UInt32Type>(
                time_type.clone(),
                numbers.into_iter().map(|seconds| seconds as u32).collect(),
            ),
        };
        if let Some(first) = arguments.first_mut() {
            *first = times;
        }
        function.execute(&arguments, rows)
    })
}

/// Digits of the second in names like `toUnixTimestamp64Milli`.
fn digits_of(name: &str) -> u8 {
    match name.split_once("64").map(|(_, unit)| unit) {
        Some("Milli") => 3,
        Some("Micro") => 6,
        Some("Nano") => 9,
        _ => 0,
    }
}

pub(super) fn resolve_from_ticks(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.integers([0])?;
    let (_, named) = zone_of(call, 1)?;
    let return_type = DataType::DateTime64(digits_of(call.name), named);
    call.bind(return_type.clone(), move |arguments, rows| {
        Ok(Column::from_primitive::<Int64Type>(return_type.clone(), integers(arguments, 0, rows)?))
    })
}

/// `toUnixTimestamp64Milli` and the like.
pub(super) fn resolve_ticks(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let time = Time::of(call, 0, None)?;
    let Kind::DateTime64 { ticks, .. } = time.kind else { return Err(call.illegal(0)) };
    let scale = 10_i128.pow(u32::from(digits_of(call.name)));
    let call = call.monotonic((scale <= i128::from(ticks)).then_some((i64::MIN, i64::MAX)));
    call.bind(DataType::Int64, move |arguments, _| {
        time.map::<Int64Type>(arguments, 0, &DataType::Int64, |instant| {
            let value = i128::from(instant.utc) * i128::from(ticks) + i128::from(instant.fraction);
            // Digits that the result has not are cut off.
            (value * scale / i128::from(ticks)) as i64
        })
    })
}

/// `toUnixTimestamp`, of times, dates, numbers and the text of a time.
pub(super) fn resolve_timestamp(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    match call.type_of(0) {
        DataType::String => {
            let (zone, named) = zone_of(call, 1)?;
            if named.is_none() && call.arguments.len() > 1 {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Provided time zone must be non-empty and be a valid time zone",
                ));
            }
            call.bind(DataType::UInt32, move |arguments, rows| {
                let strings = Strings::of(arguments, 0)?;
                let mut cursor = zone.cursor();
                let mut seconds = Vec::with_capacity(rows);
                for row in 0..rows {
                    let text = strings.get(row);
                    let (moment, _) = read_date_time(text, &mut cursor, MomentForm::default().style())?;
                    seconds.push(moment.seconds as u32);
                }
                Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, seconds))
            })
        }
        number if number.is_integer() => call.bind(DataType::UInt32, |arguments, rows| {
            let seconds = integers(arguments, 0, rows)?.into_iter().map(|seconds| seconds as u32).collect();
            Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, seconds))
        }),
        wide if wide.is_wide_integer() => call.bind(DataType::UInt32, |arguments, _| {
            squall_types::cast(
                crate::scalar::simple::argument(arguments, 0)?,
                &DataType::UInt32,
                &squall_types::CastOptions::default(),
            )
        }),
        DataType::Date | DataType::Date32 => {
            let time = Time::of(call, 0, None)?;
            // The days that 32 bits of seconds have in every time zone; beyond, they wrap.
            let call = call.never_throws().monotonic(Some((1, 49_708)));
            call.bind(DataType::UInt32, move |arguments, _| {
                time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| {
                    time.zone.to_utc(instant.local) as u32
                })
            })
        }
        _ => {
            let time = Time::of(call, 0, Some(1))?;
            // What is out of range is refused.
            let call = call.monotonic(Some((i64::MIN, i64::MAX)));
            call.bind(DataType::UInt32, move |arguments, _| {
                let mut in_range = true;
                let column = crate::scalar::simple::argument(arguments, 0)?;
                time.for_each(column, |instant| in_range &= u32::try_from(instant.utc).is_ok())?;
                if !in_range {
                    return Err(Error::new(ErrorCode::DECIMAL_OVERFLOW, "DateTime64 is out of the range of DateTime"));
                }
                time.map::<UInt32Type>(arguments, 0, &DataType::UInt32, |instant| instant.utc as u32)
            })
        }
    }
}
