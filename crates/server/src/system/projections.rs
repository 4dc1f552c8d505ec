//! `system.projections` and `system.projection_parts`.

use std::sync::{Arc, Weak};

use squall_functions::FunctionContext;
use squall_planner::{Projection, ProjectionDefinition};
use squall_storage::{PartInfo, ProjectionPart, Table, TableDescription};
use squall_types::Value;

use super::catalog_tables::{all_tables, shown_database};
use super::parts::number_in_name;
use super::table::SystemTable;
use super::value::{flag, number, text};
use super::viewer::Viewer;
use crate::server::Server;

/// A projection and the table that it is of.
struct Row {
    table: Arc<TableDescription>,
    definition: ProjectionDefinition,
    bound: Option<Projection>,
}

pub(super) fn projections(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let of = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        let functions = FunctionContext::outside_queries("UTC");
        for table in all_tables(&of, &viewer)? {
            let Some(definition) = table.definition.clone() else { continue };
            rows.extend(definition.projections.iter().map(|projection| Row {
                table: table.clone(),
                definition: projection.clone(),
                bound: Projection::bind(projection, &definition.columns, &functions).ok(),
            }));
        }
        Ok(rows)
    };
    let table = SystemTable::new("projections", gather)
        .column("database", "String", |row: &Row| text(shown_database(&row.table)))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("name", "String", |row| text(&row.definition.name))
        .column("type", "Enum8('Normal' = 0, 'Aggregate' = 1)", |row| {
            Value::Int64(row.bound.as_ref().is_some_and(|bound| bound.is_aggregating).into())
        })
        .column("sorting_key", "Array(String)", |row| {
            let keys = row.bound.iter().flat_map(|bound| &bound.sorting_key);
            Value::Array(keys.map(|key| text(&key.sql)).collect())
        })
        .column("query", "String", |row| text(&row.definition.sql))
        .column("settings", "Map(String, String)", |row| {
            let settings = row.definition.settings.iter();
            Value::Map(settings.map(|(name, value)| (text(name), text(value))).collect())
        });
    Arc::new(table)
}

/// What a part has of a projection, with both.
struct PartRow {
    table: Arc<TableDescription>,
    parent: PartInfo,
    part: ProjectionPart,
}

pub(super) fn projection_parts(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            let parts = table.table.projection_parts();
            if parts.is_empty() {
                continue;
            }
            let parents = table.table.parts();
            rows.extend(parts.into_iter().filter_map(|part| {
                let parent = parents.iter().find(|parent| parent.name == part.parent)?.clone();
                Some(PartRow { table: table.clone(), parent, part })
            }));
        }
        Ok(rows)
    };
    let table = SystemTable::new("projection_parts", gather)
        .column("partition", "String", |row: &PartRow| text(&row.parent.partition))
        .column("name", "String", |row| text(&row.part.name))
        .column("part_type", "String", |row| text(row.part.part_type))
        .column("parent_name", "String", |row| text(&row.parent.name))
        .column("parent_part_type", "String", |row| text(row.parent.part_type))
        .constant("active", "UInt8", flag(true))
        .column("marks", "UInt64", |row| number(row.part.marks))
        .column("rows", "UInt64", |row| number(row.part.rows))
        .constant("files", "UInt64", number(1_u64))
        .column("bytes_on_disk", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_compressed_bytes", "UInt64", |row| number(row.part.bytes_on_disk))
        .column("data_uncompressed_bytes", "UInt64", |row| number(row.part.value_bytes))
        .column("parent_marks", "UInt64", |row| number(row.parent.marks))
        .column("parent_rows", "UInt64", |row| number(row.parent.rows))
        .column("parent_bytes_on_disk", "UInt64", |row| number(row.parent.bytes_on_disk))
        .column("parent_data_compressed_bytes", "UInt64", |row| number(row.parent.bytes_on_disk))
        .column("parent_data_uncompressed_bytes", "UInt64", |row| number(row.parent.value_bytes))
        .column("partition_id", "String", |row| text(&row.parent.partition_id))
        .column("min_block_number", "Int64", |row| Value::Int64(number_in_name(&row.parent.name, 2)))
        .column("max_block_number", "Int64", |row| Value::Int64(number_in_name(&row.parent.name, 1)))
        .column("level", "UInt32", |row| number(number_in_name(&row.parent.name, 0) as u64))
        .constant("is_frozen", "UInt8", flag(false))
        .column("database", "String", |row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("engine", "String", |row| text(row.table.table.engine()))
        .constant("disk_name", "String", text("default"))
        .column("path", "String", |row| text(row.parent.path.to_string_lossy()))
        .constant("is_broken", "UInt8", flag(false))
        .constant("exception_code", "Int32", Value::Int64(0))
        .constant("exception", "String", text(""))
        .alias("bytes", "UInt64", "bytes_on_disk")
        .alias("part_name", "String", "name");
    Arc::new(table)
}
