//! A table's TTL, applied: what a merge makes of rows and values whose moment has come. Rows come in the order of the sorting key and leave
//! in it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, UInt32Array};
use squall_functions::GroupIds;
use squall_planner::{ColumnCompression, Expression, Ttl, TtlAction, TtlGroups};
use squall_runtime::Pieces;
use squall_types::gather::{concat, concat_blocks, take};
use squall_types::{Block, Column, DataType, Error, Result, Schema, reserve};

use crate::evaluate::evaluate;
use crate::merge_tree::MergeTree;
use crate::merge_tree::merges::merge_rule::{as_type, computed, taken};
use crate::merge_tree::merges::merged_rows::sorted;
use crate::merge_tree::merges::whole_keys::WholeKeys;
use crate::merge_tree::order::sorting::equal_runs;
use crate::merge_tree::parts::part::Part;

/// How a merge applies its table's TTL.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) struct TtlTurn {
    /// Seconds since 1970: what is due then has expired.
    pub(in crate::merge_tree) now: u32,
    /// What compresses the new part's columns that name no codec.
    pub(in crate::merge_tree) recompression: Option<ColumnCompression>,
}

impl MergeTree {
    /// How a merge of some parts applies the TTL; nothing where there is none, or somebody has stopped it.
    pub(in crate::merge_tree) fn ttl_turn(&self, parts: &[Arc<Part>], now: u32) -> Option<TtlTurn> {
        if self.ttl.elements.is_empty() || self.merging.is_ttl_stopped() {
            return None;
        }
        // Of those that are due for all rows, the one that was due last.
        let recompression = |element: &Ttl| {
            let TtlAction::Recompress { compression, .. } = &element.action else { return None };
            let ranges: Option<Vec<_>> = parts.iter().map(|part| self.ttl_range(part, element)).collect();
            let max = ranges?.iter().map(|range| range.max).max().filter(|max| (1..=now).contains(max))?;
            Some((max, *compression))
        };
        let chosen = self.ttl.elements.iter().filter_map(recompression).max_by_key(|(max, _)| *max);
        Some(TtlTurn { now, recompression: chosen.map(|(_, compression)| compression) })
    }

    /// Whether rows that have expired become fewer ones.
    pub(in crate::merge_tree) fn groups_rows(&self) -> bool {
        self.ttl.elements.iter().any(|element| matches!(element.action, TtlAction::Group(_)))
    }
}

/// The moments of rows by an element; 0 is never.
///
/// # Errors
/// Those of its expression.
pub(in crate::merge_tree) fn moments(table: &MergeTree, element: &Ttl, block: &Block) -> Result<Moments> {
    let column = evaluate(&element.moment, block, &table.identity.stored_positions)?;
    Ok(Moments(column.to_array()?))
}

/// Moments by rows.
pub(in crate::merge_tree) struct Moments(ArrayRef);

impl Moments {
    pub(in crate::merge_tree) fn iter(&self) -> std::slice::Iter<'_, u32> {
        self.0.as_primitive_opt::<UInt32Type>().map_or(&[][..], |values| values.values()).iter()
    }
}

/// Whether rows meet a condition.
///
/// # Errors
/// Those of the condition.
pub(in crate::merge_tree) fn meets(table: &MergeTree, filter: &Expression, block: &Block) -> Result<Met> {
    Ok(Met(evaluate(filter, block, &table.identity.stored_positions)?.to_array()?))
}

/// A condition by rows.
pub(in crate::merge_tree) struct Met(ArrayRef);

impl Met {
    pub(in crate::merge_tree) fn is_met(&self, row: usize) -> bool {
        let values = self.0.as_primitive_opt::<UInt8Type>().map_or(&[][..], |values| values.values());
        values.get(row).is_some_and(|met| *met != 0)
    }
}

/// Rows on their way through a table's TTL.
pub(in crate::merge_tree) struct TtlStage {
    table: Arc<MergeTree>,
    now: u32,
    /// Those that wait until their key is complete, for each of the table's groups.
    waiting: Vec<(usize, WholeKeys)>,
    /// Rows that are gone.
    pub(in crate::merge_tree) expired: u64,
}

