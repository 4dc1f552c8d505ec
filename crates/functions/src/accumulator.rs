//! What an aggregate function is: states for many groups held column-wise, updated a block at a time.
//!
//! A group is a dense number, 0, 1, 2, …, that the engine's hash table gave to a key. There are no pointers to states: an
//! accumulator holds `Vec`s indexed by group, so updates are vectorised and safe. Aggregation runs thread-local and merges in
//! parallel: each worker splits its accumulator by partition of the keys' hashes ([`Accumulator::take`]), then every
//! partition is merged on its own ([`Accumulator::merge`]).
//!
//! A state may be large by itself. How many values it goes through when it is merged or finished its accumulator says
//! ([`Accumulator::items`]), so that no step takes on too many; sets of hashed values can also be cut by the hashes ([`Accumulator::cut`])
//! and merged part by part by several workers. For all other functions these cost a call for each accumulator.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

use arrow_array::BinaryArray;
use squall_types::{Column, DataType, Error, Result, checkpoint};

use crate::frames::{AccumulatorWalk, FrameWalk};

/// Parts of a large state that is cut, a power of two.
pub const CUT_PARTS: usize = 1024;

/// Accumulators that a state which is cut makes, each with as many of its parts.
pub const CUT_PIECES: usize = 64;

/// Values that a step of merging or finishing states goes through, about.
pub const STEP_ITEMS: usize = 1 << 15;

/// An aggregate function with its parameters and argument types settled.
pub trait AggregateFunction: Send + Sync + Debug {
    /// The type of the result.
    fn return_type(&self) -> &DataType;

    /// A new accumulator without groups.
    fn accumulator(&self) -> Box<dyn Accumulator>;

    /// Whether the arguments' values matter. They do not for `count(x)` of an `x` that is never NULL: the planner drops the
    /// arguments, and `update` gets none.
    fn needs_arguments(&self) -> bool {
        true
    }

    /// The function on its way over the frames of a window.
    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(AccumulatorWalk::new(self))
    }
}

