//! Parts of strings by position: `substring`, `left`, `right`, `substringIndex`, in bytes or characters.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, integers, string_column};

use super::utf8::{count_characters, offset_of_character};

/// The name of an enum's number is its string.
fn is_text(data_type: &DataType) -> bool {
    data_type.is_string_or_fixed_string()
}

/// `offset` counts from 1, or from the end where it is negative; 0 is nowhere. A negative length counts back from the end. The
/// result lies in `0..=count`.
fn range(count: usize, offset: i64, length: Option<i64>) -> (usize, usize) {
    let count = i128::try_from(count).unwrap_or(0);
    let offset = i128::from(offset);
    if offset == 0 {
        return (0, 0);
    }
    let start = if offset > 0 { offset - 1 } else { count + offset };
    let end = match length.map(i128::from) {
        None => count,
        Some(length) if length < 0 => count + length,
        Some(length) => start + length,
    };
    let (start, end) = (start.clamp(0, count), end.clamp(0, count));
    if start < end { (start as usize, end as usize) } else { (0, 0) }
}

/// Bytes or characters `range` of a string.
fn part(string: &[u8], characters: bool, range: impl FnOnce(usize) -> (usize, usize)) -> &[u8] {
    if !characters {
        let (start, end) = range(string.len());
        return string.get(start..end).unwrap_or_default();
    }
    let (start, end) = range(count_characters(string));
    let begin = offset_of_character(string, start);
    let rest = string.get(begin..).unwrap_or_default();
    rest.get(..offset_of_character(rest, end - start)).unwrap_or_default()
}

/// Refuses a constant 0 as the place where a part of a string begins, as ClickHouse does unless the string is a constant too or the length
/// is none: then nothing is there.
///
/// # Errors
/// `ZERO_ARRAY_OR_TUPLE_INDEX`.
pub(in crate::scalar) fn check_first(call: &Call<'_>) -> Result<()> {
    let is_zero = call.constant(1).and_then(Value::as_i64) == Some(0);
    let has_constant_length = call.arguments.len() < 3 || call.constant(2).is_some();
    if is_zero && has_constant_length && call.constant(0).is_none() {
        return Err(Error::new(ErrorCode::ZERO_ARRAY_OR_TUPLE_INDEX, "Indices in strings are 1-based"));
    }
    Ok(())
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    if let DataType::Enum8(_) | DataType::Enum16(_) = call.type_of(0) {
        return resolve_of_enum(call);
    }
    call.each([0], is_text)?;
    call.integers([1, 2])?;
    check_first(call)?;
    let characters = call.name.ends_with("UTF8");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let offsets = integers(arguments, 1, rows)?;
        let lengths = if arguments.len() > 2 { Some(integers(arguments, 2, rows)?) } else { None };
        string_column(rows, strings.bytes(rows) / 2, |out, row| {
            let length = lengths.as_ref().map(|lengths| lengths[row]);
            let string = strings.get(row);
            out.extend_from_slice(part(string, characters, |count| range(count, offsets[row], length)));
            Ok(())
        })
    })
}

/// The same of the names of an enum's values.
fn resolve_of_enum(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let mut as_strings = call.arguments.to_vec();
    if let Some(first) = as_strings.first_mut() {
        *first = crate::function::Argument::of(DataType::String);
    }
    let nested = resolve(&Call { arguments: &as_strings, ..*call })?;
    let options = call.text_options()?;
    call.bind(DataType::String, move |arguments, rows| {
        let names = argument(arguments, 0)?;
        let style = squall_types::text::TextStyle::Plain;
        let mut writer = squall_types::text::ValueWriter::new(names, style, &options)?;
        let names = string_column(rows, rows * 8, |out, row| {
            writer.write(out, row);
            Ok(())
        })?;
        let mut arguments = arguments.to_vec();
        if let Some(first) = arguments.first_mut() {
            *first = names;
        }
        nested.execute(&arguments, rows)
    })
}

pub(super) fn resolve_side(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.each([0], is_text)?;
    call.integers([1])?;
    let characters = call.name.ends_with("UTF8");
    let left = call.name.starts_with("left");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let lengths = integers(arguments, 1, rows)?;
        string_column(rows, strings.bytes(rows) / 2, |out, row| {
            // A negative length is what is left out at the other side.
            let range = |count: usize| {
                let length = lengths[row];
                let wanted = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
                let kept = if length >= 0 { wanted.min(count) } else { count.saturating_sub(wanted) };
                if left { (0, kept) } else { (count - kept, count) }
            };
            out.extend_from_slice(part(strings.get(row), characters, range));
            Ok(())
        })
    })
}

pub(super) fn resolve_index(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    if call.constant_bytes(1)?.len() != 1 {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Second argument to {} must be a single character", call.name),
        ));
    }
    call.bind(DataType::String, |arguments, rows| {
        let (strings, delimiters) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let counts = integers(arguments, 2, rows)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            out.extend_from_slice(before_delimiter(strings.get(row), delimiters.get(row), counts[row]));
            Ok(())
        })
    })
}

/// What is before the delimiter of this number, or after that many from the end where it is negative; the whole where there are
/// not so many.
fn before_delimiter<'a>(string: &'a [u8], delimiter: &[u8], count: i64) -> &'a [u8] {
    let Some(nth) = usize::try_from(count.unsigned_abs()).ok().and_then(|count| count.checked_sub(1)) else {
        return &[];
    };
    if delimiter.is_empty() {
        return &[];
    }
    if count > 0 {
        let at = memchr::memmem::find_iter(string, delimiter).nth(nth);
        return at.and_then(|at| string.get(..at)).unwrap_or(string);
    }
    let at = memchr::memmem::rfind_iter(string, delimiter).nth(nth);
    at.and_then(|at| string.get(at + delimiter.len()..)).unwrap_or(string)
}
