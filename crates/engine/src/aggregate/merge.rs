//! The parallel end of an aggregation. When all rows have come, the workers' tables are split by partition of the keys' hashes,
//! each table on its own; then each partition is merged on its own and its groups come out. Few groups make one partition only:
//! splitting would cost more than it gains. Where groups are on disk all are, and a partition is read from there.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::types::UInt64Type;
use parking_lot::Mutex;
use squall_functions::Accumulator;
use squall_runtime::Pieces;
use squall_types::{Block, Column, Error, Result, Schema};

use super::key_table::KeyTable;
use super::sink::{AggregateLocal, Grouping};
use super::spilled::{self, GROUPS_AT_ONCE, Spilling};
use crate::query_context::QueryContext;
use crate::source::Places;
use crate::totals::TotalsRow;
use crate::units::{Rows, Units};

/// From so many groups of all workers together the merge is partitioned.
const PARTITIONED_GROUPS_MIN: usize = 20_000;
/// Partitions at least; enough for the workers of a large machine to be busy to the end.
const PARTITIONS_MIN: usize = 64;
/// Partitions at most.
const PARTITIONS_MAX: usize = 1_024;
/// Groups of a partition, about: a worker's part of one is cut out in one step.
const PARTITION_GROUPS: usize = 32_768;
/// Groups whose results are computed at once.
const BLOCK_GROUPS: usize = 16_384;

type Part = (Box<dyn KeyTable>, Vec<Box<dyn Accumulator>>);

/// What the sink leaves for the pipelines after it.
#[derive(Default)]
pub(crate) struct Merge {
    locals: Option<Arc<Places<AggregateLocal>>>,
    partitions: usize,
    /// By partition: the part of each worker.
    parts: Vec<Vec<Part>>,
    /// Where the groups are on disk.
    spilling: Option<Arc<Spilling>>,
    /// Where the totals go, and the aggregation's schema.
    totals: Option<(Arc<TotalsRow>, Arc<Schema>)>,
}

impl Merge {
    /// An aggregation that leaves its totals at `row`.
    pub(crate) fn with_totals(row: Arc<TotalsRow>, schema: Arc<Schema>) -> Self {
        Self { totals: Some((row, schema)), ..Self::default() }
    }

    /// All rows have come.
    pub(super) fn begin(
        &mut self,
        grouping: &Grouping,
        spilling: Option<&Arc<Spilling>>,
        mut locals: Vec<AggregateLocal>,
    ) -> Result<()> {
        if let Some((row, schema)) = self.totals.take() {
            let totals = locals.iter_mut().map(|local| std::mem::take(&mut local.totals)).collect();
            row.set(totals_of(grouping, totals, schema)?);
        }
        let groups: usize = locals.iter().map(|local| local.table.groups()).sum();
        let is_partitioned = groups >= PARTITIONED_GROUPS_MIN && !locals.iter().any(|local| local.table.is_sparse());
        self.partitions = match is_partitioned {
            true => (groups / PARTITION_GROUPS).next_power_of_two().clamp(PARTITIONS_MIN, PARTITIONS_MAX),
            false => 1,
        };
        if let Some(spilling) = spilling {
            // Cutting the tables takes as much memory again.
            let bytes = || locals.iter().map(AggregateLocal::memory_bytes).sum();
            if spilling.is_used() || is_partitioned && spilling.threshold.is_near(bytes()) {
                locals.drain(..).try_for_each(|local| spilling.spill(local))?;
                self.partitions = spilled::PARTITIONS;
                self.spilling = Some(spilling.clone());
            }
            spilling.end();
        }
        self.parts = (0..self.partitions).map(|_| Vec::new()).collect();
        self.locals = Some(Arc::new(Places::new(locals)));
        Ok(())
    }
}

/// The totals of all workers' rows, with defaults for the keys.
fn totals_of(grouping: &Grouping, locals: Vec<Vec<Box<dyn Accumulator>>>, schema: Arc<Schema>) -> Result<Block> {
    let merged = merge_single(grouping, locals)?;
    let keys = grouping.key_types.iter().map(|key| Column::default_values(key.clone(), 1));
    let results = merged.into_iter().take(grouping.calls.len()).map(|accumulator| accumulator.finish(1));
    Ok(Block::new(schema, keys.chain(results).collect::<Result<Vec<_>>>()?, 1))
}

/// The accumulators of group 0 of all workers in one; fresh ones where no worker had a row.
fn merge_single(grouping: &Grouping, locals: Vec<Vec<Box<dyn Accumulator>>>) -> Result<Vec<Box<dyn Accumulator>>> {
    let mut merged = grouping.accumulators()?;
    for accumulators in locals {
        for (target, accumulator) in merged.iter_mut().zip(accumulators) {
            target.merge(accumulator, &[0], 1)?;
        }
    }
    Ok(merged)
}

/// Splits one worker's table per unit.
pub(crate) struct Partitioning(pub(crate) Arc<Mutex<Merge>>);

impl Units for Partitioning {
    fn units(&self) -> usize {
        self.0.lock().locals.as_ref().map_or(0, |locals| locals.len())
    }

