//! MetroHash64 in its first variant, whose values ClickHouse keeps. The algorithm is by J. Andrew Rogers.

const K0: u64 = 0xC83A_91E1;
const K1: u64 = 0x8648_DBDB;
const K2: u64 = 0x7BDE_C03B;
const K3: u64 = 0x2F58_70A5;

/// The number of so many bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Takes the number of so many bytes from the front, where there are that many.
fn take(rest: &mut &[u8], count: usize) -> Option<u64> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(number(taken))
}

pub(super) fn hash64(bytes: &[u8]) -> u64 {
    let mut rest = bytes;
    let mut hash = K2.wrapping_mul(K0).wrapping_add(bytes.len() as u64);
    if bytes.len() >= 32 {
        let mut lanes = [hash; 4];
        let keys = [K0, K1, K2, K3];
        while rest.len() >= 32 {
            for (at, key) in keys.into_iter().enumerate() {
                let word = take(&mut rest, 8).unwrap_or(0);
                let sum = lanes[at].wrapping_add(word.wrapping_mul(key));
                lanes[at] = sum.rotate_right(29).wrapping_add(lanes[(at + 2) % 4]);
            }
        }
        let [mut v0, mut v1, mut v2, mut v3] = lanes;
        let mix = |a: u64, b: u64, c: u64, key: u64, other: u64| {
            a.wrapping_add(b).wrapping_mul(key).wrapping_add(c).rotate_right(33).wrapping_mul(other)
        };
        v2 ^= mix(v0, v3, v1, K0, K1);
        v3 ^= mix(v1, v2, v0, K1, K0);
        v0 ^= mix(v0, v2, v3, K0, K1);
        v1 ^= mix(v1, v3, v2, K1, K0);
        hash = hash.wrapping_add(v0 ^ v1);
    }
    if rest.len() >= 16 {
        let mut part = |key: u64, other: u64| {
            let word = take(&mut rest, 8).unwrap_or(0);
            hash.wrapping_add(word.wrapping_mul(key)).rotate_right(33).wrapping_mul(other)
        };
        let (mut v0, mut v1) = (part(K0, K1), part(K1, K2));
        v0 ^= v0.wrapping_mul(K0).rotate_right(35).wrapping_add(v1);
        v1 ^= v1.wrapping_mul(K3).rotate_right(35).wrapping_add(v0);
        hash = hash.wrapping_add(v1);
    }
    for (count, turn) in [(8, 33), (4, 15), (2, 13), (1, 25)] {
        if let Some(word) = take(&mut rest, count) {
            hash = hash.wrapping_add(word.wrapping_mul(K3));
            hash ^= hash.rotate_right(turn).wrapping_mul(K1);
        }
    }
    hash ^= hash.rotate_right(33);
    hash = hash.wrapping_mul(K0);
    hash ^ hash.rotate_right(33)
}
