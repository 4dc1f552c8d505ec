//! Numbers that keys are packed into: integers of 64 and 128 bits, and wider ones of several words.

use std::fmt::Debug;

use squall_types::packed_hash::{hash_packed, hash_packed_wide};
use squall_types::{Column, DataType, Error, Result};

use arrow_array::types::UInt64Type;

/// A number that keys are packed into.
pub(crate) trait Packed: Copy + Eq + Debug + Send + Sync + Default + 'static {
    /// The word of 32 bits at this place, the lowest at 0.
    fn word(self, at: usize) -> u32;
    /// The number of words, the lowest first.
    fn of_words(words: &[u32]) -> Self;
    /// The bits from the `shift`th on, up to 128.
    fn bits(self, shift: u32) -> u128;
    /// Or's a value in, so many bits from the lowest.
    fn or_bits(&mut self, value: u128, shift: u32);
    /// A hash whose low and high bits both depend on every bit of the key.
    fn hash(self) -> u64;
    /// Or's values of at most 64 bits in, so many bits from the lowest.
    fn or_in(packed: &mut [Self], values: impl Iterator<Item = u64>, shift: u32);
    /// Keys as columns, for whoever moves rows.
    fn columns(packed: &[Self]) -> Vec<Column>;
    /// Takes keys out of such columns.
    fn read(columns: &[Column], packed: &mut Vec<Self>) -> Result<()>;
}

/// The low words of a key, the lowest first: as many as its values take.
#[inline]
pub(super) fn words<K: Packed, const WORDS: usize>(key: K) -> [u32; WORDS] {
    std::array::from_fn(|at| key.word(at))
}

/// The key of words.
#[inline]
pub(super) fn key_of<K: Packed, const WORDS: usize>(words: &[u32; WORDS]) -> K {
    K::of_words(words)
}

fn column_of(words: impl Iterator<Item = u64>) -> Column {
    Column::from_primitive::<UInt64Type>(DataType::UInt64, words.collect())
}

fn not_packed() -> Error {
    Error::logical("keys that are not packed")
}

impl Packed for u64 {
    #[inline]
    fn word(self, at: usize) -> u32 {
        (self >> (32 * at)) as u32
    }
    #[inline]
    fn of_words(words: &[u32]) -> Self {
        (0..).zip(words).fold(0, |key, (at, word)| key | Self::from(*word) << (32 * at))
    }
    #[inline]
    fn bits(self, shift: u32) -> u128 {
        u128::from(self) >> shift
    }
    #[inline]
    fn or_bits(&mut self, value: u128, shift: u32) {
        *self |= (value << shift) as Self;
    }
    #[inline]
    fn hash(self) -> u64 {
        hash_packed(self)
    }
    #[inline]
    fn or_in(packed: &mut [Self], values: impl Iterator<Item = u64>, shift: u32) {
        packed.iter_mut().zip(values).for_each(|(packed, value)| *packed |= value << shift);
    }
    fn columns(packed: &[Self]) -> Vec<Column> {
        vec![column_of(packed.iter().copied())]
    }
    fn read(columns: &[Column], packed: &mut Vec<Self>) -> Result<()> {
        let [keys] = columns else { return Err(not_packed()) };
        packed.clear();
        packed.extend_from_slice(keys.as_primitive::<UInt64Type>()?.values());
        Ok(())
    }
}

impl Packed for u128 {
    #[inline]
    fn word(self, at: usize) -> u32 {
        (self >> (32 * at)) as u32
    }
    #[inline]
    fn of_words(words: &[u32]) -> Self {
        (0..).zip(words).fold(0, |key, (at, word)| key | Self::from(*word) << (32 * at))
    }
    #[inline]
    fn bits(self, shift: u32) -> u128 {
        self >> shift
    }
    #[inline]
    fn or_bits(&mut self, value: u128, shift: u32) {
        *self |= value << shift;
    }
    #[inline]
    fn hash(self) -> u64 {
        hash_packed_wide(self)
    }
    #[inline]
    fn or_in(packed: &mut [Self], values: impl Iterator<Item = u64>, shift: u32) {
        let both = packed.iter_mut().zip(values);
        // Shifts of 128 bits by any number take several steps; most values lie in one half.
        match shift {
            0 => both.for_each(|(packed, value)| *packed |= Self::from(value)),
            64.. => both.for_each(|(packed, value)| *packed |= Self::from(value << (shift - 64)) << 64),
            _ => both.for_each(|(packed, value)| *packed |= Self::from(value) << shift),
        }
    }
    fn columns(packed: &[Self]) -> Vec<Column> {
        [0, 64].map(|shift| column_of(packed.iter().map(|key| (key >> shift) as u64))).into()
    }
    fn read(columns: &[Column], packed: &mut Vec<Self>) -> Result<()> {
        let [low, high] = columns else { return Err(not_packed()) };
        let (low, high) = (low.as_primitive::<UInt64Type>()?.values(), high.as_primitive::<UInt64Type>()?.values());
        packed.clear();
        packed.extend(low.iter().zip(high).map(|(low, high)| Self::from(*low) | Self::from(*high) << 64));
        Ok(())
    }
}

/// So many words of 64 bits, the lowest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wide<const N: usize>([u64; N]);

impl<const N: usize> Default for Wide<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Wide<N> {
    /// The word at this place; 0 beyond the last.
    #[inline]
    fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }
}

