//! `system.parts`.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_storage::{PartInfo, PartTtl, PartTtlKind, Table, TableDescription};
use squall_types::Value;

use super::catalog_tables::all_tables;
use super::table::SystemTable;
use super::value::{flag, number, text, texts, uuid};
use super::viewer::Viewer;
use crate::server::Server;

/// A part and the table that it belongs to.
struct Part {
    table: Arc<TableDescription>,
    /// The names of the projections that it has.
    projections: Vec<Arc<str>>,
    part: PartInfo,
}

/// The type of a transaction's number: the moment of its snapshot, its number within that, and the server.
const TRANSACTION: &str = "Tuple(UInt64, UInt64, UUID)";

fn transaction(number: u64) -> Value {
    Value::Tuple([Value::UInt64(number), Value::UInt64(number), uuid(uuid::Uuid::nil())].into())
}

pub(super) fn parts(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            let projections = table.table.projection_parts();
            let of = |part: &PartInfo| {
                let own = projections.iter().filter(|projection| projection.parent == part.name);
                own.map(|projection| projection.name.clone()).collect()
            };
            let row = |part: PartInfo| Part { table: table.clone(), projections: of(&part), part };
            rows.extend(table.table.parts().into_iter().map(row));
        }
        Ok(rows)
    };
    let mut table = SystemTable::new("parts", gather)
        .column("partition", "String", |row: &Part| text(&row.part.partition))
        .column("name", "String", |row| text(&row.part.name))
        .constant("uuid", "UUID", uuid(uuid::Uuid::nil()))
        .column("part_type", "String", |row| text(row.part.part_type))
        .constant("part_storage_type", "String", text("Full"))
        .constant("active", "UInt8", flag(true))
        .column("marks", "UInt64", |row| number(row.part.marks))
        .column("rows", "UInt64", |row| number(row.part.rows))
        .constant("files", "UInt64", number(1_u64))
        .column("bytes_on_disk", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_compressed_bytes", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_uncompressed_bytes", "UInt64", |row| number(row.part.value_bytes))
        .constant("primary_key_size", "UInt64", number(0_u64))
        // Marks and indexes are in the part's file: no file has them alone.
        .constant("marks_bytes", "UInt64", number(0_u64))
        .constant("secondary_indices_compressed_bytes", "UInt64", number(0_u64))
        .constant("secondary_indices_uncompressed_bytes", "UInt64", number(0_u64))
        .constant("secondary_indices_marks_bytes", "UInt64", number(0_u64))
        .column("modification_time", "DateTime", |row| number(modified(&row.part.path).unwrap_or(0)))
        .constant("remove_time", "DateTime", number(0_u64))
        .constant("refcount", "UInt32", number(1_u64))
        .column("min_date", "Date", |row| number(row.part.partition_dates.map_or(0, |(min, _)| min)))
        .column("max_date", "Date", |row| number(row.part.partition_dates.map_or(0, |(_, max)| max)))
        .column("min_time", "DateTime", |row| number(row.part.partition_times.map_or(0, |(min, _)| min)))
        .column("max_time", "DateTime", |row| number(row.part.partition_times.map_or(0, |(_, max)| max)))
        .column("partition_id", "String", |row| text(&row.part.partition_id))
        .column("min_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 2)))
        .column("max_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 1)))
        .column("level", "UInt32", |row| number(number_in_name(&row.part.name, 0) as u64))
        .column("data_version", "UInt64", |row| number(number_in_name(&row.part.name, 2) as u64))
        .column("primary_key_bytes_in_memory", "UInt64", |row| number(row.part.primary_key_bytes))
        .column("primary_key_bytes_in_memory_allocated", "UInt64", |row| number(row.part.primary_key_bytes))
        .constant("index_granularity_bytes_in_memory", "UInt64", number(0_u64))
        .constant("index_granularity_bytes_in_memory_allocated", "UInt64", number(0_u64))
        .constant("is_frozen", "UInt8", flag(false))
        .column("database", "String", |row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("engine", "String", |row| text(row.table.table.engine()))
        .constant("disk_name", "String", text("default"))
        .column("path", "String", |row| text(row.part.path.to_string_lossy()))
        .constant("hash_of_all_files", "String", text(""))
        .constant("hash_of_uncompressed_files", "String", text(""))
        .constant("uncompressed_hash_of_compressed_files", "String", text(""))
        .column("delete_ttl_info_min", "DateTime", |row| deletion(row, |ttl| ttl.min))
        .column("delete_ttl_info_max", "DateTime", |row| deletion(row, |ttl| ttl.max))
        .constant("visible", "UInt8", flag(true))
        .column("has_lightweight_delete", "UInt8", |row| flag(row.part.deleted_rows > 0))
        .column("projections", "Array(String)", |row| texts(&row.projections))
        // Transactions change nothing: a part is there for all from its beginning.
        .constant("creation_tid", TRANSACTION, transaction(1))
        .constant("removal_tid_lock", "UInt64", number(0_u64))
        .constant("removal_tid", TRANSACTION, transaction(0))
        .constant("creation_csn", "UInt64", number(1_u64))
        .constant("removal_csn", "UInt64", number(0_u64))
        .constant("last_removal_attempt_time", "DateTime", number(0_u64))
        .constant("removal_state", "String", Value::string(""))
        .alias("bytes", "UInt64", "bytes_on_disk")
        .alias("marks_size", "UInt64", "marks_bytes")
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
    Arc::new(table.hidden("_state", "String", |_| text("Active")))
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

/// When a file was written, in seconds.
pub(super) fn modified(path: &Path) -> Option<u64> {
    let time = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// A number of a part's name, counted from its end: the level, the last block, the first.
pub(super) fn number_in_name(name: &str, from_end: usize) -> i64 {
    name.rsplit('_').nth(from_end).and_then(|number| number.parse().ok()).unwrap_or(0)
}
