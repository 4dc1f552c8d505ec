//! Strings changed: parts laid over others, turned round by separators, characters translated, numbers in other bases.

use std::collections::HashMap;
use std::sync::Arc;

use squall_types::text::append_integer;
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, integers, string_column};
use crate::scalar::string::{count_characters, offset_of_character};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `basename(path)`: what stands behind the last slash or backslash.
pub(super) fn resolve_basename(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let name = strings.get(row).rsplit(|byte| matches!(byte, b'/' | b'\\')).next();
            out.extend_from_slice(name.unwrap_or_default());
            Ok(())
        })
    })
}

/// `reverseBySeparator(string[, separator])`.
pub(super) fn resolve_reverse(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    call.strings(0..call.arguments.len())?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let separators = if arguments.len() > 1 { Strings::of(arguments, 1)? } else { Strings::Constant(b".") };
        string_column(rows, strings.bytes(rows), |out, row| {
            let (text, separator) = (strings.get(row), separators.get(row));
            checkpoint(text.len())?;
            if separator.is_empty() {
                out.extend(text.iter().rev());
                return Ok(());
            }
            let mut parts = Vec::new();
            let mut from = 0;
            for at in memchr::memmem::find_iter(text, separator) {
                parts.push(text.get(from..at).unwrap_or_default());
                from = at + separator.len();
            }
            parts.push(text.get(from..).unwrap_or_default());
            for (at, part) in parts.iter().rev().enumerate() {
                if at > 0 {
                    out.extend_from_slice(separator);
                }
                out.extend_from_slice(part);
            }
            Ok(())
        })
    })
}

/// `overlay(string, replacement, offset[, length])`, in bytes or characters.
pub(super) fn resolve_overlay(call: &Call<'_>) -> Bound {
    call.arguments(3..=4)?;
    call.strings([0, 1])?;
    call.integers(2..call.arguments.len())?;
    let in_characters = call.name.ends_with("UTF8");
    call.bind(DataType::String, move |arguments, rows| {
        let (strings, replacements) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let offsets = integers(arguments, 2, rows)?;
        let lengths = if arguments.len() > 3 { Some(integers(arguments, 3, rows)?) } else { None };
        string_column(rows, strings.bytes(rows) + replacements.bytes(rows), |out, row| {
            let (text, replacement) = (strings.get(row), replacements.get(row));
            let count = |text: &[u8]| if in_characters { count_characters(text) } else { text.len() };
            let place = |at: usize| if in_characters { offset_of_character(text, at) } else { at.min(text.len()) };
            let all = count(text);
            let start = match offsets[row] {
                // Past the end, as is 0, the replacement is appended.
                0 => all,
                offset @ 1.. => usize::try_from(offset - 1).unwrap_or(usize::MAX).min(all),
                offset => all.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX)),
            };
            let length = match &lengths {
                Some(lengths) if lengths[row] >= 0 => usize::try_from(lengths[row]).unwrap_or(usize::MAX),
                _ => count(replacement),
            };
            out.extend_from_slice(text.get(..place(start)).unwrap_or_default());
            grow(out, replacement.len())?;
            out.extend_from_slice(replacement);
            out.extend_from_slice(text.get(place(start.saturating_add(length).min(all))..).unwrap_or_default());
            Ok(())
        })
    })
}

/// `translateUTF8(string, from, to)`: what has no partner in `to` is left out.
pub(super) fn resolve_translate(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    call.strings(0..3)?;
    let (from, to) = (call.constant_bytes(1)?, call.constant_bytes(2)?);
    let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
    if to.chars().count() > from.chars().count() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Second and third arguments of function {} must be the same length", call.name),
        ));
    }
    let mut partners = HashMap::new();
    let mut to = to.chars();
    from.chars().for_each(|character| {
        let partner = to.next();
        partners.insert(character, partner);
    });
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            checkpoint(4 * strings.get(row).len())?;
            for chunk in strings.get(row).utf8_chunks() {
                for character in chunk.valid().chars() {
                    if let Some(partner) = partners.get(&character).copied().unwrap_or(Some(character)) {
                        out.extend_from_slice(partner.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                }
                out.extend_from_slice(chunk.invalid());
            }
            Ok(())
        })
    })
}

/// `conv(number, from base, to base)`, as MySQL has it: in 64 bits, up to the first character that is no digit.
pub(super) fn resolve_conv(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    call.integers([1, 2])?;
    let is_text = call.type_of(0).is_string_or_fixed_string();
    if !is_text && !call.type_of(0).is_integer() {
        return Err(call.illegal(0));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let (from, to) = (integers(arguments, 1, rows)?, integers(arguments, 2, rows)?);
        let texts = if is_text { Some(Strings::of(arguments, 0)?) } else { None };
        let numbers = if is_text { Vec::new() } else { integers(arguments, 0, rows)? };
        string_column(rows, rows * 8, |out, row| {
            let bases = [from[row], to[row]];
            if bases.iter().any(|base| !(2..=36).contains(base)) {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Base is less than 2 or greater than 36 which is not supported",
                ));
            }
            let own = match &texts {
                Some(texts) => texts.get(row).to_vec(),
                None => {
                    let mut digits = Vec::new();
                    append_integer(&mut digits, numbers[row]);
                    digits
                }
            };
            let text = own.trim_ascii();
            let (is_negative, digits) = match text.split_first() {
                Some((b'-', digits)) => (true, digits),
                _ => (false, text),
            };
            let mut number = 0_u64;
            for digit in digits {
                let Some(value) = char::from(*digit).to_digit(from[row] as u32) else { break };
                number = number.saturating_mul(from[row] as u64).saturating_add(value.into());
            }
            if is_negative {
                number = number.wrapping_neg();
            }
            let start = out.len();
            loop {
                out.push(
                    char::from_digit((number % to[row] as u64) as u32, 36).unwrap_or('0').to_ascii_uppercase() as u8
                );
                number /= to[row] as u64;
                if number == 0 {
                    break;
                }
            }
            out[start..].reverse();
            Ok(())
        })
    })
}
