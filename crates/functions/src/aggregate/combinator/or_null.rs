//! `-OrNull` and `-OrDefault`: what a group without rows gives, whatever the function itself would make of it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_buffer::{BooleanBuffer, NullBuffer};
use squall_types::{Column, DataType, Result};

use crate::accumulator::{Accumulator, AggregateFunction, CUT_PARTS, CUT_PIECES, GroupIds};
use crate::aggregate::grouped::same;
use crate::aggregate::values::state_bytes::Raw;
use crate::frames::{FrameSeen, FrameStep, FrameWalk, Left};

/// Which groups had a row.
#[derive(Clone, Default)]
pub(super) struct Seen(Vec<bool>);

impl Seen {
    fn grow(&mut self, groups: usize) {
        if groups > self.0.len() {
            self.0.resize(groups, false);
        }
    }

    /// Notes the groups of rows `0..rows`, of those that are valid.
    pub fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, rows: usize, valid: Option<&NullBuffer>) {
        self.grow(groups.max(1));
        fn note<Id: Copy + Into<u32>>(seen: &mut [bool], ids: &[Id], valid: Option<&NullBuffer>) {
            match valid {
                None => ids.iter().for_each(|&id| seen[id.into() as usize] = true),
                Some(valid) => valid.valid_indices().for_each(|row| seen[ids[row].into() as usize] = true),
            }
        }
        match group_ids {
            GroupIds::Single => self.0[0] |= rows > valid.map_or(0, NullBuffer::null_count),
            GroupIds::Direct8(ids) => note(&mut self.0, &ids[..rows], valid),
            GroupIds::Direct16(ids) => note(&mut self.0, &ids[..rows], valid),
            GroupIds::Each(ids) => note(&mut self.0, &ids[..rows], valid),
        }
    }

    pub fn partition(&self, groups: &[u32]) -> Self {
        Self(groups.iter().map(|&group| self.0.get(group as usize).copied().unwrap_or(false)).collect())
    }

    pub fn merge(&mut self, other: &Self, first: usize, to: &[u32], groups: usize) {
        self.grow(groups);
        other.0.iter().skip(first).zip(to).for_each(|(&seen, &to)| self.0[to as usize] |= seen);
    }

    /// The same of each of the parts that a piece of a group's state has.
    pub fn of_parts(&self, group: u32) -> Self {
        Self(vec![self.has(group as usize); CUT_PARTS / CUT_PIECES])
    }

    /// Whether a group had a row.
    pub fn has(&self, group: usize) -> bool {
        self.0.get(group).copied().unwrap_or(false)
    }

    /// Notes for a group whether another state of it had a row; gives that back.
    pub fn merge_one(&mut self, group: usize, seen: bool) -> bool {
        self.grow(group + 1);
        self.0[group] |= seen;
        seen
    }

    pub fn memory_bytes(&self) -> usize {
        self.0.capacity()
    }

    fn bits(&self, groups: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(groups, |group| self.0.get(group).copied().unwrap_or(false))
    }
}

/// The rows without a NULL among the arguments; `None` is all of them. Others are no rows for these combinators, also where the function
/// itself would count them.
fn valid_rows(arguments: &[Column], rows: usize) -> Option<NullBuffer> {
    arguments.iter().fold(None, |all, argument| {
        // NULL without a type is no value that could be missing: ClickHouse counts its rows.
        let is_untyped = *argument.data_type().inner() == DataType::Nothing;
        let is_null = argument.is_constant() && argument.constant_value().is_some_and(|value| value.is_null());
        let own = if is_untyped {
            None
        } else if is_null {
            Some(NullBuffer::new_null(rows))
        } else if argument.is_constant() {
            None
        } else {
            argument.nulls().map(|nulls| nulls.slice(0, rows.min(nulls.len())))
        };
        NullBuffer::union(all.as_ref(), own.as_ref())
    })
}

/// The column as `data_type`, with NULL for groups that were not seen.
pub(super) fn with_nulls(column: Column, data_type: &DataType, seen: &Seen, groups: usize) -> Result<Column> {
    if !data_type.is_nullable() {
        return Ok(column);
    }
    let seen = NullBuffer::new(seen.bits(groups));
    column.to_nullable(NullBuffer::union(column.nulls(), Some(&seen)))
}

/// The column with the type's default for groups that were not seen.
fn with_defaults(column: &Column, seen: &Seen, groups: usize) -> Result<Column> {
    // The default is put behind the groups, and taken for each group that was not seen.
    let default = Column::default_values(column.data_type().clone(), 1)?;
    let both = Column::concat(&[column.clone(), default])?;
    let positions = |group: usize| if seen.0.get(group).copied().unwrap_or(false) { group } else { groups };
    both.take(&UInt32Array::from_iter_values((0..groups).map(|group| positions(group) as u32)))
}

