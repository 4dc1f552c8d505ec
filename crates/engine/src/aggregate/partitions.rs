//! Rows and groups that a worker puts aside while rows still come, cut into partitions by the hashes of their keys. A table of all groups would
//! outgrow the caches, and a row that makes a group of its own would be looked up in such a table twice: when it comes, and when the workers'
//! tables are merged. So where many rows make groups, the next rows are put aside as they come, without states, and are looked up once, in the
//! table of their partition, which stays in the cache: radix partitioning.

use squall_types::memory::reserve;
use squall_types::{Column, Result};

use super::expected_groups::ExpectedGroups;
use super::groups::Groups;
use super::input_rows::InputRows;
use super::key_table::{KeyTable, partition_of};
use super::large::LargeState;
use super::row_places::RowPlaces;
use super::sink::Grouping;

/// Partitions of groups that are put aside, or go to disk.
pub(super) const PARTITIONS: usize = 256;
/// Rows that are cut into partitions together, unless they are long: so many bytes are enough.
pub(super) const CUT_ROWS: usize = 1 << 17;
pub(super) const CUT_BYTES: usize = 4 << 20;
/// Of so many partitions one is a sample: what it has becomes groups early, so that one knows how many groups there are.
const SAMPLED: usize = 16;
const SAMPLE_ROWS: usize = 4_096;
/// Rows and groups of any other partition, or bytes of them, from which on they become groups. Until then it is less work, and mostly less
/// memory, to leave them as they are.
const MERGED_ROWS: usize = 1 << 16;
const MERGED_BYTES: usize = 2 << 20;
/// So many times more where the sample tells that most rows make groups: groups take more memory than rows, and would be looked up again.
const NEW_TIMES: usize = 16;
/// Rows and groups that are merged at once, about.
const MERGED_AT_ONCE: usize = 32_768;
/// Where that leaves nearly all groups, it is done again when there are so many times more.
const MERGED_AGAIN: usize = 4;
/// A table of no more groups than these is better than partitions.
const FEW_GROUPS_MAX: usize = 1 << 17;

/// What a worker has of a partition.
pub(super) enum Part {
    /// Groups, each key once.
    Groups {
        groups: Groups,
        /// What is not in the accumulators, because it is large.
        large: Vec<LargeState>,
    },
    /// Rows that no group has yet.
    Rows(InputRows),
}

impl Part {
    /// Groups, or rows that may make groups.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Groups { groups, .. } => groups.len(),
            Self::Rows(rows) => rows.rows,
        }
    }

    /// Whether any of its states is merged by itself.
    pub(super) fn is_large(&self) -> bool {
        matches!(self, Self::Groups { large, .. } if !large.is_empty())
    }
}

/// What is put aside of a partition, in the order in which it came.
#[derive(Default)]
struct Partition {
    parts: Vec<Part>,
    bytes: usize,
    /// Groups and rows that came since its groups were merged, and the bytes of these.
    fresh: usize,
    fresh_bytes: usize,
    /// The groups that were left then.
    merged: usize,
    /// Whether most were left.
    are_new: bool,
}

impl Partition {
    fn push(&mut self, part: Part, bytes: usize) {
        self.fresh += part.len();
        self.fresh_bytes += bytes;
        self.bytes += bytes;
        self.parts.push(part);
    }

    /// Whether all should become groups. `are_new` tells whether most rows that were looked up so far, of any partition, made groups.
    fn is_due(&self, number: usize, are_new: bool) -> bool {
        let times = if self.are_new { MERGED_AGAIN } else { 1 };
        let (rows, bytes) = match number.is_multiple_of(SAMPLED) {
            true => (SAMPLE_ROWS, MERGED_BYTES),
            false if are_new => (MERGED_ROWS * NEW_TIMES, MERGED_BYTES * NEW_TIMES),
            false => (MERGED_ROWS, MERGED_BYTES),
        };
        self.fresh >= rows.max(times * self.merged) || self.fresh_bytes >= bytes.max(times * self.merged_bytes())
    }

    fn merged_bytes(&self) -> usize {
        self.bytes - self.fresh_bytes
    }

