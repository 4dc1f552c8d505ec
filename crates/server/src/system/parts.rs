//! `system.parts`.

use std::sync::{Arc, Weak};

use squall_storage::{PartInfo, Table, TableDescription};
use squall_types::Value;

use super::catalog_tables::all_tables;
use super::table::SystemTable;
use super::value::{flag, number, text};
use crate::server::Server;

/// A part and the table that it belongs to.
struct Part {
    table: Arc<TableDescription>,
    part: PartInfo,
}

pub(super) fn parts(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server)? {
            rows.extend(table.table.parts().into_iter().map(|part| Part { table: table.clone(), part }));
        }
        Ok(rows)
    };
    let table = SystemTable::new("parts", gather)
        .column("partition", "String", |row: &Part| match &*row.part.partition_id {
            "all" => text("tuple()"),
            id => text(id),
        })
        .column("name", "String", |row| text(&row.part.name))
        .constant("part_type", "String", text("Wide"))
        .constant("part_storage_type", "String", text("Full"))
        .constant("active", "UInt8", flag(true))
        .column("marks", "UInt64", |row| number(row.part.marks))
        .column("rows", "UInt64", |row| number(row.part.rows))
        .constant("files", "UInt64", number(1_u64))
        .column("bytes_on_disk", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_compressed_bytes", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("partition_id", "String", |row| text(&row.part.partition_id))
        .constant("level", "UInt32", number(0_u64))
        .constant("is_frozen", "UInt8", flag(false))
        .column("database", "String", |row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("engine", "String", |row| text(row.table.table.engine()))
        .constant("disk_name", "String", text("default"))
        .column("path", "String", |row| text(row.part.path.to_string_lossy()))
        .constant("visible", "UInt8", flag(true))
        .constant("has_lightweight_delete", "UInt8", flag(false))
        .constant("removal_state", "String", Value::string(""))
        .alias("bytes", "UInt64", "bytes_on_disk")
        .alias("part_name", "String", "name");
    Arc::new(table)
}
