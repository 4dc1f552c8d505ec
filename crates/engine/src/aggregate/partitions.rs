//! Groups that a worker puts aside while rows still come, cut into partitions by the hashes of their keys. A table of all groups would outgrow
//! the caches, and a row that makes a group of its own would be looked up in such a table twice: when it comes, and when the workers' tables
//! are merged. So where most rows make groups, these are put aside from a certain number on, and are looked up once, in the table of their
//! partition, which stays in the cache: radix partitioning.

use squall_types::Result;

use super::groups::{GROUPS_EXPECTED_MAX, Groups};
use super::large::LargeState;
use super::sink::Grouping;

/// Partitions of groups that are put aside, or go to disk.
pub(super) const PARTITIONS: usize = 256;
/// Groups of a partition from which on those that are there several times become one.
const MERGED_GROUPS_MIN: usize = 4_096;
/// Partitions in which this is done at once.
const MERGED_AT_ONCE: usize = 4;
/// Where that leaves nearly all groups, it is done again when there are so many times more.
const MERGED_AGAIN: usize = 4;

/// Groups of a partition.
pub(super) struct Part {
    pub(super) groups: Groups,
    /// Whether a key may be there several times.
    pub(super) is_list: bool,
    /// What is not in the accumulators, because it is large.
    pub(super) large: Vec<LargeState>,
}

/// Groups of a partition, those that came first before others.
#[derive(Default)]
struct Partition {
    parts: Vec<Part>,
    /// Groups that came since its groups were merged.
    fresh: usize,
    /// The groups that were left then.
    merged: usize,
    /// Whether most were left.
    are_new: bool,
}

impl Partition {
    /// Whether groups should be merged. Not all partitions come to it at once.
    fn is_due(&self, number: usize) -> bool {
        let times = if self.are_new { MERGED_AGAIN } else { 1 };
        let least = MERGED_GROUPS_MIN + number * MERGED_GROUPS_MIN / PARTITIONS;
        self.fresh >= least.max(times * self.merged)
    }

    /// Makes one part of all.
    fn merge(&mut self, grouping: &Grouping) -> Result<&Part> {
        let mut parts = std::mem::take(&mut self.parts).into_iter().peekable();
        let mut groups = match parts.next_if(|part| !part.is_list) {
            Some(first) => first.groups,
            None => Groups::new(grouping)?,
        };
        let before = self.merged + self.fresh;
        groups.table.reserve_groups(groups.len() + self.fresh.min(GROUPS_EXPECTED_MAX))?;
        let mut to = Vec::new();
        parts.try_for_each(|part| groups.add(part.groups, &mut to))?;
        self.merged = groups.len();
        self.are_new = self.merged > before / 4 * 3;
        self.fresh = 0;
        self.parts.push(Part { groups, is_list: false, large: Vec::new() });
        Ok(&self.parts[0])
    }

    fn memory_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.groups.memory_bytes()).sum()
    }
}

/// A worker's groups that are put aside.
pub(super) struct Partitions {
    partitions: Vec<Partition>,
    bytes: usize,
    /// The partition that is looked at next.
    next: usize,
    /// Groups that were merged with others, and what was left of them.
    merged: (usize, usize),
}

impl Partitions {
    pub(super) fn new() -> Self {
        let partitions = (0..PARTITIONS).map(|_| Partition::default()).collect();
        Self { partitions, bytes: 0, next: 0, merged: (0, 0) }
    }

    /// Puts groups aside; `is_list`: of which each row made one.
    pub(super) fn add(&mut self, groups: Groups, is_list: bool) -> Result<()> {
        let Groups { table, mut accumulators } = groups;
        let mut lists: Vec<Vec<u32>> = Vec::with_capacity(PARTITIONS);
        let expected = table.groups() / PARTITIONS * 5 / 4;
        lists.resize_with(PARTITIONS, || Vec::with_capacity(expected));
        table.partition(0..table.groups(), &mut lists);
        for (partition, list) in self.partitions.iter_mut().zip(&lists).filter(|(_, list)| !list.is_empty()) {
            let states = accumulators.iter_mut().map(|states| states.take(list)).collect::<Result<_>>()?;
            let groups = Groups { table: table.part(list)?, accumulators: states };
            self.bytes += groups.memory_bytes();
            partition.fresh += list.len();
            partition.parts.push(Part { groups, is_list, large: Vec::new() });
        }
        Ok(())
    }

    /// Merges groups of some partitions where many have come: a step of little work.
    pub(super) fn merge_some(&mut self, grouping: &Grouping) -> Result<()> {
        let mut merged = 0;
        for _ in 0..self.partitions.len() {
            let number = self.next;
            self.next = (number + 1) % self.partitions.len();
            let partition = &mut self.partitions[number];
            if !partition.is_due(number) {
                continue;
            }
            let (bytes, groups) = (partition.memory_bytes(), partition.merged + partition.fresh);
            let part = partition.merge(grouping)?;
            self.bytes = self.bytes.saturating_sub(bytes) + part.groups.memory_bytes();
            self.merged = (self.merged.0 + groups, self.merged.1 + part.groups.len());
            merged += 1;
            if merged == MERGED_AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Whether most rows belong to groups that are there, though they come far from each other.
    pub(super) fn have_few_groups(&self) -> bool {
        let (groups, left) = self.merged;
        groups > PARTITIONS * MERGED_GROUPS_MIN / 2 && left < groups / 4
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes
    }

    /// Groups that may be there; one that came several times counts as often.
    pub(super) fn groups(&self) -> usize {
        self.partitions.iter().map(|partition| partition.merged + partition.fresh).sum()
    }

    /// The groups of each partition.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Vec<Part>> {
        self.partitions.into_iter().map(|partition| partition.parts)
    }

    /// The groups of each partition, merged.
    pub(super) fn into_groups(self, grouping: &Grouping) -> impl Iterator<Item = Result<Option<Groups>>> {
        self.partitions.into_iter().map(|mut partition| {
            if partition.parts.is_empty() {
                return Ok(None);
            }
            partition.merge(grouping)?;
            Ok(partition.parts.pop().map(|part| part.groups))
        })
    }
}
