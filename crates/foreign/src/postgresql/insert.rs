//! Inserting: all rows in one transaction, by COPY, or one by one where the server is to look at those that are there already. It has
//! committed before the INSERT is acknowledged.

use std::collections::HashMap;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use futures_util::SinkExt;
use futures_util::future::try_join_all;
use squall_storage::Handed;
use squall_types::{Block, Error, ErrorCode, Result, checkpoint};
use tokio::sync::oneshot;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, CopyInSink, Statement};

use super::PostgreSql;
use super::link::{connect, said};
use super::text::{Encoder, append_field};
use crate::engine::{Engine, Written};
use crate::feed::Incoming;
use crate::server::ForeignServer;
use crate::watch::{still_wanted, until_unwanted, while_wanted};

/// Bytes that are sent at once.
const SENT_BYTES: usize = 64 << 10;
/// Rows that are on their way at once, of those that go one by one.
const ROWS_AT_ONCE: usize = 256;
/// What inserting a row costs, as work of a checkpoint.
const ROW_WORK: usize = 1_000;
/// Name and type of each column of a table.
const TYPES: &str = "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute AS a \
                     JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid \
                     JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
                     WHERE n.nspname = $1 AND c.relname = $2 AND NOT a.attisdropped AND a.attnum > 0";

/// Writes what comes, up to the commit.
///
/// # Errors
/// Those of the connection, of the statements, and of the query's limits.
pub(super) async fn carry(server: &ForeignServer, written: &Written<String>, incoming: &Incoming) -> Result<()> {
    let link = while_wanted(connect(server)).await?;
    let write = write(&link.client, server, written, incoming);
    until_unwanted(write, incoming.given_up(), async || link.cancel().await).await
}

async fn write(client: &Client, server: &ForeignServer, written: &Written<String>, incoming: &Incoming) -> Result<()> {
    let into = Into { server, written, types: types(client, written).await? };
    client.batch_execute("BEGIN").await.map_err(|error| said(&error))?;
    let done = match written.conflict.is_empty() {
        true => into.copy(client, incoming).await?,
        false => into.one_by_one(client, incoming).await?,
    };
    if let Some(done) = done {
        still_wanted()?;
        client.batch_execute("COMMIT").await.map_err(|error| said(&error))?;
        // Who asked has gone only where the query has failed meanwhile.
        let _ = done.send(());
    }
    Ok(())
}

/// The types of the columns that are written to.
async fn types(client: &Client, written: &Written<String>) -> Result<Vec<String>> {
    let rows = client.query(TYPES, &[&written.schema, &written.table]).await.map_err(|error| said(&error))?;
    let pair = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
    let known: std::result::Result<HashMap<String, String>, tokio_postgres::Error> = rows.iter().map(pair).collect();
    let known = known.map_err(|error| said(&error))?;
    if known.is_empty() {
        let message = format!("PostgreSQL table {}.{} does not exist", written.schema, written.table);
        return Err(Error::new(ErrorCode::UNKNOWN_TABLE, message));
    }
    let of = |name: &str| {
        let missing = || {
            let message = format!("PostgreSQL table {}.{} has no column {name}", written.schema, written.table);
            Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
        };
        known.get(name).cloned().ok_or_else(missing)
    };
    written.columns.names().map(of).collect()
}

/// Where rows go.
struct Into<'a> {
    server: &'a ForeignServer,
    written: &'a Written<String>,
    types: Vec<String>,
}

impl Into<'_> {
    fn target(&self) -> String {
        let names: Vec<String> = self.written.columns.names().map(PostgreSql::name_sql).collect();
        let (schema, table) = (PostgreSql::name_sql(&self.written.schema), PostgreSql::name_sql(&self.written.table));
        format!("{schema}.{table} ({})", names.join(", "))
    }

    fn encoders(&self, block: &Block) -> Result<Vec<Encoder>> {
        let columns = block.columns().iter().zip(&self.types);
        columns.map(|(column, name)| Encoder::new(column, name, &self.server.zone)).collect()
    }

    /// Copies what comes; gives whom to tell of the commit, `None` where the INSERT was given up.
    async fn copy(&self, client: &Client, incoming: &Incoming) -> Result<Option<oneshot::Sender<()>>> {
        let sql = format!("COPY {} FROM STDIN", self.target());
        let sink: CopyInSink<Bytes> = client.copy_in(sql.as_str()).await.map_err(|error| said(&error))?;
        let mut sink = pin!(sink);
        let mut line = BytesMut::new();
        while let Some(next) = incoming.next().await {
            let block = match next {
                Handed::Rows(block) => block,
                Handed::Commit(done) => {
                    sink.as_mut().finish().await.map_err(|error| said(&error))?;
                    return Ok(Some(done));
                }
            };
            let mut encoders = self.encoders(&block)?;
            let mut lines = Vec::new();
            for row in 0..block.rows() {
                for (at, encoder) in encoders.iter_mut().enumerate() {
                    if at > 0 {
                        lines.push(b'\t');
                    }
                    append_field(&mut lines, encoder.text(row)?);
                }
                lines.push(b'\n');
                checkpoint(ROW_WORK)?;
                if lines.len() >= SENT_BYTES || row + 1 == block.rows() {
                    line.extend_from_slice(&lines);
                    lines.clear();
                    sink.send(line.split().freeze()).await.map_err(|error| said(&error))?;
                }
            }
        }
        Ok(None)
    }

    /// The same with what is to happen to rows that are there already.
    async fn one_by_one(&self, client: &Client, incoming: &Incoming) -> Result<Option<oneshot::Sender<()>>> {
        let value = |(at, name): (usize, &String)| format!("CAST(${}::text AS {name})", at + 1);
        let values: Vec<String> = self.types.iter().enumerate().map(value).collect();
        let (target, conflict) = (self.target(), &self.written.conflict);
        let sql = format!("INSERT INTO {target} VALUES ({}) {conflict}", values.join(", "));
        let statement = client.prepare(&sql).await.map_err(|error| said(&error))?;
        while let Some(next) = incoming.next().await {
            let block = match next {
                Handed::Rows(block) => block,
                Handed::Commit(done) => return Ok(Some(done)),
            };
            let mut encoders = self.encoders(&block)?;
            for first in (0..block.rows()).step_by(ROWS_AT_ONCE) {
                let rows = first..block.rows().min(first + ROWS_AT_ONCE);
                checkpoint(rows.len() * ROW_WORK)?;
                let mut texts = Vec::with_capacity(rows.len());
                for row in rows {
                    let text = encoders.iter_mut().map(|of| Ok(of.text(row)?.map(|text| Text(text.to_vec()))));
                    texts.push(text.collect::<Result<Vec<_>>>()?);
                }
                insert(client, &statement, &texts).await?;
            }
        }
        Ok(None)
    }
}

/// Sends rows without waiting for the answer to each. They get there in their order.
async fn insert(client: &Client, statement: &Statement, rows: &[Vec<Option<Text>>]) -> Result<()> {
    let sent = rows.iter().map(|row| client.execute_raw(statement, row));
    try_join_all(sent).await.map(drop).map_err(|error| said(&error))
}

/// A text, which need not be UTF-8: the server says what it thinks of one.
#[derive(Debug)]
struct Text(Vec<u8>);

impl ToSql for Text {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::TEXT
    }

    to_sql_checked!();
}
