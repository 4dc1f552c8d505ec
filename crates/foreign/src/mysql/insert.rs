//! Inserting: statements of many rows in one transaction, which has committed before the INSERT is acknowledged.

use std::collections::HashSet;
use std::ops::Range;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use squall_storage::Handed;
use squall_types::calendar::TimeZone;
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Block, CastMode, CastOptions, Column, DataType, Result, Value, cast, checkpoint};

use super::MySql;
use super::link::{cancel, connect, said};
use crate::conflict::Conflict;
use crate::engine::{Engine, Written};
use crate::feed::Incoming;
use crate::server::ForeignServer;
use crate::watch::{still_wanted, until_unwanted, while_wanted};

/// Bytes of a statement: servers take sixteen times as many unless they are told otherwise.
const STATEMENT_BYTES: usize = 1 << 20;
/// What inserting a row costs, as work of a checkpoint.
const ROW_WORK: usize = 2_000;
/// The columns of a table that are instants.
const INSTANTS: &str = "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND DATA_TYPE = 'timestamp'";

/// Writes what comes, up to the commit. A connection that ends before is rolled back.
///
/// # Errors
/// Those of the connection, of the statements, and of the query's limits.
pub(super) async fn carry(server: &ForeignServer, written: &Written<Conflict>, incoming: &Incoming) -> Result<()> {
    let mut connection = while_wanted(connect(server)).await?;
    let number = connection.id();
    let write = write(&mut connection, server, written, incoming);
    until_unwanted(write, incoming.given_up(), async || cancel(server, number).await).await
}

