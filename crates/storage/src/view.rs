//! Views, as far as storage has them: a definition. The planner puts the query in their place.

use std::any::Any;
use std::sync::Arc;

use squall_planner::{ColumnDescription, TableDefinition, TableMetadata, VIEW, parse_view};
use squall_sql::ast;
use squall_types::{Error, Result, Value};
use uuid::Uuid;

use crate::identity::{TableIdentity, TableName};
use crate::table::{ScanRequest, Table, TableScan};

/// A view at one moment.
#[derive(Debug)]
pub(crate) struct View {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    query: Arc<ast::Query>,
}

impl View {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>, query: Arc<ast::Query>) -> Self {
        Self { name, identity, query }
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
    Ok(Arc::new(View::new(Arc::new(TableName::new(database, name)), Arc::new(identity), parse_view(query)?)))
}

impl TableMetadata for View {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        "View"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn view_query(&self) -> Option<&Arc<ast::Query>> {
        Some(&self.query)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for View {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Err(Error::logical("a view's query was not put in its place"))
    }
}
