//! The sink of an aggregation: each worker has a key table and accumulators of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::BooleanArray;
use arrow_array::types::UInt16Type;
use arrow_buffer::BooleanBuffer;
use parking_lot::Mutex;
use squall_functions::{Accumulator, GroupIds};
use squall_planner::{AggregateCall, Expression, KeySets, evaluate};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result};

use super::few_groups::FewGroups;
use super::groups::Groups;
use super::key_table::KeyKind;
use super::merge::Merge;
use super::partitions::Partitions;
use super::spilled::Spilling;
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::query_context::QueryContext;

/// What is grouped by and what is computed.
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Expression>,
    pub(crate) key_types: Vec<DataType>,
    pub(crate) kind: KeyKind,
    pub(crate) calls: Vec<AggregateCall>,
    /// The accumulator that tells which groups exist, where the key table cannot: the position of a `count()` among the calls, or
    /// one past them for a count of its own.
    pub(crate) existence: Option<usize>,
    pub(crate) with_totals: bool,
    pub(crate) sets: Option<KeySets>,
}

impl Grouping {
    /// One accumulator per call, and one that counts where none of the calls does.
    pub(crate) fn accumulators(&self) -> Result<Vec<Box<dyn Accumulator>>> {
        let mut accumulators: Vec<_> = self.calls.iter().map(|call| call.function.accumulator()).collect();
        if self.existence == Some(self.calls.len()) {
            accumulators.push(squall_functions::resolve_aggregate("count", &[], &[])?.accumulator());
        }
        Ok(accumulators)
    }

    /// The arguments of an accumulator.
    fn arguments(&self, at: usize, block: &Block) -> Result<Vec<Column>> {
        let expressions = self.calls.get(at).map_or(&[][..], |call| &call.arguments);
        expressions.iter().map(|argument| evaluate(argument, block)).collect()
    }
}

/// Rows of a block whose keys are hashed, at most.
const BLOCK_ROWS_MAX: usize = 16_384;

/// Aggregates its input; the results come out of [`Merge`].
pub(crate) struct AggregateSink {
    grouping: Arc<Grouping>,
    context: Arc<QueryContext>,
    merge: Arc<Mutex<Merge>>,
    /// `None` where groups stay in memory: there are few, or one.
    spilling: Option<Arc<Spilling>>,
    /// Where any few groups do.
    few: Option<Arc<FewGroups>>,
    /// Whether some worker has left out groups beyond the limit.
    has_overflown: Arc<AtomicBool>,
}

impl AggregateSink {
    pub(crate) fn new(
        grouping: Arc<Grouping>,
        context: Arc<QueryContext>,
        merge: Arc<Mutex<Merge>>,
        spilling: Option<Arc<Spilling>>,
        few: Option<Arc<FewGroups>>,
    ) -> Self {
        Self { grouping, context, merge, spilling, few, has_overflown: Arc::default() }
    }
}

impl Sink for AggregateSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        let settings = &self.context.settings;
        let groups_max = settings.max_rows_to_group_by;
        let mut local = AggregateLocal::new(self.grouping.clone(), self.spilling.clone(), groups_max)?;
        local.few = self.few.clone();
        local.has_overflown = self.has_overflown.clone();
        local.overflow = match &*settings.group_by_overflow_mode {
            "break" => Overflow::Break,
            "any" => Overflow::KeepGroups,
            _ => Overflow::Throw,
        };
        local.counts_left_out = matches!(&*settings.totals_mode, "before_having" | "after_having_inclusive");
        if self.grouping.with_totals {
            local.totals = self.grouping.accumulators()?;
        }
        Ok(Box::new(local))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<AggregateLocal>).collect::<Result<Vec<_>>>()?;
        let mut locals: Vec<_> = locals.into_iter().map(|local| *local).collect();
        for local in &mut locals {
            // To a worker no rows may have come after another one chose.
            local.keep_few()?;
            local.forget_others()?;
        }
        self.merge.lock().begin(&self.grouping, self.spilling.as_ref(), locals)
    }

    fn is_full(&self) -> bool {
        self.spilling.as_ref().is_some_and(|spilling| spilling.is_full())
    }

    fn block_rows_max(&self) -> Option<usize> {
        // Counting plain columns into a direct table needs no room per row; everything else computes columns that should stay
        // in the cache.
        let grouping = &self.grouping;
        let is_plain = |expression: &Expression| matches!(expression, Expression::Column { .. });
        let arguments = grouping.calls.iter().flat_map(|call| &call.arguments);
        if grouping.kind.is_small() && grouping.keys.iter().chain(arguments).all(is_plain) {
            return None;
        }
        let rows = usize::try_from(self.context.settings.max_block_size).ok().filter(|rows| *rows > 0);
        // What a block needs beside the groups is a small part of what these may hold.
        if self.spilling.is_some() { rows.map(|rows| rows.min(BLOCK_ROWS_MAX)) } else { rows }
    }

    fn name(&self) -> &'static str {
        "AggregatingTransform"
    }
}

