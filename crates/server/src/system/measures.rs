//! `system.metrics`, `system.events` and `system.asynchronous_metrics`: what is going on, what has happened, what the machine is like.

use std::sync::{Arc, Weak};

use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::text;
use crate::asynchronous_metrics::Measure;
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
    let table = SystemTable::new("events", || Ok(profile_events::GLOBAL.non_zero()))
        .column("event", "String", |(event, _): &(ProfileEvent, u64)| text(event.name()))
        .column("value", "UInt64", |(_, value)| Value::UInt64(*value))
        .column("description", "String", |(event, _)| text(event.description()))
        .alias("name", "String", "event");
    Arc::new(table)
}

pub(super) fn asynchronous_metrics(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || Ok(upgrade(&server)?.asynchronous_metrics.get().to_vec());
    let table = SystemTable::new("asynchronous_metrics", gather)
        .column("metric", "String", |row: &Measure| text(&row.name))
        .column("value", "Float64", |row| Value::Float64(row.value))
        .column("description", "String", |row| text(row.description));
    Arc::new(table)
}
