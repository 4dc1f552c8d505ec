//! SipHash-2-4 with a key, of zeros where none is given (Aumasson and Bernstein, *SipHash: a fast short-input PRF*, 2012). ClickHouse's 128 bits are the
//! state of the 64-bit hash folded into two words, not the published 128-bit variant; that is the reference one.

use squall_types::vectorized;

use crate::scalar::beginnings::beginning;

/// The state before the first byte.
const BEGIN: [u64; 4] = [0x736F_6D65_7073_6575, 0x646F_7261_6E64_6F6D, 0x6C79_6765_6E65_7261, 0x7465_6462_7974_6573];

/// The two words of a key.
pub(super) type Key = (u64, u64);

/// The state of four words.
struct State([u64; 4]);

impl State {
    #[inline(always)]
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v2 = v2.rotate_left(32);
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    /// The state after all bytes and their number. `is_wide` begins the published 128-bit variant.
    fn of(bytes: &[u8], is_wide: bool) -> Self {
        Self::keyed((0, 0), bytes, is_wide)
    }

    /// The same under a key.
    #[inline]
    fn keyed(key: Key, bytes: &[u8], is_wide: bool) -> Self {
        let [v0, v1, v2, v3] = BEGIN;
        let mut state = Self([v0 ^ key.0, v1 ^ key.1, v2 ^ key.0, v3 ^ key.1]);
        if is_wide {
            state.0[1] ^= 0xEE;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| state.word(u64::from_le_bytes(*word)));
        // The last eight bytes have the rest and what is before it.
        let tail = match (rest.len(), bytes.last_chunk::<8>()) {
            (0, _) => 0,
            (rest, Some(last)) => u64::from_le_bytes(*last) >> (64 - 8 * rest),
            (_, None) => beginning(bytes),
        };
        state.word((bytes.len() as u64) << 56 | tail);
        state
    }

    /// The 64-bit hash.
    #[inline(always)]
    fn end(&mut self) -> u64 {
        self.0[2] ^= 0xFF;
        self.finish()
    }

    #[inline(always)]
    fn finish(&mut self) -> u64 {
        (0..4).for_each(|_| self.round());
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }
}

/// The 64-bit hash, and ClickHouse's two words.
pub(crate) fn hash(bytes: &[u8]) -> (u64, (u64, u64)) {
    hash_keyed((0, 0), bytes)
}

/// The 64-bit hash.
pub fn sip_hash64(bytes: &[u8]) -> u64 {
    hash(bytes).0
}

/// The same under a key.
pub(super) fn hash_keyed(key: Key, bytes: &[u8]) -> (u64, (u64, u64)) {
    let mut state = State::keyed(key, bytes, false);
    let hash = state.end();
    (hash, (state.0[0] ^ state.0[1], state.0[2] ^ state.0[3]))
}

/// ClickHouse's 128 bits.
#[inline]
pub(crate) fn hash128(bytes: &[u8]) -> u128 {
    let mut state = State::of(bytes, false);
    state.end();
    u128::from(state.0[2] ^ state.0[3]) << 64 | u128::from(state.0[0] ^ state.0[1])
}

/// The published 128-bit variant.
pub(super) fn reference(bytes: &[u8]) -> (u64, u64) {
    reference_keyed((0, 0), bytes)
}

/// The same under a key.
pub(super) fn reference_keyed(key: Key, bytes: &[u8]) -> (u64, u64) {
    let mut state = State::keyed(key, bytes, true);
    state.0[2] ^= 0xEE;
    let low = state.finish();
    state.0[1] ^= 0xDD;
    (low, state.finish())
}

/// The 64-bit hashes of the bytes of numbers, given as their bits; each number has `width` bytes, eight at most.
pub(super) fn hash_numbers(numbers: &[u64], width: usize, hashes: &mut Vec<u64>) {
    vectorized(|| hash_side_by_side(numbers, width, hashes));
}

/// The same as a loop that the compiler turns into vector instructions, of whichever features the caller has: so it must be inlined.
#[inline(always)]
fn hash_side_by_side(numbers: &[u64], width: usize, hashes: &mut Vec<u64>) {
    let begin = hashes.len();
    hashes.resize(begin + numbers.len(), 0);
    let Some(hashes) = hashes.get_mut(begin..) else { return };
    // What is shorter than a word stands in the last one, below the number of bytes.
    let length = (width as u64) << 56;
    if width == 8 {
        for (hash, number) in hashes.iter_mut().zip(numbers) {
            let mut state = State(BEGIN);
            state.word(*number);
            state.word(length);
            *hash = state.end();
        }
    } else {
        for (hash, number) in hashes.iter_mut().zip(numbers) {
            let mut state = State(BEGIN);
            state.word(length | number);
            *hash = state.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_side_by_side_have_the_hashes_of_their_bytes() {
        for width in [1, 2, 4, 8] {
            for count in [0, 1, 7, 8, 9, 1000] {
                let mask = u64::MAX >> (64 - 8 * width);
                let numbers: Vec<u64> =
                    (0..count).map(|at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) & mask).collect();
                let mut hashes = Vec::new();
                hash_numbers(&numbers, width, &mut hashes);
                let expected: Vec<u64> = numbers.iter().map(|number| hash(&number.to_le_bytes()[..width]).0).collect();
                assert_eq!(hashes, expected, "{count} numbers of {width} bytes");
                let mut portable = Vec::new();
                hash_side_by_side(&numbers, width, &mut portable);
                assert_eq!(portable, expected);
            }
        }
    }
}
