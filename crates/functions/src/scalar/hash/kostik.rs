//! `kostikConsistentHash(key, buckets)`: Konstantin Oblakov's consistent hash in constant time. The key is cut into four words of 16 bits.
//! The bits of one say in which power of two the bucket lies, those of two others where in it. Where that is past the last bucket, a
//! number of the upper bits of all four words decides whether the bucket is in the last, incomplete power of two or below it.

use std::sync::Arc;

use arrow_array::types::UInt16Type;
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, primitive_column};

/// Buckets at most: a bucket is a word of 16 bits, and one bit is needed for the next power of two.
const BUCKETS_MAX: u64 = 1 << 15;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.integers([0, 1])?;
    let refused = |code, what: &str| {
        Error::new(code, format!("The second argument of function {} (number of buckets) must {what}", call.name))
    };
    let buckets = match call.constant(1) {
        Some(value) => value.as_u64().filter(|buckets| *buckets > 0),
        None => return Err(refused(ErrorCode::ILLEGAL_COLUMN, "be constant")),
    };
    let buckets = buckets.ok_or_else(|| refused(ErrorCode::BAD_ARGUMENTS, "be positive number"))?;
    if buckets > BUCKETS_MAX {
        return Err(refused(ErrorCode::BAD_ARGUMENTS, &format!("not be greater than {BUCKETS_MAX}")));
    }
    call.bind(DataType::UInt16, move |arguments, rows| {
        let keys = argument(arguments, 0)?;
        let key = |row| {
            let value = keys.value(row);
            value.as_u64().unwrap_or_else(|| value.as_i64().unwrap_or(0) as u64)
        };
        Ok(primitive_column::<UInt16Type>(DataType::UInt16, rows, |row| bucket(key(row), buckets)))
    })
}

/// The bucket of a key, for up to [`BUCKETS_MAX`] of them.
fn bucket(key: u64, buckets: u64) -> u16 {
    if buckets == 1 {
        return 0;
    }
    let words = [0, 16, 32, 48].map(|shift| key >> shift & 0xFFFF);
    let bits = u64::BITS - (buckets - 1).leading_zeros();
    let whole = of_power(words, bits);
    if whole < buckets {
        return whole as u16;
    }
    let lower = 1 << (bits - 1);
    let placed = upper_bits(words, bits) % (whole * (whole + 1)) / (1 << bits) + lower;
    if placed < buckets { placed as u16 } else { of_power(words, bits - 1) as u16 }
}

/// The bucket among `2^bits`.
fn of_power([even, odd, select, _]: [u64; 4], bits: u32) -> u64 {
    let select = select & ((1 << bits) - 1);
    if select < 2 {
        return select;
    }
    let highest = 1 << (u64::BITS - 1 - select.leading_zeros());
    let word = if select.count_ones().is_multiple_of(2) { even } else { odd };
    highest + (word & (highest - 1))
}

/// What of the words is not used up by [`of_power`], as one number.
fn upper_bits([even, odd, select, rest]: [u64; 4], bits: u32) -> u64 {
    let shift = u16::BITS - bits;
    let upper = rest << shift | select >> bits;
    let upper = upper << (shift + 1) | odd >> (bits - 1);
    upper << (shift + 1) | even >> (bits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_move_with_one_bucket_more() {
        let keys: Vec<u64> = (0..4096_u64).map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
        for buckets in [1, 2, 3, 7, 8, 9, 100, 1000] {
            let moved = keys.iter().filter(|key| bucket(**key, buckets) != bucket(**key, buckets + 1)).count();
            let fair = keys.len() / (buckets as usize + 1);
            assert!(moved <= 2 * fair + 8, "{moved} of {} keys move from {buckets} buckets", keys.len());
            assert!(keys.iter().all(|key| u64::from(bucket(*key, buckets)) < buckets));
        }
    }
}
