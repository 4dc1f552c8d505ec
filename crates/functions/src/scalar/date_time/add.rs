//! `addDays`, `subtractMonths` and their kin. Years to days move the local date and keep the local clock; hours and less are spans of
//! time.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, civil_from_days, days_from_civil, days_of_month};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result, Value};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, integers};

use super::time::{Instant, Kind, Time};
use super::unit;

/// A time in text is a `DateTime64` of milliseconds, or finer where the unit is.
fn resolve_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let kind = unit::of_function(call.name).ok_or_else(|| Error::logical("a function without a unit"))?;
    let digits = unit::digits(kind).unwrap_or(3);
    let text = call.arguments.first().cloned().ok_or_else(|| call.illegal(0))?;
    let precision = Argument { data_type: DataType::UInt8, constant: Some(Value::UInt64(digits.into())) };
    let parse = resolve_scalar("parseDateTime64BestEffort", &[text, precision], call.context)?;
    let mut arguments = call.arguments.to_vec();
    if let Some(first) = arguments.first_mut() {
        *first = Argument::of(parse.return_type().clone());
    }
    let add = resolve_scalar(call.name, &arguments, call.context)?;
    call.bind(add.return_type().clone(), move |arguments, rows| {
        let precision = Column::constant(DataType::UInt8, &Value::UInt64(digits.into()), rows)?;
        let mut arguments = arguments.to_vec();
        if let Some(first) = arguments.first_mut() {
            *first = parse.execute(&[first.clone(), precision], rows)?;
        }
        add.execute(&arguments, rows)
    })
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    if *call.type_of(0) == DataType::String {
        return resolve_text(call);
    }
    let time = Time::of(call, 0, Some(2))?;
    call.each([1], |data_type| data_type.is_number() || matches!(data_type, DataType::Bool | DataType::Interval(_)))?;
    let kind = unit::of_function(call.name).ok_or_else(|| Error::logical("a function without a unit"))?;
    let sign = if call.name.starts_with("subtract") { -1 } else { 1 };
    let return_type = match (time.kind, kind) {
        (Kind::Date, kind) if kind >= IntervalKind::Day => DataType::Date,
        (Kind::Date32, kind) if kind >= IntervalKind::Day => DataType::Date32,
        (Kind::Date, kind) if kind >= IntervalKind::Second => time.date_time(),
        (Kind::Date32, kind) if kind >= IntervalKind::Second => time.date_time64(3),
        (Kind::Date | Kind::Date32, _) => return Err(call.illegal(0)),
        (Kind::DateTime, kind) => match unit::digits(kind) {
            Some(digits) => time.date_time64(digits),
            None => time.date_time(),
        },
        (Kind::DateTime64 { digits, .. }, kind) => time.date_time64(digits.max(unit::digits(kind).unwrap_or(0))),
    };
    // Only DateTime64 does not wrap or stop where its range ends.
    let is_wide = matches!(return_type, DataType::DateTime64(..));
    let call = if is_wide { *call } else { call.never_throws() };
    let stops = matches!(kind, IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year);
    call.bind(return_type.clone(), move |arguments, rows| {
        let deltas = integers(arguments, 1, rows)?;
        let delta = |row: usize| deltas[row].saturating_mul(sign);
        // What passes the end of a type's range wraps around, as integers do; months do not go below its beginning.
        let as_date = |days: i64| if stops { days.max(0) as u16 } else { days as u16 };
        if (time.kind, &return_type) == (Kind::Date, &DataType::Date)
            && arguments.get(1).is_some_and(Column::is_constant)
            && rows > 0
        {
            let delta = delta(0);
            let moved = |instant: Instant| as_date(shift(kind, instant.day(), delta));
            return time.map::<UInt16Type>(arguments, 0, &DataType::Date, moved);
        }
        if let DataType::Date | DataType::Date32 = return_type {
            let instants = time.instants(arguments, 0, rows)?;
            let days = instants.iter().enumerate().map(|(row, instant)| shift(kind, instant.day(), delta(row)));
            return Ok(match return_type {
                DataType::Date => Column::from_primitive::<UInt16Type>(DataType::Date, days.map(as_date).collect()),
                _ => {
                    let days = days.map(|days| days.clamp(DATE32_MIN.into(), DATE32_MAX.into()) as i32);
                    Column::from_primitive::<Int32Type>(DataType::Date32, days.collect())
                }
            });
        }
        add_to_times(&time, kind, arguments, rows, &return_type, delta)
    })
}

