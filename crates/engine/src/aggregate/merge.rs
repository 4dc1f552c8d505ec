//! The parallel end of an aggregation. When all rows have come, the workers' tables are split by partition of the keys' hashes,
//! each table on its own; then each partition is merged on its own and its groups come out. Few groups with small states make one
//! partition only: splitting would cost more than it gains. What is large of a single state is merged by several workers (`large`).
//! Where groups are on disk all are, and a partition is read from there.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, UInt32Array};
use parking_lot::Mutex;
use squall_functions::{Accumulator, STEP_ITEMS};
use squall_runtime::Pieces;
use squall_types::{Block, Column, Error, Result, Schema};

use super::expected_groups::ExpectedGroups;
use super::groups::{GROUPS_AT_ONCE, Groups};
use super::key_table::{KeyKind, KeyTable};
use super::large::{self, Jobs, LargeGroups};
use super::partitions::{self, Part, Partitions};
use super::sink::{AggregateLocal, Grouping};
use super::spilled::{Read, Spilling};
use super::subpartitions::{PartitionNumber, subpartitions};
use super::top_groups::TopGroups;
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
/// Of so many with small states: taking some of them out would cost more.
const BLOCK_SMALL_GROUPS: usize = 65_536;
/// Of fewer groups all are given, though only the first are wanted.
const TOP_GROUPS_MIN: usize = 512;
/// Values of the results that are computed at once, where a group can have many.
const BLOCK_ITEMS: usize = 1 << 20;
/// From so many values in the states of all workers together few groups are partitioned, too.
const PARTITIONED_ITEMS_MIN: usize = 1 << 18;

/// Totals that are to be merged.
struct TotalsOf {
    grouping: Arc<Grouping>,
    /// The accumulators of each worker.
    states: Vec<Vec<Box<dyn Accumulator>>>,
}

/// What the sink leaves for the pipelines after it.
#[derive(Default)]
pub(crate) struct Merge {
    locals: Option<Arc<Places<AggregateLocal>>>,
    partitions: usize,
    /// By partition: the part of each worker.
    parts: Vec<Vec<Part>>,
    /// What all partitions' units do together.
    jobs: Arc<Jobs>,
    /// Where the groups are on disk.
    spilling: Option<Arc<Spilling>>,
    /// Where the totals go, and the aggregation's schema.
    totals: Option<(Arc<TotalsRow>, Arc<Schema>)>,
    /// The totals of each worker's rows, once all have come.
    totals_of: Option<TotalsOf>,
}

impl Merge {
    /// An aggregation that leaves its totals at `row`.
    pub(crate) fn with_totals(row: Arc<TotalsRow>, schema: Arc<Schema>) -> Self {
        Self { totals: Some((row, schema)), ..Self::default() }
    }

    /// All rows have come.
    pub(super) fn begin(
        &mut self,
        grouping: &Arc<Grouping>,
        spilling: Option<&Arc<Spilling>>,
        mut locals: Vec<AggregateLocal>,
    ) -> Result<()> {
        if self.totals.is_some() {
            let states = locals.iter_mut().map(|local| std::mem::take(&mut local.totals)).collect();
            self.totals_of = Some(TotalsOf { grouping: grouping.clone(), states });
        }
        let groups: usize = locals.iter().map(AggregateLocal::count).sum();
        let is_partitioned =
            groups >= PARTITIONED_GROUPS_MIN && !locals.iter().any(|local| local.groups.table.is_sparse());
        let items = || locals.iter().map(AggregateLocal::items).sum::<usize>();
        self.partitions = if locals.iter().any(|local| local.aside.is_some()) {
            partitions::PARTITIONS
        } else if is_partitioned {
            (groups / PARTITION_GROUPS).next_power_of_two().clamp(PARTITIONS_MIN, PARTITIONS_MAX)
        } else if locals.len() > 1 && !matches!(grouping.kind, KeyKind::Single) && items() >= PARTITIONED_ITEMS_MIN {
            PARTITIONS_MIN
        } else {
            1
        };
        if let Some(spilling) = spilling {
            // Cutting the tables takes as much memory again.
            let bytes = || locals.iter().map(AggregateLocal::memory_bytes).sum();
            if spilling.is_used() || is_partitioned && spilling.threshold.is_near(bytes()) {
                locals.drain(..).try_for_each(|local| spilling.spill(local))?;
                self.partitions = partitions::PARTITIONS;
                self.spilling = Some(spilling.clone());
            }
            spilling.end();
        }
        self.parts = (0..self.partitions).map(|_| Vec::new()).collect();
        self.jobs = Arc::new(Jobs::new(self.partitions));
        self.locals = Some(Arc::new(Places::new(locals)));
        Ok(())
    }
}

