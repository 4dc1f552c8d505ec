//! `system.asynchronous_metric_log`: what `system.asynchronous_metrics` said, each time that it was computed.

use std::time::SystemTime;

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, seconds};
use crate::asynchronous_metrics::Measure;
use crate::system::value::text;

/// One value at one time.
#[derive(Debug)]
pub(super) struct AsynchronousMetric {
    time: SystemTime,
    measure: Measure,
}

impl LogEntry for AsynchronousMetric {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        seconds(row.time)
    }
}

/// Values that were computed now.
pub(super) fn entries(measures: &[Measure]) -> impl Iterator<Item = AsynchronousMetric> {
    let time = SystemTime::now();
    measures.iter().map(move |measure| AsynchronousMetric { time, measure: measure.clone() })
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<AsynchronousMetric> {
    let days = context.days.clone();
    LogTable::new()
        .constant("hostname", "LowCardinality(String)", text(&context.host_name))
        .number("event_date", "Date", move |entry: &AsynchronousMetric| days.day(entry.time))
        .number("event_time", "DateTime", |entry| seconds(entry.time))
        .text("metric", "LowCardinality(String)", |entry| &entry.measure.name)
        .float("value", |entry| entry.measure.value)
}
