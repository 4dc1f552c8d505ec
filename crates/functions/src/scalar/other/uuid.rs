//! UUIDs as text and as the bytes that the text names.

use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

/// `UUIDNumToString`.
pub(super) fn resolve_text(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| *data_type == DataType::FixedString(16))?;
    call.bind(DataType::String, |arguments, rows| {
        let values = Strings::of(arguments, 0)?;
        string_column(rows, rows * 36, |out, row| {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            for (at, &byte) in values.get(row).iter().enumerate() {
                if matches!(at, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            Ok(())
        })
    })
}

/// `UUIDStringToNum`: zeros for what is no UUID.
pub(super) fn resolve_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let return_type = DataType::FixedString(16);
    call.bind(return_type.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut bytes = Vec::with_capacity(rows * 16);
        (0..rows).for_each(|row| bytes.extend(parse(texts.get(row)).unwrap_or_default()));
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