impl TotalsOf {
    /// The totals of all workers' rows, with defaults for the keys.
    async fn row(self, schema: Arc<Schema>) -> Result<Block> {
        let Self { grouping, states } = self;
        let mut pieces = Pieces::begin();
        let mut merged = grouping.accumulators()?;
        for others in states {
            for (target, mut other) in merged.iter_mut().zip(others) {
                target.merge_range(&mut *other, 0, &[0], 1)?;
                pieces.pause().await;
            }
        }
        let keys = grouping.key_types.iter().map(|key| Column::default_values(key.clone(), 1));
        let mut columns = keys.collect::<Result<Vec<_>>>()?;
        for mut states in merged.into_iter().take(grouping.calls.len()) {
            while !states.settle()? {
                pieces.pause().await;
            }
            columns.push(states.finish(1)?);
            pieces.pause().await;
        }
        Ok(Block::new(schema, columns, 1))
    }
}

/// Splits one worker's table per unit; one more merges the totals, where there are any.
pub(crate) struct Partitioning(pub(crate) Arc<Mutex<Merge>>);

impl Units for Partitioning {
    fn units(&self) -> usize {
        let merge = self.0.lock();
        merge.locals.as_ref().map_or(0, |locals| locals.len()) + usize::from(merge.totals_of.is_some())
    }

    async fn run(self: Arc<Self>, unit: usize, _: Rows) -> Result<()> {
        let (locals, partitions) = {
            let merge = self.0.lock();
            (merge.locals.clone(), merge.partitions)
        };
        let workers = locals.as_ref().map_or(0, |locals| locals.len());
        if unit == workers {
            let (totals, place) = {
                let mut merge = self.0.lock();
                (merge.totals_of.take(), merge.totals.take())
            };
            if let (Some(totals), Some((row, schema))) = (totals, place) {
                row.set(totals.row(schema).await?);
            }
            return Ok(());
        }
        let local = locals.and_then(|locals| locals.take(unit));
        let local = local.ok_or_else(|| Error::logical("a worker's groups are partitioned twice"))?;
        let AggregateLocal { groups: Groups { table, mut accumulators }, aside, .. } = local;
        let mut pieces = Pieces::begin();
        if partitions == 1 {
            let large = large::cut(&mut accumulators, workers, &mut pieces).await?;
            let groups = Groups { table, accumulators };
            self.0.lock().parts[0].push(Part::Groups { groups, large });
            return Ok(());
        }
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
            let large = large::cut(&mut states, workers, &mut pieces).await?;
            let groups = Groups { table: part, accumulators: states };
            parts.push(Some(Part::Groups { groups, large }));
        }
        let aside = aside.map(Partitions::into_parts).transpose()?;
        pieces.pause().await;
        let mut merge = self.0.lock();
        if let Some(aside) = aside {
            merge.parts.iter_mut().zip(aside).for_each(|(all, parts)| all.extend(parts));
        }
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
    /// Where only the first groups are wanted.
    pub(crate) top: Option<TopGroups>,
}

impl Units for Merging {
    /// One for each partition, and where they have much to do together one for each worker that has no partition.
    fn units(&self) -> usize {
        let merge = self.merge.lock();
        let has_large = merge.parts.iter().flatten().any(Part::is_large);
        merge.partitions + if has_large { self.context.peak_threads().saturating_sub(1) } else { 0 }
    }

