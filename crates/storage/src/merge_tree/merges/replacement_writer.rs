//! Writes the part that stands for another afterwards. Few rows are written together; of more, each step of the work adds some to the part,
//! so that a mutation never holds all rows of a part.

use std::sync::{Arc, OnceLock};

use squall_runtime::Pieces;
use squall_types::{Block, Error, ErrorCode, Result};
use tokio::sync::oneshot;

use super::merge_control::MergeLock;
use super::merged_rows::sorting_keys;
use crate::merge_tree::MergeTree;
use crate::merge_tree::order::sorting::SortedKeys;
use crate::merge_tree::parts::part_encoder::PartEncoder;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_stream::PartStream;
use crate::merge_tree::parts::part_writer::{PartExtras, UnwrittenPart, write_encoded, write_part};
use crate::merge_tree::parts::row_groups::RowGroups;
use crate::merge_tree::parts::unsorted_rows::UnsortedRows;
use crate::merge_tree::projections::projection_builder::ProjectionBuilder;
use crate::table::{InsertWriter, PartWork};

/// Bytes in memory of the rows that a step takes; few in tests.
const STEP_BYTES: usize = if cfg!(test) { 128 } else { 128 << 20 };

/// Gathers the rows that stand for those of a part.
pub(in crate::merge_tree) struct ReplacementWriter {
    table: Arc<MergeTree>,
    name: PartName,
    new: Arc<OnceLock<UnwrittenPart>>,
    extras: PartExtras,
    /// Whether rows come in the order of the sorting key, so that a part can be made of them as they come.
    is_in_order: bool,
    blocks: Vec<Block>,
    bytes: usize,
    /// What the last step hands to the next.
    handed: Option<oneshot::Receiver<GrowingPart>>,
    /// Dropped last.
    lock: Arc<MergeLock>,
    /// Bytes on disk of the part that is replaced.
    from_bytes: u64,
}

/// A part of which some rows are made.
struct GrowingPart {
    groups: RowGroups,
    stream: PartStream,
    /// The key of the last row.
    last: Option<SortedKeys>,
}

impl ReplacementWriter {
    pub(in crate::merge_tree) fn new(
        table: Arc<MergeTree>,
        name: PartName,
        new: Arc<OnceLock<UnwrittenPart>>,
        extras: PartExtras,
        is_in_order: bool,
        lock: Arc<MergeLock>,
        from_bytes: u64,
    ) -> Self {
        Self { table, name, new, extras, is_in_order, blocks: Vec::new(), bytes: 0, handed: None, lock, from_bytes }
    }

    /// The part as the step before leaves it, which adds some of its rows.
    fn grown(&mut self) -> impl Future<Output = Result<GrowingPart>> + Send + use<> {
        let (table, name, extras, lock) =
            (self.table.clone(), self.name.clone(), self.extras.clone(), self.lock.clone());
        let (handed, from_bytes) = (self.handed.take(), self.from_bytes);
        let blocks = std::mem::take(&mut self.blocks);
        self.bytes = 0;
        async move {
            let mut part = match handed {
                // Nothing comes where the step before has failed, which is what the query reports.
                Some(handed) => handed.await.map_err(|_| {
                    Error::new(ErrorCode::QUERY_WAS_CANCELLED, "The rows before these could not be written")
                })?,
                None => {
                    let projections = ProjectionBuilder::all(&extras.projections, &name);
                    let encoder = PartEncoder::new(&table, &name, &extras.indices, projections, None, from_bytes)?;
                    let stream = PartStream::new(&table, &name, Some(lock));
                    GrowingPart { groups: RowGroups::new(&table, encoder, true), stream, last: None }
                }
            };
            let mut pieces = Pieces::begin();
            for block in blocks {
                part.push(&table, block, &mut pieces).await?;
            }
            Ok(part)
        }
    }
}

impl GrowingPart {
    async fn push(&mut self, table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<()> {
        let keys = SortedKeys::new(&sorting_keys(table, &block)?, block.rows(), pieces).await?;
        let follows = self.last.as_ref().is_none_or(|last| last.compare(0, &keys, 0).is_le());
        if !follows || !keys.are_in_order(pieces).await {
            return Err(Error::logical("a mutation has changed the order of a part's rows"));
        }
        drop(keys);
        let last = block.slice(block.rows() - 1, 1);
        self.last = Some(SortedKeys::new(&sorting_keys(table, &last)?, 1, pieces).await?);
        self.groups.push(block, Some(&mut self.stream), pieces).await
    }
}

impl InsertWriter for ReplacementWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if block.is_empty() {
            return Ok(None);
        }
        self.bytes += block.value_bytes();
        self.blocks.push(block);
        if !self.is_in_order || self.bytes < STEP_BYTES {
            return Ok(None);
        }
        let grown = self.grown();
        let (hand, handed) = oneshot::channel();
        self.handed = Some(handed);
        Ok(Some(Box::pin(async move {
            // Where nobody takes it any more the query has ended.
            let _ = hand.send(grown.await?);
            Ok(())
        })))
    }

    fn finish(mut self: Box<Self>) -> Result<Option<PartWork>> {
        if self.handed.is_none() && self.blocks.is_empty() {
            return Ok(None);
        }
        let grown = self.handed.is_some().then(|| self.grown());
        Ok(Some(Box::pin(async move {
            let Self { table, name, new, extras, blocks, lock, .. } = *self;
            let mut pieces = Pieces::begin();
            let written = match grown {
                None => {
                    let rows = UnsortedRows::new(&table.identity.stored, blocks);
                    write_part(&table, &name, rows, true, false, &extras, &mut pieces).await?
                }
                Some(grown) => {
                    let GrowingPart { groups, stream, last: _ } = grown.await?;
                    match groups.finish(&mut pieces).await? {
                        Some((encoded, row_groups)) => {
                            Some(write_encoded(&table, &name, encoded, row_groups, stream, &mut pieces).await?)
                        }
                        None => None,
                    }
                }
            };
            let Some(unwritten) = written else { return Ok(()) };
            // Another rewriting of the same part would write the same file.
            unwritten.part.hold(lock);
            new.set(unwritten).map_err(|_| Error::logical("a rewriting with several writers"))
        })))
    }
}
