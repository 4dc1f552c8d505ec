//! `count`: rows, or values that are not NULL.
//!
//! Counting by group is a chain of loads and stores to few addresses: a row whose group equals the previous row's waits for its
//! store. So while the groups are few enough to stay in the cache, four rows at a time count into four lanes a group, which do
//! not wait for each other; lanes are 32 bits wide, and are folded into the 64-bit totals before they could overflow.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use arrow_buffer::NullBuffer;
use squall_types::{Column, DataType, Result, prefetch};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::same;
use crate::aggregate::values::state_bytes::{put_varint, take_varint};
use crate::frames::{FrameStep, FrameWalk, Left};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    if call.arguments.len() > 1 {
        return Err(call.wrong_arguments("zero or one argument"));
    }
    Ok(Arc::new(Count { nullable: call.arguments.iter().any(DataType::is_nullable) }))
}

#[derive(Debug)]
struct Count {
    nullable: bool,
}

impl AggregateFunction for Count {
    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(Counts::default())
    }

    fn needs_arguments(&self) -> bool {
        self.nullable
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(CountWalk(0))
    }
}

/// The rows of the frame so far.
struct CountWalk(u64);

impl FrameWalk for CountWalk {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let argument = arguments.first();
        let counts_nothing = argument.is_some_and(|argument| *argument.data_type().inner() == DataType::Nothing);
        let valid = argument.and_then(Column::nulls).map(|valid| Left::new(valid.inner()).steps(steps));
        let counts = valid.as_deref().unwrap_or(steps).iter().filter_map(|step| {
            let rows = if counts_nothing { 0 } else { step.rows.rows() as u64 };
            self.0 = if step.begins { rows } else { self.0 + rows };
            step.gives.then_some(self.0)
        });
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, counts.collect()))
    }
}

const LANES: usize = 4;

/// The most groups of [`GroupIds::Each`] for which lanes pay, if there are as many rows: 256 KiB of them, within every second-level cache.
const LANE_GROUPS_MAX: usize = 16_384;

#[derive(Default)]
struct Counts {
    totals: Vec<u64>,
    /// Empty, or at least as long as every group that came by.
    lanes: Vec<[u32; LANES]>,
    /// No lane can be higher than this.
    rows_in_lanes: usize,
}

impl Counts {
    fn grow(&mut self, groups: usize) {
        if groups > self.totals.len() {
            self.totals.resize(groups, 0);
        }
    }

    /// Makes room for `rows` more rows in the lanes of `groups` groups.
    fn prepare_lanes(&mut self, groups: usize, rows: usize) {
        if self.rows_in_lanes + rows > u32::MAX as usize {
            self.fold();
        }
        if groups > self.lanes.len() {
            if self.lanes.is_empty() {
                // Fresh zero pages, which cost nothing until a group in them is counted.
                self.lanes = vec![[0; LANES]; groups];
            } else {
                self.lanes.resize(groups, [0; LANES]);
            }
        }
        self.rows_in_lanes += rows;
    }

    /// Empties the lanes into the totals.
    fn fold(&mut self) {
        if self.rows_in_lanes == 0 {
            return;
        }
        for (total, lanes) in self.totals.iter_mut().zip(&mut self.lanes) {
            *total += std::mem::take(lanes).into_iter().map(u64::from).sum::<u64>();
        }
        self.rows_in_lanes = 0;
    }

    fn count_valid(&mut self, group_ids: GroupIds<'_>, valid: &NullBuffer, rows: usize) {
        let bits = valid.inner();
        let ones = bits.iter().take(rows).map(u64::from);
        match group_ids {
            GroupIds::Single => self.totals[0] += bits.slice(0, rows).count_set_bits() as u64,
            GroupIds::Direct8(ids) => ids.iter().zip(ones).for_each(|(&id, one)| self.totals[usize::from(id)] += one),
            GroupIds::Direct16(ids) => ids.iter().zip(ones).for_each(|(&id, one)| self.totals[usize::from(id)] += one),
            GroupIds::Each(ids) => ids.iter().zip(ones).for_each(|(&id, one)| self.totals[id as usize] += one),
        }
    }
}

impl Accumulator for Counts {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.grow(groups.max(1));
        // The literal NULL: its array says what it holds by its type, not by a validity buffer.
        if arguments.first().is_some_and(|argument| *argument.data_type().inner() == DataType::Nothing) {
            return Ok(());
        }
        if let Some(valid) = arguments.first().and_then(Column::nulls) {
            self.count_valid(group_ids, valid, rows);
            return Ok(());
        }
        match group_ids {
            GroupIds::Single => self.totals[0] += rows as u64,
            GroupIds::Direct8(ids) => {
                const SLOTS: usize = 1 << 8;
                self.prepare_lanes(SLOTS, rows);
                // An array as long as the ids' range: indexing needs no check.
                if let Some(lanes) = self.lanes.first_chunk_mut::<SLOTS>() {
                    count_in_lanes(&ids[..rows], |id, lane| lanes[usize::from(id)][lane] += 1);
                }
            }
            GroupIds::Direct16(ids) => {
                const SLOTS: usize = 1 << 16;
                self.prepare_lanes(SLOTS, rows);
                if let Some(lanes) = self.lanes.first_chunk_mut::<SLOTS>() {
                    count_in_lanes(&ids[..rows], |id, lane| lanes[usize::from(id)][lane] += 1);
                }
            }
            GroupIds::Each(ids) if groups <= LANE_GROUPS_MAX.min(rows) => {
                self.prepare_lanes(groups, rows);
                let lanes = &mut self.lanes[..];
                count_in_lanes(&ids[..rows], |id, lane| lanes[id as usize][lane] += 1);
            }
            GroupIds::Each(ids) => {
                let totals = &mut self.totals[..];
                ids[..rows].iter().for_each(|&id| totals[id as usize] += 1);
            }
        }
        Ok(())
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        let more = groups.saturating_sub(self.totals.len());
        squall_types::grow(&mut self.totals, more)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        self.fold();
        let totals = groups.iter().map(|&group| self.totals.get(group as usize).copied().unwrap_or(0)).collect();
        Ok(Box::new(Self { totals, ..Self::default() }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        let other = same::<Self>(other)?;
        other.fold();
        self.grow(groups);
        for (total, &to) in other.totals.iter().skip(first).zip(to) {
            self.totals[to as usize] += total;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, groups: usize) -> Result<Column> {
        self.grow(groups);
        self.fold();
        self.totals.truncate(groups);
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, self.totals))
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        self.fold();
        put_varint(self.totals.get(group).copied().unwrap_or(0), out);
        Ok(())
    }

    fn prefetch(&self, group: usize) {
        prefetch(&self.totals, group);
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.grow(group + 1);
        self.totals[group] += take_varint(bytes)?;
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.totals.capacity() * size_of::<u64>() + self.lanes.capacity() * size_of::<[u32; LANES]>()
    }
}

/// Calls `count(id, lane)` for every id, with lanes that differ between neighbours.
#[inline(always)]
fn count_in_lanes<Id: Copy>(ids: &[Id], mut count: impl FnMut(Id, usize)) {
    let (chunks, rest) = ids.as_chunks::<LANES>();
    for &[first, second, third, fourth] in chunks {
        count(first, 0);
        count(second, 1);
        count(third, 2);
        count(fourth, 3);
    }
    rest.iter().for_each(|&id| count(id, 0));
}
