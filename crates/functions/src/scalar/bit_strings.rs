//! Functions of the bits of strings: both of one length combined, one turned over, one shifted.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow};

use super::simple::{Call, Strings, StringsBuilder, integers};
use crate::function::BoundFunction;

type Bound = Result<Option<Arc<dyn BoundFunction>>>;

/// A column of strings as one of a type of strings.
fn retyped(strings: Column, result: &DataType) -> Result<Column> {
    if *result == DataType::String {
        return Ok(strings);
    }
    squall_types::cast(&strings, result, &squall_types::CastOptions::default())
}

/// `bitAnd`, `bitOr`, `bitXor` of two `FixedString`s of one length; `None` for other types.
pub(super) fn bind_combined(call: &Call<'_>, combine: fn(u8, u8) -> u8) -> Bound {
    let (DataType::FixedString(left), DataType::FixedString(right)) = (call.type_of(0), call.type_of(1)) else {
        return Ok(None);
    };
    if left != right {
        return Ok(None);
    }
    let result = call.type_of(0).clone();
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let (left, right) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut strings = StringsBuilder::new(rows, left.bytes(rows))?;
        for row in 0..rows {
            let pairs = left.get(row).iter().zip(right.get(row));
            strings.bytes.extend(pairs.map(|(left, right)| combine(*left, *right)));
            strings.end_row()?;
        }
        retyped(strings.finish()?, &result)
    });
    bound.map(Some)
}

/// `bitNot` of a string; `None` for other types.
pub(super) fn bind_not(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_string_or_fixed_string() {
        return Ok(None);
    }
    let result = call.type_of(0).clone();
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut strings = StringsBuilder::new(rows, texts.bytes(rows))?;
        for row in 0..rows {
            strings.bytes.extend(texts.get(row).iter().map(|byte| !byte));
            strings.end_row()?;
        }
        retyped(strings.finish()?, &result)
    });
    bound.map(Some)
}

/// `bitShiftLeft` and `bitShiftRight` of a string, whose first bits are the highest; a `FixedString` keeps its length, a `String` gets
/// the bytes that are shifted out of it on the left, and loses those on the right. `None` for other types.
pub(super) fn bind_shift(call: &Call<'_>, is_left: bool) -> Bound {
    call.arguments(2..=2)?;
    if !call.type_of(0).is_string_or_fixed_string() {
        return Ok(None);
    }
    call.integers([1])?;
    let result = call.type_of(0).clone();
    let is_fixed = result != DataType::String;
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let amounts = integers(arguments, 1, rows)?;
        let mut strings = StringsBuilder::new(rows, 2 * texts.bytes(rows))?;
        for (row, amount) in amounts.iter().enumerate() {
            let text = texts.get(row);
            let amount = usize::try_from(*amount).map_err(|_| {
                Error::new(
                    ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    "The number of shift positions needs to be a non-negative value",
                )
            })?;
            checkpoint(4 * text.len())?;
            grow(&mut strings.bytes, 2 * text.len() + 1)?;
            put_shifted(text, amount, is_left, is_fixed, &mut strings.bytes);
            strings.end_row()?;
        }
        retyped(strings.finish()?, &result)
    });
    bound.map(Some)
}

fn put_shifted(text: &[u8], amount: usize, is_left: bool, is_fixed: bool, out: &mut Vec<u8>) {
    if amount >= 8 * text.len() {
        if is_fixed {
            out.extend(std::iter::repeat_n(0, text.len()));
        }
        return;
    }
    let (bytes, bits) = (amount / 8, amount % 8);
    // Sixteen bits, of which the wanted eight begin at `bits` from one side.
    let pair = |high: Option<&u8>, low: Option<&u8>| {
        u16::from(high.copied().unwrap_or(0)) << 8 | u16::from(low.copied().unwrap_or(0))
    };
    if is_left {
        let shifted = |at: usize| (pair(text.get(at), text.get(at + 1)) << bits >> 8) as u8;
        if is_fixed {
            out.extend((bytes..text.len()).map(shifted));
        } else {
            if bits > 0 {
                out.push((pair(None, text.first()) << bits >> 8) as u8);
            }
            out.extend((0..text.len()).map(shifted));
        }
        out.extend(std::iter::repeat_n(0, bytes));
        return;
    }
    if is_fixed {
        out.extend(std::iter::repeat_n(0, bytes));
    }
    let before = |at: usize| at.checked_sub(1).and_then(|at| text.get(at));
    out.extend((0..text.len() - bytes).map(|at| (pair(before(at), text.get(at)) >> bits) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_move() {
        let shifted = |amount, is_left, is_fixed| {
            let mut out = Vec::new();
            put_shifted(b"abc", amount, is_left, is_fixed, &mut out);
            out
        };
        assert_eq!(shifted(12, false, false), [0x06, 0x16]);
        assert_eq!(shifted(12, false, true), [0x00, 0x06, 0x16]);
        assert_eq!(shifted(12, true, false), [0x06, 0x16, 0x26, 0x30, 0x00]);
        assert_eq!(shifted(12, true, true), [0x26, 0x30, 0x00]);
        assert_eq!(shifted(8, true, false), [0x61, 0x62, 0x63, 0x00]);
        assert_eq!(shifted(24, true, false), [0_u8; 0]);
    }
}
