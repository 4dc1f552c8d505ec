//! The keys of a block's rows as sorts keep them: numbers where all are short, otherwise byte strings.

use std::cmp::Ordering;

use squall_planner::SortKey;
use squall_types::memory::reserve;
use squall_types::{Block, Result};

use super::entry::{Entry, PREFIX_BYTES, common_bytes, prefix};
use super::key_words::whole_keys;
use super::keys::{KeyRows, encode_columns, key_columns};
use super::piece::Piece;

/// A key by itself. No key is the beginning of another, so that where one of two is no longer than a prefix, prefixes decide alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Key {
    prefix: u128,
    /// All bytes; none where they are no more than the prefix.
    bytes: Box<[u8]>,
}

impl Key {
    /// A key of no more than eight bytes, whose first byte is the highest of this number.
    pub(super) fn of_beginning(beginning: u64) -> Self {
        Self { prefix: u128::from(beginning) << 64, bytes: Box::default() }
    }

    /// The first eight bytes, as a number of the same order.
    pub(super) fn beginning(&self) -> u64 {
        (self.prefix >> 64) as u64
    }

    /// The order of this key and another's bytes.
    pub(super) fn compare(&self, key: &[u8]) -> Ordering {
        self.prefix.cmp(&prefix(key)).then_with(|| match self.bytes.is_empty() {
            true => Ordering::Equal,
            false => (*self.bytes).cmp(key),
        })
    }
}

/// The rows of `1..rows` whose keys differ from those of the rows before them.
fn changes<K: PartialEq>(rows: usize, key: impl Fn(usize) -> K) -> Vec<u32> {
    (1..rows).filter(|row| key(*row) != key(*row - 1)).map(|row| row as u32).collect()
}

/// The rows in the order of their keys, where key and row fit into one number of 64 bits together; rows of equal keys as they came.
fn order_of_numbers(keys: &[u64]) -> Option<Vec<u32>> {
    let (all_or, all_and) = keys.iter().fold((0, u64::MAX), |(or, and), key| (or | key, and & key));
    // Bits that are alike in all keys at either end tell nothing.
    let differing = all_or & !all_and;
    let (low, high) = (differing.trailing_zeros(), differing.leading_zeros());
    let row_bits = usize::BITS - keys.len().saturating_sub(1).leading_zeros();
    if differing != 0 && low + high < row_bits {
        return None;
    }
    let key_of = |key: u64| if differing == 0 { 0 } else { key << high >> (high + low) << row_bits };
    let mut numbered: Vec<u64> = keys.iter().zip(0..).map(|(key, row)| key_of(*key) | row).collect();
    numbered.sort_unstable();
    let row = (1_u64 << row_bits) - 1;
    Some(numbered.into_iter().map(|key| (key & row) as u32).collect())
}

/// The keys of a block's rows.
pub(crate) enum RowKeys {
    /// None is longer than half a prefix.
    Short(Vec<u64>),
    /// None is longer than a prefix.
    Whole(Vec<u128>),
    Long(KeyRows),
}

impl RowKeys {
    pub(crate) fn of(keys: &[SortKey], block: &Block) -> Result<Self> {
        let columns = key_columns(keys, block)?;
        reserve(block.rows() * size_of::<u128>())?;
        if let Some(whole) = whole_keys(&columns, block.rows()) {
            return Ok(Self::of_prefixes(whole));
        }
        let keys = encode_columns(&columns, block.rows())?;
        let is_whole = keys.offsets.windows(2).all(|ends| ends[1] - ends[0] <= PREFIX_BYTES);
        Ok(match is_whole {
            true => Self::of_prefixes((0..block.rows()).map(|row| prefix(keys.key(row))).collect()),
            false => Self::Long(keys),
        })
    }

    fn of_prefixes(prefixes: Vec<u128>) -> Self {
        match prefixes.iter().all(|key| *key as u64 == 0) {
            true => Self::Short(prefixes.iter().map(|key| (key >> 64) as u64).collect()),
            false => Self::Whole(prefixes),
        }
    }

    /// Those of entries of several pieces.
    pub(super) fn gather(sources: &[Piece], entries: &[Entry]) -> Self {
        let of_entry = |entry: &Entry| (&sources[entry.piece() as usize].keys, entry.row as usize);
        if entries.iter().all(|entry| !matches!(of_entry(entry).0, Self::Long(_))) {
            return Self::of_prefixes(entries.iter().map(Entry::prefix).collect());
        }
        let mut gathered = KeyRows { bytes: Vec::new(), offsets: vec![0] };
        for entry in entries {
            match of_entry(entry) {
                (Self::Long(keys), row) => gathered.push(keys.key(row)),
                // No other key begins like it.
                (keys, row) => gathered.push(&keys.prefix(row).to_be_bytes()),
            }
        }
        Self::Long(gathered)
    }

