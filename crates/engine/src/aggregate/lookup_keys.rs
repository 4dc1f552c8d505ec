//! The keys of some rows, ready to be looked up in a table of bytes: short ones as integers, and the hashes of all.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::types::UInt64Type;
use arrow_array::{BinaryArray, UInt32Array};
use squall_types::memory::reserve;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

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
        self.read_short_strings(strings);
        self.hash(|row, _| strings.value(row));
    }

    /// The same for strings with these [hashes](Self::hash_column).
    pub(super) fn read_hashed_strings(&mut self, hashes: &Column, strings: &BinaryArray) -> Result<()> {
        self.read_short_strings(strings);
        self.hashes.clear();
        self.hashes.extend_from_slice(hashes.as_primitive::<UInt64Type>()?.values());
        Ok(())
    }

    fn read_short_strings(&mut self, strings: &BinaryArray) {
        let bytes = strings.value_data();
        self.short.clear();
        let ends = strings.value_offsets().windows(2).map(|ends| (ends[0] as usize, ends[1] as usize));
        self.short.extend(ends.map(|(start, end)| ShortKey::at(bytes, start, end - start)));
    }

    /// The hashes as a column.
    pub(super) fn hash_column(&self) -> Column {
        Column::from_primitive::<UInt64Type>(DataType::UInt64, self.hashes.clone())
    }

    /// All that is known as columns, the last of which has the bytes of the keys that are not short. `key` gives these.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub(super) fn columns<'k>(&self, key: impl Fn(usize) -> &'k [u8]) -> Result<Vec<Column>> {
        let key = |(row, short): (usize, &ShortKey)| if short.is_long() { key(row) } else { &[] };
        let bytes = self.short.iter().enumerate().map(key).map(<[u8]>::len).sum();
        reserve(bytes)?;
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of keys in one block");
        i32::try_from(bytes).map_err(|_| too_large())?;
        let mut long = BinaryBuilder::with_capacity(self.short.len(), bytes);
        self.short.iter().enumerate().map(key).for_each(|key| long.append_value(key));
        let numbers = |number: fn(&ShortKey) -> u64| {
            Column::from_primitive::<UInt64Type>(DataType::UInt64, self.short.iter().map(number).collect())
        };
        let long = Column::new(DataType::String, Arc::new(long.finish()));
        Ok(vec![self.hash_column(), numbers(|key| key.halves().0), numbers(|key| key.halves().1), long])
    }

    /// Reads it from such [columns](Self::columns), all but the last.
    pub(super) fn read_columns(&mut self, columns: &[Column]) -> Result<()> {
        let [hashes, low, high] = columns else { return Err(Error::logical("keys that are no short keys")) };
        self.hashes.clear();
        self.hashes.extend_from_slice(hashes.as_primitive::<UInt64Type>()?.values());
        let (low, high) = (low.as_primitive::<UInt64Type>()?.values(), high.as_primitive::<UInt64Type>()?.values());
        self.short.clear();
        self.short.extend(low.iter().zip(high).map(|(low, high)| ShortKey::of_halves(*low, *high)));
        Ok(())
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
