//! A sorted block: its rows' keys and their order.

use std::cmp::Ordering;

use squall_types::memory::reserve;
use squall_types::{Block, Result};

use super::keys::KeyRows;

/// A row: where it is, and the first bytes of its key, by which most comparisons are decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) prefix: u64,
    /// Which piece it is of, among those that are merged.
    pub(super) piece: u32,
    pub(super) row: u32,
}

/// Bytes of a key that an entry holds.
const PREFIX_BYTES: usize = 8;

/// The first eight bytes of a key, as a number of the same order.
pub(super) fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; PREFIX_BYTES];
    let length = key.len().min(PREFIX_BYTES);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// A row while rows of long keys are put in order. The bytes that all keys begin with, as the addresses of a site do, say nothing: here
/// are the sixteen after them, so that few comparisons look at the keys themselves, which lie all over the memory.
#[derive(Clone, Copy)]
pub(super) struct LongEntry {
    prefix: [u64; 2],
    /// The piece, and in [`WHOLE`] whether the key has no more bytes.
    piece: u32,
    pub(super) row: u32,
}

/// In [`LongEntry::piece`]: the sixteen bytes are the key's last.
const WHOLE: u32 = 1 << 31;

impl LongEntry {
    /// The row of an entry, whose key is `key` and begins as all others do for `skip` bytes.
    pub(super) fn new(entry: &Entry, key: &[u8], skip: usize) -> Self {
        let rest = key.get(skip..).unwrap_or_default();
        let prefix = [prefix(rest), prefix(rest.get(PREFIX_BYTES..).unwrap_or_default())];
        let whole = if rest.len() <= 2 * PREFIX_BYTES { WHOLE } else { 0 };
        Self { prefix, piece: entry.piece | whole, row: entry.row }
    }

    pub(super) fn piece(&self) -> u32 {
        self.piece & !WHOLE
    }

    /// The order of two rows' keys, which `key` gives where these bytes do not decide. As no key is the beginning of another, they do
    /// where one of the two has no more of them.
    #[inline]
    pub(super) fn compare<'a>(&self, other: &Self, key: impl Fn(&Self) -> &'a [u8]) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| match (self.piece | other.piece) & WHOLE {
            0 => key(self).cmp(key(other)),
            _ => Ordering::Equal,
        })
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

/// A key by itself. No key is the beginning of another, so that where one of two is no longer than a prefix, prefixes decide alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    prefix: u64,
    /// All bytes; none where they are no more than the prefix.
    bytes: Box<[u8]>,
}

impl Key {
    /// A key that is no longer than a prefix.
    pub(super) fn of_prefix(prefix: u64) -> Self {
        Self { prefix, bytes: Box::default() }
    }

    /// The first bytes, as a number of the same order.
    pub(super) fn prefix(&self) -> u64 {
        self.prefix
    }

    /// The order of this key and another's bytes.
    pub(super) fn compare(&self, key: &[u8]) -> Ordering {
        self.prefix.cmp(&prefix(key)).then_with(|| match self.bytes.is_empty() {
            true => Ordering::Equal,
            false => (*self.bytes).cmp(key),
        })
    }
}

/// A block and the order of its rows.
pub(super) struct Piece {
    pub(super) block: Block,
    /// The keys; `None` where none is longer than a prefix.
    keys: Option<KeyRows>,
    /// The rows in order; their `piece` means nothing yet.
    pub(super) entries: Vec<Entry>,
}

impl Piece {
    /// Sorts a block by its rows' keys; rows of equal keys stay as they came.
    pub(super) fn sorted(block: Block, keys: KeyRows) -> Result<Self> {
        let mut piece = Self::in_order(block, keys)?;
        let mut entries = std::mem::take(&mut piece.entries);
        match &piece.keys {
            None => entries.sort_unstable_by_key(|entry| (entry.prefix, entry.row)),
            Some(keys) => {
                let key = |row: u32| keys.key(row as usize);
                let first = entries.first().map_or(&[][..], |entry| key(entry.row));
                let skip = entries.iter().fold(first.len(), |skip, entry| common_bytes(first, key(entry.row), skip));
                reserve(entries.len() * size_of::<LongEntry>())?;
                let long = entries.iter().map(|entry| LongEntry::new(entry, key(entry.row), skip));
                let mut long: Vec<LongEntry> = long.collect();
                long.sort_unstable_by(|left, right| {
                    left.compare(right, |entry| key(entry.row)).then_with(|| left.row.cmp(&right.row))
                });
                let in_order =
                    long.iter().map(|entry| Entry { prefix: prefix(key(entry.row)), piece: 0, row: entry.row });
                entries.clear();
                entries.extend(in_order);
            }
        }
        piece.entries = entries;
        Ok(piece)
    }

