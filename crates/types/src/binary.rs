//! Values in binary, as ClickHouse's `RowBinary` has them: numbers as they lie in memory, lengths as varints, a byte before what may be
//! NULL. States of aggregate functions are made of these, and values of `Dynamic` are them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray};
use arrow_buffer::{OffsetBuffer, ToByteSlice};
use std::sync::Arc;

use crate::column::{Column, ColumnBuilder, value_at};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::text::bfloat16;
use crate::value::Value;
use crate::{checkpoint, default_value, grow, match_primitive, type_code};

/// How deep values and types may nest.
pub(crate) const DEPTH_MAX: usize = 100;

/// `CANNOT_READ_ALL_DATA`.
pub fn too_short() -> Error {
    Error::new(ErrorCode::CANNOT_READ_ALL_DATA, "Cannot read all data of a value in binary")
}

/// Appends a number in groups of seven bits, the lowest first.
pub fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes what [`put_varint`] wrote from the front of `bytes`.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(too_short())
}

/// Takes a number of things, each of at least one byte that is still to come: a number that is not true allocates nothing.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn take_count(bytes: &mut &[u8]) -> Result<usize> {
    let count = usize::try_from(take_varint(bytes)?).map_err(|_| too_short())?;
    if count > bytes.len() { Err(too_short()) } else { Ok(count) }
}

/// Takes one byte.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn take_byte(bytes: &mut &[u8]) -> Result<u8> {
    take_bytes(bytes, 1).map(|bytes| bytes[0])
}

/// Takes so many bytes.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn take_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length).ok_or_else(too_short)?;
    *bytes = rest;
    Ok(first)
}

/// Appends a string behind its length.
pub fn put_string(string: &[u8], out: &mut Vec<u8>) {
    put_varint(string.len() as u64, out);
    out.extend_from_slice(string);
}

/// Takes what [`put_string`] wrote.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn take_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_count(bytes)?;
    take_bytes(bytes, length)
}

/// The bytes of a value of a fixed width as ClickHouse has them, and from there: a UUID is two numbers, high half first.
pub fn turn_fixed(data_type: &DataType, bytes: &mut [u8]) {
    if *data_type.inner() == DataType::UUID && bytes.len() == 16 {
        bytes[..8].reverse();
        bytes[8..].reverse();
    }
}

