//! Random strings: any bytes, printable ASCII, or characters of Unicode.

use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, integers, string_column, too_large};

use super::generator::Generator;

/// The longest string.
const LENGTH_MAX: i64 = 1 << 24;

fn too_long(name: &str) -> Error {
    Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, format!("Too large string size in function {name}"))
}

/// Appends so many random bytes.
fn append_bytes(out: &mut Vec<u8>, generator: &mut Generator, length: usize) {
    let end = out.len() + length;
    while out.len() < end {
        out.extend(generator.next().to_le_bytes());
    }
    out.truncate(end);
}

fn append_printable(out: &mut Vec<u8>, generator: &mut Generator, length: usize) {
    let start = out.len();
    append_bytes(out, generator, length);
    // From a space to a tilde: 95 characters.
    out[start..].iter_mut().for_each(|byte| *byte = b' ' + ((u16::from(*byte) * 95) >> 8) as u8);
}

fn append_characters(out: &mut Vec<u8>, generator: &mut Generator, length: usize) {
    for _ in 0..length {
        // Surrogates are no characters.
        let character =
            std::iter::repeat_with(|| generator.next() % 0x11_0000).find_map(|code| char::from_u32(code as u32));
        out.extend_from_slice(character.unwrap_or(' ').encode_utf8(&mut [0; 4]).as_bytes());
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.each([0], |data_type| data_type.is_number() || *data_type == DataType::Bool)?;
    let name = call.name;
    let append: fn(&mut Vec<u8>, &mut Generator, usize) = match name {
        "randomString" => append_bytes,
        "randomPrintableASCII" => append_printable,
        _ => append_characters,
    };
    call.bind(DataType::String, move |arguments, rows| {
        let lengths = integers(arguments, 0, rows)?;
        let mut generator = Generator::of_thread();
        string_column(rows, lengths.iter().map(|&length| length.clamp(0, 64) as usize).sum(), |out, row| {
            let length = lengths[row];
            if !(0..=LENGTH_MAX).contains(&length) {
                return Err(too_long(name));
            }
            if out.len() + 4 * length as usize > i32::MAX as usize {
                return Err(too_large());
            }
            squall_types::checkpoint(length as usize)?;
            squall_types::grow(out, 4 * length as usize + 8)?;
            append(out, &mut generator, length as usize);
            Ok(())
        })
    })
}

pub(super) fn resolve_fixed(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.integers([0])?;
    let length = call.constant(0).and_then(Value::as_i64).ok_or_else(|| {
        Error::new(ErrorCode::ILLEGAL_COLUMN, "The length of function randomFixedString must be constant")
    })?;
    if length == 0 {
        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive"));
    }
    if !(1..=0xFF_FFFF).contains(&length) {
        return Err(too_long(call.name));
    }
    let length = length as usize;
    let return_type = DataType::FixedString(length);
    call.bind(return_type.clone(), move |_, rows| {
        if length.saturating_mul(rows) > i32::MAX as usize {
            return Err(too_large());
        }
        squall_types::reserve(length * rows)?;
        let mut bytes = Vec::with_capacity(length * rows + 8);
        append_bytes(&mut bytes, &mut Generator::of_thread(), length * rows);
        let array = FixedSizeBinaryArray::try_new(length as i32, bytes.into(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    })
}
