//! A hash table of keys packed into one number of up to 384 bits. Open addressing with linear probing; a slot holds the key and
//! the group's number, so that a lookup costs one cache miss, which is prefetched.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use squall_functions::GroupIds;
use squall_types::memory::reserve;
use squall_types::{Column, DataType, Error, Physical, Result, grow};

use super::key_table::{KeyTable, NO_GROUP, downcast_table, partition_of};
use super::packed_key::{Packed, key_of, words};
use super::slots::{Slot, Slots};

/// Rows whose slots are prefetched before any of them is looked up.
const LOOKUPS_AT_ONCE: usize = 128;

/// Bytes that a value of this type takes in a packed key, with one for NULL where it may be; `None` where it cannot be packed.
pub(crate) fn packed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Nullable(inner) => Some(1 + packed_width(inner)?),
        // -0.0 and 0.0 differ in bits but not in value, and so do NaNs.
        other => match other.physical() {
            Physical::Float32 | Physical::Float64 => None,
            physical => physical.fixed_width_bytes().filter(|width| *width <= 16),
        },
    }
}

/// A key in as many words as it takes, and its group. Words, since integers of 64 and 128 bits would be padded.
#[derive(Clone, Copy)]
struct KeySlot<const WORDS: usize> {
    key: [u32; WORDS],
    /// The group's number plus one; 0 is an empty slot.
    group: u32,
}

impl<const WORDS: usize> Default for KeySlot<WORDS> {
    fn default() -> Self {
        Self { key: [0; WORDS], group: 0 }
    }
}

impl<const WORDS: usize> Slot for KeySlot<WORDS> {
    fn is_free(&self) -> bool {
        self.group == 0
    }
}

/// Groups by keys that are packed into integers, of which so many words count.
pub(crate) struct FixedTable<K, const WORDS: usize> {
    types: Arc<[DataType]>,
    slots: Slots<KeySlot<WORDS>>,
    keys: Vec<[u32; WORDS]>,
    packed: Vec<K>,
    /// Rows are groups, and there are no slots.
    is_list: bool,
    /// Keys that are not there make no groups.
    is_closed: bool,
}

impl<K: Packed, const WORDS: usize> FixedTable<K, WORDS> {
    pub(crate) fn new(types: &[DataType]) -> Self {
        Self {
            types: types.into(),
            slots: Slots::new(),
            keys: Vec::new(),
            packed: Vec::new(),
            is_list: false,
            is_closed: false,
        }
    }

    /// Makes slots for `groups` groups.
    pub(super) fn reserve(&mut self, groups: usize) -> Result<()> {
        if self.slots.has_room(groups) {
            return Ok(());
        }
        let slots = self.keys.iter().enumerate().map(|(group, key)| KeySlot { key: *key, group: group as u32 + 1 });
        self.slots.reserve(groups, slots, |slot| key_of::<K, WORDS>(&slot.key).hash())?;
        let more = groups.saturating_sub(self.keys.len());
        grow(&mut self.keys, more)
    }

    /// The groups of keys, in order; new keys get new groups.
    fn find_or_insert(&mut self, keys: &[K], ids: &mut Vec<u32>) -> Result<()> {
        if self.slots.is_empty() {
            self.reserve(self.keys.len() + 1)?;
        }
        ids.clear();
        ids.resize(keys.len(), NO_GROUP);
        let mut hashes = [0; LOOKUPS_AT_ONCE];
        for (keys, ids) in keys.chunks(LOOKUPS_AT_ONCE).zip(ids.chunks_mut(LOOKUPS_AT_ONCE)) {
            let hashes = &mut hashes[..keys.len()];
            hashes.iter_mut().zip(keys).for_each(|(hash, key)| *hash = key.hash());
            if self.slots.are_far() {
                hashes.iter().for_each(|hash| self.slots.prefetch(*hash));
            }
            match self.is_closed {
                true => self.find_some(keys, hashes, ids),
                false => self.find_or_insert_some(keys, hashes, ids)?,
            }
        }
        Ok(())
    }

    fn find_some(&self, keys: &[K], hashes: &[u64], ids: &mut [u32]) {
        for ((key, hash), id) in keys.iter().zip(hashes).zip(ids) {
            let key = words(*key);
            if let Ok(slot) = self.slots.find(*hash, |slot| slot.key == key) {
                *id = slot.group - 1;
            }
        }
    }

