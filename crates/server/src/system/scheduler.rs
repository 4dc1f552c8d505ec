//! `system.scheduler`: the queries that the scheduler has, with what it decides by: passes, weights, workers, waits; and
//! `system.scheduler_steps`: what its workers did lately. Both are Squall's own.

use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_scheduler::scheduler::TaskState;
use squall_scheduler::{Outcome, WorkerStep};
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

/// Some thousand steps of each worker, the latest last. A step is mostly one morsel.
pub(super) fn scheduler_steps(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let outcomes = Outcome::ALL.map(|outcome| format!("'{}' = {}", outcome.name(), outcome as u8)).join(", ");
    let table = SystemTable::new("scheduler_steps", move || Ok(upgrade(&server)?.engine.scheduler().steps(&[])))
        .column("worker", "UInt32", |row: &WorkerStep| number(row.worker as u64))
        .column("number", "UInt64", |row| number(row.number))
        .column("query_id", "String", |row| text(&row.query_id))
        .column("event_time_microseconds", "DateTime64(6)", |row| {
            Value::Int64(row.began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64))
        })
        .column("duration_us", "UInt64", |row| number(row.took.as_micros() as u64))
        .column("cpu_us", "UInt64", |row| number(row.cpu.as_micros() as u64))
        .column("waited_us", "UInt64", |row| number(row.waited.as_micros() as u64))
        .column("pass_us", "UInt64", |row| number(row.pass_us))
        .column("outcome", &format!("Enum8({outcomes})"), |row| Value::Int64(row.outcome as i64));
    Arc::new(table)
}
