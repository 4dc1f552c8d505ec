//! Casts of dates and moments, and of numbers to them and from them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBuffer;

use super::number::{FromWide, Wide, integer_range, numbers, refuse_not_finite, unsafe_value, wide_values};
use super::{CastMode, CastOptions, no_conversion};
use crate::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS, TimeZone, ZoneCursor};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::wrappers::with_validity;

/// Whole seconds, or seconds with a fraction for floats, of a `DateTime64`.
pub(super) fn ticks_to_number(array: &ArrayRef, digits: u8, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let ticks = array.as_primitive::<Int64Type>();
    let per_second = 10i64.pow(digits.into());
    if to.is_float() {
        let seconds: Vec<f64> = ticks.values().iter().map(|ticks| *ticks as f64 / per_second as f64).collect();
        let seconds: ArrayRef = Arc::new(PrimitiveArray::<Float64Type>::new(seconds.into(), None));
        return numbers(&seconds, to, &CastOptions { mode: CastMode::Plain, ..options.clone() }, &DataType::Float64);
    }
    let seconds: Vec<i64> = ticks.values().iter().map(|ticks| ticks / per_second).collect();
    if let Some((least, most)) = integer_range(to)
        && seconds
            .iter()
            .enumerate()
            .any(|(row, value)| !array.is_null(row) && !(least..=most).contains(&i128::from(*value)))
        && options.mode != CastMode::OrNull
    {
        return Err(Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow"));
    }
    let seconds: ArrayRef = Arc::new(PrimitiveArray::<Int64Type>::try_new(seconds.into(), array.nulls().cloned())?);
    numbers(&seconds, to, options, &DataType::Int64)
}

/// What a value of a date or time type, or a number on its way to one, says.
enum Times {
    /// Days since 1970-01-01, local.
    Days(Vec<i64>),
    /// Seconds since the epoch.
    Seconds(Vec<i64>),
    /// Ticks of so many digits of a second since the epoch.
    Ticks(Vec<i64>, u8),
    /// Days or seconds, as their size says.
    Numbers(Vec<i64>),
    /// The same as floats, whose fraction counts for `DateTime64`.
    Floats(Vec<f64>),
}

fn read_times(from: &DataType, array: &ArrayRef) -> Result<Times> {
    fn wide<T: ArrowPrimitiveType>(array: &ArrayRef) -> Vec<i64>
    where
        T::Native: Into<i64>,
    {
        array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect()
    }
    Ok(match from {
        DataType::Date => Times::Days(wide::<UInt16Type>(array)),
        DataType::Date32 => Times::Days(wide::<Int32Type>(array)),
        DataType::DateTime(_) => Times::Seconds(wide::<UInt32Type>(array)),
        DataType::DateTime64(digits, _) => Times::Ticks(wide::<Int64Type>(array), *digits),
        DataType::Float32 | DataType::Float64 => {
            Times::Floats(wide_values(array)?.into_iter().map(f64::from_wide).collect())
        }
        DataType::Bool | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let clamp = |wide| match wide {
                Wide::Integer(value) => value.min(i64::MAX.into()) as i64,
                Wide::Float(_) => 0,
            };
            Times::Numbers(wide_values(array)?.into_iter().map(clamp).collect())
        }
        DataType::Int8 => Times::Numbers(wide::<Int8Type>(array)),
        DataType::Int16 => Times::Numbers(wide::<Int16Type>(array)),
        DataType::Int32 => Times::Numbers(wide::<Int32Type>(array)),
        DataType::Int64 => Times::Numbers(wide::<Int64Type>(array)),
        // Enums are numbers for dates and times without a fraction.
        DataType::Enum8(_) => Times::Numbers(wide::<Int8Type>(array)),
        DataType::Enum16(_) => Times::Numbers(wide::<Int16Type>(array)),
        DataType::Interval(_) => Times::Numbers(wide::<Int64Type>(array)),
        other => return Err(Error::logical(format!("{other} is no time"))),
    })
}

