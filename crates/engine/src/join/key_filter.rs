//! A runtime filter: rows of a probe side that will find no partner are left out long before they get to their join, by the keys that
//! its build side holds. A filter that lets most rows through is left untested for some blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::BooleanArray;
use squall_planner::Expression;
use squall_types::{Block, Result};

use super::build::JoinTable;
use super::matching::Matching;
use crate::operator::{Operator, passed};

/// Lets rows through whose keys the build side of a join has.
pub(crate) struct KeyFilter {
    matching: Arc<Matching>,
    table: Arc<JoinTable>,
    /// Over the filter's input.
    keys: Vec<Expression>,
    /// By position: whether a later step reads the column.
    is_needed: Vec<bool>,
    /// Blocks that are still to go through untested.
    untested: AtomicU64,
}

impl KeyFilter {
    pub(crate) fn new(
        matching: Arc<Matching>,
        table: Arc<JoinTable>,
        keys: Vec<Expression>,
        is_needed: Vec<bool>,
    ) -> Self {
        Self { matching, table, keys, is_needed, untested: AtomicU64::new(0) }
    }

    /// Whether this block is one of those that go through untested.
    fn is_let_through(&self) -> bool {
        self.untested.load(Ordering::Relaxed) > 0
            && self.untested.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

impl Operator for KeyFilter {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        // What went to disk holds no keys.
        let Some(index) = self.table.index().filter(|_| !self.is_let_through()) else { return Ok(Some(block)) };
        let bits = index.contains(&self.matching.keys(&self.keys, &block)?)?;
        let rows = bits.count_set_bits();
        let settings = &self.matching.context.settings;
        if rows as f64 > block.rows() as f64 * settings.join_runtime_filter_pass_ratio_threshold_for_disabling {
            self.untested.store(settings.join_runtime_filter_blocks_to_skip_before_reenabling, Ordering::Relaxed);
        }
        if rows == 0 || rows == block.rows() {
            return Ok((rows > 0).then_some(block));
        }
        passed(&block, &BooleanArray::new(bits, None), rows, &self.is_needed).map(Some)
    }

    fn name(&self) -> &'static str {
        "RuntimeFilter"
    }
}