/// Which group each row of a block belongs to.
#[derive(Clone, Copy, Debug)]
pub enum GroupIds<'a> {
    /// Every row belongs to group 0.
    Single,
    /// The group of each row, as the key's own 8 bits: direct indexing without a hash table.
    Direct8(&'a [u8]),
    /// The group of each row, as the key's own 16 bits.
    Direct16(&'a [u16]),
    /// The group of each row.
    Each(&'a [u32]),
}

/// How many rows or groups ahead states are fetched: far enough for one to come from memory.
pub(crate) const PREFETCH_AHEAD: usize = 16;

/// States of one aggregate function for groups `0..groups`.
pub trait Accumulator: Send + Any {
    /// Adds the rows of a block. `groups` is the number of groups from now on (never less than before): states up to it must
    /// exist afterwards, fresh where no row came. Arguments may be constants.
    ///
    /// # Errors
    /// The function's own, for values that it refuses.
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()>;

    /// Makes room for so many groups in all, where that saves growing again and again.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn reserve_groups(&mut self, _groups: usize) -> Result<()> {
        Ok(())
    }

    /// Adds so many rows to the only group, each the one row that the arguments have, where that takes less than adding them one by one;
    /// whether it did.
    ///
    /// # Errors
    /// As those of [`update`](Self::update).
    fn update_times(&mut self, _arguments: &[Column], _times: usize) -> Result<bool> {
        Ok(false)
    }

    /// Whether the one row that the arguments have changes no state that it is added to: a 0 of a sum.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for arguments that are not the function's.
    fn is_neutral(&self, _arguments: &[Column]) -> Result<bool> {
        Ok(false)
    }

    /// Takes the states of these groups out into an accumulator of their own, where they are numbered from 0 in the list's order. A
    /// group is taken once.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>>;

    /// Adds groups of another accumulator of the same function: its group `first + i` goes into group `to[i]` of this one, which from
    /// now on has `groups` groups. A group of the other is merged once.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where `other` is of another function, `MEMORY_LIMIT_EXCEEDED`.
    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()>;

    /// Adds all groups of another accumulator.
    ///
    /// # Errors
    /// As those of [`merge_range`](Self::merge_range).
    fn merge(&mut self, mut other: Box<dyn Accumulator>, to: &[u32], groups: usize) -> Result<()> {
        self.merge_range(&mut *other, 0, to, groups)
    }

    /// As [`merge_range`](Self::merge_range), where nothing else is merged into these groups before they are settled: of their values only
    /// what the result needs has to be kept.
    ///
    /// # Errors
    /// As those of [`merge_range`](Self::merge_range).
    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.merge_range(other, first, to, groups)
    }

    /// How many values merging or finishing these groups goes through, where states may be so large that this takes long.
    fn items(&self, _groups: Range<usize>) -> usize {
        0
    }

    /// The groups with more values than this whose states can be cut.
    fn large(&self, _items: usize) -> Vec<u32> {
        Vec::new()
    }

    /// Takes the state of a group out, cut into [`CUT_PARTS`] by the hashes of its values: [`CUT_PIECES`] accumulators, in each of which
    /// equally many parts are groups. The same parts of several states are merged with one another. When they are
    /// [settled](Self::settle) all parts are merged into one group again.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where states of this function cannot be cut, `MEMORY_LIMIT_EXCEEDED`.
    fn cut(&mut self, _group: u32) -> Result<Vec<Box<dyn Accumulator>>> {
        Err(Error::logical("a state that cannot be cut"))
    }

    /// Does a step of what comes before [`finish`](Self::finish) and takes long for large states; whether there is no further one. From
    /// the first step on no rows come, and only settled states.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn settle(&mut self) -> Result<bool> {
        Ok(true)
    }

    /// The results of groups `0..groups`, in order.
    ///
    /// # Errors
    /// The function's own.
    fn finish(self: Box<Self>, groups: usize) -> Result<Column>;

    /// Appends the state of a group in its serialised form: ClickHouse's own where its function has one that does not depend on hashes
    /// or estimates of its own. A group past the last update's has a fresh state.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()>;

    /// Merges the serialised state at the front of `bytes` into a group, as one whose rows came later; `bytes` then begins behind it.
    ///
    /// # Errors
    /// `CANNOT_READ_ALL_DATA`, `INCORRECT_DATA` where the bytes are no state of this function.
    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()>;

    /// Appends the states of groups as [`serialize`](Self::serialize) does, and after each where it ends.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`, also where states come to more than 2 GiB.
    fn serialize_groups(&mut self, groups: &[u32], out: &mut Vec<u8>, ends: &mut Vec<i32>) -> Result<()> {
        for (at, group) in groups.iter().enumerate() {
            if let Some(ahead) = groups.get(at + PREFETCH_AHEAD) {
                self.prefetch(*ahead as usize);
            }
            self.serialize(*group as usize, out)?;
            ends.push(i32::try_from(out.len()).map_err(|_| Error::logical("states of more than 2 GiB"))?);
        }
        Ok(())
    }

    /// Merges serialised states, each into the group of its row, as [`merge_serialized`](Self::merge_serialized) does.
    ///
    /// # Errors
    /// As those of [`merge_serialized`](Self::merge_serialized).
    fn merge_serialized_groups(&mut self, groups: &[u32], states: &BinaryArray) -> Result<()> {
        for (row, group) in groups.iter().enumerate() {
            checkpoint(64)?;
            self.merge_serialized(*group as usize, &mut states.value(row))?;
        }
        Ok(())
    }

    /// Has the CPU fetch a group's state, which is asked for soon.
    fn prefetch(&self, _group: usize) {}

    /// Bytes held, for limits; an estimate.
    fn memory_bytes(&self) -> usize;
}
