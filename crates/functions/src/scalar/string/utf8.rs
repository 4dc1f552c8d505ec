//! Characters of UTF-8: counting, finding their borders, checking, repairing, reversing. Any bytes are taken: a byte that does not
//! continue a character begins one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, FixedSizeBinaryArray, UInt32Array};
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, primitive_column, string_column};

/// Whether a byte begins a character.
#[inline]
pub(super) fn begins_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// The number of characters.
pub(in crate::scalar) fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| begins_character(byte)).count()
}

/// The characters, each as its bytes.
pub(super) fn characters(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (character, after) = rest.split_at_checked(character_length(rest))?;
        rest = after;
        (!character.is_empty()).then_some(character)
    })
}

/// Bytes of the first character; 0 only where there is none.
pub(super) fn character_length(bytes: &[u8]) -> usize {
    match bytes.get(1..) {
        None => 0,
        Some(rest) => 1 + rest.iter().position(|&byte| begins_character(byte)).unwrap_or(rest.len()),
    }
}

/// Where the character of this number begins; the end where there are not so many.
pub(in crate::scalar) fn offset_of_character(bytes: &[u8], number: usize) -> usize {
    let mut begins = bytes.iter().enumerate().filter(|(_, byte)| begins_character(**byte));
    begins.nth(number).map_or(bytes.len(), |(at, _)| at)
}

pub(super) fn resolve_is_valid(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let is_valid = |row| std::str::from_utf8(strings.get(row)).is_ok();
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_valid(row))))
    })
}

pub(super) fn resolve_to_valid(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            // Neighbouring bad bytes become one replacement character.
            let mut follows_bad = false;
            for chunk in strings.get(row).utf8_chunks() {
                if !chunk.valid().is_empty() {
                    follows_bad = false;
                }
                out.extend_from_slice(chunk.valid().as_bytes());
                if !chunk.invalid().is_empty() && !std::mem::replace(&mut follows_bad, true) {
                    out.extend_from_slice("\u{FFFD}".as_bytes());
                }
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_reverse(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    if call.name == "reverseUTF8" {
        call.each([0], |data_type| *data_type == DataType::String)?;
        return call.bind(DataType::String, |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            string_column(rows, strings.bytes(rows), |out, row| {
                let characters: Vec<&[u8]> = characters(strings.get(row)).collect();
                characters.iter().rev().for_each(|character| out.extend_from_slice(character));
                Ok(())
            })
        });
    }
    match call.type_of(0) {
        DataType::String => call.bind(DataType::String, |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            string_column(rows, strings.bytes(rows), |out, row| {
                out.extend(strings.get(row).iter().rev());
                Ok(())
            })
        }),
        fixed @ DataType::FixedString(width) => {
            let (return_type, width) = (fixed.clone(), *width);
            call.bind(fixed.clone(), move |arguments, rows| {
                let strings = Strings::of(arguments, 0)?;
                let mut bytes: Vec<u8> = Vec::with_capacity(rows * width);
                (0..rows).for_each(|row| bytes.extend(strings.get(row).iter().rev()));
                let array = FixedSizeBinaryArray::try_new(width as i32, bytes.into(), None)?;
                Ok(Column::new(return_type.clone(), Arc::new(array)))
            })
        }
        array @ DataType::Array(_) => {
            let return_type = array.clone();
            call.bind(array.clone(), move |arguments, _| reverse_lists(argument(arguments, 0)?, &return_type))
        }
        _ => Err(call.illegal(0)),
    }
}

fn reverse_lists(column: &Column, return_type: &DataType) -> Result<Column> {
    let array = column.to_array()?;
    let lists = array.as_list::<i32>();
    let mut positions = Vec::with_capacity(lists.values().len());
    for ends in lists.value_offsets().windows(2) {
        positions.extend((ends[0] as u32..ends[1] as u32).rev());
    }
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(lists.offsets().lengths());
    let items = squall_types::kernels::take(&**lists.values(), &UInt32Array::from(positions))?;
    let field = match return_type {
        DataType::Array(item) => item.arrow_list_item(),
        other => other.arrow_list_item(),
    };
    let reversed = arrow_array::ListArray::try_new(field, offsets, items, lists.nulls().cloned())?;
    Ok(Column::new(return_type.clone(), Arc::new(reversed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_any_bytes() {
        let split = |bytes: &'static [u8]| characters(bytes).collect::<Vec<_>>();
        assert_eq!(split("aж".as_bytes()), [b"a".as_slice(), "ж".as_bytes()]);
        assert_eq!(split(b""), Vec::<&[u8]>::new());
        assert_eq!(split(b"\x80\x80a"), [b"\x80\x80".as_slice(), b"a"]);
        assert_eq!(offset_of_character("жж".as_bytes(), 1), 2);
        assert_eq!(offset_of_character("жж".as_bytes(), 5), 4);
    }
}
