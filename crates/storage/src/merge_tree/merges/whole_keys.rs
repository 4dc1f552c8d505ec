//! Rows in the order of the sorting key that wait until all rows with their key, or with the first part of it, are there.

use squall_planner::KeyExpression;
use squall_runtime::Pieces;
use squall_types::gather::concat_blocks;
use squall_types::{Block, Column, Result};

use crate::evaluate::evaluate;
use crate::merge_tree::MergeTree;
use crate::merge_tree::order::sorting::SortedKeys;

/// Rows that are looked at together.
const ROWS_AT_ONCE: usize = 65_536;

/// Rows that wait.
pub(in crate::merge_tree) struct WholeKeys {
    /// How many expressions of the sorting key rows have in common that belong together.
    keys: usize,
    blocks: Vec<Block>,
    rows: usize,
    /// Rows of the last key when they were looked at last.
    last_run: usize,
}

impl WholeKeys {
    pub(in crate::merge_tree) fn new(keys: usize) -> Self {
        Self { keys, blocks: Vec::new(), rows: 0, last_run: 0 }
    }

    /// Adds rows; gives those whose keys are complete.
    pub(in crate::merge_tree) async fn push(
        &mut self,
        table: &MergeTree,
        block: Block,
        pieces: &mut Pieces,
    ) -> Result<Option<Block>> {
        if block.is_empty() {
            return Ok(None);
        }
        self.rows += block.rows();
        self.blocks.push(block);
        if self.rows < ROWS_AT_ONCE.max(2 * self.last_run) {
            return Ok(None);
        }
        let block = concat_blocks(&table.identity.stored, std::mem::take(&mut self.blocks), pieces).await?;
        let keys = SortedKeys::new(&keys(table, &block, self.keys)?, block.rows(), pieces).await?;
        let complete = keys.count_before(0, &keys, block.rows() - 1, false);
        self.last_run = block.rows() - complete;
        self.rows = self.last_run;
        self.blocks.push(block.slice(complete, self.last_run));
        Ok((complete > 0).then(|| block.slice(0, complete)))
    }

    /// The rows that are left.
    pub(in crate::merge_tree) async fn finish(
        &mut self,
        table: &MergeTree,
        pieces: &mut Pieces,
    ) -> Result<Option<Block>> {
        let blocks = std::mem::take(&mut self.blocks);
        self.rows = 0;
        if blocks.is_empty() {
            return Ok(None);
        }
        concat_blocks(&table.identity.stored, blocks, pieces).await.map(Some)
    }
}

/// The first expressions of the sorting key.
pub(in crate::merge_tree) fn keys(table: &MergeTree, block: &Block, count: usize) -> Result<Vec<Column>> {
    let value = |key: &KeyExpression| evaluate(&key.expression, block, &table.identity.stored_positions);
    table.identity.definition.sorting_key.iter().take(count).map(value).collect()
}
