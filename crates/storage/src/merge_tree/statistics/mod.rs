//! What parts know of their columns' values beside the smallest and the largest: how many different ones there are, and which ones many rows have.
//! Gathered as a part is written, by an INSERT or a merge; the planner estimates by it.

mod builder;
mod column_sketch;
mod distinct_sketch;

use std::cmp::Reverse;
use std::sync::Arc;

use squall_planner::ColumnStatistics;

pub(in crate::merge_tree) use builder::StatisticsBuilder;
use column_sketch::ColumnSketch;

use crate::identity::TableIdentity;
use crate::merge_tree::parts::part::Part;

/// Of more parts the largest are looked at: the planner waits for this.
const PARTS_MAX: usize = 64;

/// The statistics of a stored column of a table over its parts; `None` where too many rows are in parts that have none, such as those of before
/// version 10.
pub(in crate::merge_tree) fn of_parts(
    parts: &[Arc<Part>],
    table: &TableIdentity,
    stored: usize,
) -> Option<ColumnStatistics> {
    let mut largest: Vec<&Arc<Part>> = parts.iter().collect();
    if largest.len() > PARTS_MAX {
        largest.select_nth_unstable_by_key(PARTS_MAX, |part| Reverse(part.rows));
        largest.truncate(PARTS_MAX);
    }
    let mut whole = ColumnSketch::default();
    for part in &largest {
        let place = part.schema.place(table, stored);
        let sketch = place.and_then(|place| ColumnSketch::decode(part.description.statistics.get(place)?));
        if let Some(sketch) = sketch {
            whole.merge(sketch);
        }
    }
    let rows: u64 = largest.iter().map(|part| part.rows).sum();
    if whole.rows == 0 || whole.rows < rows / 2 {
        return None;
    }
    whole.keep_common();
    let of_rows = |rows: u64| rows as f64 / whole.rows as f64;
    Some(ColumnStatistics {
        distinct: whole.distinct.estimate().min((whole.rows - whole.nulls) as f64),
        nulls: of_rows(whole.nulls),
        common: whole.common.iter().map(|(value, rows)| (value.clone(), of_rows(*rows))).collect(),
    })
}

/// About how many different values a column of a part has; `None` where the part does not know.
pub(in crate::merge_tree) fn distinct_of(part: &Part, place: usize) -> Option<u64> {
    let sketch = ColumnSketch::decode(part.description.statistics.get(place)?)?;
    Some((sketch.distinct.estimate().round() as u64).min(sketch.rows - sketch.nulls))
}
