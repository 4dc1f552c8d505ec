//! An accumulator over another one: rows change on their way in or results on their way out, all else goes through.

use std::ops::Range;

use arrow_array::BinaryArray;
use squall_types::{Column, Result};

use super::grouped::same;
use crate::accumulator::{Accumulator, GroupIds};

/// What happens to rows before they reach the function, and to its results.
pub(super) trait Adapter: Clone + Send + 'static {
    /// Adds rows to the function's accumulator, as [`Accumulator::update`] does.
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        nested.update(group_ids, groups, arguments, rows)
    }

    /// What the function's results become.
    fn finished(&self, results: Column) -> Result<Column> {
        Ok(results)
    }
}

/// A function's accumulator behind an adapter.
pub(super) struct Adapted<A> {
    nested: Box<dyn Accumulator>,
    adapter: A,
}

impl<A: Adapter> Adapted<A> {
    pub fn boxed(nested: Box<dyn Accumulator>, adapter: A) -> Box<dyn Accumulator> {
        Box::new(Self { nested, adapter })
    }
}

impl<A: Adapter> Accumulator for Adapted<A> {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.adapter.update(&mut *self.nested, group_ids, groups, arguments, rows)
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.nested.reserve_groups(groups)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        Ok(Self::boxed(self.nested.take(groups)?, self.adapter.clone()))
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
        let pieces = self.nested.cut(group)?.into_iter();
        Ok(pieces.map(|nested| Self::boxed(nested, self.adapter.clone())).collect())
    }

    fn settle(&mut self) -> Result<bool> {
        self.nested.settle()
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        self.adapter.finished(self.nested.finish(groups)?)
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

    fn prefetch(&self, group: usize) {
        self.nested.prefetch(group);
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes()
    }
}