    /// Makes groups of all, each key once.
    fn merge(&mut self, grouping: &Grouping) -> Result<Groups> {
        let before = self.merged + self.fresh;
        let mut parts = std::mem::take(&mut self.parts).into_iter().peekable();
        let mut groups = match parts.next_if(|part| matches!(part, Part::Groups { .. })) {
            Some(Part::Groups { groups, .. }) => groups,
            _ => Groups::new(grouping)?,
        };
        let mut expected = ExpectedGroups::new(&groups, before - groups.len());
        let mut scratch = Vec::new();
        for part in parts {
            expected.make_room(&mut groups)?;
            expected.have_come(part.len());
            match part {
                Part::Groups { groups: others, .. } => groups.add(others, &mut scratch)?,
                Part::Rows(rows) => groups.add_rows(grouping, &rows, &mut scratch)?,
            }
        }
        groups.table.rest();
        groups.take_less_room()?;
        self.merged = groups.len();
        self.are_new = self.merged > before / 4 * 3;
        (self.fresh, self.fresh_bytes) = (0, 0);
        self.bytes = groups.memory_bytes();
        Ok(groups)
    }
}

/// What a worker has put aside.
pub(super) struct Partitions {
    partitions: Vec<Partition>,
    /// Rows that are cut into partitions when there are enough, and the hashes of their keys.
    uncut: Vec<InputRows>,
    uncut_bytes: usize,
    hashes: Vec<u64>,
    bytes: usize,
    /// The partition that is looked at next.
    next: usize,
    /// Partitions whose rows become groups next, however few they are, to hold less.
    swept: usize,
    /// Groups and rows that became groups, and how many these were.
    merged: (usize, usize),
    /// The bytes of the same.
    merged_bytes: (usize, usize),
}

impl Partitions {
    pub(super) fn new() -> Self {
        let partitions = (0..PARTITIONS).map(|_| Partition::default()).collect();
        Self {
            partitions,
            uncut: Vec::new(),
            uncut_bytes: 0,
            hashes: Vec::new(),
            bytes: 0,
            next: 0,
            swept: 0,
            merged: (0, 0),
            merged_bytes: (0, 0),
        }
    }

    /// Puts groups aside.
    pub(super) fn add_groups(&mut self, mut groups: Groups) -> Result<()> {
        self.cut_rows()?;
        let mut lists: Vec<Vec<u32>> = Vec::with_capacity(PARTITIONS);
        let expected = groups.len() / PARTITIONS * 5 / 4;
        lists.resize_with(PARTITIONS, || Vec::with_capacity(expected));
        groups.table.partition(0..groups.len(), &mut lists);
        for (partition, list) in self.partitions.iter_mut().zip(&lists).filter(|(_, list)| !list.is_empty()) {
            let groups = groups.take(list)?;
            let bytes = groups.memory_bytes();
            self.bytes += bytes;
            partition.push(Part::Groups { groups, large: Vec::new() }, bytes);
        }
        Ok(())
    }

    /// Puts rows aside: their keys, and the arguments of each function. `table` is one of their groups' kind.
    pub(super) fn add_rows(
        &mut self,
        keys: &[Column],
        arguments: Vec<Column>,
        rows: usize,
        table: &mut dyn KeyTable,
    ) -> Result<()> {
        let rows = InputRows { keys: table.keep(keys, rows, &mut self.hashes)?, arguments, rows };
        let bytes = rows.value_bytes();
        self.bytes += bytes;
        self.uncut_bytes += bytes;
        self.uncut.push(rows);
        if self.hashes.len() >= CUT_ROWS || self.uncut_bytes >= CUT_BYTES { self.cut_rows() } else { Ok(()) }
    }