/// `addDate` and `subDate`: a time plus or minus an interval.
pub(super) fn resolve_interval(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if !matches!(call.type_of(1), DataType::Interval(_)) {
        return Err(call.illegal(1));
    }
    if *call.type_of(0) != DataType::String {
        Time::of(call, 0, None)?;
    }
    resolve_scalar(if call.name == "addDate" { "plus" } else { "minus" }, call.arguments, call.context)
}

fn add_to_times(
    time: &Time,
    kind: IntervalKind,
    arguments: &[Column],
    rows: usize,
    return_type: &DataType,
    delta: impl Fn(usize) -> i64,
) -> Result<Column> {
    let instants = time.instants(arguments, 0, rows)?;
    let from_ticks = match time.kind {
        Kind::DateTime64 { ticks, .. } => i128::from(ticks),
        _ => 1,
    };
    let to_ticks = match return_type {
        DataType::DateTime64(digits, _) => 10_i128.pow(u32::from(*digits)),
        _ => 1,
    };
    // Ticks of the result in one of the unit, for units that are spans.
    let unit_ticks = match (unit::seconds(kind), unit::digits(kind)) {
        (Some(seconds), _) => Some(i128::from(seconds) * to_ticks),
        (_, Some(digits)) => Some(to_ticks / 10_i128.pow(u32::from(digits))),
        _ => None,
    };
    let is_date = !time.has_clock();
    let mut cursor = time.zone.cursor();
    let mut overflow = false;
    let mut ticks = Vec::with_capacity(rows);
    for (row, instant) in instants.iter().enumerate() {
        let fraction = i128::from(instant.fraction) * to_ticks / from_ticks;
        let utc = match unit_ticks {
            Some(_) if !is_date => instant.utc,
            // Dates begin at midnight of the zone.
            Some(_) => cursor.to_utc(instant.local),
            None => {
                let days = shift(kind, instant.day(), delta(row)).clamp(-4_000_000, 4_000_000);
                cursor.to_utc(days * DAY_SECONDS + instant.second_of_day())
            }
        };
        let mut sum = i128::from(utc) * to_ticks + fraction;
        if let Some(unit_ticks) = unit_ticks {
            sum += i128::from(delta(row)) * unit_ticks;
        }
        ticks.push(sum as i64);
        overflow |= i64::try_from(sum).is_err();
    }
    if let DataType::DateTime64(..) = return_type {
        if overflow {
            return Err(Error::new(ErrorCode::DECIMAL_OVERFLOW, "Addition of an interval to DateTime64 overflows"));
        }
        return Ok(Column::from_primitive::<Int64Type>(return_type.clone(), ticks));
    }
    // Months do not go below the epoch; everything else wraps around.
    let stops = matches!(kind, IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year);
    let seconds = ticks.iter().map(|&seconds| if stops { seconds.max(0) as u32 } else { seconds as u32 });
    Ok(Column::from_primitive::<UInt32Type>(return_type.clone(), seconds.collect()))
}

/// The day so many units after another; a day of the month that the new month has not becomes its last.
fn shift(kind: IntervalKind, days: i32, delta: i64) -> i64 {
    let months = match kind {
        IntervalKind::Day => return i64::from(days).saturating_add(delta),
        IntervalKind::Week => return i64::from(days).saturating_add(delta.saturating_mul(7)),
        IntervalKind::Month => delta,
        IntervalKind::Quarter => delta.saturating_mul(3),
        _ => delta.saturating_mul(12),
    };
    let (year, month, day) = civil_from_days(days);
    let index = (i64::from(year) * 12 + i64::from(month) - 1).saturating_add(months);
    let (year, month) = (index.div_euclid(12).clamp(0, 9999) as i32, index.rem_euclid(12) as u32 + 1);
    i64::from(days_from_civil(year, month, day.min(days_of_month(year, month))))
}
