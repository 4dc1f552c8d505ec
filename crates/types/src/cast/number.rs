//! Casts between numbers that machines count with, and what is held as such.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;

use super::{CastMode, CastOptions, no_conversion};
use crate::data_type::{DataType, EnumValues};
use crate::error::{Error, ErrorCode, Result};
use crate::text::bfloat16;
use crate::wrappers::with_validity;
use crate::{match_primitive, reserve};

/// The least and the greatest value of an integer type.
pub(crate) fn integer_range(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

/// An array of what `read` gives for each row that is not NULL; `None` is NULL in mode `OrNull`, otherwise `error`.
pub(super) fn collect_valid<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    options: &CastOptions,
    read: impl Fn(usize) -> Option<T::Native>,
    error: impl Fn(usize) -> Error,
) -> Result<ArrayRef> {
    let mut values = Vec::with_capacity(array.len());
    let mut valid = Vec::new();
    for row in 0..array.len() {
        let value = if array.is_null(row) { Some(T::Native::default()) } else { read(row) };
        if value.is_none() {
            if options.mode != CastMode::OrNull {
                return Err(error(row));
            }
            valid.resize(row, true);
            valid.push(false);
        }
        values.push(value.unwrap_or_default());
    }
    let nulls = (!valid.is_empty()).then(|| {
        valid.resize(array.len(), true);
        NullBuffer::from(valid)
    });
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
}

/// A number of any source wide enough to hold it.
#[derive(Clone, Copy)]
pub(super) enum Wide {
    Integer(i128),
    Float(f64),
}

/// Reads numbers, or days and seconds as numbers, of any primitive array.
pub(super) fn wide_values(array: &ArrayRef) -> Result<Vec<Wide>> {
    reserve(array.len().saturating_mul(size_of::<Wide>()))?;
    match_primitive!(array.data_type(), T => {
        Ok(array.as_primitive::<T>().values().iter().map(|value| value.into_wide()).collect())
    }, _ => Err(Error::logical("number expected")))
}

trait IntoWide {
    fn into_wide(self) -> Wide;
}

macro_rules! into_wide {
    ($variant:ident, $wide:ty, $($t:ty),*) => {
        $(impl IntoWide for $t {
            fn into_wide(self) -> Wide {
                Wide::$variant(<$wide>::from(self))
            }
        })*
    };
}

into_wide!(Integer, i128, u8, u16, u32, u64, i8, i16, i32, i64);
into_wide!(Float, f64, f32, f64);

/// Conversion of numbers as ClickHouse's machine code does it: integers wrap; floats out of range become what x86 makes of them, so
/// that answers agree.
trait CastNumber<T> {
    fn cast_number(self) -> T;
}

macro_rules! cast_with_as {
    ($($from:ty => [$($to:ty),*]),* $(,)?) => {
        $($(impl CastNumber<$to> for $from {
            #[inline(always)]
            fn cast_number(self) -> $to {
                self as $to
            }
        })*)*
    };
}

cast_with_as!(
    u8 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u16 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u32 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    u64 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i8 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i16 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i32 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    i64 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
    f32 => [f32, f64],
    f64 => [f32, f64],
);

#[inline(always)]
fn truncate32(value: f64) -> i32 {
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

#[inline(always)]
fn truncate64(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) { value as i64 } else { i64::MIN }
}

macro_rules! cast_float {
    ($from:ty: $($to:ty = $through:expr),* $(,)?) => {
        $(impl CastNumber<$to> for $from {
            #[inline(always)]
            fn cast_number(self) -> $to {
                $through(f64::from(self)) as $to
            }
        })*
    };
}

fn truncate_unsigned64(value: f64) -> u64 {
    if value < 9_223_372_036_854_775_808.0 {
        truncate64(value) as u64
    } else if value < 18_446_744_073_709_551_616.0 {
        value as u64
    } else {
        1 << 63
    }
}

cast_float!(f32: u8 = truncate32, u16 = truncate32, u32 = truncate64, u64 = truncate_unsigned64,
    i8 = truncate32, i16 = truncate32, i32 = truncate32, i64 = truncate64);
cast_float!(f64: u8 = truncate32, u16 = truncate32, u32 = truncate64, u64 = truncate_unsigned64,
    i8 = truncate32, i16 = truncate32, i32 = truncate32, i64 = truncate64);

/// Converts a primitive array to the primitive array of `to`.
pub(super) fn numbers(array: &ArrayRef, to: &DataType, options: &CastOptions, from: &DataType) -> Result<ArrayRef> {
    let to_arrow = to.arrow_type();
    if *array.data_type() == to_arrow {
        return with_validity(array, None);
    }
    let is_number = from.is_number() || *from == DataType::Bool;
    if options.mode != CastMode::Plain && is_number && to.is_number() {
        return exact_numbers(array, to, options, from);
    }
    if from.is_float() && !to.is_float() {
        refuse_not_finite(array)?;
    }
    match_primitive!(array.data_type(), F => {
        let values = array.as_primitive::<F>().values();
        match_primitive!(to_arrow, T => {
            let cast: Vec<<T as ArrowPrimitiveType>::Native> = values.iter().map(|value| value.cast_number()).collect();
            Ok(Arc::new(PrimitiveArray::<T>::new(cast.into(), None)))
        }, _ => Err(no_conversion(from, to)))
    }, _ => Err(no_conversion(from, to)))
}

