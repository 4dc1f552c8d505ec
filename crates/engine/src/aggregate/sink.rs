//! The sink of an aggregation: each worker has a key table and accumulators of its own.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::types::UInt16Type;
use arrow_buffer::BooleanBuffer;
use parking_lot::Mutex;
use squall_functions::{Accumulator, GroupIds};
use squall_planner::{AggregateCall, Expression, KeySets};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result};

use super::key_table::{KeyKind, KeyTable};
use super::merge::Merge;
use super::spilled::Spilling;
use crate::evaluate::evaluate;
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
}

impl AggregateSink {
    pub(crate) fn new(
        grouping: Arc<Grouping>,
        context: Arc<QueryContext>,
        merge: Arc<Mutex<Merge>>,
        spilling: Option<Arc<Spilling>>,
    ) -> Self {
        Self { grouping, context, merge, spilling }
    }
}

impl Sink for AggregateSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        let settings = &self.context.settings;
        let groups_max = settings.max_rows_to_group_by;
        let mut local = AggregateLocal::new(self.grouping.clone(), self.spilling.clone(), groups_max)?;
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
        locals.iter_mut().try_for_each(AggregateLocal::forget_others)?;
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
        let is_direct = matches!(grouping.kind, KeyKind::Single | KeyKind::Direct8 | KeyKind::Direct16 { .. });
        if is_direct && grouping.keys.iter().chain(arguments).all(is_plain) {
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
    pub(crate) table: Box<dyn KeyTable>,
    pub(crate) accumulators: Vec<Box<dyn Accumulator>>,
    /// Accumulators over all rows, for WITH TOTALS.
    pub(crate) totals: Vec<Box<dyn Accumulator>>,
    ids: Vec<u32>,
    groups_max: u64,
    overflow: Overflow,
    /// Whether totals are of rows, too, whose groups are left out.
    counts_left_out: bool,
    /// The first groups, which are all that count, where others are left out.
    kept: Option<usize>,
    is_full: bool,
    /// Rows that have come.
    rows: usize,
    /// So many tables in a row are lists of rows, this one being the last.
    lists: usize,
}