    /// A block whose rows are in the order of their keys.
    pub(super) fn in_order(block: Block, keys: KeyRows) -> Result<Self> {
        reserve(block.rows() * size_of::<Entry>())?;
        let mut has_long_keys = false;
        let entry = |row: usize| {
            let key = keys.key(row);
            has_long_keys |= key.len() > PREFIX_BYTES;
            Entry { prefix: prefix(key), piece: 0, row: row as u32 }
        };
        let entries = (0..block.rows()).map(entry).collect();
        Ok(Self { block, keys: has_long_keys.then_some(keys), entries })
    }

    pub(super) fn rows(&self) -> usize {
        self.entries.len()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        let keys = self.keys.as_ref().map_or(0, |keys| keys.bytes.len() + keys.offsets.len() * size_of::<usize>());
        self.block.value_bytes() + keys + self.entries.len() * size_of::<Entry>()
    }

    pub(super) fn has_long_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// A row's key; nothing where prefixes decide.
    pub(super) fn long_key(&self, row: u32) -> &[u8] {
        self.keys.as_ref().map_or(&[], |keys| keys.key(row as usize))
    }

    /// The key of a row, which may have been merged since.
    pub(super) fn key_of(&self, entry: &Entry) -> Key {
        let Some(keys) = &self.keys else { return Key { prefix: entry.prefix, bytes: Box::default() } };
        let key = keys.key(entry.row as usize);
        Key { prefix: prefix(key), bytes: if key.len() > PREFIX_BYTES { key.into() } else { Box::default() } }
    }

    /// The key of the row at a place of the order.
    pub(super) fn key_at(&self, place: usize) -> Option<Key> {
        self.entries.get(place).map(|entry| self.key_of(entry))
    }

    /// How many of its rows are before `bound`.
    pub(super) fn rows_before(&self, bound: &Key) -> usize {
        self.entries.partition_point(|entry| self.compare(entry, bound).is_lt())
    }

    /// How many of its rows are not beyond `bound`.
    pub(super) fn rows_up_to(&self, bound: &Key) -> usize {
        self.entries.partition_point(|entry| self.compare(entry, bound).is_le())
    }

    fn compare(&self, entry: &Entry, bound: &Key) -> Ordering {
        let order = entry.prefix.cmp(&bound.prefix);
        order.then_with(|| match bound.bytes.is_empty() || self.keys.is_none() {
            true => Ordering::Equal,
            false => self.long_key(entry.row).cmp(&bound.bytes),
        })
    }

    /// The keys of these rows, for a piece that is made of them.
    pub(super) fn copy_key(&self, row: u32, keys: &mut KeyRows) {
        keys.bytes.extend_from_slice(self.long_key(row));
        keys.offsets.push(keys.bytes.len());
    }

    /// A piece of a block whose rows are in order, with the prefixes that they had.
    pub(super) fn of_entries(block: Block, keys: Option<KeyRows>, order: &[Entry]) -> Self {
        let entries = order.iter().enumerate();
        let entries = entries.map(|(row, entry)| Entry { prefix: entry.prefix, piece: 0, row: row as u32 }).collect();
        Self { block, keys, entries }
    }
}

impl AsRef<Piece> for Piece {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
impl Piece {
    /// These strings, sorted.
    pub(super) fn of_strings(values: &[String]) -> Self {
        use squall_planner::{Expression, SortKey};
        use squall_types::{Column, DataType};

        let block = Block::from_columns([("s", Column::from_strings(values))]).unwrap();
        let expression = Expression::Column { position: 0, data_type: DataType::String };
        let keys = [SortKey { expression, descending: false, nulls_first: false }];
        Self::sorted(block.clone(), super::keys::encode_keys(&keys, &block).unwrap()).unwrap()
    }
}