    fn find_or_insert_some(&mut self, keys: &[K], hashes: &[u64], ids: &mut [u32]) -> Result<()> {
        let rows = keys.iter().zip(hashes).zip(ids);
        grow(&mut self.keys, keys.len())?;
        if let Some(mut slots) = self.slots.whole(keys.len()) {
            for ((key, hash), id) in rows {
                let key = words(*key);
                *id = match slots.find(*hash, |slot| slot.key == key) {
                    Ok(slot) => slot.group - 1,
                    Err(place) => {
                        self.keys.push(key);
                        slots.take(place, KeySlot { key, group: self.keys.len() as u32 });
                        self.keys.len() as u32 - 1
                    }
                };
            }
            return Ok(());
        }
        for ((key, hash), id) in rows {
            let key = words(*key);
            self.slots.make_room(*hash, |slot| key_of::<K, WORDS>(&slot.key).hash())?;
            *id = match self.slots.find(*hash, |slot| slot.key == key) {
                Ok(slot) => slot.group - 1,
                Err(place) => {
                    self.keys.push(key);
                    self.slots.take(*hash, place, KeySlot { key, group: self.keys.len() as u32 });
                    self.keys.len() as u32 - 1
                }
            };
        }
        Ok(())
    }
}

impl<K: Packed, const WORDS: usize> KeyTable for FixedTable<K, WORDS> {
    fn group_ids<'a>(&mut self, keys: &'a [Column], rows: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let mut packed = std::mem::take(&mut self.packed);
        pack(keys, rows, &mut packed)?;
        if self.is_list {
            let first = self.keys.len() as u32;
            grow(&mut self.keys, rows)?;
            self.keys.extend(packed.iter().map(|key| words::<K, WORDS>(*key)));
            scratch.clear();
            scratch.extend(first..self.keys.len() as u32);
        } else {
            self.find_or_insert(&packed, scratch)?;
        }
        self.packed = packed;
        Ok(GroupIds::Each(scratch))
    }

    fn groups(&self) -> usize {
        self.keys.len()
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
        pack(keys, rows, &mut self.packed)?;
        hashes.extend(self.packed.iter().map(|key| key.hash()));
        Ok(K::columns(&self.packed))
    }

    fn kept_hashes(&mut self, kept: &[Column], _rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
        K::read(kept, &mut self.packed)?;
        hashes.extend(self.packed.iter().map(|key| key.hash()));
        Ok(())
    }

    fn kept_group_ids<'a>(
        &mut self,
        kept: &'a [Column],
        _rows: usize,
        scratch: &'a mut Vec<u32>,
    ) -> Result<GroupIds<'a>> {
        let mut packed = std::mem::take(&mut self.packed);
        K::read(kept, &mut packed)?;
        self.find_or_insert(&packed, scratch)?;
        self.packed = packed;
        Ok(GroupIds::Each(scratch))
    }

    fn room(&self) -> usize {
        self.keys.capacity() - self.keys.len()
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        let partitions = lists.len();
        for (key, group) in self.keys[groups.clone()].iter().zip(groups) {
            lists[partition_of(key_of::<K, WORDS>(key).hash(), partitions)].push(group as u32);
        }
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        reserve(groups.len() * size_of::<[u32; WORDS]>())?;
        let keys = groups.iter().map(|group| self.keys[*group as usize]).collect();
        let (slots, packed) = (Slots::new(), Vec::new());
        Ok(Box::new(Self { types: self.types.clone(), slots, keys, packed, is_list: false, is_closed: false }))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        packed.extend(downcast_table::<Self>(other)?.keys[groups].iter().map(key_of::<K, WORDS>));
        self.find_or_insert(&packed, to)?;
        self.packed = packed;
        Ok(())
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.reserve(groups)
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        let mut shift = 0;
        let keys: Vec<K> = self.keys[groups].iter().map(key_of).collect();
        let columns = self.types.iter().map(|data_type| {
            let column = unpack(data_type, &keys, shift)?;
            shift += packed_width(data_type).unwrap_or(0) as u32 * 8;
            Ok(column)
        });
        columns.collect()
    }

    fn rest(&mut self) {
        self.packed = Vec::new();
    }

    fn memory_bytes(&self) -> usize {
        let keys = self.keys.capacity() * size_of::<[u32; WORDS]>();
        self.slots.memory_bytes() + keys + self.packed.capacity() * size_of::<K>()
    }
}

/// Packs the keys of each row, the first key lowest.
fn pack<K: Packed>(keys: &[Column], rows: usize, packed: &mut Vec<K>) -> Result<()> {
    packed.clear();
    packed.resize(rows, K::default());
    let mut shift = 0;
    for key in keys {
        let data_type = key.data_type();
        let array = key.array();
        let width = packed_width(data_type).ok_or_else(|| Error::logical(format!("{data_type} cannot be packed")))?;
        let mut value_shift = shift;
        if data_type.is_nullable() {
            value_shift += 8;
            if let Some(nulls) = array.nulls() {
                K::or_in(packed, (0..rows).map(|row| u64::from(nulls.is_null(row))), shift);
            }
        }
        or_values(array, packed, value_shift)?;
        shift += width as u32 * 8;
    }
    Ok(())
}

