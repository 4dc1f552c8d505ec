//! The part that a merge makes: merged rows become row groups one after the other, by the rule of the table, so that a merge never holds
//! more than one row group and what is read ahead of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use squall_runtime::Pieces;
use squall_types::{Block, Result, Rows};

use super::merge_rule::{MergeFor, MergeRule};
use super::merged_rows::MergedRows;
use super::merging::MergeProgress;
use super::whole_keys::{WholeKeys, keys};
use crate::merge_tree::changes::deleted_rows::Deletions;
use crate::merge_tree::expiry::ttl::{TtlStage, TtlTurn};
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_encoder::{EncodedPart, PartEncoder};
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_stream::PartStream;
use crate::merge_tree::parts::part_writer::{UnwrittenPart, write_encoded};
use crate::merge_tree::parts::row_groups::RowGroups;
use crate::merge_tree::projections::projection_builder::ProjectionBuilder;
use crate::merge_tree::{MergeTree, live_rows};

/// Merges parts, which are in the order of their inserts, into a part that is not committed yet; none where no row is left.
///
/// # Errors
/// Where the parts cannot be read or the new one cannot be encoded.
pub(in crate::merge_tree) async fn write_merged(
    table: &Arc<MergeTree>,
    name: &PartName,
    (parts, deletions): (&[Arc<Part>], &Deletions),
    turn: Option<TtlTurn>,
    mut stream: PartStream,
    progress: &MergeProgress,
) -> Result<Option<UnwrittenPart>> {
    if let Some(turn) = &turn
        && parts.iter().all(|part| table.has_expired(part, turn.now))
    {
        let rows = live_rows(parts, deletions);
        progress.rows_read.store(rows, Ordering::Relaxed);
        progress.rows_expired.store(rows, Ordering::Relaxed);
        return Ok(None);
    }
    let mut pieces = Pieces::begin();
    let is_whole = parts.iter().all(|part| deletions.of(&part.file.name).is_none());
    let keeps_rows = table.rule.is_none() && turn.is_none() && is_whole;
    let projections = ProjectionBuilder::of_merge(table, parts, name, keeps_rows);
    let to = (projections, Some(&mut stream));
    let Some((encoded, row_groups)) =
        merge_rows(table, name, (parts, deletions), turn, to, progress, &mut pieces).await?
    else {
        return Ok(None);
    };
    write_encoded(table, name, encoded, row_groups, stream, &mut pieces).await.map(Some)
}

/// Merges parts into one that is in memory, or whose end is where its beginning goes to a stream; none where no row is left. With it come its
/// columns as the cache holds them, by row groups, where those of the parts did.
///
/// # Errors
/// Where the parts cannot be read or the new one cannot be encoded.
pub(in crate::merge_tree) async fn merge_rows(
    table: &Arc<MergeTree>,
    name: &PartName,
    (parts, deletions): (&[Arc<Part>], &Deletions),
    turn: Option<TtlTurn>,
    (projections, mut stream): (Vec<ProjectionBuilder>, Option<&mut PartStream>),
    progress: &MergeProgress,
    pieces: &mut Pieces,
) -> Result<Option<(EncodedPart, Vec<Vec<Rows>>)>> {
    let mut rows = MergedRows::new(table, parts, deletions)?;
    let mut stage = turn.as_ref().map(|turn| TtlStage::new(table, turn));
    // What was read lately stays in memory.
    let is_remembered = parts.iter().any(|part| part.is_hot());
    let from_bytes = parts.iter().map(|part| part.file.bytes).sum();
    let encoder = PartEncoder::new(table, name, &table.indices, projections, turn, from_bytes)?;
    let mut groups = RowGroups::new(table, encoder, is_remembered);
    let mut ruled = table.rule.clone().map(|rule| Ruled { rule, waiting: WholeKeys::new(usize::MAX) });
    loop {
        let next = rows.next(pieces).await?;
        let is_last = next.is_none();
        let block = match next {
            Some(block) => {
                progress.rows_read.fetch_add(block.rows() as u64, Ordering::Relaxed);
                progress.bytes_read.fetch_add(block.value_bytes() as u64, Ordering::Relaxed);
                match &mut ruled {
                    Some(ruled) => ruled.push(table, block, pieces).await?,
                    None => Some(block),
                }
            }
            None => match ruled.take() {
                Some(ruled) => ruled.finish(table, pieces).await?,
                None => None,
            },
        };
        let mut made = Vec::new();
        match (&mut stage, block) {
            (Some(stage), Some(block)) => made.extend(stage.push(block, pieces).await?),
            (None, block) => made.extend(block),
            (Some(_), None) => {}
        }
        if let Some(stage) = stage.as_mut().filter(|_| is_last) {
            made.extend(stage.finish(pieces).await?);
            progress.rows_expired.store(stage.expired, Ordering::Relaxed);
        }
        for block in made {
            progress.bytes_made.fetch_add(block.value_bytes() as u64, Ordering::Relaxed);
            groups.push(block, stream.as_deref_mut(), pieces).await?;
        }
        progress.rows_written.store(groups.rows_encoded() as u64, Ordering::Relaxed);
        progress.bytes_written.store(groups.bytes_encoded(), Ordering::Relaxed);
        if is_last {
            break;
        }
    }
    groups.finish(pieces).await
}

/// Merged rows that wait until all rows with their key are there.
struct Ruled {
    rule: MergeRule,
    waiting: WholeKeys,
}

impl Ruled {
    /// Adds rows; gives what became of those whose keys are complete.
    async fn push(&mut self, table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<Option<Block>> {
        match self.waiting.push(table, block, pieces).await? {
            Some(complete) => self.apply(table, complete, pieces).await.map(Some),
            None => Ok(None),
        }
    }

    /// What becomes of the rows that are left.
    async fn finish(mut self, table: &MergeTree, pieces: &mut Pieces) -> Result<Option<Block>> {
        match self.waiting.finish(table, pieces).await? {
            Some(left) => self.apply(table, left, pieces).await.map(Some),
            None => Ok(None),
        }
    }

    async fn apply(&self, table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<Block> {
        let keys = keys(table, &block, usize::MAX)?;
        let places: Vec<usize> = (0..block.columns().len()).collect();
        self.rule.apply(block, &places, &keys, MergeFor::Part, pieces).await
    }
}
