//! A hash table of keys as bytes: one string as it stands, or the encoded bytes of several keys. The bytes of all keys lie in one
//! arena; a slot holds a part of the hash and the group's number, so that most probes that miss never touch the arena.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BinaryArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use squall_functions::GroupIds;
use squall_planner::{Expression, SortKey};
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
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    fn len(&self) -> usize {
        self.ends.len()
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
        let wanted = reserve_slots::<Slot>(groups)?;
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
        self.columns.push(columns);
        Ok(())
    }

    /// The key columns of all groups.
    fn all_columns(types: &[DataType], chunks: &[Vec<Column>]) -> Result<Vec<Column>> {
        let column = |(at, data_type): (usize, &DataType)| {
            let parts: Vec<Column> = chunks.iter().map(|chunk| chunk[at].clone()).collect();
            if parts.is_empty() { Ok(Column::empty(data_type.clone())) } else { Column::concat(&parts) }
        };
        types.iter().enumerate().map(column).collect()
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

    fn partition(self: Box<Self>, partitions: usize) -> Result<Vec<(Box<dyn KeyTable>, Vec<u32>)>> {
        if partitions == 1 {
            let groups = (0..self.hashes.len() as u32).collect();
            return Ok(vec![(self, groups)]);
        }
        let mut groups_of: Vec<Vec<u32>> = vec![Vec::new(); partitions];
        for (group, hash) in self.hashes.iter().enumerate() {
            groups_of[partition_of(*hash, partitions)].push(group as u32);
        }
        let columns = self.types.as_ref().map(|types| Self::all_columns(types, &self.columns)).transpose()?;
        let parts = groups_of.into_iter().map(|groups| {
            let mut part = Self { types: self.types.clone(), ..Self::of_strings() };
            for group in &groups {
                part.keys.push(self.keys.get(*group as usize));
                part.hashes.push(self.hashes[*group as usize]);
            }
            if let Some(columns) = &columns {
                part.keep_columns(columns, groups.clone())?;
            }
            Ok((Box::new(part) as Box<dyn KeyTable>, groups))
        });
        parts.collect()
    }

    fn merge(&mut self, other: Box<dyn KeyTable>) -> Result<Vec<u32>> {
        let other = downcast_table::<Self>(other)?;
        self.reserve(self.hashes.len() + other.hashes.len())?;
        let (mut ids, mut new_rows) = (Vec::new(), Vec::new());
        self.find_or_insert(&other.hashes, |row| other.keys.get(row), &mut ids, &mut new_rows)?;
        if let Some(types) = &self.types {
            let columns = Self::all_columns(types, &other.columns)?;
            self.keep_columns(&columns, new_rows)?;
        }
        Ok(ids)
    }

    fn into_columns(self: Box<Self>) -> Result<Vec<Column>> {
        if let Some(types) = &self.types {
            return Self::all_columns(types, &self.columns);
        }
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of keys in one partition");
        let mut offsets = Vec::with_capacity(self.keys.len() + 1);
        offsets.push(0);
        for end in &self.keys.ends {
            offsets.push(i32::try_from(*end).map_err(|_| too_large())?);
        }
        let array = BinaryArray::try_new(OffsetBuffer::new(offsets.into()), self.keys.bytes.into(), None)?;
        Ok(vec![Column::new(DataType::String, Arc::new(array))])
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
        let broken = || table(&[strings(&["a", "b"]), number()]);
        assert!(Box::new(broken()).partition(4).is_err());
        assert!(Box::new(broken()).into_columns().is_err());
        assert!(table(&[strings(&["c"])]).merge(Box::new(broken())).is_err());
    }

    #[test]
    fn each_partition_has_the_keys_of_its_groups() {
        let keys = strings(&["a", "b", "c", "d", "e", "f"]);
        let parts = Box::new(table(std::slice::from_ref(&keys))).partition(4).unwrap();
        let mut groups = 0;
        for (part, groups_of) in parts {
            let columns = part.into_columns().unwrap();
            for (row, group) in groups_of.iter().enumerate() {
                assert_eq!(columns[0].value(row), keys[0].value(*group as usize));
            }
            groups += groups_of.len();
        }
        assert_eq!(groups, 6);
    }

    #[test]
    fn groups_that_cannot_be_numbered_are_an_error() {
        let error = BytesTable::of_strings().reserve((1 << 31) + 1).unwrap_err();
        assert_eq!(error.code, ErrorCode::TOO_MANY_ROWS);
        assert_eq!(FixedTable::<u64>::new(&[DataType::UInt64]).reserve(usize::MAX / 4).unwrap_err().code, error.code);
    }
}
