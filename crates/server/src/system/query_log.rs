//! `system.query_log`: a row for the start and a row for the end of every query. A query that still runs has its first row, read from
//! the process list.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use squall_storage::Table;
use squall_types::Value;

use super::processes::or;
use super::table::SystemTable;
use super::upgrade;
use super::value::{date, date_time, flag, ipv6, map, microseconds, no_items, number, signed, text};
use crate::query_log::QueryLogEntry;
use crate::server::Server;
use crate::version::REVISION;

const TYPE: &str =
    "Enum8('QueryStart' = 1, 'QueryFinish' = 2, 'ExceptionBeforeStart' = 3, 'ExceptionWhileProcessing' = 4)";

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventType {
    QueryStart = 1,
    QueryFinish = 2,
    ExceptionBeforeStart = 3,
    ExceptionWhileProcessing = 4,
}

struct Row {
    event: EventType,
    entry: Arc<QueryLogEntry>,
}

impl Row {
    fn time(&self) -> SystemTime {
        if self.event == EventType::QueryStart { self.entry.info.started_at } else { self.entry.ended_at() }
    }

    /// A number that is known only at the end.
    fn at_end(&self, value: u64) -> Value {
        Value::UInt64(if self.event == EventType::QueryStart { 0 } else { value })
    }

    fn exception(&self) -> Option<&squall_types::Error> {
        if self.event == EventType::QueryStart { None } else { self.entry.exception.as_deref() }
    }
}

fn rows(server: &Server) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in server.query_log.entries() {
        if entry.failed_before_start {
            rows.push(Row { event: EventType::ExceptionBeforeStart, entry });
            continue;
        }
        let end = if entry.exception.is_some() { EventType::ExceptionWhileProcessing } else { EventType::QueryFinish };
        rows.push(Row { event: EventType::QueryStart, entry: entry.clone() });
        rows.push(Row { event: end, entry });
    }
    let interval = Duration::from_millis(server.config.load().query_log.flush_interval_ms);
    for process in server.processes.all() {
        // As if it had been flushed: a query is there once it has run for one interval.
        if process.context.settings.log_queries && process.context.started.elapsed() >= interval {
            let entry = Arc::new(QueryLogEntry::of_process(&process, None));
            rows.push(Row { event: EventType::QueryStart, entry });
        }
    }
    rows
}

