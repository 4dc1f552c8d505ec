//! A constant as exactly the same value of another type, for what compares constants with columns: literals beside `=`, the values of
//! `IN`. A value that the other type does not have equals none of its values; that is no error.

use crate::cast::{CastMode, CastOptions, cast_value, integer_range};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::value::Value;

/// The value of type `from` as exactly the same value of type `to`; `None` where `to` does not have it, and for NULL. Texts are read,
/// texts of numbers as numbers of any width.
///
/// # Errors
/// For texts that cannot be read as a value of `to`.
pub fn exact_value(value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Result<Option<Value>> {
    if value.is_null() {
        return Ok(None);
    }
    if from == to {
        return Ok(Some(value.clone()));
    }
    let is_number = |data_type: &DataType| data_type.is_number() || *data_type == DataType::Bool;
    match (value, from.inner(), to.inner()) {
        (Value::Tuple(items), DataType::Tuple(from), DataType::Tuple(to)) if from.len() == to.len() => {
            let items = items.iter().zip(from.iter()).zip(to.iter());
            let items = items.map(|((value, from), to)| exact_value(value, &from.data_type, &to.data_type, options));
            let items = items.collect::<Result<Option<Vec<_>>>>()?;
            Ok(items.map(|items| Value::Tuple(items.into())))
        }
        (Value::Array(items), DataType::Array(from), DataType::Array(to)) => {
            let items = items.iter().map(|item| item_value(item, from, to, options));
            let items = items.collect::<Result<Option<Vec<_>>>>()?;
            Ok(items.map(|items| Value::Array(items.into())))
        }
        (Value::Map(entries), DataType::Map(from_key, from_value), DataType::Map(to_key, to_value)) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = exact_value(key, from_key, to_key, options)?;
                Ok(key.zip(item_value(value, from_value, to_value, options)?))
            });
            let entries = entries.collect::<Result<Option<Vec<_>>>>()?;
            Ok(entries.map(|entries| Value::Map(entries.into())))
        }
        (value, from, to) if is_number(from) && is_number(to) => Ok(exact_number(value, to)),
        (value, from, to) if is_large(from) && (is_number(to) || is_large(to)) || is_number(from) && is_large(to) => {
            Ok(exact_large(value, from, to, options))
        }
        (value, DataType::String | DataType::FixedString(_), to) => of_text(value, from.inner(), to, options),
        (value, from, to) if is_nested(from) != is_nested(to) => Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            format!("Type mismatch in IN or VALUES section. Expected: {to}. Got: {from} ({value})"),
        )),
        (value, from, to) => Ok(cast_value(value, from, to, options).ok()),
    }
}

fn is_nested(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..))
}

/// Inside an array NULL is a value as others, where the type has it.
fn item_value(value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Result<Option<Value>> {
    if value.is_null() && to.is_nullable() { Ok(Some(Value::Null)) } else { exact_value(value, from, to, options) }
}

fn of_text(value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Result<Option<Value>> {
    let widest = match to {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => &DataType::UInt64,
        DataType::Int8 | DataType::Int16 | DataType::Int32 => &DataType::Int64,
        DataType::Int128 => &DataType::Int256,
        DataType::UInt128 => &DataType::UInt256,
        // A name that the enum does not have is never found.
        DataType::Enum8(_) | DataType::Enum16(_) => return Ok(cast_value(value, from, to, options).ok()),
        other => other,
    };
    // What follows a date is no part of it.
    let has_time = |text: &[u8]| text.iter().any(|byte| matches!(byte, b' ' | b'T' | b':'));
    if matches!(to, DataType::Date | DataType::Date32) && value.as_bytes().is_some_and(has_time) {
        return Err(Error::new(ErrorCode::TYPE_MISMATCH, format!("Cannot convert string {value} to type {to}")));
    }
    match cast_value(value, from, widest, options) {
        Ok(number) if to.is_wide_integer() && widest != to => Ok(exact_large(&number, widest, to, options)),
        Ok(number) if widest != to => Ok(exact_number(&number, to)),
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code == ErrorCode::CANNOT_PARSE_TEXT || to.is_any_integer() || to.is_decimal() => {
            Err(Error::new(ErrorCode::TYPE_MISMATCH, format!("Cannot convert string {value} to type {to}")))
        }
        Err(error) => Err(error),
    }
}

fn is_large(data_type: &DataType) -> bool {
    data_type.is_wide_integer() || data_type.is_decimal()
}

/// A number of which one side is wide or a decimal. A float is a decimal where that is the same float again.
fn exact_large(value: &Value, from: &DataType, to: &DataType, options: &CastOptions) -> Option<Value> {
    let accurate = CastOptions { mode: CastMode::Accurate, ..options.clone() };
    let converted = cast_value(value, from, to, &accurate).ok()?;
    let is_same = match (from.is_float(), to.is_float()) {
        (true, _) => cast_value(&converted, to, from, options).ok()?.compare(value).is_eq(),
        (_, true) => true,
        _ => converted.compare(value).is_eq(),
    };
    is_same.then_some(converted)
}

fn exact_number(value: &Value, to: &DataType) -> Option<Value> {
    let (least, most) = match to {
        DataType::Bool => (0, 1),
        DataType::Float32 => {
            let number = value.as_f64()?;
            return (number.is_nan() || f64::from(number as f32) == number).then_some(Value::Float64(number));
        }
        DataType::Float64 => return value.as_f64().map(Value::Float64),
        _ => integer_range(to)?,
    };
    let number = match value {
        Value::Bool(value) => i128::from(*value),
        Value::UInt64(value) => i128::from(*value),
        Value::Int64(value) => i128::from(*value),
        // Every whole f64 within 64 bits is exact as an i128.
        Value::Float64(value) if value.fract() == 0.0 && value.abs() < 2e19 => *value as i128,
        _ => return None,
    };
    if !(least..=most).contains(&number) {
        return None;
    }
    Some(match to {
        DataType::Bool => Value::Bool(number == 1),
        _ if to.is_signed_integer() => Value::Int64(i64::try_from(number).ok()?),
        _ => Value::UInt64(u64::try_from(number).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_value_is_exact() {
        let exact = |value: Value, from: &str, to: &str| {
            let (from, to) = (DataType::parse(from).unwrap(), DataType::parse(to).unwrap());
            exact_value(&value, &from, &to, &CastOptions::default())
        };
        assert_eq!(exact(Value::UInt64(257), "UInt16", "UInt8").unwrap(), None);
        assert_eq!(exact(Value::string("257"), "String", "UInt8").unwrap(), None);
        assert_eq!(exact(Value::string("7"), "String", "UInt8").unwrap(), Some(Value::UInt64(7)));
        assert_eq!(exact(Value::string("x"), "String", "UInt8").unwrap_err().code, ErrorCode::TYPE_MISMATCH);
        let minus_one = || Value::Array([Value::Int64(-1)].into());
        assert_eq!(exact(minus_one(), "Array(Int8)", "Array(UInt8)").unwrap(), None);
        assert_eq!(exact(minus_one(), "Array(Int8)", "Array(Int64)").unwrap(), Some(minus_one()));
        assert_eq!(exact(Value::Float64(0.1), "Float64", "Float32").unwrap(), None);
    }
}
