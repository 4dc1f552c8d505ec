//! A partition whose table would outgrow the caches is cut once more before its rows and groups are looked up. Such a table is rehashed again
//! and again as it grows, and each lookup waits for memory. If there are a hundred million groups, all partitions are that large.

use squall_runtime::Pieces;
use squall_types::Result;

use super::groups::GROUPS_AT_ONCE;
use super::input_rows::InputRows;
use super::key_table::{KeyTable, partition_of};
use super::partitions::{CUT_BYTES, CUT_ROWS, Part, cut};
use super::sink::Grouping;

/// A partition of fewer rows and groups is not cut.
const ROWS_MIN: usize = 1 << 17;
/// Rows and groups of each part of it, about.
const PART_ROWS: usize = 1 << 15;
/// Parts at most.
const PARTS_MAX: usize = 64;

/// Which part of the keys' hashes a partition is.
pub(super) struct PartitionNumber {
    pub(super) number: usize,
    /// All partitions: a power of two.
    pub(super) partitions: usize,
}

/// Cuts what there is of a partition by the hashes of the keys. Gives it back in one piece if it is small, or if a state in it is large.
pub(super) async fn subpartitions(
    parts: Vec<Part>,
    partition: PartitionNumber,
    grouping: &Grouping,
    pieces: &mut Pieces,
) -> Result<Vec<Vec<Part>>> {
    let rows = parts.iter().map(Part::len).sum::<usize>();
    let mut table = grouping.kind.table(&grouping.key_types);
    if rows < ROWS_MIN || !table.has_hashes() || parts.iter().any(Part::is_large) {
        return Ok(vec![parts]);
    }
    let count = (rows / PART_ROWS).next_power_of_two().min(PARTS_MAX);
    let (first, all) = (partition.number * count, partition.partitions * count);
    let mut cut_parts: Vec<Vec<Part>> = (0..count).map(|_| Vec::new()).collect();
    let (mut uncut, mut uncut_rows, mut uncut_bytes) = (Vec::new(), 0, 0);
    for part in parts {
        match part {
            Part::Rows(rows) => {
                uncut_rows += rows.rows;
                uncut_bytes += rows.value_bytes();
                uncut.push(rows);
            }
            Part::Groups { mut groups, .. } => {
                let mut lists = vec![Vec::new(); all];
                for from in (0..groups.len()).step_by(GROUPS_AT_ONCE) {
                    groups.table.partition(from..groups.len().min(from + GROUPS_AT_ONCE), &mut lists);
                    pieces.pause().await;
                }
                let lists = lists.drain(first..first + count);
                for (parts, list) in cut_parts.iter_mut().zip(lists).filter(|(_, list)| !list.is_empty()) {
                    parts.push(Part::Groups { groups: groups.take(&list)?, large: Vec::new() });
                    pieces.pause().await;
                }
            }
        }
        if uncut_rows >= CUT_ROWS || uncut_bytes >= CUT_BYTES {
            cut_rows(&uncut, &mut *table, |hash| partition_of(hash, all) - first, &mut cut_parts)?;
            uncut.clear();
            (uncut_rows, uncut_bytes) = (0, 0);
            pieces.pause().await;
        }
    }
    cut_rows(&uncut, &mut *table, |hash| partition_of(hash, all) - first, &mut cut_parts)?;
    pieces.pause().await;
    cut_parts.retain(|parts| !parts.is_empty());
    Ok(cut_parts)
}

