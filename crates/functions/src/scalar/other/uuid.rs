//! UUIDs as text and as the bytes that the text names.

use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

/// Whether the second argument says that the first three parts lie with their lowest byte first (2) or as the text has them (1).
fn is_microsoft(call: &Call<'_>) -> Result<bool> {
    match call.constant(1).map(Value::as_u64) {
        None if call.arguments.len() < 2 => Ok(false),
        None => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index 1 for function {} must be constant", call.name),
        )),
        Some(Some(1)) => Ok(false),
        Some(Some(2)) => Ok(true),
        _ => Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Illegal variant of UUID in function {}: it must be 1 or 2", call.name),
        )),
    }
}

/// The bytes of one order in the other.
fn turned(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

/// `UUIDNumToString(bytes[, variant])`.
pub(super) fn resolve_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.each([0], |data_type| *data_type == DataType::FixedString(16))?;
    let is_microsoft = is_microsoft(call)?;
    call.bind(DataType::String, move |arguments, rows| {
        let values = Strings::of(arguments, 0)?;
        string_column(rows, rows * 36, |out, row| {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let bytes = <[u8; 16]>::try_from(values.get(row)).unwrap_or_default();
            for (at, byte) in (if is_microsoft { turned(bytes) } else { bytes }).into_iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            Ok(())
        })
    })
}

/// `UUIDStringToNum(text[, variant])`: zeros for what is no UUID.
pub(super) fn resolve_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.strings([0])?;
    let is_microsoft = is_microsoft(call)?;
    let return_type = DataType::FixedString(16);
    call.bind(return_type.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut bytes = Vec::with_capacity(rows * 16);
        for row in 0..rows {
            let own = parse(texts.get(row)).unwrap_or_default();
            bytes.extend(if is_microsoft { turned(own) } else { own });
        }
        let array = FixedSizeBinaryArray::try_new(16, bytes.into(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    })
}

fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let has_dashes = text.len() == 36 && [8, 13, 18, 23].iter().all(|&at| text[at] == b'-');
    if !has_dashes {
        return None;
    }
    let mut bytes = [0; 16];
    let mut digits = text.iter().filter(|&&byte| byte != b'-').map(|&byte| char::from(byte).to_digit(16));
    for byte in &mut bytes {
        *byte = (digits.next()?? * 16 + digits.next()??) as u8;
    }
    Some(bytes)
}
