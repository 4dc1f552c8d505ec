//! Distances of strings.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

/// The longest strings whose distance is computed: the work is the product of their lengths.
const BYTES_MAX: usize = 1 << 16;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    call.bind(DataType::UInt64, |arguments, rows| {
        let (lefts, rights) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut distances = Vec::with_capacity(rows);
        for row in 0..rows {
            let (left, right) = (lefts.get(row), rights.get(row));
            if left.len().max(right.len()) > BYTES_MAX {
                return Err(Error::new(
                    ErrorCode::TOO_LARGE_STRING_SIZE,
                    format!("The string size is too big for function editDistance, should be at most {BYTES_MAX}"),
                ));
            }
            distances.push(edit_distance(left, right)?);
        }
        Ok(squall_types::Column::from_primitive::<UInt64Type>(DataType::UInt64, distances))
    })
}

/// Levenshtein's distance of bytes.
fn edit_distance(left: &[u8], right: &[u8]) -> Result<u64> {
    let mut row: Vec<u64> = (0..=right.len() as u64).collect();
    for (at, byte) in left.iter().enumerate() {
        squall_types::checkpoint(right.len())?;
        let mut diagonal = std::mem::replace(&mut row[0], at as u64 + 1);
        for (to, other) in right.iter().enumerate() {
            let replaced = diagonal + u64::from(byte != other);
            diagonal = row[to + 1];
            row[to + 1] = replaced.min(row[to] + 1).min(diagonal + 1);
        }
    }
    Ok(row[right.len()])
}
