//! `-Array`: the function of all items of its array arguments, which have one length in each row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::aggregate::plain::plain;
use crate::frames::{FrameStep, FrameWalk, RowRange};

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    if arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Array aggregate functions require at least one argument",
        ));
    }
    let item = |argument: &DataType| match argument {
        DataType::Array(item) => Ok(item.remove_low_cardinality().clone()),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {other} of argument for aggregate function with Array suffix. Must be array."),
        )),
    };
    arguments.iter().map(item).collect()
}

/// A function over the items of arrays.
#[derive(Debug)]
pub(super) struct OverArrays {
    function: Arc<dyn AggregateFunction>,
}

impl OverArrays {
    pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
        Self { function }
    }
}

impl AggregateFunction for OverArrays {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), Items)
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(ItemsWalk { nested: self.function.frame_walk() })
    }
}

struct ItemsWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
}

impl FrameWalk for ItemsWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let (first, items) = flatten(arguments)?;
        let offsets = first.value_offsets();
        let of_row = |row: u32| (offsets[row as usize] - offsets[0]) as u32;
        let of_items = |rows: RowRange| RowRange { begin: of_row(rows.begin), end: of_row(rows.end) };
        self.nested.walk(&items, &steps.iter().map(|step| step.over(of_items(step.rows))).collect::<Vec<_>>())
    }
}

/// Takes the items out of arrays.
#[derive(Clone, Copy)]
struct Items;

impl Adapter for Items {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let (first, items) = flatten(arguments)?;
        debug_assert_eq!(first.len(), rows);
        let count = items.first().map_or(0, Column::rows);
        let lengths = || first.offsets().lengths();
        match group_ids {
            GroupIds::Single => nested.update(GroupIds::Single, groups, &items, count),
            GroupIds::Direct8(ids) => {
                nested.update(GroupIds::Direct8(&repeat(ids, lengths(), count)), groups, &items, count)
            }
            GroupIds::Direct16(ids) => {
                nested.update(GroupIds::Direct16(&repeat(ids, lengths(), count)), groups, &items, count)
            }
            GroupIds::Each(ids) => nested.update(GroupIds::Each(&repeat(ids, lengths(), count)), groups, &items, count),
        }
    }
}

/// The first argument's arrays, whose lengths are those of all, and the items of each argument.
pub(super) fn flatten(arguments: &[Column]) -> Result<(&ListArray, Vec<Column>)> {
    let mut items = Vec::with_capacity(arguments.len());
    let mut first: Option<&ListArray> = None;
    for argument in arguments {
        let (Some(list), DataType::Array(item)) = (argument.array().as_list_opt::<i32>(), argument.data_type()) else {
            return Err(Error::logical("-Array over a column that is no array"));
        };
        let same_lengths = first.is_none_or(|first| first.offsets().lengths().eq(list.offsets().lengths()));
        if !same_lengths {
            return Err(Error::new(
                ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                "All arrays passed to aggregate function with Array suffix must have equal sizes in each row",
            ));
        }
        first = first.or(Some(list));
        let start = list.value_offsets()[0] as usize;
        let end = list.value_offsets()[list.len()] as usize;
        items.push(plain(&Column::new((**item).clone(), list.values().slice(start, end - start)))?);
    }
    let first = first.ok_or_else(|| Error::logical("-Array without arguments"))?;
    Ok((first, items))
}

/// Each id as often as its row's array has items.
fn repeat<Id: Copy>(ids: &[Id], lengths: impl Iterator<Item = usize>, count: usize) -> Vec<Id> {
    let mut repeated = Vec::with_capacity(count);
    ids.iter().zip(lengths).for_each(|(&id, length)| repeated.extend(std::iter::repeat_n(id, length)));
    repeated
}