    fn units_at_once(&self) -> usize {
        match self.merge.lock().spilling {
            // One for each worker, and one that is being read meanwhile.
            Some(_) => self.context.peak_threads().max(1) + 1,
            None => usize::MAX,
        }
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        let (parts, partitions, spilling, jobs) = {
            let mut merge = self.merge.lock();
            let parts = merge.parts.get_mut(unit).map(std::mem::take);
            (parts, merge.partitions, merge.spilling.clone(), merge.jobs.clone())
        };
        let Some(parts) = parts else { return jobs.help().await };
        let mut open = Some(jobs.open());
        let grouping = &*self.grouping;
        let mut pieces = Pieces::begin();
        let needs_group = partitions == 1 && grouping.sets.is_some_and(|sets| sets.has_group_without_rows);
        // A worker that got no rows has a table all the same.
        let parts = parts.into_iter().filter(|part| !needs_group || part.len() > 0).collect::<Vec<_>>();
        if let Some(spilling) = spilling {
            let mut partitions = vec![spilling.partition(unit)];
            while let Some(partition) = partitions.pop() {
                match spilling.read(partition, grouping, &mut pieces).await? {
                    Read::Groups(groups) => {
                        self.give(groups, &rows, &mut pieces).await?;
                        rows.room().await;
                    }
                    Read::Cut(parts) => partitions.extend(parts.into_iter().rev()),
                }
            }
            return Ok(());
        }
        if parts.is_empty() {
            // No rows at all: without keys there is one group all the same.
            if grouping.keys.is_empty() {
                return self.give(Groups::new(grouping)?, &rows, &mut pieces).await;
            }
            if needs_group {
                let keys = grouping.key_types.iter().map(|key| Column::default_values(key.clone(), 1));
                let mut columns = keys.collect::<Result<Vec<_>>>()?;
                for states in grouping.accumulators()? {
                    columns.push(states.finish(1)?);
                }
                rows.push(self.block(columns, 1, false)?);
                return Ok(());
            }
            return Ok(());
        }
        let number = PartitionNumber { number: unit, partitions };
        for parts in subpartitions(parts, number, grouping, &mut pieces).await? {
            let groups = self.merged(parts, &jobs, &mut pieces).await?;
            // Of several parts none has large states.
            open = None;
            self.give(groups, &rows, &mut pieces).await?;
        }
        drop(open);
        Ok(())
    }
}

/// Merges groups `first..` of another accumulator, which are the groups `to` of one that has `groups` from now on: all at once, or fewer
/// at a time where their states have many values.
async fn merge_states(
    into: &mut dyn Accumulator,
    from: &mut dyn Accumulator,
    first: usize,
    to: &[u32],
    groups: usize,
    pieces: &mut Pieces,
) -> Result<()> {
    let mut at = 0;
    while at < to.len() {
        let mut end = to.len();
        while end - at > 1 && from.items(first + at..first + end) > STEP_ITEMS {
            end = at + (end - at) / 2;
        }
        into.merge_range(from, first + at, &to[at..end], groups)?;
        pieces.pause().await;
        at = end;
    }
    Ok(())
}

impl Merging {
    /// The groups of what several workers have of a partition, each key once.
    async fn merged(&self, parts: Vec<Part>, jobs: &Jobs, pieces: &mut Pieces) -> Result<Groups> {
        let grouping = &*self.grouping;
        let all: usize = parts.iter().map(Part::len).sum();
        let mut large = LargeGroups::default();
        let mut parts = parts.into_iter().peekable();
        let mut groups = match parts.next_if(|part| matches!(part, Part::Groups { .. })) {
            Some(Part::Groups { groups, large: own }) => {
                for state in own {
                    let group = state.group;
                    large.add(state, group);
                }
                groups
            }
            _ => Groups::new(grouping)?,
        };
        let mut expected = ExpectedGroups::new(&groups, all - groups.len());
        let mut to = Vec::new();
        for part in parts {
            expected.make_room(&mut groups)?;
            expected.have_come(part.len());
            let (Groups { table: other, accumulators: mut others }, mut large_others) = match part {
                Part::Groups { groups, large } => (groups, large),
                Part::Rows(rows) => {
                    groups.add_rows(grouping, &rows, &mut to)?;
                    pieces.pause().await;
                    continue;
                }
            };
            let Groups { table, accumulators } = &mut groups;
            for first in (0..other.groups()).step_by(GROUPS_AT_ONCE) {
                table.merge(&*other, first..other.groups().min(first + GROUPS_AT_ONCE), &mut to)?;
                let groups = table.groups();
                pieces.pause().await;
                for (accumulator, other) in accumulators.iter_mut().zip(&mut others) {
                    merge_states(&mut **accumulator, &mut **other, first, &to, groups, pieces).await?;
                }
                for state in large_others.extract_if(.., |state| (state.group as usize) < first + to.len()) {
                    let group = to[state.group as usize - first];
                    large.add(state, group);
                }
            }
        }
        if !large.is_empty() {
            let count = groups.len();
            jobs.merge(large, &mut groups.accumulators, count, pieces).await?;
        }
        Ok(groups)
    }