    /// Cuts the rows into partitions that are not cut yet.
    fn cut_rows(&mut self) -> Result<()> {
        let (hashes, uncut) = (std::mem::take(&mut self.hashes), std::mem::take(&mut self.uncut));
        if hashes.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.uncut_bytes);
        reserve(bytes)?;
        let row_bytes = bytes / hashes.len();
        for (number, rows) in cut(&uncut, &hashes, PARTITIONS, |hash| partition_of(hash, PARTITIONS))? {
            let bytes = row_bytes * rows.rows;
            self.partitions[number].push(Part::Rows(rows), bytes);
        }
        self.hashes = hashes;
        self.hashes.clear();
        Ok(())
    }

    /// Makes groups of what some partitions have, where that is much, or where less memory should be held: a step of little work.
    pub(super) fn merge_some(&mut self, grouping: &Grouping, is_memory_short: bool) -> Result<()> {
        if is_memory_short && self.swept == 0 && self.shrink_when_merged() {
            // Rows of all partitions were cut from the same memory, which is held until none of them has any.
            self.cut_rows()?;
            self.swept = self.partitions.len();
        }
        let (mut at_once, are_new) = (0, self.are_new());
        for _ in 0..self.partitions.len() {
            let number = self.next;
            self.next = (number + 1) % self.partitions.len();
            let partition = &mut self.partitions[number];
            let is_swept = self.swept > 0 && partition.fresh > 0;
            self.swept = self.swept.saturating_sub(1);
            if !is_swept && !partition.is_due(number, are_new) {
                continue;
            }
            let (before, bytes) = (partition.merged + partition.fresh, partition.bytes);
            let groups = partition.merge(grouping)?;
            self.merged = (self.merged.0 + before, self.merged.1 + groups.len());
            self.merged_bytes = (self.merged_bytes.0 + bytes, self.merged_bytes.1 + partition.bytes);
            self.bytes = self.bytes.saturating_sub(bytes) + partition.bytes;
            partition.parts.push(Part::Groups { groups, large: Vec::new() });
            at_once += before;
            if at_once >= MERGED_AT_ONCE {
                break;
            }
        }
        Ok(())
    }

    /// Whether enough became groups to tell of the others.
    fn is_sampled(&self) -> bool {
        self.merged.0 > PARTITIONS / SAMPLED * SAMPLE_ROWS / 2
    }

    /// Whether most rows make groups.
    fn are_new(&self) -> bool {
        self.is_sampled() && self.merged.1 > self.merged.0 / 4 * 3
    }

    /// Whether most rows belong to groups that are there, though they come far from each other, and these are not many.
    pub(super) fn have_few_groups(&self) -> bool {
        let (before, left) = self.merged;
        let are_merged = || self.partitions.iter().map(|partition| partition.merged).filter(|merged| *merged > 0);
        self.is_sampled()
            && left < before / 4
            && are_merged().sum::<usize>() * PARTITIONS <= FEW_GROUPS_MAX * are_merged().count()
    }

    /// Whether groups would take much less than what is there: most of it are rows, and those that became groups took twice as much before.
    fn shrink_when_merged(&self) -> bool {
        let (before, left) = self.merged_bytes;
        let fresh_bytes: usize = self.partitions.iter().map(|partition| partition.fresh_bytes).sum();
        left < before / 2 && fresh_bytes > self.bytes / 2
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes
    }

    /// Groups that may be there; one that came several times counts as often.
    pub(super) fn groups(&self) -> usize {
        self.hashes.len() + self.partitions.iter().map(|partition| partition.merged + partition.fresh).sum::<usize>()
    }

    /// What there is of each partition.
    pub(super) fn into_parts(mut self) -> Result<impl Iterator<Item = Vec<Part>>> {
        self.cut_rows()?;
        Ok(self.partitions.into_iter().map(|partition| partition.parts))
    }

    /// The groups of each partition.
    pub(super) fn into_groups(mut self, grouping: &Grouping) -> Result<impl Iterator<Item = Result<Option<Groups>>>> {
        self.cut_rows()?;
        Ok(self.partitions.into_iter().map(|mut partition| {
            if partition.parts.is_empty() {
                return Ok(None);
            }
            partition.merge(grouping).map(Some)
        }))
    }
}

/// Cuts rows into so many partitions, of which `number_of` tells the number by the hash of a key. Gives those that have rows.
pub(super) fn cut(
    uncut: &[InputRows],
    hashes: &[u64],
    partitions: usize,
    number_of: impl Fn(u64) -> usize,
) -> Result<Vec<(usize, InputRows)>> {
    let (places, ends) = places_by_partition(hashes, partitions, number_of);
    let rows = InputRows::in_places(uncut, &RowPlaces::new(places))?;
    let mut start = 0;
    let parts = ends.into_iter().enumerate().map(|(number, end)| {
        let first = std::mem::replace(&mut start, end);
        (number, rows.slice(first, end - first))
    });
    Ok(parts.filter(|(_, part)| part.rows > 0).collect())
}

