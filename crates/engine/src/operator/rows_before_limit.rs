//! Counts the rows that a LIMIT above chooses from, for clients that show how many there are.

use std::sync::Arc;

use squall_types::{Block, Result};

use super::Operator;
use crate::query_context::QueryContext;

/// Lets everything through and counts it.
pub struct RowsBeforeLimit(
    /// The query whose progress gets the number.
    pub Arc<QueryContext>,
);

impl Operator for RowsBeforeLimit {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        self.0.progress.count_before_limit(block.rows() as u64);
        Ok(Some(block))
    }

    fn name(&self) -> &'static str {
        "RowsBeforeLimit"
    }
}