pub(super) fn zone_of(data_type: &DataType, options: &CastOptions) -> Result<ZoneCursor> {
    match data_type {
        DataType::DateTime(Some(name)) | DataType::DateTime64(_, Some(name)) => Ok(TimeZone::named(name)?.cursor()),
        _ => Ok(options.text.time_zone.cursor()),
    }
}

/// The seconds of the first and the last moment of `DateTime64`.
const MOMENTS: std::ops::RangeInclusive<i64> =
    DATE32_MIN as i64 * DAY_SECONDS..=(DATE32_MAX as i64 + 1) * DAY_SECONDS - 1;

pub(super) fn to_time(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let is_enum_or_interval = matches!(from, DataType::Enum8(_) | DataType::Enum16(_) | DataType::Interval(_));
    if matches!(to, DataType::DateTime64(..)) && is_enum_or_interval {
        return Err(no_conversion(from, to));
    }
    let times = read_times(from, array)?;
    let is_plain = options.mode == CastMode::Plain;
    if is_plain && matches!(times, Times::Floats(_)) && *to != DataType::Date32 {
        refuse_not_finite(array).map_err(|error| match to {
            DataType::DateTime64(..) => Error::new(
                ErrorCode::DECIMAL_OVERFLOW,
                "DateTime64 convert overflow. Cannot convert infinity or NaN to decimal",
            ),
            _ => error,
        })?;
    }
    let refused = if is_plain { None } else { out_of_range(&times, to) };
    let Some(refused) = refused else { return times_as(times, from, to, options) };
    if options.mode == CastMode::Accurate {
        let is_refused = |row: usize| array.is_valid(row) && refused.get(row) == Some(&true);
        return if (0..array.len()).any(is_refused) {
            Err(unsafe_value(from, to))
        } else {
            times_as(times, from, to, options)
        };
    }
    let nulls = NullBuffer::from(refused.iter().map(|refused| !refused).collect::<Vec<bool>>());
    with_validity(&times_as(times, from, to, options)?, Some(nulls).filter(|nulls| nulls.null_count() > 0))
}

/// For each row whether its number lies outside the days and seconds of a type; `None` for values that are times already.
fn out_of_range(times: &Times, to: &DataType) -> Option<Vec<bool>> {
    let range = match to {
        DataType::Date | DataType::DateTime(_) => 0..=i64::from(u32::MAX),
        _ => i64::from(DATE32_MIN)..=*MOMENTS.end(),
    };
    match times {
        _ if matches!(to, DataType::DateTime64(..)) => None,
        Times::Numbers(numbers) => Some(numbers.iter().map(|number| !range.contains(number)).collect()),
        Times::Floats(numbers) => {
            Some(numbers.iter().map(|number| number.trunc() != *number || !range.contains(&(*number as i64))).collect())
        }
        Times::Days(_) | Times::Seconds(_) | Times::Ticks(..) => None,
    }
}

fn times_as(times: Times, from: &DataType, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    match to {
        DataType::DateTime(_) => as_seconds(times, to, options),
        DataType::DateTime64(digits, _) => as_ticks(times, from, to, *digits, options),
        _ => as_days(times, from, to, options),
    }
}

/// Times as those of `DateTime`.
fn as_seconds(times: Times, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let mut zone = zone_of(to, options)?;
    let seconds: Vec<u32> = match times {
        // Calendar types wrap into DateTime as their seconds do; plain numbers are cut to its range.
        Times::Days(days) if options.cuts_dates => {
            // The last day that DateTime has for its whole length.
            let last = i64::from(u32::MAX) / DAY_SECONDS - 1;
            days.iter().map(|days| zone.to_utc(*days.min(&last) * DAY_SECONDS).max(0) as u32).collect()
        }
        Times::Days(days) => days.iter().map(|days| zone.to_utc(days * DAY_SECONDS) as u32).collect(),
        Times::Seconds(seconds) => seconds.iter().map(|seconds| *seconds as u32).collect(),
        Times::Ticks(ticks, digits) => {
            let per_second = 10i64.pow(digits.into());
            ticks.iter().map(|ticks| ticks.div_euclid(per_second) as u32).collect()
        }
        Times::Numbers(numbers) => numbers.iter().map(|number| (*number).clamp(0, u32::MAX.into()) as u32).collect(),
        Times::Floats(numbers) => numbers.iter().map(|number| *number as u32).collect(),
    };
    Ok(Arc::new(PrimitiveArray::<UInt32Type>::new(seconds.into(), None)))
}

