//! The keys of some rows, ready to be looked up in a table of bytes: short ones as integers, and the hashes of all.

use std::hash::{BuildHasher, Hasher};

use arrow_array::{BinaryArray, UInt32Array};

use super::short_key::ShortKey;

/// What lookups need to know of the keys of some rows.
#[derive(Default)]
pub(super) struct LookupKeys {
    pub(super) hashes: Vec<u64>,
    /// The keys that are short.
    pub(super) short: Vec<ShortKey>,
}

impl LookupKeys {
    /// Takes the place of what was known, for the keys of so many rows.
    pub(super) fn read<'k>(&mut self, rows: usize, key: impl Fn(usize) -> &'k [u8]) {
        self.read_short(rows, &key);
        self.hash(|row, _| key(row));
    }

    /// The same for strings of an array.
    pub(super) fn read_strings(&mut self, strings: &BinaryArray) {
        let bytes = strings.value_data();
        self.short.clear();
        let ends = strings.value_offsets().windows(2).map(|ends| (ends[0] as usize, ends[1] as usize));
        self.short.extend(ends.map(|(start, end)| ShortKey::at(bytes, start, end - start)));
        self.hash(|row, _| strings.value(row));
    }

    /// Numbers the keys that are not short; their rows.
    pub(super) fn place_long(&mut self) -> UInt32Array {
        let mut rows = Vec::new();
        for (row, key) in self.short.iter_mut().enumerate().filter(|(_, key)| key.is_long()) {
            *key = ShortKey::long_at(rows.len());
            rows.push(row as u32);
        }
        rows.into()
    }

    /// Hashes the keys. `key` gives the bytes of one that is not short, by its row and by what stands for it.
    pub(super) fn hash<'k>(&mut self, key: impl Fn(usize, ShortKey) -> &'k [u8]) {
        self.hashes.clear();
        let keys = self.short.iter().enumerate();
        self.hashes.extend(keys.map(|(row, short)| match short.is_long() {
            true => hash(key(row, *short)),
            false => short.hash(),
        }));
    }

    /// The same, for keys with these hashes.
    pub(super) fn read_hashed<'k>(&mut self, hashes: &[u64], key: impl Fn(usize) -> &'k [u8]) {
        self.read_short(hashes.len(), key);
        self.hashes.clear();
        self.hashes.extend_from_slice(hashes);
    }

    fn read_short<'k>(&mut self, rows: usize, key: impl Fn(usize) -> &'k [u8]) {
        self.short.clear();
        self.short.extend((0..rows).map(|row| ShortKey::of(key(row))));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.hashes.capacity() * size_of::<u64>() + self.short.capacity() * size_of::<ShortKey>()
    }
}

/// The hash of a key that is not short.
fn hash(bytes: &[u8]) -> u64 {
    // A fixed seed: partitions of all workers must agree. The table's growth does not depend on hashes, and probes are bounded by
    // its half-emptiness, so that hostile keys cost time in their own query only.
    let mut hasher = foldhash::fast::FixedState::with_seed(0x5153_4C4C).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}
