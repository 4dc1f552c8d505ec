//! A row while rows are put in order, with the first bytes of its key.

use std::cmp::Ordering;

/// Bytes of a key that an entry holds.
pub(super) const PREFIX_BYTES: usize = 16;

/// The first bytes of a key, as a number of the same order.
pub(super) fn prefix(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(first) => u128::from_be_bytes(*first),
        None => {
            let mut bytes = [0; PREFIX_BYTES];
            bytes[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(bytes)
        }
    }
}

/// A row: where it is, and some bytes of its key, by which most comparisons are decided. These are the first ones; while rows are put in
/// order they are those behind the bytes that all keys begin with, as the addresses of a site do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The bytes as a number, its high half first: a `u128` would want to lie at every sixteenth byte.
    prefix: [u64; 2],
    /// Which piece it is of, among those that are merged, and in [`WHOLE`] whether the key has no more bytes.
    piece: u32,
    pub(super) row: u32,
}

/// In [`Entry::piece`]: the key has no bytes behind the prefix.
const WHOLE: u32 = 1 << 31;

impl Entry {
    /// A row of a piece by itself, whose key is no longer than a prefix.
    pub(super) fn of_prefix(prefix: u128, row: u32) -> Self {
        Self { prefix: [(prefix >> 64) as u64, prefix as u64], piece: WHOLE, row }
    }

    /// A row of a piece, whose key is `key` and begins as all others do for `skip` bytes.
    pub(super) fn new(key: &[u8], skip: usize, piece: u32, row: u32) -> Self {
        let rest = key.get(skip..).unwrap_or_default();
        let mut entry = Self::of_prefix(prefix(rest), row);
        entry.piece = piece | if rest.len() <= PREFIX_BYTES { WHOLE } else { 0 };
        entry
    }

    #[inline]
    pub(super) fn prefix(&self) -> u128 {
        u128::from(self.prefix[0]) << 64 | u128::from(self.prefix[1])
    }

    /// Whether the key has no bytes behind the prefix.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        self.piece & WHOLE != 0
    }

    #[inline]
    pub(super) fn piece(&self) -> u32 {
        self.piece & !WHOLE
    }

    /// The same row, of a piece with this number.
    #[inline]
    pub(super) fn of_piece(self, piece: u32) -> Self {
        Self { piece: self.piece & WHOLE | piece, ..self }
    }

    /// The same row with the bytes of its key behind the first `skip`.
    pub(super) fn without(&self, skip: usize, key: &[u8]) -> Self {
        Self::new(key, skip, self.piece(), self.row)
    }

    /// The order of two rows' keys, which `key` gives where these bytes do not decide. As no key is the beginning of another, they do
    /// where one of the two has no more of them.
    #[inline]
    pub(super) fn compare<'a>(&self, other: &Self, key: impl Fn(&Self) -> &'a [u8]) -> Ordering {
        self.prefix().cmp(&other.prefix()).then_with(|| match (self.piece | other.piece) & WHOLE {
            0 => key(self).cmp(key(other)),
            _ => Ordering::Equal,
        })
    }

    /// The order in which two rows of equal keys came.
    #[inline]
    pub(super) fn compare_places(&self, other: &Self) -> Ordering {
        (self.piece(), self.row).cmp(&(other.piece(), other.row))
    }
}

/// How many bytes two keys begin with alike, of the first `most`.
pub(super) fn common_bytes(left: &[u8], right: &[u8], most: usize) -> usize {
    let most = most.min(left.len()).min(right.len());
    if left[..most] == right[..most] {
        return most;
    }
    left.iter().zip(right).position(|(left, right)| left != right).unwrap_or(most)
}