/// Appends a value.
///
/// # Errors
/// `LOGICAL_ERROR` where it is none of the type.
pub fn put_value(value: &Value, data_type: &DataType, out: &mut Vec<u8>) -> Result<()> {
    let wrong = || Error::logical(format!("{value} is no value of {data_type}"));
    match (data_type, value) {
        (DataType::LowCardinality(item), _) => put_value(value, item, out)?,
        (DataType::SimpleAggregateFunction(simple), _) => put_value(value, simple.values(), out)?,
        (DataType::Named(named), _) => put_value(value, named.values(), out)?,
        (DataType::Nullable(_), Value::Null) => out.push(1),
        (DataType::Nullable(item), _) => {
            out.push(0);
            put_value(value, item, out)?;
        }
        (DataType::Nothing, _) => {}
        (DataType::Array(item), Value::Array(values)) => {
            put_varint(values.len() as u64, out);
            values.iter().try_for_each(|value| put_value(value, item, out))?;
        }
        (DataType::Tuple(elements), Value::Tuple(values)) => {
            for (element, value) in elements.iter().zip(values.iter()) {
                put_value(value, &element.data_type, out)?;
            }
        }
        (DataType::Map(key, item), Value::Map(entries)) => {
            put_varint(entries.len() as u64, out);
            for (entry_key, entry) in entries.iter() {
                put_value(entry_key, key, out)?;
                put_value(entry, item, out)?;
            }
        }
        (DataType::Variant(alternatives), _) => match value {
            Value::Null => out.push(u8::MAX),
            Value::Typed(typed) => {
                let at = alternatives.iter().position(|alternative| *alternative == typed.0).ok_or_else(wrong)?;
                out.push(at as u8);
                put_value(&typed.1, &typed.0, out)?;
            }
            _ => return Err(wrong()),
        },
        (DataType::Dynamic(_), _) => match value {
            Value::Null => type_code::put_type(&DataType::Nothing, out),
            Value::Typed(typed) => {
                type_code::put_type(&typed.0, out);
                put_value(&typed.1, &typed.0, out)?;
            }
            _ => return Err(wrong()),
        },
        (DataType::Json(json), Value::Tuple(parts)) => {
            let Some((Value::Map(others), typed)) = parts.split_last() else { return Err(wrong()) };
            put_varint((typed.len() + others.len()) as u64, out);
            for ((path, data_type), value) in json.typed.iter().zip(typed) {
                put_string(path.as_bytes(), out);
                put_value(value, data_type, out)?;
            }
            for (path, value) in others.iter() {
                put_string(path.as_bytes().ok_or_else(wrong)?, out);
                put_value(value, &DataType::dynamic(), out)?;
            }
        }
        (DataType::String | DataType::AggregateFunction(_), Value::String(string)) => put_string(string, out),
        (DataType::BFloat16, _) => {
            let number = bfloat16(value.as_f64().ok_or_else(wrong)? as f32);
            out.extend_from_slice(&((number.to_bits() >> 16) as u16).to_le_bytes());
        }
        _ => {
            // Of a fixed width: as the one row of a column.
            let column = Column::constant(data_type.clone(), value, 1)?;
            let width = data_type.fixed_width_bytes().ok_or_else(wrong)?;
            let data = column.array().to_data();
            let buffer = data.buffers().first().ok_or_else(wrong)?;
            let start = data.offset() * width;
            let at = out.len();
            out.extend_from_slice(buffer.get(start..start + width).ok_or_else(wrong)?);
            turn_fixed(data_type, &mut out[at..]);
        }
    }
    Ok(())
}

/// Takes the value that [`put_value`] wrote.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`, `INCORRECT_DATA`, `TOO_DEEP_RECURSION`.
pub fn take_value(bytes: &mut &[u8], data_type: &DataType) -> Result<Value> {
    take_nested(bytes, data_type, 0)
}

