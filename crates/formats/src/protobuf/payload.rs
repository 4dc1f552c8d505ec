//! What a field holds, and the numbers that columns make of it.

use squall_types::integer::{I256, integer_of_float};
use squall_types::text::{append_float32, append_float64, read_decimal};
use squall_types::{Error, ErrorCode, Integer, Result};

use crate::protobuf::leaf::Leaf;
use crate::protobuf::number::Number;
use crate::protobuf::wire::{Raw, Scalar, corrupted};

/// What a field holds, by its type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
}

impl std::fmt::Display for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        match self {
            Self::Int(value) => return write!(f, "{value}"),
            Self::UInt(value) => return write!(f, "{value}"),
            Self::Float(value) => append_float32(&mut text, *value),
            Self::Double(value) => append_float64(&mut text, *value),
            Self::Bytes(bytes) => text.extend_from_slice(bytes.get(..100).unwrap_or(bytes)),
        }
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// What a field holds; `None` where that are packed values.
#[inline(always)]
pub(super) fn payload<'a>(leaf: &Leaf, raw: Raw<'a>) -> Result<Option<Payload<'a>>> {
    Ok(Some(match (leaf.scalar, raw) {
        (Scalar::String | Scalar::Bytes, Raw::Bytes(bytes)) => Payload::Bytes(bytes),
        (_, Raw::Bytes(_)) => return Ok(None),
        (Scalar::Int32 | Scalar::Int64 | Scalar::Enum, Raw::Varint(value)) => Payload::Int(value as i64),
        (Scalar::UInt32 | Scalar::UInt64, Raw::Varint(value)) => Payload::UInt(value),
        (Scalar::SInt32 | Scalar::SInt64, Raw::Varint(value)) => {
            Payload::Int((value >> 1) as i64 ^ -((value & 1) as i64))
        }
        (Scalar::Bool, Raw::Varint(value @ 0..2)) => Payload::UInt(value),
        (Scalar::Bool, Raw::Varint(value)) => return Err(no_truth(leaf, value)),
        (Scalar::Fixed32, Raw::Fixed32(value)) => Payload::UInt(value.into()),
        (Scalar::SFixed32, Raw::Fixed32(value)) => Payload::Int((value as i32).into()),
        (Scalar::Float, Raw::Fixed32(value)) => Payload::Float(f32::from_bits(value)),
        (Scalar::Fixed64, Raw::Fixed64(value)) => Payload::UInt(value),
        (Scalar::SFixed64, Raw::Fixed64(value)) => Payload::Int(value as i64),
        (Scalar::Double, Raw::Fixed64(value)) => Payload::Double(f64::from_bits(value)),
        _ => return Err(corrupted()),
    }))
}

#[cold]
fn no_truth(leaf: &Leaf, value: u64) -> Error {
    leaf.bad_cast(value, leaf.scalar.name(), &leaf.type_name, false)
}

#[inline(always)]
pub(super) fn made<T: Number>(leaf: &Leaf, payload: Payload<'_>) -> Result<T> {
    let value = match payload {
        Payload::Int(value) => T::of_int(value),
        Payload::UInt(value) => T::of_uint(value),
        // An infinite float of 32 bits is one of any width.
        Payload::Float(value) if value.is_infinite() => {
            T::of_float(value.into()).or_else(|| T::of_text(if value > 0.0 { b"inf" } else { b"-inf" }))
        }
        Payload::Float(value) => T::of_float(value.into()),
        Payload::Double(value) => T::of_float(value),
        Payload::Bytes(text) => T::of_text(text),
    };
    match value {
        Some(value) => Ok(value),
        None => Err(refused(leaf, payload)),
    }
}

#[cold]
fn refused(leaf: &Leaf, payload: Payload<'_>) -> Error {
    let from = match (payload, leaf.scalar) {
        (Payload::Int(_), Scalar::SFixed32) => "Int32",
        (Payload::Int(_), _) => "Int64",
        (Payload::UInt(_), Scalar::Fixed32) => "UInt32",
        (Payload::UInt(_), _) => "UInt64",
        (Payload::Float(_), _) => "Float32",
        (Payload::Double(_), _) => "Float64",
        (Payload::Bytes(_), _) => "String",
    };
    leaf.bad_cast(payload, from, &leaf.type_name, false)
}

pub(super) fn overflow() -> Error {
    Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow")
}

/// A decimal of so many digits behind the point, as its whole number.
pub(super) fn decimal<T: Integer>(payload: Payload<'_>, precision: u8, scale: u8) -> Result<T> {
    let factor = <I256 as Integer>::power_of_ten(scale.into()).ok_or_else(overflow)?;
    let float = |scaled: f64| (scaled.abs() < 2f64.powi(255)).then(|| integer_of_float(scaled));
    let number = match payload {
        Payload::Bytes(text) => return read_decimal(text, precision, scale).map(|(value, _)| value),
        Payload::Int(value) => I256::from(value).checked_mul(factor),
        Payload::UInt(value) => I256::from(value).checked_mul(factor),
        // The product is one of the float's own width.
        Payload::Float(value) => float((value * 10f32.powi(scale.into())).into()),
        Payload::Double(value) => float(value * 10f64.powi(scale.into())),
    };
    number.and_then(T::fit_large).ok_or_else(overflow)
}
