//! The outermost layer of every aggregate function: arguments come in as the engine has them, and go on without constants and
//! without dictionaries.

use std::sync::Arc;

use squall_types::{Column, DataType, Result};

use super::adapted::{Adapted, Adapter};
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
        Adapted::boxed(self.function.accumulator(), ToPlain)
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

/// Writes out constants and dictionaries.
#[derive(Clone, Copy)]
struct ToPlain;

impl Adapter for ToPlain {
    fn update(
        self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let is_plain =
            |column: &Column| !column.is_constant() && !matches!(column.data_type(), DataType::LowCardinality(_));
        if arguments.iter().all(is_plain) {
            return nested.update(group_ids, groups, arguments, rows);
        }
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        nested.update(group_ids, groups, &arguments, rows)
    }
}

/// The column with every row written out, of the type inside `LowCardinality`.
pub(super) fn plain(column: &Column) -> Result<Column> {
    column.without_low_cardinality()?.materialize()
}
