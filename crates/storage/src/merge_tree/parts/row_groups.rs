//! Rows on their way into the row groups of a part: however they come, each row group but the last has whole granules, and no more rows
//! wait than one row group has.

use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::gather::concat_blocks;
use squall_types::{Block, Result, Rows};

use super::part_encoder::{EncodedPart, PartEncoder};
use super::part_stream::PartStream;
use super::part_writer::own_rows;
use crate::merge_tree::MergeTree;

/// A row group ends at so many bytes in memory, however few its rows are. In tests small parts have several.
const GROUP_BYTES_MAX: usize = if cfg!(test) { 128 } else { 256 << 20 };
/// Columns of at most so many bytes go into the cache.
const REMEMBERED_BYTES_MAX: usize = 256 << 20;

/// Rows on their way into row groups.
pub(in crate::merge_tree) struct RowGroups {
    table: Arc<MergeTree>,
    encoder: PartEncoder,
    blocks: Vec<Block>,
    rows: usize,
    bytes: usize,
    /// Columns for the cache, by row groups, as long as these are few.
    row_groups: Option<Vec<Vec<Rows>>>,
    remembered: usize,
}

impl RowGroups {
    /// Of a part of a table; with `is_remembered` its columns are kept for the cache.
    pub(in crate::merge_tree) fn new(table: &Arc<MergeTree>, encoder: PartEncoder, is_remembered: bool) -> Self {
        Self {
            table: table.clone(),
            encoder,
            blocks: Vec::new(),
            rows: 0,
            bytes: 0,
            row_groups: is_remembered.then(Vec::new),
            remembered: 0,
        }
    }

    /// Rows of the row groups so far.
    pub(in crate::merge_tree) fn rows_encoded(&self) -> usize {
        self.encoder.rows()
    }

    /// Bytes of these.
    pub(in crate::merge_tree) fn bytes_encoded(&self) -> u64 {
        self.encoder.bytes()
    }

    /// Adds rows, in the order of the sorting key. Of a part with a stream, row groups go there.
    ///
    /// # Errors
    /// Where the rows cannot be encoded or written.
    pub(in crate::merge_tree) async fn push(
        &mut self,
        block: Block,
        mut stream: Option<&mut PartStream>,
        pieces: &mut Pieces,
    ) -> Result<()> {
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
            if let Some(stream) = stream.as_deref_mut() {
                self.encoder.stream(stream).await?;
            }
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
        let block = concat_blocks(&self.table.identity.stored, first, pieces).await?;
        let block = own_rows(&block, 0, block.rows())?;
        self.remembered += block.memory_bytes();
        if self.remembered > REMEMBERED_BYTES_MAX {
            self.row_groups = None;
        }
        let rows = self.encoder.append(&block, self.row_groups.is_some(), pieces).await?;
        if let Some(row_groups) = &mut self.row_groups {
            row_groups.push(rows);
        }
        Ok(())
    }

    /// The part with its last rows, and the columns that are kept; none where there is no row.
    ///
    /// # Errors
    /// Where the rows cannot be encoded.
    pub(in crate::merge_tree) async fn finish(
        mut self,
        pieces: &mut Pieces,
    ) -> Result<Option<(EncodedPart, Vec<Vec<Rows>>)>> {
        if self.rows > 0 {
            self.append(self.rows, pieces).await?;
        }
        let encoded = self.encoder.finish(pieces).await?;
        Ok(encoded.map(|encoded| (encoded, self.row_groups.unwrap_or_default())))
    }
}
