//! `system.text_log`: the lines of the server's log.

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::logger::LogLine;
use crate::system::value::{number, text};
use crate::version::REVISION;

const LEVEL: &str = "Enum8('Fatal' = 1, 'Critical' = 2, 'Error' = 3, 'Warning' = 4, 'Notice' = 5, 'Information' = 6, \
    'Debug' = 7, 'Trace' = 8, 'Test' = 9)";

impl LogEntry for LogLine {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        seconds(row.time)
    }

    fn text_bytes(row: &Self) -> usize {
        row.message.len()
    }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<LogLine> {
    let low = "LowCardinality(String)";
    let days = context.days.clone();
    let mut table = LogTable::new()
        .constant("hostname", low, text(&context.host_name))
        .number("event_date", "Date", move |entry: &LogLine| days.day(entry.time))
        .number("event_time", "DateTime", |entry| seconds(entry.time))
        .number("event_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.time))
        .text("thread_name", low, |entry| entry.thread_name)
        .number("thread_id", "UInt64", |entry| entry.thread_id)
        .number("level", LEVEL, |entry| entry.level as u64)
        .text("query_id", "String", |entry| &entry.query_id)
        .text("logger_name", low, |entry| entry.component)
        .text("message", "String", |entry| &entry.message)
        .constant("revision", "UInt32", number(REVISION))
        .text("source_file", low, |entry| entry.source_file)
        .number("source_line", "UInt64", |entry| entry.source_line.into())
        .constant("message_format_string", low, text(""));
    for at in 1..=10 {
        table = table.constant(&format!("value{at}"), "String", text(""));
    }
    table
}
