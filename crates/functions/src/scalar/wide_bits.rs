//! Functions of single bits of integers past 64 bits.

use std::sync::Arc;

use arrow_array::types::UInt16Type;
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, match_integer};

use super::arithmetic::wide::column_of;
use super::kernel::bytes_column;
use super::sides::{Side, wrapped};
use super::simple::{Call, integers};
use crate::function::BoundFunction;

type Bound = Result<Option<Arc<dyn BoundFunction>>>;

/// The values of an argument, one for each row.
fn values<T: Integer>(arguments: &[Column], rows: usize) -> Result<Vec<T>> {
    Ok(match wrapped::<T>(arguments, 0)? {
        Side::Varying(values) => values,
        Side::Constant(value) => vec![value; rows],
    })
}

/// `bitNot` of a wide integer; `None` for other types.
pub(super) fn bind_not(call: &Call<'_>) -> Bound {
    let Some(result) = wide_argument(call)? else { return Ok(None) };
    let bound = call.bind(result.clone(), move |arguments, rows| {
        match_integer!(result, T => {
            column_of(values::<T>(arguments, rows)?.into_iter().map(|value| !value).collect(), &result)
        }, _ => Err(not_integer()))
    });
    bound.map(Some)
}

/// `byteSwap` of a wide integer; `None` for other types.
pub(super) fn bind_swap(call: &Call<'_>) -> Bound {
    let Some(result) = wide_argument(call)? else { return Ok(None) };
    let bound = call.bind(result.clone(), move |arguments, rows| {
        match_integer!(result, T => {
            let swapped = |value: T| {
                let mut bytes = Vec::with_capacity(T::BYTES);
                value.append_bytes(&mut bytes);
                bytes.reverse();
                T::from_bytes(&bytes)
            };
            column_of(values::<T>(arguments, rows)?.into_iter().map(swapped).collect(), &result)
        }, _ => Err(not_integer()))
    });
    bound.map(Some)
}

/// `bitCount` of a wide integer; `None` for other types.
pub(super) fn bind_count(call: &Call<'_>) -> Bound {
    let Some(data_type) = wide_argument(call)? else { return Ok(None) };
    // All bits of 256 are one more than a byte tells.
    let is_byte = data_type.fixed_width_bytes().is_some_and(|bytes| bytes * 8 <= usize::from(u8::MAX));
    let result = if is_byte { DataType::UInt8 } else { DataType::UInt16 };
    let bound = call.bind(result, move |arguments, rows| {
        match_integer!(data_type, T => {
            let ones = values::<T>(arguments, rows)?.into_iter().map(|value| value.ones() as u16);
            Ok(match is_byte {
                true => bytes_column(ones.map(|ones| ones as u8).collect()),
                false => Column::from_primitive::<UInt16Type>(DataType::UInt16, ones.collect()),
            })
        }, _ => Err(not_integer()))
    });
    bound.map(Some)
}

/// `bitShiftLeft` and `bitShiftRight` of a wide integer; `None` for other types.
pub(super) fn bind_shift(call: &Call<'_>, is_left: bool) -> Bound {
    call.arguments(2..=2)?;
    if !call.type_of(0).is_wide_integer() {
        return Ok(None);
    }
    call.integers([1])?;
    let result = call.type_of(0).clone();
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let amounts = integers(arguments, 1, rows)?;
        if amounts.iter().any(|amount| *amount < 0) {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "The number of shift positions needs to be a non-negative value",
            ));
        }
        match_integer!(result, T => {
            let shifted = |(value, amount): (T, &i64)| match u32::try_from(*amount) {
                Ok(amount) if (amount as usize) < 8 * T::BYTES => if is_left { value << amount } else { value >> amount },
                _ => T::default(),
            };
            column_of(values::<T>(arguments, rows)?.into_iter().zip(&amounts).map(shifted).collect(), &result)
        }, _ => Err(not_integer()))
    });
    bound.map(Some)
}

fn wide_argument(call: &Call<'_>) -> Result<Option<DataType>> {
    call.arguments(1..=1)?;
    Ok(Some(call.type_of(0).clone()).filter(DataType::is_wide_integer))
}

fn not_integer() -> Error {
    Error::logical("not a column of integers")
}
