//! `system.named_collections`: their values are hidden.

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::text;
use crate::objects::hidden;
use crate::server::Server;

pub(super) fn named_collections(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let rows = move || {
        let collections = upgrade(&server)?.objects.collections().into_iter();
        Ok(collections
            .map(|(name, collection)| {
                let (sql, entries) = hidden(&name, &collection);
                (name, sql, entries)
            })
            .collect())
    };
    let table = SystemTable::new("named_collections", rows)
        .column("name", "String", |(name, ..): &(String, String, Vec<(String, String)>)| text(name))
        .column("collection", "Map(String, String)", |(.., entries)| {
            let entry = |(key, value): &(String, String)| (Value::string(&**key), Value::string(&**value));
            Value::Map(entries.iter().map(entry).collect())
        })
        .constant("source", "String", text("SQL"))
        .column("create_query", "String", |(_, sql, _)| text(sql));
    Arc::new(table)
}