/// The places of rows with these hashes where they come by partition, and as they came within each; and where each partition's end.
fn places_by_partition(hashes: &[u64], partitions: usize, number_of: impl Fn(u64) -> usize) -> (Vec<u32>, Vec<usize>) {
    let mut ends = vec![0; partitions];
    for hash in hashes {
        ends[number_of(*hash)] += 1;
    }
    let mut all = 0;
    for end in &mut ends {
        // Where it begins, until its rows are placed.
        all += std::mem::replace(end, all);
    }
    let place = |hash: &u64| {
        let end = &mut ends[number_of(*hash)];
        *end += 1;
        (*end - 1) as u32
    };
    (hashes.iter().map(place).collect(), ends)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::types::UInt64Type;
    use squall_functions::GroupIds;
    use squall_types::DataType;

    use super::*;
    use crate::aggregate::test_groups::{count_by, take_counts};

    fn column(key: &DataType, numbers: &[u64]) -> Column {
        match key {
            DataType::String => Column::from_strings(numbers.iter().map(|number| format!("key number {number}"))),
            _ => Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers.to_vec()),
        }
    }

    /// Keys of `most` different ones, in many blocks, and how often each is there.
    fn counts(key: DataType, blocks: usize, most: u64, merges_to_few: bool, is_memory_short: bool) {
        const ROWS: u64 = 10_000;
        let grouping = count_by(vec![key.clone()]);
        let mut all = Partitions::new();
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        let mut table = Groups::new(&grouping).unwrap();
        for block in 0..blocks as u64 {
            let numbers: Vec<u64> = (block * ROWS..(block + 1) * ROWS).map(|row| row * 7_919 % most).collect();
            let keys = column(&key, &numbers);
            for row in 0..keys.rows() {
                *expected.entry(keys.value(row).to_string()).or_default() += 1;
            }
            if block == 3 {
                // Groups come between rows.
                let mut scratch = Vec::new();
                let GroupIds::Each(ids) =
                    table.table.group_ids(std::slice::from_ref(&keys), keys.rows(), &mut scratch).unwrap()
                else {
                    panic!()
                };
                let groups = table.table.groups();
                table.accumulators[0].update(GroupIds::Each(ids), groups, &[], keys.rows()).unwrap();
                let full = std::mem::replace(&mut table, Groups::new(&grouping).unwrap());
                all.add_groups(full).unwrap();
            } else {
                all.add_rows(&[keys], Vec::new(), numbers.len(), &mut *table.table).unwrap();
            }
            all.merge_some(&grouping, is_memory_short).unwrap();
        }
        assert!(all.groups() >= expected.len());
        assert!(all.memory_bytes() > 0);
        assert_eq!(all.have_few_groups(), merges_to_few);
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for groups in all.into_groups(&grouping).unwrap() {
            let Some(groups) = groups.unwrap() else { continue };
            take_counts(groups, &mut found);
        }
        assert_eq!(found, expected);
    }

    #[test]
    #[ignore = "long"]
    fn each_key_is_one_group_with_all_its_rows() {
        for key in [DataType::UInt64, DataType::String] {
            for is_memory_short in [false, true] {
                counts(key.clone(), 3, 29_989, false, is_memory_short);
                counts(key.clone(), 40, 350_003, false, is_memory_short);
                counts(key.clone(), 150, 10_007, true, is_memory_short);
            }
        }
    }

    #[test]
    #[ignore = "long"]
    fn rows_become_groups_where_memory_is_short() {
        let held = |is_memory_short| {
            let grouping = count_by(vec![DataType::String]);
            let mut table = Groups::new(&grouping).unwrap();
            let mut all = Partitions::new();
            for block in 0..200u64 {
                let numbers = (0..10_000).map(|row| (block * 10_000 + row) * 7_919 % 50_021);
                let keys = Column::from_strings(numbers.map(|number| format!("{number:>100}")));
                all.add_rows(&[keys], Vec::new(), 10_000, &mut *table.table).unwrap();
                all.merge_some(&grouping, is_memory_short).unwrap();
            }
            all.memory_bytes()
        };
        let (shorter, longer) = (held(true), held(false));
        assert!(shorter < longer / 2, "{shorter} {longer}");
    }

    #[test]
    fn rows_that_are_long_become_groups_early() {
        let mut partition = Partition::default();
        let rows = |rows| Part::Rows(InputRows { keys: Vec::new(), arguments: Vec::new(), rows });
        partition.push(rows(SAMPLE_ROWS), 1);
        assert!(partition.is_due(0, false) && !partition.is_due(1, false));
        partition.push(rows(1), MERGED_BYTES);
        assert!(partition.is_due(1, false) && !partition.is_due(1, true));
        // Once most of them are known to be new, only when there are many more.
        (partition.merged, partition.are_new) = (partition.fresh, true);
        (partition.fresh, partition.fresh_bytes) = (0, 0);
        partition.push(rows(SAMPLE_ROWS), MERGED_BYTES);
        assert!(!partition.is_due(0, false) && !partition.is_due(1, false));
    }

    #[test]
    fn rows_stay_in_the_order_in_which_they_came() {
        let hashes: Vec<u64> = (0..1_000_u64).map(|row| (row * 7 % 5) << 56).collect();
        let (places, ends) = places_by_partition(&hashes, PARTITIONS, |hash| partition_of(hash, PARTITIONS));
        assert_eq!(ends[..5], [200, 400, 600, 800, 1_000]);
        assert_eq!(ends[PARTITIONS - 1], 1_000);
        for pair in [(0, 5), (1, 6), (3, 8)] {
            assert_eq!(places[pair.0] + 1, places[pair.1]);
        }
    }
}
