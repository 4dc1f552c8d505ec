//! `javaHash`, which is `hashCode()` of Java's strings and numbers.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, integers, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    match call.type_of(0) {
        data_type if data_type.is_string_or_fixed_string() => call.bind(DataType::Int32, move |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            Ok(primitive_column::<Int32Type>(DataType::Int32, rows, |row| hash(strings.get(row))))
        }),
        data_type if data_type.is_signed_integer() => {
            // A `long` is folded, an `int` is itself.
            let is_long = *data_type == DataType::Int64;
            call.bind(DataType::Int32, move |arguments, rows| {
                let values = integers(arguments, 0, rows)?;
                let hash = |row: usize| {
                    let value = values[row];
                    let high = if is_long { (value >> 32) as i32 } else { 0 };
                    value as i32 ^ high
                };
                Ok(primitive_column::<Int32Type>(DataType::Int32, rows, hash))
            })
        }
        other => Err(Error::not_implemented(format!("Function {} of type {other}", call.name))),
    }
}

/// The hash of a string of one byte a character.
pub(super) fn hash(bytes: &[u8]) -> i32 {
    bytes.iter().fold(0, |hash: i32, &byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte as i8)))
}

/// `javaHashUTF16LE`: of text in UTF-16, two bytes a character.
pub(super) fn resolve_utf16(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::Int32, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let hash = |row| {
            let (pairs, rest) = strings.get(row).as_chunks::<2>();
            if !rest.is_empty() {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Arguments of javaHashUTF16LE must have an even number of bytes, not {}",
                        strings.get(row).len()
                    ),
                ));
            }
            Ok(pairs
                .iter()
                .fold(0_i32, |hash, pair| hash.wrapping_mul(31).wrapping_add(u16::from_le_bytes(*pair).into())))
        };
        let hashes = (0..rows).map(hash).collect::<Result<Vec<_>>>()?;
        Ok(Column::from_primitive::<Int32Type>(DataType::Int32, hashes))
    })
}
