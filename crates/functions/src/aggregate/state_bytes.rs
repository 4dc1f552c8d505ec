//! The bytes of serialised states: numbers as they lie in memory, lengths as varints, values as ClickHouse's binary formats have them.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value, default_value};

/// A number of a fixed width, low byte first.
pub(super) trait Raw: Copy {
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! raw {
    ($($number:ty),*) => {
        $(impl Raw for $number {
            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                let (first, rest) = bytes.split_first_chunk().ok_or_else(too_short)?;
                *bytes = rest;
                Ok(Self::from_le_bytes(*first))
            }
        })*
    };
}

raw!(u8, u16, u32, u64, u128, i8, i16, i32, i64, f32, f64);

fn too_short() -> Error {
    Error::new(ErrorCode::CANNOT_READ_ALL_DATA, "Cannot read all data of an aggregate function's state")
}

/// So many floats.
pub(super) fn take_floats<const N: usize>(bytes: &mut &[u8]) -> Result<[f64; N]> {
    let mut floats = [0.0; N];
    for float in &mut floats {
        *float = Raw::take(bytes)?;
    }
    Ok(floats)
}

pub(super) fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = u8::take(bytes)?;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(too_short())
}

/// A number of things, each of at least one byte that is still to come: a number that is not true allocates nothing.
pub(super) fn take_count(bytes: &mut &[u8]) -> Result<usize> {
    let count = usize::try_from(take_varint(bytes)?).map_err(|_| too_short())?;
    if count > bytes.len() { Err(too_short()) } else { Ok(count) }
}

pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(length).ok_or_else(too_short)?;
    *bytes = rest;
    Ok(first)
}

pub(super) fn put_string(string: &[u8], out: &mut Vec<u8>) {
    put_varint(string.len() as u64, out);
    out.extend_from_slice(string);
}

pub(super) fn take_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_count(bytes)?;
    take_bytes(bytes, length)
}

/// The bytes of a value of a fixed width as ClickHouse has them, and from there: a UUID is two numbers, high half first.
pub(super) fn turn_fixed(data_type: &DataType, bytes: &mut [u8]) {
    if *data_type.remove_nullable().inner() == DataType::UUID && bytes.len() == 16 {
        bytes[..8].reverse();
        bytes[8..].reverse();
    }
}

/// A value in the form of `RowBinary`.
pub(crate) fn put_value(value: &Value, data_type: &DataType, out: &mut Vec<u8>) -> Result<()> {
    let wrong = || Error::logical(format!("{value} is no value of {data_type}"));
    let list = |values: &[Value], item: &DataType, out: &mut Vec<u8>| {
        put_varint(values.len() as u64, out);
        values.iter().try_for_each(|value| put_value(value, item, out))
    };
    match (data_type, value) {
        (DataType::LowCardinality(item), _) => put_value(value, item, out)?,
        (DataType::Nullable(_), Value::Null) => out.push(1),
        (DataType::Nullable(item), _) => {
            out.push(0);
            put_value(value, item, out)?;
        }
        (DataType::Nothing, _) => {}
        (DataType::Array(item), Value::Array(values)) => list(values, item, out)?,
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
        (DataType::String, Value::String(string)) => put_string(string, out),
        _ => {
            // Of a fixed width: as the one row of a column.
            let column = squall_types::Column::constant(data_type.clone(), value, 1)?;
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

/// The value that [`put_value`] wrote.
pub(super) fn take_value(bytes: &mut &[u8], data_type: &DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::LowCardinality(item) => take_value(bytes, item)?,
        DataType::Nullable(item) => match u8::take(bytes)? {
            0 => take_value(bytes, item)?,
            _ => Value::Null,
        },
        DataType::Nothing => Value::Null,
        DataType::Array(item) => {
            let count = take_count(bytes)?;
            Value::Array((0..count).map(|_| take_value(bytes, item)).collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Tuple(elements) => {
            let values = elements.iter().map(|element| take_value(bytes, &element.data_type));
            Value::Tuple(values.collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Map(key, item) => {
            let count = take_count(bytes)?;
            let entries = (0..count).map(|_| Ok((take_value(bytes, key)?, take_value(bytes, item)?)));
            Value::Map(entries.collect::<Result<Vec<_>>>()?.into())
        }
        DataType::String => Value::String(take_string(bytes)?.into()),
        _ => {
            let width = data_type.fixed_width_bytes().ok_or_else(|| Error::logical("a type without a binary form"))?;
            let mut own = take_bytes(bytes, width)?.to_vec();
            turn_fixed(data_type, &mut own);
            let one = squall_types::Column::constant(data_type.clone(), &default_value(data_type), 1)?;
            let data = one.array().to_data().into_builder().offset(0).len(1).buffers(vec![own.into()]);
            let array = arrow_array::make_array(data.align_buffers(true).build()?);
            squall_types::Column::new(data_type.clone(), Arc::clone(&array)).value(0)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let values: Vec<(&str, Value)> = vec![
            ("UInt8", Value::UInt64(200)),
            ("Int64", Value::Int64(-5)),
            ("Float32", Value::Float64(1.5)),
            ("String", Value::from("abc")),
            ("Nullable(String)", Value::Null),
            ("Array(Nullable(Int16))", Value::Array([Value::Int64(3), Value::Null].into())),
            ("Tuple(String, UInt8)", Value::Tuple([Value::from("x"), Value::UInt64(1)].into())),
        ];
        for (name, value) in values {
            let data_type = DataType::parse(name).unwrap();
            let mut bytes = Vec::new();
            put_value(&value, &data_type, &mut bytes).unwrap();
            let mut left = &bytes[..];
            assert_eq!(take_value(&mut left, &data_type).unwrap().to_string(), value.to_string(), "{name}");
            assert!(left.is_empty());
            for end in 0..bytes.len() {
                assert!(take_value(&mut &bytes[..end], &data_type).is_err(), "{name} cut at {end}");
            }
        }
    }

    #[test]
    fn varints_come_back() {
        for number in [0, 127, 128, 300, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(number, &mut bytes);
            assert_eq!(take_varint(&mut &bytes[..]).unwrap(), number);
        }
        assert!(take_varint(&mut &[0xFF; 11][..]).is_err());
    }
}
