//! One partition of keys of a fixed width of more than eight bytes.

use squall_types::prefetch;

use super::NO_ROW;
use super::keys::Packed;
use super::tag_slots::{TagSlots, Tagged};

/// Keys, each with its first row.
#[derive(Clone, Default, Debug)]
pub(super) struct TaggedTable<K> {
    slots: TagSlots,
    entries: Vec<Entry<K>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<K> {
    key: K,
    row: u32,
}

impl<K: Packed> TaggedTable<K> {
    /// Memory for so many slots and keys; the slots are to be added before the table is used.
    pub(super) fn with_capacity(slots: usize, keys: usize) -> Self {
        Self { slots: TagSlots::with_capacity(slots), entries: Vec::with_capacity(keys) }
    }

    pub(super) fn slots_mut(&mut self) -> &mut Vec<u64> {
        self.slots.slots_mut()
    }

    /// The first row of each key.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.row)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes() + size_of_val(&*self.entries)
    }

    /// A copy with room for more keys: the same slots where they are enough.
    pub(super) fn with_room(&self, more: usize) -> Self {
        let keys = self.entries.len() + more;
        if self.slots.have_room(keys) {
            return self.clone();
        }
        let mut larger = Self { slots: TagSlots::for_keys(keys), entries: Vec::with_capacity(keys) };
        for entry in &self.entries {
            larger.insert(entry.key, entry.row, false);
        }
        larger
    }

    /// Makes `row` the first of a key; the row that was first before. With `keeps_first` the one that was there stays.
    pub(super) fn insert(&mut self, key: K, row: u32, keeps_first: bool) -> u32 {
        let hash = key.hash();
        match self.slots.find(hash, |entry| self.entries[entry].key == key) {
            Ok(entry) if keeps_first => self.entries[entry].row,
            Ok(entry) => std::mem::replace(&mut self.entries[entry].row, row),
            Err(slot) => {
                self.slots.take(slot, hash, self.entries.len());
                self.entries.push(Entry { key, row });
                NO_ROW
            }
        }
    }
}

impl<K: Packed> Tagged for TaggedTable<K> {
    type Key<'a> = K;

    fn slots(&self) -> &TagSlots {
        &self.slots
    }

    #[inline]
    fn prefetch(&self, entry: usize) {
        prefetch(&self.entries, entry);
    }

    #[inline]
    fn row_of(&self, entry: usize, key: K) -> Option<u32> {
        self.entries.get(entry).filter(|entry| entry.key == key).map(|entry| entry.row)
    }
}
