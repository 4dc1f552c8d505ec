//! A hash table of keys as bytes: one string as it stands, or the encoded bytes of several keys. The bytes of all keys lie in one
//! arena; a slot holds a part of the hash and the group's number, so that most probes that miss never touch the arena.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use squall_functions::GroupIds;
use squall_planner::{Expression, SortKey};
use squall_types::memory::reserve;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result};

use super::key_table::{KeyTable, downcast_table, partition_of, prefetch, reserve_slots};
use crate::sort::keys::encode_keys;

const PREFETCH_AHEAD: usize = 8;

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The hash's middle bits: the low ones are the slot's place, the high ones the partition.
    tag: u32,
    /// The group's number plus one; 0 is an empty slot.
    group: u32,
}

/// Byte strings, one after the other.
#[derive(Default)]
struct Arena {
    bytes: Vec<u8>,
    /// The end of each string.
    ends: Vec<usize>,
}

impl Arena {
    /// Reserves memory where the next string makes the arena grow.
    #[inline]
    fn reserve(&self, length: usize) -> Result<()> {
        if self.bytes.len() + length > self.bytes.capacity() {
            reserve((self.bytes.len() + length).max(2 * self.bytes.capacity()))?;
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

/// Groups by keys as bytes.
pub(crate) struct BytesTable {
    /// The keys' types where keys are encoded rows; `None` where the key is one string as it stands.
    types: Option<Arc<[DataType]>>,
    slots: Vec<Slot>,
    keys: Arena,
    hashes: Vec<u64>,
    /// Encoded rows cannot be decoded: the key columns of new groups, in the order of groups.
    columns: Vec<Vec<Column>>,
    /// The first group of each of them.
    starts: Vec<usize>,
    row_hashes: Vec<u64>,
}

fn hash(bytes: &[u8]) -> u64 {
    // A fixed seed: partitions of all workers must agree. The table's growth does not depend on hashes, and probes are bounded by
    // its half-emptiness, so that hostile keys cost time in their own query only.
    let mut hasher = foldhash::fast::FixedState::with_seed(0x5153_4C4C).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

impl BytesTable {
    /// A table of one `String` key.
    pub(crate) fn of_strings() -> Self {
        Self {
            types: None,
            slots: Vec::new(),
            keys: Arena::default(),
            hashes: Vec::new(),
            columns: Vec::new(),
            starts: Vec::new(),
            row_hashes: Vec::new(),
        }
    }

    /// A table of any keys, encoded.
    pub(crate) fn of_rows(types: &[DataType]) -> Self {
        Self { types: Some(types.into()), ..Self::of_strings() }
    }

    fn reserve(&mut self, groups: usize) -> Result<()> {
        if groups * 2 <= self.slots.len() {
            return Ok(());
        }
        let wanted = reserve_slots::<(Slot, u64, usize)>(groups)?;
        // As many groups may come until the slots double again.
        self.hashes.reserve_exact(wanted / 2 - self.hashes.len());
        self.keys.ends.reserve_exact(wanted / 2 - self.keys.ends.len());
        // The slots are made again from the groups: the smaller ones need not be there meanwhile.
        self.slots = Vec::new();
        self.slots = vec![Slot::default(); wanted];
        let mask = wanted - 1;
        for (group, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize & mask;
            while self.slots[at].group != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = Slot { tag: (hash >> 24) as u32, group: group as u32 + 1 };
        }
        Ok(())
    }

    /// The groups of keys with these hashes, in order; the rows that made new groups are added to `new_rows`.
    fn find_or_insert<'k>(
        &mut self,
        hashes: &[u64],
        key: impl Fn(usize) -> &'k [u8],
        ids: &mut Vec<u32>,
        new_rows: &mut Vec<u32>,
    ) -> Result<()> {
        ids.clear();
        ids.reserve(hashes.len());
        for (row, hash) in hashes.iter().enumerate() {
            if self.hashes.len() * 2 >= self.slots.len() {
                self.reserve(self.hashes.len() * 2 + 1)?;
            }
            let mask = self.slots.len() - 1;
            if let Some(ahead) = hashes.get(row + PREFETCH_AHEAD) {
                prefetch(&self.slots, *ahead as usize & mask);
            }
            let (bytes, tag) = (key(row), (hash >> 24) as u32);
            let mut at = *hash as usize & mask;
            let group = loop {
                let slot = self.slots[at];
                if slot.group == 0 {
                    self.keys.reserve(bytes.len())?;
                    self.keys.push(bytes);
                    self.hashes.push(*hash);
                    new_rows.push(row as u32);
                    let group = self.hashes.len() as u32;
                    self.slots[at] = Slot { tag, group };
                    break group;
                }
                if slot.tag == tag && self.keys.get(slot.group as usize - 1) == bytes {
                    break slot.group;
                }
                at = (at + 1) & mask;
            };
            ids.push(group - 1);
        }
        Ok(())
    }

    /// Keeps the key columns of the rows that made new groups.
    fn keep_columns(&mut self, keys: &[Column], new_rows: Vec<u32>) -> Result<()> {
        if self.types.is_none() || new_rows.is_empty() {
            return Ok(());
        }
        let positions = UInt32Array::from(new_rows);
        let columns = keys.iter().map(|key| key.take(&positions)).collect::<Result<_>>()?;
        self.starts.push(self.hashes.len() - positions.len());
        self.columns.push(columns);
        Ok(())
    }

    /// The key columns of these groups.
    fn gather(&self, types: &[DataType], groups: impl Iterator<Item = usize>) -> Result<Vec<Column>> {
        let positions: Vec<(usize, usize)> = groups
            .map(|group| {
                let chunk = self.starts.partition_point(|start| *start <= group) - 1;
                (chunk, group - self.starts[chunk])
            })
            .collect();
        let column = |(at, data_type): (usize, &DataType)| {
            if positions.is_empty() {
                return Ok(Column::empty(data_type.clone()));
            }
            let arrays: Vec<&dyn Array> = self.columns.iter().map(|chunk| &**chunk[at].array()).collect();
            Ok(Column::new(data_type.clone(), arrow_select::interleave::interleave(&arrays, &positions)?))
        };
        types.iter().enumerate().map(column).collect()
    }

    /// One string column of the keys of these groups.
    fn strings(&self, groups: Range<usize>) -> Result<Column> {
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of keys in one block");
        let start = |group: usize| if group == 0 { 0 } else { self.keys.ends[group - 1] };
        let first = start(groups.start);
        let mut offsets = Vec::with_capacity(groups.len() + 1);
        offsets.push(0);
        for end in &self.keys.ends[groups.clone()] {
            offsets.push(i32::try_from(*end - first).map_err(|_| too_large())?);
        }
        let bytes = &self.keys.bytes[first..start(groups.end)];
        reserve(bytes.len())?;
        let array = BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.to_vec().into(), None)?;
        Ok(Column::new(DataType::String, Arc::new(array)))
    }
}

impl KeyTable for BytesTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], rows: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let mut hashes = std::mem::take(&mut self.row_hashes);
        hashes.clear();
        let mut new_rows = Vec::new();
        match &self.types {
            None => {
                let key = keys.first().ok_or_else(|| Error::logical("a string table without a key"))?;
                let strings =
                    key.array().as_binary_opt::<i32>().ok_or_else(|| Error::logical("a key that is no string"))?;
                hashes.extend((0..rows).map(|row| hash(strings.value(row))));
                self.find_or_insert(&hashes, |row| strings.value(row), scratch, &mut new_rows)?;
            }
            Some(_) => {
                let named = keys.iter().enumerate().map(|(at, key)| (at.to_string(), key.clone()));
                let block = Block::from_columns(named)?;
                let order: Vec<SortKey> = keys.iter().enumerate().map(ascending).collect();
                let encoded = encode_keys(&order, &block)?;
                hashes.extend((0..rows).map(|row| hash(encoded.key(row))));
                self.find_or_insert(&hashes, |row| encoded.key(row), scratch, &mut new_rows)?;
            }
        }
        self.keep_columns(keys, new_rows)?;
        self.row_hashes = hashes;
        Ok(GroupIds::Each(scratch))
    }

    fn groups(&self) -> usize {
        self.hashes.len()
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        let partitions = lists.len();
        for (hash, group) in self.hashes[groups.clone()].iter().zip(groups) {
            lists[partition_of(*hash, partitions)].push(group as u32);
        }
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        let mut part = Self { types: self.types.clone(), ..Self::of_strings() };
        let bytes: usize = groups.iter().map(|group| self.keys.get(*group as usize).len()).sum();
        reserve(bytes + groups.len() * (size_of::<usize>() + size_of::<u64>()))?;
        part.keys.bytes.reserve_exact(bytes);
        for group in groups {
            part.keys.push(self.keys.get(*group as usize));
            part.hashes.push(self.hashes[*group as usize]);
        }
        if let Some(types) = &self.types
            && !groups.is_empty()
        {
            part.columns.push(self.gather(types, groups.iter().map(|group| *group as usize))?);
            part.starts.push(0);
        }
        Ok(Box::new(part))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        let other = downcast_table::<Self>(other)?;
        let (first, mut new_rows, known) = (groups.start, Vec::new(), self.hashes.len());
        self.find_or_insert(&other.hashes[groups], |row| other.keys.get(first + row), to, &mut new_rows)?;
        if let Some(types) = &self.types
            && !new_rows.is_empty()
        {
            self.columns.push(other.gather(types, new_rows.iter().map(|row| first + *row as usize))?);
            self.starts.push(known);
        }
        Ok(())
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.reserve(groups)
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        match &self.types {
            Some(types) => self.gather(types, groups),
            None => Ok(vec![self.strings(groups)?]),
        }
    }

    fn memory_bytes(&self) -> usize {
        let slots = self.slots.capacity() * size_of::<Slot>();
        let numbers = (self.hashes.capacity() + self.keys.ends.capacity()) * size_of::<u64>();
        let columns = if self.types.is_some() { self.keys.bytes.len() } else { 0 };
        slots + numbers + self.keys.bytes.capacity() + columns
    }
}

