//! Ranges of the first column of the key: rows of different ranges never have equal keys, so each range is merged by itself. The primary
//! indexes of the parts tell where ranges of like size begin.

use std::ops::Range;
use std::sync::Arc;

use squall_planner::Expression;
use squall_types::{Block, Column, Value};

use super::key_search::is_searchable;
use super::pruning::{Segment, row_groups};
use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part::Part;

/// Values of the key's first column: from `low` on, and less than `high`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::merge_tree) struct KeyRange {
    pub(in crate::merge_tree) low: Option<Value>,
    pub(in crate::merge_tree) high: Option<Value>,
}

impl KeyRange {
    /// The rows among `rows` whose keys lie in the range; the keys are in order.
    fn rows(&self, keys: &Column, rows: Range<usize>) -> Range<usize> {
        let from = |start, bound: &Value| rows_before(keys, start..rows.end, bound);
        let start = self.low.as_ref().map_or(rows.start, |low| from(rows.start, low));
        start..self.high.as_ref().map_or(rows.end, |high| from(start, high))
    }

    /// The rows of a block of one part that lie in the range; `key` is the position of the key's first column.
    pub(in crate::merge_tree) fn of_block(&self, block: Block, key: usize) -> Block {
        let Some(keys) = block.columns().get(key) else { return block };
        let rows = self.rows(keys, 0..block.rows());
        if rows.len() == block.rows() {
            return block;
        }
        let columns = block.columns().iter().map(|column| column.slice(rows.start, rows.len())).collect();
        Block::new(block.schema().clone(), columns, rows.len())
    }

    /// The rows of a part that may lie in the range: those of whole granules.
    fn of_part(&self, part: &Part) -> Range<usize> {
        let (index, granularity) = (&part.description.primary_index, part.description.granularity);
        let rows = part.description.rows();
        let Some(keys) = index.keys.first() else { return 0..rows };
        let marks = self.rows(keys, 0..index.granules());
        // The granule before the first one that begins within may end within.
        marks.start.saturating_sub(1) * granularity..(marks.end * granularity).min(rows)
    }
}

/// The first of `rows` whose key is not less than `bound`; the keys are in order.
fn rows_before(keys: &Column, rows: Range<usize>, bound: &Value) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.value(middle).compare(bound).is_lt() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Segments cut into ranges of at least `rows_min` rows, in the order of the key; one range where the key's first column is not a column of
/// the table whose values can be searched.
pub(in crate::merge_tree) fn split(
    live: &MergeTree,
    segments: Vec<Segment>,
    rows_min: usize,
) -> Vec<(KeyRange, Vec<Segment>)> {
    let bounds = if key_column(live).is_some() { bounds(&segments, rows_min) } else { Vec::new() };
    if bounds.is_empty() {
        return vec![(KeyRange::default(), segments)];
    }
    let lows = [None].into_iter().chain(bounds.iter().cloned().map(Some));
    let highs = bounds.iter().cloned().map(Some).chain([None]);
    let ranges = lows.zip(highs).map(|(low, high)| KeyRange { low, high });
    let with_segments = ranges.map(|range| {
        let own = cut(&range, &segments);
        (range, own)
    });
    with_segments.filter(|(_, segments)| !segments.is_empty()).collect()
}

/// The key's first column among the table's, where its values can be searched.
pub(in crate::merge_tree) fn key_column(live: &MergeTree) -> Option<usize> {
    match &live.identity.definition.sorting_key.first()?.expression {
        Expression::Column { position, data_type } if is_searchable(data_type.remove_low_cardinality()) => {
            Some(*position)
        }
        _ => None,
    }
}

/// Keys at which ranges begin, so that each has about `rows_min` rows, ascending.
fn bounds(segments: &[Segment], rows_min: usize) -> Vec<Value> {
    if segments.iter().map(|segment| segment.rows).sum::<usize>() < 2 * rows_min {
        return Vec::new();
    }
    let mut granules: Vec<(Value, usize)> = Vec::new();
    for segment in segments {
        let description = &segment.part.description;
        let Some(keys) = description.primary_index.keys.first().filter(|keys| keys.rows() > 1) else {
            return Vec::new();
        };
        let rows = first_row(segment)..first_row(segment) + segment.rows;
        let within = rows.start.div_ceil(description.granularity)..rows.end.div_ceil(description.granularity);
        granules.extend(within.map(|granule| (keys.value(granule), description.granularity)));
    }
    granules.sort_by(|(left, _), (right, _)| left.compare(right));
    let mut bounds: Vec<Value> = Vec::new();
    let mut rows = 0;
    for (key, of_granule) in granules {
        if rows >= rows_min && bounds.last().is_none_or(|last| last.compare(&key).is_lt()) {
            bounds.push(key);
            rows = 0;
        }
        rows += of_granule;
    }
    bounds
}

/// A segment's first row within its part.
fn first_row(segment: &Segment) -> usize {
    let before = segment.part.description.row_groups.iter().take(segment.row_group);
    before.map(|group| group.rows).sum::<usize>() + segment.offset
}

/// What of the segments may lie in a range.
fn cut(range: &KeyRange, segments: &[Segment]) -> Vec<Segment> {
    let mut known: Option<(&Arc<Part>, Range<usize>)> = None;
    let mut found = Vec::new();
    for segment in segments {
        let of_part = match &known {
            Some((part, rows)) if Arc::ptr_eq(part, &segment.part) => rows.clone(),
            _ => range.of_part(&segment.part),
        };
        known = Some((&segment.part, of_part.clone()));
        let first = first_row(segment);
        let rows = of_part.start.max(first)..of_part.end.min(first + segment.rows);
        let pieces = row_groups(&segment.part, rows).map(|(row_group, group_first, rows)| Segment {
            row_group,
            offset: rows.start - group_first,
            rows: rows.len(),
            ..segment.clone()
        });
        found.extend(pieces);
    }
    found
}

#[cfg(test)]
mod tests {
    use arrow_array::UInt32Array;
    use squall_types::DataType;

    use super::*;

    fn keys(values: Vec<u32>) -> Column {
        Column::new(DataType::UInt32, Arc::new(UInt32Array::from(values)))
    }

    #[test]
    fn a_range_begins_with_its_low_end_and_ends_before_its_high_one() {
        let keys = keys(vec![1, 3, 3, 5, 9]);
        let range = |low: Option<u64>, high: Option<u64>| KeyRange {
            low: low.map(Value::UInt64),
            high: high.map(Value::UInt64),
        };
        assert_eq!(range(None, None).rows(&keys, 0..5), 0..5);
        assert_eq!(range(Some(3), Some(9)).rows(&keys, 0..5), 1..4);
        assert_eq!(range(None, Some(3)).rows(&keys, 0..5), 0..1);
        assert_eq!(range(Some(10), None).rows(&keys, 0..5), 5..5);
        assert_eq!(range(Some(4), Some(5)).rows(&keys, 0..5), 3..3);
    }

    #[test]
    fn ranges_that_follow_each_other_share_no_row_and_leave_out_none() {
        let keys = keys((0..1_000_u32).map(|row| row / 7).collect());
        let mut next = 0;
        for bound in (0..150).step_by(11) {
            let low = (bound > 0).then_some(Value::UInt64(bound));
            let high = (bound + 11 < 150).then_some(Value::UInt64(bound + 11));
            let rows = KeyRange { low, high }.rows(&keys, 0..1_000);
            assert_eq!(rows.start, next);
            next = rows.end;
        }
        assert_eq!(next, 1_000);
    }
}
