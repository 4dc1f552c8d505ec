//! Reading an SQLite database's table. SQLite computes on a thread of the pool, and asks now and then whether anybody waits for it.

use std::path::Path;
use std::sync::Arc;

use rusqlite::OpenFlags;
use rusqlite::types::ValueRef;
use squall_storage::{FedScan, Feed, ScanRequest};
use squall_types::{Block, Column, ColumnBuilder, DataType, Result, Schema, Value, checkpoint, default_value};

use super::{SqliteTable, connect, failed, quoted};
use crate::account::Account;

/// Rows of a block.
const BLOCK_ROWS: usize = 8192;
/// Bytes of a block, about: fewer rows have more.
const BLOCK_BYTES: usize = 16 << 20;
/// Steps of SQLite's machine between two looks at whether anybody still waits for rows: about a millisecond.
const STEPS_AT_ONCE: i32 = 20_000;
/// The same as work of a checkpoint.
const STEPS_WORK: usize = 1 << 17;

/// The rows of a table: a thread of the pool steps through them.
pub(super) fn scan(table: &SqliteTable, request: &ScanRequest) -> FedScan {
    let wanted = request.columns.iter().filter_map(|at| table.columns.get(*at));
    let taken = wanted.map(|column| {
        let name = quoted(&column.name);
        match column.data_type.inner() {
            DataType::Int64 => format!("CAST({name} AS INTEGER)"),
            DataType::Float64 => format!("CAST({name} AS REAL)"),
            _ => format!("CASE typeof({name}) WHEN 'blob' THEN {name} ELSE CAST({name} AS TEXT) END"),
        }
    });
    let taken: Vec<String> = taken.collect();
    let list = if taken.is_empty() { "1".to_owned() } else { taken.join(", ") };
    let sql = format!("SELECT {list} FROM {}", quoted(&table.table));
    let (path, schema) = (table.path.clone(), request.schema.clone());
    FedScan::new(move |feed| {
        Account::of_this_thread().on_thread(move || {
            if let Err(error) = read(&path, &sql, &schema, &feed) {
                // Who has gone does not want to know.
                let _ = feed.blocking_send(Err(error));
            }
        })
    })
}

/// Sends the rows of a statement.
fn read(path: &Path, sql: &str, schema: &Arc<Schema>, feed: &Feed) -> Result<()> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let of_reader = feed.clone();
    let is_in_vain = move || of_reader.is_closed() || checkpoint(STEPS_WORK).is_err();
    connection.progress_handler(STEPS_AT_ONCE, Some(is_in_vain)).map_err(|error| failed(&error))?;
    let mut statement = connection.prepare(sql).map_err(|error| failed(&error))?;
    let mut rows = statement.query([]).map_err(|error| failed(&error))?;
    let mut is_over = false;
    while !is_over {
        let mut builders: Vec<ColumnBuilder> = schema.types().map(|of| ColumnBuilder::new(of.clone())).collect();
        let (mut count, mut bytes) = (0, 0);
        while count < BLOCK_ROWS && bytes < BLOCK_BYTES {
            let next = rows.next().or_else(|error| {
                // What interrupted it says more than that it was.
                checkpoint(STEPS_WORK)?;
                Err(failed(&error))
            });
            let Some(row) = next? else {
                is_over = true;
                break;
            };
            for (at, builder) in builders.iter_mut().enumerate() {
                let found = row.get_ref(at).map_err(|error| failed(&error))?;
                bytes += found.as_bytes_or_null().ok().flatten().map_or(0, <[u8]>::len);
                let mut value = value_of(found);
                // SQLite does not insist on NOT NULL everywhere.
                if let (Value::Null, Some(of)) = (&value, schema.types().nth(at)) {
                    value = default_value(of);
                }
                builder.append(&value)?;
            }
            count += 1;
        }
        checkpoint(count * schema.len().max(1))?;
        let columns: Vec<Column> = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<_>>()?;
        if count > 0 && feed.blocking_send(Ok(Block::new(schema.clone(), columns, count))).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int64(number),
        ValueRef::Real(number) => Value::Float64(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::String(bytes.into()),
    }
}
