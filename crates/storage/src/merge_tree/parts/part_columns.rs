//! What is known of parts' columns without reading them, for `system.parts_columns` and `system.columns`.

use std::sync::Arc;

use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, Column, DataType, Value};

use super::part::Part;
use crate::identity::TableIdentity;
use crate::table::{ColumnSize, PartColumn};

/// What a part's description says of its columns.
pub(in crate::merge_tree) fn part_columns(identity: &TableIdentity, part: &Part) -> Vec<PartColumn> {
    let positions = identity.stored_positions.iter().enumerate();
    let stored = positions.filter_map(|(position, stored)| Some((position, (*stored)?)));
    let column = |(position, stored): (usize, usize)| {
        let (name, data_type) = identity.stored.fields.get(stored)?;
        let place = part.schema.place(identity, stored)?;
        let chunks = || part.description.row_groups.iter().filter_map(|group| group.chunks.get(place));
        let (range, _) = part.description.range(place);
        Some(PartColumn {
            position,
            name: name.clone(),
            data_type: data_type.clone(),
            bytes_on_disk: chunks().map(|chunk| chunk.at.length).sum(),
            value_bytes: chunks().map(|chunk| chunk.value_bytes).sum(),
            min: range.low.and_then(|bound| bound_text(data_type, &bound)),
            max: range.high.and_then(|bound| bound_text(data_type, &bound)),
            distinct: crate::merge_tree::statistics::distinct_of(part, place),
            nulls: (!data_type.is_nullable()).then_some(0).or_else(|| Some(chunks().map(|chunk| chunk.nulls).sum())),
        })
    };
    stored.filter_map(column).collect()
}

/// What each column of a table takes in some parts of it.
pub(in crate::merge_tree) fn column_sizes(identity: &TableIdentity, parts: &[Arc<Part>]) -> Vec<ColumnSize> {
    let size = |stored: &Option<usize>| {
        let mut size = ColumnSize::default();
        let Some(stored) = *stored else { return size };
        for part in parts {
            let Some(place) = part.schema.place(identity, stored) else { continue };
            for chunk in part.description.row_groups.iter().filter_map(|group| group.chunks.get(place)) {
                size.bytes_on_disk += chunk.at.length;
                size.value_bytes += chunk.value_bytes;
            }
        }
        size
    };
    identity.stored_positions.iter().map(size).collect()
}

/// A bound of a column's values as text.
fn bound_text(data_type: &DataType, bound: &Value) -> Option<String> {
    let data_type = data_type.inner();
    // Files know UUIDs in another order than ClickHouse has them.
    if *data_type == DataType::UUID {
        return None;
    }
    let column = Column::constant(data_type.clone(), bound, 1).ok()?;
    let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
    let text = squall_types::cast(&column, &DataType::String, &options).ok()?.value(0);
    String::from_utf8(text.as_bytes()?.to_vec()).ok()
}
