//! Slots of 64 bits, each with a tag, which is a part of a key's hash, and the number of the key among those that a table holds. Most keys that
//! are looked up and are not there touch one slot, whatever their width, and eight slots share a line of the cache.

use squall_types::prefetch;

use super::hash_filter::HashFilter;
use super::keys::Keys;
use super::{HASHES_AT_ONCE, NO_ROW, PREFETCH_AHEAD, partition_of};

/// Bits of a slot below its tag.
const TAG_SHIFT: u32 = 32;

/// Where a hash table's keys are found.
#[derive(Clone, Default, Debug)]
pub(super) struct TagSlots {
    /// The tag, and the number of the entry plus one; 0 is an empty slot. At most half are taken, so that an empty one ends every search.
    slots: Vec<u64>,
}

/// A slot that may be that of a key, and the number of its entry.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Candidate {
    slot: usize,
    pub(super) entry: usize,
}

/// The part of a hash that a slot holds: slots go by the low bits, partitions by the high ones.
#[inline]
fn tag(hash: u64) -> u64 {
    (hash >> 24) << TAG_SHIFT
}

impl TagSlots {
    /// Memory for so many slots, which are to be added before they are used.
    pub(super) fn with_capacity(slots: usize) -> Self {
        Self { slots: Vec::with_capacity(slots) }
    }

    /// Empty slots for so many keys.
    pub(super) fn for_keys(keys: usize) -> Self {
        Self { slots: vec![0; (keys * 2).next_power_of_two()] }
    }

    /// Whether there is room for so many keys.
    pub(super) fn have_room(&self, keys: usize) -> bool {
        keys * 2 <= self.slots.len()
    }

    pub(super) fn slots_mut(&mut self) -> &mut Vec<u64> {
        &mut self.slots
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.slots)
    }

    /// The entry of a hash of which `is_key` holds; where there is none, the free slot that is to be [taken](Self::take).
    #[inline]
    pub(super) fn find(&self, hash: u64, is_key: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if slot ^ tag(hash) <= u64::from(u32::MAX) && is_key(slot as u32 as usize - 1) {
                return Ok(slot as u32 as usize - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Puts an entry into a free slot.
    #[inline]
    pub(super) fn take(&mut self, slot: usize, hash: u64, entry: usize) {
        self.slots[slot] = tag(hash) | (entry as u64 + 1);
    }

    /// From slot `at` on, the first one with the tag of a hash.
    #[inline]
    fn candidate(&self, hash: u64, mut at: usize) -> Option<Candidate> {
        let mask = self.slots.len().wrapping_sub(1);
        loop {
            at &= mask;
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            if slot ^ tag(hash) <= u64::from(u32::MAX) {
                return Some(Candidate { slot: at, entry: slot as u32 as usize - 1 });
            }
            at += 1;
        }
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        prefetch(&self.slots, hash as usize & self.slots.len().wrapping_sub(1));
    }
}

/// A table whose keys are found by tags.
pub(super) trait Tagged {
    /// A key that is looked up.
    type Key<'a>: Copy;

    fn slots(&self) -> &TagSlots;

    /// Fetches an entry that will be compared.
    fn prefetch(&self, entry: usize);

    /// The row of an entry, where it has this key.
    fn row_of(&self, entry: usize, key: Self::Key<'_>) -> Option<u32>;
}

/// The row of a key of which `candidate` is the first slot that may be its own.
#[inline]
fn find_from<T: Tagged>(table: &T, mut candidate: Candidate, key: T::Key<'_>, hash: u64) -> u32 {
    loop {
        if let Some(row) = table.row_of(candidate.entry, key) {
            return row;
        }
        match table.slots().candidate(hash, candidate.slot + 1) {
            Some(next) => candidate = next,
            None => return NO_ROW,
        }
    }
}

/// The first row of each key, [`NO_ROW`] where there is none. `key` gives that of a row, `hash` its hash.
pub(super) fn find_tagged<'k, T: Tagged>(
    tables: &[&T],
    filter: Option<&HashFilter>,
    keys: &Keys,
    key: impl Fn(usize) -> T::Key<'k>,
    hash: impl Fn(T::Key<'k>) -> u64,
) -> Vec<u32> {
    let mut found = vec![NO_ROW; keys.len()];
    let (mut hashes, mut rows) = ([0; HASHES_AT_ONCE], [0; HASHES_AT_ONCE]);
    let mut candidates = [(0, Candidate::default()); HASHES_AT_ONCE];
    for first in (0..keys.len()).step_by(HASHES_AT_ONCE) {
        // The rows that may be found, each with its hash.
        let mut count = 0;
        for row in first..keys.len().min(first + HASHES_AT_ONCE) {
            let hash = hash(key(row));
            hashes[count] = hash;
            rows[count] = row;
            count += usize::from(keys.has_key(row) && filter.is_none_or(|filter| filter.has(hash)));
        }
        // Those whose tag is there.
        let mut tagged = 0;
        for at in 0..count {
            if at + PREFETCH_AHEAD < count {
                let hash = hashes[at + PREFETCH_AHEAD];
                tables[partition_of(hash, tables.len())].slots().prefetch(hash);
            }
            let hash = hashes[at];
            let table = tables[partition_of(hash, tables.len())];
            if let Some(candidate) = table.slots().candidate(hash, hash as usize) {
                table.prefetch(candidate.entry);
                candidates[tagged] = (at, candidate);
                tagged += 1;
            }
        }
        for (at, candidate) in &candidates[..tagged] {
            let (row, hash) = (rows[*at], hashes[*at]);
            found[row] = find_from(tables[partition_of(hash, tables.len())], *candidate, key(row), hash);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 100 on, of which all have one hash.
    struct Alike(TagSlots, Vec<u32>);

    impl Tagged for Alike {
        type Key<'a> = u32;

        fn slots(&self) -> &TagSlots {
            &self.0
        }

        fn prefetch(&self, _: usize) {}

        fn row_of(&self, entry: usize, key: u32) -> Option<u32> {
            (self.1.get(entry) == Some(&key)).then_some(entry as u32)
        }
    }

    #[test]
    fn keys_with_one_tag_are_told_apart() {
        for hash in [0, 7, u64::MAX, 1 << 63] {
            let mut table = Alike(TagSlots::for_keys(20), Vec::new());
            for key in 100..120 {
                let slot = table.0.find(hash, |entry| table.1[entry] == key).unwrap_err();
                table.0.take(slot, hash, table.1.len());
                table.1.push(key);
            }
            let first = table.0.candidate(hash, hash as usize).unwrap();
            for key in 90..125 {
                let expected = if (100..120).contains(&key) { key - 100 } else { NO_ROW };
                assert_eq!(find_from(&table, first, key, hash), expected);
                assert_eq!(table.0.find(hash, |entry| table.1[entry] == key).is_ok(), expected != NO_ROW);
            }
        }
    }
}
