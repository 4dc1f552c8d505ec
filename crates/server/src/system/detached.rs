//! `system.detached_parts` and `system.detached_tables`.

use std::sync::{Arc, Weak};

use squall_storage::{DetachedPart, DetachedTable, Table, TableDescription};
use squall_types::Value;

use super::catalog_tables::all_tables;
use super::table::SystemTable;
use super::upgrade;
use super::value::{date_time, flag, number, text, uuid};
use super::viewer::Viewer;
use crate::server::Server;

/// A part and the table that it was detached from.
struct Part {
    table: Arc<TableDescription>,
    part: DetachedPart,
}

pub(super) fn detached_parts(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let databases = upgrade(&server)?.databases.clone();
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            // A table that is dropped meanwhile has none.
            let parts = databases.detached_parts(table.table.database(), table.table.name()).unwrap_or_default();
            rows.extend(parts.into_iter().map(|part| Part { table: table.clone(), part }));
        }
        Ok(rows)
    };
    /// Partition, first and last block, level.
    type Name = (Arc<str>, u64, u64, u32);
    let of_name = |part: &Part, value: fn(&Name) -> Value| part.part.part.as_ref().map_or(Value::Null, value);
    let table = SystemTable::new("detached_parts", gather)
        .column("database", "String", |row: &Part| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("partition_id", "Nullable(String)", move |row| of_name(row, |(id, ..)| text(id)))
        .column("name", "String", |row| text(&row.part.name))
        .column("bytes_on_disk", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("modification_time", "DateTime", |row| row.part.modified.map_or(Value::UInt64(0), date_time))
        .constant("disk", "String", text("default"))
        .column("path", "String", |row| text(row.part.path.to_string_lossy()))
        .column("reason", "Nullable(String)", |row| text(&row.part.reason))
        .column("min_block_number", "Nullable(Int64)", move |row| {
            of_name(row, |(_, first, ..)| Value::Int64(*first as i64))
        })
        .column("max_block_number", "Nullable(Int64)", move |row| {
            of_name(row, |(_, _, last, _)| Value::Int64(*last as i64))
        })
        .column("level", "Nullable(UInt32)", move |row| of_name(row, |(.., level)| number(*level)));
    Arc::new(table)
}

pub(super) fn detached_tables(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut tables = upgrade(&server)?.databases.detached_tables();
        tables.retain(|table| viewer.sees_table(&table.database, &table.table));
        Ok(tables)
    };
    let table = SystemTable::new("detached_tables", gather)
        .column("database", "String", |row: &DetachedTable| text(&row.database))
        .column("table", "String", |row| text(&row.table))
        .column("uuid", "UUID", |row| uuid(row.uuid))
        .constant("metadata_path", "String", text(""))
        .column("is_permanently", "UInt8", |row| flag(row.is_permanently));
    Arc::new(table)
}