impl AggregateLocal {
    fn new(grouping: Arc<Grouping>, spilling: Option<Arc<Spilling>>, groups_max: u64) -> Result<Self> {
        Ok(Self {
            table: grouping.kind.table(&grouping.key_types),
            accumulators: grouping.accumulators()?,
            totals: Vec::new(),
            ids: Vec::new(),
            groups_max,
            overflow: Overflow::Throw,
            counts_left_out: false,
            kept: None,
            is_full: false,
            rows: 0,
            lists: 0,
            spilling,
            grouping,
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.accumulators.iter().map(|states| states.memory_bytes()).sum::<usize>()
    }

    /// Takes groups out of the table that are left out.
    fn forget_others(&mut self) -> Result<()> {
        let Some(kept) = self.kept.filter(|kept| self.table.groups() > *kept) else { return Ok(()) };
        let kept: Vec<u32> = (0..kept as u32).collect();
        self.table = self.table.part(&kept)?;
        Ok(())
    }

    /// Values in states that may have many.
    pub(super) fn items(&self) -> usize {
        let groups = self.table.groups();
        self.accumulators.iter().map(|states| states.items(0..groups)).sum()
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
        if self.table.room() >= rows {
            return Ok(());
        }
        let Some(spilling) = self.spilling.clone() else { return Ok(()) };
        let bytes = self.memory_bytes();
        // Growing takes about twice as much beside what is there.
        if bytes < WORTH_BYTES || spilling.threshold.has_room(2 * bytes) { Ok(()) } else { self.spill(&spilling) }
    }

    fn spill(&mut self, spilling: &Arc<Spilling>) -> Result<()> {
        /// After so many lists the rows are looked up again: there may be fewer groups among them now.
        const LISTS_MAX: usize = 7;
        let mut fresh = Self::new(self.grouping.clone(), self.spilling.clone(), self.groups_max)?;
        std::mem::swap(&mut fresh.totals, &mut self.totals);
        fresh.overflow = self.overflow;
        fresh.counts_left_out = self.counts_left_out;
        self.forget_others()?;
        // Where most rows are groups of their own, they are looked up once, when they come back.
        let are_new = self.table.groups() > self.rows / 2;
        if are_new && self.lists < LISTS_MAX && self.groups_max == 0 && fresh.table.stop_lookups() {
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
        let keys = self.grouping.keys.iter().map(|key| evaluate(key, &block)?.materialize());
        let keys = keys.collect::<Result<Vec<Column>>>()?;
        self.spill_before(rows)?;
        self.rows += rows;
        let ids = self.table.group_ids(&keys, rows, &mut self.ids)?;
        let groups = self.table.groups();
        if self.groups_max > 0 && groups as u64 > self.groups_max && !self.table.is_sparse() {
            match self.overflow {
                // This block is still counted, as in ClickHouse.
                Overflow::Break => self.is_full = true,
                // So are its groups kept.
                Overflow::KeepGroups => {
                    self.kept.get_or_insert(groups);
                }
                Overflow::Throw => {
                    let message =
                        format!("Limit for rows to GROUP BY exceeded: has {groups} rows, maximum: {}", self.groups_max);
                    return Err(Error::new(ErrorCode::TOO_MANY_ROWS, message));
                }
            }
        }
        let of_kept = match (self.kept.filter(|kept| *kept < groups), ids) {
            (Some(kept), GroupIds::Each(ids)) => {
                let is_kept = BooleanBuffer::collect_bool(rows, |row| (ids[row] as usize) < kept);
                let ids: Vec<u32> = ids.iter().copied().filter(|id| (*id as usize) < kept).collect();
                Some((BooleanArray::new(is_kept, None), ids, kept))
            }
            _ => None,
        };
        // Of the rows that come once for each set of keys, those of one set count.
        let of_totals = match self.grouping.sets.filter(|_| !self.totals.is_empty()) {
            Some(sets) => {
                let numbers = keys[sets.number].as_primitive::<UInt16Type>()?.values();
                let counted = BooleanBuffer::collect_bool(rows, |row| numbers[row] == 0);
                Some(counted)
            }
            None => None,
        };
        // Those of groups that are left out count where the mode says so.
        let of_totals = match (of_totals, &of_kept) {
            (of_totals, None) => of_totals,
            (of_totals, Some(_)) if self.counts_left_out => of_totals,
            (None, Some((is_kept, ..))) => Some(is_kept.values().clone()),
            (Some(counted), Some((is_kept, ..))) => Some(&counted & is_kept.values()),
        };
        let of_totals = of_totals.map(|counted| {
            let rows = counted.count_set_bits();
            (BooleanArray::new(counted, None), rows)
        });
        for (at, accumulator) in self.accumulators.iter_mut().enumerate() {
            let expressions = self.grouping.calls.get(at).map_or(&[][..], |call| &call.arguments);
            let arguments =
                expressions.iter().map(|argument| evaluate(argument, &block)).collect::<Result<Vec<_>>>()?;
            match &of_kept {
                None => accumulator.update(ids, groups, &arguments, rows)?,
                Some((is_kept, ids, kept)) => {
                    let arguments = arguments.iter().map(|argument| argument.filter(is_kept, ids.len()));
                    let arguments = arguments.collect::<Result<Vec<_>>>()?;
                    accumulator.update(GroupIds::Each(ids), *kept, &arguments, ids.len())?;
                }
            }
            if let Some(totals) = self.totals.get_mut(at) {
                match &of_totals {
                    None => totals.update(GroupIds::Single, 1, &arguments, rows)?,
                    Some((counted, rows)) => {
                        let arguments = arguments.iter().map(|argument| argument.filter(counted, *rows));
                        totals.update(GroupIds::Single, 1, &arguments.collect::<Result<Vec<_>>>()?, *rows)?;
                    }
                }
            }
        }
        // Groups that are left out take memory until there are as many as are kept.
        if self.kept.is_some_and(|kept| self.table.groups() > 2 * kept + BLOCK_ROWS_MAX) {
            self.forget_others()?;
        }
        self.spill_if_needed()
    }
}