/// Cuts rows, of which `number_of` tells the part by the hash of a key.
fn cut_rows(
    uncut: &[InputRows],
    table: &mut dyn KeyTable,
    number_of: impl Fn(u64) -> usize,
    all: &mut [Vec<Part>],
) -> Result<()> {
    let mut hashes = Vec::new();
    for rows in uncut {
        table.kept_hashes(&rows.keys, rows.rows, &mut hashes)?;
    }
    if !hashes.is_empty() {
        for (number, rows) in cut(uncut, &hashes, all.len(), number_of)? {
            all[number].push(Part::Rows(rows));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::types::UInt64Type;
    use squall_runtime::block_on;
    use squall_types::{Column, DataType};

    use super::*;
    use crate::aggregate::groups::Groups;
    use crate::aggregate::test_groups::{count_by, take_counts};

    fn columns(key_types: &[DataType], numbers: &[u64]) -> Vec<Column> {
        let column = |data_type: &DataType| match data_type {
            DataType::String => Column::from_strings(numbers.iter().map(|number| format!("key number {number}"))),
            _ => Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers.to_vec()),
        };
        key_types.iter().map(column).collect()
    }

    #[test]
    #[ignore = "long"]
    fn each_key_comes_in_one_part_with_all_its_rows() {
        const PARTITIONS: usize = 4;
        for key_types in [
            vec![DataType::UInt64],
            vec![DataType::UInt64, DataType::UInt64],
            vec![DataType::String],
            vec![DataType::UInt64, DataType::String],
        ] {
            let grouping = count_by(key_types.clone());
            let mut table = grouping.kind.table(&key_types);
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            let mut parts = Vec::new();
            for block in 0..60u64 {
                let numbers: Vec<u64> =
                    (block * 10_000..(block + 1) * 10_000).map(|row| row * 7_919 % 500_009).collect();
                let keys = columns(&key_types, &numbers);
                let mut hashes = Vec::new();
                let kept = table.keep(&keys, numbers.len(), &mut hashes).unwrap();
                let of_partition = (0..).zip(&hashes).filter(|(_, hash)| partition_of(**hash, PARTITIONS) == 2);
                let rows: Vec<u32> = of_partition.map(|(row, _)| row).collect();
                let positions = arrow_array::UInt32Array::from(rows);
                let kept: Vec<Column> = kept.iter().map(|column| column.take(&positions).unwrap()).collect();
                for row in positions.values() {
                    *expected.entry(keys[0].value(*row as usize).to_string()).or_default() += 1;
                }
                let rows = InputRows { keys: kept, arguments: Vec::new(), rows: positions.len() };
                if block % 9 == 4 {
                    let mut groups = Groups::new(&grouping).unwrap();
                    groups.add_rows(&grouping, &rows, &mut Vec::new()).unwrap();
                    parts.push(Part::Groups { groups, large: Vec::new() });
                } else {
                    parts.push(Part::Rows(rows));
                }
            }
            let number = PartitionNumber { number: 2, partitions: PARTITIONS };
            let mut pieces = Pieces::begin();
            let cut = block_on(subpartitions(parts, number, &grouping, &mut pieces)).unwrap();
            assert_eq!(cut.len(), 4);
            let mut found: BTreeMap<String, u64> = BTreeMap::new();
            for parts in cut {
                let mut groups = Groups::new(&grouping).unwrap();
                for part in parts {
                    match part {
                        Part::Groups { groups: others, .. } => groups.add(others, &mut Vec::new()).unwrap(),
                        Part::Rows(rows) => groups.add_rows(&grouping, &rows, &mut Vec::new()).unwrap(),
                    }
                }
                let count = groups.len();
                assert!(count > 20_000, "{count}");
                take_counts(groups, &mut found);
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn few_rows_are_not_cut() {
        let grouping = count_by(vec![DataType::UInt64]);
        let mut table = grouping.kind.table(&grouping.key_types);
        let numbers: Vec<u64> = (0..10_000).collect();
        let keys = table.keep(&columns(&grouping.key_types, &numbers), numbers.len(), &mut Vec::new()).unwrap();
        let rows = Part::Rows(InputRows { keys, arguments: Vec::new(), rows: numbers.len() });
        let number = PartitionNumber { number: 0, partitions: 1 };
        let cut = block_on(subpartitions(vec![rows], number, &grouping, &mut Pieces::begin())).unwrap();
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [1]);
    }
}
