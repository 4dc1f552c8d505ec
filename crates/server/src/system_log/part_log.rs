//! `system.part_log`: a row for every part that comes, is merged, rewritten or goes.

use squall_storage::PartEvent;

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::system::value::{number, text, texts, uuid};

impl LogEntry for PartEvent {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        seconds(row.at)
    }

    fn text_bytes(row: &Self) -> usize {
        row.path.len() + row.merged_from.iter().map(|name| name.len()).sum::<usize>()
    }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<PartEvent> {
    let low = "LowCardinality(String)";
    let days = context.days.clone();
    let kinds = "Enum8('NewPart' = 1, 'MergeParts' = 2, 'DownloadPart' = 3, 'RemovePart' = 4, 'MutatePart' = 5, 'MovePart' = 6)";
    let reasons = "Enum8('NotAMerge' = 1, 'RegularMerge' = 2, 'TTLDeleteMerge' = 3, 'TTLRecompressMerge' = 4)";
    let is_merge = |event: &PartEvent| !event.merged_from.is_empty();
    let address = |event: &PartEvent| std::ptr::from_ref(event) as usize;
    LogTable::new()
        .constant("hostname", low, text(&context.host_name))
        .constant("query_id", "String", text(""))
        .number("event_type", kinds, |event: &PartEvent| event.kind as u64)
        .number("merge_reason", reasons, move |event| if is_merge(event) { 2 } else { 1 })
        .number("merge_algorithm", "Enum8('Undecided' = 0, 'Horizontal' = 1, 'Vertical' = 2)", move |event| {
            u64::from(is_merge(event))
        })
        .number("event_date", "Date", move |event| days.day(event.at))
        .number("event_time", "DateTime", |event| seconds(event.at))
        .number("event_time_microseconds", "DateTime64(6)", |event| microseconds(event.at))
        .number("duration_ms", "UInt64", |event| event.duration.as_millis() as u64)
        .text("database", low, |event| &event.database)
        .text("table", low, |event| &event.table)
        .shared("table_uuid", "UUID", address, |event| uuid(event.uuid))
        .text("part_name", "String", |event| &event.part)
        .text("partition_id", "String", |event| &event.partition_id)
        .text("partition", "String", |event| match &*event.partition_id {
            "all" => "tuple()",
            id => id,
        })
        .constant("part_type", "String", text("Wide"))
        .constant("disk_name", "String", text("default"))
        .text("path_on_disk", "String", |event| &event.path)
        .number("rows", "UInt64", |event| event.rows)
        .number("size_in_bytes", "UInt64", |event| event.bytes)
        .shared("merged_from", "Array(String)", address, |event| texts(&event.merged_from))
        .number("bytes_uncompressed", "UInt64", |event| event.value_bytes)
        .number("read_rows", "UInt64", |event| event.read_rows)
        .number("read_bytes", "UInt64", |event| event.read_bytes)
        .constant("error", "UInt16", number(0_u64))
        .constant("exception", "String", text(""))
}
