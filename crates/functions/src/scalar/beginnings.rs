//! The first bytes of strings as numbers, by which most strings that differ are told apart without a call that compares bytes.

use arrow_array::BinaryArray;

/// Bytes of a beginning.
pub(super) const BEGINNING_BYTES: usize = 8;

/// Which bits of the eight bytes where a string begins are its own, by its length.
const MASKS: [u64; BEGINNING_BYTES + 1] = {
    let mut masks = [u64::MAX; BEGINNING_BYTES + 1];
    let mut length = 0;
    while length < BEGINNING_BYTES {
        masks[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    masks
};

/// The first eight bytes of a string, the first one lowest; what a shorter one lacks counts as zeros.
#[inline]
pub(super) fn beginning(string: &[u8]) -> u64 {
    let length = string.len();
    match (string, string.first_chunk::<BEGINNING_BYTES>(), string.first_chunk::<4>(), string.last_chunk::<4>()) {
        (_, Some(first), ..) => u64::from_le_bytes(*first),
        // The last bytes overlap the first ones; bits that are set twice are the same.
        (_, None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        }
        ([first, .., last], ..) => {
            let middle = u64::from(string[length / 2]) << (8 * (length / 2));
            u64::from(*first) | middle | u64::from(*last) << (8 * (length - 1))
        }
        ([only], ..) => u64::from(*only),
        ([], ..) => 0,
    }
}

/// Whether strings are equal; few bytes without a call that compares bytes.
#[inline]
pub(super) fn are_equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    match (left.first_chunk::<8>(), right.first_chunk::<8>(), left.last_chunk::<8>(), right.last_chunk::<8>()) {
        // The first and the last bytes, which overlap.
        (Some(first), Some(other_first), Some(last), Some(other_last)) if left.len() <= 16 => {
            (first == other_first) & (last == other_last)
        }
        _ => left == right,
    }
}

/// A string that others may begin with.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Prefix {
    bytes: Box<[u8]>,
    /// Its own beginning.
    word: u64,
}

impl Prefix {
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), word: beginning(bytes) }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a string begins with it.
    #[inline]
    pub fn begins(&self, string: &[u8]) -> bool {
        match (string.first_chunk::<BEGINNING_BYTES>(), self.bytes.get(BEGINNING_BYTES..)) {
            (Some(first), rest) => {
                let mask = MASKS[self.bytes.len().min(BEGINNING_BYTES)];
                u64::from_le_bytes(*first) & mask == self.word
                    && rest.is_none_or(|rest| {
                        string.get(BEGINNING_BYTES..self.bytes.len()).is_some_and(|part| are_equal(part, rest))
                    })
            }
            (None, _) => string.starts_with(&self.bytes),
        }
    }
}

/// What is asked about each string of an array: its length and its [beginning]; and where it lies, as to look at the rest.
pub(super) struct Beginning {
    pub start: usize,
    pub length: usize,
    pub word: u64,
}

/// `operation` of each string of an array, whatever its validity.
#[inline]
pub(super) fn of_each<R>(strings: &BinaryArray, mut operation: impl FnMut(Beginning) -> R) -> Vec<R> {
    let data = strings.value_data();
    let of_pair = |pair: &[i32]| {
        let (start, end) = (pair[0] as usize, pair[1] as usize);
        let length = end - start;
        // What follows a short string is read with it, and masked: that takes no branch that goes by the length.
        let word = match data.get(start..).and_then(|rest| rest.first_chunk::<BEGINNING_BYTES>()) {
            Some(first) => u64::from_le_bytes(*first) & MASKS[length.min(BEGINNING_BYTES)],
            None => beginning(data.get(start..end).unwrap_or_default()),
        };
        operation(Beginning { start, length, word })
    };
    strings.value_offsets().windows(2).map(of_pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_begins_what_it_begins() {
        let strings: Vec<&[u8]> =
            vec![b"", b"a", b"ab", b"abcdefgh", b"abcdefghi", b"abcdefghij", b"abcdefgxij", b"xbcdefghij"];
        for prefix in &strings {
            for string in &strings {
                assert_eq!(Prefix::new(prefix).begins(string), string.starts_with(prefix), "{prefix:?} {string:?}");
            }
        }
    }

    #[test]
    fn each_string_begins_as_it_does_alone() {
        let strings: Vec<&[u8]> = vec![b"", b"a", b"ab\0", b"12345678", b"123456789", b"xy", b"\xFF\xFF", b"last one"];
        let array = BinaryArray::from_iter_values(&strings);
        for sliced in 0..3 {
            let found = of_each(&array.slice(sliced, strings.len() - sliced), |found| (found.length, found.word));
            let expected: Vec<_> = strings[sliced..].iter().map(|string| (string.len(), beginning(string))).collect();
            assert_eq!(found, expected);
        }
        for length in 0..=12 {
            let string: Vec<u8> = (1..=length).collect();
            let bytes: Vec<u8> = string.iter().copied().chain([0; 8]).take(8).collect();
            assert_eq!(beginning(&string).to_le_bytes(), bytes[..]);
        }
    }
}
