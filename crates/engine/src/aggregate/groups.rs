//! Groups in memory: their keys, and the states of each accumulator.

use squall_functions::Accumulator;
use squall_types::Result;

use super::input_rows::InputRows;
use super::key_table::KeyTable;
use super::sink::Grouping;

/// Groups that are looked at between two looks at the clock.
pub(super) const GROUPS_AT_ONCE: usize = 4_096;
/// Groups for which a table gets room before they come, at most.
pub(super) const GROUPS_EXPECTED_MAX: usize = 1 << 15;
/// Rows by which it is told how many groups those after them will make.
const SAMPLE_ROWS: usize = 4_096;

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
    fn reserve(&mut self, groups: usize) -> Result<()> {
        self.table.reserve_groups(groups)?;
        self.accumulators.iter_mut().try_for_each(|states| states.reserve_groups(groups))
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

/// How many groups are still to be made of rows, and of groups of others.
pub(super) struct Expected {
    /// The groups before any came.
    groups: usize,
    came: usize,
    left: usize,
    is_told: bool,
}

impl Expected {
    pub(super) fn new(groups: &Groups, left: usize) -> Self {
        Self { groups: groups.len(), came: 0, left, is_told: false }
    }

    /// So many have come.
    pub(super) fn have_come(&mut self, rows: usize) {
        self.came += rows;
        self.left = self.left.saturating_sub(rows);
    }

    /// Makes room for the groups that are likely, by what the first rows have made: growing step by step takes longer, and room that is not
    /// used is no longer in the cache.
    pub(super) fn make_room(&mut self, groups: &mut Groups) -> Result<()> {
        let now = groups.len();
        let more = match self.came {
            0 => self.left.min(SAMPLE_ROWS),
            SAMPLE_ROWS.. if !self.is_told => {
                self.is_told = true;
                self.left.saturating_mul(now - self.groups) / self.came
            }
            _ => return Ok(()),
        };
        groups.reserve(now + more.min(GROUPS_EXPECTED_MAX))
    }
}
