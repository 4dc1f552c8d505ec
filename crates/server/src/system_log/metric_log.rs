//! `system.metric_log`: at regular times, how much each profile event grew since the time before, and each current metric.

use std::time::SystemTime;

use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::system::value::text;

/// All metrics at one time.
#[derive(Debug)]
pub(super) struct MetricEntry {
    time: SystemTime,
    /// By number; growth.
    events: Box<[u64]>,
    /// By number.
    metrics: Box<[i64]>,
}

impl LogEntry for MetricEntry {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        seconds(row.time)
    }
}

/// Remembers what events were the last time.
#[derive(Debug, Default)]
pub(super) struct MetricCollector {
    before: Vec<u64>,
}

impl MetricCollector {
    /// Looks at all metrics now.
    pub(super) fn collect(&mut self) -> MetricEntry {
        let now: Vec<u64> = ProfileEvent::ALL.iter().map(|event| profile_events::GLOBAL.get(*event)).collect();
        self.before.resize(now.len(), 0);
        let events = now.iter().zip(&self.before).map(|(now, before)| now.saturating_sub(*before)).collect();
        self.before = now;
        let metrics = CurrentMetric::ALL.iter().map(|metric| metric.get()).collect();
        MetricEntry { time: SystemTime::now(), events, metrics }
    }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<MetricEntry> {
    let days = context.days.clone();
    let mut table = LogTable::new()
        .constant("hostname", "LowCardinality(String)", text(&context.host_name))
        .number("event_date", "Date", move |entry: &MetricEntry| days.day(entry.time))
        .number("event_time", "DateTime", |entry| seconds(entry.time))
        .number("event_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.time));
    for (at, event) in ProfileEvent::ALL.iter().enumerate() {
        let name = format!("ProfileEvent_{}", event.name());
        table = table.number(&name, "UInt64", move |entry| entry.events.get(at).copied().unwrap_or(0));
    }
    for (at, metric) in CurrentMetric::ALL.iter().enumerate() {
        let name = format!("CurrentMetric_{}", metric.name());
        table = table.number(&name, "Int64", move |entry| entry.metrics.get(at).copied().unwrap_or(0) as u64);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_logged_by_their_growth() {
        let mut collector = MetricCollector::default();
        collector.collect();
        profile_events::GLOBAL.add(ProfileEvent::QueryMemoryLimitExceeded, 3);
        let grown = collector.collect().events[ProfileEvent::QueryMemoryLimitExceeded as usize];
        assert_eq!(grown, 3);
        assert_eq!(collector.collect().events[ProfileEvent::QueryMemoryLimitExceeded as usize], 0);
    }
}