    async fn run(self: Arc<Self>, unit: usize, _: Rows) -> Result<()> {
        let (locals, partitions) = {
            let merge = self.0.lock();
            (merge.locals.clone(), merge.partitions)
        };
        let local = locals.and_then(|locals| locals.take(unit));
        let local = local.ok_or_else(|| Error::logical("a worker's groups are partitioned twice"))?;
        let AggregateLocal { table, mut accumulators, .. } = local;
        if partitions == 1 {
            self.0.lock().parts[0].push((table, accumulators));
            return Ok(());
        }
        let mut pieces = Pieces::begin();
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); partitions];
        let groups = table.groups();
        for first in (0..groups).step_by(GROUPS_AT_ONCE) {
            table.partition(first..groups.min(first + GROUPS_AT_ONCE), &mut lists);
            pieces.pause().await;
        }
        let mut parts: Vec<Option<Part>> = Vec::with_capacity(partitions);
        for list in lists {
            if list.is_empty() {
                parts.push(None);
                continue;
            }
            let part = table.part(&list)?;
            let mut states = Vec::with_capacity(accumulators.len());
            for accumulator in &mut accumulators {
                states.push(accumulator.take(&list)?);
                pieces.pause().await;
            }
            parts.push(Some((part, states)));
        }
        let mut merge = self.0.lock();
        merge.parts.iter_mut().zip(parts).for_each(|(all, part)| all.extend(part));
        Ok(())
    }
}

/// Merges one partition per unit; its groups come out.
pub(crate) struct Merging {
    pub(crate) merge: Arc<Mutex<Merge>>,
    pub(crate) grouping: Arc<Grouping>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) context: Arc<QueryContext>,
}

impl Units for Merging {
    fn units(&self) -> usize {
        self.merge.lock().partitions
    }

    fn units_at_once(&self) -> usize {
        match self.merge.lock().spilling {
            // One for each worker, and one that is being read meanwhile.
            Some(_) => self.context.peak_threads().max(1) + 1,
            None => usize::MAX,
        }
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        let (parts, spilling) = {
            let mut merge = self.merge.lock();
            (std::mem::take(&mut merge.parts[unit]), merge.spilling.clone())
        };
        let grouping = &*self.grouping;
        let mut pieces = Pieces::begin();
        let mut parts = parts.into_iter();
        let (mut table, mut accumulators) = match (spilling, parts.next()) {
            (Some(spilling), _) => {
                let mut table = grouping.kind.table(&grouping.key_types);
                let mut accumulators = grouping.accumulators()?;
                spilling.read(unit, grouping, &mut *table, &mut accumulators, &mut pieces).await?;
                (table, accumulators)
            }
            (None, Some(first)) => first,
            // No rows at all: without keys there is one group all the same.
            (None, None) if grouping.keys.is_empty() => {
                (grouping.kind.table(&grouping.key_types), merge_single(grouping, Vec::new())?)
            }
            (None, None) => return Ok(()),
        };
        let mut to = Vec::new();
        for (other, mut others) in parts {
            // A part has keys but no slots yet.
            table.reserve_groups(table.groups() + other.groups())?;
            for first in (0..other.groups()).step_by(GROUPS_AT_ONCE) {
                table.merge(&*other, first..other.groups().min(first + GROUPS_AT_ONCE), &mut to)?;
                let groups = table.groups();
                pieces.pause().await;
                for (accumulator, other) in accumulators.iter_mut().zip(&mut others) {
                    accumulator.merge_range(&mut **other, first, &to, groups)?;
                    pieces.pause().await;
                }
            }
        }
        self.give(table, accumulators, &rows, &mut pieces).await
    }
}

impl Merging {
    /// Gives the results of merged groups.
    async fn give(
        &self,
        table: Box<dyn KeyTable>,
        mut accumulators: Vec<Box<dyn Accumulator>>,
        rows: &Rows,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let groups = table.groups();
        if groups <= BLOCK_GROUPS {
            let mut columns = table.columns(0..groups)?;
            for accumulator in accumulators {
                columns.push(accumulator.finish(groups)?);
                pieces.pause().await;
            }
            rows.push(self.block(columns, groups, table.is_sparse())?);
            return Ok(());
        }
        for first in (0..groups).step_by(BLOCK_GROUPS) {
            let range = first..groups.min(first + BLOCK_GROUPS);
            let list: Vec<u32> = range.clone().map(|group| group as u32).collect();
            let mut columns = table.columns(range.clone())?;
            pieces.pause().await;
            for accumulator in &mut accumulators {
                columns.push(accumulator.take(&list)?.finish(list.len())?);
                pieces.pause().await;
            }
            rows.push(self.block(columns, range.len(), table.is_sparse())?);
        }
        Ok(())
    }

    /// A block of the groups that exist; the accumulators' columns come after the keys'.
    fn block(&self, mut columns: Vec<Column>, groups: usize, is_sparse: bool) -> Result<Block> {
        let (grouping, keys) = (&*self.grouping, self.grouping.keys.len());
        let exists = match grouping.existence {
            Some(at) if is_sparse => Some(existing_groups(&columns[keys + at])?),
            _ => None,
        };
        columns.truncate(keys + grouping.calls.len());
        let block = Block::new(self.schema.clone(), columns, groups);
        match exists {
            Some(exists) => block.filter(&exists),
            None => Ok(block),
        }
    }
}

/// The groups that any row belongs to, by their counts.
fn existing_groups(counts: &Column) -> Result<BooleanArray> {
    let counts = counts.as_primitive::<UInt64Type>()?.values().clone();
    Ok(BooleanArray::new(arrow_buffer::BooleanBuffer::collect_bool(counts.len(), |group| counts[group] > 0), None))
}