/// What becomes of groups beyond `max_rows_to_group_by`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// They end the query.
    Throw,
    /// They end the aggregation.
    Break,
    /// They are left out; rows of the groups that are there still count.
    KeepGroups,
}

/// One worker's groups.
pub(crate) struct AggregateLocal {
    pub(super) grouping: Arc<Grouping>,
    spilling: Option<Arc<Spilling>>,
    pub(super) groups: Groups,
    /// What came before them and is put aside, where groups are many.
    pub(super) aside: Option<Partitions>,
    /// Accumulators over all rows, for WITH TOTALS.
    pub(super) totals: Vec<Box<dyn Accumulator>>,
    ids: Vec<u32>,
    groups_max: u64,
    overflow: Overflow,
    /// As that of [`AggregateSink`].
    has_overflown: Arc<AtomicBool>,
    /// Whether totals are of rows, too, whose groups are left out.
    counts_left_out: bool,
    /// The first groups, which are all that count, where others are left out.
    kept: Option<usize>,
    /// Where any few groups do.
    few: Option<Arc<FewGroups>>,
    /// Whether the table makes no more groups.
    is_closed: bool,
    is_full: bool,
    /// Rows of this table.
    rows: usize,
    /// So many tables in a row are lists of rows, this one being the last: those before are on disk.
    lists: usize,
    /// So many rows are put aside before any are looked up again, and so many the next time.
    rows_aside: usize,
    next_rows_aside: usize,
    /// Whether the table keeps all its groups, however many.
    keeps_all: bool,
}

/// After so many lists rows are looked up again: there may be fewer groups among them now.
const LISTS_MAX: usize = 7;
/// A table of so many groups is put aside: about as many keys and small states stay in a core's cache.
const TABLE_GROUPS_MAX: usize = 1 << 16;
/// After so many rows that are put aside rows are looked up again, for the same reason; each time after twice as many, up to the second
/// number.
const ROWS_ASIDE_MIN: usize = 8 * TABLE_GROUPS_MAX;
const ROWS_ASIDE_MAX: usize = 64 * TABLE_GROUPS_MAX;

