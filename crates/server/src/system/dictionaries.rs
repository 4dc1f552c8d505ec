//! `system.dictionaries`.

use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use squall_storage::{DictionaryDescription, Table};
use squall_types::Value;

use super::table::SystemTable;
use super::upgrade;
use super::value::{date_time, number, text, texts, uuid};
use super::viewer::Viewer;
use crate::server::Server;
use squall_remote::http::shown;

const STATUS: &str = "Enum8('NOT_LOADED' = 0, 'LOADED' = 1, 'FAILED' = 2, 'LOADING' = 3, 'FAILED_AND_RELOADING' = 4, \
                      'LOADED_AND_RELOADING' = 5, 'NOT_EXIST' = 6)";

pub(super) fn dictionaries(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let dictionaries = upgrade(&server)?.databases.dictionaries();
        let described = dictionaries.iter().map(|dictionary| dictionary.describe());
        Ok(described.filter(|row| viewer.sees_dictionary(&row.name.database, &row.name.table)).collect())
    };
    let time = |time: Option<std::time::SystemTime>| date_time(time.unwrap_or(UNIX_EPOCH));
    let table = SystemTable::new("dictionaries", gather)
        .column("database", "String", |row: &DictionaryDescription| text(&row.name.database))
        .column("name", "String", |row| text(&row.name.table))
        .column("uuid", "UUID", |row| uuid(row.uuid))
        .column("status", STATUS, |row| Value::Int64(status(row)))
        .column("origin", "String", |row| match &row.definition.origin {
            Some(file) => text(file),
            None => text(row.uuid.to_string()),
        })
        .column("type", "String", |row| text(if row.is_loaded { row.definition.layout.type_name() } else { "" }))
        .column("key.names", "Array(String)", |row| texts(key_columns(row).map(|column| column.name.clone())))
        .column("key.types", "Array(String)", |row| {
            let is_simple = row.definition.layout.is_simple();
            texts(key_columns(row).map(
                move |column| {
                    if is_simple { "UInt64".to_owned() } else { column.data_type.to_string() }
                },
            ))
        })
        .column("attribute.names", "Array(String)", |row| {
            texts(
                row.definition.attributes.iter().map(|attribute| row.definition.columns[attribute.column].name.clone()),
            )
        })
        .column("attribute.types", "Array(String)", |row| {
            let columns = &row.definition.columns;
            texts(row.definition.attributes.iter().map(|attribute| columns[attribute.column].data_type.to_string()))
        })
        .column("bytes_allocated", "UInt64", |row| number(row.bytes))
        .constant("hierarchical_index_bytes_allocated", "UInt64", number(0_u64))
        .column("query_count", "UInt64", |row| number(row.lookups))
        .column("hit_rate", "Float64", |row| rate(row.hits, row.lookups))
        .column("found_rate", "Float64", |row| rate(row.finds, row.lookups))
        .column("element_count", "UInt64", |row| number(row.rows))
        .column("load_factor", "Float64", |row| match row.definition.parameters.cells_max {
            0 => Value::Float64(if row.rows > 0 { 0.5 } else { 0.0 }),
            cells => rate(row.rows, cells.next_power_of_two() as u64),
        })
        .column("source", "String", |row| {
            text(if row.is_loaded { shown(&row.definition.source_text) } else { String::new() })
        })
        .column("lifetime_min", "UInt64", |row| number(row.definition.lifetime_seconds.0))
        .column("lifetime_max", "UInt64", |row| number(row.definition.lifetime_seconds.1))
        .column("loading_start_time", "DateTime", move |row| time(row.status.started))
        .column("last_successful_update_time", "DateTime", move |row| time(row.status.succeeded))
        .column("error_count", "UInt64", |row| number(row.status.errors))
        .column("loading_duration", "Float32", |row| Value::Float64(row.status.duration.as_secs_f64()))
        .column("last_exception", "String", |row| {
            text(row.status.error.as_ref().map_or_else(String::new, ToString::to_string))
        })
        .column("comment", "String", |row| text(&row.definition.comment));
    Arc::new(table)
}

fn rate(part: u64, whole: u64) -> Value {
    Value::Float64(if whole > 0 { part as f64 / whole as f64 } else { 0.0 })
}

fn key_columns(row: &DictionaryDescription) -> impl Iterator<Item = &squall_planner::ColumnDescription> {
    row.definition.keys.iter().map(|key| &row.definition.columns[*key])
}

/// The number of the status in ClickHouse's enumeration.
fn status(row: &DictionaryDescription) -> i64 {
    match (row.is_loaded, row.is_loading, &row.status.error) {
        (true, true, _) => 5,
        (true, false, _) => 1,
        (false, true, Some(_)) => 4,
        (false, true, None) => 3,
        (false, false, Some(_)) => 2,
        (false, false, None) => 0,
    }
}
