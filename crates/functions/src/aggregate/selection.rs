//! Some of a block's rows: how functions that skip rows (NULLs, `-If`, `-Distinct`) hand the others on.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::window::RowRange;

/// Updates `nested` with the rows whose bit is set.
pub(super) fn update_selected(
    nested: &mut dyn Accumulator,
    selected: BooleanBuffer,
    group_ids: GroupIds<'_>,
    groups: usize,
    arguments: &[Column],
) -> Result<()> {
    let (rows, count) = (selected.len(), selected.count_set_bits());
    if count == rows {
        return nested.update(group_ids, groups, arguments, rows);
    }
    let mask = BooleanArray::new(selected, None);
    let arguments = arguments.iter().map(|column| column.filter(&mask, count)).collect::<Result<Vec<_>>>()?;
    let selected = mask.values();
    match group_ids {
        GroupIds::Single => nested.update(GroupIds::Single, groups, &arguments, count),
        GroupIds::Direct8(ids) => {
            nested.update(GroupIds::Direct8(&pick(ids, selected, count)), groups, &arguments, count)
        }
        GroupIds::Direct16(ids) => {
            nested.update(GroupIds::Direct16(&pick(ids, selected, count)), groups, &arguments, count)
        }
        GroupIds::Each(ids) => nested.update(GroupIds::Each(&pick(ids, selected, count)), groups, &arguments, count),
    }
}

/// Some of a block's rows, for frames over them: where each row is among those that are left.
pub(super) struct Selected {
    /// By row, and at the end: how many rows before it are left.
    before: Vec<u32>,
}

impl Selected {
    /// The rows whose bit is set.
    pub fn new(selected: &BooleanBuffer) -> Self {
        let mut before = Vec::with_capacity(selected.len() + 1);
        let mut count = 0;
        before.push(count);
        before.extend(selected.iter().map(|is_selected| {
            count += u32::from(is_selected);
            count
        }));
        Self { before }
    }

    /// The same frames over the rows that are left.
    pub fn frames(&self, frames: &[RowRange]) -> Vec<RowRange> {
        let of_rows = |frame: &RowRange| RowRange {
            begin: self.before[frame.begin as usize],
            end: self.before[frame.end as usize],
        };
        frames.iter().map(of_rows).collect()
    }
}

/// The function over the rows of each frame whose bit is set, and the frames over these rows alone.
pub(super) fn over_selected_frames(
    function: &dyn AggregateFunction,
    selected: &BooleanBuffer,
    arguments: &[Column],
    frames: &[RowRange],
) -> Result<(Column, Vec<RowRange>)> {
    let frames = Selected::new(selected).frames(frames);
    let count = selected.count_set_bits();
    if count == selected.len() {
        return Ok((function.over_frames(arguments, &frames)?, frames));
    }
    let mask = BooleanArray::new(selected.clone(), None);
    let arguments = arguments.iter().map(|column| column.filter(&mask, count)).collect::<Result<Vec<_>>>()?;
    Ok((function.over_frames(&arguments, &frames)?, frames))
}

fn pick<Id: Copy>(ids: &[Id], selected: &BooleanBuffer, count: usize) -> Vec<Id> {
    let mut picked = Vec::with_capacity(count);
    picked.extend(selected.set_indices().map(|row| ids[row]));
    picked
}
