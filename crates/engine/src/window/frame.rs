//! The frame of each row: which rows of its partition a function sees from it.

use squall_functions::RowRange;
use squall_planner::{FrameBound, FrameUnit, WindowFrame};
use squall_types::{Column, DataType, Result, Value};

/// A key of a RANGE frame with offsets, so that the window's order is ascending. NULL and NaN are apart from all values.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(super) enum RangeKey {
    Integer(i128),
    Float(f64),
    Apart,
}

impl RangeKey {
    /// The keys of all rows.
    pub fn of_column(column: &Column, descending: bool) -> Vec<Self> {
        let key = |row: usize| match column.value(row) {
            Value::UInt64(value) => Self::Integer(value.into()),
            Value::Int64(value) => Self::Integer(value.into()),
            Value::Bool(value) => Self::Integer(value.into()),
            Value::Float64(value) if !value.is_nan() => Self::Float(value),
            _ => Self::Apart,
        };
        let negate = |key: Self| match key {
            Self::Integer(value) => Self::Integer(-value),
            Self::Float(value) => Self::Float(-value),
            Self::Apart => Self::Apart,
        };
        let keys = (0..column.rows()).map(key);
        if descending { keys.map(negate).collect() } else { keys.collect() }
    }

    fn plus(self, offset: i128) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value + offset),
            Self::Float(value) => Self::Float(value + offset as f64),
            Self::Apart => Self::Apart,
        }
    }

    fn is_apart(self) -> bool {
        matches!(self, Self::Apart)
    }
}

/// Whether a frame needs the values of the window's only key.
pub(super) fn needs_keys(frame: &WindowFrame) -> bool {
    let has_offset = |bound: FrameBound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
    frame.unit == FrameUnit::Range && (has_offset(frame.begin) || has_offset(frame.end))
}

/// The frame of every row. `keys` are there where the frame needs them.
pub(super) fn frames(
    frame: &WindowFrame,
    partitions: &[RowRange],
    peers: &[RowRange],
    keys: Option<&[RangeKey]>,
) -> Vec<RowRange> {
    let mut frames = Vec::with_capacity(partitions.last().map_or(0, |last| last.end as usize));
    let mut peers = peers;
    for partition in partitions {
        let groups = peers.partition_point(|group| group.begin < partition.end);
        let (own, others) = peers.split_at(groups);
        peers = others;
        match (frame.unit, keys) {
            (FrameUnit::Rows, _) => by_rows(frame, partition, &mut frames),
            (FrameUnit::Range, Some(keys)) => by_keys(frame, partition, own, keys, &mut frames),
            _ => by_groups(frame, partition, own, &mut frames),
        }
    }
    frames
}

fn by_rows(frame: &WindowFrame, partition: &RowRange, frames: &mut Vec<RowRange>) {
    for row in partition.begin..partition.end {
        // In 64 bits neither a row plus an offset nor a row minus one is out of range.
        let within = |row: i64| row.clamp(partition.begin.into(), partition.end.into()) as u32;
        let row = i64::from(row);
        let begin = match frame.begin {
            FrameBound::UnboundedPreceding => partition.begin,
            FrameBound::Preceding(count) => within(row - count as i64),
            FrameBound::CurrentRow => row as u32,
            FrameBound::Following(count) => within(row + count as i64),
            FrameBound::UnboundedFollowing => partition.end,
        };
        let end = match frame.end {
            FrameBound::UnboundedPreceding => partition.begin,
            FrameBound::Preceding(count) => within(row + 1 - count as i64),
            FrameBound::CurrentRow => row as u32 + 1,
            FrameBound::Following(count) => within(row + 1 + count as i64),
            FrameBound::UnboundedFollowing => partition.end,
        };
        frames.push(RowRange { begin, end: end.max(begin) });
    }
}

/// GROUPS, and RANGE without offsets, in which groups count as well.
fn by_groups(frame: &WindowFrame, partition: &RowRange, groups: &[RowRange], frames: &mut Vec<RowRange>) {
    let begin_of =
        |group: Option<usize>| group.and_then(|group| groups.get(group)).map_or(partition.end, |group| group.begin);
    let end_of = |group: usize| groups.get(group).map_or(partition.end, |group| group.end);
    for (at, group) in groups.iter().enumerate() {
        let offset = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let begin = match frame.begin {
            FrameBound::UnboundedPreceding => partition.begin,
            FrameBound::Preceding(count) => begin_of(Some(at.saturating_sub(offset(count)))),
            FrameBound::CurrentRow => group.begin,
            FrameBound::Following(count) => begin_of(at.checked_add(offset(count))),
            FrameBound::UnboundedFollowing => partition.end,
        };
        let end = match frame.end {
            FrameBound::UnboundedPreceding => partition.begin,
            FrameBound::Preceding(count) => at.checked_sub(offset(count)).map_or(partition.begin, end_of),
            FrameBound::CurrentRow => group.end,
            FrameBound::Following(count) => end_of(at.saturating_add(offset(count))),
            FrameBound::UnboundedFollowing => partition.end,
        };
        frames.extend(std::iter::repeat_n(RowRange { begin, end: end.max(begin) }, group.rows()));
    }
}

