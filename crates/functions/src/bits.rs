//! Conditions, which are bytes, as bits.

use arrow_buffer::{BooleanBuffer, Buffer};
use squall_types::vectorized;

/// The lowest bit of each byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// All other bits.
const REST: u64 = !(ONES << 7);
/// Brings the lowest bit of each byte, the first byte's lowest, into the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Which values are not 0: eight at a time, since every filter goes through it.
pub fn bits_of(values: &[u8]) -> BooleanBuffer {
    let (words, rest) = values.as_chunks::<8>();
    let mut bits = Vec::with_capacity(words.len() + 1);
    let of_word = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each byte that is not 0.
        let holds = (((word & REST) + REST) | word) & !REST;
        ((holds >> 7).wrapping_mul(GATHER) >> 56) as u8
    };
    vectorized(|| bits.extend(words.iter().map(of_word)));
    if !rest.is_empty() {
        bits.push(rest.iter().enumerate().fold(0, |bits, (at, value)| bits | u8::from(*value != 0) << at));
    }
    BooleanBuffer::new(Buffer::from_vec(bits), 0, values.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_values_that_are_not_0() {
        let values: Vec<u8> =
            (0..=255).chain((0..700).map(|at: u32| if at.is_multiple_of(3) { 0 } else { (at * 37) as u8 })).collect();
        for length in (0..40).chain([values.len() - 1, values.len()]) {
            for start in 0..9.min(values.len() - length + 1) {
                let values = &values[start..start + length];
                let expected: Vec<bool> = values.iter().map(|value| *value != 0).collect();
                assert_eq!(bits_of(values).iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}
