//! wyhash of 64 bits, in its third final version and with the seed 0 (Wang Yi, 2021; public domain).

const SECRET: [u64; 4] = [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3];

/// The halves of a product, one over the other.
fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// Up to eight bytes from a place on, little endian.
fn word(bytes: &[u8], at: usize, width: usize) -> u64 {
    let found = bytes.get(at..at + width).unwrap_or_default();
    found.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The hash of these bytes.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut seed = SECRET[0];
    let length = bytes.len();
    let (left, right) = match length {
        0 => (0, 0),
        1..4 => {
            let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
            (byte(0) << 16 | byte(length >> 1) << 8 | byte(length - 1), 0)
        }
        4..=16 => {
            let step = length >> 3 << 2;
            let pair = |first: usize, second: usize| word(bytes, first, 4) << 32 | word(bytes, second, 4);
            (pair(0, step), pair(length - 4, length - 4 - step))
        }
        _ => {
            let mut rest = bytes;
            if length > 48 {
                let (mut second, mut third) = (seed, seed);
                while rest.len() > 48 {
                    let at = |place: usize| word(rest, place, 8);
                    seed = mix(at(0) ^ SECRET[1], at(8) ^ seed);
                    second = mix(at(16) ^ SECRET[2], at(24) ^ second);
                    third = mix(at(32) ^ SECRET[3], at(40) ^ third);
                    rest = rest.get(48..).unwrap_or_default();
                }
                seed ^= second ^ third;
            }
            while rest.len() > 16 {
                seed = mix(word(rest, 0, 8) ^ SECRET[1], word(rest, 8, 8) ^ seed);
                rest = rest.get(16..).unwrap_or_default();
            }
            (word(bytes, length - 16, 8), word(bytes, length - 8, 8))
        }
    };
    mix(SECRET[1] ^ length as u64, mix(left ^ SECRET[1], right ^ seed))
}

#[cfg(test)]
mod tests {
    #[test]
    fn hashes() {
        assert_eq!(super::hash(b""), 4_808_886_099_364_463_827);
        assert_eq!(super::hash(b"abc"), 13_006_551_795_127_091_151);
        assert_eq!(super::hash(b"this is a "), 16_607_216_452_973_457_663);
        let long = b"this is a longer string of more than sixty-four bytes, to test the loop of it";
        assert_eq!(super::hash(long), 14_457_176_004_516_088_528);
        assert_eq!(super::hash(&long[..48]), 7_900_415_918_208_555_410);
    }
}
