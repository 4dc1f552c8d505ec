//! A hash table of keys as bytes: one string as it stands, or the encoded bytes of several keys. The bytes of all keys lie in one
//! arena. Short keys have slots of their own that hold them whole; the slot of a longer one holds a part of its hash and the group's number, so
//! that most probes that miss never touch the arena.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use squall_functions::GroupIds;
use squall_types::gather::interleave;
use squall_types::memory::reserve;
use squall_types::{Column, DataType, Error, ErrorCode, Result, grow};

use super::arena::Arena;
use super::coded_keys::CodedKeys;
use super::key_reader::{Form, KeyReader, ReadKeys};
use super::key_table::{KeyTable, NO_GROUP, downcast_table, partition_of};
use super::lookup_keys::LookupKeys;
use super::row_key::RowFormat;
use super::short_key::ShortKey;
use super::slots::{Slot, Slots};

/// Rows of which all that lookups read is prefetched before any of them is looked up.
const LOOKUPS_AT_ONCE: usize = 64;
/// How many groups ahead keys are prefetched.
const PREFETCH_AHEAD: usize = 8;

#[derive(Clone, Copy, Default)]
struct TagSlot {
    /// The hash's middle bits: the low ones are the slot's place, the high ones the partition.
    tag: u32,
    /// The group's number plus one; 0 is an empty slot.
    group: u32,
}

impl TagSlot {
    fn new(hash: u64, group: u32) -> Self {
        Self { tag: tag_of(hash), group }
    }
}

impl Slot for TagSlot {
    fn is_free(&self) -> bool {
        self.group == 0
    }
}

#[derive(Clone, Copy, Default)]
struct ShortSlot {
    key: ShortKey,
    /// The group's number plus one; 0 is an empty slot.
    group: u32,
}

impl Slot for ShortSlot {
    fn is_free(&self) -> bool {
        self.group == 0
    }
}

fn tag_of(hash: u64) -> u32 {
    (hash >> 24) as u32
}

/// Groups by keys as bytes.
pub(crate) struct BytesTable {
    form: Form,
    /// Of keys that are short.
    short_slots: Slots<ShortSlot>,
    /// Of all others.
    slots: Slots<TagSlot>,
    keys: Arena,
    hashes: Vec<u64>,
    /// The key columns of new groups, in the order of groups, where these are kept.
    columns: Vec<Vec<Column>>,
    /// The first group of each of them.
    starts: Vec<usize>,
    /// Bytes of their values.
    columns_bytes: usize,
    reader: KeyReader,
    coded: CodedKeys,
    /// Rows are groups, and there are no slots.
    is_list: bool,
    /// Keys that are not there make no groups.
    is_closed: bool,
}

impl BytesTable {
    /// A table of one `String` key.
    pub(crate) fn of_strings() -> Self {
        Self {
            form: Form::String,
            short_slots: Slots::new(),
            slots: Slots::new(),
            keys: Arena::default(),
            hashes: Vec::new(),
            columns: Vec::new(),
            starts: Vec::new(),
            columns_bytes: 0,
            reader: KeyReader::default(),
            coded: CodedKeys::default(),
            is_list: false,
            is_closed: false,
        }
    }

    /// A table of any keys, encoded.
    pub(crate) fn of_rows(types: &[DataType]) -> Self {
        let form = match RowFormat::of(types) {
            Some(format) => Form::Rows(Arc::new(format)),
            None => return Self::of_columns(types),
        };
        Self { form, ..Self::of_strings() }
    }

    /// A table whose columns are kept.
    fn of_columns(types: &[DataType]) -> Self {
        Self { form: Form::Columns(types.into()), ..Self::of_strings() }
    }

