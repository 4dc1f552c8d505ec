//! Which group a row belongs to: a key table gives each distinct combination of keys a dense number. The kind of table is chosen
//! by the keys' types and what is known of their values: 8 and 16 bits index a table directly; up to 48 bytes are packed into one number; a
//! string is hashed as it stands; a dictionary's values are looked up once each; strings with few values beside other keys are numbers in a
//! dictionary of all workers; anything else is hashed as its encoded bytes.

use std::any::Any;
use std::ops::Range;

use squall_functions::GroupIds;
use squall_types::{Column, DataType, Error, Result};

use super::bounds::Bounds;
use super::bytes_table::BytesTable;
use super::dictionary_table::DictionaryTable;
use super::direct_table::{DirectTable, SingleTable};
use super::fixed_table::{FixedTable, packed_width};
use super::interned_table::Interning;
use super::packed_key::Wide;

/// The group of rows that belong to none.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// The groups of one worker, or of one partition.
pub(crate) trait KeyTable: Send + Sync + Any {
    /// The group of each row. `keys` are not constants. `scratch` may hold the result.
    fn group_ids<'a>(&mut self, keys: &'a [Column], rows: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>>;

    /// The number of groups so far.
    fn groups(&self) -> usize;

    /// Whether groups may be numbers that no row has (direct tables): then the accumulators must tell which exist.
    fn is_sparse(&self) -> bool {
        false
    }

    /// From now on every row is a group of its own, which nobody looks up: for groups that are on their way to the disk, and are looked up
    /// when they come from there. Whether the table can do so.
    fn stop_lookups(&mut self) -> bool {
        false
    }

    /// From now on a key that is not there makes no group: its row gets the number [`NO_GROUP`]. Whether the table can do so.
    fn close(&mut self) -> bool {
        false
    }

    /// Whether keys have hashes, by which rows can be cut into partitions.
    fn has_hashes(&self) -> bool {
        false
    }

    /// What is kept of rows' keys until their groups are looked up. Appends the hashes of the keys, by which [`partition`](Self::partition) cuts
    /// groups. `keys` are not constants.
    fn keep(&mut self, _keys: &[Column], _rows: usize, _hashes: &mut Vec<u64>) -> Result<Vec<Column>> {
        Err(Error::logical("the hashes of keys that have none"))
    }

    /// Appends the hashes of keys by what was [kept](Self::keep) of them.
    fn kept_hashes(&mut self, _kept: &[Column], _rows: usize, _hashes: &mut Vec<u64>) -> Result<()> {
        Err(Error::logical("the hashes of keys that have none"))
    }

    /// The group of each row by what was [kept](Self::keep) of its keys.
    fn kept_group_ids<'a>(
        &mut self,
        kept: &'a [Column],
        rows: usize,
        scratch: &'a mut Vec<u32>,
    ) -> Result<GroupIds<'a>> {
        self.group_ids(kept, rows, scratch)
    }

    /// How many groups may come before the table takes much more memory.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Adds each of these groups to the list of its partition: by the keys' hashes, among as many partitions as there are lists, a
    /// power of two; those of sparse tables by their numbers.
    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]);

    /// A table of some of the groups, numbered from 0 in the list's order.
    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>>;

    /// Adds groups of another table of the same kind; `to` becomes the number here of each of them.
    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()>;

    /// Makes room for so many groups in all.
    fn reserve_groups(&mut self, _groups: usize) -> Result<()> {
        Ok(())
    }

    /// Gives back the memory that lookups took besides the groups: no rows will come for a while.
    fn rest(&mut self) {}

    /// The keys of these groups, one column per key.
    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>>;

    /// The keys of some of the groups.
    fn gather_columns(&self, groups: &[u32]) -> Result<Vec<Column>> {
        self.part(groups)?.columns(0..groups.len())
    }

    /// Bytes held, for limits; an estimate.
    fn memory_bytes(&self) -> usize;
}