    /// The first bytes of a row's key, as a number of the same order.
    pub(crate) fn prefix(&self, row: usize) -> u128 {
        match self {
            Self::Short(keys) => u128::from(keys[row]) << 64,
            Self::Whole(keys) => keys[row],
            Self::Long(keys) => prefix(keys.key(row)),
        }
    }

    /// A row's key where it is longer than a prefix; otherwise nothing.
    pub(crate) fn long(&self, row: usize) -> &[u8] {
        match self {
            Self::Long(keys) => Some(keys.key(row)).filter(|key| key.len() > PREFIX_BYTES).unwrap_or_default(),
            Self::Short(_) | Self::Whole(_) => &[],
        }
    }

    pub(crate) fn key(&self, row: usize) -> Key {
        Key { prefix: self.prefix(row), bytes: self.long(row).into() }
    }

    /// The rows of `1..rows` whose keys differ from those of the rows before them.
    pub(crate) fn changes(&self, rows: usize) -> Vec<u32> {
        match self {
            Self::Short(keys) => changes(rows, |row| keys[row]),
            Self::Whole(keys) => changes(rows, |row| keys[row]),
            Self::Long(keys) => changes(rows, |row| keys.key(row)),
        }
    }

    pub(super) fn entry(&self, row: usize, piece: u32) -> Entry {
        match self {
            Self::Long(keys) => Entry::new(keys.key(row), 0, piece, row as u32),
            _ => Entry::of_prefix(self.prefix(row), row as u32).of_piece(piece),
        }
    }

    /// The order of a row's key and of another.
    pub(super) fn compare(&self, row: usize, bound: &Key) -> Ordering {
        match self {
            Self::Long(keys) => bound.compare(keys.key(row)).reverse(),
            _ => self.prefix(row).cmp(&bound.prefix),
        }
    }

    /// The keys of these rows.
    pub(super) fn take(&self, rows: &[u32]) -> Self {
        match self {
            Self::Short(keys) => Self::Short(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Whole(keys) => Self::Whole(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Long(keys) => Self::Long(keys.take(rows)),
        }
    }

    /// The rows in the order of their keys, rows of equal keys as they came.
    pub(super) fn order(&self, rows: usize) -> Vec<u32> {
        if let Self::Short(keys) = self
            && let Some(order) = order_of_numbers(keys)
        {
            return order;
        }
        /// Bits of a prefix in which there is room for the number of a row.
        const ROW: u128 = u32::MAX as u128;
        let prefixes = || (0..rows).map(|row| self.prefix(row));
        if !matches!(self, Self::Long(_)) && prefixes().all(|key| key & ROW == 0) {
            // Key and row are one number, which compares without a branch.
            let mut numbered: Vec<u128> = prefixes().zip(0_u32..).map(|(key, row)| key | u128::from(row)).collect();
            numbered.sort_unstable();
            return numbered.into_iter().map(|key| key as u32).collect();
        }
        let mut entries: Vec<Entry> = (0..rows).map(|row| self.entry(row, 0)).collect();
        if let Self::Long(keys) = self {
            // Where all begin alike, the bytes behind that tell them apart.
            let first = if rows > 0 { keys.key(0) } else { &[] };
            let skip = (0..rows).fold(first.len(), |skip, row| common_bytes(first, keys.key(row), skip));
            entries.iter_mut().for_each(|entry| *entry = entry.without(skip, keys.key(entry.row as usize)));
        }
        let key = |entry: &Entry| self.long(entry.row as usize);
        entries.sort_unstable_by(|left, right| left.compare(right, key).then_with(|| left.row.cmp(&right.row)));
        entries.into_iter().map(|entry| entry.row).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Short(keys) => size_of_val(&**keys),
            Self::Whole(keys) => size_of_val(&**keys),
            Self::Long(keys) => keys.bytes.len() + size_of_val(&*keys.offsets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_keys_stay_in_their_order() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random >> 20
        };
        // Keys in few and in all bits, all alike, and some that leave no room for rows.
        for (mask, shift, more) in [
            (0xff, 56, 0),
            (0xffff_ffff, 24, 1 << 63),
            (0x3, 0, 0),
            (0, 0, 5),
            (0xfff_ffff_ffff, 20, 0),
            (0xfff_ffff_ffff, 0, 3 << 62),
        ] {
            for rows in [0, 1, 2, 3, 1_000, 8_192] {
                let keys: Vec<u64> = (0..rows).map(|_| (next() & mask) << shift | more).collect();
                let mut expected: Vec<u32> = (0..rows as u32).collect();
                expected.sort_by_key(|row| keys[*row as usize]);
                if let Some(order) = order_of_numbers(&keys) {
                    assert_eq!(order, expected, "{mask} {shift} {rows}");
                }
                assert_eq!(RowKeys::Short(keys).order(rows), expected, "{mask} {shift} {rows}");
            }
        }
    }
}
