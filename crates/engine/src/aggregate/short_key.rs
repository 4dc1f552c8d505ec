//! Keys of up to 15 bytes as two integers: a slot of a hash table holds them whole, so that a lookup reads nothing but the slot.

use squall_types::packed_hash::hash_packed_wide;

/// The bytes of a key, padded with zeros, and their number in the last byte; or that a key is longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ShortKey {
    low: u64,
    high: u64,
}

/// Where the number of bytes lies in the high integer.
const LENGTH_SHIFT: usize = 56;

impl ShortKey {
    /// Bytes of a key at most.
    pub(super) const BYTES_MAX: usize = 15;

    /// What stands for longer keys.
    const LONG: Self = Self { low: 0, high: u64::MAX };

    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        let length = bytes.len();
        let (low, high) = match (bytes, bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            _ if length > Self::BYTES_MAX => return Self::LONG,
            // The last bytes overlap the first ones; bits that are set twice are the same.
            (_, Some(first), _) => {
                let last = bytes.last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
                let high = if length == 8 { 0 } else { last >> (8 * (16 - length)) };
                (u64::from_le_bytes(*first), high)
            }
            (_, None, Some(first)) => {
                let last = bytes.last_chunk::<4>().map_or(0, |last| u64::from(u32::from_le_bytes(*last)));
                (u64::from(u32::from_le_bytes(*first)) | last << (8 * (length - 4)), 0)
            }
            ([], ..) => (0, 0),
            ([first, .., last], ..) => {
                let middle = u64::from(bytes[length / 2]) << (8 * (length / 2));
                (u64::from(*first) | middle | u64::from(*last) << (8 * (length - 1)), 0)
            }
            ([only], ..) => (u64::from(*only), 0),
        };
        Self { low, high: high | (length as u64) << LENGTH_SHIFT }
    }

    /// The key that lies at a place of some bytes. What follows a short one is read with it, and masked: that takes no branch that goes by the
    /// length.
    #[inline]
    pub(super) fn at(bytes: &[u8], start: usize, length: usize) -> Self {
        if length > Self::BYTES_MAX {
            return Self::LONG;
        }
        match bytes.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
            Some(first) => Self::of_bits(u128::from_le_bytes(*first) & ((1 << (8 * length)) - 1), length),
            None => Self::of(bytes.get(start..start + length).unwrap_or_default()),
        }
    }

    /// A key of so many bytes, the first one lowest.
    #[inline]
    fn of_bits(bits: u128, length: usize) -> Self {
        Self { low: bits as u64, high: (bits >> 64) as u64 | (length as u64) << LENGTH_SHIFT }
    }

    /// The bytes of a short key, the first one lowest.
    #[inline]
    pub(super) fn bits(self) -> u128 {
        u128::from(self.low) | u128::from(self.high & ((1 << LENGTH_SHIFT) - 1)) << 64
    }

    /// The two integers.
    #[inline]
    pub(super) fn halves(&self) -> (u64, u64) {
        (self.low, self.high)
    }

    /// The key of [two integers](Self::halves).
    #[inline]
    pub(super) fn of_halves(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    /// The number of bytes of a short key.
    #[inline]
    pub(super) fn length(self) -> usize {
        (self.high >> LENGTH_SHIFT) as usize
    }

    /// Appends bytes, the first one lowest; what becomes longer than a short key is a long one from then on.
    #[inline]
    pub(super) fn append(&mut self, bits: u128, bytes: usize) {
        let length = self.length();
        *self = match length + bytes <= Self::BYTES_MAX {
            true => Self::of_bits(self.bits() | bits << (8 * length), length + bytes),
            false => Self::LONG,
        };
    }

    /// Appends another key's bytes.
    #[inline]
    pub(super) fn append_key(&mut self, other: Self) {
        match other.is_long() {
            true => *self = Self::LONG,
            false => self.append(other.bits(), other.length()),
        }
    }

    /// A longer key, whose bytes lie at a place.
    pub(super) fn long_at(place: usize) -> Self {
        Self { low: place as u64, ..Self::LONG }
    }

    /// Where the bytes of a [longer key](Self::long_at) lie.
    #[inline]
    pub(super) fn place(self) -> usize {
        self.low as usize
    }

    /// The bytes of a short key, and after them zeros.
    #[inline]
    pub(super) fn to_bytes(self) -> [u8; 16] {
        self.bits().to_le_bytes()
    }

    #[inline]
    pub(super) fn is_long(self) -> bool {
        self.high == u64::MAX
    }

    #[inline]
    pub(super) fn hash(self) -> u64 {
        hash_packed_wide(u128::from(self.low) | u128::from(self.high) << 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_where_their_bytes_are() {
        let bytes: Vec<u8> = (1..=20).collect();
        let mut known = std::collections::BTreeMap::new();
        for length in 0..bytes.len() {
            for changed in 0..=length {
                let mut key = bytes[..length].to_vec();
                if let Some(byte) = key.get_mut(changed) {
                    *byte = 0;
                }
                let short = ShortKey::of(&key);
                assert_eq!(short.is_long(), length > ShortKey::BYTES_MAX);
                for (before, after) in [(0, 0), (3, 2), (1, 40)] {
                    let around = [&vec![7; before][..], &key, &vec![9; after]].concat();
                    assert_eq!(ShortKey::at(&around, before, length), short);
                }
                if !short.is_long() {
                    assert_eq!(short.to_bytes()[..short.length()], key);
                    let (first, second) = key.split_at(length / 3);
                    let mut appended = ShortKey::of(first);
                    appended.append(ShortKey::of(second).bits(), second.len());
                    assert_eq!(appended, short);
                    appended.append(0, 16 - length);
                    assert!(appended.is_long());
                    appended.append(0, 1);
                    assert!(appended.is_long());
                }
                if !short.is_long() {
                    assert!(
                        known.insert((short.low, short.high), key.clone()).is_none_or(|other| other == key),
                        "{key:?}"
                    );
                    let mut padded = [0; 16];
                    padded[..length].copy_from_slice(&key);
                    padded[15] = length as u8;
                    assert_eq!(u128::from_le_bytes(padded), u128::from(short.low) | u128::from(short.high) << 64);
                }
            }
        }
    }
}