/// The kind of table for keys of these types.
#[derive(Clone, Debug)]
pub(crate) enum KeyKind {
    /// No keys: one group.
    Single,
    /// One key of 8 bits.
    Direct8,
    /// One key of 16 bits.
    Direct16 {
        /// The bits of the first value that occurs.
        first: u16,
        /// How many values there are from it on, of which all that occur are one.
        slots: usize,
    },
    /// Keys that fit into 4 bytes together, with a byte for each key that may be NULL.
    Packed4,
    /// Keys that fit into 8 bytes together.
    Packed8,
    /// Keys that fit into 12 bytes together.
    Packed12,
    /// Keys that fit into 16 bytes together.
    Packed16,
    /// Keys that fit into 24 bytes together.
    Packed24,
    /// Keys that fit into 32 bytes together.
    Packed32,
    /// Keys that fit into 48 bytes together.
    Packed48,
    /// One `String` that is never NULL.
    String,
    /// One `LowCardinality` key.
    Dictionary,
    /// Several keys of which some are strings with few values.
    Interned(Interning),
    /// Anything else.
    Serialized,
}

impl KeyKind {
    /// Whether keys are integers of up to 16 bytes.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self, Self::Packed4 | Self::Packed8 | Self::Packed12 | Self::Packed16)
    }

    /// Whether keys are numbers of any width in a hash table.
    pub(super) fn is_hashed_number(&self) -> bool {
        self.is_packed() || matches!(self, Self::Packed24 | Self::Packed32 | Self::Packed48)
    }

    /// Whether there is one group, or one for each of few numbers.
    pub(crate) fn is_small(&self) -> bool {
        matches!(self, Self::Single | Self::Direct8 | Self::Direct16 { .. })
    }

    /// Chooses. `bounds` are those of a single key's values, as far as they are known.
    pub(crate) fn of(types: &[DataType], bounds: Bounds) -> Self {
        match types {
            [] => Self::Single,
            [one] if packed_width(one) == Some(1) => Self::Direct8,
            [one] if packed_width(one) == Some(2) && !one.is_nullable() => {
                let (first, slots) = bounds.of_16_bits(one.arrow_type() == arrow_schema::DataType::Int16);
                Self::Direct16 { first, slots }
            }
            [DataType::String] => Self::String,
            [DataType::LowCardinality(_)] => Self::Dictionary,
            many => match many.iter().map(packed_width).sum::<Option<usize>>() {
                Some(0..=4) => Self::Packed4,
                Some(5..=8) => Self::Packed8,
                Some(9..=12) => Self::Packed12,
                Some(13..=16) => Self::Packed16,
                Some(17..=24) => Self::Packed24,
                Some(25..=32) => Self::Packed32,
                Some(33..=48) => Self::Packed48,
                _ => Self::Serialized,
            },
        }
    }

    /// An empty table.
    pub(crate) fn table(&self, types: &[DataType]) -> Box<dyn KeyTable> {
        match self {
            Self::Single => Box::new(SingleTable),
            Self::Direct8 => Box::new(DirectTable::new(types, 0, 1 << 8)),
            Self::Direct16 { first, slots } => Box::new(DirectTable::new(types, *first, *slots)),
            Self::Packed4 => Box::new(FixedTable::<u64, 1>::new(types)),
            Self::Packed8 => Box::new(FixedTable::<u64, 2>::new(types)),
            Self::Packed12 => Box::new(FixedTable::<u128, 3>::new(types)),
            Self::Packed16 => Box::new(FixedTable::<u128, 4>::new(types)),
            Self::Packed24 => Box::new(FixedTable::<Wide<3>, 6>::new(types)),
            Self::Packed32 => Box::new(FixedTable::<Wide<4>, 8>::new(types)),
            Self::Packed48 => Box::new(FixedTable::<Wide<6>, 12>::new(types)),
            Self::Interned(interning) => Box::new(interning.table()),
            Self::String => Box::new(BytesTable::of_strings()),
            Self::Dictionary => Box::new(DictionaryTable::new(types.first().unwrap_or(&DataType::Nothing))),
            Self::Serialized => Box::new(BytesTable::of_rows(types)),
        }
    }
}

/// The table of a type that [`KeyTable::merge`] expects.
pub(crate) fn downcast_table<T: KeyTable>(table: &dyn KeyTable) -> Result<&T> {
    let table: &dyn Any = table;
    table.downcast_ref().ok_or_else(|| Error::logical("key tables of two kinds in one aggregation"))
}

/// The partition of a hash among a power of two of them: its high bits, since tables index by the low ones.
pub(crate) fn partition_of(hash: u64, partitions: usize) -> usize {
    debug_assert!(partitions.is_power_of_two());
    if partitions == 1 { 0 } else { (hash >> (64 - partitions.trailing_zeros())) as usize }
}
