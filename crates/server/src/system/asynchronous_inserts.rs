//! `system.asynchronous_inserts`: data of INSERTs that wait to be written together.

use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{number, text, texts};
use super::viewer::Viewer;
use crate::query::AsyncInsertQueue;
use crate::server::Server;

pub(super) fn asynchronous_inserts(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut queues = upgrade(&server)?.async_inserts.queues();
        queues.retain(|queue| viewer.sees_table(&queue.database, &queue.table));
        Ok(queues)
    };
    let table = SystemTable::new("asynchronous_inserts", gather)
        .column("query", "String", |row: &AsyncInsertQueue| text(&row.query))
        .column("database", "String", |row| text(&row.database))
        .column("table", "String", |row| text(&row.table))
        .column("format", "String", |row| text(&row.format))
        .column("first_update", "DateTime64(6)", |row| {
            let since = row.first_at.duration_since(UNIX_EPOCH);
            Value::Int64(since.map_or(0, |since| since.as_micros() as i64))
        })
        .column("total_bytes", "UInt64", |row| number(row.inserts.iter().map(|(_, bytes)| bytes).sum::<usize>()))
        .column("entries.query_id", "Array(String)", |row| texts(row.inserts.iter().map(|(query_id, _)| query_id)))
        .column("entries.bytes", "Array(UInt64)", |row| {
            Value::Array(row.inserts.iter().map(|(_, bytes)| number(*bytes)).collect())
        });
    Arc::new(table)
}
