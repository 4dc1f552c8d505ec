//! Austin Appleby's MurmurHash2 and MurmurHash3.

/// The seed of GCC's `std::hash`.
pub(super) const GCC_SEED: u64 = 0xC70F_6907;

/// The seed of Kafka's partitioner.
pub(super) const KAFKA_SEED: u32 = 0x9747_B28C;

/// MurmurHash2 with 32 bits.
pub(super) fn hash2_32(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5BD1_E995;
    let mut hash = seed ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u32::from(byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// MurmurHash64A.
pub(super) fn hash2_64(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xC6A4_A793_5BD1_E995;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 47;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u64::from(byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 47)
}

/// MurmurHash3 x86, 32 bits, seed 0.
pub(super) fn hash3_32(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xCC9E_2D51;
    const C2: u32 = 0x1B87_3593;
    let mix = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut hash = 0_u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        hash = (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64);
    }
    if !rest.is_empty() {
        hash ^= mix(rest.iter().rev().fold(0, |tail, &byte| tail << 8 | u32::from(byte)));
    }
    hash ^= bytes.len() as u32;
    hash ^= hash >> 16;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

fn finalize(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k ^= k >> 33;
    k = k.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    k ^ (k >> 33)
}

/// MurmurHash3 x64, 128 bits, seed 0: the low and the high half.
pub(super) fn hash3_128(bytes: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87C3_7B91_1142_53D5;
    const C2: u64 = 0x4CF5_AD43_2745_937F;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, rest) = bytes.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    for block in blocks {
        h1 = (h1 ^ mix1(word(&block[..8]))).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 = (h2 ^ mix2(word(&block[8..]))).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    h2 ^= mix2(word(high));
    h1 ^= mix1(word(low));
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finalize(h1);
    h2 = finalize(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}
