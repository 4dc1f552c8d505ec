//! `system.scheduler`: the queries that the scheduler has, with what it decides by: passes, weights, workers, waits. Squall's own.

use std::sync::{Arc, Weak};

use squall_scheduler::scheduler::TaskState;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text};
use crate::server::Server;

pub(super) fn scheduler(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let table = SystemTable::new("scheduler", move || Ok(upgrade(&server)?.engine.scheduler().tasks()))
        .column("query_id", "String", |row: &TaskState| text(&row.query_id))
        .column("policy", "LowCardinality(String)", |row| text(row.policy.to_string()))
        .column("is_runnable", "UInt8", |row| flag(row.is_runnable))
        .column("workers", "UInt64", |row| number(row.workers as u64))
        .column("workers_max", "UInt64", |row| number(row.workers_max as u64))
        .column("slots", "UInt64", |row| number(row.slots as u64))
        .column("slots_wanted", "UInt64", |row| number(row.slots_wanted as u64))
        .column("weight", "Float64", |row| Value::Float64(row.weight))
        .column("pass_us", "UInt64", |row| number(row.pass_us))
        .column("cpu_us", "UInt64", |row| number(row.cpu_ns / 1_000))
        .column("waiting_us", "UInt64", |row| number(row.waiting_ns / 1_000))
        .column("waited_us", "UInt64", |row| number(row.waited_ns / 1_000));
    Arc::new(table)
}