async fn write(
    connection: &mut Conn,
    server: &ForeignServer,
    written: &Written<Conflict>,
    incoming: &Incoming,
) -> Result<()> {
    let instants = connection.exec(INSTANTS, (&written.schema, &written.table)).await;
    let instants: Vec<String> = instants.map_err(|error| said(&error))?;
    let statement = Statement::new(written, instants.into_iter().collect(), &server.zone);
    connection.query_drop("START TRANSACTION").await.map_err(|error| said(&error))?;
    while let Some(next) = incoming.next().await {
        match next {
            Handed::Rows(block) => statement.insert(connection, &block).await?,
            Handed::Commit(done) => {
                still_wanted()?;
                connection.query_drop("COMMIT").await.map_err(|error| said(&error))?;
                // Who asked has gone only where the query has failed meanwhile.
                let _ = done.send(());
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What each statement says around its rows.
struct Statement {
    head: String,
    tail: String,
    rows_max: usize,
    instants: HashSet<String>,
    zone: TimeZone,
}

impl Statement {
    fn new(written: &Written<Conflict>, instants: HashSet<String>, zone: &TimeZone) -> Self {
        let Conflict { replaces, on_duplicate, rows_max } = &written.conflict;
        let names: Vec<String> = written.columns.names().map(MySql::name_sql).collect();
        let (schema, table) = (MySql::name_sql(&written.schema), MySql::name_sql(&written.table));
        let verb = if *replaces { "REPLACE" } else { "INSERT" };
        let head = format!("{verb} INTO {schema}.{table} ({}) VALUES ", names.join(", "));
        let tail = match on_duplicate.is_empty() {
            true => String::new(),
            false => format!(" ON DUPLICATE KEY {on_duplicate}"),
        };
        Self { head, tail, rows_max: (*rows_max).max(1), instants, zone: zone.clone() }
    }

    /// Inserts the rows of a block.
    async fn insert(&self, connection: &mut Conn, block: &Block) -> Result<()> {
        let names = block.schema().names();
        let columns = block.columns().iter().zip(names);
        let columns = columns.map(|(column, name)| Encoder::new(column, self.zone_of(name)));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        let mut first = 0;
        while first < block.rows() {
            let (sql, rows) = self.sql(&mut columns, first..block.rows().min(first + self.rows_max))?;
            connection.query_drop(sql).await.map_err(|error| said(&error))?;
            first += rows;
        }
        Ok(())
    }

    /// The zone in which a column's times are told.
    fn zone_of(&self, column: &str) -> TimeZone {
        if self.instants.contains(column) { TimeZone::utc() } else { self.zone.clone() }
    }

    /// A statement of as many of these rows as fit, and how many those are.
    fn sql(&self, columns: &mut [Encoder], rows: Range<usize>) -> Result<(Vec<u8>, usize)> {
        let mut sql = self.head.clone().into_bytes();
        let mut count = 0;
        for row in rows {
            if sql.len() >= STATEMENT_BYTES {
                break;
            }
            checkpoint(ROW_WORK)?;
            sql.extend_from_slice(if count > 0 { b", (" } else { b"(" });
            for (at, column) in columns.iter_mut().enumerate() {
                if at > 0 {
                    sql.extend_from_slice(b", ");
                }
                column.append(&mut sql, row);
            }
            sql.push(b')');
            count += 1;
        }
        sql.extend_from_slice(self.tail.as_bytes());
        Ok((sql, count))
    }
}

/// Writes a column's values as literals.
struct Encoder {
    column: Column,
    writer: ValueWriter,
    /// Whether a value's text is a literal as it is.
    is_bare: bool,
    text: Vec<u8>,
}

impl Encoder {
    fn new(column: &Column, zone: TimeZone) -> Result<Self> {
        let of = column.data_type().inner();
        let is_bare = of.is_any_integer() || of.is_decimal() || *of == DataType::Bool;
        // Times are told in the zone of the column there, whatever zone they name.
        let plain = match of {
            DataType::DateTime(Some(_)) => Some(DataType::DateTime(None)),
            DataType::DateTime64(digits, Some(_)) => Some(DataType::DateTime64(*digits, None)),
            _ => None,
        };
        let column = match plain {
            Some(plain) => {
                let plain = if column.data_type().is_nullable() { plain.to_nullable() } else { plain };
                cast(column, &plain, &CastOptions::new(CastMode::Plain, zone.clone()))?
            }
            None => column.clone(),
        };
        let writer = ValueWriter::new(&column, TextStyle::Plain, &TextOptions::in_zone(zone))?;
        Ok(Self { column, writer, is_bare, text: Vec::new() })
    }

    fn append(&mut self, sql: &mut Vec<u8>, row: usize) {
        let value = self.column.value(row);
        if matches!(value, Value::Null) {
            sql.extend_from_slice(b"NULL");
            return;
        }
        self.text.clear();
        self.writer.write(&mut self.text, row);
        if self.is_bare || matches!(value, Value::Float64(number) if number.is_finite()) {
            sql.extend_from_slice(&self.text);
            return;
        }
        match MySql::literal_sql(&self.text) {
            Some(literal) => sql.extend_from_slice(literal.as_bytes()),
            None => {
                sql.extend_from_slice(b"X'");
                self.text.iter().for_each(|byte| sql.extend_from_slice(format!("{byte:02x}").as_bytes()));
                sql.push(b'\'');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use squall_types::{ColumnBuilder, Schema};

    use super::*;

    fn column(data_type: DataType, values: &[Value]) -> Column {
        let mut builder = ColumnBuilder::new(data_type);
        values.iter().for_each(|value| builder.append(value).unwrap());
        builder.finish().unwrap()
    }

    #[test]
    fn rows_are_literals() {
        let conflict = Conflict { replaces: false, on_duplicate: "UPDATE n = 1".to_owned(), rows_max: 10 };
        let columns = Arc::new(Schema::new([("n", DataType::Int8.to_nullable()), ("s`", DataType::String)]));
        let written = Written { schema: "d".to_owned(), table: "t".to_owned(), conflict, columns };
        let statement = Statement::new(&written, HashSet::new(), &TimeZone::utc());
        let numbers = column(DataType::Int8.to_nullable(), &[Value::Int64(-1), Value::Null]);
        let strings = column(DataType::String, &[Value::string("it's \\"), Value::string([255])]);
        let mut encoders = [&numbers, &strings].map(|column| Encoder::new(column, TimeZone::utc()).unwrap());
        let (sql, rows) = statement.sql(&mut encoders, 0..2).unwrap();
        let wanted =
            "INSERT INTO `d`.`t` (`n`, `s```) VALUES (-1, 'it''s \\\\'), (NULL, X'ff') ON DUPLICATE KEY UPDATE n = 1";
        assert_eq!((String::from_utf8(sql).unwrap().as_str(), rows), (wanted, 2));
    }
}
