//! The partition transforms of Iceberg's specification (appendix B): hashes, buckets and truncated values.

use std::sync::Arc;

use arrow_array::types::{Int32Type, UInt32Type};
use squall_types::{DataType, Error, ErrorCode, Integer, Result, Value};

use super::murmur;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, primitive_column, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Whether values of a type are hashed.
fn is_hashed(data_type: &DataType) -> bool {
    data_type.is_number()
        || data_type.is_decimal()
        || data_type.is_string_or_fixed_string()
        || matches!(data_type, DataType::Bool | DataType::Date | DataType::Date32 | DataType::UUID)
}

fn check(call: &Call<'_>, at: usize) -> Result<()> {
    match call.type_of(at) {
        DataType::DateTime64(6 | 9, _) => return Ok(()),
        DataType::DateTime64(..) => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Function {} takes a DateTime64 of microseconds or nanoseconds only", call.name),
            ));
        }
        data_type if is_hashed(data_type) => return Ok(()),
        _ => {}
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!("Unsupported data type `{}` for {}", call.type_of(at), call.name),
    ))
}

/// The hash of a value: numbers as 64 bits, floats as doubles, decimals as their shortest big-endian bytes.
fn hash(value: &Value, data_type: &DataType) -> i32 {
    let bytes = match value {
        // Nanoseconds count as microseconds.
        Value::Int64(ticks) if matches!(data_type, DataType::DateTime64(9, _)) => {
            ticks.div_euclid(1000).to_le_bytes().to_vec()
        }
        Value::Float64(float) => (if *float == 0.0 { 0.0 } else { *float }).to_bits().to_le_bytes().to_vec(),
        Value::Decimal(digits, _) => shortest(&digits.to_be_bytes()),
        Value::Uuid(bytes) => bytes.to_vec(),
        other => match (other.as_bytes(), other.as_i64()) {
            (Some(bytes), _) => bytes.to_vec(),
            (None, Some(number)) => number.to_le_bytes().to_vec(),
            (None, None) => other.as_u64().unwrap_or(0).to_le_bytes().to_vec(),
        },
    };
    murmur::hash3_32(&bytes) as i32
}

/// Big-endian bytes of two's complement without those that only repeat the sign.
fn shortest(bytes: &[u8]) -> Vec<u8> {
    let mut rest = bytes;
    while let [first, next, ..] = rest {
        let repeats = (*first == 0 && *next < 0x80) || (*first == 0xFF && *next >= 0x80);
        if !repeats {
            break;
        }
        rest = &rest[1..];
    }
    rest.to_vec()
}

pub(super) fn resolve_hash(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    check(call, 0)?;
    call.bind(DataType::Int32, |arguments, rows| {
        let column = argument(arguments, 0)?;
        Ok(primitive_column::<Int32Type>(DataType::Int32, rows, |row| hash(&column.value(row), column.data_type())))
    })
}

/// The first argument: how many buckets, or how wide.
fn width(call: &Call<'_>) -> Result<i64> {
    let width = call.constant(0).and_then(Value::as_i64).filter(|width| *width > 0);
    width.ok_or_else(|| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Function {} takes a constant positive number as its first argument", call.name),
        )
    })
}

pub(super) fn resolve_bucket(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let buckets = width(call)?;
    check(call, 1)?;
    call.bind(DataType::UInt32, move |arguments, rows| {
        let column = argument(arguments, 1)?;
        Ok(primitive_column::<UInt32Type>(DataType::UInt32, rows, |row| {
            (i64::from(hash(&column.value(row), column.data_type()) & i32::MAX) % buckets) as u32
        }))
    })
}

pub(super) fn resolve_truncate(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let width = width(call)?;
    let result = match call.type_of(1) {
        text if text.is_string_or_fixed_string() => DataType::String,
        number if number.is_integer() || number.is_decimal() => number.clone(),
        _ => return Err(call.illegal(1)),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 1)?;
        value_column(&result, rows, |row| {
            let down = |number: i64| number - number.rem_euclid(width);
            Ok(match column.value(row) {
                Value::Int64(number) => Value::Int64(down(number)),
                Value::UInt64(number) => Value::UInt64(number - number % width as u64),
                Value::Decimal(digits, scale) => match i64::fit_large(*digits) {
                    Some(number) => Value::Decimal(Box::new(down(number).large()), scale),
                    None => Value::Decimal(digits, scale),
                },
                other => match other.as_bytes() {
                    Some(bytes) => {
                        let text = String::from_utf8_lossy(bytes);
                        Value::string(text.chars().take(width as usize).collect::<String>())
                    }
                    None => other,
                },
            })
        })
    })
}
