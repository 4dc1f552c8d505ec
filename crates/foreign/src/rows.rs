//! All rows of a query in another server's SQL, for who holds them: dictionaries.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_remote::wait_for;
use squall_types::{Block, CastMode, CastOptions, DataType, Result, Schema, Value, cast_value};
use tokio::sync::mpsc::channel;

use crate::engine::{Asked, Columns, Engine, Source};
use crate::feed::Blocks;
use crate::server::ForeignServer;
use crate::table::from_sql;
use crate::watch::while_wanted;

/// Blocks that may wait to be taken.
const BLOCKS_WAITING_MAX: usize = 4;

/// A query of a server.
#[derive(Debug)]
pub struct ForeignQuery<E: Engine> {
    server: ForeignServer,
    source: Source,
    of: PhantomData<E>,
}

impl<E: Engine> ForeignQuery<E> {
    /// A query in the server's own SQL.
    pub fn new(server: ForeignServer, sql: String) -> Self {
        Self { server, source: Source::Query(sql), of: PhantomData }
    }

    /// Its rows, with the types that the server's columns have here; of those only the ones for which a condition holds, in the server's SQL.
    /// Waits for the network.
    ///
    /// # Errors
    /// Those of the connection, of the query, and of the caller's limits.
    pub fn rows(&self, condition: Option<&str>, wanted: Columns) -> Result<Vec<Block>> {
        let rows = wait_for(while_wanted(self.all(condition, wanted)));
        rows.map_err(|error| error.context(format_args!("from {}", self.server.names())))
    }

    async fn all(&self, condition: Option<&str>, wanted: Columns) -> Result<Vec<Block>> {
        let columns = E::columns(&self.server, &self.source, wanted).await?;
        let expressions: Vec<&str> = columns.iter().map(|column| column.expression.as_str()).collect();
        let mut sql = format!("SELECT {} FROM {}", expressions.join(", "), from_sql::<E>(&self.source));
        if let Some(condition) = condition {
            sql += &format!(" WHERE {condition}");
        }
        let fields = columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let schema = Arc::new(Schema::new(fields));
        let asked = Asked { sql, kinds: columns.iter().map(|column| column.kind.clone()).collect(), schema };
        let (feed, mut received) = channel(BLOCKS_WAITING_MAX);
        let follow = async {
            // Its end is that of the rows.
            let blocks = Blocks(feed);
            E::follow(&self.server, &asked, &blocks).await
        };
        let take = async {
            let mut taken = Vec::new();
            while let Some(block) = received.recv().await {
                taken.push(block?);
            }
            Ok(taken)
        };
        let ((), taken) = tokio::try_join!(follow, take)?;
        Ok(taken)
    }
}

/// A condition that rows of these keys meet. A key that the server cannot be told of is not there.
pub fn keys_sql<E: Engine>(keys: &Block) -> String {
    let literal = |value: &Value, of: &DataType| {
        let options = CastOptions::new(CastMode::Plain, squall_types::calendar::TimeZone::utc());
        match cast_value(value, of, &DataType::String, &options) {
            Ok(Value::String(text)) if of.inner().is_any_number() => String::from_utf8(text.to_vec()).ok(),
            Ok(Value::String(text)) => E::literal_sql(&text),
            _ => None,
        }
    };
    let names: Vec<String> = keys.schema().names().map(|name| E::name_sql(name)).collect();
    let row = |row: usize| {
        let values = keys.columns().iter().map(|column| literal(&column.value(row), column.data_type()));
        Some(format!("({})", values.collect::<Option<Vec<_>>>()?.join(", ")))
    };
    let rows: Vec<String> = (0..keys.rows()).filter_map(row).collect();
    match rows.is_empty() {
        true => "1 = 0".to_owned(),
        false => format!("({}) IN ({})", names.join(", "), rows.join(", ")),
    }
}
