//! Operators that work block by block inside a pipeline, without waiting for more input.

mod array_join;
mod conjunction;
mod distinct;
mod filter;
mod first_of_groups;
mod limit;
mod limit_by;
mod project;
mod rows_before_limit;

use std::ops::ControlFlow;
use std::sync::Arc;

use squall_types::{Block, Result};

pub use array_join::ArrayJoin;
pub use distinct::Distinct;
pub use filter::Filter;
pub(crate) use filter::passed;
pub(crate) use first_of_groups::FirstOfGroups;
pub use limit::Limit;
pub use limit_by::LimitBy;
pub use project::Project;
pub use rows_before_limit::RowsBeforeLimit;

/// A step of a pipeline; several workers call it at once with different blocks.
pub trait Operator: Send + Sync {
    /// The rows that come out for a block that goes in; `None` for no rows.
    ///
    /// # Errors
    /// The functions' own.
    fn execute(&self, block: Block) -> Result<Option<Block>>;

    /// The same in blocks of a bounded size, for steps that make many rows of one. `emit` may ask to stop.
    ///
    /// # Errors
    /// The functions' own, and those of `emit`.
    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        match self.execute(block)? {
            Some(output) => emit(output),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Whether no further block can make rows come out: the pipeline then stops reading.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether no more blocks should come for now: what the step has put aside is still on its way to the disk.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether many rows may come out for one: how much a block is to do is seen only while it is done.
    fn expands(&self) -> bool {
        false
    }

    /// Whether the result depends on the order in which blocks come: the pipeline then has one worker at a time.
    fn needs_order(&self) -> bool {
        false
    }

    /// The same step where of what comes out, only columns at `is_needed` are read; `None` where that is as much work.
    fn narrowed(&self, _is_needed: &[bool]) -> Option<Arc<dyn Operator>> {
        None
    }

    /// Whether a block gives the same rows each time it comes, and nothing else sees that it came.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// The name for EXPLAIN PIPELINE.
    fn name(&self) -> &'static str;
}