    /// Gives the results of merged groups.
    async fn give(&self, all: Groups, rows: &Rows, pieces: &mut Pieces) -> Result<()> {
        let groups = all.len();
        let are_few = groups <= BLOCK_GROUPS && items(&all.accumulators, 0..groups) <= BLOCK_ITEMS;
        let is_one_block = are_few || groups <= BLOCK_SMALL_GROUPS && all.are_small();
        let Groups { table, mut accumulators } = all;
        if is_one_block {
            return self.give_block(&*table, 0..groups, accumulators, rows, pieces).await;
        }
        let mut first = 0;
        while first < groups {
            let mut end = groups.min(first + BLOCK_GROUPS);
            while end - first > 1 && items(&accumulators, first..end) > BLOCK_ITEMS {
                end = first + (end - first) / 2;
            }
            let list: Vec<u32> = (first..end).map(|group| group as u32).collect();
            let mut states = Vec::with_capacity(accumulators.len());
            for accumulator in &mut accumulators {
                states.push(accumulator.take(&list)?);
            }
            self.give_block(&*table, first..end, states, rows, pieces).await?;
            first = end;
        }
        Ok(())
    }

    /// Gives the results of some groups, which have these states.
    async fn give_block(
        &self,
        table: &dyn KeyTable,
        groups: Range<usize>,
        mut states: Vec<Box<dyn Accumulator>>,
        rows: &Rows,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let keys = self.grouping.keys.len();
        let mut sorted_by = None;
        if let Some(top) = self.top.as_ref().filter(|_| groups.len() >= TOP_GROUPS_MIN && !table.is_sparse()) {
            let results = results(states.remove(top.call), groups.len(), pieces).await?;
            if let Some(chosen) = top.choose(&results) {
                if chosen.is_empty() {
                    return Ok(());
                }
                let of_table: Vec<u32> = chosen.iter().map(|group| groups.start as u32 + group).collect();
                let mut columns = table.gather_columns(&of_table)?;
                for states in &mut states {
                    columns.push(self::results(states.take(&chosen)?, chosen.len(), pieces).await?);
                }
                let count = chosen.len();
                columns.insert(keys + top.call, results.take(&UInt32Array::from(chosen))?);
                rows.push(self.block(columns, count, false)?);
                return Ok(());
            }
            sorted_by = Some((keys + top.call, results));
        }
        let mut columns = table.columns(groups.clone())?;
        pieces.pause().await;
        for states in states {
            columns.push(results(states, groups.len(), pieces).await?);
        }
        sorted_by.into_iter().for_each(|(position, results)| columns.insert(position, results));
        rows.push(self.block(columns, groups.len(), table.is_sparse())?);
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

/// Values in the states of groups.
fn items(accumulators: &[Box<dyn Accumulator>], groups: Range<usize>) -> usize {
    accumulators.iter().map(|accumulator| accumulator.items(groups.clone())).sum()
}

/// What a function gives for so many groups.
async fn results(mut states: Box<dyn Accumulator>, groups: usize, pieces: &mut Pieces) -> Result<Column> {
    while !states.settle()? {
        pieces.pause().await;
    }
    let results = states.finish(groups)?;
    pieces.pause().await;
    Ok(results)
}

/// The groups that any row belongs to, by their counts.
fn existing_groups(counts: &Column) -> Result<BooleanArray> {
    let counts = counts.as_primitive::<UInt64Type>()?.values().clone();
    Ok(BooleanArray::new(arrow_buffer::BooleanBuffer::collect_bool(counts.len(), |group| counts[group] > 0), None))
}