macro_rules! or_something {
    ($(#[$doc:meta])* $name:ident, $states:ident, $walk:ident, $return_type:expr, $finish:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name {
            function: Arc<dyn AggregateFunction>,
            return_type: DataType,
        }

        impl $name {
            pub fn new(function: Arc<dyn AggregateFunction>) -> Self {
                let return_type: fn(&DataType) -> DataType = $return_type;
                let return_type = return_type(function.return_type());
                Self { function, return_type }
            }
        }

        impl AggregateFunction for $name {
            fn return_type(&self) -> &DataType {
                &self.return_type
            }

            fn accumulator(&self) -> Box<dyn Accumulator> {
                Box::new($states {
                    nested: self.function.accumulator(),
                    seen: Seen::default(),
                    return_type: self.return_type.clone(),
                })
            }

            fn needs_arguments(&self) -> bool {
                self.function.needs_arguments()
            }

            fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
                let nested = self.function.frame_walk();
                Box::new($walk { nested, seen: FrameSeen::default(), return_type: &self.return_type })
            }
        }

        struct $walk<'a> {
            nested: Box<dyn FrameWalk + 'a>,
            seen: FrameSeen,
            return_type: &'a DataType,
        }

        impl FrameWalk for $walk<'_> {
            fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
                let column = self.nested.walk(arguments, steps)?;
                let rows = steps.iter().map(|step| step.rows.end as usize).max().unwrap_or(0);
                let seen = match valid_rows(arguments, rows) {
                    Some(valid) => self.seen.walk(&Left::new(valid.inner()).steps(steps)),
                    None => self.seen.walk(steps),
                };
                let results = seen.len();
                let finish: fn(Column, &DataType, &Seen, usize) -> Result<Column> = $finish;
                finish(column, self.return_type, &Seen(seen), results)
            }
        }

        struct $states {
            nested: Box<dyn Accumulator>,
            seen: Seen,
            return_type: DataType,
        }

        impl Accumulator for $states {
            fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
                self.seen.update(group_ids, groups, rows, valid_rows(arguments, rows).as_ref());
                self.nested.update(group_ids, groups, arguments, rows)
            }

            fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
                let (nested, seen) = (self.nested.take(groups)?, self.seen.partition(groups));
                Ok(Box::new(Self { nested, seen, return_type: self.return_type.clone() }))
            }

            fn merge_range(
                &mut self,
                other: &mut dyn Accumulator,
                first: usize,
                to: &[u32],
                groups: usize,
            ) -> Result<()> {
                let other = same::<Self>(other)?;
                self.seen.merge(&other.seen, first, to, groups);
                self.nested.merge_range(&mut *other.nested, first, to, groups)
            }

            fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
                let other = same::<Self>(other)?;
                self.seen.merge(&other.seen, first, to, groups);
                self.nested.merge_last(&mut *other.nested, first, to, groups)
            }

            fn items(&self, groups: Range<usize>) -> usize {
                self.nested.items(groups)
            }

            fn large(&self, items: usize) -> Vec<u32> {
                self.nested.large(items)
            }

            fn cut(&mut self, group: u32) -> Result<Vec<Box<dyn Accumulator>>> {
                let seen = self.seen.of_parts(group);
                let piece = |nested| -> Box<dyn Accumulator> { Box::new(Self { nested, seen: seen.clone(), return_type: self.return_type.clone() }) };
                Ok(self.nested.cut(group)?.into_iter().map(piece).collect())
            }

            fn settle(&mut self) -> Result<bool> {
                self.nested.settle()
            }

            fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
                let column = self.nested.finish(groups)?;
                let finish: fn(Column, &DataType, &Seen, usize) -> Result<Column> = $finish;
                finish(column, &self.return_type, &self.seen, groups)
            }

            fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
                self.nested.serialize(group, out)?;
                out.push(u8::from(self.seen.has(group)));
                Ok(())
            }

            fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
                self.nested.merge_serialized(group, bytes)?;
                self.seen.merge_one(group, u8::take(bytes)? != 0);
                Ok(())
            }

            fn memory_bytes(&self) -> usize {
                self.nested.memory_bytes() + self.seen.memory_bytes()
            }
        }
    };
}

or_something!(
    /// A function that gives NULL for groups without rows.
    OrNull,
    OrNullStates,
    OrNullWalk,
    DataType::to_nullable,
    with_nulls
);

or_something!(
    /// A function that gives its type's default for groups without rows.
    OrDefault,
    OrDefaultStates,
    OrDefaultWalk,
    Clone::clone,
    |column, _, seen, groups| with_defaults(&column, seen, groups)
);
