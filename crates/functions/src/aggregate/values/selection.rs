//! Some of a block's rows: how functions that skip rows (NULLs, `-If`, `-Distinct`) hand the others on.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, Result};

use crate::accumulator::{Accumulator, GroupIds};

/// Updates `nested` with the rows whose bit is set.
pub(in crate::aggregate) fn update_selected(
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

fn pick<Id: Copy>(ids: &[Id], selected: &BooleanBuffer, count: usize) -> Vec<Id> {
    let mut picked = Vec::with_capacity(count);
    picked.extend(selected.set_indices().map(|row| ids[row]));
    picked
}
