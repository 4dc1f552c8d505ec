//! `-Array`: the function of all items of its array arguments, which have one length in each row.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
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
        Box::new(Items { nested: self.function.accumulator() })
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

struct Items {
    nested: Box<dyn Accumulator>,
}

impl Accumulator for Items {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        let (first, items) = flatten(arguments)?;
        debug_assert_eq!(first.len(), rows);
        let count = items.first().map_or(0, Column::rows);
        let lengths = || first.offsets().lengths();
        match group_ids {
            GroupIds::Single => self.nested.update(GroupIds::Single, groups, &items, count),
            GroupIds::Direct8(ids) => {
                self.nested.update(GroupIds::Direct8(&repeat(ids, lengths(), count)), groups, &items, count)
            }
            GroupIds::Direct16(ids) => {
                self.nested.update(GroupIds::Direct16(&repeat(ids, lengths(), count)), groups, &items, count)
            }
            GroupIds::Each(ids) => {
                self.nested.update(GroupIds::Each(&repeat(ids, lengths(), count)), groups, &items, count)
            }
        }
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self { nested: self.nested.take(groups)? }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge_range(&mut *same::<Self>(other)?.nested, first, to, groups)
    }

    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge_last(&mut *same::<Self>(other)?.nested, first, to, groups)
    }

    fn items(&self, groups: Range<usize>) -> usize {
        self.nested.items(groups)
    }

    fn large(&self, items: usize) -> Vec<u32> {
        self.nested.large(items)
    }

    fn cut(&mut self, group: u32) -> Result<Vec<Box<dyn Accumulator>>> {
        let piece = |nested| -> Box<dyn Accumulator> { Box::new(Self { nested }) };
        Ok(self.nested.cut(group)?.into_iter().map(piece).collect())
    }

    fn settle(&mut self) -> Result<bool> {
        self.nested.settle()
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        self.nested.finish(groups)
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        self.nested.serialize(group, out)
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.nested.merge_serialized(group, bytes)
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes()
    }
}

/// The first argument's arrays, whose lengths are those of all, and the items of each argument.
fn flatten(arguments: &[Column]) -> Result<(&ListArray, Vec<Column>)> {
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