fn take_nested(bytes: &mut &[u8], data_type: &DataType, depth: usize) -> Result<Value> {
    if depth > DEPTH_MAX {
        return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deeply nested value in binary"));
    }
    let mut take = |data_type: &DataType| take_nested(bytes, data_type, depth + 1);
    Ok(match data_type {
        DataType::LowCardinality(item) => take(item)?,
        DataType::SimpleAggregateFunction(simple) => take(simple.values())?,
        DataType::Named(named) => take(named.values())?,
        DataType::Nullable(item) => match take_byte(bytes)? {
            0 => take_nested(bytes, item, depth + 1)?,
            _ => Value::Null,
        },
        DataType::Nothing => Value::Null,
        DataType::Array(item) => {
            let count = take_count(bytes)?;
            let items = (0..count).map(|_| take_nested(bytes, item, depth + 1));
            Value::Array(items.collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Tuple(elements) => {
            let values = elements.iter().map(|element| take(&element.data_type));
            Value::Tuple(values.collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Map(key, item) => {
            let count = take_count(bytes)?;
            let entries =
                (0..count).map(|_| Ok((take_nested(bytes, key, depth + 1)?, take_nested(bytes, item, depth + 1)?)));
            Value::Map(entries.collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Variant(alternatives) => match take_byte(bytes)? {
            u8::MAX => Value::Null,
            at => {
                let alternative = alternatives.get(usize::from(at));
                let alternative = alternative
                    .ok_or_else(|| Error::new(ErrorCode::INCORRECT_DATA, "A Variant has no alternative of a number"))?;
                Value::typed(alternative.clone(), take_nested(bytes, alternative, depth + 1)?)
            }
        },
        DataType::Dynamic(_) => match type_code::take_type(bytes)? {
            DataType::Nothing => Value::Null,
            found => {
                let value = take_nested(bytes, &found, depth + 1)?;
                Value::typed(found, value)
            }
        },
        DataType::Json(json) => {
            let count = take_count(bytes)?;
            let mut typed: Vec<Value> = json.typed.iter().map(|(_, data_type)| default_value(data_type)).collect();
            let mut others = Vec::new();
            for _ in 0..count {
                let path = take_string(bytes)?;
                match json.typed.iter().position(|(known, _)| known.as_bytes() == path) {
                    Some(at) => typed[at] = take_nested(bytes, &json.typed[at].1, depth + 1)?,
                    None => others.push((Value::string(path), take_nested(bytes, &DataType::dynamic(), depth + 1)?)),
                }
            }
            others.retain(|(_, value)| !value.is_null());
            others.sort_by(|left, right| left.0.as_bytes().cmp(&right.0.as_bytes()));
            typed.push(Value::Map(others.into()));
            Value::Tuple(typed.into())
        }
        DataType::String | DataType::AggregateFunction(_) => Value::String(take_string(bytes)?.into()),
        DataType::BFloat16 => {
            let half = take_bytes(bytes, 2)?.try_into().unwrap_or_default();
            Value::Float64(f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16).into())
        }
        _ => {
            let width = data_type.fixed_width_bytes().ok_or_else(|| Error::logical("a type without a binary form"))?;
            let mut own = take_bytes(bytes, width)?.to_vec();
            turn_fixed(data_type, &mut own);
            let one = Column::constant(data_type.clone(), &default_value(data_type), 1)?;
            let data = one.array().to_data().into_builder().offset(0).len(1).buffers(vec![own.into()]);
            let array = arrow_array::make_array(data.align_buffers(true).build()?);
            Column::new(data_type.clone(), array).value(0)
        }
    })
}

/// Whether a type's values lie in binary as they do in memory.
fn is_as_in_memory(data_type: &DataType) -> bool {
    data_type.arrow_type().is_primitive() && !matches!(data_type, DataType::Nullable(_) | DataType::BFloat16)
}

/// Appends the value of a row that is not NULL.
///
/// # Errors
/// As [`put_value`].
pub fn put_row(data_type: &DataType, array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if *data_type == DataType::String {
        put_string(array.as_binary::<i32>().value(row), out);
        return Ok(());
    }
    if is_as_in_memory(data_type) {
        return match_primitive!(array.data_type(), T => {
            out.extend_from_slice(array.as_primitive::<T>().value(row).to_byte_slice());
            Ok(())
        }, _ => Err(Error::logical("a number that is none")));
    }
    put_value(&value_at(data_type, array, row), data_type, out)
}

/// The array of values of one type that are given in binary, each as the whole of its bytes.
///
/// # Errors
/// As [`take_value`]; `TOO_LARGE_STRING_SIZE`.
pub fn read_rows(data_type: &DataType, rows: &[&[u8]]) -> Result<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(rows: &[&[u8]]) -> Result<ArrayRef> {
        let mut bytes = Vec::new();
        grow(&mut bytes, rows.len() * size_of::<T::Native>())?;
        for row in rows {
            bytes.extend_from_slice(row.get(..size_of::<T::Native>()).ok_or_else(too_short)?);
        }
        let values = arrow_buffer::ScalarBuffer::new(bytes.into(), 0, rows.len());
        Ok(Arc::new(PrimitiveArray::<T>::new(values, None)))
    }
    checkpoint(rows.len())?;
    if *data_type == DataType::String {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for row in rows {
            let string = take_string(&mut &**row)?;
            grow(&mut bytes, string.len())?;
            bytes.extend_from_slice(string);
            let end = i32::try_from(bytes.len())
                .map_err(|_| Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block"))?;
            ends.push(end);
        }
        return Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None)?));
    }
    if is_as_in_memory(data_type) {
        return match_primitive!(data_type.arrow_type(), T => primitive::<T>(rows), _ => Err(Error::logical("a number that is none")));
    }
    let mut builder = ColumnBuilder::new(data_type.clone());
    for row in rows {
        checkpoint(64)?;
        builder.append(&take_value(&mut &**row, data_type)?)?;
    }
    builder.finish()?.to_array()
}
