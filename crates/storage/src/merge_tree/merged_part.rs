//! The part that a merge makes: merged rows become row groups one after the other, by the rule of the table, so that a merge never holds
//! more than one row group and what is read ahead of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::ArrayRef;
use squall_planner::KeyExpression;
use squall_runtime::Pieces;
use squall_types::{Block, Column, Result};

use super::MergeTree;
use super::insertion::concat;
use super::merge::MergeProgress;
use super::merge_rule::{MergeFor, MergeRule};
use super::merged_rows::MergedRows;
use super::part::Part;
use super::part_encoder::PartEncoder;
use super::part_name::PartName;
use super::part_writer::{UnwrittenPart, own_rows, write_encoded};
use super::sorting::SortedKeys;
use crate::evaluate::evaluate;

/// A row group ends at so many bytes in memory, however few its rows are.
const GROUP_BYTES_MAX: usize = 256 << 20;
/// Rows that a rule is applied to at once.
const RULED_ROWS: usize = 65_536;
/// Columns of at most so many bytes go into the cache.
const REMEMBERED_BYTES_MAX: usize = 256 << 20;

/// Merges parts, which are in the order of their inserts, into a part that is not committed yet; none where no row is left.
///
/// # Errors
/// Where the parts cannot be read or the new one cannot be encoded.
pub(super) async fn write_merged(
    table: &Arc<MergeTree>,
    name: &PartName,
    parts: &[Arc<Part>],
    progress: &MergeProgress,
) -> Result<Option<UnwrittenPart>> {
    let mut pieces = Pieces::begin();
    let mut rows = MergedRows::new(table, parts)?;
    let mut groups = RowGroups {
        table: table.clone(),
        encoder: PartEncoder::new(table, name, &table.indices),
        blocks: Vec::new(),
        rows: 0,
        bytes: 0,
        // What was read lately stays in memory.
        arrays: parts.iter().any(|part| part.is_hot()).then(Vec::new),
        remembered: 0,
    };
    let mut ruled = table.rule.clone().map(|rule| Ruled { rule, blocks: Vec::new(), rows: 0, last_run: 0 });
    while let Some(block) = rows.next(&mut pieces).await? {
        progress.rows_read.fetch_add(block.rows() as u64, Ordering::Relaxed);
        progress.bytes_read.fetch_add(block.value_bytes() as u64, Ordering::Relaxed);
        let block = match &mut ruled {
            Some(ruled) => ruled.push(table, block, &mut pieces).await?,
            None => Some(block),
        };
        if let Some(block) = block {
            groups.push(block, &mut pieces).await?;
        }
        progress.rows_written.store(groups.encoder.rows() as u64, Ordering::Relaxed);
        progress.bytes_written.store(groups.encoder.bytes(), Ordering::Relaxed);
    }
    if let Some(block) = match ruled {
        Some(ruled) => ruled.finish(table, &mut pieces).await?,
        None => None,
    } {
        groups.push(block, &mut pieces).await?;
    }
    groups.finish(name, &mut pieces).await
}

/// Merged rows that wait until all rows with their key are there.
struct Ruled {
    rule: MergeRule,
    blocks: Vec<Block>,
    rows: usize,
    /// Rows of the last key when they were looked at last.
    last_run: usize,
}

impl Ruled {
    /// Adds rows; gives what became of those whose keys are complete.
    async fn push(&mut self, table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<Option<Block>> {
        self.rows += block.rows();
        self.blocks.push(block);
        if self.rows < RULED_ROWS.max(2 * self.last_run) {
            return Ok(None);
        }
        let block = concat(&table.identity.stored, std::mem::take(&mut self.blocks), pieces).await?;
        let keys = SortedKeys::new(&keys(table, &block)?, block.rows(), pieces).await?;
        let complete = keys.count_before(0, &keys, block.rows() - 1, false);
        self.last_run = block.rows() - complete;
        self.rows = self.last_run;
        self.blocks.push(block.slice(complete, self.last_run));
        if complete == 0 {
            return Ok(None);
        }
        self.apply(table, block.slice(0, complete), pieces).await.map(Some)
    }

    /// What becomes of the rows that are left.
    async fn finish(mut self, table: &MergeTree, pieces: &mut Pieces) -> Result<Option<Block>> {
        let blocks = std::mem::take(&mut self.blocks);
        if blocks.is_empty() {
            return Ok(None);
        }
        let block = concat(&table.identity.stored, blocks, pieces).await?;
        self.apply(table, block, pieces).await.map(Some)
    }

    async fn apply(&self, table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<Block> {
        let keys = keys(table, &block)?;
        let places: Vec<usize> = (0..block.columns().len()).collect();
        self.rule.apply(block, &places, &keys, MergeFor::Part, pieces).await
    }
}

/// The sorting key.
fn keys(table: &MergeTree, block: &Block) -> Result<Vec<Column>> {
    let value = |key: &KeyExpression| evaluate(&key.expression, block, &table.identity.stored_positions);
    table.identity.definition.sorting_key.iter().map(value).collect()
}

/// Rows on their way into row groups.
struct RowGroups {
    table: Arc<MergeTree>,
    encoder: PartEncoder,
    blocks: Vec<Block>,
    rows: usize,
    bytes: usize,
    /// Columns for the cache, by row groups, as long as these are few.
    arrays: Option<Vec<Vec<ArrayRef>>>,
    remembered: usize,
}

impl RowGroups {
    async fn push(&mut self, block: Block, pieces: &mut Pieces) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        self.rows += block.rows();
        self.bytes += block.value_bytes();
        self.blocks.push(block);
        let (group_rows, granule) = (self.table.settings.row_group_rows(), self.table.settings.index_granularity);
        while self.rows >= group_rows || self.bytes >= GROUP_BYTES_MAX && self.rows >= granule {
            let rows = self.rows.min(group_rows);
            self.append(rows - rows % granule, pieces).await?;
        }
        Ok(())
    }

    /// Makes a row group of the first rows.
    async fn append(&mut self, rows: usize, pieces: &mut Pieces) -> Result<()> {
        let (mut first, mut left, mut missing) = (Vec::new(), Vec::new(), rows);
        for block in self.blocks.drain(..) {
            let taken = missing.min(block.rows());
            missing -= taken;
            match (taken, block.rows() - taken) {
                (_, 0) => first.push(block),
                (0, _) => left.push(block),
                (_, more) => {
                    first.push(block.slice(0, taken));
                    left.push(block.slice(taken, more));
                }
            }
        }
        self.blocks = left;
        self.rows -= rows;
        self.bytes = self.blocks.iter().map(Block::value_bytes).sum();
        let block = concat(&self.table.identity.stored, first, pieces).await?;
        let block = own_rows(&block, 0, block.rows())?;
        self.remembered += block.memory_bytes();
        if self.remembered > REMEMBERED_BYTES_MAX {
            self.arrays = None;
        }
        let arrays = self.encoder.append(&block, self.arrays.is_some(), pieces).await?;
        if let Some(all) = &mut self.arrays {
            all.push(arrays);
        }
        Ok(())
    }

    async fn finish(mut self, name: &PartName, pieces: &mut Pieces) -> Result<Option<UnwrittenPart>> {
        if self.rows > 0 {
            self.append(self.rows, pieces).await?;
        }
        let Some(encoded) = self.encoder.finish(pieces).await? else { return Ok(None) };
        write_encoded(&self.table, name, encoded, self.arrays.unwrap_or_default(), pieces).await.map(Some)
    }
}
