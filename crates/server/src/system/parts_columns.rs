//! `system.parts_columns`: each column of each part, its size in the file and what is known of its values without reading them.

use std::sync::{Arc, Weak};

use squall_storage::{PartColumn, PartInfo, Table, TableDescription};
use squall_types::{DataType, Value};

use super::catalog_tables::all_tables;
use super::create_statement::default_kind;
use super::parts::{modified, number_in_name};
use super::table::SystemTable;
use super::value::{flag, no_items, number, text, texts, uuid};
use super::viewer::Viewer;
use crate::query::subcolumns_of;
use crate::server::Server;

/// A column of a part of a table.
struct Row {
    table: Arc<TableDescription>,
    part: Arc<PartInfo>,
    column: PartColumn,
}

impl Row {
    /// The column as it was declared.
    fn declared(&self) -> Option<&squall_planner::ColumnDescription> {
        self.table.table.columns().get(self.column.position)
    }
}

/// Something of each subcolumn of a column.
fn of_subcolumns(row: &Row, of: fn(&(String, DataType)) -> Value) -> Value {
    Value::Array(subcolumns_of(&row.column.data_type).iter().map(of).collect())
}

pub(super) fn parts_columns(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            for (part, columns) in table.table.columns_of_parts() {
                let part = Arc::new(part);
                let row = |column| Row { table: table.clone(), part: part.clone(), column };
                rows.extend(columns.into_iter().map(row));
            }
        }
        Ok(rows)
    };
    let optional = |value: &Option<String>| value.as_ref().map_or(Value::Null, text);
    let table = SystemTable::new("parts_columns", gather)
        .column("partition", "String", |row: &Row| text(&row.part.partition))
        .column("name", "String", |row| text(&row.part.name))
        .column("part_type", "String", |row| text(row.part.part_type))
        .constant("active", "UInt8", flag(true))
        .column("marks", "UInt64", |row| number(row.part.marks))
        .column("rows", "UInt64", |row| number(row.part.rows))
        .column("bytes_on_disk", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_compressed_bytes", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_uncompressed_bytes", "UInt64", |row| number(row.part.value_bytes))
        // Marks are granules of the part itself: no file has them.
        .constant("marks_bytes", "UInt64", number(0_u64))
        .column("modification_time", "DateTime", |row| number(modified(&row.part.path).unwrap_or(0)))
        .column("partition_id", "String", |row| text(&row.part.partition_id))
        .column("min_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 2)))
        .column("max_block_number", "Int64", |row| Value::Int64(number_in_name(&row.part.name, 1)))
        .column("level", "UInt32", |row| number(number_in_name(&row.part.name, 0) as u64))
        .column("data_version", "UInt64", |row| number(number_in_name(&row.part.name, 2) as u64))
        .column("min_date", "Date", |row| number(row.part.partition_dates.map_or(0, |(min, _)| min)))
        .column("max_date", "Date", |row| number(row.part.partition_dates.map_or(0, |(_, max)| max)))
        .column("min_time", "DateTime", |row| number(row.part.partition_times.map_or(0, |(min, _)| min)))
        .column("max_time", "DateTime", |row| number(row.part.partition_times.map_or(0, |(_, max)| max)))
        .column("primary_key_bytes_in_memory", "UInt64", |row| number(row.part.primary_key_bytes))
        .column("primary_key_bytes_in_memory_allocated", "UInt64", |row| number(row.part.primary_key_bytes))
        .constant("uuid", "UUID", uuid(uuid::Uuid::nil()))
        .constant("remove_time", "DateTime", number(0_u64))
        .constant("refcount", "UInt32", number(1_u64))
        .column("database", "String", |row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("engine", "String", |row| text(row.table.table.engine()))
        .constant("disk_name", "String", text("default"))
        .column("path", "String", |row| text(row.part.path.to_string_lossy()))
        .column("column", "String", |row| text(&row.column.name))
        .column("type", "String", |row| text(row.column.data_type.to_string()))
        .column("column_position", "UInt64", |row| number(row.column.position as u64 + 1))
        .column("default_kind", "String", |row| text(row.declared().map_or("", default_kind)))
        .column("default_expression", "String", |row| {
            let default = row.declared().and_then(|column| column.default.as_ref());
            text(default.map_or("", |default| &*default.expression))
        })
        .column("column_bytes_on_disk", "UInt64", |row| number(row.column.bytes_on_disk))
        .column("column_data_compressed_bytes", "UInt64", |row| number(row.column.bytes_on_disk))
        .column("column_data_uncompressed_bytes", "UInt64", |row| number(row.column.value_bytes))
        .constant("column_marks_bytes", "UInt64", number(0_u64))
        .column("column_modification_time", "Nullable(DateTime)", |row| {
            modified(&row.part.path).map_or(Value::Null, number)
        })
        .constant("column_ttl_min", "Nullable(DateTime)", Value::Null)
        .constant("column_ttl_max", "Nullable(DateTime)", Value::Null)
        .constant("statistics", "Array(String)", no_items())
        .column("estimates.min", "Nullable(String)", move |row| optional(&row.column.min))
        .column("estimates.max", "Nullable(String)", move |row| optional(&row.column.max))
        .column("estimates.cardinality", "Nullable(UInt64)", |row| row.column.distinct.map_or(Value::Null, number))
        .column("estimates.null_count", "Nullable(UInt64)", |row| row.column.nulls.map_or(Value::Null, number))
        .constant("estimates.default_count", "Nullable(UInt64)", Value::Null)
        .constant("serialization_kind", "String", text("Default"))
        .column("substreams", "Array(String)", |row| texts([&row.column.name]))
        .column("filenames", "Array(String)", |row| texts([&row.part.name]))
        .column("subcolumns.names", "Array(String)", |row| of_subcolumns(row, |(name, _)| text(name)))
        .column("subcolumns.types", "Array(String)", |row| of_subcolumns(row, |(_, kind)| text(kind.to_string())))
        .column("subcolumns.serializations", "Array(String)", |row| of_subcolumns(row, |_| text("Default")))
        // A column's subcolumns are not apart in the file.
        .column("subcolumns.bytes_on_disk", "Array(UInt64)", |row| of_subcolumns(row, |_| number(0_u64)))
        .column("subcolumns.data_compressed_bytes", "Array(UInt64)", |row| of_subcolumns(row, |_| number(0_u64)))
        .column("subcolumns.data_uncompressed_bytes", "Array(UInt64)", |row| of_subcolumns(row, |_| number(0_u64)))
        .column("subcolumns.marks_bytes", "Array(UInt64)", |row| of_subcolumns(row, |_| number(0_u64)))
        .alias("bytes", "UInt64", "bytes_on_disk")
        .alias("marks_size", "UInt64", "marks_bytes")
        .alias("part_name", "String", "name");
    Arc::new(table)
}