impl<const N: usize> Packed for Wide<N> {
    #[inline]
    fn word(self, at: usize) -> u32 {
        (self.at(at / 2) >> (32 * (at % 2))) as u32
    }
    #[inline]
    fn of_words(words: &[u32]) -> Self {
        Self(std::array::from_fn(|at| {
            let half = |at: usize| words.get(at).copied().map_or(0, u64::from);
            half(2 * at) | half(2 * at + 1) << 32
        }))
    }
    #[inline]
    fn bits(self, shift: u32) -> u128 {
        let (first, within) = (shift as usize / 64, shift % 64);
        let low = u128::from(self.at(first)) | u128::from(self.at(first + 1)) << 64;
        match within {
            0 => low,
            _ => low >> within | u128::from(self.at(first + 2)) << (128 - within),
        }
    }
    #[inline]
    fn or_bits(&mut self, value: u128, shift: u32) {
        Self::or_in(std::slice::from_mut(self), std::iter::once(value as u64), shift);
        if value >> 64 != 0 {
            Self::or_in(std::slice::from_mut(self), std::iter::once((value >> 64) as u64), shift + 64);
        }
    }
    #[inline]
    fn hash(self) -> u64 {
        let pairs = self.0.chunks(2).map(|pair| match pair {
            [low, high] => u128::from(*low) | u128::from(*high) << 64,
            rest => rest.first().copied().map_or(0, u128::from),
        });
        // The hashes of pairs do not wait for each other; what puts them together lets each bit reach all others.
        hash_packed(pairs.fold(0_u64, |hash, pair| hash.rotate_left(23) ^ hash_packed_wide(pair)))
    }
    #[inline]
    fn or_in(packed: &mut [Self], values: impl Iterator<Item = u64>, shift: u32) {
        let (first, within) = (shift as usize / 64, shift % 64);
        for (Self(words), value) in packed.iter_mut().zip(values) {
            if let Some(word) = words.get_mut(first) {
                *word |= value << within;
            }
            if within > 0
                && let Some(word) = words.get_mut(first + 1)
            {
                *word |= value >> (64 - within);
            }
        }
    }
    fn columns(packed: &[Self]) -> Vec<Column> {
        (0..N).map(|at| column_of(packed.iter().map(|key| key.at(at)))).collect()
    }
    fn read(columns: &[Column], packed: &mut Vec<Self>) -> Result<()> {
        if columns.len() != N {
            return Err(not_packed());
        }
        packed.clear();
        for (at, column) in columns.iter().enumerate() {
            let values = column.as_primitive::<UInt64Type>()?.values();
            packed.resize(values.len(), Self::default());
            packed.iter_mut().zip(values).for_each(|(Self(words), value)| words[at] = *value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Values of any width at any place come out as they went in, by whatever way the key goes.
    fn check<K: Packed, const WORDS: usize>() {
        let mut random = StdRng::seed_from_u64(WORDS as u64);
        let bits = 32 * WORDS as u32;
        for _ in 0..300 {
            let mut key = K::default();
            let (mut shift, mut values) = (0, Vec::new());
            while shift < bits {
                let width = random.random_range(1..=64.min(bits - shift));
                let value = random.random::<u64>() >> (64 - width);
                K::or_in(std::slice::from_mut(&mut key), std::iter::once(value), shift);
                values.push((shift, width, value));
                shift += width;
            }
            let same: K = key_of(&words::<K, WORDS>(key));
            let mut read = Vec::new();
            K::read(&K::columns(&[K::default(), key]), &mut read).unwrap();
            for key in [key, same, read[1]] {
                for (shift, width, value) in &values {
                    assert_eq!(key.bits(*shift) as u64 & (u64::MAX >> (64 - width)), *value);
                }
                assert_eq!(key.hash(), same.hash());
            }
            let mut other = key;
            other.or_bits(1, bits - 1);
            assert_eq!(other == key, key.bits(bits - 1) == 1);
        }
    }

    #[test]
    fn values_come_out_as_they_went_in() {
        check::<u64, 1>();
        check::<u64, 2>();
        check::<u128, 3>();
        check::<u128, 4>();
        check::<Wide<3>, 6>();
        check::<Wide<4>, 8>();
        check::<Wide<6>, 12>();
    }

    #[test]
    fn values_of_128_bits_lie_anywhere() {
        for shift in [0, 8, 64, 72, 120, 128, 200, 256] {
            let value = u128::MAX / 3;
            let mut key = Wide::<6>::default();
            key.or_bits(value, shift);
            assert_eq!(key.bits(shift), value, "{shift}");
            assert!(shift == 0 || key.bits(0) & ((1 << shift.min(64)) - 1) == 0);
        }
    }

    #[test]
    fn hashes_of_keys_that_are_alike_are_apart() {
        // The high bits choose a partition, the low ones a slot.
        let keys = (0..4096_u64).map(|at| Wide::<4>([at % 16, at / 16 % 16, 0, at / 256]));
        let hashes: Vec<u64> = keys.map(Packed::hash).collect();
        for part in [0, 58] {
            let mut counts = [0; 64];
            hashes.iter().for_each(|hash| counts[(hash >> part & 63) as usize] += 1);
            assert!(counts.iter().all(|count| (20..140).contains(count)), "{counts:?}");
        }
    }
}