pub(super) fn refuse_not_finite(array: &ArrayRef) -> Result<()> {
    let is_finite = match_primitive!(array.data_type(), T => {
        let values = array.as_primitive::<T>();
        match values.nulls() {
            None => values.values().iter().all(|value| f64::from_wide(value.into_wide()).is_finite()),
            Some(_) => values.iter().flatten().all(|value| f64::from_wide(value.into_wide()).is_finite()),
        }
    }, _ => true);
    if is_finite {
        return Ok(());
    }
    Err(Error::new(ErrorCode::CANNOT_CONVERT_TYPE, "Unexpected inf or nan to integer conversion"))
}

pub(super) trait FromWide {
    fn from_wide(wide: Wide) -> Self;
}

impl FromWide for f64 {
    fn from_wide(wide: Wide) -> Self {
        match wide {
            Wide::Integer(value) => value as Self,
            Wide::Float(value) => value,
        }
    }
}

pub(super) fn unsafe_value(from: &DataType, to: &DataType) -> Error {
    Error::new(
        ErrorCode::CANNOT_CONVERT_TYPE,
        format!("Value in column {from} cannot be safely converted into type {to}"),
    )
}

/// Numbers without any loss.
fn exact_numbers(array: &ArrayRef, to: &DataType, options: &CastOptions, from: &DataType) -> Result<ArrayRef> {
    let values = wide_values(array)?;
    let error = |_| unsafe_value(from, to);
    // The value as an integer, where it is one.
    let integer = |row: usize| match values.get(row) {
        Some(Wide::Integer(value)) => Some(*value),
        Some(Wide::Float(value)) if value.trunc() == *value && value.abs() < 1e30 => Some(*value as i128),
        _ => None,
    };
    macro_rules! integers {
        ($t:ty) => {
            collect_valid::<$t>(array, options, |row| integer(row).and_then(|value| value.try_into().ok()), error)
        };
    }
    match to.arrow_type() {
        ArrowType::UInt8 => integers!(UInt8Type),
        ArrowType::UInt16 => integers!(UInt16Type),
        ArrowType::UInt32 => integers!(UInt32Type),
        ArrowType::UInt64 => integers!(UInt64Type),
        ArrowType::Int8 => integers!(Int8Type),
        ArrowType::Int16 => integers!(Int16Type),
        ArrowType::Int32 => integers!(Int32Type),
        ArrowType::Int64 => integers!(Int64Type),
        ArrowType::Float32 => collect_valid::<Float32Type>(
            array,
            options,
            |row| match values.get(row)? {
                Wide::Integer(value) => Some(*value as f32).filter(|float| *float as i128 == *value),
                Wide::Float(value) => Some(*value as f32).filter(|float| f64::from(*float) == *value || value.is_nan()),
            },
            error,
        ),
        ArrowType::Float64 => collect_valid::<Float64Type>(
            array,
            options,
            |row| match values.get(row)? {
                Wide::Integer(value) => Some(*value as f64).filter(|float| *float as i128 == *value),
                Wide::Float(value) => Some(*value),
            },
            error,
        ),
        _ => Err(no_conversion(from, to)),
    }
}

pub(super) fn to_bool(array: &ArrayRef) -> Result<ArrayRef> {
    let values: Vec<u8> = match_primitive!(array.data_type(), T => {
        let zero = <T as ArrowPrimitiveType>::Native::default();
        array.as_primitive::<T>().values().iter().map(|value| u8::from(*value != zero)).collect()
    }, _ => return Err(Error::logical("number expected")));
    Ok(Arc::new(PrimitiveArray::<UInt8Type>::new(values.into(), None)))
}

/// Numbers of an enum of another one's numbers (or of plain numbers), by `map`.
pub(super) fn to_enum(
    array: &ArrayRef,
    to: &DataType,
    names: &EnumValues,
    is_from_enum: bool,
    map: impl Fn(i64) -> Option<i16>,
) -> Result<ArrayRef> {
    let values = wide_values(array)?;
    let is_narrow = matches!(to, DataType::Enum8(_));
    let mut numbers: Vec<i16> = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        if array.is_null(row) {
            numbers.push(names.iter().next().map_or(0, |(_, number)| number));
            continue;
        }
        let number = match value {
            Wide::Integer(value) => i64::try_from(*value).ok(),
            Wide::Float(value) => Some(truncate64(*value)),
        };
        let in_range = number.filter(|number| {
            if is_narrow && !is_from_enum { i8::try_from(*number).is_ok() } else { i16::try_from(*number).is_ok() }
        });
        let Some(in_range) = in_range else {
            return Err(Error::new(
                ErrorCode::CANNOT_CONVERT_TYPE,
                format!("Unexpected value {} in enum", f64::from_wide(*value)),
            ));
        };
        numbers.push(map(in_range).ok_or_else(|| {
            Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, format!("Unexpected value {in_range} in enum"))
        })?);
    }
    Ok(if is_narrow {
        // The numbers of an Enum8 fit.
        Arc::new(numbers.into_iter().map(|number| Some(number as i8)).collect::<PrimitiveArray<Int8Type>>())
    } else {
        Arc::new(PrimitiveArray::<Int16Type>::new(numbers.into(), None))
    })
}

/// Floats as `BFloat16`.
pub(super) fn to_bfloat16(from: &DataType, floats: &ArrayRef, options: &CastOptions) -> Result<ArrayRef> {
    let values = floats.as_primitive::<Float32Type>();
    if options.mode == CastMode::Plain {
        return Ok(Arc::new(values.unary::<_, Float32Type>(bfloat16)));
    }
    let exact = |row: usize| Some(values.value(row)).filter(|value| bfloat16(*value) == *value || value.is_nan());
    collect_valid::<Float32Type>(floats, options, exact, |_| unsafe_value(from, &DataType::BFloat16))
}