/// RANGE with offsets: rows whose key is so far away at most. Rows without a value see each other alone where an offset is.
fn by_keys(
    frame: &WindowFrame,
    partition: &RowRange,
    groups: &[RowRange],
    keys: &[RangeKey],
    frames: &mut Vec<RowRange>,
) {
    // The rows with a value are one after the other: what is apart is at the beginning or at the end.
    let first = groups.iter().find(|group| !keys[group.begin as usize].is_apart());
    let values = groups.iter().rfind(|group| !keys[group.begin as usize].is_apart());
    let values = match (first, values) {
        (Some(first), Some(last)) => RowRange { begin: first.begin, end: last.end },
        _ => RowRange { begin: partition.end, end: partition.end },
    };
    let key_of = |row: u32| keys[row as usize];
    // Bounds only ever move forward from group to group.
    let (mut begin_at, mut end_at) = (values.begin, values.begin);
    for group in groups {
        let key = key_of(group.begin);
        let begin_offset = match frame.begin {
            FrameBound::Preceding(count) => Some(-i128::from(count)),
            FrameBound::Following(count) => Some(i128::from(count)),
            _ => None,
        };
        let end_offset = match frame.end {
            FrameBound::Preceding(count) => Some(-i128::from(count)),
            FrameBound::Following(count) => Some(i128::from(count)),
            _ => None,
        };
        let begin = match begin_offset {
            Some(offset) if !key.is_apart() => {
                let bound = key.plus(offset);
                while begin_at < values.end && key_of(begin_at) < bound {
                    begin_at += 1;
                }
                begin_at
            }
            None if frame.begin == FrameBound::UnboundedPreceding => partition.begin,
            _ => group.begin,
        };
        let end = match end_offset {
            Some(offset) if !key.is_apart() => {
                let bound = key.plus(offset);
                while end_at < values.end && key_of(end_at) <= bound {
                    end_at += 1;
                }
                end_at
            }
            None if frame.end == FrameBound::UnboundedFollowing => partition.end,
            _ => group.end,
        };
        frames.extend(std::iter::repeat_n(RowRange { begin, end: end.max(begin) }, group.rows()));
    }
}

/// The type inside which the values of a RANGE frame's key are read.
///
/// # Errors
/// Where the column cannot be written out.
pub(super) fn key_column(column: &Column) -> Result<Column> {
    let column = column.without_low_cardinality()?.materialize()?;
    debug_assert!(!matches!(column.data_type(), DataType::LowCardinality(_)));
    Ok(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(begin: u32, end: u32) -> RowRange {
        RowRange { begin, end }
    }

    fn frame(unit: FrameUnit, begin: FrameBound, end: FrameBound) -> WindowFrame {
        WindowFrame { unit, begin, end }
    }

    #[test]
    fn rows_stay_within_their_partition() {
        let rows = frame(FrameUnit::Rows, FrameBound::Preceding(1), FrameBound::Following(1));
        let found = frames(&rows, &[range(0, 2), range(2, 5)], &[], None);
        assert_eq!(found, [range(0, 2), range(0, 2), range(2, 4), range(2, 5), range(3, 5)]);
    }

    #[test]
    fn frames_beyond_the_partition_are_empty() {
        let rows = frame(FrameUnit::Rows, FrameBound::Following(2), FrameBound::Following(3));
        let found = frames(&rows, &[range(0, 3)], &[], None);
        assert_eq!(found, [range(2, 3), range(3, 3), range(3, 3)]);
    }

    #[test]
    fn groups_count_peers() {
        let groups = frame(FrameUnit::Groups, FrameBound::Preceding(1), FrameBound::CurrentRow);
        let found = frames(&groups, &[range(0, 4)], &[range(0, 2), range(2, 3), range(3, 4)], None);
        assert_eq!(found, [range(0, 2), range(0, 2), range(0, 3), range(2, 4)]);
    }

    #[test]
    fn ranges_go_by_value_and_leave_null_alone() {
        let by_value = frame(FrameUnit::Range, FrameBound::Preceding(1), FrameBound::Following(1));
        let keys = [RangeKey::Integer(1), RangeKey::Integer(3), RangeKey::Integer(4), RangeKey::Apart];
        let peers = [range(0, 1), range(1, 2), range(2, 3), range(3, 4)];
        let found = frames(&by_value, &[range(0, 4)], &peers, Some(&keys));
        assert_eq!(found, [range(0, 1), range(1, 3), range(1, 3), range(3, 4)]);
    }
}