impl TtlStage {
    pub(in crate::merge_tree) fn new(table: &Arc<MergeTree>, turn: &TtlTurn) -> Self {
        let waiting = |(at, element): (usize, &Ttl)| match &element.action {
            TtlAction::Group(groups) => Some((at, WholeKeys::new(groups.keys))),
            _ => None,
        };
        Self {
            table: table.clone(),
            now: turn.now,
            waiting: table.ttl.elements.iter().enumerate().filter_map(waiting).collect(),
            expired: 0,
        }
    }

    /// Adds rows; gives what became of rows that need wait for no others.
    pub(in crate::merge_tree) async fn push(&mut self, block: Block, pieces: &mut Pieces) -> Result<Option<Block>> {
        let before = block.rows();
        let mut block = block;
        for element in &self.table.ttl.elements {
            if let TtlAction::Delete(filter) = &element.action {
                block = deleted(&self.table, element, filter.as_ref(), block, self.now, pieces).await?;
            }
        }
        self.expired += (before - block.rows()) as u64;
        self.through_groups(block, 0, pieces).await
    }

    /// What became of the rows that are left.
    pub(in crate::merge_tree) async fn finish(&mut self, pieces: &mut Pieces) -> Result<Vec<Block>> {
        let mut left = Vec::new();
        for at in 0..self.waiting.len() {
            let table = self.table.clone();
            let Some((_, waiting)) = self.waiting.get_mut(at) else { continue };
            if let Some(block) = waiting.finish(&table, pieces).await? {
                let grouped = self.grouped(at, block, pieces).await?;
                left.extend(self.through_groups(grouped, at + 1, pieces).await?);
            }
        }
        Ok(left)
    }

    /// Takes rows through the groups from one on, as far as their keys are complete, and then resets values.
    async fn through_groups(&mut self, block: Block, from: usize, pieces: &mut Pieces) -> Result<Option<Block>> {
        let table = self.table.clone();
        let mut block = block;
        for at in from..self.waiting.len() {
            let Some((_, waiting)) = self.waiting.get_mut(at) else { continue };
            let Some(complete) = waiting.push(&table, block, pieces).await? else { return Ok(None) };
            block = self.grouped(at, complete, pieces).await?;
        }
        for element in &table.ttl.elements {
            if let TtlAction::Reset { column } = &element.action {
                block = reset(&table, element, *column, block, self.now, pieces).await?;
            }
        }
        Ok(Some(block))
    }

    async fn grouped(&self, at: usize, block: Block, pieces: &mut Pieces) -> Result<Block> {
        let element = self.waiting.get(at).and_then(|(element, _)| self.table.ttl.elements.get(*element));
        match element.map(|element| (element, &element.action)) {
            Some((element, TtlAction::Group(groups))) => {
                grouped(&self.table, element, groups, block, self.now, pieces).await
            }
            _ => Err(Error::logical("groups that are none")),
        }
    }
}

/// The positions of rows that have expired by an element, and of the others.
async fn parted(moments: &Moments, met: Option<&Met>, now: u32, pieces: &mut Pieces) -> Result<(Vec<u32>, Vec<u32>)> {
    reserve(moments.iter().len() * size_of::<u32>())?;
    let (mut expired, mut others) = (Vec::new(), Vec::new());
    for (row, moment) in moments.iter().enumerate() {
        let has_expired = *moment != 0 && *moment <= now && met.is_none_or(|met| met.is_met(row));
        if has_expired {
            expired.push(row as u32)
        } else {
            others.push(row as u32)
        }
        if row % 65_536 == 65_535 {
            pieces.pause().await;
        }
    }
    Ok((expired, others))
}

/// The rows that have not expired.
async fn deleted(
    table: &MergeTree,
    element: &Ttl,
    filter: Option<&Expression>,
    block: Block,
    now: u32,
    pieces: &mut Pieces,
) -> Result<Block> {
    let met = filter.map(|filter| meets(table, filter, &block)).transpose()?;
    let (expired, others) = parted(&moments(table, element, &block)?, met.as_ref(), now, pieces).await?;
    if expired.is_empty() { Ok(block) } else { taken(&block, others, pieces).await }
}