    fn reserve(&mut self, groups: usize) -> Result<()> {
        let known = self.hashes.len();
        let key = |group: usize| ShortKey::of(self.keys.get(group));
        // Of those to come as many are short as of those that are here.
        const SAMPLE: usize = 1 << 10;
        let sample = known.min(SAMPLE);
        let sampled_short = (0..sample).filter(|group| !key(*group).is_long()).count();
        let short = if sample == 0 { 0 } else { groups.div_ceil(sample).saturating_mul(sampled_short).min(groups) };
        let hashes = &self.hashes;
        if !self.short_slots.has_room(short) {
            let slots = (0..known).map(|group| ShortSlot { key: key(group), group: group as u32 + 1 });
            self.short_slots.reserve(short, slots.filter(|slot| !slot.key.is_long()), |slot| slot.key.hash())?;
        }
        if !self.slots.has_room(groups - short) {
            let slots = hashes.iter().enumerate().filter(|(group, _)| key(*group).is_long());
            let slots = slots.map(|(group, hash)| TagSlot::new(*hash, group as u32 + 1));
            self.slots.reserve(groups - short, slots, |slot| hashes[slot.group as usize - 1])?;
        }
        let more = groups.saturating_sub(known);
        grow(&mut self.hashes, more)?;
        grow(&mut self.keys.ends, more)
    }

    /// Brings near what the lookups of rows will read, as far as can be told before they are made.
    fn prefetch_rows(&self, hashes: &[u64], short: &[ShortKey]) {
        let rows = || hashes.iter().zip(short);
        if self.short_slots.are_far() {
            rows().filter(|(_, key)| !key.is_long()).for_each(|(hash, _)| self.short_slots.prefetch(*hash));
        }
        if !self.slots.are_far() {
            return;
        }
        let long = || rows().filter(|(_, key)| key.is_long()).map(|(hash, _)| *hash);
        long().for_each(|hash| self.slots.prefetch(hash));
        let candidates = || {
            let slots = long().map(|hash| (hash, self.slots.first(hash)));
            let slots = slots.filter(|(hash, slot)| slot.tag == tag_of(*hash) && !slot.is_free());
            slots.map(|(_, slot)| slot.group as usize - 1)
        };
        candidates().for_each(|group| self.keys.prefetch_end(group));
        candidates().for_each(|group| self.keys.prefetch_bytes(group));
    }

    /// Makes every row a group.
    fn append(&mut self, keys: ReadKeys<'_>, ids: &mut Vec<u32>, new_rows: &mut Vec<u32>) -> Result<()> {
        let LookupKeys { hashes, short } = keys.known;
        let first = self.hashes.len() as u32;
        grow(&mut self.hashes, hashes.len())?;
        self.hashes.extend_from_slice(hashes);
        if matches!(self.form, Form::Columns(_)) {
            // The bytes would not be looked at again.
            new_rows.extend(0..hashes.len() as u32);
        } else {
            let length =
                |(row, short): (usize, &ShortKey)| if short.is_long() { keys.key(row).len() } else { short.length() };
            self.keys.make_room(hashes.len(), short.iter().enumerate().map(length).sum())?;
            for (row, short) in short.iter().enumerate() {
                match short.is_long() {
                    true => self.keys.push(keys.key(row)),
                    false => self.keys.push(&short.to_bytes()[..short.length()]),
                }
            }
        }
        ids.clear();
        ids.extend(first..self.hashes.len() as u32);
        Ok(())
    }

    /// The groups of keys, in order; the rows that made new groups are added to `new_rows`.
    fn find_or_insert(&mut self, keys: ReadKeys<'_>, ids: &mut Vec<u32>, new_rows: &mut Vec<u32>) -> Result<()> {
        if self.is_list {
            return self.append(keys, ids, new_rows);
        }
        if self.slots.is_empty() {
            self.reserve(self.hashes.len() + 1)?;
        }
        ids.clear();
        ids.reserve(keys.rows());
        let LookupKeys { hashes, short } = keys.known;
        for (row, (hash, short)) in hashes.iter().zip(short).enumerate() {
            if row % LOOKUPS_AT_ONCE == 0 {
                let some = row..keys.rows().min(row + LOOKUPS_AT_ONCE);
                self.prefetch_rows(&hashes[some.clone()], &keys.known.short[some]);
            }
            let group = if short.is_long() {
                let known = &self.hashes;
                self.slots.make_room(*hash, |slot| known[slot.group as usize - 1])?;
                let (bytes, tag) = (keys.key(row), tag_of(*hash));
                let is_key = |slot: &TagSlot| slot.tag == tag && self.keys.get(slot.group as usize - 1) == bytes;
                match self.slots.find(*hash, is_key) {
                    Ok(slot) => slot.group,
                    Err(_) if self.is_closed => {
                        ids.push(NO_GROUP);
                        continue;
                    }
                    Err(place) => {
                        let group = self.add_group(bytes, *hash)?;
                        self.slots.take(*hash, place, TagSlot { tag, group });
                        new_rows.push(row as u32);
                        group
                    }
                }
            } else {
                self.short_slots.make_room(*hash, |slot| slot.key.hash())?;
                match self.short_slots.find(*hash, |slot| slot.key == *short) {
                    Ok(slot) => slot.group,
                    Err(_) if self.is_closed => {
                        ids.push(NO_GROUP);
                        continue;
                    }
                    Err(place) => {
                        let group = self.add_group(&short.to_bytes()[..short.length()], *hash)?;
                        self.short_slots.take(*hash, place, ShortSlot { key: *short, group });
                        new_rows.push(row as u32);
                        group
                    }
                }
            };
            ids.push(group - 1);
        }
        Ok(())
    }

