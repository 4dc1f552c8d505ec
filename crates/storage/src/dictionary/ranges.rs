//! Rows that hold for a range beside their key: of the ranges of a key that a point lies in, one is found.

use squall_functions::MISSING;
use squall_types::{Column, Error, ErrorCode, Result};

use crate::key_index::{KeyIndex, Keys, OrderKeys};

/// The ranges of all keys. Those of one key stand together, by their first points, then their last ones.
#[derive(Debug)]
pub(super) struct RangeIndex {
    /// One row of each key.
    keys: KeyIndex,
    /// For the row that stands for a key, where its ranges begin and end.
    groups: Vec<(u32, u32)>,
    ranges: Vec<Range>,
    takes_last: bool,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    first: u64,
    last: u64,
    /// The largest `last` of this key's ranges up to this one.
    last_max: u64,
    row: u32,
}

impl RangeIndex {
    /// An index of rows by keys and bounds. `takes_last`: of several ranges the one that begins last is found. A bound that is NULL is
    /// open.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for bounds of a type without order.
    pub fn new(keys: Keys, first: &Column, last: &Column, takes_last: bool) -> Result<Self> {
        let bounds = |column: &Column| {
            OrderKeys::of(column).ok_or_else(|| {
                Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Type {} of a dictionary's range has no order", column.data_type()),
                )
            })
        };
        let (first, last) = (bounds(first)?, bounds(last)?);
        let rows = keys.len();
        let index = KeyIndex::of(keys.clone(), true);
        let key_rows = index.find(&keys)?;
        let range = |row: usize| {
            let (first, last) = (first.get(row).unwrap_or(0), last.get(row).unwrap_or(u64::MAX));
            (key_rows[row], Range { first, last, last_max: last, row: row as u32 })
        };
        let mut ranges: Vec<(u32, Range)> = (0..rows).map(range).collect();
        ranges.retain(|(key_row, range)| *key_row != MISSING && range.first <= range.last);
        ranges.sort_by_key(|(key_row, range)| (*key_row, range.first, range.last));
        let mut groups = vec![(0, 0); rows];
        for at in 0..ranges.len() {
            let key_row = ranges[at].0;
            let group = &mut groups[key_row as usize];
            if group.1 == 0 {
                group.0 = at as u32;
            } else {
                ranges[at].1.last_max = ranges[at].1.last.max(ranges[at - 1].1.last_max);
            }
            group.1 = at as u32 + 1;
        }
        Ok(Self { keys: index, groups, ranges: ranges.into_iter().map(|(_, range)| range).collect(), takes_last })
    }

    /// The row of each key whose range holds the point of the same number.
    ///
    /// # Errors
    /// Where the points have no order.
    pub fn find(&self, keys: &Keys, points: &Column) -> Result<Vec<u32>> {
        let points = OrderKeys::of(points).ok_or_else(|| Error::logical("points without order"))?;
        let mut found = self.keys.find(keys)?;
        for (at, row) in found.iter_mut().enumerate() {
            let group = self.groups.get(*row as usize).map(|(begin, end)| &self.ranges[*begin as usize..*end as usize]);
            *row = match (group, points.get(at)) {
                (Some(group), Some(point)) => self.find_in(group, point),
                _ => MISSING,
            };
        }
        Ok(found)
    }

    fn find_in(&self, group: &[Range], point: u64) -> u32 {
        let begun = group.partition_point(|range| range.first <= point);
        if self.takes_last {
            let begun = group[..begun].iter().rev().take_while(|range| range.last_max >= point);
            return begun.into_iter().find(|range| range.last >= point).map_or(MISSING, |range| range.row);
        }
        // Where the largest last point so far first reaches this one, the range that it belongs to holds it.
        let at = group.partition_point(|range| range.last_max < point);
        if at < begun { group[at].row } else { MISSING }
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes() + size_of_val(&self.groups[..]) + size_of_val(&self.ranges[..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use squall_types::DataType;

    use super::*;
    use crate::key_index::KeyForm;

    fn column(values: impl IntoIterator<Item = u64>) -> Column {
        Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_a_look_at_every_range_finds(
            rows in prop::collection::vec((0u64..4, 0u64..12, 0u64..12), 0..40),
            asked in prop::collection::vec((0u64..5, 0u64..13), 1..20),
            takes_last in any::<bool>(),
        ) {
            let keys = |values: Vec<u64>| {
                let count = values.len();
                Keys::new(KeyForm::Packed8, &[column(values)], count).unwrap()
            };
            let index = RangeIndex::new(
                keys(rows.iter().map(|row| row.0).collect()),
                &column(rows.iter().map(|row| row.1)),
                &column(rows.iter().map(|row| row.2)),
                takes_last,
            ).unwrap();
            let found = index
                .find(&keys(asked.iter().map(|asked| asked.0).collect()), &column(asked.iter().map(|asked| asked.1)))
                .unwrap();
            for ((key, point), found) in asked.iter().zip(found) {
                let holding = rows.iter().filter(|row| row.0 == *key && row.1 <= *point && *point <= row.2);
                let range = |row: &&(u64, u64, u64)| (row.1, row.2);
                let expected = if takes_last { holding.max_by_key(range) } else { holding.min_by_key(range) };
                prop_assert_eq!(rows.get(found as usize).map(|row| (row.1, row.2)), expected.map(|row| (row.1, row.2)));
            }
        }
    }
}
