//! The order in which ClickHouse's hash tables hold keys: who reads a set of distinct values there gets them by the slots of an open
//! table. Results and states of sets that are not large come in the same order here.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, UInt32Array};
use squall_types::{Column, DataType, Result, checkpoint, kernels};

use super::row_bytes::RowBytes;
use super::row_hash::mix;
use crate::scalar::hash::checksum::crc32c;
use crate::scalar::hash::city;

/// Larger sets stay as they are: several threads fill them, and then their order is no one's.
const KEYS_MAX: usize = 65_536;

const FREE: u32 = u32::MAX;

/// How a table begins and grows, when it is half full.
#[derive(Clone, Copy)]
pub(in crate::aggregate) struct Table {
    /// The binary logarithm of the number of slots at first.
    pub first: u32,
    /// That of the factor by which it grows.
    pub growth: u32,
}

impl Table {
    /// The numbers of keys, which came in this order, by their slots. A key without a hash, the zero, is kept apart and comes first.
    pub fn order(self, hashes: &[Option<u64>]) -> Vec<u32> {
        let mut order = Vec::with_capacity(hashes.len());
        let mut slots = vec![FREE; 1 << self.first];
        for (key, hash) in hashes.iter().enumerate() {
            match hash {
                None => order.push(key as u32),
                Some(hash) => {
                    let slot = find(&slots, *hash, FREE);
                    slots[slot] = key as u32;
                }
            }
            if key + 1 > slots.len() / 2 {
                grow(&mut slots, self.growth, hashes);
            }
        }
        order.extend(slots.into_iter().filter(|key| *key != FREE));
        order
    }
}

/// The first slot from a hash's own on that is free or holds a key.
fn find(slots: &[u32], hash: u64, key: u32) -> usize {
    let mask = slots.len() - 1;
    let mut slot = hash as usize & mask;
    while slots[slot] != FREE && slots[slot] != key {
        slot = (slot + 1) & mask;
    }
    slot
}

/// Grows a table in its place: keys move from the first slot on, and those that had no room at the end of the old table after these.
fn grow(slots: &mut Vec<u32>, growth: u32, hashes: &[Option<u64>]) {
    let old = slots.len();
    slots.resize(old << growth, FREE);
    let mut slot = 0;
    while slot < old || slots.get(slot).is_some_and(|key| *key != FREE) {
        let key = slots[slot];
        if let Some(Some(hash)) = hashes.get(key as usize) {
            let to = find(slots, *hash, key);
            if slots[to] == FREE {
                slots[slot] = FREE;
                slots[to] = key;
            }
        }
        slot += 1;
    }
}

/// What is hashed of values of a type, and how.
enum Hashing {
    /// Numbers of one byte are slots themselves.
    Slots,
    /// CRC-32C of numbers.
    Crc,
    /// Floating-point numbers, whose bits are mixed.
    Mixed,
    /// Bytes in memory.
    Bytes,
}

impl Hashing {
    fn of(data_type: &DataType) -> Self {
        use DataType as T;
        match data_type {
            T::UInt8 | T::Int8 | T::Bool | T::Enum8(_) => Self::Slots,
            T::Float32 | T::Float64 | T::IPv4 => Self::Mixed,
            T::Date | T::DateTime(_) | T::Enum16(_) => Self::Crc,
            other if other.is_integer() || other.is_wide_integer() => Self::Crc,
            _ => Self::Bytes,
        }
    }

    fn table(&self) -> Table {
        match self {
            Self::Slots => Table { first: 8, growth: 1 },
            Self::Crc | Self::Mixed => Table { first: 4, growth: 2 },
            Self::Bytes => Table { first: 5, growth: 2 },
        }
    }

    fn hash(&self, bytes: &[u8]) -> Option<u64> {
        match self {
            Self::Bytes => (!bytes.is_empty()).then(|| hash_bytes(bytes)),
            _ if bytes.iter().all(|byte| *byte == 0) => None,
            Self::Slots => Some(word(bytes)),
            Self::Crc => Some(hash_number(bytes)),
            Self::Mixed => Some(mix(word(bytes))),
        }
    }
}

/// Up to eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// CRC-32C of a number's words.
pub(in crate::aggregate) fn hash_number(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(u32::MAX, |crc, chunk| crc32c(crc, word(chunk))).into()
}

/// CRC-32C of the words from the first on and of the last eight bytes; CityHash's way with fewer.
pub(in crate::aggregate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let Some((_, last)) = bytes.split_last_chunk::<8>() else { return city::hash64(bytes) };
    let words = bytes.chunks_exact(8).take((bytes.len().div_ceil(8) - 1).max(1));
    crc32c(words.fold(u32::MAX, |crc, chunk| crc32c(crc, word(chunk))), u64::from_le_bytes(*last)).into()
}

/// An array of distinct values a row, each row's in the order of its slots.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub(in crate::aggregate) fn by_slots(column: Column) -> Result<Column> {
    let (DataType::Array(item), Some(lists)) = (column.data_type(), column.array().as_list_opt::<i32>()) else {
        return Ok(column);
    };
    let hashing = Hashing::of(item);
    let values = RowBytes::new(item, lists.values())?;
    let mut positions: Vec<u32> = Vec::with_capacity(lists.values().len());
    let (mut bytes, mut hashes) = (Vec::new(), Vec::new());
    for ends in lists.value_offsets().windows(2) {
        let (start, end) = (ends[0] as u32, ends[1] as u32);
        let count = (end - start) as usize;
        if !(2..=KEYS_MAX).contains(&count) {
            positions.extend(start..end);
            continue;
        }
        checkpoint(32 * count)?;
        hashes.clear();
        hashes.extend((start..end).map(|row| {
            bytes.clear();
            values.append_alone(row as usize, &mut bytes);
            hashing.hash(&bytes)
        }));
        positions.extend(hashing.table().order(&hashes).into_iter().map(|key| start + key));
    }
    let items = kernels::take(lists.values(), &UInt32Array::from(positions))?;
    let array = ListArray::try_new(item.arrow_list_item(), lists.offsets().clone(), items, lists.nulls().cloned())?;
    Ok(Column::new(column.data_type().clone(), Arc::new(array)))
}
