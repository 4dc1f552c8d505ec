//! One partition of an index, in the form of its keys.

use super::NO_ROW;
use super::bytes_table::{BytesEntry, BytesTable};
use super::keys::{KeyValues, Keys, Words};
use super::number_table::{NumberTable, Slot};
use super::tagged_table::TaggedTable;

/// One partition.
#[derive(Debug)]
pub(super) enum Table {
    /// The first row of all.
    Nothing(u32),
    Packed8(NumberTable),
    Packed16(TaggedTable<u128>),
    Packed32(TaggedTable<Words>),
    Bytes(BytesTable),
}

/// The slots of a table of so many rows.
fn slots_for(rows: usize) -> usize {
    if rows == 0 { 0 } else { (rows * 2).next_power_of_two() }
}

impl Table {
    pub(super) fn new(values: &KeyValues, rows: usize) -> Self {
        let mut table = Self::with_capacity(values, rows);
        table.add_slots(usize::MAX);
        table
    }

    /// Memory for a table of so many rows; its slots are to be added before it is used.
    pub(super) fn with_capacity(values: &KeyValues, rows: usize) -> Self {
        let slots = slots_for(rows);
        match values {
            KeyValues::Nothing(_) => Self::Nothing(NO_ROW),
            KeyValues::Packed8(_) => Self::Packed8(NumberTable::with_capacity(slots)),
            KeyValues::Packed16(_) => Self::Packed16(TaggedTable::with_capacity(slots, rows)),
            KeyValues::Packed32(_) => Self::Packed32(TaggedTable::with_capacity(slots, rows)),
            KeyValues::Bytes(_) => Self::Bytes(BytesTable::with_capacity(slots, rows)),
        }
    }

    /// The bytes of a table of so many rows, but for those of long keys.
    pub(super) fn bytes_of(values: &KeyValues, rows: usize) -> usize {
        let slots = slots_for(rows);
        match values {
            KeyValues::Nothing(_) => 0,
            KeyValues::Packed8(_) => slots * size_of::<Slot>(),
            KeyValues::Packed16(_) => slots * size_of::<u64>() + rows * size_of::<(u128, u32)>(),
            KeyValues::Packed32(_) => slots * size_of::<u64>() + rows * size_of::<(Words, u32)>(),
            KeyValues::Bytes(_) => slots * size_of::<u64>() + rows * size_of::<BytesEntry>(),
        }
    }

    /// Adds some of the slots that there is memory for; whether any are still to be added.
    pub(super) fn add_slots(&mut self, most: usize) -> bool {
        fn add<S: Clone + Default>(slots: &mut Vec<S>, most: usize) -> bool {
            // Slots are a power of two, and a vector may have got room for more.
            let all = match slots.capacity() {
                0 => 0,
                capacity => 1 << capacity.ilog2(),
            };
            slots.resize(slots.len().saturating_add(most).min(all), S::default());
            slots.len() < all
        }
        match self {
            Self::Nothing(_) => false,
            Self::Packed8(table) => add(table.slots_mut(), most),
            Self::Packed16(table) => add(table.slots_mut(), most),
            Self::Packed32(table) => add(table.slots_mut(), most),
            Self::Bytes(table) => add(table.slots_mut(), most),
        }
    }

    /// A copy with room for more keys.
    pub(super) fn with_room(&self, more: usize) -> Self {
        match self {
            Self::Nothing(first) => Self::Nothing(*first),
            Self::Packed8(table) => Self::Packed8(table.with_room(more)),
            Self::Packed16(table) => Self::Packed16(table.with_room(more)),
            Self::Packed32(table) => Self::Packed32(table.with_room(more)),
            Self::Bytes(table) => Self::Bytes(table.with_room(more)),
        }
    }

    /// Makes `row` the first of its key; the row that was first before. With `keeps_first` the one that was there stays.
    pub(super) fn insert(&mut self, keys: &Keys, local: usize, row: u32, keeps_first: bool) -> u32 {
        match (self, &keys.values) {
            (Self::Nothing(first), _) => std::mem::replace(first, row),
            (Self::Packed8(table), KeyValues::Packed8(values)) => table.insert(values[local], row, keeps_first),
            (Self::Packed16(table), KeyValues::Packed16(values)) => table.insert(values[local], row, keeps_first),
            (Self::Packed32(table), KeyValues::Packed32(values)) => table.insert(values[local], row, keeps_first),
            (Self::Bytes(table), KeyValues::Bytes(values)) => table.insert(values.value(local), row, keeps_first),
            _ => NO_ROW,
        }
    }

    /// The first row of each key, in no order.
    pub(super) fn rows(&self) -> Vec<u32> {
        match self {
            Self::Nothing(NO_ROW) => Vec::new(),
            Self::Nothing(row) => vec![*row],
            Self::Packed8(table) => table.rows().collect(),
            Self::Packed16(table) => table.rows().collect(),
            Self::Packed32(table) => table.rows().collect(),
            Self::Bytes(table) => table.rows().collect(),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Nothing(_) => 0,
            Self::Packed8(table) => table.memory_bytes(),
            Self::Packed16(table) => table.memory_bytes(),
            Self::Packed32(table) => table.memory_bytes(),
            Self::Bytes(table) => table.memory_bytes(),
        }
    }

    pub(super) fn only_row(&self) -> u32 {
        match self {
            Self::Nothing(first) => *first,
            _ => NO_ROW,
        }
    }

    pub(super) fn packed8(&self) -> Option<&NumberTable> {
        match self {
            Self::Packed8(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn packed16(&self) -> Option<&TaggedTable<u128>> {
        match self {
            Self::Packed16(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn packed32(&self) -> Option<&TaggedTable<Words>> {
        match self {
            Self::Packed32(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> Option<&BytesTable> {
        match self {
            Self::Bytes(table) => Some(table),
            _ => None,
        }
    }
}
