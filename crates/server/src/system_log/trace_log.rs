//! `system.trace_log`: where threads were when the sampling profiler looked.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use squall_runtime::profiler::{Trace, TraceKind};
use squall_runtime::symbols::to_offset;

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::system::value::{number, signed, text};
use crate::version::REVISION;

const TRACE_TYPE: &str = "Enum8('Real' = 0, 'CPU' = 1, 'Memory' = 2, 'MemorySample' = 3, 'MemoryPeak' = 4, \
    'ProfileEvent' = 5, 'JemallocSample' = 6, 'MemoryAllocatedWithoutCheck' = 7, 'Instrumentation' = 8)";

/// One trace.
#[derive(Debug)]
pub(super) struct TraceEntry {
    kind: TraceKind,
    time_ns: u64,
    thread_id: u64,
    bytes: i64,
    pointer: u64,
    query_id: String,
    /// Innermost first; those in the server's own code as offsets in its file, which hold over restarts.
    addresses: Box<[u64]>,
}

impl TraceEntry {
    /// The entry of a trace.
    pub(super) fn new(trace: &Trace) -> Self {
        Self {
            kind: trace.kind,
            time_ns: trace.time_ns,
            thread_id: trace.thread_id,
            bytes: trace.bytes,
            pointer: trace.pointer,
            query_id: trace.query_id(),
            addresses: trace.frames().iter().map(|address| to_offset(*address)).collect(),
        }
    }

    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.time_ns)
    }
}

impl LogEntry for TraceEntry {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        row.time_ns / 1_000_000_000
    }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<TraceEntry> {
    let days = context.days.clone();
    LogTable::new()
        .constant("hostname", "LowCardinality(String)", text(&context.host_name))
        .number("event_date", "Date", move |entry: &TraceEntry| days.day(entry.time()))
        .number("event_time", "DateTime", |entry| seconds(entry.time()))
        .number("event_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.time()))
        .number("timestamp_ns", "UInt64", |entry| entry.time_ns)
        .constant("revision", "UInt32", number(REVISION))
        .number("trace_type", TRACE_TYPE, |entry| entry.kind as u64)
        .number("thread_id", "UInt64", |entry| entry.thread_id)
        .text("query_id", "String", |entry| &entry.query_id)
        .numbers("trace", |entry| &entry.addresses)
        .number("size", "Int64", |entry| entry.bytes as u64)
        .number("ptr", "UInt64", |entry| entry.pointer)
        .constant("event", "LowCardinality(String)", text(""))
        .constant("increment", "Int64", signed(0))
        .alias("build_id", "String", "''")
}
