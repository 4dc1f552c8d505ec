//! Types in binary, as ClickHouse's binary formats and values of `Dynamic` have them: a byte for the family, then its arguments.

use std::sync::Arc;

use crate::binary::{
    DEPTH_MAX, put_string, put_varint, take_byte, take_bytes, take_count, take_string, take_varint, too_short,
};
use crate::data_type::{DataType, EnumValues, IntervalKind, TupleElement};
use crate::error::{Error, ErrorCode, Result};
use crate::json_type::JsonType;

/// The only form of JSON's arguments.
const JSON_VERSION: u8 = 0;

/// Appends a type.
pub fn put_type(data_type: &DataType, out: &mut Vec<u8>) {
    let named = |code: u8, name: &str, out: &mut Vec<u8>| {
        out.push(code);
        put_string(name.as_bytes(), out);
    };
    match data_type {
        DataType::Nothing => out.push(0x00),
        DataType::UInt8 => out.push(0x01),
        DataType::UInt16 => out.push(0x02),
        DataType::UInt32 => out.push(0x03),
        DataType::UInt64 => out.push(0x04),
        DataType::UInt128 => out.push(0x05),
        DataType::UInt256 => out.push(0x06),
        DataType::Int8 => out.push(0x07),
        DataType::Int16 => out.push(0x08),
        DataType::Int32 => out.push(0x09),
        DataType::Int64 => out.push(0x0A),
        DataType::Int128 => out.push(0x0B),
        DataType::Int256 => out.push(0x0C),
        DataType::Float32 => out.push(0x0D),
        DataType::Float64 => out.push(0x0E),
        DataType::Date => out.push(0x0F),
        DataType::Date32 => out.push(0x10),
        DataType::DateTime(None) => out.push(0x11),
        DataType::DateTime(Some(zone)) => named(0x12, zone, out),
        DataType::DateTime64(digits, None) => out.extend_from_slice(&[0x13, *digits]),
        DataType::DateTime64(digits, Some(zone)) => {
            out.extend_from_slice(&[0x14, *digits]);
            put_string(zone.as_bytes(), out);
        }
        DataType::String => out.push(0x15),
        DataType::FixedString(length) => {
            out.push(0x16);
            put_varint(*length as u64, out);
        }
        DataType::Enum8(values) | DataType::Enum16(values) => {
            let is_narrow = matches!(data_type, DataType::Enum8(_));
            out.push(if is_narrow { 0x17 } else { 0x18 });
            put_varint(values.iter().count() as u64, out);
            for (name, number) in values.iter() {
                put_string(name.as_bytes(), out);
                let bytes = number.to_le_bytes();
                out.extend_from_slice(if is_narrow { &bytes[..1] } else { &bytes });
            }
        }
        DataType::Decimal(precision, scale) => {
            let code = match precision {
                ..=9 => 0x19,
                10..=18 => 0x1A,
                19..=38 => 0x1B,
                _ => 0x1C,
            };
            out.extend_from_slice(&[code, *precision, *scale]);
        }
        DataType::UUID => out.push(0x1D),
        DataType::Array(item) => {
            out.push(0x1E);
            put_type(item, out);
        }
        DataType::Tuple(elements) => {
            let is_named = !elements.is_empty() && elements.iter().all(|element| element.name.is_some());
            out.push(if is_named { 0x20 } else { 0x1F });
            put_varint(elements.len() as u64, out);
            for element in elements.iter() {
                if let (true, Some(name)) = (is_named, &element.name) {
                    put_string(name.as_bytes(), out);
                }
                put_type(&element.data_type, out);
            }
        }
        DataType::Interval(kind) => {
            let code = IntervalKind::ALL.iter().position(|known| known == kind).unwrap_or(0);
            out.extend_from_slice(&[0x22, code as u8]);
        }
        DataType::Nullable(inner) => {
            out.push(0x23);
            put_type(inner, out);
        }
        DataType::LowCardinality(inner) => {
            out.push(0x26);
            put_type(inner, out);
        }
        DataType::Map(key, value) => {
            out.push(0x27);
            put_type(key, out);
            put_type(value, out);
        }
        DataType::IPv4 => out.push(0x28),
        DataType::IPv6 => out.push(0x29),
        DataType::Variant(alternatives) => {
            out.push(0x2A);
            put_varint(alternatives.len() as u64, out);
            alternatives.iter().for_each(|alternative| put_type(alternative, out));
        }
        DataType::Dynamic(max_types) => out.extend_from_slice(&[0x2B, *max_types]),
        // What has no code of its own goes by its name.
        DataType::AggregateFunction(_) | DataType::SimpleAggregateFunction(_) | DataType::Named(_) => {
            named(0x2C, &data_type.to_string(), out)
        }
        DataType::Bool => out.push(0x2D),
        DataType::Json(json) => {
            out.extend_from_slice(&[0x30, JSON_VERSION]);
            put_varint(json.max_dynamic_paths, out);
            out.push(json.max_dynamic_types);
            put_varint(json.typed.len() as u64, out);
            for (path, data_type) in json.typed.iter() {
                put_string(path.as_bytes(), out);
                put_type(data_type, out);
            }
            for list in [&json.skipped, &json.skipped_by_regexp] {
                put_varint(list.len() as u64, out);
                list.iter().for_each(|path| put_string(path.as_bytes(), out));
            }
        }
        DataType::BFloat16 => out.push(0x31),
        DataType::Time => out.push(0x32),
        DataType::Time64(digits) => out.extend_from_slice(&[0x34, *digits]),
    }
}

