//! `lower`, `upper`, `initcap`, of ASCII letters or of all of Unicode's.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, FixedSizeBinaryArray};
use arrow_buffer::OffsetBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, string_column};

pub(super) fn resolve_ascii(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let return_type = call.type_of(0).clone();
    if call.name == "initcap" {
        return call.bind(DataType::String, |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            string_column(rows, strings.bytes(rows), |out, row| {
                let mut inside_word = false;
                for byte in strings.get(row) {
                    out.push(if inside_word { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() });
                    inside_word = byte.is_ascii_alphanumeric();
                }
                Ok(())
            })
        });
    }
    let change: fn(&mut [u8]) =
        if call.name == "lower" { <[u8]>::make_ascii_lowercase } else { <[u8]>::make_ascii_uppercase };
    call.bind(return_type, move |arguments, _| {
        let column = argument(arguments, 0)?;
        let array = column.array();
        // The letters of all rows at once: no string changes its length.
        let changed: arrow_array::ArrayRef = match (array.as_binary_opt::<i32>(), array.as_fixed_size_binary_opt()) {
            (Some(strings), _) => {
                let offsets = strings.value_offsets();
                let (start, end) = (*offsets.first().unwrap_or(&0), *offsets.last().unwrap_or(&0));
                let mut bytes = strings.value_data()[start as usize..end as usize].to_vec();
                change(&mut bytes);
                let offsets: Vec<i32> = offsets.iter().map(|offset| offset - start).collect();
                Arc::new(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), None)?)
            }
            (_, Some(strings)) => {
                let mut bytes: Vec<u8> =
                    strings.iter().flat_map(|string| string.unwrap_or(&[]).iter().copied()).collect();
                change(&mut bytes);
                Arc::new(FixedSizeBinaryArray::try_new(strings.value_length(), bytes.into(), None)?)
            }
            _ => return Err(Error::logical("letters of something else than strings")),
        };
        let changed = Column::new(column.data_type().clone(), changed);
        Ok(if column.is_constant() { Column::repeat(&changed, column.rows()) } else { changed })
    })
}

pub(super) fn resolve_utf8(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    if let DataType::FixedString(_) = call.type_of(0) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Function {} cannot work with FixedString argument", call.name),
        ));
    }
    let change: fn(&str) -> String = match call.name {
        "lowerUTF8" => str::to_lowercase,
        "upperUTF8" => str::to_uppercase,
        _ => capitalize,
    };
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            for chunk in strings.get(row).utf8_chunks() {
                out.extend_from_slice(change(chunk.valid()).as_bytes());
                out.extend_from_slice(chunk.invalid());
            }
            Ok(())
        })
    })
}

fn capitalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside_word = false;
    for character in text.chars() {
        let changed = if inside_word { one_lower(character) } else { one_upper(character) };
        // What takes another number of bytes stays as it is, and a word begins behind it.
        if changed.len_utf8() == character.len_utf8() {
            out.push(changed);
            inside_word = character.is_alphanumeric();
        } else {
            out.push(character);
            inside_word = false;
        }
    }
    out
}

/// The small letter of a capital, where it is a single one. `İ` and `ı` belong to no other letter.
fn one_lower(character: char) -> char {
    if character.is_uppercase() && character != 'İ' { only(character, character.to_lowercase()) } else { character }
}

/// The capital of a small letter, where it is a single one.
fn one_upper(character: char) -> char {
    match character {
        // Its capital of one letter is not the one that Unicode's full rules give.
        'ß' => 'ẞ',
        'ı' => character,
        _ if character.is_lowercase() => only(character, character.to_uppercase()),
        _ => character,
    }
}

/// What a letter becomes, where that is one character.
fn only(character: char, mut changed: impl Iterator<Item = char>) -> char {
    match (changed.next(), changed.next()) {
        (Some(changed), None) => changed,
        _ => character,
    }
}
