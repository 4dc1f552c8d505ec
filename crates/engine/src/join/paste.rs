//! PASTE JOIN: rows of both sides side by side, in their order, as many as the shorter side has.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use squall_types::{Block, Result};

use super::build::JoinTable;
use super::matching::Matching;
use crate::operator::Operator;

/// Puts the right side's rows beside the left one's.
pub(crate) struct JoinPaste {
    matching: Arc<Matching>,
    table: Arc<JoinTable>,
    /// Rows of the left side so far. One worker runs the operator.
    next: AtomicUsize,
}

impl JoinPaste {
    pub(crate) fn new(matching: Arc<Matching>, table: Arc<JoinTable>) -> Self {
        Self { matching, table, next: AtomicUsize::new(0) }
    }
}

impl Operator for JoinPaste {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let held = self.table.held()?;
        let first = self.next.fetch_add(block.rows(), Ordering::SeqCst);
        let rows = block.rows().min(held.rows.saturating_sub(first));
        if rows == 0 {
            return Ok(None);
        }
        let mut columns: Vec<_> =
            self.matching.left_columns.iter().map(|column| block.column(*column).slice(0, rows)).collect();
        for at in 0..self.matching.schema.len() - columns.len() {
            columns.push(held.column(at)?.slice(first, rows));
        }
        Ok(Some(Block::new(self.matching.schema.clone(), columns, rows)))
    }

    fn is_done(&self) -> bool {
        self.table.held().is_ok_and(|held| self.next.load(Ordering::SeqCst) >= held.rows)
    }

    fn needs_order(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "PasteJoinTransform"
    }
}
