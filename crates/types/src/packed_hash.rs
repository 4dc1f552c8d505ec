//! The hash of keys that are packed into an integer, for hash tables of the engine and of tables. Its low and its high bits both depend on
//! every bit of the key: low ones choose a slot, high ones a partition.

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;
const WIDE_FACTOR: u64 = 0xA076_1D64_78BD_642F;

/// The hash of a key of up to eight bytes.
#[inline]
pub fn hash_packed(key: u64) -> u64 {
    fold(key ^ SEED, FACTOR)
}

/// The hash of a key of up to sixteen bytes.
#[inline]
pub fn hash_packed_wide(key: u128) -> u64 {
    let low = hash_packed(key as u64);
    fold(low ^ (key >> 64) as u64, WIDE_FACTOR)
}

/// The hash of a key of up to 32 bytes.
#[inline]
pub fn hash_packed_words(key: &[u64; 4]) -> u64 {
    key.iter().fold(SEED, |hash, word| fold(hash ^ word, WIDE_FACTOR).wrapping_add(FACTOR))
}

/// Multiplies to 128 bits and folds the halves: every input bit reaches the high and the low bits.
#[inline]
fn fold(value: u64, by: u64) -> u64 {
    let product = u128::from(value) * u128::from(by);
    (product as u64) ^ (product >> 64) as u64
}
