//! `system.user_processes`: what the running queries of each user hold and have done.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use squall_runtime::memory::MemoryTracker;
use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{map, signed, text};
use super::viewer::Viewer;
use crate::server::Server;

struct User {
    name: Arc<str>,
    memory: Arc<MemoryTracker>,
    /// Of the queries that run now.
    events: BTreeMap<&'static str, u64>,
}

/// A row for every user who has run a query since the start; `ProfileEvents` are of those that run now.
pub(super) fn user_processes(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let processes = &upgrade(&server)?.processes;
        let running = processes.all();
        let users = processes.memory_of_users().into_iter().filter(|(name, _)| viewer.sees_queries_of(name));
        Ok(users
            .map(|(name, memory)| {
                let mut events = BTreeMap::new();
                for process in running.iter().filter(|process| process.info.user == name) {
                    for (event, value) in process.context.counters.non_zero() {
                        *events.entry(event.name()).or_default() += value;
                    }
                }
                User { name, memory, events }
            })
            .collect())
    };
    let table = SystemTable::new("user_processes", gather)
        .column("user", "String", |row: &User| text(&row.name))
        .column("memory_usage", "Int64", |row| signed(row.memory.bytes()))
        .column("peak_memory_usage", "Int64", |row| signed(row.memory.peak_bytes()))
        .column("ProfileEvents", "Map(LowCardinality(String), UInt64)", |row| {
            map(row.events.iter().map(|(event, value)| (text(event), Value::UInt64(*value))))
        })
        .alias("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)")
        .alias("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)");
    Arc::new(table)
}
