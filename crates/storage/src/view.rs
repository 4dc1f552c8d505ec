//! Views, as far as storage has them: a definition. The planner puts the query or the target in their place.

use std::any::Any;
use std::sync::Arc;

use squall_planner::{ColumnDescription, MaterializedView, TableDefinition, TableMetadata, VIEW, parse_view};
use squall_sql::ast;
use squall_types::{Block, Error, Result, Value};
use uuid::Uuid;

use crate::identity::{TableIdentity, TableName};
use crate::memory::{MemoryRows, MemoryTable};
use crate::table::{ScanRequest, Table, TableScan};

/// A view at one moment.
#[derive(Debug)]
pub(crate) struct View {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    rows: ViewRows,
}

/// What the planner puts in a view's place.
#[derive(Debug)]
pub(crate) enum ViewRows {
    /// The rows of a query.
    Query(Arc<ast::Query>),
    /// Those of a materialized view's target.
    Target(Arc<MaterializedView>),
}

impl View {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>, rows: ViewRows) -> Self {
        Self { name, identity, rows }
    }
}

/// A view that the server makes up.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub fn system_view(database: &str, name: &str, columns: Vec<ColumnDescription>, query: &str) -> Result<Arc<dyn Table>> {
    let definition = TableDefinition {
        columns,
        engine: VIEW.into(),
        engine_arguments: vec![Value::string(query)],
        ..TableDefinition::default()
    };
    let identity = TableIdentity::new(Uuid::nil(), Arc::new(definition))?;
    let rows = ViewRows::Query(parse_view(query)?);
    Ok(Arc::new(View::new(Arc::new(TableName::new(database, name)), Arc::new(identity), rows)))
}

impl TableMetadata for View {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        &self.identity.definition.engine
    }
    fn supports_prewhere(&self) -> bool {
        matches!(self.rows, ViewRows::Target(_))
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn view_query(&self) -> Option<&Arc<ast::Query>> {
        match &self.rows {
            ViewRows::Query(query) => Some(query),
            ViewRows::Target(_) => None,
        }
    }
    fn materialized_view(&self) -> Option<&Arc<MaterializedView>> {
        match &self.rows {
            ViewRows::Query(_) => None,
            ViewRows::Target(view) => Some(view),
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for View {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Err(Error::logical("a view's rows were not put in its place"))
    }
}

/// Rows that were just inserted into a table, under its name and with its columns; the blocks are of all columns that it stores.
///
/// # Errors
/// As of the table's definition.
pub fn inserted_rows(name: TableName, definition: Arc<TableDefinition>, blocks: Vec<Block>) -> Result<Arc<dyn Table>> {
    let identity = Arc::new(TableIdentity::new(Uuid::nil(), definition)?);
    Ok(Arc::new(MemoryTable::new(Arc::new(name), identity, MemoryRows::of(blocks)?)))
}
