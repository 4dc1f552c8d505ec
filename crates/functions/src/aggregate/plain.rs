//! The outermost layer of every aggregate function: arguments come in as the engine has them, and go on without constants and
//! without dictionaries.

use std::sync::Arc;

use squall_types::{Column, DataType, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::window::RowRange;

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

    fn over_frames(&self, arguments: &[Column], frames: &[RowRange]) -> Result<Column> {
        let arguments = arguments.iter().map(plain).collect::<Result<Vec<_>>>()?;
        self.function.over_frames(&arguments, frames)
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

    fn partition(self: Box<Self>, groups_of: &[Vec<u32>]) -> Vec<Box<dyn Accumulator>> {
        let parts = self.nested.partition(groups_of).into_iter();
        parts.map(|nested| -> Box<dyn Accumulator> { Box::new(Self { nested }) }).collect()
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, to: &[u32], groups: usize) -> Result<()> {
        self.nested.merge(super::grouped::same::<Self>(other)?.nested, to, groups)
    }

    fn finish(self: Box<Self>, groups: usize) -> Result<Column> {
        self.nested.finish(groups)
    }

    fn memory_bytes(&self) -> usize {
        self.nested.memory_bytes()
    }
}

/// The column with every row written out, of the type inside `LowCardinality`.
pub(super) fn plain(column: &Column) -> Result<Column> {
    column.without_low_cardinality()?.materialize()
}
