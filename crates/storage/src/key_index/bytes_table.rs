//! One partition of keys that are byte strings. Short ones lie in their entries, the others in an arena.

use squall_types::prefetch;

use super::NO_ROW;
use super::keys::hash_bytes;
use super::tag_slots::{TagSlots, Tagged};

/// Strings of up to so many bytes lie in their entries.
const SHORT_BYTES: usize = 12;

/// Keys, each with its first row.
#[derive(Clone, Default, Debug)]
pub(super) struct BytesTable {
    slots: TagSlots,
    entries: Vec<BytesEntry>,
    arena: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BytesEntry {
    length: u32,
    /// A short string's bytes; of a longer one, where it begins in the arena.
    bytes: [u8; SHORT_BYTES],
    row: u32,
}

impl BytesEntry {
    fn new(key: &[u8], row: u32, arena: &mut Vec<u8>) -> Self {
        let mut bytes = [0; SHORT_BYTES];
        match bytes.get_mut(..key.len()) {
            Some(short) => short.copy_from_slice(key),
            None => {
                bytes[..size_of::<u64>()].copy_from_slice(&(arena.len() as u64).to_le_bytes());
                arena.extend_from_slice(key);
            }
        }
        Self { length: key.len() as u32, bytes, row }
    }

    #[inline]
    fn key<'a>(&'a self, arena: &'a [u8]) -> &'a [u8] {
        let length = self.length as usize;
        match self.bytes.get(..length) {
            Some(short) => short,
            None => {
                let [a, b, c, d, e, f, g, h, ..] = self.bytes;
                let begin = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
                arena.get(begin..begin + length).unwrap_or_default()
            }
        }
    }
}

impl BytesTable {
    /// Memory for so many slots and keys; the slots are to be added before the table is used.
    pub(super) fn with_capacity(slots: usize, keys: usize) -> Self {
        Self { slots: TagSlots::with_capacity(slots), entries: Vec::with_capacity(keys), arena: Vec::new() }
    }

    pub(super) fn slots_mut(&mut self) -> &mut Vec<u64> {
        self.slots.slots_mut()
    }

    /// The first row of each key.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.row)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes() + size_of_val(&*self.entries) + self.arena.len()
    }

    /// A copy with room for more keys: the same slots where they are enough.
    pub(super) fn with_room(&self, more: usize) -> Self {
        let keys = self.entries.len() + more;
        if self.slots.have_room(keys) {
            return self.clone();
        }
        let mut larger = Self { slots: TagSlots::for_keys(keys), entries: Vec::with_capacity(keys), arena: Vec::new() };
        for entry in &self.entries {
            larger.insert(entry.key(&self.arena), entry.row, false);
        }
        larger
    }

    /// Makes `row` the first of a key; the row that was first before. With `keeps_first` the one that was there stays.
    pub(super) fn insert(&mut self, key: &[u8], row: u32, keeps_first: bool) -> u32 {
        let hash = hash_bytes(key);
        match self.slots.find(hash, |entry| self.entries[entry].key(&self.arena) == key) {
            Ok(entry) if keeps_first => self.entries[entry].row,
            Ok(entry) => std::mem::replace(&mut self.entries[entry].row, row),
            Err(slot) => {
                self.slots.take(slot, hash, self.entries.len());
                self.entries.push(BytesEntry::new(key, row, &mut self.arena));
                NO_ROW
            }
        }
    }
}

impl Tagged for BytesTable {
    type Key<'a> = &'a [u8];

    fn slots(&self) -> &TagSlots {
        &self.slots
    }

    #[inline]
    fn prefetch(&self, entry: usize) {
        prefetch(&self.entries, entry);
    }

    #[inline]
    fn row_of(&self, entry: usize, key: &[u8]) -> Option<u32> {
        self.entries.get(entry).filter(|entry| entry.key(&self.arena) == key).map(|entry| entry.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_are_told_apart() {
        let keys: Vec<Vec<u8>> = (0..40).map(|length| vec![b'a'; length]).collect();
        let mut table = BytesTable::default().with_room(keys.len());
        for (key, row) in keys.iter().zip(0..) {
            assert_eq!(table.insert(key, row, false), NO_ROW);
            assert_eq!(table.insert(key, row + 100, true), row);
        }
        let copy = table.with_room(1_000);
        for table in [&table, &copy] {
            for (key, row) in keys.iter().zip(0..) {
                let found = table.slots.find(hash_bytes(key), |entry| table.row_of(entry, key) == Some(row));
                assert!(found.is_ok(), "{row}");
            }
            assert_eq!(table.rows().count(), keys.len());
        }
    }
}