/// Times as those of `DateTime64` with so many digits.
fn as_ticks(times: Times, from: &DataType, to: &DataType, digits: u8, options: &CastOptions) -> Result<ArrayRef> {
    let mut zone = zone_of(to, options)?;
    let per_second = 10i64.pow(digits.into());
    let ticks_of = |seconds: i64| seconds.saturating_mul(per_second);
    let (least, most) = (ticks_of(*MOMENTS.start()), ticks_of(*MOMENTS.end()).saturating_add(per_second - 1));
    let ticks: Vec<i64> = match times {
        Times::Days(days) => days.iter().map(|days| ticks_of(zone.to_utc(days * DAY_SECONDS))).collect(),
        Times::Seconds(seconds) => seconds.iter().map(|seconds| ticks_of(*seconds)).collect(),
        Times::Ticks(ticks, found) if found <= digits => {
            let factor = 10i64.pow((digits - found).into());
            ticks.iter().map(|ticks| ticks.saturating_mul(factor)).collect()
        }
        Times::Ticks(ticks, found) => {
            let divisor = 10i64.pow((found - digits).into());
            ticks.iter().map(|ticks| ticks / divisor).collect()
        }
        Times::Numbers(numbers) => numbers.iter().map(|number| ticks_of(*number).clamp(least, most)).collect(),
        Times::Floats(numbers) => {
            // The product is a number of the argument's type.
            let is_narrow = *from == DataType::Float32;
            let product = |number: f64| match is_narrow {
                true => (number as f32 * per_second as f32) as i64,
                false => (number * per_second as f64) as i64,
            };
            numbers.iter().map(|number| product(*number).clamp(least, most)).collect()
        }
    };
    Ok(Arc::new(PrimitiveArray::<Int64Type>::new(ticks.into(), None)))
}

/// Times as those of `Date` or `Date32`.
fn as_days(times: Times, from: &DataType, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    // Moments become dates in their own type's zone, numbers in the session's.
    let mut zone = zone_of(from, options)?;
    let mut local_days = |seconds: i64| zone.to_local(seconds).div_euclid(DAY_SECONDS);
    let is_wide = *to == DataType::Date32;
    let mut day_of_number = |number: i64| match (is_wide, number) {
        (false, ..0) => 0,
        (false, 0..=0xFFFF) => number,
        (false, _) => local_days(number.min(u32::MAX.into())),
        (true, _) if number < DATE32_MIN.into() => DATE32_MIN.into(),
        (true, _) if number <= DATE32_MAX.into() => number,
        (true, _) => local_days(number.min(*MOMENTS.end())),
    };
    let days: Vec<i64> = match times {
        Times::Days(days) => days,
        Times::Numbers(numbers) => numbers.iter().map(|number| day_of_number(*number)).collect(),
        Times::Floats(numbers) => numbers
            .iter()
            .map(|number| if number.is_nan() { DATE32_MIN.into() } else { day_of_number(*number as i64) })
            .collect(),
        Times::Seconds(seconds) => seconds.iter().map(|seconds| local_days(*seconds)).collect(),
        Times::Ticks(ticks, digits) => {
            let per_second = 10i64.pow(digits.into());
            ticks.iter().map(|ticks| local_days(ticks.div_euclid(per_second))).collect()
        }
    };
    Ok(if is_wide {
        let clamp = |day: i64| day.clamp(DATE32_MIN.into(), DATE32_MAX.into()) as i32;
        Arc::new(PrimitiveArray::<Int32Type>::new(days.into_iter().map(clamp).collect::<Vec<i32>>().into(), None))
    } else {
        Arc::new(PrimitiveArray::<UInt16Type>::new(
            days.into_iter().map(|day| day as u16).collect::<Vec<u16>>().into(),
            None,
        ))
    })
}
