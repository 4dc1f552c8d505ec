//! `-If`: the last argument is a condition; rows where it is 0 or NULL do not reach the function.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BinaryArray;
use arrow_array::types::UInt8Type;
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
use crate::aggregate::selection::update_selected;
use crate::frames::{FrameStep, FrameWalk, walk_selected};

pub(super) fn nested_arguments(arguments: &[DataType]) -> Result<Vec<DataType>> {
    let [nested @ .., condition] = arguments else {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function with If suffix",
        ));
    };
    if !matches!(condition.inner(), DataType::UInt8 | DataType::Bool | DataType::Nothing) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {condition} of the last argument of an aggregate function with the If suffix: \
                 the last argument is the condition and must be UInt8"
            ),
        ));
    }
    Ok(nested.to_vec())
}

/// A function behind a condition.
#[derive(Debug)]
pub(super) struct OnlyIf {
    function: Arc<dyn AggregateFunction>,
}

impl OnlyIf {
    pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
        Self { function }
    }
}

impl AggregateFunction for OnlyIf {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(Conditional { nested: self.function.accumulator(), needs_arguments: self.function.needs_arguments() })
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(ConditionalWalk {
            nested: self.function.frame_walk(),
            needs_arguments: self.function.needs_arguments(),
        })
    }
}

struct ConditionalWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
    needs_arguments: bool,
}

impl FrameWalk for ConditionalWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let (nested, selected) = selected(arguments, self.needs_arguments)?;
        Ok(walk_selected(&mut *self.nested, &selected, nested, steps)?.0)
    }
}

/// The nested function's arguments, and the rows for which the condition holds.
fn selected(arguments: &[Column], needs_arguments: bool) -> Result<(&[Column], BooleanBuffer)> {
    let [nested @ .., condition] = arguments else { return Err(Error::logical("-If without a condition")) };
    let nested = if needs_arguments { nested } else { &[] };
    if *condition.data_type().inner() == DataType::Nothing {
        return Ok((nested, BooleanBuffer::new_unset(condition.rows())));
    }
    let values = condition.as_primitive::<UInt8Type>()?.values();
    let selected = BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0);
    Ok((
        nested,
        match condition.nulls() {
            Some(valid) => &selected & valid.inner(),
            None => selected,
        },
    ))
}

struct Conditional {
    nested: Box<dyn Accumulator>,
    needs_arguments: bool,
}

impl Accumulator for Conditional {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        let (nested_arguments, selected) = selected(arguments, self.needs_arguments)?;
        debug_assert_eq!(selected.len(), rows);
        update_selected(&mut *self.nested, selected, group_ids, groups, nested_arguments)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self { nested: self.nested.take(groups)?, needs_arguments: self.needs_arguments }))
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
        let piece =
            |nested| -> Box<dyn Accumulator> { Box::new(Self { nested, needs_arguments: self.needs_arguments }) };
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

    fn serialize_groups(&mut self, groups: &[u32], out: &mut Vec<u8>, ends: &mut Vec<i32>) -> Result<()> {
        self.nested.serialize_groups(groups, out, ends)
    }

    fn merge_serialized_groups(&mut self, groups: &[u32], states: &BinaryArray) -> Result<()> {
        self.nested.merge_serialized_groups(groups, states)
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes()
    }
}