/// The bytes of a type.
pub fn type_bytes(data_type: &DataType) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_type(data_type, &mut bytes);
    bytes
}

/// Takes the type that [`put_type`] wrote from the front of `bytes`.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`, `INCORRECT_DATA`, `TOO_DEEP_RECURSION`, and those of names.
pub fn take_type(bytes: &mut &[u8]) -> Result<DataType> {
    take_nested(bytes, 0)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(take_string(bytes)?).map_err(|_| too_short())
}

fn take_nested(bytes: &mut &[u8], depth: usize) -> Result<DataType> {
    if depth > DEPTH_MAX {
        return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deeply nested type in binary"));
    }
    let inner = |bytes: &mut &[u8]| take_nested(bytes, depth + 1).map(Arc::new);
    Ok(match take_byte(bytes)? {
        0x00 => DataType::Nothing,
        0x01 => DataType::UInt8,
        0x02 => DataType::UInt16,
        0x03 => DataType::UInt32,
        0x04 => DataType::UInt64,
        0x05 => DataType::UInt128,
        0x06 => DataType::UInt256,
        0x07 => DataType::Int8,
        0x08 => DataType::Int16,
        0x09 => DataType::Int32,
        0x0A => DataType::Int64,
        0x0B => DataType::Int128,
        0x0C => DataType::Int256,
        0x0D => DataType::Float32,
        0x0E => DataType::Float64,
        0x0F => DataType::Date,
        0x10 => DataType::Date32,
        0x11 => DataType::DateTime(None),
        0x12 => DataType::DateTime(Some(take_text(bytes)?.into())),
        0x13 => DataType::DateTime64(take_digits(bytes)?, None),
        0x14 => {
            let digits = take_digits(bytes)?;
            DataType::DateTime64(digits, Some(take_text(bytes)?.into()))
        }
        0x15 => DataType::String,
        0x16 => DataType::parse(&format!("FixedString({})", take_varint(bytes)?))?,
        code @ (0x17 | 0x18) => {
            let count = take_count(bytes)?;
            let mut values = Vec::new();
            for _ in 0..count {
                let name: Arc<str> = take_text(bytes)?.into();
                let number = match code {
                    0x17 => i16::from(i8::from_le_bytes([take_byte(bytes)?])),
                    _ => i16::from_le_bytes(take_bytes(bytes, 2)?.try_into().unwrap_or_default()),
                };
                values.push((name, number));
            }
            let values = Arc::new(EnumValues::new(values)?);
            if code == 0x17 { DataType::Enum8(values) } else { DataType::Enum16(values) }
        }
        0x19..=0x1C => {
            let (precision, scale) = (take_byte(bytes)?, take_byte(bytes)?);
            crate::type_name::decimal(precision.into(), scale.into())?
        }
        0x1D => DataType::UUID,
        0x1E => DataType::Array(inner(bytes)?),
        code @ (0x1F | 0x20) => {
            let count = take_varint(bytes)?;
            let mut elements = Vec::new();
            for _ in 0..count {
                let name = if code == 0x20 { Some(take_text(bytes)?.into()) } else { None };
                elements.push(TupleElement { name, data_type: take_nested(bytes, depth + 1)? });
            }
            DataType::Tuple(elements.into())
        }
        0x22 => {
            let kind = IntervalKind::ALL.get(usize::from(take_byte(bytes)?));
            DataType::Interval(*kind.ok_or_else(|| unknown("kind of interval"))?)
        }
        0x23 => {
            let inner = inner(bytes)?;
            if !inner.can_be_inside_nullable() {
                return Err(unknown("Nullable type"));
            }
            DataType::Nullable(inner)
        }
        0x26 => {
            let inner = inner(bytes)?;
            DataType::parse(&format!("LowCardinality({inner})"))?
        }
        0x27 => DataType::Map(inner(bytes)?, inner(bytes)?),
        0x28 => DataType::IPv4,
        0x29 => DataType::IPv6,
        0x2A => {
            let count = take_varint(bytes)?;
            let mut alternatives = Vec::new();
            for _ in 0..count {
                alternatives.push(take_nested(bytes, depth + 1)?);
            }
            DataType::variant(alternatives)?
        }
        0x2B => DataType::Dynamic(take_byte(bytes)?),
        0x2C => DataType::parse(take_text(bytes)?)?,
        0x2D => DataType::Bool,
        0x30 => {
            let _version = take_byte(bytes)?;
            let max_dynamic_paths = take_varint(bytes)?;
            let max_dynamic_types = take_byte(bytes)?;
            let mut typed = Vec::new();
            for _ in 0..take_count(bytes)? {
                let path: Arc<str> = take_text(bytes)?.into();
                typed.push((path, take_nested(bytes, depth + 1)?));
            }
            let mut lists: [Vec<Arc<str>>; 2] = Default::default();
            for list in &mut lists {
                for _ in 0..take_count(bytes)? {
                    list.push(take_text(bytes)?.into());
                }
            }
            let [skipped, skipped_by_regexp] = lists;
            DataType::Json(Arc::new(JsonType::new(
                max_dynamic_paths,
                max_dynamic_types,
                typed,
                skipped,
                skipped_by_regexp,
            )?))
        }
        0x31 => DataType::BFloat16,
        0x32 => DataType::Time,
        0x34 => DataType::Time64(take_digits(bytes)?),
        code => return Err(unknown(&format!("type {code:#04x}"))),
    })
}

