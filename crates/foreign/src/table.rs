//! A table of another server: its columns, which the server describes, and what reading and inserting say to it.

use std::any::Any;
use std::sync::Arc;

use squall_files::Account;
use squall_planner::{ColumnDescription, TableMetadata};
use squall_remote::wait_for;
use squall_storage::{FedInsertion, FedScan, Insertion, ScanRequest, Table, TableScan};
use squall_types::{Error, Result, Schema};

use crate::condition::Wording;
use crate::engine::{Asked, Columns, Engine, ForeignColumn, Source, Written};
use crate::feed::{Blocks, Incoming};
use crate::server::ForeignServer;
use crate::watch::while_wanted;

/// A table of another server.
#[derive(Debug)]
pub struct ForeignTable<E: Engine> {
    server: Arc<ForeignServer>,
    source: Source,
    conflict: E::Conflict,
    columns: Vec<ColumnDescription>,
    /// The same as the server has them; none of a table that is only written to.
    described: Vec<ForeignColumn<E::Kind>>,
}

impl<E: Engine> ForeignTable<E> {
    /// The table or query as the server describes it. Waits for the network.
    ///
    /// # Errors
    /// Those of connecting; `UNKNOWN_TABLE`; the server's own.
    pub fn open(server: ForeignServer, source: Source, conflict: E::Conflict, wanted: Columns) -> Result<Self> {
        let described = wait_for(while_wanted(E::columns(&server, &source, wanted)));
        let described = described.map_err(|error| error.context(format_args!("from {}", server.names())))?;
        let column = |of: &ForeignColumn<E::Kind>| ColumnDescription::new(of.name.clone(), of.data_type.clone());
        let columns = described.iter().map(column).collect();
        Ok(Self { server: Arc::new(server), source, conflict, columns, described })
    }

    /// A table with these columns, to insert rows. Asks nobody.
    pub fn with_columns(
        server: ForeignServer,
        source: Source,
        conflict: E::Conflict,
        columns: Vec<ColumnDescription>,
    ) -> Self {
        Self { server: Arc::new(server), source, conflict, columns, described: Vec::new() }
    }

    /// What a scan asks for.
    fn asked(&self, request: &ScanRequest) -> Result<Asked<E::Kind>> {
        let wanted = request.columns.iter().map(|at| self.described.get(*at)).collect::<Option<Vec<_>>>();
        let wanted = wanted.ok_or_else(|| Error::logical("a column that no server has"))?;
        let expressions: Vec<&str> = wanted.iter().map(|column| column.expression.as_str()).collect();
        let list = if expressions.is_empty() { "1".to_owned() } else { expressions.join(", ") };
        let mut sql = format!("SELECT {list} FROM {}", from_sql::<E>(&self.source));
        let wording = Wording {
            operands: wanted.iter().map(|column| column.operand.as_ref()).collect(),
            schema: &request.schema,
            literal: E::literal_sql,
            zone: &self.server.zone,
        };
        if let Some(condition) = request.predicate.as_ref().and_then(|predicate| wording.sql(predicate)) {
            sql += &format!(" WHERE {condition}");
        }
        let limit = request.limited(u64::MAX);
        if limit < u64::MAX {
            sql += &format!(" LIMIT {limit}");
        }
        let kinds = wanted.iter().map(|column| column.kind.clone()).collect();
        Ok(Asked { sql, kinds, schema: request.schema.clone() })
    }
}

/// What is read, as it stands after FROM.
pub(crate) fn from_sql<E: Engine>(source: &Source) -> String {
    match source {
        Source::Table { schema, table } => format!("{}.{}", E::name_sql(schema), E::name_sql(table)),
        Source::Query(sql) => format!("({sql}) AS {}", E::name_sql("query")),
    }
}

impl<E: Engine> TableMetadata for ForeignTable<E> {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        E::NAME
    }
    fn engine(&self) -> &str {
        E::NAME
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<E: Engine> Table for ForeignTable<E> {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let (server, asked) = (self.server.clone(), self.asked(request)?);
        Ok(Arc::new(FedScan::new(move |feed| {
            Account::of_this_thread().on_thread(move || {
                let blocks = Blocks(feed);
                if let Err(error) = wait_for(E::follow(&server, &asked, &blocks)) {
                    let error = error.context(format_args!("from {}", server.names()));
                    // Who has gone does not want to know.
                    let _ = blocks.0.blocking_send(Err(error));
                }
            })
        })))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        let Source::Table { schema, table } = &self.source else {
            return Err(Error::not_implemented("INSERT into a query of another server"));
        };
        let fields = self.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let columns = Arc::new(Schema::new(fields));
        let (schema, table, conflict) = (schema.clone(), table.clone(), self.conflict.clone());
        let written = Written { schema, table, conflict, columns: columns.clone() };
        let server = self.server.clone();
        let insertion = FedInsertion::begin(columns, move |received, failure| {
            Account::of_this_thread().on_thread(move || {
                let incoming = Incoming::new(received);
                if let Err(error) = wait_for(E::carry(&server, &written, &incoming)) {
                    failure.tell(error.context(format_args!("from {}", server.names())));
                }
            })
        })?;
        Ok(Arc::new(insertion))
    }
}