/// The rows with one in the place of all expired ones that have a key in common. Keys are complete.
async fn grouped(
    table: &MergeTree,
    element: &Ttl,
    groups: &TtlGroups,
    block: Block,
    now: u32,
    pieces: &mut Pieces,
) -> Result<Block> {
    let (expired, others) = parted(&moments(table, element, &block)?, None, now, pieces).await?;
    if expired.is_empty() {
        return Ok(block);
    }
    let rows = expired.len();
    let old = taken(&block, expired, pieces).await?;
    let positions = &table.identity.stored_positions;
    let keys = table.identity.definition.sorting_key.iter().take(groups.keys);
    let keys = keys.map(|key| evaluate(&key.expression, &old, positions)).collect::<Result<Vec<Column>>>()?;
    reserve(rows * 2 * size_of::<u32>())?;
    let starts = equal_runs(&keys, rows, pieces).await?;
    let mut ids: Vec<u32> = Vec::with_capacity(rows);
    for (group, end) in starts.iter().skip(1).copied().chain([rows as u32]).enumerate() {
        ids.resize(end as usize, group as u32);
    }
    let count = starts.len();
    let firsts = taken(&old, starts, pieces).await?;
    let mut columns = firsts.columns().to_vec();
    for (function, arguments) in &groups.aggregates {
        let argument = |argument: &Expression| computed(&evaluate(argument, &old, positions)?).materialize();
        let arguments = arguments.iter().map(argument).collect::<Result<Vec<Column>>>()?;
        let mut accumulator = function.accumulator();
        accumulator.update(GroupIds::Each(&ids), count, &arguments, rows)?;
        while !accumulator.settle()? {
            pieces.pause().await;
        }
        columns.push(accumulator.finish(count)?);
        pieces.pause().await;
    }
    let stored = firsts.columns().len();
    let unnamed = columns.iter().map(|column| (Arc::from(""), column.data_type().clone()));
    let fields: Vec<(Arc<str>, DataType)> = unnamed.collect();
    let all = Block::new(Arc::new(Schema::new(fields)), columns, count);
    let mut places = positions.clone();
    places.extend((0..groups.aggregates.len()).map(|at| Some(stored + at)));
    let mut made = firsts.columns().to_vec();
    for (column, value) in &groups.values {
        let at = positions.get(*column).copied().flatten();
        let Some(column) = at.and_then(|at| made.get_mut(at)) else { continue };
        *column = as_type(evaluate(value, &all, &places)?, column.data_type())?;
    }
    let made = Block::new(firsts.schema().clone(), made, count);
    let kept = taken(&block, others, pieces).await?;
    let both = concat_blocks(&table.identity.stored, vec![kept, made], pieces).await?;
    sorted(table, both, pieces).await
}

/// The rows with the column's default where its value has expired.
async fn reset(
    table: &MergeTree,
    element: &Ttl,
    column: usize,
    block: Block,
    now: u32,
    pieces: &mut Pieces,
) -> Result<Block> {
    let (expired, _) = parted(&moments(table, element, &block)?, None, now, pieces).await?;
    if expired.is_empty() {
        return Ok(block);
    }
    let positions = &table.identity.stored_positions;
    let mut columns = block.columns().to_vec();
    let at = positions.get(column).copied().flatten();
    let Some(values) = at.and_then(|at| columns.get_mut(at)) else { return Ok(block) };
    let default = table.defaults.over(column, &block, positions)?;
    *values = if expired.len() == block.rows() {
        default
    } else {
        let rows = block.rows() as u32;
        let mut places: Vec<u32> = (0..rows).collect();
        for row in expired {
            if let Some(place) = places.get_mut(row as usize) {
                *place += rows;
            }
        }
        let both = concat(vec![values.clone(), default], pieces).await?;
        take(&both, &UInt32Array::from(places), pieces).await?
    };
    Ok(Block::new(block.schema().clone(), columns, block.rows()))
}
