//! Groups in memory: their keys, and the states of each accumulator.

use squall_functions::Accumulator;
use squall_types::Result;

use super::input_rows::InputRows;
use super::key_table::KeyTable;
use super::sink::Grouping;

/// Groups that are looked at between two looks at the clock.
pub(super) const GROUPS_AT_ONCE: usize = 4_096;

/// Groups in memory.
pub(super) struct Groups {
    pub(super) table: Box<dyn KeyTable>,
    pub(super) accumulators: Vec<Box<dyn Accumulator>>,
}

impl Groups {
    pub(super) fn new(grouping: &Grouping) -> Result<Self> {
        Ok(Self { table: grouping.kind.table(&grouping.key_types), accumulators: grouping.accumulators()? })
    }

    pub(super) fn len(&self) -> usize {
        self.table.groups()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + self.accumulators.iter().map(|states| states.memory_bytes()).sum::<usize>()
    }

    /// Whether no state is more than a few numbers.
    pub(super) fn are_small(&self) -> bool {
        /// Vectors may have room for twice what they hold.
        const STATE_BYTES_MAX: usize = 128;
        let groups = self.len();
        let is_small = |states: &dyn Accumulator| {
            states.items(0..groups) == 0 && states.memory_bytes() <= STATE_BYTES_MAX * groups.max(1)
        };
        self.accumulators.iter().all(|states| is_small(&**states))
    }

    /// Makes room for so many groups in all.
    pub(super) fn reserve(&mut self, groups: usize) -> Result<()> {
        self.table.reserve_groups(groups)?;
        self.accumulators.iter_mut().try_for_each(|states| states.reserve_groups(groups))
    }

    /// Gives room back that was made for many more groups than there are.
    pub(super) fn take_less_room(&mut self) -> Result<()> {
        /// Copying so many groups costs little beside the rows that made room for the others.
        const ROOM_MIN: usize = 4;
        let groups = self.len();
        let room = self.table.room();
        if room == usize::MAX || room < ROOM_MIN * groups {
            return Ok(());
        }
        let all: Vec<u32> = (0..groups as u32).collect();
        *self = self.take(&all)?;
        Ok(())
    }

    /// Some of the groups, in the list's order, whose states are small. Their states are no longer here afterwards.
    pub(super) fn take(&mut self, groups: &[u32]) -> Result<Self> {
        let accumulators = self.accumulators.iter_mut().map(|states| states.take(groups)).collect::<Result<_>>()?;
        Ok(Self { table: self.table.part(groups)?, accumulators })
    }

    /// Adds groups whose states are small.
    pub(super) fn add(&mut self, mut other: Self, to: &mut Vec<u32>) -> Result<()> {
        for first in (0..other.len()).step_by(GROUPS_AT_ONCE) {
            self.table.merge(&*other.table, first..other.len().min(first + GROUPS_AT_ONCE), to)?;
            let groups = self.len();
            for (states, others) in self.accumulators.iter_mut().zip(&mut other.accumulators) {
                states.merge_range(&mut **others, first, to, groups)?;
            }
        }
        Ok(())
    }

    /// Adds rows.
    pub(super) fn add_rows(&mut self, grouping: &Grouping, rows: &InputRows, scratch: &mut Vec<u32>) -> Result<()> {
        let ids = self.table.kept_group_ids(&rows.keys, rows.rows, scratch)?;
        let mut arguments = &rows.arguments[..];
        let groups = self.table.groups();
        for (at, states) in self.accumulators.iter_mut().enumerate() {
            let count = grouping.calls.get(at).map_or(0, |call| call.arguments.len());
            let (own, rest) = arguments.split_at(count);
            states.update(ids, groups, own, rows.rows)?;
            arguments = rest;
        }
        Ok(())
    }
}
