//! What an aggregate function is: states for many groups held column-wise, updated a block at a time.
//!
//! A group is a dense number, 0, 1, 2, …, that the engine's hash table gave to a key. There are no pointers to states: an
//! accumulator holds `Vec`s indexed by group, so updates are vectorised and safe. Aggregation runs thread-local and merges in
//! parallel: each worker splits its accumulator by partition of the keys' hashes ([`Accumulator::partition`]), then every
//! partition is merged on its own ([`Accumulator::merge`]).

use std::any::Any;
use std::fmt::Debug;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Result};

use crate::window::RowRange;

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

    /// The function over the rows of each frame of a window, in order. Arguments have a value for each row, and may be constants.
    ///
    /// # Errors
    /// The function's own, for values that it refuses.
    fn over_frames(&self, arguments: &[Column], frames: &[RowRange]) -> Result<Column> {
        /// Rows of frames that are written out at a time.
        const ROWS_MAX: usize = 1 << 16;
        let mut results = Vec::new();
        let mut left = frames;
        while let [first, ..] = left {
            // As many frames as come to so many rows, but one at least; each is a group.
            let mut rows = first.rows();
            let more = left[1..].iter().take_while(|frame| {
                rows += frame.rows();
                rows <= ROWS_MAX
            });
            let (now, later) = left.split_at(1 + more.count());
            left = later;
            let positions: UInt32Array = now.iter().flat_map(|frame| frame.begin..frame.end).map(Some).collect();
            let groups = now.iter().enumerate();
            let ids: Vec<u32> = groups.flat_map(|(id, frame)| std::iter::repeat_n(id as u32, frame.rows())).collect();
            let arguments = arguments.iter().map(|argument| argument.take(&positions)).collect::<Result<Vec<_>>>()?;
            let mut accumulator = self.accumulator();
            accumulator.update(GroupIds::Each(&ids), now.len(), &arguments, ids.len())?;
            results.push(accumulator.finish(now.len())?);
        }
        if results.is_empty() { Ok(Column::empty(self.return_type().clone())) } else { Column::concat(&results) }
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

/// States of one aggregate function for groups `0..groups`.
pub trait Accumulator: Send + Any {
    /// Adds the rows of a block. `groups` is the number of groups from now on (never less than before): states up to it must
    /// exist afterwards, fresh where no row came. Arguments may be constants.
    ///
    /// # Errors
    /// The function's own, for values that it refuses.
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()>;

    /// Splits into one accumulator per list: the i-th holds the states of the groups in `groups_of[i]`, renumbered from 0 in
    /// the list's order. A group is in one list at most.
    fn partition(self: Box<Self>, groups_of: &[Vec<u32>]) -> Vec<Box<dyn Accumulator>>;

    /// Adds another accumulator of the same function: its group `i` goes into group `to[i]` of this one, which from now on has
    /// `groups` groups.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where `other` is of another function.
    fn merge(&mut self, other: Box<dyn Accumulator>, to: &[u32], groups: usize) -> Result<()>;

    /// The results of groups `0..groups`, in order.
    ///
    /// # Errors
    /// The function's own.
    fn finish(self: Box<Self>, groups: usize) -> Result<Column>;

    /// Bytes held, for limits; an estimate.
    fn memory_bytes(&self) -> usize;
}
