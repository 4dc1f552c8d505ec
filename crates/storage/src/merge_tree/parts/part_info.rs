//! What `system.parts` tells of parts.

use std::sync::Arc;

use squall_planner::TableDefinition;
use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, Column, DataType, Value, cast};

use super::part::Part;
use crate::merge_tree::MergeTreeTable;
use crate::merge_tree::chunks::packing::CODEC_OF_LARGE_PARTS;
use crate::merge_tree::scans::origin::partition_values;
use crate::table::PartInfo;

/// Of all parts of a table.
pub(in crate::merge_tree) fn of_parts(table: &MergeTreeTable) -> Vec<PartInfo> {
    let definition = &table.live.identity.definition;
    let type_of = |column: usize| definition.columns.get(column).map(|column| &column.data_type);
    let is_time = |column: &usize| matches!(type_of(*column), Some(DataType::DateTime(_)));
    let is_date = |column: &usize| matches!(type_of(*column), Some(DataType::Date));
    let sorting_time = table.live.identity.sorting_columns.iter().copied().find(is_time);
    let mut of_partition = Vec::new();
    for key in &definition.partition_key {
        key.expression.visit_columns(&mut |column| of_partition.push(column));
    }
    let partition_date = of_partition.iter().copied().find(is_date);
    let partition_time = of_partition.iter().copied().find(is_time);
    let marking = Marking::of(definition);
    let of_large = |part: &Part| part.description.has_codec_of_large().then(|| CODEC_OF_LARGE_PARTS.into());
    let info = |part: &Arc<Part>| {
        let bounds = |column: Option<usize>| column.and_then(|column| bounds(table, part, column));
        PartInfo {
            name: part.file.name.clone(),
            partition_id: part.file.partition_id.clone(),
            partition: partition(table, part),
            rows: part.rows,
            bytes_on_disk: part.file.bytes,
            value_bytes: part.description.all_value_bytes(),
            part_type: marking.part_type(part.rows, part.file.bytes),
            marks: marking.marks(part.rows, part.file.bytes, part.description.granularity),
            primary_key_bytes: part.description.primary_index.keys.iter().map(Column::memory_bytes).sum::<usize>()
                as u64,
            path: part.file.path.clone(),
            ttl: table.live.part_ttl(part),
            codec: table.live.codec_of(part).or_else(|| of_large(part)),
            times: bounds(sorting_time),
            partition_dates: bounds(partition_date),
            partition_times: bounds(partition_time),
            deleted_rows: table.parts.deletions.rows_of(&part.file.name),
        }
    };
    table.parts.parts.iter().map(info).collect()
}

/// The kind of small parts.
const COMPACT: &str = "Compact";

/// What the table's settings say of marks and kinds of parts. Here they change nothing but what is told of parts.
pub(in crate::merge_tree) struct Marking {
    /// Granules may have fewer rows than `index_granularity`, so that a mark at the end tells how many the last one has.
    is_adaptive: bool,
    /// About so many bytes a granule may have (`index_granularity_bytes`).
    granule_bytes: u64,
    /// The bytes of a row in memory, where all rows have as many.
    row_bytes: Option<u64>,
    /// Parts of fewer bytes or rows are compact.
    wide_from_bytes: u64,
    wide_from_rows: u64,
}

impl Marking {
    pub(in crate::merge_tree) fn of(definition: &TableDefinition) -> Self {
        let setting = |name: &str, default: u64| {
            let set = definition.settings.iter().find(|(known, _)| &**known == name);
            set.and_then(|(_, value)| value.parse().ok()).unwrap_or(default)
        };
        let granule_bytes = setting("index_granularity_bytes", 10 << 20);
        let stored = definition.columns.iter().filter(|column| column.is_stored());
        Self {
            is_adaptive: granule_bytes > 0,
            granule_bytes,
            row_bytes: stored.map(|column| width(&column.data_type)).sum(),
            wide_from_bytes: setting("min_bytes_for_wide_part", 10 << 20),
            wide_from_rows: setting("min_rows_for_wide_part", 0),
        }
    }

    /// The marks of a part of so many rows and bytes. Where rows are too wide for granules of `granularity`, these have fewer; a compact
    /// part has no last granule of less than half the rows of the others.
    pub(in crate::merge_tree) fn marks(&self, rows: u64, bytes: u64, granularity: usize) -> u64 {
        let mut granularity = granularity.max(1) as u64;
        if let Some(row_bytes) = self.row_bytes.filter(|bytes| self.is_adaptive && *bytes > 0) {
            let of_all = rows.saturating_mul(row_bytes) / self.granule_bytes;
            let fitting = rows.checked_div(of_all).unwrap_or(self.granule_bytes / row_bytes);
            granularity = granularity.min(fitting.max(1));
        }
        let (full, rest) = (rows / granularity, rows % granularity);
        let joins_last = full > 0 && rest * 2 < granularity && self.part_type(rows, bytes) == COMPACT;
        let granules = full + u64::from(rest > 0 && !joins_last);
        granules + u64::from(self.is_adaptive && granules > 0)
    }

    /// What a part of so many rows and bytes is called. The bytes that count are those in memory, where they are known.
    pub(in crate::merge_tree) fn part_type(&self, rows: u64, bytes: u64) -> &'static str {
        let bytes = self.row_bytes.map_or(bytes, |row_bytes| rows.saturating_mul(row_bytes));
        let is_small = bytes < self.wide_from_bytes || rows < self.wide_from_rows;
        if self.is_adaptive && is_small { COMPACT } else { "Wide" }
    }
}

/// The bytes of a value in memory, where all values of a type have as many.
fn width(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Nullable(inner) => Some(width(inner)? + 1),
        other => other.fixed_width_bytes().map(|bytes| bytes as u64),
    }
}

/// The smallest and largest value of a column of dates or times, in days or seconds.
fn bounds(table: &MergeTreeTable, part: &Part, column: usize) -> Option<(u32, u32)> {
    let identity = &table.live.identity;
    let (range, _) = part.range(identity, identity.stored_positions.get(column).copied().flatten()?);
    let number = |bound: Option<Value>| bound.and_then(|bound| u32::try_from(bound.as_u64()?).ok());
    number(range.low).zip(number(range.high))
}

/// The values of the partition key as text: one as it is, several as a tuple. The partition's id where they are not known.
fn partition(table: &MergeTreeTable, part: &Part) -> Arc<str> {
    let keys = &table.live.identity.definition.partition_key;
    let text = || {
        if keys.is_empty() {
            return Some("tuple()".to_owned());
        }
        let values = partition_values(table, part).ok()?;
        let types: Vec<DataType> = keys.iter().map(|key| key.expression.data_type().clone()).collect();
        let (data_type, value) = match (&types[..], &values[..]) {
            ([data_type], [value]) => (data_type.clone(), value.clone()),
            _ => (DataType::tuple(types), Value::Tuple(values.into())),
        };
        let column = Column::constant(data_type, &value, 1).ok()?;
        let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
        let text = cast(&column, &DataType::String, &options).ok()?.value(0);
        String::from_utf8(text.as_bytes()?.to_vec()).ok()
    };
    text().map_or_else(|| part.file.partition_id.clone(), Into::into)
}