impl AggregateLocal {
    fn new(grouping: Arc<Grouping>, spilling: Option<Arc<Spilling>>, groups_max: u64) -> Result<Self> {
        Ok(Self {
            groups: Groups::new(&grouping)?,
            aside: None,
            totals: Vec::new(),
            ids: Vec::new(),
            groups_max,
            overflow: Overflow::Throw,
            has_overflown: Arc::default(),
            counts_left_out: false,
            kept: None,
            few: None,
            is_closed: false,
            is_full: false,
            rows: 0,
            lists: 0,
            rows_aside: 0,
            next_rows_aside: ROWS_ASIDE_MIN,
            // Groups are counted by the table that has all of them.
            keeps_all: groups_max > 0,
            spilling,
            grouping,
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.groups.memory_bytes() + self.aside.as_ref().map_or(0, Partitions::memory_bytes)
    }

    /// Takes groups out of the table that are left out.
    fn forget_others(&mut self) -> Result<()> {
        let Some(kept) = self.kept.filter(|kept| self.groups.len() > *kept) else { return Ok(()) };
        let kept: Vec<u32> = (0..kept as u32).collect();
        self.groups.table = self.groups.table.part(&kept)?;
        Ok(())
    }

    /// Leaves all groups out but the few that the result is to be of, once these are chosen.
    fn keep_few(&mut self) -> Result<()> {
        let Some(few) = self.few.as_ref().filter(|_| self.kept.is_none()) else { return Ok(()) };
        if few.put_first(&mut self.groups, &self.grouping)? {
            self.kept = Some(few.count);
            self.keeps_all = true;
            self.forget_others()?;
            self.is_closed = self.groups.table.close();
        }
        Ok(())
    }

    /// Values in states that may have many.
    pub(super) fn items(&self) -> usize {
        let groups = self.groups.len();
        self.groups.accumulators.iter().map(|states| states.items(0..groups)).sum()
    }

    /// The groups so far; where some are put aside, one that came several times counts as often.
    pub(super) fn count(&self) -> usize {
        self.groups.len() + self.aside.as_ref().map_or(0, Partitions::groups)
    }

    /// Whether many rows of the table made groups: that costs more than another row of a group that is there, and once more at the merge.
    fn are_new(&self) -> bool {
        self.groups.len() > self.rows / 8
    }

    /// Puts the groups aside where they are many and most rows make new ones; then so are the next rows.
    fn put_aside_if_many(&mut self) -> Result<()> {
        let grouping = self.grouping.clone();
        self.merge_some_aside()?;
        if self.keeps_all || self.lists > 0 || self.groups.len() < TABLE_GROUPS_MAX {
            return Ok(());
        }
        let are_few = || self.aside.as_ref().is_some_and(Partitions::have_few_groups);
        self.keeps_all = !self.groups.table.has_hashes() || !self.groups.are_small() || !self.are_new() || are_few();
        if self.keeps_all {
            return Ok(());
        }
        self.rows = 0;
        self.rows_aside = self.next_rows_aside;
        self.next_rows_aside = ROWS_ASIDE_MAX.min(2 * self.rows_aside);
        let groups = std::mem::replace(&mut self.groups, Groups::new(&grouping)?);
        self.aside.get_or_insert_with(Partitions::new).add_groups(groups)
    }

    /// Makes groups of some of what is put aside.
    fn merge_some_aside(&mut self) -> Result<()> {
        let Some(aside) = &mut self.aside else { return Ok(()) };
        let is_short = |spilling: &Arc<Spilling>| spilling.threshold.is_half_passed(|| aside.memory_bytes());
        let is_memory_short = self.spilling.as_ref().is_some_and(is_short);
        aside.merge_some(&self.grouping, is_memory_short)
    }

    /// Puts rows aside.
    fn put_rows_aside(&mut self, keys: &[Column], block: &Block) -> Result<()> {
        let grouping = self.grouping.clone();
        let of_totals = self.rows_of_totals(keys, None, block.rows())?;
        let mut all_arguments = Vec::new();
        for at in 0..self.groups.accumulators.len() {
            let arguments = grouping.arguments(at, block)?;
            self.update_totals(at, &arguments, of_totals.as_ref(), block.rows())?;
            all_arguments.extend(arguments);
        }
        let aside = self.aside.get_or_insert_with(Partitions::new);
        aside.add_rows(keys, all_arguments, block.rows(), &mut *self.groups.table)?;
        self.merge_some_aside()?;
        self.keeps_all = self.aside.as_ref().is_some_and(Partitions::have_few_groups);
        self.rows_aside = if self.keeps_all { 0 } else { self.rows_aside.saturating_sub(block.rows()) };
        self.spill_if_needed()
    }

    /// The rows that count in the totals, and how many they are; `None` for all. `kept` are those of groups that are kept.
    fn rows_of_totals(
        &self,
        keys: &[Column],
        kept: Option<&BooleanArray>,
        rows: usize,
    ) -> Result<Option<(BooleanArray, usize)>> {
        if self.totals.is_empty() {
            return Ok(None);
        }
        // Of the rows that come once for each set of keys, those of one set count.
        let of_set = match self.grouping.sets {
            Some(sets) => {
                let numbers = keys[sets.number].as_primitive::<UInt16Type>()?.values();
                Some(BooleanBuffer::collect_bool(rows, |row| numbers[row] == 0))
            }
            None => None,
        };
        // Those of groups that are left out count where the mode says so.
        let counted = match (of_set, kept.filter(|_| !self.counts_left_out)) {
            (of_set, None) => of_set,
            (None, Some(kept)) => Some(kept.values().clone()),
            (Some(of_set), Some(kept)) => Some(&of_set & kept.values()),
        };
        Ok(counted.map(|counted| {
            let rows = counted.count_set_bits();
            (BooleanArray::new(counted, None), rows)
        }))
    }

    /// Counts arguments of a function in its totals, where these are wanted.
    fn update_totals(
        &mut self,
        at: usize,
        arguments: &[Column],
        counted: Option<&(BooleanArray, usize)>,
        rows: usize,
    ) -> Result<()> {
        let Some(totals) = self.totals.get_mut(at) else { return Ok(()) };
        match counted {
            None => totals.update(GroupIds::Single, 1, arguments, rows),
            Some((counted, rows)) => {
                let arguments = arguments.iter().map(|argument| argument.filter(counted, *rows));
                totals.update(GroupIds::Single, 1, &arguments.collect::<Result<Vec<_>>>()?, *rows)
            }
        }
    }

    /// Puts the groups on disk where memory gets short, and begins anew.
    fn spill_if_needed(&mut self) -> Result<()> {
        match self.spilling.clone() {
            Some(spilling) if spilling.threshold.is_passed(|| self.memory_bytes()) => self.spill(&spilling),
            _ => Ok(()),
        }
    }

    /// Puts the groups on disk before the table grows, where there is no memory for it.
    fn spill_before(&mut self, rows: usize) -> Result<()> {
        /// Groups with less than this are not worth a part on disk.
        const WORTH_BYTES: usize = 1 << 20;
        if self.groups.table.room() >= rows {
            return Ok(());
        }
        let Some(spilling) = self.spilling.clone() else { return Ok(()) };
        let bytes = self.memory_bytes();
        // Growing takes about twice as much beside what is there.
        if bytes < WORTH_BYTES || spilling.threshold.has_room(2 * bytes) { Ok(()) } else { self.spill(&spilling) }
    }

    fn spill(&mut self, spilling: &Arc<Spilling>) -> Result<()> {
        if let Some(few) = self.few.as_ref().filter(|_| self.kept.is_none()) {
            few.give_up();
            self.keep_few()?;
        }
        let mut fresh = Self::new(self.grouping.clone(), self.spilling.clone(), self.groups_max)?;
        std::mem::swap(&mut fresh.totals, &mut self.totals);
        fresh.overflow = self.overflow;
        fresh.few = self.few.clone();
        fresh.counts_left_out = self.counts_left_out;
        self.forget_others()?;
        // Where most rows are groups of their own, they are looked up once, when they come back.
        let is_counted = self.groups_max > 0;
        let are_new = self.groups.len() > self.rows / 2;
        if are_new && self.lists < LISTS_MAX && !is_counted && fresh.groups.table.stop_lookups() {
            fresh.lists = self.lists + 1;
        }
        spilling.spill(std::mem::replace(self, fresh))
    }
}

impl LocalSink for AggregateLocal {
    fn consume(&mut self, _: Sequence, block: Block) -> Result<()> {
        if self.is_full {
            return Ok(());
        }
        let rows = block.rows();
        let keys = self.grouping.keys.iter().map(|key| evaluate(key, &block)?.without_constant());
        let keys = keys.collect::<Result<Vec<Column>>>()?;
        if self.rows_aside > 0 {
            return self.put_rows_aside(&keys, &block);
        }
        self.spill_before(rows)?;
        self.rows += rows;
        let mut scratch = std::mem::take(&mut self.ids);
        let ids = self.groups.table.group_ids(&keys, rows, &mut scratch)?;
        let groups = self.groups.table.groups();
        if self.groups_max > 0 && groups as u64 > self.groups_max && !self.groups.table.is_sparse() {
            match self.overflow {
                // This block is still counted, as in ClickHouse.
                Overflow::Break => self.is_full = true,
                // So are its groups kept.
                Overflow::KeepGroups => {
                    self.kept.get_or_insert(groups);
                    // Once for all workers.
                    if !self.has_overflown.swap(true, Ordering::Relaxed) {
                        count(ProfileEvent::OverflowAny, 1);
                    }
                }
                Overflow::Throw => {
                    let message =
                        format!("Limit for rows to GROUP BY exceeded: has {groups} rows, maximum: {}", self.groups_max);
                    return Err(Error::new(ErrorCode::TOO_MANY_ROWS, message));
                }
            }
        }
        let of_kept = match (self.kept.filter(|kept| *kept < groups || self.is_closed), ids) {
            (Some(kept), GroupIds::Each(ids)) => {
                let is_kept = BooleanBuffer::collect_bool(rows, |row| (ids[row] as usize) < kept);
                let ids: Vec<u32> = ids.iter().copied().filter(|id| (*id as usize) < kept).collect();
                Some((BooleanArray::new(is_kept, None), ids, kept))
            }
            _ => None,
        };
        if self.totals.is_empty() && of_kept.as_ref().is_some_and(|(_, ids, _)| ids.is_empty()) {
            self.ids = scratch;
            return self.spill_if_needed();
        }
        let of_totals = self.rows_of_totals(&keys, of_kept.as_ref().map(|(is_kept, ..)| is_kept), rows)?;
        for at in 0..self.groups.accumulators.len() {
            let arguments = self.grouping.arguments(at, &block)?;
            let states = &mut self.groups.accumulators[at];
            match &of_kept {
                None => states.update(ids, groups, &arguments, rows)?,
                Some((is_kept, ids, kept)) => {
                    let arguments = arguments.iter().map(|argument| argument.filter(is_kept, ids.len()));
                    let arguments = arguments.collect::<Result<Vec<_>>>()?;
                    states.update(GroupIds::Each(ids), *kept, &arguments, ids.len())?;
                }
            }
            self.update_totals(at, &arguments, of_totals.as_ref(), rows)?;
        }
        self.ids = scratch;
        // Groups that are left out take memory until there are as many as are kept.
        if self.kept.is_some_and(|kept| self.groups.table.groups() > 2 * kept + BLOCK_ROWS_MAX) {
            self.forget_others()?;
        }
        self.keep_few()?;
        self.put_aside_if_many()?;
        self.spill_if_needed()
    }
}
