//! The parallel end of an aggregation. When all rows have come, the workers' tables are split by partition of the keys' hashes,
//! each table on its own; then each partition is merged on its own and its groups come out. Few groups make one partition only:
//! splitting would cost more than it gains.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::types::UInt64Type;
use parking_lot::Mutex;
use squall_functions::Accumulator;
use squall_types::{Block, Column, Error, Result, Schema};

use super::key_table::KeyTable;
use super::sink::{AggregateLocal, Grouping};
use crate::source::Places;
use crate::totals::TotalsRow;
use crate::units::{Rows, Units};

/// From so many groups of all workers together the merge is partitioned.
const PARTITIONED_GROUPS_MIN: usize = 20_000;
/// Partitions; enough for the workers of a large machine to be busy to the end.
const PARTITIONS: usize = 64;

type Part = (Box<dyn KeyTable>, Vec<Box<dyn Accumulator>>);

/// What the sink leaves for the pipelines after it.
#[derive(Default)]
pub(crate) struct Merge {
    locals: Option<Arc<Places<AggregateLocal>>>,
    partitions: usize,
    /// By partition: the part of each worker.
    parts: Vec<Vec<Part>>,
    /// Where the totals go, and the aggregation's schema.
    totals: Option<(Arc<TotalsRow>, Arc<Schema>)>,
}

impl Merge {
    /// An aggregation that leaves its totals at `row`.
    pub(crate) fn with_totals(row: Arc<TotalsRow>, schema: Arc<Schema>) -> Self {
        Self { totals: Some((row, schema)), ..Self::default() }
    }

    /// All rows have come.
    pub(crate) fn begin(&mut self, grouping: &Grouping, mut locals: Vec<AggregateLocal>) -> Result<()> {
        if let Some((row, schema)) = self.totals.take() {
            let totals = locals.iter_mut().map(|local| std::mem::take(&mut local.totals)).collect();
            row.set(totals_of(grouping, totals, schema)?);
        }
        let groups: usize = locals.iter().map(|local| local.table.groups()).sum();
        let is_partitioned = groups >= PARTITIONED_GROUPS_MIN && !locals.iter().any(|local| local.table.is_sparse());
        self.partitions = if is_partitioned { PARTITIONS } else { 1 };
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
        if partitions == 1 {
            self.0.lock().parts[0].push((local.table, local.accumulators));
            return Ok(());
        }
        let (tables, groups_of): (Vec<_>, Vec<_>) = local.table.partition(partitions)?.into_iter().unzip();
        let mut accumulators: Vec<Vec<Box<dyn Accumulator>>> = tables.iter().map(|_| Vec::new()).collect();
        for accumulator in local.accumulators {
            for (part, split) in accumulators.iter_mut().zip(accumulator.partition(&groups_of)) {
                part.push(split);
            }
        }
        let mut merge = self.0.lock();
        for (partition, part) in tables.into_iter().zip(accumulators).enumerate() {
            if part.0.groups() > 0 {
                merge.parts[partition].push(part);
            }
        }
        Ok(())
    }
}

/// Merges one partition per unit; its groups come out.
pub(crate) struct Merging {
    pub(crate) merge: Arc<Mutex<Merge>>,
    pub(crate) grouping: Arc<Grouping>,
    pub(crate) schema: Arc<Schema>,
}

impl Units for Merging {
    fn units(&self) -> usize {
        self.merge.lock().partitions
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        let parts = std::mem::take(&mut self.merge.lock().parts[unit]);
        let mut parts = parts.into_iter();
        let grouping = &*self.grouping;
        let (mut table, mut accumulators) = match parts.next() {
            Some(first) => first,
            // No rows at all: without keys there is one group all the same.
            None if grouping.keys.is_empty() => {
                (grouping.kind.table(&grouping.key_types), merge_single(grouping, Vec::new())?)
            }
            None => return Ok(()),
        };
        for (other_table, other_accumulators) in parts {
            let to = table.merge(other_table)?;
            let groups = table.groups();
            for (accumulator, other) in accumulators.iter_mut().zip(other_accumulators) {
                accumulator.merge(other, &to, groups)?;
            }
        }
        let (groups, is_sparse) = (table.groups(), table.is_sparse());
        let mut columns = table.into_columns()?;
        let results = accumulators.into_iter().map(|accumulator| accumulator.finish(groups));
        columns.extend(results.collect::<Result<Vec<_>>>()?);
        let keys = grouping.keys.len();
        let exists = match grouping.existence {
            Some(at) if is_sparse => Some(existing_groups(&columns[keys + at])?),
            _ => None,
        };
        columns.truncate(keys + grouping.calls.len());
        let block = Block::new(self.schema.clone(), columns, groups);
        let block = match exists {
            Some(exists) => block.filter(&exists)?,
            None => block,
        };
        rows.push(block);
        Ok(())
    }
}

/// The groups that any row belongs to, by their counts.
fn existing_groups(counts: &Column) -> Result<BooleanArray> {
    let counts = counts.as_primitive::<UInt64Type>()?.values().clone();
    Ok(BooleanArray::new(arrow_buffer::BooleanBuffer::collect_bool(counts.len(), |group| counts[group] > 0), None))
}
