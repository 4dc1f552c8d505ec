//! Strings made longer: `leftPad`, `rightPad`, `repeat`, `space`, `appendTrailingCharIfAbsent`.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, integers, string_column};

use super::utf8::{count_characters, offset_of_character};

/// ClickHouse's bound on padded lengths and numbers of repetitions.
const REPEAT_MAX: i64 = 1_000_000;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.strings([0, 2])?;
    call.integers_of_any_width([1])?;
    let left = call.name.starts_with("left");
    let characters = call.name.ends_with("UTF8");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let lengths = integers(arguments, 1, rows)?;
        let pads = if arguments.len() > 2 { Strings::of(arguments, 2)? } else { Strings::Constant(b" ") };
        string_column(rows, strings.bytes(rows), |out, row| {
            let string = strings.get(row);
            let pad = if pads.get(row).is_empty() { b" ".as_slice() } else { pads.get(row) };
            let wanted = padded_length(lengths[row])?;
            let count = if characters { count_characters(string) } else { string.len() };
            if wanted <= count {
                let end = if characters { offset_of_character(string, wanted) } else { wanted };
                out.extend_from_slice(&string[..end]);
                return Ok(());
            }
            if !left {
                out.extend_from_slice(string);
            }
            let mut missing = wanted - count;
            let pad_count = if characters { count_characters(pad).max(1) } else { pad.len() };
            let padding = (missing / pad_count + 1).saturating_mul(pad.len());
            checkpoint(padding)?;
            grow(out, padding.saturating_add(string.len()))?;
            while missing >= pad_count {
                out.extend_from_slice(pad);
                missing -= pad_count;
            }
            let end = if characters { offset_of_character(pad, missing) } else { missing };
            out.extend_from_slice(&pad[..end]);
            if left {
                out.extend_from_slice(string);
            }
            Ok(())
        })
    })
}

fn padded_length(length: i64) -> Result<usize> {
    if length > REPEAT_MAX {
        return Err(Error::new(
            ErrorCode::TOO_LARGE_STRING_SIZE,
            format!("Too large padded length ({length}), maximum is: {REPEAT_MAX}"),
        ));
    }
    usize::try_from(length).map_err(|_| {
        Error::new(
            ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
            format!("New padded length ({length}) is negative"),
        )
    })
}

/// A number of repetitions; none where it is negative.
fn repetitions(count: i64) -> Result<usize> {
    if count > REPEAT_MAX {
        return Err(Error::new(
            ErrorCode::TOO_LARGE_STRING_SIZE,
            format!("Too many times to repeat ({count}), maximum is: {REPEAT_MAX}"),
        ));
    }
    Ok(usize::try_from(count).unwrap_or(0))
}

pub(super) fn resolve_repeat(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0])?;
    call.integers_of_any_width([1])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let counts = integers(arguments, 1, rows)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let count = repetitions(counts[row])?;
            // Checked before the memory is asked for: a block of such strings could take all there is.
            if strings.get(row).len().saturating_mul(count).saturating_add(out.len()) > i32::MAX as usize {
                return Err(crate::scalar::simple::too_large());
            }
            let bytes = strings.get(row).len() * count;
            checkpoint(bytes / 4)?;
            grow(out, bytes)?;
            if bytes > 0 {
                // What is there is copied, twice as much each time.
                let start = out.len();
                out.extend_from_slice(strings.get(row));
                while out.len() - start < bytes {
                    let there = out.len() - start;
                    out.extend_from_within(start..start + there.min(bytes - there));
                }
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_space(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.integers([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let counts = integers(arguments, 0, rows)?;
        string_column(rows, rows, |out, row| {
            let length = out.len() + repetitions(counts[row])?;
            if length > i32::MAX as usize {
                return Err(crate::scalar::simple::too_large());
            }
            checkpoint(length - out.len())?;
            grow(out, length - out.len())?;
            out.resize(length, b' ');
            Ok(())
        })
    })
}

pub(super) fn resolve_append_char(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.each([0, 1], |data_type| *data_type == DataType::String)?;
    let &[last] = call.constant_bytes(1)? else {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Second argument of function {} must be a one-character string", call.name),
        ));
    };
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows) + rows, |out, row| {
            let string = strings.get(row);
            out.extend_from_slice(string);
            if string.last().is_some_and(|&byte| byte != last) {
                out.push(last);
            }
            Ok(())
        })
    })
}