/// Or's the values of an array in; where a row is NULL, nothing, so that all NULLs are one key.
fn or_values<K: Packed>(array: &ArrayRef, packed: &mut [K], shift: u32) -> Result<()> {
    fn primitive<T: ArrowPrimitiveType, K: Packed>(
        array: &ArrayRef,
        packed: &mut [K],
        shift: u32,
        bits: impl Fn(T::Native) -> u64,
    ) -> Option<()> {
        let array = array.as_any().downcast_ref::<PrimitiveArray<T>>()?;
        match array.nulls() {
            None => K::or_in(packed, array.values().iter().map(|value| bits(*value)), shift),
            Some(nulls) => {
                let values = array.values().iter().enumerate();
                K::or_in(packed, values.map(|(row, value)| if nulls.is_valid(row) { bits(*value) } else { 0 }), shift);
            }
        }
        Some(())
    }
    use arrow_schema::DataType as Arrow;
    let done = match array.data_type() {
        Arrow::UInt8 => primitive::<UInt8Type, K>(array, packed, shift, u64::from),
        Arrow::UInt16 => primitive::<UInt16Type, K>(array, packed, shift, u64::from),
        Arrow::UInt32 => primitive::<UInt32Type, K>(array, packed, shift, u64::from),
        Arrow::UInt64 => primitive::<UInt64Type, K>(array, packed, shift, |value| value),
        Arrow::Int8 => primitive::<Int8Type, K>(array, packed, shift, |value| u64::from(value as u8)),
        Arrow::Int16 => primitive::<Int16Type, K>(array, packed, shift, |value| u64::from(value as u16)),
        Arrow::Int32 => primitive::<Int32Type, K>(array, packed, shift, |value| u64::from(value as u32)),
        Arrow::Int64 => primitive::<Int64Type, K>(array, packed, shift, |value| value as u64),
        Arrow::FixedSizeBinary(_) => array.as_any().downcast_ref::<FixedSizeBinaryArray>().map(|array| {
            let value = |row: usize| {
                if array.is_null(row) {
                    return 0;
                }
                let mut bytes = [0; 16];
                let value = array.value(row);
                bytes[..value.len()].copy_from_slice(value);
                u128::from_le_bytes(bytes)
            };
            for (row, packed) in packed.iter_mut().enumerate() {
                packed.or_bits(value(row), shift);
            }
        }),
        _ => None,
    };
    done.ok_or_else(|| Error::logical(format!("an array of {} cannot be packed", array.data_type())))
}

/// The column of the values at `shift` bits of each key.
fn unpack<K: Packed>(data_type: &DataType, keys: &[K], shift: u32) -> Result<Column> {
    let mut value_shift = shift;
    let nulls = data_type.is_nullable().then(|| {
        value_shift += 8;
        NullBuffer::from_iter(keys.iter().map(|key| key.bits(shift) as u8 == 0))
    });
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let bits = keys.iter().map(|key| key.bits(value_shift));
    fn array<T: ArrowPrimitiveType>(
        bits: impl Iterator<Item = u128>,
        nulls: Option<NullBuffer>,
        value: impl Fn(u128) -> T::Native,
    ) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(bits.map(value).collect::<Vec<_>>().into(), nulls))
    }
    use arrow_schema::DataType as Arrow;
    let values: ArrayRef = match data_type.arrow_type() {
        Arrow::UInt8 => array::<UInt8Type>(bits, nulls, |bits| bits as u8),
        Arrow::UInt16 => array::<UInt16Type>(bits, nulls, |bits| bits as u16),
        Arrow::UInt32 => array::<UInt32Type>(bits, nulls, |bits| bits as u32),
        Arrow::UInt64 => array::<UInt64Type>(bits, nulls, |bits| bits as u64),
        Arrow::Int8 => array::<Int8Type>(bits, nulls, |bits| bits as i8),
        Arrow::Int16 => array::<Int16Type>(bits, nulls, |bits| bits as i16),
        Arrow::Int32 => array::<Int32Type>(bits, nulls, |bits| bits as i32),
        Arrow::Int64 => array::<Int64Type>(bits, nulls, |bits| bits as i64),
        Arrow::Float32 => array::<Float32Type>(bits, nulls, |bits| f32::from_bits(bits as u32)),
        Arrow::Float64 => array::<Float64Type>(bits, nulls, |bits| f64::from_bits(bits as u64)),
        Arrow::FixedSizeBinary(width) => {
            let mut bytes = Vec::with_capacity(keys.len() * width as usize);
            bits.for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()[..width as usize]));
            Arc::new(FixedSizeBinaryArray::try_new(width, bytes.into(), nulls)?)
        }
        other => return Err(Error::logical(format!("an array of {other} cannot be unpacked"))),
    };
    Ok(Column::new(data_type.clone(), values))
}
