//! `system.parts`.

use std::sync::{Arc, Weak};

use squall_storage::{PartInfo, PartTtl, PartTtlKind, Table, TableDescription};
use squall_types::Value;

use super::catalog_tables::all_tables;
use super::table::SystemTable;
use super::value::{flag, number, text};
use super::viewer::Viewer;
use crate::server::Server;

/// A part and the table that it belongs to.
struct Part {
    table: Arc<TableDescription>,
    part: PartInfo,
}

pub(super) fn parts(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            rows.extend(table.table.parts().into_iter().map(|part| Part { table: table.clone(), part }));
        }
        Ok(rows)
    };
    let mut table = SystemTable::new("parts", gather)
        .column("partition", "String", |row: &Part| partition_text(&row.part))
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
        .column("min_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 2)))
        .column("max_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 1)))
        .column("level", "UInt32", |row| number(number_in_name(&row.part.name, 0) as u64))
        .constant("is_frozen", "UInt8", flag(false))
        .column("database", "String", |row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("engine", "String", |row| text(row.table.table.engine()))
        .constant("disk_name", "String", text("default"))
        .column("path", "String", |row| text(row.part.path.to_string_lossy()))
        .column("delete_ttl_info_min", "DateTime", |row| deletion(row, |ttl| ttl.min))
        .column("delete_ttl_info_max", "DateTime", |row| deletion(row, |ttl| ttl.max))
        .constant("visible", "UInt8", flag(true))
        .column("has_lightweight_delete", "UInt8", |row| flag(row.part.deleted_rows > 0))
        .constant("removal_state", "String", Value::string(""))
        .alias("bytes", "UInt64", "bytes_on_disk")
        .alias("part_name", "String", "name")
        .column("default_compression_codec", "String", |row| text(row.part.codec.as_deref().unwrap_or(row.codec())));
    for (name, kind) in [
        ("move_ttl_info", PartTtlKind::Move),
        ("recompression_ttl_info", PartTtlKind::Recompress),
        ("group_by_ttl_info", PartTtlKind::GroupBy),
        ("rows_where_ttl_info", PartTtlKind::DeleteWhere),
    ] {
        table = table
            .column(&format!("{name}.expression"), "Array(String)", move |row| {
                of_kind(row, kind, |ttl| text(&ttl.expression))
            })
            .column(&format!("{name}.min"), "Array(DateTime)", move |row| of_kind(row, kind, |ttl| number(ttl.min)))
            .column(&format!("{name}.max"), "Array(DateTime)", move |row| of_kind(row, kind, |ttl| number(ttl.max)));
    }
    Arc::new(table)
}

impl Part {
    /// The codec of its table's files.
    fn codec(&self) -> &str {
        let settings = self.table.definition.as_ref().map(|definition| &definition.settings[..]).unwrap_or_default();
        let own = settings.iter().find(|(name, _)| &**name == "default_compression_codec");
        own.map(|(_, codec)| &**codec).filter(|codec| !codec.is_empty()).unwrap_or("LZ4")
    }
}

/// What a part knows of the moments at which its rows go, whatever they hold.
fn deletion(row: &Part, of: impl Fn(&PartTtl) -> u32) -> Value {
    let plain = row.part.ttl.iter().find(|ttl| ttl.kind == PartTtlKind::Delete);
    number(plain.map_or(0, of))
}

/// What it knows of all elements of a kind.
fn of_kind(row: &Part, kind: PartTtlKind, of: impl Fn(&PartTtl) -> Value) -> Value {
    Value::Array(row.part.ttl.iter().filter(|ttl| ttl.kind == kind).map(of).collect())
}

/// The partition as ClickHouse shows it.
pub(super) fn partition_text(part: &PartInfo) -> Value {
    match &*part.partition_id {
        "all" => text("tuple()"),
        id => text(id),
    }
}

/// A number of a part's name, counted from its end: the level, the last block, the first.
pub(super) fn number_in_name(name: &str, from_end: usize) -> i64 {
    name.rsplit('_').nth(from_end).and_then(|number| number.parse().ok()).unwrap_or(0)
}