fn ascending((position, key): (usize, &Column)) -> SortKey {
    let expression = Expression::Column { position, data_type: key.data_type().clone() };
    SortKey { expression, descending: false, nulls_first: false }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;

    use super::super::fixed_table::FixedTable;
    use super::*;

    fn table(keys: &[Vec<Column>]) -> BytesTable {
        let mut table = BytesTable::of_rows(&[DataType::String]);
        for keys in keys {
            table.group_ids(keys, keys[0].rows(), &mut Vec::new()).unwrap();
        }
        table
    }

    fn strings(values: &[&str]) -> Vec<Column> {
        vec![Column::new(DataType::String, Arc::new(BinaryArray::from_iter_values(values)))]
    }

    #[test]
    fn an_error_while_keys_are_collected_is_told() {
        // Columns that cannot be put together stand for those that would be too long.
        let number = || vec![Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![1, 2, 3])];
        let broken = table(&[strings(&["a", "b"]), number()]);
        assert!(broken.part(&[0, 3]).is_err());
        assert!(broken.columns(0..5).is_err());
        assert!(table(&[strings(&["c"])]).merge(&broken, 0..5, &mut Vec::new()).is_err());
    }

    #[test]
    fn each_partition_has_the_keys_of_its_groups() {
        let keys = strings(&["a", "b", "c", "d", "e", "f"]);
        let whole = table(&[keys.clone(), strings(&["c", "g"])]);
        let mut lists = vec![Vec::new(); 4];
        whole.partition(0..3, &mut lists);
        whole.partition(3..7, &mut lists);
        assert_eq!(lists.iter().map(Vec::len).sum::<usize>(), 7);
        let all = whole.columns(0..7).unwrap();
        for list in lists {
            let part = whole.part(&list).unwrap();
            let columns = part.columns(0..list.len()).unwrap();
            for (row, group) in list.iter().enumerate() {
                assert_eq!(columns[0].value(row), all[0].value(*group as usize));
            }
            // What is merged has the numbers that it had before, and its new groups the next ones.
            let mut merged = table(&[strings(&["d", "x"])]);
            let mut to = Vec::new();
            merged.merge(&*part, 0..list.len(), &mut to).unwrap();
            let found = merged.columns(0..merged.groups()).unwrap();
            for (row, to) in to.iter().enumerate() {
                assert_eq!(found[0].value(*to as usize), columns[0].value(row));
            }
        }
    }

    #[test]
    fn groups_that_cannot_be_numbered_are_an_error() {
        let error = BytesTable::of_strings().reserve((1 << 31) + 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::TOO_MANY_ROWS);
        assert_eq!(FixedTable::<u64>::new(&[DataType::UInt64]).reserve(usize::MAX / 4).unwrap_err().code, error.code);
    }
}
