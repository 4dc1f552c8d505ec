//! Inserting into an SQLite database's table: all rows in one transaction, which is durable before the INSERT is acknowledged.

use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value as SqliteValue;
use rusqlite::{OpenFlags, Transaction, TransactionBehavior, params_from_iter};
use squall_storage::{FedInsertion, Handed};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Result, Schema, Value, checkpoint};
use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use super::{SqliteTable, connect, failed, quoted};
use crate::account::Account;

/// Rows between two looks at whether the INSERT goes on.
const ROWS_AT_ONCE: usize = 256;
/// What inserting a row costs, as work of a checkpoint.
const ROW_WORK: usize = 2_000;

/// An INSERT into a table. A thread of the pool writes what comes.
///
/// # Errors
/// `CANNOT_SCHEDULE_TASK`. Those of SQLite are told by the writers and the commit.
pub(super) fn insertion(table: &SqliteTable) -> Result<FedInsertion> {
    let fields = table.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
    let schema = Arc::new(Schema::new(fields));
    let names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let places = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({places})", quoted(&table.table), names.join(", "));
    let path = table.path.clone();
    FedInsertion::begin(schema, move |mut handed, failure| {
        Account::of_this_thread().on_thread(move || {
            if let Err(error) = write(&path, &sql, &mut handed) {
                failure.tell(error);
            }
        })
    })
}

/// Writes what is handed over in a transaction. Dropped without a commit, that is rolled back.
fn write(path: &Path, sql: &str, handed: &mut Receiver<Handed>) -> Result<()> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(|error| failed(&error))?;
    if let Some(done) = write_rows(&transaction, sql, handed)? {
        transaction.commit().map_err(|error| failed(&error))?;
        // Who asked has gone only where the query has failed meanwhile.
        let _ = done.send(());
    }
    Ok(())
}

/// Writes what is handed over, up to the commit, and whom to tell of it; `None` where the INSERT was given up.
fn write_rows(
    transaction: &Transaction<'_>,
    sql: &str,
    handed: &mut Receiver<Handed>,
) -> Result<Option<oneshot::Sender<()>>> {
    let mut statement = transaction.prepare(sql).map_err(|error| failed(&error))?;
    while let Some(next) = handed.blocking_recv() {
        let block = match next {
            Handed::Rows(block) => block,
            Handed::Commit(done) => return Ok(Some(done)),
        };
        let mut columns = block.columns().iter().map(Taken::new).collect::<Result<Vec<Taken>>>()?;
        for row in 0..block.rows() {
            if row % ROWS_AT_ONCE == 0 {
                checkpoint(ROWS_AT_ONCE * ROW_WORK)?;
            }
            let values = columns.iter_mut().map(|column| column.value(row));
            statement.execute(params_from_iter(values)).map_err(|error| failed(&error))?;
        }
    }
    Ok(None)
}

/// A column as SQLite takes it: numbers as numbers, everything else as its text.
struct Taken<'a> {
    column: &'a Column,
    writer: ValueWriter,
}

impl<'a> Taken<'a> {
    fn new(column: &'a Column) -> Result<Self> {
        Ok(Self { column, writer: ValueWriter::new(column, TextStyle::Plain, &TextOptions::default())? })
    }

    fn value(&mut self, row: usize) -> SqliteValue {
        let data_type = self.column.data_type().inner();
        match self.column.value(row) {
            Value::Null => return SqliteValue::Null,
            Value::Int64(number) if data_type.is_integer() => return SqliteValue::Integer(number),
            Value::UInt64(number) if data_type.is_integer() => {
                if let Ok(number) = i64::try_from(number) {
                    return SqliteValue::Integer(number);
                }
            }
            Value::Float64(number) => return SqliteValue::Real(number),
            Value::Bool(flag) => return SqliteValue::Integer(i64::from(flag)),
            Value::String(bytes) if matches!(data_type, DataType::String | DataType::FixedString(_)) => {
                return text_or_blob(bytes.to_vec());
            }
            _ => {}
        }
        let mut text = Vec::new();
        self.writer.write(&mut text, row);
        text_or_blob(text)
    }
}

fn text_or_blob(bytes: Vec<u8>) -> SqliteValue {
    match String::from_utf8(bytes) {
        Ok(text) => SqliteValue::Text(text),
        Err(error) => SqliteValue::Blob(error.into_bytes()),
    }
}