    /// Adds a group; its number plus one.
    fn add_group(&mut self, key: &[u8], hash: u64) -> Result<u32> {
        self.keys.make_room(1, key.len())?;
        grow(&mut self.hashes, 1)?;
        self.keys.push(key);
        self.hashes.push(hash);
        Ok(self.hashes.len() as u32)
    }

    /// Keeps the key columns of the rows that made new groups.
    fn keep_columns(&mut self, keys: &[Column], new_rows: Vec<u32>) -> Result<()> {
        if !matches!(self.form, Form::Columns(_)) || new_rows.is_empty() {
            return Ok(());
        }
        let positions = UInt32Array::from(new_rows);
        let columns = keys.iter().map(|key| key.take(&positions)).collect::<Result<_>>()?;
        self.push_columns(self.hashes.len() - positions.len(), columns);
        Ok(())
    }

    fn push_columns(&mut self, start: usize, columns: Vec<Column>) {
        self.columns_bytes += columns.iter().map(Column::value_bytes).sum::<usize>();
        self.starts.push(start);
        self.columns.push(columns);
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
            Ok(Column::new(data_type.clone(), interleave(&arrays, &positions)?))
        };
        types.iter().enumerate().map(column).collect()
    }

    /// One string column of the keys of these groups.
    fn strings(&self, groups: Range<usize>) -> Result<Column> {
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of keys in one block");
        let first = self.keys.start(groups.start);
        let mut offsets = Vec::with_capacity(groups.len() + 1);
        offsets.push(0);
        for end in &self.keys.ends[groups.clone()] {
            offsets.push(i32::try_from(*end - first).map_err(|_| too_large())?);
        }
        let bytes = &self.keys.bytes[first..self.keys.start(groups.end)];
        reserve(bytes.len())?;
        let array = BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.to_vec().into(), None)?;
        Ok(Column::new(DataType::String, Arc::new(array)))
    }

    /// The groups of rows, each looked up by its keys.
    fn look_up(&mut self, keys: &[Column], rows: usize, ids: &mut Vec<u32>) -> Result<()> {
        let mut new_rows = Vec::new();
        let (mut reader, form) = (std::mem::take(&mut self.reader), self.form.clone());
        self.find_or_insert(reader.read(&form, keys, rows)?, ids, &mut new_rows)?;
        self.reader = reader;
        self.keep_columns(keys, new_rows)
    }
}