fn take_digits(bytes: &mut &[u8]) -> Result<u8> {
    Ok(take_byte(bytes)?).and_then(|digits| if digits > 9 { Err(unknown("scale of a time")) } else { Ok(digits) })
}

fn unknown(what: &str) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Unknown {what} in the binary form of a type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back() {
        for name in [
            "Array(Nullable(String))",
            "Tuple(a UInt8, b LowCardinality(Nullable(String)))",
            "Tuple(UInt8, Decimal(76, 3))",
            "Map(String, DateTime64(6, 'UTC'))",
            "Enum8('a' = -1, 'b' = 2)",
            "Enum16('a' = 1000)",
            "Variant(Array(UInt8), String)",
            "Dynamic(max_types=3)",
            "JSON(max_dynamic_paths=2, `a.b` UInt8, SKIP c, SKIP REGEXP '^z')",
            "FixedString(3)",
            "IntervalMonth",
            "AggregateFunction(sum, UInt8)",
            "Time64(3)",
            "BFloat16",
        ] {
            let data_type = DataType::parse(name).unwrap();
            let bytes = type_bytes(&data_type);
            let mut left = &bytes[..];
            assert_eq!(take_type(&mut left).unwrap(), data_type, "{name}");
            assert!(left.is_empty());
            for end in 0..bytes.len() {
                assert!(take_type(&mut &bytes[..end]).is_err(), "{name} cut at {end}");
            }
        }
    }
}
