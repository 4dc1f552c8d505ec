//! Conversion from and to `Time` and `Time64`, which are seconds, or ticks of a second, of a clock without a date.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};

use super::{CastMode, CastOptions, convert as convert_any, no_conversion, ticks_to_number, zone_of};
use crate::calendar::DAY_SECONDS;
use crate::data_type::DataType;
use crate::error::Result;
use crate::text::SECONDS_MAX;

/// Converts where one of the types is `Time` or `Time64`.
pub(super) fn convert(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    match (from, to) {
        (DataType::Time64(_), DataType::Time) => Err(no_conversion(from, to)),
        (_, DataType::Time) => {
            let seconds = seconds_of(from, array, options)?.into_iter();
            let seconds: Vec<i32> = seconds.map(|second| second.clamp(-SECONDS_MAX, SECONDS_MAX) as i32).collect();
            Ok(Arc::new(PrimitiveArray::<Int32Type>::new(seconds.into(), None)))
        }
        (_, DataType::Time64(digits)) => {
            let ticks = ticks_of(from, array, *digits, options)?;
            Ok(Arc::new(PrimitiveArray::<Int64Type>::new(ticks.into(), None)))
        }
        (DataType::Time, to) => convert_any(&DataType::Int32, array, to, options),
        (DataType::Time64(digits), to) if to.is_number() => ticks_to_number(array, *digits, to, options),
        (DataType::Time64(digits), DataType::DateTime(_) | DataType::DateTime64(..)) => {
            convert_any(&DataType::DateTime64(*digits, Some("UTC".into())), array, to, options)
        }
        _ => Err(no_conversion(from, to)),
    }
}

/// Seconds of a value: of a moment those since midnight, of a date none, of a number itself.
fn seconds_of(from: &DataType, array: &ArrayRef, options: &CastOptions) -> Result<Vec<i64>> {
    let numbers = |array: &ArrayRef| array.as_primitive::<Int64Type>().values().to_vec();
    Ok(match from {
        DataType::Date | DataType::Date32 => vec![0; array.len()],
        DataType::Time => array.as_primitive::<Int32Type>().values().iter().map(|second| i64::from(*second)).collect(),
        DataType::DateTime(_) | DataType::DateTime64(..) => {
            let seconds = match from {
                // The clock showed the second that had begun, before 1970 too.
                DataType::DateTime64(digits, _) => {
                    let own = 10i64.pow((*digits).into());
                    numbers(array).into_iter().map(|ticks| ticks.div_euclid(own)).collect()
                }
                _ => {
                    let plain = CastOptions { mode: CastMode::Plain, ..options.clone() };
                    numbers(&convert_any(from, array, &DataType::Int64, &plain)?)
                }
            };
            let mut zone = zone_of(from, options)?;
            seconds.into_iter().map(|second| zone.to_local(second).rem_euclid(DAY_SECONDS)).collect()
        }
        from if from.is_number() || from.is_wide_integer() || *from == DataType::Bool => {
            numbers(&convert_any(from, array, &DataType::Int64, options)?)
        }
        from => return Err(no_conversion(from, &DataType::Time)),
    })
}

fn ticks_of(from: &DataType, array: &ArrayRef, digits: u8, options: &CastOptions) -> Result<Vec<i64>> {
    let per_second = 10i64.pow(digits.into());
    let most = (SECONDS_MAX + 1) * per_second - 1;
    Ok(match from {
        DataType::Time64(found) | DataType::DateTime64(found, _) => {
            let values = array.as_primitive::<Int64Type>().values();
            let own = 10i64.pow((*found).into());
            let seconds = match from {
                DataType::Time64(_) => values.iter().map(|ticks| ticks / own).collect(),
                _ => seconds_of(from, array, options)?,
            };
            let fraction = |ticks: i64| {
                let rest = if matches!(from, DataType::Time64(_)) { ticks % own } else { ticks.rem_euclid(own) };
                if *found <= digits { rest * (per_second / own) } else { rest / (own / per_second) }
            };
            seconds.iter().zip(values).map(|(second, ticks)| second * per_second + fraction(*ticks)).collect()
        }
        from if from.is_float() || from.is_decimal() => {
            let decimal = convert_any(from, array, &DataType::Decimal(18, digits), options)?;
            decimal.as_primitive::<Int64Type>().values().iter().map(|ticks| (*ticks).clamp(-most, most)).collect()
        }
        from => {
            let seconds = seconds_of(from, array, options)?.into_iter();
            seconds.map(|second| second.clamp(-SECONDS_MAX, SECONDS_MAX) * per_second).collect()
        }
    })
}
