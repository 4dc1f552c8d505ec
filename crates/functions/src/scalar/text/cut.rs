//! Texts cut short: before a zero byte, before the nth of a character.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, integers, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `toStringCutToZero`.
pub(super) fn resolve_to_zero(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        string_column(rows, texts.bytes(rows), |out, row| {
            out.extend_from_slice(texts.get(row).split(|byte| *byte == 0).next().unwrap_or_default());
            Ok(())
        })
    })
}

/// `substringIndexUTF8(text, character, count)`: what stands before so many of the character, from the end where `count` is below zero.
pub(super) fn resolve_index(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    let delimiter = call.constant_bytes(1)?.to_vec();
    if std::str::from_utf8(&delimiter).map_or(0, |text| text.chars().count()) != 1 {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Second argument to {} must be a single UTF-8 character", call.name),
        ));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let counts = integers(arguments, 2, rows)?;
        string_column(rows, texts.bytes(rows), |out, row| {
            let text = texts.get(row);
            checkpoint(4 * text.len())?;
            let wanted = usize::try_from(counts[row].unsigned_abs()).unwrap_or(usize::MAX);
            let own = match counts[row] {
                0 => &b""[..],
                1.. => {
                    let at = memchr::memmem::find_iter(text, &delimiter).nth(wanted - 1);
                    at.map_or(text, |at| &text[..at])
                }
                _ => {
                    let at = memchr::memmem::rfind_iter(text, &delimiter).nth(wanted - 1);
                    at.map_or(text, |at| &text[at + delimiter.len()..])
                }
            };
            out.extend_from_slice(own);
            Ok(())
        })
    })
}
