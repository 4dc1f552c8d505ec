//! `system.query_thread_log`: a row for every thread that worked for a query, where `log_query_threads` wants it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use squall_engine::{ThreadProgress, ThreadWork};
use squall_runtime::ProfileEvent;
use squall_runtime::memory::ThreadBytes;

use super::log::LogEntry;
use super::query_log::{HTTP_METHOD, INTERFACE, or};
use super::table::LogTable;
use super::{LogContext, microseconds, seconds};
use crate::process::{Process, ProcessInfo};
use crate::system::value::{number, text};
use crate::version::REVISION;

/// One thread of one query.
#[derive(Debug)]
pub struct QueryThreadEntry {
    info: Arc<ProcessInfo>,
    query_id: Arc<str>,
    master_thread_id: u64,
    thread_id: u64,
    thread_name: String,
    began_after: Duration,
    ended_after: Duration,
    counters: Box<[(ProfileEvent, u64)]>,
    progress: ThreadProgress,
    memory: ThreadBytes,
}

impl QueryThreadEntry {
    /// The entries of a query that has ended.
    pub fn of_process(process: &Process) -> impl Iterator<Item = Self> {
        let context = process.context.clone();
        let info = process.info.clone();
        context.take_thread_works().into_iter().map(move |(thread_id, work): (u64, ThreadWork)| Self {
            info: info.clone(),
            query_id: context.query_id.clone(),
            master_thread_id: context.master_thread_id,
            thread_id,
            thread_name: work.thread_name,
            progress: work.progress,
            memory: work.memory,
            began_after: work.began_after,
            ended_after: work.ended_after,
            counters: if context.settings.log_profile_events {
                work.counters.non_zero().into()
            } else {
                Box::default()
            },
        })
    }

    fn time(&self) -> SystemTime {
        self.info.started_at + self.ended_after
    }
}

impl LogEntry for QueryThreadEntry {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        seconds(row.time())
    }

    fn text_bytes(row: &Self) -> usize {
        row.info.query.len()
    }
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<QueryThreadEntry> {
    let low = "LowCardinality(String)";
    let days = context.days.clone();
    LogTable::new()
        .constant("hostname", low, text(&context.host_name))
        .number("event_date", "Date", move |entry: &QueryThreadEntry| days.day(entry.time()))
        .number("event_time", "DateTime", |entry| seconds(entry.time()))
        .number("event_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.time()))
        .number("query_start_time", "DateTime", |entry| seconds(entry.info.started_at))
        .number("query_start_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.info.started_at))
        .number("query_duration_ms", "UInt64", |entry| {
            entry.ended_after.saturating_sub(entry.began_after).as_millis() as u64
        })
        .number("read_rows", "UInt64", |entry| entry.progress.read_rows)
        .number("read_bytes", "UInt64", |entry| entry.progress.read_bytes)
        .number("written_rows", "UInt64", |entry| entry.progress.written_rows)
        .number("written_bytes", "UInt64", |entry| entry.progress.written_bytes)
        .number("memory_usage", "Int64", |entry| entry.memory.bytes as u64)
        .number("peak_memory_usage", "Int64", |entry| entry.memory.peak_bytes as u64)
        .text("thread_name", low, |entry| &entry.thread_name)
        .number("thread_id", "UInt64", |entry| entry.thread_id)
        .number("master_thread_id", "UInt64", |entry| entry.master_thread_id)
        .text("current_database", low, |entry| &entry.info.database)
        .text("query", "String", |entry| &entry.info.query)
        .number("normalized_query_hash", "UInt64", |entry| entry.info.normalized_query_hash)
        .number("is_initial_query", "UInt8", |entry| entry.info.client.is_initial.into())
        .text("user", low, |entry| &entry.info.user)
        .text("query_id", "String", |entry| &entry.query_id)
        .address("address", |entry| entry.info.client.address_v6().octets())
        .number("port", "UInt16", |entry| entry.info.client.address.port().into())
        .text("initial_user", low, |entry| or(&entry.info.client.initial_user, &entry.info.user))
        .text("initial_query_id", "String", |entry| or(&entry.info.client.initial_query_id, &entry.query_id))
        .address("initial_address", |entry| entry.info.client.initial_address_v6().octets())
        .number("initial_port", "UInt16", |entry| entry.info.client.initial_address.port().into())
        .number("initial_query_start_time", "DateTime", |entry| seconds(entry.info.started_at))
        .number("initial_query_start_time_microseconds", "DateTime64(6)", |entry| microseconds(entry.info.started_at))
        .number("interface", INTERFACE, |entry| entry.info.client.interface as u64)
        .number("is_secure", "UInt8", |entry| entry.info.client.is_secure.into())
        .text("os_user", low, |entry| &entry.info.client.os_user)
        .text("client_hostname", low, |entry| &entry.info.client.client_hostname)
        .text("client_name", low, |entry| &entry.info.client.client_name)
        .number("client_revision", "UInt32", |entry| entry.info.client.client_revision)
        .number("client_version_major", "UInt32", |entry| entry.info.client.client_version.0)
        .number("client_version_minor", "UInt32", |entry| entry.info.client.client_version.1)
        .number("client_version_patch", "UInt32", |entry| entry.info.client.client_version.2)
        .number("http_method", HTTP_METHOD, |entry| entry.info.client.http_method as u64)
        .text("http_user_agent", low, |entry| &entry.info.client.http_user_agent)
        .text("http_referer", "String", |entry| &entry.info.client.http_referer)
        .text("forwarded_for", "String", |entry| &entry.info.client.forwarded_for)
        .text("quota_key", "String", |entry| &entry.info.client.quota_key)
        .constant("distributed_depth", "UInt64", number(0_u64))
        .constant("revision", "UInt32", number(REVISION))
        .events("ProfileEvents", |entry| &entry.counters)
        .alias("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)")
        .alias("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)")
}
