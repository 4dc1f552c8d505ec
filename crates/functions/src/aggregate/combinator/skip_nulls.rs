//! What stands between nullable arguments and a function that knows no NULL: rows with a NULL in any argument are skipped, and
//! the result is NULL for groups that had no other rows, where its type can be.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::NullBuffer;
use squall_types::{Column, DataType, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::grouped::same;
use crate::aggregate::values::selection::update_selected;
use crate::aggregate::values::state_bytes::Raw;
use crate::frames::{FrameSeen, FrameStep, FrameWalk, walk_selected};

use super::or_null::{Seen, with_nulls};
use crate::aggregate::family::Nulls;

/// A function that takes nullable arguments, over one that does not.
#[derive(Debug)]
pub(in crate::aggregate) struct SkipNulls {
    function: Arc<dyn AggregateFunction>,
    return_type: DataType,
    /// Whether a state tells if there was a row without NULL.
    is_marked: bool,
    /// Whether the state of a group without rows is written like any other.
    writes_empty: bool,
}

impl SkipNulls {
    /// A group without values gives NULL where the function skips them and its result can be NULL.
    pub fn new(function: Arc<dyn AggregateFunction>, nulls: Nulls, arguments: usize) -> Self {
        let inner = function.return_type();
        let return_type = if nulls == Nulls::Skipped { inner.to_nullable() } else { inner.clone() };
        let has_none = matches!(inner, DataType::Array(_) | DataType::Map(..)) || inner.is_nullable();
        let is_marked = match nulls {
            Nulls::Counted => true,
            Nulls::PassedOver => false,
            Nulls::Skipped | Nulls::Handled => arguments > 1 || !has_none,
        };
        Self { function, return_type, is_marked, writes_empty: nulls == Nulls::Counted }
    }
}

impl AggregateFunction for SkipNulls {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(NotNull {
            nested: self.function.accumulator(),
            seen: self.is_marked.then(Seen::default),
            return_type: self.return_type.clone(),
            writes_empty: self.writes_empty,
        })
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        let nested = self.function.frame_walk();
        Box::new(NotNullWalk { nested, seen: FrameSeen::default(), return_type: &self.return_type })
    }
}

struct NotNullWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
    seen: FrameSeen,
    return_type: &'a DataType,
}

impl FrameWalk for NotNullWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let valid = arguments.iter().fold(None, |valid, column| NullBuffer::union(valid.as_ref(), column.nulls()));
        let without_nullable = |column: &Column| column.clone().with_type(column.data_type().remove_nullable());
        let arguments: Vec<Column> = arguments.iter().map(without_nullable).collect();
        let (column, seen) = match valid {
            None => (self.nested.walk(&arguments, steps)?, self.seen.walk(steps)),
            Some(valid) => {
                let (column, steps) = walk_selected(&mut *self.nested, valid.inner(), &arguments, steps)?;
                (column, self.seen.walk(&steps))
            }
        };
        if self.return_type == column.data_type() || !self.return_type.is_nullable() {
            return Ok(column);
        }
        let seen = NullBuffer::from(seen);
        column.to_nullable(NullBuffer::union(column.nulls(), Some(&seen)))
    }
}

struct NotNull {
    nested: Box<dyn Accumulator>,
    /// Which groups had a row without NULL, where it is asked for.
    seen: Option<Seen>,
    return_type: DataType,
    writes_empty: bool,
}

impl Accumulator for NotNull {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        let valid = arguments.iter().fold(None, |valid, column| NullBuffer::union(valid.as_ref(), column.nulls()));
        let without_nullable = |column: &Column| column.clone().with_type(column.data_type().remove_nullable());
        let arguments: Vec<Column> = arguments.iter().map(without_nullable).collect();
        if let Some(seen) = &mut self.seen {
            seen.update(group_ids, groups, rows, valid.as_ref());
        }
        match valid {
            None => self.nested.update(group_ids, groups, &arguments, rows),
            Some(valid) => update_selected(&mut *self.nested, valid.into_inner(), group_ids, groups, &arguments),
        }
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        let seen = self.seen.as_ref().map(|seen| seen.partition(groups));
        let (nested, return_type) = (self.nested.take(groups)?, self.return_type.clone());
        Ok(Box::new(Self { nested, seen, return_type, writes_empty: self.writes_empty }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        if let (Some(seen), Some(other)) = (&mut self.seen, &other.seen) {
            seen.merge(other, first, to, groups);
        }
        self.nested.merge_range(&mut *other.nested, first, to, groups)
    }

    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        if let (Some(seen), Some(other)) = (&mut self.seen, &other.seen) {
            seen.merge(other, first, to, groups);
        }
        self.nested.merge_last(&mut *other.nested, first, to, groups)
    }

    fn items(&self, groups: Range<usize>) -> usize {
        self.nested.items(groups)
    }

    fn large(&self, items: usize) -> Vec<u32> {
        self.nested.large(items)
    }

    fn cut(&mut self, group: u32) -> Result<Vec<Box<dyn Accumulator>>> {
        let seen = self.seen.as_ref().map(|seen| seen.of_parts(group));
        let piece = |nested| -> Box<dyn Accumulator> {
            let (seen, return_type) = (seen.clone(), self.return_type.clone());
            Box::new(Self { nested, seen, return_type, writes_empty: self.writes_empty })
        };
        Ok(self.nested.cut(group)?.into_iter().map(piece).collect())
    }

    fn settle(&mut self) -> Result<bool> {
        self.nested.settle()
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        let column = self.nested.finish(groups)?;
        match self.seen {
            Some(seen) => with_nulls(column, &self.return_type, &seen, groups),
            None => Ok(column),
        }
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Some(seen) = &self.seen {
            let seen = self.writes_empty || seen.has(group);
            out.push(u8::from(seen));
            if !seen {
                return Ok(());
            }
        }
        self.nested.serialize(group, out)
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        if let Some(seen) = &mut self.seen
            && !seen.merge_one(group, u8::take(bytes)? != 0)
        {
            return Ok(());
        }
        self.nested.merge_serialized(group, bytes)
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes() + self.seen.as_ref().map_or(0, Seen::memory_bytes)
    }
}
