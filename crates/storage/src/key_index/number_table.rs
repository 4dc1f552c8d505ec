//! One partition of keys of up to eight bytes: each slot holds a key and its first row.

use squall_types::prefetch;

use super::hash_filter::HashFilter;
use super::keys::{Keys, Packed};
use super::presence::Presence;
use super::{HASHES_AT_ONCE, NO_ROW, PREFETCH_AHEAD, partition_of};

/// A table of so many bytes stays in the cache of a core.
const CACHED_BYTES_MAX: usize = 256 << 10;

/// Keys, each with its first row.
#[derive(Clone, Default, Debug)]
pub(super) struct NumberTable {
    /// At most half are taken, so that an empty one ends every search.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Slot {
    key: u64,
    /// The row plus one; 0 is an empty slot.
    row: u32,
}

impl NumberTable {
    /// Memory for so many slots, which are to be added before the table is used.
    pub(super) fn with_capacity(slots: usize) -> Self {
        Self { slots: Vec::with_capacity(slots) }
    }

    pub(super) fn slots_mut(&mut self) -> &mut Vec<Slot> {
        &mut self.slots
    }

    /// The first row of each key.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter(|slot| slot.row > 0).map(|slot| slot.row - 1)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// A copy with room for more keys: the same slots where they are enough.
    pub(super) fn with_room(&self, more: usize) -> Self {
        let keys = self.rows().count() + more;
        if keys * 2 <= self.slots.len() {
            return self.clone();
        }
        let mut larger = Self { slots: vec![Slot::default(); (keys * 2).next_power_of_two()] };
        for slot in self.slots.iter().filter(|slot| slot.row > 0) {
            larger.insert(slot.key, slot.row - 1, false);
        }
        larger
    }

    /// Makes `row` the first of a key; the row that was first before. With `keeps_first` the one that was there stays.
    pub(super) fn insert(&mut self, key: u64, row: u32, keeps_first: bool) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = key.hash() as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.row == 0 {
                *slot = Slot { key, row: row + 1 };
                return NO_ROW;
            }
            if slot.key == key {
                let before = slot.row - 1;
                if !keeps_first {
                    slot.row = row + 1;
                }
                return before;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn find(&self, key: u64, hash: u64) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots.get(at) {
            if slot.row == 0 || slot.key == key {
                return slot.row.wrapping_sub(1);
            }
            at = (at + 1) & mask;
        }
        NO_ROW
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        prefetch(&self.slots, hash as usize & self.slots.len().wrapping_sub(1));
    }
}

/// The first row of each key, [`NO_ROW`] where there is none.
pub(super) fn find_numbers(
    tables: &[&NumberTable],
    filter: Option<&HashFilter>,
    keys: &Keys,
    values: &[u64],
) -> Vec<u32> {
    let table_of = |hash: u64| tables[partition_of(hash, tables.len())];
    let is_cached = tables.len() == 1 && table_of(0).memory_bytes() <= CACHED_BYTES_MAX;
    let mut found = vec![NO_ROW; values.len()];
    let (mut hashes, mut rows) = ([0; HASHES_AT_ONCE], [0; HASHES_AT_ONCE]);
    let chunks = values.chunks(HASHES_AT_ONCE).zip(found.chunks_mut(HASHES_AT_ONCE)).enumerate();
    for (chunk, (values, found)) in chunks {
        let first = chunk * HASHES_AT_ONCE;
        // The rows that may be found, each with its hash.
        let mut count = 0;
        for (row, key) in values.iter().enumerate() {
            let hash = key.hash();
            hashes[count] = hash;
            rows[count] = row;
            count += usize::from(keys.has_key(first + row) && filter.is_none_or(|filter| filter.has(hash)));
        }
        for at in 0..count {
            if !is_cached && at + PREFETCH_AHEAD < count {
                let hash = hashes[at + PREFETCH_AHEAD];
                table_of(hash).prefetch(hash);
            }
            found[rows[at]] = table_of(hashes[at]).find(values[rows[at]], hashes[at]);
        }
    }
    found
}

/// Looks up only the keys that are there.
pub(super) fn find_present(tables: &[&NumberTable], presence: &Presence, keys: &Keys, values: &[u64]) -> Vec<u32> {
    let rows = presence.rows(keys, values);
    let mut found = vec![NO_ROW; values.len()];
    let place = |row: u32| {
        let key = values[row as usize];
        let hash = key.hash();
        (tables[partition_of(hash, tables.len())], key, hash)
    };
    for (at, row) in rows.iter().enumerate() {
        if let Some(ahead) = rows.get(at + PREFETCH_AHEAD) {
            let (table, _, hash) = place(*ahead);
            table.prefetch(hash);
        }
        let (table, key, hash) = place(*row);
        found[*row as usize] = table.find(key, hash);
    }
    found
}
