//! The outermost layer of every aggregate function: arguments come in as the engine has them, and go on without constants and
//! without dictionaries.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BinaryArray;
use squall_types::{Column, DataType, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::frames::{FrameStep, FrameWalk};

/// A function that takes constants and `LowCardinality`, over one that does not.
#[derive(Debug)]
pub(super) struct Plain {
    function: Arc<dyn AggregateFunction>,
}

impl Plain {
    pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
        Self { function }
    }
}

impl AggregateFunction for Plain {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(PlainAccumulator { nested: self.function.accumulator() })
    }

    fn needs_arguments(&self) -> bool {
        self.function.needs_arguments()
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(PlainWalk { nested: self.function.frame_walk() })
    }
}

struct PlainWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
}

impl FrameWalk for PlainWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        self.nested.walk(&arguments, steps)
    }
}

struct PlainAccumulator {
    nested: Box<dyn Accumulator>,
}

impl Accumulator for PlainAccumulator {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        let is_plain =
            |column: &Column| !column.is_constant() && !matches!(column.data_type(), DataType::LowCardinality(_));
        if arguments.iter().all(is_plain) {
            return self.nested.update(group_ids, groups, arguments, rows);
        }
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        self.nested.update(group_ids, groups, &arguments, rows)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Self { nested: self.nested.take(groups)? }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge_range(&mut *super::grouped::same::<Self>(other)?.nested, first, to, groups)
    }

    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge_last(&mut *super::grouped::same::<Self>(other)?.nested, first, to, groups)
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

/// The column with every row written out, of the type inside `LowCardinality`.
pub(super) fn plain(column: &Column) -> Result<Column> {
    column.without_low_cardinality()?.materialize()
}
