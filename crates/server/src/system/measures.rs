//! `system.metrics`, `system.events` and `system.asynchronous_metrics`: what is going on, what has happened, what the machine is like.

use std::sync::{Arc, Weak};

use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::text;
use crate::server::Server;

pub(super) fn metrics() -> Arc<dyn Table> {
    let table = SystemTable::new("metrics", || Ok(CurrentMetric::ALL.to_vec()))
        .column("metric", "String", |row: &CurrentMetric| text(row.name()))
        .column("value", "Int64", |row| Value::Int64(row.get()))
        .column("description", "String", |row| text(row.description()))
        .alias("name", "String", "metric");
    Arc::new(table)
}

pub(super) fn events() -> Arc<dyn Table> {
    let table = SystemTable::new("events", || Ok(profile_events::GLOBAL.non_zero().collect()))
        .column("event", "String", |(event, _): &(ProfileEvent, u64)| text(event.name()))
        .column("value", "UInt64", |(_, value)| Value::UInt64(*value))
        .column("description", "String", |(event, _)| text(event.description()))
        .alias("name", "String", "event");
    Arc::new(table)
}

/// One measure of the machine or the process.
struct Measure {
    name: &'static str,
    value: f64,
    description: &'static str,
}

pub(super) fn asynchronous_metrics(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let table = SystemTable::new("asynchronous_metrics", move || Ok(measure(&*upgrade(&server)?)))
        .column("metric", "String", |row: &Measure| text(row.name))
        .column("value", "Float64", |row| Value::Float64(row.value))
        .column("description", "String", |row| text(row.description));
    Arc::new(table)
}

/// Reads what the kernel tells. What it does not tell is left out.
fn measure(server: &Server) -> Vec<Measure> {
    let mut measures = Vec::new();
    let mut add = |name, value: Option<f64>, description| {
        measures.extend(value.map(|value| Measure { name, value, description }));
    };
    add("Uptime", Some(server.started.elapsed().as_secs_f64()), "The server uptime in seconds.");
    let databases = server.databases.databases();
    let tables: usize =
        databases.iter().filter_map(|database| Some(server.databases.tables(&database.name).ok()?.len())).sum();
    add("NumberOfDatabases", Some(databases.len() as f64), "Total number of databases on the server.");
    add("NumberOfTables", Some(tables as f64), "Total number of tables summed across the databases on the server.");
    let page = 4096.0;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = |at: usize| {
        statm.split_whitespace().nth(at).and_then(|field| field.parse::<f64>().ok()).map(|pages| pages * page)
    };
    add("MemoryVirtual", pages(0), "The size of the virtual address space allocated by the server process, in bytes.");
    add("MemoryResident", pages(1), "The amount of physical memory used by the server process, in bytes.");
    add(
        "MemoryShared",
        pages(2),
        "The amount of memory used by the server process, that is also shared by other processes, in bytes.",
    );
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = |at: usize| load.split_whitespace().nth(at).and_then(|field| field.parse().ok());
    add("LoadAverage1", average(0), "The whole system load, averaged with exponential smoothing over 1 minute.");
    add("LoadAverage5", average(1), "The whole system load, averaged with exponential smoothing over 5 minutes.");
    add("LoadAverage15", average(2), "The whole system load, averaged with exponential smoothing over 15 minutes.");
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = |name: &str| {
        let line = memory.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
    };
    add("OSMemoryTotal", kilobytes("MemTotal:"), "The total amount of memory on the host system, in bytes.");
    add(
        "OSMemoryAvailable",
        kilobytes("MemAvailable:"),
        "The amount of memory available to be used by programs, in bytes.",
    );
    let threads = std::fs::read_dir("/proc/self/task").ok().map(|tasks| tasks.count() as f64);
    add("OSThreadsTotal", threads, "Squall: the number of threads of the server process.");
    let logical = squall_runtime::cpu::logical_cpus() as f64;
    add("LogicalCPUs", Some(logical), "Squall: the number of logical CPUs that the server may use.");
    measures
}
