//! `now`, `now64`, `today`, `yesterday`: one moment through a whole query.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use squall_types::calendar::{DAY_SECONDS, TimeZone};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::time::{date, date_time, zone_argument};

const NANOSECONDS: i64 = 1_000_000_000;

fn constant(call: &Call<'_>, data_type: DataType, value: Value) -> Result<Arc<dyn BoundFunction>> {
    call.bind(data_type.clone(), move |_, rows| Column::constant(data_type.clone(), &value, rows))
}

fn checked_zone(call: &Call<'_>, at: usize) -> Result<Option<Arc<str>>> {
    let zone = zone_argument(call, at)?;
    if let Some(name) = &zone {
        TimeZone::named(name)?;
    }
    Ok(zone)
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    let zone = checked_zone(call, 0)?;
    let seconds = date_time(call.context.moment.query_start_ns().div_euclid(NANOSECONDS));
    constant(call, DataType::DateTime(zone), Value::UInt64(seconds.into()))
}

pub(super) fn resolve64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=2)?;
    call.integers([0])?;
    let digits = match call.constant(0) {
        None if call.arguments.is_empty() => 3,
        Some(digits) => digits.as_u64().filter(|digits| *digits <= 9).ok_or_else(|| {
            Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale of function now64 must be from 0 to 9")
        })?,
        None => return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Scale of function now64 must be constant")),
    } as u8;
    let zone = checked_zone(call, 1)?;
    let ticks = call.context.moment.query_start_ns().div_euclid(10_i64.pow(9 - u32::from(digits)));
    constant(call, DataType::DateTime64(digits, zone), Value::Int64(ticks))
}

pub(super) fn resolve_day(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    let zone = match zone_argument(call, 0)? {
        Some(name) => TimeZone::named(&name)?,
        None => call.session_zone()?,
    };
    let seconds = call.context.moment.query_start_ns().div_euclid(NANOSECONDS);
    let day = zone.cursor().to_local(seconds).div_euclid(DAY_SECONDS) as i32;
    let day = if call.name == "yesterday" { day - 1 } else { day };
    constant(call, DataType::Date, Value::UInt64(date(day).into()))
}

/// `localtime()`: the time of day of the query's start.
pub(super) fn resolve_clock(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    let seconds = call.context.moment.query_start_ns().div_euclid(NANOSECONDS);
    let local = call.session_zone()?.cursor().to_local(seconds);
    constant(call, DataType::Time, Value::Int64(local.rem_euclid(DAY_SECONDS)))
}

/// `nowInBlock([zone])`, `nowInBlock64([digits[, zone]])`: the time at which a block is worked on.
pub(super) fn resolve_in_block(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let is_64 = call.name == "nowInBlock64";
    call.arguments(0..=if is_64 { 2 } else { 1 })?;
    call.context.moment.note();
    if is_64 {
        call.integers([0])?;
    }
    let digits = match call.constant(0) {
        None if is_64 && !call.arguments.is_empty() => {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Scale of function nowInBlock64 must be constant"));
        }
        Some(digits) if is_64 => digits.as_u64().filter(|digits| *digits <= 9).ok_or_else(|| {
            Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale of function nowInBlock64 must be from 0 to 9")
        })? as u8,
        _ => 3,
    };
    let zone = checked_zone(call, usize::from(is_64))?;
    let result = if is_64 { DataType::DateTime64(digits, zone) } else { DataType::DateTime(zone) };
    call.bind(result.clone(), move |_, rows| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let value = if is_64 {
            let ticks = since_epoch.as_nanos() / 10_u128.pow(9 - u32::from(digits));
            Value::Int64(i64::try_from(ticks).unwrap_or(i64::MAX))
        } else {
            Value::UInt64(date_time(i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)).into())
        };
        Column::constant(result.clone(), &value, rows)
    })
}
