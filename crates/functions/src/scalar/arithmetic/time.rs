//! Dates and times plus and minus numbers and intervals, and differences of two of them. A day, week, month or longer is added on
//! the calendar of the time's zone; anything shorter is so many seconds.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::calendar::{DAY_SECONDS, TimeZone, ZoneCursor, add_months};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result};

use super::illegal_pair;
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::kernel::{argument_as, as_type, binary};
use crate::scalar::simple::{Call, Numbers, argument, integers};

type Bound = Option<Arc<dyn BoundFunction>>;

/// `time + n`, `n + time`, `time + interval`, `interval + time`, `interval + interval`; `None` where neither side is a time.
pub(super) fn plus(call: &Call<'_>) -> Result<Bound> {
    let (left, right) = (call.type_of(0), call.type_of(1));
    match (left, right) {
        (DataType::Interval(a), DataType::Interval(b)) if a == b => intervals(call, i64::wrapping_add),
        (DataType::String, DataType::Interval(kind)) => text(call, "add", *kind, [0, 1]),
        (DataType::Interval(kind), DataType::String) => text(call, "add", *kind, [1, 0]),
        _ if left.is_date_or_time() && !right.is_date_or_time() => shift(call, 0, 1, 1),
        _ if right.is_date_or_time() && !left.is_date_or_time() => shift(call, 1, 0, 1),
        _ => Ok(None),
    }
}

/// `time - n`, `time - interval`, `interval - interval`, `time - time`; `None` where the left side is no time.
pub(super) fn minus(call: &Call<'_>) -> Result<Bound> {
    let (left, right) = (call.type_of(0), call.type_of(1));
    match (left, right) {
        (DataType::Interval(a), DataType::Interval(b)) if a == b => intervals(call, i64::wrapping_sub),
        _ if left.is_date_or_time() && right.is_date_or_time() => difference(call),
        (DataType::String, DataType::Interval(kind)) => text(call, "subtract", *kind, [0, 1]),
        _ if left.is_date_or_time() => shift(call, 0, 1, -1),
        _ => Ok(None),
    }
}

/// The text of a time plus or minus an interval: what the function of the interval's unit makes of them.
fn text(call: &Call<'_>, verb: &str, kind: IntervalKind, order: [usize; 2]) -> Result<Bound> {
    let described: Vec<Argument> = order.iter().filter_map(|at| call.arguments.get(*at).cloned()).collect();
    let function = resolve_scalar(&format!("{verb}{kind}s"), &described, call.context)?;
    let bound = call.bind(function.return_type().clone(), move |arguments, rows| {
        let arguments = order.iter().map(|at| argument(arguments, *at).cloned()).collect::<Result<Vec<_>>>()?;
        function.execute(&arguments, rows)
    })?;
    Ok(Some(bound))
}

fn intervals(call: &Call<'_>, operation: fn(i64, i64) -> i64) -> Result<Bound> {
    let of = |at: usize| matches!(call.type_of(at), DataType::Interval(_)).then(|| call.type_of(at).clone());
    let data_type = of(0).or_else(|| of(1)).ok_or_else(|| illegal_pair(call))?;
    let bound = call.bind(data_type.clone(), move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::Int64)?;
        binary::<Int64Type, Int64Type, Int64Type>(&data_type, &arguments, rows, operation)
    })?;
    Ok(Some(bound))
}

fn difference(call: &Call<'_>) -> Result<Bound> {
    let pair = (call.type_of(0), call.type_of(1));
    let result = DataType::Int32;
    let bound = match pair {
        (DataType::Date, DataType::Date) => call.bind(result.clone(), move |arguments, rows| {
            binary::<UInt16Type, UInt16Type, Int32Type>(&result, arguments, rows, |l, r| i32::from(l) - i32::from(r))
        }),
        (DataType::Date32, DataType::Date32) => call.bind(result.clone(), move |arguments, rows| {
            binary::<Int32Type, Int32Type, Int32Type>(&result, arguments, rows, i32::wrapping_sub)
        }),
        (DataType::DateTime(_), DataType::DateTime(_)) => call.bind(result.clone(), move |arguments, rows| {
            binary::<UInt32Type, UInt32Type, Int32Type>(&result, arguments, rows, |l, r| l.wrapping_sub(r) as i32)
        }),
        (DataType::DateTime64(..), DataType::DateTime64(..) | DataType::DateTime(_))
        | (DataType::DateTime(_), DataType::DateTime64(..)) => {
            let digits = pair.0.time_digits().max(pair.1.time_digits());
            super::clock::difference(call, DataType::DateTime64(digits, None))
        }
        _ => Err(illegal_pair(call)),
    }?;
    Ok(Some(bound))
}

/// Whether a number may be added to a time: floats are cut to whole days or seconds.
fn is_amount(data_type: &DataType) -> bool {
    data_type.is_number() || *data_type == DataType::Bool
}

/// The argument at `time` plus or minus the one at `amount`.
fn shift(call: &Call<'_>, time: usize, amount: usize, sign: i64) -> Result<Bound> {
    let kind = match (call.type_of(time), call.type_of(amount)) {
        (_, DataType::Interval(kind)) => *kind,
        (DataType::Date | DataType::Date32, number) if is_amount(number) => IntervalKind::Day,
        (DataType::DateTime(_) | DataType::DateTime64(..), number) if is_amount(number) => IntervalKind::Second,
        _ => return Err(illegal_pair(call)),
    };
    if matches!(call.type_of(time), DataType::Date | DataType::Date32) && kind < IntervalKind::Second {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("An interval of {kind}s cannot be used with {}", call.type_of(time)),
        ));
    }
    let result = shifted_type(call.type_of(time), kind);
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let times = cast(argument(arguments, time)?, &result, &options)?;
        let amounts = argument_as(arguments, amount, &DataType::Int64)?;
        let amounts = integers(&[amounts], 0, rows)?;
        add(&times, kind, &amounts, sign, &options.text.time_zone)
    })?;
    Ok(Some(bound))
}

