//! Small questions to strings: starts and ends in any case, substrings compared, ASCII, and what bytes there are.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::types::{Float64Type, Int8Type, UInt8Type, UInt16Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, Strings, integers, primitive_column};
use crate::scalar::string::{fold_ascii, fold_characters};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `startsWithCaseInsensitive`, `endsWithCaseInsensitive`, and by characters.
pub(super) fn resolve_end(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let at_start = call.name.starts_with("starts");
    if matches!((call.type_of(0), call.type_of(1)), (DataType::Array(_), DataType::Array(_))) {
        // Items of arrays have no case.
        return resolve_scalar(if at_start { "startsWith" } else { "endsWith" }, call.arguments, call.context);
    }
    call.strings([0, 1])?;
    let by_characters = call.name.ends_with("UTF8");
    let fold = if by_characters { fold_characters } else { fold_ascii };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (strings, ends) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            if by_characters && std::str::from_utf8(ends.get(row)).is_err() {
                // No text begins or ends with what is none.
                return 0;
            }
            let (string, end) = (fold(strings.get(row)), fold(ends.get(row)));
            u8::from(if at_start { string.starts_with(&end) } else { string.ends_with(&end) })
        }))
    })
}

/// `compareSubstrings(a, b, offset in a, offset in b, bytes)`.
pub(super) fn resolve_substrings(call: &Call<'_>) -> Bound {
    call.arguments(5..=5)?;
    call.strings([0, 1])?;
    call.integers(2..5)?;
    call.bind(DataType::Int8, |arguments, rows| {
        let (lefts, rights) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let numbers = [integers(arguments, 2, rows)?, integers(arguments, 3, rows)?, integers(arguments, 4, rows)?];
        let order = |row: usize| {
            let [from_left, from_right, count] = [0, 1, 2].map(|at: usize| usize::try_from(numbers[at][row]));
            let (Ok(from_left), Ok(from_right), Ok(count)) = (from_left, from_right, count) else {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Offsets and the number of bytes of function compareSubstrings must not be negative",
                ));
            };
            let part = |text: &[u8], from: usize| {
                let rest = text.get(from..).unwrap_or_default();
                rest.get(..count).unwrap_or(rest).to_vec()
            };
            Ok(match part(lefts.get(row), from_left).cmp(&part(rights.get(row), from_right)) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            })
        };
        let orders = (0..rows).map(order).collect::<Result<Vec<i8>>>()?;
        Ok(Column::from_primitive::<Int8Type>(DataType::Int8, orders))
    })
}

pub(super) fn resolve_is_ascii(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(strings.get(row).is_ascii())))
    })
}

fn counts(bytes: &[u8]) -> [u64; 256] {
    let mut counts = [0; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    counts
}

/// `stringBytesUniq(string)`: how many different bytes there are.
pub(super) fn resolve_uniq(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::UInt16, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        Ok(primitive_column::<UInt16Type>(DataType::UInt16, rows, |row| {
            counts(strings.get(row)).iter().filter(|count| **count > 0).count() as u16
        }))
    })
}

/// `stringBytesEntropy(string)`: Shannon's entropy of the bytes, in bits.
pub(super) fn resolve_entropy(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::Float64, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        Ok(primitive_column::<Float64Type>(DataType::Float64, rows, |row| {
            let total = strings.get(row).len() as f64;
            let shares =
                counts(strings.get(row)).into_iter().filter(|count| *count > 0).map(|count| count as f64 / total);
            shares.fold(0.0, |entropy, share| entropy - share * share.log2())
        }))
    })
}
