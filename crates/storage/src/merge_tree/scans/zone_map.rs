//! The smallest and the largest value of every few thousand rows of a chunk in memory. Rows often lie in the order of a column that is no
//! part of the key, as times do where rows come as they happen: then a condition on it passes over most of them.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use squall_types::{Column, DataType};

use crate::key_condition::ValueRange;
use crate::value_ends::ValueEnds;

/// Rows of a zone.
const ZONE_ROWS: usize = 8_192;
/// Zones are kept where their values lie this much closer together than those of the chunk, on average.
const WIDTH_RATIO_MAX: f64 = 0.5;

/// The zones of a chunk, in the order of its rows.
#[derive(Debug)]
pub(in crate::merge_tree) struct ZoneMap {
    zones: Vec<ValueEnds>,
    has_nulls: bool,
}

impl ZoneMap {
    /// The zones of a chunk; `None` where values of its type have no ends, and where zones say little more than the whole chunk does.
    pub(in crate::merge_tree) fn of(data_type: &DataType, array: &ArrayRef) -> Option<Self> {
        let rows = array.len();
        if rows <= ZONE_ROWS {
            return None;
        }
        let column = Column::new(data_type.clone(), array.clone());
        let starts = (0..rows).step_by(ZONE_ROWS);
        let zones = starts.map(|start| ValueEnds::of(&column.slice(start, ZONE_ROWS.min(rows - start))));
        let zones = zones.collect::<Option<Vec<ValueEnds>>>()?;
        let whole = zones.iter().cloned().reduce(ValueEnds::and)?;
        let widths: f64 = zones.iter().map(width).sum();
        let is_close = width(&whole) > 0.0 && widths <= width(&whole) * zones.len() as f64 * WIDTH_RATIO_MAX;
        is_close.then(|| Self { zones, has_nulls: array.null_count() > 0 })
    }

    /// The bounds of some rows of the chunk.
    pub(in crate::merge_tree) fn range(&self, rows: Range<usize>) -> ValueRange {
        let zones = rows.start / ZONE_ROWS..rows.end.div_ceil(ZONE_ROWS).min(self.zones.len());
        let zones = self.zones.get(zones).unwrap_or_default().iter().cloned();
        let (low, high) = zones.reduce(ValueEnds::and).and_then(|zones| zones.ends).unzip();
        ValueRange { low, high, incomparable: self.has_nulls }
    }
}

/// How far the ends are apart.
fn width(zone: &ValueEnds) -> f64 {
    let ends = zone.ends.as_ref().and_then(|(low, high)| low.as_f64().zip(high.as_f64()));
    ends.map_or(0.0, |(low, high)| high - low)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, UInt16Array};
    use squall_types::Value;

    use super::*;

    #[test]
    fn zones_hold_their_rows() {
        let rows = 5 * ZONE_ROWS + 100;
        let value = |row: usize| if row.is_multiple_of(7) { None } else { Some((row / 1_000) as i64 - 20) };
        let array: ArrayRef = Arc::new((0..rows).map(value).collect::<Int64Array>());
        let zones = ZoneMap::of(&DataType::Nullable(Arc::new(DataType::Int64)), &array).unwrap();
        for range in [0..1, 0..rows, 100..ZONE_ROWS + 1, ZONE_ROWS..2 * ZONE_ROWS, rows - 1..rows] {
            let first = range.start / ZONE_ROWS * ZONE_ROWS;
            let last = (range.end.div_ceil(ZONE_ROWS) * ZONE_ROWS).min(rows);
            let found = zones.range(range);
            assert_eq!(found.low, (first..last).filter_map(value).min().map(Value::Int64));
            assert_eq!(found.high, (first..last).filter_map(value).max().map(Value::Int64));
            assert!(found.incomparable);
        }
    }

    #[test]
    fn chunks_in_no_order_have_no_zones() {
        let scattered = (0..50_000).map(|row| (row * 7_919 % 65_536) as u16);
        let arrays: [ArrayRef; 3] = [
            Arc::new(scattered.collect::<UInt16Array>()),
            Arc::new(UInt16Array::from(vec![5; 50_000])),
            Arc::new((0..ZONE_ROWS as u16).collect::<UInt16Array>()),
        ];
        for array in arrays {
            assert!(ZoneMap::of(&DataType::UInt16, &array).is_none());
        }
    }
}