/// The type of a time plus an interval: dates stay dates only where the interval has whole days.
fn shifted_type(time: &DataType, kind: IntervalKind) -> DataType {
    let digits = match kind {
        IntervalKind::Nanosecond => 9,
        IntervalKind::Microsecond => 6,
        IntervalKind::Millisecond => 3,
        _ => 0,
    };
    let has_days = kind >= IntervalKind::Day;
    match time {
        DataType::Date | DataType::Date32 if has_days => time.clone(),
        DataType::Date if digits == 0 => DataType::DateTime(None),
        DataType::Date32 => DataType::DateTime64(3, None),
        DataType::DateTime(_) if digits == 0 => time.clone(),
        DataType::DateTime(zone) => DataType::DateTime64(digits, zone.clone()),
        DataType::DateTime64(found, zone) => DataType::DateTime64(digits.max(*found), zone.clone()),
        _ => DataType::DateTime64(digits, None),
    }
}

/// `times`, of the type that [`shifted_type`] gives, with `sign` times `amounts` intervals added; one amount for each row.
fn add(times: &Column, kind: IntervalKind, amounts: &[i64], sign: i64, session_zone: &TimeZone) -> Result<Column> {
    let data_type = times.data_type().clone();
    let zone = |name: &Option<Arc<str>>| -> Result<ZoneCursor> {
        Ok(name.as_ref().map_or_else(|| Ok(session_zone.clone()), |name| TimeZone::named(name))?.cursor())
    };
    let amounts = amounts.iter().map(|amount| amount.wrapping_mul(sign));
    let columns = std::slice::from_ref(times);
    Ok(match &data_type {
        DataType::Date => {
            let days = Numbers::<UInt16Type>::of(columns, 0)?;
            let shifted = amounts.enumerate().map(|(row, amount)| {
                let shifted = shift_days(days.get(row).into(), kind, amount);
                // Months do not go back past 1970, days wrap.
                if months(kind).is_some() { shifted.clamp(0, u16::MAX.into()) as u16 } else { shifted as u16 }
            });
            Column::from_primitive::<UInt16Type>(data_type.clone(), shifted.collect())
        }
        DataType::Date32 => {
            let days = Numbers::<Int32Type>::of(columns, 0)?;
            let shifted = amounts.enumerate().map(|(row, amount)| shift_days(days.get(row), kind, amount));
            Column::from_primitive::<Int32Type>(data_type.clone(), shifted.collect())
        }
        DataType::DateTime(name) => {
            let seconds = Numbers::<UInt32Type>::of(columns, 0)?;
            let mut zone = zone(name)?;
            let shifted = amounts.enumerate().map(|(row, amount)| {
                let shifted = shift_ticks(seconds.get(row).into(), 1, kind, amount, &mut zone);
                if months(kind).is_some() { shifted.clamp(0, u32::MAX.into()) as u32 } else { shifted as u32 }
            });
            Column::from_primitive::<UInt32Type>(data_type.clone(), shifted.collect())
        }
        DataType::DateTime64(digits, name) => {
            let ticks = Numbers::<Int64Type>::of(columns, 0)?;
            let per_second = 10i64.pow((*digits).into());
            let mut zone = zone(name)?;
            let shifted = amounts
                .enumerate()
                .map(|(row, amount)| shift_ticks(ticks.get(row), per_second, kind, amount, &mut zone));
            Column::from_primitive::<Int64Type>(data_type.clone(), shifted.collect())
        }
        other => return Err(Error::logical(format!("{other} is no time"))),
    })
}

/// Months of a kind, where it is made of months.
fn months(kind: IntervalKind) -> Option<i64> {
    match kind {
        IntervalKind::Month => Some(1),
        IntervalKind::Quarter => Some(3),
        IntervalKind::Year => Some(12),
        _ => None,
    }
}

fn shift_days(days: i32, kind: IntervalKind, amount: i64) -> i32 {
    match months(kind) {
        Some(months) => add_months(days, amount.saturating_mul(months)),
        None => {
            let factor = if kind == IntervalKind::Week { 7 } else { 1 };
            i64::from(days).wrapping_add(amount.wrapping_mul(factor)) as i32
        }
    }
}

fn shift_ticks(ticks: i64, per_second: i64, kind: IntervalKind, amount: i64, zone: &mut ZoneCursor) -> i64 {
    let seconds = match kind {
        // The result has the digits for these.
        IntervalKind::Nanosecond => return ticks.wrapping_add(amount.wrapping_mul(per_second / 1_000_000_000)),
        IntervalKind::Microsecond => return ticks.wrapping_add(amount.wrapping_mul(per_second / 1_000_000)),
        IntervalKind::Millisecond => return ticks.wrapping_add(amount.wrapping_mul(per_second / 1_000)),
        IntervalKind::Second => 1,
        IntervalKind::Minute => 60,
        IntervalKind::Hour => 3600,
        _ => {
            let local = zone.to_local(ticks.div_euclid(per_second));
            let (days, second) = (local.div_euclid(DAY_SECONDS), local.rem_euclid(DAY_SECONDS));
            let days = shift_days(days.clamp(i32::MIN.into(), i32::MAX.into()) as i32, kind, amount);
            let utc = zone.to_utc(i64::from(days) * DAY_SECONDS + second);
            return utc.saturating_mul(per_second).saturating_add(ticks.rem_euclid(per_second));
        }
    };
    ticks.wrapping_add(amount.wrapping_mul(seconds).wrapping_mul(per_second))
}