pub(super) fn query_log(server: &Weak<Server>) -> Arc<dyn Table> {
    let zone = server.upgrade().map_or(chrono_tz::UTC, |server| server.time_zone_tz);
    let host_name = server.upgrade().map(|server| server.host_name.clone()).unwrap_or_else(|| "".into());
    let server = server.clone();
    let low = "LowCardinality(String)";
    let names = "Array(LowCardinality(String))";
    let mut table = SystemTable::new("query_log", move || Ok(rows(&*upgrade(&server)?)))
        .constant("hostname", low, text(host_name))
        .column("type", TYPE, |row: &Row| signed(row.event as i8))
        .column("event_date", "Date", move |row| date(row.time(), zone))
        .column("event_time", "DateTime", |row| date_time(row.time()))
        .column("event_time_microseconds", "DateTime64(6)", |row| microseconds(row.time()))
        .column("query_start_time", "DateTime", |row| date_time(row.entry.info.started_at))
        .column("query_start_time_microseconds", "DateTime64(6)", |row| microseconds(row.entry.info.started_at))
        .column("query_duration_ms", "UInt64", |row| row.at_end(row.entry.duration.as_millis() as u64))
        .column("read_rows", "UInt64", |row| row.at_end(row.entry.read_rows))
        .column("read_bytes", "UInt64", |row| row.at_end(row.entry.read_bytes))
        .column("written_rows", "UInt64", |row| row.at_end(row.entry.written_rows))
        .column("written_bytes", "UInt64", |row| row.at_end(row.entry.written_bytes))
        .column("result_rows", "UInt64", |row| row.at_end(row.entry.result_rows))
        .column("result_bytes", "UInt64", |row| row.at_end(row.entry.result_bytes))
        .column("memory_usage", "UInt64", |row| row.at_end(row.entry.memory_usage))
        .column("current_database", low, |row| text(&row.entry.info.database))
        .column("query", "String", |row| text(&row.entry.info.query))
        .constant("formatted_query", "String", text(""))
        .column("normalized_query_hash", "UInt64", |row| number(row.entry.info.normalized_query_hash))
        .column("query_kind", low, |row| text(row.entry.info.kind.name()));
    for name in ["databases", "tables", "columns", "partitions", "projections", "views"] {
        table = table.constant(name, names, no_items());
    }
    table = table
        .column("exception_code", "Int32", |row| signed(row.exception().map_or(0, |error| error.code.0)))
        .column("exception", "String", |row| text(row.exception().map(ToString::to_string).unwrap_or_default()))
        .constant("stack_trace", "String", text(""))
        .constant("is_initial_query", "UInt8", flag(true))
        .column("user", low, |row| text(&row.entry.info.user))
        .column("query_id", "String", |row| text(&row.entry.query_id))
        .column("address", "IPv6", |row| ipv6(row.entry.info.client.address_v6()))
        .column("port", "UInt16", |row| number(row.entry.info.client.address.port()))
        .column("initial_user", low, |row| text(or(&row.entry.info.client.initial_user, &row.entry.info.user)))
        .column("initial_query_id", "String", |row| {
            text(or(&row.entry.info.client.initial_query_id, &row.entry.query_id))
        })
        .column("initial_address", "IPv6", |row| ipv6(row.entry.info.client.address_v6()))
        .column("initial_port", "UInt16", |row| number(row.entry.info.client.address.port()))
        .column("initial_query_start_time", "DateTime", |row| date_time(row.entry.info.started_at))
        .column("initial_query_start_time_microseconds", "DateTime64(6)", |row| microseconds(row.entry.info.started_at))
        .column("interface", "UInt8", |row| number(row.entry.info.client.interface as u8))
        .constant("is_secure", "UInt8", flag(false))
        .column("os_user", low, |row| text(&row.entry.info.client.os_user))
        .column("client_hostname", low, |row| text(&row.entry.info.client.client_hostname))
        .column("client_name", low, |row| text(&row.entry.info.client.client_name))
        .column("client_revision", "UInt32", |row| number(row.entry.info.client.client_revision))
        .column("client_version_major", "UInt32", |row| number(row.entry.info.client.client_version.0))
        .column("client_version_minor", "UInt32", |row| number(row.entry.info.client.client_version.1))
        .column("client_version_patch", "UInt32", |row| number(row.entry.info.client.client_version.2))
        .column("http_method", "UInt8", |row| number(row.entry.info.client.http_method as u8))
        .column("http_user_agent", low, |row| text(&row.entry.info.client.http_user_agent))
        .column("http_referer", "String", |row| text(&row.entry.info.client.http_referer))
        .column("forwarded_for", "String", |row| text(&row.entry.info.client.forwarded_for))
        .column("quota_key", "String", |row| text(&row.entry.info.client.quota_key))
        .constant("distributed_depth", "UInt64", number(0_u64))
        .constant("revision", "UInt32", number(REVISION))
        .column("log_comment", "String", |row| text(&row.entry.settings.log_comment))
        .column("thread_ids", "Array(UInt64)", |row| match row.event {
            EventType::QueryStart => no_items(),
            _ => Value::Array(row.entry.thread_ids.iter().map(|id| Value::UInt64(*id)).collect()),
        })
        .column("peak_threads_usage", "UInt64", |row| row.at_end(row.entry.peak_threads))
        .column("ProfileEvents", "Map(LowCardinality(String), UInt64)", |row| match row.event {
            EventType::QueryStart => map([]),
            _ => map(row.entry.events.iter().map(|(event, value)| (text(event.name()), Value::UInt64(*value)))),
        })
        .column("Settings", "Map(LowCardinality(String), LowCardinality(String))", |row| {
            map(row.entry.settings.changes().map(|(name, value)| (text(name), text(value))))
        });
    for name in [
        "used_aggregate_functions",
        "used_aggregate_function_combinators",
        "used_database_engines",
        "used_data_type_families",
        "used_dictionaries",
        "used_formats",
        "used_functions",
        "used_storages",
        "used_table_functions",
        "used_row_policies",
        "used_privileges",
        "missing_privileges",
    ] {
        table = table.constant(name, names, no_items());
    }
    Arc::new(
        table
            .constant("is_internal", "UInt8", flag(false))
            .alias("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)")
            .alias("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)")
            .alias("Settings.Names", "Array(String)", "mapKeys(Settings)")
            .alias("Settings.Values", "Array(String)", "mapValues(Settings)"),
    )
}
