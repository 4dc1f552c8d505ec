//! SipHash-2-4 with a key of zeros (Aumasson and Bernstein, *SipHash: a fast short-input PRF*, 2012). ClickHouse's 128 bits are the
//! state of the 64-bit hash folded into two words, not the published 128-bit variant; that is the reference one.

/// The state of four words.
struct State([u64; 4]);

impl State {
    #[inline]
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

    #[inline]
    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    /// The state after all bytes and their number. `is_wide` begins the published 128-bit variant.
    fn of(bytes: &[u8], is_wide: bool) -> Self {
        let mut state =
            Self([0x736F_6D65_7073_6575, 0x646F_7261_6E64_6F6D, 0x6C79_6765_6E65_7261, 0x7465_6462_7974_6573]);
        if is_wide {
            state.0[1] ^= 0xEE;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| state.word(u64::from_le_bytes(*word)));
        let tail = rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
        state.word((bytes.len() as u64) << 56 | tail);
        state
    }

    fn finish(&mut self) -> u64 {
        (0..4).for_each(|_| self.round());
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }
}

/// The 64-bit hash, and ClickHouse's two words.
pub(super) fn hash(bytes: &[u8]) -> (u64, (u64, u64)) {
    let mut state = State::of(bytes, false);
    state.0[2] ^= 0xFF;
    let hash = state.finish();
    (hash, (state.0[0] ^ state.0[1], state.0[2] ^ state.0[3]))
}

/// The published 128-bit variant.
pub(super) fn reference(bytes: &[u8]) -> (u64, u64) {
    let mut state = State::of(bytes, true);
    state.0[2] ^= 0xEE;
    let low = state.finish();
    state.0[1] ^= 0xDD;
    (low, state.finish())
}
