//! `system.metrics`, `system.events`, `system.histogram_metrics` and `system.asynchronous_metrics`: what is going on, what has happened,
//! how long things took, what the machine is like.

use std::sync::{Arc, Weak};

use squall_runtime::histogram::{self, Histogram};
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

/// `system.events`; those that have not happened are shown where the setting `system_events_show_zero_values` says so.
pub(super) fn events(shows_zeros: bool) -> Arc<dyn Table> {
    let gather = move || match shows_zeros {
        true => Ok(ProfileEvent::ALL.iter().map(|event| (*event, profile_events::GLOBAL.get(*event))).collect()),
        false => Ok(profile_events::GLOBAL.non_zero()),
    };
    let table = SystemTable::new("events", gather)
        .column("event", "String", |(event, _): &(ProfileEvent, u64)| text(event.name()))
        .column("value", "UInt64", |(_, value)| Value::UInt64(*value))
        .column("description", "String", |(event, _)| text(event.description()))
        .alias("name", "String", "event");
    Arc::new(table)
}

/// A row for each bucket, with its bound as the label `le`, and two more for the number and the sum of what was observed.
pub(super) fn histogram_metrics() -> Arc<dyn Table> {
    struct Row {
        histogram: &'static Histogram,
        suffix: &'static str,
        bound: Option<String>,
        value: u64,
    }
    let rows = |histogram: &'static Histogram| {
        let cumulative = histogram.cumulative();
        let row = move |suffix, bound, value| Row { histogram, suffix, bound, value };
        let label = |bound: Option<u64>| bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
        let count = cumulative.last().map_or(0, |(_, count)| *count);
        let buckets = cumulative.into_iter().map(move |(bound, count)| row("_bucket", Some(label(bound)), count));
        buckets.chain([row("_count", None, count), row("_sum", None, histogram.sum_us())])
    };
    let table =
        SystemTable::new("histogram_metrics", move || Ok(histogram::ALL.iter().copied().flat_map(rows).collect()))
            .column("metric", "String", |row: &Row| text(format!("{}{}", row.histogram.name, row.suffix)))
            .column("value", "UInt64", |row| Value::UInt64(row.value))
            .column("description", "String", |row| text(row.histogram.description))
            .column("labels", "Map(String, String)", |row| {
                let label = row.histogram.label.map(|(label, value)| (text(label), text(value)));
                Value::Map(label.into_iter().chain(row.bound.iter().map(|bound| (text("le"), text(bound)))).collect())
            })
            .alias("name", "String", "metric");
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