impl KeyTable for BytesTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], rows: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let mut coded = std::mem::take(&mut self.coded);
        let is_found = !self.is_list
            && coded.find(keys, scratch, |keys, rows| {
                let mut ids = Vec::new();
                self.look_up(keys, rows, &mut ids)?;
                Ok(ids)
            })?;
        self.coded = coded;
        if !is_found {
            self.look_up(keys, rows, scratch)?;
        }
        Ok(GroupIds::Each(scratch))
    }

    fn groups(&self) -> usize {
        self.hashes.len()
    }

    fn stop_lookups(&mut self) -> bool {
        self.is_list = true;
        true
    }

    fn close(&mut self) -> bool {
        self.is_closed = true;
        true
    }

    fn has_hashes(&self) -> bool {
        true
    }

    fn keep(&mut self, keys: &[Column], rows: usize, hashes: &mut Vec<u64>) -> Result<Vec<Column>> {
        self.reader.keep(&self.form, keys, rows, hashes)
    }

    fn kept_hashes(&mut self, kept: &[Column], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
        self.reader.kept_hashes(&self.form, kept, rows, hashes)
    }

    fn kept_group_ids<'a>(
        &mut self,
        kept: &'a [Column],
        rows: usize,
        scratch: &'a mut Vec<u32>,
    ) -> Result<GroupIds<'a>> {
        let mut new_rows = Vec::new();
        let (mut reader, form) = (std::mem::take(&mut self.reader), self.form.clone());
        self.find_or_insert(reader.read_kept(&form, kept, rows)?, scratch, &mut new_rows)?;
        self.reader = reader;
        self.keep_columns(kept, new_rows)?;
        Ok(GroupIds::Each(scratch))
    }

    fn room(&self) -> usize {
        self.hashes.capacity() - self.hashes.len()
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        let partitions = lists.len();
        for (hash, group) in self.hashes[groups.clone()].iter().zip(groups) {
            lists[partition_of(*hash, partitions)].push(group as u32);
        }
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        let mut part = Self { form: self.form.clone(), ..Self::of_strings() };
        let bytes: usize = groups.iter().map(|group| self.keys.get(*group as usize).len()).sum();
        reserve(bytes + groups.len() * (size_of::<usize>() + size_of::<u64>()))?;
        part.keys.bytes.reserve_exact(bytes);
        part.keys.ends.reserve_exact(groups.len());
        part.hashes.reserve_exact(groups.len());
        for (at, group) in groups.iter().enumerate() {
            if let Some(ahead) = groups.get(at + PREFETCH_AHEAD) {
                self.keys.prefetch_bytes(*ahead as usize);
            }
            part.keys.push(self.keys.get(*group as usize));
            part.hashes.push(self.hashes[*group as usize]);
        }
        if let Form::Columns(types) = &self.form
            && !groups.is_empty()
        {
            part.push_columns(0, self.gather(types, groups.iter().map(|group| *group as usize))?);
        }
        Ok(Box::new(part))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        let other = downcast_table::<Self>(other)?;
        let (first, mut new_rows, known) = (groups.start, Vec::new(), self.hashes.len());
        let mut reader = std::mem::take(&mut self.reader);
        self.find_or_insert(reader.read_groups(&other.keys, first, &other.hashes[groups]), to, &mut new_rows)?;
        self.reader = reader;
        if let Form::Columns(types) = &self.form
            && !new_rows.is_empty()
        {
            let columns = other.gather(types, new_rows.iter().map(|row| first + *row as usize))?;
            self.push_columns(known, columns);
        }
        Ok(())
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.reserve(groups)
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        match &self.form {
            Form::String => Ok(vec![self.strings(groups)?]),
            Form::Rows(format) => format.decode(groups.map(|group| self.keys.get(group)).collect()),
            Form::Columns(types) => self.gather(types, groups),
        }
    }

    fn gather_columns(&self, groups: &[u32]) -> Result<Vec<Column>> {
        match &self.form {
            Form::String => self.part(groups)?.columns(0..groups.len()),
            Form::Rows(format) => format.decode(groups.iter().map(|group| self.keys.get(*group as usize)).collect()),
            Form::Columns(types) => self.gather(types, groups.iter().map(|group| *group as usize)),
        }
    }

    fn rest(&mut self) {
        self.reader = KeyReader::default();
        self.coded = CodedKeys::default();
    }

    fn memory_bytes(&self) -> usize {
        let slots = self.slots.memory_bytes() + self.short_slots.memory_bytes();
        let hashes = self.hashes.capacity() * size_of::<u64>();
        slots
            + hashes
            + self.keys.memory_bytes()
            + self.reader.memory_bytes()
            + self.coded.memory_bytes()
            + self.columns_bytes
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;

    use super::super::fixed_table::FixedTable;
    use super::*;

    fn table(keys: &[Vec<Column>]) -> BytesTable {
        let mut table = BytesTable::of_columns(&[DataType::String]);
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
        assert_eq!(
            FixedTable::<u64, 2>::new(&[DataType::UInt64]).reserve(usize::MAX / 4).unwrap_err().code,
            error.code
        );
    }
}
