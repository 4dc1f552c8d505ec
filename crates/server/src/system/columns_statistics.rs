//! `system.columns_statistics`: what the planner estimates by, of each column whose parts know it.

use std::sync::{Arc, Weak};

use squall_planner::ColumnStatistics;
use squall_storage::{Table, TableDescription};
use squall_types::calendar::TimeZone;
use squall_types::{CastMode, CastOptions, Column, DataType, Value};

use super::catalog_tables::all_tables;
use super::table::SystemTable;
use super::value::{number, text};
use super::viewer::Viewer;
use crate::server::Server;

/// A column of a table.
struct Row {
    table: Arc<TableDescription>,
    position: usize,
    statistics: Arc<ColumnStatistics>,
}

impl Row {
    fn declared(&self) -> Option<&squall_planner::ColumnDescription> {
        self.table.table.columns().get(self.position)
    }

    /// Values that many rows have, as text, with which part of the rows that is.
    fn common(&self) -> Value {
        let Some(column) = self.declared() else { return Value::Array(Vec::new().into()) };
        let pair = |(value, share): &(Value, f64)| {
            Value::Tuple(vec![text_of(&column.data_type, value), Value::Float64(*share)].into())
        };
        Value::Array(self.statistics.common.iter().map(pair).collect())
    }
}

/// A value as text.
fn text_of(data_type: &DataType, value: &Value) -> Value {
    let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
    let column = Column::constant(data_type.inner().clone(), value, 1);
    let cast = column.and_then(|column| squall_types::cast(&column, &DataType::String, &options));
    cast.map_or_else(|_| text(value.to_string()), |text| text.value(0))
}

pub(super) fn columns_statistics(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let mut rows = Vec::new();
        for table in all_tables(&server, &viewer)? {
            for position in 0..table.table.columns().len() {
                if let Some(statistics) = table.table.column_statistics(position) {
                    rows.push(Row { table: table.clone(), position, statistics });
                }
            }
        }
        Ok(rows)
    };
    let table = SystemTable::new("columns_statistics", gather)
        .column("database", "String", |row: &Row| text(row.table.table.database()))
        .column("table", "String", |row| text(row.table.table.name()))
        .column("column", "String", |row| text(row.declared().map_or("", |column| &*column.name)))
        .column("type", "String", |row| {
            text(row.declared().map_or(String::new(), |column| column.data_type.to_string()))
        })
        .column("rows", "UInt64", |row| number(row.table.table.rows().unwrap_or(0)))
        .column("distinct_values", "UInt64", |row| number(row.statistics.distinct.round() as u64))
        .column("null_share", "Float64", |row| Value::Float64(row.statistics.nulls))
        .column("common_values", "Array(Tuple(value String, share Float64))", Row::common);
    Arc::new(table)
}
