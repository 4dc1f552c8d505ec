//! `system.processes`: the queries that run now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, ipv6, map, number, signed, text};
use super::viewer::Viewer;
use crate::process::Process;
use crate::server::Server;

/// The type of `interface` here; the query log has plain numbers.
const INTERFACE: &str = "Enum8('Unknown' = 0, 'TCP' = 1, 'HTTP' = 2, 'gRPC' = 3, 'MySQL' = 4, 'PostgreSQL' = 5, 'Local' = 6, \
    'TCP_Interserver' = 7, 'Prometheus' = 8, 'Background' = 9, 'ArrowFlight' = 10)";
const HTTP_METHOD: &str =
    "Enum8('UNKNOWN' = 0, 'GET' = 1, 'POST' = 2, 'OPTIONS' = 3, 'PUT' = 4, 'DELETE' = 5, 'HEAD' = 6)";

pub(super) fn processes(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut processes = upgrade(&server)?.processes.all();
        processes.retain(|process| viewer.sees_queries_of(&process.info.user));
        Ok(processes)
    };
    let load = |counter: &AtomicU64| Value::UInt64(counter.load(Ordering::Relaxed));
    let table = SystemTable::new("processes", gather)
        .column("is_initial_query", "UInt8", |row| flag(row.info.client.is_initial))
        .column("user", "String", |row: &Arc<Process>| text(&row.info.user))
        .column("query_id", "String", |row| text(&row.context.query_id))
        .column("address", "IPv6", |row| ipv6(row.info.client.address_v6()))
        .column("port", "UInt16", |row| number(row.info.client.address.port()))
        .column("initial_user", "String", |row| text(or(&row.info.client.initial_user, &row.info.user)))
        .column("initial_query_id", "String", |row| text(or(&row.info.client.initial_query_id, &row.context.query_id)))
        .column("initial_address", "IPv6", |row| ipv6(row.info.client.initial_address_v6()))
        .column("initial_port", "UInt16", |row| number(row.info.client.initial_address.port()))
        .column("interface", INTERFACE, |row| signed(row.info.client.interface as i8))
        .column("os_user", "String", |row| text(&row.info.client.os_user))
        .column("client_hostname", "String", |row| text(&row.info.client.client_hostname))
        .column("client_name", "String", |row| text(&row.info.client.client_name))
        .constant("client_agent", "LowCardinality(String)", text(""))
        .column("client_revision", "UInt64", |row| number(row.info.client.client_revision))
        .column("client_version_major", "UInt64", |row| number(row.info.client.client_version.0))
        .column("client_version_minor", "UInt64", |row| number(row.info.client.client_version.1))
        .column("client_version_patch", "UInt64", |row| number(row.info.client.client_version.2))
        .column("http_method", HTTP_METHOD, |row| signed(row.info.client.http_method as i8))
        .column("http_user_agent", "String", |row| text(&row.info.client.http_user_agent))
        .column("http_referer", "String", |row| text(&row.info.client.http_referer))
        .column("forwarded_for", "String", |row| text(&row.info.client.forwarded_for))
        .column("quota_key", "String", |row| text(&row.info.client.quota_key))
        .constant("distributed_depth", "UInt64", number(0_u64))
        .column("elapsed", "Float64", |row| Value::Float64(row.context.started.elapsed().as_secs_f64()))
        .column("is_cancelled", "UInt8", |row| flag(row.context.is_cancelled()))
        .constant("is_all_data_sent", "UInt8", flag(false))
        .column("read_rows", "UInt64", move |row| load(&row.context.progress.read_rows))
        .column("read_bytes", "UInt64", move |row| load(&row.context.progress.read_bytes))
        .column("total_rows_approx", "UInt64", move |row| load(&row.context.progress.total_rows_to_read))
        .column("written_rows", "UInt64", move |row| load(&row.context.progress.written_rows))
        .column("written_bytes", "UInt64", move |row| load(&row.context.progress.written_bytes))
        .column("memory_usage", "Int64", |row| signed(row.context.memory.bytes()))
        .column("peak_memory_usage", "Int64", |row| signed(row.context.memory.peak_bytes()))
        .column("query", "String", |row| text(&row.info.query))
        .column("normalized_query_hash", "UInt64", |row| number(row.info.normalized_query_hash))
        .column("query_kind", "String", |row| text(row.info.kind.name()))
        .column("thread_ids", "Array(UInt64)", |row| {
            Value::Array(row.context.thread_ids().into_iter().map(Value::UInt64).collect())
        })
        .column("peak_threads_usage", "UInt64", |row| number(row.context.peak_threads()))
        .column("ProfileEvents", "Map(LowCardinality(String), UInt64)", |row| {
            map(row
                .context
                .counters
                .non_zero()
                .into_iter()
                .map(|(event, value)| (text(event.name()), Value::UInt64(value))))
        })
        .column("Settings", "Map(LowCardinality(String), LowCardinality(String))", |row| {
            map(row.context.settings.changes().map(|(name, value)| (text(name), text(value))))
        })
        .column("current_database", "String", |row| text(&row.info.database))
        .column("is_internal", "UInt8", |row| flag(row.info.is_internal))
        .alias("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)")
        .alias("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)")
        .alias("Settings.Names", "Array(String)", "mapKeys(Settings)")
        .alias("Settings.Values", "Array(String)", "mapValues(Settings)");
    Arc::new(table)
}

/// The first text, or the second where that is empty.
pub(super) fn or<'a>(first: &'a Arc<str>, second: &'a Arc<str>) -> &'a Arc<str> {
    if first.is_empty() { second } else { first }
}
